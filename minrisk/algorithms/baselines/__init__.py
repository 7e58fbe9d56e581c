"""Published boosters that the papers compare with, one to a file, made of the parts that are there."""

from minrisk.algorithms.baselines.adaboost_ecc import AdaBoostECCClassifier as AdaBoostECCClassifier
from minrisk.algorithms.baselines.adaboost_mh import AdaBoostMHClassifier as AdaBoostMHClassifier
from minrisk.algorithms.baselines.adaboost_mo import AdaBoostMOClassifier as AdaBoostMOClassifier
from minrisk.algorithms.baselines.adaboost_sip import AdaBoostSIPClassifier as AdaBoostSIPClassifier
from minrisk.algorithms.baselines.aoso_logitboost import AOSOLogitBoostClassifier as AOSOLogitBoostClassifier
from minrisk.algorithms.baselines.gentle_boost import GentleBoostClassifier as GentleBoostClassifier
from minrisk.algorithms.baselines.gradboost import GradBoostClassifier as GradBoostClassifier
from minrisk.algorithms.baselines.structboost import StructBoostClassifier as StructBoostClassifier

BASELINES = (
    AdaBoostMHClassifier,
    GentleBoostClassifier,
    AdaBoostECCClassifier,
    AOSOLogitBoostClassifier,
    GradBoostClassifier,
    AdaBoostMOClassifier,
    AdaBoostSIPClassifier,
    StructBoostClassifier,
)

"""One file per paper. `ALGORITHMS` drives tests and documentation: a new algorithm is a file and a line here."""

from minrisk.algorithms.badacost import BAdaCostClassifier as BAdaCostClassifier
from minrisk.algorithms.baselines import BASELINES
from minrisk.algorithms.baselines import AdaBoostECCClassifier as AdaBoostECCClassifier
from minrisk.algorithms.baselines import AdaBoostMHClassifier as AdaBoostMHClassifier
from minrisk.algorithms.baselines import AdaBoostMOClassifier as AdaBoostMOClassifier
from minrisk.algorithms.baselines import AdaBoostSIPClassifier as AdaBoostSIPClassifier
from minrisk.algorithms.baselines import AOSOLogitBoostClassifier as AOSOLogitBoostClassifier
from minrisk.algorithms.baselines import GentleBoostClassifier as GentleBoostClassifier
from minrisk.algorithms.baselines import GradBoostClassifier as GradBoostClassifier
from minrisk.algorithms.baselines import StructBoostClassifier as StructBoostClassifier
from minrisk.algorithms.mcboost import MCBoostClassifier as MCBoostClassifier
from minrisk.algorithms.min_risk import MinRiskClassifier as MinRiskClassifier
from minrisk.algorithms.multiboost import MultiBoostClassifier as MultiBoostClassifier
from minrisk.algorithms.piboost import PIBoostClassifier as PIBoostClassifier
from minrisk.algorithms.rebel import REBELClassifier as REBELClassifier
from minrisk.algorithms.similarities import LocalizedSimilaritiesClassifier as LocalizedSimilaritiesClassifier
from minrisk.algorithms.stagewise import StagewiseMCBoostClassifier as StagewiseMCBoostClassifier

ALGORITHMS = (
    MinRiskClassifier,
    REBELClassifier,
    LocalizedSimilaritiesClassifier,
    MCBoostClassifier,
    StagewiseMCBoostClassifier,
    MultiBoostClassifier,
    PIBoostClassifier,
    BAdaCostClassifier,
    *BASELINES,
)

"""Names for the command line and for `minrisk.compare`: of the estimators, and of what methods are compared by.

A new estimator is a line here.
"""

from __future__ import annotations

ESTIMATORS = {  # class by the method that the command line names; the first is the default
    "minrisk": "MinRiskClassifier",
    "rebel": "REBELClassifier",
    "similarities": "LocalizedSimilaritiesClassifier",
    "stagewise": "StagewiseMCBoostClassifier",
    "multiboost": "MultiBoostClassifier",
    "mcboost": "MCBoostClassifier",
    "piboost": "PIBoostClassifier",
    "badacost": "BAdaCostClassifier",
    "adaboost-mh": "AdaBoostMHClassifier",
    "gentleboost": "GentleBoostClassifier",
    "adaboost-ecc": "AdaBoostECCClassifier",
    "aoso-logitboost": "AOSOLogitBoostClassifier",
    "gradboost": "GradBoostClassifier",
    "adaboost-mo": "AdaBoostMOClassifier",
    "adaboost-sip": "AdaBoostSIPClassifier",
    "structboost": "StructBoostClassifier",
}
DEFAULT_METHODS = ("minrisk", "rebel", "mcboost")  # that are compared
METRIC_NAMES = {  # what can be compared, less is better; how tables and pictures call it
    "cost": "mean cost",
    "relative_cost": "relative cost",
    "error": "error",
    "log_loss": "log-loss",
    "fit_seconds": "fit (s)",
    "predict_seconds": "predict (s)",
}

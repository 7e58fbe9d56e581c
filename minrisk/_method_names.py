"""Short names of the estimators, for the command line and for `minrisk.compare`. A new one is a line here."""

from __future__ import annotations

ESTIMATORS = {  # class by the method that the command line names; the first is the default
    "minrisk": "MinRiskClassifier", "rebel": "REBELClassifier", "similarities": "LocalizedSimilaritiesClassifier",
    "stagewise": "StagewiseMCBoostClassifier", "multiboost": "MultiBoostClassifier", "mcboost": "MCBoostClassifier",
    "piboost": "PIBoostClassifier", "badacost": "BAdaCostClassifier", "adaboost-mh": "AdaBoostMHClassifier",
    "gentleboost": "GentleBoostClassifier", "adaboost-ecc": "AdaBoostECCClassifier",
    "aoso-logitboost": "AOSOLogitBoostClassifier", "gradboost": "GradBoostClassifier",
}  # fmt: skip

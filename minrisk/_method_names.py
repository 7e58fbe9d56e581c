"""Names for the command line and for `minrisk.compare`: of the estimators, and of what methods are compared by."""

from __future__ import annotations

from minrisk import _PUBLIC

ROOM = "minrisk.algorithms."
ESTIMATORS = {  # class by the method that the command line names, as its file; the first is the default
    module.removeprefix(ROOM).replace("min_risk", "minrisk").replace("_", "-"): name
    for name, module in _PUBLIC.items()
    if module.startswith(ROOM)
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

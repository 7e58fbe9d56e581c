"""minrisk: multi-class boosting for the decision of least expected cost."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

if TYPE_CHECKING:
    from minrisk.algorithms import ALGORITHMS as ALGORITHMS
    from minrisk.algorithms.adaboost_ecc import AdaBoostECCClassifier as AdaBoostECCClassifier
    from minrisk.algorithms.adaboost_mh import AdaBoostMHClassifier as AdaBoostMHClassifier
    from minrisk.algorithms.adaboost_mo import AdaBoostMOClassifier as AdaBoostMOClassifier
    from minrisk.algorithms.adaboost_sip import AdaBoostSIPClassifier as AdaBoostSIPClassifier
    from minrisk.algorithms.aoso_logitboost import AOSOLogitBoostClassifier as AOSOLogitBoostClassifier
    from minrisk.algorithms.badacost import BAdaCostClassifier as BAdaCostClassifier
    from minrisk.algorithms.gentleboost import GentleBoostClassifier as GentleBoostClassifier
    from minrisk.algorithms.gradboost import GradBoostClassifier as GradBoostClassifier
    from minrisk.algorithms.mcboost import MCBoostClassifier as MCBoostClassifier
    from minrisk.algorithms.min_risk import MinRiskClassifier as MinRiskClassifier
    from minrisk.algorithms.multiboost import MultiBoostClassifier as MultiBoostClassifier
    from minrisk.algorithms.piboost import PIBoostClassifier as PIBoostClassifier
    from minrisk.algorithms.rebel import REBELClassifier as REBELClassifier
    from minrisk.algorithms.similarities import LocalizedSimilaritiesClassifier as LocalizedSimilaritiesClassifier
    from minrisk.algorithms.stagewise import StagewiseMCBoostClassifier as StagewiseMCBoostClassifier
    from minrisk.algorithms.structboost import StructBoostClassifier as StructBoostClassifier
    from minrisk.compaction import compact as compact
    from minrisk.comparison import compare as compare
    from minrisk.costs import CostMatrix as CostMatrix
    from minrisk.data.chunks import Chunks as Chunks
    from minrisk.data.column_report import DataWarning as DataWarning
    from minrisk.decisions.deciding import apply_costs as apply_costs
    from minrisk.decisions.deciding import decide as decide
    from minrisk.decisions.guarantee import guarantee as guarantee
    from minrisk.decisions.least_cost import LeastCostClassifier as LeastCostClassifier
    from minrisk.decisions.limits import price_limits as price_limits
    from minrisk.decisions.monitor import monitor as monitor
    from minrisk.decisions.priors import estimate_priors as estimate_priors
    from minrisk.decisions.sensitivity import sensitivity as sensitivity
    from minrisk.io.model_file import ModelFileError as ModelFileError
    from minrisk.io.model_file import load as load
    from minrisk.io.model_file import save as save

# public name -> module: imported on first use, so that `import minrisk` costs next to nothing. Of a method the module's
# name is its name on the command line.
_PUBLIC = {
    "ALGORITHMS": "minrisk.algorithms",
    "MinRiskClassifier": "minrisk.algorithms.min_risk",
    "REBELClassifier": "minrisk.algorithms.rebel",
    "LocalizedSimilaritiesClassifier": "minrisk.algorithms.similarities",
    "StagewiseMCBoostClassifier": "minrisk.algorithms.stagewise",
    "MultiBoostClassifier": "minrisk.algorithms.multiboost",
    "MCBoostClassifier": "minrisk.algorithms.mcboost",
    "PIBoostClassifier": "minrisk.algorithms.piboost",
    "BAdaCostClassifier": "minrisk.algorithms.badacost",
    "AdaBoostMHClassifier": "minrisk.algorithms.adaboost_mh",
    "GentleBoostClassifier": "minrisk.algorithms.gentleboost",
    "AdaBoostECCClassifier": "minrisk.algorithms.adaboost_ecc",
    "AOSOLogitBoostClassifier": "minrisk.algorithms.aoso_logitboost",
    "GradBoostClassifier": "minrisk.algorithms.gradboost",
    "AdaBoostMOClassifier": "minrisk.algorithms.adaboost_mo",
    "AdaBoostSIPClassifier": "minrisk.algorithms.adaboost_sip",
    "StructBoostClassifier": "minrisk.algorithms.structboost",
    "Chunks": "minrisk.data.chunks",
    "DataWarning": "minrisk.data.column_report",
    "LeastCostClassifier": "minrisk.decisions.least_cost",
    "apply_costs": "minrisk.decisions.deciding",
    "compact": "minrisk.compaction",
    "compare": "minrisk.comparison",
    "CostMatrix": "minrisk.costs",
    "decide": "minrisk.decisions.deciding",
    "estimate_priors": "minrisk.decisions.priors",
    "guarantee": "minrisk.decisions.guarantee",
    "monitor": "minrisk.decisions.monitor",
    "price_limits": "minrisk.decisions.limits",
    "sensitivity": "minrisk.decisions.sensitivity",
    "ModelFileError": "minrisk.io.model_file",
    "load": "minrisk.io.model_file",
    "save": "minrisk.io.model_file",
}
_MODULES = ("comparison", "costs", "export", "metrics", "inspection")

__all__ = [*_PUBLIC, *_MODULES]


def __getattr__(name: str) -> Any:
    if name in _PUBLIC:
        return getattr(import_module(_PUBLIC[name]), name)
    if name in _MODULES:
        return import_module(f"minrisk.{name}")
    raise AttributeError(f"module 'minrisk' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted([*globals(), *__all__])

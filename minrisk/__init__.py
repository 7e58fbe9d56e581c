"""minrisk: multi-class boosting for the decision of least expected cost."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

if TYPE_CHECKING:
    from minrisk.algorithms import ALGORITHMS as ALGORITHMS
    from minrisk.algorithms import AdaBoostECCClassifier as AdaBoostECCClassifier
    from minrisk.algorithms import AdaBoostMHClassifier as AdaBoostMHClassifier
    from minrisk.algorithms import AdaBoostMOClassifier as AdaBoostMOClassifier
    from minrisk.algorithms import AdaBoostSIPClassifier as AdaBoostSIPClassifier
    from minrisk.algorithms import AOSOLogitBoostClassifier as AOSOLogitBoostClassifier
    from minrisk.algorithms import BAdaCostClassifier as BAdaCostClassifier
    from minrisk.algorithms import GentleBoostClassifier as GentleBoostClassifier
    from minrisk.algorithms import GradBoostClassifier as GradBoostClassifier
    from minrisk.algorithms import LocalizedSimilaritiesClassifier as LocalizedSimilaritiesClassifier
    from minrisk.algorithms import MCBoostClassifier as MCBoostClassifier
    from minrisk.algorithms import MinRiskClassifier as MinRiskClassifier
    from minrisk.algorithms import MultiBoostClassifier as MultiBoostClassifier
    from minrisk.algorithms import PIBoostClassifier as PIBoostClassifier
    from minrisk.algorithms import REBELClassifier as REBELClassifier
    from minrisk.algorithms import StagewiseMCBoostClassifier as StagewiseMCBoostClassifier
    from minrisk.algorithms import StructBoostClassifier as StructBoostClassifier
    from minrisk.compaction import compact as compact
    from minrisk.comparison import compare as compare
    from minrisk.costs import CostMatrix as CostMatrix
    from minrisk.data.chunks import Chunks as Chunks
    from minrisk.data.column_report import DataWarning as DataWarning
    from minrisk.estimator.decisions import apply_costs as apply_costs
    from minrisk.io.model_file import ModelFileError as ModelFileError
    from minrisk.io.model_file import load as load
    from minrisk.io.model_file import save as save

# public name -> module: imported on first use, so that `import minrisk` costs next to nothing
_PUBLIC = {
    "ALGORITHMS": "minrisk.algorithms",
    "GradBoostClassifier": "minrisk.algorithms",
    "AOSOLogitBoostClassifier": "minrisk.algorithms",
    "AdaBoostECCClassifier": "minrisk.algorithms",
    "AdaBoostMHClassifier": "minrisk.algorithms",
    "AdaBoostMOClassifier": "minrisk.algorithms",
    "AdaBoostSIPClassifier": "minrisk.algorithms",
    "BAdaCostClassifier": "minrisk.algorithms",
    "GentleBoostClassifier": "minrisk.algorithms",
    "LocalizedSimilaritiesClassifier": "minrisk.algorithms",
    "MCBoostClassifier": "minrisk.algorithms",
    "MinRiskClassifier": "minrisk.algorithms",
    "MultiBoostClassifier": "minrisk.algorithms",
    "PIBoostClassifier": "minrisk.algorithms",
    "REBELClassifier": "minrisk.algorithms",
    "StagewiseMCBoostClassifier": "minrisk.algorithms",
    "StructBoostClassifier": "minrisk.algorithms",
    "Chunks": "minrisk.data.chunks",
    "DataWarning": "minrisk.data.column_report",
    "apply_costs": "minrisk.estimator.decisions",
    "compact": "minrisk.compaction",
    "compare": "minrisk.comparison",
    "CostMatrix": "minrisk.costs",
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

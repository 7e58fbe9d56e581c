"""Pictures of models, of what decisions cost and of methods compared; what decisions rest on; models as tables.

Pictures need matplotlib: ``pip install 'minrisk[plots]'``; those of SHAP values shap: ``pip install 'minrisk[shap]'``.
"""

from minrisk.inspection.explanation import explain
from minrisk.inspection.plotting import (
    CostConfusionDisplay,
    CriticalDifferenceDisplay,
    RiskCurveDisplay,
    SensitivityDisplay,
)
from minrisk.inspection.report_page import report
from minrisk.inspection.shap_values import (
    CostImportances,
    ShapExplainer,
    ShapValues,
    cost_importances,
    shap_values,
    to_shap,
    wide_columns,
)
from minrisk.inspection.tree_frame import to_frame
from minrisk.inspection.why_decision import why

__all__ = [
    "CostConfusionDisplay",
    "CostImportances",
    "CriticalDifferenceDisplay",
    "RiskCurveDisplay",
    "SensitivityDisplay",
    "ShapExplainer",
    "ShapValues",
    "cost_importances",
    "explain",
    "report",
    "shap_values",
    "to_frame",
    "to_shap",
    "why",
    "wide_columns",
]

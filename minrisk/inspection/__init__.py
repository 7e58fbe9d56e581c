"""Pictures of models, of what decisions cost and of methods compared, and what decisions rest on.

Pictures need matplotlib: ``pip install 'minrisk[plots]'``; those of SHAP values shap: ``pip install 'minrisk[shap]'``.
"""

from minrisk.inspection.explanation import explain
from minrisk.inspection.plotting import CostConfusionDisplay, CriticalDifferenceDisplay, RiskCurveDisplay
from minrisk.inspection.shap_export import to_shap, wide_columns
from minrisk.inspection.shap_values import CostImportances, ShapExplainer, ShapValues, cost_importances, shap_values

__all__ = [
    "CostConfusionDisplay", "CostImportances", "CriticalDifferenceDisplay", "RiskCurveDisplay", "ShapExplainer",
    "ShapValues", "cost_importances", "explain", "shap_values", "to_shap", "wide_columns",
]  # fmt: skip

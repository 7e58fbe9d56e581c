"""Pictures of fitted models and of what decisions cost, and the training points that decisions rest on.

Pictures need matplotlib: ``pip install 'minrisk[plots]'``.
"""

from minrisk.inspection.explanation import explain
from minrisk.inspection.plotting import CostConfusionDisplay, RiskCurveDisplay

__all__ = ["CostConfusionDisplay", "RiskCurveDisplay", "explain"]

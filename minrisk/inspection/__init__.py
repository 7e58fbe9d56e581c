"""Pictures of models, of what decisions cost and of methods compared, and the training points that decisions rest on.

Pictures need matplotlib: ``pip install 'minrisk[plots]'``.
"""

from minrisk.inspection.explanation import explain
from minrisk.inspection.plotting import CostConfusionDisplay, CriticalDifferenceDisplay, RiskCurveDisplay

__all__ = ["CostConfusionDisplay", "CriticalDifferenceDisplay", "RiskCurveDisplay", "explain"]

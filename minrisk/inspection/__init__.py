"""Pictures of models, of what decisions cost and of methods compared, and the training points that decisions rest on.

Pictures need matplotlib: ``pip install 'minrisk[plots]'``.
"""

from minrisk.inspection.explanation import explain
from minrisk.inspection.plotting import CostConfusionDisplay, CriticalDifferenceDisplay, RiskCurveDisplay
from minrisk.inspection.report_page import report
from minrisk.inspection.tree_frame import to_frame
from minrisk.inspection.why_decision import why

__all__ = ["CostConfusionDisplay", "CriticalDifferenceDisplay", "RiskCurveDisplay", "explain", "report", "to_frame", "why"]

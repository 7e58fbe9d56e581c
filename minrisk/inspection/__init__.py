"""Pictures of models, of what decisions cost and of methods compared; why a row is decided as it is; models as tables.

Pictures need matplotlib: ``pip install 'minrisk[plots]'``.
"""

from minrisk.inspection.explanation import explain
from minrisk.inspection.plotting import CostConfusionDisplay, CriticalDifferenceDisplay, RiskCurveDisplay
from minrisk.inspection.report_page import report
from minrisk.inspection.tree_frame import to_frame
from minrisk.inspection.why_decision import why

__all__ = [
    "CostConfusionDisplay", "CriticalDifferenceDisplay", "RiskCurveDisplay", "explain", "report", "to_frame", "why",
]  # fmt: skip

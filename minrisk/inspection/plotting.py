"""Displays in scikit-learn's manner: made from an estimator or from numbers, drawn by `plot`, open to changes after it.

matplotlib is imported when something is drawn, not before. Figures are made by pyplot, so that notebooks show them;
close them with ``plt.close``.
"""

from minrisk.inspection.cost_confusion import CostConfusionDisplay
from minrisk.inspection.critical_difference import CriticalDifferenceDisplay
from minrisk.inspection.risk_curve import RiskCurveDisplay

__all__ = ["CostConfusionDisplay", "CriticalDifferenceDisplay", "RiskCurveDisplay"]

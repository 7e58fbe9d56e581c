"""Pictures of fitted models and of what decisions cost. They need matplotlib: ``pip install 'minrisk[plots]'``."""

from minrisk.inspection.plotting import CostConfusionDisplay, RiskCurveDisplay

__all__ = ["CostConfusionDisplay", "RiskCurveDisplay"]

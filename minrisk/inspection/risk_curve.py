"""Loss and mean cost by round."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self

import numpy as np

from minrisk._typing import FloatArray
from minrisk.estimator.fitted import check_any_fitted
from minrisk.inspection._drawing import innermost, log_scale, numbers, pyplot, split_panel

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# Okabe and Ito's colours, told apart by colour-blind readers too
_TRAINING_COLOUR, _VALIDATION_COLOUR, _KEPT_COLOUR = "#0072B2", "#D55E00", "#5F5F5F"


class RiskCurveDisplay:
    """Picture of loss and mean cost after each round: whether it learns, whether it overfits and where it stopped.

    Two panels share the rounds. The upper one shows the mean cost of the decisions, which is what is wanted.
    The lower one shows the training loss, which is what is minimised, on a logarithmic scale if it is always positive.
    With early stopping the round that was kept is marked.

    Parameters
    ----------
    train_loss : array-like of shape (T + 1,)
        Training loss before round 1 and after every round.
    train_risk : array-like of shape (T + 1,)
        Mean cost of the training rows, before round 1 and after every round.
    validation_risk : array-like of shape (V + 1,), optional
        Mean cost of the validation rows. V is above T if rounds were run and given up. By default there is no such
        curve.
    best_round : int, optional
        The round that was kept, from 0. By default none is marked.

    Attributes
    ----------
    ax_ : matplotlib Axes
        The panel of the mean cost.
    loss_ax_ : matplotlib Axes
        The panel of the loss.
    figure_ : matplotlib Figure
        What both are in.
    lines_ : dict of str to matplotlib Line2D
        The curves by the names of the parameters: ``train_risk``, ``train_loss`` and perhaps ``validation_risk``.

    Raises
    ------
    ValueError
        If a curve is no sequence of finite numbers, the lengths do not fit, or `best_round` is none of the rounds.

    Examples
    --------
    >>> from minrisk.inspection import RiskCurveDisplay
    >>> display = RiskCurveDisplay([1.0, 0.5, 0.3], [0.6, 0.2, 0.1], [0.6, 0.3, 0.4], best_round=1).plot()
    >>> display.ax_.get_ylabel()
    'Mean cost per row'
    >>> sorted(display.lines_)
    ['train_loss', 'train_risk', 'validation_risk']
    """

    ax_: Axes
    loss_ax_: Axes
    figure_: Any
    lines_: dict[str, Any]

    def __init__(
        self, train_loss: Any, train_risk: Any, validation_risk: Any = None, best_round: int | None = None
    ) -> None:
        self.train_loss = _curve(train_loss, "train_loss")
        self.train_risk = _curve(train_risk, "train_risk")
        self.validation_risk = None if validation_risk is None else _curve(validation_risk, "validation_risk")
        self.best_round = best_round
        if len(self.train_loss) != len(self.train_risk):
            raise ValueError(
                f"train_loss and train_risk must have one value per round each, got {len(self.train_loss)} and "
                f"{len(self.train_risk)} values: pass both from the same fit."
            )
        known = max(len(self.train_risk), 0 if self.validation_risk is None else len(self.validation_risk))
        if best_round is not None and not 0 <= best_round < known:
            raise ValueError(
                f"best_round must be a round that was run, expected 0 to {known - 1}, got {best_round}: correct it or "
                "leave it out."
            )

    @classmethod
    def from_estimator(cls, estimator: Any, ax: Any = None, **kwargs: Any) -> Self:
        """Draw the curves that a fitted minrisk classifier keeps.

        Parameters
        ----------
        estimator : estimator
            A fitted classifier of minrisk, a pipeline that ends in one, or a search that found one.
            Not `MinRiskClassifier`, which is an average of boosters and keeps no mean cost for each round.
        ax : matplotlib Axes or pair of Axes, optional
            As in `plot`. By default a new figure is made.
        **kwargs : dict
            Passed to the lines, such as ``linewidth=1``.

        Returns
        -------
        RiskCurveDisplay
            The picture.

        Raises
        ------
        NotFittedError
            If the estimator is not fitted.
        TypeError
            If it is no estimator, or keeps no curves.

        Examples
        --------
        >>> from sklearn.datasets import load_wine
        >>> from minrisk import REBELClassifier
        >>> from minrisk.inspection import RiskCurveDisplay
        >>> X, y = load_wine(return_X_y=True)
        >>> display = RiskCurveDisplay.from_estimator(REBELClassifier(n_estimators=5).fit(X, y))
        >>> display.lines_["train_loss"].get_xdata()
        array([0, 1, 2, 3, 4, 5])
        """
        booster = innermost(check_any_fitted(estimator, "RiskCurveDisplay.from_estimator"))
        if not hasattr(booster, "train_risk_"):
            kept = ", which keeps train_loss_ and validation_loss_ only" if hasattr(booster, "train_loss_") else ""
            raise TypeError(
                "estimator must be a fitted classifier of minrisk that keeps its loss and mean cost per round, got "
                f"{type(booster).__name__}{kept}: pass a REBELClassifier, or RiskCurveDisplay(train_loss, train_risk)."
            )
        validated = booster.validation_risk_
        best = None if validated is None else booster.n_iter_
        return cls(booster.train_loss_, booster.train_risk_, validated, best).plot(ax, **kwargs)

    def plot(self, ax: Any = None, **kwargs: Any) -> Self:
        """Draw the curves.

        Parameters
        ----------
        ax : matplotlib Axes or pair of Axes, optional
            The panels of mean cost and loss. A single one is divided into both. By default a new figure is made.
        **kwargs : dict
            Passed to the lines, such as ``linewidth=1``.

        Returns
        -------
        RiskCurveDisplay
            Itself, with `ax_`, `loss_ax_`, `figure_` and `lines_`.

        Raises
        ------
        ImportError
            If matplotlib is not installed.
        """
        self.ax_, self.loss_ax_ = _panels(ax)
        self.figure_ = self.ax_.figure
        look = {"linewidth": 1.8, "solid_capstyle": "round", **kwargs}
        curves = [
            ("train_risk", self.ax_, "training rows", _TRAINING_COLOUR, self.train_risk),
            ("train_loss", self.loss_ax_, "training rows", _TRAINING_COLOUR, self.train_loss),
        ]
        if self.validation_risk is not None:
            curves.append(("validation_risk", self.ax_, "validation rows", _VALIDATION_COLOUR, self.validation_risk))
        self.lines_ = {}
        for name, panel, label, colour, values in curves:
            style = {"color": colour, "label": label, **look}
            (self.lines_[name],) = panel.plot(np.arange(len(values)), values, **style)
        self._mark_best()
        self._dress()
        return self

    def _mark_best(self) -> None:
        """A line through both panels at the kept round, and a dot on the curve that chose it."""
        if self.best_round is None:
            return
        curve = self.train_risk if self.validation_risk is None else self.validation_risk
        for panel in (self.ax_, self.loss_ax_):
            panel.axvline(self.best_round, color=_KEPT_COLOUR, linewidth=1, linestyle=(0, (4, 3)), zorder=1)
        if self.best_round < len(curve):
            value = curve[self.best_round]
            colour = _TRAINING_COLOUR if self.validation_risk is None else _VALIDATION_COLOUR
            label = f"kept: round {self.best_round}, mean cost {value:.3g}"
            self.ax_.plot(self.best_round, value, "o", color=colour, markeredgecolor="white", markersize=8, label=label)

    def _dress(self) -> None:
        """Labels, scales and legend."""
        from matplotlib.ticker import MaxNLocator

        self.ax_.set_ylabel("Mean cost per row")
        self.ax_.set_ylim(bottom=0 if self._lowest_risk() >= 0 else None)
        self.ax_.legend(loc="upper right", edgecolor="none", framealpha=0.9)
        self.ax_.tick_params(labelbottom=False)
        self.loss_ax_.set_ylabel("Training loss")
        self.loss_ax_.set_xlabel("Rounds of boosting")
        self.loss_ax_.xaxis.set_major_locator(MaxNLocator(integer=True))
        if (self.train_loss > 0).all():
            log_scale(self.loss_ax_, self.train_loss)
        for panel in (self.ax_, self.loss_ax_):
            panel.spines[["top", "right"]].set_visible(False)
            panel.grid(axis="y", color="#E4E4E4", linewidth=0.8)
            panel.set_axisbelow(True)
            panel.margins(x=0.02)

    def _lowest_risk(self) -> float:
        validated = self.train_risk if self.validation_risk is None else self.validation_risk
        return float(min(self.train_risk.min(), validated.min()))


def _curve(values: Any, name: str) -> FloatArray:
    curve = numbers(values, name)
    if curve.ndim != 1 or len(curve) == 0:
        raise ValueError(
            f"{name} must be one value per round, before round 1 and after each, got shape {curve.shape}: pass a list."
        )
    return curve


def _panels(ax: Any) -> tuple[Any, Any]:
    """The panels of mean cost and loss."""
    if ax is None:
        _, (upper, lower) = pyplot().subplots(
            2, 1, sharex=True, figsize=(7, 5), layout="constrained", height_ratios=(3, 2)
        )
        return upper, lower
    if not np.iterable(ax):
        return split_panel(ax)
    panels = list(np.ravel(np.asarray(ax, dtype=object)))
    if len(panels) != 2:
        raise ValueError(f"ax must be one Axes or two, for mean cost and loss, got {len(panels)}: pass a pair.")
    return panels[0], panels[1]

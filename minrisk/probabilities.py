"""Class probabilities of an estimator: there where its scores say something about them, absent elsewhere."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

from minrisk._typing import FloatArray
from minrisk.inputs import of_one_fit

if TYPE_CHECKING:
    import numpy as np

    from minrisk.model.additive import AdditiveModel

NO_LINK = (
    "predict_proba is not available: {reason}. For probabilities train with cost=None, or wrap the estimator in "
    "sklearn.calibration.CalibratedClassifierCV."
)
NO_PROBABILITIES = (
    "predict_proba is not available: the scores of {name} say nothing about probabilities, whatever the costs. Wrap "
    "the estimator in sklearn.calibration.CalibratedClassifierCV."
)


class Probabilities:
    """`predict_proba` and `staged_predict_proba`, which an estimator without probabilities does not have."""

    if TYPE_CHECKING:
        cost: Any
        model_: AdditiveModel

        def _check_X(self, X: Any) -> Any: ...
        def _scores(self, X: np.ndarray) -> FloatArray: ...

    @property
    def predict_proba(self) -> Callable[[Any], FloatArray]:
        """Return the probabilities of the classes, by the link of the loss.

        Parameters
        ----------
        X : array-like of shape (n, d)
            Rows, as `predict` takes them.

        Returns
        -------
        ndarray of shape (n, K)
            Probabilities in the order of `classes_`; every row sums to 1.

        Raises
        ------
        AttributeError
            If the scores say nothing about probabilities, as those that are trained on other costs than 0/1.
        """
        self._require_link()
        return self._predict_proba

    @property
    def staged_predict_proba(self) -> Callable[[Any], Iterator[FloatArray]]:
        """Yield what `predict_proba` returns after each round.

        Parameters
        ----------
        X : array-like of shape (n, d)
            Rows, as `predict` takes them.

        Yields
        ------
        ndarray of shape (n, K)
            Probabilities in the order of `classes_`.

        Raises
        ------
        AttributeError
            If the scores say nothing about probabilities.
        """
        self._require_link()
        return self._staged_predict_proba

    def _require_link(self) -> None:
        model = getattr(self, "model_", None)
        if (model is None and not self._gives_probabilities()) or (model is not None and model.link is None):
            if self.cost is None and not self._gives_probabilities():
                raise AttributeError(NO_PROBABILITIES.format(name=type(self).__name__))
            raise AttributeError(
                NO_LINK.format(reason="scores trained on general costs estimate risks, not probabilities")
            )

    def _gives_probabilities(self) -> bool:
        """Whether a fit with these parameters may have a link."""
        return self.cost is None

    @of_one_fit
    def _predict_proba(self, X: Any) -> FloatArray:
        X = self._check_X(X)  # first: it says so if there was no fit
        return self.model_.probabilities(self._scores(X))

    _predict_proba.__name__ = "predict_proba"  # scikit-learn's stacking takes a method's own name for the attribute's

    @of_one_fit
    def _staged_predict_proba(self, X: Any) -> Iterator[FloatArray]:
        yield from map(self.model_.probabilities, self.model_.staged_scores(self._check_X(X)))

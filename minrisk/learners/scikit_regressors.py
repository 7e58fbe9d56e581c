"""Regressors of scikit-learn as weak learners: whatever has `fit` and `predict`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import clone

from minrisk.learners.base import Round
from minrisk.model.regressors import FittedRegressor
from minrisk.rows.directed import DirectedRows


@dataclass(frozen=True)
class ScikitRegressors:
    """Clones of a regressor, fitted to the targets of the rows that weigh something.

    Parameters
    ----------
    estimator : regressor
        Its `random_state`, where it has one that is None, is drawn from the round's seed.
    """

    estimator: Any

    def find(self, rows: DirectedRows, round_: Round, seed: int) -> FittedRegressor | None:
        """See `minrisk.learners.directed.Regression.find`."""
        regressor = clone(self.estimator)
        if regressor.get_params(deep=False).get("random_state", 0) is None:
            regressor.set_params(random_state=seed % (1 << 31))
        fitted = rows.fit(regressor)
        return None if fitted is None else FittedRegressor(fitted, np.ones(1))

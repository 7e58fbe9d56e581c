"""MinRisk: an average of cross-fitted boosters of vector-leaf trees that decides by least expected cost."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from sklearn.utils import check_random_state

from minrisk._typing import FloatArray, IntArray, Labels
from minrisk._workers import Workers
from minrisk.costs import as_cost
from minrisk.estimator import BoostedClassifier, as_labels
from minrisk.validation import Choice, Features, Number, Rule

if TYPE_CHECKING:
    from minrisk.boosting import Recipe
    from minrisk.losses.base import Loss
    from minrisk.rows.base import RowCosts
    from minrisk.selection import Candidate, CrossFit

POSTERIOR = ("exponential", "softmax")  # estimate probabilities; the costs come in with the decision
COST_TRAINED = ("coupled", "gll", "gel")  # the costs are in the loss; the largest score decides


class MinRiskClassifier(BoostedClassifier):
    _rules: ClassVar[Mapping[str, Rule]] = {
        **{name: BoostedClassifier._rules[name] for name in ("n_estimators", "binning", "max_bins", "subsample", "verbose")},
        "surrogate": Choice(("auto", *POSTERIOR, *COST_TRAINED)),
        "learning_rate": Number(float, 0, open_low=True, optional=True),
        "max_leaf_nodes": Number(int, 2, optional=True),
        "max_depth": Number(int, 1, 64, optional=True),
        "min_samples_leaf": Number(int, 1),
        "smoothing": Number(float, 0),
        "sketch": Number(int, 1, optional=True),
        "max_features": Features(),
        "n_folds": Number(int, 1),
        "time_budget": Number(float, 0, optional=True),
    }

    def __init__(
        self,
        cost: Any = None,
        *,
        surrogate: str = "auto",
        n_estimators: int = 200,
        learning_rate: float | None = None,
        max_leaf_nodes: int | None = None,
        max_depth: int | None = None,
        min_samples_leaf: int = 1,
        smoothing: float = 1e-3,
        sketch: int | None = 1,
        max_features: float = 0.4,
        subsample: float = 1.0,
        binning: str = "quantile",
        max_bins: int | None = None,
        n_folds: int = 5,
        time_budget: float | None = None,
        n_jobs: int | None = None,
        random_state: Any = None,
        verbose: int = 0,
    ) -> None:
        self.cost = cost
        self.surrogate = surrogate
        self.n_estimators = n_estimators
        self.learning_rate = learning_rate
        self.max_leaf_nodes = max_leaf_nodes
        self.max_depth = max_depth
        self.min_samples_leaf = min_samples_leaf
        self.smoothing = smoothing
        self.sketch = sketch
        self.max_features = max_features
        self.subsample = subsample
        self.binning = binning
        self.max_bins = max_bins
        self.n_folds = n_folds
        self.time_budget = time_budget
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

    # -- training ------------------------------------------------------------------------------------------------
    def _train(self, X: np.ndarray, y: Labels, sample_weight: Any, cost: Any, goes_on: bool, workers: Workers) -> None:
        """Cross-fit the candidates and keep the one of least validated risk."""
        from minrisk.binning import fit_binner
        from minrisk.selection import cross_fit, fold_numbers

        begun = time.perf_counter()
        codes = self._encode(y, False)
        weight = self._weights(sample_weight, X)
        table, index = self._resolve_cost(cost, codes)
        self._seed = int(check_random_state(self.random_state).randint(np.iinfo(np.int32).max))
        binner = fit_binner(X, self.binning, self.max_bins, None, None if sample_weight is None else weight, workers)
        counted = np.flatnonzero(weight > 0)
        rows = None if len(counted) == len(codes) else counted
        X_binned = binner.transform(X, rows, workers)
        codes, index, weight = codes[counted], index[counted], weight[counted]
        folds = fold_numbers(X_binned, codes, min(self.n_folds, max(1, len(codes) // 2)), self._seed)
        self.selection_: list[dict[str, Any]] = []
        best, least = None, np.inf
        for candidate in self._candidates(table, index, weight, codes, binner.thresholds):
            elapsed = time.perf_counter() - begun
            if best is not None and self.time_budget is not None and elapsed + best.seconds > self.time_budget:
                break
            fitted = cross_fit(candidate, X_binned, binner.n_bins, folds, self.n_estimators, self._seed, workers)
            risk = self._validated_risk(fitted, table, index, weight)
            self.selection_.append(
                {
                    "surrogate": candidate.surrogate, "learning_rate": candidate.learning_rate,
                    "n_rounds": fitted.n_rounds, "temperature": fitted.temperature, "risk": risk,
                    "seconds": fitted.seconds,
                }
            )  # fmt: skip
            if best is None or risk < least:
                best, least = fitted, risk
        assert best is not None
        self._keep(best)

    def _candidates(
        self, table: FloatArray, index: IntArray, weight: FloatArray, codes: IntArray,
        thresholds: tuple[FloatArray, ...],
    ) -> list[Candidate]:
        """Surrogates to be tried, the most promising first."""
        from minrisk.rows.base import RowCosts
        from minrisk.selection import Candidate

        label = codes.astype(np.int32)
        blind = RowCosts(1.0 - np.eye(len(self.classes_)), label, weight, label)
        stated = RowCosts(table, index.astype(np.int32), weight, label)
        if self.surrogate != "auto":
            names: tuple[str, ...] = (self.surrogate,)
        else:
            names = ("exponential", "softmax") if self.cost_ is not None else ("coupled", "gll")
        if self.cost_ is None and names[0] in POSTERIOR:
            raise ValueError(
                f"surrogate={self.surrogate!r} decides by a cost matrix, which costs per row do not give: use "
                "surrogate='auto', 'coupled', 'gll' or 'gel', or pass the costs to predict."
            )

        def recipe(name: str) -> Any:
            return lambda costs, rate, n: self._make_recipe(name, costs, rate, n, thresholds)

        rate = 0.3 if self.learning_rate is None else self.learning_rate
        return [Candidate(name, rate, blind if name in POSTERIOR else stated, recipe(name)) for name in names]

    def _make_recipe(
        self, surrogate: str, costs: RowCosts, rate: float, n_samples: int, thresholds: tuple[FloatArray, ...]
    ) -> Recipe:
        from minrisk.boosting import Recipe
        from minrisk.learners.vector_tree import VectorTrees
        from minrisk.steps.leaf_vectors import LeafClosedForm, LeafNewton

        exponential = surrogate in ("exponential", "coupled")
        share = self.max_features if not isinstance(self.max_features, int) else self.max_features / len(thresholds)
        leaves = self.max_leaf_nodes or max(8, min(64, n_samples // 40))
        family = VectorTrees(
            leaves, thresholds, self.max_depth or 64, self.min_samples_leaf, min(1.0, share), self.sketch
        )
        return Recipe(
            loss=self._loss(surrogate, costs),
            family=family,
            solver=LeafClosedForm() if exponential else LeafNewton(10 * self.smoothing),
            smoothing=self.smoothing,
            learning_rate=rate,
            fit_intercept=exponential,
            subsample=self.subsample,
        )

    @staticmethod
    def _loss(surrogate: str, costs: RowCosts) -> Loss:
        if surrogate in ("exponential", "coupled"):
            from minrisk.losses.coupled import coupled_loss

            return coupled_loss(costs, "exponential", "tight")
        from minrisk.losses.guess_averse import GuessAverseLoss

        return GuessAverseLoss("gel" if surrogate == "gel" else "gll")

    def _validated_risk(self, fit: CrossFit, table: FloatArray, index: IntArray, weight: FloatArray) -> float:
        """Mean cost of the decisions about left-out rows."""
        decisions = self._decide(fit.scores, fit.link, fit.temperature)
        return float(weight @ table[index, decisions] / weight.sum())

    def _keep(self, fit: CrossFit) -> None:
        """The average of the members as one model."""
        from minrisk.learners.tree import CONSTANT, pack
        from minrisk.model import AdditiveModel

        B, n = len(fit.members), fit.n_rounds
        D = fit.scores.shape[1]
        trees, vectors = [], []
        for t in range(n):
            for member in fit.members:
                grown = t < len(member.trees)  # a member that had nothing left to learn stands still
                trees.append(member.trees[t] if grown else CONSTANT)
                vectors.append(member.vectors[t] / B if grown else np.zeros((1, D)))
        intercept = np.mean([member.intercept for member in fit.members], axis=0)
        self.model_ = AdditiveModel(
            pack(trees), np.concatenate([np.empty((0, D)), *vectors]), intercept, self.n_features_in_, fit.link, B,
            fit.temperature,
        )
        self.surrogate_ = fit.candidate.surrogate
        self.n_iter_ = n
        self.train_loss_ = np.mean([_padded(member.losses, n + 1) for member in fit.members], axis=0)

    # -- prediction ------------------------------------------------------------------------------------------------
    def _decide(self, scores: FloatArray, link: str | None, temperature: float, cost: Any = None) -> IntArray:
        """Decision of each row: of least expected cost where the scores give probabilities, else of the largest score."""
        from minrisk.losses.links import probabilities

        if link is None:
            return np.asarray(scores.argmax(axis=1))
        if cost is None and self.cost_ is not None:
            cost = self.cost_.values
        p = probabilities(link, scores, temperature)
        expected = np.einsum("nk,nkd->nd", p, cost) if np.ndim(cost) == 3 else p @ cost
        return np.asarray(expected.argmin(axis=1))

    def predict(self, X: Any, cost: Any = None) -> Labels:
        scores = self._scores(X)
        decisions = self.decisions_
        if cost is not None:
            if self.model_.link is None:
                raise ValueError(
                    f"The surrogate {self.surrogate_!r} has the costs of the fit in its scores: to decide under other "
                    "costs train with surrogate='exponential' or 'softmax', or fit again."
                )
            if np.ndim(cost) == 3:
                cost = np.asarray(cost, dtype=np.float64)
                if cost.shape[:2] != (len(scores), len(self.classes_)) or not np.all(np.isfinite(cost)):
                    raise ValueError(
                        f"Costs per row must be finite, one matrix for each row: expected shape "
                        f"({len(scores)}, {len(self.classes_)}, decisions), got {cost.shape}."
                    )
                if cost.shape[2] != len(decisions):
                    decisions = np.arange(cost.shape[2]) if cost.shape[2] != len(self.classes_) else self.classes_
            else:
                matrix = as_cost(cost, self.classes_)
                cost, decisions = np.asarray(matrix.values), as_labels(matrix.decisions)
        found = self._decide(scores, self.model_.link, self.model_.temperature, cost)
        return np.asarray(decisions[found])


def _padded(values: list[float], n: int) -> FloatArray:
    """The first n values, the last one repeated where there are fewer."""
    return np.array(values[:n] + values[-1:] * (n - len(values)))

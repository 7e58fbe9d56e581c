"""MinRisk: an average of cross-fitted boosters of vector-leaf trees that decides by least expected cost.

The project's own: the coupled exponential loss and its closed form from REBEL (Appel et al., NIPS 2016), the
guess-averse losses from Beijbom et al. (ICML 2014), on vector-leaf trees. Averaging models fitted to all folds but one,
with that one for calibration, is what scikit-learn's ``CalibratedClassifierCV(ensemble=True)`` does.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import replace
from numbers import Integral, Real
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from minrisk._typing import FloatArray, Labels
from minrisk._workers import Workers
from minrisk.costs.tables import avoidable
from minrisk.estimator import BoostedClassifier
from minrisk.eval_sets import codes_of, record_stages
from minrisk.fitted import decision_costs
from minrisk.inputs import of_one_fit
from minrisk.losses.surrogates import COST_TRAINED, POSTERIOR
from minrisk.validation import Choice, Depth, Features, Flag, Folds, Number, Rule

if TYPE_CHECKING:
    from minrisk.boosting.watching import Watch
    from minrisk.elsewhere import Elsewhere
    from minrisk.ensemble.kind import Settings
    from minrisk.ensemble.training import Plan, TrainedPool

def check_excess(max_excess: float) -> None:
    """Raise ValueError unless this is a share of costs that may be given away."""
    if not (isinstance(max_excess, Real) and 0.0 <= max_excess <= 1.0):
        raise ValueError(f"max_excess must be a number from 0 to 1, such as 0.005, got {max_excess!r}.")


class MinRiskClassifier(BoostedClassifier):
    """Boosting for the decision of least expected cost: one tree per round with a vector of scores in every leaf.

    Members H_b(x) = a_b0 + sum_t A_bt[leaf_bt(x)] are trained side by side, each on all folds but one. The left-out
    rows choose the number of rounds and a temperature T; then members go on for a fifth as many on all rows (of 200 or
    more). The model is the average H of the members, in which challengers get the share that left-out rows give them:
    members that also split linear features, that have small trees, or that are smooth. A surrogate that estimates
    probabilities decides by

        argmin_k sum_j p_j(x) C_jk,    p_j ~ sigmoid(2 H_j / T)  ("exponential")  or  exp(H_j / T)  ("softmax"),

    with one trained on the costs it is argmax_k H_k(x). Where `fit` is given costs for each row, C_jk is a regression
    on the features of what rows of class j cost (see `CostRegression`), or a row's own costs given to `predict`.
    On rows too few to leave any out (one of each class) probabilities stay near the class frequencies, and scores
    trained on the costs near what each decision costs in the mean.

    Parameters
    ----------
    cost : optional
        What each mistake costs: a K x D table (rows are true classes, columns are decisions), DataFrame, dict of
        dicts, CSV file or `minrisk.CostMatrix`; a table without labels stands in the order of `classes_`, which is
        sorted. Default: every mistake costs 1.
    surrogate : {"auto", "exponential", "softmax", "coupled", "gll", "gel"}, default="auto"
        What is boosted. "softmax" and "exponential" see 0/1 costs and estimate probabilities: they serve any costs,
        also others at prediction. "coupled" (REBEL's exponential), "gll" and "gel" (guess-averse) train on the stated
        costs: they know no others, and no probabilities. "auto" is "softmax", or with a `time_budget` that is
        enough for "exponential" as well the one of least validated cost.
    n_estimators : int, optional
        Largest number of rounds, those on all rows included. Default: 200, on 20 000 rows or more 1000, of which half
        a billion divided by the rows are made if these are fewer, but at least 200; with a `time_budget` 10 000.
    learning_rate : float, optional
        Factor on every leaf vector. Default: 0.5, on 20 000 rows or more 0.3.
    max_leaf_nodes : int, optional
        Leaves of a tree. Default: a fortieth of a member's rows, at least 24 (or a twentieth, at least 8, with more
        features than rows 16) and at most 64, or 8 for each class while a tree's vectors hold at most 8192 numbers. On
        20 000 rows or more a hundredth of them, at most 1023, while the vectors hold at most 32 768 numbers. At most
        20, or up to 64 classes one for each, with more than 2000 features and 1000 rows.
    max_depth : int, optional
        Splits between the root and a leaf; default 64, which is no limit.
    min_samples_leaf : int, default=1
        Rows in a leaf.
    smoothing : float, optional
        Weight of phantom rows in every leaf, as a share of what can still be lost in all rows. Default: 0.001; on
        20 000 rows or more 5 rows' share; at most 0.00001 with more than 2000 features and 1000 rows, as of texts: a
        rare word says much about few rows.
    sketch : int, optional, default=2
        Splits are chosen on this many random combinations of the classes, so that a round costs hardly more with many
        classes; None, or more than twice as many as there are classes, takes all of them into account, at a multiple of
        the time. Leaf vectors are exact either way.
    max_features : float or int, optional
        Share or number of features looked at in each split, drawn anew for each. Default: 0.4, at most 160 features.
    search_rows : int, optional, default=8192
        With more than four times as many rows, splits are searched on a sample drawn anew for each tree by minimal
        variance sampling: of about these many, or as many as have large gradients, at most sixteen times as many. Leaf
        vectors are of all rows, `min_samples_leaf` of those searched. None, or no `sketch`: all rows are searched.
    subsample : float, default=1.0
        Share of the rows drawn, without replacement, for each tree.
    binning : {"quantile", "uniform"}, default="quantile"
        Thresholds that divide the rows evenly, or evenly spaced ones.
    max_bins : int, optional
        2 to 256. Default: a 64th of the rows, of few features (512 bins in all) a 16th; 16 to 256; for small trees on
        1000 rows or more a quarter. If uniform, 201.
    cv : int, cross-validation splitter or iterable, optional
        Folds, and so members. Default: 4, at random; on 20 000 rows or more one member that leaves an eighth out, and
        up to 3 more where it has few rounds. Where `fit` is given `groups` (of a patient's rows; of copies), folds do
        not divide them, and a splitter is told of them. 1: one on all rows, all rounds, uncalibrated.
    pool : bool, default=True
        Let challengers join the plain members, for surrogates that estimate probabilities: "linear" ones see principal
        components and directions that part the classes beside the features (at most 2000 features), "small" ones have
        trees of 8 leaves chosen among 20 features or more, "tiny" ones, rivals of these on features of few values (10
        in the mean; at most 10 classes, 32 768 rows), 4 leaves chosen by all classes. Each is tried on one fold first.
        "smooth" ones ("softmax", at most 4096 rows) have Gaussian kernels around 128 rows in place of trees. "linear"
        and "smooth" ones depend on the features' scales. False: plain members only, at a third of the time.
    time_budget : float, optional
        Seconds that the fit takes; the model then depends on the machine. Rounds end where the seconds do (the first 5
        are always made). What is left is used: for challengers, for "exponential" beside "softmax" ("auto"), then for
        members that vary in their seed and in what is left open of `learning_rate`, `max_leaf_nodes`, `max_features`
        and `smoothing` ("varied"). All of them join by the share that left-out rows give them unless their mean cost
        rises. Members have up to 10 000 rounds unless `n_estimators` says otherwise; those of the first kind may be
        fewer than without a budget. A fit ends early where left-out rows cost nothing, or say that there is nothing to
        learn, and with a surrogate that is trained on costs, which has no variations. None: "softmax" only, as long as
        it takes.
    class_weight : dict or "balanced", optional
        Factor on the weights of each class's rows: a number above 0 by label, 1 for labels that are not named, or
        "balanced", which is n / (K n_k) for class k of n_k of the n rows, counted by `sample_weight`, so that all
        classes weigh alike. Probabilities are then of rows that come in such shares. To keep those of the rows as they
        come, and yet decide as if all classes counted alike, state ``cost=minrisk.costs.balanced(y)`` instead.
    categorical_features : array-like or "from_dtype", default="from_dtype"
        Columns whose numbers are names, such as postcodes: names, positions or a mask of shape (d,). Columns of text
        and of a type for categories are categories without being named.
    n_jobs : int, optional
        Threads, as in joblib: None is 1, -1 all cores. The model does not depend on it.
    random_state : int or RandomState, optional
        For folds, sketches, features and rows. A number makes the fit repeatable: the same bits on the same processor
        generation and, with `pool` off, on others.
    verbose : int, default=0
        1 draws a progress bar of the whole fit (with rich).

    Attributes
    ----------
    classes_, decisions_, cost_, model_, n_features_in_, feature_names_in_, feature_importances_
        As in `REBELClassifier`; `model_` holds the members' trees, one of each in every round.
    n_iter_ : int
        Rounds kept; a kind of members that needs fewer stands still afterwards.
    cost_regression_ : CostRegression or None
        What was learnt from costs per row; its `unit * means` (K, D) are the avoidable costs of each decision for a
        class's rows in the mean.
    columns_, evals_result_
        As in `REBELClassifier`; beside "cost" stands "log_loss" where there are probabilities.
    surrogate_ : str
        The surrogate chosen.
    selection_ : list of dict
        What was tried: surrogate, variant, share in the model (0: dropped), n_rounds (in all), temperature, risk (mean
        cost of the rows that it left out, by itself), pooled_risk (of all with a share, of this surrogate), seconds.
        Variations without a share are not listed. Fits of other folds are judged by other rows.
    train_loss_ : ndarray of shape (n_iter_ + 1,)
        The members' mean loss before round 1 and after every round.
    validation_loss_ : ndarray of shape (m, 2)
        Rounds looked at and the plain members' log-loss of left-out rows there (the mean cost, for surrogates trained
        on costs).

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from minrisk import MinRiskClassifier
    >>> X, y = load_wine(return_X_y=True)
    >>> cost = [[0, 1, 1], [1, 0, 1], [10, 10, 0]]  # class 2 must not be missed
    >>> model = MinRiskClassifier(cost, random_state=0).fit(X[::2], y[::2])
    >>> model.predict(X[1::2])[:5]
    array([0, 0, 0, 0, 0])
    >>> model.predict(X[1::2], cost=1 - np.eye(3))[:5]  # other costs, the same fit
    array([0, 0, 0, 0, 0])
    """

    _rules: ClassVar[Mapping[str, Rule]] = {
        **{
            name: BoostedClassifier._rules[name]
            for name in (
                "binning", "max_bins", "subsample", "class_weight", "categorical_features", "n_jobs", "random_state",
                "verbose",
            )
        },
        "surrogate": Choice(("auto", *POSTERIOR, *COST_TRAINED)),
        "n_estimators": Number(int, 1, optional=True),
        "learning_rate": Number(float, 0, open_low=True, optional=True),
        "max_leaf_nodes": Number(int, 2, optional=True),
        "max_depth": Depth(optional=True),
        "min_samples_leaf": Number(int, 1),
        "smoothing": Number(float, 0, optional=True),
        "sketch": Number(int, 1, optional=True),
        "max_features": Features(optional=True),
        "search_rows": Number(int, 2, optional=True),
        "cv": Folds(),
        "pool": Flag(),
        "time_budget": Number(float, 0, optional=True),
    }

    def __init__(
        self,
        cost: Any = None,
        *,
        surrogate: str = "auto",
        n_estimators: int | None = None,
        learning_rate: float | None = None,
        max_leaf_nodes: int | None = None,
        max_depth: int | None = None,
        min_samples_leaf: int = 1,
        smoothing: float | None = None,
        sketch: int | None = 2,
        max_features: float | None = None,
        search_rows: int | None = 8192,
        subsample: float = 1.0,
        binning: str = "quantile",
        max_bins: int | None = None,
        cv: Any = None,
        pool: bool = True,
        time_budget: float | None = None,
        class_weight: Any = None,
        categorical_features: Any = "from_dtype",
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
        self.search_rows = search_rows
        self.subsample = subsample
        self.binning = binning
        self.max_bins = max_bins
        self.cv = cv
        self.pool = pool
        self.time_budget = time_budget
        self.class_weight = class_weight
        self.categorical_features = categorical_features
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

    # -- training ------------------------------------------------------------------------------------------------
    _has_phases: ClassVar[bool] = True

    def _train(
        self, X: np.ndarray, y: Labels, sample_weight: Any, cost: Any, goes_on: bool, workers: Workers, watch: Watch
    ) -> None:
        """Train pools and keep the one of least validated risk: see `minrisk.ensemble`."""
        from minrisk.ensemble.training import train

        rows, costs = self._counted(X, y, sample_weight, cost, False)
        codes_of(self, watch.eval_sets)  # which fails before the training and not after it
        plan, settings = self._plan(costs.n_rows, X.shape[1])
        matrix = None if self.cost_ is None else costs.table
        found = train(X, y, rows, costs, len(self.classes_), matrix, plan, settings, workers, watch)
        self._keep(found)
        record_stages(self, watch.eval_sets)

    def _plan(self, n_rows: int, n_features: int) -> tuple[Plan, Settings]:
        """What the parameters say to a fit of so many rows."""
        from minrisk.ensemble.kind import Settings
        from minrisk.ensemble.training import Plan

        settings = Settings.of(vars(self), n_rows, n_features)
        surrogates = POSTERIOR if self.surrogate == "auto" else (self.surrogate,)
        left_open = frozenset(name for name in Settings._fields if getattr(self, name) is None)
        plan = Plan(
            surrogates, self.n_estimators, self.cv, self.pool, self.binning, self.max_bins, self.time_budget, left_open,
            self._seed, self._group,
        )  # fmt: skip
        return plan, settings

    def _train_elsewhere(self, rows: Elsewhere, cost: Any, watch: Watch) -> None:
        """Likewise, of rows that lie elsewhere."""
        from minrisk.ensemble.budget import Budget
        from minrisk.ensemble.elsewhere import table_elsewhere
        from minrisk.ensemble.training import train_on

        if not (self.cv is None or isinstance(self.cv, Integral)):
            raise ValueError(f"cv must be a number of folds for rows in Dask collections, got {self.cv!r}.")
        driver, counted, matrix = self._counted_elsewhere(rows, cost)
        costs = counted.cost_facts
        plan, settings = self._plan(costs.n_rows, rows.n_features)
        budget = Budget(plan.time_budget, time.perf_counter(), watch.stop)
        table, folded = table_elsewhere(driver, counted, plan, costs.n_rows, rows.n_features)
        self._keep(train_on(
            table, folded, costs.n_rows, len(self.classes_), matrix, plan, settings, Workers(), watch, budget
        ))

    def _keep(self, found: TrainedPool) -> None:
        """Attributes of the fit."""
        from minrisk.ensemble.average import mean_losses, pooled_model
        from minrisk.ensemble.stages import cascade_of

        self.model_ = pooled_model(found.pool, len(self._categories.source), found.projection)
        self.surrogate_ = found.pool.fits[0].kind.task.surrogate
        self.selection_: list[dict[str, Any]] = found.tried
        self.n_iter_ = len(self.model_)
        self.train_loss_ = mean_losses(found.pool)
        self.validation_loss_ = np.array(found.pool.fits[0].judged, dtype=np.float64).reshape(-1, 2)
        self.cost_regression_ = found.costs
        if self.cost_ is not None and found.judged is not None:
            self.model_ = replace(self.model_, cascade=cascade_of(found.judged, self.n_iter_, self.cost_))

    def _n_outputs(self) -> int:
        return len(self.classes_ if self.surrogate_ in POSTERIOR else self.decisions_)

    def _facts(self) -> dict[str, Any]:
        timeless = [{name: value for name, value in tried.items() if name != "seconds"} for tried in self.selection_]
        return {"surrogate": self.surrogate_, "selection": timeless}

    def _restore_facts(self, facts: dict[str, Any]) -> None:
        self.surrogate_, self.selection_ = facts["surrogate"], facts["selection"]

    # -- prediction ------------------------------------------------------------------------------------------------
    def _expected(self, X: np.ndarray, scores: FloatArray) -> FloatArray | None:
        """Expected costs under the costs of the fit: its matrix, or what was learnt from costs per row."""
        from minrisk.model.decisions import expected_costs

        if self.model_.link is None:
            return None
        if self.cost_regression_ is not None:
            return self.cost_regression_.expected(X, self.model_.probabilities(scores))
        assert self.cost_ is not None
        return expected_costs(self.model_.link, scores, self.model_.temperature, self.cost_.avoidable)

    def _gives_probabilities(self) -> bool:
        return self.surrogate == "auto" or self.surrogate in POSTERIOR

    def predict(self, X: Any, cost: Any = None, *, max_excess: float = 0.0) -> Labels:
        """The decision of least expected cost for each row, (n,).

        A row passes the trees in stages of rounds. Its decision stands after the first stage where the remaining trees
        cannot change it; the others are not looked at. It depends on this row alone.

        Parameters
        ----------
        X : array-like of shape (n, d)
        cost : optional
            Costs to decide by instead of those of the fit, without fitting again: a matrix as in the constructor, or
            an (n, K, D) array with a matrix for every row. Its columns are `decisions_` if there are as many, else the
            classes and what follows them, as in a matrix without labels.
        max_excess : float, default=0.0
            Share by which the expected cost may be above that of the whole model's decisions, for speed: 0.005 allows
            half a per cent. A row is then decided as soon as one class is so far ahead as rows left out in the fit say
            is enough, under its costs and on the average of such rows. From 0.001 on; 0: the whole model's decisions.
            They always are where no rows were left out (``cv=1``, costs per row, Dask collections) or only scores
            decide (surrogates trained on costs), of models of ``surrogate="exponential"``, whose probabilities are no
            matter of differences of scores, of fewer than 64 trees, or of `minrisk.compact`, and for sparse X.

        Raises
        ------
        ValueError
            If `cost` is given and the surrogate was trained on costs, it has the wrong shape, or `max_excess` is no
            number from 0 to 1.
        """
        return self._predict_by(X, cost, max_excess)

    @of_one_fit
    def _predict_by(self, X: Any, cost: Any, max_excess: float) -> Labels:
        """The decisions under the costs of the fit, or these."""
        from minrisk.model.cascade import DecisionRule
        from minrisk.model.decisions import expected_costs

        X = self._check_X(X)
        check_excess(max_excess)
        link, temperature = self.model_.link, self.model_.temperature
        if cost is None:
            if self.cost_regression_ is not None:
                return np.asarray(self.decisions_[self._decide(X, self._scores(X))])
            rule = DecisionRule.of(link, temperature, self.cost_)
            return np.asarray(self.decisions_[self._decisions(X, rule, max_excess)])
        if link is None:
            raise ValueError(
                f"The surrogate {self.surrogate_!r} was trained on its costs and knows no others: fit with "
                "surrogate='softmax' or 'exponential' to decide under costs given to predict, or fit again."
            )
        costs = decision_costs(self, cost, len(X))
        if costs.shared is None:
            expected = expected_costs(link, self._scores(X), temperature, avoidable(costs.values))
            return np.asarray(costs.decisions[expected.argmin(axis=1)])
        rule = DecisionRule.of(link, temperature, costs.shared)
        return np.asarray(costs.decisions[self._decisions(X, rule, max_excess)])

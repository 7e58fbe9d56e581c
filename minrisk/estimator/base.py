"""The scikit-learn estimator: what is the same however a model is trained."""

from __future__ import annotations

import itertools
import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing
from copy import copy
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np
from joblib import effective_n_jobs
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from minrisk._kernels.functions import log
from minrisk._typing import Codes, FloatArray, IntArray, Labels
from minrisk._utils.algebra import product
from minrisk._utils.interrupts import StopRequest, keeping_what_is_learnt
from minrisk._utils.workers import Workers
from minrisk.costs import as_cost
from minrisk.costs.labels import as_labels, label_array
from minrisk.costs.reading import CostsPerRow, check_sample_order, costs_of_rows, costs_per_row
from minrisk.costs.units import AvoidableCosts
from minrisk.costs.weights import stated_factors
from minrisk.data.categories import Categories
from minrisk.data.chunks import Chunks, CodedLabels
from minrisk.data.groups import group_codes
from minrisk.data.labels import check_kept
from minrisk.data.partitioned import is_partitioned
from minrisk.estimator.callbacks import CallbackSupport, callbacks_of, has_callbacks
from minrisk.estimator.eval_sets import check_eval_set, checked_pair, eval_pairs
from minrisk.estimator.inputs import (
    JUDGE_BY,
    QUICK_ROWS,
    Inputs,
    TrainingRows,
    check_the_same,
    of_one_fit,
    tell_calibration,
)
from minrisk.estimator.parameters import check_parameters
from minrisk.metrics import expected_cost

if TYPE_CHECKING:
    from minrisk.boosting.watching import Tasks, Watch
    from minrisk.costs import CostMatrix
    from minrisk.estimator.elsewhere import Elsewhere
    from minrisk.model.additive import AdditiveModel
    from minrisk.model.cascade import DecisionRule
    from minrisk.rows.costs import RowCosts

LEAST_COST = 1e-300  # of which there is a logarithm
INTERRUPTED_FIT = "fit was interrupted. The estimator is fitted with what was learnt until then: {n_rounds} round{s}."
NO_LINK = (
    "predict_proba is not available: scores trained on general costs estimate risks, not probabilities. For "
    "probabilities train with cost=None, or wrap the estimator in sklearn.calibration.CalibratedClassifierCV."
)
NO_PROBABILITIES = (
    "predict_proba is not available: the scores of {name} say nothing about probabilities, whatever the costs. Wrap "
    "the estimator in sklearn.calibration.CalibratedClassifierCV."
)


def _table_of_rows(classes: Labels, labels: Labels, stated: Any, cost: Any, codes: IntArray) -> FloatArray:
    """Return the costs of rows of these classes, (n, D), for pieces of rows that are elsewhere."""
    return CostsPerRow.of(cost, classes, labels, stated).table(len(codes), as_labels(classes), codes)[0]


class BoostedClassifier(Inputs, CallbackSupport, ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """Checks, labels, costs, prediction and judging; a subclass has the parameters and trains `model_`."""

    n_estimators: Any  # a whole number, or None where it follows the data
    cost: Any
    n_jobs: int | None
    random_state: Any
    verbose: int

    classes_: Labels
    decisions_: Labels
    cost_: CostMatrix | None
    _stated: CostMatrix | None  # `cost_` with the rows of classes that no training row had; None without costs
    model_: AdditiveModel
    n_iter_: int
    train_loss_: FloatArray
    evals_result_: dict[str, dict[str, list[float]]]  # of fits with an `eval_set`
    _seed: int
    _has_phases: ClassVar[bool] = False  # whether its training has several, each with rounds; see `Tasks`
    # Settings that between them reach every way to fit the method, the usual one first: tests make small fits of
    # all of them.
    _ways: ClassVar[tuple[Mapping[str, Any], ...]] = ({},)
    _parts_rows: ClassVar[bool] = False  # whether learners set single rows apart, however little these weigh

    @property
    def _needs_matrix(self) -> bool:
        """Tell whether the method decides by a cost matrix, which costs per row are not."""
        return False

    # -- training ------------------------------------------------------------------------------------------------
    def fit(
        self,
        X: Any,
        y: Any = None,
        sample_weight: Any = None,
        cost: Any = None,
        *,
        groups: Any = None,
        eval_set: Any = None,
        checkpoint: str | os.PathLike[str] | None = None,
    ) -> Self:
        """Train on features, labels and costs.

        Parameters
        ----------
        X : array-like of shape (n, d), sparse matrix, table, Chunks or Dask collection
            The features. NaN, None and nulls are missing values.
            A table is a DataFrame of pandas, polars or the like, or an Arrow table: its columns may hold numbers,
            categories, texts and dates.
            Afterwards its columns are found by name, in any order.
            `minrisk.Chunks` are rows that need not fit into memory.
            A Dask array or dataframe of numbers stays where it is, on the cluster of the current client.
        y : array-like of shape (n,), optional
            Class labels: numbers, strings, or dates of dtype datetime64. There must be two classes at least.
            They must be given unless X is `minrisk.Chunks`, which hold them.
        sample_weight : array-like of shape (n,), optional
            Weights of the rows, 0 or more, which multiply their costs. Only their ratios matter.
            One of 0 is the same as no row. Defaults that depend on the number of rows count effective rows,
            (sum w)^2 / sum w^2.
            By default all rows weigh alike.
        cost : array-like of shape (K, D), (n, D) or (n, K, D), DataFrame, dict, CSV file or CostMatrix, optional
            Costs in place of the constructor's `cost`. Here they may also differ by row.
            (n, D) is what each decision costs for each row; of (n, K, D), a matrix for each row, the row of the true
            class counts. Rows are taken by position; a table of pandas with the row labels of X or y in another order
            is refused.
        groups : array-like of shape (n,), optional
            Which rows belong together, such as all rows of one patient: a number or a text for each row.
            Rows of one group are left out together wherever the fit leaves rows out.
            By default every row may be left out by itself.
        eval_set : tuple of (X, y) or (X, y, cost), or list of tuples, optional
            Other rows, whose mean cost after every round is kept in `evals_result_`: by costs of their own, as `cost`
            takes them, or else by those of the fit.
            If `early_stopping` is set, the first pair takes the place of the rows that would be set apart. Otherwise
            they have no part in the training.
        checkpoint : path, optional
            File in which the rounds are kept while they are made, at most every 30 seconds.
            If the fit is killed, the same call goes on from there, and gives the same model as a fit that was not.
            The file is removed when the fit has ended.

        Returns
        -------
        estimator
            This estimator, fitted.

        Raises
        ------
        ValueError
            If a parameter, X, y, a cost or an `eval_set` is not usable; the message says what was expected.
            If `checkpoint` is a file of a fit with other rows, parameters or versions, or none of a fit.
        OSError
            If no file can be written where `checkpoint` says.
        KeyboardInterrupt
            After Ctrl-C in the main thread. The first Ctrl-C ends the training and leaves this estimator fitted with
            what was learnt so far, if there was anything. After a second one the estimator is as it was before the fit.

        Notes
        -----
        Text and categorical types are categories, and dates count days. A split sends missing values to the side of the
        low values.

        Rows of weight 0 make no class: a class with only such rows is none.

        Costs for each row, (n, D), without column names have the sorted classes as columns, and then other decisions.
        The classes are those of y, or those that the constructor's `cost` names if y lacks some of them.
        A constant that is added to all costs of a row changes no decision.

        Labels, weights and groups of pandas whose row labels are those of X in another order are refused.

        `groups` are kept together in the folds of `MinRiskClassifier`, in the rows that `early_stopping` sets apart,
        and where shares of classes stand for categories of many values. A warm start needs the same groups again. Dask
        collections have none.

        If X is a Dask collection, y, weights and costs for each row must be Dask collections as well.
        `MinRiskClassifier`, `REBELClassifier` and others whose learners see nothing but bins fit them where they are.
        The other estimators accept up to 32 768 rows.
        """
        given = self._parameters()
        checked = check_parameters(type(self).__name__, given, self._rules)
        if groups is not None and is_partitioned(X):
            raise ValueError("groups keep rows together that are here: leave groups out for Dask collections.")
        for name, each in (("y", y), ("sample_weight", sample_weight), ("groups", groups)):
            check_sample_order(each, name, X=X)
        group = group_codes(groups)
        with callbacks_of(self):
            with keeping_what_is_learnt() as stop:
                tasks = self._begin_tasks(X, y, sample_weight, checked, stop) if has_callbacks(self) else None
                trained = copy(self)  # what fails, or is interrupted twice, leaves this estimator as it was
                trained.__dict__.update(checked)
                trained._group = group
                trained._keep_rounds_in(checkpoint)
                trained._fit(X, y, sample_weight, cost, eval_set, stop, tasks, given)
            tell_calibration(trained)
            if trained._checkpoint is not None:
                trained._close_checkpoint(not stop.interrupted and isinstance(checkpoint, str | os.PathLike))
            for name in ("_group", "_checkpoint"):  # of this fit only
                trained.__dict__.pop(name, None)
            # In one assignment, so that a thread that predicts meanwhile sees one fit or the other.
            self.__dict__ = {**trained.__dict__, **given}
            if tasks is not None:
                tasks.end()
        if stop.interrupted:
            raise KeyboardInterrupt(INTERRUPTED_FIT.format(n_rounds=self.n_iter_, s="s" * (self.n_iter_ != 1)))
        return self

    def _begin_tasks(self, X: Any, y: Any, sample_weight: Any, parameters: dict[str, Any], stop: StopRequest) -> Tasks:
        """Tell callbacks that a fit begins."""
        from minrisk.boosting.watching import Tasks

        goes_on = parameters.get("warm_start", False) and hasattr(self, "model_")
        data = {"X": X, "y": y, "metadata": {} if sample_weight is None else {"sample_weight": sample_weight}}
        n_rounds = None if self._has_phases else max(0, parameters["n_estimators"] - (self.n_iter_ if goes_on else 0))
        tasks = Tasks(self, self._init_callback_context(max_subtasks=n_rounds), stop, data, self._has_phases)
        tasks.begin()
        return tasks

    def _as_fitted(self, given: dict[str, Any], found: Any) -> dict[str, Any]:
        """Return the attributes of an estimator that has found this much, without a change of this one."""
        fitted = copy(self)
        fitted._keep(found)
        fitted._began_with = self._lasting_parameters()
        for name in ("_group", "_checkpoint"):  # of the fit only
            fitted.__dict__.pop(name, None)
        return {**vars(fitted), **given}

    def _keep(self, found: Any) -> None:
        """Make attributes of what training has found: what a subclass writes."""
        raise TypeError(f"{type(self).__name__} does not say how it is trained: use one such as REBELClassifier.")

    def _fit(
        self,
        X: Any,
        y: Any,
        sample_weight: Any,
        cost: Any,
        eval_set: Any = None,
        stop: StopRequest | None = None,
        tasks: Tasks | None = None,
        given: dict[str, Any] | None = None,
    ) -> None:
        """Train; the parameters are checked, `given` are those that users see."""
        from minrisk.boosting.monitors import ProgressBar
        from minrisk.boosting.watching import Watch

        for name in ("evals_result_", "columns_"):  # of another fit
            self.__dict__.pop(name, None)
        goes_on = bool(getattr(self, "warm_start", False)) and hasattr(self, "model_") and not self._has_phases
        check_eval_set(X, eval_set)
        if is_partitioned(X):
            from minrisk.rows.dask import in_words

            with in_words():
                self._fit_elsewhere(X, y, sample_weight, cost, goes_on, stop, tasks, given)
            return
        if isinstance(X, Chunks):
            if y is not None:
                raise ValueError("Chunks hold the labels of their rows: leave y out.")
            rows = self._check_chunks(X, sample_weight, cost, goes_on)
        else:
            rows = self._check_training(X, y, sample_weight, cost, goes_on)
        evals = [checked_pair(self, number, pair) for number, pair in enumerate(eval_pairs(eval_set))]
        if self._checkpoint is not None:
            self._checkpoint.same("eval_set", *itertools.chain.from_iterable(one[:3] for one in evals))
        n_jobs = effective_n_jobs(self.n_jobs)
        with Workers(n_jobs) as workers, ProgressBar(bool(self.verbose)) as bar:
            watch = Watch(bar, stop, tasks, evals, self._checkpoint)
            watch.fitted = partial(self._as_fitted, given or {})
            self._train(rows, goes_on, workers, watch)
            watch.close()
        self._began_with = self._lasting_parameters()
        for name in ("target_name_", "first_feature_"):  # that the command line gave another fit
            self.__dict__.pop(name, None)

    def _fit_elsewhere(
        self,
        X: Any,
        y: Any,
        sample_weight: Any,
        cost: Any,
        goes_on: bool,
        stop: StopRequest | None,
        tasks: Tasks | None,
        given: dict[str, Any] | None,
    ) -> None:
        """Train on the partitions of collections, where they are; few rows in one task."""
        from minrisk.boosting.monitors import ProgressBar
        from minrisk.boosting.watching import Watch
        from minrisk.estimator import elsewhere

        if goes_on:
            raise ValueError("warm_start goes on with rows that are here: set warm_start=False for Dask collections.")
        per_row = is_partitioned(cost)
        rows = elsewhere.Elsewhere(self, X, y, sample_weight, cost if per_row else None)
        if not per_row and costs_per_row(cost, rows.n_rows, rows.labels) is not None:
            raise ValueError(f"cost of each row must be a Dask array or dataframe beside X, got {type(cost).__name__}.")
        if rows.are_few:
            self.__dict__.update(rows.fitted_whole(self, None if per_row else cost, self._checkpoint))
            self._categories = Categories((), rows.n_features, rows.day_columns)
            return
        self._categories = Categories((), rows.n_features, rows.day_columns)
        self._began_with = self._lasting_parameters()
        with closing(rows), ProgressBar(bool(self.verbose)) as bar:
            watch = Watch(bar, stop, tasks, (), self._checkpoint)
            watch.fitted = partial(self._as_fitted, given or {})
            self._train_elsewhere(rows, cost, watch)
            watch.close()

    def _train_elsewhere(self, rows: Elsewhere, cost: Any, watch: Watch) -> None:
        """Fit to rows elsewhere: what a subclass writes, beginning with `_prepare_costs_elsewhere`."""
        raise ValueError(f"{type(self).__name__} takes no Dask collections: use MinRiskClassifier or REBELClassifier.")

    def _prepare_costs_elsewhere(self, rows: Elsewhere, cost: Any) -> tuple[Any, Any, FloatArray | None]:
        """Return who asks all pieces of the rows, these as a fit takes them, and the costs that all rows share.

        Sets the classes and what `_prepare_costs` does.
        """
        from minrisk.rows.costs import RowCosts
        from minrisk.rows.placed import ClassFactors, CountedRows

        n_labels = len(rows.labels)
        # One row for each label stands for all: which labels have rows of some weight is all that is asked here.
        every = CodedLabels(rows.labels, np.arange(n_labels))
        codes = self._encode(every, rows.counted.astype(np.float64), False)
        none = np.empty(0, dtype=np.int32)
        stated: Callable[[Any, IntArray], FloatArray] | None = None
        if rows.cost_example is None:
            shared = self._read_cost(cost, rows.n_rows, rows.labels)
            assert not isinstance(shared, CostsPerRow)  # which are in partitions, too
            table = self._decide_by_matrix(shared, codes)
            costs = RowCosts(table.table, none, np.empty(0), none, table.unit, table.least)
        else:
            classes = as_labels(self.classes_)
            stated = partial(_table_of_rows, self.classes_, rows.labels, self.cost)
            example = CostsPerRow.of(rows.cost_example, classes, rows.labels, self.cost)
            self._decide_per_row(example.table(0, classes, np.empty(0, dtype=np.int64))[1])
            costs = RowCosts(np.empty((0, len(self.decisions_))), none, np.empty(0), none)
        self._seed = self._draw_seed()
        driver = rows.driver(effective_n_jobs(self.n_jobs))
        by_class = None
        if self.class_weight is not None:
            by_class = ClassFactors(stated_factors(self.class_weight, rows.labels, rows.counted))
        counted = driver.made(
            CountedRows, rows.labels, codes, costs, rows.dtype, rows.weighted, stated, by_class, self._scale_of_costs()
        )
        if self._checkpoint is not None:
            self._compare_with_checkpoint(False, counted.digest(), rows.dtype, rows.labels, costs.table)
        return driver, counted, None if stated is not None else costs.table

    def _train(self, given: TrainingRows, goes_on: bool, workers: Workers, watch: Watch) -> None:
        """Fit to checked rows: what a subclass writes, beginning with `_prepare_costs`."""
        raise TypeError(f"{type(self).__name__} does not say how it is trained: use one such as REBELClassifier.")

    def _prepare_costs(self, given: TrainingRows, goes_on: bool) -> tuple[IntArray, RowCosts]:
        """Return the numbers of the rows of some weight, and their costs: others are left out, also of what is drawn.

        Sets the decisions, costs and the seed of the fit.
        """
        from minrisk.rows.costs import RowCosts

        weight, codes, n = given.weight, given.codes, len(given.codes)
        # Costs and decisions are set anew below, and compared with those of the rounds so far.
        before = vars(self).copy()
        if isinstance(given.cost, CostsPerRow):
            table, decisions = given.cost.table(n, as_labels(self.classes_), codes)
            self._decide_per_row(decisions)
            costs = AvoidableCosts.of(table, np.arange(n, dtype=np.int32), self._scale_of_costs(), weight > 0.0)
        else:
            costs = self._decide_by_matrix(given.cost, codes)
        if goes_on:
            for name, attribute in (("decisions", "decisions_"), ("costs", "cost_")):
                check_the_same(name, before[attribute], getattr(self, attribute))
        else:
            self._seed = self._draw_seed()
        rows: Any = np.flatnonzero(weight > 0.0).astype(np.int32 if n < 2**31 else np.int64)
        row = costs.row[rows]
        label = row if self.cost_ is not None else codes[rows].astype(np.int32)
        counted = RowCosts(costs.table, row, weight[rows], label, costs.unit, costs.least, per_row=self.cost_ is None)
        self._compare_with_checkpoint(goes_on, given.X, rows, *counted[:-1])
        return rows, counted

    def _decide_per_row(self, decisions: Any) -> None:
        """Set `decisions_`, among which costs differ by row."""
        self.cost_ = self._stated = None
        check_kept(decisions, "the decisions of cost")
        self.decisions_ = label_array(decisions, self.classes_)

    def _decide_by_matrix(self, stated: CostMatrix | None, codes: Codes) -> AvoidableCosts:
        """Return avoidable costs of rows that share a matrix; set `cost_` (as stated) and `decisions_`."""
        self._stated = stated
        self.cost_ = as_cost(stated, self.classes_)
        for kind in ("classes", "decisions"):
            check_kept(getattr(self.cost_ if stated is None else stated, kind), f"the {kind} of cost")
        self.decisions_ = label_array(self.cost_.decisions, self.classes_)
        return AvoidableCosts.of(self.cost_.values, codes.astype(np.int32), self._scale_of_costs())

    def _scale_of_costs(self) -> float | None:
        """Give what costs are divided by in a loss that depends on their size: `cost_scale`, or 1; else None."""
        if "cost_scale" not in self._rules:
            return None
        scale = vars(self)["cost_scale"]
        return 1.0 if scale is None else float(scale)

    # -- prediction ------------------------------------------------------------------------------------------------
    def _scores(self, X: np.ndarray) -> FloatArray:
        """Return the scores of checked rows."""
        if len(X) <= QUICK_ROWS:
            return self.model_.scores(X)
        with Workers(effective_n_jobs(self.n_jobs)) as workers:
            return self.model_.scores(X, workers)

    @of_one_fit
    def predict(self, X: Any) -> Labels:
        """Return the decision for each row.

        Parameters
        ----------
        X : array-like of shape (n, d)
            Rows of the kind that `fit` takes; one row may also be a dict with a value for each column name.

        Returns
        -------
        ndarray of shape (n,)
            The decisions, among `decisions_`.
        """
        X = self._check_X(X)  # first: it says so if there was no fit
        return np.asarray(self.decisions_[self._decide(X, self._scores(X))])

    def _decisions(self, X: np.ndarray, rule: DecisionRule, max_excess: float) -> IntArray:
        """Return the numbers of the decisions about checked rows, each as soon as it is certain."""
        if len(X) <= QUICK_ROWS:
            return self.model_.decide(X, rule, max_excess)
        with Workers(effective_n_jobs(self.n_jobs)) as workers:
            return self.model_.decide(X, rule, max_excess, workers)

    def _expected(self, X: np.ndarray, scores: FloatArray) -> FloatArray | None:
        """Return expected avoidable costs of each decision, (n, D), up to a factor; None: the largest score decides."""
        return None

    def _decide(self, X: np.ndarray, scores: FloatArray) -> IntArray:
        """Return the number of the decision of the least expected cost, or of the largest score."""
        expected = self._expected(X, scores)
        return np.asarray(scores.argmax(axis=1) if expected is None else expected.argmin(axis=1))

    @of_one_fit
    def decision_function(self, X: Any) -> FloatArray:
        """Return how good each decision is; `predict` takes the largest.

        Parameters
        ----------
        X : array-like of shape (n, d)
            Rows, as `predict` takes them.

        Returns
        -------
        ndarray of shape (n, D), or (n,) for two classes
            The scores H(x), or, if probabilities decide, minus the logarithm of the expected cost above the cheapest
            decision of each class, up to a constant.
            For two classes it is the second less the first, which is positive if `predict` takes the second; decisions
            that are no class are then left out.
        """
        X = self._check_X(X)
        tell_calibration(self)
        return self._outward(X, self._scores(X))

    @of_one_fit
    def staged_decision_function(self, X: Any) -> Iterator[FloatArray]:
        """Yield what `decision_function` returns after each round.

        Parameters
        ----------
        X : array-like of shape (n, d)
            Rows, as `predict` takes them.

        Yields
        ------
        ndarray of shape (n, D), or (n,) for two classes
            As `decision_function` returns it.
        """
        X = self._check_X(X)
        for scores in self.model_.staged_scores(X):
            yield self._outward(X, scores)

    @of_one_fit
    def staged_predict(self, X: Any) -> Iterator[Labels]:
        """Yield what `predict` returns after each round.

        Parameters
        ----------
        X : array-like of shape (n, d)
            Rows, as `predict` takes them.

        Yields
        ------
        ndarray of shape (n,)
            The decisions.
        """
        X = self._check_X(X)
        for scores in self.model_.staged_scores(X):
            yield np.asarray(self.decisions_[self._decide(X, scores)])

    def _outward(self, X: np.ndarray, scores: FloatArray) -> FloatArray:
        """Return what `decision_function` returns."""
        expected = self._expected(X, scores)
        merits = scores if expected is None else -log(np.maximum(expected, LEAST_COST))
        both = merits.shape[1] == 2 or self.decisions_[:2].tolist() == self.classes_.tolist()
        two = len(self.classes_) == 2 and both
        return np.asarray(merits[:, 1] - merits[:, 0]) if two else merits

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
            raise AttributeError(NO_LINK)

    def _gives_probabilities(self) -> bool:
        """Return whether a fit with these parameters may have a link."""
        return self.cost is None

    @of_one_fit
    def _predict_proba(self, X: Any) -> FloatArray:
        X = self._check_X(X)  # first: it says so if there was no fit
        return self.model_.probabilities(self._scores(X))

    _predict_proba.__name__ = "predict_proba"  # scikit-learn's stacking takes a method's own name for the attribute's

    @of_one_fit
    def _staged_predict_proba(self, X: Any) -> Iterator[FloatArray]:
        yield from map(self.model_.probabilities, self.model_.staged_scores(self._check_X(X)))

    @of_one_fit
    def score(self, X: Any, y: Any, sample_weight: Any = None, cost: Any = None) -> float:
        """Return 1 less the mean cost of the decisions; with 0/1 costs this is the accuracy.

        Parameters
        ----------
        X : array-like of shape (n, d)
            Rows, as `predict` takes them.
        y : array-like of shape (n,)
            True classes. A class that no training row had counts by the costs stated for it, and without costs as a
            mistake.
        sample_weight : array-like of shape (n,), optional
            How often each row counts, 0 or more.
        cost : array-like of shape (K, D), (n, D) or (n, K, D), DataFrame, dict, CSV file or CostMatrix, optional
            Costs to judge by. By default those of the fit.

        Returns
        -------
        float
            In the unit of the costs; 1 is the best if right decisions cost nothing.

        Raises
        ------
        ValueError
            If the fit had costs for each row and `cost` is not given, and as in `minrisk.metrics.expected_cost`.
        """
        decisions, given = self.predict(X), self._judged_by() if cost is None else cost
        judged_by = costs_of_rows(given, len(decisions), self.classes_, (), self._names(), self.decisions_, X=X, y=y)
        return 1.0 - float(expected_cost(y, decisions, judged_by, sample_weight=sample_weight))

    def _judged_by(self) -> CostMatrix | None:
        """Return the costs of the fit, None if it had none (0/1)."""
        if self.cost_ is None:
            raise ValueError(f"The fit had costs per row, so those of these rows are unknown: {JUDGE_BY}")
        return getattr(self, "_stated", self.cost_)

    def _names(self) -> Any:
        """Return costs whose labels name classes of costs per row without labels: those of the fit, or else `cost`."""
        stated = getattr(self, "_stated", None)
        return self.cost if stated is None else stated

    @property
    @of_one_fit
    def feature_importances_(self) -> FloatArray:
        """ndarray of shape (d,) : Share of each feature in the relative falls of the loss; the shares sum to 1.

        All are 0 if no tree has a split.
        What a linear combination of features took away is shared among them by the size of their standardised weights.
        Smooth members of a `MinRiskClassifier` have no part in it, because they look at all features alike.
        """
        check_is_fitted(self, "model_")
        packed, linear = self.model_.packed, self.model_.projection
        d = self.model_.n_features
        total = packed.importances(d + (0 if linear is None else linear.n_columns))
        if linear is not None:
            total = total[:d] + product(linear.loadings, total[d:])
        if self._categories.columns:
            total = np.bincount(self._categories.source, weights=total).astype(np.float64)
        return np.asarray(total / total.sum() if total.sum() > 0 else total)

    def _n_outputs(self) -> int:
        """Return the number of scores of a row."""
        return len(self.decisions_)

    def _facts(self) -> dict[str, Any]:
        """Return what a model file keeps of the fit beside the model, its curves and its labels: plain JSON."""
        return {}

    def _restore_facts(self, facts: dict[str, Any]) -> None:
        """Take back what `_facts` gave."""

    def _draw_seed(self) -> int:
        """Return the seed of everything that is drawn."""
        return int(check_random_state(self.random_state).randint(np.iinfo(np.int32).max))

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.sparse = True
        return tags

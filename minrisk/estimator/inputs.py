"""What estimators take: parameters, features by name, categories by value, labels; what a warm start goes on with."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial, wraps
from inspect import isgeneratorfunction, signature
from numbers import Integral
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, ParamSpec, Self, TypeVar
from weakref import WeakSet

import numpy as np
from scipy.sparse import issparse
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, validate_data

from minrisk._typing import Codes, FloatArray, Int32Array, IntArray, Labels
from minrisk._utils import callers, warn_caller
from minrisk._utils.packages import versions
from minrisk._utils.text import short
from minrisk.costs import CostMatrix, is_per_row
from minrisk.costs.labels import as_labels, listed
from minrisk.costs.matrix import is_frame
from minrisk.costs.reading import CostsPerRow, costs_of_rows, has_matrices, is_uniform, stated_cost
from minrisk.costs.weights import checked_weights, relative_weights, stated_factors, weighted_by_class
from minrisk.data.categories import Categories, Unseen
from minrisk.data.chunks import Chunks, CodedLabels, Readings, gathered_labels, rows_in
from minrisk.data.column_report import (
    ColumnFacts,
    DataWarning,
    described_columns,
    printed,
    rounded_columns,
    warning_of,
    with_forms,
)
from minrisk.data.copies import MergedRows, keys_of_copies, merged
from minrisk.data.frames import EXACT_BELOW, Frame, cells_of_row, one_row_table
from minrisk.data.groups import check_group_rows
from minrisk.data.labels import MOST_FEATURES, check_kept, check_labels, check_name
from minrisk.data.partitioned import is_partitioned
from minrisk.data.row_blocks import RowBlocks
from minrisk.data.sparse import SparseRows
from minrisk.estimator.features import check_frame, check_numbers, check_table
from minrisk.estimator.parameters import (
    CategoricalFeatures,
    Choice,
    ClassWeight,
    Features,
    Flag,
    Number,
    Rule,
    Seed,
    Threads,
    Verbosity,
)

if TYPE_CHECKING:
    from minrisk.boosting.checkpoint import Checkpoint

KEPT_VALUES = 1 << 22  # of chunks that are kept in memory, 32 MB: so few are read once
OBJECTS_KEPT = (
    "a checkpoint is data and keeps no objects such as {name}=: fit without one, or choose by a name what is offered."
)
DECIDE_AFTERWARDS = "decide by minrisk.apply_costs(calibrated.predict_proba(X), calibrated.classes_, cost)"
JUDGE_BY = (
    "pass cost=, with a row for each row or each class, or, in a search or cross_val_score, let metadata routing pass "
    "it, by sklearn.set_config(enable_metadata_routing=True) and then "
    "estimator.set_fit_request(cost=True).set_score_request(cost=True); or judge by a scorer with costs, "
    "scoring=minrisk.metrics.make_expected_cost_scorer(cost)."
)
COSTS_OF_ROWS = (
    "the cost of {name} must be one table for all rows, got costs of each row, of shape {shape}: give these to fit, as "
    "fit(X, y, cost=cost)."
)
NOT_COMPARED = "n_jobs", "verbose", "warm_start", "random_state", "cost"  # no round follows from these names
_told: WeakSet[Any] = WeakSet()  # what has been told that it loses costs: each once, not at every fold
QUICK_ROWS = 16  # rows that are predicted sooner than checked by scikit-learn or shared among threads


P = ParamSpec("P")
R = TypeVar("R")
E = TypeVar("E")


def one_fit(estimator: E) -> E:
    """Return the estimator as its last `fit` left it, also while another thread's `fit` replaces all attributes.

    Whatever reads more than one attribute reads them here. Estimators of other packages are returned as they are.
    """
    if not isinstance(estimator, Inputs):
        return estimator
    fitted = object.__new__(type(estimator))
    fitted.__dict__ = estimator.__dict__
    return fitted


def of_one_fit(method: Callable[P, R]) -> Callable[P, R]:
    """Make a method see `one_fit` from beginning to end.

    Of a Dask collection its answer is computed partition by partition, when it is asked for.

    Raises
    ------
    TypeError
        If it is given a `cost` and takes none; the message says what does.
    """
    takes_cost = "cost" in signature(method).parameters

    @wraps(method)
    def call(*args: P.args, **kwargs: P.kwargs) -> R:
        fitted: Any = one_fit(args[0])
        if "cost" in kwargs and not takes_cost:
            raise TypeError(_no_cost(fitted, method.__name__.removeprefix("_")))
        if is_partitioned(args[1] if len(args) > 1 else kwargs.get("X")):
            return fitted._answered_elsewhere(method, *args[1:], **kwargs)  # type: ignore[no-any-return]
        return method(fitted, *args[1:], **kwargs)  # type: ignore[arg-type]

    return call


def _no_cost(estimator: Any, name: str) -> str:
    """Return why this method of the estimator takes no costs, and what does."""
    if name.endswith("predict_proba"):
        why = "probabilities do not depend on costs"
    else:
        why = "it goes by the costs of the fit"
    by_any = "cost" in signature(estimator.predict).parameters
    way = "predict, as predict(X, cost=C)" if by_any else "fit, as fit(X, y, cost=C)"
    return f"{name} takes no cost, because {why}: leave it out, or give costs to {way}."


def check_search(estimator: Any) -> None:
    """Refuse costs of each row in a search that would have none to judge by.

    scikit-learn would turn the error of `score` into a warning, and take the first setting.

    Raises
    ------
    ValueError
        If `score`, or a scorer of ours without costs, is to judge the fit.
    """
    for frame in callers("sklearn.model_selection._validation"):
        known = frame.f_locals
        if frame.f_code.co_name != "_fit_and_score" or known.get("candidate_progress") is None:
            continue
        judged: Any = known.get("estimator")
        scorer = known.get("scorer")
        judged = judged.steps[-1][1] if hasattr(judged, "steps") else judged
        without = any(
            type(each).__name__ in ("_PassthroughScorer", "ExpectedCostScorer")
            and "cost" not in {*getattr(each, "_kwargs", ()), *(known.get("score_params") or ())}
            for each in getattr(scorer, "_scorers", {"": scorer}).values()
        )
        if without and isinstance(judged, type(estimator)):
            raise ValueError(f"cost is of each row, and those of the test rows are unknown: {JUDGE_BY}")
        return


def tell_calibration(estimator: Any) -> None:
    """Say what `CalibratedClassifierCV` makes of an estimator that was fitted with costs, where it is being fitted.

    It takes decisions for classes, by their places, and then decides for the most probable class.

    Raises
    ------
    ValueError
        If the decisions do not begin with the classes.
    """
    fits = {frame.f_code.co_name: frame.f_locals.get("self") for frame in callers("sklearn.calibration")}
    if "fit" not in fits and "_fit_classifier_calibrator_pair" not in fits:  # the latter alone in other processes
        return
    classes, decisions = estimator.classes_.tolist(), estimator.decisions_.tolist()
    if decisions[: len(classes)] != classes:
        raise ValueError(
            f"CalibratedClassifierCV takes decisions for classes, expected {listed(as_labels(classes))}, got the "
            f"decisions {listed(as_labels(decisions))}: calibrate without these costs, and {DECIDE_AFTERWARDS}."
        )
    calibrated = fits.get("fit")
    if calibrated not in _told and (estimator.cost_ is None or not is_uniform(estimator.cost_)):
        if calibrated is not None:
            _told.add(calibrated)
        warn_caller(
            f"CalibratedClassifierCV.predict takes the most probable class, whatever the costs: {DECIDE_AFTERWARDS}.",
            UserWarning,
        )


def is_row_mapping(X: Any) -> bool:
    """Return whether it is a mapping that stands for one row; some sparse matrices of SciPy are mappings as well."""
    return isinstance(X, Mapping) and not issparse(X)


class TrainingRows(NamedTuple):
    """Hold the rows of a fit as they were read and checked, which is done once."""

    X: Any  # ndarray, SparseRows, RowBlocks or CodedRows of shape (n, d)
    y: CodedLabels  # of all labels, also of those that rows of weight 0 have alone
    codes: Codes  # (n,) of the classes; 0 for rows whose label is none
    stated_weight: FloatArray | None  # (n,) as stated, times `class_weight`; None: all weigh alike
    cost: CostMatrix | CostsPerRow | None  # in the order of the classes; None: every mistake costs 1
    copies: MergedRows | None = None  # where copies among the rows have been looked for

    @property
    def given_weight(self) -> FloatArray:
        """Weights as they were stated, (n,)."""
        return np.ones(len(self.codes)) if self.stated_weight is None else self.stated_weight

    @property
    def weight(self) -> FloatArray:
        """Weights in effective rows, (n,): see `relative_weights`."""
        return np.ones(len(self.codes)) if self.stated_weight is None else relative_weights(self.stated_weight)


class Inputs:
    """Look at what an estimator is given: parameters, columns, labels, weights and costs."""

    _categories: Categories
    _column_names: tuple[Any, ...] | None = None  # of a table, as it had them
    _began_with: Mapping[str, Any] = MappingProxyType({})  # `_lasting` parameters of the first rounds
    _group: IntArray | None = None  # while it is fitted: of each row
    n_features_in_: int
    categorical_features: Any
    class_weight: Any
    verbose: int
    columns_: list[ColumnFacts]
    get_params: Callable[..., dict[str, Any]]
    cost: Any
    random_state: Any
    n_estimators: Any
    n_iter_: int
    classes_: Labels
    decisions_: Labels
    train_loss_: FloatArray
    _seed: int
    _checkpoint: Checkpoint | None = None  # while it is fitted
    _has_phases: ClassVar[bool]

    _rules: ClassVar[Mapping[str, Rule]] = {
        "n_estimators": Number(int, 1),
        "learning_rate": Number(float, 0, open_low=True),
        "binning": Choice(("quantile", "uniform")),
        "max_bins": Number(int, 2, 256, optional=True),
        "subsample": Number(float, 0, 1, open_low=True),
        "max_features": Features(),
        "early_stopping": Flag(),
        "validation_fraction": Number(float, 0, 0.999, open_low=True),
        "n_iter_no_change": Number(int, 1),
        "warm_start": Flag(),
        "class_weight": ClassWeight(),
        "categorical_features": CategoricalFeatures(),
        "n_jobs": Threads(),
        "random_state": Seed(),
        "verbose": Verbosity(),
    }
    # What gives the rounds so far their meaning, where an estimator has it: rounds go on with the same only.
    _lasting: ClassVar[tuple[str, ...]] = ()

    def __getstate__(self) -> dict[str, Any]:
        """Return the state, a DataFrame of costs as a `CostMatrix` as in loaded models: skops keeps no tables."""
        state: Any = super().__getstate__()
        if is_frame(state.get("cost")):
            with suppress(ValueError, TypeError):  # what a fit refuses stays as it is
                return {**state, "cost": CostMatrix(state["cost"])}
        return dict(state)

    def __copy__(self) -> Self:
        """Return an estimator with the same attributes."""
        other = object.__new__(type(self))
        other.__dict__.update(self.__dict__)
        return other

    def _parameters(self) -> dict[str, Any]:
        """Return the constructor's parameters, and others that the one of a subclass handed on to this one's."""
        return {name: value for name, value in vars(self).items() if name in self._rules} | self.get_params(deep=False)

    def _lasting_parameters(self) -> dict[str, Any]:
        """Return the parameters that rounds cannot go on without."""
        return {name: value for name, value in self._parameters().items() if name in self._lasting}

    def _check_lasting(self) -> None:
        """Refuse to go on with another kind of rounds."""
        for name, value in self._lasting_parameters().items():
            check_the_same(name, self._began_with.get(name, value), value)

    # -- checkpoints ---------------------------------------------------------------------------------------------
    def _keep_rounds_in(self, path: str | os.PathLike[str] | Checkpoint | None) -> None:
        """Open the checkpoint of a fit, if it has one or may go on as a whole; one that is open is the caller's."""
        before = self.__dict__.pop("_kept_rounds", None)
        warm = self._has_phases and vars(self)["warm_start"]
        if path is None and not warm:
            return
        from minrisk.boosting.checkpoint import Checkpoint

        for name in ("estimator", "loss", "gamma", "phi"):
            if not isinstance(getattr(self, name, None), str | None):
                raise ValueError(OBJECTS_KEPT.format(name=name))
        self._checkpoint = path if isinstance(path, Checkpoint) else Checkpoint(path, before if warm else None)

    def _close_checkpoint(self, has_ended: bool) -> None:
        """Remove the file, if the fit has come to its end, and remember the rounds if others may go on from them."""
        assert self._checkpoint is not None
        if self._has_phases and vars(self)["warm_start"]:
            self._kept_rounds = self._checkpoint.kept()
        if has_ended:
            self._checkpoint.done()

    def _compare_with_checkpoint(self, goes_on: bool, X: Any, *counted: Any) -> None:
        """Refuse to go on with the rounds of another fit; what was drawn there without a seed is drawn again."""
        if self._checkpoint is None:
            return
        from minrisk.boosting.checkpoint import ROUNDS_ASKED

        same, found = self._checkpoint.same, versions()
        *packages, last = found
        same(f"versions of {', '.join(packages)} or {last}", *found.values())
        given = {name: getattr(self, name) for name in self._rules if name not in NOT_COMPARED}
        if not isinstance(given.get("cv"), Integral | None):  # the folds of a splitter are compared
            del given["cv"]
        if self._has_phases:
            same(ROUNDS_ASKED, given.pop(ROUNDS_ASKED))
        same("parameters", type(self).__name__, given, self.train_loss_ if goes_on else None)
        same("rows", X)
        same("labels, weights, costs or groups", self.classes_, self.decisions_, *counted, self._group)
        if self.random_state is None and not goes_on and self._checkpoint.seed is not None:
            self._seed = self._checkpoint.seed
        same("random_state", self._seed)
        self._checkpoint.seed = self._seed

    # -- training ------------------------------------------------------------------------------------------------
    def _check_training(self, X: Any, y: Any, sample_weight: Any, cost: Any, goes_on: bool) -> TrainingRows:
        """Return numbers, labels, weights and costs; set `classes_`, `_categories` and `_column_names`."""
        if goes_on:
            self._check_lasting()
        if goes_on and Frame.of(X) is not None:
            X = self._arranged(X)
            validate_data(self, X, y, reset=False, skip_check_array=True)
        table, as_given, y = X, (X, y), check_labels(y)
        found = Categories.of(X, self.categorical_features)
        if goes_on and not self._categories.can_go_on_with(found):
            raise ValueError("warm_start goes on with the same categories in X: set warm_start=False to start afresh.")
        X, y = self._check_columns(X, self._categories if goes_on else found, y, reset=not goes_on)
        check_group_rows(self._group, X.shape[0])
        check_classification_targets(y)
        if X.shape[1] > MOST_FEATURES:
            raise ValueError(
                f"X must have at most {MOST_FEATURES} columns, got {X.shape[1]}, which no model file could keep: leave "
                "some out."
            )
        rows = self._training_rows(X, CodedLabels.of(y), sample_weight, cost, goes_on, as_given)
        learning = self._categories if goes_on else found
        codes = X.copy() if goes_on and learning.columns else X  # which are changed
        described, first = self._described_columns(table, rows, learning), None
        row_weight = rows.weight
        if learning.columns:
            rows, row_weight, first = self._category_rows(rows)
        learnt, numbers = learning.learn(codes, rows.codes, row_weight, self._column_names, self._group, first)
        tell_rounded(rounded_columns(table, X))
        self._tell_columns(described, learnt)
        if goes_on and not learnt.same_tables(self._categories):  # of other rows: what trees have seen stands
            return rows._replace(X=self._categories.numbers(X))
        self._categories = learnt
        return rows._replace(X=numbers)

    def _training_rows(
        self,
        X: Any,
        y: CodedLabels,
        sample_weight: Any,
        cost: Any,
        goes_on: bool,
        as_given: tuple[Any, Any] = (None, None),
    ) -> TrainingRows:
        """Return rows with their classes, weights and costs; set `classes_`. X and y may be here as they were given."""
        rows = self._weighed(X, y, sample_weight)
        codes = self._encode(y, rows.weight, goes_on)
        return rows._replace(codes=codes, cost=self._read_cost(cost, X.shape[0], y.labels, *as_given))

    def _weighed(self, X: Any, y: CodedLabels, sample_weight: Any) -> TrainingRows:
        """Return rows with their weights, and all labels as classes."""
        rows = TrainingRows(X, y, y.codes, checked_weights(sample_weight, X.shape[0]), None)
        if self.class_weight is None:
            return rows
        weight = rows.given_weight
        factors = stated_factors(self.class_weight, y.labels, np.bincount(y.codes, weight > 0.0) > 0.0)
        return rows._replace(stated_weight=weighted_by_class(weight, y.codes, len(y.labels), factors))

    def _encode(self, y: CodedLabels, weight: FloatArray, goes_on: bool) -> Int32Array:
        """Return class codes of y, 0 for rows of weight 0 whose class is none; set or check `classes_`.

        Classes have rows of some weight. Where only one has, there is nothing to tell apart and all labels are classes.
        """
        labels = y.labels
        counted = np.bincount(y.codes, weights=weight) > 0.0
        if np.count_nonzero(counted) < 2 or (goes_on and np.array_equal(labels, self.classes_)):
            counted[:] = True
        classes, codes = labels[counted], np.where(counted, np.cumsum(counted) - 1, 0).astype(np.int32)[y.codes]
        if goes_on:
            if not np.array_equal(classes, self.classes_):
                expected, got = (listed(labels.tolist()) for labels in (self.classes_, classes))
                raise ValueError(
                    f"warm_start goes on with the same classes: expected {expected}, got {got}. Set warm_start=False "
                    "to start afresh."
                )
            if self.n_estimators < self.n_iter_:
                raise ValueError(
                    f"warm_start adds rounds: n_estimators={self.n_estimators} must be at least n_iter_={self.n_iter_}."
                )
        elif len(classes) < 2:
            raise ValueError(f"y must have at least two classes, got 1 class: {classes[:1].tolist()[0]!r}.")
        check_kept(classes, "the classes of y")
        self.classes_ = classes
        return codes

    def _read_cost(
        self, cost: Any, n: int, labels: Labels, X: Any = None, y: Any = None
    ) -> CostMatrix | CostsPerRow | None:
        """Return costs given to `fit`, or else the estimator's, as those of `classes_`, which are among the labels."""
        if cost is None and self.cost is not None:
            if has_matrices(self.cost) or is_per_row(self.cost, n, len(labels)):
                raise ValueError(COSTS_OF_ROWS.format(name=type(self).__name__, shape=np.shape(self.cost)))
            return stated_cost(self.cost, self.classes_, labels)
        read = costs_of_rows(cost, n, self.classes_, labels, self.cost, X=X, y=y)
        if isinstance(read, CostsPerRow):
            check_search(self)
        return read

    def _category_rows(self, rows: TrainingRows) -> tuple[TrainingRows, FloatArray, IntArray | None]:
        """Return the rows, and what each weighs for categories and is a copy of, as copies count as one row."""
        weight = rows.weight
        counted, own = np.flatnonzero(weight > 0.0), () if self._group is None else (self._group,)
        key = keys_of_copies(rows.X, self.n_features_in_, rows.codes, counted, own)
        if key is None:
            return rows, weight, None
        one, first = np.zeros(len(weight)), np.arange(len(weight))
        one[counted], of_row = merged(key, weight[counted])
        first[counted] = counted[of_row]
        return rows, relative_weights(one), first

    def _check_chunks(self, chunks: Chunks, sample_weight: Any, cost: Any, goes_on: bool) -> TrainingRows:
        """Return rows, labels, weights and costs of chunks, which are read once; few rows are an array afterwards."""
        if goes_on:
            self._check_lasting()
            if self._categories.columns:
                raise ValueError("warm_start goes on with categories, which chunks cannot hold: give all rows at once.")
        weights, kept, dtypes, n, rounded = list[Any](), list[np.ndarray](), set[np.dtype](), 0, list[Any]()
        readings = Readings()

        def labels() -> Iterator[Labels]:
            nonlocal n
            for number, chunk in enumerate(chunks.chunks()):
                if rows_in(chunk) == 0:
                    continue
                try:
                    X, y = self._chunk_numbers(chunk.X, check_labels(chunk.y), reset=n == 0 and not goes_on)
                    weights.append(checked_weights(chunk.sample_weight, len(X), is_part=True))
                except ValueError as problem:
                    raise ValueError(f"chunk {number}, which begins with row {n}: {problem}") from problem
                n += len(X)
                rounded.extend(rounded_columns(chunk.X, X))
                dtypes.add(X.dtype)
                readings.add(X, y, *weights[-1:] if weights[-1] is not None else ())
                kept.append(np.array(X))  # a copy, as a callable may fill the same array again
                if n * X.shape[1] > KEPT_VALUES:
                    kept.clear()
                yield y

        coded = gathered_labels(labels())
        tell_rounded(dict.fromkeys(rounded))
        check_group_rows(self._group, n)
        check_classification_targets(np.repeat(coded.labels, 3))  # alone they would look like measurements
        weighted = [weight is not None for weight in weights]
        if any(weighted) and (sample_weight is not None or not all(weighted)):
            other = "also from fit" if sample_weight is not None else "not in all chunks"
            raise ValueError(
                f"sample weights must come with all chunks or be given to fit, got them in chunks, but {other}."
            )
        if any(weighted):
            sample_weight = np.concatenate(weights)
        if kept:
            return self._training_rows(np.concatenate(kept), coded, sample_weight, cost, goes_on)

        def again() -> Iterator[tuple[int, tuple[Any, ...]]]:
            for number, chunk in enumerate(chunks.chunks()):
                if rows_in(chunk):
                    X, y = self._chunk_numbers(chunk.X, check_labels(chunk.y))
                    weight = checked_weights(chunk.sample_weight, len(X), is_part=True)
                    yield number, (X, y) if weight is None else (X, y, weight)

        def read() -> Iterator[np.ndarray]:
            return readings.compared(again())

        shape = n, self.n_features_in_
        blocks = RowBlocks(read, shape, np.result_type(*dtypes), chunks.bins_in)
        return self._training_rows(blocks, coded, sample_weight, cost, goes_on)

    def _chunk_numbers(self, X: Any, *y: Any, reset: bool = False) -> Any:
        """Return checked numbers of a chunk, and y if given."""
        if issparse(X):
            raise ValueError(
                "chunks and partitions must be arrays or tables of numbers, got a sparse matrix: give all rows at once."
            )
        if not reset:
            return self._check_columns(self._arranged(X), self._categories, *y, reset=False)
        found = Categories.of(X, self.categorical_features)
        if names := [column.name for column in found.columns if column.values]:
            raise ValueError(
                f"chunks and partitions must hold numbers, got categories in column {names[0]!r}: what "
                "one says depends on all rows. Make numbers of it, or give all rows at once."
            )
        found = replace(found, columns=())  # of columns without values in this chunk
        checked = self._check_columns(X, found, *y, reset=True)
        self._categories = Categories((), self.n_features_in_, found.day_columns)
        return checked

    def _check_columns(self, X: Any, categories: Categories, *y: Any, reset: bool) -> Any:
        """Return numbers of X, with codes for categories, and y if given; `reset` learns the names."""
        check_table(X)
        frame = Frame.of(X)
        if frame is None:
            if reset:
                self._column_names = None
            elif categories.columns and self._column_names is not None:
                raise ValueError(
                    f"X must be a DataFrame as in fit, where column {categories.columns[0].name!r} held categories, "
                    f"got {type(X).__name__}: give one of pandas or polars, or an Arrow table."
                )
            if reset and categories.columns:  # positions are those of an array of as many columns
                categories = replace(categories, n_features=np.shape(X)[1])
            coded, unseen = categories.coded(X)
            _tell_unseen(unseen)
            return check_numbers(self, coded, *y, reset=reset)
        frame.check_names()
        if reset:
            for name in frame.names:
                check_name(name)
            self._column_names = tuple(frame.names)
        elif self._column_names is not None:
            frame.check_known(self._column_names)
        if frame.is_plain and not categories.columns and not categories.day_columns:
            return check_numbers(self, X, *y, reset=reset)
        validate_data(self, frame.table, *y, reset=reset, skip_check_array=True)
        coded, unseen = categories.coded(X)
        _tell_unseen(unseen)
        return check_frame(self, coded, frame.names, *y)

    def _arranged(self, X: Any) -> Any:
        """Return X with its columns in the order of fit, where they have names."""
        frame = Frame.of(X)
        return X if frame is None or self._column_names is None else frame.arranged(self._column_names)

    def _answered_elsewhere(self, method: Any, X: Any, *others: Any, **options: Any) -> Any:
        """Return what a method answers about the partitions of X, as a Dask array."""
        from minrisk.rows.dask import answered

        check_is_fitted(self, "model_")
        name = method.__name__.strip("_")
        if name == "score":
            raise TypeError("score gives one number of all rows, which must be here: compute X and y first.")
        if isgeneratorfunction(method):
            raise TypeError(f"{name} gives one answer after another, about rows that are here: compute X first.")
        given = *others, *options.values()
        if any(map(is_partitioned, given)) or any(map(has_matrices, given)):
            raise TypeError(
                f"{name} takes costs that all rows of a Dask collection share: of costs per row make answers partition "
                "by partition."
            )
        if options.get("limits") is not None or isinstance(options.get("priors"), str):
            raise TypeError(
                f"{name} takes limits, and priors='estimate', of rows that are here, since they are about all of them: "
                "compute X first."
            )
        few: Any = method(self, _one_row(self, X if hasattr(X, "chunks") else X._meta), *others, **options)
        return answered(partial(_answer, self, method.__name__, others, options), X, few.shape[1:], few.dtype)

    def _check_X(self, X: Any) -> Any:
        if (few := self._few_rows(X)) is not None:
            return few
        check_is_fitted(self, "model_")
        X = self._tabled(X)
        if isinstance(X, Chunks):
            raise TypeError("Chunks are predicted one by one: for X, *_ in chunks: model.predict(X).")
        return self._numbers_as_fitted(X)

    def _tabled(self, X: Any) -> Any:
        """Return X, or a table of one row where it is a mapping."""
        if not is_row_mapping(X):
            return X
        return one_row_table(cells_of_row(X, self._column_names, self.n_features_in_), self._column_names)

    def _numbers_as_fitted(self, X: Any) -> Any:
        """Return checked numbers of rows that are no training rows, with the columns and categories of these."""
        X = self._arranged(X)
        checked = self._check_columns(X, self._categories, reset=False)
        tell_rounded(rounded_columns(X, checked))
        return checked if isinstance(checked, SparseRows) else self._categories.numbers(np.asarray(checked))

    def _few_rows(self, X: Any) -> np.ndarray | None:
        """Return few rows' numbers, whose checks would take longer than the prediction; None where these are due."""
        known = vars(self)
        if "model_" not in known:
            return None
        if type(X) is np.ndarray:
            few = X.ndim == 2 and 0 < len(X) <= QUICK_ROWS
            fits = few and X.shape[1] == self.n_features_in_ and "feature_names_in_" not in known
            if not fits or self._categories.columns:
                return None
            if X.dtype.kind in "iu":
                numbers = X.astype(np.float64)
                return numbers if np.abs(numbers).max() < EXACT_BELOW else None
            return X if X.dtype in (np.float64, np.float32) and not np.isinf(X).any() else None
        if is_row_mapping(X):
            names: Sequence[Any] = range(self.n_features_in_) if self._column_names is None else self._column_names
            if len(X) != len(names) or any(name not in X for name in names):
                return None
            return self._few_coded([[X[name] for name in names]])
        if self._column_names is None or not hasattr(X, "shape") or not 0 < X.shape[0] <= QUICK_ROWS:
            return None
        frame = Frame.of(X)
        if frame is None or tuple(frame.names) != self._column_names:
            return None
        return self._few_coded(frame.rows())

    def _few_coded(self, rows: Sequence[Sequence[Any]]) -> np.ndarray | None:
        """Return the numbers of few rows of Python's cells; None where these must be looked at."""
        coded = self._categories.few_coded(rows)
        return None if coded is None else self._categories.numbers(coded)

    def _described_columns(self, table: Any, rows: TrainingRows, categories: Categories) -> list[ColumnFacts]:
        """Return lines about the columns of a table by the rows that count; none of an array."""
        if Frame.of(table) is None:
            return []
        counted = rows.weight > 0
        some = slice(None) if counted.all() else counted
        return described_columns(table, rows.X[some], rows.codes[some], categories)

    def _tell_columns(self, columns: Sequence[ColumnFacts], categories: Categories) -> None:
        """Keep the lines, warn of columns that look wrong, and print all where `verbose` asks for it."""
        if not columns:
            return
        self.columns_ = with_forms(columns, categories)
        if problems := warning_of(self.columns_):
            warn_caller(problems, DataWarning)
        if self.verbose:
            sys.stderr.write(printed(self.columns_))


def _tell_unseen(unseen: Sequence[Unseen]) -> None:
    """Warn of values that fit has not seen."""
    if unseen:
        told = ", ".join(
            f"{name!r} in {n_rows} row{'s' * (n_rows > 1)} ({short(repr(example))})" for name, n_rows, example in unseen
        )
        warn_caller(f"X holds categories that fit has not seen, taken as missing: {told}.", DataWarning)


def tell_rounded(names: Iterable[Any]) -> None:
    """Warn of columns of whole numbers that are too large for floats."""
    if told := short(", ".join(map(repr, names)), 200):
        warn_caller(
            f"X holds whole numbers beyond 2**53, which are rounded, so that several may become one: {told}. Name such "
            "columns in categorical_features if they are names, or else subtract the smallest number.",
            DataWarning,
        )


def _answer(estimator: Any, name: str, others: tuple[Any, ...], options: dict[str, Any], X: Any) -> Any:
    """Return what a method says about the rows of a partition, which may have none."""
    if X.shape[0] == 0:
        return getattr(estimator, name)(_one_row(estimator, X), *others, **options)[:0]
    return getattr(estimator, name)(X, *others, **options)


def _one_row(estimator: Any, X: Any) -> Any:
    """Return a row of missing values in a frame like X, or of zeros."""
    if hasattr(X, "reindex"):
        return X.reindex([0])
    wide = X.ndim == 2 and not np.isnan(X.shape[1])
    return np.zeros((1, X.shape[1] if wide else estimator.n_features_in_))


def check_the_same(name: str, before: Any, now: Any) -> None:
    """Refuse to go on with something else."""
    before, now = (value.tolist() if isinstance(value, np.ndarray) else value for value in (before, now))
    if before is not now and before != now:
        expected, got = _apart(before, now) if name == "costs" else (repr(before), repr(now))
        raise ValueError(
            f"warm_start goes on with the same {name}: expected {expected}, got {got}. Set warm_start=False to start "
            "afresh."
        )


def _apart(before: CostMatrix | None, now: CostMatrix | None) -> tuple[str, str]:
    """Return what tells costs of the same classes and decisions apart, in a few words."""
    if before is None or now is None:
        kinds = "costs for each row", "one table for all rows"
        return kinds if before is None else kinds[::-1]
    i, j = np.argwhere(before.values != now.values)[0].tolist()  # their labels have been compared
    assert before.classes is not None
    assert before.decisions is not None
    where = f"for deciding {before.decisions[j]!r} where {before.classes[i]!r} is true"
    return f"{before.values[i, j]:.17g} {where}", f"{now.values[i, j]:.17g}"

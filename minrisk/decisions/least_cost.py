"""Any classifier with probabilities as one that decides for least expected cost."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from numbers import Integral, Real
from typing import Any, NamedTuple, Self

import numpy as np
import sklearn
from sklearn import config_context, get_config
from sklearn.base import BaseEstimator, ClassifierMixin, MetaEstimatorMixin, clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import StratifiedGroupKFold, StratifiedKFold, check_cv
from sklearn.utils import (
    _safe_indexing,
    assert_all_finite,
    check_consistent_length,
    check_random_state,
    column_or_1d,
    get_tags,
    indexable,
)
from sklearn.utils.fixes import parse_version
from sklearn.utils.metadata_routing import MetadataRouter, MethodMapping, process_routing
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.parallel import Parallel, delayed
from sklearn.utils.validation import _check_method_params, check_is_fitted, has_fit_parameter

from minrisk._typing import FloatArray, IntArray, Labels
from minrisk.costs import CostMatrix, as_cost
from minrisk.costs.labels import as_labels, label_array, listed
from minrisk.costs.reading import CostsPerRow, check_sample_order, costs_of_rows, stated_cost
from minrisk.costs.weights import checked_weights
from minrisk.decisions.costs import decision_costs, expected_costs
from minrisk.decisions.deciding import of_expected
from minrisk.decisions.left_out import LeftOut
from minrisk.decisions.priors import estimate_of, reweighed, shares_of
from minrisk.metrics import expected_cost

METHODS = "temperature", "sigmoid", "isotonic"
N_FOLDS = 5
N_PARTS = 5  # of a fold, each of which is judged by a calibration that the others gave
MANY_ROWS = 2000  # in a fold: half of them calibrate as well as four fifths
MOST_LEFT_OUT = 50_000  # rows that are kept
WEIGHING = "class_weight", "class_weights", "auto_class_weights", "scale_pos_weight", "is_unbalance", "priors"
OF_FEATURES = "n_features_in_", "feature_names_in_"


class LeastCostClassifier(ClassifierMixin, MetaEstimatorMixin, BaseEstimator):  # type: ignore[misc]
    r"""Decisions of least expected cost by the probabilities of any classifier.

    The decision about a row x is

    .. math:: \hat d(x) = \arg\min_k \sum_j p_j(x) \, C_{jk},

    the one of least expected cost under the probabilities p of the classes and the costs C. The decisions are as good
    as the probabilities: state `calibrate` for classifiers that are too sure of themselves.

    Parameters
    ----------
    estimator : classifier, optional
        Any with `predict_proba`; it is cloned.
        By default `sklearn.linear_model.LogisticRegression()`.
    cost : array-like of shape (K, D), DataFrame, dict, CSV file or CostMatrix, optional
        Costs with true classes as rows and decisions as columns. There may be decisions that are no class, such as
        "refer".
        By default every mistake costs 1.
    calibrate : {False, "temperature", "sigmoid", "isotonic"}, default=False
        How probabilities are calibrated by cross-fitting, as
        :class:`sklearn.calibration.CalibratedClassifierCV` does with ``ensemble=True``.
        "temperature" needs scikit-learn 1.8, keeps the order of the classes and is the choice for few rows. "isotonic"
        needs about a thousand rows or more.
        False takes the probabilities as they are.
    cv : int, cross-validation splitter or iterable, optional
        Folds of the cross-fitting. Each row may be left out once.
        By default 5 random folds, or as many as the rarest class has rows.
        Without `calibrate`, folds are made only if `cv` is given; the probabilities of their members are then averaged
        as they are.
    keep_left_out : bool, default=True
        Whether a fit with folds keeps what was said about rows that were left out, see `left_out_`.
    n_jobs : int, optional
        How many members are fitted at a time.
        By default one after the other.
    random_state : int or RandomState, optional
        Seed of the folds. That of the classifier is its own parameter.

    Attributes
    ----------
    classes_ : ndarray of shape (K,)
        The classes.
    cost_ : CostMatrix
        The costs of the fit in the order of `classes_`.
    decisions_ : ndarray of shape (D,)
        The decisions: classes first, then those that are no class.
    estimator_ : classifier
        The fitted classifier, if there are no folds.
    estimators_ : list of classifiers
        The fitted classifiers, one for each fold that was left out.
    calibrators_ : list or None
        What calibrates the probabilities of each.
    left_out_ : LeftOut or None
        Probabilities of rows that the fit left out, by the member of their fold, calibrated by other rows; of a random
        part of 50 000 if there are more. None without folds.
    trained_priors_ : ndarray of shape (K,) or None
        Shares of the classes among the training rows, by weight. None if the classifier weighs classes by a parameter
        such as `class_weight`, and neither "sigmoid" nor "isotonic" takes that back.
    n_features_in_ : int
        Number of features, if the classifier tells.
    feature_names_in_ : ndarray of shape (d,)
        Names of the features, if the classifier tells.

    See Also
    --------
    MinRiskClassifier : Boosting with calibrated probabilities, which decides in the same way.
    minrisk.apply_costs : The decisions for probabilities that are there.

    Notes
    -----
    With folds a clone is fitted without each of them, and the probabilities that it gives the rows of this fold
    calibrate it. New rows get the average of all. Whatever `calibrate` is, it sees `predict_proba` and never
    `decision_function`, which says something else in some classifiers.

    Weights of rows go to the classifier, the calibration and the shares of the classes. A row of weight 0 is the same
    as none. A classifier that takes no weights is refused, unless metadata routing brings them to a part of it.

    References
    ----------
    .. [1] C. Elkan, "The foundations of cost-sensitive learning", IJCAI 2001, Eq. (1).

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from sklearn.naive_bayes import GaussianNB
    >>> from minrisk import costs
    >>> from minrisk import LeastCostClassifier
    >>> X, y = load_digits(return_X_y=True)
    >>> cost = costs.with_reject(costs.uniform(10), 0.3)  # a clerk reads a digit for 0.3 of what a mistake costs
    >>> plain = LeastCostClassifier(GaussianNB(), cost).fit(X[::2], y[::2])
    >>> model = LeastCostClassifier(GaussianNB(), cost, calibrate="isotonic", random_state=0).fit(X[::2], y[::2])
    >>> for each in plain, model:  # 1 less the mean cost
    ...     print(round(each.score(X[1::2], y[1::2]), 2))
    0.79
    0.89
    >>> model.predict(X[1:6])
    array([1, 8, 3, 4, 9])
    """

    def __init__(
        self,
        estimator: Any = None,
        cost: Any = None,
        *,
        calibrate: str | bool = False,
        cv: Any = None,
        keep_left_out: bool = True,
        n_jobs: int | None = None,
        random_state: Any = None,
    ) -> None:
        self.estimator = estimator
        self.cost = cost
        self.calibrate = calibrate
        self.cv = cv
        self.keep_left_out = keep_left_out
        self.n_jobs = n_jobs
        self.random_state = random_state

    # -- training ------------------------------------------------------------------------------------------------
    def fit(
        self, X: Any, y: Any, sample_weight: Any = None, cost: Any = None, *, groups: Any = None, **fit_params: Any
    ) -> Self:
        """Fit the classifier, and calibrate it by rows that were left out if asked to.

        Parameters
        ----------
        X : array-like of shape (n, d), sparse matrix or table
            The features, as the classifier takes them.
        y : array-like of shape (n,)
            Class labels. There must be two classes at least.
        sample_weight : array-like of shape (n,), optional
            Weights of the rows, 0 or more. By default all rows weigh alike.
        cost : array-like of shape (K, D), (n, D) or (n, K, D), DataFrame, dict, CSV file or CostMatrix, optional
            Costs in place of the constructor's `cost`. Of costs for each row the mean for each class is taken, by
            weight: probabilities cannot say how costs depend on the features. If the costs of new rows are known, give
            them to `predict`.
        groups : array-like of shape (n,), optional
            Which rows belong together, such as all rows of one patient: folds keep them together. A classifier that
            takes groups gets them, too.
        **fit_params : dict
            What else `fit` of the classifier takes. What has an entry for each row is divided with the rows.

        Returns
        -------
        estimator
            This estimator, fitted.

        Raises
        ------
        TypeError
            If the classifier has no `predict_proba`, or is given weights and takes none.
        ValueError
            If a parameter, y, a weight, a fold or a cost is not usable; the message says what was expected.
        """
        estimator = self._checked_estimator()
        for name, each in (("y", y), ("sample_weight", sample_weight), ("groups", groups)):
            check_sample_order(each, name, X=X)
        rows = _Rows.of(X, y, sample_weight)
        given = self._read_cost(cost, rows, y)
        params = self._routed(estimator, rows, sample_weight, groups, fit_params)
        splits = self._splits(rows, groups)
        trains: list[Any] = [None if rows.weight.all() else rows.counted]
        if splits is not None:
            trains = [train for train, _ in splits]
        members = Parallel(n_jobs=self.n_jobs)(
            delayed(_fitted)(estimator, rows.X, rows.y, train, params) for train in trains
        )
        for member in members:
            _check_classifier(member)
        found: dict[str, Any] = {"estimators_": members, "classes_": rows.classes}
        found |= {"calibrators_": None, "left_out_": None}
        if splits is None:
            found["estimator_"] = members[0]
        else:
            found |= self._calibrated(members, [test for _, test in splits], rows)
        found |= {name: getattr(members[0], name) for name in OF_FEATURES if hasattr(members[0], name)}
        if isinstance(given, CostsPerRow):
            matrix, stated = rows.mean_costs(given), None
        else:
            matrix, stated = as_cost(given, rows.classes), given
        found |= {"cost_": matrix, "_stated": stated, "_costs_per_row": isinstance(given, CostsPerRow)}
        found["decisions_"] = label_array(matrix.decisions, rows.classes)
        found["trained_priors_"] = None if self._weighs_classes(estimator) else rows.shares
        for name in [name for name in vars(self) if name.endswith("_")]:  # of another fit
            delattr(self, name)
        self.__dict__.update(found)
        return self

    def _checked_estimator(self) -> Any:
        """Return the classifier; refuse parameters that are none."""
        if not (self.calibrate is False or self.calibrate in METHODS):
            raise ValueError(f"calibrate must be False or one of {', '.join(METHODS)}, got {self.calibrate!r}.")
        if self.calibrate == "temperature" and parse_version(sklearn.__version__) < parse_version("1.8"):
            raise ValueError(
                f"calibrate={self.calibrate!r} needs scikit-learn 1.8: install it, or state calibrate='sigmoid'."
            )
        if not isinstance(self.keep_left_out, bool | np.bool_):
            raise ValueError(f"keep_left_out must be True or False, got {self.keep_left_out!r}.")
        if isinstance(self.cv, Integral) and (isinstance(self.cv, bool) or self.cv < 2):
            raise ValueError(f"cv must be 2 folds or more, a splitter or pairs (train, test), got {self.cv!r}.")
        estimator = self._estimator()
        _check_classifier(estimator)
        return estimator

    def _estimator(self) -> Any:
        """Return the classifier, or that of the default."""
        if self.estimator is not None:
            return self.estimator
        default = LogisticRegression()
        return default.set_fit_request(sample_weight=True) if get_config()["enable_metadata_routing"] else default

    def _read_cost(self, cost: Any, rows: _Rows, y: Any) -> CostMatrix | CostsPerRow | None:
        """Return costs given to `fit`, or else the constructor's, as those of the classes."""
        if cost is None and self.cost is not None:
            return stated_cost(self.cost, rows.classes, rows.labels)
        return costs_of_rows(cost, len(rows.y), rows.classes, rows.labels, self.cost, X=rows.X, y=y)

    def _routed(
        self, estimator: Any, rows: _Rows, sample_weight: Any, groups: Any, fit_params: dict[str, Any]
    ) -> dict[str, Any]:
        """Return what `fit` of the classifier is given beside X and y; refuse weights that it would not see."""
        name, weight = type(estimator).__name__, None if sample_weight is None else rows.weight
        if get_config()["enable_metadata_routing"]:
            params = dict(process_routing(self, "fit", sample_weight=weight, groups=groups, **fit_params).estimator.fit)
            way = "let it ask for them by set_fit_request(sample_weight=True)"
        else:
            beside = {"sample_weight": weight, "groups": groups}
            taken = {
                key: each for key, each in beside.items() if each is not None and has_fit_parameter(estimator, key)
            }
            params = fit_params | taken
            way = (
                "if a step of it takes weights, set sklearn.set_config(enable_metadata_routing=True) and let the step "
                "ask for them by set_fit_request(sample_weight=True)"
            )
        if weight is not None and "sample_weight" not in params:
            raise TypeError(f"sample_weight was given, and fit of {name} does not take it: leave it out, or {way}.")
        return params

    def _splits(self, rows: _Rows, groups: Any) -> list[tuple[IntArray, IntArray]] | None:
        """Return pairs (train, test) of row numbers, without rows of weight 0; None without cross-fitting."""
        if self.calibrate is False and self.cv is None:
            return None
        if groups is not None:
            check_consistent_length(rows.X, groups)
        if self.cv is None or isinstance(self.cv, Integral):
            splits = self._drawn(rows, groups)
        else:
            splits = check_cv(self.cv, rows.y, classifier=True).split(rows.X, rows.y, groups)
        numbers = np.arange(len(rows.y))
        pairs = [(rows.counting(numbers[train]), rows.counting(numbers[test])) for train, test in splits]
        rows.check_splits(pairs, at_least=1 if self.calibrate is False else 2)
        return pairs

    def _drawn(self, rows: _Rows, groups: Any) -> Iterable[Any]:
        """Draw folds with even shares of the classes."""
        sizes = np.bincount(rows.codes[rows.weight > 0.0])
        rarest = int(sizes.min())
        n_folds = min(N_FOLDS, rarest) if self.cv is None else int(self.cv)
        if rarest < max(2, n_folds):
            raise ValueError(
                f"Cross-fitting with {max(2, n_folds)} folds needs as many rows of every class, got {rarest} of "
                f"{rows.classes.tolist()[int(sizes.argmin())]!r}: state fewer folds by cv, or calibrate=False and "
                "cv=None."
            )
        if groups is None:
            drawn = StratifiedKFold(n_folds, shuffle=True, random_state=self.random_state)
        else:
            if (n_groups := len(np.unique(np.asarray(groups)))) < 2:
                raise ValueError("groups must be two or more, got one for all rows: leave groups out.")
            drawn = StratifiedGroupKFold(min(n_folds, n_groups), shuffle=True, random_state=self.random_state)
        found: Iterable[Any] = drawn.split(rows.X, rows.codes, groups)
        return found

    def _calibrated(self, members: list[Any], tests: list[IntArray], rows: _Rows) -> dict[str, Any]:
        """Return what calibrates each member, and what the members say of the rows that they left out."""
        left = np.concatenate(tests)
        folds = np.repeat(np.arange(len(tests)), [len(test) for test in tests])
        told = np.concatenate(
            [
                _told_by(member, _safe_indexing(rows.X, test), rows.classes)
                for member, test in zip(members, tests, strict=True)
            ]
        )
        codes, weight, calibrators = rows.codes[left], rows.weight[left], None
        if self.calibrate is not False:
            asked = [np.flatnonzero(folds == fold) for fold in range(len(tests))]
            calibrators = _calibrators(told, codes, weight, self.calibrate, asked)
            if self.keep_left_out:
                told = _judged_by_others(told, codes, weight, self.calibrate, asked)
        kept = np.argsort(left)
        if len(left) > MOST_LEFT_OUT:
            kept = kept[np.sort(check_random_state(self.random_state).permutation(len(left))[:MOST_LEFT_OUT])]
        said = told[kept].astype(np.float32)
        left_out = LeftOut(said, codes[kept], folds[kept], weight[kept], said) if self.keep_left_out else None
        return {"calibrators_": calibrators, "left_out_": left_out}

    def _weighs_classes(self, estimator: Any) -> bool:
        """Tell whether probabilities have other shares of the classes than the rows: the classifier weighs classes."""
        if self.calibrate in ("sigmoid", "isotonic"):
            return False
        own = {name: value for name, value in estimator.get_params().items() if name.split("__")[-1] in WEIGHING}
        return any(not (value is None or (isinstance(value, Real) and value in (0, 1))) for value in own.values())

    # -- prediction ------------------------------------------------------------------------------------------------
    def predict(
        self, X: Any, cost: Any = None, *, priors: Any = None, limits: Mapping[Any, Any] | None = None
    ) -> Labels:
        """Return the decision of least expected cost for each row.

        Parameters
        ----------
        X : array-like of shape (n, d), sparse matrix or table
            Rows, as the classifier takes them.
        cost : array-like of shape (K, D) or (n, K, D), DataFrame, dict, CSV file or CostMatrix, optional
            Costs to decide by, without fitting again: a matrix for all rows, or one for each row.
            Without labels the columns are `decisions_` if they are as many, else the classes and the decisions after
            them.
            By default the costs of the fit decide.
        priors : dict, array-like of shape (K,), PriorEstimate or "estimate", optional
            Shares of the classes among rows as these, see `predict_proba`.
        limits : dict, optional
            How many rows each decision may be made about: an int is a number of rows and a float a share of them, at
            most; a pair is the least and the most. Decisions then depend on the rows beside them.

        Returns
        -------
        ndarray of shape (n,)
            The decisions, among `decisions_` or those that `cost` names.

        Raises
        ------
        ValueError
            If the costs or priors do not fit the classes, or the limits cannot be met.
        """
        p = self.predict_proba(X, priors)
        costs = decision_costs(self, self.cost_ if cost is None else cost, len(p))
        return of_expected(expected_costs(p, costs.table), costs.decisions, self.classes_, limits).labels

    def predict_proba(self, X: Any, priors: Any = None) -> FloatArray:
        """Return the probabilities of the classes.

        Parameters
        ----------
        X : array-like of shape (n, d), sparse matrix or table
            Rows, as the classifier takes them.
        priors : dict, array-like of shape (K,), PriorEstimate or "estimate", optional
            Shares of the classes among rows as these, if they are others than those among the training rows;
            "estimate" finds them by the rows.
            By default the probabilities are those that were learnt.

        Returns
        -------
        ndarray of shape (n, K)
            Probabilities in the order of `classes_`.

        Raises
        ------
        ValueError
            If the priors are no shares of the classes, or those of the training are not known.
        """
        check_is_fitted(self, "classes_")
        p: FloatArray = np.mean([self._by_member(k, X) for k in range(len(self.estimators_))], axis=0)
        if priors is None:
            return p
        if self.trained_priors_ is None:
            raise ValueError(
                "priors need the class shares that the probabilities were learnt by, and a parameter of the estimator "
                "such as class_weight changes these: leave it out, since the costs say what counts, or calibrate by "
                "'sigmoid' or 'isotonic'."
            )
        shares = shares_of(priors, self.classes_, lambda: estimate_of(p, self._told(X), self))
        return reweighed(p, shares, self.trained_priors_)

    def _by_member(self, k: int, X: Any) -> FloatArray:
        """Return the calibrated probabilities that one member gives to rows."""
        told = _told_by(self.estimators_[k], X, self.classes_)
        return told if self.calibrators_ is None else np.asarray(self.calibrators_[k].predict_proba(told))

    def _told(self, X: Any) -> FloatArray | None:
        """Return probabilities by a single member for each row, as `left_out_.told` has them; members take turns.

        None without folds.
        """
        check_is_fitted(self, "classes_")
        if len(self.estimators_) == 1:
            return None
        (X,), n_members = indexable(X), len(self.estimators_)
        n = X.shape[0] if hasattr(X, "shape") else len(X)
        found = np.empty((n, len(self.classes_)))
        for k in range(min(n, n_members)):
            found[k::n_members] = self._by_member(k, _safe_indexing(X, np.arange(k, n, n_members)))
        return found

    def score(self, X: Any, y: Any, sample_weight: Any = None, cost: Any = None) -> float:
        """Return 1 less the mean cost of the decisions; with 0/1 costs this is the accuracy.

        Parameters
        ----------
        X : array-like of shape (n, d), sparse matrix or table
            Rows, as the classifier takes them.
        y : array-like of shape (n,)
            True classes.
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
        decisions = self.predict(X)
        if cost is None and self._costs_per_row:
            raise ValueError(
                "The fit had costs per row, so those of these rows are unknown: pass cost=, with a row for each row or "
                "each class, or, in a search or cross_val_score, let metadata routing pass it, by "
                "sklearn.set_config(enable_metadata_routing=True) and then "
                "estimator.set_fit_request(cost=True).set_score_request(cost=True)."
            )
        given = self._stated if cost is None else cost
        judged_by = costs_of_rows(given, len(decisions), self.classes_, (), self._names(), self.decisions_, X=X, y=y)
        return 1.0 - float(expected_cost(y, decisions, judged_by, sample_weight=sample_weight))

    def _names(self) -> Any:
        """Return costs whose labels name classes of costs per row without labels."""
        return self.cost if self._stated is None else self._stated

    # -- what scikit-learn asks ------------------------------------------------------------------------------------
    def get_metadata_routing(self) -> MetadataRouter:
        """Return what is passed on to the classifier: what its `fit` requests.

        Returns
        -------
        routing : MetadataRouter
            Weights, costs and groups are requested by this estimator itself.
        """
        mapping = MethodMapping().add(caller="fit", callee="fit")
        return (
            MetadataRouter(owner=self).add_self_request(self).add(estimator=self._estimator(), method_mapping=mapping)
        )

    def __sklearn_tags__(self) -> Any:
        tags, estimator = super().__sklearn_tags__(), self._estimator()
        own = get_tags(estimator if hasattr(type(estimator), "__sklearn_tags__") else LogisticRegression())
        tags.input_tags = own.input_tags
        if own.classifier_tags is not None:
            tags.classifier_tags.multi_class = own.classifier_tags.multi_class
            tags.classifier_tags.poor_score = own.classifier_tags.poor_score
        return tags


class _Rows(NamedTuple):
    """Training rows: as they were given, and their classes, which rows of some weight have."""

    X: Any
    y: Labels
    weight: FloatArray  # (n,)
    labels: Labels  # all of y
    classes: Labels
    codes: IntArray  # 0 for rows of weight 0

    @classmethod
    def of(cls, X: Any, y: Any, sample_weight: Any) -> _Rows:
        """Check labels and weights."""
        y = column_or_1d(y, warn=True)
        assert_all_finite(y, input_name="y")
        check_classification_targets(y)
        X, y = indexable(X, y)
        given = checked_weights(sample_weight, len(y))
        weight = np.ones(len(y)) if given is None else given
        labels, codes = np.unique(y, return_inverse=True)
        counted = np.bincount(codes, weight) > 0.0
        if np.count_nonzero(counted) < 2:
            raise ValueError(
                f"y must have at least two classes, got {np.count_nonzero(counted)} class with rows of some weight, "
                f"{listed(labels[counted].tolist())}: add rows of another one."
            )
        return cls(X, y, weight, labels, labels[counted], np.where(counted, np.cumsum(counted) - 1, 0)[codes])

    def counting(self, rows: IntArray) -> IntArray:
        """Return those of some weight among numbers of rows."""
        return rows[self.weight[rows] > 0.0]

    @property
    def counted(self) -> IntArray:
        """Return the numbers of the rows of some weight."""
        return np.flatnonzero(self.weight)

    @property
    def shares(self) -> FloatArray:
        """Return the shares of the classes, by weight."""
        sums = np.bincount(self.codes, self.weight)
        return np.asarray(sums / sums.sum())

    def mean_costs(self, given: CostsPerRow) -> CostMatrix:
        """Return what each decision costs the rows of each class on average, by weight."""
        rows = self.counted
        codes, weight = self.codes[rows], self.weight[rows]
        table, decisions = given._replace(values=given.values[rows]).table(len(rows), as_labels(self.classes), codes)
        of_class = [codes == k for k in range(len(self.classes))]
        means = [np.average(table[own], axis=0, weights=weight[own]) for own in of_class]
        return CostMatrix(np.array(means), self.classes, decisions, allow_diagonal=True)

    def check_splits(self, splits: list[tuple[IntArray, IntArray]], at_least: int) -> None:
        """Refuse folds by which left-out rows would mean something else: pairs (train, test) of numbers of rows."""
        times = np.zeros(len(self.y), dtype=np.int64)
        for number, (train, test) in enumerate(splits):
            np.add.at(times, test, 1)
            if len(test) < at_least:
                raise ValueError(
                    f"cv must leave {'a row' if at_least == 1 else 'two rows'} or more out in each fold, got "
                    f"{len(test)} in fold {number}: state fewer folds."
                )
            if len(both := np.intersect1d(train, test)):
                raise ValueError(
                    f"cv must leave rows out, got row {both[0]} among the training rows of fold {number} as well: give "
                    "a splitter such as StratifiedKFold()."
                )
            if len(without := np.setdiff1d(np.arange(len(self.classes)), self.codes[train])):
                raise ValueError(
                    f"cv must leave rows of every class to train on, got none of {self.classes.tolist()[without[0]]!r} "
                    f"in fold {number}: give folds among which the classes are spread, as StratifiedKFold() does."
                )
        if times.max() > 1:
            raise ValueError(
                f"cv must leave each row out once at most, got row {times.argmax()} in {times.max()} folds: give a "
                "splitter such as StratifiedKFold()."
            )
        if len(never := np.setdiff1d(np.arange(len(self.classes)), self.codes[times > 0])):
            raise ValueError(
                f"cv must leave rows of every class out, got none of {self.classes.tolist()[never[0]]!r}: give folds "
                "among which the classes are spread, as StratifiedKFold() does."
            )


class _AsTold(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """Take probabilities for features and give them back: calibrated, they are those of a member."""

    def __init__(self, n_classes: int = 2) -> None:
        self.n_classes = n_classes

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Learn nothing."""
        self.classes_ = np.arange(self.n_classes)
        return self

    def predict_proba(self, X: FloatArray) -> FloatArray:
        """Return what was given."""
        return X


def _calibrators(
    told: FloatArray, codes: IntArray, weight: FloatArray, method: str | bool, parts: list[IntArray]
) -> list[Any]:
    """Fit a calibration to each of these parts of probabilities (m, K), by rows of codes and weights (m,)."""
    pairs, classifier = [(part, part) for part in parts], _AsTold(told.shape[1])
    with config_context(enable_metadata_routing=False):
        found = CalibratedClassifierCV(classifier, method=method, cv=pairs, ensemble=True)
        return list(found.fit(told, codes, sample_weight=weight).calibrated_classifiers_)


def _judged_by_others(
    told: FloatArray, codes: IntArray, weight: FloatArray, method: str | bool, folds: list[IntArray]
) -> FloatArray:
    """Return calibrated probabilities (m, K) of rows that had no part in the calibration: other rows of their fold had.

    A calibration flatters the rows that it was fitted to, isotonic regression above all.
    """
    asked, others = list[IntArray](), list[IntArray]()
    for rows in folds:
        by_class = rows[np.argsort(codes[rows], kind="stable")]
        for part in range(n_parts := 2 if len(rows) > MANY_ROWS else min(N_PARTS, len(rows))):
            asked.append(by_class[part::n_parts])
            others.append(np.setdiff1d(rows, asked[-1]))
    found = np.empty_like(told)
    for calibrator, rows in zip(_calibrators(told, codes, weight, method, others), asked, strict=True):
        found[rows] = calibrator.predict_proba(told[rows])
    return found


def _check_classifier(estimator: Any) -> None:
    """Refuse what is no classifier with probabilities."""
    if isinstance(estimator, type) or not hasattr(estimator, "fit"):
        raise TypeError(f"estimator must be a classifier, as LogisticRegression() is, got {estimator!r}.")
    if not hasattr(estimator, "predict_proba"):
        name = type(estimator).__name__
        raise TypeError(
            f"estimator must have predict_proba, which {name} has not with these parameters: wrap it, as in "
            f"LeastCostClassifier(CalibratedClassifierCV({name}()))."
        )


def _fitted(estimator: Any, X: Any, y: Labels, rows: IntArray | None, params: dict[str, Any]) -> Any:
    """Return a clone that is fitted to these rows; None: to all."""
    found = clone(estimator)
    if rows is None:
        return found.fit(X, y, **params)
    return found.fit(_safe_indexing(X, rows), y[rows], **_check_method_params(X, params, rows))


def _told_by(member: Any, X: Any, classes: Labels) -> FloatArray:
    """Return the probabilities of a fitted classifier, (n, K)."""
    p = np.asarray(member.predict_proba(X), dtype=np.float64)
    if p.ndim != 2 or p.shape[1] != len(classes) or not np.array_equal(getattr(member, "classes_", classes), classes):
        raise ValueError(
            f"predict_proba of {type(member).__name__} must have a column for each of the {len(classes)} classes of y "
            f"in their order, got shape {p.shape}: give a classifier of one target that learns all classes."
        )
    if not np.isfinite(p).all():
        raise ValueError(
            f"predict_proba of {type(member).__name__} must give finite numbers, got {p[~np.isfinite(p)][0]}: look at "
            "the classifier."
        )
    return p

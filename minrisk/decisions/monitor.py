r"""What the decisions of a model cost on new rows: before labels come, and with them.

Without labels the mean cost is expected under the class shares of the new rows, corrected by what the rows that the fit
left out cost beside what they were expected to cost. With labels it is known, and tested against what was promised.
"""

from __future__ import annotations

import copy
import math
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from minrisk._typing import FloatArray, IntArray
from minrisk._utils.algebra import product
from minrisk.costs.labels import Labels, as_labels, label_text, match_decisions, no_classes
from minrisk.costs.reading import aligned
from minrisk.costs.weights import checked_weights
from minrisk.data.frames import is_missing
from minrisk.decisions.bounds import EProcess, upper_mean
from minrisk.decisions.costs import shared_costs
from minrisk.decisions.deciding import checked_probabilities
from minrisk.decisions.guarantee import Guarantee, codes_of, refer_columns
from minrisk.decisions.priors import PriorEstimate, cells, estimated, merged, reweighed, trained_shares

DRIFT_LEVEL = 0.01  # p-value below which rows that look otherwise are an alarm
PROMISE_LEVEL = 0.05  # of the tests of promises, all together
CARRIED = 0.5  # of the excess that left-out rows show: what single members lack, their average lacks by half
LEAST_FREEDOM = 2.0  # of Student's distribution, where few left-out rows cost anything
MOST_MISSING = 0.01  # share of classes without left-out rows above which nothing is known of the cost
MOSTLY_MISSING = 0.5  # of the cells of a column, above which it is told
NOT_KEPT = "the model keeps no rows that its fit left out"


class Interval(NamedTuple):
    """A mean cost, and between which numbers it lies.

    Attributes
    ----------
    mean : float
    low, high : float
    """

    mean: float
    low: float
    high: float


class DecisionShare(NamedTuple):
    """How often a decision is made.

    Attributes
    ----------
    label : label
        The decision.
    share : float
        Of the new rows.
    left_out : float or None
        Of the rows that the fit left out; None where the model keeps none.
    """

    label: Any
    share: float
    left_out: float | None


class OddColumn(NamedTuple):
    """A column with cells that the model knows nothing of.

    Attributes
    ----------
    name : str
    what : {"unseen", "missing"}
        Whether the values are categories that the fit has not seen, or missing in more than half of the rows.
    rows : int
        How many rows have such a cell.
    example : object
        One of the values, None where they are missing.
    """

    name: str
    what: str
    rows: int
    example: Any


class PromiseTest(NamedTuple):
    """A promise, and what rows with labels say of it.

    Attributes
    ----------
    label : label or None
        The class whose share of wrong decisions is limited; None: the mean cost of all rows is.
    at_most : float
        What was promised.
    mean : float
        What the rows so far have; nan without any.
    e_value : float
        Capital of a gambler who bets against the promise, see `minrisk.decisions.bounds.EProcess`.
    n : int
        How many rows the test has seen.
    """

    label: Any
    at_most: float
    mean: float
    e_value: float
    n: int


@dataclass(frozen=True, eq=False, repr=False)
class Monitoring:
    """Hold what the decisions about new rows cost, and whether something is wrong; it prints as text.

    Attributes
    ----------
    rows : int
        Number of the new rows.
    confidence : float
        Of the intervals.
    cost : Interval or None
        What the decisions are expected to cost in the mean, and the interval of what they do cost. None: not known.
    reason : str
        Why it is not known; empty where it is.
    decisions : tuple of DecisionShare
        How often each decision is made.
    referred, referred_left_out : float or None
        Share of decisions that are no class among the new and the left-out rows.
    shares : PriorEstimate or None
        Class shares of the new rows; None where those of the training are not known.
    drift : float or None
        p-value of the test whether the new rows look like those that the fit left out; None where these are not kept.
    columns : tuple of OddColumn
        Columns with unseen categories, or with more missing cells than others.
    labelled : int
        Number of rows with a label.
    realised : Interval or None
        What the decisions about these cost in the mean, and the interval of what such rows cost; None without labels.
    promises : tuple of PromiseTest
        Promises that were tested.
    alarm : bool
        Whether there are `reasons`.
    reasons : tuple of str
        What is wrong, in whole sentences.
    """

    rows: int
    confidence: float
    cost: Interval | None
    reason: str
    decisions: tuple[DecisionShare, ...]
    referred: float
    referred_left_out: float | None
    shares: PriorEstimate | None
    drift: float | None
    columns: tuple[OddColumn, ...]
    labelled: int
    realised: Interval | None
    promises: tuple[PromiseTest, ...]
    reasons: tuple[str, ...]
    _processes: tuple[tuple[EProcess, float, float], ...] = field(default=(), repr=False)  # with weight and cost so far

    @property
    def alarm(self) -> bool:
        return bool(self.reasons)

    def to_dict(self) -> dict[str, Any]:
        """Return plain values, as JSON takes them."""
        return {
            "rows": self.rows,
            "confidence": self.confidence,
            "cost": None if self.cost is None else self.cost._asdict(),
            "reason": self.reason,
            "decisions": [one._asdict() | {"label": label_text(one.label)} for one in self.decisions],
            "referred": self.referred,
            "referred_left_out": self.referred_left_out,
            "shares": None if self.shares is None else self.shares.as_dict(),
            "drift": self.drift,
            "columns": [
                one._asdict() | {"example": None if one.example is None else str(one.example)} for one in self.columns
            ],
            "labelled": self.labelled,
            "realised": None if self.realised is None else self.realised._asdict(),
            "promises": [
                one._asdict()
                | {
                    "label": None if one.label is None else label_text(one.label),
                    "mean": None if math.isnan(one.mean) else one.mean,
                }
                for one in self.promises
            ],
            "alarm": self.alarm,
            "reasons": list(self.reasons),
        }

    def __str__(self) -> str:
        sure = f"{self.confidence:.0%} interval"
        lines = [f"Monitoring of {self.rows} rows: {'ALARM' if self.alarm else 'no alarm'}"]
        lines += [f"  ! {reason}" for reason in self.reasons]
        lines += [f"Expected mean cost: {_told(self.cost, sure) if self.cost else f'not known, since {self.reason}'}"]
        if self.realised:
            lines += [f"Realised mean cost of {self.labelled} rows: {_told(self.realised, sure)}"]
        for one in self.promises:
            what = "mean cost" if one.label is None else f"share of wrong decisions about {label_text(one.label)!r}"
            so_far = f"; {one.mean:.4g} in {one.n} rows so far, e = {one.e_value:.3g}" if one.n else ""
            lines += [f"Promised {what}: at most {one.at_most:.4g}{so_far}"]
        lines += ["Decisions:" if self.referred_left_out is None else "Decisions (in brackets: among left-out rows):"]
        names = [label_text(made.label) for made in self.decisions]
        width = max(map(len, names))
        for name, made in zip(names, self.decisions, strict=True):
            beside = "" if made.left_out is None else f"  ({made.left_out:.2%})"
            lines += [f"  {name:<{width}}  {made.share:7.2%}{beside}"]
        lines += [] if self.shares is None else [repr(self.shares)]
        lines += [] if self.drift is None else [f"Rows look like left-out rows: p = {self.drift:.3g}"]
        for name, what, n, example in self.columns:
            told = f"categories that fit has not seen ({example!r})" if what == "unseen" else "missing cells"
            lines += [f"Column {name!r} has {told} in {n} row{'s' * (n > 1)}"]
        return "\n".join(lines)

    __repr__ = __str__


def _told(found: Interval, sure: str) -> str:
    return f"{found.mean:.4g} ({sure} {found.low:.4g} to {found.high:.4g})"


def monitor(
    model: Any,
    X: Any,
    y: Any = None,
    *,
    cost: Any = None,
    sample_weight: Any = None,
    confidence: float = 0.9,
    promised: float | Guarantee | None = None,
    since: Monitoring | None = None,
) -> Monitoring:
    r"""Tell what the decisions about new rows cost, without labels or as these come, and whether something is wrong.

    Parameters
    ----------
    model : classifier
        Fitted, with `predict_proba` and `classes_`. The expected cost, and the test whether rows look otherwise, need
        the rows that a `MinRiskClassifier` left out in its fit (`left_out_`).
    X : array-like of shape (n, d)
        New rows, such as those of a month.
    y : array-like of shape (n,), optional
        Their true classes; None or NaN where they are not known yet.
    cost : array-like of shape (K, D), DataFrame, dict, CSV file or CostMatrix, optional
        What decisions cost, and what they are made by. By default `cost_` of the model.
    sample_weight : array-like of shape (n,), optional
        How much each row counts in mean costs.
    confidence : float, default=0.9
        Of the intervals.
    promised : float or Guarantee, optional
        What the mean cost is said to be at most, more than 0; or what `guarantee` returned, whose costs then decide. By
        default an upper bound, of confidence 0.95, of the mean cost of left-out rows.
    since : Monitoring, optional
        What was returned for earlier rows: the test of the promise goes on from there.

    Returns
    -------
    Monitoring
        What decisions cost, how sure that is, and whether there is an alarm.

    Raises
    ------
    TypeError
        If the model gives no probabilities.
    ValueError
        If there are no rows, costs are missing or differ by row, labels are no classes of the model, a number is out of
        its range, or `since` had other promises.

    See Also
    --------
    guarantee : Finds costs to decide by so that a promise is kept.
    estimate_priors : The class shares alone.

    Notes
    -----
    *Expected cost.* With class shares :math:`\pi` as `estimate_priors` finds them, let :math:`E_i` be the cost of the
    decision about row i that probabilities under these shares expect. The mean of :math:`E_i` over new rows is
    corrected by half of the mean of :math:`l_i - E_i` over left-out rows, with the costs :math:`l_i` that they had,
    where the rows of class j weigh :math:`\pi_j` together. By half, since members that left a row out are
    somewhat worse than their average, which decides about new rows.

    *Its interval* is of the cost that these rows have. Its variance has three parts: what left-out rows and class
    shares leave open, whose standard deviations are added since the same rows mislead both; half the correction as a
    standard deviation; and what the classes of the new rows come to. The variance of left-out rows in each class and
    that of the classes of new rows are as observed or as probabilities have it, whichever is larger, and the shares
    count through the slope of the estimate by each. Quantiles are of Student's distribution, whose degrees of freedom
    are put together as Welch and Satterthwaite do of the left-out rows of each class that cost anything, and are 2 at
    least; upwards also of a gamma distribution, since costs are skewed. So it is wide where few left-out rows cost
    anything. In ``benchmarks/monitor.py`` it covers somewhat more often than it says.

    *Not known* is the cost where class shares are not: the rows do not look like a mixture of the classes as they were,
    or tell too little of their shares. Nor is it known without left-out rows.

    *Drift.* Counts of new and left-out rows in cells of their probabilities are compared by a chi-square test of two
    samples. Both have probabilities by a few rounds of one member each that has not seen them. Changed shares are seen
    as well; `shares` tells whether these explain the rows. An alarm is a p-value below 0.01.

    *Promises* are tested by bets [1]_, which may be looked at whenever labels come: if all promises are kept, there is
    ever an alarm with a probability of 0.05 at most. Without labels there is one if the whole interval of the expected
    cost lies above the promise.

    References
    ----------
    .. [1] I. Waudby-Smith and A. Ramdas, "Estimating means of bounded random variables by betting", Journal of the
       Royal Statistical Society B 86(1), 2024, Section 5.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from minrisk import MinRiskClassifier
    >>> from sklearn.model_selection import train_test_split
    >>> X, new, y, truth = train_test_split(*load_breast_cancer(return_X_y=True), test_size=200, random_state=0)
    >>> model = MinRiskClassifier([[0, 5], [1, 0]], n_estimators=20, random_state=0).fit(X, y)
    >>> found = monitor(model, new, truth)
    >>> found.alarm, found.labelled
    (False, 200)
    >>> found.cost.low <= found.realised.mean <= found.cost.high
    True
    """
    if not (hasattr(model, "predict_proba") and hasattr(model, "classes_")):
        raise TypeError(
            f"model must be a fitted classifier with predict_proba and classes_, got {type(model).__name__}: fit it "
            "first, or calibrate one that has scores only (CalibratedClassifierCV)."
        )
    if not 0.0 < confidence < 1.0:
        raise ValueError(f"confidence must be between 0 and 1, got {confidence!r}: give 0.9 for 90 %.")
    classes, left_out = as_labels(model.classes_), getattr(model, "left_out_", None)
    if left_out is not None and not len(left_out.labels):
        left_out = None
    costs = _Costs.of(model, cost, promised, classes)
    p = checked_probabilities(model.predict_proba(X), classes)
    if not len(p):
        raise ValueError("X must have a row or more, got none: give the rows that are to be looked at.")
    told = model._told(X) if hasattr(model, "_told") else None
    weight = checked_weights(sample_weight, len(p))
    weight = np.ones(len(p)) if weight is None else weight
    decided = costs.decided(p)

    old_decided, of_old = None, None
    if left_out is not None:
        old_decided = costs.decided(np.asarray(left_out.probabilities, dtype=np.float64))
        of_old = np.bincount(old_decided, left_out.weight, len(costs.decisions)) / np.sum(left_out.weight)
    trained, shares = _trained(model, left_out), None
    if trained is not None:
        shares = estimated(p, trained, model.classes_, left_out, told, confidence)
    expected, reason = None, NOT_KEPT
    if left_out is not None and shares is not None and trained is not None:
        rows, old = _Rows(p, decided, weight, trained), _Rows.left_out(left_out, old_decided, trained)
        expected, reason = _expected(rows, old, left_out, shares, costs.values, confidence)
    drift = None
    if left_out is not None and told is not None and getattr(left_out, "told", None) is not None:
        drift = _drift(left_out, told)

    promises = _promises(promised, costs, left_out, old_decided, classes)
    realised, labelled, codes = None, np.zeros(len(p), dtype=bool), np.zeros(len(p), dtype=np.int64)
    if y is not None:
        labelled, codes = _labels(y, len(p), classes)
    if (labelled & (weight > 0.0)).any():
        own = costs.values[codes[labelled], decided[labelled]]
        realised = _realised(own, weight[labelled], costs.top, confidence)
    tests, processes = _tested(promises, codes, decided, weight, labelled, since)

    reasons = _reasons(tests, expected, promised, drift, shares)
    of_new = np.bincount(decided, weight, len(costs.decisions)) / weight.sum()
    others = no_classes(costs.decisions, classes)
    return Monitoring(
        rows=len(p),
        confidence=float(confidence),
        cost=expected,
        reason="" if expected is not None else reason,
        decisions=tuple(
            DecisionShare(label, float(of_new[j]), None if of_old is None else float(of_old[j]))
            for j, label in enumerate(costs.decisions)
        ),
        referred=float(of_new[others].sum()),
        referred_left_out=None if of_old is None else float(of_old[others].sum()),
        shares=shares,
        drift=drift,
        columns=_odd_columns(model, X),
        labelled=int(labelled.sum()),
        realised=realised,
        promises=tests,
        reasons=reasons,
        _processes=processes,
    )


class _Costs(NamedTuple):
    """Hold what decisions are made by, and what they cost."""

    deciding: FloatArray  # (K, D)
    values: FloatArray  # (K, D)
    decisions: Labels

    @classmethod
    def of(cls, model: Any, cost: Any, promised: Any, classes: Labels) -> _Costs:
        if not isinstance(promised, Guarantee):
            stated = shared_costs(model, cost)
            return cls(stated.values, stated.values, stated.decisions or ())
        by = aligned(promised.cost, classes)
        if promised.candidate is None:
            if cost is not None:
                raise ValueError(
                    "cost must be left out where promised is a Guarantee, whose costs decide, got some: give either."
                )
            return cls(by.values, by.values, by.decisions or ())
        stated, decisions = shared_costs(model, cost), by.decisions or ()
        values = stated.values[:, match_decisions(decisions, stated.decisions or (), classes)]
        return cls(by.values, values, decisions)

    @property
    def top(self) -> float:
        return float(self.values.max())

    def decided(self, p: FloatArray) -> IntArray:
        return np.asarray(product(p, self.deciding).argmin(axis=1))


# -- what the rows look like -------------------------------------------------------------------------------------------
def _odd_columns(model: Any, X: Any) -> tuple[OddColumn, ...]:
    """Return columns with unseen categories or mostly missing cells, as far as the model knows its columns."""
    if not (hasattr(model, "_categories") and hasattr(model, "_arranged") and hasattr(X, "shape")):
        return ()
    numbers, unseen = model._categories.coded(model._arranged(X))
    found = [OddColumn(str(name), "unseen", n, example) for name, n, example in unseen]
    cells_of = None if hasattr(numbers, "tocsr") else np.asarray(numbers)
    if cells_of is not None and cells_of.dtype.kind == "f" and cells_of.ndim == 2 and len(cells_of):
        names = getattr(model, "_column_names", None) or range(cells_of.shape[1])
        counts = np.isnan(cells_of).sum(axis=0).tolist()
        known = {one.name for one in found}
        for name, count in zip(map(str, names), counts, strict=True):
            if count > MOSTLY_MISSING * len(cells_of) and name not in known:
                found.append(OddColumn(name, "missing", count, None))
    return tuple(found)


def _trained(model: Any, left_out: Any) -> FloatArray | None:
    """Return the class shares of the training; None where nobody knows them."""
    names = ("trained_priors_", "class_prior_")
    knows = left_out is not None or any(getattr(model, name, None) is not None for name in names)
    return trained_shares(model, left_out, None) if knows else None


def _drift(left_out: Any, told: np.ndarray) -> float | None:
    """Return the p-value of new rows as drawn like left-out rows; None of too few cells."""
    from scipy.stats import chi2

    of_old, of_new, n_cells = cells(np.asarray(left_out.told, np.float32), told.astype(np.float32))
    weight = _without_class_weights(np.asarray(left_out.labels), np.asarray(left_out.weight, dtype=np.float64))
    m, n = float(weight.sum() ** 2 / np.sum(weight**2)), float(len(told))
    old = np.bincount(of_old, weight, n_cells) * (m / weight.sum())
    new = np.bincount(of_new, minlength=n_cells).astype(np.float64)
    group = merged((old + new) * min(m, n) / (m + n))
    n_groups = int(group[-1]) + 1
    if n_groups < 2:
        return None
    counts = np.stack([np.bincount(group, each, n_groups) for each in (old, new)])
    pooled = counts.sum(axis=0) / (m + n)
    statistic = np.sum((counts[0] / m - counts[1] / n) ** 2 / pooled) / (1.0 / m + 1.0 / n)
    return float(chi2.sf(statistic, n_groups - 1))


def _without_class_weights(y: IntArray, weight: FloatArray) -> FloatArray:
    """Return weights over those of the classes, where most rows of each class weigh the same: new rows have none."""
    plain = weight.copy()
    for j in np.unique(y).tolist():
        own = y == j
        usual = float(np.median(weight[own]))
        if 2 * np.count_nonzero(weight[own] == usual) < np.count_nonzero(own) or not usual:
            return weight
        plain[own] /= usual
    return plain


# -- what decisions cost -----------------------------------------------------------------------------------------------
class _Rows(NamedTuple):
    """Rows that were decided about, and the class shares that their probabilities were learnt by."""

    probabilities: FloatArray
    decided: IntArray
    weight: FloatArray
    trained: FloatArray

    @classmethod
    def left_out(cls, left_out: Any, decided: Any, trained: FloatArray) -> _Rows:
        p, weight = (np.asarray(given, dtype=np.float64) for given in (left_out.probabilities, left_out.weight))
        return cls(p, decided, weight, trained)


def _expected(
    rows: _Rows, old_rows: _Rows, left_out: Any, shares: PriorEstimate, values: FloatArray, confidence: float
) -> tuple[Interval | None, str]:
    """Return the mean cost that is expected of new rows, with the interval of what it is; or why it is not known."""
    from scipy.stats import gamma, norm, t

    if not shares.known:
        return None, shares.reason.removeprefix("since ")
    y, w = np.asarray(left_out.labels), old_rows.weight
    K, pi = len(shares.classes), shares.shares
    held, rows_of = np.bincount(y, w, K), np.bincount(y, w > 0.0, K)
    if pi[held == 0.0].sum() > MOST_MISSING:
        lacking = shares.classes[int(np.argmax(np.where(held == 0.0, pi, -1.0)))]
        return None, f"the fit left out no row of the class {lacking!r}"
    new = _Expected.of(rows, shares.shares, values)
    v = w * pi[y] / np.where(held > 0.0, held, 1.0)[y]
    v /= v.sum()
    old = _Expected.of(old_rows._replace(weight=v), shares.shares, values)

    cost = values[y, old_rows.decided]
    missed = cost - old.each
    excess = float(v @ missed)
    by_class = np.bincount(y, w * missed, K) / np.where(held > 0.0, held, 1.0)
    within = (missed - by_class[y]) ** 2 * (rows_of / np.maximum(rows_of - 1.0, 1.0))[y]
    of_left_out = np.maximum(np.bincount(y, v**2 * within, K), np.bincount(y, v**2 * old.variance, K))
    of_classes = max(float(v @ (missed - excess) ** 2), float(new.weight @ new.variance))
    slope = new.slope + by_class - excess - old.slope
    of_shares = float(slope @ shares.covariance @ slope)
    # Left-out rows that happen to be easy also mislead the shares: the two deviations add up.
    of_both = (math.sqrt(float(of_left_out.sum())) + math.sqrt(max(of_shares, 0.0))) ** 2
    variance = of_both + ((1.0 - CARRIED) * excess) ** 2 + of_classes * float(new.weight @ new.weight)

    least, most = values.min(axis=0)[rows.decided], values.max(axis=0)[rows.decided]
    lowest, highest = float(new.weight @ least), float(new.weight @ most)
    mean = float(np.clip(float(new.weight @ new.each) + CARRIED * excess, lowest, highest))
    costly = np.bincount(y, (v > 0.0) & (cost > values.min(axis=0)[old_rows.decided]), K)
    doubt = float(np.sum(of_left_out**2 / np.maximum(costly, 1.0)))
    freedom = float(of_left_out.sum()) ** 2 / doubt if doubt else LEAST_FREEDOM
    q = float(t.ppf(0.5 + 0.5 * confidence, max(freedom, LEAST_FREEDOM)))
    high, over = mean + q * math.sqrt(variance), mean - lowest
    if over > 0.0 and variance > 0.0:
        high = max(high, lowest + float(gamma.ppf(norm.cdf(q), over**2 / variance, scale=variance / over)))
    return Interval(mean, max(mean - q * math.sqrt(variance), lowest), min(high, highest)), ""


class _Expected(NamedTuple):
    """Hold what decisions about rows are expected to cost under shares of the classes."""

    each: FloatArray  # (n,)
    variance: FloatArray  # (n,) of the cost of each
    slope: FloatArray  # (K,) of the mean by the shares
    weight: FloatArray  # (n,) with a sum of 1

    @classmethod
    def of(cls, rows: _Rows, pi: FloatArray, values: FloatArray) -> _Expected:
        p, share, trained = rows.probabilities, rows.weight / rows.weight.sum(), rows.trained
        q, own = reweighed(p, pi, trained), values[:, rows.decided].T
        each = (q * own).sum(axis=1)
        odds = np.divide(p, trained, out=np.zeros_like(p), where=trained > 0.0)
        total = odds @ pi
        odds *= np.divide(share, total, out=np.zeros_like(total), where=total > 0.0)[:, None]
        slope = (odds * (own - each[:, None])).sum(axis=0)
        return cls(each, np.maximum((q * own**2).sum(axis=1) - each**2, 0.0), slope, share)


def _realised(costs: FloatArray, weight: FloatArray, top: float, confidence: float) -> Interval:
    """Return the mean cost, and where that of such rows lies."""
    mean = float(np.average(costs, weights=weight))
    if not top:
        return Interval(mean, 0.0, 0.0)
    each = 0.5 + 0.5 * confidence
    high = upper_mean(costs, weight, top=top, confidence=each)
    low = top - upper_mean(top - costs, weight, top=top, confidence=each)
    return Interval(mean, min(max(low, 0.0), mean), max(high, mean))


def _labels(y: Any, n: int, classes: Labels) -> tuple[np.ndarray, IntArray]:
    """Return which rows have a label, and the codes of these."""
    given = np.asarray(y, dtype=object)
    if given.shape != (n,):
        raise ValueError(
            f"y must hold a label for each of the {n} rows, got shape {given.shape}: give None where it is not known."
        )
    labelled = np.array([not is_missing(cell) for cell in given.tolist()], dtype=bool)
    codes = np.zeros(n, dtype=np.int64)
    if labelled.any():
        codes[labelled] = codes_of(given[labelled], classes)
    return labelled, codes


# -- promises ----------------------------------------------------------------------------------------------------------
class _Promise(NamedTuple):
    label: Any
    code: int | None  # of the class that it is about
    at_most: float
    table: FloatArray  # (K, D) what each decision counts
    left: list[int]  # decisions whose rows do not count

    def concerned(self, codes: IntArray, decided: IntArray) -> np.ndarray:
        of_class = np.ones(len(codes), dtype=bool) if self.code is None else codes == self.code
        return np.asarray(of_class & ~np.isin(decided, self.left))


def _promises(promised: Any, costs: _Costs, left_out: Any, old_decided: Any, classes: Labels) -> list[_Promise]:
    if isinstance(promised, Guarantee):
        refer = refer_columns(costs.decisions, None, classes, True)
        kept = [j for j in range(len(costs.decisions)) if j not in refer]
        counted = costs.values.copy()
        counted[:, refer] = 0.0
        wrong = (costs.values > costs.values[:, kept].min(axis=1)[:, None]).astype(np.float64) if kept else counted
        wrong[:, refer] = 0.0
        left = refer if promised.of == "decided" else []
        return [
            _Promise(one.label, None, one.at_most, counted, left)
            if one.label is None
            else _Promise(one.label, classes.index(one.label), one.at_most, wrong, left)
            for one in promised.promises
        ]
    if promised is not None:
        if not 0.0 < promised < math.inf:
            raise ValueError(
                f"promised must be a finite number above 0, or a Guarantee, got {promised!r}: give one of them."
            )
        return [_Promise(None, None, float(promised), costs.values, [])]
    if left_out is None or not costs.top:
        return []
    own = costs.values[left_out.labels, old_decided]
    bound = upper_mean(own, left_out.weight, top=costs.top, confidence=1.0 - PROMISE_LEVEL)
    return [_Promise(None, None, bound, costs.values, [])]


def _tested(
    promises: list[_Promise],
    codes: IntArray,
    decided: IntArray,
    weight: FloatArray,
    labelled: np.ndarray,
    since: Monitoring | None,
) -> tuple[tuple[PromiseTest, ...], tuple[tuple[EProcess, float, float], ...]]:
    """Return the promises as tested on these rows and those before."""
    stated = [(one.label, one.at_most) for one in promises]
    before = None if since is None else [(one.label, one.at_most) for one in since.promises]
    if before is not None and before != stated:
        raise ValueError(
            f"since must have tested the same promises, expected {stated}, got {before}: give the same model, costs "
            "and promised, or leave since out to begin anew."
        )
    tests, processes = [], []
    for number, promise in enumerate(promises):
        rows = promise.concerned(codes, decided) & labelled & (weight > 0.0)
        values, w = promise.table[codes[rows], decided[rows]], weight[rows]
        top = float(promise.table.max())
        if promise.at_most >= top:  # is kept by itself: the test never has anything to bet on
            process, total, paid, n = EProcess(0.5, 1.0), 0.0, 0.0, 0
        elif since is None:
            process, total, paid = EProcess(promise.at_most, top), 0.0, 0.0
        else:
            process, total, paid = copy.deepcopy(since._processes[number])
        if promise.at_most < top and len(values):
            # A bet on a mean by weight is one on this mean, since E[u (l - m)] is 0 where E[u l] / E[u] is m.
            process.update(np.clip(promise.at_most + w / w.max() * (values - promise.at_most), 0.0, top))
        n, total, paid = process.n, total + float(w.sum()), paid + float(w @ values)
        processes.append((process, total, paid))
        tests.append(
            PromiseTest(promise.label, promise.at_most, paid / total if total else math.nan, process.e_value, n)
        )
    return tuple(tests), tuple(processes)


def _reasons(
    tests: tuple[PromiseTest, ...],
    expected: Interval | None,
    promised: Any,
    drift: float | None,
    shares: PriorEstimate | None,
) -> tuple[str, ...]:
    found = []
    for one in tests:
        if one.e_value >= len(tests) / PROMISE_LEVEL:
            what = "the mean cost" if one.label is None else f"wrong decisions about {label_text(one.label)!r}"
            found.append(
                f"The promise that {what} is at most {one.at_most:.4g} is refuted by {one.n} rows with "
                f"{one.mean:.4g} (e = {one.e_value:.3g})."
            )
    if expected is not None and tests and not isinstance(promised, Guarantee) and expected.low > tests[0].at_most:
        found.append(
            f"The decisions are expected to cost {expected.low:.4g} at least in the mean, above the promise of "
            f"{tests[0].at_most:.4g}."
        )
    if drift is not None and drift < DRIFT_LEVEL:
        why = ""
        if shares is not None and shares.p_value is not None:
            explained = "explain" if shares.p_value >= DRIFT_LEVEL else "do not explain"
            why = f" Changed class shares {explained} it."
        found.append(f"The rows do not look like those that the fit left out (p = {drift:.2g}).{why}")
    return tuple(found)

"""A promise about the cost of decisions: the price of referring with which it is kept with stated confidence."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

import numpy as np

from minrisk._kernels import functions
from minrisk._typing import FloatArray, IntArray
from minrisk._utils import warn_caller
from minrisk._utils.algebra import product
from minrisk.costs.labels import Labels, as_labels, listed, match_decisions, match_labels, no_classes, refer_rank
from minrisk.costs.matrix import CostMatrix
from minrisk.costs.reading import aligned
from minrisk.costs.weights import checked_weights
from minrisk.decisions.bounds import bound_of_ordered, log_capital, p_value_share, shuffle, upper_share
from minrisk.decisions.costs import shared_costs

MOST_PRICES, LEAST_PRICES, ROWS_TESTED = 1000, 400, 100_000_000  # prices that are tried, and their number times rows
SMALLEST_PRICE, LEAST_RATIO = 1e-6, 1e-3  # of the smallest cost, and of prices of two classes
SAME_PRICE = 1e-9  # relative, below which two prices are the same but for rounding
MARGIN = 1.5  # times the cost of decided rows that is expected, where a sequence of prices begins
LEFT_OUT = (
    "The rows were left out by members of the model, which scored them one by one and not together: the confidence is "
    "an approximation. Give rows that the fit has not seen for one that is exact."
)


class Promise(NamedTuple):
    """Tell what is promised of new rows, and what the given rows say about it.

    Attributes
    ----------
    label : label or None
        The class whose rows it is about, and then it limits the share of wrong decisions. None: it is about rows of all
        classes, and limits the mean cost.
    at_most : float
        What is promised.
    mean : float
        What the given rows have: a share, or a mean cost; nan if none is concerned.
    bound : float
        Upper confidence bound of what new rows have.
    n : int
        How many of the given rows it rests on.
    """

    label: Any
    at_most: float
    mean: float
    bound: float
    n: int


@dataclass(frozen=True)
class Guarantee:
    """Hold the costs to decide by so that a promise is kept, as `guarantee` found them.

    Attributes
    ----------
    cost : CostMatrix
        For ``predict(X, cost=...)``. Its refer column holds the price; with candidates it is the one chosen.
    price : float or None
        The largest cell of the refer column, 0 if all rows are referred; None with candidates.
    candidate : int or None
        Which of the candidates was chosen, None without any.
    referred : float
        Share of the given rows that are referred.
    bound : float
        Upper confidence bound of the mean cost of new rows, or of the first promise if it is about a class.
    n : int
        Number of the given rows that count.
    confidence : float
        Of each promise, and of all of them together.
    of : str
        "all" or "decided".
    promises : tuple of Promise
        The one about all classes first.
    notes : tuple of str
        What must be known about the result, in whole sentences.
    """

    cost: CostMatrix
    price: float | None
    candidate: int | None
    referred: float
    bound: float
    n: int
    confidence: float
    of: str
    promises: tuple[Promise, ...]
    notes: tuple[str, ...]

    def __str__(self) -> str:
        rows = "new rows" if self.of == "all" else "new rows that are decided"
        lines = []
        for label, at_most, _, bound, n in self.promises:
            what = "The mean cost of" if label is None else f"The share of wrong decisions among {label!r} in"
            sure = f"with a confidence of {self.confidence:g}"
            lines.append(f"{what} {rows} is at most {at_most:g} {sure} (bound {bound:.4g} from {n} rows).")
        chosen = f"Candidate {self.candidate}" if self.price is None else f"A price of {self.price:.4g}"
        return "\n".join([*lines, f"{chosen} refers {self.referred:.1%} of the rows.", *self.notes])


def guarantee(
    model: Any,
    X: Any = None,
    y: Any = None,
    *,
    at_most: float | None = None,
    confidence: float = 0.95,
    of: Literal["all", "decided"] = "all",
    cost: Any = None,
    sample_weight: Any = None,
    by_class: Mapping[Any, float] | None = None,
    candidates: Sequence[Any] | None = None,
    refer: Any = None,
) -> Guarantee:
    r"""Find the price of referring with which decisions about new rows keep a promise, with stated confidence.

    A higher price refers fewer rows. The highest one is returned for which the rows given show that the mean cost of
    decisions is at most `at_most`. What counts as cost is what wrong decisions cost: a row that is referred costs
    nothing, whatever the price of referring is.

    Parameters
    ----------
    model : classifier
        Fitted, with `predict_proba` and `classes_`.
    X : array-like of shape (n, d), optional
        Rows that the fit has not seen, drawn as new rows will be. By default the rows that a `MinRiskClassifier` left
        out in its fit, see Notes.
    y : array-like of shape (n,), optional
        Their true classes.
    at_most : float, optional
        The promise about the mean cost, more than 0, in the unit of the costs. It may be left out with `by_class`.
    confidence : float, default=0.95
        Probability, over the draw of the rows, that what is returned keeps the promise.
    of : {"all", "decided"}, default="all"
        Of which rows the mean cost is meant. "all": costs of wrong decisions over all rows, referred ones included.
        "decided": over those that are not referred.
    cost : array-like of shape (K, D), DataFrame, dict, CSV file or CostMatrix, optional
        What decisions cost, with a column for the decision that refers, see :func:`minrisk.costs.with_reject`. By
        default `cost_` of the model. The refer column gives the ratios of prices between classes, all 1 if it is zero.
    sample_weight : array-like of shape (n,), optional
        How often each row counts. The promise is then about weighted means, for new rows that weigh no more than the
        heaviest of these.
    by_class : dict of class label to float, optional
        Promises about single classes: the share of their rows with a wrong decision, as ``{"knife": 0.01}`` says that
        at most 1 % of knives are missed. A referred row is not missed; with ``of="decided"`` it is left out. A decision
        is wrong if the class has a cheaper one.
    candidates : sequence of costs, optional
        Tables to decide by, from the most cautious to the least, to choose from instead of a price: the last one of
        those that keep the promises before the first that does not. What decisions cost is still said by `cost`.
    refer : label, optional
        The decision that refers. By default those called "refer" (or -1, … beside numbers) or, if there are none, those
        that are no class, provided that some are.

    Returns
    -------
    Guarantee
        Costs to decide by, with the price, and what the rows say about each promise.

    Raises
    ------
    ValueError
        If costs have no decision that refers and there are no candidates, no candidate keeps the promises and nothing
        can be referred, there are neither rows nor ones that the fit left out, or an argument is out of its range.

    Warns
    -----
    UserWarning
        If no price keeps the promises, and all rows are referred.

    See Also
    --------
    minrisk.decisions.bounds : The bounds and tests.

    Notes
    -----
    This is Learn-then-Test by a fixed sequence [1]_. The prices are fixed before a row is seen, and tried from the
    lowest on. At each the hypothesis is tested, at the level 1 - `confidence`, that the promise is not kept, and the
    first one that is not rejected ends the sequence. Several promises are tested at that level each, since all must be
    kept. So nothing is assumed of the model or its probabilities, and the confidence holds for any number of rows.

    Where all wrong decisions cost the same and there are no weights, the test is the binomial one, and the bound is
    Clopper and Pearson's. Otherwise both rest on bets [2]_, see :func:`minrisk.decisions.bounds.upper_mean`.

    With ``of="decided"`` low prices leave too few rows to show anything. So the sequence begins where the test is
    expected to be surest by the rows that the fit left out if the model has them, otherwise by the probabilities of
    `X`, but never by `y`. Where the first price rests on `X`, the theory does not strictly cover it; in the simulations
    of ``benchmarks/guarantee.py`` such promises hold as often as they say.

    Without `X` and `y` the rows are those that the model left out in its fit (`left_out_`). They were scored by single
    members of the model, while new rows are scored by all together, and the members have been chosen by them. Then the
    confidence is an approximation. The same holds for rows that are not drawn as new rows will be: a promise says
    nothing about a world that has changed.

    References
    ----------
    .. [1] A. N. Angelopoulos, S. Bates, E. J. Candès, M. I. Jordan and L. Lei, "Learn then test: calibrating predictive
       algorithms to achieve risk control", 2021, arXiv:2110.01052, Section 2.
    .. [2] I. Waudby-Smith and A. Ramdas, "Estimating means of bounded random variables by betting", Journal of the
       Royal Statistical Society B 86(1), 2024.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.linear_model import LogisticRegression
    >>> from minrisk import apply_costs
    >>> from minrisk import guarantee
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> model = LogisticRegression(max_iter=10_000).fit(X[:200], y[:200])
    >>> found = guarantee(model, X[200:], y[200:], at_most=0.03, cost=[[0, 1, 0], [1, 0, 0]])
    >>> found.bound <= 0.03
    True
    >>> decided = apply_costs(model.predict_proba(X[:3]), model.classes_, found.cost)
    """
    if of not in ("all", "decided"):
        raise ValueError(f'of must be "all" or "decided", got {of!r}: say which rows the mean cost is of.')
    if not 0.0 < confidence < 1.0:
        raise ValueError(f"confidence must be between 0 and 1, got {confidence!r}: give 0.95 for 95 %.")
    classes = as_labels(model.classes_)
    costs = _Costs.of(model, cost, refer, classes, candidates is not None)
    rows = _Rows.of(model, X, y, sample_weight, classes)
    tests = _tests(costs, at_most, by_class, classes)
    for test in tests:
        if test.code is not None and not (rows.codes == test.code).any():
            raise ValueError(
                f"by_class must name classes that y has rows of, got {test.label!r}, which it has none of: give such "
                "rows, or leave the promise out."
            )
    level, notes = 1.0 - confidence, [] if X is not None else [LEFT_OUT]
    if candidates is None:
        ways = _by_price(model, costs, rows, tests, of)
    else:
        ways = _by_candidate(candidates, costs, rows, classes)
    chosen, failed = _last_that_keeps(ways, tests, rows, of, level)
    if chosen is None:
        if not costs.columns:
            raise ValueError(
                f"no candidate keeps the promise {_told(failed)} on the {rows.n} rows with a confidence of "
                f"{confidence:g}: give more rows, promise less, or add a decision that refers, by "
                "costs.with_reject(cost, price)."
            )
        chosen = _Way(np.full(rows.n, -1), 0.0, None, costs.all_referred())
        notes.append(
            f"No {'price' if candidates is None else 'candidate'} keeps the promise {_told(failed)}, so all rows are "
            f"referred: {_advice(failed, rows, level)}."
        )
        warn_caller(notes[-1])
    elif candidates is None and of == "all":
        notes += _about_stated_price(costs, rows, chosen.price)
    promises = tuple(test.promise(rows, chosen, of, confidence) for test in tests)
    return Guarantee(
        cost=costs.priced(chosen.price or 0.0) if chosen.cost is None else chosen.cost,
        price=chosen.price,
        candidate=chosen.candidate,
        referred=rows.share(chosen.decision < 0),
        bound=promises[0].bound,
        n=rows.n,
        confidence=float(confidence),
        of=of,
        promises=promises,
        notes=tuple(notes),
    )


class _Costs(NamedTuple):
    """Hold what decisions cost, and which of them refer."""

    stated: CostMatrix
    columns: list[int]  # that refer
    kept: list[int]  # the others
    ratios: FloatArray  # (K, R) of prices, as shares of the largest

    @classmethod
    def of(cls, model: Any, cost: Any, refer: Any, classes: Labels, may_lack: bool) -> _Costs:
        stated = shared_costs(model, cost)
        columns = refer_columns(stated.decisions or (), refer, classes, may_lack)
        given = stated.values[:, columns]
        ratios = given / given.max() if given.any() else np.ones_like(given)
        return cls(stated, columns, [j for j in range(stated.shape[1]) if j not in columns], ratios)

    @property
    def decided(self) -> FloatArray:
        """The costs of decisions that do not refer."""
        return self.stated.values[:, self.kept]

    def flips(self, p: FloatArray) -> tuple[IntArray, FloatArray]:
        """Return the cheapest decision that does not refer, and the price from which on it is taken."""
        expected = product(p, self.decided)
        best = expected.argmin(axis=1)
        least, at_one = expected[np.arange(len(p)), best], product(p, self.ratios).min(axis=1)
        flips = np.full(len(p), np.inf)
        np.divide(least, at_one, out=flips, where=at_one > 0.0)
        return np.asarray(self.kept)[best], np.where(least > 0.0, flips, 0.0)

    def prices(self, n: int) -> FloatArray:
        """Return prices that depend on the costs only, by equal factors, up to one at which no row is referred."""
        if not self.decided.any():
            return np.array([1.0])
        smallest = self.decided[self.decided > 0.0].min()
        largest = self.decided.max() / max(self.ratios[self.ratios > 0.0].min(), LEAST_RATIO)
        count = int(np.clip(ROWS_TESTED / n, LEAST_PRICES, MOST_PRICES))
        first, last = functions.log(SMALLEST_PRICE * smallest), functions.log(largest)
        return np.asarray(functions.exp(np.linspace(first, last, count)))

    def priced(self, price: float) -> CostMatrix:
        return self._with(self.decided, price)

    def all_referred(self) -> CostMatrix:
        """Return costs that refer all rows, also those whose class is certain."""
        return self._with(self.decided + (self.decided.max() or 1.0), 0.0)

    def _with(self, decided: FloatArray, price: float) -> CostMatrix:
        values = np.empty_like(self.stated.values)
        values[:, self.kept], values[:, self.columns] = decided, price * self.ratios
        return CostMatrix(values, self.stated.classes, self.stated.decisions, allow_diagonal=True)


class _Rows(NamedTuple):
    """Rows that count, shuffled."""

    probabilities: FloatArray
    codes: IntArray
    weight: FloatArray | None  # None: all the same
    are_left_out: bool

    @classmethod
    def of(cls, model: Any, X: Any, y: Any, sample_weight: Any, classes: Labels) -> _Rows:
        if (X is None) != (y is None):
            raise ValueError(
                f"X and y must be given both or neither, got only {'y' if X is None else 'X'}: give rows and their "
                "true classes, or leave both out for the rows that the fit left out."
            )
        if X is None:
            if sample_weight is not None:
                raise ValueError("sample_weight must be left out without X, got some: left-out rows have their own.")
            return cls._left_out(model)
        codes = codes_of(y, classes)
        p = np.asarray(model.predict_proba(X), dtype=np.float64)
        if p.shape != (len(codes), len(classes)):
            raise ValueError(
                f"X and y must have as many rows, and predict_proba a column for each of the {len(classes)} classes, "
                f"got {len(codes)} labels and probabilities of shape {p.shape}: correct X or y."
            )
        if not (np.isfinite(p) & (p >= 0.0)).all():
            raise ValueError(
                f"predict_proba of the {type(model).__name__} must return finite numbers of 0 or more, got others: "
                "give rows that it has probabilities of."
            )
        return cls._ordered(p, codes, checked_weights(sample_weight, len(codes)), False)

    @classmethod
    def _left_out(cls, model: Any) -> _Rows:
        rows = getattr(model, "left_out_", None)
        if rows is None:
            raise ValueError(
                f"X and y must be given, got neither, and the {type(model).__name__} has no rows that its fit left out "
                "(left_out_): give rows that the fit has not seen."
            )
        p, codes = np.asarray(rows.probabilities, dtype=np.float64), np.asarray(rows.labels, dtype=np.int64)
        return cls._ordered(p, codes, rows.weight, True)

    @classmethod
    def _ordered(cls, p: FloatArray, codes: IntArray, weight: FloatArray | None, are_left_out: bool) -> _Rows:
        counted = np.flatnonzero(np.ones(len(codes)) if weight is None else weight)
        if not len(counted):
            raise ValueError("X must have a row or more, got none: give rows that the fit has not seen.")
        p, codes = p[counted], codes[counted]
        weight = None if weight is None else np.asarray(weight, dtype=np.float64)[counted]
        if weight is not None and (weight == weight[0]).all():
            weight = None
        order = shuffle(len(p))
        return cls(p[order], codes[order], None if weight is None else weight[order], are_left_out)

    @property
    def n(self) -> int:
        return len(self.codes)

    def share(self, which: np.ndarray) -> float:
        return float(np.average(which, weights=self.weight))


class _Way(NamedTuple):
    """One way to decide the rows."""

    decision: IntArray  # (n,) column, -1 where the row is referred
    price: float | None
    candidate: int | None
    cost: CostMatrix | None  # None: those of the price


class _Test(NamedTuple):
    """A promise to be tested."""

    label: Any
    code: int | None
    at_most: float
    table: FloatArray  # (K, D) what each decision counts
    top: float
    is_even: bool  # whether each decision counts nothing or the top

    def concerned(self, rows: _Rows, way: _Way, of: str) -> tuple[FloatArray, FloatArray | None]:
        """Return what the rows concerned count as shares of the top, and their weights as shares of the largest."""
        chosen = way.decision >= 0 if of == "decided" else np.ones(rows.n, dtype=bool)
        if self.code is not None:
            chosen &= rows.codes == self.code
        decision = way.decision[chosen]
        values = np.where(decision >= 0, self.table[rows.codes[chosen], decision], 0.0) / (self.top or 1.0)
        if rows.weight is None or not len(values):
            return values, None
        weight = rows.weight[chosen]
        return values, None if (weight == weight[0]).all() else weight / weight.max()

    def is_kept(self, rows: _Rows, way: _Way, of: str, level: float) -> bool:
        if self.at_most >= self.top:
            return True
        values, weight = self.concerned(rows, way, of)
        limit = self.at_most / self.top
        if self.is_even and weight is None:
            return p_value_share(int(np.count_nonzero(values)), len(values), limit) <= level
        return log_capital(values, weight, limit) >= -functions.log(level)

    def promise(self, rows: _Rows, way: _Way, of: str, confidence: float) -> Promise:
        values, weight = self.concerned(rows, way, of)
        mean = self.top * float(np.average(values, weights=weight)) if len(values) else math.nan
        if not (way.decision >= 0).any():
            bound = 0.0
        elif self.is_even and weight is None:
            bound = self.top * upper_share(int(np.count_nonzero(values)), len(values), confidence)
        else:
            bound = self.top * bound_of_ordered(values, weight, confidence)
        return Promise(self.label, self.at_most, mean, bound, len(values))

    def rows_needed(self, level: float) -> int:
        """Return how many rows show that the promise is kept if none of them counts."""
        return (
            math.ceil(functions.log(level) / functions.log1p(-self.at_most / self.top))
            if self.at_most < self.top
            else 0
        )


def refer_columns(decisions: Labels, refer: Any, classes: Labels, may_lack: bool) -> list[int]:
    others = no_classes(decisions, classes)
    if refer is not None:
        found = match_decisions([refer], decisions, classes)
        if found[0] not in others:
            raise ValueError(
                f"refer must be a decision that is no class, expected one of {listed([decisions[j] for j in others])}, "
                f"got {refer!r}: name a column of cost."
            )
        return found
    named = [j for j in others if refer_rank(decisions[j], classes)]
    if named or 0 < len(others) < len(decisions):
        return named or others
    if may_lack:
        return []
    way = (
        f"which of {listed(decisions)} refers, as refer={decisions[-1]!r}"
        if others
        else "cost with one, as costs.with_reject(cost, price=0) makes it, or a list of tables as candidates="
    )
    raise ValueError(f"cost must have a decision that refers, got the decisions {listed(decisions)}: give {way}.")


def _tests(costs: _Costs, at_most: float | None, by_class: Mapping[Any, float] | None, classes: Labels) -> list[_Test]:
    if at_most is None and not by_class:
        raise ValueError("at_most must be given, got nothing to promise: give a limit of the mean cost, or by_class.")
    tests, values = [], costs.stated.values
    if at_most is not None:
        if not 0.0 < at_most < math.inf:
            raise ValueError(
                f"at_most must be a finite number above 0, got {at_most!r}: no number of rows shows that a mean is 0."
            )
        top = float(costs.decided.max())
        is_even = bool(np.isin(costs.decided, (0.0, top)).all())
        tests.append(_Test(None, None, float(at_most), values, top, is_even))
    given = by_class or {}
    for (label, limit), code in zip(given.items(), match_labels(given, classes), strict=True):
        if code < 0 or not 0.0 < limit <= 1.0:
            raise ValueError(
                f"by_class must give classes among {listed(classes)} a share above 0 and at most 1, got {limit!r} for "
                f"{label!r}: write {{{classes[0]!r}: 0.01}} for wrong decisions about at most 1 % of its rows."
            )
        wrong = (values > costs.decided.min(axis=1)[:, None]).astype(np.float64)
        tests.append(_Test(classes[code], code, float(limit), wrong, 1.0, True))
    return tests


def _last_that_keeps(
    ways: Iterator[_Way], tests: list[_Test], rows: _Rows, of: str, level: float
) -> tuple[_Way | None, list[_Test]]:
    """Return the last way before the first that does not keep all promises, and those that this one does not keep."""
    chosen: _Way | None = None
    for way in ways:
        if chosen is None or not np.array_equal(way.decision, chosen.decision):
            failed = [test for test in tests if not test.is_kept(rows, way, of, level)]
            if failed:
                return chosen, failed
        chosen = way
    return chosen, []


def _by_price(model: Any, costs: _Costs, rows: _Rows, tests: list[_Test], of: str) -> Iterator[_Way]:
    """Yield what is decided at each price, from the lowest on."""
    decision, flips = costs.flips(rows.probabilities)
    prices = costs.prices(rows.n)
    if of == "decided":
        begin = min(_begin(model, costs, rows, tests), float(prices[-1]))
        prices = np.append(begin, prices[prices > begin])
    for price in prices.tolist():
        yield _Way(np.where(flips <= price, decision, -1), price, None, None)


def _begin(model: Any, costs: _Costs, rows: _Rows, tests: list[_Test]) -> float:
    """Return the price at which the test is expected to be surest; it does not depend on the labels of the rows."""
    left_out = None if rows.are_left_out else getattr(model, "left_out_", None)
    if left_out is None:
        p = truth = rows.probabilities
        weight = np.ones(rows.n) if rows.weight is None else rows.weight
    else:
        p = np.asarray(left_out.probabilities, dtype=np.float64)
        truth, weight = np.eye(p.shape[1])[left_out.labels], np.asarray(left_out.weight, dtype=np.float64)
    decision, flips = costs.flips(p)
    order = np.argsort(flips, kind="stable")
    decision, flips, mass = decision[order], flips[order], (truth * weight[:, None])[order]
    evidence = np.full(len(flips), np.inf)  # as in Bernstein's inequality, of the test that has the least
    for test in tests:
        of_class = slice(None) if test.code is None else [test.code]
        counts = test.table[:, decision].T[:, of_class]
        drawn, mean, square = (np.cumsum((mass[:, of_class] * each).sum(axis=1)) for each in (1.0, counts, counts**2))
        with np.errstate(invalid="ignore", divide="ignore"):  # where no row of the class is likely, or nothing costs
            below = np.maximum(test.at_most - MARGIN * mean / drawn, 0.0)
            own = drawn * below**2 / (2.0 * MARGIN * square / drawn + test.top * below)
        evidence = np.minimum(evidence, np.nan_to_num(own))
    return float(flips[evidence.argmax()]) * (1.0 + SAME_PRICE)


def _by_candidate(candidates: Sequence[Any], costs: _Costs, rows: _Rows, classes: Labels) -> Iterator[_Way]:
    """Yield what is decided by each of the tables."""
    if not isinstance(candidates, (list, tuple)) or not candidates:
        raise ValueError(
            f"candidates must be a list of costs, got {type(candidates).__name__}: give one table or more to choose "
            "from, the most cautious first."
        )
    known = costs.stated.decisions or ()
    for number, candidate in enumerate(candidates):
        matrix = aligned(candidate, classes, decisions=known)
        decisions = matrix.decisions or ()
        places = np.array(match_decisions(decisions, known, classes))
        if -1 in places:
            raise ValueError(
                f"candidates must have decisions that cost has, {listed(known)}, got "
                f"{decisions[places.tolist().index(-1)]!r} in number {number}: say in cost what it costs."
            )
        decision = places[product(rows.probabilities, matrix.values).argmin(axis=1)]
        yield _Way(np.where(np.isin(decision, costs.columns), -1, decision), None, number, matrix)


def _about_stated_price(costs: _Costs, rows: _Rows, found: float | None) -> list[str]:
    """Say what the stated price does where it is lower than the one found."""
    price = float(costs.stated.values[:, costs.columns].max())
    if found is None or not 0.0 < price < found:
        return []
    referred = rows.share(costs.flips(rows.probabilities)[1] > price)
    return [
        f"The stated price of referring, {price:.4g}, is lower: it keeps the promise as well, and refers "
        f"{referred:.1%} of the rows."
    ]


def _told(failed: list[_Test]) -> str:
    test = failed[0]
    return f"of {test.at_most:g}" + ("" if test.label is None else f" about {test.label!r}")


def _advice(failed: list[_Test], rows: _Rows, level: float) -> str:
    test = failed[0]
    n = rows.n if test.code is None else int(np.count_nonzero(rows.codes == test.code))
    needed = test.rows_needed(level)
    whose = "" if test.label is None else f" of {test.label!r}"
    if n < needed:
        return f"{needed} rows{whose} at least show so little with a confidence of {1.0 - level:g}, and there are {n}"
    return f"the {n} rows{whose} do not show it, so give more rows, promise less, or train a better model"


def codes_of(y: Any, classes: Labels) -> IntArray:
    labels = np.asarray(y)
    if labels.ndim != 1:
        raise ValueError(f"y must hold a label for each row, got shape {labels.shape}: give labels in one dimension.")
    given = labels.tolist()
    known = list(dict.fromkeys(given))
    places = match_labels(known, classes)
    if -1 in places:
        raise ValueError(
            f"y must hold classes that the model knows, {listed(classes)}, got {known[places.index(-1)]!r}: leave out "
            "rows of other classes, or fit the model on them as well."
        )
    code = dict(zip(known, places, strict=True))
    return np.array([code[label] for label in given], dtype=np.int64)

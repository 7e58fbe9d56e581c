"""Costs from what people can say about them: ranges, rates that they accept, and how they have decided so far.

Between two tables
------------------
Let a table C be unknown between tables L and H, cell by cell, and let l_k and h_k be the expected costs of decision k
about a row under L and H. Cells are independent, so the largest regret of k is h_k less the least l_m of another
decision m, or 0 if that is less.

Of two decisions, 1 has the smaller one if h_1 - l_2 <= h_2 - l_1, that is if h_1 + l_1 <= h_2 + l_2: the midpoint
(L + H) / 2 decides so for all probabilities. Of more decisions no single table does: between two decisions of which
neither has the least l, it is h that decides, and once a third one is far off, h + l does. But the midpoint's regret is
at most twice the least one. Let it take k where r is best. If k has the least l beside r, or r the least beside k, then
h_k + l_k <= h_r + l_r says that r is no better. Else a third decision m has the least l of all, r regrets h_r - l_m and
at least h_r - l_k, and k regrets h_k - l_m <= h_r + l_r - l_k - l_m <= (h_r - l_m) + (h_r - l_k).

Rows together have one true table, not one each, and the mean of their largest regrets is too cautious. Let G(C) be the
mean over the rows of the least expected cost under C, and A (K, D) the mean over the rows of p_ij in the column that is
decided. The mean regret under C is the sum of A C less G(C). It is convex in C, so it is largest at a corner of the
range. By the minimax theorem the least maximal regret over all ways to decide is the largest, over weights w of the
corners, of G(sum_v w_v C_v) - sum_v w_v G(C_v); and the table sum_v w_v C_v decides so, but for rows in which its
decisions tie. It is found by a linear program over the decisions of tables, to which the table of its dual weights is
added until nothing is gained.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

import numpy as np

from minrisk._kernels.functions import exp, log
from minrisk._typing import FloatArray
from minrisk._utils import warn_caller
from minrisk._utils.algebra import product, solve
from minrisk._utils.minimising import minimise
from minrisk._utils.text import first_of
from minrisk.costs.builders import is_finite, with_reject
from minrisk.costs.labels import Labels, as_labels, listed, match_decisions, match_labels, unmatched
from minrisk.costs.matrix import CostMatrix, cell, column_names

RIDGE = 1e-9  # of the squares of costs that past decisions imply, which may be beyond any size
SLOPE, CHANGE = 1e-4, 1e-7  # where a search for them ends; likelihoods are to be told apart by less than UNLIKELY
UNLIKELY = 1.353  # fall of the log-likelihood at the ends of ranges: half the 0.9 quantile of chi-square
HALVINGS = 10  # of the search for an end
MOST_RANGES = 10  # cells with a range: each doubles the corners
MOST_PROGRAMS = 100  # linear programs; a few dozen are enough
ENOUGH = 1e-6  # of the largest regret of the midpoint, a gain that is none
DIGITS = 10  # of the costs between; further ones would depend on the processor
AGREED = 1e-9  # relative, within which statements agree
_MOST_NAMED = 6  # costs that a message lists

_Statement = tuple[tuple[Any, Any], float, tuple[Any, Any]]  # one mistake is as bad as so many of another kind
_Pair = tuple[int, int, float, int]  # costs a and b with a = n b, and the number of the statement


def between(low: Any, high: Any, probabilities: Any = None, classes: Any = None) -> CostMatrix:
    r"""Return costs to decide by where only a range is known of each: those of least maximal regret.

    The regret is what decisions cost more than the best ones, if the true costs are known. It is largest for some table
    between `low` and `high`, and the costs are chosen so that this largest regret is small.

    Parameters
    ----------
    low : array-like of shape (K, D), DataFrame, dict of dicts, CSV file or CostMatrix
        The least that each cost may be.
    high : array-like of shape (K, D), DataFrame, dict of dicts, CSV file or CostMatrix
        The most that each cost may be; the same as in `low` if it is known. Tables with labels are matched by label.
    probabilities : array-like of shape (n, K), optional
        What `predict_proba` gives of rows as they will come. By default nothing is known of the rows.
    classes : array-like of shape (K,), optional
        The classes of the columns of `probabilities`: `classes_` of the classifier. It must be given if the tables have
        labels and the probabilities have none.

    Returns
    -------
    CostMatrix
        Without probabilities the midpoint of `low` and `high`. With them, the table between both whose decisions about
        these rows have the least mean regret in the worst case; never one that is worse than the midpoint.

    Raises
    ------
    ValueError
        If the tables differ in their shapes or labels, `low` is above `high` somewhere, the probabilities do not fit,
        or more than 10 costs have a range while there are probabilities.

    See Also
    --------
    minrisk.decisions.sensitivity.sensitivity : Say which costs have to be known better.

    Notes
    -----
    Between two decisions the midpoint has the least maximal regret in every row, whatever its probabilities. Among
    more, no single table has it in every row, and the midpoint's is at most twice the least [1]_.

    With probabilities, there is one true table for all rows, and the regret is the mean over them. Then one table has
    the least maximal regret among all ways to decide, up to the few rows in which two of its decisions cost the same
    (Savage's criterion [2]_, by the minimax theorem). Every combination of the ends of the ranges is looked at.

    References
    ----------
    .. [1] A. Kasperski and P. Zieliński, "An approximation algorithm for interval data minmax regret combinatorial
       optimization problems", Information Processing Letters 97 (2006).
    .. [2] L. J. Savage, "The theory of statistical decision", Journal of the American Statistical Association 46
       (1951).

    Examples
    --------
    >>> from minrisk.costs import between
    >>> low = {"knife": {"bottle": 20}, "bottle": {"knife": 1}}
    >>> high = {"knife": {"bottle": 100}, "bottle": {"knife": 1}}
    >>> between(low, high)
    CostMatrix: 2 true classes (rows) x 2 decisions (columns)
            bottle  knife
    knife       60      0
    bottle       0      1
    >>> import numpy as np
    >>> knife = np.linspace(0.005, 0.1, 500)
    >>> between(low, high, np.column_stack([1 - knife, knife]), ["bottle", "knife"]).values.round(1).tolist()
    [[45.4, 0.0], [0.0, 1.0]]
    """
    least, most = (cost if isinstance(cost, CostMatrix) else CostMatrix(cost) for cost in (low, high))
    above = _in_its_order(most, least)
    if wrong := np.argwhere(least.values > above).tolist():
        i, j = wrong[0]
        raise ValueError(
            f"low must not be above high, got {least.values[i, j]:g} and {above[i, j]:g} for "
            f"{cell(i, j, least.classes, least.decisions)}: exchange or correct them."
        )
    middle = least.values + 0.5 * (above - least.values)
    if probabilities is not None:
        middle = _least_regret(least.values, above, middle, _columns(probabilities, classes, least))
    return CostMatrix._of_checked(middle, least.classes, least.decisions, least._graded and most._graded)


def from_rates(
    statements: Any, classes: Any = None, *, decisions: Any = None, refer_below: float | None = None
) -> CostMatrix:
    """Return costs from rates that people accept: one mistake is as bad as so many of another kind.

    Parameters
    ----------
    statements : sequence of (mistake, n, other)
        Each says that one `mistake` is as bad as n `other` ones. A mistake is a pair (true class, decision).
        ``...`` stands for all others: ``("knife", ...)`` is every knife that is taken for something else,
        ``(..., "knife")`` whatever is taken for a knife, and ``(..., ...)`` every mistake.
    classes : sequence of labels, optional
        The classes. By default those that the statements name as true; they must be given where ``...`` is used.
    decisions : sequence of labels, optional
        Decisions that are no class, such as ``"refer"``. By default those that the statements name.
    refer_below : float, optional
        Add the decision to refer a case, which is taken wherever no class is at least as probable as this: its price
        is 1 less this share of what the cheapest mistake costs. By default it is not added.

    Returns
    -------
    CostMatrix
        The costs, of which the least is 1, but for the price of `refer_below`.

    Raises
    ------
    ValueError
        If a statement is none, names a right decision or an unknown class, or if some costs do not follow from the
        statements. They are named.
    TypeError
        If `statements` is no sequence.

    Warns
    -----
    UserWarning
        If statements contradict each other. Costs are then those of least squares of the logarithms, where each
        statement counts once. The warning names the one that is furthest off, and by what factor.

    See Also
    --------
    with_reject : Add the decision to refer a case, at a price.

    Notes
    -----
    Other ways to speak of costs are such rates too:

    - Two mistakes that are equally bad have n = 1.
    - "Treat from a probability q of ill on" says that a missed ill person is as bad as (1 - q) / q needless treatments.
    - "Accept m referrals to avoid one mistake" has n = m, and ``(..., "refer")`` as the other.

    Only ratios of costs matter to decisions, so no amount is needed. Where mistakes do not cost the same,
    `refer_below` refers every case that is less sure, and also surer ones whose mistakes would cost more.

    Examples
    --------
    >>> from minrisk.costs import from_rates
    >>> accepted = [(("knife", ...), 20, (..., "knife")), (("book", "bottle"), 1, ("bottle", "book")),
    ...             (("book", "knife"), 2, ("book", "bottle"))]
    >>> from_rates(accepted, ["book", "bottle", "knife"], refer_below=0.97)
    CostMatrix: 3 true classes (rows) x 4 decisions (columns)
            book  bottle  knife  refer
    book       0       1      2   0.03
    bottle     1       0      2   0.03
    knife     40      40      0   0.03
    """
    read = _statements(statements)
    rows, columns = _labels_of(read, classes, decisions)
    own = dict(zip(range(len(rows)), match_labels(rows, columns), strict=True))
    needed = [(i, j) for i in range(len(rows)) for j in range(len(columns)) if own[i] != j]
    number = {place: at for at, place in enumerate(needed)}
    pairs: list[_Pair] = []
    for at, (one, n, other) in enumerate(read):
        left, right = ([number[place] for place in _cells(kind, rows, columns, own)] for kind in (one, other))
        pairs += [(a, b, n, at) for a in left for b in right if a != b or n != 1.0]
    found = _agreed(pairs, len(needed))
    if alone := [cell(*needed[at], rows, columns) for at in np.flatnonzero(np.isnan(found))]:
        raise ValueError(
            "statements must relate all mistakes to each other, got nothing that relates "
            f"{first_of(alone, _MOST_NAMED)} to {cell(*needed[0], rows, columns)}: add a statement, such as that two "
            "of them are equally bad."
        )
    off = [abs(float(log(float(found[a] / (n * found[b]))))) for a, b, n, _ in pairs]
    if max(off, default=0.0) > AGREED:
        found = _by_least_squares(pairs, len(needed), len(read))
        ratios = [float(found[a] / found[b]) for a, b, _, _ in pairs]
        off = [abs(float(log(ratio / n))) for ratio, (_, _, n, _) in zip(ratios, pairs, strict=True)]
        worst = int(np.argmax(off))
        *_, n, at = pairs[worst]
        warn_caller(
            f"The statements contradict each other: {read[at]!r} says {n:g}, and the costs that fit all of them best "
            f"have {ratios[worst]:.3g}, a factor of {exp(off[worst]):.3g} from it: correct the statements.",
            UserWarning,
        )
    values = np.zeros((len(rows), len(columns)))
    values[tuple(np.transpose(needed))] = found / found.min()
    cost = CostMatrix(values, rows, columns)
    return cost if refer_below is None else with_reject(cost, _price(refer_below))


class ImpliedCosts(NamedTuple):
    """Hold the costs that past decisions imply, and how sure they are.

    Attributes
    ----------
    cost : CostMatrix
        The costs, whose mean over all mistakes is 1. Nothing is known of their size.
    low : ndarray of shape (K, D)
        The least that each cost may be, with a confidence of about 90 % for each alone.
    high : ndarray of shape (K, D)
        The most that each may be. It is at most the number of mistakes, as all others may cost nothing then.
    explained : float
        Share of the decisions that are of least expected cost under these costs.
    explained_by_one : float
        Share of the most frequent decision, which explains so many without any costs.
    """

    cost: CostMatrix
    low: FloatArray
    high: FloatArray
    explained: float
    explained_by_one: float


def from_decisions(probabilities: Any, decisions: Any, classes: Any) -> ImpliedCosts:
    r"""Return the costs that past decisions imply, given the probabilities that a model gives of the same rows.

    Parameters
    ----------
    probabilities : array-like of shape (n, K)
        What `predict_proba` gives of the rows that were decided, by a model that was fitted on other rows.
    decisions : array-like of shape (n,)
        What people decided. Each class must be among the decisions; others are decisions that are no class.
    classes : array-like of shape (K,)
        The classes of the columns of `probabilities`: `classes_` of the classifier.

    Returns
    -------
    ImpliedCosts
        The costs, a range of each, and the share of the decisions that they explain.

    Raises
    ------
    ValueError
        If shapes or labels do not fit, or a class was never decided: its costs leave no trace.

    Notes
    -----
    People are taken to decide k with a probability in proportion to :math:`\exp(-\beta \sum_j p_{ij} C_{jk})`, which is
    McFadden's conditional logit [1]_: the less a decision is expected to cost, the likelier it is, and mistakes happen
    where two cost nearly the same. The costs of greatest likelihood are found, with none below 0. Their size, and how
    sharply people decide, cannot be told apart. The ranges are those of profile likelihood; where some costs explain
    all decisions, they hold all such costs. Their confidence is that of many rows; with some hundreds it is less.

    These are the costs by which people would have decided so, had they known the model's probabilities, and no more.
    They knew other things, and they may have decided badly. Wide ranges, or an explained share hardly above that of
    one decision, say that the decisions tell little about costs. Mistakes of this kind do not show in the ranges. Show
    the costs to those who decided, and ask whether they mean them.

    References
    ----------
    .. [1] D. McFadden, "Conditional logit analysis of qualitative choice behavior", in P. Zarembka (ed.), "Frontiers in
       Econometrics", 1974.

    Examples
    --------
    >>> import numpy as np
    >>> from minrisk.costs import from_decisions
    >>> ill = np.random.default_rng(0).random(500)
    >>> past = np.where(ill > 0.1, "treat", "wait")  # from a tenth on: a missed one is as bad as nine treatments
    >>> found = from_decisions(np.column_stack([ill, 1 - ill]), past, ["treat", "wait"])
    >>> found.explained > 0.99
    True
    >>> ratios = found.cost.values[0, 1] / found.cost.values[1, 0]
    >>> bool(8 < ratios < 10)
    True
    """
    rows = as_labels(classes)
    taken = np.asarray(decisions).ravel().tolist()
    columns = as_labels([*rows, *(label for label in dict.fromkeys(taken) if match_labels([label], rows) == [-1])])
    p = _columns(probabilities, rows, CostMatrix(1.0 - np.eye(len(rows)), rows))
    if len(taken) != len(p):
        raise ValueError(
            f"decisions must be one for each of the {len(p)} rows of probabilities, got {len(taken)}: make them as "
            "many."
        )
    decided = np.array(match_labels(taken, columns))
    often = np.bincount(decided, minlength=len(columns))
    if never := [columns[k] for k in np.flatnonzero(often == 0)]:
        raise ValueError(
            f"decisions must hold every class, got none for {listed(never)}: add rows in which they were decided, or "
            "state costs by from_rates."
        )
    logit = _Logit(p, np.arange(len(columns)) == decided[:, None], ~np.eye(len(rows), len(columns), dtype=bool))
    best = logit.fitted(logit.mistakes.astype(np.float64))
    values = best[1] / best[1].sum()
    low, high = np.zeros(values.shape), np.zeros(values.shape)
    for held in np.flatnonzero(logit.mistakes).tolist():
        low.flat[held], high.flat[held] = (logit.end(best, held, outer) for outer in (0.0, 1.0))
    n = int(logit.mistakes.sum())
    explained = float((product(p, values).argmin(axis=1) == decided).mean())
    return ImpliedCosts(
        CostMatrix(n * values, rows, columns), n * low, n * high, explained, float(often.max() / len(p))
    )


class _Logit(NamedTuple):
    """Hold decisions about rows, of which the costs of greatest likelihood are found."""

    p: FloatArray
    taken: np.ndarray  # (n, D): which was decided
    mistakes: np.ndarray  # (K, D): what may cost something

    def loss(self, costs: FloatArray) -> tuple[float, FloatArray]:
        """Return minus the log-likelihood, and its slope (K, D)."""
        merits = -product(self.p, costs)
        merits -= merits.max(axis=1, keepdims=True)
        likely = exp(merits)
        total = likely.sum(axis=1, keepdims=True)
        value = float((log(total[:, 0]) - merits[self.taken]).sum()) + 0.5 * RIDGE * float((costs * costs).sum())
        return value, RIDGE * costs - product(self.p.T, likely / total - self.taken)

    def fitted(self, start: FloatArray, held: int | None = None, ratio: float = 0.0) -> tuple[float, FloatArray]:
        """Return the least loss and the costs that have it; one may be `held` at a ratio to the sum of the others."""
        free = np.flatnonzero(self.mistakes)
        free = free[free != held]

        def table(point: FloatArray) -> FloatArray:
            costs = np.zeros(self.mistakes.shape)
            costs.flat[free] = point
            if held is not None:
                costs.flat[held] = ratio * point.sum()
            return costs

        def function(point: FloatArray) -> tuple[float, FloatArray]:
            value, slope = self.loss(table(point))
            own = slope.ravel()[free]
            return value, own if held is None else own + ratio * slope.flat[held]

        found = minimise(function, start.ravel()[free], 0.0, gradient=SLOPE, change=CHANGE, iterations=500)
        return found.value, table(found.point)

    def end(self, best: tuple[float, FloatArray], held: int, outer: float) -> float:
        """Return where between its share in the best costs and an `outer` one a cost is too unlikely, as a share."""
        least, costs = best
        inner = float(costs.flat[held] / costs.sum())
        for _ in range(HALVINGS):
            middle = 0.5 * (inner + outer)
            value, found = self.fitted(costs, held, middle / (1.0 - middle))
            if value - least <= UNLIKELY:
                inner, costs = middle, found
            else:
                outer = middle
        return 0.5 * (inner + outer)


def _price(refer_below: Any) -> float:
    """Return 1 less a share."""
    if not is_finite(refer_below) or not 0.0 < refer_below < 1.0:
        raise ValueError(f"refer_below must be a probability above 0 and below 1, got {refer_below!r}: give 0.97.")
    return float(1.0 - refer_below)


def _statements(given: Any) -> list[_Statement]:
    """Return checked statements."""
    if isinstance(given, (str, Mapping)) or not isinstance(given, Iterable):
        raise TypeError(
            f"statements must be a list of (mistake, n, other), got {type(given).__name__}: write "
            '[(("knife", "bottle"), 20, ("bottle", "knife"))].'
        )
    read: list[_Statement] = []
    for one in given:
        parts = tuple(one) if isinstance(one, (tuple, list)) else ()
        kinds = [tuple(part) for part in parts[::2] if isinstance(part, (tuple, list)) and len(part) == 2]
        if len(parts) != 3 or len(kinds) != 2 or not is_finite(parts[1]) or parts[1] <= 0:
            raise ValueError(
                f"statements must be (mistake, n, other) with pairs (true class, decision) and a number n above 0, got "
                f'{one!r}: write (("knife", "bottle"), 20, ("bottle", "knife")) if one missed knife is as bad as 20 '
                "false alarms."
            )
        read.append((kinds[0], float(parts[1]), kinds[1]))
    return read


def _labels_of(read: list[_Statement], classes: Any, decisions: Any) -> tuple[Labels, Labels]:
    """Return classes and decisions of statements."""
    kinds = [kind for one, _, other in read for kind in (one, other)]
    if classes is None and any(label is ... for kind in kinds for label in kind):
        raise ValueError("classes must be given where a statement has ..., got none: list the labels in order.")
    named = list(dict.fromkeys(true for true, _ in kinds if true is not ...))
    rows = as_labels(named if classes is None else classes)
    if len(rows) < 2:
        raise ValueError(f"classes must be two or more, got {listed(rows)}: there must be something to decide.")
    if unknown := unmatched(named, rows):
        raise ValueError(f"statements must be about the classes {listed(rows)}, got {listed(unknown)}: correct them.")
    stated = () if decisions is None else as_labels(decisions, "decisions")
    others = [label for label in stated if match_labels([label], rows) == [-1]]
    for _, decided in kinds:
        if decided is not ... and match_labels([decided], [*rows, *others]) == [-1]:
            others.append(decided)
    return rows, as_labels([*rows, *others], "decisions")


def _cells(kind: tuple[Any, Any], rows: Labels, columns: Labels, own: dict[int, int]) -> list[tuple[int, int]]:
    """Return the cells that a pair (true class, decision) names."""
    true, decided = kind
    of_rows = range(len(rows)) if true is ... else match_labels([true], rows)
    of_columns = range(len(rows)) if decided is ... else match_labels([decided], columns)  # classes come first
    found = [(i, j) for i in of_rows for j in of_columns if own[i] != j]
    if not found:
        raise ValueError(
            f"statements must be about mistakes, got the right decision {kind!r}, which costs nothing: name others."
        )
    return found


def _agreed(pairs: list[_Pair], count: int) -> FloatArray:
    """Return costs that follow from the first one, which is 1, one pair after another; NaN where none leads."""
    beside: list[list[tuple[int, float, bool]]] = [[] for _ in range(count)]
    for a, b, n, _ in pairs:
        beside[b].append((a, n, True))
        beside[a].append((b, n, False))
    found = np.full(count, np.nan)
    found[0] = 1.0
    waiting = [0]
    while waiting:
        at = waiting.pop()
        for other, n, times in beside[at]:
            if np.isnan(found[other]):
                found[other] = found[at] * n if times else found[at] / n
                waiting.append(other)
    return found


def _by_least_squares(pairs: list[_Pair], count: int, n_statements: int) -> FloatArray:
    """Return costs of least squares of the logarithms, where all are connected and each statement counts once."""
    of_statement = np.bincount([at for *_, at in pairs], minlength=n_statements)
    normal, right = np.zeros((count, count)), np.zeros(count)
    for a, b, n, at in pairs:
        weight = 1.0 / of_statement[at]
        normal[a, a] += weight
        normal[b, b] += weight
        normal[a, b] -= weight
        normal[b, a] -= weight
        right[a] += weight * log(n)
        right[b] -= weight * log(n)
    found = np.zeros(count)  # the logarithm of the first is 0
    found[1:] = solve(normal[1:, 1:], right[1:])
    return exp(found)


def _in_its_order(other: CostMatrix, own: CostMatrix) -> FloatArray:
    """Return the values of a table in the order of another one, with the same labels."""
    if other.shape != own.shape or (own.classes is None) != (other.classes is None):
        kinds = ["without labels" if table.classes is None else "with labels" for table in (own, other)]
        raise ValueError(
            f"low and high must be tables of the same classes and decisions, got shapes {own.shape} {kinds[0]} and "
            f"{other.shape} {kinds[1]}: state every cost in both, and name the classes in both or in neither."
        )
    if own.classes is None:
        return other.values
    (rows, columns), (other_rows, other_columns) = own._labels, other._labels
    at, of = match_labels(rows, other_rows), match_decisions(columns, other_columns, rows)
    for places, mine, theirs, what in ((at, rows, other_rows, "classes"), (of, columns, other_columns, "decisions")):
        if -1 in places:
            raise ValueError(
                f"low and high must have the same {what}, got {listed(mine)} and {listed(theirs)}: name them alike."
            )
    return other.values[np.ix_(at, of)]


def _columns(probabilities: Any, classes: Any, cost: CostMatrix) -> FloatArray:
    """Return checked probabilities whose columns stand in the order of the rows of the costs."""
    p, names = np.asarray(probabilities), column_names(probabilities)
    K = cost.shape[0]
    if p.dtype.kind not in "biuf" or p.ndim != 2 or p.shape[1] != K or len(p) == 0:
        raise ValueError(
            f"probabilities must be numbers of shape (n, {K}), with a column for each class, got shape {p.shape} of "
            f"{p.dtype}: give what predict_proba returns."
        )
    p = p.astype(np.float64)
    if not np.isfinite(p).all() or p.min() < 0.0:
        raise ValueError("probabilities must be finite and 0 or more, got others: give what predict_proba returns.")
    if cost.classes is None:
        return p
    if classes is not None:
        names = as_labels(classes)
    if names is None or len(names) != K or -1 in (at := match_labels(cost.classes, names)):
        given = "none" if names is None else listed(names)
        raise ValueError(
            f"classes must name the columns of probabilities, expected {listed(cost.classes)} in any order, got "
            f"{given}: pass classes_ of the classifier."
        )
    return np.ascontiguousarray(p[:, at])


class _Corners(NamedTuple):
    """Hold the tables at the corners of a range, which differ in `cells` alone.

    `ends` (V, m) is 1 where a corner has the upper end of a cell, and `best` (V,) the mean of the least expected cost.
    """

    low: FloatArray
    width: FloatArray  # (m,)
    cells: tuple[np.ndarray, ...]
    ends: FloatArray
    best: FloatArray
    p: FloatArray

    @classmethod
    def of(cls, low: FloatArray, high: FloatArray, p: FloatArray) -> _Corners:
        cells = np.nonzero(high > low)
        m = len(cells[0])
        if m > MOST_RANGES:
            raise ValueError(
                f"low and high must differ in {MOST_RANGES} costs at most where there are probabilities, got {m}: fix "
                "those that matter least, which minrisk.decisions.sensitivity tells, or leave the probabilities out."
            )
        ends = (np.arange(1 << m)[:, None] >> np.arange(m) & 1).astype(np.float64)
        made = cls(low, (high - low)[cells], cells, ends, np.empty(1 << m), p)
        for v, end in enumerate(ends):
            made.best[v] = product(p, made.table(end)).min(axis=1).mean()
        return made

    def table(self, shares: FloatArray) -> FloatArray:
        """Return the table at these shares of the widths, (K, D)."""
        table = self.low.copy()
        table[self.cells] += shares * self.width
        return table

    def regrets(self, table: FloatArray) -> FloatArray:
        """Return the mean regret of the decisions by a table if each corner is the truth, (V,)."""
        decided = product(self.p, table).argmin(axis=1)
        spent = np.stack([self.p[decided == k].sum(axis=0) for k in range(table.shape[1])], axis=1) / len(self.p)
        at_low = float((spent * self.low).sum())
        return at_low + product(self.ends, spent[self.cells] * self.width) - self.best


def _least_regret(low: FloatArray, high: FloatArray, middle: FloatArray, p: FloatArray) -> FloatArray:
    """Return the table between `low` and `high` with the least maximal mean regret about rows, as the module says."""
    from scipy.optimize import linprog  # slow to import; the other costs do without

    corners = _Corners.of(low, high, p)
    n_corners = len(corners.best)
    regrets = [corners.regrets(middle)]
    chosen, unit = middle, float(regrets[0].max())
    least = unit
    for _ in range(MOST_PROGRAMS if unit > 0.0 else 0):
        # Weights of the tables so far whose mixture has the least maximal regret; the dual weights are the corners'.
        games = np.column_stack([*(regret / unit for regret in regrets), -np.ones(n_corners)])
        objective = np.r_[np.zeros(len(regrets)), 1.0]
        mixture = np.r_[np.ones(len(regrets)), 0.0][None]
        bounds = [(0.0, None)] * len(regrets) + [(None, None)]
        found = linprog(objective, games, np.zeros(n_corners), mixture, [1.0], bounds, method="highs")
        weight = np.maximum(-found.ineqlin.marginals, 0.0)
        weight /= weight.sum()
        table = corners.table(product(weight, corners.ends))
        table[corners.cells] = [float(f"{value:.{DIGITS}g}") for value in table[corners.cells]]
        regrets.append(corners.regrets(table))
        if (largest := float(regrets[-1].max())) < least:
            chosen, least = table, largest
        if float(np.sum(weight * regrets[-1])) >= (found.fun - ENOUGH) * unit:  # no way to decide is better at these
            break
    return chosen

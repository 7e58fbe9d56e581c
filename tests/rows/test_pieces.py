"""Rows in several pieces that share no memory make the same models as rows in one, to the last byte."""

import itertools
import math
import warnings
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from scipy.sparse import csr_matrix
from sklearn.base import clone
from sklearn.tree import DecisionTreeRegressor

from benchmarks.before_after import COSTS, blobs, problems
from minrisk import (
    AdaBoostMOClassifier,
    AdaBoostSIPClassifier,
    LocalizedSimilaritiesClassifier,
    MCBoostClassifier,
    MinRiskClassifier,
    MultiBoostClassifier,
    REBELClassifier,
    StagewiseMCBoostClassifier,
    StructBoostClassifier,
    save,
)
from minrisk._kernels._dtypes import EXACT_ROWS
from minrisk.ensemble import defaults
from minrisk.model.cascade import NEVER
from minrisk.rows import growth
from minrisk.rows.costs import RowCosts
from minrisk.rows.exchange import Place
from minrisk.rows.folded import FoldedRows
from minrisk.rows.growth import MOST_TIMES
from tests.helpers.common import slow_after, slow_but
from tests.helpers.pieces import Meeting, PiecedFoldedRows, PiecedRows, Together, assert_same, in_pieces
from tests.helpers.ways import MADE


def content(model, folder):
    """The bytes of its file, without the seconds that a search took."""
    for line in getattr(model, "selection_", []):
        line["seconds"] = 0.0
    save(model, folder / "model.minrisk")
    return (folder / "model.minrisk").read_bytes()


def check_same(fit, n_pieces, monkeypatch, folder, in_folds=False):
    """Fit with all rows in one piece, and in several, of folds or not; returns the rows that were in pieces."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        whole = content(fit(), folder)
        made = in_pieces(monkeypatch, n_pieces, in_folds)
        assert content(fit(), folder) == whole
    assert made
    return made


LONG = (
    "samples",
    "rules",
    "no signal",
    "exponential",
    "exact splits",
    "gaps",
)  # what is found, others are found as well


@pytest.mark.parametrize("name", slow_but({name for name in problems() if not name.endswith(LONG)}, sorted(problems())))
def test_models_are_the_same(name, monkeypatch, tmp_path):
    check_same(problems()[name], 4 if len(name) % 2 else 2, monkeypatch, tmp_path)


LARGE = {
    "stumps, on gradients of 32 bits": REBELClassifier(COSTS, n_estimators=4),
    "stumps of the logistic loss": REBELClassifier(n_estimators=5, loss="logistic", subsample=0.7, random_state=0),
    "shared trees": REBELClassifier(COSTS, n_estimators=3, max_depth=4, subsample=0.4, random_state=0, n_jobs=2),
    "trees, all features": MinRiskClassifier(COSTS, n_estimators=8, pool=False, max_features=1.0, random_state=0),
    "trees, drawn rows": MinRiskClassifier(
        COSTS, n_estimators=8, pool=False, search_rows=300, random_state=0, n_jobs=2
    ),
    "trees, on a bag": MinRiskClassifier(n_estimators=6, pool=False, subsample=0.3, search_rows=200, random_state=0),
    "codewords": MCBoostClassifier(COSTS, descent="codewords", weak_learner="tree", n_estimators=3),
    "gamma and phi": MCBoostClassifier(COSTS, loss="gamma-phi", gamma="log", n_estimators=2),
    "bits": AdaBoostMOClassifier(COSTS, n_estimators=3, code="random", random_state=0, early_stopping=True),
    "bits with learners of their own": AdaBoostMOClassifier(n_estimators=3, response="own", random_state=0),
    "partitions": AdaBoostSIPClassifier(COSTS, n_estimators=3, max_depth=2, subsample=0.5, random_state=0),
    "lines": MCBoostClassifier(n_estimators=3),
    "pairs": StagewiseMCBoostClassifier(n_estimators=3, loss="logistic"),
    "all vectors within a bound": MultiBoostClassifier(
        n_estimators=4, penalty="constraint", bound=1.0, keep_stages=True
    ),
    "all vectors, stopped early": MultiBoostClassifier(n_estimators=5, early_stopping=True, random_state=0),
    "all vectors again": MultiBoostClassifier(n_estimators=4),
    "cutting planes": StructBoostClassifier(COSTS, n_estimators=4, solver_iterations=4),
}


@pytest.mark.parametrize("name", LARGE)
def test_many_rows(name, monkeypatch, tmp_path):
    X, y = blobs(EXACT_ROWS + 1001, 12, 3, seed=5)
    weight = np.random.default_rng(0).exponential(size=len(y))
    check_same(lambda: LARGE[name].fit(X, y, sample_weight=weight), 3, monkeypatch, tmp_path)


@pytest.mark.parametrize(("bag", "most"), slow_after(2, [(1.0, 0), (0.4, 1 << 17), (1.0, 1 << 17), (0.4, 0)]))
def test_trees_on_all_rows(bag, most, monkeypatch, tmp_path):
    """By exchanges of every node's histograms, or all rows at one piece."""
    monkeypatch.setattr(growth, "SENT_ROWS", most)
    model = MinRiskClassifier(COSTS, n_estimators=8, subsample=bag, random_state=0)
    check_same(lambda: model.fit(*blobs(400, seed=2)), 4, monkeypatch, tmp_path)


def test_many_leaves(monkeypatch, tmp_path):
    monkeypatch.setattr("minrisk.rows.stumps.LEAF_BATCH", 3)
    check_same(lambda: REBELClassifier(n_estimators=5, max_depth=5).fit(*blobs(seed=9)), 4, monkeypatch, tmp_path)


def test_points_in_one_place(monkeypatch, tmp_path):
    X, y = blobs(300, seed=3)
    X = np.round(X)
    weight = np.random.default_rng(0).integers(0, 3, len(y)).astype(float)
    model = LocalizedSimilaritiesClassifier(COSTS, n_estimators=8, response="sign")
    check_same(lambda: model.fit(X, y, sample_weight=weight), 5, monkeypatch, tmp_path)


def test_regressors_of_scikit_learn(monkeypatch):
    X, y = blobs(seed=4)
    model = MCBoostClassifier(n_estimators=4, estimator=DecisionTreeRegressor(max_depth=3), random_state=0)
    whole = model.fit(X, y).decision_function(X)
    in_pieces(monkeypatch, 3)
    np.testing.assert_array_equal(model.fit(X, y).decision_function(X), whole)


# -- costs that differ by row ------------------------------------------------------------------------------------------
def blobs_with_costs(n=240, seed=0):
    """Costs that differ by row, in each row by another amount that no decision avoids, and weights."""
    X, y = blobs(n, seed=seed)
    random = np.random.default_rng(seed + 1)
    cost = COSTS[y] * random.uniform(0.5, 2.0, (n, 3)) + 0.2 * np.abs(X[:, :1]) * (np.arange(3) != y[:, None])
    return X, y, cost + random.uniform(size=(n, 1)), random.integers(0, 4, n).astype(float)


COST_PER_ROW = {
    "rebel": REBELClassifier(n_estimators=6, target_loss="zero risk"),
    "rebel, logistic, stopped early": REBELClassifier(
        n_estimators=5, loss="logistic", early_stopping=True, random_state=0
    ),
    "rebel, squared": REBELClassifier(n_estimators=5, loss="squared", offset="paper", target_loss="zero risk"),
    "min risk": MinRiskClassifier(n_estimators=12, pool=False, random_state=0),
    "min risk, all kinds": MinRiskClassifier(n_estimators=8, random_state=0),
    "min risk, coupled": MinRiskClassifier(n_estimators=8, surrogate="coupled", random_state=0),
    "min risk, gel": MinRiskClassifier(n_estimators=8, surrogate="gel", random_state=0),
    "min risk, gll": MinRiskClassifier(n_estimators=8, surrogate="gll", random_state=0),
    "gel": MCBoostClassifier(n_estimators=4, loss="gel", weak_learner="tree"),
    "gamma and phi": MCBoostClassifier(n_estimators=2, loss="gamma-phi", gamma="log"),
    "probabilities alone": MCBoostClassifier(n_estimators=2, loss="mc"),
    "pairs": StagewiseMCBoostClassifier(n_estimators=4, loss="logistic"),
    "pairs, all vectors": MultiBoostClassifier(n_estimators=3, penalty="l2"),
    "bits": AdaBoostMOClassifier(n_estimators=4),
    "bits with learners of their own": AdaBoostMOClassifier(n_estimators=3, response="own", random_state=0),
}
COST_PER_ROW |= {
    name: make()
    for name, make in MADE.items()
    if not make()._needs_matrix and make.func not in map(type, COST_PER_ROW.values())
}


@pytest.mark.parametrize("name", COST_PER_ROW)
def test_costs_per_row_stay_with_their_rows(name, monkeypatch, tmp_path):
    X, y, cost, weight = blobs_with_costs()
    made = check_same(lambda: COST_PER_ROW[name].fit(X, y, sample_weight=weight, cost=cost), 4, monkeypatch, tmp_path)
    pieces = [piece for rows in made for piece in rows.pieces]
    with_own = [piece for piece in pieces if piece.costs.per_row]
    assert bool(with_own) == (COST_PER_ROW[name].get_params().get("loss") != "mc")
    assert all(len(piece.costs.table) == piece.n_samples for piece in with_own)
    assert all(len(piece.costs.table) == 3 for piece in pieces if not piece.costs.per_row)


TAKES_ALL_ROWS = {
    "similarities",
    "min risk, all kinds",
}  # into each piece, as points, or into one place where these are few


@pytest.mark.parametrize("name", [name for name in COST_PER_ROW if name not in TAKES_ALL_ROWS])
def test_no_message_has_a_line_for_each_row_with_its_costs(name, monkeypatch):
    X, y, cost, weight = blobs_with_costs(1500)
    made = in_pieces(monkeypatch, 3)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        clone(COST_PER_ROW[name]).fit(X, y, sample_weight=weight + 1.0, cost=cost)
    assert 0 < max(rows.most_lines for rows in made) <= 256  # bins


def test_a_piece_without_rows_knows_the_costs_of_all():
    X, y, cost, weight = blobs_with_costs()
    least = cost.min(axis=1)
    whole = RowCosts(
        cost - least[:, None], np.arange(240, dtype=np.int32), weight, y.astype(np.int32), 2.0, least, True
    )
    expected = whole.facts()

    def of_piece(meeting, p, first, last):
        place = Place(first, 240, Together(meeting, p))
        return whole.at(np.arange(first, last))._replace(place=place)

    meeting = Meeting(3, 0)
    pieces = [of_piece(meeting, p, a, b) for p, (a, b) in enumerate([(0, 0), (0, 100), (100, 240)])]
    assert pieces[0].table.shape == (0, 3)
    with ThreadPoolExecutor(3) as pool:
        for found in pool.map(lambda costs: costs.facts(), pieces):
            assert_same(tuple(expected), tuple(found))
        exact = [math.fsum(weight * column) / weight.sum() for column in whole.table.T]
        np.testing.assert_allclose(expected.means, exact, rtol=1e-15)
        assert expected.least == pytest.approx(math.fsum(weight * least) / weight.sum(), rel=1e-15)
        assert expected.dearest == pytest.approx(math.fsum(weight * whole.table.max(axis=1)) / weight.sum(), rel=1e-15)
        for k in range(3):
            own = y == k
            mean = np.average(whole.table[own], axis=0, weights=weight[own])
            np.testing.assert_allclose(expected.class_means[k], mean, rtol=1e-13)
            assert expected.class_weight[k] == weight[own].sum()


@pytest.mark.parametrize("n_pieces", slow_after(2, [1, 3, 2, 9]))
def test_any_number_of_pieces(n_pieces, monkeypatch, tmp_path):
    X, y = blobs(41, 3)
    model = MinRiskClassifier(COSTS, n_estimators=15, random_state=0)
    check_same(lambda: model.fit(X, y), n_pieces, monkeypatch, tmp_path)


OF_FOLDS = {
    "all rows": {},
    "drawn rows": {"search_rows": 20, "n_jobs": 2},
    "drawn rows of a bag": {"search_rows": 20, "subsample": 0.6, "pool": False},
}


@pytest.mark.parametrize("name", OF_FOLDS)
@pytest.mark.parametrize("n_pieces", slow_after(1, [2, 5]))
def test_pieces_with_rows_of_each_fold(name, n_pieces, monkeypatch, tmp_path):
    """As an engine divides them that does not move rows: they are numbered fold after fold all the same."""
    X, y = blobs(230, 3, seed=8)
    model = MinRiskClassifier(COSTS, n_estimators=12, random_state=1, **OF_FOLDS[name])
    check_same(lambda: model.fit(X, y), n_pieces, monkeypatch, tmp_path, in_folds=True)


def test_costs_of_rows_in_pieces_of_folds(monkeypatch, tmp_path):
    X, y = blobs(230, 3, seed=8)
    costs = np.random.default_rng(2).exponential(size=(len(y), 3)) * (np.arange(3) != y[:, None])
    model = MinRiskClassifier(n_estimators=8, random_state=1)
    check_same(lambda: model.fit(X, y, cost=costs), 4, monkeypatch, tmp_path, in_folds=True)


@pytest.mark.parametrize("options", slow_after(1, [{"subsample": 0.6, "max_features": 0.5}, {}, {"max_features": 1.0}]))
def test_drawn_sparse_rows(options, monkeypatch, tmp_path):
    rng = np.random.default_rng(3)
    X, y = csr_matrix(rng.integers(0, 4, (400, 15)) * (rng.random((400, 15)) < 0.3)), rng.integers(0, 3, 400)
    model = MinRiskClassifier(n_estimators=6, search_rows=25, cv=2, random_state=0, **options)
    dense = content(model.fit(X.toarray(), y), tmp_path)
    check_same(lambda: model.fit(X, y), 4, monkeypatch, tmp_path)
    assert content(model.fit(X, y), tmp_path) == dense


# -- leads of early decisions ------------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("costs", "judged", "in_folds"),
    slow_after(
        1,
        [
            (COSTS, 1000, True),
            (None, defaults.JUDGED_STAGES, False),
            (None, 1000, True),
            (None, 1000, False),
            (None, defaults.JUDGED_STAGES, True),
            (COSTS, 1000, False),
            (COSTS, defaults.JUDGED_STAGES, True),
            (COSTS, defaults.JUDGED_STAGES, False),
        ],
    ),
)
def test_leads_are_those_of_one_array(costs, judged, in_folds, monkeypatch):
    monkeypatch.setattr(defaults, "JUDGED_STAGES", judged)
    monkeypatch.setattr(defaults, "FINISHED_EXCESS", -1.0)  # all rounds are kept
    X, y = blobs(900, 3, seed=4)
    weight = np.random.default_rng(0).exponential(size=len(y))
    model = MinRiskClassifier(costs, n_estimators=30, random_state=0)
    whole = clone(model).fit(X, y, sample_weight=weight).model_.cascade
    assert in_pieces(monkeypatch, 4, in_folds) == []
    cascade = model.fit(X, y, sample_weight=weight).model_.cascade
    for name, values in vars(whole).items():
        np.testing.assert_array_equal(getattr(cascade, name), values)
    assert cascade.leads.min() < NEVER and cascade.ending[0] > cascade.ending[-1]


@pytest.mark.parametrize("in_folds", [False, True])
def test_a_sample_goes_by_the_numbers_of_rows(in_folds):
    n, folds = 101, np.repeat([0, 1, 2], [40, 1, 60])
    y, scores = np.arange(n, dtype=np.int32) % 3, np.random.default_rng(0).normal(size=(2, 3, 3))
    costs = RowCosts(1 - np.eye(3), y, np.arange(n) + 1.0, y)
    one = FoldedRows(costs, folds)
    some = PiecedFoldedRows([0, 0, 1, 57, n], costs, folds, [], in_folds)
    first, second = scores.astype(np.float32)[:, folds[:41]]
    for step in (1, 2, 7, 40, 200):
        for rows in (one, some):
            held, other = (rows.constant(own[:2]) for own in scores)
            room = rows.constant(scores[0][:2])
            for sums in (held.plus(other, 0.3), held.plus(other, 0.3, room), held.plus(other, 0.3, other)):
                found = sums.sampled(step)
                np.testing.assert_array_equal(found.scores, (first + np.float32(0.3) * second)[::step])
                np.testing.assert_array_equal(found.weight, np.arange(1.0, 42.0)[::step])
                other = rows.constant(scores[1][:2])
            np.testing.assert_array_equal(held.sampled(step).scores, first[::step])


# -- what crosses ------------------------------------------------------------------------------------------------------
def arrays_in(value, seen):
    """Arrays that can be written to, in an object and what it holds."""
    if id(value) in seen:
        return
    seen[id(value)] = value
    if isinstance(value, np.ndarray):
        yield value
    elif isinstance(value, list | tuple):
        yield from itertools.chain.from_iterable(arrays_in(one, seen) for one in value)
    elif isinstance(value, dict):
        yield from itertools.chain.from_iterable(arrays_in(one, seen) for one in value.values())
    elif type(value).__module__.startswith("minrisk.") and hasattr(value, "__dict__"):
        yield from arrays_in(vars(value), seen)


@pytest.mark.parametrize(
    "model",
    [
        REBELClassifier(n_estimators=3),
        MinRiskClassifier(n_estimators=9, pool=False),
        MultiBoostClassifier(n_estimators=3),
    ],
)
def test_pieces_share_no_memory(model, monkeypatch):
    made = in_pieces(monkeypatch, 3)
    model.fit(*blobs())
    assert made
    for rows in made:
        arrays = [list(arrays_in(vars(piece), {})) for piece in rows.pieces]
        assert all(len(own) > 10 for own in arrays)
        for one, other in itertools.combinations(arrays, 2):
            assert not any(np.shares_memory(a, b) for a in one for b in other if a.size and b.size)


@pytest.mark.parametrize(
    "model",
    [
        REBELClassifier(n_estimators=5, max_depth=3),
        REBELClassifier(n_estimators=5, max_depth=1, loss="logistic", subsample=0.5, random_state=0),
        MinRiskClassifier(n_estimators=5, pool=False, cv=1, random_state=0),
        MinRiskClassifier(n_estimators=5, pool=False, cv=1, random_state=0, search_rows=10),
        MCBoostClassifier(n_estimators=5),
        StagewiseMCBoostClassifier(n_estimators=5),
        MultiBoostClassifier(n_estimators=5),
    ],
    ids=lambda model: type(model).__name__,
)
def test_messages_do_not_grow_with_the_rows(model, monkeypatch):
    longest = []
    for n in (300, 1200):
        monkeypatch.setattr(growth, "SENT_ROWS", 0)  # up to which all rows are sent
        made = in_pieces(monkeypatch, 2)
        model.fit(*blobs(n))
        longest.append(max(rows.longest for rows in made))
        monkeypatch.undo()
    assert longest[1] <= longest[0]  # less where fewer features are left that may have the best stump


def test_drawn_rows_are_sent_to_one_piece_and_do_not_grow_with_the_rows(monkeypatch):
    """Rows with drawn bins and sketches are all that is longer than a number for each decision, leaf or bin of sizes."""
    sent, answered = [], Together.collected

    def collected(self, own):
        found = answered(self, own)
        sent.append((self._piece == self._meeting.place, found is not None, len(own.sketch)))
        return found

    monkeypatch.setattr(Together, "collected", collected)
    model = MinRiskClassifier(n_estimators=6, pool=False, cv=1, random_state=0, search_rows=10)
    for n in (500, 8000):
        with monkeypatch.context() as patch:
            made = in_pieces(patch, 4)
            model.fit(*blobs(n))
        assert made and all(is_place == has_them for is_place, has_them, _ in sent)
        assert len(sent) % 4 == 0 and len(sent) >= 4
        of_trees = np.array([m for *_, m in sent]).reshape(-1, 4).sum(axis=1)
        most = MOST_TIMES * 10
        assert np.all(of_trees < most + 6 * np.sqrt(most)) and of_trees.max() > 10
        sent.clear()


def test_a_round_on_drawn_rows_takes_few_exchanges(monkeypatch):
    counted, meet = [], Meeting.all_of

    def all_of(self, piece, own):
        counted.append(piece)
        return meet(self, piece, own)

    monkeypatch.setattr(Meeting, "all_of", all_of)
    in_pieces(monkeypatch, 2)
    numbers = []
    for n_estimators in (4, 9):
        counted.clear()
        MinRiskClassifier(n_estimators=n_estimators, pool=False, cv=1, random_state=0, search_rows=10).fit(*blobs(500))
        numbers.append(len(counted) / 2)
    assert (numbers[1] - numbers[0]) / 5 < 6


def test_a_fault_in_one_piece_is_told(monkeypatch):
    made = in_pieces(monkeypatch, 3)
    REBELClassifier(n_estimators=2).fit(*blobs())
    monkeypatch.setattr(made[0].pieces[1], "scores", None)
    with pytest.raises(TypeError, match="None"):
        made[0].spread(np.zeros(3))


def test_pieces_that_answer_differently_are_found():
    X = blobs()[0]
    rows = PiecedRows.__new__(PiecedRows)
    with pytest.raises(AssertionError):
        rows._agreed([1.0, 2.0])
    assert rows._agreed([X, X.copy()]) is X

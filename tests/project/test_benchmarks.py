"""Benchmarks that look inside a fit still see it, and every `--quick` does something small anew."""

import csv
import os
import runpy
import sys
from pathlib import Path

import numpy as np
import pytest
from scipy import stats
from sklearn.base import clone
from sklearn.datasets import load_digits, load_wine
from sklearn.model_selection import train_test_split
from sklearn.multiclass import OneVsRestClassifier
from threadpoolctl import threadpool_limits

from benchmarks import common
from benchmarks.rounds import NAMES, counts, timed_rounds
from minrisk import AdaBoostMHClassifier
from minrisk.estimator import BoostedClassifier
from tests.helpers.common import slow_after

ROOT = Path(__file__).parents[2]
MODULES = sorted(
    ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__main__")
    for path in (ROOT / "benchmarks").rglob("*.py")
    if '__name__ == "__main__"' in path.read_text(encoding="utf-8")
)
MEASURED = (
    "benchmarks.attack",
    "benchmarks.cold_start",
    "benchmarks.csv_memory",
    "benchmarks.dask_cluster",
    "benchmarks.larger_than_memory",
    "benchmarks.memory",
    "benchmarks.refresh",
    "benchmarks.replicate.piboost",
)  # what other tests are of
PEERS_OF = {
    "benchmarks.categories": "lightgbm",
    "benchmarks.compare": "lightgbm",
    "benchmarks.missing_values": "lightgbm",
    "benchmarks.predict_flagship": "LightGBM",
    "benchmarks.decide": "LightGBM",
    "benchmarks.exported": "ONNX",
    "benchmarks.small_data": "LightGBM",
    "benchmarks.rare": "lightgbm",
    "benchmarks.speed": "LightGBM",
    "benchmarks.time_to_error": "LightGBM",
    "benchmarks.replicate.stagewise_paths": "CVXPY",
    "benchmarks.model_size": "LightGBM",
}
LONG = (
    "benchmarks.before_after",
    "benchmarks.frames",
    "benchmarks.front",
    "benchmarks.kddcup",
    "benchmarks.kills",
    "benchmarks.replicate.guess_averse",
    "benchmarks.replicate.rebel_pictures",
    "benchmarks.replicate.rebel_synthetic",
    "benchmarks.replicate.rebel_uci",
    "benchmarks.replicate.stagewise",
    "benchmarks.replicate.stagewise_mnist",
    "benchmarks.replicate.stagewise_speed",
    "benchmarks.settings",
    "benchmarks.shap_values",
    "benchmarks.sparse",
)  # some seconds each
SLOW = {*MEASURED, *LONG, *PEERS_OF} - {"benchmarks.exported"}  # the others with peers are run without
LIMITS = {"benchmarks.attack": 300}  # seconds of processors
ELSEWHERE = (
    "benchmarks.attack",
    "benchmarks.before_after",
    "benchmarks.cold_start",
    "benchmarks.memory",
    "benchmarks.csv_memory",
    "benchmarks.sparse",
    "benchmarks.larger_than_memory",
    "benchmarks.replicate.two_sided_stumps",
)  # not our `fit`, or not in this process
PEERS = (
    "lightgbm",
    "xgboost",
    "catboost",
    "costsensitive",
    "imbens",
    "cvxpy",
    "onnx",
    "onnxruntime",
    "treelite",
    "tl2cgen",
)
NOTHING_INSTEAD = ("benchmarks.kddcup",)  # of its data


def test_every_part_of_a_round_is_timed(processor_clock):
    size = {"n": 5000, "d": 6}  # rounds of fewer rows are made whole
    seconds, trees, model = timed_rounds(3, 1, **size, rounds=8)
    assert set(seconds) == {*NAMES, "round"}
    assert all(seconds[part] > 0 for part in ("gradients", "loss", "sketch", "growth", "leaf sums", "advance"))
    assert sum(seconds[part] for part in NAMES) < 1.5 * seconds["round"]  # medians of each
    assert 5000 <= trees["rows"] and trees["nodes"] > 2
    assert counts(3, **size, trees=trees, model=model)["growth"]["bytes"] > 5000


# -- quick runs --------------------------------------------------------------------------------------------------------
@pytest.fixture
def quick(tmp_path, monkeypatch, capfd):
    """Runs a module with `--quick` in this process: what it said, the rows it wrote by file, and how many fits it made."""
    fits, real = [], BoostedClassifier.fit

    def fit(self, *arguments, **named):
        fits.append(type(self).__name__)
        return real(self, *arguments, **named)

    monkeypatch.setattr(BoostedClassifier, "fit", fit)

    def run(module, *options):
        folder = tmp_path / "quick"
        folder.mkdir()
        monkeypatch.setenv(common.QUICK, str(folder))
        monkeypatch.setattr(sys, "argv", [module, "--quick", *options])
        with threadpool_limits(1, user_api="openmp"):
            runpy.run_module(module, run_name="__main__", alter_sys=True)
        written = {path.name: lines(path) for path in folder.rglob("*.csv") if path.name != common.RUNS}
        return "".join(capfd.readouterr()), written, len(fits)

    for name in [name for name in sys.modules if name.startswith("benchmarks.") and name != "benchmarks.common"]:
        monkeypatch.delitem(sys.modules, name)  # what it keeps in memory
    common.load.cache_clear()
    common._stand_in.cache_clear()
    yield run
    common.load.cache_clear()


def lines(path):
    with open(path, newline="", encoding="utf-8") as file:
        return [tuple(row.items()) for row in csv.DictReader(file)]


def spent():
    """Seconds of processors, those of processes that have ended among them."""
    return sum(os.times()[:4])


def state():
    """Of what is kept: a change of a file changes it."""
    return {
        path: (path.stat().st_size, path.stat().st_mtime_ns) for path in common.RESULTS.rglob("*") if path.is_file()
    }


def anew(module, said, rows, fits):
    """Something was fitted, figures are new, and it says so."""
    assert "Quick run: " in said and "figures go to" in said
    assert rows and all(rows.values())
    for name, fresh in rows.items():
        (kept,) = [lines(path) for path in common.RESULTS.rglob(name)] or [[]]
        assert not set(fresh) & set(kept)
    assert fits > 0 or module in ELSEWHERE
    return True


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("module", slow_after(len(MODULES) - len(SLOW), sorted(MODULES, key=SLOW.__contains__)))
def test_quick_is_small_real_and_keeps_off_the_results(module, quick):
    before, begun = state(), spent()
    if module in NOTHING_INSTEAD and not common.DATA.is_dir():
        pytest.skip("the data are not there: see test_quick_without_data_sets")
    assert anew(module, *quick(module))
    assert state() == before
    assert spent() - begun < LIMITS.get(module, 120)


def test_every_benchmark_is_found():
    assert {"benchmarks.compare", "benchmarks.speed", "benchmarks.replicate.stagewise"} <= set(MODULES)
    assert len(MODULES) > 20


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(
    "module",
    slow_after(
        2,
        [
            "benchmarks.kddcup",
            "benchmarks.row_costs",
            "benchmarks.categories",
            "benchmarks.quality",
            "benchmarks.replicate.stagewise_mnist",
            "benchmarks.rare",
        ],
    ),
)
def test_quick_without_data_sets(module, quick, monkeypatch, tmp_path):
    monkeypatch.setattr(common, "DATA", tmp_path / "nowhere")
    if module in NOTHING_INSTEAD:
        with pytest.raises(SystemExit, match="set MINRISK_DATA"):
            quick(module)
        return
    said, *found = quick(module)
    assert anew(module, said, *found)
    assert "nowhere" in said and "scikit-learn's" in said and "in its place" in said


def test_a_cold_start_without_data_sets(monkeypatch, tmp_path):
    from benchmarks.cold_start import csv_of

    monkeypatch.setattr(common, "DATA", tmp_path / "nowhere")
    monkeypatch.setenv(common.QUICK, str(tmp_path))
    common.load.cache_clear()
    try:
        rows = np.loadtxt(csv_of("iris", tmp_path), delimiter=",", skiprows=1)
    finally:
        common.load.cache_clear()
    assert rows.shape[1] == 5 and set(rows[:, -1]) == {0, 1, 2}


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(
    ("module", "absent"), slow_after(4, sorted(PEERS_OF.items(), key=lambda peer: "LightGBM" in peer[1]))
)  # `tests/io/test_model_size.py` is of sizes
def test_quick_without_peers(module, absent, quick, monkeypatch):
    for peer in PEERS:
        monkeypatch.setitem(sys.modules, peer, None)
    said, *found = quick(module)
    assert anew(module, said, *found)
    assert any(absent in line and "left out" in line.lower() for line in said.splitlines())


@pytest.mark.filterwarnings("ignore")
def test_whole_runs_say_what_is_missing(quick, monkeypatch, tmp_path):
    monkeypatch.setattr(common, "DATA", tmp_path / "nowhere")
    monkeypatch.setattr(sys, "argv", ["quality"])
    monkeypatch.setenv(common.QUICK, str(tmp_path))  # of some earlier run: a whole one takes no notice
    with pytest.raises(SystemExit, match="set MINRISK_DATA"):
        runpy.run_module("benchmarks.quality", run_name="__main__", alter_sys=True)
    assert not common.is_quick() and common.results() == common.RESULTS


def test_few_rows_are_of_every_group():
    groups = np.repeat([3, 1, 2], [1000, 4, 200])
    rows = common.few_rows(groups, 60)
    assert np.all(np.diff(rows) > 0)
    np.testing.assert_array_equal(np.bincount(groups[rows]), [0, 4, 20, 20])
    assert len(common.few_rows(np.arange(500) % 100, 60)) == 100 * 5  # no fewer of a group than help


# -- results -----------------------------------------------------------------------------------------------------------
def test_settings_stand_once_beside_the_lines(tmp_path, monkeypatch):
    monkeypatch.setenv(common.QUICK, str(tmp_path))
    common.keep("some", {"a": 1 / 3, "b": "x"})
    common.keep("some", {"a": 2}, {"a": 3}, columns=["a", "b"])
    now = common.settings()
    found = common.kept("some")
    assert found == [{"a": "0.333333", "b": "x"} | now, {"a": "2", "b": ""} | now, {"a": "3", "b": ""} | now]
    assert len((tmp_path / common.RUNS).read_text().splitlines()) == 2  # a header and one run
    common.save("some", [found[0] | {"commit": "earlier"}, {"a": 4, "b": ""}])  # what is known of a line stays
    assert [line["commit"] for line in common.kept("some")] == ["earlier", now["commit"]]
    assert len(common.runs(tmp_path)) == 2
    with pytest.raises(ValueError, match="not in fieldnames"):
        common.keep("some", {"c": 5}, columns=["a", "b"])


@pytest.mark.parametrize("cut", [1, 6, 8])
def test_a_line_that_was_cut_short_is_left_out(tmp_path, monkeypatch, cut):
    monkeypatch.setenv(common.QUICK, str(tmp_path))
    path = common.keep("some", {"a": 1}, {"a": 22})
    path.write_text(path.read_text()[: -1 - cut])  # within the key of its run, or before
    assert [line["a"] for line in common.kept("some")] == ["1"]
    common.keep("some", {"a": 3})
    assert [line["a"] for line in common.kept("some")] == ["1", "3"]


def test_the_run_of_each_line_is_known():
    for path in common.RESULTS.rglob("*.csv"):
        if named := {dict(line).get("run") for line in lines(path)} - {None}:
            assert named <= set(common.runs(path.parent)), path


def test_costs_of_a_fit_stand_side_by_side(tmp_path, monkeypatch):
    from benchmarks.compare.run import by_fit, columns, rows_of

    monkeypatch.setenv(common.QUICK, str(tmp_path))
    facts = dict.fromkeys(("set", "split", "rule", "logloss", "ece", "fit_s", "n_train", "version"), "x")
    rows = [{**facts, "rule": rule, "cost": cost, "risk": 0, "error": 1} for rule in "ab" for cost in ("0/1", "normal")]
    common.keep("compare/of.default", *by_fit(rows), columns=columns("default"))
    assert len(common.kept("compare/of.default")) == 2
    found = rows_of("of", "default")
    assert [{name: row[name] for name in rows[0]} for row in found] == [
        {name: str(value) for name, value in row.items()} for row in rows
    ]


# -- boosters that the papers compare with -----------------------------------------------------------------------------
@pytest.mark.parametrize("n", [8, 9, 10, 11, 214])
def test_splits_have_the_validation_rows_last(n):
    from benchmarks.replicate.baselines import Halves, n_fitted

    pairs = list(Halves(3).split(np.zeros((n, 1)), np.zeros(n)))
    assert len({tuple(train) for train, _ in pairs}) == 3
    for seed, (train, test) in enumerate(pairs):
        np.testing.assert_array_equal(np.sort(np.concatenate([train, test])), np.arange(n))
        fitted, _ = train_test_split(np.arange(n), train_size=0.5, random_state=seed)  # as in `rebel_uci`
        np.testing.assert_array_equal(train[: n_fitted(len(train))], fitted)


@pytest.mark.parametrize("several", [False, True], ids=["one booster", "1-vs-all"])
def test_rounds_are_chosen_on_the_last_rows(several):
    from benchmarks.replicate.baselines import ChosenRounds, Halves, n_fitted, stages

    X, y = load_wine(return_X_y=True)
    booster = AdaBoostMHClassifier(response="sign", n_estimators=12)
    train, test = next(Halves(1).split(X, y))
    made = ChosenRounds(OneVsRestClassifier(booster) if several else booster).fit(X[train], y[train])
    fitted, last = np.split(train, [n_fitted(len(train))])

    def decided(rounds, rows):  # by a booster of so many rounds
        one = clone(booster).set_params(n_estimators=rounds)
        return (OneVsRestClassifier(one) if several else one).fit(X[fitted], y[fitted]).predict(X[rows])

    errors = [np.mean(decided(rounds, last) != y[last]) for rounds in range(1, 13)]
    assert made.rounds_ == 1 + int(np.argmin(errors)) and len(set(errors)) > 1
    np.testing.assert_array_equal(made.predict(X[test]), decided(made.rounds_, test))
    again = clone(booster).set_params(n_estimators=made.rounds_)
    both = (OneVsRestClassifier(again) if several else again).fit(X[train], y[train])
    np.testing.assert_array_equal(made.refitted(X[train], y[train]).predict(X[test]), both.predict(X[test]))
    assert len(list(stages(made.estimator_, X))) == 12


@pytest.mark.parametrize(
    "table",
    [
        "class,group\nduck,water\nswan,water\nhawk,prey\n",
        "class,parent\nduck,water\nwater,birds\nhawk,prey\nswan,water\nprey,birds\n",
    ],
    ids=["levels", "parents"],
)
def test_taxonomies_of_image_sets_cost_as_much_as_guessing_errs(table, tmp_path):
    from benchmarks.replicate.images import taxonomic_costs

    path = tmp_path / "birds.csv"
    path.write_text(table)
    costs = taxonomic_costs(path, ["duck", "hawk", "swan"])
    np.testing.assert_allclose(costs, [[0, 1.2, 0.6], [1.2, 0, 1.2], [0.6, 1.2, 0]])
    assert costs.mean() == pytest.approx(2 / 3)


def test_table_8_trains_on_as_many_rows_of_each_class():
    from benchmarks.replicate.images import PROTOCOLS, split_of

    y = np.repeat(["few", "more", "many"], [101, 150, 400])
    parts = {"X": np.arange(len(y))[:, None], "y": y}
    X, of_training, X_test, of_test = split_of(parts, PROTOCOLS["scene"], 0)
    assert [int(np.sum(of_training == name)) for name in ("few", "more", "many")] == [100] * 3
    np.testing.assert_array_equal(y[X[:, 0]], of_training)
    np.testing.assert_array_equal(y[X_test[:, 0]], of_test)
    assert sorted([*X[:, 0], *X_test[:, 0]]) == list(range(len(y)))
    with pytest.raises(ValueError, match="100 rows of each class"):
        split_of({"X": parts["X"][1:], "y": y[1:]}, PROTOCOLS["scene"], 0)


def test_the_strongest_are_those_not_shown_to_differ():
    from benchmarks.replicate.guess_averse import METHODS, strongest

    noise = np.random.default_rng(0).normal(size=(20, len(METHODS)))
    noise[:, 0] = noise[:, 1]  # the least and its double
    above = [0.0, 0.0, 0.001, 9.0, 9.0, 9.0]
    rows = [{"data": "ecoli", **dict(zip(METHODS, 0.01 * noise[i] + above, strict=True))} for i in range(20)]
    found = {row["method"]: row for row in strongest(rows)}
    assert [found[method]["strongest"] for method in METHODS] == [True, True, True, False, False, False]
    assert found["P-MCBoost"]["p"] == 1.0
    d = 0.01 * (noise[:, 2] - noise[:, 0]) + 0.001
    t = d.mean() / (d.std(ddof=1) / 20**0.5)  # by hand, with 19 degrees of freedom
    np.testing.assert_allclose(found["GEL-MCBoost"]["p"], 2 * stats.t.sf(abs(t), 19))


def test_stumps_of_least_weighted_error():
    from benchmarks.replicate.samme import LeastErrorSAMME

    rng = np.random.default_rng(0)
    X, y = rng.integers(0, 8, (40, 3)).astype(float), rng.integers(0, 4, 40)
    model, w = LeastErrorSAMME(6).fit(X, y), np.full(40, 1 / 40)

    def error(above):  # of the best names of both sides
        return 1 - sum(np.bincount(y[side], w[side], 4).max() for side in (above, ~above))

    for feature, threshold, answers, rate in model.stumps_:
        above = X[:, feature] > threshold
        missed = answers[above.astype(int)] != y
        least = min(error(X[:, j] > t) for j in range(3) for t in np.arange(0.5, 7))
        assert w[missed].sum() == pytest.approx(least) == error(above)
        assert rate == pytest.approx(np.log((1 - least) / least) + np.log(3))
        w = w * np.exp(rate * missed)
        w /= w.sum()
    assert len(list(model.staged_predict(X))) == model.n_iter_ == 6


def test_table_5_has_its_other_columns_there_only():
    from benchmarks.replicate.stagewise import COMPARED, made, trials

    nus = {"multiboost": {}, "gradboost": {"wine": 0.5}}
    found = list(trials("V", 3, ["wine", "letter"], list(COMPARED), nus))
    assert [(trial.data, trial.method) for trial in found if trial.data == "wine"] == [("wine", m) for m in COMPARED]
    assert "gradboost" not in [trial.method for trial in found if trial.data == "letter"]  # nothing chosen
    assert not list(trials("IV", 3, ["letter"], list(COMPARED), nus))
    assert next(made(trial) for trial in found if trial.method == "gradboost").nu == 0.5
    assert next(made(trial) for trial in found if trial.method == "mh").response == "sign"


# -- expected cost against processor seconds -----------------------------------------------------------------------------
@pytest.fixture(scope="module")
def few():
    from benchmarks import front

    X, y = load_digits(return_X_y=True)
    X = X.astype(np.float32)
    noisy = np.random.default_rng(0).random(len(y)) < 0.3  # boosting goes too far soon
    y = np.where(noisy, np.random.default_rng(1).integers(0, 10, len(y)), y)
    y[7] = 10  # a class of one row
    return front.Parts("digits", X[:600], y[:600], X[600:], y[600:])


def test_an_eighth_of_each_class_stops_a_peer(few):
    rows, out = few.left_out()
    np.testing.assert_array_equal(np.sort(np.concatenate([rows, out])), np.arange(600))
    assert abs(len(out) - 75) <= 1 and 7 in rows
    shares = np.bincount(few.y[out], minlength=11)[:10] / np.bincount(few.y)[:10]
    assert np.all(np.abs(shares - 1 / 8) < 0.02)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("peer", ["lightgbm", "xgboost", "catboost"])
def test_a_peer_has_the_rounds_that_are_best_on_left_out_rows(peer, few, monkeypatch):
    pytest.importorskip(peer)
    from benchmarks import front

    monkeypatch.setattr(front, "SPACES", {peer: front.SPACES[peer]._replace(beforehand=({"learning_rate": 0.6},))})
    monkeypatch.setattr(front, "ROUNDS", 60)
    found, made = [], front.made_peer
    monkeypatch.setattr(front, "made_peer", lambda *given: found.append(made(*given)) or found[-1])
    monkeypatch.setattr(front, "PATIENCE", 60.0)  # over the rate: looks beyond every minimum
    fitted = front.fit_stopped(peer, 0, few, 60.0)
    X, y = few.X[few.left_out()[1]], few.y[few.left_out()[1]]
    kept = fitted.rounds if peer == "catboost" else 60  # CatBoost forgets the others
    losses = [front.log_loss(front.FIRST[peer](found[0], X, rounds), y) for rounds in range(1, kept + 1)]
    assert 1 < fitted.rounds < 60 and not fitted.cut and fitted.seconds > 0
    np.testing.assert_allclose(front.log_loss(fitted.probabilities(X), y), min(losses), rtol=1e-5)
    assert front.fit_stopped(peer, 0, few, 0.0).rounds <= 2  # the limit of seconds ends it
    again = front.fit_all(peer, 0, few, fitted.rounds)
    assert again.rounds == round(fitted.rounds * 8 / 7)
    assert again.probabilities(few.X_test).shape == (len(few.y_test), 11)


def test_one_fit_of_ours_serves_all_costs(few):
    from benchmarks import front
    from minrisk import MinRiskClassifier

    fitted = front.fit_ours({"n_estimators": 10}, few)
    for kind in ("0/1", "normal", "lognormal"):
        cost = few.tables()[kind]
        told = MinRiskClassifier(n_estimators=10, n_jobs=1, random_state=0).fit(few.X, few.y, cost=cost)
        np.testing.assert_array_equal(
            common.least_expected(fitted.probabilities(few.X_test), cost), told.predict(few.X_test)
        )


def test_the_front_is_read_by_seconds_and_left_out_rows_only():
    from benchmarks import front_report as front

    def row(method, setting, fitted_on, seconds, cost, out="", rounds=9):
        return {
            "set": "s",
            "method": method,
            "setting": setting,
            "fitted_on": fitted_on,
            "seconds": str(seconds),
            "left_out_log_loss": str(out),
            "log_loss": "1",
            "error": "0.1",
            "tests": "50",
            "parameters": "{}",
            "rounds": str(rounds),
            "cut": "0",
            "official": "",
            **dict.fromkeys(front.KINDS, str(cost)),
            "lognormal": str(2 * cost),
        }

    rows = [
        row("minrisk", "defaults", "all", 12, 0.05, rounds=70),
        row("minrisk", "25 rounds", "all", 3, 0.1, rounds=25),
        row("minrisk", "50 rounds", "all", 4, 0.30, rounds=50),
        row("minrisk", "10 rounds", "all", 5, 0.4, rounds=10),
        row("lightgbm", "0", "eighths", 30, 0.01, out=0.9),
        row("lightgbm", "1", "eighths", 10, 0.20, out=0.5),
        row("lightgbm", "1", "all", 6, 0.15),
        row("lightgbm", "0", "all", 20, 0.01),
    ]
    stopped, again = front.summary(rows)
    assert (stopped["fitted_on"], again["fitted_on"]) == ("eighths", "all")  # of setting 1, whatever its cost
    assert (stopped["ours in time"], stopped["ours in half the time"], stopped["settings"]) == ("50 rounds",) * 2 + (2,)
    expected = ((0.31 / 0.21) ** 5 * (0.61 / 0.41)) ** (1 / 6)  # half a mistake of fifty
    np.testing.assert_allclose([stopped["ratio in time"], stopped["ratio in half the time"]], expected)
    assert again["ours in half the time"] == "25 rounds" and again["ours in time"] == "50 rounds"
    np.testing.assert_allclose(stopped["ratio of defaults"], ((0.06 / 0.21) ** 5 * (0.11 / 0.41)) ** (1 / 6))
    assert np.isnan(front.line_of(row("lightgbm", "1", "all", 1, 0.2), 2, rows[:3], rows[0])["ratio in time"])


def test_settings_of_the_grid_are_the_same_for_every_set_and_differ():
    from benchmarks import front

    for peer, space in front.SPACES.items():
        grid = [front.setting(peer, number) for number in range(front.SETTINGS)]
        assert grid == [front.setting(peer, number) for number in range(front.SETTINGS)]
        assert len({str(one) for one in grid}) == front.SETTINGS
        for name, (_, low, high) in space.drawn.items():
            values = [one[name] for one in grid[len(space.beforehand) :]]
            assert low <= min(values) < max(values) <= high


# -- tables as users with unequal costs have them ----------------------------------------------------------------------
def odd_properties():
    from benchmarks import user_tables

    yield from ((name, value) for name, (_, values) in user_tables.ODD.items() for value in values)
    yield from (("signal", name) for name in user_tables.SIGNALS)
    yield from (("balance", name) for name in user_tables.BALANCE_SHARES)


def test_every_property_makes_a_table_of_its_own(monkeypatch):
    from benchmarks import user_tables

    monkeypatch.setattr(user_tables, "TESTS", 150)
    dull = {"rows": 300, "columns": 4, "relevant": 3, "classes": 3, "world": 5, "prevalence": 0.1}
    for name, value in odd_properties():
        of = {**dull, name: value} | ({"tails": "counts", "form": "array"} if name == "sparse" else {})
        table, again, other = (user_tables.made(of, seed) for seed in (0, 0, 1))
        assert table.X.shape[0] == len(table.y) <= 300 and table.X_test.shape[0] == len(table.y_test) <= 150
        assert set(table.y) == set(range(table.n_classes)) >= set(table.y_test)
        assert len(table.cost) == table.n_classes and np.all(np.diag(table.cost) == 0), (name, value)
        np.testing.assert_array_equal(table.y, again.y)
        assert table.y.shape != other.y.shape or np.any(table.y != other.y)


def test_drawn_tables_are_odd_in_few_ways():
    from benchmarks import user_tables

    drawn = [user_tables.drawn(np.random.default_rng(seed), (100, 200)) for seed in range(300)]
    odd = [{name for name in user_tables.ODD if of[name] != user_tables.DULL[name]} for of in drawn]
    also = {"form", "tails"}  # what is sparse has these as well
    assert max(len(names - also if "sparse" in names else names) for names in odd) <= user_tables.MOST_ODD
    assert set.union(*odd) == set(user_tables.ODD)
    assert all(100 <= of["rows"] <= 200 and of["relevant"] <= of["columns"] for of in drawn)


def test_signals_have_the_shares_that_are_asked_for():
    from benchmarks import user_tables

    rng = np.random.default_rng(0)
    scores = 3 * rng.normal(size=(4000, 3))
    p = user_tables.probabilities(scores, user_tables.rare(3, 0.02), np.arange(4000) < 3000)
    np.testing.assert_allclose(p[:3000].mean(axis=0), [0.49, 0.49, 0.02], rtol=1e-3)
    many = user_tables.labels(np.tile(p[:4], (50_000, 1)), rng).reshape(-1, 4)
    np.testing.assert_allclose([np.mean(many == k, axis=0) for k in range(3)], p[:4].T, atol=0.01)


def table_of(**more):
    """A small table of two classes, of which a line tells one from the other."""
    from benchmarks.user_tables import Table

    rng = np.random.default_rng(3)
    X = rng.normal(size=(900, 3))
    y = (X[:, 0] + 0.8 * rng.normal(size=900) > 0.8).astype(int)
    return Table(X[:400], y[:400], X[400:], y[400:], np.array([[0.0, 1.0], [6.0, 0.0]]), **more)


def test_classes_without_rows_to_train_on_are_left_out():
    from benchmarks.user_tables import of_seen_classes

    plain = table_of()
    refer = np.array([[0.0, 1.0, 2.0, 0.5], [3.0, 0.0, 4.0, 0.6], [5.0, 6.0, 0.0, 0.7]])
    full = np.repeat(refer[None], 500, axis=0) * np.arange(1, 501)[:, None, None]
    table = of_seen_classes(plain._replace(y=2 * plain.y, y_test=np.arange(500) % 3, cost=refer, full_cost=full))
    np.testing.assert_array_equal(table.cost, refer[[0, 2]][:, [0, 2, 3]])
    np.testing.assert_array_equal(table.y, plain.y)
    np.testing.assert_array_equal(table.y_test, [k // 2 for k in np.arange(500) % 3 if k != 1])
    np.testing.assert_array_equal(table.full_cost[1], 3 * table.cost)  # of the third row: the second is of class 1
    assert of_seen_classes(plain._replace(weight=(plain.y == 1).astype(float))) is None


@pytest.mark.parametrize("kind", ["plain", "resampled", "known", "balanced"])
def test_our_own_decisions_are_those_of_our_probabilities(kind):
    from benchmarks import rare

    plain = table_of()
    rng = np.random.default_rng(0)
    full = rng.uniform(1, 9, (900, 2, 1)) * (1 - np.eye(2))
    table = {
        "plain": plain,
        "resampled": plain._replace(shares=np.array([0.97, 0.03])),
        "balanced": plain._replace(balanced=True),
        "known": plain._replace(row_cost=full[np.arange(400), plain.y], full_cost=full[400:], known=True),
    }[kind]
    answer = rare.minrisk(table)
    found, by_probabilities = rare.judged(answer, table), rare.judged(answer._replace(decisions=None), table)
    assert found["cost"] == by_probabilities["cost"] and 0.5 < found["auc"] < 1
    p = answer.probabilities
    if kind == "resampled":
        p = p * table.shares / (np.bincount(table.y) / 400)
    costs = full[400:] if kind == "known" else np.broadcast_to(table.cost, (500, 2, 2))
    decided = [int(row @ cost[:, 1] < row @ cost[:, 0]) for row, cost in zip(p, costs, strict=True)]  # by hand
    weight = np.where(table.y_test == 1, *(200 / np.bincount(table.y)[::-1])) if kind == "balanced" else np.ones(500)
    paid = [cost[k, d] for k, d, cost in zip(table.y_test, decided, costs, strict=True)]
    np.testing.assert_allclose(found["cost"], np.average(paid, weights=weight))


@pytest.mark.filterwarnings("ignore")
def test_peers_take_the_columns_that_users_have(monkeypatch):
    import pandas as pd

    from benchmarks import rare, user_tables

    monkeypatch.setattr(user_tables, "TESTS", 100)
    some = {"rows": 200, "columns": 3, "world": 1, "missing": "at random"}
    for of in (
        {"categories": "several", "ids": "date"},
        {"categories": "ordered", "dtype": "nullable"},
        {"categories": "booleans", "ids": "text"},
        {"sparse": True, "tails": "counts", "missing": "none"},
    ):
        table = user_tables.made({**some, **of}, 0)
        for method in ("lightgbm small calibrated", "catboost", "histogram", "logistic"):
            if method not in rare.PACKAGES or common.installed(rare.PACKAGES[method]):
                line = rare.line_of(method, table)
                assert "problem" not in line and line["cost"] <= 1, (of, method, line)
    frame = pd.DataFrame({"word": ["b", "a", "b", None], "when": pd.to_datetime(["2024-01-01"] * 4)})
    X, X_test, words = rare.prepared(table_of()._replace(X=frame, X_test=frame.replace("a", "new")), 1)
    assert words == ["word"] and list(X["word"].cat.codes) == [0, -1, 0, -1] == list(X_test["word"].cat.codes)
    assert list(X["word"].cat.categories) == ["b"] and X["when"].dtype == float


def test_what_is_there_is_not_done_again(monkeypatch, tmp_path, capsys):
    from benchmarks import rare

    out = tmp_path / "some.csv"
    asked = [
        "rare",
        "--daily",
        "--jobs",
        "1",
        "--families",
        "one_threshold",
        "--methods",
        "constant",
        "--out",
        str(out),
    ]
    monkeypatch.setattr(sys, "argv", asked)
    monkeypatch.delenv(common.QUICK, raising=False)
    rare.main()
    once = lines(out)
    rare.main()
    assert lines(out) == once and len(once) == 4
    out.write_text("".join(out.read_text().splitlines(keepends=True)[:3]) + "one_threshold,20")  # cut short
    rare.main()
    assert len(common.lines_of(out)) == 4 and "nothing to sum up" in capsys.readouterr().out


def test_the_report_has_the_peer_that_is_best_of_a_family_and_of_each_table():
    from benchmarks import rare_report

    def line(table, method, cost, auc=0.6, rounds=""):
        return {
            "family": "f",
            "table": table,
            "seed": "0",
            "method": method,
            "tests": "100",
            "unit": "0.1",
            "cost": str(cost),
            "log_loss": str(10 * cost),
            "auc": str(auc),
            "seconds": "2",
            "rounds": str(rounds),
            "believed": "0.1" if rounds else "",
            "warnings": "",
            "problem": "",
        }

    lines = [
        line("a", "minrisk", 0.3, rounds=4),
        line("a", "minrisk 1", 0.4),
        line("a", "x", 0.1),
        line("a", "y", 0.2),
        line("b", "minrisk", 0.5, 0.5, "0"),
        line("b", "minrisk 1", 0.2),
        line("b", "x", 0.7, 0.9),
        line("b", "y", 0.2),
    ]
    found = rare_report.of_family("f", rare_report.Figures(lines))
    assert (found["best peer"], found["tables"], found["no rounds"]) == ("y", 2, 1)
    np.testing.assert_allclose(found["cost / best"], (0.4 / 0.3 * 0.6 / 0.3) ** 0.5)
    np.testing.assert_allclose(found["cost / best of each table"], (0.4 / 0.2 * 0.6 / 0.3) ** 0.5)
    np.testing.assert_allclose(found["log-loss / best"], (3.01 / 2.01 * 5.01 / 2.01) ** 0.5)
    np.testing.assert_allclose(found["spread"], (0.5 / 0.4 * 0.6 / 0.3) ** 0.5)
    np.testing.assert_allclose([found["AUC gap"], found["AUC gap of each table"]], [0.05, 0.2], atol=1e-12)
    np.testing.assert_allclose(
        rare_report.by_peer(rare_report.Figures(lines))["x"]["cost"], (0.4 / 0.2 * 0.6 / 0.8) ** 0.5
    )

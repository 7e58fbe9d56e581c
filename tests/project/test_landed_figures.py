"""Landed figures can be made again to the digit: of each table and figure that papers.md has, the cheapest cells.

A cell stands for the others of its table and method, which the same code has made but for those that
benchmarks/NOTEBOOK.md lists as older. Seconds are not compared, and MNIST takes too long (Table VII of the stage-wise
paper).
"""

import ast
import subprocess

import numpy as np
import pytest

from benchmarks import common
from benchmarks.replicate import (
    baselines,
    guess_averse,
    images,
    localized_similarities,
    piboost,
    rebel_depth,
    rebel_pictures,
    rebel_synthetic,
    rebel_uci,
    stagewise,
    stagewise_paths,
    two_sided_stumps,
)
from tests.helpers.common import slow_after

LANDED = common.RESULTS
pytestmark = [pytest.mark.usefixtures("data_folder"), pytest.mark.filterwarnings("ignore")]


@pytest.fixture
def fresh(tmp_path, monkeypatch):
    """Nothing is kept yet, and what has landed stays as it is."""
    monkeypatch.setattr(common, "RESULTS", tmp_path)
    monkeypatch.setattr(baselines, "ROOT", tmp_path)


def same_digits(name, made, *key):
    """Rows, which tell more than their key, are in the file, whose text they agree with."""
    landed = {tuple(line[column] for column in key): line for line in common.lines_of(LANDED / f"{name}.csv")}
    left_out = {*key, *common.settings(), *(column for column in made[0] if "seconds" in column)}
    assert set(made[0]) - left_out
    for row in made:
        told = {column: str(common._plain(value)) for column, value in row.items() if value is not None}
        known = landed[tuple(told[column] for column in key)]
        assert {c: told[c] for c in told if c not in left_out} == {c: known[c] for c in told if c not in left_out}


# -- REBEL -------------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("role", rebel_uci.ROLES)
def test_stumps_on_uci_sets(role):
    row = rebel_uci.errors("glass", 0, rebel_uci.ROLES[role], 1)
    same_digits("rebel_uci_trials", [row], "data", "seed", *rebel_uci.ROLES[role])


def test_stumps_trained_again():
    setting = rebel_uci.ROLES["constant each round"]
    same_digits(
        "rebel_uci_refit_trials", [rebel_uci.errors("glass", 0, setting, 1, refit=True)], "data", "seed", *setting
    )


@pytest.mark.parametrize("method", [method for method in baselines.methods(6) if not method.startswith("CW-Boost")])
def test_other_bars(method):
    row = baselines.both_readings("glass", method, 0, struct=False)
    same_digits("baselines_refit_trials", [row], "data", "method", "split")


@pytest.mark.slow
def test_structboost(fresh, monkeypatch):
    usual = {"StructBoost": baselines.struct_methods()["StructBoost"]}
    monkeypatch.setattr(baselines, "SPLITS", 1)
    monkeypatch.setattr(baselines, "struct_methods", lambda: usual)
    same_digits("baselines_trials", baselines.trials("vowel", 1, struct=True), "data", "method", "split")


@pytest.mark.parametrize("setting", rebel_synthetic.SETTINGS)
def test_costs_or_posteriors(setting):
    rows = rebel_synthetic.trials_on(0, rebel_synthetic.SPREADS[0], 1, setting)
    same_digits("rebel_synthetic_trials", rows, "setting", "data", "matrix")


@pytest.mark.slow
def test_depth():
    rows = rebel_depth.row_of("usps", "0/1", "paper", 1, 400, 1)
    same_digits("rebel_depth", rows, "data", "costs", "method", "depth")


def test_costs_move_borders():
    (X, y), (X_test, y_test) = rebel_pictures.points()
    name, cost = list(rebel_pictures.tables().items())[2]
    decided = rebel_pictures.trained(X, y, cost, 1, max_depth=2).predict(X_test)
    same_digits("rebel_pictures", [rebel_pictures.counted(name, cost, y_test, decided, "test")], "costs", "rows")


@pytest.mark.slow
def test_taxonomies(tmp_path):
    """Figure 6's protocol; Figure 5's and Table VIII's differ in how rows are drawn and rounds are chosen."""
    images.make(tmp_path, "usps")
    protocol = images.PROTOCOLS["cub"]._replace(rounds=100)
    same_digits("images", [next(images.rows_of(tmp_path / "usps.npz", "cub", "REBEL", protocol, 1))], *images.CELL)


@pytest.mark.parametrize("vectors", two_sided_stumps.VECTORS)
def test_two_sided_stumps(vectors):
    errors = [two_sided_stumps.error("glass", seed, vectors, 200)["error_percent"] for seed in range(5)]
    row = {"data": "glass", "vectors": vectors, "error": np.mean(errors), "std": np.std(errors, ddof=1)}
    same_digits("two_sided_stumps", [row], "data", "vectors")


# -- guess-averse losses -----------------------------------------------------------------------------------------------
@pytest.mark.parametrize("learner", ["linear", "tree", "minrisk"])
def test_risks(learner):
    file = "guess_averse_trials" if learner == "linear" else f"guess_averse_{learner}_trials"
    same_digits(file, [guess_averse.risks("breast_tissue", 0, learner, "curvature")], "data", "seed")


def test_other_splits():
    same_digits("guess_averse_splits", guess_averse.split_spread(["vertebral"], 30, 50), "data", "method")


# -- localized similarities --------------------------------------------------------------------------------------------
def similarities():
    options = {"n_jobs": 1, "n_candidates": None, "n_neighbors": None}
    yield from localized_similarities.spirals(options, range(1))
    yield from localized_similarities.figure8(options, ["glass"], [], range(1))
    yield from localized_similarities.figure9(
        options, ["glass"], ["similarity", "sign", "chosen", "svm", "network"], range(1)
    )


@pytest.mark.parametrize(
    ("figure", "name", "method"),
    [
        ("spiral", "1/5", "similarity"),
        *(
            ("8", "glass", method)
            for method in ("similarity", "similarity, 200 rounds", "one-point", "one-point, sign", "stumps", "trees")
        ),
        *(("9", "glass", method) for method in ("similarity", "sign", "chosen", "svm", "network")),
    ],
)
def test_similarities(figure, name, method):
    (trial,) = [trial for *names, _, trial in similarities() if names == [figure, name, method]]
    ours = method.startswith(("similarity", "sign", "one-point", "chosen"))
    row = {"figure": figure, "data": name, "method": method, "seed": 0, "options": "candidates=all" if ours else ""}
    same_digits("localized_similarities_trials", [row | trial()], *row)


@pytest.mark.slow
def test_bound(fresh):
    """Figure 7; Figure 6 has the same fits with real answers."""
    localized_similarities.figure7({"n_jobs": 1, "n_candidates": None, "n_neighbors": None}, ["glass"])
    same_digits("localized_similarities_bound", common.kept("localized_similarities_bound"), "data")


# -- stage-wise MCBoost ------------------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    "method", slow_after(3, [method for method in stagewise.METHODS if not method.endswith("_l2")])
)
def test_table_5(method):
    nus = {each: stagewise.chosen(each) for each in stagewise.CHOICES}
    (trial,) = stagewise.trials("V", 0, ["wine"], [method], nus)
    same_digits("stagewise_trials", [stagewise.run(trial)], *stagewise.Trial._fields)


@pytest.mark.parametrize(
    "trial",
    [
        stagewise.Trial("iris", "exponential", nu=0.1),
        stagewise.Trial("iris", "logistic", eta=1.0),
        stagewise.Trial("letter", "exponential", classes=4),
        stagewise.Trial("iris", "multiboost", nu=5e-3),
        stagewise.Trial("iris", "multiboost_l2", nu=1e-3),
        stagewise.Trial("iris", "exponential_l2", nu=0.1),
    ],
)
def test_tables_1_to_4(trial):
    same_digits("stagewise_trials", [stagewise.run(trial)], *stagewise.Trial._fields)


@pytest.mark.parametrize("method", stagewise.CHOICES)
def test_choice_of_nu(method, fresh, monkeypatch):
    monkeypatch.setitem(stagewise.GRIDS, method, stagewise.GRIDS[method][:1])
    stagewise.choose("wine", method)
    same_digits(stagewise.CHOICES[method], common.kept(stagewise.CHOICES[method]), "data", "per_class", "nu")


def test_errors_of_table_6():
    X, y, X_test, y_test = common.load("pendigits").official()
    model = stagewise.made(stagewise.Trial("pendigits", "ecc", rounds=1000)).fit(X, y)
    row = {"method": "ecc", "error": 100 * (1 - model.score(X_test, y_test)), "rounds": model.n_iter_}
    same_digits("stagewise_evaluation", [row], "method")


def test_paths():
    F, y = stagewise_paths.rows_of(0)
    rows = []
    for loss in ("exponential", "logistic"):
        losses = stagewise_paths.stepped(F, y, loss)[1]
        rows += [
            {"loss": loss, "bound": bound, "loss_of_steps": losses[round(100 * bound)]}
            for bound in stagewise_paths.BOUNDS
        ]
    same_digits("stagewise_paths", rows, "loss", "bound")


# -- PIBoost -----------------------------------------------------------------------------------------------------------
@pytest.mark.slow
def test_table_3(fresh):
    piboost.table_3(["car"], 1)
    same_digits("piboost_uci", common.kept("piboost_uci"), "data", "separators")
    same_digits(piboost.CURVES, common.kept(piboost.CURVES), "data", "method", "fold")


@pytest.mark.parametrize("method", slow_after(1, [*piboost.OTHERS, *piboost.VARIANTS]))
def test_other_columns_of_table_3(method, fresh):
    piboost.columns_of_others(["car"], [method], 1)
    same_digits("piboost_others", common.kept("piboost_others"), "data", "method")


@pytest.mark.slow
def test_trees_of_other_sizes(fresh, monkeypatch):
    monkeypatch.setattr(piboost, "READINGS", {"a tenth, depth 2": {"max_depth": 2}})
    piboost.readings(["pendigits"])
    same_digits("piboost_readings", common.kept("piboost_readings"), "data", "trees")


@pytest.mark.slow
def test_costs(fresh, monkeypatch):
    monkeypatch.setattr(piboost, "COST_SETS", ["vehicle"])
    monkeypatch.setattr(piboost, "COST_KINDS", ["lognormal"])
    piboost.of_costs(quick=False)
    same_digits("piboost_costs", common.kept("piboost_costs"), "data", "costs", "seed")


# -- all of them -------------------------------------------------------------------------------------------------------
def typed(rows):
    """Numbers and truth values as the benchmark had them."""

    def value(text):
        try:
            return ast.literal_eval(text)
        except (SyntaxError, ValueError):
            return text

    return [{column: value(text) for column, text in row.items()} for row in rows]


@pytest.mark.parametrize(
    ("name", "again"),
    [
        ("baselines", lambda: baselines.summary(common.kept("baselines_trials"))),
        ("baselines_refit", lambda: baselines.summary_of_both(common.kept("baselines_refit_trials"))),
        ("guess_averse", lambda: guess_averse.summary(common.kept("guess_averse_trials"))),
        ("guess_averse_beyond", guess_averse.beyond),
        ("guess_averse_tests", lambda: guess_averse.strongest(common.kept("guess_averse_trials"))),
        (
            "localized_similarities",
            lambda: localized_similarities.summary(common.kept("localized_similarities_trials")),
        ),
        ("piboost_tests", piboost.tests),
        ("rebel_synthetic", lambda: rebel_synthetic.summary(typed(common.kept("rebel_synthetic_trials")))),
        *(
            (f"rebel_uci{end}", lambda end=end: rebel_uci.summary(typed(common.kept(f"rebel_uci{end}_trials"))))
            for end in ("", "_mnist", "_refit")
        ),
        ("stagewise", stagewise.summary),
        ("stagewise_tests", lambda: stagewise.signed_ranks(stagewise.summary())),
    ],
)
def test_means_are_of_the_landed_fits(name, again):
    found, landed = again(), common.lines_of(LANDED / f"{name}.csv")
    assert len(found) == len(landed)
    for mean, line in zip(found, landed, strict=True):
        for column, value in mean.items():
            if isinstance(value, float):
                assert float(line[column]) == pytest.approx(value, rel=1e-3, abs=1e-5, nan_ok=True)
            else:
                assert line[column] == str(value)


def test_commits_exist():
    """The code behind each figure is in the history."""
    said = subprocess.run(["git", "rev-list", "HEAD"], cwd=common.ROOT, capture_output=True, text=True)
    if said.returncode or (common.ROOT / ".git" / "shallow").exists():
        pytest.skip("the history is not there")
    known = {commit[:7] for commit in said.stdout.split()}
    lines = [line for path in LANDED.rglob("*.csv") for line in common.lines_of(path)]
    assert {line["commit"][:7] for line in lines if line.get("commit")} - known == set()

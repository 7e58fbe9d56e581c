"""The demonstration, on a tiny version of its data."""

import numpy as np
import pytest
from click.testing import CliRunner
from numpy.testing import assert_allclose

import minrisk
from minrisk.cli import demo
from minrisk.cli.app import app
from minrisk.metrics import expected_cost
from tests.helpers.common import slow_after

pytest.importorskip("matplotlib")


def tiny():
    X, y = demo.load_cheques()
    return X[:160], y[:160]


@pytest.fixture(scope="module", params=slow_after(1, list(demo.STORIES)))
def study(request):
    X, y = tiny()
    cost = demo.cheque_costs(request.param)
    return cost, demo.compare(X, y, cost, n_splits=2, rounds=4)


def test_every_method_is_judged_on_every_split(study):
    cost, found = study
    assert [result.method for result in found.results] == list(demo.methods(cost, 4))
    for result in found.results:
        for numbers in result[1:]:
            assert numbers.shape == (2,) and np.isfinite(numbers).all() and (numbers >= 0).all()
        assert (result.error + result.referred <= 1).all()
    assert found.n_train == len(found.y_test) == 80


def test_the_kept_model_is_the_one_of_the_table(study):
    cost, found = study
    result = next(result for result in found.results if result.method == demo.SHOWN_METHOD)
    model, by_round = (found.models[name] for name in (demo.SHOWN_METHOD, demo.METHOD_BY_ROUND))
    assert model.cost_ == by_round.cost_ == cost
    assert model.n_iter_ <= 4 and by_round.n_iter_ == 4
    assert result.cost[0] == pytest.approx(expected_cost(found.y_test, found.decided[demo.SHOWN_METHOD], cost))


def test_costs_can_be_added_up_by_hand(study):
    cost, found = study
    if "clerk" in cost.decisions:
        for result in found.results:
            assert_allclose(result.cost, demo.MISREAD * result.error + result.referred)
    else:
        assert all((result.referred == 0).all() for result in found.results)


@pytest.mark.slow
def test_results_repeat(study):
    X, y = tiny()
    cost, found = study
    again = demo.compare(X, y, cost, n_splits=1, rounds=4)
    for old, new in zip(found.results, again.results, strict=True):
        assert (old.error[0], old.referred[0], old.cost[0]) == (new.error[0], new.referred[0], new.cost[0])


def result(name, *costs):
    zeros = np.zeros(len(costs))
    return demo.Result(name, zeros, zeros, np.array(costs), zeros)


def test_the_conclusion_says_who_wins_and_how_surely():
    results = [result("blind", 4.0, 4.0), result("a", 1.0, 3.0), result("b", 2.0, 2.5)]
    assert demo.conclusion(results) == (
        "Cheapest: a, 2.000 per digit, 50 % less than blind; ahead of the second best on 1 of 2 splits."
    )
    assert demo.conclusion([result("blind", 1.0), result("a", 2.0)]) == (
        "Cheapest: blind, 1.000 per digit; ahead of the second best on 1 of 1 splits."
    )
    assert "on 0 of 1 splits" in demo.conclusion([result("blind", 0.0), result("a", 0.0)])


@pytest.mark.parametrize("story", slow_after(1, [*demo.STORIES][::-1]))
def test_the_command_prints_a_table_and_saves_model_and_pictures(tmp_path, monkeypatch, story):
    monkeypatch.setattr(demo, "load_cheques", tiny_of(tiny()))
    monkeypatch.setattr(demo, "ROUNDS", 3)
    monkeypatch.setattr(demo, "SPLITS", 1)
    out = tmp_path / "new" / "folder"
    done = CliRunner().invoke(app, ["demo", "--out", str(out), "--costs", story], env={"COLUMNS": "100"})
    assert done.exit_code == 0, done.output
    for words in (
        "cheques",
        "mean cost",
        "seconds",
        "REBEL blind to costs",
        "tight offset",
        "MinRiskClassifier",
        "Cheapest: ",
        "saved ",
    ):
        assert words in done.stdout
    assert ("to clerk" in done.stdout) == (story == "clerk")
    assert max(map(len, done.stdout.splitlines()[:-3])) <= 100  # the last lines name files
    assert sorted(path.name for path in out.iterdir()) == [
        "costly-confusions.png",
        "digits.minrisk",
        "risk-per-round.png",
    ]
    assert all(path.read_bytes().startswith(b"\x89PNG") for path in out.glob("*.png"))
    model = minrisk.load(out / "digits.minrisk")
    assert type(model).__name__ == demo.SHOWN_METHOD == "MinRiskClassifier" and model.n_iter_ <= 3


def tiny_of(data):
    return lambda: data

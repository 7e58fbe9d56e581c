"""A fit that is killed goes on from its checkpoint, and gives the bytes of one that was not."""

import json
import os
import pickle
import struct
from hashlib import sha256

import numpy as np
import pytest
from click.testing import CliRunner
from scipy.sparse import csr_matrix
from sklearn.base import clone
from sklearn.model_selection import KFold
from sklearn.tree import DecisionTreeRegressor

import minrisk
from minrisk import Chunks, MCBoostClassifier, MinRiskClassifier, MultiBoostClassifier, REBELClassifier
from minrisk._utils.packages import versions
from minrisk.boosting import checkpoint
from minrisk.cli.app import app
from minrisk.ensemble import driver, trees
from minrisk.estimator import inputs
from tests.helpers.common import slow_after, slow_but
from tests.helpers.partitions import Divided, divide
from tests.helpers.ways import MADE, WAYS
from tests.rows.test_elsewhere import MODELS, as_many_rows

RNG = np.random.default_rng(0)
X = RNG.normal(size=(300, 5))
Y = (X[:, 0] + X[:, 1] * X[:, 2] + 0.5 * RNG.normal(size=300) > 0).astype(int) + (X[:, 3] > 1)
BLOCKS = Chunks(lambda: ((X[i : i + 100], Y[i : i + 100]) for i in range(0, 300, 100)))
OF_ROWS = np.where(np.arange(3) == Y[:, None], 0.0, 1.0 + 3.0 * (X[:, 4:] > 0))


class Killed(BaseException):
    """What no fit expects."""


@pytest.fixture(autouse=True)
def every_round(monkeypatch):
    """Is written, where a test asks for it."""
    monkeypatch.setattr(checkpoint, "PAUSE", 0.0)
    monkeypatch.setattr(checkpoint, "SHARE", np.inf)


@pytest.fixture
def path(tmp_path):
    return tmp_path / "fit.checkpoint"


def content(model, tmp_path):
    minrisk.save(model, tmp_path / "model")
    return (tmp_path / "model").read_bytes()


def killed(fit, path, at, monkeypatch):
    """The fit, ended after so many rounds, or never."""
    done, after = 0, checkpoint.Run.after_round

    def after_round(self, info):
        nonlocal done
        done += 1
        self._checkpoint._due = 0.0 if done == at else np.inf  # to write is what takes time here
        after(self, info)
        if done == at:
            raise Killed
        return False

    with monkeypatch.context() as patch:
        patch.setattr(checkpoint.Run, "after_round", after_round)
        return fit(path), done


def assert_survives(fit, path, tmp_path, monkeypatch, kills=(0.1, 0.5, 0.9)):
    """Ended at these shares of its rounds, each time after the last time, and then not."""
    whole = content(fit(None), tmp_path)
    model, rounds = killed(fit, path, 0, monkeypatch)
    assert content(model, tmp_path) == whole and not path.exists() and rounds
    for share in kills:
        with pytest.raises(Killed):
            killed(fit, path, max(1, int(share * rounds)), monkeypatch)
        if share < 1.0:
            with pytest.raises(Killed):
                killed(fit, path, 1, monkeypatch)
        assert path.exists()
        assert content(fit(path), tmp_path) == whole
        assert not path.exists()


@pytest.mark.parametrize("name", slow_but(MADE, [name for name in WAYS if not name.startswith("minrisk")]))
def test_every_method(name, path, tmp_path, monkeypatch):
    for options in ({}, {"early_stopping": True, "validation_fraction": 0.3, "random_state": 0}):
        assert_survives(
            lambda path: WAYS[name](**options).fit(X[:120], Y[:120], checkpoint=path),
            path,
            tmp_path,
            monkeypatch,
            (0.6,),
        )


@pytest.mark.parametrize(
    ("options", "given"),
    slow_after(
        4,
        [
            ({}, {}),
            ({"n_jobs": 2}, {"groups": np.arange(300) // 4}),
            ({}, {"cost": OF_ROWS}),
            ({"cv": 1}, {}),
            ({"pool": False}, {"sample_weight": np.arange(300) % 4}),
            ({"surrogate": "exponential"}, {}),
            ({"surrogate": "coupled", "subsample": 0.7}, {}),
            ({"cv": KFold(3)}, {}),
        ],
    ),
)
def test_the_flagship(options, given, path, tmp_path, monkeypatch):
    options = {"n_estimators": 8, "random_state": 3, "max_leaf_nodes": 8, **options}
    assert_survives(
        lambda path: MinRiskClassifier(**options).fit(X, Y, checkpoint=path, **given),
        path,
        tmp_path,
        monkeypatch,
        (0.3, 0.9),
    )


def test_too_few_rows_to_leave_any_out(path, tmp_path, monkeypatch):
    assert_survives(
        lambda path: MinRiskClassifier(random_state=0).fit([[0.0], [1.0], [2.0]], [0, 1, 2], checkpoint=path),
        path,
        tmp_path,
        monkeypatch,
        (1.0,),
    )


def test_rounds_of_early_stopping_end_where_they_did(path, tmp_path, monkeypatch):
    """Also where the last round before the kill was the one that spent the patience."""
    options = {"early_stopping": True, "n_iter_no_change": 2, "random_state": 0, "n_estimators": 60}
    assert_survives(
        lambda path: REBELClassifier(**options).fit(X, Y, checkpoint=path), path, tmp_path, monkeypatch, (0.5, 1.0)
    )
    assert_survives(
        lambda path: REBELClassifier(**options).fit(X[:200], Y[:200], eval_set=(X[200:], Y[200:]), checkpoint=path),
        path,
        tmp_path,
        monkeypatch,
        (0.5, 1.0),
    )


def test_warm_starts(path, tmp_path, monkeypatch):
    def fit(path):
        model = MultiBoostClassifier(n_estimators=3, keep_stages=True).fit(X, Y)
        return model.set_params(n_estimators=8, warm_start=True).fit(X, Y, checkpoint=path)

    assert_survives(fit, path, tmp_path, monkeypatch)
    with pytest.raises(Killed):
        killed(fit, path, 2, monkeypatch)
    with pytest.raises(ValueError, match="with other parameters"):
        MultiBoostClassifier(n_estimators=8, keep_stages=True, warm_start=True).fit(X, Y, checkpoint=path)


@pytest.mark.parametrize(
    ("options", "given"),
    [({}, {}), ({"cv": 1}, {}), ({"pool": False}, {"cost": OF_ROWS}), ({"surrogate": "coupled"}, {})],
)
def test_more_rounds_of_the_flagship_are_those_of_one_longer_fit(options, given, tmp_path, monkeypatch):
    options, made, boost = {"random_state": 3, **options}, [], trees.boost

    def counted(rows, recipe, n_rounds, seed, monitors, start, stop):
        before = len(start.trees)
        boost(rows, recipe, n_rounds, seed, monitors, start, stop)
        made.append(len(start.trees) - before)

    monkeypatch.setattr(trees, "boost", counted)
    model = MinRiskClassifier(warm_start=True, **options)
    for n_estimators in (6, 20, 11, 45):
        rounds = []
        for one in (model, MinRiskClassifier(**options)):
            made.clear()
            one.set_params(n_estimators=n_estimators).fit(X, Y, **given)
            rounds.append(sum(made))
        assert content(model, tmp_path) == content(one, tmp_path)
        assert rounds[0] < 0.9 * rounds[1] or n_estimators == 6
    with pytest.raises(
        ValueError, match="warm_start goes on with the same fit, got other rows: set warm_start=False to"
    ):
        model.fit(X + 1.0, Y, **given)
    assert content(pickle.loads(pickle.dumps(model)).fit(X, Y, **given), tmp_path) == content(one, tmp_path)
    model.set_params(warm_start=False).fit(X[:200], Y[:200])
    assert "_kept_rounds" not in vars(model)


@pytest.mark.parametrize("limit", [inputs.KEPT_VALUES, 10])
def test_chunks(limit, path, tmp_path, monkeypatch):
    monkeypatch.setattr(inputs, "KEPT_VALUES", limit)
    options = {"n_estimators": 6, "random_state": 3}
    assert_survives(
        lambda path: MinRiskClassifier(**options).fit(BLOCKS, checkpoint=path), path, tmp_path, monkeypatch, (0.7,)
    )
    assert_survives(
        lambda path: REBELClassifier(n_estimators=6).fit(BLOCKS, checkpoint=path), path, tmp_path, monkeypatch, (0.7,)
    )


@pytest.mark.parametrize("name", slow_after(1, ["costs", "stumps", "pool"]))
def test_rows_elsewhere(name, path, tmp_path, monkeypatch):
    as_many_rows(monkeypatch)
    cuts, given = [0, 1, 1, 90, 200, 300], {}
    if name == "costs":
        name, given = "pool", {"cost": Divided(OF_ROWS, cuts)}

    def fit(path, X=X):
        divide(monkeypatch, n_shards=2)
        model = clone(MODELS[name]).set_params(cost=None, n_estimators=4)
        return model.fit(Divided(X, cuts), Divided(Y, cuts), checkpoint=path, **given)

    assert_survives(fit, path, tmp_path, monkeypatch, (0.6,))
    with pytest.raises(Killed):
        killed(fit, path, 2, monkeypatch)
    other = X.copy()
    other[7, 2] += 1e-9
    with pytest.raises(ValueError, match="with other rows"):
        fit(path, other)


def test_few_rows_elsewhere(path, tmp_path, monkeypatch):
    """They come where the file is."""
    cuts, options = [0, 1, 1, 90, 200, 300], {"n_estimators": 5, "pool": False, "random_state": 3}

    def fit(path, X=X, **given):
        divide(monkeypatch, n_shards=2)
        return MinRiskClassifier(**options, **given).fit(Divided(X, cuts), Divided(Y, cuts), checkpoint=path)

    assert_survives(fit, path, tmp_path, monkeypatch, (0.6,))
    with pytest.raises(Killed):
        killed(fit, path, 2, monkeypatch)
    before = path.read_bytes()
    for what, given in (("rows", {"X": X + 1.0}), ("parameters", {"max_leaf_nodes": 5})):
        with pytest.raises(ValueError, match=f"with other {what}"):
            fit(path, **given)
    assert path.read_bytes() == before


def test_warm_starts_elsewhere(tmp_path, monkeypatch):
    """Of few rows and of many."""
    cuts, options = [0, 90, 200, 300], {"pool": False, "random_state": 3}
    for is_few in (True, False):
        if not is_few:
            as_many_rows(monkeypatch)
        model = MinRiskClassifier(warm_start=True, **options)
        for n_estimators in (3, 6):
            for one in (model, other := MinRiskClassifier(**options)):
                divide(monkeypatch, n_shards=2)
                one.set_params(n_estimators=n_estimators).fit(Divided(X, cuts), Divided(Y, cuts))
        assert content(model, tmp_path) == content(other, tmp_path)
        divide(monkeypatch, n_shards=2)
        with pytest.raises(ValueError, match="warm_start goes on with the same fit, got other rows"):
            model.fit(Divided(X + 1.0, cuts), Divided(Y, cuts))
    divide(monkeypatch, n_shards=2)
    model = REBELClassifier(n_estimators=3, warm_start=True).fit(Divided(X, cuts), Divided(Y, cuts))
    divide(monkeypatch, n_shards=2)
    with pytest.raises(ValueError, match="warm_start goes on with rows that are here"):
        model.fit(Divided(X, cuts), Divided(Y, cuts))


def test_members_that_rest(path, tmp_path, monkeypatch):
    for name in ("RESTING_SCORES", "FORGETTING_SCORES", "TOGETHER_SCORES"):
        monkeypatch.setattr(driver, name, 100)
    options = {"n_estimators": 12, "random_state": 3}
    assert_survives(
        lambda path: MinRiskClassifier(**options).fit(csr_matrix(X), Y, checkpoint=path), path, tmp_path, monkeypatch
    )


def test_without_a_seed_the_one_that_was_drawn_comes_again(path, tmp_path, monkeypatch):
    fit = lambda path: MinRiskClassifier(n_estimators=6).fit(X, Y, checkpoint=path)  # noqa: E731
    with pytest.raises(Killed):
        killed(fit, path, 20, monkeypatch)
    seed = json.loads(path.read_bytes()[len(checkpoint.BEGINNING) + 40 :].split(b"\n")[0].split(b', "runs"')[0] + b"}")[
        "seed"
    ]
    model = fit(path)
    assert model._seed == seed
    again = MinRiskClassifier(n_estimators=6, random_state=0)
    monkeypatch.setattr(again, "_draw_seed", lambda: seed)
    assert content(model, tmp_path) == content(again.fit(X, Y), tmp_path)


def test_what_differs_is_refused_and_named(path, tmp_path, monkeypatch):
    def fit(X=X, Y=Y, make=MinRiskClassifier, path=path, random_state=1, n_estimators=5, max_leaf_nodes=None, **given):
        options = {"random_state": random_state, "max_leaf_nodes": max_leaf_nodes} if make is MinRiskClassifier else {}
        return make(n_estimators=n_estimators, **options).fit(X, Y, checkpoint=path, **given)

    with pytest.raises(Killed):
        killed(lambda path: fit(), path, 9, monkeypatch)
    before, other = path.read_bytes(), X.copy()
    other[7, 2] += 1e-9
    for what, given in (
        ("rows", {"X": other}),
        ("rows", {"X": X.astype(np.float32)}),
        ("labels, weights, costs or groups", {"Y": np.roll(Y, 1)}),
        ("labels, weights, costs or groups", {"cost": [[0, 1, 2], [1, 0, 1], [1, 1, 0]]}),
        ("labels, weights, costs or groups", {"sample_weight": np.arange(300) + 1.0}),
        ("labels, weights, costs or groups", {"groups": np.arange(300) // 2}),
        ("n_estimators", {"n_estimators": 6}),
        ("parameters", {"max_leaf_nodes": 6}),
        ("parameters", {"make": REBELClassifier}),
        ("random_state", {"random_state": 2}),
        ("eval_set", {"eval_set": (X, Y)}),
    ):
        with pytest.raises(ValueError, match=f"is a checkpoint of a fit with other {what}: give the same as there, or"):
            fit(**given)
        assert path.read_bytes() == before
    monkeypatch.setattr(inputs, "versions", lambda: dict.fromkeys(versions(), "9.9"))
    with pytest.raises(ValueError, match="with other versions of minrisk, numpy, scipy or scikit-learn"):
        fit()


def test_objects_are_refused(path):
    with pytest.raises(ValueError, match="a checkpoint is data and keeps no objects such as estimator=: fit without"):
        MCBoostClassifier(estimator=DecisionTreeRegressor()).fit(X, Y, checkpoint=path)


def test_a_folder_that_is_not_there(tmp_path):
    with pytest.raises(FileNotFoundError):
        REBELClassifier().fit(X, Y, checkpoint=tmp_path / "none" / "fit")


@pytest.mark.parametrize("error", [OSError(28, "No space left on device"), MemoryError("no room")])
def test_a_file_that_cannot_be_written_does_not_end_the_fit(error, path, monkeypatch):
    """Where there is room again, the rounds are kept again."""
    written, replace = [], checkpoint.os.replace

    def full_for_a_while(*args):
        written.append(len(written) > 2)
        if not written[-1]:
            raise error
        replace(*args)

    monkeypatch.setattr(checkpoint.os, "replace", full_for_a_while)
    with pytest.warns(UserWarning, match="cannot be written .No space left on device|no room") as told:
        REBELClassifier(n_estimators=9).fit(X, Y, checkpoint=path)
    assert len(told) == 1 and any(written) and not path.exists()


def test_a_file_that_cannot_be_removed_does_not_lose_the_fit(path, monkeypatch):
    unlink = checkpoint.Path.unlink

    def refused(self, **given):
        if self == path:
            raise PermissionError(13, "Permission denied")
        unlink(self, **given)

    with monkeypatch.context() as patch:
        patch.setattr(checkpoint.Path, "unlink", refused)
        with pytest.warns(UserWarning, match="cannot be removed .Permission denied.: the fit has ended all the same"):
            model = REBELClassifier(n_estimators=4).fit(X, Y, checkpoint=path)
    assert model.n_iter_ and path.exists()


def test_the_file_of_another_fit_stays(path, tmp_path, monkeypatch):
    """Which has written to the same path in the meantime."""
    after = checkpoint.Run.after_round

    def after_round(self, info):
        if info.n_rounds == 2:
            (tmp_path / "another").write_bytes(b"its rounds")
            os.replace(tmp_path / "another", path)
        after(self, info)
        return False

    monkeypatch.setattr(checkpoint.Run, "after_round", after_round)
    with pytest.warns(UserWarning, match="cannot be written .another fit writes it.: the fit goes on"):
        REBELClassifier(n_estimators=4).fit(X, Y, checkpoint=path)
    assert path.read_bytes() == b"its rounds"


def test_ctrl_c_leaves_the_file(path, tmp_path, monkeypatch):
    fit = lambda path: REBELClassifier(n_estimators=9).fit(X, Y, checkpoint=path)  # noqa: E731
    whole, after = content(fit(None), tmp_path), checkpoint.Run.after_round

    def after_round(self, info):
        after(self, info)
        if info.n_rounds == 4:
            import signal

            signal.raise_signal(signal.SIGINT)
        return False

    with monkeypatch.context() as patch:
        patch.setattr(checkpoint.Run, "after_round", after_round)
        with pytest.raises(KeyboardInterrupt):
            fit(path)
    assert path.exists() and content(fit(path), tmp_path) == whole


# -- files of others -------------------------------------------------------------------------------------------------
REFUSED = "is no checkpoint of minrisk, or is damaged: remove it to begin again, or name another file"


@pytest.mark.parametrize("make", [lambda: MinRiskClassifier(n_estimators=5, random_state=0), WAYS["similarities"]])
def test_damage_is_refused(make, path, monkeypatch):
    fit = lambda path: make().fit(X, Y, checkpoint=path)  # noqa: E731
    with pytest.raises(Killed):
        killed(fit, path, 3, monkeypatch)
    whole = path.read_bytes()
    for at in (0, 5, 30, 40, 60, len(whole) // 2, len(whole) - 1):
        for bad in (whole[:at], whole[:at] + bytes([whole[at] ^ 1]) + whole[at + 1 :], b"a user's own table\n" * 9):
            path.write_bytes(bad)
            with pytest.raises(ValueError, match=REFUSED):
                fit(path)
            assert path.read_bytes() == bad


@pytest.mark.parametrize("name", slow_after(1, ["min risk", "similarities", "multiboost stages", "mcboost lines"]))
def test_forged_arrays_are_refused_or_are_models(name, path, tmp_path, monkeypatch):
    """Every array in turn with numbers that it cannot hold, under a right checksum: one sentence, or a finite model."""
    fit = {
        "min risk": lambda: MinRiskClassifier(n_estimators=4, random_state=0, pool=False, cv=2),
        "similarities": WAYS["similarities"],
        "multiboost stages": lambda: MultiBoostClassifier(n_estimators=5, keep_stages=True),
        "mcboost lines": WAYS["mcboost"],
    }[name]
    with pytest.raises(Killed):
        killed(lambda path: fit().fit(X[:90], Y[:90], checkpoint=path), path, 3, monkeypatch)
    hashes, seed, runs = checkpoint._read(path)
    assert runs
    refused = 0
    for run, arrays in runs.items():
        for part, array in arrays.items():
            for bad in forged(array):
                write(path, hashes, seed, {**runs, run: {**arrays, part: bad}})
                try:
                    model = fit().fit(X[:90], Y[:90], checkpoint=path)
                except ValueError as error:
                    assert REFUSED in str(error), error  # noqa: PT017
                    refused += 1
                else:
                    model.predict(X)
        break
    assert refused > 10


def forged(array):
    yield array[:-1]
    yield np.concatenate([array, array])
    yield np.zeros(array.shape, np.int64 if array.dtype == np.float64 else np.float64)
    if array.size:
        for value in (-7, 1 << 30, *((np.nan, np.inf) if array.dtype == np.float64 else ())):
            bad = array.copy()
            bad.flat[-1] = bool(value) if array.dtype == np.bool_ else value
            yield bad


def write(path, hashes, seed, runs):
    kinds = {run: {part: [a.dtype.str, a.shape] for part, a in arrays.items()} for run, arrays in runs.items()}
    header = json.dumps({"hashes": hashes, "seed": seed, "runs": kinds}).encode()
    rest = struct.pack("<Q", len(header)) + header
    rest += b"".join(np.ascontiguousarray(a).tobytes() for arrays in runs.values() for a in arrays.values())
    path.write_bytes(checkpoint.BEGINNING + sha256(rest).digest() + rest)


def test_what_has_no_end_is_refused(tmp_path):
    """Or would take all memory."""
    large = tmp_path / "table.parquet"
    with open(large, "wb") as file:
        file.truncate(1 << 40)
    os.mkfifo(tmp_path / "pipe")
    for path in (large, tmp_path / "pipe", tmp_path):
        with pytest.raises(ValueError, match=REFUSED):
            REBELClassifier(n_estimators=5).fit(X, Y, checkpoint=path)


def test_headers_of_strangers_are_refused(path):
    for header in (
        b"[]",
        b"{}",
        b"[" * 100_000,
        b'{"hashes": 3, "seed": 1, "runs": {}}',
        b'{"hashes": {}, "seed": -1, "runs": {}}',
        b'{"hashes": {}, "seed": 1, "runs": {"a": {"b": ["<f8", [1e9]]}}}',
        b'{"hashes": {}, "seed": 1, "runs": {"a": {"b": ["|O", [1]]}}}',
        b'{"hashes": {}, "seed": 1, "runs": {"a": {"b": ["<f8", [99999999999999999999999]]}}}',
    ):
        rest = struct.pack("<Q", len(header)) + header
        path.write_bytes(checkpoint.BEGINNING + sha256(rest).digest() + rest)
        with pytest.raises(ValueError, match=REFUSED):
            REBELClassifier(n_estimators=5).fit(X, Y, checkpoint=path)


def killed_at_the_end():
    raise Killed


def test_the_command_line(tmp_path, monkeypatch):
    table, out, path = tmp_path / "rows.csv", tmp_path / "m.minrisk", tmp_path / "fit.checkpoint"
    table.write_text("a,b,c,d,e,y\n" + "\n".join(",".join(map(str, [*x, y])) for x, y in zip(X, Y, strict=True)))
    run = ["fit", str(table), "--target", "y", "--out", str(out), "--method", "rebel", "--n-jobs", "1"]
    assert CliRunner().invoke(app, run).exit_code == 0
    whole, run = out.read_bytes(), [*run, "--checkpoint", str(path)]
    with pytest.raises(Killed):
        killed(lambda path: CliRunner().invoke(app, run, catch_exceptions=False), path, 7, monkeypatch)
    assert path.exists()
    assert CliRunner().invoke(app, run).exit_code == 0
    assert out.read_bytes() == whole and not path.exists()
    with monkeypatch.context() as patch:  # the rounds are there as long as the model is not
        patch.setattr("minrisk.cli.fit._keep", lambda *given: killed_at_the_end())
        with pytest.raises(Killed):
            CliRunner().invoke(app, run, catch_exceptions=False)
    assert path.exists()
    assert CliRunner().invoke(app, run).exit_code == 0
    assert out.read_bytes() == whole and not path.exists()
    path.write_text("mine")
    found = CliRunner().invoke(app, run)
    assert found.exit_code == 2 and REFUSED in found.output.replace("\n", " ") and path.read_text() == "mine"

"""Whatever is given to fit, predict and the metrics: the right kind of answer or one clear error."""

import os
from collections import Counter

import numpy as np
import pandas as pd
import pytest

from minrisk import ALGORITHMS, REBELClassifier, metrics
from tests.helpers.odd_inputs import outcome

CASES = int(os.environ.get("MINRISK_ATTACK_CASES", 800))


def test_odd_inputs_give_an_answer_or_one_clear_error(capsys):
    outcomes = [outcome(number) for number in range(CASES)]
    assert [found for found in outcomes if found.kind not in ("answer", "error")] == []
    counted = Counter(found.kind for found in outcomes)
    assert counted["answer"] > CASES / 5  # most checks are of what works
    assert counted["error"] > CASES / 5


@pytest.mark.parametrize(
    "weight",
    ["balanced", {0: 1.0}, {1.0, 2.0}, np.array("x"), b"x", object()],
    ids=["word", "dictionary", "set", "word in an array", "bytes", "object"],
)
def test_weights_that_are_no_numbers_are_named(weight):
    y = np.arange(24) % 3
    with pytest.raises(ValueError, match="sample_weight must hold a number for each row"):
        REBELClassifier(n_estimators=3).fit(np.eye(24), y, sample_weight=weight)
    with pytest.raises(ValueError, match="sample_weight must hold a number for each row"):
        metrics.expected_cost(y, y, sample_weight=weight)


def test_labels_that_cannot_be_told_apart_are_named():
    with pytest.raises(ValueError, match=r"y_true must hold numbers or texts, got set '\{0\}' in row 0"):
        metrics.best_constant_cost([{0}, {1}])


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_new_rows_in_a_frame_whose_names_are_the_same(algorithm):
    X, y = np.random.default_rng(0).normal(size=(24, 3)), np.arange(24) % 3
    fitted = algorithm(n_estimators=3).fit(X, y)
    with pytest.raises(ValueError, match="different names, got 'a' more than once"):
        fitted.predict(pd.DataFrame(X, columns=["a", "a", "b"]))


def test_columns_in_a_dict_are_no_table():
    with pytest.raises(
        ValueError, match=r"^X must be a table or an array, got dict: make a table of it, pandas.DataFrame\(X\)\.$"
    ):
        REBELClassifier(n_estimators=3).fit({"a": [1.0, 2.0]}, [0, 1])


def test_what_is_no_table_is_told_in_one_sentence():
    X, y = np.random.default_rng(0).normal(size=(24, 3)), np.arange(24) % 3
    fitted = REBELClassifier(n_estimators=3).fit(pd.DataFrame(X, columns=["a", "b", "c"]), y)
    wrong = {
        r"with a row for each sample, got None\.": None,
        "got 'train.csv': read the file first": "train.csv",
        "got a list of dicts: make a table of it": [{"a": 1.0, "b": 2.0, "c": 3.0}] * 24,
        r"got ndarray of shape \(24,\)\. Reshape your data: .* give X before y": y,
        r"got Series of shape \(3,\)\. Reshape your data: X.to_frame\(\).T if it is one row": pd.Series(
            X[0], ["a", "b", "c"]
        ),
        r"got list of shape \(3,\)\. Reshape your data": X[0].tolist(),
        r"got a list of texts such as 'good': give X before y if these are labels": ["good", "bad"] * 12,
        r"got texts such as 'good' in an array: .* and X before y": np.array([["good"], ["bad"]] * 12),
        r"must be a table or an array, got set: make a table of it": {"good", "bad"},
        "Complex data not supported: X must hold real numbers, got complex128": X * 1j,
    }
    for told, given in wrong.items():
        for use in (lambda X: REBELClassifier(n_estimators=3).fit(X, y), fitted.predict):
            with pytest.raises(ValueError, match=told) as raised:
                use(given)
            assert "\n" not in str(raised.value)


# -- NumPy's longer floats ---------------------------------------------------------------------------------------------
BEYOND = np.longdouble("1e400")
long_floats = pytest.mark.skipif(np.isinf(BEYOND), reason="NumPy's longest floats are those of 64 bits here")


def with_one_beyond(numbers, at):
    numbers = np.asarray(numbers, dtype=np.longdouble).copy()
    numbers[at] = BEYOND
    return numbers


@long_floats
@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize(
    "kind",
    [
        np.asarray,
        pd.DataFrame,
        lambda X: X.astype(object),
        lambda X: X.tolist(),
        lambda X: pd.DataFrame(X.astype(object)),
        lambda X: pd.DataFrame({"0": X[:, 0], "1": X[:, 1], "c": pd.Categorical(["u", "v"] * 12)}),
    ],
)
def test_features_beyond_float64_are_refused(kind):
    """They became infinite, with a warning of NumPy's."""
    X, y = np.random.default_rng(0).normal(size=(24, 2)), np.arange(24) % 3
    fitted = REBELClassifier(n_estimators=2).fit(kind(X.astype(np.longdouble)), y)
    fitted.predict(kind(X.astype(np.longdouble)))
    wrong = kind(with_one_beyond(X, (3, 1)))
    for use in (lambda: REBELClassifier(n_estimators=2).fit(wrong, y), lambda: fitted.predict(wrong)):
        with pytest.raises(ValueError, match=r"^X must hold (finite )?numbers.* in column '?1'?, row 3: "):
            use()


@long_floats
@pytest.mark.filterwarnings("error")
def test_labels_weights_and_costs_beyond_float64_are_refused():
    X, y, table = (
        np.random.default_rng(0).normal(size=(24, 2)),
        np.arange(24) % 3,
        with_one_beyond(1 - np.eye(3), (0, 1)),
    )
    model = REBELClassifier(n_estimators=2)
    for as_kind in (np.asarray, lambda numbers: numbers.astype(object)):
        with pytest.raises(ValueError, match="infinity"):
            model.fit(X, as_kind(with_one_beyond(y, 3)))
        with pytest.raises(ValueError, match="sample_weight must be finite .* got inf in row 3"):
            model.fit(X, y, sample_weight=as_kind(with_one_beyond(np.ones(24), 3)))
        for cost in (table, table[y]):
            with pytest.raises(ValueError, match="must be a finite number, got inf"):
                model.fit(X, y, cost=as_kind(cost))
        with pytest.raises(ValueError, match="must be a finite number, got inf"):
            model.fit(X, y, cost=as_kind(np.repeat(table[None], 24, axis=0)))

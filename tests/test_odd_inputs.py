"""Whatever is given to fit, predict and the metrics: the right kind of answer or one clear error."""

import os
from collections import Counter

import numpy as np
import pandas as pd
import pytest

from minrisk import ALGORITHMS, REBELClassifier, metrics
from tests.odd_inputs import outcome

CASES = int(os.environ.get("MINRISK_ATTACK_CASES", 800))


def test_odd_inputs_give_an_answer_or_one_clear_error(capsys):
    outcomes = [outcome(number) for number in range(CASES)]
    assert [found for found in outcomes if found.kind not in ("answer", "error")] == []
    counted = Counter(found.kind for found in outcomes)
    assert counted["answer"] > CASES / 5  # most checks are of what works
    assert counted["error"] > CASES / 5


@pytest.mark.parametrize("weight", ["balanced", {0: 1.0}, {1.0, 2.0}, np.array("x"), b"x", object()], ids=repr)
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

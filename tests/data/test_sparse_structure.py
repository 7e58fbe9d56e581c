"""Sparse matrices whose arrays lie: refused in one sentence at every door, whatever flags they have of themselves."""

import re

import numpy as np
import pytest
import scipy.sparse as sp

import minrisk
from minrisk import inspection
from tests.helpers.forging import one_of
from tests.helpers.odd_inputs import Outcome

N, D = 60, 7
KINDS = (sp.csr_matrix, sp.csc_matrix, sp.csr_array, sp.csc_array)
SAID = re.compile(r"\w+( of the data set '\w+')? is no sound sparse matrix of shape .*: .*\. Build it again\.")


def matrix(seed=0, kind=sp.csr_matrix):
    rng = np.random.default_rng(seed)
    return kind(rng.poisson(0.6, size=(N, D)).astype(float))


def made_labels(dense):
    return (dense[:, 0] + dense[:, 1] > dense[:, 2]).astype(int) + (dense[:, 3] > 1)


@pytest.fixture(scope="module")
def labels():
    return made_labels(matrix().toarray())


@pytest.fixture(scope="module")
def model(labels):
    return minrisk.REBELClassifier(n_estimators=5, max_depth=2).fit(matrix(), labels)


def meaning(X):
    """What compressed arrays say, entry by entry; None where they say nothing."""
    rows = np.zeros(X.shape if X.format == "csr" else X.shape[::-1])
    n, d = rows.shape
    ends, places, values = (part.tolist() for part in (X.indptr, X.indices, X.data))
    if (
        X.indptr.dtype.kind != "i"
        or X.indices.dtype.kind != "i"
        or len(ends) != n + 1
        or ends[0] != 0
        or len(places) != len(values)
    ):
        return None
    for i in range(n):
        if not 0 <= ends[i] <= ends[i + 1] <= len(values):
            return None
        for place, value in zip(places[ends[i] : ends[i + 1]], values[ends[i] : ends[i + 1]], strict=True):
            if not 0 <= place < d:
                return None
            rows[i, place] += value
    return rows if X.format == "csr" else rows.T


def forge(rng, X):
    """Some entries, lengths or dtypes of the arrays of a compressed matrix changed, as they are and as their flags say."""
    X.has_canonical_format  # noqa: B018 - which it then keeps
    for _ in range(one_of(rng, (1, 1, 2, 4))):
        name = one_of(rng, ("indptr", "indices", "data"))
        array = getattr(X, name).copy()
        way = int(rng.integers(7))
        if way == 0 and name != "data" and array.dtype.kind == "i":
            wanted = one_of(rng, (-1, 0, 1, D - 1, D, N, 10**6, 2**31 - 1, -(2**31), len(X.data)))
            array[rng.integers(len(array))] = np.array(wanted).astype(array.dtype)
        elif way == 1:
            array = array[: one_of(rng, (0, -1, -7, 1))]
        elif way == 2:
            array = np.append(array, array[-3:])
        elif way == 3:
            low = int(rng.integers(len(array)))
            array[low : low + 4] = array[low : low + 4][::-1]
        elif way == 4 and name != "data":
            array = array.astype(one_of(rng, (np.int64, np.int16, np.uint32, np.float64, ">i4", bool)))
        elif way == 5 and name == "indices":
            array[1:] = np.where(rng.random(len(array) - 1) < 0.2, array[:-1], array[1:])
        elif way == 6:
            array = rng.permutation(array)
        if len(array):
            setattr(X, name, array)
    return X


def attack(first, last):
    """What comes of forged matrices with these numbers, as `benchmarks.attack_cases` counts it."""
    dense = matrix().toarray()
    model = minrisk.REBELClassifier(n_estimators=5, max_depth=2).fit(dense, made_labels(dense))
    for number in range(first, last):
        X = forge(np.random.default_rng([3, number]), matrix(kind=KINDS[number % len(KINDS)]))
        before, meant, name = (
            [part.copy() for part in (X.indptr, X.indices, X.data)],
            meaning(X),
            f"sparse matrix {number}",
        )
        try:
            decided = model.predict(X)
        except ValueError as error:
            right = SAID.fullmatch(str(error)) and meant is None
            yield Outcome("error" if right else "wrong", name, str(error))
            continue
        same = [np.array_equal(part, old) for part, old in zip((X.indptr, X.indices, X.data), before, strict=True)]
        right = meant is not None and np.array_equal(decided, model.predict(meant)) and all(same)
        yield Outcome("answer" if right else "wrong", name, "another answer, or another matrix than before")


def test_forged_matrices_mean_what_they_say_or_are_refused():
    found = list(attack(0, 1200))
    assert not [one for one in found if one.kind == "wrong"]
    assert sum(one.kind == "error" for one in found) > 400 and sum(one.kind == "answer" for one in found) > 200


def set_place(name, at, value):
    def change(X):
        getattr(X, name)[at] = value

    return change


def set_array(name, made):
    def change(X):
        setattr(X, name, made(X))

    return change


@pytest.mark.parametrize(
    ("form", "change"),
    [
        ("csr", set_array("data", lambda X: None)),
        ("csr", set_array("indices", lambda X: X.indices.tolist())),
        ("csr", set_array("_shape", lambda X: (N, D - 1))),
        ("csr", set_array("_shape", lambda X: (N + 1, D))),
        ("csr", set_array("data", lambda X: X.data[:, None])),
        ("bsr", set_place("indices", 3, 4000)),
        ("bsr", set_array("data", lambda X: X.data[:, :1])),
        ("coo", lambda X: X.coords[1].__setitem__(3, 4000)),
        ("coo", lambda X: X.coords[0].__setitem__(3, -4)),
        ("coo", set_array("data", lambda X: X.data[:5])),
        ("lil", lambda X: X.rows[3].append(4000)),
        ("lil", lambda X: (X.rows[3].append(4000), X.data[3].append(1.0))),
        ("lil", set_array("rows", lambda X: X.rows[:5])),
        ("lil", lambda X: (X.rows[3].append(1.5), X.data[3].append(1.0))),
        ("dia", set_array("data", lambda X: X.data[:2])),
        ("dok", lambda X: X._dict.update({(3, 4000): 1.0})),
        ("coo", set_array("_shape", lambda X: (N, D, 1))),
    ],
)
def test_every_format_has_the_gate(form, change, model):
    X = (matrix().tobsr((2, 1)) if form == "bsr" else matrix().asformat(form)).copy()
    np.testing.assert_array_equal(model.predict(X), model.predict(matrix()))
    change(X)
    with pytest.raises(ValueError) as caught:
        model.predict(X)
    assert SAID.fullmatch(str(caught.value)), str(caught.value)


def test_numbers_in_another_order_of_bytes_are_read(model):
    X = matrix()
    for name in ("data", "indices", "indptr"):
        swapped = matrix()
        setattr(swapped, name, getattr(X, name).astype(getattr(X, name).dtype.newbyteorder(">")))
        np.testing.assert_array_equal(model.predict(swapped), model.predict(X))


def bad(n=N):
    X = matrix()[:n]
    X.indices[0] = 2**31 - 1
    return X


@pytest.mark.parametrize("kind", minrisk.ALGORITHMS, ids=lambda kind: kind.__name__)
def test_every_estimator_has_the_gate(kind, labels):
    with pytest.raises(ValueError, match=r"^X is no sound sparse matrix"):
        kind(n_estimators=2).fit(bad(), labels)


DOORS = {
    **{
        name: lambda m, y, name=name: getattr(m, name)(bad())
        for name in ("predict", "predict_proba", "decision_function")
    },
    "score": lambda m, y: m.score(bad(), y),
    "staged_predict": lambda m, y: list(m.staged_predict(bad())),
    "shap_values": lambda m, y: inspection.shap_values(m, bad(), matrix()),
    "background": lambda m, y: inspection.shap_values(m, matrix(), bad()),
    "cost_importances": lambda m, y: inspection.cost_importances(m, bad(), matrix()),
    "why": lambda m, y: inspection.why(m, bad(1), matrix(), y),
    "why others": lambda m, y: inspection.why(m, matrix()[:1], bad(), y),
    "report": lambda m, y: inspection.report(m, bad(), y),
    "to_frame": lambda m, y: inspection.to_frame(m, bad()),
    "to_shap": lambda m, y: inspection.to_shap(m, bad()),
    "wide_columns": lambda m, y: inspection.wide_columns(m, bad()),
    "confusion": lambda m, y: inspection.CostConfusionDisplay.from_estimator(m, bad(), y),
    "compare": lambda m, y: minrisk.compare(bad(), y, methods=["rebel"], cv=2),
    "eval_set": lambda m, y: minrisk.REBELClassifier(n_estimators=2).fit(matrix(), y, eval_set=[(bad(), y)]),
}


@pytest.mark.parametrize("door", DOORS)
def test_every_door_has_the_gate(door, model, labels):
    with pytest.raises(ValueError, match="is no sound sparse matrix"):
        DOORS[door](model, labels)

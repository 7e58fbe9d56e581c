"""What is read of an estimator is of one fit, wherever in its reading another thread's fit replaces all attributes.

No thread is needed to try that: attributes are replaced as `fit` does it, at a call that is counted off.
"""

import sys
from copy import copy
from functools import partial

import numpy as np
import pytest

import minrisk
from minrisk import export, inspection
from minrisk.estimator.inputs import one_fit
from tests.helpers.ways import fitted, rows

PLACES = 40  # calls at which attributes are replaced: the first ones, then some between them and the last
X = rows()[0]
pytestmark = pytest.mark.filterwarnings("ignore::UserWarning")  # of columns without names


def saved(model, folder):
    minrisk.save(model, folder / "m")
    return (folder / "m").read_bytes()


def compacted(model, folder):
    smaller = minrisk.compact(model, max_excess=1.0)
    return repr((smaller.n_iter_, smaller.train_loss_, smaller.selection_, smaller.predict(X)))


READERS = {
    "save": saved,
    "compact": compacted,
    "predict": lambda model, folder: model.predict(X).tobytes(),
    "predict by costs": lambda model, folder: model.predict(X, cost=1 - np.eye(3), max_excess=0.01).tobytes(),
    "predict_proba": lambda model, folder: model.predict_proba(X).tobytes(),
    "score": lambda model, folder: model.score(X, rows()[1]),
    "feature_importances_": lambda model, folder: model.feature_importances_.tobytes(),
    "to_json": lambda model, folder: export.to_json(model),
    "linear_features": lambda model, folder: export.linear_features(model)(X).tobytes(),
    "to_frame": lambda model, folder: inspection.to_frame(model, X[:5]).to_csv(),
    "why": lambda model, folder: repr(inspection.why(model, X[0])),
    "shap_values": lambda model, folder: repr(inspection.shap_values(model, X[:2], X, of="cost").values),
    "cost_importances": lambda model, folder: repr(inspection.cost_importances(model, X[:5])),
    "wide_columns": lambda model, folder: inspection.wide_columns(model, X).tobytes(),
}
OTHERS = {  # estimators for what is not about the flagship
    "explain": ("similarities", lambda model, folder: repr(inspection.explain(model, X[:2]))),
    "to_shap": ("rebel", lambda model, folder: repr(inspection.to_shap(model, X)["trees"])),
}
CASES = {of: ("minrisk", read) for of, read in READERS.items()} | OTHERS


def answer(read, model, folder):
    """What is read, or why it cannot be."""
    try:
        return read(model, folder)
    except (ValueError, TypeError) as error:
        return repr(error)


def replaced_at(read, first, second, place, folder):
    """What is read where the attributes are replaced at that call within the package, and how many calls there were."""
    model, n_calls = copy(first), 0

    def count(frame, event, argument):
        nonlocal n_calls
        if event == "call" and "minrisk" in frame.f_globals.get("__name__", ""):
            if n_calls == place:
                model.__dict__ = dict(vars(second))
            n_calls += 1

    before = sys.getprofile()
    sys.setprofile(count)
    try:
        return answer(read, model, folder), n_calls
    finally:
        sys.setprofile(before)


@pytest.fixture(scope="module")
def fits():
    """Two of each estimator, to different data: the second has other classes, and another number of rounds."""
    made = {}
    for name in {name for name, _ in CASES.values()}:
        first = fitted(name, 0, n_jobs=1)
        second = copy(first).set_params(n_estimators=first.n_estimators - 1).fit(*rows(1))
        made[name] = first, second
    return made


@pytest.mark.parametrize("of", CASES)
def test_what_is_read_is_of_one_fit(of, fits, tmp_path):
    name, read = CASES[of]
    first, second = fits[name]
    allowed = [answer(read, model, tmp_path) for model in (first, second)]
    assert allowed[0] != allowed[1] and not str(allowed[0]).startswith(("ValueError", "TypeError"))
    ask = partial(replaced_at, read, first, second, folder=tmp_path)
    whole, n_calls = ask(place=-1)
    assert whole == allowed[0]
    for place in {*range(min(PLACES, n_calls)), *np.linspace(0, n_calls - 1, PLACES).astype(int).tolist()}:
        assert ask(place=place)[0] in allowed, f"a mixture, where attributes are replaced at call {place} of {n_calls}"


def test_other_estimators_are_read_as_they_are():
    other = object()
    assert one_fit(other) is other

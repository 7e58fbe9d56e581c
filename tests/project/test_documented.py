"""Every public name stands once in the API reference, and its docstring has the sections that a reader looks for."""

import ast
import importlib
import inspect
import re
import textwrap
from pathlib import Path

import pytest

import minrisk
from minrisk.algorithms import ALGORITHMS

numpydoc = pytest.importorskip("numpydoc")
from numpydoc.docscrape import NumpyDocString  # noqa: E402
from numpydoc.validate import validate  # noqa: E402

PAGE = Path(__file__).parents[2] / "docs" / "api" / "index.md"
MODULES = ("costs", "metrics", "inspection", "export", "comparison")
# What numpydoc.validate has to say and is heeded: sections, parameters, and what stands about each of them.
WRONG = {
    "GL03",
    "GL07",
    "GL08",
    "SS01",
    "SS02",
    "SS03",
    "SS06",
    "PR01",
    "PR02",
    "PR03",
    "PR04",
    "PR05",
    "PR07",
    "PR10",
    "RT01",
    "RT03",
    "YD01",
}
# The house list, as of docs/prose.py: words in this project's sense that readers stumble over.
HOUSE = re.compile(
    r"\b(dear(er|est|ly)?|anew|likewise|parts? the classes|found out|told of|(of|the|other|these|all) tries)\b",
    re.IGNORECASE,
)
OF_OTHERS = {"get_params", "set_params", "get_metadata_routing", "count", "index", "add_note", "with_traceback"}
CALLED = {"predict_proba", "staged_predict_proba"}  # properties that give a method


def public_names():
    """Where a user finds each name first: `minrisk.CostMatrix`, not `minrisk.costs.CostMatrix`."""
    found = {}
    for name in minrisk.__all__:
        if name not in MODULES:
            found[f"minrisk.{name}"] = getattr(minrisk, name)
    for part in MODULES:
        module = importlib.import_module(f"minrisk.{part}")
        for name in module.__all__:
            given = getattr(module, name)
            if not any(given is other for other in found.values()):
                found[f"minrisk.{part}.{name}"] = given
    return found


PUBLIC = public_names()
DOCUMENTED = {name: given for name, given in PUBLIC.items() if name != "minrisk.ALGORITHMS"}
ESTIMATORS = {f"minrisk.{method.__name__}": method for method in ALGORITHMS}


def methods_of(name, given):
    """Names of the public methods of a class that are ours, and the functions."""
    for attribute in dir(given):
        if attribute.startswith("_") or attribute in OF_OTHERS or attribute.endswith("_request"):
            continue
        method = inspect.getattr_static(given, attribute)
        if isinstance(method, (classmethod, staticmethod)):
            method = method.__func__
        if attribute in CALLED:
            yield f"{name}.{attribute}", getattr(method, "fget", method)
        elif inspect.isfunction(method):
            yield f"{name}.{attribute}", method


METHODS = {
    full: method
    for name, given in DOCUMENTED.items()
    if inspect.isclass(given)
    for full, method in methods_of(name, given)
}


def entries():
    """Full names in the lists of the page, in their order."""
    module, listing = "", False
    for line in PAGE.read_text(encoding="utf-8").splitlines():
        if found := re.match(r"\.\. currentmodule:: (\S+)", line):
            module = found[1]
        elif found := re.match(r"\.\. py:data:: (\w+)", line):
            yield f"{module}.{found[1]}"
        elif line.startswith(".. autosummary::"):
            listing = True
        elif line.startswith("```"):
            listing = False
        elif listing and (found := re.match(r"   (\w+)$", line)):
            yield f"{module}.{found[1]}"


def docstring_of(name):
    given = DOCUMENTED.get(name, METHODS.get(name))
    return NumpyDocString(inspect.getdoc(given))


def signature_of(name):
    given = DOCUMENTED.get(name, METHODS.get(name))
    parameters = list(inspect.signature(given).parameters.values())
    return parameters[1:] if name in METHODS else parameters


def test_the_reference_names_everything_once():
    listed = list(entries())
    assert len(listed) == len(set(listed)), "a name stands there twice"
    assert set(PUBLIC) <= set(listed), f"missing: {set(PUBLIC) - set(listed)}"
    for name in set(listed) - set(PUBLIC):  # what functions return
        module, _, attribute = name.rpartition(".")
        assert inspect.isclass(getattr(importlib.import_module(module), attribute)), name


def test_lists_of_methods_say_what_the_pages_of_the_methods_say(monkeypatch):
    monkeypatch.syspath_prepend(PAGE.parents[1])
    lists = importlib.import_module("lists")
    assert not lists.renewed(), "python docs/lists.py writes them"


def test_the_reference_names_every_command_once():
    from minrisk.cli.app import app

    assert sorted(
        re.findall(r"^\| \{ref\}`minrisk (\w+) <command-\1>`", PAGE.read_text(encoding="utf-8"), re.MULTILINE)
    ) == sorted(app.commands)


@pytest.mark.parametrize(
    "name",
    [*DOCUMENTED, *(name for name in METHODS if name.split(".")[1] not in {x.split(".")[1] for x in ESTIMATORS})],
)
def test_numpydoc_finds_nothing_wrong(name):
    found = [(code, text) for code, text in validate(name)["errors"] if code in WRONG]
    is_class = inspect.isclass(DOCUMENTED.get(name))
    if is_class and issubclass(DOCUMENTED[name], Exception):
        found = [(code, text) for code, text in found if not code.startswith("PR")]
    assert not found


@pytest.mark.parametrize(
    "name", [name for name in METHODS if name.startswith(("minrisk.MinRiskClassifier.", "minrisk.REBELClassifier."))]
)
def test_methods_of_estimators_are_whole(name):
    """One of them stands for all: they share these methods."""
    documented, taken = docstring_of(name), {parameter.name for parameter in signature_of(name)}
    if name.rpartition(".")[2] in CALLED:
        taken = {"X", "priors"} if name == "minrisk.MinRiskClassifier.predict_proba" else {"X"}
    assert {p.name.lstrip("*") for p in documented["Parameters"]} == taken
    assert documented["Returns"] or documented["Yields"]
    assert all(
        part.desc
        for part in (*documented["Parameters"], *documented["Returns"], *documented["Yields"], *documented["Raises"])
    )


@pytest.mark.parametrize("name", [*DOCUMENTED, *METHODS])
def test_types_and_defaults_agree_with_the_signature(name):
    given = DOCUMENTED.get(name)
    if inspect.isclass(given) and issubclass(given, Exception):
        return
    told = {p.name.lstrip("*"): p.type for p in docstring_of(name)["Parameters"]}
    for parameter in signature_of(name):
        if parameter.name == "self" or (name.rpartition(".")[2] in CALLED):
            continue
        text = told[parameter.name]
        assert text, f"{name}: {parameter.name} has no type"
        stated = re.search(r"(?:, )?default=(.*)$", text)
        if parameter.default is inspect.Parameter.empty:
            assert stated is None, f"{name}: {parameter.name} has no default"
            assert "optional" not in text or parameter.kind in (parameter.VAR_KEYWORD, parameter.VAR_POSITIONAL)
        elif parameter.default is None:
            assert text.endswith("optional"), f"{name}: {parameter.name} is optional"
        else:
            assert stated is not None, f"{name}: {parameter.name} has the default {parameter.default!r}"
            assert ast.literal_eval(stated[1]) == parameter.default, f"{name}: {parameter.name}"


@pytest.mark.parametrize("name", [*DOCUMENTED, *METHODS])
def test_what_raises_says_so(name):
    given = METHODS.get(name, DOCUMENTED.get(name))
    if inspect.isclass(given):
        return
    given = inspect.unwrap(given)
    tree = ast.parse(textwrap.dedent(inspect.getsource(given)))
    raised = {
        node.exc.func.id
        for node in ast.walk(tree)
        if isinstance(node, ast.Raise) and isinstance(node.exc, ast.Call) and isinstance(node.exc.func, ast.Name)
    }
    documented = " ".join(part.type for part in docstring_of(name)["Raises"])
    assert all(error in documented for error in raised), f"{name} raises {raised}, and says {documented!r}"


@pytest.mark.parametrize("name", DOCUMENTED)
def test_every_name_has_an_example(name):
    examples = "\n".join(docstring_of(name)["Examples"])
    assert ">>> " in examples
    assert re.search(r"(from|import) .*\bminrisk\b", examples), "what is shown is to be copied"


@pytest.mark.parametrize(
    "name",
    [name for name in ESTIMATORS] + ["minrisk.compare", "minrisk.inspection.shap_values", "minrisk.inspection.explain"],
)
def test_methods_of_papers_name_them(name):
    assert any(".. [1]" in line for line in docstring_of(name)["References"])


@pytest.mark.parametrize("name", ESTIMATORS)
def test_estimators_document_what_a_fit_leaves(name):
    from sklearn.datasets import load_iris

    X, y = load_iris(return_X_y=True)
    model = ESTIMATORS[name](n_estimators=2).fit(X, y)
    told = {p.name for p in docstring_of(name)["Attributes"]}
    left = {attribute for attribute in vars(model) if attribute.endswith("_") and not attribute.startswith("_")}
    assert left | {"feature_importances_"} <= told, left - told
    assert all(p.type and p.desc for p in docstring_of(name)["Attributes"])


@pytest.mark.parametrize("name", [*DOCUMENTED, *METHODS])
def test_words_of_the_house_list_do_not_occur(name):
    text = inspect.getdoc(METHODS.get(name, DOCUMENTED.get(name)))
    assert HOUSE.search(text) is None, HOUSE.search(text)


@pytest.mark.parametrize(
    "page",
    [
        "docs/more/developers/design.md",
        "docs/more/developers/adding_an_algorithm.md",
        "docs/more/developers/model_files.md",
        "docs/more/trust.md",
        "CONTRIBUTING.md",
    ],
)
def test_files_that_pages_name_are_there(page):
    root = Path(__file__).parents[2]
    named = re.findall(r"`((?:\w+/)+\w+\.py)`", (root / page).read_text(encoding="utf-8"))
    assert [
        name for name in named if not any((root / base / name).is_file() for base in ("", "minrisk", "tests"))
    ] == []

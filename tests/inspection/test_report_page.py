"""The page about a model: whole HTML without a network, numbers as the metrics have them, text of others escaped."""

import matplotlib as mpl

mpl.use("Agg")

import base64
import html
import re
import tracemalloc
import xml.etree.ElementTree as ET
from html.parser import HTMLParser

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
from scipy.sparse import csr_matrix
from sklearn.calibration import calibration_curve
from sklearn.datasets import load_iris, load_wine, make_classification
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import log_loss

from minrisk import (
    ALGORITHMS,
    CostMatrix,
    LocalizedSimilaritiesClassifier,
    MinRiskClassifier,
    REBELClassifier,
    StructBoostClassifier,
)
from minrisk.inspection import CostConfusionDisplay, report, shap_values, why
from minrisk.inspection.plotting import plain
from minrisk.inspection.report_page import JudgedRows, MeanValue, _with_error
from minrisk.metrics import best_constant_cost, cost_confusion_matrix, expected_cost
from tests.helpers.command_line import invoke, refused, run
from tests.helpers.common import fits_of, slow_after, slow_but

ODD = np.array(["<script>alert(1)</script>", "$\\foo$ & co", "größe \x1b[2J"])
COST = CostMatrix([[0, 1, 5], [2, 0, 1], [9, 4, 0]], classes=ODD)
VOID = {"meta", "img", "br", "link"}


class Page(HTMLParser):
    """Tags that are closed in order, tables as texts, and all that a browser would fetch."""

    def __init__(self, text):
        super().__init__(convert_charrefs=True)
        self.open, self.seen, self.fetched, self.tables, self.headings, self.pictures = [], set(), [], [], [], []
        self.feed(text)
        self.close()
        assert self.open == [] and text.startswith("<!DOCTYPE html>")

    def handle_starttag(self, tag, attrs):
        attrs = dict(attrs)
        self.seen.add(tag)
        if tag not in VOID:
            self.open.append(tag)
        for name in ("src", "href", "action", "data", "poster", "srcset"):
            if name in attrs:
                self.fetched.append(attrs[name])
        if tag == "img":
            assert attrs["alt"]
            self.pictures.append(attrs["src"])
        if tag == "table":
            self.tables.append([])
        if tag == "tr":
            self.tables[-1].append([])
        if tag in ("td", "th"):
            self.tables[-1][-1].append("")

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        if self.open and self.open[-1] in ("td", "th"):
            self.tables[-1][-1][-1] += data
        if self.open and self.open[-1] == "h2":
            self.headings.append(data)


def checked(text):
    """The page, after what must hold of every one."""
    page = Page(text)
    assert not page.seen & {"script", "link", "iframe", "object"} and "@import" not in text and "url(" not in text
    assert all(found.startswith("data:image/svg+xml;base64,") for found in page.fetched)
    assert not re.search(r"[\x00-\x08\x0b-\x1f\x7f]", text)
    for picture in page.pictures:
        svg = ET.fromstring(base64.b64decode(picture.partition(",")[2]))
        assert svg.tag.endswith("svg")
        for node in svg.iter():
            assert all(value.startswith(("#", "data:")) for name, value in node.attrib.items() if name.endswith("href"))
    assert "prefers-color-scheme: dark" in text and "@media print" in text and plt.get_fignums() == []
    return page


def costs_of(truth, decision):
    return COST.values[COST.classes.index(truth), COST.decisions.index(decision)]


def told(page, header):
    """The lines of the table that begins with this header."""
    (table,) = [table for table in page.tables if table[0][: len(header)] == header]
    return table[1:]


@pytest.fixture(autouse=True)
def no_figures():
    """Other tests, and pages of the documents, may have left some."""
    plt.close("all")


@pytest.fixture(scope="module")
def wine():
    X, y = load_wine(return_X_y=True)
    return X[:, :6], ODD[y]


@pytest.fixture(scope="module")
def fitted(wine):
    return fits_of(*wine)


@pytest.fixture(scope="module")
def halved(wine):
    return fits_of(wine[0][::2], wine[1][::2])


PAGES = (MinRiskClassifier, REBELClassifier, LocalizedSimilaritiesClassifier, StructBoostClassifier)


@pytest.mark.parametrize("cls", slow_but(PAGES, ALGORITHMS), ids=lambda cls: cls.__name__)
def test_every_algorithm(cls, wine, halved):
    X, y = wine
    model = halved(cls(COST, n_estimators=5, random_state=0))
    page = checked(report(model, X[1::2], y[1::2], title="A <b>title</b>"))
    assert page.headings[:3] == ["Model", "Risk", "Where the cost comes from"]
    headings = [heading for heading in page.headings if heading != "What moves the expected cost"]
    assert headings[-3:] == (["Members"] if cls is MinRiskClassifier else ["Calibration"]) + [
        "Importances",
        "Worst rows",
    ]
    risk = {line[0]: line[1:] for line in told(page, ["", "model"])}
    decided = model.predict(X[1::2])
    assert risk["mean cost"][0].split(" ± ")[0] == plain(expected_cost(y[1::2], decided, COST))
    assert risk["mean cost"][1].split(" ± ")[0] == plain(best_constant_cost(y[1::2], COST))
    assert risk["errors"][0].split(" ± ")[0] == plain(np.mean(decided != y[1::2]))
    assert ("log-loss" in risk) == hasattr(model, "predict_proba")
    if "log-loss" in risk:
        assert risk["log-loss"][0].split(" ± ")[0] == plain(
            log_loss(y[1::2], model.predict_proba(X[1::2]), labels=model.classes_)
        )
    cells = cost_confusion_matrix(y[1::2], decided, COST)
    dearest = told(page, ["true class", "decision", "rows"])[0]
    assert dearest[3] == plain(cells.max())
    worst = told(page, ["row", "true class"])
    assert float(worst[0][3]) == max(costs_of(a, b) for a, b in zip(y[1::2], decided, strict=True))


def test_labels_are_shown_as_text(wine, fitted):
    X, y = wine
    text = report(fitted(MinRiskClassifier(n_estimators=3, random_state=0)), X, y)
    page = checked(text)
    assert "<script>" not in text and "&lt;script&gt;" in text
    assert any("$\\foo$ & co" in cell for table in page.tables for row in table for cell in row)


def naive_standard_error(values, weight):
    mean = sum(w * v for w, v in zip(weight, values, strict=True)) / sum(weight)
    n = sum(w > 0 for w in weight)
    return (sum(w**2 * (v - mean) ** 2 for w, v in zip(weight, values, strict=True)) * n / (n - 1)) ** 0.5 / sum(weight)


def test_means_and_errors_with_weights(wine, halved):
    X, y = wine
    model = halved(MinRiskClassifier(COST, n_estimators=5, random_state=0))
    X, y = X[1::2], y[1::2]
    weight = np.random.default_rng(0).integers(0, 4, len(y)).astype(float)
    rows = JudgedRows(model, X, y, None, weight)
    decided = model.predict(X)
    mean = rows.mean(rows.costs)
    assert mean.mean == pytest.approx(expected_cost(y, decided, COST, sample_weight=weight))
    assert mean.error == pytest.approx(naive_standard_error(rows.costs, weight))
    constant = rows.mean(rows.costs_of_constant)
    assert constant.mean == pytest.approx(best_constant_cost(y, COST, sample_weight=weight))
    assert rows.mean(rows.log_loss()).mean == pytest.approx(
        log_loss(y, model.predict_proba(X), sample_weight=weight, labels=model.classes_)
    )
    expected = rows.expected
    np.testing.assert_array_equal(rows.compared, rows.costs)
    p = model.predict_proba(X)[:, [list(model.classes_).index(label) for label in COST.classes]]
    np.testing.assert_allclose(
        expected, [(p @ COST.values)[n, list(COST.decisions).index(d)] for n, d in enumerate(decided)]
    )
    totals, counts = (rows.samples.in_cells(each) for each in (weight * rows.costs, weight))
    np.testing.assert_allclose(
        totals, cost_confusion_matrix(y, decided, COST, labels=rows.samples.classes, sample_weight=weight)
    )
    assert counts.sum() == weight.sum()
    unweighted = JudgedRows(model, X, y, None, None)
    assert unweighted.mean(unweighted.costs).error == pytest.approx(unweighted.costs.std(ddof=1) / len(y) ** 0.5)
    checked(report(model, X, y, sample_weight=weight))


@pytest.mark.parametrize("labels", [ODD, np.array([3, 5, 8])], ids=["texts", "numbers"])
@pytest.mark.parametrize("prices", [[0.7], [0.6, 0.55]], ids=["one", "two"])
def test_referred_rows_are_told_apart_from_errors(wine, labels, prices):
    X, y = wine[0][:, 1:4], labels[np.searchsorted(np.sort(ODD), wine[1])]
    names = ["refer"] if len(prices) == 1 else ["nurse", "<b>doctor</b>"]
    names = [-1, -2][: len(prices)] if labels is not ODD else names
    table = np.column_stack(
        [2 * (1 - np.eye(3)), *(np.full(3, price) + 0.1 * np.roll(np.arange(3), j) for j, price in enumerate(prices))]
    )
    cost = CostMatrix(table, labels.tolist(), [*labels.tolist(), *names])
    model = REBELClassifier(cost, n_estimators=5).fit(X[::2], y[::2])
    X, y = X[1::2], y[1::2]
    weight = 1.0 + np.arange(len(y)) % 3
    text = report(model, X, y, sample_weight=weight)
    risk = {line[0]: line[1:] for line in told(checked(text), ["", "model"])}
    decided = model.predict(X).tolist()
    wrong = [float(d in labels and d != true) for d, true in zip(decided, y, strict=True)]
    shares = {"errors": np.average(wrong, weights=weight)}
    for name in names:
        line = "referred" if len(names) == 1 else f"referred: {name}"
        shares[line] = np.average([d == name for d in decided], weights=weight)
    assert {line: risk[line][0].split(" ± ")[0] for line in shares} == {
        line: plain(share) for line, share in shares.items()
    }
    assert all(share > 0 for share in shares.values())
    assert sum(shares.values()) + np.average(
        [d == true for d, true in zip(decided, y, strict=True)], weights=weight
    ) == pytest.approx(1)
    best = cost.decisions[
        int(np.argmin([expected_cost(y, [d] * len(y), cost, sample_weight=weight) for d in cost.decisions]))
    ]
    assert best in names  # so it is never wrong, and always referred
    assert risk["errors"][1] == "0 ± 0"
    assert [risk[line][1] for line in list(shares)[1:]] == ["1 ± 0" if name == best else "0 ± 0" for name in names]
    assert "Both are shares of all rows" in text and "<b>doctor" not in text


def test_without_a_decision_that_is_no_class_nothing_is_referred(wine, halved):
    X, y = wine
    text = report(halved(REBELClassifier(COST, n_estimators=5)), X[1::2], y[1::2])
    assert "referred" not in text and "Errors are decisions other than the true class." in text


def test_an_error_that_is_rounding_is_none():
    found = [_with_error(MeanValue(*value)) for value in ((0.3, 5.9e-18), (0.3, 0.0096), (1.0, np.nan))]
    assert found == ["0.3 ± 0", "0.3 ± 0.0096", "1"]


def test_worst_rows(wine, halved):
    X, y = wine
    model = halved(MinRiskClassifier(COST, n_estimators=5, random_state=0))
    page = checked(report(model, X, y, n_rows=4))
    lines, decided, p = told(page, ["row", "true class"]), model.predict(X), model.predict_proba(X)
    costs = np.array([costs_of(a, b) for a, b in zip(y, decided, strict=True)])
    assert [float(line[3]) for line in lines] == sorted(costs, reverse=True)[: len(lines)] and 0 < len(lines) <= 4
    for line in lines:
        n = int(line[0])
        assert line[2] == decided[n].replace("\x1b", "\\x1b") and float(line[3]) == costs[n]
        likeliest = model.classes_[p[n].argmax()].replace("\x1b", "\\x1b")
        assert line[4].startswith(f"{likeliest} {p[n].max():.3f}")


def test_costs_by_row(wine):
    X, y = wine
    rng = np.random.default_rng(0)
    y = np.where(rng.random(len(y)) < 0.4, rng.permutation(y), y)  # so that decisions depend on costs
    urgent = np.where(y == ODD[0], np.where(X[:, 0] > 13, 10.0, 0.1), 1.0)
    costs = (1 - np.eye(3))[np.unique(y, return_inverse=True)[1]] * urgent[:, None]
    model = MinRiskClassifier(n_estimators=20, random_state=0).fit(X, y, cost=costs)
    assert len(model.cost_regression_.packed) > 0
    page = checked(report(model, X[1::2], y[1::2], cost=costs[1::2]))
    decided = np.searchsorted(model.classes_, model.predict(X[1::2]))
    own = costs[1::2][np.arange(len(decided)), decided]
    assert told(page, ["", "model"])[0][1].split(" ± ")[0] == plain(own.mean())
    assert len(page.pictures) == 3
    rows = JudgedRows(model, X[1::2], y[1::2], costs[1::2], None)
    expected = rows.expected
    np.testing.assert_allclose(rows.compared, own)
    regression, p = model.cost_regression_, model.predict_proba(X[1::2])
    by_hand = sum(p[:, j, None] * regression.of_class(X[1::2].copy(), j) for j in range(3)) * regression.unit
    np.testing.assert_allclose(expected, by_hand[np.arange(len(decided)), decided])
    with pytest.raises(ValueError, match="The fit had costs per row"):
        report(model, X, y)


@pytest.mark.parametrize(
    ("n_classes", "n_columns", "n_rows"), slow_after(1, [(2, 1, 60), (30, 40, 3000), (3, 800, 200)])
)
def test_sizes(n_classes, n_columns, n_rows):
    rng = np.random.default_rng(0)
    if n_columns == 1:
        X, y = rng.normal(size=(n_rows, 1)), rng.integers(0, 2, n_rows)
    else:
        X, y = make_classification(
            n_rows, n_columns, n_informative=20, n_classes=n_classes, n_clusters_per_class=1, random_state=0
        )
    model = MinRiskClassifier(n_estimators=5, random_state=0).fit(X, y)
    text = report(model, X, y)
    checked(text)
    assert len(text) < 4e6


def test_nothing_to_tell(wine):
    X, y = load_iris(return_X_y=True)
    model = REBELClassifier(n_estimators=20, max_depth=3).fit(X, y)
    assert model.score(X, y) == 1
    text = report(model, X, y)
    checked(text)
    assert "No decision cost anything." in text and "No decision cost more than it had to." in text
    one = checked(report(model, X[:1], y[:1]))
    assert told(one, ["", "model"])[0][1] == "0"


def test_no_rows(wine, fitted):
    X, y = wine
    model = fitted(REBELClassifier(n_estimators=2))
    with pytest.raises(ValueError, match="X must hold one row at least to be judged, got none"):
        report(model, X[:0], y[:0])


def test_a_class_that_the_model_does_not_know(wine):
    X, y = wine
    few = y != ODD[2]
    model = MinRiskClassifier(n_estimators=5, random_state=0).fit(X[few], y[few])
    cost = CostMatrix([[0, 1, 1], [1, 0, 1], [1, 1, 0]], classes=ODD)
    page = checked(report(model, X, y, cost=cost))
    assert told(page, ["", "model"])[1][1].split(" ± ")[0] == plain(np.mean(model.predict(X) != y))


def test_tables_and_sparse_rows(wine, fitted):
    X, y = wine
    frame = pd.DataFrame(X, columns=["<a>", "b", "c", "d", "e", "f"]).assign(
        colour=np.where(X[:, 0] > 13, "red", "blue")
    )
    text = report(MinRiskClassifier(n_estimators=3, random_state=0).fit(frame, y), frame, y)
    checked(text)
    assert "&lt;a&gt;" in text and "<a>" not in text
    sparse = csr_matrix(X)
    checked(report(MinRiskClassifier(n_estimators=3, random_state=0).fit(sparse, y), sparse, y))
    model = fitted(REBELClassifier(n_estimators=3))
    assert (
        report(model, X.tolist(), y.tolist(), names=list("uvwxyz")).count("<th>u</th>") <= 2
    )  # of two kinds of importances
    assert "x[0]" not in report(model, X, y, names=list("uvwxyz"))


def test_writes_a_whole_file_or_none(wine, tmp_path, fitted):
    X, y = wine
    model = fitted(REBELClassifier(n_estimators=3))
    path = tmp_path / "page.html"
    assert report(model, X, y, path) == path.read_text(encoding="utf-8") == report(model, X, y, str(path))
    with pytest.raises(ValueError):
        report(model, X, y[:5], path)
    assert path.read_text(encoding="utf-8") == report(model, X, y)
    assert [entry.name for entry in tmp_path.iterdir()] == ["page.html"]
    with pytest.raises(OSError, match="no_folder"):
        report(model, X, y, tmp_path / "no_folder" / "page.html")
    with pytest.raises(TypeError, match="report takes a fitted classifier of minrisk"):
        report(LogisticRegression(), X, y)


def test_says_how_to_get_what_it_needs(wine, monkeypatch, fitted):
    import sys

    X, y = wine
    model = fitted(REBELClassifier(n_estimators=2))
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    monkeypatch.setitem(sys.modules, "matplotlib.pyplot", None)
    with pytest.raises(ImportError, match="Pictures need matplotlib"):
        report(model, X, y)
    monkeypatch.undo()
    monkeypatch.setitem(sys.modules, "jinja2", None)
    with pytest.raises(ImportError, match=r"Pages need jinja2, .* pip install 'minrisk\[report\]'"):
        report(model, X, y)
    assert why(model, X[:1])._repr_html_() is None  # notebooks show the text then


def test_on_the_command_line(tmp_path):
    X, y = load_wine(return_X_y=True, as_frame=True)
    data = X.iloc[:, :4].assign(kind=np.array(["red", "white", "<b>"])[y], weight=1 + np.arange(len(y)) % 3)
    data.iloc[::2].to_csv(tmp_path / "train.csv", index=False)
    data.iloc[1::2].to_csv(tmp_path / "test.csv", index=False)
    model, out = tmp_path / "wine.minrisk", tmp_path / "page.html"
    run("fit", tmp_path / "train.csv", f"--target kind --weight weight --n-estimators 10 --out {model}")
    call = ("report", model, tmp_path / "test.csv", "--weight weight --rows 2", "--title", "Wine & co")
    done = invoke(*call, f"--out {out}")
    assert done.exit_code == 0 and done.stdout == "" and "89 rows judged" in done.stderr
    page = checked(out.read_text(encoding="utf-8"))
    from minrisk import load

    loaded, test = load(model), data.iloc[1::2]
    decided = loaded.predict(test[X.columns[:4]])
    risk = told(page, ["", "model"])[0][1]
    assert risk.split(" ± ")[0] == plain(expected_cost(test["kind"], decided, sample_weight=test["weight"]))
    assert len(told(page, ["row", "true class"])) <= 2 and "<h1>Wine &amp; co</h1>" in out.read_text(encoding="utf-8")
    assert run(*call, "--out -") == out.read_text(encoding="utf-8")
    for place, said in (("test.csv", "would overwrite"), ("none/page.html", "cannot be written")):
        assert said in refused("report", model, tmp_path / "test.csv", f"--out {tmp_path}/{place}")
    assert "Missing option '--out'" in refused("report", model, tmp_path / "test.csv")


# -- what moves the expected cost -----------------------------------------------------------------------------------------
MOVES = "What moves the expected cost"


def moved(text):
    """What the page says below that heading: the bars as (name, size), and all text."""
    part = text[text.index(f"<h2>{MOVES}</h2>") :]
    part = part[: part.index("</section>")]
    bars = re.findall(r'<tr><th>(.*?)</th>.*?<td class="number">(.*?)</td>', part, re.S)
    return [(html.unescape(name), float(size)) for name, size in bars], part


@pytest.fixture(scope="module")
def judged():
    X, y = load_wine(return_X_y=True, as_frame=True)
    kind = np.array(["red", "white", "rosé"])[y]
    cost = CostMatrix([[0, 1, 2], [3, 0, 1], [9, 4, 0]], classes=["red", "rosé", "white"])
    model = MinRiskClassifier(cost, n_estimators=5, random_state=0).fit(X[::2], kind[::2])
    return model, X[1::2], kind[1::2]


def sizes_of(model, X, decided, cost):
    found = shap_values(model, X, X, of="cost", decision=decided, cost=cost)
    size = np.abs(found.values).mean(axis=0)
    return {name: plain(value) for name, value in zip(found.feature_names, size, strict=True)}


@pytest.mark.parametrize("other", ["fit", "matrix", "each row"])
def test_it_explains_the_decisions_taken_under_the_costs_that_judge(judged, other):
    model, X, y = judged
    costs = {
        "fit": None,
        "matrix": CostMatrix([[0, 30, 1], [1, 0, 1], [1, 1, 0]], classes=["white", "red", "rosé"]),
        "each row": (np.ones((3, 3)) - np.eye(3)) * (1 + X["magnesium"].to_numpy())[:, None, None],
    }[other]
    bars, part = moved(report(model, X, y, cost=costs))
    decided = model.predict(X)
    if other == "matrix":
        assert (decided != model.predict(X, cost=costs)).any()  # the decisions that were taken are others
    expected = sizes_of(model, X, decided, costs)
    assert len(X) <= 100 and f"over {len(X)} of the rows" in part
    assert bars == [(name, float(expected[name])) for name, _ in bars] and len(bars) > 3
    assert [size for _, size in bars] == sorted((size for _, size in bars), reverse=True)


def test_it_says_why_it_does_not_explain(judged, wine):
    model, X, y = judged
    similar = LocalizedSimilaritiesClassifier(n_estimators=3).fit(X, y)
    trained_on_costs = REBELClassifier(COST, n_estimators=3).fit(*wine)
    own = (1 - np.eye(3))[np.searchsorted(model.classes_, y)]
    for fitted, rows, labels, cost, reason in (
        (similar, X, y, None, "the learners of this LocalizedSimilaritiesClassifier are no trees"),
        (trained_on_costs, *wine, None, "the scores of this REBELClassifier say nothing about probabilities"),
        (model, X, y, own, "these are known of each row&#39;s true class alone"),
    ):
        bars, part = moved(report(fitted, rows, labels, cost=cost))
        assert bars == [] and reason in part


def test_a_class_that_no_judged_row_has():
    """0/1 costs of rows that lack a class: each other decision is expected to be a mistake where it is true."""
    X, y = load_wine(return_X_y=True)
    model = MinRiskClassifier(n_estimators=2, pool=False, random_state=0).fit(X, y)
    X, y = X[(y > 0) & (model.predict(X) > 0)], y[(y > 0) & (model.predict(X) > 0)]
    p, decided = model.predict_proba(X), model.predict(X)
    rows = JudgedRows(model, X, y, None, None)
    assert rows.samples.classes == (1, 2)
    np.testing.assert_allclose(rows.expected, 1 - p[np.arange(len(p)), decided])
    bars, _ = moved(report(model, X, y))
    assert bars == [(name, float(sizes_of(model, X[::2], decided[::2], None)[name])) for name, _ in bars] and bars


def test_errors_in_explaining_are_not_hidden(judged, monkeypatch):
    model, X, y = judged

    def broken(*_, **__):
        raise ValueError("a fault of ours")

    monkeypatch.setattr("minrisk.inspection.report_page.ShapExplainer", broken)
    with pytest.raises(ValueError, match="a fault of ours"):
        report(model, X, y)


def test_nothing_moves_costs_of_a_model_that_learnt_nothing():
    X, y = np.zeros((20, 2)), np.arange(20) % 2
    _, part = moved(report(MinRiskClassifier(random_state=0).fit(X, y), X, y))
    assert "No column moves the expected costs" in part


# -- memory, and wrong calls ----------------------------------------------------------------------------------------------
def test_memory_does_not_grow_with_rows_times_classes():
    """Numbers for each row and class are made of some rows at a time; 40 000 rows of 40 classes would be 12.8 MB."""
    rng = np.random.default_rng(0)
    X, n_classes = rng.normal(size=(40_000, 2)), 40
    y = rng.integers(0, n_classes, len(X))
    model = MinRiskClassifier(n_estimators=1, max_depth=1, pool=False, cv=1, random_state=0).fit(X[:2000], y[:2000])
    JudgedRows(model, X[:100], y[:100], None, None)  # what is made once
    tracemalloc.start()
    rows = JudgedRows(model, X, y, None, None)
    peak = tracemalloc.get_traced_memory()[1]
    kept = tracemalloc.get_traced_memory()[0]
    tracemalloc.stop()
    assert kept < 8 * 12 * len(X)  # a dozen numbers for each row
    assert peak < 8 * n_classes * len(X), "no array of rows and classes beside those of a block"
    assert len(rows) == len(X)


def test_blocks_of_rows_change_nothing(judged, monkeypatch):
    model, X, y = judged
    weight = 1.0 + np.arange(len(y)) % 3
    for rows in (X, X.to_numpy(), csr_matrix(X.to_numpy())):
        fitted = model if rows is X else MinRiskClassifier(n_estimators=3, random_state=0).fit(rows, y)
        whole = JudgedRows(fitted, rows, y, None, weight)
        monkeypatch.setattr("minrisk.inspection.report_page._JUDGED_TOGETHER", 10)
        parts = JudgedRows(fitted, rows, y, None, weight)
        monkeypatch.undo()
        for name in ("decided", "costs", "least", "p_of_truth", "expected"):
            np.testing.assert_array_equal(getattr(parts, name), getattr(whole, name))
        for one, other in zip(parts.binned, whole.binned, strict=True):
            np.testing.assert_allclose(one, other, rtol=1e-14)


def test_bins_are_those_of_scikit_learn(judged):
    model, X, y = judged
    binned, p = JudgedRows(model, X, y, None, None).binned, model.predict_proba(X)
    for k, label in enumerate(model.classes_):
        share, given = calibration_curve(y == label, p[:, k], n_bins=10, pos_label=True)
        held = binned.rows[k] > 0
        np.testing.assert_allclose(binned.true[k][held] / binned.rows[k][held], share)
        np.testing.assert_allclose(binned.given[k][held] / binned.rows[k][held], given)


@pytest.mark.parametrize("n_rows", [-1, 1.5, "3", None, True])
def test_n_rows_is_a_whole_number(judged, n_rows):
    model, X, y = judged
    with pytest.raises(ValueError, match="report: n_rows must be a whole number at least 0"):
        report(model, X, y, n_rows=n_rows)


def test_no_worst_rows(judged):
    model, X, y = judged
    assert "None were asked for." in report(model, X, y, n_rows=0)


def test_thousands_of_labels_that_the_model_does_not_know():
    """Neither a table of all labels by all labels nor a name and a line for each in the picture."""
    X, y = load_iris(return_X_y=True)
    model = REBELClassifier(n_estimators=3).fit(X, y)
    X, labels = np.resize(X, (2500, 4)), np.arange(2500) + 3
    labels[1000:] = np.resize(y, 1500)
    labels[:90] = 7
    rows, mine = JudgedRows(model, X, labels, None, None), model.predict(X)
    assert rows.samples.values.shape == (914, 3)
    assert rows.mean(rows.costs).mean == pytest.approx(expected_cost(labels, mine))
    assert rows.mean(rows.costs_of_constant).mean == pytest.approx(best_constant_cost(labels))
    labels[:700] = 7  # no decision of the model: the best constant one all the same
    rows = JudgedRows(model, X, labels, None, None)
    assert rows.decisions[rows.constant] == "7" and rows.mean(rows.costs_of_constant).mean == pytest.approx(
        best_constant_cost(labels)
    )
    picture = CostConfusionDisplay(np.eye(1500, 3), np.eye(1500, 3), range(1500), range(3)).plot()
    assert len(picture.ax_.get_yticks()) < 150 and picture.ax_.get_yticklabels()[1].get_text() == str(
        int(picture.ax_.get_yticks()[1])
    )
    plt.close(picture.figure_)

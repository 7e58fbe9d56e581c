"""The page about a model: whole HTML without a network, numbers as the metrics have them, text of others escaped."""

import matplotlib as mpl

mpl.use("Agg")

import base64
import re
import xml.etree.ElementTree as ET
from html.parser import HTMLParser

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
from scipy.sparse import csr_matrix
from sklearn.datasets import load_iris, load_wine, make_classification
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import log_loss

from minrisk import ALGORITHMS, CostMatrix, MinRiskClassifier, REBELClassifier
from minrisk.inspection import report
from minrisk.inspection._drawing import plain
from minrisk.inspection.report_rows import JudgedRows
from minrisk.metrics import best_constant_cost, cost_confusion_matrix, expected_cost
from tests.command_line import invoke, refused, run

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


def told(page, header):
    """The lines of the table that begins with this header."""
    (table,) = [table for table in page.tables if table[0][: len(header)] == header]
    return table[1:]


@pytest.fixture(scope="module")
def wine():
    X, y = load_wine(return_X_y=True)
    return X[:, :6], ODD[y]


@pytest.mark.parametrize("cls", ALGORITHMS, ids=lambda cls: cls.__name__)
def test_every_algorithm(cls, wine):
    X, y = wine
    model = cls(COST, n_estimators=5, random_state=0).fit(X[::2], y[::2])
    page = checked(report(model, X[1::2], y[1::2], title="A <b>title</b>"))
    assert page.headings[:3] == ["Model", "Risk", "Where the cost comes from"]
    headings = [heading for heading in page.headings if heading != "What moves the expected cost"]
    assert headings[-3:] == (["Members"] if cls is MinRiskClassifier else ["Calibration"]) + ["Importances", "Worst rows"]
    risk = {line[0]: line[1:] for line in told(page, ["", "model"])}
    decided = model.predict(X[1::2])
    assert risk["mean cost"][0].split(" ± ")[0] == plain(expected_cost(y[1::2], decided, COST))
    assert risk["mean cost"][1].split(" ± ")[0] == plain(best_constant_cost(y[1::2], COST))
    assert risk["errors"][0].split(" ± ")[0] == plain(np.mean(decided != y[1::2]))
    assert ("log-loss" in risk) == hasattr(model, "predict_proba")
    if "log-loss" in risk:
        assert risk["log-loss"][0].split(" ± ")[0] == plain(log_loss(y[1::2], model.predict_proba(X[1::2]), labels=model.classes_))
    cells = cost_confusion_matrix(y[1::2], decided, COST)
    dearest = told(page, ["true class", "decision", "rows"])[0]
    assert dearest[3] == plain(cells.max())
    worst = told(page, ["row", "true class"])
    assert float(worst[0][3]) == max(COST.values[list(COST.classes).index(a), list(COST.decisions).index(b)] for a, b in zip(y[1::2], decided, strict=True))


def test_labels_are_shown_as_text(wine):
    X, y = wine
    text = report(MinRiskClassifier(n_estimators=3, random_state=0).fit(X, y), X, y)
    page = checked(text)
    assert "<script>" not in text and "&lt;script&gt;" in text
    assert any("$\\foo$ & co" in cell for table in page.tables for row in table for cell in row)


def naive_standard_error(values, weight):
    mean = sum(w * v for w, v in zip(weight, values, strict=True)) / sum(weight)
    n = sum(w > 0 for w in weight)
    return (sum(w**2 * (v - mean) ** 2 for w, v in zip(weight, values, strict=True)) * n / (n - 1)) ** 0.5 / sum(weight)


def test_means_and_errors_with_weights(wine):
    X, y = wine
    model = MinRiskClassifier(COST, n_estimators=5, random_state=0).fit(X[::2], y[::2])
    X, y = X[1::2], y[1::2]
    weight = np.random.default_rng(0).integers(0, 4, len(y)).astype(float)
    rows = JudgedRows(model, X, y, None, weight)
    decided = model.predict(X)
    mean = rows.mean(rows.costs)
    assert mean.mean == pytest.approx(expected_cost(y, decided, COST, sample_weight=weight))
    assert mean.error == pytest.approx(naive_standard_error(rows.costs, weight))
    constant = rows.mean(rows.table[:, rows.constant])
    assert constant.mean == pytest.approx(best_constant_cost(y, COST, sample_weight=weight))
    assert rows.mean(rows.log_loss()).mean == pytest.approx(log_loss(y, model.predict_proba(X), sample_weight=weight, labels=model.classes_))
    expected, actual = rows.expected()
    np.testing.assert_array_equal(actual, rows.costs)
    p = model.predict_proba(X)[:, [list(model.classes_).index(label) for label in COST.classes]]
    np.testing.assert_allclose(expected, [(p @ COST.values)[n, list(COST.decisions).index(d)] for n, d in enumerate(decided)])
    totals, counts = rows.cells()
    np.testing.assert_allclose(totals, cost_confusion_matrix(y, decided, COST, labels=rows.samples.classes, sample_weight=weight))
    assert counts.sum() == weight.sum()
    unweighted = JudgedRows(model, X, y, None, None)
    assert unweighted.mean(unweighted.costs).error == pytest.approx(unweighted.costs.std(ddof=1) / len(y) ** 0.5)
    checked(report(model, X, y, sample_weight=weight))


def test_worst_rows(wine):
    X, y = wine
    model = MinRiskClassifier(COST, n_estimators=3, random_state=0).fit(X[::2], y[::2])
    page = checked(report(model, X, y, n_rows=4))
    lines, decided, p = told(page, ["row", "true class"]), model.predict(X), model.predict_proba(X)
    costs = np.array([COST.values[list(COST.classes).index(a), list(COST.decisions).index(b)] for a, b in zip(y, decided, strict=True)])
    assert [float(line[3]) for line in lines] == sorted(costs, reverse=True)[: len(lines)] and 0 < len(lines) <= 4
    for line in lines:
        n = int(line[0])
        assert line[2] == decided[n].replace("\x1b", "\\x1b") and float(line[3]) == costs[n]
        likeliest = model.classes_[p[n].argmax()].replace("\x1b", "\\x1b")
        assert line[4].startswith(f"{likeliest} {p[n].max():.3f}")


def test_costs_by_row(wine):
    X, y = wine
    costs = (1 - np.eye(3))[np.unique(y, return_inverse=True)[1]] * (1 + np.exp(X[:, 4] / 40))[:, None]
    model = MinRiskClassifier(n_estimators=10, random_state=0).fit(X[::2], y[::2], cost=costs[::2])
    page = checked(report(model, X[1::2], y[1::2], cost=costs[1::2]))
    decided = np.searchsorted(model.classes_, model.predict(X[1::2]))
    own = costs[1::2][np.arange(len(decided)), decided]
    assert told(page, ["", "model"])[0][1].split(" ± ")[0] == plain(own.mean())
    assert len(page.pictures) == 3
    rows = JudgedRows(model, X[1::2], y[1::2], costs[1::2], None)
    expected, actual = rows.expected()
    np.testing.assert_allclose(actual, own)
    regression, p = model.cost_regression_, model.predict_proba(X[1::2])
    by_hand = sum(p[:, j, None] * regression.of_class(X[1::2], j) for j in range(3)) * regression.unit
    np.testing.assert_allclose(expected, by_hand[np.arange(len(decided)), decided])
    with pytest.raises(ValueError, match="The fit had costs per row"):
        report(model, X, y)


@pytest.mark.parametrize(("n_classes", "n_columns", "n_rows"), [(2, 1, 60), (30, 40, 3000), (3, 800, 200)])
def test_sizes(n_classes, n_columns, n_rows):
    rng = np.random.default_rng(0)
    if n_columns == 1:
        X, y = rng.normal(size=(n_rows, 1)), rng.integers(0, 2, n_rows)
    else:
        X, y = make_classification(n_rows, n_columns, n_informative=20, n_classes=n_classes, n_clusters_per_class=1, random_state=0)
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


def test_a_class_that_the_model_does_not_know(wine):
    X, y = wine
    few = y != ODD[2]
    model = MinRiskClassifier(n_estimators=5, random_state=0).fit(X[few], y[few])
    cost = CostMatrix([[0, 1, 1], [1, 0, 1], [1, 1, 0]], classes=ODD)
    page = checked(report(model, X, y, cost=cost))
    assert told(page, ["", "model"])[1][1].split(" ± ")[0] == plain(np.mean(model.predict(X) != y))


def test_tables_and_sparse_rows(wine):
    X, y = wine
    frame = pd.DataFrame(X, columns=["<a>", "b", "c", "d", "e", "f"]).assign(colour=np.where(X[:, 0] > 13, "red", "blue"))
    text = report(MinRiskClassifier(n_estimators=3, random_state=0).fit(frame, y), frame, y)
    checked(text)
    assert "&lt;a&gt;" in text and "<a>" not in text
    sparse = csr_matrix(X)
    checked(report(MinRiskClassifier(n_estimators=3, random_state=0).fit(sparse, y), sparse, y))
    model = REBELClassifier(n_estimators=3).fit(X, y)
    assert report(model, X.tolist(), y.tolist(), names=list("uvwxyz")).count("<th>u</th>") <= 2  # of two kinds of importances
    assert "x[0]" not in report(model, X, y, names=list("uvwxyz"))


def test_writes_a_whole_file_or_none(wine, tmp_path):
    X, y = wine
    model = REBELClassifier(n_estimators=3).fit(X, y)
    path = tmp_path / "page.html"
    assert report(model, X, y, path) == path.read_text(encoding="utf-8") == report(model, X, y, str(path))
    with pytest.raises(ValueError):
        report(model, X, y[:5], path)
    assert path.read_text(encoding="utf-8") == report(model, X, y)
    assert [entry.name for entry in tmp_path.iterdir()] == ["page.html"]
    with pytest.raises(OSError, match="no_folder"):
        report(model, X, y, tmp_path / "no_folder" / "page.html")
    with pytest.raises(TypeError, match="report looks into classifiers of minrisk only"):
        report(LogisticRegression(), X, y)


def test_says_how_to_get_matplotlib(wine, monkeypatch):
    import sys

    X, y = wine
    model = REBELClassifier(n_estimators=2).fit(X, y)
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    monkeypatch.setitem(sys.modules, "matplotlib.pyplot", None)
    with pytest.raises(ImportError, match="Pictures need matplotlib"):
        report(model, X, y)


def test_on_the_command_line(tmp_path):
    X, y = load_wine(return_X_y=True, as_frame=True)
    data = X.iloc[:, :4].assign(kind=np.array(["red", "white", "<b>"])[y], weight=1 + np.arange(len(y)) % 3)
    data.iloc[::2].to_csv(tmp_path / "train.csv", index=False)
    data.iloc[1::2].to_csv(tmp_path / "test.csv", index=False)
    model, out = tmp_path / "wine.minrisk", tmp_path / "page.html"
    run("fit", tmp_path / "train.csv", "--target", "kind", "--weight", "weight", "--n-estimators", 10, "--out", model)
    done = invoke("report", model, tmp_path / "test.csv", "--out", out, "--weight", "weight", "--title", "Wine & co", "--rows", 2)
    assert done.exit_code == 0 and done.stdout == "" and "89 rows judged" in done.stderr
    page = checked(out.read_text(encoding="utf-8"))
    from minrisk import load

    loaded, test = load(model), data.iloc[1::2]
    decided = loaded.predict(test[X.columns[:4]])
    risk = told(page, ["", "model"])[0][1]
    assert risk.split(" ± ")[0] == plain(expected_cost(test["kind"], decided, sample_weight=test["weight"]))
    assert len(told(page, ["row", "true class"])) <= 2 and "<h1>Wine &amp; co</h1>" in out.read_text(encoding="utf-8")
    assert run("report", model, tmp_path / "test.csv", "--out", "-", "--weight", "weight", "--title", "Wine & co", "--rows", 2) == out.read_text(encoding="utf-8")
    assert "would overwrite" in refused("report", model, tmp_path / "test.csv", "--out", tmp_path / "test.csv")
    assert "cannot be written" in refused("report", model, tmp_path / "test.csv", "--out", tmp_path / "none" / "page.html")
    assert "Missing option '--out'" in refused("report", model, tmp_path / "test.csv")


def test_the_page_tells_what_moves_the_expected_cost():
    from sklearn.datasets import load_wine

    from minrisk import LocalizedSimilaritiesClassifier
    from minrisk.inspection import cost_importances

    X, y = load_wine(return_X_y=True, as_frame=True)
    model = MinRiskClassifier(n_estimators=5, random_state=0).fit(X, y)
    page = report(model, X[:90], y[:90])
    assert "What moves the expected cost" in page and "in the unit of the costs" in page
    names, _ = cost_importances(model, X[:90])
    part = page[page.index("What moves the expected cost") :]
    assert part.index(names[0]) < part.index(names[1])
    other = LocalizedSimilaritiesClassifier(n_estimators=3).fit(X, y)
    assert "What moves the expected cost" not in report(other, X[:90], y[:90])

import ast
import sys
from pathlib import Path

import matplotlib as mpl

mpl.use("Agg")

import matplotlib.pyplot as plt
import numpy as np
import pytest
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from minrisk import MinRiskClassifier, REBELClassifier, inspection
from minrisk.costs import CostMatrix
from minrisk.decisions.sensitivity import of_probabilities
from minrisk.inspection import CostConfusionDisplay, RiskCurveDisplay, SensitivityDisplay
from minrisk.inspection.plotting import inks, plain
from minrisk.metrics import cost_confusion_matrix, expected_cost
from tests.helpers.common import slow_after

COST = CostMatrix([[0, 1, 5], [2, 0, 1], [9, 4, 0]], classes=["a", "b", "c"])
REFER = CostMatrix([[0, 1, 0.4], [5, 0, 0.4]], classes=["well", "ill"])


@pytest.fixture(autouse=True)
def _close_figures():
    yield
    plt.close("all")


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(150, 3))
    return X, np.array(["a", "b", "c"])[np.digitize(X[:, 0] + 0.5 * rng.normal(size=150), [-0.5, 0.5])]


@pytest.fixture(scope="module")
def model(data):
    return REBELClassifier(COST, n_estimators=6, max_depth=2).fit(*data)


@pytest.fixture(scope="module")
def stopped(data):
    settings = {"early_stopping": True, "n_iter_no_change": 5, "validation_fraction": 0.3, "random_state": 0}
    return REBELClassifier(COST, n_estimators=60, **settings).fit(*data)


def written(texts):
    return {(i, j): texts[i, j].get_text() for i, j in np.argwhere(texts != None)}  # noqa: E711


def luminance(colour):
    channels = np.asarray(mpl.colors.to_rgb(colour))
    return np.where(channels <= 0.04045, channels / 12.92, ((channels + 0.055) / 1.055) ** 2.4) @ [
        0.2126,
        0.7152,
        0.0722,
    ]


def contrast(one, other):
    low, high = sorted([luminance(one), luminance(other)])
    return (high + 0.05) / (low + 0.05)


class TestRiskCurve:
    def test_draws_what_the_fit_kept(self, model):
        display = RiskCurveDisplay.from_estimator(model)
        assert set(display.lines_) == {"train_loss", "train_risk"}
        for name, kept in (("train_loss", model.train_loss_), ("train_risk", model.train_risk_)):
            np.testing.assert_array_equal(display.lines_[name].get_ydata(), kept)
            np.testing.assert_array_equal(display.lines_[name].get_xdata(), np.arange(model.n_iter_ + 1))
        assert display.lines_["train_risk"].axes is display.ax_
        assert display.lines_["train_loss"].axes is display.loss_ax_
        assert display.figure_ is display.ax_.figure is display.loss_ax_.figure
        assert display.best_round is None

    def test_marks_the_kept_round(self, stopped):
        display = RiskCurveDisplay.from_estimator(stopped)
        risk = stopped.validation_risk_
        np.testing.assert_array_equal(display.lines_["validation_risk"].get_ydata(), risk)
        assert display.best_round == stopped.n_iter_ == risk.argmin() and len(risk) > stopped.n_iter_ + 1
        dots = [line for line in display.ax_.lines if line.get_marker() == "o"]
        assert [(*dots[0].get_xdata(), *dots[0].get_ydata())] == [(stopped.n_iter_, risk.min())]
        legend = [text.get_text() for text in display.ax_.get_legend().get_texts()]
        assert any(f"round {stopped.n_iter_}," in text for text in legend)

    @pytest.mark.parametrize(
        ("loss", "scale"), [([2, 1, 0.5], "log"), ([1, 1e-3, 1e-9], "log"), ([0.5, 0, -1], "linear")]
    )
    def test_scale_of_the_loss(self, loss, scale):
        display = RiskCurveDisplay(loss, [0.5, 0.2, 0.1]).plot()
        display.figure_.draw_without_rendering()
        assert display.loss_ax_.get_yscale() == scale
        assert display.ax_.get_yscale() == "linear" and display.ax_.get_ylim()[0] == 0
        low, high = sorted(display.loss_ax_.get_ylim())
        shown = [tick for tick in display.loss_ax_.get_yticks() if low <= tick <= high]
        assert 2 <= len(shown) <= 12

    def test_labels(self, model):
        display = RiskCurveDisplay.from_estimator(model)
        assert display.ax_.get_ylabel() == "Mean cost per row"
        assert display.loss_ax_.get_ylabel() == "Training loss"
        assert display.loss_ax_.get_xlabel() == "Rounds of boosting"

    def test_given_axes(self, model):
        figure, axes = plt.subplots(2)
        display = RiskCurveDisplay.from_estimator(model, axes, linewidth=3)
        assert (display.ax_, display.loss_ax_) == tuple(axes) and len(figure.axes) == 2
        assert display.lines_["train_loss"].get_linewidth() == 3
        figure, ax = plt.subplots()
        display = RiskCurveDisplay.from_estimator(model, ax)
        assert display.ax_ is ax and display.figure_ is figure and len(figure.axes) == 2
        by_hand = plt.figure().add_axes((0.2, 0.2, 0.7, 0.7))
        assert RiskCurveDisplay.from_estimator(model, by_hand).ax_ is by_hand
        with pytest.raises(ValueError, match=r"ax must be one Axes or two, .* got 3"):
            display.plot(plt.subplots(3)[1])

    def test_one_value_only(self):
        RiskCurveDisplay([1.0], [0.5]).plot().figure_.draw_without_rendering()

    def test_within_pipeline_and_search(self, data):
        search = GridSearchCV(make_pipeline(StandardScaler(), REBELClassifier(n_estimators=2)), {}, cv=2).fit(*data)
        assert len(RiskCurveDisplay.from_estimator(search).train_loss) == 3

    def test_errors(self, data):
        with pytest.raises(NotFittedError):
            RiskCurveDisplay.from_estimator(REBELClassifier())
        with pytest.raises(TypeError, match="must be a fitted classifier of minrisk.*got LogisticRegression"):
            RiskCurveDisplay.from_estimator(LogisticRegression().fit(*data))
        with pytest.raises(TypeError, match="got MinRiskClassifier, which keeps train_loss_ and validation_loss_ only"):
            RiskCurveDisplay.from_estimator(MinRiskClassifier(n_estimators=2).fit(*data))
        with pytest.raises(ValueError, match="got 3 and 2 values"):
            RiskCurveDisplay([1, 2, 3], [1, 2])
        with pytest.raises(ValueError, match="train_risk must be finite"):
            RiskCurveDisplay([1, 2], [1, np.nan])
        with pytest.raises(ValueError, match="train_loss must be numbers, got str"):
            RiskCurveDisplay("curve", [1, 2])
        with pytest.raises(ValueError, match=r"validation_risk must be one value per round.*got shape \(1, 2\)"):
            RiskCurveDisplay([1, 2], [1, 2], [[1, 2]])
        with pytest.raises(ValueError, match="expected 0 to 3, got 4"):
            RiskCurveDisplay([1, 2], [1, 2], [1, 2, 3, 4], best_round=4)


class TestCostConfusion:
    def test_cells_are_those_of_the_metric(self, model, data):
        X, y = data
        display = CostConfusionDisplay.from_estimator(model, X, y)
        decided = model.predict(X)
        total = cost_confusion_matrix(y, decided, COST)
        np.testing.assert_array_equal(display.im_.get_array(), total)
        np.testing.assert_array_equal(display.cost_confusion, total)
        counts = [[((y == i) & (decided == j)).sum() for j in "abc"] for i in "abc"]
        np.testing.assert_array_equal(display.counts, counts)
        assert written(display.text_) == {(i, j): plain(total[i, j]) for i, j in np.argwhere(counts)}
        rows = {(i, j): "1 row" if counts[i][j] == 1 else f"{counts[i][j]} rows" for i, j in np.argwhere(counts)}
        assert written(display.count_text_) == rows
        mean = expected_cost(y, decided, COST)
        assert display.ax_.get_title() == f"Mean cost {mean:.3g} per row\n(150 rows, total cost {total.sum():g})"
        assert [tick.get_text() for tick in display.ax_.get_xticklabels()] == ["a", "b", "c"]
        assert display.colorbar_.vmin == 0 and display.colorbar_.vmax == total.max()

    def test_costs_other_than_those_of_the_fit(self, model, data):
        X, y = data
        other = 2 * np.asarray(COST)
        display = CostConfusionDisplay.from_estimator(model, X, y, other)
        np.testing.assert_array_equal(display.cost_confusion, cost_confusion_matrix(y, model.predict(X), other))

    def test_another_classifier_has_zero_one_costs(self, data):
        X, y = data
        other = make_pipeline(StandardScaler(), LogisticRegression()).fit(X, y)
        assert CostConfusionDisplay.from_estimator(other, X, y).cost_confusion.sum() == (other.predict(X) != y).sum()

    def test_costs_are_found_within_pipeline_and_search(self, data):
        X, y = data
        search = GridSearchCV(make_pipeline(REBELClassifier(COST, n_estimators=2)), {}, cv=2).fit(X, y)
        display = CostConfusionDisplay.from_estimator(search, X, y)
        np.testing.assert_array_equal(display.cost_confusion, cost_confusion_matrix(y, search.predict(X), COST))

    def test_refer_column(self):
        display = CostConfusionDisplay.from_predictions(["well", "ill", "ill"], ["well", "refer", "well"], REFER)
        np.testing.assert_array_equal(display.cost_confusion, [[0, 0, 0], [5, 0, 0.4]])
        assert display.decision_labels == ["well", "ill", "refer"]
        assert [line.get_xdata()[0] for line in display.ax_.lines] == [1.5]  # what sets the column off
        assert written(display.text_) == {(0, 0): "0", (1, 0): "5", (1, 2): "0.4"}

    def test_costs_per_row(self, data):
        X, y = data
        table = np.random.default_rng(0).uniform(1, 2, size=(len(y), 3))
        display = CostConfusionDisplay.from_predictions(y, np.roll(y, 1), table)
        np.testing.assert_allclose(display.cost_confusion, cost_confusion_matrix(y, np.roll(y, 1), table))
        per_row = REBELClassifier(n_estimators=2).fit(X, y, cost=table)
        with pytest.raises(ValueError, match="cost must be given for a classifier fitted on costs per row"):
            CostConfusionDisplay.from_estimator(per_row, X, y)
        CostConfusionDisplay.from_estimator(per_row, X, y, table)

    def test_weights(self):
        display = CostConfusionDisplay.from_predictions([0, 0, 1], [0, 1, 1], sample_weight=[1, 0.5, 2])
        np.testing.assert_array_equal(display.counts, [[1, 0.5], [0, 2]])
        assert written(display.count_text_) == {(0, 0): "1 row", (0, 1): "weight 0.5", (1, 1): "2 rows"}

    @pytest.mark.parametrize("n_classes", slow_after(2, [2, 10, 3, 6, 17, 30]))
    def test_text_stays_within_cells_and_can_be_read(self, n_classes):
        rng = np.random.default_rng(n_classes)
        table, counts = (
            rng.exponential(300, size=(n_classes, n_classes)),
            rng.integers(1, 50, size=(n_classes, n_classes)),
        )
        names = [f"class {i}" for i in range(n_classes)]
        display = CostConfusionDisplay(table, counts, names, names).plot()
        display.figure_.draw_without_rendering()
        box = display.ax_.get_window_extent()
        assert box.width == pytest.approx(box.height, rel=0.02)
        side = box.width / n_classes
        for texts in (display.text_, display.count_text_):
            for i, j in np.argwhere(texts != None):  # noqa: E711
                extent = texts[i, j].get_window_extent()
                assert extent.width < side and extent.height < side
                ground = display.im_.cmap(display.im_.norm(table[i, j]))
                assert contrast(texts[i, j].get_color(), ground) >= 4.5
        assert (display.text_ != None).all() == (n_classes <= 17)  # noqa: E711
        assert (display.text_ != None).any()  # noqa: E711
        assert (display.count_text_ != None).all() == (n_classes <= 17)  # noqa: E711
        assert display.text_.flat[table.argmax()] is not None  # the dearest one is told in any case
        inside = display.figure_.bbox
        tight = display.figure_.get_tightbbox().transformed(display.figure_.dpi_scale_trans)
        assert tight.x0 >= inside.x0 - 1 and tight.x1 <= inside.x1 + 1 and tight.y1 <= inside.y1 + 1

    def test_muted_text_can_be_read(self):
        display = CostConfusionDisplay(np.zeros((2, 2)), np.eye(2), "ab", "ab").plot()
        assert contrast(display.text_[0, 0].get_color(), display.im_.cmap(display.im_.norm(0.0))) >= 4.5

    def test_options(self):
        figure, ax = plt.subplots()
        size = figure.get_size_inches()
        display = CostConfusionDisplay([[0, 3], [20, 0]], [[5, 3], [2, 4]], "ab", "ab")
        shown = display.plot(
            ax, include_values=False, colorbar=False, cmap="Blues", xticks_rotation=90, im_kw={"vmax": 99}
        )
        assert shown is display and display.ax_ is ax and display.figure_ is figure and len(figure.axes) == 1
        assert written(display.text_) == written(display.count_text_) == {} and display.colorbar_ is None
        assert display.im_.get_clim() == (0, 99) and display.im_.cmap.name == "Blues"
        np.testing.assert_array_equal(figure.get_size_inches(), size)  # of the caller's choosing
        assert ax.get_xticklabels()[0].get_rotation() == 90
        display.plot(im_kw={"norm": mpl.colors.PowerNorm(0.5)})

    def test_panel_of_a_subfigure(self):
        parts = plt.figure(layout="constrained").subfigures(1, 2)
        ax = parts[0].subplots()
        display = CostConfusionDisplay(np.eye(2), np.eye(2), "ab", "ab").plot(ax)
        assert display.figure_ is parts[0] and written(display.text_) == {(0, 0): "1", (1, 1): "1"}
        RiskCurveDisplay([1, 0.5], [1, 0.5]).plot(parts[1].subplots())

    def test_long_names_are_turned(self):
        names = [f"a long name {i}" for i in range(6)]
        display = CostConfusionDisplay(np.eye(6), np.eye(6), names, names).plot()
        assert display.ax_.get_xticklabels()[0].get_rotation() == 45

    def test_no_rows(self):
        display = CostConfusionDisplay(np.zeros((2, 2)), np.zeros((2, 2)), [0, 1], [0, 1]).plot()
        assert "unknown" in display.ax_.get_title() and written(display.text_) == {}

    def test_errors(self, data):
        with pytest.raises(NotFittedError):
            CostConfusionDisplay.from_estimator(REBELClassifier(), *data)
        with pytest.raises(
            ValueError, match=r"counts must have the shape of cost_confusion, expected \(2, 2\), got \(1, 2\)"
        ):
            CostConfusionDisplay(np.eye(2), [[1, 2]], "ab", "ab")
        with pytest.raises(ValueError, match="with 3 true and 2 decision labels"):
            CostConfusionDisplay(np.eye(2), np.eye(2), "abc", "ab")
        with pytest.raises(ValueError, match=r"cost_confusion must have one row per true class .*got shape \(2,\)"):
            CostConfusionDisplay([1, 2], [1, 2], "ab", "ab")
        with pytest.raises(ValueError, match="counts must be finite"):
            CostConfusionDisplay(np.eye(2), [[1, 2], [3, np.inf]], "ab", "ab")
        with pytest.raises(ValueError, match="inconsistent numbers of samples"):
            CostConfusionDisplay.from_predictions([0, 1], [0, 1, 1])


def test_without_matplotlib(monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib.pyplot", None)
    for display in (RiskCurveDisplay([1.0], [1.0]), CostConfusionDisplay(np.eye(2), np.eye(2), "ab", "ab")):
        with pytest.raises(ImportError, match=r"pip install 'minrisk\[plots\]'"):
            display.plot()


def test_importing_displays_leaves_matplotlib_alone():
    for path in Path(inspection.__file__).parent.glob("*.py"):
        nodes = [node for node in ast.parse(path.read_text()).body if isinstance(node, (ast.Import, ast.ImportFrom))]
        assert not [node for node in nodes if "matplotlib" in ast.unparse(node)]


@pytest.mark.parametrize("cmap", ["OrRd", "viridis", "gray", "coolwarm", "jet"])
def test_inks_can_be_read_on_every_colour(cmap):
    colours = mpl.colormaps[cmap](np.linspace(0, 1, 200)).reshape(20, 10, 4)
    for muted in (np.zeros((20, 10), dtype=bool), np.ones((20, 10), dtype=bool)):
        chosen = inks(colours, muted)
        assert min(contrast(chosen[i], colours[i]) for i in np.ndindex(20, 10)) >= 4.5


@pytest.mark.parametrize(
    ("number", "digits", "text"),
    [
        (0, 3, "0"),
        (7, 3, "7"),
        (999999, 3, "999999"),
        (1234567, 3, "1.23e6"),
        (0.5, 3, "0.5"),
        (1e-5, 3, "1.00e-5"),
        (1234.6, 3, "1235"),
        (99.6, 2, "100"),
        (345.6, 2, "350"),
        (345, 2, "345"),
        (1234, 2, "1.2e3"),
        (9.96, 2, "10"),
        (-2.5, 3, "-2.5"),
    ],
)
def test_plain(number, digits, text):
    assert plain(number, digits) == text


class TestSensitivity:
    @pytest.fixture
    def probable(self, data):
        X, y = data
        return LogisticRegression().fit(X, y)

    def test_cells_hold_regrets_and_shares(self, data, probable):
        display = SensitivityDisplay.from_estimator(probable, data[0], COST)
        found = display.sensitivity
        assert [panel.get_title() for panel in display.axes_] == ["If it is half the cost", "If it is twice the cost"]
        for side, (regret, share) in enumerate(
            [(found.regret_at_half, found.changed_at_half), (found.regret_at_twice, found.changed_at_twice)]
        ):
            told, shares = written(display.text_[side]), written(display.share_text_[side])
            assert set(told) == set(shares) == {(i, j) for i, j in np.argwhere(COST.values > 0)}
            for cell, text in told.items():
                assert text == plain(regret[cell], 2)
                assert shares[cell] == f"{plain(100 * share[cell], 2)} %"
            np.testing.assert_array_equal(np.isnan(regret), np.ma.getmaskarray(display.im_[side].get_array()))
        assert len({image.get_clim() for image in display.im_}) == 1

    def test_given_axes(self, data, probable):
        figure, axes = plt.subplots(2)
        display = SensitivityDisplay.from_estimator(probable, data[0], COST, ax=axes, colorbar=False)
        assert display.axes_ == tuple(axes) and len(figure.axes) == 2 and display.colorbar_ is None
        with pytest.raises(ValueError, match="two Axes"):
            SensitivityDisplay.from_estimator(probable, data[0], COST, ax=plt.subplots()[1])
        with pytest.raises(NotFittedError):
            SensitivityDisplay.from_estimator(LogisticRegression(), data[0], COST)

    @pytest.mark.parametrize("k", [2, 40])
    def test_sizes(self, k):
        p = np.random.default_rng(0).dirichlet(np.ones(k), size=50)
        display = SensitivityDisplay(of_probabilities(p, CostMatrix(1.0 - np.eye(k), range(k)))).plot()
        display.figure_.draw_without_rendering()
        sizes = [text.get_fontsize() for text in display.text_.ravel() if text is not None]
        assert all(size >= 5.5 for size in sizes) and bool(sizes) == (k < 40)

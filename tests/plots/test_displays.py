"""Displays: computed once, drawn where asked, labelled, and fit for five rows."""

import subprocess
import sys
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import pytest

from mercer import KernelRidge
from mercer.datasets import load_ethanol, load_mcycle
from mercer.diagnostics import bias_variance
from mercer.kernels import Gaussian
from mercer.plots import BiasVarianceDisplay, IntervalDisplay, LCurveDisplay, PicardDisplay, SelectionDisplay
from mercer.plots._base import format_number
from mercer.selection import GCV, LOO, Choice, Discrepancy, Evidence, LCurve, compare, path
from mercer.selection.shown import scale_to_unit, short_names

ROOT = Path(__file__).resolve().parents[2]
KERNEL = Gaussian(5.0)


@pytest.fixture(scope="module")
def mcycle():
    X, y = load_mcycle(return_X_y=True)
    return X, y, path(KERNEL, X, y, criteria=[])


class Band:
    """A fitted model with intervals of ± width."""

    def __init__(self, model, width):
        self.model, self.width = model, width

    def predict(self, X):
        return self.model.predict(X)

    def predict_interval(self, X, coverage=0.9):
        f = self.predict(X)
        return np.stack([f - self.width, f + self.width], axis=1)


def labels(ax):
    return [text.get_text() for text in ax.get_legend().get_texts()]


def every_label(display):
    """Title, axes: all written."""
    ax = display.ax_
    return all([ax.get_title(loc="left"), ax.get_xlabel(), ax.get_ylabel()])


def visible(line):
    """Number of points of a line that lie inside the axes."""
    x, y = line.get_data()
    (left, right), (low, high) = line.axes.get_xlim(), line.axes.get_ylim()
    return np.count_nonzero((left <= x) & (x <= right) & (low <= y) & (y <= high))


def render(display):
    display.figure_.canvas.draw()  # with warnings as errors: no missing letter, no layout that collapses


TABLE = {"lam": np.geomspace(1e-3, 1e3, 30)}
TABLE["bias2"] = (TABLE["lam"] / (1 + TABLE["lam"])) ** 2
TABLE["variance"] = 1 / (1 + TABLE["lam"]) ** 2
TABLE["error"] = TABLE["bias2"] + TABLE["variance"]

MAKERS = {
    "lcurve": lambda found, ax: LCurveDisplay.from_path(found, lam=0.1, ax=ax),
    "picard": lambda found, ax: PicardDisplay.from_path(found, lam=0.1, ax=ax),
    "selection": lambda found, ax: SelectionDisplay.from_comparison(compare(found, noise=0.5), lam=0.1, ax=ax),
    "bias_variance": lambda found, ax: BiasVarianceDisplay.from_table(TABLE, ax=ax),
    "intervals": lambda found, ax: IntervalDisplay.from_predictions(
        found.y[:, 0], found.y + [[-1.0, 1.0]], found.y[:, 0], coverage=0.8, ax=ax
    ),
}


# --------------------------------------------------------------------------------------------- all of them
@pytest.mark.parametrize("name", MAKERS)
def test_draws_on_the_axes_given_and_says_what_is_shown(name, mcycle):
    _, ax = plt.subplots()
    before = plt.rcParams.copy()
    display = MAKERS[name](mcycle[2], ax)
    assert display.ax_ is ax
    assert display.figure_ is ax.figure
    assert every_label(display)
    assert plt.rcParams == before
    render(display)


@pytest.mark.parametrize("name", MAKERS)
def test_a_new_figure_and_a_second_drawing(name, mcycle):
    display = MAKERS[name](mcycle[2], None)
    first = display.figure_
    assert display.plot() is display
    assert display.figure_ is not first
    render(display)


@pytest.mark.parametrize("name", MAKERS)
def test_five_rows(name):
    X = np.array([[0.0], [1.0], [2.0], [3.0], [4.0]])
    display = MAKERS[name](path(Gaussian(1.0), X, [0.0, 1.0, 0.5, 2.0, 1.0], criteria=[]), None)
    render(display)
    assert every_label(display)
    assert max(visible(line) for line in display.ax_.lines) >= 4  # five rows without their mean: four eigenvalues


@pytest.mark.parametrize("name", ["lcurve", "picard", "selection"])
def test_a_plain_matrix(name):
    A = np.vander(np.linspace(0.1, 1, 12), 6)
    display = MAKERS[name](path(A, A @ np.ones(6) + 0.01 * np.cos(np.arange(12.0) * 7)), None)
    render(display)
    assert "‖x‖" in display.ax_.get_ylabel() + display.ax_.get_xlabel() or name == "picard"


@pytest.mark.parametrize("name", ["lcurve", "picard", "selection"])
def test_a_constant_target_is_drawn(name):
    display = MAKERS[name](path(Gaussian(1.0), np.arange(6.0)[:, None], np.ones(6), criteria=[]), None)
    render(display)
    if name == "lcurve":
        assert any("(constant)" in text for text in labels(display.ax_))
    elif name == "picard":
        assert max(display.coefficients_.get_ydata()) < 1e-14  # nothing is left without the mean
    else:
        assert {mark.get_markerfacecolor() for mark in display.marks_.values()} == {"white"}


@pytest.mark.parametrize("cls", [LCurveDisplay, PicardDisplay, SelectionDisplay])
def test_from_estimator_marks_the_model(cls, mcycle):
    X, y, _ = mcycle
    X, y = X[::3], y[::3]
    model = KernelRidge(KERNEL, lam=0.5)
    unfitted = cls.from_estimator(model, X, y)
    fitted = cls.from_estimator(model.fit(X, y), X, y)
    assert unfitted.lam is None
    assert fitted.lam == 0.5
    with pytest.raises(ValueError, match="kernel="):
        cls.from_estimator(KernelRidge(), X, y)


def test_every_docstring_says_how_to_read():
    for cls in (BiasVarianceDisplay, IntervalDisplay, LCurveDisplay, PicardDisplay, SelectionDisplay):
        assert "How to read:" in cls.__doc__


def test_nothing_is_loaded_before_the_first_picture():
    code = (
        "import sys, mercer, mercer.plots; "
        "assert 'mercer.plots' in sys.modules and 'matplotlib' not in sys.modules; "
        "import mercer.plots._base as b; sys.modules['matplotlib.pyplot'] = None\n"
        "try:\n    b._pyplot()\nexcept ImportError as e:\n    print(e)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, env={"PYTHONPATH": "src"}, cwd=ROOT
    )
    assert done.returncode == 0, done.stderr
    assert "mercer[plots]" in done.stdout


# --------------------------------------------------------------------------------------------- one by one
def test_lcurve_marks_the_corner_on_the_curve(mcycle):
    found = mcycle[2]
    display = LCurveDisplay.from_path(found, color="black")
    corner = LCurve().choose(found)
    x, y = (float(v[0]) for v in display.corner_.get_data())
    curve = np.argsort(np.abs(np.log(found.lams / corner.lam)))[:2]
    assert found.table["residual"][curve].min() <= x <= found.table["residual"][curve].max()
    assert found.table["norm"][curve].min() <= y <= found.table["norm"][curve].max()
    assert display.line_.get_color() == "black"
    assert display.ax_.get_xscale() == display.ax_.get_yscale() == "log"
    assert any("corner, λ" in text for text in labels(display.ax_))
    assert {"10"} <= {text.get_text() for text in display.labels_}


def test_lcurve_labels_keep_apart(mcycle):
    display = LCurveDisplay.from_path(mcycle[2])
    display.figure_.canvas.draw()
    boxes = [label.get_window_extent() for label in display.labels_]
    assert len(boxes) >= 4
    assert not any(a.overlaps(b) for i, a in enumerate(boxes) for b in boxes[:i])


def test_an_unsure_corner_is_hollow(mcycle):
    found = mcycle[2]
    unsure = Choice(1.0, "ambiguous", "two corners", 1.0, "LCurve()")
    display = LCurveDisplay(lams=found.lams, residual=found.table["residual"], norm=found.table["norm"], corner=unsure,
                            corner_at=(300.0, 100.0)).plot()  # fmt: skip
    assert display.corner_.get_markerfacecolor() == "white"
    assert "ambiguous" in display.corner_.get_label()


def test_selection_has_a_row_for_each_rule_and_a_curve_for_each_criterion(mcycle):
    found = compare(mcycle[2], rules=[LOO(), GCV(), Evidence(profile_scale=True), LCurve(), Discrepancy()])
    display = SelectionDisplay.from_comparison(found)
    assert list(display.marks_) == list(found)
    assert list(display.lines_) == [name for name in found if name not in ("LCurve()", "Discrepancy()")]
    for name, lam in found.items():
        assert display.marks_[name].get_xdata()[0] == pytest.approx(lam)
    ticks = [label.get_text() for label in display.ax_.get_yticklabels()]
    assert ticks[3:] == ["LOO", "GCV", "Evidence", "LCurve", "Discrepancy"]
    assert display.dof["LOO()"] == pytest.approx(
        np.interp(found["LOO()"], found.path.lams, found.path.table["dof"]), rel=1e-2
    )


def test_selection_from_path_takes_the_criteria_of_the_path(mcycle):
    display = SelectionDisplay.from_path(path(KERNEL, *mcycle[:2]))
    assert list(display.marks_) == ["LOO()", "GCV()", "Evidence(profile_scale=True)"]


def test_selection_shows_what_is_not_sure_or_not_in_sight(mcycle):
    lams = np.geomspace(1e-3, 1e3, 20)
    choices = {
        "a": Choice(1.0, "ok", rule="a"),
        "b": Choice(1e3, "at_upper_edge", "edge", rule="b"),
        "c": Choice(np.inf, "no_root", "none", rule="c"),
    }
    display = SelectionDisplay(lams=lams, curves={"a": np.full(20, np.nan)}, choices=choices).plot()
    assert display.marks_["a"].get_markerfacecolor() != "white"
    assert display.marks_["b"].get_markerfacecolor() == "white"
    assert display.marks_["c"].get_marker() == ">"
    render(display)


def test_scaling_of_criteria():
    found = scale_to_unit(np.array([100.0, 1.0, 10.0]), error=True)
    np.testing.assert_allclose(found, [2.0, 0.0, 1.0])
    np.testing.assert_allclose(scale_to_unit(np.array([3.0, 2.0, 1.0]), error=False), [1.0, 0.5, 0.0])
    np.testing.assert_allclose(scale_to_unit(np.array([-3.0, np.inf, -1.0]), error=True), [0.0, np.nan, 1.0])
    np.testing.assert_array_equal(scale_to_unit(np.ones(3), error=True), 0.0)


def test_short_names():
    names = [rule.name for rule in (LOO(), LOO("log_density"), GCV("robust"), Discrepancy(0.5))]
    assert list(short_names(names).values()) == ["LOO", "LOO log density", "GCV robust", "Discrepancy noise 0.5"]
    assert list(short_names(["A(x=1)", "A(x=2)"]).values()) == ["A(x=1)", "A(x=2)"]


def test_picard_cuts_where_the_eigenvalue_is_lam(mcycle):
    found = mcycle[2]
    display = PicardDisplay.from_path(found, lam=found.eigenvalues[7])
    assert display.lam_.get_xdata()[0] == pytest.approx(8.0)
    np.testing.assert_allclose(display.coefficients_.get_ydata()[:20], np.abs(found.coefficients[:20, 0]))
    np.testing.assert_allclose(
        display.ratio_.get_ydata()[:20], np.abs(found.coefficients[:20, 0]) / np.sqrt(found.eigenvalues[:20])
    )
    assert display.ax_.get_yscale() == "log"


def test_bias_variance_adds_up_and_marks_the_least():
    display = BiasVarianceDisplay.from_table({name: column[::-1] for name, column in TABLE.items()})
    np.testing.assert_allclose(
        display.bias2_.get_ydata() + display.variance_.get_ydata(), display.error_.get_ydata()
    )  # fmt: skip
    assert display.best_.get_xdata()[0] == display.best_lam == TABLE["lam"][np.argmin(TABLE["error"])]
    wide = {name: column[:, None] * np.ones(3) if name != "lam" else column for name, column in TABLE.items()}
    np.testing.assert_allclose(BiasVarianceDisplay.from_table(wide).error, TABLE["error"])
    with pytest.raises(ValueError, match="variance"):
        BiasVarianceDisplay.from_table({**TABLE, "variance": np.ones(3)})
    with pytest.raises(ValueError, match="bias2"):
        BiasVarianceDisplay.from_table({"bias2": 1.0})


def test_bias_variance_takes_the_closed_form():
    X = np.linspace(0, 1, 20)[:, None]
    table = bias_variance(Gaussian(0.2), X, lambda X: np.sin(6 * X[:, 0]), 0.3, [0.0, 0.01, 0.1, 1.0])
    display = BiasVarianceDisplay.from_table(table)
    np.testing.assert_array_equal(display.lam, [0.01, 0.1, 1.0])
    assert display.best_lam == table.best


def test_a_band_over_one_input(mcycle):
    X, y, _ = mcycle
    model = Band(KernelRidge(KERNEL, lam=0.5).fit(X, y), 30.0)
    display = IntervalDisplay.from_estimator(model, X, y, x_name="time (ms)", y_name="acceleration (g)")
    assert display.grid[0] < X.min() < X.max() < display.grid[-1]
    np.testing.assert_allclose(display.line_.get_ydata(), model.predict(display.grid[:, None]))
    inside = np.abs(y - model.predict(X)) <= 30.0
    np.testing.assert_array_equal(display.inside, inside)
    assert len(display.points_.get_offsets()) == inside.sum()
    assert len(display.outside_.get_offsets()) == (~inside).sum()
    assert display.ax_.get_xlabel() == "time (ms)"
    assert "90 % interval" in labels(display.ax_)


def test_with_the_intervals_of_kernel_ridge(mcycle):
    X, y, _ = mcycle
    model = KernelRidge(KERNEL, lam=0.5).fit(X, y)
    display = IntervalDisplay.from_estimator(model, X, y, coverage=0.8, method="jackknife+")
    band = model.predict_interval(display.grid[:, None], coverage=0.8, method="jackknife+")
    np.testing.assert_allclose(display.lower, band[:, 0])
    assert 0.7 < display.inside.mean() < 0.95


def test_a_frame_names_its_axis():
    frame, y = load_mcycle(return_X_y=True, as_frame=True)
    display = IntervalDisplay.from_estimator(Band(KernelRidge(KERNEL).fit(frame, y), 30.0), frame, y)
    assert display.ax_.get_xlabel() == "times"


def test_bars_for_several_inputs():
    X, y = load_ethanol(return_X_y=True)
    display = IntervalDisplay.from_estimator(Band(KernelRidge(lam=0.1).fit(X, y), 0.3), X, y)
    assert (np.diff(display.line_.get_ydata()) >= 0).all()
    assert display.grid is None
    assert "ordered by prediction" in display.ax_.get_xlabel()
    assert display.inside.sum() == (np.abs(y - KernelRidge(lam=0.1).fit(X, y).predict(X)) <= 0.3).sum()


def test_several_targets_need_a_choice(rng):
    X, Y = rng.uniform(size=(8, 2)), rng.standard_normal((8, 2))
    model = Band(KernelRidge().fit(X, Y), 1.0)
    with pytest.raises(ValueError, match="target="):
        IntervalDisplay.from_estimator(model, X, Y)
    display = IntervalDisplay.from_estimator(model, X, Y, target=1)
    np.testing.assert_array_equal(np.sort(display.y), np.sort(Y[:, 1]))


def test_one_target_in_a_column(rng):
    X = rng.uniform(size=(12, 1))
    Y = np.sin(6 * X)
    model = KernelRidge(Gaussian(0.3), lam=0.1).fit(X, Y)
    display = IntervalDisplay.from_estimator(model, X, Y, method="jackknife+", coverage=0.8)
    assert display.lower.shape == display.upper.shape == (300,)


def test_a_band_without_end_stays_near_the_rows():
    ends = [[-np.inf, np.inf], [1000.0, 1002.0]]
    display = IntervalDisplay.from_predictions([1000.0, 1001.0], ends, coverage=0.99)
    assert 980 < display.ax_.get_ylim()[0] < 1000


def test_no_mark_of_no_lam(mcycle):
    assert PicardDisplay.from_path(mcycle[2], lam=0.0).lam_ is None


def test_intervals_without_end_are_drawn():
    display = IntervalDisplay.from_predictions([0.0, 1.0], [[-np.inf, np.inf], [0.0, 2.0]], coverage=0.99)
    render(display)
    assert np.isfinite(display.ax_.get_ylim()).all()
    with pytest.raises(ValueError, match="shapes"):
        IntervalDisplay.from_predictions([0.0, 1.0], [0.0, 1.0], coverage=0.9)


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0.0, "0"),
        (0.0123, "0.0123"),
        (350.0, "350"),
        (1234.0, "1234"),
        (1e-5, "10⁻⁵"),
        (1.2e-5, "1.2 × 10⁻⁵"),
        (np.inf, "∞"),
    ],  # fmt: skip
)
def test_numbers_as_people_write_them(value, text):
    assert format_number(value) == text

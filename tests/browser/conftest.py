"""Pages of the report on the disk, and chromium to open them in."""

import shutil
import warnings
from dataclasses import replace

import numpy as np
import pytest

from mercer import (
    GaussianProcessClassifier,
    GaussianProcessRegressor,
    KernelMachine,
    KernelRidge,
    Landmarks,
    Neighbours,
    StackedKernels,
    TransformedTarget,
)
from mercer.kernels import Anova, Categorical, Gaussian, Linear, Matern32
from mercer.report import PageContext, collect, write

HOSTILE = [
    "<img src=x onerror=\"document.title='hacked'\">",
    "</script><script>document.title='hacked'</script>",
    "<a href='javascript:alert(1)'>x</a>",
    "a\u2028b<!-- " + "w" * 100,
]
SCALE = np.array([1.0, 2.0, 3.0, 1e-4])
CHROMIUM = ("chromium", "chromium-browser", "google-chrome")


@pytest.fixture(scope="session")
def browser():
    """Chromium of the system, started once."""
    sync_api = pytest.importorskip("playwright.sync_api", reason="playwright is not installed: make test-browser")
    path = next(filter(None, map(shutil.which, CHROMIUM)), None)
    if path is None:
        pytest.skip("chromium is not installed: make test-browser")
    with sync_api.sync_playwright() as playwright:
        started = playwright.chromium.launch(executable_path=path, args=["--no-sandbox"])
        yield started
        started.close()


@pytest.fixture(scope="session")
def models():
    """{name: (model, X, y)}: a process with large numbers, a classifier, ridge models, one with categories."""
    rng = np.random.default_rng(0)
    X = rng.uniform(-1, 1, size=(80, 4))
    y = np.sin(3 * X[:, 0]) + X[:, 1] + 0.1 * rng.standard_normal(80)
    label = np.where(y > 0, "<b>up</b>", "down")
    table = {"x": X[:, 0], "<u>site</u>": rng.choice([HOSTILE[0], HOSTILE[1], "Oslo"], 80).tolist()}
    made = {
        "process": (GaussianProcessRegressor(1e8 * Gaussian(SCALE), 1e6, criterion=None), X * SCALE, 1e4 * y),
        "labels": (GaussianProcessClassifier(4.0 * Gaussian(np.ones(4)), criterion=None), X, label),
        "classes": (KernelMachine(Gaussian(0.8), loss="logistic", lam=0.1), X,
                    np.array(["<b>a", "b", "c"])[np.digitize(y, [-0.5, 0.5])]),
        "mixed": (KernelRidge(Gaussian(0.5).on("x") * Categorical().on("<u>site</u>"), lam=0.1), table,
                  np.column_stack([y, y**2])),
        "ridge": (KernelRidge(Gaussian(0.8), lam=0.1), X[:, :1], y),
        "plain": (KernelRidge(Gaussian(0.8), lam=0.1), X, y),
        "mixture": (StackedKernels([2.0 * Anova([0.5, 0.9, 2.0, 2.0], 0.4), Matern32(0.7).on([0, 1]) + 0.1 * Linear()],
                                   lam=[0.1, 0.1]), X, y),
        "mapped": (TransformedTarget(GaussianProcessRegressor(Gaussian(np.ones(4)), 0.05, criterion=None), "log"), X,
                   np.exp(y)),
        "landmarks": (KernelRidge(Gaussian(0.8), lam=0.1, approximation=Landmarks(40)), X, y),
        "neighbours": (GaussianProcessRegressor(1.0 * Gaussian(0.8), 0.01, criterion=None,
                                                approximation=Neighbours(20)), X, y),
    }  # fmt: skip
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return {name: (model.fit(rows, target), rows, target) for name, (model, rows, target) in made.items()}


@pytest.fixture(scope="session")
def pages(tmp_path_factory, models):
    """{name: path} of the pages about the models, two of them with hostile names."""
    folder = tmp_path_factory.mktemp("pages")
    names = {
        "feature_names": HOSTILE,
        "target": "<i>yield</i> " + "k" * 60,
        "context": PageContext(row_labels=[f"<u>{i}</u>" for i in range(80)]),
    }
    more = {
        "process": {**names, "context": replace(names["context"], notes=["<script>document.title='hacked'</script>"])},
        "labels": names,
        "classes": names,
        "mixed": {"target": ["<i>a</i>", "<b>b</b>"]},
        "ridge": {},
        "mixture": {},
        "mapped": {},
        "landmarks": {},
        "neighbours": {},
        "plain": {"feature_names": ["rain", "soil", "ph", "height"], "target": "yield"},
    }
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = {name: collect(*models[name], **options) for name, options in more.items()}
    return {name: write(one, folder / f"{name}.html") for name, one in found.items()}


class Visit:
    """A page that is open, and all it said: messages of the console, errors, requests."""

    def __init__(self, context, path):
        self.page, self.said, self.requests = context.new_page(), [], []
        self.page.on("console", lambda message: self.said.append(f"{message.type}: {message.text}"))
        self.page.on("pageerror", lambda error: self.said.append(f"error: {error}"))
        self.page.on("dialog", lambda dialog: (self.said.append(f"dialog: {dialog.message}"), dialog.dismiss()))
        self.page.on("request", lambda request: self.requests.append(request.url))
        self.page.goto(path.as_uri())

    def plot(self, key):
        """A chart, in the middle of the window."""
        found = self.page.locator(f"#plot-{key}")
        found.evaluate(
            "e => { for (let d = e.closest('details'); d; d = d.parentElement.closest('details')) d.open = true; }"
        )
        found.evaluate("e => e.scrollIntoView({block: 'center', behavior: 'instant'})")
        return found

    def hover(self, key, across, up):
        """Move the pointer to a place of a chart, in shares of its size, and return what is shown."""
        box = self.plot(key).bounding_box()
        self.page.mouse.move(box["x"] + across * box["width"], box["y"] + up * box["height"])
        return self.page.locator(f"#plot-{key} .hint")


@pytest.fixture
def visit(browser, pages):
    """Open a page by its name: ``visit("process", width=320, color_scheme="dark")``."""
    contexts = []

    def open_page(name, width=1280, height=900, **options):
        context = browser.new_context(viewport={"width": width, "height": height}, **options)
        contexts.append(context)
        return Visit(context, pages[name])

    yield open_page
    for context in contexts:
        context.close()

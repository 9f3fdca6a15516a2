"""render: findings become one HTML page that needs nothing else."""

import base64
import hashlib
import re
from importlib import resources, util

from mercer._warn import warn
from mercer.report import _figures, _figures_effects, svg
from mercer.report import _sections as first
from mercer.report import _sections_model as later
from mercer.report._html import Safe, el, rounded, script_json
from mercer.report.findings import Findings

CHARTS = (
    _figures.data_charts,
    _figures.fit_charts,
    _figures.column_charts,
    _figures.uncertainty_charts,
    _figures.selection_charts,
    _figures_effects.target_charts,
    _figures_effects.effect_charts,
    _figures_effects.pair_charts,
    _figures_effects.learning_charts,
)
ORDER = (
    ("verdict", "Verdict", first.verdict),
    ("checks", "Checks", first.checks),
    ("data", "Data", first.data),
    ("fit", "Fit", first.fit),
    ("uncertainty", "Uncertainty", first.uncertainty),
    ("selection", "λ and kernel", later.selection),
    ("effects", "Effects", later.effects),
    ("rows", "Rows", later.rows),
    ("numerics", "Numerics", later.numerics),
    ("reproduce", "Reproduce", later.reproduce),
)
LARGEST = {True: 1 << 20, False: 6 << 20}  # bytes of a page without and with plotly


def render(findings, lite=False):
    """Return the page of some findings: one HTML document, without any request to anywhere.

    Parameters
    ----------
    findings : Findings
    lite : bool, default=False
        Whether the charts are still pictures only: the page then has less than 1 MiB. Else the script of plotly is
        part of the page, about 4.6 MiB, and charts can be zoomed and read by hovering. Where plotly is not installed,
        the page is the lite one, and says so.

    Returns
    -------
    str

    Notes
    -----
    The still pictures are always there: without JavaScript, and in print, they are what is seen. The policy of the page
    allows only its own script and style, by their hashes.

    Examples
    --------
    >>> from mercer import KernelRidge
    >>> from mercer.datasets import load_cars
    >>> from mercer.report import collect, render
    >>> X, y = load_cars(return_X_y=True)
    >>> page = render(collect(KernelRidge().fit(X, y), X, y), lite=True)
    >>> page.startswith("<!doctype html>"), "<script src" in page
    (True, False)
    """
    if not isinstance(findings, Findings):
        raise TypeError(f"render needs Findings, as collect returns them, got {type(findings).__name__}.")
    plotly = None if lite else _plotly()
    note = None
    if plotly is None and not lite:
        note = "Charts are still pictures: plotly is not installed (mercer[report])."
        warn(note, UserWarning)
    page = _page(findings, plotly, note)
    size, limit = len(page.encode()), LARGEST[plotly is None]
    if size > limit:
        raise ValueError(
            f"the page has {size} bytes, more than {limit}. Give collect fewer or shorter notes, feature_names, target "
            "names and row_labels."
        )
    return page


def _plotly():
    """The script of plotly, or None where it is not installed."""
    if util.find_spec("plotly") is None:
        return None
    return (
        resources.files("plotly")
        .joinpath("package_data", "plotly.min.js")
        .read_text(encoding="utf-8")
        .replace("\r\n", "\n")
    )


def _own(name):
    """The text of a file of this package."""
    return resources.files("mercer.report").joinpath(name).read_text(encoding="utf-8").replace("\r\n", "\n")


def _hash(text):
    """What a policy calls a script or a style."""
    return "'sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode() + "'"


def _policy(scripts, styles):
    """Nothing from anywhere, but these scripts and styles, and pictures that the page itself makes."""
    return "; ".join([
        "default-src 'none'",
        "script-src " + " ".join(map(_hash, scripts)),
        "style-src " + " ".join(map(_hash, styles)),
        "img-src data: blob:",
        "base-uri 'none'",
        "form-action 'none'",
    ])  # fmt: skip


def _page(findings, plotly, note):
    """The document."""
    s = findings.sections
    style, script = _own("style.css"), _own("script.js")
    scripts = [script] if plotly is None else [script, plotly]  # ours first: it makes plotly fit the policy
    made = [one for build in CHARTS for one in build(s)] if plotly is not None else None
    title = f"{s['title']}: {s['estimator']}"
    head = el(
        "head",
        el("meta", charset="utf-8"),
        el("meta", http_equiv="Content-Security-Policy", content=_policy(scripts, [style, ""])),
        el("meta", name="viewport", content="width=device-width, initial-scale=1"),
        el("meta", name="color-scheme", content="light dark"),
        el("meta", name="referrer", content="no-referrer"),
        el("meta", name="robots", content="noindex"),
        el("title", title),
        el("style", Safe(style)),
        _placeholders(plotly),
    )
    body = el(
        "body",
        el("a", "Skip to the report", href="#main", class_="skip"),
        svg.definitions(),
        _header(s),
        _contents(),
        el("main", [part(s) for _, _, part in ORDER], id="main", tabindex="-1"),
        el("footer", el("p", f"Made by mercer {s['reproduce']['versions']['mercer']}. ", note)),
        script_json(findings.to_dict(), id="findings"),
        script_json(made, id="charts") if made is not None else None,
        [el("script", Safe(text)) for text in scripts],
    )
    return Safe("<!doctype html>\n") + el("html", head, body, lang="en") + "\n"


def _placeholders(plotly):
    """Empty styles under the names that plotly looks for: so it adds none, which the policy would refuse."""
    names = sorted(set(re.findall(r'document\.getElementById\("([0-9a-f]{64})"\)', plotly or "")))
    return [el("style", id=name) for name in names]


def _header(s):
    """What the page is about."""
    n, d = s["data"]["rows"], s["data"]["columns"]
    listed = s["data"]["features"] or s["data"].get("categories")
    size = f"{n} rows" + (f", {d} column{'' if d == 1 else 's'}" if listed else "")
    return el(
        "header",
        el("p", "mercer · report on a fitted model", class_="kicker"),
        el("h1", el("bdi", s["title"])),
        el("p", s["estimator"], " with ", el("code", rounded(s["kernel"])), f" on {size}.", class_="about"),
    )


def _contents():
    """Links to the sections."""
    links = [el("li", el("a", title, href=f"#{key}")) for key, title, _ in ORDER]
    return el("nav", el("ol", links), aria_label="Sections")

"""render: findings become one HTML page that needs nothing else."""

import base64
import hashlib
import re
from importlib import resources
from pathlib import Path

from mercer._atomic import replacing
from mercer.report import _sections as first
from mercer.report import _sections_model as later
from mercer.report._html import Safe, el, script_json, show
from mercer.report.findings import Findings


def write(findings, path, force=False):
    """Render findings into a file; the file is whole or, if anything fails, as it was.

    Parameters
    ----------
    findings : Findings
    path : path-like
    force : bool, default=False
        Whether a file that is there is replaced.

    Returns
    -------
    Path

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from mercer import KernelRidge
    >>> from mercer.datasets import load_cars
    >>> from mercer.report import collect, write
    >>> X, y = load_cars(return_X_y=True)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     found = collect(KernelRidge().fit(X, y), X, y)
    ...     write(found, pathlib.Path(folder) / "report.html").stat().st_size < 2**20
    True
    """
    path = Path(path)
    if path.exists() and not force:  # before the work is done
        raise FileExistsError(f"{path} is there already; use force=True to replace it.")
    text = render(findings)
    with replacing(path, force) as file:
        file.write(text.encode())
    return path


ORDER = (
    ("verdict", "Verdict", first.verdict),
    ("checks", "What to know", first.checks),
    ("whatif", "What if?", later.whatif),
    ("effects", "Columns", later.effects),
    ("fit", "Fit", first.fit),
    ("rows", "Rows", later.rows),
    ("selection", "λ and kernel", later.selection),
    ("data", "Data", first.data),
    ("reproduce", "Do it again", later.reproduce),
)
LARGEST = 1 << 20  # bytes of a page
LIVE = re.compile(r' data-[a-z]+="[^"]*"')  # what the script shows of a mark; texts have no quotes, they are escaped
TOO_LARGE = "The numbers behind the charts are not part of this page, which would be larger than 1 MiB."


def render(findings):
    """Return the page of some findings: one HTML document of less than 1 MiB, without any request to anywhere.

    Parameters
    ----------
    findings : Findings

    Returns
    -------
    str

    Notes
    -----
    The page is whole without JavaScript, and in print. Its script shows the numbers of a mark under the pointer or the
    arrow keys, and saves all numbers; its policy allows only this script and its style, by their hashes. Where very
    long names would make the page larger, it leaves out what the script needs, and says so.

    Examples
    --------
    >>> from mercer import KernelRidge
    >>> from mercer.datasets import load_cars
    >>> from mercer.report import collect, render
    >>> X, y = load_cars(return_X_y=True)
    >>> page = render(collect(KernelRidge().fit(X, y), X, y))
    >>> page.startswith("<!doctype html>"), "<script src" in page
    (True, False)
    """
    if not isinstance(findings, Findings):
        raise TypeError(f"render needs Findings, as collect returns them, got {type(findings).__name__}.")
    page = _page(findings)
    if len(page.encode()) > LARGEST:
        page = LIVE.sub("", _page(findings, TOO_LARGE))
    size = len(page.encode())
    if size > LARGEST:
        raise ValueError(
            f"the page has {size} bytes, more than {LARGEST}. Give collect fewer or shorter notes, feature_names, "
            "target names and row_labels."
        )
    return page


def _own(name):
    """The text of a file of this package."""
    return resources.files("mercer.report").joinpath(name).read_text(encoding="utf-8").replace("\r\n", "\n")


def _hash(text):
    """What a policy calls a script or a style."""
    return "'sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode() + "'"


def _policy(script, style):
    """Nothing from anywhere, but this script and this style."""
    return "; ".join([
        "default-src 'none'", f"script-src {_hash(script)}", f"style-src {_hash(style)}", "base-uri 'none'",
        "form-action 'none'",
    ])  # fmt: skip


def _page(findings, note=None):
    """The document; with a note instead of the numbers."""
    s = findings
    style, script = _own("style.css"), _own("script.js")
    head = el(
        "head",
        el("meta", charset="utf-8"),
        el("meta", http_equiv="Content-Security-Policy", content=_policy(script, style)),
        el("meta", name="viewport", content="width=device-width, initial-scale=1"),
        el("meta", name="color-scheme", content="light dark"),
        el("meta", name="referrer", content="no-referrer"),
        el("meta", name="robots", content="noindex"),
        el("title", f"{s.title}: {s.estimator}"),
        el("style", Safe(style)),
    )
    body = el(
        "body",
        el("a", "Skip to the report", href="#main", class_="skip"),
        _header(s),
        _contents(s),
        el("main", [part(s) for _, _, part in _there(s)], id="main", tabindex="-1"),
        el("footer", el("p", f"Made by mercer {s.reproduce.versions['mercer']}. ", note)),
        script_json(findings.to_dict(), id="findings") if note is None else None,
        el("script", Safe(script)),
    )
    return Safe("<!doctype html>\n") + el("html", head, body, lang="en") + "\n"


def _header(s):
    """What the page is about."""
    d = s.data.columns
    listed = s.data.features or s.data.categories or s.data.texts
    size = f"{show(s.data.fitted_rows)} rows" + (f" and {d} column{'' if d == 1 else 's'}" if listed else "")
    words = s.selection.chosen.words
    kernel = f", {words}" if words and len(words) < 160 else ""
    return el(
        "header",
        el("p", "mercer · report on a fitted model", class_="kicker"),
        el("h1", el("bdi", s.title)),
        el("p", f"{_model_of_target(s)} on {size}{kernel}.", class_="about"),
    )


MODELS = {
    "KernelRidge": "Kernel ridge regression", "GaussianProcessRegressor": "Gaussian process regression",
    "StackedKernels": "Mixture of Gaussian processes", "SVR": "Support vector regression",
    "GaussianProcessClassifier": "Gaussian process classification",
}  # fmt: skip


def _model_of_target(s):
    """The model as words, and what was made of its target."""
    made = s.numerics.entries
    if "inside" not in made:
        return _class_in_words(s.estimator)
    target = "" if made["target"] == "none" else f" of the transformed target ({made['target']})"
    return f"{_class_in_words(made['inside'])}{target}"


def _class_in_words(name):
    """The name of a class as words."""
    if name in MODELS:
        return MODELS[name]
    words = re.sub(r"(?<=[a-z])(?=[A-Z])", " ", name)
    return words[0] + words[1:].lower() if " " in words else words


def _there(s):
    """The sections of a page: columns and sliders where there are some, and more than one."""
    empty = {key for key, part in (("whatif", s.whatif), ("effects", s.effects)) if not part}
    if s.effects and s.effects.one_input:
        empty.add("effects")  # the curve of one input is on the first screen
    return [one for one in ORDER if one[0] not in empty]


def _contents(s):
    """Links to the sections."""
    links = [el("li", el("a", title, href=f"#{key}")) for key, title, _ in _there(s)]
    return el("nav", el("ol", links), aria_label="Sections")

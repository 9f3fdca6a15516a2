"""The page: sound HTML under a strict policy, hostile names as text, bounded in size, the same bytes each time."""

import base64
import hashlib
import json
import re

import numpy as np
import pytest

from mercer import KernelRidge
from mercer.kernels import Constant, Gaussian
from mercer.report import Findings, ReportLimits, charts, collect, page, render, svg, write
from mercer.report._html import number
from mercer.report.charts import find_ticks
from mercer.report.findings import plain
from mercer.report.page import ORDER
from page_elements import Tree


@pytest.fixture(scope="module")
def text(regression):
    return render(regression)


@pytest.fixture(scope="module")
def tree(text):
    return Tree(text)


def test_headings_are_in_order_and_every_section_is_there(tree):
    levels = [int(one["tag"][1]) for one in tree.elements if re.fullmatch("h[1-6]", one["tag"])]
    assert levels[0] == 1
    assert levels.count(1) == 1
    assert all(b <= a + 1 for a, b in zip(levels[:-1], levels[1:], strict=True))
    ids = [one["attrs"]["id"] for one in tree.elements if "id" in one["attrs"]]
    assert len(set(ids)) == len(ids)
    assert {key for key, _, _ in ORDER} <= set(ids)
    links = [one["attrs"]["href"] for one in tree.all("a")]
    assert links
    assert all(link.startswith("#") and link[1:] in ids for link in links)


def test_language_title_tables_and_text_alternatives(tree):
    assert tree.all("html")[0]["attrs"]["lang"] == "en"
    assert tree.all("title")[0]["text"].startswith("yield <b>kg</b>")
    assert len(tree.all("caption")) == len(tree.all("table")) > 5
    assert all(one["attrs"].get("scope") in ("row", "col") for one in tree.all("th"))
    pictures = [one for one in tree.all("svg") if "still" in one["attrs"].get("class", "")]
    assert len(pictures) > 10
    assert all(one["attrs"]["role"] == "img" and len(one["attrs"]["aria-label"]) > 20 for one in pictures)
    assert len([one for one in tree.all("summary") if one["text"].startswith("How to read it")]) == len(pictures)


def test_no_style_attribute_no_handler_and_nothing_from_elsewhere(tree):
    for one in tree.elements:
        assert not [
            name for name in one["attrs"] if name.startswith("on") or name in ("style", "src", "srcset", "action")
        ]
        assert one["tag"] not in ("link", "iframe", "img", "object", "embed", "form", "base")


def digests(policy, directive):
    return set(re.findall(r"'(sha256-[^']+)'", re.search(directive + r"([^;]*)", policy)[1]))


def sha(text):
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()


def test_policy_allows_what_is_there_and_nothing_else(tree):
    policy = next(one["attrs"]["content"] for one in tree.all("meta") if "http-equiv" in one["attrs"])
    assert policy.startswith("default-src 'none'")
    assert "unsafe" not in policy
    assert "http" not in policy
    (script,) = [one for one in tree.all("script") if one["attrs"].get("type") != "application/json"]
    (style,) = tree.all("style")
    assert digests(policy, "script-src") == {sha(script["text"])}
    assert digests(policy, "style-src") == {sha(style["text"])}
    # the policy comes before everything that it is to govern
    tags = [one["tag"] for one in tree.elements]
    assert tags.index("meta") < tags.index("style") < tags.index("script")


def test_hostile_names_are_text(tree, text, regression):
    for markup in ("<img", "<b>", "hacked=1</script", "<!-- &"):
        assert markup not in text
    assert not [one for one in tree.elements if one["tag"] in ("img", "b")]
    assert any("<img src=x onerror=alert(1)>" in one["text"] for one in tree.all("th"))
    for one in tree.all("script"):
        if one["attrs"].get("type") == "application/json":
            assert not re.search("[<>&\u2028\u2029]", one["text"])
            assert json.loads(one["text"])["title"] == regression.title


def test_hostile_classes_are_text(classification):
    tree = Tree(render(classification))
    assert any(one["text"] == "</script>yes" for one in tree.all("bdi"))


def test_numbers_of_the_page_are_in_its_data_block(tree, regression):
    block = next(one for one in tree.all("script") if one["attrs"].get("id") == "findings")
    assert Findings.from_dict(json.loads(block["text"])) == regression


def test_same_findings_same_bytes(regression, text):
    assert render(Findings.from_dict(json.loads(json.dumps(regression.to_dict())))) == text


# ------------------------------------------------------------------------------------------------ size
def test_the_page_is_small(text):
    assert len(text.encode()) < 400_000


@pytest.mark.parametrize("parts", [40])
def test_a_kernel_of_many_parts_fits_the_page(rng, parts):
    X = {f"a column with a long name, {k}": rng.uniform(size=40) for k in range(5)}
    y = np.sin(6 * X["a column with a long name, 0"])
    kernel = Gaussian(0.5).on("a column with a long name, 0")
    for k in range(parts):
        kernel = (kernel + Gaussian(1.0 + k).on(f"a column with a long name, {k % 5}")) * Constant(1.0)
    found = collect(KernelRidge(kernel, lam=0.1).fit(X, y), X, y, options=[ReportLimits(time_budget=0.0)])
    page = render(found)
    assert len(json.dumps(plain(found.selection.chosen))) < 30_000
    assert len(page.encode()) < 300_000
    assert f"{2 * parts + 1 - 40} more hyper-parameters are not listed" in page


def test_a_page_that_would_be_too_large_leaves_out_the_numbers_and_says_so(regression, text, monkeypatch):
    monkeypatch.setattr(page, "LARGEST", len(text.encode()) - 1)
    small = render(regression)
    tree = Tree(small)
    assert len(small) < 0.7 * len(text)
    assert "would be larger than 1 MiB" in tree.all("footer")[0]["text"]
    assert not [
        one for one in tree.elements if one["attrs"].get("type") == "application/json" or "data-x" in one["attrs"]
    ]
    assert len([one for one in tree.all("svg") if one["attrs"].get("class") == "still"]) > 10
    monkeypatch.setattr(page, "LARGEST", 1000)
    with pytest.raises(ValueError, match="more than 1000.*shorter notes"):
        render(regression)


# ---------------------------------------------------------------------------------------------- charts
def some(marks, x=None, y=None):
    return charts.Chart(
        "k", "t", "r", x or charts.axis("a", [[1.0, 2.0]]), y or charts.axis("b", [[3.0, 6.0]]), marks, ""
    )


def test_numbers_are_listed_once():
    x, y, z = [1.0, 2.0], [3.0, 4.0], [5.0, 6.0]
    marks = [charts.band(x, y, z, "band"), charts.line(x, y), charts.points(x, y, "seen"), charts.line(x, z, "other")]
    head, rows, of = charts.numbers_of(some([charts.rule(y=0.0), *marks]))
    assert head == ["a", "band, low", "high", "seen", "other"]
    assert rows == [[1.0, 3.0, 5.0, 3.0, 5.0], [2.0, 4.0, 6.0, 4.0, 6.0]]
    assert of == 2
    many = list(range(100))
    _, rows, of = charts.numbers_of(some([charts.points(many, many), charts.points([50], [50], "this")]))
    assert (len(rows), of) == (12, 100)
    assert (rows[0], rows[-1]) == ([0.0, 0.0], [99.0, 99.0])


def test_categories_and_fields_have_numbers_too():
    levels = charts.level_axis("site", ["Bern", "Oslo"])
    marks = [charts.band([0, 1], [1, 2], [3, 4], "half", kind="sticks"), charts.points([0, 1], [2, 3])]
    head, rows, _ = charts.numbers_of(some(marks, levels))
    assert head == ["site", "half, low", "high", "b"]
    assert rows == [["Bern", 1.0, 3.0, 2.0], ["Oslo", 2.0, 4.0, 3.0]]
    z = [[1.0, 2.0], [3.0, None], [5.0, 6.0]]
    head, rows, _ = charts.numbers_of(some([charts.cells([0, 1], [1, 2, 3], z, [2.5], "loss")], levels))
    assert head == ["loss: b down, site across", "Bern", "Oslo"]
    assert rows == [[3.0, 5.0, 6.0], [2.0, 3.0, None], [1.0, 1.0, 2.0]]


def tips(marks, x=None, y=None):
    """The places of the marks of a chart that say something, and what they say, as the script reads them."""
    out = []
    for one in Tree(svg.draw(some(marks, x, y))).elements:
        if "data-x" in one["attrs"]:
            said = {key[5:]: value for key, value in one["attrs"].items() if key.startswith("data-")}
            out.append({**said, "places": len(re.findall("[ML]", one["attrs"].get("d", "")))})
    return out


def test_marks_say_what_they_show():
    log = charts.axis("b", [[1.0, 1e7]], "log")
    rows = charts.points([1.0, None, 1.5, 2.0], [2.0, 3.0, -1.0, 12345.6], "rows", text=["p", "q", "r", "s\nt"])
    (found,) = tips([rows], y=log)
    assert found == {"name": "rows", "x": "1\n2", "y": "2\n12\u202f346", "text": "p\ns t", "places": 2}
    band, line_ = tips([charts.band([1, 2], [3, 4], [5, 6], "band"), charts.line([1, 2], [4, 5])])
    assert (band["y"], band["x"]) == ("3 to 5\n4 to 6", line_["x"])
    (bars,) = tips([charts.bars([0.0, 1.0, 2.0, 3.0], [4, 0, 5])])
    assert (bars["x"], bars["y"], bars["places"]) == ("0 to 1\n2 to 3", "4\n5", 2)
    (cells,) = tips([charts.cells([1, 2], [3, 4], [[1.0, None], [9.0, 2.0]], [5.0], "loss")])
    assert (cells["what"], cells["z"].split("\n")) == ("loss", ["1", "2", "9"])


@pytest.mark.parametrize(
    ("low", "high", "scale", "texts", "unit"),
    [
        (0.0, 1.0, "linear", ["0.0", "0.2", "0.4", "0.6", "0.8", "1.0"], 0),
        (0.0, 12_300.0, "linear", ["0", "2500", "5000", "7500", "10\u202f000"], 0),
        (-2e-5, 8e-5, "linear", ["−2", "0", "2", "4", "6", "8"], -5),
        (0.0, 3.2e7, "linear", ["0", "10", "20", "30"], 6),
        (20_000.0, 800_000.0, "linear", ["200\u202f000", "400\u202f000", "600\u202f000", "800\u202f000"], 0),
        (1e6, 1e6 + 50, "linear", ["1\u202f000\u202f000", "1\u202f000\u202f020", "1\u202f000\u202f040"], 0),
        (0.02, 0.3, "log", ["0.02", "0.05", "0.1", "0.2"], 0),
        (1e-2, 1e3, "log", ["0.01", "0.1", "1", "10", "100", "1000"], 0),
        (1e-9, 1e3, "log", ["10⁻⁹", "10⁻⁶", "10⁻³", "1", "10³"], 0),
        (450.0, 520.0, "log", ["460", "480", "500", "520"], 0),
    ],
)
def test_ticks_are_round_and_have_room(low, high, scale, texts, unit):
    found, n = find_ticks(charts.Axis("", [low, high], scale), 290.0)
    assert ([text for _, text in found], n) == (texts, unit)
    reach = 1e-6 * (high - low)
    assert all(low - reach <= v <= high + reach for v, _ in found)


@pytest.mark.parametrize(
    ("value", "text"),
    [(0.0, "0"), (0.01234, "0.0123"), (-350.4, "−350"), (999.7, "1000"), (1302.4, "1302"), (12_345.0, "12\u202f345"),
     (999_999.7, "1\u202f000\u202f000"), (1.234e7, "12\u202f340\u202f000"), (1.234e10, "1.23 × 10¹⁰"),
     (-5.83e-5, "−5.83 × 10⁻⁵"), (np.inf, "∞"), (-np.inf, "−∞")],
)  # fmt: skip
def test_numbers_as_a_person_writes_them(value, text):
    assert number(value) == text


# ------------------------------------------------------------------------------------------------- files
def test_render_wants_findings():
    with pytest.raises(TypeError, match="Findings"):
        render({"title": "y"})


def test_write_is_careful(regression, tmp_path, monkeypatch):
    path = tmp_path / "report.html"
    assert write(regression, path) == path
    first = path.read_bytes()
    with pytest.raises(FileExistsError, match="force"):
        write(regression, path)
    write(regression, path, force=True)
    assert path.read_bytes() == first == render(regression).encode()
    with pytest.raises(OSError, match="nowhere"):
        write(regression, tmp_path / "nowhere" / "report.html")
    assert [one.name for one in tmp_path.iterdir()] == ["report.html"]


def test_labels_have_confusion_and_a_curve_instead_of_residuals(classification):
    tree = Tree(render(classification))
    captions = [one["text"] for one in tree.all("caption")]
    assert any(text.startswith("Confusion") for text in captions)
    titles = [one["text"] for one in tree.all("h3")]
    assert "ROC curve" in titles
    assert "Do the probabilities come true?" in titles
    assert "Residuals" not in titles


def test_ridge_explains_its_lam(ridge):
    titles = [one["text"] for one in Tree(render(ridge)).all("h3")]
    for title in ("Which λ does each rule choose?", "L-curve: what the fit costs", "Picard plot: where signal ends",
                  "How sharply the evidence decides"):  # fmt: skip
        assert title in titles

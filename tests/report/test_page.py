"""The page: sound HTML under a strict policy, hostile names as text, bounded in size, the same bytes each time."""

import base64
import hashlib
import json
import re
from html.parser import HTMLParser

import pytest

from mercer.report import Findings, charts, page, render, write
from mercer.report.page import ORDER

VOID = {"meta", "br", "hr", "col", "link", "img", "input"}


class Tree(HTMLParser):
    """Elements with their attributes and text; complains of what is not closed in order."""

    def __init__(self, text):
        super().__init__(convert_charrefs=True)
        self.open, self.elements = [], []
        self.feed(text)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag, attrs):
        assert len({name for name, _ in attrs}) == len(attrs), (tag, attrs)
        one = {"tag": tag, "attrs": dict(attrs), "text": "", "above": [o["tag"] for o in self.open]}
        self.elements.append(one)
        if tag not in VOID:
            self.open.append(one)

    def handle_endtag(self, tag):
        assert self.open.pop()["tag"] == tag

    def handle_data(self, data):
        for one in self.open:
            one["text"] += data

    def all(self, tag):
        return [one for one in self.elements if one["tag"] == tag]


@pytest.fixture(scope="module")
def lite(regression):
    return render(regression, lite=True)


@pytest.fixture(scope="module")
def full(regression):
    return render(regression)


@pytest.fixture(scope="module")
def tree(lite):
    return Tree(lite)


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
    for one in pictures:
        assert one["attrs"]["role"] == "img"
        assert one["attrs"]["aria-labelledby"]
    plots = [one["attrs"] for one in tree.elements if one["attrs"].get("class") == "plot"]
    assert all(one["tabindex"] == "0" and len(one["aria-label"]) > 20 for one in plots)


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


@pytest.mark.parametrize("which", ["lite", "full"])
def test_policy_allows_what_is_there_and_nothing_else(which, request):
    tree = Tree(request.getfixturevalue(which))
    policy = next(one["attrs"]["content"] for one in tree.all("meta") if "http-equiv" in one["attrs"])
    assert policy.startswith("default-src 'none'")
    assert "unsafe" not in policy
    assert "http" not in policy
    scripts = [one for one in tree.all("script") if one["attrs"].get("type") != "application/json"]
    assert len(scripts) == (2 if which == "full" else 1)
    assert {sha(one["text"]) for one in scripts} == digests(policy, "script-src")
    assert {sha(one["text"]) for one in tree.all("style")} <= digests(policy, "style-src")
    # the policy comes before everything that it is to govern
    tags = [one["tag"] for one in tree.elements]
    assert tags.index("meta") < tags.index("style") < tags.index("script")


def test_hostile_names_are_text(tree, lite, regression):
    for markup in ("<img", "<b>", "hacked=1</script", "<!-- &"):
        assert markup not in lite
    assert not [one for one in tree.elements if one["tag"] in ("img", "b")]
    assert any("<img src=x onerror=alert(1)>" in one["text"] for one in tree.all("th"))
    for one in tree.all("script"):
        if one["attrs"].get("type") == "application/json":
            assert not re.search("[<>&\u2028\u2029]", one["text"])
            assert json.loads(one["text"])["title"] == regression["title"]


def test_hostile_classes_are_text(classification):
    tree = Tree(render(classification, lite=True))
    assert any(one["text"] == "</script>yes" for one in tree.all("bdi"))


def test_numbers_of_the_page_are_in_its_data_block(tree, regression):
    block = next(one for one in tree.all("script") if one["attrs"].get("id") == "findings")
    assert Findings.from_dict(json.loads(block["text"])) == regression


def test_sizes(lite, full):
    assert len(lite.encode()) < 1 << 20
    assert len(full.encode()) < 6 << 20
    assert "plotly.js v" in full
    assert "plotly.js v" not in lite


def test_same_findings_same_bytes(regression, lite):
    assert render(Findings.from_dict(json.loads(json.dumps(regression.to_dict()))), lite=True) == lite


def test_numbers_are_listed_once():
    x, y, z = [1.0, 2.0], [3.0, 4.0], [5.0, 6.0]
    marks = [charts.band(x, y, z, "band"), charts.line(x, y), charts.points(x, y, "seen"), charts.line(x, z, "other")]
    made = charts.chart("k", "t", "r", charts.axis("a", [x]), charts.axis("b", [y]), marks, "alt")
    head, rows = charts.numbers_of(made)
    assert head == ["a", "band, low", "high", "seen", "other"]
    assert rows[0] == [1.0, 3.0, 5.0, 3.0, 5.0]


def test_a_page_that_is_too_large_says_what_to_shorten(regression, monkeypatch):
    monkeypatch.setattr(page, "LARGEST", {True: 1000, False: 1000})
    with pytest.raises(ValueError, match="more than 1000.*shorter notes"):
        render(regression, lite=True)


def test_without_plotly_the_page_says_so(regression, monkeypatch):
    monkeypatch.setattr(page, "_plotly", lambda: None)
    with pytest.warns(UserWarning, match="plotly is not installed"):
        text = render(regression)
    assert "plotly is not installed" in Tree(text).all("footer")[0]["text"]
    assert len(text.encode()) < 1 << 20


def test_render_wants_findings():
    with pytest.raises(TypeError, match="Findings"):
        render({"title": "y"})


def test_write_is_careful(regression, tmp_path, monkeypatch):
    path = tmp_path / "report.html"
    assert write(regression, path, lite=True) == path
    first = path.read_bytes()
    with pytest.raises(FileExistsError, match="force"):
        write(regression, path, lite=True)
    write(regression, path, lite=True, force=True)
    assert path.read_bytes() == first == render(regression, lite=True).encode()
    with pytest.raises(OSError, match="nowhere"):
        write(regression, tmp_path / "nowhere" / "report.html", lite=True)
    assert [one.name for one in tmp_path.iterdir()] == ["report.html"]


def test_labels_have_confusion_and_a_curve_instead_of_residuals(classification):
    tree = Tree(render(classification, lite=True))
    captions = [one["text"] for one in tree.all("caption")]
    assert any(text.startswith("Confusion") for text in captions)
    titles = [one["text"] for one in tree.all("h3")]
    assert "ROC curve" in titles
    assert "Do the probabilities come true?" in titles
    assert "Residuals" not in titles


def test_ridge_explains_its_lam(ridge):
    titles = [one["text"] for one in Tree(render(ridge, lite=True)).all("h3")]
    for title in ("Which λ does each rule choose?", "L-curve: what the fit costs", "Picard plot: where signal ends",
                  "How sharply the evidence decides"):  # fmt: skip
        assert title in titles

"""The report in a real browser, from file://: it renders, is silent, asks for nothing, and runs nothing of the data."""

import json
import re

import pytest

pytestmark = pytest.mark.browser

LIVE = ("process", "labels", "ridge", "mixed")
EVERY = (*LIVE, "lite")


def sideways(page):
    """Pixels by which the page is wider than its window."""
    return page.evaluate("document.documentElement.scrollWidth - window.innerWidth")


def inert(seen, path):
    """Assert that a page said nothing, asked for nothing but itself, and ran nothing of the data."""
    assert seen.said == []
    assert [url for url in seen.requests if not url.startswith(("data:", "blob:"))] == [path.as_uri()]
    assert "hacked" not in seen.page.title()
    assert seen.page.locator("main img, main a[href^=javascript], main b, main i, main u").count() == 0


@pytest.mark.parametrize("name", LIVE)
def test_live_charts_are_drawn_without_a_word_or_a_request(visit, name, pages):
    seen = visit(name).through()
    plots = seen.page.locator(".plot").count()
    assert plots >= 5
    assert seen.page.locator(".plot.is-live .live .main-svg").first.is_visible()
    assert seen.page.locator(".plot.is-live").count() == plots
    assert seen.page.locator("script:not([type])").count() == 2
    inert(seen, pages[name])


def test_the_lite_page_is_silent_and_shows_hostile_names(visit, pages):
    seen = visit("lite")
    assert seen.page.locator("script:not([type])").count() == 1
    assert seen.page.locator("th bdi", has_text="<img src=x onerror=").first.is_visible()
    assert "</script><script>" in seen.page.locator("main").inner_text()
    inert(seen, pages["lite"])


@pytest.mark.parametrize("name", EVERY)
@pytest.mark.parametrize("width", [320, 768])
def test_narrow_screens_do_not_scroll_sideways(visit, name, width):
    seen = visit(name, width=width, height=640)
    if name != "lite":
        seen.through()
    assert sideways(seen.page) <= 0
    wide = seen.page.evaluate(
        "[...document.querySelectorAll('main *')].filter(e => !e.closest('.scroll, pre, svg, .live')"
        " && e.getBoundingClientRect().right > innerWidth + 1).map(e => e.outerHTML.slice(0, 80))"
    )
    assert wide == []


def test_plotly_shows_markup_as_text(visit):
    page = visit("process").through().page
    texts = page.locator(".live text").all_text_contents()
    assert any("<img src=x" in text for text in texts)
    assert any("<i>yield</i>" in text for text in texts)
    assert page.locator(".live a").count() == 0


def test_hovering_names_the_row(visit):
    page = visit("process").through().page
    page.evaluate("document.getElementById('plot-fit').scrollIntoView({block: 'center', behavior: 'instant'})")
    box = page.locator("#plot-fit .live .points path").nth(3).bounding_box()
    page.mouse.move(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
    page.wait_for_selector("#plot-fit .hoverlayer .hovertext", timeout=5000)
    assert "<u>" in page.locator("#plot-fit .hoverlayer").text_content()


def test_injected_script_and_style_are_refused(visit):
    seen = visit("lite")
    seen.page.evaluate(
        """() => {
          const script = document.createElement("script"); script.textContent = "document.title = 'hacked'";
          document.body.append(script);
          const image = document.createElement("img"); image.src = "https://example.invalid/x.png";
          document.body.append(image);
          document.body.insertAdjacentHTML("beforeend", "<b onclick='document.title=1'>x</b>");
        }"""
    )
    seen.page.wait_for_timeout(100)
    assert "hacked" not in seen.page.title()
    for directive in ("script-src", "img-src"):
        assert any("Content Security Policy" in text and directive in text for text in seen.said)
    seen.page.locator("b").click()
    assert seen.page.title() != "1"


# -------------------------------------------------------------------------------- without script, in print
@pytest.mark.parametrize("name", ["process", "lite"])
def test_readable_without_javascript(visit, name):
    page = visit(name, java_script_enabled=False).page
    assert page.locator("#verdict").is_visible()
    pictures = page.locator("svg.still")
    assert pictures.count() >= 10
    assert all(pictures.nth(i).is_visible() for i in range(pictures.count()))
    assert pictures.first.bounding_box()["height"] > 100
    assert page.locator("#save").is_hidden()
    assert page.locator("details summary").first.is_visible()


def test_print_has_the_still_pictures(visit):
    page = visit("process").through().page
    page.emulate_media(media="print")
    assert page.locator("svg.still").first.is_visible()
    assert page.locator(".live").first.is_hidden()
    assert page.locator("nav").is_hidden()


# ----------------------------------------------------------------------------------------------- colours
def luminance(colour):
    """Relative luminance of rgb(...)."""
    parts = [int(v) / 255 for v in re.findall(r"\d+", colour)[:3]]
    linear = [v / 12.92 if v <= 0.04045 else ((v + 0.055) / 1.055) ** 2.4 for v in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(one, other):
    a, b = sorted((luminance(one), luminance(other)), reverse=True)
    return (a + 0.05) / (b + 0.05)


CONTRASTS = """() => {
  const behind = (e) => { for (; e; e = e.parentElement) { const c = getComputedStyle(e).backgroundColor;
    if (!c.startsWith("rgba(0, 0, 0, 0") ) return c; } return "rgb(255, 255, 255)"; };
  return [...document.querySelectorAll("h1, h2, h3, p, td, th, dt, dd, small, figcaption, summary, nav a, .severity")]
    .filter(e => e.checkVisibility() && !behind(e).startsWith("color"))
    .map(e => [getComputedStyle(e).color, behind(e), e.textContent.slice(0, 40)]);
}"""


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_text_stands_out_in_both_schemes(visit, scheme):
    page = visit("process", color_scheme=scheme).page
    background = page.evaluate("getComputedStyle(document.body).backgroundColor")
    assert (luminance(background) > 0.5) == (scheme == "light")
    pairs = page.evaluate(CONTRASTS)
    assert len(pairs) > 50
    weak = [(text, round(contrast(a, b), 2)) for a, b, text in pairs if contrast(a, b) < 4.5]
    assert weak == []


def test_live_charts_follow_the_scheme(visit):
    seen = visit("ridge", color_scheme="light").through()
    page = seen.page
    colour = "getComputedStyle(document.querySelector('.live .xtick text')).fill"
    light = page.evaluate(colour)
    page.emulate_media(color_scheme="dark")
    seen.until(f"{colour} !== {light!r}")
    assert luminance(page.evaluate(colour)) > luminance(light)


# ---------------------------------------------------------------------------------------------- keyboard
def test_keyboard_reaches_everything(visit):
    page = visit("process").page
    page.keyboard.press("Tab")
    skip = page.locator(".skip")
    assert skip.evaluate("e => e === document.activeElement")
    assert skip.bounding_box()["x"] >= 0
    page.keyboard.press("Enter")
    assert page.evaluate("document.activeElement.id") == "main"
    reached = set()
    for _ in range(400):
        page.keyboard.press("Tab")
        kind = page.evaluate("document.activeElement.className || document.activeElement.tagName")
        if kind == "BODY":
            break
        reached.add(kind)
    assert {"SUMMARY", "BUTTON"} <= reached
    for kind in ("plot", "scroll"):
        assert any(one.startswith(kind) for one in reached)


def test_focus_is_visible(visit):
    page = visit("lite").page
    page.locator(".plot").first.focus()
    page.keyboard.press("Shift+Tab")
    page.keyboard.press("Tab")
    style = page.evaluate("(s => [s.outlineStyle, s.outlineWidth])(getComputedStyle(document.activeElement))")
    assert style == ["solid", "3px"]


def test_summary_opens_by_keyboard(visit):
    page = visit("lite").page
    first = page.locator("details").first
    first.locator("summary").focus()
    page.keyboard.press("Enter")
    assert first.locator("table").is_visible()


# ------------------------------------------------------------------------------------------- the numbers
def test_numbers_can_be_saved(visit, tmp_path):
    page = visit("process", accept_downloads=True).page
    with page.expect_download() as download:
        page.locator("#save").click()
    download.value.save_as(tmp_path / "report.json")
    saved = json.loads((tmp_path / "report.json").read_text(encoding="utf-8"))
    assert saved["schema"] == 1
    assert saved["data"]["rows"] == 80

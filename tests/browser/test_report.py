"""The report in a real browser, from file://: it renders, is silent, asks for nothing, and runs nothing of the data."""

import json
import re

import numpy as np
import pytest

pytestmark = pytest.mark.browser

EVERY = ("process", "labels", "classes", "ridge", "mixed", "plain", "mapped", "landmarks", "neighbours")


def sideways(page):
    """Pixels by which the page is wider than its window."""
    return page.evaluate("document.documentElement.scrollWidth - window.innerWidth")


def inert(seen, path):
    """Assert that a page said nothing, asked for nothing but itself, and ran nothing of the data."""
    assert seen.said == []
    assert [url for url in seen.requests if not url.startswith(("data:", "blob:"))] == [path.as_uri()]
    assert "hacked" not in seen.page.title()
    assert seen.page.locator("main img, main a[href^=javascript], main b, main i, main u").count() == 0


@pytest.mark.parametrize("name", EVERY)
def test_a_page_says_nothing_and_asks_for_nothing(visit, name, pages):
    seen = visit(name)
    assert seen.page.locator("script:not([type])").count() == 1
    assert seen.page.locator(".plot .hint").count() == seen.page.locator(".plot").count() >= 5
    inert(seen, pages[name])


def test_hostile_names_are_shown(visit):
    page = visit("process").page
    assert page.locator("th bdi", has_text="<img src=x onerror=").first.is_visible()
    assert "</script><script>" in page.locator("main").inner_text()


@pytest.mark.parametrize("name", EVERY)
@pytest.mark.parametrize("width", [320, 768, 1280])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_no_screen_scrolls_sideways(visit, name, width, scheme):
    seen = visit(name, width=width, height=640, color_scheme=scheme)
    assert sideways(seen.page) <= 0
    wide = seen.page.evaluate(
        "[...document.querySelectorAll('main *')].filter(e => !e.closest('.scroll, pre, svg')"
        " && e.getBoundingClientRect().right > innerWidth + 1).map(e => e.outerHTML.slice(0, 80))"
    )
    assert wide == []


# ------------------------------------------------------------------------------------------------ charts
COLLIDING = """() => [...document.querySelectorAll("svg.still")].flatMap((picture) => {
  const whole = picture.getBoundingClientRect();
  const texts = [...picture.querySelectorAll("text")].map((e) => [e.textContent, e.getBoundingClientRect()]);
  const outside = texts.filter(([, b]) => b.left < whole.left - 1 || b.right > whole.right + 1 || b.top < whole.top - 1
    || b.bottom > whole.bottom + 1).map(([text]) => `outside: ${text}`);
  const over = texts.flatMap(([text, a], i) => texts.slice(i + 1).filter(([, b]) => a.left < b.right - 1
    && b.left < a.right - 1 && a.top < b.bottom - 3 && b.top < a.bottom - 3).map(([other]) => `${text} over ${other}`));
  return [...outside, ...over].map((text) => `${picture.parentElement.id}: ${text}`);
})"""


@pytest.mark.parametrize("name", EVERY)
@pytest.mark.parametrize("width", [320, 768, 1280])
def test_texts_of_charts_neither_collide_nor_leave_the_picture(visit, name, width):
    page = visit(name, width=width).page
    page.evaluate("document.querySelectorAll('details').forEach((e) => { e.open = true; })")
    assert page.evaluate(COLLIDING) == []


@pytest.mark.parametrize("width", [320, 1280])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_hovering_says_what_is_there(visit, width, scheme):
    seen = visit("process", width=width, color_scheme=scheme)
    tip = seen.hover("fit", 0.6, 0.4)
    assert tip.is_visible()
    text = tip.inner_text().splitlines()
    assert text[0].startswith("rows: <u>")
    assert text[1].startswith("predicted, row left out: ")
    assert text[2].startswith("measured: ")
    box, spot = tip.bounding_box(), seen.page.locator("#plot-fit .spot").bounding_box()
    assert box["x"] >= 0 and box["x"] + box["width"] <= width
    assert box["y"] + box["height"] <= spot["y"] or box["y"] >= spot["y"] + spot["height"]
    style = tip.evaluate("e => [getComputedStyle(e).color, getComputedStyle(e).backgroundColor, e.offsetHeight]")
    assert contrast(*style[:2]) > 7
    seen.page.mouse.move(1, 1)
    assert tip.is_hidden()


def test_every_kind_of_mark_says_its_numbers(visit):
    seen = visit("process")
    assert "\u202f" in seen.hover("target", 0.9, 0.8).inner_text()  # bars, with large numbers
    assert "log evidence lost: " in seen.hover("surface", 0.5, 0.3).inner_text()
    lines = seen.hover("criteria", 0.5, 0.6).inner_text()
    assert "λ, added to the diagonal of K: " in lines
    seen.plot("effect-0").focus()
    seen.page.keyboard.press("ArrowRight")
    both = seen.page.locator("#plot-effect-0 .hint").inner_text()
    assert "average: " in both and "±2 posterior deviations: " in both
    seen = visit("mixed")
    sites = seen.page.locator(".plot:has(svg[data-across='<u>site</u>'])").first
    sites.focus()
    seen.page.keyboard.press("Home")
    assert "<u>site</u>: </script>" in sites.locator(".hint").inner_text()


def test_arrow_keys_go_from_point_to_point(visit):
    seen = visit("process")
    plot, key = seen.plot("fit"), seen.page.keyboard.press
    plot.focus()
    tip = plot.locator(".hint")
    assert tip.is_hidden()
    assert tip.get_attribute("role") == "status"
    said = []
    for name in ("ArrowRight", "ArrowRight", "End", "Home", "ArrowLeft"):
        key(name)
        said.append(tip.inner_text())
    assert said[0] == said[3] == said[4]
    assert len(set(said)) == 3
    key("Escape")
    assert tip.is_hidden()
    plot = seen.plot("effect-0")
    plot.focus()
    key("ArrowRight")
    first = plot.locator(".spot").bounding_box()
    key("End")
    last = plot.locator(".spot").bounding_box()
    assert last["x"] > first["x"] + 100
    assert "average: " in plot.locator(".hint").inner_text()
    seen.page.locator("#save").focus()
    assert plot.locator(".hint").is_hidden()


def test_up_and_down_go_from_series_to_series(visit):
    seen = visit("ridge")
    plot = seen.plot("picard")
    plot.focus()
    said = set()
    for _ in range(3):
        seen.page.keyboard.press("ArrowDown")
        said.add(plot.locator(".spot").get_attribute("cy"))
    assert len(said) == 3


def test_injected_script_and_style_are_refused(visit):
    seen = visit("process")
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


# ----------------------------------------------------------------------------------------------- what if
def said(text):
    """A number as the page writes it."""
    return float(text.replace("\u202f", "").replace("−", "-"))


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [320, 768, 1280])
def test_sliders_move_the_prediction_and_its_interval(visit, models, width, scheme):
    seen = visit("process", width=width, color_scheme=scheme)
    model, X, y = models["process"]
    box = seen.page.locator("#sliders")
    assert box.get_attribute("data-ready") == "yes"
    row = np.median(X, axis=0)[None]
    for step in range(3):
        mean, std = model.predict(row, return_std=True, noisy=True)
        assert said(box.locator(".now").inner_text()) == pytest.approx(mean[0], rel=5e-3)
        low, high = map(said, re.search(r": (.+) to (.+)$", box.locator(".interval").inner_text()).groups())
        assert (high - low) / 2 == pytest.approx(1.6449 * std[0], rel=0.05)  # by a stand-in
        slider = seen.page.locator(f"#slider-{step}")
        column = seen.page.evaluate(
            "k => JSON.parse(document.getElementById('findings').textContent).whatif.factors[k].columns[0]", step
        )
        slider.evaluate(
            "(e, share) => { e.value = Number(e.min) + share * (e.max - e.min); e.dispatchEvent(new Event('input')); }",
            0.25,
        )
        row[0, column] = float(slider.input_value())
        seen.page.wait_for_timeout(100)
    assert seen.said == []


@pytest.mark.parametrize("name", ["process", "labels", "ridge", "mixture", "mapped", "landmarks"])
def test_sliders_begin_with_what_the_model_says(visit, models, name):
    seen = visit(name)
    model, X, y = models[name]
    row, now = np.median(X, axis=0)[None], seen.page.locator("#sliders .now").inner_text()
    if name == "labels":
        assert float(now.removesuffix("\u00a0%")) == pytest.approx(100 * model.predict_proba(row)[0, 1], abs=1.5)
    else:
        assert said(now) == pytest.approx(model.predict(row)[0], rel=5e-3 if name != "mapped" else 0.05)
    if name in ("mixture", "mapped"):  # the quantiles of the model, which lie unevenly around it
        ends = map(said, re.search(r": (.+) to (.+)$", seen.page.locator("#sliders .interval").inner_text()).groups())
        np.testing.assert_allclose(list(ends), model.predict_interval(row)[0], rtol=0.1, atol=0.05 * y.std())


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [320, 1280])
def test_sliders_of_several_classes_have_the_probability_of_each(visit, models, width, scheme):
    seen = visit("classes", width=width, color_scheme=scheme)
    model, X, _ = models["classes"]
    row, box = np.median(X, axis=0)[None], seen.page.locator("#sliders")
    for share in (None, 0.1, 0.9):
        if share is not None:
            slider = seen.page.locator("#slider-0")
            slider.evaluate("(e, s) => { e.value = Number(e.min) + s * (e.max - e.min); "
                            "e.dispatchEvent(new Event('input')); }", share)  # fmt: skip
            seen.page.wait_for_timeout(100)
            column = seen.page.evaluate(
                "JSON.parse(document.getElementById('findings').textContent).whatif.factors[0].columns[0]"
            )
            given = seen.page.evaluate("Number(document.getElementById('slider-0').value)")
            row[0, column] = given
        shares = [float(text.removesuffix("\u00a0%")) for text in box.locator(".shares .value").all_inner_texts()]
        P = model.predict_proba(row)[0]
        np.testing.assert_allclose(shares, 100 * P, atol=6)
        assert box.locator(".now").inner_text() == model.classes_[np.argmax(shares)]
    assert seen.said == []


def test_a_category_is_chosen_from_a_list_and_the_middle_comes_back(visit):
    seen = visit("mixed")
    box, first = seen.page.locator("#sliders"), seen.page.locator("#sliders .now").inner_text()
    choice = box.locator("select").first
    choice.select_option(index=1 - choice.evaluate("e => Math.min(e.selectedIndex, 1)"))
    seen.page.wait_for_timeout(100)
    assert box.locator(".now").inner_text() != first
    box.locator(".back").click()
    seen.page.wait_for_timeout(100)
    assert box.locator(".now").inner_text() == first


def test_the_first_screen_is_whole(visit):
    page = visit("plain", width=1280, height=900).page
    for part in ("#verdict", ".beside", "#plot-fit", "#plot-effect-0", "#plot-effect-1", "#plot-effect-2"):
        box = page.locator(part).first.bounding_box()
        assert box["y"] + box["height"] <= 900, part
    curve = visit("ridge", width=1280, height=900).page.locator("#plot-curve").bounding_box()
    assert curve["y"] + curve["height"] <= 900


@pytest.mark.parametrize("name", EVERY)
def test_a_small_table_has_a_short_page(visit, name):
    assert visit(name).page.evaluate("document.documentElement.scrollHeight") <= 6600


def test_a_code_leads_to_what_it_means(visit):
    page = visit("labels").page
    link = page.locator(".check a.code").first
    target = page.locator(link.get_attribute("href"))
    assert target.count() == 1 and len(target.inner_text()) > 10


# -------------------------------------------------------------------------------- without script, in print
def test_readable_without_javascript(visit):
    page = visit("process", java_script_enabled=False).page
    assert page.locator("#verdict").is_visible()
    pictures = page.locator("svg.still")
    assert pictures.count() >= 10
    shown = page.locator("svg.still:not(details *)")
    assert shown.count() >= 8
    assert all(shown.nth(i).is_visible() for i in range(shown.count()))
    assert pictures.first.bounding_box()["height"] > 100
    assert page.locator("#save").is_hidden()
    assert page.locator("details summary").first.is_visible()
    assert page.locator(".plot[tabindex]").count() == 0  # nothing to stop at


def test_print_has_the_pictures(visit):
    seen = visit("process")
    assert seen.hover("fit", 0.6, 0.4).is_visible()
    seen.page.emulate_media(media="print")
    assert seen.page.locator("svg.still").first.is_visible()
    for hidden in (".hint", ".spot", "nav", ".save"):
        assert seen.page.locator(hidden).first.is_hidden()
    assert seen.page.evaluate("document.documentElement.scrollWidth - window.innerWidth") <= 0


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


def test_charts_follow_the_scheme(visit):
    page = visit("ridge", color_scheme="light").page
    colour = "getComputedStyle(document.querySelector('.still text')).fill"
    light = page.evaluate(colour)
    page.emulate_media(color_scheme="dark")
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
    page = visit("process").page
    page.locator(".plot").first.focus()
    page.keyboard.press("Shift+Tab")
    page.keyboard.press("Tab")
    style = page.evaluate("(s => [s.outlineStyle, s.outlineWidth])(getComputedStyle(document.activeElement))")
    assert style == ["solid", "3px"]


def test_summary_opens_by_keyboard(visit):
    page = visit("process").page
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
    assert saved["schema"] == 2
    assert saved["data"]["rows"] == 80

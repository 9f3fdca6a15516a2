"""What the sections are built of: headings, panels with a chart or a table, and the line of a part that is missing."""

import re
from dataclasses import replace

from mercer.report import svg
from mercer.report._html import el, show, table
from mercer.report.charts import BROAD, numbers_of

WORDED = "model|criterion|kernel|target-transform"  # options that are followed by a word
TYPED = re.compile(rf"(--(?:{WORDED}) [a-z]+|--[a-z]+(?:-[a-z]+)*(?: '[^']*'| [A-Z]+\b| \d\w*)?)")
SIGNS = {"problem": "✕", "warning": "!", "tip": "i", "good": "✓"}


def section(key, title, *children):
    """One section with its heading."""
    return el("section", el("h2", title, id=key), *children, aria_labelledby=key)


def mark_commands(text):
    """A sentence with what is to be typed in the letters of code, and whole on one line."""
    return [el("code", part, class_="keep") if k % 2 else part for k, part in enumerate(TYPED.split(text))]


def panels(*items):
    """Tables and charts side by side; None is left out, a list stands for its items."""
    flat = [one for item in items for one in (item if isinstance(item, list) else [item]) if one is not None]
    return el("div", flat, class_="panels") if flat else None


def figures(charts, heading="h3"):
    """Charts as panels."""
    return [figure(one, heading) for one in charts]


def figure(made, heading="h3"):
    """One chart: title, picture, legend, what it shows in words; how to read it and its numbers unfold."""
    named = [one for mark in made.marks if mark.name for one in _ranges(mark)]
    legend = [el("li", svg.key(mark), el("span", mark.name)) for mark in named]
    return el(
        "figure",
        el(heading, made.title, class_="figure-title"),
        el("div", svg.draw(made), class_="plot", id=f"plot-{made.key}"),
        el("ul", legend, class_="legend") if legend else None,
        el("figcaption", stand_out(made.alt), stand_out(f" {made.note}") if made.note else None),
        _fold_numbers(made),
        class_="chart broad" if made.size == BROAD else "chart",
    )


def _fold_numbers(made):
    """How to read a chart, and the numbers behind it, or some of them."""
    found = numbers_of(made)
    read = el("p", made.read, class_="read")
    if found is None:
        return el("details", el("summary", "How to read it"), read)
    head, rows, of = found
    some = "" if len(rows) == of else f", {len(rows)} of {show(of)}"
    return el("details", el("summary", f"How to read it; numbers{some}"), read,
              table(f"{made.title}: numbers", head, rows, hidden=True))  # fmt: skip


def fold(title, *children):
    """A part that is folded away until it is asked for."""
    return el("details", el("summary", title), *children, class_="folded")


def _ranges(mark):
    """A mark of the legend; of cells with high values dark one for each shade, from the highest."""
    if mark.kind != "cells" or mark.dark != "high":
        return [mark]
    limits = mark.levels
    words = [f"{show(a)} to {show(b)}" for a, b in zip(limits[:-1], limits[1:], strict=True)]
    words = [f"below {show(limits[0])}", *words, f"above {show(limits[-1])}"]
    return [replace(mark, name=text, shade=k) for k, text in enumerate(reversed(words))]


def stand_out(text):
    """A few words that stand out from the explanation."""
    return el("span", text, class_="said")


def remark(*text):
    """A paragraph in small voice."""
    return el("p", *text, class_="remark")


def absent(why):
    """The one line of a part that does not apply."""
    return el("p", why, class_="absent")


def bar(share, strong=True):
    """A bar as long as a share, for a cell of a table."""
    share = max(0.0, min(float(share), 1.0))
    inside = el("rect", width=f"{100 * share:.1f}%", height="100%", class_=None if strong else "pale")
    return el("svg", inside, class_="bar", role="img", aria_label=f"{100 * share:.0f} %")


def code(text):
    """A block of code that can be reached by the keyboard when it scrolls."""
    return el("pre", el("code", text), tabindex="0")

"""HTML made of calls: text is escaped because it is text, not because somebody thought of it."""

import json
import re
from html import escape

from mercer.report._words import show


class Safe(str):
    """Markup that is not escaped again; made by `el` and by constants of this package only."""

    __slots__ = ()


def el(name, /, *children, **attributes):
    """Return one element; children that are not `Safe` are escaped, None is left out.

    Attributes lose a trailing underscore, and inner ones become hyphens: ``class_``, ``aria_label``. None is left out.
    """
    said = "".join(
        f" {key.rstrip('_').replace('_', '-')}" + ("" if value is True else f'="{escape(str(value), quote=True)}"')
        for key, value in attributes.items()
        if value is not None and value is not False
    )
    if name in ("meta", "br", "hr", "col"):
        return Safe(f"<{name}{said}>")
    return Safe(f"<{name}{said}>{join(children)}</{name}>")


def join(children):
    """Children one after another, each escaped unless it is markup."""
    out = []
    for child in children:
        if child is None:
            continue
        if isinstance(child, list | tuple):
            out.append(join(child))
        else:
            out.append(child if isinstance(child, Safe) else escape(str(child), quote=True))
    return Safe("".join(out))


def name(text):
    """A name from the data: isolated, so that its direction of writing does not turn the sentence around."""
    return el("bdi", text)


def rounded(text):
    """A kernel as text with four digits in its numbers: the page shows it so, and has the full one at its end."""
    return re.sub(r"\d+\.\d{4,}(?:e[-+]?\d+)?", lambda found: f"{float(found[0]):.4g}", text)


def table(caption, head, rows, first="row", classes=None, hidden=False):
    """A table with a caption and scoped headers; columns whose cells are all numbers are set to the right."""
    numeric = [all(_is_number(row[j]) for row in rows) and bool(rows) for j in range(len(head))]
    body = []
    for row in rows:
        cells = []
        for j, cell in enumerate(row):
            kind = "num" if numeric[j] else None
            text = cell if isinstance(cell, Safe) else show(cell)
            if j == 0 and first == "row":
                cells.append(el("th", text, scope="row", class_=kind))
            else:
                cells.append(el("td", text, class_=kind))
        body.append(el("tr", cells))
    top = [el("th", title, scope="col", class_="num" if numeric[j] else None) for j, title in enumerate(head)]
    made = el("table", el("caption", caption, class_="quiet" if hidden else None), el("thead", el("tr", top)),
              el("tbody", body))  # fmt: skip
    # A region that scrolls by itself is reached by the keyboard too.
    kind = f"scroll {classes}" if classes else "scroll"
    return el("div", made, class_=kind, tabindex="0", role="region", aria_label=caption)


def _is_number(cell):
    """Whether a cell is a number, or stands for one."""
    return cell is None or (isinstance(cell, int | float) and not isinstance(cell, bool)) or cell in ("∞", "-∞")


def script_json(value, **attributes):
    """A block of data for scripts; nothing in it can end the block or be read as markup."""
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    for sign in "<>&\u2028\u2029":
        text = text.replace(sign, f"\\u{ord(sign):04x}")
    return el("script", Safe(text), type="application/json", **attributes)

"""HTML made of calls: text is escaped because it is text, not because somebody thought of it."""

import json
import math
import re
from html import escape

import numpy as np

THIN = "\u202f"  # between thousands; no line is broken there
LARGEST = 1e9  # numbers that are written in full: sums of money are
RAISED = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")


def number(value, digits=3):
    """A number as a person writes it: 0.012, 350, 12 300, 4 500 000, 1.23 × 10⁻⁵, ∞."""
    if not math.isfinite(value):
        return "not a number" if value != value else "∞" if value > 0 else "−∞"
    if value == 0 or 1e-3 <= abs(value) < LARGEST:
        plain = f"{value:.{digits}g}"
        return group_thousands(value, 0) if abs(float(plain)) >= 10**digits else plain.replace("-", "−")
    mantissa, exponent = f"{value:.{digits - 1}e}".split("e")
    mantissa = mantissa.rstrip("0").rstrip(".").replace("-", "−")
    return power_of_ten(int(exponent)) if mantissa == "1" else f"{mantissa} × {power_of_ten(int(exponent))}"


def group_thousands(value, decimals):
    """A number with so many decimals, thousands apart from 10 000 on."""
    text = f"{value:,.{decimals}f}".replace("-", "−")
    return text.replace(",", THIN if abs(value) >= 9_999.5 else "")


def day(value):
    """The date of a day, counted from 1970-01-01."""
    return str(np.datetime64(math.floor(value), "D"))


def unit_text(exponent):
    """What 10ⁿ of something is called on an axis."""
    return {6: "millions", 9: "billions"}.get(exponent) or power_of_ten(exponent)


def power_of_ten(exponent):
    """10ⁿ."""
    return f"10{str(exponent).translate(RAISED)}"


def percent(value):
    """A share in per cent."""
    return f"{100 * value:.0f} %" if value >= 0.1 or value == 0 else f"{100 * value:.2g} %"


def with_error(score, error):
    """A score with its standard error."""
    return (f"{score:.3g} ± {error:.2g}" if error else f"{score:.3g}").replace("-", "−")


def show(value):
    """A value for people: counts in full, other numbers with three digits, None as a dash."""
    if value is None:
        return "–"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int):
        return group_thousands(value, 0)
    return number(value) if isinstance(value, float) else str(value)


def name_some(names, limit=3):
    """Names in a row, the rest counted."""
    more = len(names) - limit
    return ", ".join(map(str, names[:limit])) + (f" and {more} more" if more > 0 else "")


def and_list(words):
    """Words in a row: a, b and c."""
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} and {words[-1]}"


def last_doubling(learning):
    """(share by which the last doubling of the rows lowered the error, whether that is beyond its standard errors)."""
    sizes, error, spread = learning.sizes, learning.error, learning.spread
    half = sizes[-1] / 2
    below = max((k for k, size in enumerate(sizes[:-1]) if size <= half), default=0)
    before = float(np.interp(math.log(half), np.log(sizes), error))
    if not before > 0:
        return 0.0, False
    noise = math.hypot(spread[below], spread[-1])
    return (before - error[-1]) / before, bool(before - error[-1] > noise)


def size_text(count):
    """Bytes as a person writes them."""
    for unit in ("bytes", "KiB", "MiB", "GiB"):
        if count < 1024 or unit == "GiB":
            return f"{count:.0f} {unit}" if unit == "bytes" else f"{count:.3g} {unit}"
        count /= 1024
    return None


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
    if name in ("meta", "br", "hr", "col", "input"):
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
            # a number and its % are not torn apart
            out.append(child if isinstance(child, Safe) else escape(str(child), quote=True).replace(" %", "\u00a0%"))
    return Safe("".join(out))


def name(text):
    """A name from the data: isolated, so that its direction of writing does not turn the sentence around."""
    return el("bdi", text)


def with_four_digits(text):
    """A kernel as text with four digits in its numbers; the full one is at the end of the page."""
    return re.sub(r"\d+\.\d{4,}(?:e[-+]?\d+)?", lambda found: f"{float(found[0]):.4g}", text)


def table(caption, head, rows, classes=None, hidden=False):
    """A table with a caption and scoped headers; columns whose cells are all numbers are set to the right."""
    numeric = [all(_is_number(row[j]) for row in rows) and bool(rows) for j in range(len(head))]
    kinds = ["num" if one else None for one in numeric]
    body = []
    for row in rows:
        first, *rest = (cell if isinstance(cell, Safe) else show(cell) for cell in row)
        cells = [el("td", text, class_=kind) for text, kind in zip(rest, kinds[1:], strict=True)]
        body.append(el("tr", el("th", first, scope="row", class_=kinds[0]), cells))
    top = [el("th", title, scope="col", class_=kind) for title, kind in zip(head, kinds, strict=True)]
    made = el("table", el("caption", caption, class_="quiet" if hidden else None), el("thead", el("tr", top)),
              el("tbody", body))  # fmt: skip
    # A region that scrolls by itself is reached by the keyboard too.
    kind = f"scroll {classes}" if classes else "scroll"
    return el("div", made, class_=kind, tabindex="0", role="region", aria_label=caption)


def drop_empty_columns(head, rows):
    """(head, rows) without the columns in which no row has anything."""
    kept = [j for j in range(len(head)) if any(row[j] not in (None, "") for row in rows)]
    return [head[j] for j in kept], [[row[j] for j in kept] for row in rows]


def _is_number(cell):
    """Whether a cell is a number, or stands for one."""
    return cell is None or (isinstance(cell, int | float) and not isinstance(cell, bool)) or cell in ("∞", "-∞")


def script_json(value, **attributes):
    """A block of data for scripts; nothing in it can end the block or be read as markup."""
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    for sign in "<>&\u2028\u2029":
        text = text.replace(sign, f"\\u{ord(sign):04x}")
    return el("script", Safe(text), type="application/json", **attributes)

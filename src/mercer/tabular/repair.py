"""What stands around a table in a file: titles above it, units below its names, totals and notes at its end."""

import re

from mercer.tabular.units import KNOWN
from mercer.tabular.words import count, listed

TITLES = 30  # lines above a header, at most
TOTAL = re.compile(
    r"((grand|sub)[ -]?)?(totals?|sums?|summe|gesamt|insgesamt|totale|somme|suma|averages?|means?|mittelwert|"
    r"durchschnitt|moyenne|media)( général)?\s*:?",
    re.IGNORECASE,
)
NUMBER = re.compile(r"[+-]?(\d[\d.,'\s]*|[.,]\d+)([eE][+-]?\d+)?%?")


def filled(row):
    """Cells of a row that are not blank."""
    return sum(bool(cell.strip()) for cell in row)


def titles(rows):
    """How many of the first rows, pairs (last line, cells), stand above the header."""
    widths = [len(row) for _, row in rows]
    width = max(set(widths), key=widths.count, default=0)
    for i, (_, row) in enumerate(rows[: TITLES + 1]):
        few = filled(row) <= max(1, width / 2) and (len(row) < width or (filled(row) <= 1 and width > 2))
        if width < 2 or not (few or row[0].lstrip().startswith("#")):
            names = len(row) == width and filled(row) > 1 and not any(NUMBER.fullmatch(cell.strip()) for cell in row)
            return i if names else 0
    return 0


def without_titles(data, rows, name, skip, notes):
    """The bytes with empty lines for those above the header, so that lines keep their numbers."""
    above = titles(rows) if skip is None else 0
    lines = skip if skip is not None else rows[above - 1][0] if above else 0
    if not lines:
        return data
    end = -1
    for _ in range(lines):
        end = data.find(b"\n", end + 1)
        if end < 0:
            return b""
    if skip is None:
        first = next(cell.strip() for cell in rows[0][1] if cell.strip())
        notes.append(
            f"{name}: {count(lines, 'line')} above the header ({first[:40]!r}) left out; --skip-lines 0 keeps "
            f"{'it' if lines == 1 else 'them'}."
        )
    return b"\n" * lines + data[end + 1 :]


def without_footnotes(data, separator, width, rows_of, name, notes):
    """The bytes without lines of words at the end that are no rows."""
    body, left = data.rstrip(b"\n"), []
    while width > 1 and len(left) < TITLES:
        rest, _, last = body.rpartition(b"\n")
        row = next((row for _, row in rows_of(last.decode("utf-8", "replace"), separator)), [])
        words = [cell.strip() for cell in row if cell.strip()]
        if not rest or len(row) >= width or len(words) > 1 or any(map(NUMBER.fullmatch, words)) or b'"' in last:
            break
        body, left = rest.rstrip(b"\n"), [*left, *words]
    if left:
        notes.append(f"{name}: {count(len(left), 'line')} at the end ({left[-1][:40]!r}) left out: no cells of a row.")
    return body + b"\n" if left else data


def unlike_names(names, notes):
    """The names, those that occur again with a number behind them."""
    found = []
    for i, one in enumerate(names, start=1):
        new, k = one, 1
        while new in found or (k > 1 and new in names):
            k += 1
            new = f"{one} ({k})"
        if k > 1:
            notes.append(f"column {i} has the name {one!r} of another one: called {new!r}.")
        found.append(new)
    return found


def repaired(frame, notes):
    """A frame of strings without what is no row and no column of the table: each thing said."""
    import polars as pl

    blank = [name for name in frame.columns if re.fullmatch(r"unnamed_\d+", name)]
    blank = [name for name in blank if frame[name].str.strip_chars().replace("", None).is_null().all()]
    if blank and len(blank) < frame.width:
        notes.append(f"{count(len(blank), 'column')} without a name and without cells left out.")
        frame = frame.drop(blank)
    if frame.width < 2:
        return frame
    again = frame.select(
        pl.all_horizontal(pl.col(name).str.strip_chars() == name for name in frame.columns)
    ).to_series()
    again = again.fill_null(False)
    if again.any():
        notes.append(f"{count(int(again.sum()), 'row')} that repeat the header left out.")
        frame = frame.filter(~again)
    if frame.height > 1 and _is_units(frame.row(0)):
        shown = listed([cell for cell in frame.row(0) if cell][:4])
        notes.append(f"the first row below the header holds units ({shown}) and is left out.")
        frame = frame[1:]
    return _without_totals(frame, notes)


def _is_units(row):
    """Whether a row holds nothing but units."""
    cells = [cell.strip() for cell in row if cell and cell.strip()]
    return bool(cells) and all(
        cell in KNOWN or re.fullmatch(r"\[[^\d\]]{0,12}\]|\([^\d)]{0,12}\)|-", cell) for cell in cells
    )


def _without_totals(frame, notes):
    """The frame without empty rows and rows of totals at its end."""
    end, said, empty = frame.height, [], 0
    while end > 2:
        row = [(cell or "").strip() for cell in frame.row(end - 1)]
        place = next((i for i, cell in enumerate(row) if cell), None)
        if place is not None:
            if not TOTAL.fullmatch(row[place]) or row[place] in frame[frame.columns[place]][: end - 3].to_list():
                break
            said.append(row[place])
        empty += place is None
        end -= 1
    if said:
        which = "the last row is" if len(said) == 1 else f"the last {len(said)} rows are"
        notes.append(f"{which} of totals ({listed(said)}) and left out; give it another label to keep it.")
    if empty:
        notes.append(f"{count(empty, 'empty row')} at the end left out.")
    return frame[:end]

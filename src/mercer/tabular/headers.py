"""The header of a text file: what stands above it, its one or two lines, and the names in them."""

import re

from mercer.exceptions import DataError
from mercer.tabular.cells import count, quote
from mercer.tabular.dialect import NUMBER, TITLES, brief, count_filled
from mercer.tabular.totals import without_totals
from mercer.tabular.units import KNOWN


def count_titles(rows):
    """How many of the first rows, pairs (last line, cells), stand above the header."""
    widths = [len(row) for _, row in rows]
    found, end = _few_cells(rows, widths), widths[len(widths) // 2 :]
    last = max(set(end), key=end.count, default=0)
    return found if not rows or widths[found] == last else _preamble(rows, widths, last) or found


def _few_cells(rows, widths):
    """How many rows, of a cell or two or behind a #, stand above the first that may be names."""
    width = max(set(widths), key=widths.count, default=0)
    for i, (_, row) in enumerate(rows[: TITLES + 1]):
        few = count_filled(row) <= max(1, width / 2) and (len(row) < width or (count_filled(row) <= 1 and width > 2))
        if width < 2 or not (few or row[0].lstrip().startswith("#")):
            before = rows[i - 1][1] if i else []
            if _are_names(row, width):
                return i
            if before and before[0].lstrip().startswith("#") and _are_names(before, width):
                return i - 1  # the names stand behind the sign of a comment
            return 0
    return 0


def _are_names(row, width):
    """Whether a row of so many cells may be a header."""
    return len(row) == width and count_filled(row) > 1 and not any(NUMBER.fullmatch(cell.strip()) for cell in row)


def _preamble(rows, widths, width):
    """How many rows, of other widths than the table at the end, stand above it: what an instrument or a bank writes."""
    for i in range(1, min(TITLES, len(rows) - 1)):
        row, below = rows[i][1], [cells for _, cells in rows[i + 1 :]]
        alike = sum(size == width for size in widths[i:]) >= 0.9 * len(widths[i:])
        if not (alike and widths[i + 1] == width > 1 and set(widths[:i]) != {width} and _are_names(row, width)):
            continue
        if count_filled(row) >= width - 1 and any(
            NUMBER.fullmatch(cell.strip()) for cells in below[:3] for cell in cells
        ):
            return i
    return 0


def without_titles(data, rows, name, skip, notes):
    """The bytes with empty lines for those above the header, so that lines keep their numbers."""
    above = count_titles(rows) if skip is None else 0
    lines = skip if skip is not None else rows[above - 1][0] if above else 0
    end = -1
    for _ in range(lines):
        end = data.find(b"\n", end + 1)
        if end < 0:
            return b""
    if skip is None and lines:
        first = next((cell.strip() for _, row in rows for cell in row if cell.strip()), "")
        notes.append(
            f"{name}: {count(lines, 'line')} above the header ({brief(first)!r}) left out; --skip-lines 0 keeps "
            f"{'it' if lines == 1 else 'them'}."
        )
    rest = data[end + 1 :]
    if skip is None and rows and rows[above][1][0].strip().strip("#").strip():
        rest = re.sub(rb"\A(\n*)[ \t]*#+[ \t]*", rb"\1", rest)
    return b"\n" * lines + rest


LOOKED = 60  # rows below a header that tell what its columns hold


IMPORTED = '{"ImportId"'  # what a survey tool writes below the questions


def header_of_two(rows, notes):
    """(names, lines below the first) of a header of several lines: groups, names, units; None where there is one."""
    if len(rows) < 4 or len(rows[0]) != len(rows[1]) or len(rows[0]) < 2:
        return None
    if count_filled(rows[2]) and all(cell.startswith(IMPORTED) for cell in rows[2] if cell):
        notes.append("two lines below the header, of questions and numbers of them, are left out.")
        return [" ".join(cell.split()) for cell in rows[0]], 2
    first, second = ([" ".join(cell.split()) for cell in row] for row in rows[:2])
    body = [row for row in rows[2:LOOKED] if len(row) == len(first)]
    numeric = []
    for j in range(len(first)):
        cells = [row[j].strip() for row in body if row[j].strip()]
        if len(cells) > 1 and sum(map(bool, map(NUMBER.fullmatch, cells))) >= 0.8 * len(cells):
            numeric.append(j)
    above = [second[j] for j in numeric if second[j]]
    words = above and all(re.search(r"[^\W\d_]", cell) and not NUMBER.fullmatch(cell) for cell in above)
    if not words or any(NUMBER.fullmatch(cell) for cell in first if cell) or second == first:
        return None
    named = [cell for cell in first if cell]
    groups = len(named) < len(first) or len(set(named)) < len(named)  # a name stands once for several columns
    if len(above) < min(2, len(numeric)) or (not groups and (len(above) < 2 or len(above) < len(numeric))):
        return None
    if not groups:
        if any(cell and NUMBER.fullmatch(cell) for cell in second) or is_units(second, None):
            return None  # units are told elsewhere
        notes.append(f"the second line of the header ({quote([cell for cell in second if cell], 3)}) is left out.")
        return first, 1
    names, group = [], ""
    for one, two in zip(first, second, strict=True):
        group = one or (group if two else "")
        names.append(f"{group} {two}".strip() if group != two else two)
    notes.append(f"the header has two lines, read together: {quote(names, 4)}.")
    return names, 1


RULE = re.compile(r":?[-=+]{2,}:?")  # below a header
UNITS_ALONE = re.compile(r"\[[^\d\]]{0,12}\]|\([^\d)]{0,12}\)|-")


def is_units(row, below):
    """Whether a row holds nothing but units, each of them above a number: A and C may be marks, too."""
    cells = [cell.strip() for cell in row if cell and cell.strip()]
    if below is None:
        return bool(cells) and all(cell in KNOWN or UNITS_ALONE.fullmatch(cell) for cell in cells)
    above = [column for cell, column in zip(row, below.get_columns(), strict=True) if cell and cell.strip() != "-"]
    numbers = all(column.str.contains(r"\d").any() for column in above)
    return bool(cells) and numbers and all(cell in KNOWN or UNITS_ALONE.fullmatch(cell) for cell in cells)


def header_of(first, name, notes):
    """The names in the first row; refused if they look like data."""
    cells = [" ".join(cell.split()) for cell in first]  # a line may break in a name
    if any(cells) and all(NUMBER.fullmatch(cell) for cell in cells if cell):
        shown = ", ".join(cells[:4])
        raise DataError(
            f"{name} has no header: its first line is numbers ({shown}{', …' if len(cells) > 4 else ''}). Add a line "
            "of column names, or say --no-header: the columns are then column_1, column_2, …"
        )
    names, unnamed = [], 0
    for i, cell in enumerate(cells, start=1):
        unnamed += not cell
        names.append(cell or f"unnamed_{i}")
    if unnamed:
        notes.append(f"{count(unnamed, 'column')} without a name: called unnamed_ and the number of the column.")
    return unlike_names(names, notes)


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


def without_blank_columns(frame, notes):
    """A frame of strings without the columns that have neither a name nor cells."""
    blank = [name for name in frame.columns if re.fullmatch(r"unnamed_\d+", name)]
    blank = [name for name in blank if frame[name].str.strip_chars().replace("", None).is_null().all()]
    if blank and len(blank) < frame.width:
        notes.append(f"{count(len(blank), 'column')} without a name and without cells left out.")
        frame = frame.drop(blank)
    return frame


def repair_columns(frame, notes):
    """A frame of strings without the rows that are none of the table: each thing said."""
    import polars as pl

    if frame.width < 2:
        return frame
    again = frame.select(
        pl.all_horizontal(pl.col(name).str.strip_chars() == name for name in frame.columns)
    ).to_series()
    again = again.fill_null(False)
    if again.any():
        notes.append(f"{count(int(again.sum()), 'row')} that repeat the header left out.")
        frame = frame.filter(~again)
    if frame.height > 1 and any(frame.row(0)) and all(RULE.fullmatch(cell.strip()) for cell in frame.row(0) if cell):
        notes.append("the line of dashes below the header is left out.")
        frame = frame[1:]
    if frame.height > 1 and is_units(frame.row(0), frame[1:6]):
        shown = quote([cell for cell in frame.row(0) if cell][:4])
        notes.append(f"the first row below the header holds units ({shown}) and is left out.")
        frame = frame[1:]
    return without_totals(frame, notes)

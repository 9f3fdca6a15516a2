"""Sheets of an Excel file: where on a sheet a table is, and which sheet has one."""

import csv
import io
from datetime import datetime, time
from typing import NamedTuple

from mercer.exceptions import DataError
from mercer.tabular.cells import count, quote, suggest
from mercer.tabular.dialect import NUMBER, brief, count_filled

LEAST = 2  # rows and columns of a table


class Rectangle(NamedTuple):
    """A rectangle of cells, its first row and column, and those behind its last."""

    top: int
    left: int
    bottom: int
    right: int

    def cut(self, grid):
        """Its rows of a grid."""
        return [row[self.left : self.right] for row in grid[self.top : self.bottom]]

    def __str__(self):
        from openpyxl.utils import get_column_letter

        first, last = get_column_letter(self.left + 1), get_column_letter(self.right)
        return f"{first}{self.top + 1}:{last}{self.bottom}"


def sheet_as_csv(data, name, sheet, notes, target=None):
    """The table of a sheet as CSV: its rows are the lines, and what formulas gave when the file was saved.

    Of several sheets the first with a table that has numbers, and the column ``target`` if there is one of that name.
    """
    try:
        from openpyxl import load_workbook
    except ImportError:
        raise ImportError(f"{name} is an Excel file; install mercer[excel], or save the sheet as CSV.") from None
    try:  # merged cells are looked at up to 30 MB
        book = load_workbook(io.BytesIO(data), read_only=len(data) > 30_000_000, data_only=True)
    except Exception as error:  # whatever a damaged archive makes of it
        raise DataError(f"{name} is an Excel file that cannot be read: {error}") from None
    names = [one.title for one in book.worksheets]
    if sheet is not None and sheet not in names:
        raise DataError(f"{name} has no sheet {sheet!r}{suggest(sheet, names)} There are {quote(names)}.")
    grids, tables = {}, {}
    hidden = [one.title for one in book.worksheets if one.sheet_state != "visible"]
    shown = [one for one in names if one not in hidden] or names
    for one in [sheet] if sheet is not None else shown:
        grids[one] = _read_grid(book[one])
        tables[one] = find_blocks(grids[one])
        if any(_rate_block(grids[one], block, target) == (True, True) for block in tables[one]):
            break
    one = max(grids, key=lambda one: max((_rate_block(grids[one], block, target) for block in tables[one]), default=()))
    found = tables[one]
    if sheet is None and len(names) > 1:
        others = [other for other in grids if not tables[other]]
        why = f" ({quote(others)} {'has' if len(others) == 1 else 'have'} no table)" if others and found else ""
        notes.append(f"{name}: sheet {one!r} was read{why}; --sheet takes another of {quote(names)}.")
    rows = grids[one]
    if found:
        table = max(
            found, key=lambda block: (_rate_block(rows, block, target), sum(map(count_filled, block.cut(rows))))
        )
        _note_rest(rows, table, [block for block in found if block != table], name, notes)
        rows = _without_titles(table.cut(rows), name, notes)
        _note_merged(book[one], table, name, notes)
    width = max((i + 1 for row in rows for i, cell in enumerate(row) if cell), default=0)
    out = io.StringIO()
    csv.writer(out, lineterminator="\n").writerows([row[:width] for row in rows])
    return out.getvalue().encode()


def _without_titles(rows, name, notes):
    """The rows of a table without blank ones, and without what stands between its parts: titles, and names again."""
    rows = [row for row in rows if count_filled(row)]
    again = [i for i in range(1, len(rows)) if rows[i] == rows[0]]
    if not again or count_filled(rows[0]) < LEAST:
        return rows
    titles = [i - 1 for i in again if count_filled(rows[i - 1]) == 1 and count_filled(rows[0]) > LEAST]
    said = f" under titles such as {brief(next(filter(None, rows[titles[0]])))!r}, which are left out" if titles else ""
    notes.append(f"{name}: {len(again) + 1} tables with the same names below each other{said}: read as one.")
    return [row for i, row in enumerate(rows) if i not in again and i not in titles]


def _merged_ranges(sheet):
    """The bounds of the merged cells of a sheet: left, top, right, bottom; a sheet read in passing tells none."""
    ranges = getattr(getattr(sheet, "merged_cells", None), "ranges", ())
    return [merged.bounds for merged in ranges]


def _note_merged(sheet, table, name, notes):
    """Note merged cells below the names of a table, whose rows all have what the first has."""
    inside = [
        top
        for left, top, _, bottom in _merged_ranges(sheet)
        if bottom > top > table.top + LEAST - 1 and left > table.left
    ]
    if inside:
        notes.append(f"{name}: {count(len(inside), 'merged cell')}: each of its rows has its text.")


def _rate_block(grid, block, target):
    """(whether a table has the column that is asked for, whether it has numbers)."""
    rows = block.cut(grid)
    named = target is None or any(" ".join(cell.split()) == target for row in rows[:LEAST] for cell in row)
    return named, any(_looks_numeric(cell) for row in rows[1:] for cell in row if cell)


def _read_grid(sheet):
    """The cells of a sheet as texts, merged ones all with what the first has."""
    rows = [[_text_of(cell) for cell in row] for row in sheet.iter_rows(values_only=True)]
    width = max(map(len, rows), default=0)
    rows = [row + [""] * (width - len(row)) for row in rows]
    used = max((i + 1 for row in rows for i, cell in enumerate(row) if cell), default=0)
    for left, top, right, bottom in _merged_ranges(sheet):
        title = top == bottom and (
            right - left + 1 >= used or count_filled(rows[top - 1]) == 1 or top > 12
        )  # below are titles
        for row in rows[top - 1 : bottom] if not title else ():
            row[left - 1 : right] = [rows[top - 1][left - 1]] * (right - left + 1)
    return rows


def find_blocks(grid):
    """The tables on a sheet: rectangles with names at their top, between blank rows and columns."""
    runs, start = [], None
    for i, row in enumerate([*grid, []]):
        if count_filled(row) and start is None:
            start = i
        elif not count_filled(row) and start is not None:
            runs.append((start, i))
            start = None
    found = []
    for top, bottom in runs:
        for left, right in _split_columns(grid[top:bottom]):
            block = _trim_block(grid, Rectangle(top, left, bottom, right))
            before = next((one for one in reversed(found) if one.left <= block.left and block.right <= one.right), None)
            if before is not None and (_continues_table(grid, before, block) or _repeats_names(grid, before, block)):
                found[found.index(before)] = before._replace(bottom=block.bottom)
            elif min(block.bottom - block.top, block.right - block.left) >= LEAST:
                found.append(block)
    return found


def _split_columns(rows):
    """(left, right) of the parts of some rows beside each other: a blank column, and rows of another number."""
    used = [any(row[j] for row in rows) for j in range(len(rows[0]))]
    edges = [j for j in range(len(used) + 1) if (j < len(used) and used[j]) != (j > 0 and used[j - 1])]
    parts = list(zip(edges[::2], edges[1::2], strict=True))
    heights = [sum(any(row[left:right]) for row in rows) for left, right in parts]
    joined = []
    for part, height in zip(parts, heights, strict=True):
        if joined and (height == joined[-1][1] or part[1] - part[0] < LEAST):
            joined[-1] = ((joined[-1][0][0], part[1]), joined[-1][1])
        else:
            joined.append((part, height))
    return [part for part, _ in joined]


def _trim_block(grid, block):
    """The block without blank rows at its ends, and without words above its names."""
    rows = block.cut(grid)
    used = [i for i, row in enumerate(rows) if count_filled(row)]
    first, last = used[0], used[-1] + 1
    wide = max(map(count_filled, rows))
    while wide > 2 and first < last - 1 and count_filled(rows[first]) == 1 and count_filled(rows[first + 1]) <= wide:
        first += 1
    return block._replace(top=block.top + first, bottom=block.top + last)


def _continues_table(grid, before, block):
    """Whether rows below a blank one go on with the table above: numbers where it has numbers, from the first on."""
    above = [row[block.left : block.right] for row in grid[before.top + 1 : before.bottom]]
    numeric = [
        j
        for j in range(block.right - block.left)
        if sum(_looks_numeric(row[j]) for row in above)
        > sum(bool(row[j]) and not _looks_numeric(row[j]) for row in above)
    ]
    first = grid[block.top][block.left : block.right]
    here = [first[j] for j in numeric if first[j]]
    return bool(here) and all(map(_looks_numeric, here))


def _repeats_names(grid, before, block):
    """Whether a block below begins with the names of the table above, as the next site or year of it does."""
    names = grid[before.top][before.left : before.right]
    return block.left == before.left and grid[block.top][before.left : before.right] == names


def _looks_numeric(cell):
    return NUMBER.fullmatch(cell.strip()) is not None


def _note_rest(grid, table, others, name, notes):
    """Note what else is on a sheet."""
    if others:
        these = ", ".join(map(str, others))
        what = "another table is" if len(others) == 1 else f"{len(others)} other tables are"
        notes.append(
            f"{name}: the table in {table} was read; {what} in {these}: move it to a sheet of its own to read it."
        )
        return
    outside = [
        cell
        for i, row in enumerate(grid)
        for j, cell in enumerate(row)
        if cell and not (table.top <= i < table.bottom and table.left <= j < table.right)
    ]
    if outside:
        notes.append(
            f"{name}: the table in {table} was read; {count(len(outside), 'cell')} around it ({brief(outside[0])!r}) "
            "left out."
        )


def _text_of(value):
    """The text of a cell: dates as such, whole numbers without a point."""
    if value is None:
        return ""
    if isinstance(value, datetime) and value.time() == time():
        return value.date().isoformat()
    if isinstance(value, float) and value.is_integer() and abs(value) < 1e15:
        return str(int(value))
    return str(value)

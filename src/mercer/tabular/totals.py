"""Rows of totals and means in a table: at its end, and below each group."""

import re

import numpy as np

from mercer.tabular.cells import count, quote

WORDS = (
    r"((grand|sub)[ -]?)?(totals?|sums?|summe|gesamt(summe)?|insgesamt|zwischensumme|ergebnis|totale|somme|sous-total|"
    r"suma|subtotale|averages?|avg\.?|means?|mittel(wert)?|durchschnitt|moyenne|media|promedio|totaal|gemiddelde|totalt|"
    r"summa|medelvärde|i alt|gennemsnit|yhteensä|keskiarvo|razem|ogółem|średnia|celkem|součet|průměr|toplam|ortalama|"
    r"итого|всего|среднее|合計|合计|小計|小计|总计|平均|Σ|Ø)( général)?"
)
TOTAL = re.compile(rf"{WORDS}\s*:?", re.IGNORECASE)
NAMED = rf"(?i)^(?:{WORDS}\b.*|.*\b{WORDS}\s*:?)$"  # Total north, north total: where the numbers say so, too
BESIDE = re.compile(  # below or above a mean, and no rows either
    r"(std\.?|st\.?)? ?(dev\.?|deviation|abw\.?|abweichung)|std\.? ?dev\.?|"
    r"standard ?(deviation|abweichung|error|fehler)|s\.?d\.?|s\.?e\.?m?\.?|r?sd|std\.?|cv|rsd|"
    r"stabw\.?|median|min(imum|\.)?|max(imum|\.)?|count|anzahl|n|\d{1,2} ?%",
    re.IGNORECASE,
)
LABELS = 3  # columns in which a label is looked for


def without_totals(frame, notes):
    """The frame without empty rows and rows of totals at its end, and without rows of totals between others."""
    frame = _without_empty(frame, notes)
    end, at, said, beside, empty = frame.height, frame.height, [], [], 0
    while at > 2:
        row = [(cell or "").strip() for cell in frame.row(at - 1)]
        place = next((i for i, cell in enumerate(row) if cell), None)
        if place is not None:
            label, others = row[place], frame[frame.columns[place]][: at - 3].to_list()
            if TOTAL.fullmatch(label) and label not in others:
                said, beside, end = [*said, *beside, label], [], at - 1
            elif BESIDE.fullmatch(re.sub(r" ?[\[(]%[\])]", "", label)) and label not in others:
                beside.append(label)  # if there is a mean, too
                if said:
                    said, beside, end = [*said, *beside], [], at - 1
            else:
                break
        elif not beside:
            empty, end = empty + 1, at - 1
        at -= 1
    if said:
        which = "the last row is" if len(said) == 1 else f"the last {len(said)} rows are"
        notes.append(f"{which} of totals ({quote(said)}) and left out; give it another label to keep it.")
    if empty:
        notes.append(f"{count(empty, 'empty row')} at the end left out.")
    return _without_subtotals(frame[:end], notes)


def _without_subtotals(frame, notes):
    """The frame without rows that a label and their numbers show to be sums or means of the rows above."""
    import polars as pl

    labels = frame.select(frame.columns[:LABELS]).select(pl.all().str.strip_chars().replace("", None))
    label = labels.select(pl.coalesce(pl.all())).to_series()
    named = label.str.contains(NAMED).fill_null(False)
    blank = _rows_without_label(frame)
    rows = (named | blank).arg_true().to_list()
    if not rows or len(rows) > 0.5 * frame.height:
        return frame
    numbers = _numeric_columns(frame, rows)
    found, start = [], 0
    for row in rows:
        above = [i for i in range(row) if i not in found]
        group = [i for i in above if i >= start]
        if not named[row]:
            sums = len(group) > 1 and _adds_up(numbers, row, group, 2)
        else:
            below = range(row + 1, min((i for i in rows if i > row), default=len(numbers)))
            lone = TOTAL.fullmatch(label[row]) is not None and (label == label[row]).sum() == 1
            sums = (lone and row > 1) or any(_adds_up(numbers, row, others) for others in (group, above, below))
        if sums:
            found.append(row)
            start = row + 1
    if not found:
        return frame
    shown = quote(label.gather(found).unique(maintain_order=True), 3)
    what = "is the total or mean" if len(found) == 1 else "are totals or means"
    notes.append(
        f"{count(len(found), 'row')} between others ({shown}) {what} of those above or below, and left out; give them "
        "another label to keep them."
    )
    return frame.filter(~pl.Series(range(frame.height)).is_in(found))


def _without_empty(frame, notes):
    """The frame without rows that have no cell at all, but for those at its end."""
    import polars as pl

    empty = frame.select(pl.all_horizontal(pl.all().str.strip_chars().replace("", None).is_null())).to_series()
    last = (~empty).arg_true()
    between = int(empty[: last[-1]].sum()) if len(last) else 0
    if not between:
        return frame
    notes.append(f"{count(between, 'row')} without any cell between others left out.")
    keep = ~empty | (pl.Series(range(frame.height)) > last[-1])
    return frame.filter(keep)


def _rows_without_label(frame):
    """Which rows have nothing in the first column of words, where nearly all others have something."""
    import polars as pl

    for name in frame.columns[:LABELS]:
        cells = frame[name].str.strip_chars().replace("", None)
        if cells.str.contains(r"\pL").sum() > 0.5 * frame.height:
            return cells.is_null()
    return pl.Series([False] * frame.height)


def _numeric_columns(frame, rows):
    """The columns that are numbers, NaN where a cell is none: an array (rows, columns)."""
    import polars as pl

    plain = pl.all().str.replace_all(r"[^\d.,eE+-]", "")
    plain = plain.str.replace(r"^([+-]?\d{1,3}(?:\.\d{3})*),(\d{1,2}|\d{4,})$", "${1};${2}")
    plain = plain.str.replace_all(r"[,]", "").str.replace(";", ".", literal=True)
    cast = frame.select(plain.cast(pl.Float64, strict=False))
    others = pl.Series(range(frame.height)).is_in(rows).not_()
    good = [
        name
        for name in frame.columns
        if cast[name].filter(others).is_not_null().sum() >= 0.8 * max(frame[name].filter(others).is_not_null().sum(), 1)
        and frame[name].str.contains(r"\d").any()
    ]
    return cast.select(good).cast(pl.Float64).to_numpy().astype(float) if good else np.empty((frame.height, 0))


def _adds_up(numbers, row, above, least=1):
    """Whether each number of a row, so many of them at least, is the sum or the mean of those of other rows."""
    above = list(above)
    if len(above) < 2 or not numbers.shape[1]:
        return False
    here, parts = numbers[row], numbers[above]
    some = ~np.isnan(here) & (~np.isnan(parts)).any(axis=0)
    if some.sum() < least:
        return False
    here, parts = here[some], parts[:, some]
    sums, means = np.nansum(parts, axis=0), np.nanmean(parts, axis=0)
    room = 1e-3 * np.maximum(np.abs(here), 1e-12)  # sums may be rounded
    fits = (np.abs(here - sums) <= room) | (np.abs(here - means) <= room)
    return bool(fits.sum() >= max(1, len(fits) - (len(fits) >= LABELS)) and np.any(here[fits] != 0))

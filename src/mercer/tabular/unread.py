"""Text that holds numbers or dates in a form that is not read: it is asked about, where it would else be left out."""

from mercer.tabular.months import MONTH

MOST = 0.8  # share of the cells
SHORT = 60  # letters of such a cell
DECIMAL = r"(?:^|[^\w.,])(\d{1,7}[.,]\d{1,6})(?:[^\d.,]|[.,]$|[.,][^\d]|$)"  # 12.5, and no part of 1.2.3
SPOKEN = r"^[+-]?\d+\s*\pL[\pL.]*[,\s]+(?:\pL+\s+)?\d+\s*\pL[\pL.]*$"  # 2 rooms 80 sqm
CLOCK = r"(?:^|\D)\d{1,3}[:h]\d{2}(?:\D|$)"
OF_THREE = (  # a year, and two numbers: (pattern, group of the first, of the second)
    r"^(?:19|20)\d{2}[^\d]{1,2}(\d{1,2})[^\d]{1,2}(\d{1,2})\D{0,2}$",
    r"^(\d{1,2})[^\d]{1,2}(\d{1,2})[^\d]{1,2}(?:19|20)\d{2}\D{0,2}$",
    r"^(\d{2})(\d{2})(?:19|20)\d{2}$",
)
NAMED = rf"(?i)(?:^|[\d\s.,/_'-])(?:{MONTH})(?:[\d\s.,/_'-]|$)"
ONE_WORD = r"^[\d\s.,/_'-]*\pL+[\d\s.,/_'-]*$"


def unread_in(column):
    """(what the cells look like, some of them) of a text that has numbers in it; None of another one.

    Cells are alike if they differ in their digits alone, or nearly so: names, formulae and sentences do not.
    """
    present = column.drop_nulls()
    if len(present) < 5 or (present.str.len_chars() > SHORT).any():
        return None
    forms = (
        present.str.replace_all(r"[-+−]?\d[\d.,]*", "0").str.replace_all(r"\s+", " ").value_counts(sort=True, name="n")
    )
    usual = forms.head(max(8, len(present) // 10))["n"].sum()
    if usual < MOST * len(present):
        return None
    numbers = present.str.extract(DECIMAL)
    many = numbers.is_not_null().sum() >= MOST * len(present)
    if many and numbers.n_unique() >= min(30, 0.3 * len(present)):
        return "numbers", present[:2].to_list()
    if present.str.contains(SPOKEN).sum() >= MOST * len(present) and len(forms) <= 8:
        return "numbers", present[:2].to_list()
    if present.str.contains(CLOCK).sum() >= MOST * len(present):
        return "times", present[:2].to_list()
    return None


def unread_dates(column):
    """The same of dates: a month by its name and a number, or a year and two numbers that may be a day and a month."""
    import polars as pl

    present = column.drop_nulls()
    if present.n_unique() < 5 or (present.str.len_chars() > SHORT).any():
        return None
    shown = "dates", present[:2].to_list()
    named = present.str.contains(NAMED) & present.str.contains(r"\d") & present.str.contains(ONE_WORD)
    if named.sum() >= MOST * len(present):
        return shown
    for form in OF_THREE:
        parts = present.str.extract_groups(form).struct.unnest()
        numbers = parts.select(pl.all().cast(pl.Int64))
        good = numbers.select(pl.min_horizontal(pl.all()).is_between(1, 12) & (pl.max_horizontal(pl.all()) <= 31))
        if good.to_series().sum() >= max(MOST * len(present), 1) and present.n_unique() >= 10:
            return shown
    return None

"""What the checks of the data and of single rows look at, M1xx and M6xx; and the registry of all looks."""

from mercer.report._given_away import HOW_LEAKED, ORDER
from mercer.report._html import name_some, number, percent

LOOKS: dict = {}  # {code: (the function that looks, its remedy where that depends on the reader or the model)}


def check(code, remedy=None):
    """Make a generator (findings, thresholds) the look of a code: its first sentence counts; see ``checks.md``."""

    def register(look):
        LOOKS[code] = (lambda s, at: next(look(s, at), None)), remedy
        return look

    return register


@check("M101")
def few_rows(s, at):
    """Too few rows, altogether or for each column."""
    n, d = s.data.fitted_rows, s.data.columns if s.data.vectors else 0
    if n < at.few_rows:
        yield f"There are {n} rows. Scores and intervals from so few can be far off by chance."
    if n < at.rows_per_column * d:
        yield f"There are {n} rows for {d} columns, {n / d:.1f} for each."


@check("M102")
def conflicting_duplicates(s, at):
    """Equal inputs with different targets."""
    found = s.rows.duplicates
    if not found.conflicting:
        return
    text = f"{found.conflicting} of {found.groups} groups of equal inputs have different targets"
    if found.share is None:
        yield f"{text}."
    yield (
        f"{text}; within groups is {percent(found.share)} of the variance of the target, which no function of these "
        "columns can explain."
    )


@check("M103")
def constant_columns(s, at):
    """Columns with one value."""
    names = [one.name for one in [*s.data.features, *s.data.categories] if one.distinct == 1]
    if names:
        yield f"{name_some(names)} {'has' if len(names) == 1 else 'have'} one value only."


@check("M104")
def leak(s, at):
    """A column that is the target."""
    found = s.data.leak
    if not found or not found.how:
        return
    if found.how == ORDER:
        yield f"{found.name} alone orders the target almost perfectly (correlation {found.correlation:.4f})."
    yield f"{found.name} gives the target away: {HOW_LEAKED[found.how]} (correlation {found.correlation:.4f})."


@check("M105")
def alone(s, at):
    """Rows far from all others, in the eyes of the kernel."""
    found = s.rows.alone
    if found and found.count > at.many_alone * s.data.rows:
        yield (
            f"{found.count} rows ({percent(found.count / s.data.rows)}) have no other row with a correlation above "
            f"{found.limit} under the kernel: there the prediction is close to the trend."
        )


@check("M106")
def rare_class(s, at):
    """A class with hardly any rows."""
    smallest, n = s.data.target.smallest, s.data.rows
    if smallest is not None and smallest < max(at.rare_class, at.rare_share * n):
        yield f"The smallest class has {smallest} of {n} rows."


@check("M107")
def weights(s, at):
    """Rows count differently."""
    found = s.data.weights
    if found:
        zero = f", {found.zero} of them 0" if found.zero else ""
        yield (
            f"The rows have weights from {number(found.low)} to {number(found.high)}{zero}; they say as much as "
            f"{found.equal:.0f} equal rows. Scores, coverage and refits count them; pictures and single rows do not."
        )


@check("M108")
def constant_target(s, at):
    """A target with one value."""
    if s.data.target.distinct == 1:
        yield f"The target is {number(s.data.target.mean)} in all {s.data.rows} rows: there is nothing to learn."


@check("M109")
def copies(s, at):
    """Rows that are in the table twice."""
    found, n = s.rows.copies, s.data.rows
    if found > max(2, at.copies * n):
        yield (
            f"{found} of {n} rows are copies of another row, the target too. They were left out together with it: with "
            "one of them known, the other is no new row."
        )


@check("M110")
def stand_in(s, at):
    """A number such as −999 far from all others."""
    found = s.data.stand_in
    if found:
        yield (
            f"{found.name} is {number(found.value, 6)} in {found.rows} rows, far from all others "
            f"({number(found.low)} to {number(found.high)}): it may stand for a missing value."
        )


# ------------------------------------------------------------------------------------------------ rows
@check("M601")
def outliers(s, at):
    """Rows that the others do not explain."""
    found = s.rows.residuals
    if found and found.outliers:
        names = name_some([one.row for one in found.rows[: found.outliers]], 5)
        yield (
            f"{found.outliers} of {found.known} left-out residuals are beyond {found.limit} robust standard "
            f"deviations: row {names}."
        )


@check("M602")
def influential(s, at):
    """One row that moves the whole fit."""
    found = s.rows.influence
    if found and found.largest is not None and found.largest > at.cook:
        names = [one.row for one in found.rows if one.cook and one.cook > at.cook]
        names = name_some(names, 5)
        yield f"Cook's distance is above {at.cook:g} for row {names}; the largest is {found.largest:.2g}."

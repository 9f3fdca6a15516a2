"""What the checks of the data look at, M1xx; and the registry of all looks."""

from mercer.report._given_away import ORDER, PERFECT, SAID
from mercer.report._html import fitted_rows, listed, number, percent

COPIED = 0.02  # of the rows: more copies than that are worth a word

LOOKS: dict = {}  # {code: (the function that looks, its remedy where that depends on the reader or the model)}


def check(code, remedy=None):
    """Make a generator the look of a code: its first sentence counts. The words of the code are in ``checks.md``."""

    def kept(look):
        LOOKS[code] = (lambda s: next(look(s), None)), remedy
        return look

    return kept


@check("M101")
def few_rows(s):
    """Less than 30 rows, or than 5 for each column."""
    n, d = fitted_rows(s), s["data"]["columns"] if s["data"]["vectors"] else 0
    if n < 30:
        yield f"There are {n} rows. Scores and intervals from so few can be far off by chance."
    if n < 5 * d:
        yield f"There are {n} rows for {d} columns, {n / d:.1f} for each."


@check("M102")
def conflicting_duplicates(s):
    """Equal inputs with different targets."""
    found = s["rows"]["duplicates"]
    if not found["conflicting"]:
        return
    text = f"{found['conflicting']} of {found['groups']} groups of equal inputs have different targets"
    if found["share"] is None:
        yield f"{text}."
    text += f"; within groups is {percent(found['share'])} of the variance of the target"
    yield f"{text}, which no function of these columns can explain."


@check("M103")
def constant_columns(s):
    """Columns with one value."""
    columns = [*s["data"]["features"], *s["data"].get("categories", ())]
    names = [one["name"] for one in columns if one["distinct"] == 1]
    if names:
        yield f"{listed(names)} {'has' if len(names) == 1 else 'have'} one value only."


@check("M104")
def leak(s):
    """A column that is the target."""
    found = s["data"]["leak"]
    if not found:
        return
    how = found.get("how") or (ORDER if found["correlation"] > PERFECT else None)
    if how == ORDER:
        yield f"{found['name']} alone orders the target almost perfectly (correlation {found['correlation']:.4f})."
    elif how:
        yield f"{found['name']} gives the target away: {SAID[how]} (correlation {found['correlation']:.4f})."


@check("M105")
def alone(s):
    """Rows far from all others, in the eyes of the kernel."""
    found = s["rows"]["alone"]
    if found and found["count"] > 0.05 * s["data"]["rows"]:
        share = found["count"] / s["data"]["rows"]
        yield (
            f"{found['count']} rows ({percent(share)}) have no other row with a correlation above "
            f"{found['limit']} under the kernel: there the prediction is close to the trend."
        )


@check("M106")
def rare_class(s):
    """A class with hardly any rows."""
    target = s["data"]["target"]
    if "classes" in target and target["smallest"] < max(10, 0.02 * s["data"]["rows"]):
        yield f"The smallest class has {target['smallest']} of {s['data']['rows']} rows."


@check("M107")
def weights(s):
    """Rows count differently."""
    found = s["data"].get("weights")
    if not found:
        return
    zero = f", {found['zero']} of them 0" if found["zero"] else ""
    yield (
        f"The rows have weights from {number(found['low'])} to {number(found['high'])}{zero}; they say as much as "
        f"{found['equal']:.0f} equal rows. Scores, coverage and refits count them; pictures and single rows do not."
    )


@check("M108")
def constant_target(s):
    """A target with one value."""
    target = s["data"]["target"]
    if target.get("distinct") == 1:
        yield f"The target is {number(target['mean'])} in all {s['data']['rows']} rows: there is nothing to learn."


@check("M109")
def copies(s):
    """Rows that are in the table twice."""
    found, n = s["rows"].get("copies") or 0, s["data"]["rows"]
    if found > max(2, COPIED * n):
        yield (
            f"{found} of {n} rows are copies of another row, the target too. They were left out together with it: with "
            "one of them known, the other is no new row."
        )


@check("M110")
def stand_in(s):
    """A number such as −999 far from all others."""
    found = s["data"].get("stand_in")
    if found:
        yield (
            f"{found['name']} is {number(found['value'], 6)} in {found['rows']} rows, far from all others "
            f"({number(found['low'])} to {number(found['high'])}): it may stand for a missing value."
        )

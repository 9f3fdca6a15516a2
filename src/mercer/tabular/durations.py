"""Times of a clock and durations in cells of text: 9:05, 25:41:00, 11h 41min, 2 days 03:10:00, 1:30 PM."""

import re

PART = r"\d+(?:[.,]\d+)?"
UNITS = (  # (letters, hours) in the order in which they are written
    (r"(?:d|days?|tage?|jours?|días?|dias?|giorn[io]|dagen|dag|dni|日)", 24.0),
    (
        r"(?:h|hrs?|hours?|std\.?|stunden?|heures?|horas?|or[ae]|uur|uren|timmar|timer|tim\.?|godz\.?|ч\.?|时|時間|時)",
        1.0,
    ),
    (r"(?:min\.?|mins|minut(?:e|es|en|os|i|o|er|a)?|minuut|m|мин\.?|分钟|分)", 1 / 60),
    (r"(?:s|secs?|seconds?|sek\.?|sekunden?|secondes?|segundos|second[io]|seconden|с|秒)", 1 / 3600),
)
AND = r"(?:,| and| und| et| y| e| en| og| och)?"
SPOKEN = "(?i)^(?:PT?)?" + "".join(rf"(?:({PART}) *{letters}{AND} *T?)?" for letters, _ in UNITS) + "$"
SEVERAL = rf"(?i)\d *[\pL.'’′″]+{AND} *\d|^PT?\d|^\d+ *h *\d"  # of one part a unit is enough
HOUR_AND = r"(?i)^(\d+) *h *(\d{1,2})['’′]?$"  # 1h30
DAYS = r"(?:(\d+) *(?:d|days?|tage?|jours?|días?)\.?,? +)?"
RUNNING = rf"(?i)^(-?)T?{DAYS}(\d+):(\d{{2}})(?::(\d{{2}}(?:[.,]\d+)?))?(?: *(?:h|hrs?|uhr|std\.?|o'clock))?$"
HALVES = r"(?i)^(0?[1-9]|1[0-2])(?:[:.](\d{2}))?(?::(\d{2}))? *([ap])\.?m\.?$"  # of a day: 1:30 PM


def durations_in(column, notes):
    """The column as times of a clock or durations, or None: 9:05 and 09:05:30, 25:41:00, 11h 41min, 1h30, PT1H30M."""
    import polars as pl

    present = column.drop_nulls()
    if not len(present) or not re.match(r"(?i)pt?\d|-?t?\d", present[0]):
        return None
    halves = _halves(column)
    if halves is not None:
        return halves
    running, spoken = _running(column), _spoken(column)
    hours = pl.select(pl.coalesce(running, spoken)).to_series()
    if hours.null_count() > column.null_count():
        return None
    if running.null_count() == len(column) and not present.str.contains(SEVERAL).any():
        return None
    nano = (hours * 3600e9).round().cast(pl.Int64).alias(column.name)
    if running.null_count() == column.null_count() and 0 <= hours.min() <= hours.max() < 24:
        return nano.cast(pl.Time)
    notes.append(f"column {column.name!r}: cells such as {present[0]!r} read as durations, in hours.")
    return nano.cast(pl.Duration("ns"))


def _halves(column):
    """Times of the day of cells such as 1:30 PM, or None."""
    import polars as pl

    parts = column.str.extract_groups(HALVES).struct.unnest()
    parts.columns = ["hour", "minute", "second", "half"]
    if parts["half"].null_count() > column.null_count() or parts["minute"].null_count() == len(column):
        return None
    hour, minute, second = (pl.col(name).cast(pl.Int64).fill_null(0) for name in parts.columns[:3])
    hour = hour % 12 + 12 * (pl.col("half").str.to_lowercase() == "p")
    nano = pl.when((minute < 60) & (second < 60)).then((3600 * hour + 60 * minute + second) * 1_000_000_000)
    found = parts.select(pl.when(pl.col("half").is_not_null()).then(nano).alias(column.name)).to_series()
    return found.cast(pl.Time) if found.null_count() == column.null_count() else None


def _running(column):
    """Hours of [days ]hours:minutes[:seconds]; of minutes:seconds where longer ones have three parts."""
    import polars as pl

    parts = column.str.extract_groups(RUNNING).struct.unnest()
    parts.columns = ["minus", "days", "a", "b", "c"]
    a, b, c = (pl.col(name).str.replace(",", ".", literal=True).cast(pl.Float64) for name in "abc")
    short = parts.filter(pl.col("c").is_null() & pl.col("a").is_not_null()).select(a.max()).item()
    minutes = short is not None and short >= 24 and parts["c"].null_count() < len(column)
    two = a / 60 + b / 3600 if minutes else a + b / 60
    found = pl.when(pl.col("c").is_null()).then(two).otherwise(a + b / 60 + c / 3600)
    found = found + 24 * pl.col("days").cast(pl.Float64).fill_null(0.0)
    found = found * pl.when(pl.col("minus") == "-").then(-1.0).otherwise(1.0)
    return parts.select(pl.when((b < 60) & (c.is_null() | (c < 60))).then(found)).to_series()


def _spoken(column):
    """Hours of 11h 41min, 2 days 3 h, 1h30, PT1H30M."""
    import polars as pl

    cells = column.str.replace(HOUR_AND, "${1}h ${2}min")
    parts = cells.str.extract_groups(SPOKEN).struct.unnest()
    parts.columns = [str(i) for i in range(len(UNITS))]
    given = pl.any_horizontal(pl.all().is_not_null())
    sums = [pl.col(str(i)).str.replace(",", ".", literal=True).cast(pl.Float64).fill_null(0.0) * size
            for i, (_, size) in enumerate(UNITS)]  # fmt: skip
    return parts.select(pl.when(given).then(pl.sum_horizontal(sums))).to_series()

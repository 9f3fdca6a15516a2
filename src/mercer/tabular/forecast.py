"""The rows that come next in a series: the column of time that a model was fitted on, continued at its own step."""

import numpy as np

from mercer.exceptions import DataError
from mercer.selection.kernels_search.columns import time_column
from mercer.tabular.cells import listed

DAY = 86_400_000_000  # microseconds
SHORTEST = 28  # days of a month
DIGITS = 6  # of a step


def rows_ahead(model, count):
    """Return the next rows of a series as a table of its column of time; months and years are those of the calendar.

    Parameters
    ----------
    model : TableModel
        Fitted on a series, and on nothing beside its time.
    count : int
        How many rows follow the last one.

    Returns
    -------
    polars.DataFrame

    Examples
    --------
    >>> import numpy as np
    >>> import polars as pl
    >>> from mercer import GaussianProcessRegressor
    >>> from mercer.tabular import TableModel, rows_ahead
    >>> frame = pl.DataFrame({"year": range(1950, 1980), "level": np.sin(np.arange(30.0))})
    >>> rows_ahead(TableModel(GaussianProcessRegressor()).fit(frame), 3)["year"].to_list()
    [1980, 1981, 1982]
    """
    import polars as pl

    recipe, estimator = model.recipe_, model.estimator_
    points = estimator.points_
    j = time_column(points) if isinstance(points, np.ndarray) and points.ndim == 2 else None
    if j is None:
        raise DataError(
            "a forecast continues a series, and the rows of this model are none: they would be in the order of a "
            "column, at even steps, and fitted as --model gp or ridge."
        )
    place = next(name for name, block in recipe.blocks_.items() if j in block)
    kept = next(column for column in recipe.columns_ if column["name"] == place)
    others = [column["name"] for column in recipe.used if column["name"] != place]
    if others:
        raise DataError(
            f"a forecast knows what comes next in {place!r} alone, and the model also reads {listed(others)}: predict "
            "a table of the rows to come, or leave these columns out of the fit."
        )
    values = np.sort(kept["origin"] + kept["centre"] + kept["scale"] * points[:, j])
    ahead = np.arange(1, count + 1)
    return pl.DataFrame({place: _dates(values, ahead) if kept["kind"] == "date" else _numbers(values, ahead)})


def _numbers(values, ahead):
    """The numbers that follow: whole where all were, and without the digits that standardising has cost."""
    step = _step(values)
    if np.abs(values - np.round(values)).max() < 1e-6:
        return np.int64(round(values[-1])) + round(step) * ahead
    return np.round(values[-1] + step * ahead, DIGITS - int(np.floor(np.log10(step))))


def _dates(days, ahead):
    """The dates that follow days since 1970, or the times where these are not whole days."""
    moments = np.round(days * DAY)
    if (moments % DAY).any():
        step = round(_step(moments))
        return (np.int64(moments[-1]) + step * ahead).astype("datetime64[us]")
    dates = np.round(days).astype(np.int64).astype("datetime64[D]")
    months, gaps = dates.astype("datetime64[M]"), np.diff(dates).astype(int)
    number, last = (dates - months).astype(int), ((months + 1).astype("datetime64[D]") - 1 == dates).all()
    if gaps.min() < SHORTEST or not (last or (number == number[0]).all()):
        return dates[-1] + round(_step(days)) * ahead
    later = months[-1] + int(np.median(np.diff(months).astype(int))) * ahead
    ends = (later + 1).astype("datetime64[D]") - 1
    return ends if last else np.minimum(later.astype("datetime64[D]") + number[0], ends)


def _step(values):
    """The usual distance between neighbours, without gaps where rows are missing."""
    gaps = np.diff(values)
    usual = np.median(gaps)
    return float(np.mean(gaps[np.abs(gaps - usual) < 0.25 * usual]))

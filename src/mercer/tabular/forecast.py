"""The rows that come next in a series: the column of time that a model was fitted on, continued at its own step."""

import numpy as np
from sklearn.model_selection import TimeSeriesSplit

from mercer.exceptions import DataError
from mercer.selection.judging import quietly
from mercer.selection.kernels_search.series import step_of, time_column
from mercer.tabular.cells import quote

DAY = 86_400_000_000  # microseconds


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
            f"a forecast knows what comes next in {place!r} alone, and the model also reads {quote(others)}: predict "
            "a table of the rows to come, or leave these columns out of the fit."
        )
    values = np.sort(kept["origin"] + kept["centre"] + kept["scale"] * points[:, j])
    ahead = np.arange(1, count + 1)
    return pl.DataFrame(
        {place: _dates_ahead(values, ahead) if kept["kind"] == "date" else _numbers_ahead(values, ahead)}
    )


def series_along(recipe, table):
    """(the column along which the rows of a recipe's table are a series, whether the newest is first), or None."""
    X = None if recipe.has_objects else quietly(recipe.transform, table)
    j = None if X is None else time_column(X)
    return None if j is None else (recipe.feature_names_[j], bool(X[0, j] > X[-1, j]))


def draw_rows(X, most, rng, ordered):
    """(rows, how): so many rows of X at random; where it may be ``ordered``, of a series its last ones."""
    j = time_column(X) if ordered and isinstance(X, np.ndarray) and X.ndim == 2 else None
    if j is None:
        return np.sort(rng.choice(len(X), most, replace=False)), "drawn at random"
    return np.sort(np.argsort(X[:, j], kind="stable")[-most:]), "the last of a series"


def forward_folds(n, folds, most=None):
    """Folds of the later half of n rows, of at most so many rows, each predicted from all that was before it."""
    size = max(n // (2 * folds), 1)
    return TimeSeriesSplit(folds, test_size=size if most is None else min(size, most))


def _numbers_ahead(values, ahead):
    """The numbers that follow: whole where all were, and without the digits that standardising has cost."""
    step = step_of(values)
    if np.abs(values - np.round(values)).max() < 1e-6:
        return np.int64(round(values[-1])) + round(step) * ahead
    return np.round(values[-1] + step * ahead, 6 - int(np.floor(np.log10(step))))


def _dates_ahead(days, ahead):
    """The dates that follow days since 1970, or the times where these are not whole days."""
    moments = np.round(days * DAY)
    if (moments % DAY).any():
        step = round(step_of(moments))
        return (np.int64(moments[-1]) + step * ahead).astype("datetime64[us]")
    dates = np.round(days).astype(np.int64).astype("datetime64[D]")
    months, gaps = dates.astype("datetime64[M]"), np.diff(dates).astype(int)
    number, last = (dates - months).astype(int), ((months + 1).astype("datetime64[D]") - 1 == dates).all()
    if gaps.min() < 28 or not (last or (number == number[0]).all()):
        return dates[-1] + round(step_of(days)) * ahead
    later = months[-1] + int(np.median(np.diff(months).astype(int))) * ahead
    ends = (later + 1).astype("datetime64[D]") - 1
    return ends if last else np.minimum(later.astype("datetime64[D]") + number[0], ends)

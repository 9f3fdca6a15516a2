"""Forecasts of series without asking: ``kernel="auto"`` beside trees that are told the calendar, and the last cycle.

    python benchmarks/series.py DATA [name ...]

DATA is the folder with ``classics/``, ``uci/`` and ``large/``. Errors are in standard deviations of the rows before.
"""

import sys
import time
import warnings
from pathlib import Path

import numpy as np
from sklearn.ensemble import HistGradientBoostingRegressor
from tables import Table

from mercer import GaussianProcessRegressor
from mercer.tabular.forecast import draw_rows

MOST = 3000  # rows of a fit, as `mercer fit` takes
SECONDS = 28.0


def classic(folder, name):
    """(time, values) of a table of two columns, the first a number or a date."""
    lines = (folder / "classics" / f"{name}.csv").read_text().splitlines()[1:]
    cells = [line.split(",") for line in lines if line.split(",")[1]]
    dates = "-" in cells[0][0].strip('"')[1:]
    when = np.array([cell[0].strip('"') for cell in cells], dtype="datetime64[D]" if dates else float)
    return when.astype(float), np.array([float(cell[1]) for cell in cells])


def bike(folder):
    """(hours since 2011, log of hourly rentals): the rows of the table in their order in time."""
    data = np.loadtxt(folder / "uci" / "bike" / "data.csv.gz", delimiter=",")
    year, month, day, hour = (np.round(data[:, j] - data[:, j].min()).astype(int) for j in (0, 1, 2, 6))
    first = (np.datetime64("2011-01") + 12 * year + month).astype("datetime64[D]")
    hours, rows = np.unique((first + day).astype("datetime64[h]").astype(int) + hour, return_index=True)
    return (hours - hours[0]).astype(float), data[rows, -1]


def flights(folder, step):
    """(hours of 2013, flights that left New York in each): counted by so many hours."""
    X = np.load(folder / "large" / "nycflights13" / "flights.npz")["X"]
    hours, count = np.unique((X[:, 0].astype(int) * 24 + X[:, 2].astype(int) // 60) // step, return_counts=True)
    return (hours - hours[0]).astype(float), count.astype(float)


def series(folder):
    """{name: (time, values, cycles of the calendar, [(rows before, rows ahead)])}."""
    monthly, weekly, hourly = (
        classic(folder, "co2_monthly_1959_2012"),
        classic(folder, "co2_weekly_1958_2001"),
        bike(folder),
    )
    return {
        "airline": (*classic(folder, "airpassengers"), (1.0,), [(n, 36) for n in (60, 72, 84, 96, 108)]),
        "co2 monthly": (*monthly, (1.0,), [(n, 120) for n in (120, 200, 300, 400, 468, 500)]),
        "co2 weekly": (*weekly, (365.25,), [(600, 150), (1941, 284)]),
        "flights daily": (*flights(folder, 24), (7.0,), [(n, 30) for n in (150, 200, 250, 300, 335)]),
        "flights hourly": (*flights(folder, 1), (24.0, 168.0), [(6772, 150)]),
        "bike hourly": (*hourly, (24.0, 168.0), [(n, 168) for n in (300, 500, 1500, 5500, 10_000, 17_000)]),
    }  # fmt: skip


def default(t, y, ahead):
    """(mean, std of a new y) of what a process finds by itself."""
    some = np.arange(len(t)) if len(t) <= MOST else draw_rows(t[:, None], MOST, np.random.default_rng(0))[0]
    model = GaussianProcessRegressor("auto", time_budget=SECONDS).fit(t[some, None], y[some])
    return model.predict(ahead[:, None], return_std=True, noisy=True)


def trees(t, y, ahead, cycles):
    """Boosted trees on the phases of the calendar, with time and without."""
    (known, new), found = (np.column_stack([v[:, None] % cycles, v]) for v in (t, ahead)), []
    for some in (slice(None), slice(-1)):
        model = HistGradientBoostingRegressor(random_state=0).fit(known[:, some], y)
        found.append(model.predict(new[:, some]))
    return found


def judged(t, y, n, h, cycles):
    """{measure: value} of one forecast."""
    before, ahead, target, sd = t[:n], t[n : n + h], y[n : n + h], y[:n].std()
    start = time.perf_counter()
    mean, std = default(before, y[:n], ahead)
    seconds, z = time.perf_counter() - start, (target - mean) / std
    cycle = int(round(max(cycles) / np.median(np.diff(t))))

    def error(values):
        return float(np.sqrt(np.mean((target - values) ** 2)) / sd)

    return {
        "default": error(mean), "trees": min(error(one) for one in trees(before, y[:n], ahead, cycles)),
        "last cycle": error(y[n - cycle : n][np.arange(h) % cycle]),
        "log density": float(np.mean(-0.5 * z**2 - np.log(std / sd) - 0.5 * np.log(2 * np.pi))),
        "in 90 %": float(np.mean(np.abs(z) < 1.645)), "s": seconds,
    }  # fmt: skip


def main():
    folder, names = Path(sys.argv[1]), sys.argv[2:]
    measures = ("default", "trees", "last cycle", "log density", "in 90 %", "s")
    table, found = (
        Table("Forecasts: RMSE in standard deviations", "series | rows | ahead | " + " | ".join(measures)),
        [],
    )
    warnings.simplefilter("ignore")
    for name, (t, y, cycles, cuts) in series(folder).items():
        for n, h in cuts if not names or name in names else ():
            found.append(judged(t, y, n, h, cycles))
            table.add(name, n, h, *(round(found[-1][one], 3) for one in measures))
    means = [float(np.exp(np.mean([np.log(one[m]) for one in found]))) for m in measures[:3]]
    print("geometric means", *(f"{name} {value:.3f}" for name, value in zip(measures, means, strict=False)))


if __name__ == "__main__":
    main()

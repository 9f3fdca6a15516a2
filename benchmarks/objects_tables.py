"""Mixed tables: California housing by column name, with and without the categorical part of the kernel.

``python objects_tables.py [--rows 2000] [--splits 5] [--json FILE]``. Each split draws the training rows at random;
5 000 of the others judge. Both models of a pair see the same rows, so that their differences are paired.
"""

import argparse
import csv
import gzip
import time

import numpy as np
from tables import HERE, Table, finish

from mercer import GaussianProcessRegressor
from mercer.kernels import Categorical, Gaussian, Matern32

SOURCE = HERE.parent.parent / "shared" / "data" / "medium" / "california_housing.csv.gz"
NEW_ROWS = 5000
PLACE = ["longitude", "latitude"]
NUMBERS = ["age", "income", "rooms", "bedrooms", "occupancy", "households"]


def housing():
    """(columns, y): complete rows, amounts per household in logarithms, y in 100 000 dollars."""
    with gzip.open(SOURCE, "rt", encoding="utf-8") as stream:
        rows = [row for row in csv.DictReader(stream) if all(row.values())]
    raw = {name: np.array([row[name] for row in rows]) for name in rows[0]}
    number = {name: values.astype(float) for name, values in raw.items() if name != "ocean_proximity"}
    per_house = {"rooms": "total_rooms", "bedrooms": "total_bedrooms", "occupancy": "population"}
    columns = {
        "longitude": number["longitude"],
        "latitude": number["latitude"],
        "age": number["housing_median_age"],
        "income": np.log(number["median_income"]),
        "households": np.log(number["households"]),
        **{name: np.log(number[source] / number["households"]) for name, source in per_house.items()},
        "near": raw["ocean_proximity"],
    }
    return columns, number["median_house_value"] / 1e5


def pairs():
    """[(what, kernel, the same with the categorical part), …]."""
    near = Categorical().on("near")
    numbers = 0.5 * Gaussian([20.0, 1.0, 0.5, 0.2, 0.5, 2.0]).on(NUMBERS)
    place = 0.2 * Matern32([0.5, 0.5]).on(PLACE)
    return [
        ("numbers", numbers, numbers * near),
        ("numbers + location", numbers + place, numbers * near + place * near),
    ]


def taken(columns, rows):
    return {name: values[rows] for name, values in columns.items()}


def judged(kernel, columns, y, train, new):
    """(RMSE, MAE, negative log density, seconds) of a fit on some rows, judged on others."""
    start = time.perf_counter()
    model = GaussianProcessRegressor(kernel).fit(taken(columns, train), y[train])
    mean, std = model.predict(taken(columns, new), return_std=True, noisy=True)
    seconds, error = time.perf_counter() - start, y[new] - mean
    density = 0.5 * (error / std) ** 2 + np.log(std) + 0.5 * np.log(2 * np.pi)
    return np.sqrt(np.mean(error**2)), np.abs(error).mean(), density.mean(), seconds


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=2000, help="training rows of each split")
    parser.add_argument("--splits", type=int, default=5)
    parser.add_argument("--json")
    options = parser.parse_args()
    columns, y = housing()
    table = Table(
        f"California housing, {options.rows} training rows: does the category help?",
        "kernel on | RMSE without | RMSE with | difference ± s.e. | splits won | MAE without | MAE with | "
        "−log density without | with | s without | s with | met",
        "Gaussian process by the evidence, y in 100 000 dollars, 5 000 new rows in each of "
        f"{options.splits} random splits. With: each term is multiplied by Categorical().on('near'), ocean_proximity. "
        "Met: the paired difference in RMSE is below 0 by two standard errors.",
    )
    for what, without, with_category in pairs():
        runs = []
        for seed in range(options.splits):
            order = np.random.default_rng(seed).permutation(len(y))
            train, new = order[: options.rows], order[options.rows : options.rows + NEW_ROWS]
            runs.append([judged(kernel, columns, y, train, new) for kernel in (without, with_category)])
        a, b = np.array(runs).transpose(1, 2, 0)
        gain = b[0] - a[0]
        error = gain.std(ddof=1) / np.sqrt(len(gain)) if len(gain) > 1 else np.nan
        table.add(what, a[0].mean(), b[0].mean(), f"{gain.mean():.4f} ± {error:.4f}", f"{(gain < 0).sum()}/{len(gain)}",
                  a[1].mean(), b[1].mean(), a[2].mean(), b[2].mean(), round(a[3].mean(), 1), round(b[3].mean(), 1),
                  bool(gain.mean() < -2 * error))  # fmt: skip
    finish([table], options.json)


if __name__ == "__main__":
    main()

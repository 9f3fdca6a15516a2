"""Reading the bundled CSV files into a Bunch, by the names in their first line."""

import csv
from importlib.resources import files as resources

import numpy as np
from sklearn.utils import Bunch

DESCRIPTIONS = {
    "cars": """Speed of cars and the distance taken to stop.

50 rows. speed: miles per hour. dist: stopping distance in feet (the target).
Recorded in the 1920s; several cars share a speed.
M. Ezekiel, Methods of Correlation Analysis, Wiley, 1930.""",
    "mcycle": """A simulated motorcycle accident, used to test crash helmets.

133 rows. times: milliseconds after the impact. accel: acceleration of the head in g (the target).
Times repeat, and the noise is small before the impact and large after it.
B. W. Silverman, Some aspects of the spline smoothing approach to non-parametric curve fitting,
Journal of the Royal Statistical Society B 47, 1-52, 1985.""",
    "faithful": """Eruptions of the Old Faithful geyser, Yellowstone.

272 rows. eruptions: length of an eruption in minutes. waiting: minutes to the next one (the target).
A. Azzalini and A. W. Bowman, A look at some data on the Old Faithful geyser,
Applied Statistics 39, 357-365, 1990.""",
    "ethanol": """Exhaust of a one-cylinder engine that burns ethanol.

88 rows. C: compression ratio (five values). E: equivalence ratio, the richness of the air and fuel mixture.
NOx: nitric oxide and nitrogen dioxide in micrograms per joule (the target).
N. D. Brinkman, Ethanol fuel: a single-cylinder engine study of efficiency and exhaust emissions,
SAE Transactions 90, 1410-1424, 1981.""",
    "co2": """Carbon dioxide in the air at Mauna Loa, month by month.

468 rows, 1959 to 1997. decimal_year: time. co2_ppm: parts per million (the target).
The months missing in the record (February, March and April 1964) were interpolated.
C. D. Keeling and T. P. Whorf, Scripps Institution of Oceanography.""",
    "airpassengers": """Passengers of international airlines, month by month.

144 rows, 1949 to 1960. decimal_year: time. passengers: thousands (the target).
The season grows with the level.
G. E. P. Box, G. M. Jenkins and G. C. Reinsel, Time Series Analysis, Forecasting and Control, Holden-Day, 1976.""",
    "synth": """Two classes in the plane, each a mixture of two normal distributions.

250 training and 1000 test rows. xs, ys: coordinates. yc: class 0 or 1 (the target).
The Bayes rule errs on 8 % of the rows.
B. D. Ripley, Pattern Recognition and Neural Networks, Cambridge University Press, 1996.""",
}


def read(name, features, target, *, files=None, classes=False, return_X_y=False, as_frame=False):
    """Return the data set ``name`` as a Bunch, or as (X, y): its columns ``features`` and ``target``."""
    tables = [_columns(file, [*features, target]) for file in files or [name]]
    table = np.concatenate(tables)
    data = np.ascontiguousarray(table[:, :-1])
    values = table[:, -1].astype(np.int64 if classes else np.float64)
    frame = None
    if as_frame:
        frame = _pandas().DataFrame(data, columns=features)
        frame[target] = values
        data, values = frame[features], frame[target]
    if return_X_y:
        return data, values
    return Bunch(
        data=data,
        target=values,
        feature_names=list(features),
        target_name=target,
        frame=frame,
        DESCR=DESCRIPTIONS[name],
    )


def _columns(file, names):
    """Return the named columns of a bundled CSV file, as an array of shape (n, len(names))."""
    with resources("mercer.datasets").joinpath(f"{file}.csv").open(encoding="utf-8", newline="") as text:
        return np.array([[float(row[name]) for name in names] for row in csv.DictReader(text)])


def _pandas():
    """Pandas, which only ``as_frame=True`` needs."""
    try:
        import pandas
    except ImportError as error:
        raise ImportError("as_frame=True needs pandas, which is not installed: pip install pandas") from error
    return pandas

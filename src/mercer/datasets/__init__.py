"""Small classics that come with the package: no download, one function each.

Every ``load_*`` returns a scikit-learn :class:`~sklearn.utils.Bunch`, or ``(X, y)`` with
``return_X_y=True``, or pandas objects with ``as_frame=True``. The arrays are fresh on every call.
Where the numbers come from stands in ``README.md`` of this folder.
"""

from mercer.datasets._read import complete_docstring, read_csv

__all__ = [
    "load_airpassengers", "load_cars", "load_co2", "load_ethanol", "load_faithful", "load_mcycle", "load_synth",
]  # fmt: skip


@complete_docstring
def load_cars(*, return_X_y: bool = False, as_frame: bool = False):
    """Stopping distance (ft) against speed (mph): 50 cars of the 1920s, several at the same speed.

    Examples
    --------
    >>> from mercer.datasets import load_cars
    >>> cars = load_cars()
    >>> cars.data.shape, cars.feature_names, cars.target_name
    ((50, 1), ['speed'], 'dist')
    >>> print(cars.DESCR.splitlines()[0])
    Speed of cars and the distance taken to stop.
    """
    return read_csv("cars", ["speed"], "dist", return_X_y=return_X_y, as_frame=as_frame)


@complete_docstring
def load_mcycle(*, return_X_y: bool = False, as_frame: bool = False):
    """Head acceleration (g) against time (ms) in a simulated motorcycle crash, 133 rows: noise that changes with x.

    Examples
    --------
    >>> from mercer.datasets import load_mcycle
    >>> X, y = load_mcycle(return_X_y=True)
    >>> X.shape, float(y.min()), float(y.max())
    ((133, 1), -134.0, 75.0)
    """
    return read_csv("mcycle", ["times"], "accel", return_X_y=return_X_y, as_frame=as_frame)


@complete_docstring
def load_faithful(*, return_X_y: bool = False, as_frame: bool = False):
    """Waiting time (min) against the length of the eruption before it (min): 272 of the Old Faithful geyser.

    Examples
    --------
    >>> from mercer.datasets import load_faithful
    >>> load_faithful().data[:3].ravel()
    array([3.6  , 1.8  , 3.333])
    """
    return read_csv("faithful", ["eruptions"], "waiting", return_X_y=return_X_y, as_frame=as_frame)


@complete_docstring
def load_ethanol(*, return_X_y: bool = False, as_frame: bool = False):
    """Nitrogen oxides NOx (μg/J) against compression ratio C and richness of the mixture E: two inputs, 88 rows.

    Examples
    --------
    >>> from mercer.datasets import load_ethanol
    >>> ethanol = load_ethanol()
    >>> ethanol.feature_names, ethanol.data[0], float(ethanol.target[0])
    (['C', 'E'], array([12.   ,  0.907]), 3.741)
    """
    return read_csv("ethanol", ["C", "E"], "NOx", return_X_y=return_X_y, as_frame=as_frame)


@complete_docstring
def load_co2(*, return_X_y: bool = False, as_frame: bool = False):
    """Carbon dioxide (ppm) at Mauna Loa against time (years): every month from 1959 to 1997.

    Examples
    --------
    >>> from mercer.datasets import load_co2
    >>> X, y = load_co2(return_X_y=True)
    >>> float(X[0, 0]), float(y[0]), float(y.max())
    (1959.0, 315.42, 366.84)
    """
    return read_csv("co2", ["decimal_year"], "co2_ppm", return_X_y=return_X_y, as_frame=as_frame)


@complete_docstring
def load_airpassengers(*, return_X_y: bool = False, as_frame: bool = False):
    """Airline passengers (thousands) against time (years): every month from 1949 to 1960.

    Examples
    --------
    >>> from mercer.datasets import load_airpassengers
    >>> load_airpassengers().target[:4]
    array([112., 118., 132., 129.])
    """
    return read_csv("airpassengers", ["decimal_year"], "passengers", return_X_y=return_X_y, as_frame=as_frame)


def load_synth(subset: str = "train", *, return_X_y: bool = False, as_frame: bool = False):
    """Ripley's two classes in the plane, each a mixture of two normals; no classifier errs less than 8 %.

    Parameters
    ----------
    subset : {"train", "test", "all"}, default="train"
        250 rows, 1000 rows, or both one after the other.
    return_X_y : bool, default=False
        Return ``(data, target)`` instead of a Bunch.
    as_frame : bool, default=False
        Give ``data`` as a pandas DataFrame and ``target`` as a Series. Needs pandas.

    Returns
    -------
    Bunch or tuple of (data, target)
        With ``data`` (n, 2), ``target`` (n,) of 0 and 1, ``feature_names``, ``target_name``, ``frame``, ``DESCR``.

    Examples
    --------
    >>> from mercer.datasets import load_synth
    >>> X, y = load_synth(return_X_y=True)
    >>> X_test, y_test = load_synth("test", return_X_y=True)
    >>> X.shape, X_test.shape, sorted(set(y.tolist()))
    ((250, 2), (1000, 2), [0, 1])
    """
    files = {"train": ["synth_train"], "test": ["synth_test"], "all": ["synth_train", "synth_test"]}
    if subset not in files:
        raise ValueError(f"subset must be 'train', 'test' or 'all', got {subset!r}.")
    return read_csv(
        "synth", ["xs", "ys"], "yc", files=files[subset], classes=True, return_X_y=return_X_y, as_frame=as_frame
    )

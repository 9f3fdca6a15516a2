"""The formula of a kernel, written down as steps while it is evaluated: the script of a page evaluates the same steps.

A step is a list, the name of a function of NumPy and its arguments: "x" and "z" are the two inputs, a whole number is
the result of an earlier step, [number] or [a list of numbers] are constants. The last step is the value of the kernel.
Functions work column by column; "add.reduce" and "multiply.reduce" go over the columns; "take" chooses some of them.
"""

import numpy as np

OPERATIONS = frozenset({
    "absolute", "add", "arctan", "cos", "cosh", "divide", "exp", "expm1", "log", "log1p", "maximum", "minimum",
    "multiply", "negative", "positive", "power", "reciprocal", "sin", "sinh", "sqrt", "square", "subtract", "tan",
    "tanh", "add.reduce", "multiply.reduce", "take",
})  # fmt: skip


class Traced(np.lib.mixins.NDArrayOperatorsMixin):
    """What stands for an input or a result: each function of NumPy that is called with it becomes a step."""

    def __init__(self, steps, name, size):
        self.steps, self.name, self.size = steps, name, size

    def __array_ufunc__(self, ufunc, method, *inputs, out=None, **options):
        operation = ufunc.__name__ if method == "__call__" else f"{ufunc.__name__}.{method}"
        plain = all(value in (None, 0, False) for value in options.values())
        if operation not in OPERATIONS or not plain or (out is not None and not isinstance(out[0], Traced)):
            return NotImplemented
        size = None if method == "reduce" else max(one.size or 0 for one in inputs if isinstance(one, Traced))
        return self._step(out, size or None, operation, *inputs)

    def __getitem__(self, places):
        places = np.arange(self.size)[places] if isinstance(places, slice) else np.atleast_1d(places)
        return self._step(None, len(places), "take", self, places)

    def __bool__(self):
        raise TypeError("a formula knows no cases")

    def _step(self, out, size, operation, *inputs):
        """Write down a step; its result, in ``out`` where that is given."""
        if len(self.steps) == 500:  # a page evaluates them while a slider moves
            raise ValueError("the formula is too long")
        self.steps.append([operation, *map(_argument, inputs)])
        result = Traced(self.steps, None, size) if out is None else out[0]
        result.name, result.size = len(self.steps) - 1, size
        return result


def _argument(value):
    """An argument of a step."""
    if isinstance(value, Traced):
        return value.name
    value = np.asarray(value)
    if value.dtype.kind not in "buif" or value.ndim > 1 or not np.isfinite(value).all():
        raise TypeError(f"a formula cannot hold {value!r}")
    value = value.astype(int if value.dtype.kind in "bui" else float)
    return [value.reshape(()).item() if value.size == 1 else value.tolist()]


def steps_of(kernel, d):
    """The formula of a kernel of d columns as steps; None where it cannot be written down."""
    steps: list = []
    try:
        found = kernel.formula(Traced(steps, "x", d), Traced(steps, "z", d))
        if not isinstance(found, Traced):
            steps.append(["positive", _argument(found)])
        elif found.name != len(steps) - 1:
            steps.append(["positive", found.name])
    except (TypeError, ValueError, AttributeError, IndexError, NotImplementedError):
        return None
    return steps


def evaluate(steps, x, z):
    """k(x, z) of two vectors, by the steps of a formula."""
    results: list = []

    def value(argument):
        if isinstance(argument, list):
            return np.asarray(argument[0])
        return {"x": x, "z": z}[argument] if isinstance(argument, str) else results[argument]

    for operation, *arguments in steps:
        name, _, method = operation.partition(".")
        function = getattr(np, name)
        results.append((getattr(function, method) if method else function)(*map(value, arguments)))
    return float(results[-1])


def error_of(steps, kernel, X):
    """How far the steps are from the kernel on all pairs of inputs, relative to its largest value; NaN if they fail."""
    K = np.asarray(kernel(X), dtype=float)
    try:
        with np.errstate(all="ignore"):
            values = np.array([[evaluate(steps, x, z) for z in X] for x in X])
    except (TypeError, ValueError, IndexError):
        return np.nan
    return np.abs(values - K).max(initial=0.0) / max(np.abs(K).max(initial=0.0), np.finfo(float).tiny)


def checked_steps(kernel, X):
    """The steps of the formula if they give the values of the kernel up to rounding; else None."""
    steps = steps_of(kernel, X.shape[1])
    return steps if steps is not None and error_of(steps, kernel, X) <= 1e-8 else None

"""Kernels for tables: the default one, and the length scales of a kernel in the words of the table."""

from functools import reduce
from operator import mul

import numpy as np
from sklearn.base import clone, is_classifier
from sklearn.utils import get_tags

from mercer.estimators import KernelRidge
from mercer.kernels import Gaussian, Kernel, Matern32
from mercer.kernels.visit import walk
from mercer.tabular.reads import place_kernel

SCALES = (0.35, 0.7, 1.4)  # times the default length scales: what a classifier chooses among


def is_auto(estimator):
    """Whether the kernel is what a search over expressions finds."""
    return isinstance(estimator.kernel, str) and estimator.kernel == "auto"


def on_columns(estimator, recipe, n):
    """The estimator with a kernel that reads columns of X."""
    kernel = estimator.kernel
    if kernel is None:
        latent = estimator.has_evidence  # which sees the amplitude
        if not latent and estimator.learns_lengths and _count_lengths(recipe, n) == len(recipe.feature_names_):
            return clone(estimator)  # its own is the same one, with a prior on the lengths
        # Lengths that a ridge regression chooses for another loss are to mean something at another λ.
        base = Matern32 if latent or estimator.learns_lengths else Gaussian
        kernel = 1.0 * default_kernel(recipe, n, base) if latent else default_kernel(recipe, n, base)
    elif isinstance(kernel, Kernel):
        kernel = place_kernel(kernel, recipe)
    return clone(estimator).set_params(kernel=kernel)


def choose_first(estimator, X, y, notes, own=True, optimize="all", listener=None):
    """The estimator with what its own criterion cannot choose: length scales, and what the noise sets.

    Gradients in the length scales exist for the squared loss and the evidence only. For the other losses they are what
    kernel ridge regression chooses by leave-one-out, a kernel that is "auto" by the evidence; the residuals also give
    the scale of the noise.
    """
    if estimator.learns_lengths:
        return estimator
    if is_classifier(estimator):
        if not own:
            return estimator
        notes.append("the length scales are the best of three multiples of the standard deviations.")
        kernel = estimator.kernel
        return clone(estimator).set_params(kernel=[kernel.with_theta(kernel.theta + np.log(f)) for f in SCALES])
    target = np.log1p(y) if get_tags(estimator).target_tags.positive_only else y
    budget = None if estimator.time_budget is None else estimator.time_budget / 2  # the other half is for the model
    options = {"optimize": optimize, "time_budget": budget, "memory": estimator.memory}
    rule = "evidence" if is_auto(estimator) else "loo"
    first = listen(KernelRidge(estimator.kernel, criterion=rule, **options), listener).fit(X, target)
    sigma = 1.4826 * float(np.median(np.abs(first.loo_residuals_))) or float(np.std(target)) or 1.0
    if optimize == "all":
        what = "kernel is the one" if is_auto(estimator) else "length scales are those"
        how = {"loo": "leave-one-out", "evidence": "the evidence"}[rule]
        notes.append(f"the {what} that ridge regression chooses by {how}.")
    lam = min(max(first.lam_, 1e-6), 1e6)
    model = estimator.for_noise(sigma, len(y), lam).set_params(kernel=first.kernel_, time_budget=budget)
    for name, value in model.get_params(deep=False).items():
        if repr(value) != repr(getattr(estimator, name)) and name not in ("kernel", "time_budget"):
            notes.append(f"{name} = {value!r}, from the left-out residuals: they have a deviation of {sigma:.4g}.")
    return model


# --------------------------------------------------------------------------------------------- progress
class Listener:
    """A callback of scikit-learn that calls a function after each evaluation of a search; true asks it to stop."""

    def __init__(self, call):
        self.call = call

    def setup(self, estimator, context):
        """Nothing to do."""

    def teardown(self, estimator, context):
        """Nothing to do."""

    def on_fit_task_begin(self, estimator, context):
        """Nothing to do."""

    def on_fit_task_end(self, estimator, context):
        """Report an evaluation."""
        return bool(self.call()) if context.task_name == "evaluation" else False


def listen(estimator, listener):
    """The estimator, telling the listener of each evaluation where it can."""
    if listener is not None and hasattr(estimator, "set_callbacks"):
        estimator.set_callbacks(Listener(listener))
    return estimator


def _category_blocks(recipe):
    """(indicators of each category, columns of numbers), as columns of X."""
    blocks = [place for place in recipe.blocks_.values() if len(place) > 2]
    used = {i for place in blocks for i in place}
    return blocks, [i for i in range(len(recipe.feature_names_)) if i not in used]


def _count_lengths(recipe, n):
    """How many columns of numbers have a length scale of their own in n rows; 0 where one serves them all."""
    blocks, plain = _category_blocks(recipe)
    return len(plain) if 1 < len(plain) <= 50 and n >= 5 * (len(plain) + len(blocks)) else 0


def default_kernel(recipe, n, base=Matern32):
    """Matérn-3/2 with a length scale for each column of numbers, times a Gaussian on the levels of each category.

    A Gaussian with one ℓ on the indicators of a column is e^(−1/ℓ²) for any two different categories: the kernel
    `mercer.kernels.Categorical`.

    Parameters
    ----------
    recipe : Recipe
        Fitted: it says which columns of X are numbers and which are indicators.
    n : int
        Rows; with fewer than five for each length scale, one serves all columns of numbers.
    base : class, default=Matern32
        The kernel of the numbers.

    Returns
    -------
    Kernel

    Examples
    --------
    >>> import polars as pl
    >>> from mercer.tabular import Recipe, default_kernel
    >>> default_kernel(Recipe().fit(pl.DataFrame({"a": [1.0, 2.0, 4.0], "b": [0.0, 5.0, 1.0]})), 100)
    Matern32([1.4142135623730951, 1.4142135623730951])
    """
    blocks, plain = _category_blocks(recipe)
    start = float(np.sqrt(max(1, len(plain) + len(blocks))))
    parts = []
    if plain:
        kernel = base(np.full(len(plain), start) if _count_lengths(recipe, n) else start)
        parts.append(kernel.on(plain) if blocks else kernel)
    alone = not plain and len(blocks) == 1
    parts += [Gaussian(start) if alone else Gaussian(start).on(place) for place in blocks]
    return reduce(mul, parts)


def length_scales(kernel, recipe):
    """[(name of a hyper-parameter, column of the table)] of the length scales of a kernel on X."""
    found = []
    for part, columns, prefix in walk(kernel, list(recipe.feature_names_)):
        if "length_scale" in part.hyper and columns:
            name = f"{prefix}length_scale"
            if np.ndim(part.length_scale) == 0:
                found.append((name, _owner(columns, recipe)))
            elif len(part.length_scale) == len(columns):
                found += [(f"{name}[{j}]", column) for j, column in enumerate(columns)]
    return found


def _owner(columns, recipe):
    """The column of the table that some columns of X came from; "all columns" for several."""
    if len(columns) == 1:
        return columns[0]
    place = [recipe.feature_names_.index(name) for name in columns]
    return next((name for name, block in recipe.blocks_.items() if list(block) == place), "all columns")

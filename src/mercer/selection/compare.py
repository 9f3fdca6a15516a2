"""Which λ each rule chooses, side by side."""

from collections.abc import Mapping

from mercer.kernels.base import Kernel
from mercer.selection.criteria import GCV, LOO, Evidence
from mercer.selection.path import Path, number_repeated, path
from mercer.selection.rules import Discrepancy, LCurve


def compare(kernel, X=None, y=None, *, rules=None, lams=None, sample_weight=None, intercept=None, noise=None):
    """{rule: λ}: what every rule chooses on one path; each minimum refined by Brent's method in log λ.

    Parameters
    ----------
    kernel : Kernel, array-like of shape (m, n), or Path
        As for `path`; a path that is there already is used.
    X, y
        As for `path`: ``compare(kernel, X, y)`` or ``compare(A, b)``.
    rules : list of Rule, default=None
        None is LOO (squared error and log density), GCV, robust GCV, Evidence (scale profiled out), LCurve, and
        Discrepancy (for a plain matrix only when ``noise`` is given).
    lams, sample_weight, intercept
        As for `path`.
    noise : float, default=None
        Standard deviation of the noise, for Discrepancy.

    Returns
    -------
    Comparison

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.kernels import Gaussian
    >>> from mercer.selection import compare
    >>> X = np.linspace(0, 1, 40)[:, None]
    >>> y = np.sin(6 * X[:, 0]) + 0.1 * np.random.default_rng(0).standard_normal(40)
    >>> found = compare(Gaussian(0.3), X, y)
    >>> found.choices["GCV()"].ok
    True
    """
    if isinstance(kernel, Path):
        found = kernel
    else:
        found = path(kernel, X, y, lams=lams, sample_weight=sample_weight, intercept=intercept, criteria=[])
    if rules is None:
        rules = default_rules(noise, plain=not isinstance(found.kernel, Kernel))
    names = number_repeated(rule.name for rule in rules)
    return Comparison(found, {name: rule.choose(found) for name, rule in zip(names, rules, strict=True)}, rules)


def default_rules(noise=None, plain=False):
    """Return the rules that `compare` asks."""
    rules = [LOO(), GCV(), GCV("robust"), Evidence(profile_scale=True), LCurve()]
    if not plain:
        rules.insert(1, LOO("log_density"))
    if noise is not None or not plain:
        rules.append(Discrepancy(noise))
    return rules


class Comparison(Mapping):
    """{rule: λ}, with the status of each choice; made by `compare`. Prints as a table.

    Attributes
    ----------
    path : Path
        What the rules looked at.
    choices : dict of Choice
        By the name of the rule; a second one of the same name is called "… #2".

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.kernels import Gaussian
    >>> from mercer.selection import GCV, LOO, compare
    >>> X = np.linspace(0, 6, 30)[:, None]
    >>> found = compare(Gaussian(1.0), X, np.sin(X[:, 0]) + 0.1 * np.cos(40 * X[:, 0]), rules=[LOO(), GCV()])
    >>> list(found), found.choices["LOO()"].status
    (['LOO()', 'GCV()'], 'ok')
    """

    def __init__(self, path, choices, rules=()):
        self.path, self.choices, self._rules = path, choices, list(rules)

    def __getitem__(self, rule):
        if isinstance(rule, str):
            return self.choices[rule].lam
        own = (name for name, one in zip(self.choices, self._rules, strict=False) if one is rule)
        return self.choices[next(own, rule.name)].lam

    def __iter__(self):
        return iter(self.choices)

    def __len__(self):
        return len(self.choices)

    def to_dict(self):
        """Return {rule: {lam, status, message, value}} in plain values."""
        return {
            name: {"lam": c.lam, "status": c.status, "message": c.message, "value": c.value}
            for name, c in self.choices.items()
        }

    def __repr__(self):
        return f"Comparison({', '.join(f'{name}: {lam:.3g}' for name, lam in self.items())})"

    def __str__(self):
        """Return a table: rule, λ, degrees of freedom, status; what went wrong below it."""
        width = max((len(name) for name in self.choices), default=4)
        lines = [f"{'rule':{width}}  {'lam':>10}  {'dof':>8}  status"]
        e, q = self.path.eigenvalues, self.path.q
        for name, c in self.choices.items():
            dof = q + float((e / (e + c.lam)).sum())
            lines.append(f"{name:{width}}  {c.lam:10.4g}  {dof:8.2f}  {c.status}")
        lines += [f"{name}: {c.message}" for name, c in self.choices.items() if c.message]
        return "\n".join(lines)

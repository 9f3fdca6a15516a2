"""How every estimator is fitted: on a copy, which it becomes at the end; most by the approximation of a problem.

A fit that fails or is interrupted changes nothing.
"""

import copy
import numbers
from abc import abstractmethod
from dataclasses import replace

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils._param_validation import validate_parameter_constraints

from mercer import _native
from mercer._clock import FOREVER, Clock
from mercer._parameters import Parametrised, call_repr, parameter_names, signature_of
from mercer._policies import OptionSet
from mercer._state import Stateful, check
from mercer.approximate.base import choose
from mercer.approximate.fitted import Fitted
from mercer.estimators._parameters import KernelParameters
from mercer.estimators.validation import CheckedInputs, seed_of
from mercer.selection.result import begin, end, reporter
from mercer.sources import as_source


class FitReport(dict):
    """What a fit did and why: solver, reasons, condition, residual, jitter, time, memory.

    A dictionary of plain values, so that it goes into JSON; printed, it is one line for each entry.

    Examples
    --------
    >>> from mercer.estimators import FitReport
    >>> print(FitReport(solver="cholesky", rows=50))
    solver  cholesky
    rows    50
    """

    def state(self):
        """{name: value} by public names: what a file keeps."""
        return {"items": dict(self)}

    @classmethod
    def from_state(cls, state):
        """Return the report that had this state."""
        check(state, {"items": dict}, "FitReport")
        return cls(state["items"])

    def __str__(self):
        width = max((len(str(key)) for key in self), default=0) + 2
        lines = []
        for key, value in self.items():
            items = value if isinstance(value, (list, tuple)) else [value]
            for i, item in enumerate(items):
                lines.append(f"{key if i == 0 else '':<{width}}{_show(item)}")
        return "\n".join(lines)

    def __repr__(self):
        return f"FitReport({', '.join(f'{k}={_show(v)}' for k, v in self.items() if not isinstance(v, (list, tuple)))})"


def _show(value):
    """Numbers with four digits, a dictionary as its entries that say something, the rest as it is."""
    if isinstance(value, dict):
        return ", ".join(f"{key} {_show(item)}" for key, item in value.items() if not _is_empty(item))
    if isinstance(value, bool) or not isinstance(value, numbers.Real) or isinstance(value, numbers.Integral):
        return str(value)
    return f"{value:.4g}"


def _is_empty(item):
    """Whether there is nothing to show; 0 is something, and an array of NumPy compares with nothing."""
    return item is None or (isinstance(item, str | list | dict | tuple) and not item)


class AtomicFit(CheckedInputs, Parametrised, Stateful, BaseEstimator):
    """An estimator whose ``fit`` is all or nothing: ``_fit`` learns on a copy."""

    _parameter_constraints: dict = {}
    _clock = FOREVER  # of a fit that is under way
    time_budget = criterion = None
    options: list | tuple = ()
    remade: tuple = ()  # names of attributes that can be computed again: left out of copies and pickles
    default_criterion = None  # what chooses λ or the kernel, where neither these nor a criterion are given

    def __getstate__(self):
        """Return the state without what can be computed again."""
        return {name: value for name, value in super().__getstate__().items() if name not in self.remade}

    @classmethod
    def _get_param_names(cls):
        """Names of the parameters, read from the signature once for each class."""
        return list(parameter_names(cls))

    def __repr__(self):
        """Return the call that makes this estimator, with the parameters that are not the default."""
        return call_repr(self)

    @property
    def criterion_used(self):
        """``criterion``, or the default one; None where a fit chooses nothing."""
        return self.default_criterion if self.criterion is None else self.criterion

    def _validate_params(self):
        """As scikit-learn does it, for what is not the default: that takes a tenth of a small fit."""
        known = signature_of(type(self)).items()
        given = {name: getattr(self, name) for name, p in known if getattr(self, name) is not p.default}
        validate_parameter_constraints(self._parameter_constraints, given, type(self).__name__)
        OptionSet(self.options)  # refuses what is no option

    def _fit_all_or_nothing(self, X, y, *args):
        """Run ``_fit`` on a copy, and take over what it learnt only if it ends well."""
        self._validate_params()
        begin(self, X, y, steps=0 if self.criterion_used is None else None)
        fitted = copy.copy(self)
        fitted._clock = clock = Clock(self.time_budget)
        for name in [name for name in vars(fitted) if name.endswith("_") and not name.startswith("_")]:
            del vars(fitted)[name]  # what an earlier fit has learnt: not all of it may be learnt again
        fitted.fit_report_ = FitReport()
        fitted._fit(X, y, *args)
        fitted._complete_report(clock)
        self._take_over(fitted)
        end(self, X, y)
        return self

    @abstractmethod
    def _fit(self, X, y):
        """Learn, and set every fitted attribute on self, which is a copy."""

    def _complete_report(self, clock):
        """What every report says, around what the fit has said."""
        said = {"estimator": type(self).__name__, **self.fit_report_}
        if self.selection_ is not None:
            said["selection"] = self.selection_.to_dict()
        said["loops"] = _native.describe()
        self.fit_report_ = FitReport(said, seconds=clock.seconds)
        del self._clock

    def _take_over(self, fitted):
        """Become the other, and nothing else."""
        vars(self).update(vars(fitted))
        for name in set(vars(self)) - set(vars(fitted)):  # e.g. feature names of an earlier fit
            del vars(self)[name]
        return self


class Approximated(KernelParameters, AtomicFit):
    """A model that is fitted by an `Approximation`: it makes a `Problem`, and publishes what was learnt."""

    _fitted: Fitted | None = None  # what the last fit has learnt

    def _fit(self, X, y, sample_weight):
        """Check the data, choose the approximation of their problem, search, fit, and publish what was learnt."""
        self._fitted = None  # that of an earlier fit
        problem = self._make_problem(X, y, sample_weight)
        approximation, self.plan_ = choose(problem)
        problem = replace(problem, plan=self.plan_)
        found = approximation.search(problem)
        self._publish(approximation.fit(problem, found))

    @abstractmethod
    def _make_problem(self, X, y, sample_weight):
        """The `Problem` of the data, checked."""

    def _publish(self, fitted):
        """Set what a fit has learnt, and say it in the report."""
        self._fitted, self.plan_ = fitted, fitted.plan or self.plan_
        vars(self).update(fitted.attributes(), _slopes=fitted.slopes)
        if fitted.result is not None:
            self.selection_ = fitted.result
        self.fit_report_.update(fitted.report())

    def _parameters_of_problem(self):
        """What every `Problem` is told of the parameters."""
        names = vars(self).get("feature_names_in_")
        return {
            "approximation": self.approximation, "memory": self.memory, "time_budget": self.time_budget,
            "optimize": self.optimize, "asked": self.criterion is not None, "clock": self._clock,
            "automatic": self._automatic, "several": isinstance(self.kernel, list | tuple),
            "seed": seed_of(self.random_state), "names": None if names is None else list(names),
            "report": reporter(self), "options": OptionSet(self.options),
        }  # fmt: skip

    def _open_source(self, X, y, sample_weight):
        """(`Source` of data that are read, whether y is one column); the columns are noted."""
        source = as_source(X, y, sample_weight, options=OptionSet(self.options))
        if source.d is not None:
            self.n_features_in_ = source.d
        if source.columns:
            self.feature_names_in_ = np.array(source.columns, dtype=object)
        return source, source.t == 1 and not isinstance(y, list | tuple) and np.ndim(y) < 2

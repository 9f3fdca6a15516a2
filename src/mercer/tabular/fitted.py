"""What a model of a table can be asked once it is fitted: predictions, probabilities, intervals, its columns."""

from abc import abstractmethod

import numpy as np
from sklearn.base import is_classifier
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from mercer.estimators import KernelEstimator
from mercer.exceptions import DataError
from mercer.tabular.cells import suggest
from mercer.tabular.columns import as_frame, as_values, usable_rows
from mercer.tabular.objects import check_readable
from mercer.tabular.reads import GRAPH, STRING
from mercer.tabular.spelling import match_spellings
from mercer.uncertainty import LeftOutErrors


class FittedTable(KernelEstimator):
    """A recipe and an estimator that are fitted; how they are found is for a subclass, in ``fit``."""

    @abstractmethod
    def fit(self, X, y=None):
        """Set ``estimator_``, ``recipe_``, ``target_`` and ``left_out_``."""

    @property
    def kernel_(self):
        """The kernel on the columns that the recipe makes."""
        return self.estimator_.kernel_

    @property
    def our_kernel_(self):
        """The same, as one of `mercer.kernels`."""
        return self.estimator_.our_kernel_

    @property
    def lam_(self):
        """λ of the estimator."""
        return self.estimator_.lam_

    @property
    def classes_(self):
        """Of a classifier."""
        return self.estimator_.classes_

    def readable(self, X):
        """Return the columns that are numbers, or can be made such."""
        return self.recipe_.numbers(as_frame(X))

    def score(self, X, y, sample_weight=None):
        """Return R² or accuracy: the score of the estimator.

        Parameters
        ----------
        X : data frame
        y : array-like of shape (n,)
        sample_weight : array-like of shape (n,), default=None

        Returns
        -------
        float
        """
        return self.estimator_.score(self.inputs(X), as_values(y), sample_weight)

    @available_if(lambda self: hasattr(self.estimator, "predict_proba"))
    def predict_proba(self, X):
        """Return the probabilities of the classes.

        Parameters
        ----------
        X : data frame

        Returns
        -------
        ndarray of shape (n, C)
        """
        return self.estimator_.predict_proba(self.inputs(X))

    @property
    def probabilistic(self):
        """Whether ``predict(X, return_std=True, noisy=True)`` has deviations of new targets."""
        return self.estimator_.probabilistic

    def predict(self, X, **options):
        """Return f of each row of a table, in its order.

        Parameters
        ----------
        X : data frame
            With the columns of the fit, in any order.
        **options
            Of ``predict`` of the estimator, such as ``return_std`` of a process.

        Returns
        -------
        ndarray of shape (n,)
        """
        return self.estimator_.predict(self.inputs(X), **options)

    def inputs(self, frame):
        """Return X of a table, checked to be what the kernel reads.

        Parameters
        ----------
        frame : polars.DataFrame
            Rows that the kernel cannot read are an error that names them.

        Returns
        -------
        ndarray of shape (n, d), or Table
        """
        check_is_fitted(self)
        X = self.recipe_.transform(as_frame(frame))
        if self.recipe_.has_objects:
            X = X[self.feature_names_]
            check_readable(self.estimator_.kernel_, X)
        return X

    @property
    def string_columns(self):
        """Columns that the kernel reads as strings: another table is to be read with these as they stand."""
        check_is_fitted(self)
        objects = self.recipe_.objects_ if self.recipe_.has_objects else []
        return [kept["name"] for kept in objects if kept["kind"] in (STRING, GRAPH)]

    @property
    def written(self):
        """{column: how its dates with slashes, or its units, were written}: another table is to be read alike."""
        check_is_fitted(self)
        return {kept["name"]: kept["style"] for kept in self.recipe_.columns_ if "style" in kept}

    def targets(self, frame, notes=None):
        """Return (rows, y): the rows of a table that have a target, and the targets.

        Parameters
        ----------
        frame : polars.DataFrame
            A table with a column of the target.
        notes : list, default=None
            Gets a sentence where rows have none.

        Returns
        -------
        ndarray of int, ndarray
        """
        check_is_fitted(self)
        if self.target_ not in frame.columns:
            raise DataError(
                f"the table has no column {self.target_!r}, the target{suggest(self.target_, frame.columns)}"
            )
        said = [] if notes is None else notes
        rows, y = usable_rows(frame, self.target_, is_classifier(self.estimator_), said, least=1)
        if is_classifier(self.estimator_):
            same = match_spellings({*y.tolist()}, [*map(str, self.classes_)])
            y = np.array([same.get(label, label) for label in y.tolist()], dtype=str)
        return rows, y

    def predict_interval(self, X, coverage=0.9):
        """[low, high] of each row: see `interval_method` for how.

        Parameters
        ----------
        X : data frame
        coverage : float, default=0.9
            The share of new targets that are to lie inside.

        Returns
        -------
        ndarray of shape (n, 2)
            Infinite, with a warning, where the model has seen too few rows for the coverage.
        """
        if not 0 < coverage < 1:
            raise ValueError(f"coverage must be between 0 and 1, got {coverage}.")
        X, method = self.inputs(X), self.interval_method
        if self.left_out_ is not None:
            return self.left_out_.interval_of(self.estimator_, X, coverage)
        other = {} if method == self.estimator_.interval_method else {"method": method}
        return self.estimator_.predict_interval(X, coverage, **other)

    @property
    def interval_method(self):
        """How intervals are made: "left-out", "gaussian", "conformal", …; an error for a classifier.

        "left-out": the prediction ± a quantile of the errors on rows left out, of fits that chose everything again
        (`calibrate`), else of those that the model itself leaves out with kernel and λ held. Without `calibrate` it is
        what the estimator does: "gaussian" from the posterior of a process; "calibrated" with as many deviations as
        rows left out ask for; "mixture" and "mapped" from quantiles; "conformal" from the fits without each row (kernel
        ridge regression up to 5000 rows).
        """
        check_is_fitted(self)
        if is_classifier(self.estimator_):
            raise DataError("a classifier has probabilities, not intervals; leave --interval away.")
        method = self.estimator_.interval_method
        few = self.estimator_.linear and len(self.estimator_.points_) <= 5000  # whose inverse is made
        return "left-out" if self.left_out_ is not None or (method == "conformal" and not few) else method

    def calibrate(self, y, predicted, std=None, fold=None):
        """Keep the errors on rows that were left out, for intervals; rows without a prediction are dropped.

        Parameters
        ----------
        y : array-like of shape (n,)
            Targets of rows that the fit had not seen.
        predicted : array-like of shape (n,)
            What it predicted for them; nan where nothing is known.
        std : array-like of shape (n,), default=None
            The deviations of the targets, noise included, that it stated beside.
        fold : array-like of shape (n,), default=None
            Which fold each row was left out with.
        """
        self.left_out_ = LeftOutErrors.of(self.estimator_, y, predicted, std, fold)
        return self

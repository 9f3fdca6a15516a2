"""What a fitted kernel machine says: numbers, labels, probabilities, and how good they are."""

from abc import abstractmethod

import numpy as np
from sklearn.utils.metaestimators import available_if

from mercer import uncertainty
from mercer._parameters import cached_property
from mercer.approximate.lam_path import left_out_decision, refuse_left_out
from mercer.estimators._fitting import Approximated
from mercer.estimators._protocol import over_partitions, predicts_numbers
from mercer.estimators._regressor import KernelRegressor
from mercer.losses import BY_NAME, Loss
from mercer.losses.classification import sigmoid
from mercer.selection.judging import RowsLeftOut, refit_left_out

CLOSE = "approximate leave-one-out at the kernel and λ of the fit"


def resolve(loss):
    """The loss itself, or the one of a name at its default parameters."""
    return loss if isinstance(loss, Loss) else BY_NAME[loss]()


def _classifies(self):
    """Whether the loss is one for labels; AttributeError, as for any missing method, where it is not."""
    if not resolve(self.loss).classification:
        raise AttributeError(f"{type(self).__name__}(loss={self.loss!r}) is a regressor: it has no classes.")
    return True


def _has_probabilities(self):
    """Whether the loss is a log-likelihood of labels."""
    if not resolve(self.loss).softmax:
        raise AttributeError(
            f"loss={self.loss!r} gives no probabilities; use loss='logistic', or sklearn.calibration around this model."
        )
    return True


class FittedMachine(Approximated, KernelRegressor):
    """f(x) = Σⱼ αⱼ k(x, xⱼ) + b of each column, read as the loss says: what prediction needs is declared here."""

    loss: Loss | str
    multi_class: str
    non_crossing: bool
    row_decision_: np.ndarray
    row_target_: np.ndarray
    loss_: Loss
    classes_: np.ndarray

    @property
    def leaves_out(self):
        """How good ``left_out()`` is: one Newton step without the row is close, the span rule is rough."""
        return "close" if all(part.smooth for part in resolve(self.loss).split()) else "rough"

    @property
    def quantile_levels_(self):
        """The levels of several quantiles, a column of ``predict`` for each; None for any other loss."""
        levels = self.loss_.levels if self.loss_.deviance == "pinball" else ()
        return np.asarray(levels, dtype=float) if len(levels) > 1 else None

    @cached_property
    def loo_decision_(self):
        """f₋ᵢ(xᵢ) of each row, of shape (n,) or (n, t), approximately: only the support vectors change anything."""
        self._check_fitted()
        Y = self._columns_of(self.row_target_)
        at, out = self.support_, self.row_decision_.copy()
        columns = self._columns(self.loss_, Y[at], self.row_weight_[at])
        refuse_left_out(columns)
        coef = self.dual_coef_.reshape(len(at), -1)
        found = [(coef[:, j], None, self.row_decision_[at, j]) for j in range(coef.shape[1])]
        K = columns.gram(self.kernel_, self.points_)
        decision = left_out_decision(self.kernel_, self.points_, K, columns, found, self.lam_)
        out[at] = np.where(coef == 0.0, out[at], decision)  # f is at its minimum without such a row too
        return out[:, 0] if out.shape[1] == 1 else out

    @abstractmethod
    def _columns(self, loss, Y, weight):
        """The problem of each column."""

    def _columns_of(self, y):
        """Targets as the loss reads them, of shape (n, t): numbers, or ±1 for labels."""
        if not self.loss_.classification:
            return y.reshape(len(y), -1)
        classes = self.classes_[1:] if len(self.classes_) == 2 else self.classes_
        return np.where(y[:, None] == classes, 1.0, -1.0)

    def _left_out_rows(self):
        if self.multi_class == "softmax" and self.loss_.classification and len(self.classes_) > 2:
            at = self.support_  # every row is a support vector of the softmax
            found = refit_left_out(self, self.points_, self.row_target_[at], self.row_weight_[at])
            label, proba = (
                np.full(len(self.row_target_), None, dtype=object),
                np.full((len(self.row_target_), found.proba.shape[1]), np.nan),
            )
            label[at], proba[at] = found.predicted, found.proba
            return RowsLeftOut(label, found.how, False, proba=proba)
        F = self.loo_decision_.reshape(len(self.row_decision_), -1)
        if not self.loss_.classification:
            return RowsLeftOut(self._read(F), CLOSE)
        known, label = np.isfinite(F).all(axis=1), np.full(len(F), None, dtype=object)
        label[known] = self._read(F[known])
        proba = self._probabilities(F) if self.loss_.softmax else None
        return RowsLeftOut(label, CLOSE, proba=proba, decision=F[:, 0] if F.shape[1] == 1 else F)

    @cached_property
    def loo_residuals_(self):
        """yᵢ minus its prediction without row i, of shape (n,) or (n, t): one column for each level of a quantile."""
        y, f = self.row_target_, self.left_out().predicted
        return (y[:, None] if f.ndim > y.ndim else y) - f

    @available_if(predicts_numbers)
    @over_partitions
    def predict_interval(self, X, coverage=0.9, *, method="left-out", calibration=None):
        """[f(x) − q, f(x) + q] as for any regressor; of several quantiles [lowest − q, highest + q].

        Of several quantiles q is that of max(lowest − y, y − highest) on rows left out (conformalised quantile
        regression): the interval is as wide as the quantiles are apart, and moved until it holds what it should.

        Parameters
        ----------
        X : array-like of shape (m, d), or a sequence of objects
        coverage : float, default=0.9
        method : {"left-out", "split"}, default="left-out"
            See `KernelEstimator.predict_interval`.
        calibration : (X, y), default=None
            Rows for "split".

        Returns
        -------
        ndarray of shape (m, 2) or (m, 2, t)

        Examples
        --------
        >>> import numpy as np
        >>> from mercer import KernelMachine
        >>> from mercer.losses import Quantile
        >>> X = np.linspace(0, 6, 60)[:, None]
        >>> y = np.sin(X[:, 0]) + 0.3 * np.cos(40 * X[:, 0])
        >>> KernelMachine(loss=Quantile([0.1, 0.9]), lam=0.1).fit(X, y).predict_interval(X[:3]).shape
        (3, 2)
        """
        self._check_fitted()
        if self.quantile_levels_ is None:
            return super().predict_interval(X, coverage, method=method, calibration=calibration)
        self._check_interval_method(method, ("left-out", "split"), calibration)
        if method == "split":
            residuals = np.asarray(calibration[1], dtype=float)[:, None] - self.predict(calibration[0])
        else:
            residuals = self.loo_residuals_[np.isfinite(self.loo_residuals_).all(axis=1)]
        beyond = np.maximum(-residuals.max(axis=1), residuals.min(axis=1))
        low = min(float(beyond.min(initial=0.0)), 0.0)  # so that the scores are sizes
        f = self.predict(X)
        reach = uncertainty.split((beyond - low)[:, None], np.zeros((1, 1)), coverage)[0, 1, 0] + low
        return np.column_stack([f.min(axis=1) - reach, f.max(axis=1) + reach])

    @over_partitions
    def predict(self, X):
        """f(x), its mean under the link of the loss (e^f for counts), or the class with the largest f.

        Parameters
        ----------
        X : array-like of shape (m, d), or a sequence of objects

        Returns
        -------
        ndarray of shape (m,) or (m, t)
            A column for each target or level; labels where the loss is one for labels.
        """
        return self._read(self._decision(X))

    def _read(self, F):
        """What decisions of shape (m, t) predict."""
        if self.loss_.classification:
            return self.classes_[np.argmax(F, axis=1) if F.shape[1] > 1 else (F[:, 0] > 0).astype(int)]
        F = self.loss_.mean(F)
        if self.non_crossing and len(self.loss_.levels) > 1:
            F = np.sort(F, axis=1)[:, np.argsort(np.argsort(self.loss_.levels, kind="stable"), kind="stable")]
        return self._shaped(F)

    @available_if(_classifies)
    @over_partitions
    def decision_function(self, X):
        """f(x): positive for the second of two classes; one column for each of three or more.

        Parameters
        ----------
        X : array-like of shape (m, d), or a sequence of objects

        Returns
        -------
        ndarray of shape (m,) or (m, n_classes)
        """
        F = self._decision(X)
        return F[:, 0] if F.shape[1] == 1 else F

    @available_if(_has_probabilities)
    @over_partitions
    def predict_proba(self, X):
        """p(class | x): 1/(1 + e^(−f)), for three or more classes brought to the sum 1, or the softmax of all f.

        Parameters
        ----------
        X : array-like of shape (m, d), or a sequence of objects

        Returns
        -------
        ndarray of shape (m, n_classes)
        """
        return self._probabilities(self._decision(X))

    def _probabilities(self, F):
        """Of the classes, for decisions of shape (m, t)."""
        if F.shape[1] == 1:
            return np.column_stack([sigmoid(-F[:, 0]), sigmoid(F[:, 0])])
        if self.multi_class == "softmax":
            P = np.exp(F - F.max(axis=1, keepdims=True))
        else:
            P = sigmoid(F)
        return P / P.sum(axis=1, keepdims=True)

    def score(self, X, y, sample_weight=None):
        """Accuracy for labels; else 1 − Σ L(y, f)/Σ L(y, constant), the part of the loss that is explained.

        L is the loss itself for quantiles, the absolute and the Poisson loss, and else the squared one (R²).

        Parameters
        ----------
        X : array-like of shape (m, d), or a sequence of objects
        y : array-like of shape (m,) or (m, t)
        sample_weight : array-like of shape (m,), default=None

        Returns
        -------
        float
        """
        return score(self.loss_, y, self.predict(X), sample_weight)


def score(loss, y, predicted, weight):
    """Accuracy, or the part explained of the quantile, absolute, Poisson or squared loss."""
    from sklearn.metrics import accuracy_score, d2_pinball_score, d2_tweedie_score, r2_score  # slow to import

    if loss.classification:
        return float(accuracy_score(y, predicted, sample_weight=weight))
    if loss.deviance == "poisson":
        return float(d2_tweedie_score(y, predicted, sample_weight=weight, power=1))
    if loss.deviance == "pinball":
        columns = np.asarray(predicted).T if len(loss.levels) > 1 else [predicted] * len(loss.levels)
        each = zip(loss.levels, columns, strict=True)
        return float(np.mean([d2_pinball_score(y, f, sample_weight=weight, alpha=level) for level, f in each]))
    return float(r2_score(y, predicted, sample_weight=weight))

"""What a fitted kernel machine says: numbers, labels, probabilities, and how good they are."""

import numpy as np
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from mercer.estimators._base import KernelEstimator
from mercer.estimators._validation import check_X
from mercer.gram import apply
from mercer.losses import BY_NAME, Loss
from mercer.losses.classification import sigmoid


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


class FittedMachine(KernelEstimator):
    """f(x) = Σⱼ αⱼ k(x, xⱼ) + b of each column, read as the loss says: what prediction needs is declared here."""

    loss: Loss | str
    multi_class: str
    non_crossing: bool
    loss_: Loss
    classes_: np.ndarray

    def _decision(self, X):
        """F of every column, of shape (m, t)."""
        check_is_fitted(self)
        X = self.kernel_.validate(check_X(self, X, reset=False, kernel=self.kernel_))
        coef = self.dual_coef_
        return apply(self.kernel_, X, self.points_, coef[:, None] if coef.ndim == 1 else coef) + self.intercept_

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
        F = self._decision(X)
        if self.loss_.classification:
            return self.classes_[np.argmax(F, axis=1) if F.shape[1] > 1 else (F[:, 0] > 0).astype(int)]
        F = self.loss_.mean(F)
        if self.non_crossing and len(self.loss_.levels) > 1:
            F = np.sort(F, axis=1)[:, np.argsort(np.argsort(self.loss_.levels, kind="stable"), kind="stable")]
        return F[:, 0] if self.dual_coef_.ndim == 1 else F

    @available_if(_classifies)
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
    def predict_proba(self, X):
        """p(class | x): 1/(1 + e^(−f)), for three or more classes brought to the sum 1, or the softmax of all f.

        Parameters
        ----------
        X : array-like of shape (m, d), or a sequence of objects

        Returns
        -------
        ndarray of shape (m, n_classes)
        """
        F = self._decision(X)
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

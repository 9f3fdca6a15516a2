"""scikit-learn's contract for KernelMachine: the common checks with no exclusion, for losses of both kinds."""

import pytest
from sklearn.utils.estimator_checks import parametrize_with_checks

from check_assertions import LEFT_OUT, assert_passes, assert_passes_named
from mercer import KernelMachine
from mercer.losses import Expectile, Quantile

QUICK = [
    KernelMachine(loss="huber", lam=1.0),
    KernelMachine(loss="logistic", lam=1.0),
    KernelMachine(loss="hinge", lam=1.0),
    KernelMachine(loss="epsilon_insensitive", lam=1.0),
    KernelMachine(loss="poisson", lam=1.0),
]
REST = [
    KernelMachine(lam=1.0),
    KernelMachine(loss="absolute", lam=0.1),
    KernelMachine(loss=Quantile(0.7), lam=0.1),
    KernelMachine(loss=Expectile(0.7), lam=0.1),
    KernelMachine(loss="squared_hinge", lam=1.0),
    KernelMachine(loss="logistic", multi_class="softmax", lam=1.0),
    KernelMachine(loss="squared_epsilon_insensitive", lam=1.0, trend=None),
    KernelMachine(loss="logistic", criterion=3, lam=[1.0, 0.1]),
]


@parametrize_with_checks(QUICK)
def test_common_checks(estimator, check):
    assert_passes(check, estimator)


@pytest.mark.slow
@parametrize_with_checks(REST)
def test_common_checks_of_the_other_losses(estimator, check):
    assert_passes(check, estimator)


@pytest.mark.parametrize("estimator", QUICK, ids=repr)
@pytest.mark.parametrize("name", LEFT_OUT)
def test_checks_that_check_estimator_leaves_out(estimator, name):
    assert_passes_named(name, estimator)

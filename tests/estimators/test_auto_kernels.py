"""kernel="auto" beside landmarks, data that are read and ν: kept, or refused in words."""

import warnings

import numpy as np
import pytest

from mercer import SVR, KernelMachine, KernelRidge, Landmarks
from mercer.sources import Arrays

X = np.linspace(0.0, 1.0, 60)[:, None]
y = np.sin(9 * X[:, 0]) + 0.1 * np.cos(70 * X[:, 0])


@pytest.mark.parametrize("make", [KernelRidge, KernelMachine])
def test_on_landmarks_the_leaderboard_and_the_words_are_kept(make):
    model = make("auto", approximation=Landmarks(20), time_budget=4.0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of the budget
        model.fit(X, y)
    assert model.plan_.landmarks and len(model.selection_.candidates) > 1
    assert "; chosen among " in model.selection_.message and "chosen among" in model.fit_report_["selection"]["message"]


@pytest.mark.parametrize("make", [KernelRidge, KernelMachine])
def test_data_that_are_read_have_no_search_and_it_is_said(make):
    with pytest.raises(ValueError, match=r"kernel=\"auto\" searches over arrays.* search_kernels on a sample"):
        make("auto").fit(Arrays(X, y[:, None]), None)


def test_nu_has_no_search_and_it_is_said():
    with pytest.raises(ValueError, match=r"kernel=\"auto\" chooses C for a given epsilon; with nu, give a kernel"):
        SVR("auto", nu=0.5).fit(X, y)

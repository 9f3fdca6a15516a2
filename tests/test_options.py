"""Options: named numbers that reach what they steer."""

from dataclasses import dataclass, fields, is_dataclass

import pytest

import mercer.options
from mercer import KernelRidge
from mercer._policies import Options, OptionSet
from mercer.kernels import Gaussian


@dataclass(frozen=True)
class _WalkOptions(Options):
    steps: int = 100


def test_what_is_given_and_what_is_not():
    given = OptionSet([_WalkOptions(steps=3)])
    assert given[_WalkOptions].steps == 3
    assert OptionSet()[_WalkOptions].steps == 100
    assert _WalkOptions(steps=3).changed() == {"steps": 3}


@pytest.mark.parametrize("options", [3, ["steps"], [_WalkOptions(), _WalkOptions()], {"steps": 3}])
def test_what_are_no_options_is_refused(options):
    with pytest.raises(ValueError, match="options"):
        KernelRidge(Gaussian(1.0), 0.1, options=options).fit([[0.0], [1.0]], [0.0, 1.0])


OURS = {name: kind for name, kind in mercer.options.kinds().items() if kind.__module__.startswith("mercer.")}


@pytest.mark.parametrize("kind", [pytest.param(kind, id=name) for name, kind in OURS.items()])
def test_every_kind_is_frozen_and_has_defaults(kind):
    assert is_dataclass(kind) and kind.__dataclass_params__.frozen
    assert kind() == kind() and not kind().changed() and fields(kind)
    assert getattr(mercer.options, kind.__name__) is kind

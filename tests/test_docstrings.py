"""What a user reads about a parameter says something: no public docstring leaves a name without a word."""

import inspect
import re
from importlib import import_module

MODULES = ("mercer", "mercer.kernels", "mercer.selection", "mercer.plots", "mercer.report", "mercer.tabular",
           "mercer.diagnostics", "mercer.losses", "mercer.sources", "mercer.priors")  # fmt: skip
ENTRY = re.compile(r"^ {4}([*A-Za-z_][\w*, ]*) : .+$|^ {4}([A-Za-z_]\w*)$")
SECTION = re.compile(r"^ {4}(Parameters|Attributes)$")
KNOWN = {  # what needs no words in a library of this kind: it is the same everywhere
    "X", "y", "X, y", "x", "Y", "Z", "X, Z", "kernel", "sample_weight", "random_state", "ax", "estimator", "model",
    "findings", "path", "found", "self", "loss", "rows", "n", "d", "lam", "source", "theta", "K", "data", "names",
    "rng", "seed", "force",
}  # fmt: skip


def public():
    """{name: object} of classes and functions, with the public methods and properties of the classes."""
    out = {}
    for module in MODULES:
        try:
            found = import_module(module)
        except ImportError:
            continue
        for name in getattr(found, "__all__", ()):
            one = getattr(found, name)
            if not (inspect.isclass(one) or inspect.isfunction(one)):
                continue
            out[f"{module}.{name}"] = one
            for base in one.__mro__ if inspect.isclass(one) else ():
                if base.__module__.startswith("mercer"):
                    out |= {f"{base.__module__}.{base.__name__}.{part}": member for part, member in vars(base).items()
                            if not part.startswith("_") and inspect.isfunction(member)}  # fmt: skip
    return out


def silent(text):
    """Names of a docstring's parameters and attributes whose description is empty, or no more than a letter."""
    lines = inspect.cleandoc(text).splitlines()
    lines = [f"    {line}" if line else line for line in lines]
    out, inside = [], False
    for i, line in enumerate(lines):
        if i + 1 < len(lines) and set(lines[i + 1].strip()) == {"-"}:
            inside = bool(SECTION.match(line))
            continue
        entry = ENTRY.match(line) if inside and set(line.strip()) != {"-"} else None
        if entry:
            told = lines[i + 1].strip() if i + 1 < len(lines) and lines[i + 1].startswith(" " * 8) else ""
            if len(told.rstrip(".")) < 3:
                out.append((entry[1] or entry[2]).strip())
    return out


def test_every_parameter_is_described():
    found = {
        name: [one for one in silent(member.__doc__ or "") if one not in KNOWN] for name, member in public().items()
    }
    assert {name: told for name, told in found.items() if told} == {}


def test_the_test_sees_what_is_missing():
    text = """What it does.

    Parameters
    ----------
    good : int
        How many there are.
    bare : int
    letter : float
        b.

    Returns
    -------
    found : int
    """
    assert silent(text) == ["bare", "letter"]

"""All classes of options: what steers searches, solvers and approximations, with its defaults.

>>> import mercer.options
>>> dir(mercer.options) == [*mercer.options.kinds()]
True
"""

from importlib import import_module

from mercer._policies import Options

PACKAGES = "approximate dual estimators.stacked files inference primal selection solvers sources".split()
PACKAGES += ["uncertainty.objections", "tabular.pages", "report", "cli.large"]  # all that is loaded late


def kinds():
    """{name: class} of all options."""
    for package in PACKAGES:
        import_module(f"mercer.{package}")
    return Options.kinds()


def __getattr__(name):
    found = {} if name.startswith("_") else kinds()
    if name in found:
        return found[name]
    raise AttributeError(f"module 'mercer.options' has no attribute {name!r}")


def __dir__():
    return [*kinds()]

"""The commands and their options, for typer. Each command imports its work when it runs."""

import inspect
import shlex
from types import SimpleNamespace

from mercer.cli._interrupt import interrupted

HELP = """Kernel methods for tables: fit a model, look at it, predict with it.

`mercer fit train.csv --target y -o model.mercer`, then `mercer predict model.mercer new.csv -o out.csv`.
Results go to standard output, everything else to standard error. Exit codes: 0 done, 1 failed, 2 wrong usage,
3 unusable data, 130 interrupted."""
FIT = """Fit a model to a table, and judge it.

Numbers are standardised, categories become indicators, unless the kernel reads a column as it is:

  mercer fit t.csv -t y -k 'Gaussian().on(["age", "dose"]) * Categorical().on("site") + Spectrum(3).on("sequence")'

Strings: Spectrum, Mismatch, Gappy, WeightedDegree, Subsequence, LocalAlignment. Molecules as SMILES (extra chem):
TanimotoOf(AtomEnvironments(2)). Graphs as JSON: WeisfeilerLehman, ShortestPath and others."""


def _fit(settings):
    from mercer.cli.fit import run

    return run(settings)


def _predict(settings):
    from mercer.cli.predict import run

    return run(settings)


def _compare(settings):
    from mercer.cli.compare import run

    return run(settings)


def _evaluate(settings):
    from mercer.cli.evaluate import run

    return run(settings)


def _inspect(settings):
    from mercer.cli.inspection import run

    return run(settings)


def _report(settings):
    from mercer.cli.inspection import run_report

    return run_report(settings)


def _plan(settings):
    from mercer.cli.plan import run

    return run(settings)


def _demo(settings):
    from mercer.cli._tables import check_free
    from mercer.demo import run

    if not settings.text:
        check_free(settings.output, "--output", settings.force)
    run(output=None if settings.text else settings.output)
    return 0


NEEDED = inspect.Parameter.empty  # an option without a default
READING = {"missing": None, "no_header": False, "separator": None, "decimal": None}
ROLES = {"ignore": None, "categorical": None, "numeric": None}
TALK = {"quiet": False, "debug": False}
COMMANDS = {  # name: (what does it, help, {option: default} in the order of --help)
    "fit": (_fit, FIT, {
        "data": NEEDED, "target": NEEDED, "model": "auto", "kernel": None, "fix_kernel": False, "criterion": "auto",
        "test": None, "output": None, "report": None, "card": None, "force": False, "time_budget": None,
        "memory": None, "max_rows": None, "seed": 0, "folds": 5, "no_score": False, **ROLES, **READING, "config": None,
        "dry_run": False, "json": False, "quiet": False, "no_progress": False, "debug": False}),
    "predict": (_predict, "Predict each row of a table, in its order.", {
        "model": NEEDED, "data": NEEDED, "output": "-", "interval": None, "std": False, "keep": None, **READING,
        "force": False, "config": None, **TALK}),
    "compare": (_compare, "Show which λ each rule chooses.", {
        "data": NEEDED, "target": NEEDED, "kernel": None, "plot": None, "seed": 0, "max_rows": None, **ROLES, **READING,
        "force": False, "config": None, "json": False, "quiet": False, "no_progress": False, "debug": False}),
    "evaluate": (_evaluate, "Judge a model by a table that has the target.", {
        "model": NEEDED, "data": NEEDED, **READING, "json": False, **TALK}),
    "inspect": (_inspect, "Say what a model file holds.", {"model": NEEDED, "json": False, **TALK}),
    "report": (_report, "Write the HTML page about a model file.", {
        "model": NEEDED, "output": None, "force": False, **TALK}),
    "plan": (_plan, "Say what a fit of so many rows would take.", {
        "rows": NEEDED, "features": "10", "memory": None, "json": False, "debug": False}),
    "demo": (_demo, "Fit the bundled stopping distances of cars.", {
        "output": "mercer_demo.png", "text": False, "force": False, "debug": False}),
}  # fmt: skip


def build(arguments=()):
    """Return the typer application; the arguments are kept as the command that makes a model."""
    import typer

    from mercer.cli._config import annotate
    from mercer.cli._options import options

    annotate()
    app = typer.Typer(
        name="mercer",
        help=HELP,
        rich_markup_mode=None,
        add_completion=False,
        pretty_exceptions_enable=False,
        context_settings={"help_option_names": ["-h", "--help"]},
    )
    command, known = shlex.join(["mercer", *arguments]), options()
    app.callback()(_top(typer))
    for name, (work, text, defaults) in COMMANDS.items():
        app.command(name, help=text)(_function(name, work, defaults, known, command))
    return app


def _function(name, work, defaults, known, command):
    """A function with the options of a command as its parameters, which is what typer reads."""

    def run(**given):
        settings = SimpleNamespace(**given, command=command, written=())
        with interrupted(settings):  # told apart from what typer makes of it
            return work(settings)

    keyword = inspect.Parameter.KEYWORD_ONLY
    kinds = {option: getattr(known, option) for option in defaults}
    if defaults.get("model") is NEEDED:
        kinds["model"] = known.file
    run.__signature__ = inspect.Signature(  # type: ignore[attr-defined]
        [inspect.Parameter(o, keyword, default=defaults[o], annotation=kinds[o]) for o in defaults]
    )
    run.__annotations__, run.__name__ = kinds, name
    return run


def _top(typer):
    """The options of mercer itself."""
    from typing import Annotated

    def show_version(value: bool):
        if value:
            import mercer

            print(f"mercer {mercer.__version__}")
            raise typer.Exit

    def top(version: Annotated[bool, typer.Option("--version", callback=show_version, is_eager=True)] = False):
        pass

    return top

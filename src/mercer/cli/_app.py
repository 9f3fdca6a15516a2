"""The commands and their options, for typer. Each command imports its work when it runs."""

# Annotations are values here: typer reads them when the functions are made.
# mypy: disable-error-code="name-defined, valid-type"

import shlex
from types import SimpleNamespace

from mercer.cli._errors import Interrupted

HELP = """Kernel methods for tables: fit a model, look at it, predict with it.

`mercer fit train.csv --target y -o model.mercer`, then `mercer predict model.mercer new.csv -o out.csv`.
Results go to standard output, everything else to standard error. Exit codes: 0 done, 1 failed, 2 wrong usage,
3 unusable data, 130 interrupted."""


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
    command = shlex.join(["mercer", *arguments])
    o = options()
    app.callback()(_top(typer))
    for register in (_fit, _predict, _compare, _evaluate, _about, _plan):
        register(app, o, command)
    return app


def _do(run, settings):
    """Run a command; Ctrl-C is told apart from what typer makes of it."""
    try:
        return run(settings)
    except KeyboardInterrupt:
        raise Interrupted from None


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


def _fit(app, o, command):
    @app.command()
    def fit(
        data: o.data,
        target: o.target,
        model: o.model = "auto",
        kernel: o.kernel = None,
        fix_kernel: o.fix_kernel = False,
        criterion: o.criterion = "auto",
        test: o.test = None,
        output: o.output = None,
        report: o.report = None,
        lite: o.lite = False,
        card: o.card = None,
        force: o.force = False,
        time_budget: o.time_budget = None,
        memory: o.memory = None,
        max_rows: o.max_rows = None,
        seed: o.seed = 0,
        folds: o.folds = 5,
        no_score: o.no_score = False,
        ignore: o.ignore = None,
        categorical: o.categorical = None,
        numeric: o.numeric = None,
        missing: o.missing = None,
        no_header: o.no_header = False,
        separator: o.separator = None,
        decimal: o.decimal = None,
        config: o.config = None,
        dry_run: o.dry_run = False,
        json: o.json = False,
        quiet: o.quiet = False,
        no_progress: o.no_progress = False,
        debug: o.debug = False,
    ):
        """Fit a model to a table, and judge it."""
        settings = SimpleNamespace(**{**locals(), "command": command})
        from mercer.cli.fit import run

        return _do(run, settings)


def _predict(app, o, command):
    @app.command()
    def predict(
        model: o.file,
        data: o.data,
        output: o.output = "-",
        interval: o.interval = None,
        std: o.std = False,
        keep: o.keep = None,
        missing: o.missing = None,
        no_header: o.no_header = False,
        separator: o.separator = None,
        decimal: o.decimal = None,
        force: o.force = False,
        config: o.config = None,
        quiet: o.quiet = False,
        debug: o.debug = False,
    ):
        """Predict each row of a table, in its order."""
        settings = SimpleNamespace(**{**locals(), "command": command})
        from mercer.cli.predict import run

        return _do(run, settings)


def _compare(app, o, command):
    @app.command()
    def compare(
        data: o.data,
        target: o.target,
        kernel: o.kernel = None,
        plot: o.plot = None,
        seed: o.seed = 0,
        max_rows: o.max_rows = None,
        ignore: o.ignore = None,
        categorical: o.categorical = None,
        numeric: o.numeric = None,
        missing: o.missing = None,
        no_header: o.no_header = False,
        separator: o.separator = None,
        decimal: o.decimal = None,
        force: o.force = False,
        config: o.config = None,
        json: o.json = False,
        quiet: o.quiet = False,
        no_progress: o.no_progress = False,
        debug: o.debug = False,
    ):
        """Show which λ each rule chooses."""
        settings = SimpleNamespace(**{**locals(), "command": command})
        from mercer.cli.compare import run

        return _do(run, settings)


def _evaluate(app, o, command):
    @app.command()
    def evaluate(
        model: o.file,
        data: o.data,
        missing: o.missing = None,
        no_header: o.no_header = False,
        separator: o.separator = None,
        decimal: o.decimal = None,
        json: o.json = False,
        quiet: o.quiet = False,
        debug: o.debug = False,
    ):
        """Judge a model by a table that has the target."""
        settings = SimpleNamespace(**{**locals(), "command": command})
        from mercer.cli.evaluate import run

        return _do(run, settings)


def _about(app, o, command):
    @app.command()
    def inspect(model: o.file, json: o.json = False, quiet: o.quiet = False, debug: o.debug = False):
        """Say what a model file holds."""
        settings = SimpleNamespace(**{**locals(), "command": command})
        from mercer.cli.inspection import run

        return _do(run, settings)

    @app.command()
    def report(
        model: o.file,
        output: o.output = None,
        lite: o.lite = False,
        force: o.force = False,
        quiet: o.quiet = False,
        debug: o.debug = False,
    ):
        """Write the HTML page about a model file."""
        settings = SimpleNamespace(**{**locals(), "command": command})
        from mercer.cli.inspection import run_report

        return _do(run_report, settings)


def _plan(app, o, command):
    @app.command()
    def plan(
        rows: o.rows, features: o.features = "10", memory: o.memory = None, json: o.json = False, debug: o.debug = False
    ):
        """Say what a fit of so many rows would take."""
        settings = SimpleNamespace(**{**locals(), "command": command})
        from mercer.cli.plan import run

        return _do(run, settings)

    @app.command()
    def demo(output: o.output = "mercer_demo.png", text: o.text = False, debug: o.debug = False):
        """Fit the bundled stopping distances of cars."""
        from mercer.demo import run

        run(output=None if text else output)
        return 0

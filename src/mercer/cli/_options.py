"""The options of the commands, each written once. Everything here runs before ``--help`` answers: nothing heavy."""

from types import SimpleNamespace
from typing import Annotated

MODELS = ("auto", "ridge", "gp", "svr", "huber", "poisson", "gpc", "logistic")
CRITERIA = ("auto", "loo", "gcv", "evidence", "lcurve", "discrepancy", "kfold")


def options():
    """Return the annotated types of all options, by name."""
    import typer

    from mercer.cli._config import apply_config

    def option(kind, names, text, **more):
        return Annotated[kind, typer.Option(*names.split(), help=text, **more)]

    def argument(text, name):
        return Annotated[str, typer.Argument(help=text, metavar=name)]

    several = list[str] | None
    return SimpleNamespace(
        data=argument("CSV (any usual dialect, gzipped or not) or Parquet; - is standard input.", "DATA"),
        file=argument("Model file that `mercer fit -o` has written.", "MODEL"),
        target=option(str, "--target -t", "Column to be predicted.", metavar="NAME"),
        model=option(str, "--model", f"{', '.join(MODELS)}. auto: ridge for numbers, gpc for text.", metavar="NAME"),
        kernel=option(str | None, "--kernel -k", "Kernel, such as \"2.0*Gaussian(1.0).on('age') + Linear()\" or "
                      "\"Spectrum(3).on('sequence')\". Length scales are in standard deviations of the columns.",
                      metavar="EXPRESSION"),
        fix_kernel=option(bool, "--fix-kernel", "Take the kernel as it is, and choose λ alone."),
        criterion=option(str, "--criterion", f"What chooses: {', '.join(CRITERIA)}.", metavar="NAME"),
        test=option(str | None, "--test", "Table to judge the model by, which the fit does not see.", metavar="FILE"),
        time_budget=option(str | None, "--time-budget", "Time for the whole command: 60s, 5m, 2h.", metavar="TIME"),
        memory=option(str | None, "--memory", "Memory the fit may use: 500MB, 8GB.", metavar="SIZE"),
        max_rows=option(str | None, "--max-rows", "Rows to fit on, at most, drawn at random.", metavar="N"),
        seed=option(int, "--seed", "Seed of folds and samples.", min=0, max=2**32 - 1),
        folds=option(int, "--folds", "Folds of the cross-validation that judges.", min=2),
        no_score=option(bool, "--no-score", "Do not judge the model by cross-validation."),
        output=option(str | None, "--output -o", "File to write.", metavar="FILE"),
        report=option(str | None, "--report", "HTML page about the model.", metavar="FILE"),
        card=option(str | None, "--card", "Model card: .md or .json.", metavar="FILE"),
        plot=option(str | None, "--plot", "Picture: .png, .svg or .pdf.", metavar="FILE"),
        json=option(bool, "--json", "One JSON object instead of text."),
        dry_run=option(bool, "--dry-run", "Say what would be done, and how long it would take; fit nothing."),
        force=option(bool, "--force", "Replace files that are there."),
        config=option(str | None, "--config", "TOML file with these options; what is on the command line wins.",
                      metavar="FILE", is_eager=True, callback=apply_config),
        ignore=option(several, "--ignore", "Column to leave out. May be repeated.", metavar="NAME"),
        categorical=option(several, "--categorical", "Column of categories. May be repeated.", metavar="NAME"),
        numeric=option(several, "--numeric", "Column of numbers, also if it looks like a row number. May be repeated.",
                       metavar="NAME"),
        missing=option(several, "--missing", "Another word for a missing value. May be repeated.", metavar="WORD"),
        no_header=option(bool, "--no-header", "The first line is data; columns are column_1, column_2, …"),
        separator=option(str | None, "--separator", "Separator of a CSV file; else it is found out.", metavar="CHAR"),
        decimal=option(str | None, "--decimal", "Decimal sign, . or , ; else it is found out.", metavar="CHAR"),
        interval=option(float | None, "--interval", "Add lower and upper ends of intervals with this coverage.",
                        metavar="COVERAGE"),
        std=option(bool, "--std", "Add the standard deviation of a new observation (Gaussian processes)."),
        keep=option(several, "--keep", "Column to pass through, such as an identifier. May be repeated.",
                    metavar="NAME"),
        rows=option(str, "--rows", "Rows: 500, 2e6.", metavar="N"),
        features=option(str, "--features", "Columns of numbers.", metavar="D"),
        text=option(bool, "--text", "Draw with letters, also where matplotlib is installed."),
        quiet=option(bool, "--quiet -q", "Only results and errors."),
        no_progress=option(bool, "--no-progress", "No progress bar."),
        debug=option(bool, "--debug", "Show where an error comes from."),
    )  # fmt: skip

"""The commands and their options, for argparse. Each command imports its work when it runs: nothing heavy is here."""

import argparse
import shlex
import time
from importlib import import_module

from mercer._policies import OptionSet
from mercer.cli import Usage, catch_interrupts

HELP = """Kernel methods for tables: fit a model, look at it, predict with it.

`mercer fit train.csv --target y -o model.mercer`, then `mercer predict model.mercer new.csv -o out.csv`.
`mercer fit @options.txt` takes options from a file, in which they stand as they are typed.
Results go to standard output, everything else to standard error. Exit codes: 0 done, 1 failed, 2 wrong usage,
3 unusable data, 130 interrupted."""
FIT = """Fit a model to a table, and judge it.

Numbers are standardised, categories become indicators, unless the kernel reads a column as it is:

  mercer fit t.csv -t y -k 'Gaussian().on(["age", "dose"]) * Categorical().on("site") + Spectrum(3).on("sequence")'

Strings: Spectrum, Mismatch, Gappy, WeightedDegree, Subsequence, LocalAlignment. Molecules as SMILES (extra chem):
TanimotoOf(AtomEnvironments(2)). Graphs as JSON: WeisfeilerLehman, ShortestPath and others."""
MODELS = ("auto", "ridge", "gp", "stack", "svr", "huber", "poisson", "gpc", "logistic")
TARGETS = ("auto", "none", "log", "yeo-johnson", "logit", "rank")
CRITERIA = ("auto", "loo", "gcv", "evidence", "lcurve", "discrepancy", "kfold")


def whole(low, high=2**32 - 1):
    """The type of a whole number between two."""

    def read(text):
        if not low <= int(text) <= high:
            raise argparse.ArgumentTypeError(f"{text} is not between {low} and {high}")
        return int(text)

    read.__name__ = "int"
    return read


def address(text):
    """The type of an address with a port."""
    if text and "://" not in text and not text.rpartition(":")[2].isdigit():
        raise argparse.ArgumentTypeError(f"{text} is no address such as tcp://host:8786; a table stands before --dask")
    return text


OPTIONS = {  # name: (flags, kind, metavar, help); kind bool is a switch, list may be repeated, address may be left away
    "data": ("", str, "DATA", "CSV (any usual dialect, gzipped or not), Parquet or .xlsx; - is standard input."),
    "file": ("", str, "MODEL", "Model file that `mercer fit -o` has written."),
    "target": ("--target -t", str, "NAME", "Column to be predicted."),
    "model": ("--model", str, "NAME", f"{', '.join(MODELS)}. stack is a mixture of the best kernels "
              "of a search. auto: for numbers stack up to 6,000 rows, else ridge (gp for a series); gpc for text and "
              "for two values."),
    "kernel": ("--kernel -k", str, "EXPRESSION", "Kernel, such as \"2.0*Gaussian(1.0).on('age') + Linear()\" or "
               "\"Spectrum(3).on('sequence')\". Length scales are in standard deviations of the columns. auto: what a "
               "search over expressions finds; the default for numbers up to 6,000 rows."),
    "quick": ("--quick", bool, None, "One kernel with its length scales, without a search over expressions."),
    "fix_kernel": ("--fix-kernel", bool, None, "Take the kernel as it is, and choose λ alone."),
    "criterion": ("--criterion", str, "NAME", f"What chooses: {', '.join(CRITERIA)}."),
    "test": ("--test", str, "FILE", "Table to judge the model by, which the fit does not see."),
    "time_budget": ("--time-budget", str, "TIME", "Time for the whole command: 60s, 5m, 2h."),
    "memory": ("--memory", str, "SIZE", "Memory the fit may use: 500MB, 8GB."),
    "dask": ("--dask", address, "ADDRESS", "Large tables: the workers of Dask at an address (tcp://host:8786) read and "
             "sum the rows; without one, processes of this machine."),
    "max_rows": ("--max-rows", str, "N", "Rows to fit on, at most, drawn at random."),
    "seed": ("--seed", whole(0), "N", "Seed of folds and samples."),
    "folds": ("--folds", whole(2), "N", "Folds of the cross-validation that judges."),
    "no_score": ("--no-score", bool, None, "Do not judge the model by cross-validation."),
    "output": ("--output -o", str, "FILE", "File to write."),
    "report": ("--report", str, "FILE", "HTML page about the model."),
    "plot": ("--plot", str, "FILE", "Picture: .png, .svg or .pdf."),
    "json": ("--json", bool, None, "One JSON object instead of text."),
    "dry_run": ("--dry-run", bool, None, "Say what would be done, and how long it would take; fit nothing."),
    "force": ("--force", bool, None, "Replace files that are there."),
    "id": ("--id", str, "NAME", "Column that names the rows: not an input, and shown beside them."),
    "group": ("--group", str, "NAME", "Column of groups, such as patients: not an input, and whole in one fold."),
    "time": ("--time", str, "NAME", "Column of time: rows are judged by those before them."),
    "forecast": ("--forecast", whole(1, 10**6), "N", "The next N rows of a series: what comes after the last "
                 "value of its column of time."),
    "target_transform": ("--target-transform", str, "WORD", f"Model of a function of the target: {', '.join(TARGETS)}; "
                         "auto takes the one with the best density of the target itself."),
    "ignore": ("--ignore", list, "NAME", "Column to leave out. May be repeated."),
    "categorical": ("--categorical", list, "NAME", "Column of categories; may be the target, and repeated."),
    "numeric": ("--numeric", list, "NAME", "Column of numbers, also if it looks like a row number; may be the target, "
                "of two values, and repeated."),
    "missing": ("--missing", list, "WORD", "Another word for a missing value. May be repeated."),
    "fill_down": ("--fill-down", list, "NAME", "Column of merged cells: an empty cell is what stands above it. May be "
                  "repeated."),
    "no_header": ("--no-header", bool, None, "The first line is data; columns are column_1, column_2, …"),
    "skip_lines": ("--skip-lines", whole(0), "N", "Lines above the header; else they are found out."),
    "sheet": ("--sheet", str, "NAME", "Sheet of an Excel file; else the first one."),
    "separator": ("--separator", str, "CHAR", "Separator of a CSV file; else it is found out."),
    "decimal": ("--decimal", str, "CHAR", "Decimal sign, . or , ; else it is found out."),
    "interval": ("--interval", float, "COVERAGE", "Add lower and upper ends of intervals with this coverage."),
    "std": ("--std", bool, None, "Add the standard deviation of a new observation (Gaussian processes)."),
    "keep": ("--keep", list, "NAME", "Column to pass through, such as an identifier. May be repeated."),
    "rows": ("--rows", str, "N", "Rows: 500, 2e6."),
    "features": ("--features", str, "D", "Columns of numbers."),
    "quiet": ("--quiet -q", bool, None, "Only results and errors."),
    "no_progress": ("--no-progress", bool, None, "No line of progress."),
    "debug": ("--debug", bool, None, "Show where an error comes from."),
}  # fmt: skip
NEEDED = object()  # an option without a default
READING = {"missing": None, "fill_down": None, "no_header": False, "skip_lines": None, "sheet": None, "separator": None,
           "decimal": None}  # fmt: skip
ROLES = {"ignore": None, "categorical": None, "numeric": None}
TALK = {"quiet": False, "debug": False}
COMMANDS = {  # name: (what does it, help, {option: default} in the order of --help)
    "fit": ("mercer.cli.fit:run_fit", FIT, {
        "data": NEEDED, "target": NEEDED, "model": "auto", "kernel": None, "quick": False, "fix_kernel": False,
        "criterion": "auto", "test": None, "output": None, "report": None, "force": False,
        "time_budget": None, "memory": None, "dask": None, "max_rows": None, "seed": 0, "folds": 5, "no_score": False,
        "id": None, "group": None, "time": None, "forecast": None, "target_transform": None, **ROLES,
        **READING, "dry_run": False, "json": False, "quiet": False, "no_progress": False,
        "debug": False}),
    "predict": ("mercer.cli.predict:run_predict", "Predict each row of a table, in its order.", {
        "model": NEEDED, "data": None, "forecast": None, "output": "-", "interval": None, "std": False, "keep": None,
        **READING,
        "force": False, **TALK}),
    "compare": ("mercer.cli.compare:run_compare", "Show which λ each rule chooses.", {
        "data": NEEDED, "target": NEEDED, "kernel": None, "plot": None, "seed": 0, "max_rows": None, **ROLES, **READING,
        "force": False, "json": False, "quiet": False, "no_progress": False, "debug": False}),
    "evaluate": ("mercer.cli.evaluate:run_evaluate", "Judge a model by a table that has the target.", {
        "model": NEEDED, "data": NEEDED, **READING, "json": False, **TALK}),
    "inspect": ("mercer.cli.inspection:run_inspect", "Say what a model file holds.", {
        "model": NEEDED, "json": False, **TALK}),
    "report": ("mercer.cli.inspection:run_report", "Write the HTML page about a model file.", {
        "model": NEEDED, "output": None, "force": False, **TALK}),
    "plan": ("mercer.cli.plan:run_plan", "Say what a fit of so many rows would take.", {
        "rows": NEEDED, "features": "10", "model": "ridge", "memory": None, "json": False, "debug": False}),
    "demo": ("mercer.cli.demo:run_demo", "Read a bundled table as a spreadsheet left it, fit, judge, write the page.", {
        "output": "mercer_demo.html", "force": False, "debug": False}),
}  # fmt: skip


class Parser(argparse.ArgumentParser):
    """A parser whose errors are ours, and that reads options from a file as a shell would."""

    def error(self, message):
        raise Usage(f"{message} ({self.prog} --help tells more)")

    def convert_arg_line_to_args(self, line):
        return shlex.split(line, comments=True)


def parser():
    """Return the parser of all commands."""
    import mercer

    options = {"formatter_class": argparse.RawDescriptionHelpFormatter, "allow_abbrev": False}
    top = Parser("mercer", description=HELP, fromfile_prefix_chars="@", **options)
    top.add_argument("--version", action="version", version=f"mercer {mercer.__version__}")
    each = top.add_subparsers(dest="work", metavar="COMMAND", required=True, parser_class=Parser)
    for name, (_, text, defaults) in COMMANDS.items():
        one = each.add_parser(name, help=text.split("\n")[0], description=text, **options)
        for option, default in defaults.items():
            _add(one, option, default)
    return top


def _add(one, option, default):
    """Add an option to the parser of a command."""
    flags, kind, metavar, text = OPTIONS["file" if option == "model" and default is NEEDED else option]
    more = {"help": text.replace("%", "%%")}
    if not flags:
        one.add_argument(option, metavar=metavar, **more, **({} if default is NEEDED else {"nargs": "?"}))
        return
    more |= {"required": True} if default is NEEDED else {"default": default}
    kinds = {
        bool: {"action": "store_true"}, list: {"action": "append", "metavar": metavar},
        address: {"type": address, "nargs": "?", "const": "", "metavar": metavar},
    }  # fmt: skip
    one.add_argument(*flags.split(), dest=option, **kinds.get(kind, {"type": kind, "metavar": metavar}), **more)


def run_command(arguments, options=()):
    """Run the command of the arguments, by `JobOptions` and others; return its exit code."""
    began = time.perf_counter()  # what is loaded next is part of the time of a command
    settings = parser().parse_args(arguments)
    settings.began, settings.options = began, OptionSet(options)
    settings.command, settings.written = shlex.join(["mercer", *arguments]), ()
    module, _, function = COMMANDS[settings.work][0].partition(":")
    with catch_interrupts(settings):
        return getattr(import_module(module), function)(settings)

"""What `mercer fit` prints."""

import re

from mercer.cli._session import figures, table
from mercer.cli.evaluate import words
from mercer.kernels.words import without_ranks
from mercer.tabular.cells import count

MOST = 12  # columns that are listed
SHOWN = 6  # kernels of a leaderboard


def announcement(job):
    """One line on what begins."""
    folds = f", judged by {job.folds} folds" if job.folds else ""
    return f"{job.title} on {count(job.plan.n, 'row')} and {_columns_in_words(job.recipe)}{folds} …"


def _columns_in_words(recipe):
    """What the model reads: columns of numbers, and others."""
    objects = len(recipe.object_names)
    numbers = len(recipe.feature_names_) - objects
    parts = [count(numbers, "column") + " of numbers"] if numbers or not objects else []
    parts += [count(objects, "column") + (" as it is" if objects == 1 else " as they are")] if objects else []
    return " and ".join(parts)


def dry_run(job):
    """The plan of a fit, as text."""
    recipe = job.recipe
    lines = [
        f"{job.title}, chosen by {job.criterion}",
        f"rows      {job.rows:,}, of which {job.target_rows:,} have a target",
        f"columns   {len(recipe.used)} used, {len(recipe.ignored_)} left out; {_columns_in_words(recipe)}",
        f"judged    {_judging(job)}",
        "one fit at given hyper-parameters:",
        *(f"  {line}" for line in str(job.plan).splitlines()),
        f"searches  {job.folds + 1}, {_searches(job)}",
        *(f"- {note}" for note in [*job.notes, *recipe.notes_]),
    ]
    return "\n".join(lines)


def _judging(job):
    """What the score will come from."""
    if job.held:
        return f"about {job.held:,} rows, which are held out of the fit"
    return f"nested cross-validation, {job.folds} folds" if job.folds else "no"


def _searches(job):
    """What each search is."""
    if job.searched is None:
        return f"with some 50 evaluations each, on at most {job.search_rows:,} rows"
    first, others = job.searched
    folds = f", in the folds {others:.3g} s together" if job.folds else ""
    return f"over kernel expressions, for at most {first:.3g} s{folds}"


def page(result, repairs=()):
    """The whole result, as text, without notes that were printed when the table was read."""
    parts = [_data_text(result), _model(result)]
    if result.get("verdict"):
        found = [f"{one['severity']} {one['code']}: {one['text']}\n    → {one['remedy']}" for one in result["checks"]]
        last = [] if found else result["verdict"][-1:]
        parts.append("Verdict\n  " + "\n  ".join([*result["verdict"][:-1], *last, *found]))
    if result["score"]:
        parts.append(_score_text(result["score"]))
    if result["test"]:
        parts.append("Test\n  " + words(result["test"], "test table").replace("\n", "\n  "))
    if result.get("forecast"):
        parts.append(_forecast(result["forecast"]))
    notes = [note for note in result["notes"] if note not in repairs]
    if notes:
        parts.append("Notes\n" + "\n".join(f"  - {note}" for note in notes))
    written = [f"{what} in {path}" for what, path in result["files"].items() if path]
    parts.append("Written: " + ", ".join(written) + "." if written else "Not saved: -o model.mercer keeps the model.")
    return "\n\n".join(parts)


def _forecast(found):
    """The rows that come next, with intervals."""
    rows = list(zip(*found.values(), strict=True))
    lines = [tuple(f"{v:.10g}" if isinstance(v, int | float) else str(v) for v in row) for row in rows[:MOST]]
    if len(rows) > MOST:
        lines.append((f"… {len(rows) - MOST:,} more with --json",) + ("",) * 3)
    return f"Forecast  with intervals of 90 %\n{table([tuple(found), *lines])}"


def _data_text(result):
    data = result["data"]
    used = "" if data["used_rows"] == data["rows"] else f" ({data['used_rows']:,} used)"
    lines = [f"Data      {data['file']}: {data['rows']:,} rows{used}, target {data['target']}"]
    rows = [(f"  {column['name']}", _role(column)) for column in data["columns"][:MOST]]
    width = max(len(row[0]) for row in rows)
    lines += [f"{name:{width}}  {role}" for name, role in rows]
    if len(data["columns"]) > MOST:
        lines.append(f"  … and {len(data['columns']) - MOST} more columns")
    return "\n".join(lines)


def _role(column):
    """What was made of a column."""
    if column["role"] == "object":
        return f"{_as_it_is(column)}, {column['missing']} missing" if column["missing"] else _as_it_is(column)
    if column["role"] == "categorical":
        many = len(column["levels"])
        return f"categorical, {many} levels as {'one column of 0 and 1' if many == 2 else 'indicators (one-hot)'}"
    kinds = {
        "number": "numeric",
        "boolean": "truth values as 0 and 1",
        "date": "dates as days",
        "time": "times as hours",
    }
    words = kinds[column["kind"]] + ("" if column["kind"] == "boolean" else ", standardised")
    return f"{words}, {column['missing']} missing" if column["missing"] else words


def _as_it_is(column):
    """What a kernel reads of a column that stays as it is."""
    if column["kind"] == "string":
        return f"text as it is, {column['shortest']} to {column['longest']} letters"
    if column["kind"] == "category":
        many = "more than 10,000" if column["levels"] is None else len(column["levels"])
        return f"categories as they are, {many} of them"
    return {"number": "numbers as they are", "graph": "graphs"}[column["kind"]]


def _model(result):
    model = result["model"]
    lines = [f"Model     {model['title']}", f"  kernel  {_short(model['kernel'])}"]
    if model["lam"] is not None:
        lines.append(f"  λ       {model['lam']:.4g}")
    if "target" in model["fit_report"]:
        word, tried = model["fit_report"]["target"], len(model["fit_report"]["targets tried"])
        word = {"none": "as it is", "rank": "by its rank"}.get(word, word)
        lines.append(f"  target  {word}" + (f", by left-out densities the best of {tried}" if tried > 1 else ""))
    chosen = model["selection"]
    if chosen:
        status = "" if chosen["status"] == "ok" else f"; {chosen['status'].replace('_', ' ')}"
        how = f"{chosen['evaluations']} evaluations" if chosen["evaluations"] else "all λ from one factorisation"
        lines.append(f"  by      {chosen['criterion']}, {how}{status}")
    if model["candidates"]:
        lines += [f"  {line}" for line in _leaderboard(model["candidates"], model["kernel"])]
    if model["importance"]:
        lines.append("  what matters: how far predictions move when a column is shuffled, in their standard deviations")
        rows = [(name, f"{rise:.3g}") for name, rise in model["importance"][:MOST]]
        lines += ["  " + line for line in table(rows).splitlines()]
    return "\n".join(lines)


def _leaderboard(listed, kernel):
    """What a search found: the kernel in words, what is mixed with it, and the leaderboard."""
    mixed: dict[str, list] = {}  # several kernels may say the same of the function
    for one in listed:
        if one["weight"]:
            mixed.setdefault(_plainly(one), []).append(one["weight"])
    many = sum(map(len, mixed.values()))
    own = next((one for one in listed if one["kernel"] == kernel), None)
    lines = []
    if own is None:
        lines.append(f"the best of the search alone is {_plainly(listed[0])}")
    elif many > 1:
        lines.append(f"that is {_plainly(own)}, the heaviest of {many} kernels")
    else:
        lines.append(f"that is {_plainly(own)}")
    if many > 1:
        lines.append("mixed, by how well they foresee rows that they have not seen")
        each = sorted(((sum(weights), len(weights), said) for said, weights in mixed.items()), reverse=True)
        lines += [f"{100 * w:4.0f} %  {said}{f' ({k} kernels)' if k > 1 else ''}" for w, k, said in each]
    lines.append("best of the search, and by how many nats the others are behind it")
    behind: dict[str, float] = {}
    for one in listed:  # the same expression may be there with other numbers
        behind[one["name"]] = min(one["behind"], behind.get(one["name"], one["behind"]))
    best = sorted(behind.items(), key=lambda pair: pair[1])[:SHOWN]
    return [*lines, *(f"{nats:6.2f}  {name}" for name, nats in best)]


def _plainly(one):
    """A kernel in words; importance ranks columns, below."""
    return without_ranks(one["words"])


def _short(kernel):
    """The expression with four digits for each number."""
    return re.sub(r"\d+\.\d{4,}(e[+-]?\d+)?", lambda number: f"{float(number[0]):.4g}", kernel)


def _score_text(score):
    """The table of scores next to the simple models."""
    name = {"r2": "R²"}.get(score["scoring"], score["scoring"])
    has = "rmse" in score
    rows = [("", f"{name:^15}", *(("RMSE", "MAE") if has else ()))]
    this = {**score, "name": "this model", "error": score["standard_error"]}
    for one in [this, *score["baselines"]]:
        numbers = (figures(one["rmse"]), figures(one["mae"])) if has else ()
        error = f" ± {one['error']:.3f}" if len(one["scores"]) > 1 else ""
        rows.append((one["name"], f"{one['score']:.3f}{error}", *numbers))
    lines = [f"Score     {score['how']}: chosen and judged on different rows", table(rows)]
    if (score["optimism"] or 0.0) >= 0.0005:
        lines.append(f"  Judged by the rows it was chosen on it would seem {score['optimism']:+.3f} better.")
    best = max(score["baselines"], key=lambda one: one["score"], default=None)
    if best is None:  # the time budget ended before one of them
        return "\n".join(lines)
    if best["score"] >= score["score"] + 0.0005:
        lines.append(f"  Another model is better: {best['name']}, {best['score']:.3f} against {score['score']:.3f}.")
    elif has and best["rmse"] > score["rmse"] > 0:
        less = f"{100 * (1 - score['rmse'] / best['rmse']):.0f} %"
        lines.append(f"  Its RMSE is {less} below that of the best of the others, {best['name']}.")
    return "\n".join(lines)

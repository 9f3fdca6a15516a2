"""What a recipe keeps of a column, and the transformers of scikit-learn that make numbers of it."""

from collections import Counter

import numpy as np
from sklearn.compose import ColumnTransformer
from sklearn.impute import MissingIndicator, SimpleImputer
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import OneHotEncoder, OrdinalEncoder, StandardScaler

from mercer.tabular.cells import count, quote, suggest
from mercer.tabular.columns import GONE, OTHER, as_floats, as_texts, is_text, kind_of
from mercer.tabular.spelling import describe_spellings, match_spellings, unify_spelling

NUMERIC, CATEGORICAL = "numeric", "categorical"


def transformer_of(columns):
    """The transformer of what is kept of some columns; all that it learns of rows are means, deviations and medians.

    A category that is none of the levels has no indicator, and is a half where one column stands for two levels.
    """

    def median():
        return SimpleImputer(strategy="median", keep_empty_features=True)

    standard = Pipeline([("standard", StandardScaler()), ("fill", median())])
    groups = group_columns(columns)
    pairs, many = ([kept["levels"] for kept in groups[entry]] for entry in ("pairs", "levels"))
    code = OrdinalEncoder(categories=pairs, handle_unknown="use_encoded_value", unknown_value=np.nan)
    made = {
        "numbers": standard,
        "truths": median(),
        "missing": MissingIndicator(features="all"),
        "pairs": Pipeline([("code", code), ("unknown", SimpleImputer(strategy="constant", fill_value=0.5))]),
        "levels": OneHotEncoder(categories=many, handle_unknown="ignore", sparse_output=False),
    }
    entries = [(entry, made[entry], [kept["name"] for kept in some]) for entry, some in groups.items() if some]
    return ColumnTransformer(entries, sparse_threshold=0.0)


def group_columns(columns):
    """{entry of the transformer: what is kept of the columns that it reads}."""
    numeric = [kept for kept in columns if kept["role"] == NUMERIC]
    sorts = [kept for kept in columns if kept["role"] == CATEGORICAL]
    return {
        "numbers": [kept for kept in numeric if kept["kind"] != "boolean"],
        "truths": [kept for kept in numeric if kept["kind"] == "boolean"],
        "missing": [kept for kept in numeric if kept["marked"]],
        "pairs": [kept for kept in sorts if len(kept["levels"]) == 2],
        "levels": [kept for kept in sorts if len(kept["levels"]) != 2],
    }


def places_of(columns, blocks):
    """Where the columns that the transformer returns stand in X."""
    groups = group_columns(columns)
    first = [blocks[kept["name"]][0] for entry in ("numbers", "truths") for kept in groups[entry]]
    marks = [blocks[kept["name"]][1] for kept in groups["missing"]]
    return first + marks + [i for entry in ("pairs", "levels") for kept in groups[entry] for i in blocks[kept["name"]]]


def plain_of(frame, columns, said, silent=()):
    """The columns as floats and texts, which the transformer reads; what is odd is said, but for the silent ones."""
    import polars as pl

    made = []
    for kept in columns:
        words = [] if kept["name"] in silent else said
        if kept["role"] == CATEGORICAL:
            made.append(pl.Series(kept["name"], levels_in(frame[kept["name"]], kept, words), dtype=pl.String))
        else:
            values = as_floats(frame[kept["name"]], kept["kind"], kept["origin"], kept.get("style"))
            if kept.get("sentinels"):
                values = np.where(np.isin(values, [value for value, _ in kept["sentinels"]]), np.nan, values)
            words += check_numbers(values, kept) if "centre" in kept else []
            made.append(pl.Series(kept["name"], values))
    return pl.DataFrame(made)


def fit_transformer(plain, columns):
    """(transformer, what is kept of the columns): fitted on plain columns, of which some may have no value at all."""
    import polars as pl

    empty = [kept["name"] for kept in columns if kept["role"] == NUMERIC and plain[kept["name"]].is_nan().all()]
    plain = plain.with_columns(pl.lit(0.0).alias(name) for name in empty)
    transformer, found = transformer_of(columns).fit(plain), {}
    for kept, scaler, imputer, i in _learners(transformer, columns):
        column = plain[kept["name"]].fill_nan(None)
        found[kept["name"]] = {
            "fill": float(imputer.statistics_[i]),
            "centre": 0.0 if scaler is None else float(scaler.mean_[i]),
            "scale": 1.0 if scaler is None else float(scaler.scale_[i]),
            "missing": column.null_count() if kept["name"] not in empty else plain.height,
            "low": column.min(),
            "high": column.max(),
        }
    return transformer, [kept | found.get(kept["name"], {}) for kept in columns]


def restore_transformer(columns):
    """The fitted transformer, of what is kept of the columns alone."""
    import polars as pl

    row = {kept["name"]: [0.0 if kept["role"] == NUMERIC else kept["levels"][0]] for kept in columns}
    transformer = transformer_of(columns).fit(pl.DataFrame(row))
    for kept, scaler, imputer, i in _learners(transformer, columns):
        imputer.statistics_[i] = kept["fill"]
        if scaler is not None:
            scaler.mean_[i], scaler.scale_[i], scaler.var_[i] = kept["centre"], kept["scale"], kept["scale"] ** 2
    return transformer


def _learners(transformer, columns):
    """(what is kept, scaler or None, imputer, its number in them) of each column of numbers."""
    parts, groups = transformer.named_transformers_, group_columns(columns)
    for i, kept in enumerate(groups["numbers"]):
        yield kept, parts["numbers"]["standard"], parts["numbers"]["fill"], i
    for i, kept in enumerate(groups["truths"]):
        yield kept, None, parts["truths"], i


def levels_in(column, kept, said):
    """The category of each row: of those that were pooled, and of new ones where some were, "(other)"."""
    texts = [GONE if text is None else text for text in as_texts(column)]
    pooled = set(kept["pooled"])
    known = pooled.union(kept["levels"])
    same = match_spellings({*texts}, known)
    if same:
        counts = Counter(texts)
        said.append(describe_spellings(kept["name"], same, counts))
        texts = [same.get(text, text) for text in texts]
    unseen = [text for text in texts if text not in known]
    said += check_levels(sorted(set(unseen)), len(unseen), kept)
    if not pooled:
        return texts
    return [text if text in known and text not in pooled else OTHER for text in texts]


def check_numbers(values, kept):
    """Whether a column has missing values where the fit had none, looks like another unit, or goes beyond its range."""
    name, gone = kept["name"], np.isnan(values)
    said, values = [], values[~gone]
    if gone.any() and not kept["marked"]:
        said.append(
            f"column {name!r}: {count(int(gone.sum()), 'missing value')} filled with the median of the fit, which had "
            "none."
        )
    if not len(values) or kept["kind"] == "boolean":
        return said
    if len(values) >= 10:  # of fewer, a shift of the whole column says little
        middle, sd = float(np.median(values)), kept["scale"]
        if abs(middle - kept["centre"]) > 5 * sd or float(values.std()) > 20 * sd:
            days = " days" if kept["kind"] == "date" else ""
            said.append(
                f"column {name!r} is on another scale than in the fit: median {format_value(middle, kept)} (fit: mean "
                f"{format_value(kept['centre'], kept)}, sd {sd:.3g}{days}). Is it in another unit?"
            )
            return said
    room = 0.1 * (kept["high"] - kept["low"])
    outside = int(((values < kept["low"] - room) | (values > kept["high"] + room)).sum())
    if outside:
        said.append(
            f"column {name!r}: {count(outside, 'row')} of {len(values):,} outside the range of the fit, "
            f"{format_value(kept['low'], kept)} to {format_value(kept['high'], kept)}; predictions there extrapolate."
        )
    return said


def format_value(value, kept, digits=4):
    """A value of a column in its own words: a date, or a number with so many digits."""
    if kept["kind"] == "date":
        return str(np.datetime64(int(np.floor(value + kept["origin"])), "D"))
    return f"{value:.{digits}g}"


def check_levels(unseen, rows, kept):
    """Which categories are new, in how many rows, and what becomes of them."""
    if not unseen:
        return []
    fate = "they count as (other)." if kept["pooled"] else "they are equally far from all known ones."
    return [
        f"column {kept['name']!r}: {count(rows, 'row')} with categories that the fit has not seen "
        f"({quote(unseen, 4)}); {fate}{_near(unseen, kept['levels'])}"
    ]


def _near(unseen, levels):
    """What the first new category may have been meant to be, as a sentence."""
    end = suggest(unseen[0], [level for level in levels if level not in (GONE, OTHER)])
    return "" if end == "." else f" D{end.removeprefix('; d')}"


def describe_numbers(column, notes, style=None, sentinels=()):
    """What a column of numbers is; ``style`` is how its dates were written, ``sentinels`` stand for missing values."""
    name, kind = column.name, "number" if is_text(column) else kind_of(column)
    kept = {"name": name, "role": NUMERIC, "kind": kind, "origin": 0.0} | ({"style": style} if style else {})
    values = as_floats(column, kind, 0.0, style)
    missing = int(np.isnan(values).sum())
    if missing:
        notes.append(f"column {name!r}: {count(missing, 'missing value')} filled with the median, and marked.")
    if kind == "date":
        kept["origin"] = float(np.floor(np.nanmin(values)))
        notes.append(f"column {name!r}: dates are days after {np.datetime64(int(kept['origin']), 'D')}.")
    if kind == "time":
        notes.append(f"column {name!r}: times are hours.")
    return kept | {"marked": missing > 0} | ({"sentinels": [*sentinels]} if sentinels else {})


def describe_categories(column, most, notes):
    """What a column of categories is: at most so many levels."""
    name, texts = column.name, unify_spelling(as_texts(column), column.name, notes)
    missing = texts.count(None)
    found = OneHotEncoder(max_categories=most, handle_unknown="infrequent_if_exist")
    found.fit(np.array([[GONE if text is None else text] for text in texts], dtype=object))
    every, rare = found.categories_[0], found.infrequent_categories_[0]
    pooled = [] if rare is None else rare.tolist()
    levels = [level for level in every.tolist() if level not in set(pooled)] + ([OTHER] if pooled else [])
    if missing:
        notes.append(f"column {name!r}: {count(missing, 'missing value')} as a category of their own.")
    if pooled:
        notes.append(f"column {name!r}: the {len(pooled):,} rarest of its {len(every):,} categories are one, {OTHER}.")
    kept = {"levels": levels, "pooled": pooled, "missing": missing, "text": is_text(column)}
    return {"name": name, "role": CATEGORICAL, **kept}


def features_of(columns, objects):
    """(names of the columns of X, {column: numbers of those that came from it}); objects are told their name."""
    names, blocks, taken = [], {}, set()

    def add(name, end):
        while name in taken:  # "a (missing)" may be a column of the table, too
            name += end
        taken.add(name)
        names.append(name)
        return name

    for column in columns:
        start = len(names)
        for feature in _features(column):
            add(feature, " (2)")
        blocks[column["name"]] = list(range(start, len(names)))
    for kept in objects:  # a column may be there twice, as numbers and as it is
        kept["feature"] = add(kept["name"], " (as it is)")
    return names, blocks


def _features(column):
    """Names of the columns of X that a column of the table becomes."""
    name = column["name"]
    if column["role"] == "numeric":
        return [name, f"{name} (missing)"] if column["marked"] else [name]
    if len(column["levels"]) == 2:
        return [f"{name} = {column['levels'][1]}"]
    return [f"{name} = {level}" for level in column["levels"]]

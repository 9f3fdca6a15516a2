"""What a kernel reads of a table: which columns, and as what; and the kernel on the columns that a recipe makes."""

from mercer.exceptions import DataError
from mercer.kernels.visit import chosen_names, readers
from mercer.tabular.cells import quote, suggest
from mercer.tabular.columns import is_text

STRING, CATEGORY, NUMBER, GRAPH = "string", "category", "number", "graph"
STRONGER = (GRAPH, NUMBER, STRING, CATEGORY)  # of two kernels on one column, whose reading both can have
HOLDS = (
    "a column holds numbers, categories (Categorical, Ordinal), counts (Tanimoto, MinMax), strings (Spectrum, "
    "Mismatch, Gappy, WeightedDegree, Subsequence, LocalAlignment), SMILES (AtomEnvironments, also in TanimotoOf) or "
    "graphs as JSON (WeisfeilerLehman, ShortestPath, VertexHistogram, EdgeHistogram, RandomWalk)"
)


def objects_of(kernel):
    """{column: kind} of the columns that a kernel reads as they are: "string", "category", "number" or "graph".

    Columns that are read by kernels on vectors are not among them: a recipe makes numbers of these.

    Parameters
    ----------
    kernel : Kernel
        Whose parts name columns of a table.

    Returns
    -------
    dict
        What ``Recipe.fit`` takes as ``objects``.

    Examples
    --------
    >>> from mercer.kernels import Categorical, Gaussian, Spectrum
    >>> from mercer.tabular import objects_of
    >>> objects_of(Gaussian().on("age") * Categorical().on("site") + Spectrum(3).on("sequence"))
    {'site': 'category', 'sequence': 'string'}
    """
    found = {}
    for part, names in _on_columns(kernel):
        if part.domain == "vectors":
            continue
        kinds = {_kind(leaf) for leaf in readers(part)}
        if None in kinds:
            raise DataError(
                f"{part!r} mixes kernels on vectors and on objects on the columns {quote(names)}; give each its own "
                "columns: Gaussian().on('age') + Spectrum(3).on('sequence')."
            )
        kind = min(kinds, key=STRONGER.index)
        if len(names) > 1 and kind in (STRING, GRAPH):
            first, second = (f"{part!r}.on({name!r})" for name in names[:2])
            raise DataError(f"{part!r} reads one column, not {quote(names)}; write {first} + {second}.")
        for name in names:
            both = {kind, found.get(name, kind)}
            if GRAPH in both and len(both) > 1:
                raise DataError(f"the kernel reads column {name!r} as graphs and as something else.")
            found[name] = min(both, key=STRONGER.index)
    return found


def check_reads(kernel, frame, target=None):
    """Refuse a kernel on objects that names no column, or one that is not there or is the target."""
    names = [name for name in frame.columns if name != target]
    for name in objects_of(kernel):
        check_column(name, names, target)
    if target in kernel.named_columns():
        check_column(target, names, target)
    for leaf in readers(kernel, lambda part: not chosen_names(part)):
        if leaf.domain == "objects" and _kind(leaf) in (STRING, GRAPH):
            texts = [name for name in names if is_text(frame[name])]
            _say_how(leaf, sorted(texts, key=lambda name: -frame[name].n_unique()))


def check_column(name, names, target=None):
    """Refuse a name of a kernel that is no column."""
    if name == target is not None:
        raise DataError(f"the kernel reads column {name!r}, which is the target.")
    if name not in names:
        raise DataError(
            f"the kernel reads column {name!r}, which is not there{suggest(name, names)} There are {quote(names)}."
        )


def _say_how(leaf, texts):
    """DataError that says how to write a kernel on objects."""
    name = texts[0] if texts else "COLUMN"
    end = "" if texts else " (there is no column of text here)"
    what = "graphs" if _kind(leaf) == GRAPH else "text" if _kind(leaf) == STRING else "values"
    raise DataError(
        f"{type(leaf).__name__} reads one column of {what}, and must name it: write {leaf!r}.on({name!r}){end}."
    )


# ------------------------------------------------------------------------------------------ walking through kernels
def _on_columns(kernel):
    """(part, names) of each part of a kernel that reads columns by name, the innermost where names are in names."""
    parts = [part for _, part in kernel.named_parts()]
    inside = [part for part in parts if part.named_columns()]
    if chosen_names(kernel) and not inside:
        yield parts[0], kernel.named_columns()
    for part in inside if kernel.named_columns() else ():
        yield from _on_columns(part)


def _kind(leaf):
    """How a kernel reads a column; None for kernels on vectors, DataError for objects that no column holds."""
    if leaf.domain == "vectors":
        return None
    if leaf.reads in STRONGER:
        return leaf.reads
    raise DataError(f"{type(leaf).__name__} reads objects that a table cannot hold: {HOLDS}.")


# ------------------------------------------------------------------------------------------ on the columns of a recipe
def place_kernel(kernel, recipe):
    """The kernel with columns of the table, ``.on("age")``, as columns of X: by number, or by name in a `Table`.

    Parameters
    ----------
    kernel : Kernel
    recipe : Recipe
        Fitted; of a kernel that reads objects, with them: ``Recipe().fit(frame, objects={"sequence": "string"})``.

    Returns
    -------
    Kernel

    Examples
    --------
    >>> import polars as pl
    >>> from mercer.kernels import Gaussian, Linear
    >>> from mercer.tabular import Recipe, place_kernel
    >>> recipe = Recipe().fit(pl.DataFrame({"a": [1.0, 2.0, 4.0], "b": ["x", "y", "x"]}))
    >>> place_kernel(Gaussian().on("a") + Linear().on(["b", "a"]), recipe)
    Gaussian(1.0).on([0]) + Linear().on([1, 0])
    """
    return _place_part(kernel, recipe, None)


def _place_part(kernel, recipe, scope):
    """A part of the kernel; ``scope`` has the names that were given around it, None where there were none."""
    names = chosen_names(kernel)
    if names:
        outside = [name for name in names if scope is not None and name not in scope]
        if outside:
            raise DataError(f"{kernel!r} reads column {outside[0]!r} out of {quote(scope)} alone.")
        return _place_part(kernel.kernel, recipe, names)
    if not kernel.named_columns():
        return _everywhere(kernel, recipe) if scope is None else kernel.on(_columns_of_names(kernel, scope, recipe))
    return kernel.with_parts(lambda part: _place_part(part, recipe, scope))


def _everywhere(kernel, recipe):
    """A kernel that names no column: in a table with objects it reads the columns of numbers."""
    if not recipe.has_objects or kernel.chosen() is not None or kernel.reads == "rows":
        return kernel
    if kernel.domain == "vectors":
        numbers = recipe.number_names
        if not numbers:
            raise DataError(f"{kernel!r} names no column, and there is no column of numbers for it.")
        return kernel.on(numbers)
    if kernel.reading_parts:
        return kernel.with_parts(lambda part: _everywhere(part, recipe))
    return _say_how(next(readers(kernel)), list(recipe.object_names))


def _columns_of_names(kernel, names, recipe):
    """The columns of X that a kernel on columns of the table reads: numbers, or names in a table."""
    if recipe.has_objects and kernel.domain == "objects":
        places = [recipe.object_names[name] for name in names]
        return places[0] if len(places) == 1 else places
    places = [i for name in names for i in _columns_from(name, recipe)]
    return [recipe.feature_names_[i] for i in places] if recipe.has_objects else places


def _columns_from(name, recipe):
    """The numbers of the columns of X that came from a column of the table."""
    if name in recipe.blocks_:
        return recipe.blocks_[name]
    if name in recipe.feature_names_ and name not in recipe.object_names.values():
        return [recipe.feature_names_.index(name)]
    if name in recipe.ignored_:
        why = recipe.ignored_[name]
        how = f" A kernel on strings can read it: Spectrum(3).on({name!r})." if "text" in why else ""
        raise DataError(f"the kernel reads column {name!r}, which is left out: {why}.{how}")
    if name in recipe.object_names:
        raise DataError(f"column {name!r} holds objects, of which a kernel on vectors cannot make numbers; {HOLDS}.")
    return check_column(name, [*recipe.blocks_, *recipe.object_names])

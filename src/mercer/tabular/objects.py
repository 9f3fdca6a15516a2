"""Columns that a kernel reads as they are: strings, categories, plain numbers, and graphs as JSON."""

import json
import re

import numpy as np

from mercer.exceptions import DataError
from mercer.kernels import AtomEnvironments, Graph, Kernel, Table
from mercer.selection.kernels_search.objects import NO_ATOMS, SMILES, text_kind
from mercer.tabular.cells import BadRows, count, name_rows, quote
from mercer.tabular.columns import GONE, as_floats, as_texts, is_text, reason_to_ignore
from mercer.tabular.reads import CATEGORY, GRAPH, NUMBER, STRING, check_reads, objects_of

MOST_BAD = 0.1  # of the texts of a column of molecules, that may be none
MOST_NODES = 100_000  # of a graph in a cell
FORM = '{"edges": [[0, 1], [1, 2]], "labels": ["C", "C", "O"]}, with "edge_labels" and "nodes" (a number) if needed'


def describe_objects(column, kind, notes):
    """What is kept of a column that a kernel reads as it is."""
    values, gone = _read_objects(column, kind)
    name = column.name
    bad = no_molecules(values) if kind == STRING else None
    if bad is not None and len(bad) <= MOST_BAD * len(values):
        values, gone = _blank_out(values, bad, name, notes), gone + len(bad)
    kept = {"name": name, "role": "object", "kind": kind, "missing": gone, "text": is_text(column)}
    if gone:
        fate = "the empty string" if kind == STRING else "a category of their own"
        notes.append(f"column {name!r}: {count(gone, 'missing value')} read as {fate}.")
    if kind == STRING:
        lengths = [len(value) for value in values]
        known = {} if bad is None or len(bad) > MOST_BAD * len(values) else {"molecules": True}
        return kept | {"shortest": min(lengths), "longest": max(lengths)} | known
    if kind == CATEGORY:
        found = sorted(set(values))
        return kept | {"levels": found if len(found) <= 10_000 else None}  # remembered, to tell new ones
    return kept


def values_of(column, kept, said):
    """The values of a column, as the kernel reads them: a list, or an array of numbers."""
    values, gone = _read_objects(column, kept["kind"])
    name = kept["name"]
    bad = no_molecules(values, sure=True) if kept.get("molecules") else None
    if bad and len(bad) < len(values):  # where none can be read, an error names the rows
        values = _blank_out(values, bad, name, said)
    if gone and not kept["missing"] and kept["kind"] == STRING:
        said.append(f"column {name!r}: {count(gone, 'missing value')} read as the empty string; the fit had none.")
    if kept["kind"] == CATEGORY and kept["levels"] is not None:
        known = set(kept["levels"])
        unseen = [value for value in values if value not in known]
        if unseen:
            said.append(
                f"column {name!r}: {count(len(unseen), 'row')} with categories that the fit has not seen "
                f"({quote(sorted(set(unseen)), 4)}); they differ from all known ones."
            )
    return values


def no_molecules(texts, sure=False):
    """Positions of texts that are no molecules, where most look like SMILES and RDKit is there; else None.

    ``sure``: they are known to be molecules.
    """
    likely = [SMILES.fullmatch(text) is not None and NO_ATOMS.search(text) is None for text in texts if text]
    if not sure and (not likely or sum(likely) < (1 - MOST_BAD) * len(likely)):
        return None
    present = [text for text in texts if text]
    if not sure and text_kind([text for text, good in zip(present, likely, strict=True) if good]) != "smiles":
        return None
    try:
        kernel = AtomEnvironments(0)
        kernel.validate(["C"])
        return (
            []
            if _reads(kernel, present)
            else [i for i, text in enumerate(texts) if text and not _reads(kernel, [text])]
        )
    except ImportError:
        return None


def _reads(kernel, texts):
    """Whether a kernel reads all of some texts."""
    try:
        kernel.validate(texts)
    except (TypeError, ValueError):
        return False
    return True


def _blank_out(values, bad, name, notes):
    """The texts without those that are no molecules, which is said."""
    what = "is no molecule" if len(bad) == 1 else "are no molecules"
    cells = f"{count(len(bad), 'cell')} {quote([values[i] for i in bad], 3)}"
    notes.append(f"column {name!r}: {cells} {what}, and read as missing ({name_rows(bad)}).")
    return ["" if i in set(bad) else value for i, value in enumerate(values)]


def _read_objects(column, kind):
    """(values, how many were missing) of a column; DataError where the kind has no value for a missing one."""
    if kind == CATEGORY:
        texts = as_texts(column)
        return [GONE if text is None else text for text in texts], texts.count(None)
    gone = column.is_null().arg_true().to_list()
    if kind == NUMBER:
        values = as_floats(column)
        gone = np.flatnonzero(np.isnan(values)).tolist()
    if gone and kind != STRING:
        raise BadRows(
            f"column {column.name!r} is missing in ",
            gone,
            ", and the kernel has no value for it: fill these cells, or take the rows out.",
        )
    if kind == NUMBER:
        return values, 0
    if not is_text(column):
        raise DataError(
            f"column {column.name!r} holds {column.dtype}, and the kernel reads text; read_table(..., strings="
            f"[{column.name!r}]) keeps the text."
        )
    texts = [text or "" for text in as_texts(column)]
    if kind == STRING and len(gone) == len(texts):
        raise DataError(f"column {column.name!r} is missing in all rows; the kernel reads it.")
    return (_graphs(texts, column.name) if kind == GRAPH else texts), len(gone)


def columns_read_as_is(kernel, recipe, table, target):
    """{column: kind} of what a kernel reads as it is; of "auto", of what a search can read."""
    if isinstance(kernel, str) and kernel == "auto":
        return find_object_columns(table, {*recipe.ignore, *recipe.categorical, *recipe.numeric})
    if not isinstance(kernel, Kernel):
        return {}
    check_reads(kernel, table, target)
    return objects_of(kernel)


def find_object_columns(frame, settled=()):
    """{column: "string" or "graph"} of texts that a search over kernels reads: sequences, molecules, graphs as JSON.

    Only of columns that would say nothing as categories, whose every cell can be read, and that are not ``settled``.
    """
    texts = [frame[name] for name in frame.columns if name not in settled and is_text(frame[name])]
    kinds = {column.name: _kind_in(column) for column in texts if reason_to_ignore(column) is not None}
    return {name: kind for name, kind in kinds.items() if kind is not None}


def _kind_in(column):
    """What a search reads a column of texts as, or None."""
    cells = [text for text in as_texts(column) if text is not None]
    if cells and len(cells) == len(column) and all(cell.lstrip().startswith(("{", "[")) for cell in cells):
        try:
            return GRAPH if _graphs(cells, column.name) else None
        except DataError:
            return None
    bad = no_molecules(cells)
    if bad is None:
        kind = text_kind(cells)
        return STRING if kind and kind != "smiles" else None  # without RDKit nothing reads these
    if len(bad) > 0.5 * len(cells):
        return None
    if len(bad) > MOST_BAD * len(cells):
        odd = list(dict.fromkeys(cells[i] for i in bad))
        rows = [i for i, cell in enumerate(as_texts(column)) if cell in set(odd)]
        end = f" cannot be read as such ({quote(odd, 3)}): correct them, or say --ignore {column.name!r}."
        raise BadRows(f"column {column.name!r} holds molecules, and ", rows, end)
    return STRING


# ---------------------------------------------------------------------------------------------------- graphs
def _graphs(texts, name):
    """A `Graph` of each text; an error names the rows."""
    found, bad, why = [], [], None
    for row, text in enumerate(texts):
        try:
            found.append(_graph(text))
        except (TypeError, ValueError, RecursionError, OverflowError) as error:
            bad.append(row)
            why = why or str(error)
    if bad:
        raise BadRows(f"column {name!r}, ", bad, f": {why:.200}. A graph is written as {FORM}.")
    return found


def _graph(text):
    """The graph of a JSON text: an object, or the edges alone."""
    given = json.loads(text)
    given = {"edges": given} if isinstance(given, list) else given
    odd = sorted(set(given) - {"edges", "labels", "edge_labels", "nodes"}) if isinstance(given, dict) else None
    if odd is None or odd or not isinstance(given.get("edges"), list):
        raise ValueError(f"{text[:40]!r} is no graph" + (f": there is no {odd[0]!r} in one" if odd else ""))
    edges, nodes = given["edges"], given.get("nodes")
    plain = all(isinstance(edge, list) and len(edge) == 2 and all(type(i) is int for i in edge) for edge in edges)
    if not plain or not (nodes is None or type(nodes) is int):
        raise ValueError(f"{text[:40]!r}: edges are pairs of whole numbers, nodes is a whole number")
    if max([nodes or 0, *(i for edge in edges for i in edge)]) > MOST_NODES:
        raise ValueError(f"{text[:40]!r} has more than {MOST_NODES:,} nodes")
    return Graph([tuple(edge) for edge in edges], given.get("labels"), given.get("edge_labels"), n_nodes=nodes)


# ---------------------------------------------------------------------------------------------------- bad rows
def check_readable(kernel, X):
    """DataError that names the rows of the table which a kernel cannot read.

    A kernel stops at the first row it cannot read, and knows nothing of the file; a user wants to know all of them.
    """
    try:
        kernel.validate(X)
    except (TypeError, ValueError) as error:
        first, bad = None, []
        for i in range(min(len(X), 20_000)):
            try:
                kernel.validate(Table({name: X[name][i : i + 1] for name in X.columns}))
            except (TypeError, ValueError) as one:
                bad.append(i)
                first = first or str(one)
        if bad:
            before, known, after = first.replace(" row 0:", "", 1).partition(" of X:")
            before, after = (f"{before}, ", after) if known else ("", f" {first}")
            these = "this row" if len(bad) == 1 else "these rows"
            raise BadRows(before, bad, f":{after} Correct or leave out {these}.") from error
        raise _error_of_rows(str(error)) from error


def _error_of_rows(text):
    """The error for what a kernel says of rows that are at fault together, such as one with and one without labels."""
    parts = re.split(r"\brow (\d+)", text.replace(" of X:", ":", 1))
    return BadRows(*([int(part)] if i % 2 else part for i, part in enumerate(parts)))

"""How objects become {attribute: value} and back: by their parameters, their attributes, or in a way of their own.

A class with a way of its own has ``__mercer_state__()``, which returns such a dict, and ``__mercer_restore__(state)``,
which sets a blank object up from one and raises ValueError or TypeError where it is no good. Collections of inputs,
which know nothing of files, have theirs here.
"""

from collections import Counter
from dataclasses import fields, is_dataclass

import numpy as np

from mercer.exceptions import ModelFileError
from mercer.files import _registry

# What belongs to a running fit, not to the model: scikit-learn's callbacks and their contexts.
LEFT_OUT = {"_skl_callbacks", "_callback_fit_ctx", "_parent_callback_ctx", "_sklearn_version"}
ROUTING = "_metadata_request"  # of scikit-learn: which metadata each method asks for; it refers to its estimator
COLUMNS = 2**40  # of a matrix that a precomputed kernel has forgotten
ALONE = 10_000  # nodes of a graph without a label and an edge
ALIKE = 100  # keys with one hash: each is compared with all before it
# Arguments that came after format 1, and the value that files without them mean.
ADDED = {"selection.LOO": {"weights": "repeats"}}


# ------------------------------------------------------------------------------------------------ writing
def storable(value, name):
    """(value, name): a sparse matrix of another form as one in CSR form; anything else as it is."""
    if name is None and type(value).__module__.startswith("scipy.sparse"):
        from scipy import sparse

        if sparse.issparse(value):
            return sparse.csr_array(value), "sparse.csr_array"
    return value, name


def state_of(value, name):
    """{attribute: value} of an object that may be stored."""
    cls = type(value)
    if hasattr(cls, "__mercer_state__"):
        return value.__mercer_state__()
    own = OWN.get(name)
    if own is not None:
        return own[0](value)
    if name.startswith("sparse."):
        return _sparse_state(value)
    if _registry.is_parameter(cls):
        return {field: getattr(value, field) for field in _registry.parameters(cls)}
    state = {field: item for field, item in (value.__getstate__() or {}).items() if field not in LEFT_OUT}
    if ROUTING in state and _registry.is_estimator(cls):
        state[ROUTING] = {
            method: dict(part.requests) for method, part in vars(state[ROUTING]).items() if method != "owner"
        }
    return state


def _sparse_state(value):
    return {"data": value.data, "indices": value.indices, "indptr": value.indptr, "shape": tuple(map(int, value.shape))}


def _table_state(table):
    store = table.__getstate__()["_store"]
    return {"names": list(store.names), "read": dict(store.read), "n": int(store.n)}


def _matrix_state(rows):
    forgotten = 0 in rows.matrix.strides and rows.matrix.size > 0
    return {
        "shape": tuple(map(int, rows.matrix.shape)),
        "matrix": None if forgotten else rows.matrix,
        "index": rows.index,
        "asymmetry": rows.asymmetry,
    }


# ------------------------------------------------------------------------------------------------ reading
def check_fields(cls, state, where):
    """Refuse attributes that a class cannot have: special names, and names of its methods and properties."""
    name = _registry.name_of(cls) or ""
    if hasattr(cls, "__mercer_restore__") or name in OWN or name.startswith("sparse."):
        return  # they look at their fields themselves
    allowed = set(_registry.parameters(cls)) if _registry.is_estimator(cls) else set()
    if is_dataclass(cls):
        allowed = {field.name for field in fields(cls)}
    for field in state:
        plain = field.isidentifier() and not field.startswith("__")
        if not plain or (field not in allowed and not _registry.is_parameter(cls) and hasattr(cls, field)):
            raise ModelFileError(f"{where}: {cls.__name__} has no attribute {field!r:.60} that could be stored.")
    if not _registry.is_estimator(cls):
        return
    missing = allowed - set(state)
    odd = [field for field in state if field not in allowed and not (field.endswith("_") or field.startswith("_"))]
    if missing or odd:
        raise ModelFileError(
            f"{where}: {cls.__name__} of this version has other parameters: {sorted(missing)!r:.100} missing, "
            f"{odd!r:.100} unknown."
        )


def check_keys(keys, where):
    """Refuse many keys with one hash, which take quadratic time: whole numbers have the hash that somebody wants."""
    hashes = Counter(hash(key) for key in keys if not isinstance(key, str | bytes))
    if hashes and max(hashes.values()) > ALIKE:
        raise ModelFileError(f"{where}: {max(hashes.values())} keys of a dict have the same hash, more than {ALIKE}.")


def restore(cls, state, where):
    """The object of a class with a state; the class refuses what is no good."""
    try:
        return _restore(cls, state)
    except ModelFileError as error:
        raise ModelFileError(f"{where}: {error}") from None
    except (TypeError, ValueError, KeyError, IndexError, AttributeError, OverflowError, RecursionError) as error:
        raise ModelFileError(f"{where} is no {cls.__name__}: {str(error):.300}") from None


def _restore(cls, state):
    if hasattr(cls, "__mercer_restore__"):
        blank = cls.__new__(cls)
        blank.__mercer_restore__(state)
        return blank
    name = _registry.name_of(cls)
    if name in OWN:
        return OWN[name][1](cls, **state)
    if name is not None and name.startswith("sparse."):
        return _restore_sparse(cls, **state)
    if _registry.is_parameter(cls):
        return _restore_parameters(cls, state)
    blank = cls.__new__(cls)
    blank.__dict__.update(state)
    if ROUTING in state and _registry.is_estimator(cls):
        _restore_routing(blank, blank.__dict__.pop(ROUTING))
    return blank


def _restore_routing(blank, requests):
    """Set which metadata each method of an estimator asks for."""
    made = blank._get_metadata_request()
    for method, asked in requests.items():
        for param, alias in asked.items():
            if method not in vars(made) or not isinstance(param, str):
                raise ModelFileError(f"{method!r:.40} cannot ask for {param!r:.40}.")
            getattr(made, method).add_request(param=param, alias=alias)
    setattr(blank, ROUTING, made)


def _restore_parameters(cls, state):
    """An object by its constructor, which only stores; then what can be checked without evaluating anything."""
    from mercer.kernels.base import Kernel
    from mercer.kernels.limits import check_limits

    state = {**ADDED.get(_registry.name_of(cls), {}), **state}
    if set(state) != set(_registry.parameters(cls)):
        raise ModelFileError(f"{cls.__name__} takes {_registry.parameters(cls)}, not {sorted(state)!r:.200}.")
    made = cls(**state)
    if not isinstance(made, Kernel):
        return made
    for part in made.parts:
        if not isinstance(getattr(made, part), Kernel):
            raise ModelFileError(f"{cls.__name__}.{part} is no kernel but a {type(getattr(made, part)).__name__}.")
    for field in state:
        if field not in made.parts and isinstance(state[field], Kernel):
            raise ModelFileError(f"{cls.__name__}.{field} cannot be a kernel.")
    made._own()  # hyper-parameters and their bounds
    check_limits(made)
    if cls.__name__ == "SklearnKernel":
        made._inner()
    return made


def _restore_sparse(cls, data, indices, indptr, shape):
    """A sparse array whose indices are checked: SciPy's loops trust them."""
    for part, kinds in ((data, "biuf"), (indices, "i"), (indptr, "i")):
        if not isinstance(part, np.ndarray) or part.ndim != 1 or part.dtype.kind not in kinds:
            raise ModelFileError("a sparse array is made of three vectors.")
    if not (isinstance(shape, tuple) and len(shape) == 2 and all(type(n) is int and 0 <= n < 2**48 for n in shape)):
        raise ModelFileError(f"{shape!r:.60} is no shape of a sparse array.")
    major, minor = shape if "csr" in cls.__name__ else shape[::-1]
    steps = np.diff(indptr)
    sound = len(indptr) == major + 1 and indptr[0] == 0 and indptr[-1] == len(indices) == len(data)
    if not sound or (steps < 0).any() or (indices < 0).any() or (indices >= minor).any():
        raise ModelFileError("the indices of a sparse array do not fit its shape.")
    return cls((data, indices, indptr), shape=shape)


def _restore_objects(cls, items):
    if not isinstance(items, list | np.ndarray) or (isinstance(items, np.ndarray) and items.ndim == 0):
        raise ModelFileError("objects are no list.")
    return cls(items)


def _restore_table(cls, names, read, n):
    from mercer.kernels.objects.tables import _Store

    plain = isinstance(names, list) and isinstance(read, dict) and type(n) is int and n >= 0
    if not plain or not all(isinstance(name, str | int) for name in names):
        raise ModelFileError("a table has names, columns and a length.")
    check_keys(names, "a table")
    known = set(names)
    if len(known) < len(names):
        raise ModelFileError("a table has a name twice.")
    for name, column in read.items():
        shaped = isinstance(column, list) or (isinstance(column, np.ndarray) and column.ndim == 1)
        if name not in known or not shaped or len(column) != n:
            raise ModelFileError(f"column {name!r:.60} of a table of {n} rows does not fit.")
    return cls._of(_Store(names, read, n))


def _restore_matrix(cls, shape, matrix, index, asymmetry):
    plain = isinstance(shape, tuple) and len(shape) == 2 and all(type(n) is int and 0 <= n < COLUMNS for n in shape)
    if not plain or not isinstance(asymmetry, str):
        raise ModelFileError(f"{shape!r:.60} is no shape of a kernel matrix.")
    if index is not None and not (
        isinstance(index, np.ndarray) and index.shape == shape[:1] and index.dtype.kind == "i"
    ):
        raise ModelFileError("the rows of a kernel matrix are not numbered.")
    if matrix is None:
        if index is None:
            raise ModelFileError("a kernel matrix has neither values nor rows.")
        matrix = np.broadcast_to(np.nan, shape)
    elif not (isinstance(matrix, np.ndarray) and matrix.dtype.kind == "f" and matrix.shape == shape):
        raise ModelFileError("a kernel matrix has another shape than it says.")
    return cls(matrix, index, asymmetry)


def _restore_graph(cls, n, labels, edges, edge_labels):
    """A graph whose edges name nodes that exist: compiled loops trust them."""
    sound = type(n) is int and 0 <= n < 2**31 and isinstance(edges, np.ndarray) and edges.dtype == np.int64
    if sound and labels is None and n > 2 * len(edges) + ALONE:  # nodes that cost no byte here, and memory later
        raise ModelFileError(f"a graph with {len(edges)} edges and no labels says that it has {n} nodes.")
    if not sound or edges.ndim != 2 or edges.shape[1] != 2 or (edges < 0).any() or (edges >= n).any():
        raise ModelFileError("an edge of a graph names a node that is not there.")
    for keys, size in ((labels, n), (edge_labels, len(edges))):
        if keys is not None and not (
            isinstance(keys, np.ndarray) and keys.shape == (size,) and keys.dtype == np.uint64
        ):
            raise ModelFileError("the labels of a graph do not fit its nodes and edges.")
    graph = cls.__new__(cls)
    graph.n, graph.labels, graph.edges, graph.edge_labels = n, labels, edges, edge_labels
    return graph


def _restore_sparse_rows(cls, matrix):
    from scipy import sparse

    if not isinstance(matrix, sparse.csr_array) or matrix.dtype != np.float64:
        raise ModelFileError("sparse rows are a CSR array of float64.")
    return cls(matrix)


def _restore_report(cls, items):
    if not isinstance(items, dict):
        raise ModelFileError("a report is a dict.")
    return cls(items)


def _search_state(result):
    """The fields of a `SearchResult`; where it is one of its own candidates there is None."""
    return {**vars(result), "candidates": [None if one is result else one for one in result.candidates]}


def _restore_search(cls, candidates, **state):
    made = cls(**state)
    made.candidates = [made if one is None else one for one in candidates]
    if not all(isinstance(one, cls) for one in made.candidates):
        raise ModelFileError("a candidate is no result of a search.")
    return made


OWN = {
    "selection.SearchResult": (_search_state, _restore_search),
    "kernels.Objects": (lambda value: {"items": _plain_items(value)}, _restore_objects),
    "kernels.Table": (_table_state, _restore_table),
    "kernels.MatrixRows": (_matrix_state, _restore_matrix),
    "kernels.SparseRows": (lambda value: {"matrix": value.matrix}, _restore_sparse_rows),
    "kernels.Graph": (lambda value: dict(vars(value)), _restore_graph),
    "kernels.GaussianMeasure": (lambda value: dict(vars(value)), lambda cls, mean, cov: cls(mean, cov)),
    "estimators.FitReport": (lambda value: {"items": dict(value)}, _restore_report),
}


def _plain_items(objects):
    """The raw items of a part; an array of them stays an array."""
    items = objects._items
    if isinstance(items, np.ndarray):
        return items if objects._index is None else items[objects._index]
    return list(objects)

"""Model files: data only, one file, checked on loading. The format and what to rely on: docs/model_files.md."""

import contextlib
import os
import sys

import numpy as np
import scipy
import sklearn

from mercer.exceptions import ModelFileError
from mercer.files import _container, _registry
from mercer.files._decode import Decoder
from mercer.files._encode import Encoder
from mercer.files._registry import refusing
from mercer.kernels import Kernel

__all__ = ["load", "read_header", "save"]


def save(obj, path, *, force=False, note=None, names=None):
    """Write an estimator, a table model or a kernel to one file: data only, all or nothing.

    Parameters
    ----------
    obj : estimator, mercer.tabular object or Kernel
        Fitted or not. A fitted kernel model contains its training inputs: whoever has the file has them. What is kept
        of it is what its ``state()`` returns.
    path : str or os.PathLike
    force : bool, default=False
        Whether a file that is there is replaced; until the new one is complete the old one stays.
    note : dict, default=None
        What else to keep: plain values (numbers, strings, lists, dicts), given back by `read_header`.
    names : dict, default=None
        {name: function, class or object} for what is code and not data: the function of a `FeatureMap`, `Pairwise`,
        ``warp`` or ``transform``, a class of your own. The file has the name only; `load` must be given the same names.

    Raises
    ------
    ModelFileError
        If there is something in the object that is not data, and has no name.
    FileExistsError
        If the file exists and ``force`` is False.
    OSError
        If it cannot be written; nothing is left behind.

    Examples
    --------
    >>> import tempfile, os
    >>> from mercer import KernelRidge, load, save
    >>> from mercer.files import read_header
    >>> from mercer.kernels import Gaussian
    >>> model = KernelRidge(Gaussian(1.0), lam=0.1).fit([[0.0], [1.0], [2.0]], [0.0, 1.0, 0.0])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = os.path.join(folder, "model.mercer")
    ...     save(model, path, note={"source": "three rows"})
    ...     (load(path).predict([[0.5]]) == model.predict([[0.5]])).all(), read_header(path)["note"]
    (np.True_, {'source': 'three rows'})
    """
    given = _check_names(names)
    if not _is_root(obj, given):
        raise ModelFileError(
            f"a model file holds an estimator, a table model or a kernel of mercer, not a {type(obj).__name__}."
        )
    encoder, who = Encoder(given), type(obj).__name__
    try:
        root = encoder.value(obj, who)
        extra = _note(note)
    except RecursionError:
        raise ModelFileError(f"{who} is nested too deeply for a model file.") from None
    unused = sorted(set(given) - encoder.used)
    if unused:
        raise ModelFileError(f"names: {unused[0]!r} is not a part of this {who}.")
    with refusing(who):
        Decoder(encoder.objects, encoder.arrays, given)  # what is written can be read
    header = {
        "mercer": sys.modules["mercer"].__version__,
        "versions": {"numpy": np.__version__, "scipy": scipy.__version__, "scikit-learn": sklearn.__version__},
        "class": who,
        "kernel": _kernel_text(obj),
        "note": extra,
        "names": sorted(encoder.used),
        "objects": encoder.objects,
        "root": root,
    }
    _container.write(os.fspath(path), header, encoder.arrays, force)


def load(path, *, names=None, verify=True, mmap=None):
    """Return the object that `save` has written: its predictions are the same to the last bit.

    Nothing in a file is run or imported: classes are looked up in a closed table, and all that is read is checked.

    Parameters
    ----------
    path : str or os.PathLike
    names : dict, default=None
        {name: function, class or object} for the names that the model was saved with; more do no harm.
    verify : bool, default=True
        Whether the SHA-256 of the arrays is checked, which reads the whole file. That of the header always is.
    mmap : bool, default=None
        Whether arrays stay in the file until they are used (a private map: the file is never changed); None is yes
        from 16 MiB on. While such a model lives, do not overwrite its file in place; `save` never does.

    Returns
    -------
    estimator, table model or Kernel

    Raises
    ------
    ModelFileError
        If the file is damaged, is no model file, is of a newer format, or needs a name.
    OSError
        If it cannot be read.

    Examples
    --------
    >>> import tempfile, os
    >>> from mercer import load
    >>> from mercer.kernels import Pairwise
    >>> from mercer.files import save
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = os.path.join(folder, "kernel.mercer")
    ...     save(Pairwise(min), path, names={"smaller": min})
    ...     load(path, names={"smaller": min})
    Pairwise(min)
    """
    path = os.fspath(path)
    given = _check_names(names)
    header, arrays = _container.read(path, verify, mmap)
    with refusing(path):
        missing = [name for name in header["names"] if name not in given]
        if missing:
            asked = ", ".join(f"{name!r}: ..." for name in missing)
            raise ValueError(f"a file cannot hold all of the model; hand it over: load(path, names={{{asked:.200}}})")
        found = Decoder(header["objects"], arrays, {name: given[name] for name in header["names"]}).value(
            header["root"]
        )
        if not _is_root(found, given):
            raise ValueError(f"it holds a {type(found).__name__}, which is no model")
    return found


def read_header(path):
    """Return what a model file says of itself, without reading its arrays.

    Parameters
    ----------
    path : str or os.PathLike

    Returns
    -------
    dict
        ``format``, ``mercer`` and ``versions`` that wrote it, ``class``, ``kernel`` (an expression, as text), ``note``,
        ``names`` that `load` needs, ``arrays`` (how many) and ``bytes`` of the file.

    Raises
    ------
    ModelFileError
        As `load`; only the header is checked.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from mercer import KernelRidge
    >>> from mercer.files import read_header
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     KernelRidge(lam=1.0).fit([[0.0], [1.0]], [0.0, 1.0]).save(Path(folder) / "m.mercer")
    ...     header = read_header(Path(folder) / "m.mercer")
    >>> header["class"]
    'KernelRidge'
    """
    path = os.fspath(path)
    header, arrays, _, size = _container.read_header(path)
    with refusing(f"{path}: the note"):
        note = Decoder([], {}, {}).value(header["note"])
    shown = {key: header[key] for key in ("format", "mercer", "versions", "class", "kernel", "names")}
    return {**shown, "note": note, "arrays": len(arrays), "bytes": size}


def _check_names(names):
    """The names as a dict, checked."""
    names = {} if names is None else names
    if not isinstance(names, dict) or not all(isinstance(name, str) and name.isidentifier() for name in names):
        raise TypeError(
            f"names must be a dict {{name: function, class or object}} with identifiers, got {names!r:.200}."
        )
    return names


def _note(note):
    """The note as JSON, checked to be plain."""
    if not isinstance(note, dict | None):
        raise TypeError(f"note must be a dict, got {type(note).__name__}.")
    encoder = Encoder()
    found = encoder.value(note, "note")
    if encoder.objects or encoder.arrays:
        raise ModelFileError("note: only plain values are kept (numbers, strings, lists, dicts); use array.tolist().")
    return found


def _is_root(found, given):
    """Whether an object may be what a file holds: an estimator, a kernel, or what the user has named."""
    cls = type(found)
    known = _registry.name_of(cls) is not None and _registry.is_model(cls)
    return known or any(thing is found or thing is cls for thing in given.values())


def _kernel_text(obj):
    """The kernel as an expression, for whoever looks at a file."""
    kernel = obj if isinstance(obj, Kernel) else None
    with contextlib.suppress(AttributeError):  # what is no estimator, or not fitted yet
        kernel = obj.get_params(deep=False).get("kernel")
        kernel = obj.our_kernel_
    return repr(kernel)[:2000] if isinstance(kernel, Kernel) else ""

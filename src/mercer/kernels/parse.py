"""Kernel expressions as text: ``2.0 * Gaussian(0.5) + Linear()`` is read with ``ast`` and never run as code."""

import ast
import operator
import sys

from mercer.kernels.base import Kernel

METHODS = {"exp", "polynomial", "normalise", "on", "warp", "transform"}
OPERATORS = {ast.Add: operator.add, ast.Mult: operator.mul, ast.Pow: operator.pow}


def parse_kernel(text, names=None):
    """Return the kernel that an expression describes: the inverse of ``repr``.

    An expression is made of the kernel classes of `mercer.kernels`, numbers, strings, lists, ``+``, ``*``, ``**``,
    the methods ``exp``, ``polynomial``, ``normalise``, ``on``, ``warp``, ``transform``, and (for `SklearnKernel`)
    ``gp.RBF(...)`` and the like. Nothing else is looked up or called.

    Parameters
    ----------
    text : str
        At most 100 000 characters and 200 levels.
    names : dict, default=None
        What else may be named: functions for ``warp``, ``transform``, `FeatureMap` and `Pairwise`, and own classes.

    Returns
    -------
    Kernel

    Raises
    ------
    ValueError
        With the position, for anything else.

    Examples
    --------
    >>> from mercer.kernels import parse_kernel
    >>> parse_kernel("2.0 * Gaussian(0.5).on([0, 1]) + Linear()").names
    ['left__scale', 'left__kernel__kernel__length_scale']
    """
    if not isinstance(text, str):
        raise TypeError(f"A kernel expression is a string, got {type(text).__name__}.")
    if len(text) > 100_000:
        raise ValueError(f"The kernel expression has {len(text)} characters, more than 100,000.")
    try:
        tree = ast.parse(text.strip(), mode="eval").body
    except SyntaxError as error:
        raise ValueError(f"kernel expression, {_locate_error(text.strip(), error)}.") from None
    except (RecursionError, MemoryError, ValueError) as error:  # ValueError: a null byte
        raise ValueError(f"The kernel expression cannot be read: {error or 'it is nested too deeply'}.") from None
    reader = _Reader(text.strip(), {} if names is None else names)
    reader.check_depth(tree)
    kernel = reader.read(tree)
    if not isinstance(kernel, Kernel):
        raise reader.error(tree, "this is not a kernel")
    return kernel


def _locate_error(text, error):
    """Line, column and reason of a syntax error; Python gives no column for a text that ends too early."""
    if error.offset:
        return f"line {error.lineno}, column {error.offset}: {error.msg}"
    lines = text.splitlines() or [""]
    return f"line {len(lines)}, column {len(lines[-1]) + 1}: the expression ends too early"


class _Reader:
    """Turns the nodes of an expression into values; every node that is not listed here is refused."""

    def __init__(self, text, names):
        self.lines = text.splitlines() or [""]
        self.names = names
        self.classes = kernel_classes()

    def error(self, node, what):
        """ValueError with the position of a node. ``ast`` counts bytes, we count characters."""
        line = self.lines[node.lineno - 1] if node.lineno <= len(self.lines) else ""
        column = len(line.encode()[: node.col_offset].decode(errors="ignore")) + 1
        near = line[column - 1 : column + 19]
        return ValueError(f"kernel expression, line {node.lineno}, column {column}, at {near!r}: {what}.")

    def check_depth(self, tree):
        """Refuse an expression with too many levels, before anything recursive looks at it."""
        stack = [(tree, 1)]
        while stack:
            node, depth = stack.pop()
            if depth > 200:
                raise ValueError("The kernel expression is more than 200 levels deep.")
            stack += [(child, depth + 1) for child in ast.iter_child_nodes(node)]

    def read(self, node):
        """The value of a node."""
        method = getattr(self, f"_{type(node).__name__.lower()}", None)
        if method is None:
            raise self.error(node, f"{type(node).__name__} is not part of a kernel expression")
        return method(node)

    def _constant(self, node):
        if not isinstance(node.value, (int, float, str, type(None))):
            raise self.error(node, f"{node.value!r} is not a number, a string, True, False or None")
        if isinstance(node.value, (int, float)) and not abs(node.value) <= sys.float_info.max:
            raise self.error(node, "this number is beyond the range of a float")
        return node.value

    def _list(self, node):
        return [self.read(item) for item in node.elts]

    def _tuple(self, node):
        return tuple(self._list(node))

    def _unaryop(self, node):
        value = self.read(node.operand)
        if not isinstance(node.op, ast.USub) or isinstance(value, bool) or not isinstance(value, (int, float)):
            raise self.error(node, "only a number may have a sign, and only a minus")
        return -value

    def _binop(self, node):
        apply = OPERATORS.get(type(node.op))
        if apply is None:
            raise self.error(node, "kernels know +, * and ** only")
        left, right = self.read(node.left), self.read(node.right)
        if not (isinstance(left, Kernel) or (isinstance(right, Kernel) and not isinstance(node.op, ast.Pow))):
            raise self.error(node, "an operator needs a kernel")
        return self._call_checked(node, apply, [left, right])

    def _name(self, node):
        if node.id in self.names:
            return self.names[node.id]
        if node.id in self.classes or node.id in {"gp", "slice"}:
            raise self.error(node, f"{node.id} must be called")
        raise self.error(node, f"unknown name {node.id!r}; known are {', '.join(sorted([*self.classes, *self.names]))}")

    def _call(self, node):
        target = self._callee(node.func)
        for argument in node.args:
            if isinstance(argument, ast.Starred):
                raise self.error(argument, "* is not allowed here")
        for keyword in node.keywords:
            if keyword.arg is None:
                raise self.error(keyword.value, "** is not allowed here")
        arguments = [self.read(argument) for argument in node.args]
        return self._call_checked(node, target, arguments, {k.arg: self.read(k.value) for k in node.keywords})

    def _callee(self, node):
        """The class or the method that may be called here."""
        if isinstance(node, ast.Name):
            own = self.names.get(node.id)
            if isinstance(own, type):
                return own
            if own is None and (node.id in self.classes or node.id == "slice"):
                return self.classes.get(node.id, slice)
            raise self.error(node, f"{node.id!r} is not a kernel class; known are {', '.join(sorted(self.classes))}")
        if not isinstance(node, ast.Attribute):
            raise self.error(node, "only kernel classes and methods of kernels may be called")
        if isinstance(node.value, ast.Name) and node.value.id == "gp":
            return self._sklearn_class(node)
        if node.attr not in METHODS:
            raise self.error(node, f"a kernel has no method {node.attr!r} here; known are {', '.join(sorted(METHODS))}")
        kernel = self.read(node.value)
        if not isinstance(kernel, Kernel):
            raise self.error(node.value, f"only a kernel has the method {node.attr!r}")
        return getattr(kernel, node.attr)

    def _sklearn_class(self, node):
        """A kernel class of scikit-learn's Gaussian processes."""
        from sklearn.gaussian_process import kernels as gp

        found = getattr(gp, node.attr, None)
        if not (isinstance(found, type) and issubclass(found, gp.Kernel)):
            raise self.error(node, f"sklearn.gaussian_process.kernels has no kernel {node.attr!r}")
        return found

    def _call_checked(self, node, make, arguments, keywords=None):
        """make(*arguments, **keywords), a refusal of the arguments with its position."""
        try:
            made = make(*arguments, **(keywords or {}))
            if isinstance(made, Kernel):
                check_read(made)
            return made
        except (TypeError, ValueError, OverflowError) as error:
            raise self.error(node, str(error).rstrip(".")) from error


def check_read(kernel):
    """Refuse a kernel that came as data: parts that are no kernels, no hyper-parameters, and what is beyond its limits.

    Parameters
    ----------
    kernel : Kernel
        It alone is looked at, not its parts, which were read before it.
    """
    who = type(kernel).__name__
    for name, value in kernel.get_params(deep=False).items():
        if name in kernel.parts and not isinstance(value, Kernel):
            raise TypeError(f"{who}: {name} must be a kernel, got {type(value).__name__}.")
        if name not in kernel.parts and isinstance(value, Kernel):
            raise TypeError(f"{who}: {name} cannot be a kernel.")
    kernel.own_hyper()  # values and bounds of hyper-parameters
    if not kernel.parts:
        kernel.n_theta  # noqa: B018 - of a kernel of scikit-learn's, this looks at it
    kernel._check_parameters()


def kernel_classes():
    """Return {name: class} of the final kernel classes of mercer.kernels: those that can be written down."""
    from mercer import kernels

    found = ((name, getattr(kernels, name)) for name in kernels.__all__)
    return {name: cls for name, cls in found if isinstance(cls, type) and issubclass(cls, Kernel) and _is_final(cls)}


def _is_final(cls):
    """Whether nothing in mercer derives from the class; what users derive from it does not count."""
    return not any(sub.__module__.startswith("mercer.") for sub in cls.__subclasses__())

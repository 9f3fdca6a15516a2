"""What the loops share: the options of the compiler, wide vectors, and an exp that vectorises."""

import numpy as np
from llvmlite import ir
from numba import njit, types
from numba.extending import intrinsic, overload


def _caches():
    """Whether numba finds a folder where it can keep what it has compiled; it refuses to decorate where it does not."""
    try:
        njit(cache=True)(_caches)
    except RuntimeError:
        return False
    return True


OPTIONS = {"nogil": True, "cache": _caches(), "fastmath": {"contract"}, "error_model": "numpy"}


@intrinsic
def _bits(typingctx, x):
    """The bits of a float as an integer of the same width."""
    to = types.int64 if x == types.float64 else types.int32

    def codegen(context, builder, signature, args):
        return builder.bitcast(args[0], ir.IntType(to.bitwidth))

    return to(x), codegen


@intrinsic
def _floats(typingctx, i):
    """The float whose bits are this integer: the inverse of ``_bits``."""
    to = types.float64 if i == types.int64 else types.float32

    def codegen(context, builder, signature, args):
        return builder.bitcast(args[0], ir.DoubleType() if to == types.float64 else ir.FloatType())

    return to(i), codegen


@intrinsic
def _wide(typingctx):
    """Let LLVM use 512-bit vectors in this function: it prefers 256 bits, which costs exp a third of its speed.

    A hint to the vectoriser of CPUs that have them, nothing elsewhere. llvmlite knows no name for this attribute,
    hence the plain ``set.add``.
    """

    def codegen(context, builder, signature, args):
        set.add(builder.function.attributes, '"prefer-vector-width"="512"')
        return context.get_dummy_value()

    return types.none(), codegen


@njit(**OPTIONS)
def _exp64(x):
    """exp(x) = 2ᵏ eʳ, |r| <= ln2/2, without a branch, so that LLVM vectorises the loop around it."""
    y = min(max(x, -708.3), 709.7)
    t = y * 1.4426950408889634 + 6755399441055744.0  # the low bits of t hold k
    k = t - 6755399441055744.0
    r = (y - k * 0.6931471803691238) - k * 1.9082149292705877e-10
    # the interpolating polynomial of (eʳ − 1 − r)/r² at the Chebyshev points: 2e-17 relative in eʳ
    p = 2.510038549551032e-08
    p = p * r + 2.7620088445409746e-07
    p = p * r + 2.7557268459997064e-06
    p = p * r + 2.4801521295954376e-05
    p = p * r + 0.00019841269863053618
    p = p * r + 0.0013888888917213717
    p = p * r + 0.008333333333330062
    p = p * r + 0.04166666666662413
    p = p * r + 0.16666666666666669
    p = p * r + 0.5000000000000001
    p = (p * r) * r + r + 1.0
    value = _floats(_bits(p) + (_bits(t) << 52))
    return value if x >= -708.3 else 0.0


@njit(**OPTIONS)
def _exp32(x):
    """exp(x) in float32, as ``_exp64``."""
    y = min(max(x, np.float32(-87.3)), np.float32(88.7))
    t = y * np.float32(1.4426950408889634) + np.float32(12582912.0)
    k = t - np.float32(12582912.0)
    r = (y - k * np.float32(0.693359375)) - k * np.float32(-2.12194440e-4)
    p = np.float32(0.0013926183587713494)
    p = p * r + np.float32(0.008363179052722578)
    p = p * r + np.float32(0.041666554617204574)
    p = p * r + np.float32(0.16666576989698775)
    p = p * r + np.float32(0.5)
    p = (p * r) * r + r + np.float32(1.0)
    value = _floats(np.int32(_bits(p) + (_bits(t) << 23)))
    return value if x >= np.float32(-87.3) else np.float32(0.0)


def _exp(x):
    """exp(x) in the precision of x."""
    return np.exp(x)


@overload(_exp)
def _exp_overload(x):
    """The polynomial of the right precision."""
    if x == types.float64:
        return lambda x: _exp64(x)
    return lambda x: _exp32(x)


@njit(**OPTIONS)
def clear_lower(A, first, last, tiny, root):
    """A[i, j] = 0 where |A[i, j]| < tiny · rootᵢ · rootⱼ, for first <= i < last and j < i."""
    _wide()
    zero = A.dtype.type(0.0)
    for i in range(first, last):
        row, limit = A[i, :i], tiny * root[i]
        for j in range(i):
            row[j] = zero if abs(row[j]) < limit * root[j] else row[j]

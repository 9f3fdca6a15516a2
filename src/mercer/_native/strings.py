"""Dynamic programmes over pairs of strings: strings.c."""

import numpy as np

from mercer._native.library import INT, POINTER, REAL, address, integers, longest

LANES = 8  # pairs that go side by side at most, as long as the longest of them
WASTE = 1.3  # letters filled in, beyond which pairs of like lengths are put together first


class StringLoops:
    """The compiled functions of strings.c; the twins in NumPy are in ``plain.strings``.

    x and z are (codes, starts, stops): string a is ``codes[starts[a] : stops[a]]``, codes are not negative. A function
    gives the values and the derivatives (None without ``slope``) of the pairs (left[p], right[p]).
    """

    def __init__(self, library):
        pairs, results = (POINTER,) * 6 + (INT, POINTER, POINTER), (INT, POINTER, POINTER, POINTER, POINTER)
        self._subsequence = library.function("subsequence", *pairs, INT, REAL, *results)
        self._alignment = library.function("alignment", *pairs, INT, POINTER, POINTER, POINTER, *results)

    def subsequence(self, x, z, left, right, length, decay, slope):
        """Σ over common subsequences of ``length`` letters of decay^(span in x + span in z), and ∂/∂decay."""
        work = np.empty(2 * LANES * length * (longest(z) + 1))
        return _of_pairs(self._subsequence, x, z, left, right, (length, decay), slope, work)

    def alignment(self, x, z, left, right, E, dE, gaps, slope):
        """log of 1 + Σ over local alignments of e^(β score), and its derivative with respect to β.

        E = e^(β substitution), dE = ∂E/∂β; gaps = (e^(−β open), its derivative, e^(−β extend), its derivative).
        """
        size = len(E) + 1
        scores, gaps = np.zeros((2, size, size)), np.array(gaps, dtype=float)  # a last letter that nothing matches
        scores[0, :-1, :-1], scores[1, :-1, :-1] = E, dE
        arguments = (size, address(scores[0]), address(scores[1]), address(gaps))
        return _of_pairs(self._alignment, x, z, left, right, arguments, slope, np.empty(6 * LANES * longest(z)))


def _of_pairs(function, x, z, left, right, arguments, slope, work):
    """(values, derivatives or None) of the pairs."""
    x, z, left, right = [*map(integers, x)], [*map(integers, z)], integers(left), integers(right)
    order = _by_length((x[2] - x[1])[left], (z[2] - z[1])[right])
    left, right = left[order], right[order]
    out, slopes = np.empty(left.size), np.empty(left.size if slope else 0)
    letters = np.empty(LANES * (longest(x) + longest(z)), dtype=np.int64)
    function(
        *map(address, x), *map(address, z), left.size, address(left), address(right), *arguments, bool(slope),
        address(work), address(letters), address(out), address(slopes),
    )  # fmt: skip
    return _put_back(out, order), (_put_back(slopes, order) if slope else None)


def _by_length(m, n):
    """An order of pairs of m and n letters in which those that go side by side are as long; as they are if they are."""
    starts = np.arange(0, len(m), LANES)
    padded = LANES * float(np.maximum.reduceat(m, starts) @ np.maximum.reduceat(n, starts)) if len(m) else 0.0
    return np.lexsort((n, m)) if padded > WASTE * float(m @ n) + LANES * LANES else slice(None)


def _put_back(values, order):
    """Values in the order of the pairs."""
    if isinstance(order, slice):
        return values
    out = np.empty_like(values)
    out[order] = values
    return out

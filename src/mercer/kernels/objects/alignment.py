"""Kernels on strings by dynamic programming for each pair: common subsequences, local alignments."""

import numpy as np

from mercer import _native
from mercer.kernels.definite import eigen
from mercer.kernels.objects.letters import alphabet_letters, encode
from mercer.kernels.objects.pairs import PairKernel

# The lower triangle of BLOSUM62, in the order of the letters.
BLOSUM62_LETTERS = "ARNDCQEGHILKMFPSTWYV"
BLOSUM62 = """4|-1 5|-2 0 6|-2 -2 1 6|0 -3 -3 -3 9|-1 1 0 0 -3 5|-1 0 0 2 -4 2 5|0 -2 0 -1 -3 -2 -2 6
|-2 0 1 -1 -3 0 0 -2 8|-1 -3 -3 -3 -1 -3 -3 -4 -3 4|-1 -2 -3 -4 -1 -2 -3 -4 -3 2 4|-1 2 0 -1 -3 1 1 -2 -1 -3 -2 5
|-1 -1 -2 -3 -1 0 -2 -3 -2 1 2 -1 5|-2 -3 -3 -3 -2 -3 -3 -3 -1 0 0 -3 0 6|-1 -2 -2 -1 -3 -1 -1 -2 -2 -3 -3 -1 -2 -4 7
|1 -1 1 0 -1 0 0 0 -1 -2 -2 0 -1 -2 -1 4|0 -1 0 -1 -1 -1 -1 -2 -2 -1 -1 -1 -1 -2 -1 1 5
|-3 -3 -4 -4 -2 -2 -3 -2 -2 -3 -2 -3 -1 1 -4 -3 -2 11|-2 -2 -2 -3 -2 -1 -2 -3 2 -1 -1 -2 -1 3 -3 -2 -2 2 7
|0 -3 -3 -3 -1 -2 -2 -3 -3 3 1 -2 1 -1 -2 -2 0 -3 -1 4"""


class _StringPairs(PairKernel):
    """A kernel on strings that is computed pair by pair. A subclass writes ``_pair_values``."""

    def _alphabet(self):
        """The alphabet in which the strings are read."""
        return self.alphabet

    def _read(self, items):
        return encode(items, type(self).__name__, self._alphabet())


# ---------------------------------------------------------------------- subsequences
class Subsequence(_StringPairs):
    """k(x, z) = Σ_u Σ_{i: x[i] = u} Σ_{j: z[j] = u} λ^(span(i) + span(j)): common subsequences u of p letters.

    i and j are places in ascending order, gaps allowed; span is last − first + 1. O(p|x||z|) for each pair.
    ``Subsequence(3, 0.5).normalise()`` takes lengths out, which is almost always wanted.

    Parameters
    ----------
    length : int, default=3
        p >= 1: letters of the subsequences that are counted.
    decay : float, default=0.5
        λ > 0: small values count what stands together.
    alphabet : {"dna", "rna", "protein"} or str, default=None
        The letters that may occur, another is an error; None is every character.
    decay_bounds : pair or "fixed", default=None
        What a search may choose; None is (1e-2, 1).

    Examples
    --------
    >>> from mercer.kernels import Subsequence
    >>> Subsequence(2, 0.5)(["cat"], ["cat", "car", "bar"])
    array([[0.140625, 0.0625  , 0.      ]])
    """

    hyper = {"decay": (1e-2, 1.0)}
    whole_numbers = {"length": (1, 1000)}

    def __init__(self, length=3, decay=0.5, *, alphabet=None, decay_bounds=None): ...

    def counts(self):
        """Letters in this order."""
        return f"how often {self.length} letters occur one after the other, near or far"

    def _pair_values(self, A, B):
        length, decay = self._whole_number("length"), float(self._positive("decay"))

        def pairs(left, right, slope):
            return _native.strings.subsequence(A.arrays, B.arrays, left, right, length, decay, slope)

        return pairs


# ---------------------------------------------------------------------- local alignments
class LocalAlignment(_StringPairs):
    """k(x, z) = 1 + Σ over local alignments π of x and z of e^(β s(π)), or (log) its logarithm divided by β.

    s is the Smith–Waterman score: substitutions less gaps. The sum is a kernel when e^(β S) of the substitution matrix
    S is positive semi-definite. Its diagonal is so large that models learn nothing; the logarithm repairs that, but
    is not a kernel, and ``psd`` says so: estimators then test the matrix on the data. For β → ∞ it is the score itself.

    Parameters
    ----------
    beta : float, default=0.5
        β > 0: how much good alignments count beside poor ones.
    substitution : pair of float, "blosum62" or array-like of shape (A, A), default=(2.0, -1.0)
        S: scores of equal and of different letters; or a matrix for the letters of ``alphabet``, in their order.
    gap_open, gap_extend : float, default=3.0, 1.0
        What the first and each further letter of a gap cost.
    log : bool, default=False
        Whether to take log(k)/β.
    alphabet : {"dna", "rna", "protein"} or str, default=None
        The letters that may occur, another is an error; None is every character, and the protein alphabet for
        "blosum62".
    beta_bounds : pair or "fixed", default=None
        What a search may choose; None is (1e-3, 10).

    Examples
    --------
    >>> from mercer.kernels import LocalAlignment
    >>> kernel = LocalAlignment(0.5, "blosum62", 11.0, 1.0, log=True)
    >>> kernel(["HEAGAWGHEE"], ["PAWHEAE", "CCCC"]).round(2)
    array([[20.97,  6.02]])
    >>> kernel.psd
    False
    """

    counted = "how well pieces match those of others"

    hyper = {"beta": (1e-3, 10.0)}

    def __init__(
        self,
        beta=0.5,
        substitution=(2.0, -1.0),
        gap_open=3.0,
        gap_extend=1.0,
        *,
        log=False,
        alphabet=None,
        beta_bounds=None,
    ): ...

    def _matrix(self, letters):
        """S for a string of letters, checked."""
        S = self.substitution
        if isinstance(S, str):
            if S != "blosum62":
                raise ValueError(f"LocalAlignment: substitution must be 'blosum62', a pair or a matrix, got {S!r}.")
            order = [BLOSUM62_LETTERS.find(letter) for letter in letters]
            if min(order) < 0:
                raise ValueError(f"LocalAlignment: 'blosum62' is for the letters {BLOSUM62_LETTERS}, not {letters!r}.")
            return _blosum62()[np.ix_(order, order)]
        S = np.asarray(S, dtype=float)
        if S.shape == (2,) and np.isfinite(S).all():
            return np.where(np.eye(len(letters), dtype=bool), S[0], S[1])
        size = len(alphabet_letters(self.alphabet, "LocalAlignment") or "")
        if S.shape != (size, size) or not np.isfinite(S).all() or not np.array_equal(S, S.T):
            raise ValueError(
                "LocalAlignment: substitution must be a pair of numbers (equal, different), 'blosum62', or a finite "
                f"symmetric matrix for the {size} letters of the alphabet; got shape {S.shape}."
            )
        return S

    def _alphabet(self):
        return "protein" if self.alphabet is None and isinstance(self.substitution, str) else self.alphabet

    @property
    def psd(self):
        """Whether it is a kernel: without the logarithm, and if e^(β S) is positive semi-definite."""
        letters = alphabet_letters(self._alphabet(), "LocalAlignment") or "ab"
        E = np.exp(float(self.beta) * self._matrix(letters))
        return bool(not self.log and eigen(E)[0].min() >= -1e-12 * E.max())

    def _pair_values(self, A, B):
        beta = float(self._positive("beta"))
        A, B, S = self._scores(A, B)
        costs = np.array([self.gap_open, self.gap_extend], dtype=float)
        if not (np.isfinite(costs).all() and (costs >= 0).all()):
            raise ValueError(f"LocalAlignment: gap_open and gap_extend must be finite and >= 0, got {costs.tolist()}.")
        E, (start, extend) = np.exp(np.minimum(beta * S, 700.0)), np.exp(-beta * costs)
        gaps = (float(start), float(-costs[0] * start), float(extend), float(-costs[1] * extend))
        if E.size and E.max() > 1e60:
            raise ValueError(f"LocalAlignment: e^(β S) is {E.max():.3g} with beta = {beta:g}; take a smaller beta.")

        def pairs(left, right, slope):
            L, D = _native.strings.alignment(A.arrays, B.arrays, left, right, E, S * E, gaps, slope)
            if self.log:
                return L / beta, None if D is None else (D - L / beta) / beta
            with np.errstate(over="ignore"):
                K = np.exp(L)
            if not np.isfinite(K).all():
                raise ValueError(
                    f"LocalAlignment: a sum is e^{L.max():.0f}, beyond float64; use log=True, or a smaller beta."
                )
            return K, None if D is None else K * D

        return pairs

    def _scores(self, A, B):
        """A and B with codes that are rows of the matrix S, and S."""
        letters = alphabet_letters(self._alphabet(), "LocalAlignment")
        if letters is not None:
            return A, B, self._matrix(letters)
        known, codes = np.unique(np.concatenate([A.codes, B.codes]), return_inverse=True)
        codes = codes.astype(np.int64)
        A = type(A)(codes[: len(A.codes)], A.starts, A.stops)
        return A, type(B)(codes[len(A.codes) :], B.starts, B.stops), self._matrix("x" * len(known))


def _blosum62():
    """BLOSUM62 in the order of its letters."""
    S = np.zeros((20, 20))
    for i, row in enumerate(BLOSUM62.replace("\n", "").split("|")):
        S[i, : i + 1] = [float(value) for value in row.split()]
    return S + np.tril(S, -1).T

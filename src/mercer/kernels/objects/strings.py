"""Kernels on strings that count: k-mers, k-mers with mismatches, with gaps, and at their positions."""

from abc import abstractmethod
from itertools import combinations, product
from math import comb

import numpy as np

from mercer.kernels.objects.counts import CountKernel, Counts, LevelKernel, combine, mix
from mercer.kernels.objects.letters import alphabet_letters, encode


def _kmer_keys(codes, starts, offsets, seed):
    """The key of the letters at starts + offsets, for every start."""
    keys = np.full(len(starts), mix(seed)[0])
    for offset in offsets:
        keys = combine(keys, codes[starts + offset])
    return keys


class _WordKernel(CountKernel):
    """A kernel that counts words of strings. A subclass writes ``_words(letters)``, what is counted at each level."""

    most_ways = 200_000  # in which one word is written out or read

    @abstractmethod
    def _words(self, letters):
        """[(rows, keys) or (rows, keys, values) of each level]; see `Counts.build`."""

    def _read(self, items):
        letters = encode(items, type(self).__name__, self.alphabet, self.unknown)
        return Counts.build(len(letters), self._words(letters))

    def _check_size(self, entries, remedy):
        """Refuse words that take more than 5 GB before they are summed up."""
        if entries > 2 * 10**8:
            raise ValueError(f"{type(self).__name__}: {entries:,} words to count are too many; use {remedy}.")


class Spectrum(_WordKernel, LevelKernel):
    """k(x, z) = Σ_k w_k Σ_u |x|_u |z|_u: over all words u of k letters, |x|_u = how often u stands in x.

    A letter is any character, NUL and emoji included, or one of an alphabet. A string shorter than k has no word: its
    row of K is 0. ``Spectrum(3).normalise()`` takes the length out.

    Parameters
    ----------
    k : int or list of int, default=3
        The length of the words, at most 1000, or up to 101 lengths at once.
    weights : float or array-like, default=None
        w_k >= 0, one for each length: hyper-parameters. None is 1 each, fixed.
    alphabet : {"dna", "rna", "protein"} or str, default=None
        The letters that may occur; the named alphabets read small letters as capitals. None is every character.
    unknown : {"error", "skip"}, default="error"
        What a letter outside the alphabet does: an error that names the row, or words that contain it do not count.
    weights_bounds : pair or "fixed", default=None
        What a search may choose; None is (1e-5, 1e5).

    Examples
    --------
    >>> from mercer.kernels import Spectrum
    >>> Spectrum(2)(["abab", "ba", ""])
    array([[5., 1., 0.],
           [1., 1., 0.],
           [0., 0., 0.]])
    >>> Spectrum([1, 2], weights=[0.5, 2.0]).names
    ['weights[0]', 'weights[1]']
    """

    whole_numbers = {"k": (1, 1000)}

    def __init__(self, k=3, weights=None, *, alphabet=None, unknown="error", weights_bounds=None): ...

    def counts(self):
        """Words of these lengths."""
        most = int(np.max(self.k))
        return f"how often {_pieces_words(most, np.size(self.k) > 1)} occur"

    def _lengths(self):
        """The lengths of the words, checked."""
        lengths = [self._whole_number("k", k) for k in np.atleast_1d(np.asarray(self.k, dtype=object))]
        if not lengths or len(set(lengths)) < len(lengths):
            raise ValueError(f"Spectrum: k must be one or several different whole numbers, got {self.k!r}.")
        return lengths

    def _n_levels(self):
        return len(self._lengths())

    def _words(self, letters):
        parts = []
        for k in self._lengths():
            rows, starts = letters.windows(k)
            parts.append((rows, _kmer_keys(letters.codes, starts, range(k), k)))
        return parts


class Mismatch(_WordKernel):
    """k(x, z) = Σ_u |x|_{u,m} |z|_{u,m}, where |x|_{u,m} counts the words of x that differ from u in at most m letters.

    A word of x counts for all its neighbours u, of which there are Σ_{j<=m} C(k, j)(|A| − 1)ʲ in an alphabet A: 1 + 3k
    for DNA and m = 1. They are written out, so m is small; `Gappy` has no such limit.

    Parameters
    ----------
    k : int, default=4
        The length of the words.
    m : int, default=1
        Mismatches allowed, 0 <= m < k; a word has at most 200,000 neighbours.
    alphabet : {"dna", "rna", "protein"} or str, default="dna"
        The letters; the named alphabets read small letters as capitals.
    unknown : {"error", "skip"}, default="error"
        What a letter outside the alphabet does: an error that names the row, or words that contain it do not count.

    Examples
    --------
    >>> from mercer.kernels import Mismatch
    >>> Mismatch(3, 1)(["ACG", "ACT", "TTT"])
    array([[10.,  4.,  0.],
           [ 4., 10.,  2.],
           [ 0.,  2., 10.]])
    """

    whole_numbers = {"k": (1, 1000), "m": (0, 1000)}

    def __init__(self, k=4, m=1, *, alphabet="dna", unknown="error"): ...

    def counts(self):
        """Words of which some letters may differ."""
        return f"how often pieces of {self.k} letters, up to {self.m} of them changed, occur"

    def _checked(self):
        """(k, m, |A|), checked."""
        k, m = self._whole_number("k"), self._whole_number("m")
        letters = alphabet_letters(self.alphabet, "Mismatch")
        if letters is None:
            raise ValueError("Mismatch: give the alphabet; the neighbours of a word are written in it.")
        size = len(letters)
        if m >= k:
            raise ValueError(f"Mismatch: m must be below k, got m = {m} and k = {k}.")
        if size**k >= 2**63:
            raise ValueError(f"Mismatch: {size} letters and k = {k} give more than 2⁶³ words; use a smaller k.")
        ways = 0
        for j in range(m + 1):
            ways += comb(k, j) * max(size - 1, 1) ** j
            if ways > self.most_ways:
                raise ValueError(
                    f"Mismatch: a word of {k} letters has more than {self.most_ways:,} neighbours with {m} mismatches; "
                    "use a smaller m or k, or Gappy."
                )
        return k, m, size

    def _check_parameters(self):
        super()._check_parameters()
        self._checked()

    def _words(self, letters):
        k, m, size = self._checked()
        rows, starts = letters.windows(k)
        neighbours = sum(comb(k, j) * (size - 1) ** j for j in range(m + 1))
        self._check_size(neighbours * len(rows), "a smaller m or k, or Gappy")
        power = size ** np.arange(k, dtype=np.int64)
        word = letters.codes[starts[:, None] + np.arange(k)]  # (words, k) places in the alphabet
        code = word @ power
        keys = []
        for j in range(m + 1):
            for places in combinations(range(k), j):
                for shifts in product(range(1, size), repeat=j):
                    moved = code.copy()
                    for place, shift in zip(places, shifts, strict=True):
                        old = word[:, place]
                        moved += ((old + shift) % size - old) * power[place]
                    keys.append(moved)
        return [(np.tile(rows, len(keys)), np.concatenate(keys))]


class Gappy(_WordKernel):
    """k(x, z) = Σ_u φ_u(x) φ_u(z),  φ_u(x) = Σ over occurrences of u in x with s <= g gaps of λˢ.

    An occurrence of a word u of k letters reads them from left to right and skips s letters in all.

    Parameters
    ----------
    k : int, default=3
        The length of the words.
    gaps : int, default=1
        g >= 0: the most letters that may be skipped. There are C(k − 1 + g, g) ways to read a word of k letters, and
        k times that is at most 200,000.
    decay : float, default=0.5
        λ > 0: what each skipped letter costs.
    alphabet : {"dna", "rna", "protein"} or str, default=None
        The letters that may occur; None is every character.
    unknown : {"error", "skip"}, default="error"
        What a letter outside the alphabet does: an error that names the row, or nothing that spans it counts.
    decay_bounds : pair or "fixed", default=None
        What a search may choose; None is (1e-3, 1).

    Examples
    --------
    >>> from mercer.kernels import Gappy
    >>> Gappy(2, 1, 0.5)(["abc"], ["abc", "ac"])
    array([[2.25, 0.5 ]])
    """

    hyper = {"decay": (1e-3, 1.0)}
    whole_numbers = {"k": (1, 1000), "gaps": (0, 1000)}

    def __init__(self, k=3, gaps=1, decay=0.5, *, alphabet=None, unknown="error", decay_bounds=None): ...

    def counts(self):
        """Words with gaps."""
        return f"how often pieces of {self.k} letters, up to {self.gaps} others between them, occur"

    def _most_gaps(self):
        """(k, g), checked: one letter has no gap."""
        k, gaps = self._whole_number("k"), self._whole_number("gaps")
        if k > 1 and k * comb(k - 1 + gaps, gaps) > self.most_ways:
            raise ValueError(
                f"Gappy: a word of {k} letters with up to {gaps} gaps can be read in too many ways, k·C(k − 1 + g, g) "
                f"> {self.most_ways:,}; use a smaller k or fewer gaps."
            )
        return k, (gaps if k > 1 else 0)

    def _coefficients(self):
        return float(self._positive("decay")) ** np.arange(self._most_gaps()[1] + 1.0)

    def _slopes(self):
        s = np.arange(self._most_gaps()[1] + 1.0)
        return {"decay": (s * float(self.decay) ** (s - 1.0))[None]}

    def _words(self, letters):
        (k, gaps), parts = self._most_gaps(), []
        for s in range(gaps + 1):
            rows, starts = letters.windows(k + s)
            middles = combinations(range(1, k + s - 1), k - 2) if k > 1 else [()]
            last = [k + s - 1] if k > 1 else []
            keys = [_kmer_keys(letters.codes, starts, [0, *middle, *last], k) for middle in middles]
            parts.append((np.tile(rows, len(keys)), np.concatenate(keys)))
        return parts


class WeightedDegree(_WordKernel, LevelKernel):
    """k(x, z) = Σ_{d<=k} w_d Σᵢⱼ (1 − |i − j|/(S + 1))₊ [x and z have the same d letters at i and at j].

    For windows that are aligned, such as DNA around a site: without shift (S = 0) words count only where they stand at
    the same place. Positions count from the start of the string.

    Parameters
    ----------
    k : int, default=3
        The longest word, at most 100 letters.
    shift : int, default=0
        0 <= S <= 1000: how far a word may have moved, the less it counts.
    weights : array-like, default=None
        w₁, …, w_k >= 0: hyper-parameters. None is 2(k − d + 1)/(k(k + 1)), fixed.
    alphabet : {"dna", "rna", "protein"} or str, default=None
        The letters that may occur; None is every character.
    unknown : {"error", "skip"}, default="error"
        What a letter outside the alphabet does: an error that names the row, or words that contain it do not count.
    weights_bounds : pair or "fixed", default=None
        What a search may choose; None is (1e-5, 1e5).

    Examples
    --------
    >>> from mercer.kernels import WeightedDegree
    >>> WeightedDegree(2, weights=[1.0, 10.0])(["ACGT"], ["ACGA", "TACG"])
    array([[23.,  0.]])
    >>> WeightedDegree(1, shift=1)(["ACGT"], ["ACGA", "TACG"])
    array([[3. , 1.5]])
    """

    whole_numbers = {"k": (1, 100), "shift": (0, 1000)}

    def __init__(self, k=3, shift=0, weights=None, *, alphabet=None, unknown="error", weights_bounds=None): ...

    def counts(self):
        """Words of up to this length, at their places."""
        return f"how often {_pieces_words(int(np.max(self.k)), True)} occur at their places"

    def _n_levels(self):
        return self._whole_number("k")

    def _default_weights(self):
        k = self._n_levels()
        return 2.0 * (k - np.arange(k)) / (k * (k + 1.0))

    def _words(self, letters):
        k, shift, parts = self._n_levels(), self._whole_number("shift"), []
        self._check_size(k * (shift + 1) * len(letters.codes), "a smaller k or shift")
        for d in range(1, k + 1):
            rows, starts = letters.windows(d)
            words = _kmer_keys(letters.codes, starts, range(d), d)
            place = starts - letters.starts[rows]
            # A word at i stands in the bins i, …, i + S: two words share S + 1 − |i − j| of them.
            keys = np.concatenate([combine(words, place + s) for s in range(shift + 1)])
            share = np.full(len(keys), 1.0 / np.sqrt(shift + 1.0))
            parts.append((np.tile(rows, shift + 1), keys, share))
        return parts


def _pieces_words(most, shorter):
    """Pieces of so many letters, and of fewer where these count."""
    return "single letters" if most == 1 else f"pieces of {'up to ' if shorter else ''}{most} letters"

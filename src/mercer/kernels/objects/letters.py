"""Letters: strings as arrays of letter codes, in an alphabet or as Unicode code points, checked row by row."""

import reprlib

import numpy as np

ALPHABETS = {"dna": "ACGT", "rna": "ACGU", "protein": "ACDEFGHIKLMNPQRSTVWY"}
UNKNOWN = -1


class Letters:
    """n strings as one array of codes and the ends of each: ``codes[starts[i] : stops[i]]`` is string i.

    A part shares the codes of the whole.
    """

    def __init__(self, codes, starts, stops):
        self.codes, self.starts, self.stops = codes, starts, stops

    def __len__(self):
        return len(self.starts)

    def __getitem__(self, index):
        """The strings of a slice or of an array of indices."""
        return Letters(self.codes, self.starts[index], self.stops[index])

    @property
    def arrays(self):
        """What the loops take."""
        return self.codes, self.starts, self.stops

    def item(self, i):
        """The codes of string i."""
        return self.codes[self.starts[i] : self.stops[i]]

    def windows(self, k):
        """(rows, starts) of every run of k letters; one with an unknown letter is left out."""
        lengths = self.stops - self.starts
        row = np.repeat(np.arange(len(self)), lengths)
        place = np.arange(len(self.codes))
        inside = place + k <= self.stops[row]
        row, place = row[inside], place[inside]
        bad = np.flatnonzero(self.codes == UNKNOWN)
        if bad.size:
            known = np.searchsorted(bad, place) == np.searchsorted(bad, place + k)
            row, place = row[known], place[known]
        return row, place


def alphabet_letters(alphabet, who):
    """The letters of an alphabet by its name or as a string of its letters; None for every character."""
    if alphabet is None:
        return None
    if not isinstance(alphabet, str) or not alphabet:
        raise ValueError(f"{who}: alphabet must be one of {', '.join(ALPHABETS)}, a string of letters, or None.")
    letters = ALPHABETS.get(alphabet, alphabet)
    if len(set(letters)) < len(letters):
        raise ValueError(f"{who}: the alphabet {alphabet!r} has a letter twice.")
    return letters


def encode(items, who, alphabet=None, unknown="error"):
    """Return `Letters` of strings or bytes: code points, or places in the alphabet.

    The named alphabets (dna, rna, protein) read small letters as capitals. What is not in the alphabet is an error
    that names the row and the letter, or (``unknown="skip"``) the code −1.
    """
    if unknown not in ("error", "skip"):
        raise ValueError(f"{who}: unknown must be 'error' or 'skip', got {unknown!r}.")
    texts = []
    for i, item in enumerate(items):
        if isinstance(item, bytes | bytearray):
            item = bytes(item).decode("latin-1")  # a byte is the code point of its value
        if not isinstance(item, str):
            raise TypeError(f"{who}: row {i}: expected a string or bytes, got {reprlib.repr(item)} "
                            f"({type(item).__name__}).")  # fmt: skip
        texts.append(item)
    lengths = np.array([len(text) for text in texts], dtype=np.int64)
    stops = np.cumsum(lengths)
    joined = "".join(texts).encode("utf-32-le", "surrogatepass")
    codes = np.frombuffer(joined, dtype="<u4").astype(np.int64)
    letters = alphabet_letters(alphabet, who)
    if letters is not None:
        codes = _places_in_alphabet(codes, letters, alphabet in ALPHABETS)
        bad = np.flatnonzero(codes == UNKNOWN)
        if bad.size and unknown == "error":
            row = int(np.searchsorted(stops, bad[0], side="right"))
            letter = texts[row][bad[0] - (stops[row] - lengths[row])]
            raise ValueError(
                f"{who}: row {row}: the letter {letter!r} is not in the alphabet {letters!r} ({bad.size} such "
                "letters). Use unknown='skip' to leave out what contains one, or give the alphabet that has it."
            )
    return Letters(codes, stops - lengths, stops)


def _places_in_alphabet(codes, letters, fold):
    """The place of each code in the alphabet, −1 for what is not in it."""
    table = {}
    for place, letter in enumerate(letters):
        table[ord(letter)] = place
        if fold:
            table[ord(letter.lower())] = place
    known = np.array(sorted(table), dtype=np.int64)
    value = np.array([table[code] for code in known], dtype=np.int64)
    at = np.minimum(np.searchsorted(known, codes), len(known) - 1)
    return np.where(known[at] == codes, value[at], UNKNOWN)

"""Molecules written as SMILES, read by RDKit (extra ``chem``), and the counts of the environments of their atoms."""

import re

import numpy as np

from mercer.kernels.objects.counts import Counts, LevelKernel, combine
from mercer.kernels.words import distance_words

ADVICE = 'AtomEnvironments reads SMILES with RDKit 2026.3 or newer: pip install "mercer[chem]".'
ISOTOPE = re.compile(r"\[\d")


class AtomEnvironments(LevelKernel):
    """k(x, z) = Σᵣ wᵣ Σ_e |x|_e |z|_e: over all environments e of radius r, |x|_e = how often e is in x.

    Inputs are SMILES, read and made sound by RDKit: what is aromatic is decided by the rings, not by small letters, so
    that all spellings of a molecule are one. The environment of radius 0 is an atom: element, charge, hydrogens,
    neighbours, in a ring or not; that of radius r + 1 is that of radius r with those of its neighbours and the bonds to
    them. These are the counts of Morgan fingerprints (ECFP), not folded; an environment with the same bonds as another
    or as a smaller one is counted once. `TanimotoOf` makes it the usual similarity of molecules.

    Isotopes are left aside, and so is what follows the first blank, a name. All parts of a salt count. The empty string
    has no atom.

    Parameters
    ----------
    radius : int, default=2
        The largest radius.
    weights : array-like of shape (radius + 1,), default=None
        wᵣ >= 0, one for each radius: hyper-parameters. None is 1 each, fixed.
    unary : bool, default=False
        Whether the second, third, … occurrence of an environment counts as a feature of its own: then `TanimotoOf` is
        the min-max kernel of the counts, RDKit's Tanimoto similarity of count fingerprints.
    stereo : bool, default=False
        Whether mirror images, and cis and trans, are different molecules.
    weights_bounds : pair or "fixed", default=None
        What a search may choose; None is (1e-5, 1e5).

    Notes
    -----
    RDKit tells environments by 32 bits: among 10 000 different ones two coincide with a probability of 1 %. Equal rows
    are merged by their text; molecules in several spellings give the same model without that.

    Examples
    --------
    >>> from mercer.kernels import AtomEnvironments, TanimotoOf
    >>> AtomEnvironments(0)(["CCO", "CO", ""])
    array([[3., 2., 0.],
           [2., 2., 0.],
           [0., 0., 0.]])
    >>> TanimotoOf(AtomEnvironments(2))(["c1ccccc1O", "C1=CC=CC=C1O", "c1ccccc1N"]).round(3)
    array([[1.   , 1.   , 0.733],
           [1.   , 1.   , 0.733],
           [0.733, 0.733, 1.   ]])
    """

    whole_numbers = {"radius": (0, 100)}

    def __init__(self, radius=2, weights=None, *, unary=False, stereo=False, weights_bounds=None): ...

    def counts(self):
        """Atoms with their neighbourhoods."""
        return f"how often atoms occur with what is {distance_words(self.radius, 'bond')}"

    def _n_levels(self):
        return self._whole_number("radius") + 1

    def _read(self, items):
        levels = [([], []) for _ in range(self._n_levels())]
        for row, found in enumerate(_environments(items, self.radius, bool(self.stereo))):
            for key, places in found.items():
                rows, keys = levels[places[0][1]]
                rows.extend([row] * len(places))
                keys.extend([key] * len(places))
        parts = []
        for radius, (rows, keys) in enumerate(levels):
            keys = combine(np.array(keys, dtype=np.uint64), radius)
            parts.append(self._features(np.array(rows, dtype=np.int64), keys))
        return Counts.build(len(items), parts)

    def _features(self, rows, keys):
        """(rows, keys); with ``unary`` a key of its own for the first, second, … occurrence of an environment."""
        if not self.unary or not len(rows):
            return rows, keys
        order = np.lexsort((keys, rows))
        rows, keys = rows[order], keys[order]
        fresh = np.ones(len(rows), dtype=bool)
        fresh[1:] = (rows[1:] != rows[:-1]) | (keys[1:] != keys[:-1])
        place = np.arange(len(rows))
        return rows, combine(keys, place - np.maximum.accumulate(np.where(fresh, place, 0)))


# ---------------------------------------------------------------------- RDKit
def _environments(items, radius, stereo, longest=10_000):
    """{key: ((atom, radius), …)} of each SMILES; an error names the row, the text and RDKit's reason.

    What RDKit needs grows with the square of the letters, of which there may be ``longest``.
    """
    try:
        from rdkit.Chem import rdFingerprintGenerator as fingerprints
        from rdkit.rdBase import BlockLogs, CaptureErrorLog
    except ImportError as error:
        raise ImportError(ADVICE) from error
    generator = fingerprints.GetMorganGenerator(radius=radius, includeChirality=stereo)
    with BlockLogs():  # which would write to the terminal; they are as they were afterwards
        for row, item in enumerate(items):
            if not isinstance(item, str):
                raise TypeError(f"AtomEnvironments: row {row}: a SMILES is a string, got {type(item).__name__}.")
            with CaptureErrorLog() as log:
                molecule = _molecule(item) if len(item) <= longest else None
            if molecule is None:
                long = f"it has {len(item):,} letters, more than {longest:,}" if len(item) > longest else ""
                raise ValueError(f"AtomEnvironments: row {row}: {item[:60]!r}: {long or _reason(log.messages)}.")
            found = fingerprints.AdditionalOutput()
            found.AllocateBitInfoMap()
            generator.GetSparseCountFingerprint(molecule, additionalOutput=found)
            yield found.GetBitInfoMap()


def _molecule(text):
    """RDKit's molecule of a SMILES without isotopes, or None."""
    from rdkit import Chem

    if "\0" in text:  # RDKit would stop reading at the NUL
        return None
    molecule = Chem.MolFromSmiles((text.split() or [""])[0])
    if molecule is not None and ISOTOPE.search(text):
        for atom in molecule.GetAtoms():
            atom.SetIsotope(0)
        molecule = Chem.RemoveHs(molecule)
        Chem.AssignStereochemistry(molecule, cleanIt=True, force=True)
    return molecule


def _reason(log):
    """Why a SMILES is refused: RDKit's first complaint, and the place, if it says one."""
    said = re.sub(r"(?m)^\[[\d:]+\] *(SMILES Parse Error: *)?", "", log).strip()
    place = re.search(r"around position (\d+)", said)
    first = re.split(r" while parsing:| for input:|\n", said)[0] or "RDKit cannot read it"
    return f"{first} at position {place[1]}" if place else first

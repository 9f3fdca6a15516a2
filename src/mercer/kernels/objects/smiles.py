"""Molecules written as SMILES: a reader, and the counts of the environments of their atoms."""

import re

import numpy as np

from mercer.kernels.dot import whole
from mercer.kernels.objects.counts import Counts, LevelKernel, combine, mix

ELEMENTS = (
    "* H He Li Be B C N O F Ne Na Mg Al Si P S Cl Ar K Ca Sc Ti V Cr Mn Fe Co Ni Cu Zn Ga Ge As Se Br Kr Rb Sr Y Zr Nb "
    "Mo Tc Ru Rh Pd Ag Cd In Sn Sb Te I Xe Cs Ba La Ce Pr Nd Pm Sm Eu Gd Tb Dy Ho Er Tm Yb Lu Hf Ta W Re Os Ir Pt Au "
    "Hg Tl Pb Bi Po At Rn Fr Ra Ac Th Pa U Np Pu Am Cm Bk Cf Es Fm Md No Lr"
).split()
NUMBER = {symbol: number for number, symbol in enumerate(ELEMENTS)}
VALENCES = {"B": (3,), "C": (4,), "N": (3, 5), "O": (2,), "P": (3, 5), "S": (2, 4, 6), "F": (1,), "Cl": (1,),
            "Br": (1,), "I": (1,)}  # fmt: skip
ORDER = {"-": 1, "=": 2, "#": 3, "$": 4, ":": 1, "/": 1, "\\": 1}
AROMATIC = 5  # the code of an aromatic bond; the others are their order
TOKEN = re.compile(
    r"(?P<bracket>\[[^\[\]]*\])|(?P<atom>Cl|Br|[BCNOPSFI*]|[bcnops])|(?P<bond>[-=#$:/\\])|(?P<ring>%\d\d|\d)"
    r"|(?P<open>\()|(?P<close>\))|(?P<dot>\.)"
)
BRACKET = re.compile(
    r"\[(?P<isotope>\d*)(?P<symbol>[A-Z][a-z]?|[a-z][a-z]?|\*)(?P<chiral>@{0,2}(?:[A-Z]{2}\d+)?)"
    r"(?P<hydrogens>H\d*)?(?P<charge>\+\d+|-\d+|\++|-+)?(?P<name>:\d+)?\]"
)


class Molecule:
    """The atoms that a SMILES writes down, and their bonds; filled by `read_smiles`.

    Attributes
    ----------
    atoms : list of (number, aromatic, hydrogens or None, charge)
        None: as many hydrogens as the usual valence leaves.
    bonds : list of (i, j, code)
        Code 1 to 4 is the order of the bond, 5 an aromatic one.
    """

    def __init__(self):
        self.atoms, self.bonds = [], []

    def bond(self, i, j, symbol):
        """Append a bond; without a symbol it is aromatic between two aromatic atoms, else single."""
        if i == j or any({i, j} == {a, b} for a, b, _ in self.bonds):
            raise ValueError("the ring closes at an atom that is bonded already")
        both = self.atoms[i][1] and self.atoms[j][1]
        code = AROMATIC if symbol == ":" or (symbol is None and both) else ORDER[symbol or "-"]
        self.bonds.append((i, j, code))

    def ring(self):
        """Numbers of the bonds that are in a ring: a bond outside a spanning tree, and the tree between its ends."""
        around = [[] for _ in self.atoms]
        for number, (i, j, _) in enumerate(self.bonds):
            around[i].append((j, number))
            around[j].append((i, number))
        above, depth, tree = {}, {}, set()
        for root in range(len(self.atoms)):
            waiting = [] if root in depth else [root]
            depth.setdefault(root, 0)
            for i in waiting:  # grows while it is read
                for j, number in around[i]:
                    if j not in depth:
                        depth[j], above[j] = depth[i] + 1, (i, number)
                        tree.add(number)
                        waiting.append(j)
        found = set(range(len(self.bonds))) - tree
        for number in list(found):
            i, j, _ = self.bonds[number]
            while i != j:
                i, j = (i, j) if depth[i] >= depth[j] else (j, i)
                i, step = above[i]
                found.add(step)
        return found

    def hydrogens(self):
        """Hydrogens on every atom: those in brackets, else what the smallest fitting valence leaves."""
        used = np.zeros(len(self.atoms))
        for i, j, code in self.bonds:
            used[[i, j]] += 1 if code == AROMATIC else code
        out = []
        for (number, aromatic, given, _), sum_ in zip(self.atoms, used, strict=True):
            if given is not None:
                out.append(given)
                continue
            valences = VALENCES.get(ELEMENTS[number], (0,))
            need = sum_ + aromatic
            fitting = [v for v in (valences[:1] if aromatic else valences) if v >= need]
            out.append(int(fitting[0] - need) if fitting else 0)
        return out


def _bracket(text):
    """(number, aromatic, hydrogens, charge) of an atom in brackets; isotope, chirality and name are left aside."""
    match = BRACKET.fullmatch(text)
    symbol = match["symbol"] if match else ""
    if symbol.capitalize() not in NUMBER:
        raise ValueError(f"{text} is no atom")
    hydrogens, charge = match["hydrogens"] or "", match["charge"] or ""
    count = int(hydrogens[1:] or 1) if hydrogens else 0
    size = int(charge[1:]) if charge[1:].isdigit() else len(charge)
    return NUMBER[symbol.capitalize()], symbol.islower(), count, -size if charge.startswith("-") else size


def _ring_bond(first, second, number):
    """The bond of a ring, which may be written at either end, and must be the same where it is at both."""
    if first and second and ORDER[first] != ORDER[second]:
        raise ValueError(f"ring {number} opens with the bond {first!r} and closes with {second!r}")
    return first or second


def read_smiles(text):
    """Return the `Molecule` of a SMILES, which ends at the first blank: what follows is a name.

    Isotopes, chirality and cis/trans are left aside; aromatic is what is written so.

    Parameters
    ----------
    text : str
        The empty string is a molecule without atoms.

    Raises
    ------
    ValueError
        With the position.
    """
    text = (text.split() or [""])[0]
    molecule, previous, symbol, branches, rings, at = Molecule(), None, None, [], {}, 0
    while at < len(text):
        match = TOKEN.match(text, at)
        if match is None:
            raise ValueError(f"position {at + 1}: {text[at]!r} is not part of a SMILES")
        kind, token = match.lastgroup, match[0]
        try:
            if kind in ("atom", "bracket"):
                plain = (NUMBER[token.capitalize()], token.islower(), None, 0) if kind == "atom" else _bracket(token)
                molecule.atoms.append(plain)
                if previous is not None:
                    molecule.bond(previous, len(molecule.atoms) - 1, symbol)
                previous, symbol = len(molecule.atoms) - 1, None
            elif symbol is not None and kind != "ring":
                raise ValueError(f"the bond {symbol!r} leads to no atom")
            elif kind == "dot":
                previous = None
            elif previous is None:
                raise ValueError(f"{token!r} follows no atom")
            elif kind == "bond":
                symbol = token
            elif kind == "open":
                branches.append(previous)
            elif kind == "close":
                if not branches:
                    raise ValueError("')' without '('")
                previous = branches.pop()
            else:
                number = int(token.strip("%"))
                if number in rings:
                    start, first = rings.pop(number)
                    molecule.bond(start, previous, _ring_bond(first, symbol, number))
                else:
                    rings[number] = (previous, symbol)
                symbol = None
        except ValueError as error:
            raise ValueError(f"position {at + 1}: {error}") from None
        at = match.end()
    if symbol is not None:
        raise ValueError(f"position {len(text) + 1}: the bond {symbol!r} leads to no atom")
    if branches or rings:
        what = f"ring {min(rings)} is" if rings else f"{len(branches)} '(' are"
        raise ValueError(f"position {len(text) + 1}: {what} not closed")
    return molecule


class AtomEnvironments(LevelKernel):
    """k(x, z) = Σᵣ wᵣ Σ_e |x|_e |z|_e: over all environments e of radius r, |x|_e = how many atoms of x have it.

    Inputs are SMILES. The environment of radius 0 is the atom: element, charge, hydrogens, neighbours, aromatic or not,
    in a ring or not; that of radius r + 1 is that of radius r with those of its neighbours and the bonds to them
    (circular fingerprints, not folded). `TanimotoOf` makes it the usual similarity of molecules. Aromatic is what is
    written in small letters; isotopes, chirality and cis/trans are left aside. The empty string has no atom.

    Parameters
    ----------
    radius : int, default=2
        The largest radius.
    weights : array-like of shape (radius + 1,), default=None
        wᵣ >= 0, one for each radius: hyper-parameters. None is 1 each, fixed.
    unary : bool, default=False
        Whether the second, third, … atom with an environment counts as a feature of its own: then `TanimotoOf` is the
        min-max kernel of the counts.
    weights_bounds : pair or "fixed", default=None
        What a search may choose; None is (1e-5, 1e5).

    Examples
    --------
    >>> from mercer.kernels import AtomEnvironments, TanimotoOf
    >>> AtomEnvironments(0)(["CCO", "CO", ""])
    array([[3., 2., 0.],
           [2., 2., 0.],
           [0., 0., 0.]])
    >>> TanimotoOf(AtomEnvironments(1))(["CCO", "OCC", "CCN"]).round(3)
    array([[1.   , 1.   , 0.333],
           [1.   , 1.   , 0.333],
           [0.333, 0.333, 1.   ]])
    """

    def __init__(self, radius=2, weights=None, *, unary=False, weights_bounds=None):
        self.radius = radius
        self.weights = weights
        self.unary = unary
        self.weights_bounds = weights_bounds

    def _n_levels(self):
        return whole(self.radius, "AtomEnvironments: radius", 0) + 1

    def _count(self, items):
        rows, atoms, bonds = _all_atoms(items)
        keys = mix(np.zeros(len(rows), dtype=np.uint64))
        for column in atoms.T:
            keys = combine(keys, column)
        ends = np.concatenate([bonds[:, :2], bonds[:, 1::-1]])  # each bond from both its ends
        code = np.tile(bonds[:, 2], 2)
        parts = []
        for radius in range(self._n_levels()):
            parts.append(self._features(rows, combine(keys, radius)))
            around = np.zeros(len(rows), dtype=np.uint64)
            np.add.at(around, ends[:, 0], combine(keys[ends[:, 1]], code))  # a sum: in any order
            keys = combine(keys, around)
        return Counts.build(len(items), parts)

    def _features(self, rows, keys):
        """(rows, keys); with ``unary`` a key of its own for the first, second, … atom of the same environment."""
        if not self.unary:
            return rows, keys
        order = np.lexsort((keys, rows))
        rows, keys = rows[order], keys[order]
        fresh = np.ones(len(rows), dtype=bool)
        fresh[1:] = (rows[1:] != rows[:-1]) | (keys[1:] != keys[:-1])
        place = np.arange(len(rows))
        return rows, combine(keys, place - np.maximum.accumulate(np.where(fresh, place, 0)))

    def sample(self, n, rng):
        """Return n SMILES; the last is empty."""
        pieces = ["C", "O", "N", "c1ccccc1", "C(=O)O", "S", "C#N", "Cl", "[NH3+]"]
        return ["".join(rng.choice(pieces[:6], rng.integers(1, 5))) + str(rng.choice(pieces)) for _ in range(n - 1)] + [
            ""
        ]

    @classmethod
    def examples(cls):
        """Counts, with weights, unary."""
        return [cls(1), cls(2, weights=[1.0, 0.5, 2.0]), cls(2, unary=True)]


def _all_atoms(items):
    """(row of each atom, invariants of each atom, bonds) of all molecules, atoms numbered through."""
    rows, invariants, bonds, used = [], [], [], 0
    for row, item in enumerate(items):
        if not isinstance(item, str):
            raise TypeError(f"AtomEnvironments: row {row}: a SMILES is a string, got {type(item).__name__}.")
        try:
            molecule = read_smiles(item)
        except ValueError as error:
            raise ValueError(f"AtomEnvironments: row {row}: {item!r}: {error}.") from None
        degree, ring = np.zeros(len(molecule.atoms), dtype=int), np.zeros(len(molecule.atoms), dtype=int)
        in_ring = molecule.ring()
        for number, (i, j, code) in enumerate(molecule.bonds):
            degree[[i, j]] += 1
            if number in in_ring:
                ring[[i, j]] = 1
            bonds.append((used + i, used + j, code))
        for (number, aromatic, _, charge), h, d, r in zip(
            molecule.atoms, molecule.hydrogens(), degree, ring, strict=True
        ):
            invariants.append((number, int(aromatic), h, charge + 100, d, r))
            rows.append(row)
        used += len(molecule.atoms)
    return (
        np.array(rows, dtype=np.int64),
        np.array(invariants, dtype=np.int64).reshape(-1, 6),
        np.array(bonds, dtype=np.int64).reshape(-1, 3),
    )

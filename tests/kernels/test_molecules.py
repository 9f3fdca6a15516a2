"""Tanimoto and min-max on counts, dense and sparse; SMILES and the environments of atoms."""

import csv
import re

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.model_selection import cross_val_score

from mercer import GaussianProcessRegressor, KernelRidge
from mercer.kernels import AtomEnvironments, Gaussian, Linear, MinMax, Spectrum, Tanimoto, TanimotoOf, parse_kernel
from mercer.kernels.objects.molecules import SparseRows
from mercer.kernels.objects.smiles import ELEMENTS, read_smiles
from mercer.selection import LOO
from mercer.testing import check_kernel


def counts(rng, n, d=7):
    """Rows of counts; the last has none."""
    X = rng.poisson(1.0, (n, d)).astype(float)
    X[-1] = 0.0
    return X


def by_hand(x, z, kind):
    if kind is Tanimoto:
        part, whole = x @ z, x @ x + z @ z - x @ z
    else:
        part, whole = np.minimum(x, z).sum(), np.maximum(x, z).sum()
    return part / whole if whole else 1.0


# ---------------------------------------------------------------------- rows of counts
@pytest.mark.parametrize("kind", [Tanimoto, MinMax])
@pytest.mark.parametrize("real", [False, True])
def test_values_dense_and_sparse(rng, kind, real):
    X, Z = counts(rng, 9), counts(rng, 6)
    if real:
        X, Z = X * rng.random(X.shape), Z * rng.random(Z.shape)
    expected = [[by_hand(x, z, kind) for z in Z] for x in X]
    kernel = kind()
    np.testing.assert_allclose(kernel(X, Z), expected, atol=1e-14)
    for make in (sparse.csr_array, sparse.csc_matrix, sparse.coo_array):
        np.testing.assert_allclose(kernel(make(X), make(Z)), expected, atol=1e-14)
    np.testing.assert_allclose(kernel(sparse.csr_array(X), Z), expected, atol=1e-14)
    np.testing.assert_allclose(kernel(X, sparse.csr_array(Z)), expected, atol=1e-14)
    check_kernel(kernel, sparse.csr_array(X))


@pytest.mark.parametrize("kind", [Tanimoto, MinMax])
def test_positive_semidefinite_on_many_counts(rng, kind):
    K = kind()(rng.poisson(0.7, (150, 12)))
    assert kind().psd and np.linalg.eigvalsh(K).min() > -1e-11 * 150


def test_tanimoto_is_psd_on_real_rows_too(rng):
    K = Tanimoto()(rng.standard_normal((80, 3)))
    assert np.linalg.eigvalsh(K).min() > -1e-11 * 80


def test_sparse_rows_with_explicit_zeros_duplicates_and_nothing():
    stored = sparse.coo_array(([1.0, 1.0, 0.0], ([0, 0, 1], [2, 2, 1])), shape=(2, 4))
    dense = stored.toarray()
    for kernel in (Tanimoto(), MinMax()):
        np.testing.assert_allclose(kernel(stored), kernel(dense))
        np.testing.assert_allclose(kernel(sparse.csr_array((3, 4))), np.ones((3, 3)))
        assert kernel(SparseRows(sparse.csr_array((0, 4))), stored).shape == (0, 2)
    assert stored.nnz == 3  # the input is left alone


def test_bad_counts_are_refused(rng):
    with pytest.raises(ValueError, match="row 1 has -2"):
        MinMax()([[1.0, 2.0], [0.0, -2.0]])
    with pytest.raises(ValueError, match="row 1 has -2"):
        MinMax()(sparse.csr_array([[1.0, 2.0], [0.0, -2.0]]))
    for kernel in (Tanimoto(), MinMax()):
        for bad in (np.nan, np.inf):
            with pytest.raises(ValueError, match=rf"X\[1, 0\] is {bad} \(1 entries of X are not finite\)"):
                kernel([[1.0, 2.0], [bad, 2.0]])
        with pytest.raises(ValueError, match="not finite"):
            kernel(sparse.csr_array([[np.nan, 2.0]]))
        with pytest.raises(ValueError, match="must agree"):
            kernel(sparse.csr_array((2, 3)), sparse.csr_array((2, 4)))
        with pytest.raises(TypeError, match="no derivative"):
            kernel.dx(sparse.csr_array((2, 3)), sparse.csr_array((2, 3)))


@pytest.mark.parametrize("make", [np.asarray, sparse.csr_array])
def test_estimators_take_counts(rng, make):
    X = rng.poisson(1.0, (60, 8))
    y = np.log1p(X[:, 0]) + 0.3 * X[:, 1]
    model = KernelRidge(MinMax(), 1e-2)
    assert clone(model).fit(make(X), y).score(make(X), y) > 0.9
    assert cross_val_score(model, make(X), y, cv=3).mean() > 0.5
    gp = GaussianProcessRegressor(1.0 * Tanimoto(), random_state=0).fit(make(X), y)
    assert gp.predict(make(X[:4])).shape == (4,)


# ---------------------------------------------------------------------- Tanimoto of a kernel
def test_tanimoto_of_the_linear_kernel_is_tanimoto(rng):
    X = counts(rng, 8)
    np.testing.assert_allclose(TanimotoOf(Linear())(X), Tanimoto()(X), atol=1e-14)


def test_tanimoto_of_words_and_its_gradient():
    kernel = TanimotoOf(Spectrum([1, 2], weights=[0.5, 2.0]))
    assert kernel.domain == "objects" and kernel.psd
    check_kernel(kernel)
    words = ["CCO", "CCN", "", "O"]
    features = Spectrum(2).features(words).toarray()
    np.testing.assert_allclose(TanimotoOf(Spectrum(2))(words), Tanimoto()(features), atol=1e-14)


# ---------------------------------------------------------------------- SMILES
@pytest.mark.parametrize(
    "smiles, formula, bonds, in_rings",
    [
        ("", {}, 0, 0),
        ("C", {"C": 1, "H": 4}, 0, 0),
        ("CCO", {"C": 2, "H": 6, "O": 1}, 2, 0),
        ("C#N", {"C": 1, "H": 1, "N": 1}, 1, 0),
        ("c1ccccc1", {"C": 6, "H": 6}, 6, 6),
        ("C1CC1CC1CC1", {"C": 7, "H": 12}, 8, 6),
        ("c1ccc2ccccc2c1", {"C": 10, "H": 8}, 11, 11),
        ("c1cc[nH]c1", {"C": 4, "H": 5, "N": 1}, 5, 5),
        ("c1ccsc1", {"C": 4, "H": 4, "S": 1}, 5, 5),
        ("CC(=O)Oc1ccccc1C(=O)O", {"C": 9, "H": 8, "O": 4}, 13, 6),
        ("Cn1cnc2c1c(=O)n(C)c(=O)n2C", {"C": 8, "H": 10, "N": 4, "O": 2}, 15, 10),
        ("C[N+](C)(C)CC(=O)[O-]", {"C": 5, "H": 11, "N": 1, "O": 2}, 7, 0),
        ("[Na+].[Cl-]", {"Na": 1, "Cl": 1}, 0, 0),
        ("N[C@@H](C)C(=O)O", {"C": 3, "H": 7, "N": 1, "O": 2}, 5, 0),
        ("F/C=C/Br", {"F": 1, "C": 2, "Br": 1, "H": 2}, 3, 0),
        ("C%12CCCCC%12", {"C": 6, "H": 12}, 6, 6),
        ("CS(=O)(=O)N", {"C": 1, "S": 1, "O": 2, "N": 1, "H": 5}, 4, 0),
        ("[13CH4:7] methane", {"C": 1, "H": 4}, 0, 0),
        ("C1CC1.C1CC1", {"C": 6, "H": 12}, 6, 6),
        ("C1.C1", {"C": 2, "H": 6}, 1, 0),
        ("C12.C1CC2", {"C": 4, "H": 8}, 4, 4),
    ],
)
def test_molecules_are_read(smiles, formula, bonds, in_rings):
    molecule = read_smiles(smiles)
    found = {"H": sum(molecule.hydrogens())} if sum(molecule.hydrogens()) else {}
    for number, *_ in molecule.atoms:
        found[ELEMENTS[number]] = found.get(ELEMENTS[number], 0) + 1
    assert found == formula
    assert (len(molecule.bonds), len(molecule.ring())) == (bonds, in_rings)


@pytest.mark.parametrize(
    "bad, why",
    [
        ("C(", r"position 3: 1 '\(' are not closed"), ("C)", r"position 2: '\)' without"), ("C1CC", "ring 1 is not"),
        ("C?C", "position 2: '\\?'"), ("[Xx]", "position 1: .* no atom"), ("=C", "follows no atom"), ("C11", "bonded"),
        ("😀", "position 1"), ("C\0", "position 2"), ("[", "position 1"), ("C12CC12", "bonded already"),
    ],
)  # fmt: skip
def test_bad_smiles_are_refused_with_row_and_position(bad, why):
    with pytest.raises(ValueError, match=why):
        read_smiles(bad)
    with pytest.raises(ValueError, match="row 1"):
        AtomEnvironments()(["CC", bad])


def test_what_is_no_string_is_refused():
    with pytest.raises(TypeError, match="row 1: a SMILES is a string, got int"):
        AtomEnvironments()(["CC", 3])


@pytest.mark.parametrize(
    "one, other",
    [("CCO", "OCC"), ("c1ccccc1C", "Cc1ccccc1"), ("CC(=O)Oc1ccccc1C(=O)O", "OC(=O)c1ccccc1OC(C)=O"),
     ("C1CC1CC", "CCC2CC2"), ("N[C@@H](C)C", "N[C@H](C)C"), ("C.O", "O.C")],
)  # fmt: skip
def test_the_way_of_writing_does_not_matter(one, other):
    K = AtomEnvironments(3)([one, other])
    assert K[0, 0] == K[0, 1] == K[1, 1]


@pytest.mark.parametrize("one, other", [("CCO", "CCN"), ("C=C", "CC"), ("CCCC", "C1CCC1"), ("C[O-]", "CO"),
                                        ("CC(C)C", "CCCC"), ("c1ccccc1", "C1CCCCC1")])  # fmt: skip
def test_different_molecules_differ(one, other):
    assert TanimotoOf(AtomEnvironments(2))([one, other])[0, 1] < 1.0


def test_unary_makes_it_the_min_max_kernel():
    molecules = ["CCO", "CCCCO", "c1ccccc1CC", "", "CC(=O)Oc1ccccc1C(=O)O", "OCC"]
    features = AtomEnvironments(2).features(molecules)
    np.testing.assert_allclose(TanimotoOf(AtomEnvironments(2, unary=True))(molecules), MinMax()(features), atol=1e-14)
    np.testing.assert_allclose(TanimotoOf(AtomEnvironments(2))(molecules), Tanimoto()(features), atol=1e-14)


def test_weights_of_radii_and_text():
    kernel = TanimotoOf(AtomEnvironments(1, weights=[1.0, 0.5]))
    check_kernel(kernel)
    assert parse_kernel(repr(kernel)) == kernel


def test_a_list_of_radii_is_searched():
    smiles = ["C" * n + end for n in range(1, 13) for end in ("", "O", "N")]
    y = np.array([len(s) + 2.0 * s.endswith("O") for s in smiles])
    kernels = [TanimotoOf(AtomEnvironments(r)) for r in (0, 1, 2)]
    model = KernelRidge(kernels, criterion=LOO()).fit(smiles, y)
    assert model.kernel_ in kernels and model.score(smiles, y) > 0.9
    combined = 0.5 * kernels[0] + TanimotoOf(Spectrum(2)) * Gaussian().transform(lengths)
    assert KernelRidge(combined, 1e-3).fit(smiles, y).score(smiles, y) > 0.9


def lengths(smiles):
    return np.array([[float(len(s))] for s in smiles])


@pytest.mark.parametrize("name, bars", [("esol", 1128), ("lipophilicity", 4200)])
def test_real_molecules_are_all_read(shared_data, name, bars):
    with open(shared_data / "structured" / f"{name}.csv", encoding="utf-8") as stream:
        smiles = [row["smiles"] for row in csv.DictReader(stream)]
    assert len(smiles) == bars
    phi = AtomEnvironments(1).features(smiles)
    assert phi.shape[0] == bars and (phi.sum(axis=1) > 0).all()


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("CC=", "position 4: the bond '=' leads to no atom"),
        ("C==C", "position 3: the bond '=' leads to no atom"),
        ("C=.C", "position 3: the bond '=' leads to no atom"),
        ("C(=)C", "position 4: the bond '=' leads to no atom"),
        ("C=(C)C", "position 3: the bond '=' leads to no atom"),
        ("C=1CC#1", "position 7: ring 1 opens with the bond '=' and closes with '#'"),
    ],
)
def test_a_bond_leads_to_an_atom_and_a_ring_has_one_bond(text, message):
    with pytest.raises(ValueError, match=re.escape(message)):
        read_smiles(text)


@pytest.mark.parametrize("text", ["C=1CCCCC=1", "C=1CCCCC1", "C1CCCCC=1", "F/C=C/F", "C/1=C/CCCC1"])
def test_rings_and_directions_that_are_well_written(text):
    assert AtomEnvironments(1)([text])[0, 0] > 0

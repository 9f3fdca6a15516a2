"""Tanimoto and min-max on counts, dense and sparse; SMILES and the environments of atoms."""

import csv
import re
import sys

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.model_selection import cross_val_score

from examples_of_every_kernel import random_strings, sample
from mercer import GaussianProcessRegressor, KernelRidge, load
from mercer.kernels import AtomEnvironments, Gaussian, Linear, MinMax, Spectrum, Tanimoto, TanimotoOf, parse_kernel
from mercer.kernels.objects.molecules import SparseRows
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
            with pytest.raises(ValueError, match=rf"X\[1, 0\] is {bad}"):
                kernel([[1.0, 2.0], [bad, 2.0]])
        with pytest.raises(ValueError, match="finite"):
            kernel(sparse.csr_array([[np.nan, 2.0]]))
        with pytest.raises(ValueError, match="columns"):
            kernel(sparse.csr_array((2, 3)), sparse.csr_array((2, 4)))
        with pytest.raises(TypeError, match="derivative"):
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
    check_kernel(kernel, random_strings(13, np.random.default_rng(0)))
    words = ["CCO", "CCN", "", "O"]
    features = Spectrum(2).features(words).toarray()
    np.testing.assert_allclose(TanimotoOf(Spectrum(2))(words), Tanimoto()(features), atol=1e-14)


# ---------------------------------------------------------------------- SMILES
SAME = [
    ("CCO", "OCC"), ("c1ccccc1C", "Cc1ccccc1"), ("C1CC1CC", "CCC2CC2"), ("C.O", "O.C"), ("C1.C1", "CC"),
    ("CC(=O)Oc1ccccc1C(=O)O", "OC(=O)c1ccccc1OC(C)=O"), ("C%12CCCCC%12", "C1CCCCC1"),
    # Kekulé's spelling and the aromatic one
    ("C1=CC=CC=C1", "c1ccccc1"), ("C1=CC=C2C=CC=CC2=C1", "c1ccc2ccccc2c1"), ("C1=CNC=C1", "c1cc[nH]c1"),
    ("CN1C=NC2=C1C(=O)N(C)C(=O)N2C", "Cn1cnc2c1c(=O)n(C)c(=O)n2C"),
    # hydrogens, charges and salts
    ("[CH3][CH2][OH]", "CCO"), ("[H]C([H])([H])[H]", "C"), ("CN(=O)=O", "C[N+](=O)[O-]"),
    ("[Na+].CC(=O)[O-]", "[O-]C(C)=O.[Na+]"),
    # what is left aside: isotopes, names, blanks around
    ("[13CH3]C", "CC"), ("[2H]O[2H]", "O"), ("[14CH4:7] methane", "C"), (" CCO\t", "CCO"), ("", "  "),
]  # fmt: skip


@pytest.mark.parametrize("one, other", SAME)
def test_the_way_of_writing_does_not_matter(one, other):
    for kernel in (AtomEnvironments(3), AtomEnvironments(2, stereo=True), TanimotoOf(AtomEnvironments(2, unary=True))):
        K = kernel([one, other])
        assert K[0, 0] == K[0, 1] == K[1, 1]


def test_spellings_are_rows_of_one_molecule():
    smiles, y = ["CCO", "c1ccccc1O", "OCC", "C1=CC=CC=C1O", "CCN"], np.array([1.0, 2.0, 1.5, 2.5, 0.0])
    once = ["CCO", "c1ccccc1O", "CCO", "c1ccccc1O", "CCN"]
    kernel, new = TanimotoOf(AtomEnvironments(2)), ["C1=CC=CC=C1C", "CO"]
    for model in (KernelRidge(kernel, 0.1), GaussianProcessRegressor(kernel, 0.1, criterion=None)):
        merged = clone(model).fit(once, y)
        np.testing.assert_allclose(clone(model).fit(smiles, y).predict(new), merged.predict(new), rtol=1e-10)


@pytest.mark.parametrize("one, other", [("CCO", "CCN"), ("C=C", "CC"), ("CCCC", "C1CCC1"), ("C[O-]", "CO"),
                                        ("CC(C)C", "CCCC"), ("c1ccccc1", "C1CCCCC1"), ("CC(=O)[O-]", "CC(=O)O"),
                                        ("CC(=O)[O-].[Na+]", "CC(=O)[O-]"), ("[Fe+2]", "[Fe+3]")])  # fmt: skip
def test_different_molecules_differ(one, other):
    assert TanimotoOf(AtomEnvironments(2))([one, other])[0, 1] < 1.0


@pytest.mark.parametrize("one, other", [("N[C@@H](C)C(=O)O", "N[C@H](C)C(=O)O"), ("F/C=C/Br", "F/C=C\\Br")])
def test_mirror_images_and_cis_and_trans_differ_if_wanted(one, other):
    assert TanimotoOf(AtomEnvironments(2))([one, other])[0, 1] == 1.0
    assert TanimotoOf(AtomEnvironments(2, stereo=True))([one, other])[0, 1] < 1.0


REFUSED = {
    "C(": "syntax error at position 2", "C)": "extra close parentheses at position 2", "C1CC": "unclosed ring",
    "C?C": "position 2", "[Xx]": "position 2", "=C": "position 1", "C11": "duplicated ring closure", "😀": "position 1",
    "[": "position 1", "C12CC12": "ring closure 2 duplicates", "C\0C": "cannot read", "CC=": "position 3",
    "C==C": "position 3", "C(=)C": "position 4", "C" * 10_001: "10,001 letters",
    # well written, but no molecules
    "CN(C)(C)C": "Explicit valence for atom # 1 N, 4, is greater than permitted", "c1cccc1": "Can't kekulize",
    "cc": "non-ring atom 0 marked aromatic", "C(C)(C)(C)(C)C": "atom # 0 C, 5",
}  # fmt: skip


@pytest.mark.parametrize("bad", REFUSED)
def test_what_is_no_molecule_is_refused_with_row_text_and_reason(bad, capfd):
    with pytest.raises(ValueError, match=re.escape(REFUSED[bad])) as error:
        AtomEnvironments()(["CC", bad])
    assert str(error.value).startswith(f"AtomEnvironments: row 1: {bad[:60]!r}: ")
    assert capfd.readouterr() == ("", "")  # RDKit would write to the terminal


@pytest.mark.parametrize("bad, kind", [(3, "int"), (None, "NoneType"), (float("nan"), "float"), (b"CC", "bytes")])
def test_what_is_no_string_is_refused(bad, kind):
    with pytest.raises(TypeError, match=f"row 1.*{kind}"):
        AtomEnvironments()(["CC", bad])


def test_what_rdkit_logs_is_as_it_was(capfd):
    from rdkit import Chem, rdBase

    before = rdBase.LogStatus()
    assert AtomEnvironments(0)(["[H]", "C"])[0, 0] == 1.0
    with pytest.raises(ValueError, match="ring"):
        AtomEnvironments()(["C1CC"])
    assert capfd.readouterr().err == ""
    assert rdBase.LogStatus() == before
    assert Chem.MolFromSmiles("C1CC") is None
    assert "unclosed ring" in capfd.readouterr().err


def test_without_rdkit_the_extra_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "rdkit.Chem", None)
    with pytest.raises(ImportError, match="chem"):
        AtomEnvironments()(["CC"])


def test_counts_and_similarities_are_those_of_rdkit():
    from rdkit import Chem, DataStructs
    from rdkit.Chem import rdFingerprintGenerator

    smiles = ["CCO", "c1ccccc1CC", "CC(=O)Oc1ccccc1C(=O)O", "[Na+].CC(=O)[O-]", "Cn1cnc2c1c(=O)n(C)c(=O)n2C", "C#N"]
    generator = rdFingerprintGenerator.GetMorganGenerator(radius=2)
    prints = [generator.GetSparseCountFingerprint(Chem.MolFromSmiles(one)) for one in smiles]
    np.testing.assert_array_equal(
        AtomEnvironments(2).features(smiles).sum(axis=1), [sum(one.GetNonzeroElements().values()) for one in prints]
    )
    expected = [DataStructs.BulkTanimotoSimilarity(one, prints) for one in prints]
    np.testing.assert_allclose(TanimotoOf(AtomEnvironments(2, unary=True))(smiles), expected, atol=1e-14)


def test_a_model_file_holds_the_smiles_and_nothing_of_rdkit(tmp_path):
    smiles = ["CCO", "C1=CC=CC=C1", "CC(=O)[O-].[Na+]", "N[C@@H](C)C(=O)O", ""]
    model = KernelRidge(TanimotoOf(AtomEnvironments(2, weights=[1.0, 0.5, 0.2], stereo=True)), 0.1)
    model.fit(smiles, np.arange(5.0)).save(tmp_path / "m.mercer")
    again = load(tmp_path / "m.mercer")
    assert again.kernel_ == model.kernel_
    new = ["c1ccccc1", "CCN"]
    np.testing.assert_array_equal(again.predict(new), model.predict(new))
    assert b"rdkit" not in (tmp_path / "m.mercer").read_bytes().lower()


def test_unary_makes_it_the_min_max_kernel():
    molecules = ["CCO", "CCCCO", "c1ccccc1CC", "", "CC(=O)Oc1ccccc1C(=O)O", "OCC"]
    features = AtomEnvironments(2).features(molecules)
    np.testing.assert_allclose(TanimotoOf(AtomEnvironments(2, unary=True))(molecules), MinMax()(features), atol=1e-14)
    np.testing.assert_allclose(TanimotoOf(AtomEnvironments(2))(molecules), Tanimoto()(features), atol=1e-14)


def test_weights_of_radii_and_text():
    kernel = TanimotoOf(AtomEnvironments(1, weights=[1.0, 0.5]))
    check_kernel(kernel, sample(kernel, 13, np.random.default_rng(0)))
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

"""Discrete parameters have a largest value, refused when a kernel is read from text or from a file, or used."""

import inspect
import json

import numpy as np
import pytest

import mercer
from mercer import kernels
from mercer.exceptions import ModelFileError
from mercer.kernels import Gappy, Mismatch, Spectrum, WeightedDegree, WeisfeilerLehman, parse_kernel
from mercer.kernels.parse import kernel_classes

LIMITED = {name: cls.whole_numbers for name, cls in kernel_classes().items() if cls.whole_numbers}

ABSURD = [
    f"{name}({'Linear(), ' if name == 'Power' else ''}{parameter}={10**9})"
    for name, limits in LIMITED.items()
    for parameter in limits
]
TOGETHER = ["Gappy(20, 20)", "Mismatch(30, 15)", "Mismatch(900, 2, alphabet='A')"]


def test_the_table_names_parameters_that_exist():
    for name, limits in LIMITED.items():
        parameters = inspect.signature(getattr(kernels, name)).parameters
        assert set(limits) <= set(parameters)


@pytest.mark.parametrize("text", ABSURD + TOGETHER)
def test_absurd_parameters_are_refused_as_text(text):
    with pytest.raises(ValueError, match="most|many|neighbours|more"):
        parse_kernel(text)


@pytest.mark.parametrize(
    "kernel",
    [
        Spectrum(10**9),
        Spectrum(list(range(1, 200))),
        Spectrum([3, 10**6]),
        Gappy(12, 12),
        Mismatch(3000, 1, alphabet="A"),
        WeightedDegree(101),
        WeightedDegree(2, shift=10**400),
        kernels.AtomEnvironments(10**9),
    ],
)
def test_counting_kernels_refuse_them_before_they_count(kernel):
    with pytest.raises(ValueError, match="most|many|levels"):
        kernel(["AACA", "CAA"])
    with pytest.raises(ValueError, match="most"):
        WeisfeilerLehman(10**9)([[(0, 1)]])


def test_a_shift_of_many_letters_is_counted_before_it_is_written_out():
    with pytest.raises(ValueError, match="shift"):
        WeightedDegree(100, shift=1000)(["A" * 3000])


def test_the_largest_values_themselves_work():
    strings = ["ACGTACGT" * 3, "ACG", ""]
    for kernel in (Spectrum(1000), WeightedDegree(100, shift=2), Gappy(9, 5), Spectrum(list(range(1, 102)))):
        assert np.isfinite(kernel(strings)).all()
    kernels.Polynomial(10_000)._check_parameters()


@pytest.mark.parametrize(
    ("kernel", "forged"),
    [
        (Spectrum(2), "Spectrum(1000000000)"),
        (Gappy(2, 1), "Gappy(2, 1000000000)"),
        (WeightedDegree(2), "WeightedDegree(2, shift=1000000000)"),
    ],
    ids=["Spectrum", "Gappy", "WeightedDegree"],
)
def test_a_forged_file_is_refused_on_loading(kernel, forged, tmp_path):
    from files.handmade_files import put_together, take_apart

    path = tmp_path / "m.mercer"
    mercer.KernelRidge(kernel).fit(["ACG", "AAC", "GTT"], [0.0, 1.0, 2.0]).save(path)
    header, arrays, body = take_apart(path)
    text = json.dumps(header)
    header["objects"] = [[forged] if entry == [repr(kernel)] else entry for entry in header["objects"]]
    assert json.dumps(header) != text
    put_together(path, header, arrays, body)
    with pytest.raises(ModelFileError, match="most"):
        mercer.load(path)


def test_a_graph_of_nodes_that_are_not_there_is_refused_on_loading(tmp_path):
    from files.handmade_files import put_together, take_apart

    path = tmp_path / "m.mercer"
    graphs = [[(0, 1)], [(0, 1), (1, 2)], [(0, 1), (1, 2), (2, 3)]]
    mercer.KernelRidge(WeisfeilerLehman(1), 1.0).fit([kernels.Graph(g) for g in graphs], [0.0, 1.0, 2.0]).save(path)
    header, arrays, body = take_apart(path)
    next(entry[-1] for entry in header["objects"] if entry[0] == "kernels.Graph")["n"] = 2**30
    put_together(path, header, arrays, body)
    with pytest.raises(ModelFileError, match="1073741824"):
        mercer.load(path)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("1" + "0" * 400 + " * Gaussian()", "beyond the range of a float"),
        ("1e999 * Gaussian()", "beyond the range of a float"),
        ("Gaussian(-1e999)", "beyond the range of a float"),
        ("Scaled(2.0, Gaussian())", "kernel must be a kernel, got float"),
        ("Sum(Gaussian(), 1)", "right must be a kernel, got int"),
        ("Normalised('Gaussian')", "kernel must be a kernel, got str"),
    ],
)
def test_numbers_and_parts_that_are_none_are_refused_when_read(text, message):
    with pytest.raises(ValueError, match=f"column 1.*{message}|column 10.*{message}|column 11.*{message}"):
        parse_kernel(text)

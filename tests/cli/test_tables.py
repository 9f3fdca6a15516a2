"""What may be said of a table on the command line: groups, time, names of rows, transforms, lines to skip."""

import json

import numpy as np
import pytest

QUICK = ["--target", "dist", "--ignore", "class", "--folds", "2", "--kernel", "Gaussian(1.0)", "--fix-kernel"]


def test_names_of_rows_are_shown_beside_predictions_and_on_the_page(run, cars, tmp_path):
    model, page = tmp_path / "m.mercer", tmp_path / "page.html"
    code, out, _ = run("fit", cars, "--id", "name", *QUICK, "-o", model, "--report", page)
    assert code == 0 and "column 'name' is left out: as asked" in out
    assert "car7" in page.read_text()
    code, out, _ = run("predict", model, cars)
    assert out.splitlines()[0] == "name,prediction" and out.splitlines()[8].startswith("car7,")
    assert run("predict", model, cars, "--keep", "name")[1] == out


def with_column(path, name, values):
    """Write the table again with one more column."""
    first, *rows = path.read_text().splitlines()
    path.write_text(
        "\n".join([f"{first},{name}", *(f"{row},{value}" for row, value in zip(rows, values, strict=True))])
    )


def test_groups_are_whole_in_a_fold(run, cars, table_of):
    with_column(cars, "team", [f"g{i % 4}" for i in range(24)])
    code, out, _ = run("fit", cars, *QUICK, "--json", "--group", "team")
    found = json.loads(out)
    assert code == 0 and found["data"]["ignored"]["team"] == "as asked"
    assert any("the rows of each 'team' are in one fold (4 groups)" in note for note in found["notes"])
    with_column(table_of(cars), "team", ["g"] * 24)
    code, _, err = run("fit", cars, *QUICK, "--group", "team")
    assert code == 3 and "one group alone" in err


def test_groups_or_time_and_not_both(run, cars):
    with_column(cars, "team", [f"g{i % 4}" for i in range(24)])
    code, _, err = run("fit", cars, *QUICK, "--group", "team", "--time", "speed")
    assert code == 2 and "one of them" in err
    series = cars.parent / "series.csv"
    series.write_text("t,team,y\n" + "".join(f"{i},g{i % 4},{i % 7}\n" for i in range(40)))
    asked = ("fit", series, "-t", "y", "--folds", "2", "--kernel", "Gaussian(1.0)", "--fix-kernel", "--json")
    notes = " ".join(json.loads(run(*asked, "--group", "team")[1])["notes"])
    assert "(4 groups)" in notes and "each predicted from what was before" not in notes  # what is said is what is done
    asked = (*asked, "--ignore", "team")
    assert "each predicted from what was before" in " ".join(json.loads(run(*asked)[1])["notes"])
    assert "folds" not in " ".join(json.loads(run(*asked, "--no-score")[1])["notes"])


def test_rows_are_judged_by_those_before_them(run, cars):
    with_column(cars, "day", np.random.default_rng(0).permutation(24))
    code, out, _ = run("fit", cars, *QUICK, "--json", "--time", "day")
    assert code == 0 and any("in the order of 'day'" in note for note in json.loads(out)["notes"])
    code, _, err = run("fit", cars, *QUICK, "--time", "road")
    assert code == 3 and "--time road: rows cannot be put in order" in err
    assert "did you mean 'day'" in run("fit", cars, *QUICK, "--time", "dya")[2]


def test_a_transform_of_the_target(run, tmp_path, table_of):
    cars, model = table_of(tmp_path / "cars.csv", n=40), tmp_path / "m.mercer"
    options = [*QUICK, "--no-score", "-o", model, "--target-transform"]
    assert run("fit", cars, *options, "log")[0] == 0
    code, out, err = run("predict", model, cars, "--interval", "0.9")
    cells = np.array([line.split(",") for line in out.splitlines()[1:]], dtype=float)
    assert code == 0 and "transformed target" in err
    assert (cells > 0).all() and (cells[:, 1] < cells[:, 0]).all() and (cells[:, 0] < cells[:, 2]).all()
    code, _, err = run("fit", cars, *options, "lgo", "--force")
    assert code == 2 and "did you mean 'log'" in err
    with open(cars, "a") as file:
        file.write("car40,5.0,dry,0.0,near\n")
    code, _, err = run("fit", cars, *options, "log", "--force")
    assert code == 3 and "--target-transform: target=" in err
    code, _, err = run("fit", cars, *options, "log", "--model", "svr", "--force")
    assert code == 2 and "--target-transform is for --model ridge" in err


def test_lines_to_skip(run, cars):
    cars.write_text("made by, a machine\n" + cars.read_text())
    assert run("fit", cars, *QUICK, "--no-score", "--skip-lines", "1")[0] == 0
    assert run("fit", cars, *QUICK, "--no-score", "--skip-lines", "-1")[0] == 2


def test_a_table_of_the_fit_does_not_judge(run, fitted, tmp_path, table_of):
    code, _, err = run("evaluate", fitted / "model.mercer", fitted / "cars.csv")
    assert code == 0 and "this is the table the model was fitted on" in err
    new = table_of(tmp_path / "new.csv", seed=9)
    assert "fitted on" not in run("evaluate", fitted / "model.mercer", new)[2]
    new.write_text((fitted / "cars.csv").read_text() + "car24,99.5,dry,300,far\n")
    err = run("evaluate", fitted / "model.mercer", new)[2]
    assert "24 of 25 rows have the inputs of rows that the model was fitted on" in err


@pytest.mark.parametrize("sheet", [None, "two"])
def test_excel(run, cars, tmp_path, sheet):
    openpyxl = pytest.importorskip("openpyxl")
    book = openpyxl.Workbook()
    pages = [book.active, book.create_sheet("two")]
    for line in cars.read_text().splitlines():
        for page in pages:
            page.append([float(cell) if cell.replace(".", "").isdigit() else cell for cell in line.split(",")])
    book.save(tmp_path / "cars.xlsx")
    code, out, _ = run("fit", tmp_path / "cars.xlsx", *QUICK, "--no-score", *(["--sheet", sheet] if sheet else []))
    assert code == 0 and "24 rows" in out

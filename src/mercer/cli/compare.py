"""``mercer compare``: the λ that each rule chooses, as a table and a picture."""

import io

from mercer import KernelRidge
from mercer.cli import Usage
from mercer.cli._options import AUTO, check_kernel_reads, kernel_objects, read_kernel, strings_of, whole
from mercer.cli._session import Session, print_json
from mercer.cli._tables import as_recipe, check_apart, check_free, check_names, check_target, read_input, write_bytes
from mercer.selection import compare
from mercer.tabular import TableModel
from mercer.tabular.cells import renumber_rows
from mercer.tabular.columns import usable_rows

MOST = 2000  # rows: one eigen-decomposition


def run_compare(settings):
    """Print what each rule chooses."""
    check_free(settings.plot, "--plot", settings.force, (".png", ".svg", ".pdf"))
    check_apart(settings, ("plot",), ("data",))
    kernel = read_kernel(settings.kernel)
    if kernel == AUTO:
        raise Usage("--kernel auto: λ is compared at one kernel; `mercer fit` searches for one")
    most = whole(settings.max_rows, "--max-rows", 3) or MOST
    with Session(settings) as session:
        frame = read_input(settings, session, settings.data, strings=strings_of(kernel, settings.target)).frame
        check_target(frame, settings.target)
        check_names(settings, frame)
        X, y, kernel, notes = _read_inputs(settings, frame, kernel, most, session)
        found = compare(kernel, X, y)
        if settings.plot:
            _draw(found, settings)
    if settings.json:
        result = {"schema": "mercer.compare/1", "kernel": repr(kernel), "rows": len(y), "rules": found.to_dict()}
        print_json(result | {"notes": notes, "warnings": session.warnings, "plot": settings.plot})
    else:
        print("\n".join([f"kernel {kernel!r} on {len(y):,} rows", "", str(found), *(f"- {note}" for note in notes)]))
        if settings.plot:
            session.say(f"The picture is in {settings.plot}.")
    return 0


def _read_inputs(settings, frame, kernel, most, session):
    """(X, y, kernel, notes); without a kernel, the one whose length scales leave-one-out chooses."""
    notes = []
    if kernel is None:
        session.stages(1)
        estimator = KernelRidge(criterion="loo", random_state=settings.seed)
        notes.append("the length scales are those that leave-one-out chooses; --kernel gives another kernel.")
    else:
        rows, _ = usable_rows(frame, settings.target, False, [])
        objects = kernel_objects(kernel, frame, settings)
        with renumber_rows(rows):
            check_kernel_reads(
                kernel, as_recipe(settings).fit(frame[rows].drop(settings.target), objects=objects), frame[rows]
            )
        estimator = KernelRidge(kernel, lam=1.0)  # for its rows and its columns: λ is what is compared
    options = {"target": settings.target, "fit_rows": most, "search_rows": most, "random_state": settings.seed}
    model = TableModel(estimator, as_recipe(settings), **options).fit(frame, listener=session.listener)
    table = frame[model.rows_]
    return model.inputs(table), model.targets(table)[1], model.estimator_.kernel_, [*model.notes_, *notes]


def _draw(found, settings):
    """The picture, into its file."""
    from mercer.plots import SelectionDisplay

    figure = SelectionDisplay.from_comparison(found).figure_
    buffer = io.BytesIO()
    figure.savefig(buffer, format=settings.plot.rsplit(".", 1)[1].lower(), dpi=150)
    write_bytes(buffer.getvalue(), settings.plot, settings.force)
    settings.written = [settings.plot]

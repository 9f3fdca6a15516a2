"""``mercer compare``: the λ that each rule chooses, as a table and a picture."""

from mercer.cli._models import read_kernel
from mercer.cli._session import Session, print_json
from mercer.cli._tables import as_recipe, check_free, check_names, check_target, read_input
from mercer.cli._units import whole
from mercer.cli.fit import _check_kernel

MOST = 2000  # rows: one eigen-decomposition


def run(settings):
    """Print what each rule chooses."""
    check_free(settings.plot, "--plot", settings.force, (".png", ".svg", ".pdf"))
    kernel = read_kernel(settings.kernel)
    most = whole(settings.max_rows, "--max-rows") or MOST
    with Session(settings) as session:
        frame = read_input(settings, session, settings.data).frame
        check_target(frame, settings.target)
        check_names(settings, frame)
        X, y, kernel, notes = _inputs(settings, frame, kernel, most, session)
        found = _compare(kernel, X, y)
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


def _inputs(settings, frame, kernel, most, session):
    """(X, y, kernel, notes); without a kernel, the one whose length scales leave-one-out chooses."""
    from mercer import KernelRidge
    from mercer.selection import LOO
    from mercer.tabular import TableModel, by_number

    recipe = as_recipe(settings)
    options = {"target": settings.target, "fit_rows": most, "search_rows": most, "random_state": settings.seed}
    if kernel is None:
        session.stages(1)
        estimator = KernelRidge(criterion=LOO(), random_state=settings.seed)
        model = TableModel(estimator, recipe, **options).fit(frame, session.listener)
        notes = [
            *model.notes_,
            "the length scales are those that leave-one-out chooses; --kernel gives another kernel.",
        ]
        kernel = model.estimator_.kernel_
    else:
        model = TableModel(KernelRidge(lam=1.0), recipe, **options).fit(frame)  # for its rows and its recipe
        _check_kernel(kernel, model.recipe_)
        notes, kernel = list(model.notes_), by_number(kernel, model.recipe_)
    table = frame[model.rows_]
    return model.inputs(table), model.targets(table)[1], kernel, notes


def _compare(kernel, X, y):
    from mercer.selection import compare

    return compare(kernel, X, y)


def _draw(found, settings):
    """The picture, into its file."""
    import io

    from mercer.cli._tables import write_bytes
    from mercer.plots import SelectionDisplay

    figure = SelectionDisplay.from_comparison(found).figure_
    buffer = io.BytesIO()
    figure.savefig(buffer, format=settings.plot.rsplit(".", 1)[1].lower(), dpi=150)
    write_bytes(buffer.getvalue(), settings.plot, settings.force)

"""The best of a list of kernels, as far as there is time for them."""

from mercer.selection.result import CUT, by_value, comparable
from mercer.selection.search.objective import Stop


def best_of_list(kernels, search_one, record):
    """The best result, with those of all kernels that there was time for; what there was no time for is said.

    ``search_one`` raises `Stop` where it could not even begin; the record is that of all of them.
    """
    found, histories, status = [], [], "ok"
    for kernel in kernels:
        began = len(record.history)
        try:
            found.append(search_one(kernel))
        except Stop as stop:
            status = stop.status
            break
        histories.append(record.history[began:])
        if found[-1].status in CUT:
            status = found[-1].status
            break
    best = min(comparable(found, histories), key=by_value)
    best.candidates, best.seconds, best.evaluations = list(found), record.seconds, len(record.history)
    missed = [one.kernel for one in found if one is not best and one.status in CUT] + kernels[len(found) :]
    if missed:
        why = "the time budget was spent" if status == "time_budget" else "the callback asked to stop"
        said = f"{why} before {', '.join(map(repr, missed))} had been searched to the end."
        best.status, best.message = status, f"{best.message} {said}".strip()
    return best

"""Progress and early stop through scikit-learn's callbacks: the one file that knows that experimental interface.

An estimator inherits `ProgressSupport` and decorates ``fit`` with `with_progress`. Inside, `begin` opens the task,
`reporter` makes the callback that a search calls after each evaluation, and `end` closes the task. Without callbacks
set on the estimator (or on one around it) nothing is called and nothing is kept.
"""

try:
    from sklearn.callback import CallbackSupportMixin as ProgressSupport
    from sklearn.callback import with_callbacks as with_progress
except ImportError:  # scikit-learn before 1.9 has no callbacks

    class ProgressSupport:  # type: ignore[no-redef]
        """Nothing: there is nobody to tell."""

    def with_progress(fit):
        """``fit`` as it is."""
        return fit


__all__ = ["ProgressSupport", "begin", "end", "reporter", "with_progress"]


def _wanted(estimator):
    return bool(getattr(estimator, "_skl_callbacks", None)) or hasattr(estimator, "_parent_callback_ctx")


def begin(estimator, X, y, *, steps=0):
    """Open the task of a fit; ``steps`` is how many evaluations there may be, None if that is not known."""
    if _wanted(estimator):
        context = estimator._init_callback_context(max_subtasks=steps)
        context.call_on_fit_task_begin(estimator=estimator, X=X, y=y)


def reporter(estimator, callback=None):
    """Return what a search calls with the dict of each evaluation; true asks it to stop. None if nobody listens."""
    context = getattr(estimator, "_callback_fit_ctx", None)
    if context is None:
        return callback

    def report(entry):
        task = context.subcontext(task_name="evaluation")
        task.call_on_fit_task_begin(estimator=estimator)
        stop = task.call_on_fit_task_end(estimator=estimator)
        return bool(callback is not None and callback(entry)) or stop

    return report


def end(estimator, X, y):
    """Close the task of a fit."""
    context = getattr(estimator, "_callback_fit_ctx", None)
    if context is not None:
        context.call_on_fit_task_end(estimator=estimator, X=X, y=y)

"""What to do about a check: what can be typed from where the reader is, on the command line or in Python."""


def typed(s):
    """Whether the model was made on the command line."""
    return bool(s["reproduce"]["command"])


def either(line, call):
    """A remedy with an option for the command line, and a call for Python."""
    return lambda s: line if typed(s) else call


def leave_out(why):
    """Columns are left out by an option, or before the fit."""
    return either(f"{why} --ignore NAME leaves a column out.", f"{why} Drop such columns from X.")


def better_than_simple(s):
    """Of a model that loses against a simple one."""
    if typed(s):
        quick = "--quick" in s["reproduce"]["command"].split()
        more = "leave --quick away" if quick else "give the search more time: --time-budget 5m"
        return f"Use that model, or {more}."
    return "Use that model; or, of a line, add its form to the kernel (+ Linear()), and look at the length scales."


def stiff(s):
    """Of a trend that is left."""
    if typed(s):
        auto = "" if s["selection"]["candidates"] else " --kernel auto searches for one;"
        return (
            f"The model is too stiff there: another kernel may follow.{auto} --time-budget 5m gives a search more time."
        )
    chosen = s["selection"]["chosen"]["criterion"]
    more = "" if chosen else ", or let a criterion choose λ (criterion='loo')"
    return f"The model is too stiff there. Add Linear() or a second kernel, shorten the length scale{more}."


def spread(s):
    """Of noise that changes: a logarithm only of targets that have one."""
    low = s["data"]["target"].get("low")
    wide = "Predictions may be good all the same; intervals of one width are not."
    if isinstance(low, float) and low > 0 and s["estimator"] != "TransformedTarget":
        if typed(s) and s["estimator"] in ("KernelRidge", "GaussianProcessRegressor", "StackedKernels"):
            return f"{wide} --target-transform log fits the logarithm, and answers in the units of the target."
        return f"{wide} TransformedTarget(model, 'log') fits the logarithm and answers in the units of the target."
    call = "KernelMachine(kernel, loss=Quantile([0.05, 0.5, 0.95])) has intervals whose width changes."
    return f"{wide} {'In Python: ' if typed(s) else ''}{call}"


def covered(s):
    """Of intervals that do not hold: those of left-out residuals are the other kind."""
    kind = s["uncertainty"].get("kind")
    if kind == "gaussian":
        return either(
            "--model ridge has intervals that are made of the errors of rows left out.",
            "predict_interval(..., method='split', calibration=(X, y)) on rows that were set aside; or multiply the "
            "stated variance by the mean square of the z-scores.",
        )(s)
    if kind == "quantiles":
        return "Set rows aside, and shift each quantile by what it misses there."
    return "Are rows alike that were left out and those that come? Rows of one group or of neighbouring times are not."


def calibrated(s):
    """Of probabilities that do not come true."""
    if s["uncertainty"].get("temperature") is False:
        return either(
            "Try --model logistic. In Python: GaussianProcessClassifier(temperature=True).",
            "GaussianProcessClassifier(temperature=True), or sklearn.calibration.CalibratedClassifierCV.",
        )(s)
    other = "logistic" if s["estimator"] == "GaussianProcessClassifier" else "gpc"
    return either(
        f"Try --model {other}.", "sklearn.calibration.CalibratedClassifierCV learns them from rows left out."
    )(s)


def follows_noise(s):
    """Of a fit with as many degrees of freedom as rows."""
    if s["selection"]["chosen"]["criterion"]:
        return "The criterion finds no noise in the target. Is it computed from these columns?"
    return either(
        "Let a criterion choose λ: --criterion loo.",
        "Choose a larger λ, or let a criterion choose it: criterion='loo'.",
    )(s)


def too_flat(s):
    """Of a fit that is almost constant."""
    if s["selection"]["chosen"]["criterion"]:
        return "The criterion finds no signal in these columns: check the target, the joins and the units."
    return either(
        "Let a criterion choose λ and the kernel: --criterion loo, without --fix-kernel.",
        "Choose a smaller λ, a shorter length scale or another kernel, or let a criterion choose them.",
    )(s)


def nested(s):
    """Of a score that seems better on the rows that chose."""
    few = "Fewer free hyper-parameters"
    if typed(s):
        few += "" if "--quick" in s["reproduce"]["command"].split() else " (--quick)"
    return f"Report the nested score. {few}, or more rows, bring the two together."


def lam_bound(s):
    """Of λ at the end of what was searched."""
    ends = "At the lower end the data look free of noise to this kernel, at the upper end like noise alone"
    return either(f"{ends}.{_other(s)}", f"Widen the bounds. {ends}.")(s)


def parameter_bound(s):
    """Of a hyper-parameter at a bound."""
    upper = "A length scale at its upper bound: the column hardly matters or acts linearly;"
    return either(
        f"{upper} --ignore NAME leaves it out.{_other(s)}",
        f"{upper} leave it out or add Linear(). Else widen the bounds.",
    )(s)


def _other(s):
    """Another kernel, of a fit that has not searched for one."""
    return "" if s["selection"]["candidates"] else " --kernel auto searches for another kernel."


ROBUST = either(
    "Look at these rows below: a typing error, another unit, or a rare case? --model huber bears them.",
    "Look at these rows below: a typing error, another unit, or a rare case? KernelMachine(loss='huber') bears them.",
)
MORE_TIME = either("Give the search more time: --time-budget 5m.", "Give the search more time: time_budget=300.")
ROUGHER = either(
    "A rougher kernel helps: --kernel 'Matern32()'. Rows that are nearly equal may be one row, twice.",
    "Take a larger λ, merge nearly equal rows, or a rougher kernel; compare with solver='spectral'.",
)
CHOOSE = either("Leave --fix-kernel away, or name a rule: --criterion loo.", "Let a criterion choose: criterion='loo'.")
RARE = either(
    "Scores of this class are unsure. Collect more rows of it, or leave it out of the table.",
    "Scores of this class are unsure. Collect more rows of it, or weight them.",
)
ORDERED = either(
    "If the rows are in the order of time or place, a score by random folds is too good: --time NAME puts them in "
    "order and judges by forecasts, --group NAME leaves out whole places.",
    "If the rows are in the order of time or place, judge with blocks or groups of rows (TimeSeriesSplit, GroupKFold), "
    "and add time to the columns.",
)

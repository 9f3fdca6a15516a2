"""Remedies that depend on the model or on what was asked for; where one is None, the words of ``checks.md`` hold."""


def _quick(s):
    """Whether --quick was asked for."""
    return s.typed and "--quick" in s.reproduce.command.split()


def _other(s):
    """Another kernel, of a fit that has not searched for one."""
    return "" if s.selection.candidates else " --kernel auto searches for another kernel."


def for_simple_models(s):
    """Of a model that loses against a simple one."""
    return "Use that model, or leave --quick away." if _quick(s) else None


def for_trend(s):
    """Of a trend that is left."""
    if s.typed:
        return f"The model is too stiff there.{_other(s)} --time-budget 5m gives a search more time."
    if s.selection.chosen.criterion:
        return "The model is too stiff there. Add Linear() or a second kernel, or shorten the length scale."
    return None


def for_spread(s):
    """Of noise that changes: a logarithm only of targets that have one."""
    low = s.data.target.low
    wide = "Predictions may be good all the same; intervals of one width are not."
    if s.estimator == "GaussianProcessRegressor" and not s.typed:
        wide += " noise=[...], a variance for each row, tells rows apart."
        wide += " predict_interval(method='conformal') holds what it should in the mean."
    if isinstance(low, float) and low > 0 and s.estimator != "TransformedTarget":
        if s.typed and s.estimator in ("KernelRidge", "GaussianProcessRegressor", "StackedKernels"):
            return f"{wide} --target-transform log fits the logarithm, and answers in the units of the target."
        return f"{wide} TransformedTarget(model, 'log') fits the logarithm and answers in the units of the target."
    call = "KernelMachine(kernel, loss=Quantile([0.05, 0.5, 0.95])) has intervals whose width changes."
    return f"{wide} {'In Python: ' if s.typed else ''}{call}"


def for_blocks(s):
    """Of a model that is far worse than a simpler one beyond the rows."""
    among = "Predictions among the rows are not in question; beyond them, and in gaps, use the simpler model."
    more = "--quick, or a --kernel with Linear, may go on in a line." if s.typed else (
        "A kernel with Linear() goes on in a line.")  # fmt: skip
    return f"{among} {more}"


def for_coverage(s):
    """Of intervals that do not hold: those of left-out residuals are the other kind."""
    u = s.uncertainty
    kind = None if u.kind == "gaussian" and u.own_how else u.kind
    if kind == "gaussian" and s.typed:
        return "--model ridge has intervals that are made of the errors of rows left out."
    if kind == "gaussian":
        return None
    if kind == "quantiles":
        return "Set rows aside, and shift each quantile by what it misses there."
    return "Are rows alike that were left out and those that come? Rows of one group or of neighbouring times are not."


def for_calibration(s):
    """Of probabilities that do not come true."""
    other = "logistic" if s.estimator == "GaussianProcessClassifier" else "gpc"
    return f"Try --model {other}." if s.typed else None


def for_interpolation(s):
    """Of a fit with as many degrees of freedom as rows."""
    chosen = s.selection.chosen.criterion
    return "The criterion finds no noise in the target. Is it computed from these columns?" if chosen else None


def for_constant_fit(s):
    """Of a fit that is almost constant."""
    chosen = s.selection.chosen.criterion
    said = "The criterion finds no signal in these columns: check the target, the joins and the units."
    return said if chosen else None


def for_optimism(s):
    """Of a score that seems better on the rows that chose."""
    less = "Report the nested score. Fewer free hyper-parameters (--quick), or more rows, bring the two together."
    return less if s.typed and not _quick(s) else None


def for_lam_bound(s):
    """Of λ at the end of what was searched."""
    ends = "At the lower end the data look free of noise to this kernel, at the upper end like noise alone."
    return f"{ends}{_other(s)}" if s.typed else None


def for_parameter_bound(s):
    """Of a hyper-parameter at a bound."""
    upper = "A length scale at its upper bound: the column hardly matters or acts linearly;"
    return f"{upper} --ignore NAME leaves it out.{_other(s)}" if s.typed else None

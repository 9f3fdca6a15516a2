"""What parameters are called elsewhere, in scikit-learn, GPy, GPflow, GPyTorch or a textbook, and here."""

import difflib
import math
from numbers import Real

WORDS = {
    "lam": "λ, in K + λI",
    "length_scale": "ℓ",
    "noise": "the variance of the noise",
    "offset": "the constant in it",
}
OURS = {  # name here: names elsewhere
    "lam": "alpha reg_lambda lambda_ lmbda lambd lamda l2 reg regularization regularisation ridge C",
    "noise": "alpha noise_level noise_variance noise_var sigma_n sigma2 likelihood_variance Gaussian_noise lam",
    "length_scale": "gamma sigma ell l lengthscale lengthscales length bandwidth h rho scale width ls",
    "offset": "coef0 c bias constant gamma",
    "period": "periodicity p period_length",
    "degree": "order power d",
    "epsilon": "eps tube",
    "starts": "n_restarts_optimizer n_restarts restarts num_restarts",
    "optimize": "optimizer train fit_hyperparameters",
    "trend": "fit_intercept normalize_y mean mean_function basis",
    "criterion": "cv scoring objective method",
    "loss": "objective criterion",
    "approximation": "n_components n_inducing num_inducing inducing_points Z landmarks",
    "inference": "optimizer approx",
    "multi_class": "decision_function_shape",
    "random_state": "seed rng",
}  # fmt: skip
SCALES = ("variance", "amplitude", "outputscale", "signal_variance", "constant_value", "sigma_f")
NOT_HERE = {
    "n_jobs": "as many threads as NumPy is given are used",
    "class_weight": "weights are given to fit(X, y, sample_weight=…)",
    "probability": "GaussianProcessClassifier has probabilities",
    "ARD": "length_scale=[…] has a length for each column",
    "input_dim": "it is that of the data",
    "copy_X_train": "inputs are never changed",
    "active_dims": "write .on([0, 2]) behind the kernel",
    "kernel_params": "give the kernel itself, as Gaussian(2.0)",
}
FORMULAS = {  # (name there, name here): (words, value there ↦ value here)
    ("gamma", "length_scale"): ("1/√(2·gamma)", lambda value: 1 / math.sqrt(2 * value)),
    ("C", "lam"): ("1/(2C)", lambda value: 1 / (2 * value)),
}


def unknown_parameter(cls, names, known, values):
    """Return the text of a TypeError for parameters that a class does not have, with their names here."""
    return " ".join(_explain(cls.__name__, name, known, values[name]) for name in names)


def _explain(who, name, known, value):
    """Return a sentence on one parameter: its name here, and its value in our convention."""
    start = f"{who} has no {name}"
    if name in NOT_HERE:
        return f"{start}: {NOT_HERE[name]}."
    if name in SCALES and "kernel" not in known:
        shown = f"{value:g}" if isinstance(value, Real) else "2.0"
        return f"{start}: a factor stands before the kernel, {shown}*{who}(…)."
    if "kernel" in known and name in ("degree", "coef0", "period", *OURS["length_scale"].split()):
        inside = {"degree": "Polynomial(degree=…)", "coef0": "Polynomial(offset=…)", "period": "Periodic(period=…)"}
        words = " with ℓ = 1/√(2·gamma)" if name == "gamma" else ""
        return f"{start}: it is one of the kernel, kernel={inside.get(name, 'Gaussian(length_scale=…)')}{words}."
    found = next((ours for ours, others in OURS.items() if ours in known and name in others.split()), None)
    if found is None:
        near = difflib.get_close_matches(name, known, n=1, cutoff=0.6)
        return (
            f"{start}; did you mean {near[0]}?" if near else f"{start}; it has {', '.join(known) or 'no parameters'}."
        )
    words, convert = FORMULAS.get((name, found), ("", lambda value: value))
    about = f" ({WORDS[found]})" if found in WORDS else ""
    try:
        shown = f"{convert(float(value)):.6g}" if isinstance(value, Real) and not isinstance(value, bool) else "…"
    except (ValueError, ZeroDivisionError):
        shown = "…"
    shown = words or "…" if shown == "…" else f"{shown}, which is {words}" if words else shown
    return f"{start}; here it is {found}{about}: {found}={shown}."

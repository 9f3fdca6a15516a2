"""The attributes of each class that a model file may hold: see `_schema`, whose words this is written in."""

from functools import cache

import numpy as np

from mercer.files._schema import anything, array, each, either, factor, maybe, number, of, rows, shaped, size, sparse


@cache
def schema():
    """{name: (fields, whether there are no others)} of the classes whose attributes are checked."""
    return {**_inside(), **_classified(), **_chosen(), **_fitted(), **_compat(), **_tabular()}


def _inside():
    """Factors, Gram matrices, and the posterior of a regression."""
    from mercer.estimators._gp_trend import Trend
    from mercer.gram.base import Gram
    from mercer.kernels.base import Kernel
    from mercer.kernels.basis import Features
    from mercer.solvers.cholesky import CholeskyInverse
    from mercer.solvers.condition import Probe
    from mercer.solvers.update import Factored

    vector, table = array("n"), of(dict)
    closed = {
        "solvers.Factored": dict(
            _L=factor("n"), lam=number, n=size("n"), info=table, _exact=maybe(of(CholeskyInverse, n="n"))
        ),
        "solvers.CholeskyInverse": dict(
            lam=number, n=size("n"), _K=of(Gram, n="n"), _L=factor("n"), _added=number, _probe=of(Probe), _norm=number,
            info=table,
        ),
        "solvers.Probe": dict(
            _diagonal=vector, _index=array("r", kinds="i"), _start=array("r"), _rows=array("r", "n")
        ),
        "gram.TiledGram": dict(kernel=of(Kernel), X=rows("n"), dtype=of(np.dtype), n=size("n")),
        "gram.ScaledGram": dict(inner=of(Gram, n="n"), s=vector, n=size("n")),
        "inference.Posterior": dict(
            kernel=of(Kernel), points=rows("n"), trend=maybe(of(Trend)), Kinv=of(Factored, n="n"), lam=number,
            s=maybe(vector), _R=array("q", "q"), _G=array("n", "q"), q=size("q"), b=array("q", "t"), quad=array("t"),
            alpha=array("n", "t"), size_of_trend=number,
        ),
        "estimators.Trend": dict(basis=maybe(of(Features)), centre=maybe(array("d")), unit=maybe(array("d"))),
        "estimators._Shifted": dict(prior=anything, by_name=table),
    }  # fmt: skip
    return {name: (fields, True) for name, fields in closed.items()}


def _classified():
    """Posteriors of classification, and what they are made of."""
    from mercer.inference.likelihood import Binary
    from mercer.inference.links import Link
    from mercer.inference.nodes import Measure, NodePosterior
    from mercer.inference.sites import SitePosterior
    from mercer.inference.softmax import Softmax, SoftmaxPosterior, _Blocks

    vector, table, plain = array("n"), of(dict), of(int, float)
    node = dict(
        measure=of(Measure, rank="r"), z=array("N", "r"), weight=array("N"), likelihood=of(Binary, n="n"),
        log_evidence=number, info=table, mean=array("r"), f=vector, a=vector,
    )  # fmt: skip
    model = dict(constant=number, max_iter=size("i"), tol=number, _starts=table)
    closed = {
        "inference.Logit": {},
        "inference.Probit": {},
        "inference.Binary": dict(link=of(Link), t=vector, offset=plain, weight=vector, copies=vector, power=vector),
        "inference.Softmax": dict(y=array("n", kinds="iu"), classes=size("C"), weight=vector, target=array("C", "n")),
        "inference.SitePosterior": dict(
            K=maybe(array("n", "n")), likelihood=of(Binary, n="n"), a=vector, s=vector, L=factor("n"), nu=vector,
            log_evidence=number, info=table, f=vector,
        ),
        "inference._Blocks": dict(
            D=array("C", "n"), E=array("C", "n", "n", order="C", itemsize=8), beta=array("C", "n"), half_logdet=number,
            M=factor("n"),
        ),
        "inference.SoftmaxPosterior": dict(
            K=maybe(array("n", "n")), likelihood=of(Softmax, classes="C"), a=array("C", "n"), f=array("C", "n"),
            blocks=shaped("D", "C", "n", classes=[_Blocks]), log_evidence=number, info=table,
            _V=maybe(array("C", "n", "n")),
        ),
        "inference.Measure": dict(
            likelihood=of(Binary, n="n"), vectors=array("n", "r"), values=array("r"), F=array("n", "r"),
            sites=maybe(of(SitePosterior)), tau=vector, nu=vector, L=array("r", "r"), z=array("r"), G=array("n", "r"),
            mean=vector, log_mass=number,
        ),
        "inference.Draws": node,
        "inference.Nodes": {**node, "K": array("n", "n")},
        "inference.BinaryPosterior": dict(
            parts=each(shaped("a", "n", classes=[SitePosterior, NodePosterior])), constant=number,
            log_evidence=number, infos=each(table), coef=array("n", "t"),
        ),
        "inference.SeveralPosterior": dict(
            part=shaped("a", "C", "n", classes=[SoftmaxPosterior]), constant=number, log_evidence=number,
            infos=each(table), coef=array("n", "C"),
        ),
        "inference.BinaryModel": {
            **model, "likelihoods": each(of(Binary, n="n")), "inference": of(str), "n_samples": anything,
            "random_state": anything, "learns_by": of(str),
        },
        "inference.SoftmaxModel": {**model, "likelihood": of(Softmax)},
    }  # fmt: skip
    return {name: (fields, True) for name, fields in closed.items()}


def _chosen():
    """What a search leaves."""
    from mercer.kernels.base import Kernel
    from mercer.selection.path import Path
    from mercer.selection.spectrum import Spectrum

    text = of(str)
    closed = {
        "selection.SearchResult": dict(
            kernel=of(Kernel), lam=number, value=number, status=text, message=text, criterion=text, at_bound=of(dict),
            flat=of(list), history=of(list), evaluations=number, failed=number, seconds=number, candidates=of(list),
            path=maybe(of(Path)),
        ),
        "selection.Choice": dict(lam=number, status=text, message=text, value=number, rule=text),
        "selection.Path": dict(
            spectrum=maybe(of(Spectrum, n="n", q="q")), weight=maybe(array("n")), kernel=maybe(of(Kernel)), X=anything,
            matrix=anything, n=size("n"), q=size("q"), eigenvalues=array("k"), coefficients=array("k", "t"),
            constant=anything, lams=array("L"), table=of(dict), criteria=of(list),
        ),
        "selection.Spectrum": dict(
            e=array("k"), U=array("n", "k"), c=array("k", "t"), y=array("n", "t"), H=array("n", "q"), n=size("n"),
            q=size("q"), zeros=number, rest=array("n", "t"), outside=array("n"), rest2=number,
        ),
    }  # fmt: skip
    return {name: (fields, True) for name, fields in closed.items()}


def _fitted():
    """The attributes of estimators that prediction reads; others are what they are."""
    from mercer.inference.models import BinaryPosterior, Model, SeveralPosterior
    from mercer.inference.posterior import Posterior
    from mercer.kernels import Features, Kernel
    from mercer.losses import Loss

    coef = either(array("n"), array("n", "t"))
    common = {
        "kernel_": of(Kernel), "n_features_in_": size("d"), "points_": rows("n", "d"), "dual_coef_": coef,
        "intercept_": either(number, array("t")), "fit_report_": of(dict), "lam_": number,
    }  # fmt: skip
    posterior = shaped("coef", "n", "t", classes=[BinaryPosterior, SeveralPosterior])
    special = {
        "KernelRidge": {"_rows": of(tuple)},
        "SVR": {"_rows": of(tuple), "support_": array("n", kinds="i")},
        "KernelInterpolator": {"_triangle": array("n", "n")},
        "KernelMachine": {"loss_": of(Loss), "support_": array("n", kinds="i")},
        "GaussianProcessRegressor": {
            "_f": _same_points(Posterior), "_components": maybe(each(_same_points(Posterior))),
        },
        "GaussianProcessClassifier": {
            "_posterior": posterior, "_model": of(Model), "classes_": array("c", kinds="biufUSO"),
        },
        "BasisRegression": {"basis_": of(Features)},
    }  # fmt: skip
    loose = {f"estimators.{name}": ({**common, **fields}, False) for name, fields in special.items()}
    features = {**special["BasisRegression"], "coef_": either(array("M"), array("M", "t")), "n_features_in_": size("d")}
    return {**loose, "estimators.BasisRegression": (features, False)}


def _same_points(cls):
    """A posterior with as many points, of as many columns, as the estimator."""

    def check(value, dims):
        of(cls)(value, dims)
        rows("n", "d")(value.points, dims)

    return check


def _compat():
    """The same for the estimators with scikit-learn's signatures; their inputs may be sparse."""
    from mercer.inference.posterior import Posterior
    from mercer.inference.sites import SitePosterior
    from mercer.kernels import Kernel

    vectors = either(sparse("m", "d"), array(0, 0), array("m", "d"))  # none are kept for a precomputed kernel
    machine = {"n_features_in_": size("d"), "support_vectors_": vectors, "_alpha": array("m")}
    loose = {
        "compat.KernelRidge": {
            "n_features_in_": size("d"), "X_fit_": either(sparse("n", "d"), array("n", "d", kinds="biuf")),
            "dual_coef_": either(array("n"), array("n", "t")),
        },
        "compat.SVR": machine,
        "compat.NuSVR": machine,
        "compat.GaussianProcessRegressor": {
            "n_features_in_": size("d"), "X_train_": rows("n", "d", itemsize=2), "_posterior": _same_points(Posterior),
        },
        "compat.TwoClasses": {
            "X_train_": rows("n", "d", itemsize=2), "_kernel": of(Kernel),
            "_posterior": shaped("a", "n", classes=[SitePosterior]),
        },
    }  # fmt: skip
    return {name: (fields, False) for name, fields in loose.items()}


def _tabular():
    """A model of a table is an estimator and a recipe."""
    from mercer.estimators._base import Estimator
    from mercer.files import _registry

    def recipe(value, dims):
        of(_registry.table("tabular")["Recipe"])(value, dims)

    fields = {"estimator": of(Estimator), "estimator_": of(Estimator), "recipe": maybe(recipe), "recipe_": recipe}
    return {"tabular.TableModel": (fields, False)}

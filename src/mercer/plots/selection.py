"""All criteria on one λ axis, and which λ each rule chooses."""

import numpy as np

from mercer.plots._base import CYCLE, DASHES, GREY, INK, LAMBDA, LAMBDA_A, PALE, PathDisplay, format_number
from mercer.selection import compare
from mercer.selection.shown import is_error, scale_to_unit, short_names


class SelectionDisplay(PathDisplay):
    """Every criterion against λ, scaled to 0 at its best; below, the λ each rule chooses.

    How to read: a curve is 0 at its best λ and 1 at the right end of the picture, the stiffest model shown (errors on a
    logarithmic scale); a wide valley means that λ hardly matters. Each row below is one rule: a full dot is a sure
    choice, a hollow one came with a warning, an arrow lies beyond the picture. Dots in one column agree.

    Parameters
    ----------
    lams : ndarray of shape (L,)
        λ, ascending.
    curves : dict of ndarray of shape (L,)
        The values of each criterion, by its name.
    choices : dict of Choice
        What each rule chose; rules without a curve are allowed.
    dof : dict of float, default=None
        Effective degrees of freedom of each choice.
    lam : float, default=None
        λ of a fitted model, marked by a line.
    matrix : bool, default=False
        Whether λ belongs to a plain matrix.

    Attributes
    ----------
    ax_, figure_ : Axes, Figure
        Where it is drawn.
    lines_, marks_ : dict of Line2D
        The curve and the dot of each rule.
    lam_ : Line2D or None
        The line of the model.

    Examples
    --------
    >>> from mercer.datasets import load_mcycle
    >>> from mercer.kernels import Gaussian
    >>> from mercer.plots import SelectionDisplay
    >>> from mercer.selection import GCV, LOO, compare
    >>> X, y = load_mcycle(return_X_y=True)
    >>> display = SelectionDisplay.from_comparison(compare(Gaussian(5.0), X, y, rules=[LOO(), GCV()]))
    >>> list(display.marks_)
    ['LOO()', 'GCV()']
    """

    def __init__(self, *, lams, curves, choices, dof=None, lam=None, matrix=False): ...

    @classmethod
    def from_comparison(cls, comparison, *, lam=None, ax=None):
        """Draw what `compare` found.

        Parameters
        ----------
        comparison : Comparison
        lam : float, default=None
            λ of a model to mark.
        ax : Axes, default=None
            None is a new figure.

        Returns
        -------
        SelectionDisplay
        """
        path, choices = comparison.path, comparison.choices
        e = path.eigenvalues
        return cls(
            lams=path.lams,
            curves={name: path.table[name] for name in choices if name in path.table},
            choices=dict(choices),
            dof={name: path.q + float((e / (e + choice.lam)).sum()) for name, choice in choices.items()},
            lam=lam,
            matrix=path.matrix is not None,
        ).plot(ax)

    @classmethod
    def from_path(cls, path, *, rules=None, lam=None, ax=None):
        """Draw the criteria of a `Path`, or the rules given.

        Parameters
        ----------
        path : Path
        rules : list of Rule, default=None
            None is the criteria the path was made with, or all that `compare` asks if there were none.
        lam : float, default=None
            λ of a model to mark.
        ax : Axes, default=None

        Returns
        -------
        SelectionDisplay
        """
        rules = path.criteria or None if rules is None else rules
        return cls.from_comparison(compare(path, rules=rules), lam=lam, ax=ax)

    def plot(self, ax=None):
        """Draw on ``ax``, or on a new figure; return self."""
        rows = len(self.choices)
        ax = self._start(ax, figsize=(7.2, 3.6 + 0.26 * rows))
        view = self._view()
        shown = (self.lams >= view[0] / (1 + 1e-9)) & (self.lams <= view[1] * (1 + 1e-9))
        ax.set(xscale="log", xlim=view, ylim=(_height(rows) + 0.01, 1.12))
        names = short_names(self.choices)
        self.lines_, self.marks_ = {}, {}
        for k, (rule, choice) in enumerate(self.choices.items()):
            style = {"color": CYCLE[k % len(CYCLE)], "zorder": 3}
            if rule in self.curves:
                curve = scale_to_unit(self.curves[rule][shown], is_error(rule))
                (self.lines_[rule],) = ax.plot(self.lams[shown], curve, linewidth=2, linestyle=DASHES[k % len(DASHES)],
                                               **style)  # fmt: skip
            self.marks_[rule] = self._row(ax, k, choice, style["color"], view)
        self.lam_ = None
        if self.lam is not None:
            self.lam_ = ax.axvline(self.lam, color=GREY, linewidth=1.2, linestyle=":", zorder=1)
            side, ha = (4, "left") if self.lam < np.sqrt(view[0] * view[1]) else (-4, "right")
            ax.annotate(f"the model, λ = {format_number(self.lam)}", (self.lam, 1.12), xytext=(side, -2), va="top",
                        ha=ha, fontsize=8.5, textcoords="offset points", color=GREY)  # fmt: skip
        self._ticks(ax, names)
        ax.set_xlabel(LAMBDA_A if self.matrix else LAMBDA)
        return self._finish(ax, "Which λ does each rule choose?")

    def _view(self):
        """(low, high): the part of the grid around the choices, and a few decades more."""
        chosen = [choice.lam for choice in self.choices.values() if np.isfinite(choice.lam) and choice.lam > 0]
        chosen += [self.lam] if self.lam else []
        low, high = self.lams[0], self.lams[-1]
        if chosen and high > low:
            low, high = max(low, min(chosen) / 3e3), min(high, max(chosen) * 1e2)
        return (low, high) if high > 1.001 * low else (low / 10, high * 10)

    def _row(self, ax, k, choice, color, view):
        """Draw the row of a rule: a thin line, the dot, and λ in figures."""
        height = _height(k)
        ax.axhline(height, color=PALE, linewidth=0.8, zorder=0)
        low, high = view
        shape = "<" if choice.lam < low else ">" if choice.lam > high else "o"
        (mark,) = ax.plot(np.clip(choice.lam, low, high), height, shape, color=color, markersize=8.5, zorder=4,
                          markerfacecolor=color if choice.ok else "white", markeredgewidth=1.8,
                          clip_on=False)  # fmt: skip
        words = [format_number(choice.lam), "", "" if choice.ok else choice.status.replace("_", " ")]
        if self.dof is not None and choice.rule in self.dof:
            words[1] = f"{self.dof[choice.rule]:.1f}"
        _write_columns(ax, height, words, INK)
        return mark

    def _ticks(self, ax, names):
        """Label the scale of the curves, and each row by its rule."""
        heights = [_height(k) for k in range(len(names))]
        ax.set_yticks([0.0, 0.5, 1.0, *heights], ["0  best", "0.5", "1", *names.values()])
        for k, label in enumerate(ax.get_yticklabels()[3:]):
            label.set_color(CYCLE[k % len(CYCLE)])
            label.set_fontweight("bold")
        ax.tick_params(axis="y", length=0)
        ax.grid(axis="y", visible=False)
        _write_columns(ax, 0.0, ["λ", "" if self.dof is None else "dof", ""], GREY)
        ax.axhline(0.0, color=GREY, linewidth=0.8, zorder=1)
        ax.set_ylabel("criterion, scaled", rotation=0, ha="right", va="top")
        ax.yaxis.set_label_coords(-0.015, 1.0)


def _height(k):
    """Where the row of the k-th rule is; the curves go from 0 to 1."""
    return -0.11 * (k + 1)


def _write_columns(ax, height, words, color):
    """Write λ, degrees of freedom and status to the right of the axes."""
    for place, word in zip((8, 64, 94), words, strict=True):
        if word:
            ax.annotate(word, (1, height), xycoords=("axes fraction", "data"), xytext=(place, 0), fontsize=8.5,
                        textcoords="offset points", va="center", color=color, annotation_clip=False)  # fmt: skip

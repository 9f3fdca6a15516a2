"""What the pages need beyond Sphinx: the order of the gallery, the look of its pictures, plain text in docstrings."""

import re
from importlib import import_module
from pathlib import Path

# The order of the lectures: features, kernels, λ, processes, classes, losses, objects.
ORDER = (
    "plot_overfitting.py",
    "plot_kernel_trick.py",
    "plot_building_kernels.py",
    "plot_interpolation.py",
    "plot_which_lambda.py",
    "plot_bias_variance.py",
    "plot_nested_cv.py",
    "plot_prior_and_posterior.py",
    "plot_weight_space.py",
    "plot_co2.py",
    "plot_motorcycle.py",
    "plot_map_with_a_gap.py",
    "plot_classification.py",
    "plot_support_vectors.py",
    "plot_losses.py",
    "plot_quantiles.py",
    "plot_own_objects.py",
    "plot_strings.py",
    "plot_graphs.py",
    "plot_distributions.py",
    "plot_mixed_table.py",
)
# What the reference is of; a name that no table of api.md has stands at its end.
MODULES = (
    "mercer",
    "mercer.kernels",
    "mercer.selection",
    "mercer.losses",
    "mercer.uncertainty",
    "mercer.diagnostics",
    "mercer.plots",
    "mercer.datasets",
    "mercer.gram",
    "mercer.solvers",
    "mercer.testing",
    "mercer.files",
    "mercer.report",
    "mercer.tabular",
    "mercer.compat",
)
TABLE = """.. currentmodule:: {}
.. autosummary::
   :toctree: generated

   {}
"""
COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#222222")  # Okabe and Ito
STYLE = {
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.titlelocation": "left",
    "axes.titlesize": 11,
    "legend.frameon": False,
    "legend.fontsize": 9,
    "savefig.dpi": 110,
}
CODE = re.compile(r"``.+?``|`.+?`|:\w+:`.+?`")


class LectureOrder:
    """Key of an example in the gallery."""

    def __init__(self, src_dir):
        self.src_dir = src_dir

    def __call__(self, filename):
        return ORDER.index(filename)

    def __repr__(self):
        return "<LectureOrder>"


def reset_style(gallery_conf, fname):
    """Give every example of the gallery the same look."""
    import matplotlib
    from cycler import cycler

    matplotlib.rcdefaults()
    matplotlib.rcParams.update(STYLE)
    matplotlib.rcParams["axes.prop_cycle"] = cycler(color=COLOURS)


PANELS: dict = {}  # {example: (left, top, right, bottom)} of one panel of its first figure, as shares
SHOWN = {"plot_building_kernels": 4}  # which panel, where it is not the first


def panel_scraper(block, block_vars, gallery_conf):
    """The figures of an example as sphinx-gallery keeps them; and where the panel of its thumbnail is."""
    import matplotlib.pyplot as plt
    from sphinx_gallery.scrapers import matplotlib_scraper

    stem = Path(block_vars["src_file"]).stem
    for number in plt.get_fignums()[:1]:
        figure = plt.figure(number)
        if stem not in PANELS and figure.axes:
            figure.canvas.draw()
            box = figure.axes[SHOWN.get(stem, 0)].get_tightbbox(figure.canvas.get_renderer())
            wide, high = figure.canvas.get_width_height()
            if box is not None:
                PANELS[stem] = (box.x0 / wide, 1 - box.y1 / high, box.x1 / wide, 1 - box.y0 / high)
    return matplotlib_scraper(block, block_vars, gallery_conf)


def single_panels(app):
    """A thumbnail shows one panel: several are too small to be read."""
    from PIL import Image

    folder = Path(app.srcdir, "auto_examples", "images")
    for stem, (left, top, right, bottom) in PANELS.items():
        picture, thumb = folder / f"sphx_glr_{stem}_001.png", folder / "thumb" / f"sphx_glr_{stem}_thumb.png"
        if picture.exists() and thumb.exists():
            with Image.open(picture) as whole:
                wide, high = whole.size
                edges = (max(left, 0) * wide - 4, max(top, 0) * high - 4, right * wide + 4, bottom * high + 4)
                part = whole.convert("RGB").crop([round(edge) for edge in edges])
            part.thumbnail((400, 280))
            card = Image.new("RGB", (400, 280), "white")
            card.paste(part, ((400 - part.width) // 2, (280 - part.height) // 2))
            card.save(thumb)


def plain_text(app, what, name, obj, options, lines):
    """Docstrings are plain text with Unicode mathematics: |r|, α* and θ_ are letters there, not markup."""
    for i, line in enumerate(lines):
        if not line.lstrip().startswith((">>>", "...", "..", ":")):
            lines[i] = _escaped(line)


def _escaped(line):
    """Put a backslash before each bar, star and closing underscore outside of code."""
    out, end = [], 0
    for code in CODE.finditer(line):
        out += [_letters(line[end : code.start()]), code.group()]
        end = code.end()
    return "".join([*out, _letters(line[end:])])


def _letters(text):
    text = re.sub(r"(?<!\\)(?<!\*)\*(?!\*)", r"\\*", text)
    text = re.sub(r"(?<!\\)\|", r"\\|", text)
    return re.sub(r"(?<=\w)_(?=\W|$)", r"\\_", text)


def skipped(app, what, name, obj, skip, options):
    """Leave out what scikit-learn gives to every estimator and describes better."""
    return True if re.fullmatch(r"set_\w+_request|[gs]et_params|get_metadata_routing|set_callbacks", name) else None


def gallery_links(app, docname, source):
    """Links of a page to the file of an example lead to its page in the gallery, with its picture if asked for."""
    text = re.sub(
        r"<!-- picture -->\[([^\]]*)\]\(\.\./examples/(plot_\w+)\.py\)",
        r"[![\1](auto_examples/images/sphx_glr_\2_001.png)](auto_examples/\2.rst)",
        source[0],
    )
    text = re.sub(r"\]\(\.\./examples/(plot_\w+)\.py\)", r"](auto_examples/\1.rst)", text)
    source[0] = text.replace("](../examples/)", "](auto_examples/index.rst)")


def listed(text):
    """The full names in the tables of the reference."""
    names = []
    for module, entries in re.findall(r"currentmodule:: (\S+)\n(.*?)```", text, re.DOTALL):
        names += [f"{module}.{name}" for name in re.findall(r"^   ([\w.]+)$", entries, re.MULTILINE)]
    return names


def unlisted(text):
    """{module: public names that the reference does not mention}."""
    tables, mentioned = {name.rsplit(".", 1)[1] for name in listed(text)}, set(re.findall(r"`[\w.]+\.(\w+)`", text))
    found = {module: set(import_module(module).__all__) - tables - mentioned - {"kernels"} for module in MODULES}
    return {module: sorted(names) for module, names in found.items() if names}


def write_others(app):
    """The last table of the reference, before autosummary makes a page of each name."""
    found = unlisted(Path(app.srcdir, "api.md").read_text(encoding="utf-8"))
    tables = [TABLE.format(module, "\n   ".join(names)) for module, names in found.items()]
    Path(app.srcdir, "_others.rst").write_text("\n".join(tables) or "None.\n", encoding="utf-8")


def setup(app):
    """Register with Sphinx."""
    app.connect("builder-inited", write_others, priority=400)  # before autosummary makes the pages
    app.connect("builder-inited", single_panels, priority=900)  # after the gallery is made
    app.connect("source-read", gallery_links)
    app.connect("autodoc-skip-member", skipped)
    app.connect("autodoc-process-docstring", plain_text)
    return {"parallel_read_safe": True, "parallel_write_safe": True}

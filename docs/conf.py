"""How `make docs` makes the pages: Sphinx, with a gallery of the examples; offline, and without MathJax."""

import sys
from importlib.metadata import version as installed
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE / "_ext"))

project = "mercer"
author = "the mercer developers"
copyright = author  # noqa: A001
version = release = installed("mercer")
extensions = [
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "numpydoc",
    "myst_parser",
    "sphinx_gallery.gen_gallery",
    "mercer_pages",
]
exclude_patterns = ["_build", "_others.rst"]  # the last table of api.md
templates_path = ["_templates"]
source_suffix = {".rst": "restructuredtext", ".md": "markdown"}
default_role = "py:obj"

myst_enable_extensions = ["colon_fence"]
myst_heading_anchors = 3

autosummary_generate = ["api.md", "_others.rst"]
autodoc_default_options = {"member-order": "bysource"}
autodoc_typehints = "none"
numpydoc_show_class_members = False
numpydoc_xref_param_type = False

sphinx_gallery_conf = {
    "examples_dirs": str(HERE.parent / "examples"),
    "gallery_dirs": "auto_examples",
    "filename_pattern": r"/plot_",
    "within_subsection_order": "mercer_pages.LectureOrder",
    "reset_modules": ("mercer_pages.reset_style",),
    "capture_repr": (),
    "image_scrapers": ("mercer_pages.panel_scraper",),
    "remove_config_comments": True,
    "download_all_examples": False,
    "show_memory": False,
    "show_signature": False,
    "write_computation_times": False,  # that page would fetch its table from the network
    "min_reported_time": 0,
    "plot_gallery": True,
    "abort_on_example_error": False,
    "only_warn_on_example_error": False,
    "backreferences_dir": None,
}

html_theme = "pydata_sphinx_theme"
html_title = "mercer"
html_static_path = ["_static"]
html_css_files = ["mercer.css"]
html_show_sourcelink = False
html_theme_options = {
    "navbar_align": "left",
    "show_prev_next": True,
    "show_toc_level": 2,
    "header_links_before_dropdown": 4,
    "pygments_light_style": "a11y-high-contrast-light",
    "pygments_dark_style": "a11y-high-contrast-dark",
    "secondary_sidebar_items": ["page-toc"],
    "footer_start": ["copyright"],
    "footer_end": [],
}
# A page by itself has no neighbours to list beside it; examples and reference pages have.
html_sidebars = {path.stem: [] for path in HERE.glob("*.md") if path.stem != "api"}

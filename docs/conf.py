"""Settings of the documentation site: `make docs` builds it into build/docs."""

from __future__ import annotations

import os
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT), str(ROOT / "docs")]  # the gallery imports its neighbours, and this file reference.py
os.environ.setdefault("MPLBACKEND", "Agg")

import reference  # noqa: E402

import minrisk  # noqa: E402

project = "minrisk"
author = "the minrisk developers"
copyright = author
version = release = minrisk.__version__

extensions = [
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx-mathjax-offline",
    "numpydoc",
    "myst_parser",
    "sphinx_gallery.gen_gallery",
    "sphinx_design",
    "sphinx_copybutton",
    "reference",
]
source_suffix = {".md": "markdown", ".rst": "restructuredtext"}
exclude_patterns = ["_templates", "sg_execution_times.rst", "auto_examples/*.ipynb"]
templates_path = ["_templates"]
suppress_warnings = ["config.cache"]

# -- sources -----------------------------------------------------------------------------------------------------------
myst_enable_extensions = ["dollarmath", "amsmath", "colon_fence", "deflist"]
myst_heading_anchors = 4
default_role = "py:obj"  # single backquotes in docstrings are names of ours, or code
autosummary_generate = True
autosummary_context = {"left_out": reference.LEFT_OUT}
autodoc_typehints = "none"  # numpydoc tells types in words
autodoc_member_order = "bysource"
numpydoc_show_class_members = False  # _templates/autosummary/class.rst lists them, with their signatures
numpydoc_class_members_toctree = False
numpydoc_xref_param_type = False

SECTIONS = ("decisions", "data", "judging", "explaining", "scale", "methods")  # folders of examples, in this order
sphinx_gallery_conf = {
    "examples_dirs": ["../examples"],
    "gallery_dirs": ["auto_examples"],
    "filename_pattern": r"plot_",
    "ignore_pattern": r"__init__\.py|guess_averse_trees\.py|run_json_model\.py|dask_cluster\.py|export_models\.py",
    "abort_on_example_error": True,
    "subsection_order": [f"../examples/{name}" for name in SECTIONS],
    "within_subsection_order": "FileNameSortKey",
    "show_memory": False,
    "capture_repr": (),  # what is printed is shown, what a last line returns is not
    "min_reported_time": 0,
    "remove_config_comments": True,
    "doc_module": ("minrisk",),
    "backreferences_dir": "api/backreferences",
    "matplotlib_animations": False,
}

copybutton_prompt_text = r">>> |\.\.\. "
copybutton_prompt_is_regexp = True

# -- pages -------------------------------------------------------------------------------------------------------------
html_theme = "pydata_sphinx_theme"
html_title = "minrisk"
html_static_path = ["_static"]
html_css_files = ["minrisk.css"]
html_show_sourcelink = False
html_theme_options = {
    "show_toc_level": 2,
    "navigation_with_keys": False,
    "header_links_before_dropdown": 6,
    "secondary_sidebar_items": ["page-toc"],
    "navbar_end": ["theme-switcher"],
    "footer_start": ["copyright"],
    "footer_end": [],
}

"""Configuration of the documentation site; built without a network."""

from __future__ import annotations

import sys
from pathlib import Path

DOCS = Path(__file__).resolve().parent
sys.path[:0] = [str(DOCS), str(DOCS.parent / "src")]

import noregret  # noqa: E402

project = "noregret"
author = "The noregret authors"
project_copyright = author
release = version = noregret.__version__

extensions = [
    "sphinx.ext.autodoc",
    "sphinx.ext.napoleon",
    "mathml",
    "myst_parser",
    "sphinx_copybutton",
    "docstrings",
    "executed",
]
exclude_patterns = ["_made"]
source_suffix = {".md": "markdown"}
myst_enable_extensions = ["dollarmath", "amsmath", "deflist", "colon_fence"]
myst_heading_anchors = 3

autodoc_member_order = "bysource"
autodoc_typehints = "signature"
autodoc_typehints_format = "short"
autodoc_default_options = {"members": True}
autoclass_content = "both"
autodoc_preserve_defaults = True
# Arrays are called by their short names, not spelled out.
autodoc_type_aliases = {
    name: name.removeprefix("npt.")
    for name in ("Vector", "Matrix", "Indices", "Inputs", "Labels", "OnError", "npt.ArrayLike")
}
napoleon_google_docstring = True
napoleon_numpy_docstring = False
python_maximum_signature_line_length = 80
add_module_names = False
toc_object_entries_show_parents = "hide"

html_math_renderer = "mathml"
html_theme = "furo"
html_title = "noregret"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_show_sphinx = False
html_copy_source = False
html_theme_options = {
    "light_css_variables": {"color-brand-primary": "#1b4965", "color-brand-content": "#1b4965"},
    "dark_css_variables": {"color-brand-primary": "#8ecae6", "color-brand-content": "#8ecae6"},
}
# Outputs are shown without a button: they are not to be pasted.
copybutton_selector = "div:not(.output) > div.highlight > pre"

"""Formulas as MathML, made when the site is built: pages need no script and no network."""

from __future__ import annotations

import re
from typing import Any

from docutils import nodes
from latex2mathml.converter import convert

#: A command that the converter does not know comes out as its name.
UNKNOWN = re.compile(r"\\[a-zA-Z]+")


def formula(latex: str, display: str) -> str:
    """Return a formula as MathML, or refuse one that would not be shown as it is meant."""
    made: str = convert(latex, display=display)
    unknown = UNKNOWN.findall(re.sub(r"<[^>]*>", "", made))
    if unknown:
        raise ValueError(f"the formula {latex!r} has {unknown[0]}, which MathML has no word for")
    return made


def inline(writer: Any, node: nodes.math) -> None:
    """Write a formula within a line."""
    writer.body.append(formula(node.astext(), "inline"))
    raise nodes.SkipNode


def block(writer: Any, node: nodes.math_block) -> None:
    """Write a formula of its own."""
    writer.body.append(writer.starttag(node, "div", CLASS="math"))
    writer.body.append(formula(node.astext(), "block"))
    writer.body.append("</div>\n")
    raise nodes.SkipNode


def setup(app: Any) -> dict[str, bool]:
    """Register the renderer."""
    app.add_html_math_renderer("mathml", (inline, None), (block, None))
    return {"parallel_read_safe": True, "parallel_write_safe": True}

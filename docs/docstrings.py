"""Docstrings are written as plain text; this makes them safe for Sphinx, which reads markup.

Bars, stars and trailing underscores of the mathematics are escaped, a name in backticks is code,
indented formulas stay as they are, and examples run on to the end of their block.
"""

from __future__ import annotations

import re
from typing import Any

from sphinx.application import Sphinx

_SECTION = re.compile(r"^(Args|Attributes|Returns|Raises|Yields|Warning|Note):$")
_CODE = re.compile(r"(`[^`]+`)")


def setup(app: Sphinx) -> dict[str, Any]:
    """Register the extension; it works before napoleon does."""
    app.connect("autodoc-process-docstring", process, priority=100)
    return {"version": "1", "parallel_read_safe": True}


def process(app: Sphinx, what: str, name: str, obj: Any, options: Any, lines: list[str]) -> None:
    """Rewrite the lines of a docstring in place."""
    lines[:] = rewritten(lines)
    if what in ("attribute", "property", "data"):
        # What stands before a colon on the first line would be taken for a type.
        lines.insert(0, "")


def rewritten(lines: list[str]) -> list[str]:
    r"""Return the lines with mathematics escaped and formulas kept literally.

    >>> print(*rewritten(["The norm ||u|| of `u`."]))
    The norm \|\|u\|\| of ``u``.
    """
    result: list[str] = []
    example = formula = section = False
    for k, line in enumerate(lines):
        blank = not line.strip()
        if line.lstrip().startswith(">>>"):
            if not example and result and result[-1].strip():
                result.append("")
            example = True
        if blank:
            example = False
        if formula and not blank and not line.startswith(" "):
            formula = False
        if _SECTION.match(line):
            section = True
        elif section and not blank and not line.startswith(" "):
            section = False
        indented = line.startswith("    ") and not example and not section
        if indented and not formula and k and not lines[k - 1].strip():
            result += ["::", ""]
            formula = True
        result.append(line if example or formula else _escaped(line))
    return result


def _escaped(line: str) -> str:
    """Escape what is not in backticks, and make what is in them code."""
    parts = _CODE.split(line)
    for k, part in enumerate(parts):
        if part.startswith("`") and part.endswith("`") and len(part) > 2:
            parts[k] = f"`{part}`"
        else:
            part = re.sub(r"([\\|*])", r"\\\1", part)
            parts[k] = re.sub(r"_(?=\W|$)", r"\\_", part)
    return "".join(parts)

"""The grammar of printed certificates: every line is one of the forms below, or an error.

Written from what a reader sees. Nothing of the library is imported: text is all there is.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from tests.printed.figures import Figure
from tests.printed.forms import FORMS
from tests.printed.spaces import Unparsed

__all__ = ["Line", "Unparsed", "parse"]


@dataclass(frozen=True)
class Line:
    """One line of a text: which form it has, and what stands in it."""

    kind: str
    parts: dict[str, str | None]
    raw: str
    indent: int = 0

    def figure(self, name: str) -> Figure:
        """Return a number of the line."""
        text = self.parts[name]
        assert text is not None, (name, self.raw)
        return Figure(text)

    def has(self, name: str) -> bool:
        return self.parts.get(name) is not None

    def words(self, name: str) -> str:
        text = self.parts[name]
        assert text is not None, (name, self.raw)
        return text


_COMPILED = {
    family: [(kind, re.compile(pattern)) for kind, pattern in forms.items()]
    for family, forms in FORMS.items()
}


def parse(text: str, *families: str) -> list[Line]:
    """Return the lines of a text of these families; a line of no form is an error."""
    return [line_of(raw, families) for raw in text.splitlines() if raw.strip()]


def line_of(raw: str, families: tuple[str, ...]) -> Line:
    """Return one line, which must have exactly one form."""
    stripped = raw.strip()
    found = []
    for family in families:
        for kind, pattern in _COMPILED[family]:
            match = pattern.fullmatch(stripped)
            if match:
                found.append((kind, match.groupdict()))
    if len(found) != 1:
        forms = ", ".join(kind for kind, _ in found) or "none"
        raise Unparsed(f"not understood ({forms}): {raw!r}")
    kind, parts = found[0]
    return Line(kind, parts, raw, len(raw) - len(raw.lstrip()))

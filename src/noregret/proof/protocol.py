"""What every certificate, proof and solution shares: its text, its dictionary, its table.

A certificate has `rounds`, `loss` (what the player itself lost, in all), `describe()` (the class
of competitors in words), `bounds` (its theorems, each a `Statement`), `as_dict()`, `text()` and
the forms for print and notebooks below; `floor()` and `regret()` where these exist.
"""

from __future__ import annotations

import html
from typing import Any

import numpy as np

from noregret.proof.statement import finite
from noregret.rounding.printed import down, down_each, up, up_each


class Proof:
    """Something proved or measured, in the forms in which it is read.

    Subclasses are frozen dataclasses that return the lines of the text.
    """

    def _lines(self) -> list[str]:
        raise NotImplementedError

    def text(self) -> str:
        """Return the statements for a person."""
        return "\n".join(self._lines())

    def as_dict(self) -> dict[str, Any]:
        """Return plain values, ready for JSON."""
        return {name: plain(value) for name, value in vars(self).items()}

    def __str__(self) -> str:
        return self.text()

    def _repr_html_(self) -> str:
        """Return the text for a notebook."""
        return f"<pre>{html.escape(self.text())}</pre>"


class RadiusProof(Proof):
    """A proof whose class of competitors has a radius that the reader may choose."""

    def _lines(self, radius: float | None = None) -> list[str]:
        raise NotImplementedError

    def text(self, radius: float | None = None) -> str:
        """Return the certificate for a person, for comparators of that radius."""
        return "\n".join(self._lines(radius))


def plain(value: Any) -> Any:
    """Return a value as JSON has it: None for numbers that are not finite, lists for arrays.

    >>> plain((1, float("inf"), np.ones(1), "u"))
    (1, None, [1.0], 'u')
    """
    if isinstance(value, float):
        return finite(value)
    if isinstance(value, np.ndarray):
        return plain(value.tolist())
    if isinstance(value, list | tuple):
        return type(value)(map(plain, value))
    if hasattr(value, "as_dict"):
        return value.as_dict()
    return value if value is None or isinstance(value, int | str) else str(value)


def row(name: str, value: str, note: str = "", widths: tuple[int, int] = (26, 14)) -> str:
    """Return a line of the table: a name, a number to its right and a note.

    >>> row("mistakes", "7", "50.00%")
    '  mistakes                               7  50.00%'
    """
    return f"  {name:<{widths[0]}}{value:>{widths[1]}}  {note}".rstrip()


def measured(name: str, value: float, rounds: int, note: str = "") -> str:
    """Return the line of a number that was measured, and of its part a round."""
    return row(name, f"{value:.6g}", f"{value / max(rounds, 1):.6g} a round{note}")


def at_least(name: str, value: float, rounds: int, note: str = "") -> str:
    """Return the line of a lower bound, rounded down, and of its part a round."""
    return row(name, down(value), f"{down(down_each(value, max(rounds, 1)))} a round{note}")


def at_most(name: str, value: float, rounds: int, note: str = "") -> str:
    """Return the line of an upper bound, rounded up, and of its part a round."""
    return row(name, up(value), f"{up(up_each(value, max(rounds, 1)))} a round{note}")


def indented(lines: str) -> list[str]:
    """Return the lines of a text within another one."""
    return [f"  {line}" for line in lines.splitlines()]

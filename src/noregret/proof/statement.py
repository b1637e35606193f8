"""The printed forms of certificates, proofs and solutions: statements, text, dictionary, table.

A certificate has `rounds`, `loss` (the player's total loss), `describe()` (the class of
competitors in words), `bounds` (its theorems, each a `Statement`), `as_dict()`, `text()` and the
forms for print and notebooks below; `floor()` and `regret()` where these exist.

A theorem bounds a quantity that the run has measured as well, such as the largest linear regret
over a class. In exact arithmetic the bound is never below the quantity if the preconditions held.
A bound that is lower by no more than rounding is raised to the quantity; one that is lower by
more is contradicted by the run and is printed as not applicable.
"""

from __future__ import annotations

import html
import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from noregret.component import Component, built_in
from noregret.rounding import down, down_each, up, up_each

#: Width of the name in print: of a theorem, and of a claim that is printed with `holds`.
NAME_WIDTH, CLAIM_WIDTH = 41, 38
#: Bound on the rounding of sums over many rounds and of closed forms, relative to their size. A
#: failed precondition shows as far more.
ROUNDING = 1e-9
OVERFLOW = "the sums overflow"
#: What to suspect if every component is built in.
RANGE = "numbers at the edges of double precision"
#: The order of the fields in JSON.
_KEYS = (
    *("name", "reference", "holds", "claim", "value", "factor", "measure", "applies", "reason"),
    "against",
)


def finite(value: float) -> float | None:
    """Return a number that JSON can hold, None for one that is not finite.

    >>> finite(1.5), finite(math.inf)
    (1.5, None)
    """
    return value if math.isfinite(value) else None


@dataclass(frozen=True)
class Statement:
    """One theorem at work: measure <= factor * comparator's loss + value, or `claim` <= value.

    With factor 1 the value bounds the regret; with factor 0 there is no comparator.

    `holds` is empty for what is certain for all data. "on this path" is certain, too.
    "in expectation" is over the player's own draws: E[`claim`] <= value, for an arm or point and a
    number of rounds that were fixed in advance. "with probability >= ..." is over these draws, too.
    The last two allow costs that depend on earlier draws, but not on later ones. The cost of an
    arm is then the sum of its costs in these rounds, not the costs that a player who always pulled
    it would have met.

    >>> print(Statement("Perceptron", "Cesa-Bianchi 2024, eq. 1", 4.0, 0.5, "mistakes"))
    Perceptron                               mistakes - 0.5 L(u) <= 4
    """

    name: str
    reference: str
    #: The number on the right side, rounded up in print; infinite where it does not apply.
    value: float
    factor: float = 1.0
    #: What is bounded; empty if there is a `claim`.
    measure: str = "loss"
    applies: bool = True
    #: Why it does not apply, or ''.
    reason: str = ""
    #: Whose loss it is compared with.
    against: str = "L(u)"
    #: The left side in words, in place of measure, factor and comparator.
    claim: str = ""
    #: In which sense a claim holds.
    holds: str = ""

    @property
    def left_side(self) -> str:
        """What the value bounds, in words."""
        if self.claim:
            return self.claim
        factors = {0.0: "", 1.0: f" - {self.against}"}
        return self.measure + factors.get(self.factor, f" - {up(self.factor)} {self.against}")

    def as_dict(self) -> dict[str, Any]:
        """Return the fields that are used as plain values, None for a value that is not finite."""
        unused = {"claim"} if self.measure else {"factor", "measure", "against"}
        if not self.holds:
            unused.add("holds")
        plain = vars(self) | {"value": finite(self.value)}
        return {key: plain[key] for key in _KEYS if key not in unused}

    def __str__(self) -> str:
        start = f"{self.name:<{CLAIM_WIDTH if self.holds else NAME_WIDTH}}"
        if not self.applies:
            return f"{start}not applicable: {self.reason}"
        # Mistakes without a comparator are whole numbers.
        whole = self.measure == "mistakes" and self.factor == 0.0
        value = f"{self.value:,.0f}" if whole else up(self.value)
        return f"{start}{self.left_side} <= {value} {self.holds}".rstrip()


@dataclass(frozen=True)
class Measured:
    """The quantity that a theorem bounds, as this run shows it.

    value: the quantity, rounded up.
    slack: how far above the true quantity `value` can be, rounding of the theorem included.
    suspect: the precondition to suspect if a theorem is contradicted.
    """

    value: float
    slack: float
    suspect: str

    def judge(self, value: float, reason: str = "") -> tuple[float, str]:
        """Return what to print for a theorem of that value, and why it does not apply, or ''.

        reason: why a precondition is known not to hold, or ''.

        >>> run = Measured(2.0, 1e-12, "smoothness() of MyMap")
        >>> run.judge(3.0), run.judge(2.0 - 1e-13)
        ((3.0, ''), (2.0, ''))
        >>> run.judge(1.5)
        (inf, 'this run contradicts it (suspect: smoothness() of MyMap)')
        """
        if reason:
            return math.inf, reason
        if not math.isfinite(value):
            return math.inf, OVERFLOW
        if value >= self.value:
            return value, ""
        if not math.isfinite(self.value):
            # An overflow is not a measurement.
            return math.inf, OVERFLOW
        if value < self.value - self.slack - ROUNDING * abs(value):
            return math.inf, contradicted(self.suspect)
        return self.value, ""

    def state(
        self,
        name: str,
        reference: str,
        value: float,
        reason: str = "",
        factor: float = 1.0,
        measure: str = "loss",
        claim: str = "",
        holds: str = "",
    ) -> Statement:
        """Return a theorem as a statement, not applicable by `judge` where the run contradicts it.

        factor: by what the comparator's loss is multiplied [default: 1].
        measure: what is bounded [default: "loss"]; `claim` and `holds` replace it in words.

        >>> print(Measured(2.0, 1e-12, "").state("OGD", "Cesa-Bianchi 2024, eq. 7", 3.0))
        OGD                                      loss - L(u) <= 3
        """
        value, reason = self.judge(value, reason)
        factor, measure = 1.0 if reason else factor, "" if claim else measure
        return Statement(
            name, reference, value, factor, measure, not reason, reason, claim=claim, holds=holds
        )


#: For theorems about a quantity that the run did not measure.
NOTHING = Measured(-math.inf, 0.0, "")


def contradicted(suspect: str) -> str:
    """Return the reason why a theorem that the run contradicts does not apply."""
    return f"this run contradicts it (suspect: {suspect})"


def suspect_of(*parts: tuple[Component | None, str]) -> str:
    """Return the promises of the components that are not built in, to be suspected.

    >>> from noregret.mirrors import Euclidean
    >>> suspect_of((Euclidean(), "smoothness()"))
    'numbers at the edges of double precision'
    """
    own = [(part, promise) for part, promise in parts if part is not None and not built_in(part)]
    return " or ".join(f"{promise} of {type(part).__name__}" for part, promise in own) or RANGE


class Proof:
    """Base of what is printed: text, dictionary, notebook.

    Subclasses are frozen dataclasses that return the lines of the text.
    """

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        # A dataclass writes a `__repr__` of all fields, arrays included, unless it finds one.
        if "__repr__" not in vars(cls):
            cls.__repr__ = Proof.__repr__  # type: ignore[method-assign]

    def _lines(self) -> list[str]:
        raise NotImplementedError

    def _summary(self) -> str:
        """Return the statement in one line: the first one of the text."""
        return self._lines()[0]

    def __repr__(self) -> str:
        return f"<{type(self).__name__}: {self._summary()}>"

    def text(self) -> str:
        """Return the statements for a person."""
        return "\n".join(self._lines())

    def as_dict(self) -> dict[str, Any]:
        """Return plain values, ready for JSON."""
        return {name: plain(value) for name, value in vars(self).items()}

    def __str__(self) -> str:
        return self.text()

    def _repr_html_(self) -> str:
        """Return the text for a notebook, its first line as the heading."""
        head, _, rest = html.escape(self.text()).partition("\n")
        style = "margin: 0; white-space: pre-wrap; font-family: monospace; line-height: 1.35"
        return f'<div><strong>{head}</strong><pre style="{style}">{rest}</pre></div>'


#: The origin of a floor whose lines touch at the predictions.
PREDICTIONS = "predictions"
#: Those of floors of `floors`.
BLOCKS = "blocks of rows"
PARABOLAS = "parabolas at blocks of rows"


class RadiusProof(Proof):
    """A proof whose class of competitors has a radius that the reader may choose."""

    def floor(self, radius: float | None = None) -> float:
        """Return a number that no competitor of the class has lost less than."""
        raise NotImplementedError

    def floors(self, radius: float | None = None) -> dict[str, float]:
        """Return every floor by its origin."""
        return {PREDICTIONS: self.floor(radius)}

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
    """Return the line of a measured number, with its average a round."""
    return row(name, f"{value:.6g}", f"{value / max(rounds, 1):.6g} a round{note}")


def at_least(name: str, value: float, rounds: int, note: str = "") -> str:
    """Return the line of a lower bound, rounded down, with its average a round."""
    return row(name, down(value), f"{down(down_each(value, max(rounds, 1)))} a round{note}")


def at_most(name: str, value: float, rounds: int, note: str = "") -> str:
    """Return the line of an upper bound, rounded up, with its average a round."""
    return row(name, up(value), f"{up(up_each(value, max(rounds, 1)))} a round{note}")


def indented(lines: str) -> list[str]:
    """Return the lines of a text, indented."""
    return [f"  {line}" for line in lines.splitlines()]

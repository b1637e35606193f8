"""One printed claim: what a theorem bounds, by which number, or why it does not apply."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from noregret.rounding.printed import up

#: Columns of the name in print: of a theorem, and of a claim that says in which sense it holds.
NAME_WIDTH, CLAIM_WIDTH = 41, 38
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

    `holds` is empty for what is certain whatever the data were. "on this path" is certain, too.
    "in expectation" is over the player's own draws: E[`claim`] <= value, for an arm or point and a
    number of rounds that were fixed in advance. "with probability >= ..." is over these draws, too.
    The last two allow costs that depend on earlier draws, not on those to come. The cost of an arm
    is then the sum of the costs that it had in these rounds, which is not what a player who had
    always pulled it would have met.

    >>> print(Statement("Perceptron", "Cesa-Bianchi 2024, eq. 1", 4.0, 0.5, "mistakes"))
    Perceptron                               mistakes - 0.5 L(u) <= 4
    """

    name: str
    reference: str
    #: The number on the right side, rounded up in print; infinite where it does not apply.
    value: float
    factor: float = 1.0
    #: What is bounded; empty where `claim` says it.
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

"""Whether a run contradicts a theorem: one decision for every bound that is printed.

A theorem bounds a quantity that the run has measured as well, such as the largest linear regret
over a class. In exact arithmetic the bound is never below the quantity if the preconditions held.
A bound that is lower by no more than rounding is raised to the quantity; one that is lower by
more was contradicted, and says nothing about this run.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from noregret.component import Component, built_in
from noregret.proof.statement import Statement

#: What sums over many rounds and the closed forms of theorems can lose to rounding, relative to
#: their size. Preconditions that fail do so by far more.
ROUNDING = 1e-9
OVERFLOW = "the sums overflow"
#: What to suspect where every component is one of ours.
RANGE = "numbers at the edges of double precision"


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
            # What overflowed is no measurement.
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
        measure: what is bounded [default: "loss"], unless `claim` and `holds` say it in words.

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
    """Return the promises of those components that are not ours, each given with its promise.

    >>> from noregret.mirrors import Euclidean
    >>> suspect_of((Euclidean(), "smoothness()"))
    'numbers at the edges of double precision'
    """
    own = [(part, promise) for part, promise in parts if part is not None and not built_in(part)]
    return " or ".join(f"{promise} of {type(part).__name__}" for part, promise in own) or RANGE

"""What a loss that is not of this package is taken at its word for, and what broke.

Certificates are true if value, slope and what else is used of a loss belong to one convex
function. For the losses of this package that is proved and tested; one's own promises it. Each
round looks at what one more value tells; the rest is named as an assumption.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum
from typing import Any

from noregret.rounding import exact


class Promise(IntEnum):
    """The promises that a round can find broken, as the ledger counts them."""

    NONNEGATIVE = 1
    LIPSCHITZ = 2
    CONVEX = 3
    INTERCEPT = 4
    CONJUGATE = 5


_WORDS: dict[float, str] = {
    Promise.NONNEGATIVE: "values >= 0",
    Promise.LIPSCHITZ: "slopes of at most lipschitz()",
    Promise.CONVEX: "convexity",
    Promise.INTERCEPT: "an intercept not above value - slope * p",
    Promise.CONJUGATE: "its conjugate",
}


@dataclass(frozen=True)
class Broken:
    """A promise that a loss broke, and the first round that showed it.

    >>> str(Broken("Wavy", 17, "convexity"))
    'Wavy broke its promise of convexity in round 17'
    """

    loss: str
    round: int
    promise: str

    def __str__(self) -> str:
        return f"{self.loss} broke its promise of {self.promise} in round {self.round:,}"

    def as_dict(self) -> dict[str, Any]:
        """Return the fields, ready for JSON."""
        return dict(vars(self))


class WrongConjugate(ValueError):
    """A dual value that no convex loss can have: the conjugate of a loss is not its own."""


def broken_in(loss: Any, rounds: float, which: float) -> Broken | None:
    """Return the promise `which` that a loss broke in a round, None where the round is 0.

    >>> from noregret.losses import Hinge
    >>> str(broken_in(Hinge(), 3.0, float(Promise.CONVEX)))
    'Hinge broke its promise of convexity in round 3'
    """
    if not rounds > 0.0:
        return None
    return Broken(
        type(loss.promising()).__name__, int(rounds), _WORDS.get(Promise(int(which)), "convexity")
    )


def assumption_of(loss: Any, conjugate: bool = False) -> str | None:
    """Return what a loss is taken at its word for, None for those of this package.

    `conjugate` tells whether its conjugate is used too.

    >>> from noregret.losses import Hinge
    >>> assumption_of(Hinge()) is None
    True
    """
    loss = loss.promising()
    if not loss.foreign:
        return None
    steepest = loss.lipschitz()
    promises = {
        "to be convex": True,
        "never to be negative": loss.nonnegative,
        f"to have slopes of at most {exact(steepest)}": steepest < float("inf"),
        "to have the conjugate it gives": conjugate,
    }
    words = listed([promise for promise, given in promises.items() if given])
    return f"{type(loss).__name__} is taken at its word {words}"


def listed(words: list[str]) -> str:
    """Return words as a list in a sentence.

    >>> listed(["to be convex", "never to be negative", "to be right"])
    'to be convex, never to be negative and to be right'
    """
    return " and ".join([", ".join(words[:-1]), words[-1]] if len(words) > 1 else words)

"""What the certificates of learners on finite classes have in common: bounds, and their print."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from noregret.proof.protocol import Proof
from noregret.proof.statement import Statement
from noregret.rounding.printed import up

SURVEY = "Shalev-Shwartz 2012"


@dataclass(frozen=True, kw_only=True)
class Proved(Proof):
    """Rounds played, and bounds on what they cost."""

    rounds: int
    bounds: tuple[Statement, ...]

    def as_dict(self) -> dict[str, Any]:
        """Return the certificate as plain values, ready for JSON."""
        return super().as_dict() | {"bounds": [bound.as_dict() for bound in self.bounds]}

    def describe(self) -> str:
        """Return in words whom the learner is compared with."""
        return "any hypothesis of the class"

    def _bound_lines(self) -> list[str]:
        return [f"  {bound}".replace("loss - L(u)", "regret") for bound in self.bounds]


@dataclass(frozen=True, kw_only=True)
class RegretCertificate(Proved):
    """The expected loss of a randomised learner beside the best in hindsight.

    The statements hold for every sequence of answers that does not know the learner's coins:
    they may depend on the probabilities announced, and on coins tossed before.
    """

    loss: float
    best: int

    @property
    def regret(self) -> float:
        """The loss beyond that of the best in hindsight."""
        return self.loss - self.best

    def as_dict(self) -> dict[str, Any]:
        """Return the certificate as plain values, ready for JSON."""
        return super().as_dict() | {"regret": self.regret}

    def _regret_lines(self, loss: str, best: str) -> list[str]:
        return [
            f"  {loss:<41}{self.loss:.6g}",
            f"  {best:<41}{self.best:,}",
            f"  {'regret':<41}{up(self.regret)}",
            *self._bound_lines(),
        ]


class CountedMistakes(Proved):
    """The mistakes of a deterministic learner, which are its loss."""

    mistakes: int

    @property
    def loss(self) -> float:
        """The number of mistakes."""
        return float(self.mistakes)


def mistake_bound(name: str, reference: str, value: int, reason: str) -> Statement:
    """Return a bound on a number of mistakes; a reason says why it does not apply."""
    stated = float("inf") if reason else float(value)
    return Statement(name, f"{SURVEY}, {reference}", stated, 0.0, "mistakes", not reason, reason)

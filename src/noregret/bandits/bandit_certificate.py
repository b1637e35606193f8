"""The certificate of a bandit: on this path, in expectation, or with high probability."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from noregret.arrays import Vector
from noregret.proof.statement import Proof, Statement, at_least, finite, measured

#: In which sense a theorem holds. One run can contradict only those about its own path. The others
#: are stated by `NOTHING`, as the theorem has them, beside what was measured.
PATH, MEAN = "on this path", "in expectation"
#: The regret that the theorems on arms bound.
FIXED_ARM, ANY_ARM = "cost - cost of an arm fixed in advance", "cost - cost of any arm"


@dataclass(frozen=True, eq=False)
class CostProof(Proof):
    """Base of the certificates of bandits: rounds, and their cost, which is the loss."""

    rounds: int
    cost: float

    @property
    def loss(self) -> float:
        """The cost of all rounds."""
        return self.cost

    @property
    def average_cost(self) -> float:
        """The cost a round."""
        return self.cost / self.rounds if self.rounds else 0.0


def heading(certificate: Any) -> str:
    """Return the first line: algorithm, rounds, and decisions that no sum contains."""
    wait = f", {certificate.waiting:,} decisions still wait" if certificate.waiting else ""
    return f"Certificate after {certificate.rounds:,} rounds of {certificate.algorithm}{wait}"


@dataclass(frozen=True, eq=False)
class BanditCertificate(CostProof):
    """The cost of a run beside estimates of the costs that each arm had, and the theorems.

    Only the costs of pulled arms were seen: statements about other arms are estimates, or hold in
    expectation or with high probability, and are labelled so.
    """

    algorithm: str
    #: Estimated sum of the costs that each arm had in these rounds; NaN where an arm had no chance
    #: in some round, so that nothing can be estimated.
    estimates: Vector
    #: The cost minus the least estimated cost: an estimate, not a bound.
    estimated_regret: float
    statements: list[Statement] = field(default_factory=list)
    #: With probability at least 1 - delta the costs that any arm had in the rounds so far sum to
    #: at least `floor`, in all rounds together; None if there is none.
    delta: float | None = None
    floor: float | None = None
    #: Decisions whose cost has not come, which no sum contains.
    waiting: int = 0

    @property
    def bounds(self) -> list[Statement]:
        """The theorems, which hold as each of them says."""
        return self.statements

    def describe(self) -> str:
        """Return the competitors in words."""
        return "any arm"

    @property
    def best_arm(self) -> int | None:
        """The arm with the least estimated cost, the first of them; None if none has one."""
        known = np.isfinite(self.estimates)
        return int(np.argmin(np.where(known, self.estimates, np.inf))) if known.any() else None

    def as_dict(self) -> dict[str, Any]:
        """Return the certificate as plain values, ready for JSON."""
        return {
            "algorithm": self.algorithm,
            "rounds": self.rounds,
            "waiting": self.waiting,
            "cost": self.cost,
            "average_cost": self.average_cost,
            "best_arm": self.best_arm,
            "estimated_regret": finite(self.estimated_regret),
            "delta": self.delta,
            "floor": self.floor,
            "statements": [each.as_dict() for each in self.statements],
        }

    def _lines(self) -> list[str]:
        rounds = self.rounds
        lines = [heading(self), measured("cost of the bandit", self.cost, rounds)]
        if self.best_arm is None:
            lines += ["  no arm had a chance in every round: none can be estimated"]
        else:
            best = float(self.estimates[self.best_arm])
            lines += [
                measured("best arm, estimated", best, rounds, f", arm {self.best_arm}"),
                measured("regret, estimated", self.estimated_regret, rounds),
            ]
        if self.floor is not None and self.delta is not None:
            lines += [
                at_least("floor", self.floor, rounds),
                f"    with probability >= 1 - {self.delta!r}, in all rounds together,",
                "    the costs that any arm had in these rounds sum to at least that",
            ]
        return [*lines, *(f"  {each}" for each in self.statements)]

"""What a run with expert advice can say: its loss, the best expert's, and the theorems between."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from noregret.arrays import Vector
from noregret.experts import expert_theorems
from noregret.experts.checks import as_distribution
from noregret.experts.rounds import ADAPTIVE, ANYTIME, DOUBLING, FIXED, ExpertSum
from noregret.proof.loss_promises import Broken
from noregret.proof.protocol import Proof, at_least, at_most, measured, row
from noregret.proof.statement import RANGE, Measured, Statement
from noregret.proof.wording import assumption_lines
from noregret.rounding.printed import exact, up
from noregret.rounding.slack import UNDERFLOW, grown, rounding_error

SURVEY = "Shalev-Shwartz 2012"
GAMES = "Cesa-Bianchi, Lugosi 2006"
LEADER = "de Rooij, van Erven, Grunwald, Koolen 2014"


@dataclass(frozen=True, eq=False)
class ExpertCertificate(Proof):
    """A learner's loss beside that of every expert on the same rounds, and what was promised.

    `regret` is measured and rounded up; `bounds` are the theorems, each with whether its
    conditions held on the rounds seen; one that the run contradicts is not applicable.
    """

    algorithm: str
    rounds: int
    loss: float
    #: What each expert would have lost.
    totals: Vector
    #: How far rounding can have moved the difference of two of these, at most.
    slack: float
    bounds: list[Statement] = field(default_factory=list)
    #: A proved bound on the regret against every convex combination, where one is known.
    combination_regret: float | None = None
    #: Sum of -(1/eta) ln sum_i w_i e^(-eta z_i), what the learner lost beyond it being the gaps.
    mix_loss: float | None = None
    #: What those are called whom the learner is compared with, and the number of the first.
    competitor: str = "expert"
    first: int = 0
    #: What is taken on trust: the promises of a loss that is not one of this package.
    assumption: str | None = None
    #: The promise that such a loss broke, and the round: no theorem holds then.
    broken: Broken | None = None

    def __post_init__(self) -> None:
        """Say in every bound whose loss it is about."""
        against = f"loss of {self.describe()}"
        bounds = [replace(bound, against=against) for bound in self.bounds]
        object.__setattr__(self, "bounds", bounds)

    def describe(self) -> str:
        """Return in words whom the theorems compare the learner with."""
        known = self.combination_regret is not None
        return f"any {'combination' if known else self.competitor}"

    def floor(self) -> float:
        """Return what no expert lost less than: the loss of the best one, as it was summed."""
        return self.best_loss

    @property
    def average_loss(self) -> float:
        """The loss a round."""
        return self.loss / self.rounds if self.rounds else 0.0

    @property
    def best_expert(self) -> int:
        """The expert that lost least, the first of them."""
        return int(np.argmin(self.totals))

    @property
    def best_loss(self) -> float:
        """What the best expert lost."""
        return float(self.totals.min())

    def regret(self, u: Any = None) -> float:
        """Return the loss minus the best expert's, or minus the mean <u, totals>, rounded up."""
        if u is None:
            return self.loss - self.best_loss + self.slack
        weights = as_distribution("u", u, len(self.totals))
        # Totals of both signs may cancel in the mean, their rounding does not.
        error = rounding_error(len(weights) + 4.0, float(weights @ np.abs(self.totals)))
        return self.loss - float(weights @ self.totals) + self.slack + error

    @property
    def accuracy(self) -> str:
        """Whether `regret()` is what was measured, to six digits, or an upper bound on it.

        A member that diverged makes the rounding of the sums larger than the regret.
        """
        apart = abs(self.loss - self.best_loss)
        return "measured" if self.slack <= 5e-7 * apart else "at most"

    def as_dict(self) -> dict[str, Any]:
        """Return the certificate as plain values, ready for JSON."""
        return {
            "algorithm": self.algorithm,
            "rounds": self.rounds,
            "loss": self.loss,
            "average_loss": self.average_loss,
            "best_expert": self.best_expert,
            "best_loss": self.best_loss,
            "regret": self.regret(),
            "combination_regret": self.combination_regret,
            "mix_loss": self.mix_loss,
            "bounds": [bound.as_dict() for bound in self.bounds],
            "assumption": self.assumption,
            **({} if self.broken is None else {"broken": self.broken.as_dict()}),
        }

    def _lines(self) -> list[str]:
        rounds, one = self.rounds, self.competitor
        lines = [
            f"Certificate after {rounds:,} rounds of {self.algorithm}, {len(self.totals):,} {one}s",
            measured("loss", self.loss, rounds),
            at_least(
                f"best {one}", self.best_loss, rounds, f", {one} {self.first + self.best_expert}"
            ),
            at_most("regret", self.regret(), rounds, f", {self.accuracy}"),
        ]
        if self.mix_loss is not None:
            lines.append(row("mix loss", f"{self.mix_loss:.6g}", "loss minus the gaps"))
        if self.combination_regret is not None:
            lines.append(
                row("against combinations", up(self.combination_regret), "at most, proved")
            )
        lines += [f"  {bound}" for bound in self.bounds]
        if self.broken is not None:
            return [*lines, f"  no theorem: {self.broken}"]
        return lines + assumption_lines(self)


def rounding_slack(experts: int, book: Vector) -> float:
    """Return how far rounding can have moved the loss minus an expert's, at most."""
    return float(
        sum_slack(experts, float(book[ExpertSum.ROUNDS]), float(book[ExpertSum.MAGNITUDE]))
    )


def sum_slack(experts: int, rounds: float, magnitude: Any) -> Any:
    """Return how far rounding can have moved sum_t <w_t, z_t> - z_(t,i), sum_t max |z_t| known.

    Parts and their sum are each right to d roundings of a half EPSILON, and z - min z is at most
    2 max |z|; sums over rounds to a rounding a round.
    """
    size = grown(magnitude, 2.0 * rounds)
    return rounding_error(2.0 * experts + rounds + 64.0, size) + rounds * UNDERFLOW


@dataclass(frozen=True)
class Facts:
    """What the theorems on Hedge are about."""

    experts: int
    kind: int
    book: Vector
    #: The promised width of the costs, infinite if nothing was promised.
    width: float
    #: What the best expert lost, in the costs that the experts were charged.
    best: float
    #: The measured regret in these costs, rounded up, and what rounding can be of it.
    regret: float
    slack: float

    def bound(self, name: str, reference: str, value: float, reason: str = "") -> Statement:
        """Return a bound on the regret, if the run does not contradict it."""
        return Measured(self.regret, self.slack, RANGE).state(name, reference, value, reason)

    def wider(self) -> str:
        """Say that the promised width was broken, as a loss not convex in its target may do."""
        widest = float(self.book[ExpertSum.WIDEST])
        if widest <= self.width * (1.0 + 1e-12):
            return ""
        return f"costs {exact(widest)} apart were seen, promised {exact(self.width)}"

    def bounds(self) -> list[Statement]:
        """Return the theorems that speak about this rate."""
        return list(self._bounds()) if self.book[ExpertSum.ROUNDS] > 0 else []

    def _bounds(self) -> Iterator[Statement]:
        d, book, eta = self.experts, self.book, float(self.book[ExpertSum.LAST_ETA])
        rounds, gaps = int(book[ExpertSum.ROUNDS]), float(book[ExpertSum.GAP])
        name = "after the fact, ln d/eta + gaps"
        if self.kind == DOUBLING:
            # The last epoch may have ended with the last round.
            epochs = float(book[ExpertSum.EPOCHS])
            epochs += 0.0 if (rounds + 1) & rounds == 0 else 1.0 / eta
            value = math.log(d) * epochs + gaps
            yield self.bound(name, f"{SURVEY}, Lemma 2.20, in every epoch", value)
            value = expert_theorems.doubling_regret(d, rounds, self.width)
            yield self.bound("doubling trick", f"{SURVEY}, section 2.3.1", value, self.wider())
            return
        yield self.bound(
            name,
            f"{SURVEY}, Lemma 2.20; {LEADER}, mix loss",
            expert_theorems.after_the_fact(d, eta, gaps),
        )
        if self.kind == FIXED:
            yield from self._fixed(eta, rounds)
        elif self.kind == ANYTIME:
            value = expert_theorems.anytime_regret(d, rounds, self.width)
            reference = f"{GAMES}, Theorem 2.3"
            yield self.bound("rates sqrt(8 ln d/t)", reference, value, self.wider())
        elif self.kind == ADAPTIVE:
            widest = float(book[ExpertSum.WIDEST])
            value = expert_theorems.adaptive_regret(d, float(book[ExpertSum.VARIANCE]), widest)
            yield self.bound("AdaHedge, second order", f"{LEADER}, second-order bound", value)
            value = expert_theorems.adaptive_regret(d, 0.25 * widest * widest * rounds, widest)
            yield self.bound("AdaHedge, worst case", f"{LEADER}, with V <= S^2 T/4", value)

    def _fixed(self, eta: float, rounds: int) -> Iterator[Statement]:
        d, book = self.experts, self.book
        value = expert_theorems.hedge_regret(d, eta, float(book[ExpertSum.RANGES]))
        yield self.bound("observed ranges", f"{GAMES}, Theorem 2.2", value)
        if math.isfinite(self.width):
            value = expert_theorems.hedge_regret(d, eta, self.width * self.width * rounds)
            reference = f"{GAMES}, Theorem 2.2; {SURVEY}, Theorem 1.3"
            yield self.bound("in advance", reference, value, self.wider())
        low, high = float(book[ExpertSum.LOWEST]), float(book[ExpertSum.HIGHEST])
        step = float(book[ExpertSum.LOWEST_STEP])
        value = expert_theorems.local_norms(d, eta, float(book[ExpertSum.SQUARES]), low >= 0.0)
        reason = "" if step >= -1.0 else f"eta z = {exact(step)} was seen, needed >= -1"
        yield self.bound("local norms", f"{SURVEY}, Theorem 2.22", value, reason)
        inside = low >= 0.0 and high <= 1.0
        reason = (
            "" if inside else f"costs in [{exact(low)}, {exact(high)}] were seen, needed [0, 1]"
        )
        value = expert_theorems.weighted_majority(d, eta, rounds)
        yield self.bound("Weighted Majority, (1)", f"{SURVEY}, Theorem 3.1", value, reason)
        if not reason and not eta < 1.0:
            reason = f"eta = {exact(eta)}, needed < 1"
        value = 0.0 if reason else expert_theorems.weighted_majority_small(d, eta, self.best)
        yield self.bound("Weighted Majority, (2)", f"{SURVEY}, Theorem 3.1", value, reason)

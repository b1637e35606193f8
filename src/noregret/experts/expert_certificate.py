"""The certificate of a run with expert advice: its loss, the best expert's, and the theorems."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

import numpy as np

from noregret.arrays import Vector
from noregret.experts import expert_theorems
from noregret.experts.advice import as_distribution
from noregret.experts.hedge_rounds import ADAPTIVE, ANYTIME, DOUBLING, FIXED, ExpertSum
from noregret.proof.statement import (
    RANGE,
    ROUNDING,
    Measured,
    Proof,
    Statement,
    at_least,
    at_most,
    measured,
    row,
)
from noregret.proof.wording import Broken, assumption_lines
from noregret.rounding import UNDERFLOW, exact, grown, rounding_error, up

SURVEY = "Shalev-Shwartz 2012"
GAMES = "Cesa-Bianchi, Lugosi 2006"
LEADER = "de Rooij, van Erven, Grunwald, Koolen 2014"
#: The algorithms, in the order of the kinds of rates.
_TITLES = ("Hedge, eta {}", "Hedge, anytime rate", "Hedge, doubling rate", "AdaHedge")
#: Name, reference and value of a theorem, and why it does not apply or ''.
Theorem = tuple[str, str, float, str]


@dataclass(frozen=True, eq=False)
class ExpertCertificate(Proof):
    """A learner's loss beside that of every expert on the same rounds, and what was promised.

    `regret` is measured and rounded up; `bounds` are the theorems, each with whether its
    conditions held on the rounds seen; one that the run contradicts is not applicable.
    """

    algorithm: str
    rounds: int
    loss: float
    #: The loss of each expert.
    totals: Vector
    #: How far rounding can have moved the difference of two of these, at most.
    slack: float
    bounds: list[Statement] = field(default_factory=list)
    #: A proved bound on the regret against every convex combination, where one is known.
    combination_regret: float | None = None
    #: Sum of -(1/eta) ln sum_i w_i e^(-eta z_i): the loss minus the gaps.
    mix_loss: float | None = None
    #: The noun for a competitor in print, and the number of the first one.
    competitor: str = "expert"
    first: int = 0
    #: The promises of a loss of the user's own that are taken on trust.
    assumption: str | None = None
    #: The promise that such a loss broke, and the round: no theorem holds then.
    broken: Broken | None = None

    def __post_init__(self) -> None:
        """Name the competitor in every bound."""
        against = f"loss of {self.describe()}"
        object.__setattr__(self, "bounds", [replace(each, against=against) for each in self.bounds])

    def describe(self) -> str:
        """Return the competitors of the theorems in words."""
        return f"any {self.competitor if self.combination_regret is None else 'combination'}"

    def floor(self) -> float:
        """Return the loss of the best expert, as it was summed: no expert lost less."""
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
        """The loss of the best expert."""
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
        return "measured" if self.slack <= 5e-7 * abs(self.loss - self.best_loss) else "at most"

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


def sum_slack(experts: int, rounds: float, magnitude: Any) -> Any:
    """Return how far rounding can have moved sum_t <w_t, z_t> - z_(t,i), sum_t max |z_t| known.

    Parts and their sum are each right to d roundings of a half EPSILON, and z - min z is at most
    2 max |z|; sums over rounds to a rounding a round.
    """
    size = grown(magnitude, 2.0 * rounds)
    return rounding_error(2.0 * experts + rounds + 64.0, size) + rounds * UNDERFLOW


class Weighing(NamedTuple):
    """The weights of d experts, and the sums from which a certificate is read."""

    #: The kind of the rate, its factor, and the promised width of the costs.
    kind: int
    scale: float
    width: float
    #: Weights before normalisation; costs of the experts in this epoch, and in those before it.
    parts: Vector
    totals: Vector
    past: Vector
    #: By `ExpertSum`.
    book: Vector

    def copied(self) -> Weighing:
        """Return one with arrays of its own."""
        parts, totals, past, book = map(np.copy, (self.parts, self.totals, self.past, self.book))
        return Weighing(self.kind, self.scale, self.width, parts, totals, past, book)

    @property
    def title(self) -> str:
        """The algorithm in words."""
        return _TITLES[self.kind].format(exact(self.sum(ExpertSum.ETA)))

    @property
    def weights(self) -> Vector:
        """The weights of the coming round."""
        return np.asarray(self.parts / self.book[ExpertSum.TOTAL])

    @property
    def costs(self) -> Vector:
        """The costs charged to each expert so far."""
        return self.totals + self.past if len(self.past) else self.totals.copy()

    @property
    def loss(self) -> float:
        """The sum of <w, z>."""
        return float(self.book[ExpertSum.LOSS] + self.book[ExpertSum.LOSS_LOW])

    @property
    def slack(self) -> float:
        """How far rounding can have moved the loss minus an expert's, at most."""
        rounds, size = self.sum(ExpertSum.ROUNDS), self.sum(ExpertSum.MAGNITUDE)
        return float(sum_slack(len(self.parts), rounds, size))

    def sum(self, place: ExpertSum) -> float:
        """Return one of the sums."""
        return float(self.book[place])

    def measured(self) -> Measured:
        """Return the regret in the costs that the experts were charged, which theorems bound."""
        best, eta = float(self.costs.min()), self.sum(ExpertSum.LAST_ETA)
        slack = 2.0 * self.slack + ROUNDING * (abs(self.loss) + abs(best))
        # Weights, and the logarithms of their sums in the gaps, are right to a few roundings for
        # each expert and round, which a small rate magnifies.
        roundings = self.sum(ExpertSum.ROUNDS) * (2.0 * len(self.parts) + 64.0)
        slack += rounding_error(roundings, 1.0) / eta if eta > 0.0 else 0.0
        return Measured(self.loss - best + self.slack, slack, RANGE)

    def bounds(self) -> list[Statement]:
        """Return the theorems that speak about this rate."""
        if not self.sum(ExpertSum.ROUNDS) > 0.0:
            return []
        run = self.measured()
        return [run.state(*theorem) for theorem in self._theorems()]

    def _theorems(self) -> Iterator[Theorem]:
        d, eta, gaps = len(self.parts), self.sum(ExpertSum.LAST_ETA), self.sum(ExpertSum.GAP)
        rounds, name = int(self.sum(ExpertSum.ROUNDS)), "after the fact, ln d/eta + gaps"
        if self.kind == DOUBLING:
            # The last epoch may have ended with the last round.
            last = 0.0 if (rounds + 1) & rounds == 0 else 1.0 / eta
            after = math.log(d) * (self.sum(ExpertSum.EPOCHS) + last) + gaps
            ahead = expert_theorems.doubling_regret(d, rounds, self.width)
            yield name, f"{SURVEY}, Lemma 2.20, in every epoch", after, ""
            yield "doubling trick", f"{SURVEY}, section 2.3.1", ahead, self._wider()
            return
        after = expert_theorems.after_the_fact(d, eta, gaps)
        yield name, f"{SURVEY}, Lemma 2.20; {LEADER}, mix loss", after, ""
        if self.kind == FIXED:
            yield from self._fixed(d, eta, rounds)
        elif self.kind == ANYTIME:
            ahead = expert_theorems.anytime_regret(d, rounds, self.width)
            yield "rates sqrt(8 ln d/t)", f"{GAMES}, Theorem 2.3", ahead, self._wider()
        elif self.kind == ADAPTIVE:
            widest, variance = self.sum(ExpertSum.WIDEST), self.sum(ExpertSum.VARIANCE)
            after = expert_theorems.adaptive_regret(d, variance, widest)
            yield "AdaHedge, second order", f"{LEADER}, second-order bound", after, ""
            ahead = expert_theorems.adaptive_regret(d, 0.25 * widest * widest * rounds, widest)
            yield "AdaHedge, worst case", f"{LEADER}, with V <= S^2 T/4", ahead, ""

    def _fixed(self, d: int, eta: float, rounds: int) -> Iterator[Theorem]:
        seen = expert_theorems.hedge_regret(d, eta, self.sum(ExpertSum.RANGES))
        yield "observed ranges", f"{GAMES}, Theorem 2.2", seen, ""
        if math.isfinite(self.width):
            ahead = expert_theorems.hedge_regret(d, eta, self.width * self.width * rounds)
            reference = f"{GAMES}, Theorem 2.2; {SURVEY}, Theorem 1.3"
            yield "in advance", reference, ahead, self._wider()
        low, high = self.sum(ExpertSum.LOWEST), self.sum(ExpertSum.HIGHEST)
        step, squares = self.sum(ExpertSum.LOWEST_STEP), self.sum(ExpertSum.SQUARES)
        local = expert_theorems.local_norms(d, eta, squares, low >= 0.0)
        reason = "" if step >= -1.0 else f"eta z = {exact(step)} was seen, needed >= -1"
        yield "local norms", f"{SURVEY}, Theorem 2.22", local, reason
        reason, reference = "", f"{SURVEY}, Theorem 3.1"
        if not (low >= 0.0 and high <= 1.0):
            reason = f"costs in [{exact(low)}, {exact(high)}] were seen, needed [0, 1]"
        first = expert_theorems.weighted_majority(d, eta, rounds)
        yield "Weighted Majority, (1)", reference, first, reason
        if not reason and not eta < 1.0:
            reason = f"eta = {exact(eta)}, needed < 1"
        best = float(self.costs.min())
        second = 0.0 if reason else expert_theorems.weighted_majority_small(d, eta, best)
        yield "Weighted Majority, (2)", reference, second, reason

    def _wider(self) -> str:
        """Return how costs broke the promised width, or '': a loss not convex in its target can."""
        widest = self.sum(ExpertSum.WIDEST)
        return (
            f"costs {exact(widest)} apart were seen, promised {exact(self.width)}"
            if widest > self.width * (1.0 + 1e-12)
            else ""
        )

"""Experts that take turns: fixed share and projection share, against sequences that switch."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from noregret.arrays import Vector, as_count, as_positive
from noregret.experts import expert_theorems
from noregret.experts.checks import as_interval
from noregret.experts.expert_certificate import ExpertCertificate, Facts, rounding_slack
from noregret.experts.expert_game import CostGame, Weighing
from noregret.experts.mixing import share_rounds
from noregret.experts.rounds import ExpertSum
from noregret.files.fields import Setting
from noregret.proof.statement import Statement
from noregret.rounding.printed import exact
from noregret.rounding.slack import rounding_error

UPDATES = ("fixed", "projection")
#: A smaller share, divided among many experts, could be 0 as a number.
LEAST_SHARE = 1e-280


@dataclass(frozen=True, eq=False)
class ShareCertificate(ExpertCertificate):
    """The certificate of a share, which also speaks about sequences of experts."""

    facts: Facts = field(kw_only=True)
    alpha: float = field(kw_only=True)

    def switching_bound(self, switches: int) -> float:
        """Return a bound on the regret against every sequence of experts with so many switches.

        (1/eta)(ln n + k ln(n-1) + k ln(1/b) + (T-1-k) ln(1/(1-b))) + sum of the gaps, with
        b = alpha (n-1)/n, rounded up. Reference: Herbster and Warmuth, Tracking the Best Linear
        Predictor, Theorem 10.
        """
        if as_count("switches", switches, least=0) >= max(self.rounds, 1):
            raise ValueError(f"switches must be 0 ... {self.rounds - 1}, got {switches}")
        book, n = self.facts.book, len(self.totals)
        eta, gaps = float(book[ExpertSum.ETA]), float(book[ExpertSum.GAP])
        price = expert_theorems.switching_price(n, self.alpha, self.rounds, switches)
        # Weights, and the logarithms of their sums that the gaps are made of, are right to a few
        # roundings for each expert and round; over eta as the price is.
        roundings = self.rounds * (2.0 * n + 64.0) + 64.0 * abs(price)
        error = rounding_error(roundings, 1.0) / eta
        return price / eta + gaps + error + self.slack + rounding_error(self.rounds, gaps)

    def best_alpha(self, switches: int) -> float:
        """Return the alpha at which the bound for so many switches would have been least."""
        as_count("switches", switches, least=0)
        if self.rounds < 2:
            return 1.0
        n = len(self.totals)
        return min(1.0, switches / (self.rounds - 1) * n / max(n - 1, 1))


class Shares(CostGame):
    """Exponential weights of which a part alpha is given to all after every round.

    w_m proportional to w exp(-eta z), then "fixed": w <- (1 - alpha) w_m + alpha / n, or
    "projection": the w with w_i >= alpha / n nearest to w_m in relative entropy, in O(n).
    Costs lie in [low, high].

    >>> learner = Shares(3, eta=1.0, alpha=0.6)
    >>> costs = [[0.5, 0, 1], [1, 0.25, 0], [0, 1, 0.5], [0.75, 0.5, 0]]
    >>> round(float(learner.learn(costs).sum()), 11)
    1.90227322755
    >>> round(learner.certificate().switching_bound(2) + 0.25, 10)
    5.3686278062

    References: Herbster and Warmuth, Tracking the Best Expert (fixed share) and Tracking the Best
    Linear Predictor (projection, Theorem 7).
    """

    _FIELDS = (
        *map(Setting, ("experts", "eta", "alpha", "update", "low", "high")),
        *CostGame._STATE,
    )

    def __init__(
        self,
        experts: int,
        eta: float,
        alpha: float,
        update: str = "fixed",
        low: float = 0.0,
        high: float = 1.0,
    ) -> None:
        if update not in UPDATES:
            raise ValueError(f"update must be 'fixed' or 'projection', got {update!r}")
        self.alpha = as_positive("alpha", alpha, 1.0)
        if self.alpha < LEAST_SHARE:
            raise ValueError(f"alpha must be at least {LEAST_SHARE:g}, got {alpha}")
        self.update = update
        self.low, self.high = as_interval(low, high)
        self._state = Weighing(experts, as_positive("eta", eta), self.high - self.low)
        self._state.parts /= self._state.experts
        self._state.book[ExpertSum.TOTAL] = 1.0

    def _play(self, table: Vector, lows: Vector, highs: Vector, paid: Vector) -> None:
        state = self._state
        share_rounds(
            table, lows, highs, self.alpha, self.update == "projection", state.parts,
            state.totals, state.book, paid,
        )  # fmt: skip

    def certificate(self) -> ShareCertificate:
        """Return the loss beside that of every expert, with the theorems."""
        facts = self._state.facts()
        book = facts.book
        return ShareCertificate(
            f"{self.update} share, eta {exact(self.eta)}, alpha {exact(self.alpha)}",
            self.rounds,
            self._state.loss,
            self._state.costs,
            rounding_slack(self.experts, book),
            list(self._bounds(facts)) if self.rounds else [],
            mix_loss=self._state.loss - float(book[ExpertSum.GAP]),
            facts=facts,
            alpha=self.alpha,
        )

    def _bounds(self, facts: Facts) -> Iterator[Statement]:
        reference = "Herbster, Warmuth 2001, Theorem 10"
        book, rounds = facts.book, self.rounds
        price = expert_theorems.switching_price(self.experts, self.alpha, rounds, 0) / self.eta
        yield facts.bound(
            "one expert, after the fact", reference, price + float(book[ExpertSum.GAP])
        )
        spread = 0.125 * self.eta * float(book[ExpertSum.RANGES])
        yield facts.bound("one expert, observed ranges", reference, price + spread)

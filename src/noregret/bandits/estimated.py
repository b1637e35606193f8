"""Mirror descent on estimated gradients: any game when only a random estimate of z_t is known."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from noregret.arrays import ArrayLike, Vector, as_number, as_vector
from noregret.bandits.bandit_certificate import CostProof
from noregret.oco import Game, GameCertificate
from noregret.proof.statement import Statement, indented, measured
from noregret.turns import one_at_a_time


@dataclass(frozen=True, eq=False)
class EstimatedCertificate(CostProof):
    """The cost paid, and the certificate of the game that was played on the estimates.

    Every bound of `estimates` is certain for the linear losses <z_t, .>. If E[z_t | the past] is a
    subgradient of f_t at w_t, and neither f_t nor u depends on the draws to come, then
    E[sum f_t(w_t) - f_t(u)] is at most the expectation of each of them. Reference: Shalev-Shwartz,
    Online Learning and Online Convex Optimization, Theorem 4.1.
    """

    estimates: GameCertificate

    def as_dict(self) -> dict[str, Any]:
        """Return the certificate as plain values, ready for JSON."""
        return {
            "rounds": self.rounds,
            "cost": self.cost,
            "on_estimated_losses": self.estimates.as_dict(),
        }

    def describe(self) -> str:
        """Return the competitors in words."""
        return self.estimates.describe()

    @property
    def bounds(self) -> list[Statement]:
        """The theorems about the estimated losses."""
        return self.estimates.bounds

    def _lines(self) -> list[str]:
        return [
            f"Certificate after {self.rounds:,} rounds on estimated gradients",
            measured("cost", self.cost, self.rounds),
            "  this is about the estimated linear losses <z_t, w>, not about the cost:",
            *indented(self.estimates.text()),
            "  if every z_t is an unbiased estimate of a subgradient, the expected regret",
            "  is at most the expectation of each bound above; one run shows one value",
        ]


class EstimatedGame:
    """A game of `nr.oco` whose subgradients are estimates, with what that proves in expectation.

    >>> import noregret as nr
    >>> game = EstimatedGame(nr.oco.Game(2, nr.mirrors.Entropy(), nr.rates.Constant(0.5)))
    >>> w = game.play()
    >>> game.suffer(1.0, [1.0 / w[0], 0.0])
    >>> game.certificate().cost
    1.0
    """

    def __init__(self, game: Game) -> None:
        """Take a game that was not played yet."""
        if game.rounds:
            raise ValueError(f"the game must be fresh, it has {game.rounds} rounds")
        self._game = game
        self._cost = 0.0

    @property
    def rounds(self) -> int:
        """How many rounds were played."""
        return self._game.rounds

    def play(self) -> Vector:
        """Return the point of the coming round."""
        return self._game.play()

    @one_at_a_time
    def suffer(self, cost: float, estimate: ArrayLike) -> None:
        """End the round: the cost that was paid, and an unbiased estimate of a subgradient."""
        total = as_number("the sum of the costs", self._cost + as_number("cost", cost))
        z = as_vector("estimate", estimate, self._game.dimension)
        self._game.suffer(float(self._game.play() @ z), z)
        self._cost = total

    def certificate(self) -> EstimatedCertificate:
        """Return the certificate of the rounds so far, which later rounds do not change."""
        return EstimatedCertificate(self.rounds, self._cost, self._game.certificate())

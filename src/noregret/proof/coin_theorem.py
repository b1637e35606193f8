"""The theorem of coin betting, in numbers that were seen."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from noregret.proof.contradiction import ROUNDING, Measured, suspect_of
from noregret.proof.statement import Statement
from noregret.rates import CURVATURE, LARGEST_BET
from noregret.rounding.norms import norm_upper
from noregret.rounding.slack import rounding_error

if TYPE_CHECKING:
    from noregret.proof.certificate import Certificate

Vector = npt.NDArray[np.float64]

#: Roundings of a round that the logarithm of a wealth can feel, in units of EPSILON.
ROUND_ERRORS = 16.0
#: More than what rounding makes of the few operations below, and of the wealth made up.
ROOM = 1e-12


@dataclass(frozen=True, eq=False)
class Coins:
    """The terms of the regret bound of `rates.CoinBetting`, for the features that occurred.

    Symbols: the initial `wealth` of each, `sizes` m, `hints` h, `squares` V, `prices` N.
    """

    wealth: float
    sizes: Vector
    hints: Vector
    squares: Vector
    prices: Vector

    def regret(self, radius: float, rounds: int) -> float:
        """Return a bound on the regret against every u with sum (m_i u_i)^2 <= radius^2.

        The wealth of a bettor is W = wealth prod_t (1 + b_t c_t), c_t = -z_t. With
        ln(1 + b) >= b - k b^2 and b_t the maximiser of b theta - k b^2 (V + h^2) within
        1/(2 h), where V, h grow and the interval shrinks, it is at least
        wealth exp(-N + b theta - k b^2 (V + h^2)) for every b within the last interval. Its
        regret against u is wealth - W + u theta, which the conjugate of exp bounds by

            wealth + |u| ((ln(|u| / (b wealth)) + N - 1) / b + k b (V + h^2)), 0 < b <= 1/(2 h).

        With b = a / h and |u| <= radius / m in the logarithm this is wealth + m |u| K, and
        over the class sum_i m_i |u_i| K_i <= radius ||K||_2. Any a is right; a good one is
        chosen. References: see `rates.CoinBetting`.

        >>> one = np.ones(1)
        >>> coins = Coins(1.0, one, one, 100.0 * one, np.log(101.0) * one)
        >>> round(coins.regret(0.0, 200), 6), round(coins.regret(1.0, 200), 1)
        (1.0, 40.4)
        """
        wealth = self.wealth * len(self.sizes)
        if radius == 0.0 or not len(self.sizes):
            return wealth * (1.0 + ROOM)
        errors = rounding_error(ROUND_ERRORS, rounds)
        growth = 1.0 + errors
        spread = CURVATURE * (1.0 + self.squares / self.hints / self.hints * growth)
        slope = self.hints / self.sizes
        offset = np.log(slope / self.wealth) + (math.log(radius) - 1.0)
        price = offset + (self.prices * growth + errors)
        share = np.minimum(np.sqrt(np.maximum(price, 1.0) / spread), LARGEST_BET)
        share = np.minimum(np.sqrt(np.maximum(price - np.log(share), 1.0) / spread), LARGEST_BET)
        # What the sum of the logarithms may have lost to one another.
        lost = ROOM * (np.abs(offset) + self.prices + np.abs(np.log(share)) + 1.0)
        costs = slope * ((price - np.log(share) + lost) / share + share * spread)
        length = norm_upper(np.maximum(costs, 0.0), 2.0)
        return (wealth + radius * length) * (1.0 + ROOM)


def coin_betting_bound(certificate: Certificate, coins: Coins, radius: float) -> Statement:
    """Return the theorem for comparators of that radius, if the run does not contradict it."""
    loss, floor = certificate.loss, certificate.floor(radius)
    slack = 4.0 * certificate.slack + ROUNDING * (abs(loss) + abs(floor))
    # The lipschitz constant of the loss limits every bet.
    suspect = suspect_of((certificate.loss_function, "lipschitz()"))
    measured = Measured(certificate.regret_bound(radius), slack, suspect)
    return measured.state(
        "coin betting, observed gradients",
        "Orabona, Pal 2016, Lemma 1, with Cutkosky, Orabona 2018, Theorem 1, for growing hints",
        coins.regret(radius, certificate.rounds),
    )

"""What certificates need of an engine's state: sizes or rates of features, wealth of bettors.

The ledger and Z prove the floors and theorems of the map's own class. A rate with more state has
another class, other rates in its regulariser or a theorem of its own. Its engine returns one of
the objects below, and the certificate calls its methods.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from noregret.arrays import Vector
from noregret.mirrors import Mirror
from noregret.mirrors.norms import weighted_conjugate_upper
from noregret.norms import norm_upper
from noregret.proof.bounds import theorem_bounds
from noregret.proof.ledger import SMALLEST_SIZE, Entry
from noregret.proof.statement import ROUNDING, Measured, Statement, suspect_of
from noregret.rates.first_order import CURVATURE, LARGEST_BET
from noregret.rounding import SMALLEST, UNDERFLOW, down, grown, rounding_error

if TYPE_CHECKING:
    from noregret.proof.certificate import Certificate

#: Rounding error that a round adds to the logarithm of a wealth, in units of EPSILON.
COIN_ERRORS = 16.0
#: Relative bound on the rounding of the few operations below.
ROOM = 1e-12


@dataclass(frozen=True, eq=False)
class Evidence:
    """Nothing beside the ledger and Z: class, regulariser and theorems are those of the map."""

    #: Where every feature has a rate of its own: w_i / theta_i, and the sum of z_i^2.
    factors: Vector | None = None
    squares: Vector | None = None

    def norm(self, mirror: Mirror, weights: Vector) -> float:
        """Return the norm of the learner's weights in the norm of the class."""
        return mirror.predictors().norm(weights)

    def length(self, certificate: Certificate, radius: float) -> float:
        """Return the largest <u, -Z> over the class of that radius, rounded up."""
        predictors = certificate.mirror.predictors()
        return predictors.support_upper(certificate.gradient, radius, certificate.delta)

    def of_lines(self, gradient: Vector) -> Evidence:
        """Return the same for other lines below the losses, with that Z."""
        return self

    def conjugate(self, certificate: Certificate, eta: float) -> float:
        """Return the conjugate of the regulariser over eta at -Z, rounded up."""
        theta, delta = -certificate.gradient, certificate.delta
        return certificate.mirror.conjugate_upper(theta, eta, delta, certificate.rounds)

    def describe(self, mirror: Mirror, radius: float) -> str:
        """Return the class of that radius in words."""
        return mirror.predictors().describe(radius)

    def bounds(self, certificate: Certificate, radius: float | None) -> list[Statement]:
        """Return the theorems for the class of that radius, or without one the domain."""
        return theorem_bounds(certificate, radius)

    def rate(self, ledger: Vector) -> float | None:
        """Return the current rate, None where there is no single one."""
        return float(ledger[Entry.LAST_ETA])


@dataclass(frozen=True, eq=False)
class CoordinateRates(Evidence):
    """A rate a feature: w_i = factors_i theta_i, with the squared gradients of each."""

    factors: Vector
    squares: Vector

    def conjugate(self, certificate: Certificate, eta: float) -> float:
        """Return the conjugate of the regulariser at the features' own rates, rounded up."""
        theta, threshold = -certificate.gradient, certificate.mirror.threshold(certificate.rounds)
        return weighted_conjugate_upper(theta, self.factors, certificate.delta, threshold)

    def rate(self, ledger: Vector) -> float | None:
        """Return the median rate of the features that moved, None before one did."""
        used = self.factors[self.factors > 0.0]
        return float(np.median(used)) if used.size else None


def scaled_length(gradient: Vector, sizes: Vector) -> float:
    """Return ||Z_i / m_i||_2, rounded up; features of size 0, never seen, have no part in it.

    >>> 5.0 <= scaled_length(np.array([6.0, 4.0, 0.0]), np.array([2.0, 1.0, 0.0])) < 5.0 + 1e-9
    True
    """
    seen = sizes > 0.0
    units = np.maximum(sizes[seen], SMALLEST_SIZE)
    # A ratio that underflows loses less than the smallest double.
    return grown(norm_upper(gradient[seen] / units, 2.0), 2.0) + UNDERFLOW


@dataclass(frozen=True, eq=False)
class FeatureSizes(Evidence):
    """Features measured by their sizes m_i = max(max |x_i| seen, SMALLEST_SIZE).

    The class is sum (m_i u_i)^2 <= radius^2, and no theorem speaks about it.
    """

    #: Upper bound on the 2-norm of (Z_i / m_i), without the rounding of Z itself.
    scaled_length: float = 0.0
    #: ||(m_i w_i, offset)||_2 of the learner's weights.
    scaled_weights: float = 0.0
    #: The smallest max |x_i| of the features that occurred.
    smallest: float = 1.0
    #: The sizes m, 0 for a feature that never occurred.
    sizes: Vector | None = None

    def norm(self, mirror: Mirror, weights: Vector) -> float:
        """Return the norm of the learner's weights in the norm of the class."""
        return self.scaled_weights

    def length(self, certificate: Certificate, radius: float) -> float:
        """Return the largest <u, -Z> over the class of that radius, rounded up."""
        # A product g x_i that underflows loses at most SMALLEST, which is divided by m_i.
        lost = 2.0 * SMALLEST / max(self.smallest, SMALLEST_SIZE)
        delta = certificate.moved(Entry.SCALED_TRAVEL, lost)
        return grown(radius * (self.scaled_length + delta), 4.0)

    def of_lines(self, gradient: Vector) -> Evidence:
        """Return the same for other lines below the losses, with that Z."""
        if self.sizes is None:
            return replace(self, scaled_length=math.inf)
        return replace(self, scaled_length=scaled_length(gradient, self.sizes))

    def describe(self, mirror: Mirror, radius: float) -> str:
        """Return the class of that radius in words."""
        least = f" or {SMALLEST_SIZE:g}" if self.smallest < SMALLEST_SIZE else ""
        return f"every u with ||m u||_2 <= {down(radius)}, m_i the largest |x_i| seen{least},"

    def bounds(self, certificate: Certificate, radius: float | None) -> list[Statement]:
        """Return no theorem."""
        return []

    def rate(self, ledger: Vector) -> float | None:
        """Return None: the steps of the features have no common rate."""
        return None


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
        errors = rounding_error(COIN_ERRORS, rounds)
        growth = 1.0 + errors
        spread = CURVATURE * (1.0 + self.squares / self.hints / self.hints * growth)
        slope = self.hints / self.sizes
        offset = np.log(slope / self.wealth) + (math.log(radius) - 1.0)
        price = offset + (self.prices * growth + errors)
        share = np.minimum(np.sqrt(np.maximum(price, 1.0) / spread), LARGEST_BET)
        share = np.minimum(np.sqrt(np.maximum(price - np.log(share), 1.0) / spread), LARGEST_BET)
        # Rounding of the sum of the logarithms, which may cancel.
        lost = ROOM * (np.abs(offset) + self.prices + np.abs(np.log(share)) + 1.0)
        costs = slope * ((price - np.log(share) + lost) / share + share * spread)
        length = norm_upper(np.maximum(costs, 0.0), 2.0)
        return (wealth + radius * length) * (1.0 + ROOM)


@dataclass(frozen=True, eq=False)
class Bets(FeatureSizes):
    """Bettors on features of known sizes, with the terms of the theorem of `CoinBetting`."""

    coins: Coins | None = None

    def bounds(self, certificate: Certificate, radius: float | None) -> list[Statement]:
        """Return the theorem of coin betting, if the run does not contradict it."""
        if self.coins is None or radius is None or not certificate.rounds:
            return []
        loss, floor = certificate.loss, certificate.floor(radius)
        slack = 4.0 * certificate.slack + ROUNDING * (abs(loss) + abs(floor))
        # The lipschitz constant of the loss limits every bet.
        suspect = suspect_of((certificate.loss_function, "lipschitz()"))
        measured = Measured(certificate.regret_bound(radius), slack, suspect)
        bound = measured.state(
            "coin betting, observed gradients",
            "Orabona, Pal 2016, Lemma 1, with Cutkosky, Orabona 2018, Theorem 1, for growing hints",
            self.coins.regret(radius, certificate.rounds),
        )
        return [bound]

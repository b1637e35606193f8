"""What an engine's own state adds to the ledger: sizes, rates of features, wealth of bettors.

The ledger and Z prove the floors and theorems of the map's own class. A rate with more state has
another class, other rates in its regulariser or a theorem of its own; its engine returns that as
one of these values, and the certificate asks it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from noregret.mirrors import Mirror
from noregret.mirrors.norms import weighted_conjugate_upper
from noregret.proof.bounds import theorem_bounds
from noregret.proof.coin_theorem import Coins, coin_betting_bound
from noregret.proof.ledger import SMALLEST_SIZE, Entry
from noregret.proof.statement import Statement
from noregret.rounding.printed import down
from noregret.rounding.slack import SMALLEST, grown

if TYPE_CHECKING:
    from noregret.proof.certificate import Certificate

Vector = npt.NDArray[np.float64]


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
        """Return the rate in force, None where no single number means anything."""
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

    def norm(self, mirror: Mirror, weights: Vector) -> float:
        """Return the norm of the learner's weights in the norm of the class."""
        return self.scaled_weights

    def length(self, certificate: Certificate, radius: float) -> float:
        """Return the largest <u, -Z> over the class of that radius, rounded up."""
        # A product with a feature that underflows loses a smallest number, over m_i.
        lost = 2.0 * SMALLEST / max(self.smallest, SMALLEST_SIZE)
        delta = certificate.moved(Entry.SCALED_TRAVEL, lost)
        return grown(radius * (self.scaled_length + delta), 4.0)

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
class Bets(FeatureSizes):
    """Bettors on features of known sizes, with the terms of the theorem of `CoinBetting`."""

    coins: Coins | None = None

    def bounds(self, certificate: Certificate, radius: float | None) -> list[Statement]:
        """Return the theorem of coin betting."""
        if self.coins is None or radius is None or not certificate.rounds:
            return []
        return [coin_betting_bound(certificate, self.coins, radius)]

"""The theorem of second-order rates whose parabolas lie below the losses.

Round t of weight w_t plays p_t and enters a parabola q_t of curvature c_t that touches w_t f_t at
p_t, below it for all u of the class. Let M be the minimum over all u of

    F(u) = sum q_t(<u, x_t>) + (ridge/2) sum (m_i u_i)^2,

m the sizes of the features so far. Where a size grows, M does not fall. A round raises M by
q_t(<w, x>) - (1/2) (slope of q_t there)^2 k / (1 + c_t k), by completing the square, k the
x' A^-1 x before it. So with

    cost_t = w_t f_t(p_t) - that   and   S = sum cost_t,

L - S <= M <= sum f_t(u) + (ridge/2) ||m u||^2 for every u of the class: the regret is at most
S + (ridge/2) radius^2. If p_t = <w, x_t> the cost is (1/2) g^2 k / (1 + c k). For the square loss
(c = 2) the parabolas are the losses and the class has no limit; with p = <w, x> this is the
identity of online ridge regression, and with p = <w, x> / (1 + 2 k) the cost is
w y^2 kappa / (1 + kappa) - w p^2 kappa, kappa = 2 w k, at most w y^2 ln(1 + kappa): the bound of
Vovk, Azoury and Warmuth. References: see `rates.Ridge` and `rates.CertifiedNewton`.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

from noregret.arrays import Vector
from noregret.component import built_in
from noregret.mirrors import Mirror
from noregret.proof.evidence import FeatureSizes
from noregret.proof.statement import NOTHING, Statement
from noregret.rounding import UNDERFLOW, exact, grown

if TYPE_CHECKING:
    from noregret.proof.certificate import Certificate

#: Rounding errors of a cost and of its sum, relative to the sizes that are summed; k is that of
#: a triangle whose rows each lose a few units in the last place.
COST_ERRORS = 1e-11


@dataclass(frozen=True)
class Parabolas:
    """The sums of a run of a second-order rate.

    ridge: A before the first round, in units of the features; cost: S; size: sum of the sizes of
    its terms; growth: sum of ln(1 + c k); largest: largest weight * label^2; promised: the largest
    radius that the parabolas serve; anticipating: whether 0 was anticipated in place of the label.
    """

    ridge: float
    cost: float
    size: float
    growth: float
    largest: float
    promised: float
    anticipating: bool
    source: str

    def regret(self, radius: float) -> float:
        """Return S + (ridge/2) radius^2, rounded up.

        >>> Parabolas(2.0, 1.0, 1.0, 0.0, 1.0, 4.0, False, "").regret(2.0) >= 5.0
        True
        """
        return grown(self.cost + COST_ERRORS * self.size + self._penalty(radius), 8.0)

    def in_advance(self, radius: float) -> float:
        """Return max w y^2 sum ln(1 + 2 w k) + (ridge/2) radius^2, rounded up."""
        square = self.largest * self.growth
        return grown(square * (1.0 + COST_ERRORS) + self._penalty(radius), 8.0)

    def _penalty(self, radius: float) -> float:
        return 0.5 * self.ridge * radius * radius


@dataclass(frozen=True, eq=False)
class Curved(FeatureSizes):
    """Features of known sizes, with the parabolas of the rounds; None where they prove nothing."""

    parabolas: Parabolas | None = None

    def norm(self, mirror: Mirror, weights: Vector) -> float:
        """Return the norm of the weights, or the promised radius where that is smaller."""
        most = math.inf if self.parabolas is None else self.parabolas.promised
        return min(self.scaled_weights, most)

    def bounds(self, certificate: Certificate, radius: float | None) -> list[Statement]:
        """Return the theorems for the class of that radius."""
        sums = self.parabolas
        if sums is None or radius is None or not certificate.rounds:
            return []
        reason, loss = "", certificate.loss_function
        if radius > sums.promised:
            reason = f"the parabolas serve radius <= {exact(sums.promised)} only"
        elif not built_in(loss):
            reason = f"curvature_below() of {type(loss).__name__} is not proved"
        ridge = not math.isfinite(sums.promised)
        # Costs and losses that underflow.
        lost = certificate.slack + 8.0 * certificate.rounds * UNDERFLOW
        found = [
            NOTHING.state(
                "ridge regression, observed" if ridge else "parabolas below the loss, observed",
                sums.source or "derived here, see rates.CertifiedNewton",
                sums.regret(radius) + lost,
                reason,
            )
        ]
        if sums.anticipating:
            found.append(
                NOTHING.state(
                    "Vovk-Azoury-Warmuth",
                    "Vovk 2001; Azoury, Warmuth 2001; Cesa-Bianchi, Lugosi 2006, Theorem 11.8",
                    sums.in_advance(radius) + lost,
                    reason,
                )
            )
        return found

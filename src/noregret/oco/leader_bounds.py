"""The theorems about leaders: bounds on the losses themselves, not on their lines."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from noregret.oco.bounds import SURVEY
from noregret.oco.game_certificate import Comparators
from noregret.proof import geometry
from noregret.proof.bounds import Bound
from noregret.proof.contradiction import NOTHING, ROUNDING, Measured
from noregret.proof.ledger import Entry

if TYPE_CHECKING:
    from noregret.oco.leaders import Past

Vector = npt.NDArray[np.float64]

#: What to suspect of losses that the user gives.
CONVEX = "convexity and curvature of the losses"


@dataclass(frozen=True)
class Facts:
    """The quantities that the theorems about leaders use, updated each round."""

    #: Sum of f_t(w_t) - f_t(w_(t+1)), and of F_(t+1)(w_t) - F_(t+1)(w_(t+1)), F_t = R + past.
    stability: float = 0.0
    sharp: float = 0.0
    #: Quadratic game: sum of ||w_t - z_t||^2 / t, largest ||z_t||, ||w_1||, first other round.
    gaps: float = 0.0
    largest: float = 0.0
    first: float = 0.0
    other_round: int = 0
    #: The sum of the losses seen, and the leader of the coming round.
    past: Past | None = None
    leader: Vector | None = None
    #: The user's minimizer, if there is one.
    own: bool = False

    def measured(self, comparators: Comparators) -> Measured:
        """Return the regret against u, or against the leader if the comparators include it."""
        certificate, u = comparators.certificate, comparators.u
        if u is None and self._included(comparators):
            u = self.leader
        if u is None or self.past is None:
            return NOTHING
        best = self.past.losses(u)
        size = abs(certificate.loss) + abs(best) + self.past.size(u)
        slack = 4.0 * certificate.slack + ROUNDING * size
        suspect = "minimizer, which must return the least point" if self.own else CONVEX
        return Measured(certificate.loss - best, slack, suspect)

    def _included(self, comparators: Comparators) -> bool:
        mirror = comparators.certificate.mirror
        if self.leader is None or mirror.geometry == "simplex":
            return comparators.radius is None
        return comparators.radius is None or (
            geometry.predictor_norm(mirror, self.leader) <= comparators.radius
        )


def leader_bounds(facts: Facts, comparators: Comparators) -> Iterator[Bound]:
    """Return the bounds that speak about follow the leader."""
    setting, u = comparators.certificate.setting, comparators.u
    measured, rounding = facts.measured(comparators), 2.0 * comparators.certificate.slack
    outside = ""
    if setting.domain is not None:
        inside = setting.domain.contains(u) if u is not None else not comparators.outside()
        outside = "" if inside else comparators.outside() or "u lies outside the domain"
    yield comparators.bound(
        "follow the leader, after the fact",
        f"{SURVEY}, Lemma 2.1",
        facts.stability + rounding,
        outside,
        measured,
    )
    reason = outside
    if facts.other_round:
        reason = f"a loss other than ||w - z||^2/2 was met in round {facts.other_round}"
    elif setting.domain is not None:
        reason = "the quadratic game has no domain"
    yield comparators.bound(
        "quadratic game, observed",
        f"{SURVEY}, Corollary 2.2",
        facts.gaps + rounding,
        reason,
        measured,
    )
    if not reason and facts.first > facts.largest:
        reason = "||w_1|| is above the largest ||z_t||"
    growth = math.log(comparators.certificate.rounds) + 1.0
    yield comparators.bound(
        "quadratic game",
        f"{SURVEY}, Corollary 2.2",
        4.0 * facts.largest**2 * growth + rounding,
        reason,
        measured,
    )


def regularized_bounds(facts: Facts, comparators: Comparators) -> Iterator[Bound]:
    """Return the bounds that speak about follow the regularised leader."""
    certificate = comparators.certificate
    ledger, smoothness = certificate.ledger, certificate.setting.smoothness
    eta = float(ledger[Entry.LAST_ETA])
    reason = comparators.outside()
    complexity = comparators.complexity(eta) if not reason else 0.0
    forms = [
        ("FoReL, exact stability", "Lemma 2.3 with F_(t+1) in place of f_t", facts.sharp),
        ("FoReL, after the fact", "Lemma 2.3", facts.stability),
    ]
    if smoothness > 0.0:
        observed = eta * smoothness * float(ledger[Entry.SQUARES])
        worst = eta * smoothness * certificate.rounds * float(ledger[Entry.LARGEST_SQUARE])
        forms += [
            ("FoReL, observed gradients", "Theorem 2.11, stability halved", 0.5 * observed),
            ("FoReL, observed gradients, plain", "Theorems 2.4 and 2.11", observed),
            ("FoReL, largest gradient", "Theorem 2.11", worst),
        ]
    measured = facts.measured(comparators)
    for name, theorem, stability in forms:
        value = complexity + stability + 2.0 * certificate.slack
        yield comparators.bound(name, f"{SURVEY}, {theorem}", value, reason, measured)

"""The certificate of a game: that of a stream, for losses that may be negative or curved.

A round in which f_t - (sigma_t/2)||.||^2 is convex enters as a parabola instead of a line:
f_t(u) >= f_t(w_t) + <z_t, u - w_t> + (sigma_t/2)||u - w_t||^2. Summed, with Z the sum of
z_t - sigma_t w_t and C that of sigma_t, sum f_t(u) >= a + <u, Z> + (C/2)||u||^2.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, Self

import numpy as np

from noregret import domains
from noregret.arrays import Vector, as_vector
from noregret.component import built_in
from noregret.losses import Regression
from noregret.mirrors.base import declares
from noregret.oco.setting import GameSetting
from noregret.proof.certificate import Certificate
from noregret.proof.ledger import Entry
from noregret.proof.statement import NOTHING, ROUNDING, Measured, Statement, measured, suspect_of
from noregret.proof.wording import assumption_lines, bound_lines, floor_lines, listed
from noregret.rates.base import UNBOUNDED
from noregret.rounding import exact


@dataclass(frozen=True)
class ConvexLoss(Regression):
    """Placeholder for the losses of a game, which only the user knows."""

    nonnegative: ClassVar[bool] = False


@dataclass(frozen=True)
class NonnegativeLoss(ConvexLoss):
    """The same for losses that the user promised to be >= 0."""

    nonnegative: ClassVar[bool] = True


@dataclass
class Monitors:
    """Quantities of the theorems that the ledger does not keep; a round of 0 means never."""

    #: Sum of the exact stability terms D_t, at the rates of their rounds.
    divergence: float = 0.0
    #: Sums of eta_t, eta_t sum_i w_i z_i^2 and eta_t (max z_i - min z_i)^2.
    etas: float = 0.0
    local: float = 0.0
    ranges: float = 0.0
    #: First round with eta z_i < -1, and with z_i < 0.
    steep_round: int = 0
    negative_round: int = 0

    def watch(self, t: int, w: Vector, z: Vector, eta: float, divergence: float) -> None:
        """Enter a round."""
        low, high = float(z.min()), float(z.max())
        self.divergence += divergence
        if eta < UNBOUNDED:
            self.etas += eta
            self.local += eta * float(w @ (z * z))
            self.ranges += eta * (high - low) ** 2
        if eta * low < -1.0:
            self.steep_round = self.steep_round or t
        if low < 0.0:
            self.negative_round = self.negative_round or t


@dataclass(frozen=True, eq=False)
class GameCertificate(Certificate):
    """A statement about the rounds of a game so far, true for every convex loss.

    >>> from noregret import mirrors, oco, rates
    >>> game = oco.Game(2, mirrors.Ball(1.0), rates.Constant(0.5))
    >>> proof = oco.run(game, [oco.Linear([1.0, 0.0]), oco.Linear([0.0, 1.0])])
    >>> proof.rounds, proof.loss, round(proof.floor(), 6)
    (2, 0.0, -1.414214)

    Warning: the losses are taken at their word to be convex, values and subgradients to be
    right to about 16 units in the last place.
    """

    setting: GameSetting = field(kw_only=True)
    theorems: Callable[[Comparators], Iterator[Statement]] = field(kw_only=True)
    monitors: Monitors = field(kw_only=True, default_factory=Monitors)
    #: Sum of the sigma_t, and of sigma_t w_t; the gradient is the sum of z_t - sigma_t w_t.
    curvature: float = field(kw_only=True, default=0.0)
    pull: Vector = field(kw_only=True, default_factory=lambda: np.zeros(0))
    #: Whether the theorems bound the regret on the lines of the ledger. Those about leaders bound
    #: the losses themselves, and can be smaller than what the lines prove.
    linear: bool = field(kw_only=True, default=True)
    #: Whether a minimizer of the user's own chose the points, which the theorems take for leaders.
    minimized: bool = field(kw_only=True, default=False)

    @property
    def objective(self) -> str:
        """What a round adds to `loss`, `floor`, `regret` and `bounds`, in words."""
        return "the game's losses"

    def plain(self) -> Self:
        """Return the certificate itself: the curvature is that of the losses, not a penalty."""
        return self

    @property
    def assumption(self) -> str:
        """The promises that are taken on trust."""
        sigma = self.rate.strong_convexity()
        kind = f"{exact(sigma)}-strongly convex" if sigma > 0.0 else "convex"
        promises = [f"to be {kind}"]
        if self.loss_function.nonnegative:
            promises.append("never to be negative")
        if self.curvature > sigma * self.rounds * (1.0 + ROUNDING):
            promises.append("to have the curvature they give")
        words = f"the losses are taken at their word {listed(promises)}"
        if self.domain is not None and not built_in(self.domain):
            words += f", support() of {type(self.domain).__name__} to be right"
        return f"{words}, minimizer to return the least point" if self.minimized else words

    def floor(self, radius: float | None = None, norm: float | None = None) -> float:
        """Return a number that no fixed point of the class can have beaten on these rounds.

        Without arguments the class is the game's domain or the map's own set (for strongly
        convex rounds without one: all points). `radius` and `norm` are those of
        `Certificate.floor`; beside the domain Orthant the ball's non-negative part is meant.
        """
        domain = self.domain
        if radius is None and norm is None:
            if type(domain) is domains.Ball:
                return self.floor(domain.radius)
            if domain is not None and self.setting.bounded:
                return self._domain_floor(domain)
            if self.curvature > 0.0:
                return super(GameCertificate, self._inside_orthant()).regularized_floor()
            if domain is not None:
                if not math.isfinite(self.domain_support(domain)):
                    raise ValueError(f"{domain} has no bound: say floor(radius)")
                return self._domain_floor(domain)
        part = self._inside_orthant() if norm is None else self
        if self.curvature > 0.0 and (norm is not None or not self.mirror.in_two_norm()):
            part = part._flattened(part.pull / part.curvature)
        return super(GameCertificate, part).floor(radius, norm)

    def _inside_orthant(self) -> GameCertificate:
        """Return the certificate for u >= 0 only, where <u, Z> >= <u, min(Z, 0)>."""
        if type(self.domain) is not domains.Orthant:
            return self
        return replace(self, gradient=np.minimum(self.gradient, 0.0))

    def _domain_floor(self, domain: domains.Domain) -> float:
        part = self
        if self.curvature > 0.0:
            # Any point may carry the tangent; the parabola's minimum over the domain is best.
            part = self._flattened(domain.project(-self.gradient / self.curvature))
        return part._lowered(part.domain_support(domain))

    def _flattened(self, point: Vector) -> GameCertificate:
        """Return the certificate whose parabola is replaced by its tangent at a point."""
        half = 0.5 * self.curvature * float(point @ point)
        ledger = self.ledger.copy()
        ledger[Entry.INTERCEPT] -= half
        ledger[Entry.MAGNITUDE] += (1.0 + len(point) / 16.0) * half
        ledger[Entry.TRAVEL] += self.curvature * float(np.abs(point).sum())
        return replace(
            self,
            ledger=ledger,
            gradient=self.gradient + self.curvature * point,
            curvature=0.0,
            pull=np.zeros(0),
        )

    def regularized_floor(self, eta: float | None = None) -> float:
        """Return a number that sum f_t(u) + R(u) / eta exceeds for every u whatsoever.

        R is the map's own regulariser with minimum 0; eta the current rate by default. For
        the rate StronglyConvex and no eta it is the floor of sum f_t(u) alone.
        """
        if eta is None and self.rate.strong_convexity() > 0.0:
            return super().regularized_floor()
        if eta is None:
            # Before the first gradient any rate will do: Z is 0.
            eta = float(self.ledger[Entry.LAST_ETA]) or 1.0
        if self.curvature == 0.0 or not 0.0 < eta < math.inf:
            return super().regularized_floor(eta)
        if self.mirror.half_square() and self.evidence.factors is None:
            # The parabola adds itself to R = ||u||^2/2.
            flat = replace(self, curvature=0.0, pull=np.zeros(0))
            return super(GameCertificate, flat).regularized_floor(
                1.0 / (self.curvature + 1.0 / eta)
            )
        flat = self._flattened(self.pull / self.curvature)
        return super(GameCertificate, flat).regularized_floor(eta)

    @property
    def bounds(self) -> list[Statement]:
        """The theorems that speak about this game, against its own set, or radius 1."""
        return self.bounds_for(self._usual_radius())

    def _usual_radius(self) -> float | None:
        if self.setting.bounded:
            return None
        own = self.mirror.own_radius()
        return own if own is not None else 1.0

    def bounds_for(self, radius: float | None = None) -> list[Statement]:
        """Return each theorem's bound on the regret against the class of that radius.

        Without a radius the class is the game's domain.
        """
        if radius is None and not self.setting.bounded:
            raise ValueError("the game has no bounded domain: say bounds_for(radius)")
        if radius is not None:
            radius = self._radius(radius)
        return self._bounds(Comparators(self, radius, None))

    def bounds_at(self, u: Any) -> list[Statement]:
        """Return each theorem's bound on the regret against the one point u."""
        return self._bounds(Comparators(self, None, as_vector("u", u, len(self.gradient))))

    def _bounds(self, comparators: Comparators) -> list[Statement]:
        return list(self.theorems(comparators)) if self.rounds else []

    def describe(self, radius: float | None = None) -> str:
        """Return the class of `floor(radius)` in words."""
        if radius is None and self.domain is not None and self.setting.bounded:
            return f"every u in {self.domain}"
        words = self.mirror.predictors().describe(self._radius(radius))
        return f"{words} and u >= 0" if type(self.domain) is domains.Orthant else words

    def as_dict(self, radius: float | None = None) -> dict[str, Any]:
        """Return the certificate as plain numbers, ready for JSON."""
        chosen = radius if radius is not None else self._usual_radius()
        return {
            "rounds": self.rounds,
            "objective": self.objective,
            "loss": self.loss,
            "average_loss": self.average_loss,
            "radius": chosen,
            "class": self.describe(chosen),
            "floor": self.floor(chosen),
            "regret_bound": self.regret_bound(chosen),
            "rounding_slack": self.slack,
            "assumption": self.assumption,
            "bounds": [bound.as_dict() for bound in self.bounds_for(chosen)],
        }

    def _lines(self, radius: float | None = None) -> list[str]:
        chosen = radius if radius is not None else self._usual_radius()
        return [
            f"Certificate after {self.rounds:,} rounds of a convex game",
            measured("loss of the game", self.loss, self.rounds),
            *floor_lines(self, chosen, f"{self.describe(chosen)} lost at least that much"),
            *bound_lines(self, chosen),
            *assumption_lines(self),
        ]


@dataclass(frozen=True)
class Comparators:
    """The comparators of a bound: one point u, a class of some radius, or the domain."""

    certificate: GameCertificate
    radius: float | None
    u: Vector | None

    def complexity(self, eta: float) -> float:
        """Return the largest (R(u) - R(w_1)) / eta, infinity if not all are in the game's set."""
        setting = self.certificate.setting
        if self.u is None:
            return setting.complexity(self.radius, eta)
        if setting.domain is not None and not setting.domain.contains(self.u):
            return math.inf
        if not declares(setting.mirror, "regularizer"):
            # R of single points is not declared; it is largest on the ball through u.
            predictors = setting.mirror.predictors()
            length = predictors.norm(self.u)
            return math.inf if predictors.negative(self.u) else setting.complexity(length, eta)
        first = setting.mirror.regularizer(setting.first, eta)
        return setting.mirror.regularizer(self.u, eta) - first

    def weighted(self, factors: Vector) -> float:
        """Return the largest sum of u_i^2 / (2 factor_i) over the coordinates that moved."""
        moved = factors > 0.0
        if self.u is not None:
            return 0.5 * float(np.sum(self.u[moved] ** 2 / factors[moved]))
        assert self.radius is not None  # per-coordinate rates take no domain
        return 0.5 * self.radius * self.radius * float((1.0 / factors[moved]).max(initial=0.0))

    def measured(self) -> Measured:
        """Return the regret on the lines and parabolas that the ledger sums, rounded up."""
        certificate = self.certificate
        if not certificate.linear:
            return NOTHING
        value = (
            certificate.regret_bound(self.radius) if self.u is None else certificate.regret(self.u)
        )
        size = abs(certificate.loss) + abs(certificate.loss - value)
        slack = 4.0 * certificate.slack + ROUNDING * size
        slack += 2.0 * (self._reach() * certificate.delta)
        setting = certificate.setting
        suspect = suspect_of(
            (setting.mirror, "smoothness() or largest_regularizer()"),
            (setting.rate, "rates that do not rise"),
            (setting.domain, "project() or support()"),
        )
        return Measured(value, slack, suspect)

    def _reach(self) -> float:
        """Return the largest |u_i| of the comparators."""
        certificate = self.certificate
        if self.u is not None:
            return float(np.abs(self.u).max(initial=0.0))
        if self.radius is not None:
            return self.radius
        domain = certificate.setting.domain
        return 0.0 if domain is None else domain.largest_coordinate(len(certificate.gradient))

    def outside(self) -> str:
        """Return why a theorem does not cover the comparators, or ''."""
        mirror = self.certificate.setting.mirror
        if math.isnan(mirror.largest_regularizer(1.0, 1)):
            return f"{type(mirror).__name__} declares no largest_regularizer()"
        if math.isfinite(self.complexity(1.0)):
            return ""
        if self.u is not None:
            return "u lies outside the set of the game"
        if self.radius is None:
            return "the domain is not one whose corners are known"
        return f"radius {exact(self.radius)} is not within the set of the game"

    def outside_domain(self) -> str:
        """Return why a theorem about the domain does not cover the comparators, or ''."""
        domain = self.certificate.setting.domain
        if domain is None or (self.u is not None and domain.contains(self.u)):
            return ""
        return self.outside() if self.u is None else "u lies outside the set of the game"

    def bound(
        self,
        name: str,
        reference: str,
        value: float,
        reason: str = "",
        measured: Measured | None = None,
    ) -> Statement:
        """Return a bound on the regret, if the run does not contradict it.

        measured: the quantity that the theorem bounds [default: the regret on the lines].
        """
        return (measured or self.measured()).state(name, reference, value, reason)

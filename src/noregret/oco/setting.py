"""Which map, rate and domain make a game, and what is known about its set of points."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from noregret import domains, mirrors, rates
from noregret.arrays import Vector
from noregret.component import Component
from noregret.domains import Domain
from noregret.mirrors import Mirror
from noregret.proof.competitors import corners
from noregret.proof.convexity import require_support
from noregret.proof.strong_convexity import require_declared, require_scale
from noregret.rates import Rate


@dataclass(frozen=True)
class Setting:
    """The parts of a game, checked against one another; made by `settle`."""

    dimension: int
    #: The map without its set; the set, if any, is the domain.
    mirror: Mirror
    rate: Rate
    domain: Domain | None
    lazy: bool

    @cached_property
    def first(self) -> Vector:
        """The point of the first round."""
        return self.link(np.zeros(self.dimension))

    def link(self, a: Vector) -> Vector:
        """Return argmax over the domain of <w, a> - R(w), a lazy projection of the map's link."""
        w = self.mirror.link(a)
        return w if self.domain is None else self.mirror.project(self.domain, w)

    def potential(self, w: Vector, a: Vector) -> float:
        """Return the maximum over the domain of <w, a> - R(w) + R(w_1), from its maximiser w."""
        lowest = self.mirror.regularizer(self.first)
        return float(w @ a) - self.mirror.regularizer(w) + lowest

    @property
    def shown(self) -> Mirror:
        """The map of the certificate: a lazy ball or box is a map of its own."""
        if self.lazy and self.mirror.euclidean():
            if type(self.domain) is domains.Ball:
                return mirrors.Ball(self.domain.radius)
            if type(self.domain) is domains.Box and self.bounded:
                return mirrors.Box(self.domain.low, self.domain.high)
        return self.mirror

    @property
    def bounded(self) -> bool:
        """Whether the domain is one whose corners are known."""
        return bool(corners(self.domain, self.dimension))

    @property
    def steady(self) -> bool:
        """Whether the regulariser stays the same from round to round."""
        return self.mirror.standing() is self.mirror

    @property
    def smoothness(self) -> float:
        """The c for which a round costs at most (eta/2) c ||z||_*^2; NaN if none is known."""
        return self.mirror.smoothness()

    def complexity(self, radius: float | None, eta: float) -> float:
        """Return the maximum of (R(u) - R(w_1)) / eta over a class inside the set, else infinity.

        The class is the domain itself, or the map's class of that radius.
        """
        if radius is None:
            lowest = self.mirror.regularizer(self.first, eta)
            ends = corners(self.domain, self.dimension)
            found = (self.mirror.regularizer(u, eta) for u in ends)
            return max(found, default=math.inf) - lowest
        if self.domain is None:
            return self.mirror.complexity(radius, eta, self.dimension)
        if not self.mirror.euclidean() or radius > self._inner_radius():
            return math.inf
        return radius * radius / (2.0 * eta)

    def _inner_radius(self) -> float:
        """Return the radius of the largest class of `floor(radius)` inside the domain."""
        if type(self.domain) is domains.Ball:
            return self.domain.radius
        if type(self.domain) is domains.Box:
            return min(-self.domain.low, self.domain.high)
        # The class of that radius is then the orthant's part of the ball.
        return math.inf if type(self.domain) is domains.Orthant else -1.0

    def widest(self) -> float:
        """Return a bound on D(u, w) over the whole domain, infinity if there is none."""
        domain, d = self.domain, self.dimension
        if self.mirror.multiplicative():
            if type(domain) is domains.ClippedSimplex:
                return domain.scale * math.log(d / domain.alpha)
            if type(domain) is domains.Box and self.bounded:
                low, high = np.array([domain.low]), np.array([domain.high])
                ways = [(low, high), (high, low)]
                return d * max(self.mirror.divergence(u, w) for u, w in ways)
            return math.inf
        if type(domain) is domains.Ball:
            return 2.0 * domain.radius**2
        if type(domain) is domains.Box and self.bounded:
            return 0.5 * d * (domain.high - domain.low) ** 2
        if type(domain) is domains.Simplex:
            return domain.scale**2
        if type(domain) is domains.ClippedSimplex:
            return (domain.scale * (1.0 - domain.alpha)) ** 2
        return math.inf


def settle(
    dimension: int, mirror: Mirror, rate: Rate, domain: Domain | None, lazy: bool
) -> Setting:
    """Return the setting of a game, or say in one line what does not go together."""
    _require_kind("mirror", mirror, Mirror)
    require_declared(mirror)
    _require_kind("rate", rate, Rate)
    if domain is not None:
        _require_kind("domain", domain, Domain)
        require_support(domain, dimension)
    mirror, domain = _parted(mirror, domain, lazy)
    mirror = mirror.resolved(dimension)
    _check_rate(mirror, rate, domain, lazy)
    setting = Setting(dimension, mirror, rate, domain, lazy)
    if not np.isfinite(setting.first).all():
        raise ValueError("the first point of the game is not finite")
    if isinstance(rate, rates.Adaptive) and rate.scale is None:
        require_scale(mirror)
        filled = rate.replace(scale=_natural_scale(setting))
        setting = Setting(dimension, mirror, filled, domain, lazy)
    return setting


def _parted(mirror: Mirror, domain: Domain | None, lazy: bool) -> tuple[Mirror, Domain | None]:
    """Return a map without a set of its own, and the set."""
    name = type(mirror).__name__
    if type(mirror) is mirrors.Ball or type(mirror) is mirrors.Box:
        if not lazy:
            raise ValueError(
                f"the map {name} is lazy; with lazy=False use Euclidean() and domain={name}(...)"
            )
        if domain is not None:
            raise ValueError(f"the map {name} has a set of its own; drop domain={domain}")
        if isinstance(mirror, mirrors.Ball):
            return mirrors.Euclidean(), domains.Ball(mirror.radius)
        return mirrors.Euclidean(), domains.Box(mirror.low, mirror.high)
    if isinstance(mirror, mirrors.SoftThreshold) and not lazy:
        raise ValueError("SoftThreshold counts its rounds: use lazy=True")
    if domain is None:
        return mirror, None
    if mirror.local_norms():
        if type(domain) is domains.Orthant and type(mirror) is mirrors.UnnormalizedEntropy:
            return mirror, None
        if type(mirror) is mirrors.Entropy:
            own = type(domain) in (domains.Simplex, domains.ClippedSimplex)
            if not own or getattr(domain, "scale", 0.0) != mirror.scale:
                raise ValueError(
                    f"Entropy(scale={mirror.scale:g}) lives on a simplex: domain must be Simplex "
                    f"or ClippedSimplex of that scale, got {domain}"
                )
        if type(domain) is domains.Simplex:
            return mirrors.Entropy(domain.scale), None
        if type(domain) is domains.ClippedSimplex:
            # On a simplex the two entropies have the same projections and the same steps.
            return mirrors.Entropy(domain.scale), domain
        return mirror, domain
    if type(mirror) is not mirrors.Euclidean:
        raise ValueError(f"the map {name} takes no domain, got {domain}")
    return mirror, domain


def _check_rate(mirror: Mirror, rate: Rate, domain: Domain | None, lazy: bool) -> None:
    name = type(rate).__name__
    euclidean = type(mirror) is mirrors.Euclidean
    if isinstance(rate, rates.PerCoordinate):
        if not (euclidean or type(mirror) is mirrors.SoftThreshold) or domain is not None:
            raise ValueError(f"{name} needs Euclidean() or SoftThreshold(l1) and no domain")
        if not lazy or rate.invariant:
            raise ValueError(f"{name} needs lazy=True and invariant=False in a game")
    if rate.strong_convexity() > 0.0 and not euclidean:
        raise ValueError(f"{name} needs the map Euclidean(): the losses are curved in the 2-norm")
    if rate.restarts() and isinstance(mirror, mirrors.SoftThreshold):
        raise ValueError(f"{name} restarts the game, SoftThreshold counts all its rounds")


def _natural_scale(setting: Setting) -> float:
    """Return the scale that balances the two halves of the adaptive bound over the game's set."""
    wide = Setting(
        max(setting.dimension, 2), setting.mirror, setting.rate, setting.domain, setting.lazy
    )
    size = setting.mirror.natural_size(wide.dimension)
    if wide.bounded:
        size = wide.complexity(None, 1.0)
    smoothness = setting.smoothness
    return math.sqrt(size / smoothness) if smoothness > 0.0 else math.sqrt(size)


def _require_kind(name: str, value: Any, kind: type[Component]) -> None:
    if not isinstance(value, kind):
        hint = " (did you forget the parentheses?)" if isinstance(value, type) else ""
        where = f"noregret.{kind.__name__.lower()}s"
        raise ValueError(f"{name} must be one of {where}, got {value!r}{hint}")

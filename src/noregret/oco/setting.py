"""Which map, rate and domain make a game, and what is known about its set of points."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from noregret import domains
from noregret.arrays import Vector
from noregret.combinations import (
    GAME,
    Parts,
    lazily_projected,
    parted,
    require_kind,
    require_sound,
    require_together,
)
from noregret.mirrors import Mirror
from noregret.proof.competitors import corners
from noregret.proof.convexity import require_support
from noregret.rates import Rate


@dataclass(frozen=True)
class GameSetting:
    """The parts of a game, checked against one another; made by `settle`."""

    dimension: int
    #: The map without its set; the set, if any, is the domain.
    mirror: Mirror
    rate: Rate
    domain: domains.Domain | None
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
        known = self.lazy and self.mirror.euclidean() and self.bounded
        if known and isinstance(self.domain, domains.Ball | domains.Box):
            return lazily_projected(self.domain)
        return self.mirror

    @property
    def bounded(self) -> bool:
        """Whether the domain is one whose corners are known."""
        return bool(corners(self.domain, self.dimension))

    @property
    def steady(self) -> bool:
        """Whether the regulariser stays the same from round to round."""
        return self.mirror.standing() is self.mirror

    def complexity(self, radius: float | None, eta: float) -> float:
        """Return the maximum of (R(u) - R(w_1)) / eta over a class inside the set, else infinity.

        The class is the domain itself, or the map's class of that radius.
        """
        if radius is None:
            ends = corners(self.domain, self.dimension)
            largest = max((self.mirror.regularizer(u, eta) for u in ends), default=math.inf)
            return largest - self.mirror.regularizer(self.first, eta)
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
    dimension: int, mirror: Mirror, rate: Rate, domain: domains.Domain | None, lazy: bool
) -> GameSetting:
    """Return the setting of a game, or say in one line what does not go together."""
    require_kind("mirror", mirror)
    require_kind("rate", rate)
    if domain is not None:
        require_kind("domain", domain)
        require_support(domain, dimension)
    require_sound(mirror, rate)
    require_together(Parts(None, mirror, rate, domain, lazy), GAME, "game")
    mirror, domain = parted(mirror, domain)
    mirror = mirror.resolved(dimension)
    setting = GameSetting(dimension, mirror, rate, domain, lazy)
    if not np.isfinite(setting.first).all():
        raise ValueError("the first point of the game is not finite")
    filled = rate.resolved(lambda: _natural_scale(setting))
    return setting if filled is rate else replace(setting, rate=filled)


def _natural_scale(setting: GameSetting) -> float:
    """Return the scale that balances the two halves of the adaptive bound over the game's set."""
    wide = replace(setting, dimension=max(setting.dimension, 2))
    natural = setting.mirror.natural_size(wide.dimension)
    size = wide.complexity(None, 1.0) if wide.bounded else natural
    smoothness = setting.mirror.smoothness()
    return math.sqrt(size / smoothness) if smoothness > 0.0 else math.sqrt(size)

"""The setting of a game: map, rate and domain, checked against one another.

Also single steps, divergences, and the rate that is tuned in advance.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cached_property
from typing import NamedTuple

import numpy as np

from noregret import domains, rates
from noregret.arrays import ArrayLike, Vector, as_number, as_positive, as_vector, as_whole
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
from noregret.proof import closed_forms
from noregret.proof.competitors import corners
from noregret.proof.convexity import require_support, undeclared

#: Largest dual norm of a subgradient: the sum of many of its squares is finite.
LARGEST_NORM = 1e145


@dataclass(frozen=True)
class GameSetting:
    """The parts of a game, checked against one another; made by `settle`."""

    dimension: int
    #: The map without its set; the set, if any, is the domain.
    mirror: Mirror
    rate: rates.Rate
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
    dimension: int, mirror: Mirror, rate: rates.Rate, domain: domains.Domain | None, lazy: bool
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


def step(
    mirror: Mirror, w: ArrayLike, z: ArrayLike, eta: float, domain: domains.Domain | None = None
) -> Vector:
    """Return argmin over u of D(u, w) + eta <z, u>, projected on the domain if there is one.

    Euclidean: w - eta z; entropies: w_i exp(-eta z_i), normalised on the simplex.
    Reference: Herbster and Warmuth, Tracking the Best Linear Predictor, eq. 4.

    >>> from noregret import mirrors
    >>> step(mirrors.Euclidean(), [0.2, 0.3], [-0.5, 0.0], 0.1)
    array([0.25, 0.3 ])
    """
    point = as_vector("w", w)
    gradient = as_vector("z", z, len(point))
    as_positive("eta", eta)
    moved = mirror.link(mirror.inverse_link(point) - eta * gradient)
    return moved if domain is None else mirror.project(domain, moved)


def implicit_step(mirror: Mirror, w: ArrayLike, x: ArrayLike, y: float, eta: float) -> Vector:
    """Return argmin over u of D(u, w) + eta (<u, x> - y)^2, the loss not linearised.

    Euclidean: w - 2 eta (p - y) x / (1 + 2 eta ||x||^2) with p = <w, x>. Entropies: with s the
    one root of s = sum_i x_i w_i exp(-2 eta (s - y) x_i), normalised on the simplex, found by
    bisection between p and y.
    Reference: Herbster and Warmuth, Tracking the Best Linear Predictor, section 3.1; Kivinen
    and Warmuth, Exponentiated Gradient versus Gradient Descent, 1997.

    >>> from noregret import mirrors
    >>> implicit_step(mirrors.Euclidean(), [0.2, 0.3, 0.5], [1.0, 0.0, 0.5], 0.8, 0.1)
    array([0.256, 0.3  , 0.528])
    """
    point = as_vector("w", w)
    row = as_vector("x", x, len(point))
    target = as_number("y", y)
    as_positive("eta", eta)
    if mirror.euclidean():
        factor = 2.0 * eta * (float(point @ row) - target) / (1.0 + 2.0 * eta * float(row @ row))
        return point - factor * row
    if not mirror.local_norms():
        raise ValueError(
            f"the implicit step is known for Euclidean and the entropies, not {mirror}"
        )
    logs = mirror.inverse_link(point)

    def moved(s: float) -> Vector:
        return mirror.link(logs - 2.0 * eta * (s - target) * row)

    # s - <moved(s), x> increases in s, and changes sign between the target and the prediction.
    low, high = sorted((float(moved(target) @ row), target))
    while low < (middle := low + 0.5 * (high - low)) < high:
        low, high = (middle, high) if middle < float(moved(middle) @ row) else (low, middle)
    return moved(middle)


def divergence(mirror: Mirror, u: ArrayLike, w: ArrayLike) -> float:
    """Return the Bregman divergence D(u, w) = R(u) - R(w) - <grad R(w), u - w> of a map.

    Euclidean: ||u - w||^2 / 2; unnormalised entropy: sum u_i ln(u_i / w_i) + w_i - u_i; the
    entropy on the simplex is the same where u and w have the same sum.
    Reference: Herbster and Warmuth, Tracking the Best Linear Predictor, section 3.

    >>> from noregret import mirrors
    >>> divergence(mirrors.Euclidean(), [3.0, 1.0], [1.0, 1.0])
    2.0
    """
    left = as_vector("u", u)
    return mirror.divergence(left, as_vector("w", w, len(left)))


class Tuned(NamedTuple):
    """A constant rate, and the regret that no sequence can push it above."""

    rate: rates.Constant
    bound: float


def tuned(
    mirror: Mirror,
    dimension: int,
    horizon: int,
    gradient_limit: float,
    radius: float | None = None,
    domain: domains.Domain | None = None,
) -> Tuned:
    """Return the best constant rate for `horizon` rounds with ||z||_* <= gradient_limit.

    With C the maximum of R over the class and c the map's smoothness, C/eta + (c/2) eta T G^2
    is least at eta = sqrt(2 C / (c T)) / G, where it is G sqrt(2 C c T). The class is the set of
    the game, or the map's class of that radius.
    Reference: Shalev-Shwartz, Online Learning and Online Convex Optimization, Theorem 2.21.

    >>> from noregret import mirrors
    >>> round(tuned(mirrors.Ball(1.0), dimension=3, horizon=100, gradient_limit=1.0).bound, 9)
    10.0
    """
    horizon = as_whole("horizon", horizon)
    as_positive("gradient_limit", gradient_limit, LARGEST_NORM)
    setting = settle(as_whole("dimension", dimension), mirror, rates.Constant(1.0), domain, True)
    if radius is None and not setting.bounded:
        radius = setting.mirror.own_radius()
        if radius is None:
            raise ValueError(f"{mirror} has no set of its own: say radius=")
    if undeclared(setting.mirror):
        raise ValueError(undeclared(setting.mirror))
    complexity, smoothness = setting.complexity(radius, 1.0), setting.mirror.smoothness()
    if not math.isfinite(complexity):
        raise ValueError(f"radius {radius} is not within the set of the game")
    if not smoothness > 0.0:
        raise ValueError(f"{type(mirror).__name__} has no global bound on a round's cost")
    if complexity == 0.0:
        return Tuned(rates.Constant(1.0 / gradient_limit), 0.0)
    squares = smoothness * horizon * gradient_limit**2
    rate = rates.Constant(closed_forms.tuned_rate(complexity, squares))
    return Tuned(rate, closed_forms.tuned_regret(complexity, squares))

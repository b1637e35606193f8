"""Sets shrunk towards their centre, so that every point within delta of them lies in the set."""

from __future__ import annotations

import math
from dataclasses import dataclass

from noregret import domains
from noregret.domains import Domain
from noregret.rounding import grown, rounding_error

#: Roundings between a projection on the shrunken set and the point played, a coordinate.
ROUNDINGS = 16.0


@dataclass(frozen=True)
class Shrunken:
    """The set (1 - margin/r) K + (margin/r) c for a set K that holds the ball of radius r around c.

    For w in it and ||v|| <= 1 the point w + margin v is in K: with a = margin/r it is
    (1 - a) k + a (c + r v) for some k in K, a mean of two points of K. For a ball c = 0 and r is
    its radius, for a box c is its middle and r half its width; both stay what they are.

    >>> small = Shrunken.of(domains.Box(-1.0, 3.0), 0.5, 2)
    >>> round(small.domain.low, 9), round(small.domain.high, 9), small.inner
    (-0.5, 2.5, 2.0)
    """

    domain: Domain
    #: delta, and a few roundings more.
    margin: float
    #: r, the radius of the ball inside K.
    inner: float
    #: The largest distance of a point of K from c, rounded up.
    outer: float

    @classmethod
    def of(cls, domain: Domain, delta: float, dimension: int) -> Shrunken:
        """Shrink a set by delta, or say in one line why that cannot be done."""
        if type(domain) is domains.Ball:
            inner = outer = size = domain.radius
        elif type(domain) is domains.Box:
            inner, size = 0.5 * (domain.high - domain.low), max(abs(domain.low), abs(domain.high))
            outer = grown(inner * math.sqrt(dimension), 4.0)
        else:
            raise ValueError(
                f"inside=True needs a set with an inner ball, Ball(...) or Box(...), got {domain}"
            )
        # The roundings of w, v and of w + delta v must not carry a point out of K.
        margin = delta + rounding_error(ROUNDINGS * (dimension + 4.0), size + delta)
        if not margin < inner:
            raise ValueError(
                f"delta must be below {inner:g}, the radius of the ball inside {domain}, "
                f"got {delta:g}"
            )
        if isinstance(domain, domains.Ball):
            return cls(domains.Ball(domain.radius - margin), margin, inner, outer)
        return cls(domains.Box(domain.low + margin, domain.high - margin), margin, inner, outer)

    def excess(self, lipschitz: float, size: float = math.inf) -> float:
        """Return a bound on f(u') - f(u) for u in K and u' = (1 - a) u + a c, a = margin/r.

        f is convex on K with slopes <= lipschitz and |f| <= size: f(u') - f(u) is at most
        lipschitz ||u' - u|| = lipschitz a ||u - c||, and by convexity a (f(c) - f(u)) <= 2 a size.

        >>> Shrunken(domains.Ball(0.75), 0.25, 1.0, 1.0).excess(2.0)
        0.5
        """
        return self.margin / self.inner * min(lipschitz * self.outer, 2.0 * size)

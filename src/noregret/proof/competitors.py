"""The class of predictors that the theorems of a certificate are computed for."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from noregret.arrays import Vector
from noregret.component import built_in
from noregret.domains import Domain
from noregret.proof.strong_convexity import undeclared
from noregret.rounding.printed import exact

if TYPE_CHECKING:
    from noregret.proof.certificate import Certificate


def corners(domain: Domain | None, dimension: int) -> list[Vector]:
    """Return the corners of a domain of this package; [] for any other, which may differ from ours.

    >>> from noregret.domains import Box
    >>> corners(Box(-1.0, 2.0), 2)
    [array([-1., -1.]), array([2., 2.])]
    """
    return domain.corners(dimension) if domain is not None and built_in(domain) else []


class Competitors:
    """The map's class of a radius, or without a radius the learner's own domain.

    >>> import noregret as nr
    >>> learner = nr.MirrorDescent(
    ...     nr.losses.Absolute(), nr.mirrors.Euclidean(), nr.rates.Constant(0.5),
    ...     nr.domains.Box(-1.0, 2.0))
    >>> _ = learner.learn([[1.0, 1.0]], [5.0])
    >>> box = Competitors(learner.certificate(), None)
    >>> round(box.radius, 6), box.largest_regularizer(0.5)
    (2.828427, 8.0)
    """

    def __init__(self, certificate: Certificate, radius: float | None) -> None:
        self._certificate, self._mirror = certificate, certificate.mirror
        self._dimension = len(certificate.gradient)
        #: The domain, None where the class is that of a radius.
        self.domain = certificate.domain if radius is None else None
        self._corners = corners(self.domain, self._dimension)
        if radius is None:
            norms = (self._mirror.predictors().norm(u) for u in self._corners)
            radius = max(norms, default=math.inf)
        #: The largest norm of a competitor.
        self.radius = radius

    def largest_regularizer(self, eta: float) -> float:
        """Return the maximum of R(u) / eta over the class, infinity where it is not known."""
        if self.domain is None:
            return self._mirror.complexity(self.radius, eta, self._dimension)
        if not eta > 0.0:
            return math.inf
        values = (self._mirror.regularizer(u, eta) for u in self._corners)
        return max(values, default=math.inf)

    def support(self) -> float:
        """Return the largest <u, -Z> over the class, rounded up."""
        certificate = self._certificate
        if self.domain is not None:
            return certificate.domain_support(self.domain)
        return self._mirror.predictors().support_upper(
            certificate.gradient, self.radius, certificate.delta
        )

    def largest_coordinate(self) -> float:
        """Return an upper bound on |u_i| of a competitor."""
        if self.domain is None:
            return self.radius
        return self.domain.largest_coordinate(max(self._dimension, 1))

    def outside(self, eta: float) -> str:
        """Return the reason why no theorem about R / eta covers the class, or ''."""
        if undeclared(self._mirror):
            return undeclared(self._mirror)
        if not eta > 0.0:
            return "nothing but zeros was learnt, and the rate is not known yet"
        if math.isfinite(self.largest_regularizer(1.0)):
            return ""
        if self.domain is not None:
            return f"the regulariser has no known maximum over {self.domain}"
        return f"radius {exact(self.radius)} is not that of the map"

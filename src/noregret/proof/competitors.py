"""The class of predictors that theorems are computed for, and the quantities that they use."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from noregret.arrays import Vector
from noregret.component import built_in
from noregret.domains import Domain
from noregret.proof.convexity import undeclared
from noregret.proof.ledger import Entry
from noregret.proof.statement import ROUNDING, Measured, Statement, suspect_of
from noregret.rounding import CLOSED_FORM, ROOT_UNDERFLOW, UNDERFLOW, exact

if TYPE_CHECKING:
    from noregret.proof.certificate import Certificate


def corners(domain: Domain | None, dimension: int) -> list[Vector]:
    """Return the corners of a built-in domain, [] for any other: a subclass may be another set.

    >>> from noregret.domains import Box
    >>> corners(Box(-1.0, 2.0), 2)
    [array([-1., -1.]), array([2., 2.])]
    """
    return domain.corners(dimension) if domain is not None and built_in(domain) else []


class Facts:
    """The quantities that the theorems use, for one class of competitors.

    The class is the map's of a radius, or without a radius the learner's own domain.

    >>> import noregret as nr
    >>> learner = nr.MirrorDescent(
    ...     nr.losses.Absolute(), nr.mirrors.Euclidean(), nr.rates.Constant(0.5),
    ...     nr.domains.Box(-1.0, 2.0))
    >>> _ = learner.learn([[1.0, 1.0]], [5.0])
    >>> box = Facts(learner.certificate(), None)
    >>> round(box.radius, 6), box.largest_regularizer(0.5)
    (2.828427, 8.0)
    """

    def __init__(self, certificate: Certificate, radius: float | None) -> None:
        self.certificate, self.mirror = certificate, certificate.mirror
        self.dimension = len(certificate.gradient)
        #: The domain, None where the class is that of a radius.
        self.domain = certificate.domain if radius is None else None
        self._corners = corners(self.domain, self.dimension)
        if radius is None:
            norms = (self.mirror.predictors().norm(u) for u in self._corners)
            radius = max(norms, default=math.inf)
        #: The largest norm of a competitor.
        self.radius = radius
        self.rate = certificate.rate
        self.rounds = certificate.rounds
        self.count = self.entry(Entry.COUNTED)
        self.eta = self.entry(Entry.LAST_ETA)
        self.smoothness = certificate.mirror.smoothness()
        self.limit = self.entry(Entry.ROW_LIMIT)
        self.complexity = self.largest_regularizer(self.eta)
        counted = Entry.COUNTED_LOSS if certificate.conservative else Entry.LOSS
        #: Sum of <w_t, z_t> over the counted rounds.
        self.played = certificate.sum_of(counted) - certificate.intercept

    def entry(self, place: Entry) -> float:
        """Return one number of the ledger."""
        return float(self.certificate.ledger[place])

    def largest_regularizer(self, eta: float) -> float:
        """Return the maximum of R(u) / eta over the class, infinity where it is not known."""
        if self.domain is None:
            return self.mirror.complexity(self.radius, eta, self.dimension)
        if not eta > 0.0:
            return math.inf
        values = (self.mirror.regularizer(u, eta) for u in self._corners)
        return max(values, default=math.inf)

    def support(self) -> float:
        """Return the largest <u, -Z> over the class, rounded up."""
        certificate = self.certificate
        if self.domain is not None:
            return certificate.domain_support(self.domain)
        return self.mirror.predictors().support_upper(
            certificate.gradient, self.radius, certificate.delta
        )

    def largest_coordinate(self) -> float:
        """Return an upper bound on |u_i| of a competitor."""
        if self.domain is None:
            return self.radius
        return self.domain.largest_coordinate(max(self.dimension, 1))

    def outside(self, eta: float) -> str:
        """Return the reason why no theorem about R / eta covers the class, or ''."""
        if undeclared(self.mirror):
            return undeclared(self.mirror)
        if not eta > 0.0:
            return "nothing but zeros was learnt, and the rate is not known yet"
        if math.isfinite(self.largest_regularizer(1.0)):
            return ""
        if self.domain is not None:
            return f"the regulariser has no known maximum over {self.domain}"
        return f"radius {exact(self.radius)} is not that of the map"

    def measured(self) -> Measured:
        """Return the largest linear regret over the class, computed from the ledger."""
        certificate, support = self.certificate, self.support()
        longest = self.largest_coordinate()
        slack = 4.0 * certificate.slack + 2.0 * longest * certificate.delta
        slack += ROOT_UNDERFLOW * (1.0 + longest)
        size = abs(self.played) + abs(support)
        value = self.played + support + 2.0 * certificate.slack
        return Measured(value, slack + ROUNDING * size, self.suspect)

    @property
    def suspect(self) -> str:
        """What to suspect if a theorem about the regret is contradicted."""
        promise = "smoothness() or largest_regularizer()"
        return suspect_of((self.mirror, promise), (self.rate, "rates that do not rise"))

    def regret(self, name: str, reference: str, value: float, reason: str = "") -> Statement:
        """Return a bound with factor 1, if the run does not contradict it."""
        # The theorems bound the loss of a conservative learner on its mistakes only.
        measure = "loss on mistakes" if self.certificate.conservative else "loss"
        return self.measured().state(name, reference, value, reason, measure=measure)

    def mistakes(
        self, name: str, reference: str, value: float, factor: float, support: float, reason: str
    ) -> Statement:
        """Return a bound on the mistakes; `support` is the largest <u, -Z> of its comparators.

        A comparator's loss is at least a + <u, Z>, the sum of its lines, and the theorems hold
        with these lines in place of the losses.
        """
        certificate = self.certificate
        certain = factor * certificate.intercept - self.count
        # With factor 1/margin it is 0 up to rounding, which must not raise a bound of 0.
        certain = certain if abs(certain) > 1e-12 * self.count else 0.0
        excess = factor * support - certain
        longest = self.largest_coordinate()
        slack = factor * (4.0 * certificate.slack + 2.0 * longest * certificate.delta)
        size = self.count + factor * (abs(certificate.intercept) + abs(support))
        measured = Measured(excess, slack + ROUNDING * size, self.suspect)
        value = value * CLOSED_FORM + UNDERFLOW
        return measured.state(name, reference, value, reason, factor, "mistakes")

    def weighted(self) -> str:
        """Return the reason why mistakes cannot be counted one by one, or ''."""
        even = self.entry(Entry.LIGHTEST) == 1.0 == self.entry(Entry.HEAVIEST)
        return "" if even or not self.count else "the examples do not all weigh 1"

    def off_link_reason(self) -> str:
        """Return the reason why the weights are not link(-eta Z), or ''."""
        certificate = self.certificate
        if certificate.evidence.factors is not None:
            return "every feature has a rate of its own"
        if self.rate.restarts():
            return "the learner restarts"
        if not certificate.lazy and not (certificate.domain is None and self.rate.constant()):
            return "agile steps follow the link only at a constant rate, without a domain"
        return ""

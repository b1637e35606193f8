"""The theorems: what each promises about a run, and whether its preconditions held.

Every bound has the form  measure <= factor * (comparator's loss) + value  for all comparators of
a class, where the measure is the learner's loss or its number of mistakes. With factor 1 the
value bounds the regret. A theorem that the run contradicts by more than rounding is printed as not
applicable, with the precondition to suspect.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import TYPE_CHECKING

from noregret import domains
from noregret.mirrors.base import declares
from noregret.proof import closed_forms
from noregret.proof.competitors import Competitors
from noregret.proof.contradiction import ROUNDING, Measured, suspect_of
from noregret.proof.ledger import Entry
from noregret.proof.mistake_bounds import mistake_bounds
from noregret.proof.statement import Statement
from noregret.proof.strong_convexity import undeclared
from noregret.rounding.printed import exact
from noregret.rounding.slack import CLOSED_FORM, ROOT_UNDERFLOW, UNDERFLOW, rounding_error

if TYPE_CHECKING:
    from noregret.proof.certificate import Certificate


def theorem_bounds(certificate: Certificate, radius: float | None) -> list[Statement]:
    """Return the bounds that speak about this kind of learner, for comparators of that radius.

    Without a radius the class is the learner's own domain.
    """
    if certificate.rounds == 0 or not certificate.played:
        return []
    facts = Facts(certificate, radius)
    bounds: list[Statement] = []
    if certificate.rate.strong_convexity() > 0.0:
        # The theorem is about the loss with its penalty.
        bounds += _strongly_convex(facts) if certificate.penalised else ()
    elif certificate.evidence.factors is not None:
        bounds += _per_coordinate(facts)
    elif certificate.lazy:
        bounds += _lazy(facts)
        bounds += _local_norms(facts)
    else:
        bounds += _agile(facts)
    if certificate.conservative:
        bounds += mistake_bounds(facts)
    return bounds


class Facts:
    """The quantities that the theorems use."""

    def __init__(self, certificate: Certificate, radius: float | None) -> None:
        ledger = certificate.ledger
        self.certificate = certificate
        self.mirror = certificate.mirror
        self.rate = certificate.rate
        self.dimension = len(certificate.gradient)
        self.competitors = Competitors(certificate, radius)
        self.radius = self.competitors.radius
        self.rounds = certificate.rounds
        self.count = float(ledger[Entry.COUNTED])
        self.first_eta = float(ledger[Entry.FIRST_ETA])
        self.eta = float(ledger[Entry.LAST_ETA])
        self.rated_squares = float(ledger[Entry.RATED_SQUARES])
        self.smoothness = certificate.mirror.smoothness()
        self.largest_counted_row = float(ledger[Entry.LARGEST_COUNTED_ROW])
        self.limit = float(ledger[Entry.ROW_LIMIT])
        self.broken = int(ledger[Entry.LIMIT_BROKEN])
        self.complexity = self.competitors.largest_regularizer(self.eta)
        counted = Entry.COUNTED_LOSS if certificate.conservative else Entry.LOSS
        #: Sum of <w_t, z_t> over the counted rounds.
        self.played = certificate.sum_of(counted) - certificate.intercept

    def measured(self) -> Measured:
        """Return the largest linear regret over the class, as the ledger shows it."""
        certificate, support = self.certificate, self.competitors.support()
        longest = self.competitors.largest_coordinate()
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
        # The other rounds of a conservative learner have a loss that no theorem speaks about.
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
        # With factor 1/margin it is 0 but for rounding, which must not raise a bound of 0.
        certain = certain if abs(certain) > 1e-12 * self.count else 0.0
        excess = factor * support - certain
        longest = self.competitors.largest_coordinate()
        slack = factor * (4.0 * certificate.slack + 2.0 * longest * certificate.delta)
        size = self.count + factor * (abs(certificate.intercept) + abs(support))
        measured = Measured(excess, slack + ROUNDING * size, self.suspect)
        value = value * CLOSED_FORM + UNDERFLOW
        return measured.state(name, reference, value, reason, factor, "mistakes")

    def weighted(self) -> str:
        """Say why mistakes cannot be counted one by one, if they cannot."""
        ledger = self.certificate.ledger
        if ledger[Entry.COUNTED] and not ledger[Entry.LIGHTEST] == 1.0 == ledger[Entry.HEAVIEST]:
            return "the examples do not all weigh 1"
        return ""

    def crooked(self) -> str:
        """Say why the weights are not along the link of theta = -Z, if they are not."""
        certificate = self.certificate
        if certificate.evidence.factors is not None:
            return "every feature has a rate of its own"
        if self.rate.restarts():
            return "the learner restarts"
        if not certificate.lazy and not (certificate.domain is None and self.rate.constant()):
            return "agile steps follow the link only at a constant rate, without a domain"
        return ""


def _lazy(facts: Facts) -> Iterator[Statement]:
    unknown = not facts.smoothness > 0.0 and not undeclared(facts.mirror)
    if unknown or facts.mirror.threshold(1.0) > 0.0:
        return
    outside = facts.competitors.outside(facts.eta)
    stability = 0.5 * facts.smoothness * facts.rated_squares
    if facts.rate.restarts():
        epochs = range(facts.rounds.bit_length())
        complexity = sum(
            facts.competitors.largest_regularizer(facts.rate.at(2.0**m - 1.0, 0.0, 0.0))
            for m in epochs
        )
        if not facts.mirror.homogeneous():
            # The rate inside an entropy falls on a grid of eighths of an octave.
            complexity *= 2.0**0.125
        yield facts.regret(
            "doubling trick, observed gradients",
            "Shalev-Shwartz 2012, section 2.3.1 with Theorem 2.21",
            complexity + stability,
            outside,
        )
        return
    yield facts.regret(
        "mirror descent, observed gradients",
        "Shalev-Shwartz 2012, Theorem 2.21; falling rates: McMahan 2017, Theorem 1",
        facts.complexity + stability,
        outside,
    )
    if facts.rate.constant():
        conjugate, unbounded = math.inf, outside
        if not declares(facts.mirror, "conjugate_upper"):
            # The value of the conjugate has to be known with its rounding.
            name = type(facts.mirror).__name__
            unbounded = outside or f"{name} has no conjugate rounded upwards"
        if not unbounded:
            conjugate = facts.mirror.conjugate_upper(
                -facts.certificate.gradient, facts.eta, facts.certificate.delta, facts.rounds
            )
        yield facts.regret(
            "mirror descent, after the fact",
            "Shalev-Shwartz 2012, Lemma 2.20",
            facts.complexity + conjugate + facts.played,
            unbounded,
        )
        if math.isfinite(facts.limit):
            steepest = facts.certificate.loss_function.lipschitz() * facts.limit
            worst = 0.5 * facts.smoothness * facts.eta * facts.rounds * steepest**2
            reason = outside
            if facts.broken:
                reason = f"||x|| <= {exact(facts.limit)} does not hold since round {facts.broken}"
            elif not math.isfinite(steepest):
                reason = "the loss has no Lipschitz constant"
            elif facts.certificate.ledger[Entry.LARGEST_REACH] > steepest * (1.0 + 1e-12):
                reason = "a weighted row is longer than the limit allows"
            yield facts.regret(
                "mirror descent, in advance",
                "Shalev-Shwartz 2012, Theorem 2.21, with the promised row limit",
                facts.complexity + worst if not reason else math.inf,
                reason,
            )


def _local_norms(facts: Facts) -> Iterator[Statement]:
    theorem = facts.mirror.local_norms()
    if not theorem or not facts.rate.constant():
        return
    ledger = facts.certificate.ledger
    reason = facts.competitors.outside(facts.eta)
    if ledger[Entry.STEP_BROKEN] > 0.0:
        reason = f"eta z >= -1 does not hold since round {int(ledger[Entry.STEP_BROKEN])}"
    yield facts.regret(
        "exponentiated gradient, local norms",
        f"Shalev-Shwartz 2012, Theorem {theorem}",
        facts.complexity + facts.eta * float(ledger[Entry.LOCAL_SQUARES]),
        reason,
    )


def _strongly_convex(facts: Facts) -> Iterator[Statement]:
    ledger = facts.certificate.ledger
    sigma = facts.rate.strong_convexity()
    largest = float(ledger[Entry.LARGEST_CURVED_SQUARE])
    certificate = facts.certificate
    floor = certificate.regularized_floor()
    size = abs(certificate.loss) + abs(floor)
    measured = Measured(
        certificate.loss - floor + certificate.slack + rounding_error(8.0, size),
        4.0 * certificate.slack + ROUNDING * size,
        facts.suspect,
    )
    for name, reference, value in (
        (
            "strongly convex OGD, observed gradients",
            "Cesa-Bianchi 2024, strongly convex case, before bounding the gradients",
            float(ledger[Entry.CURVED_SQUARES]) / (2.0 * sigma),
        ),
        (
            "strongly convex OGD",
            "Cesa-Bianchi 2024, strongly convex case",
            closed_forms.strongly_convex_regret(math.sqrt(largest), sigma, facts.rounds),
        ),
    ):
        yield measured.state(name, reference, value, measure="penalised loss")


def _per_coordinate(facts: Facts) -> Iterator[Statement]:
    certificate = facts.certificate
    rate, factors, squares = facts.rate, certificate.evidence.factors, certificate.evidence.squares
    assert factors is not None and squares is not None
    used = factors[factors > 0.0]
    steepest = float((1.0 / used).max(initial=0.0))
    reason = ""
    if not math.isfinite(certificate.loss_function.lipschitz()):
        reason = "the loss has no Lipschitz constant"
    elif facts.mirror.threshold(1.0) > 0.0:
        reason = "the soft threshold adds its own regulariser"
    roots = float((squares**0.5).sum())
    value = rate.coordinate_regret(facts.radius, steepest, roots)
    if math.isnan(value):
        return
    yield facts.regret(
        "per-coordinate rates",
        "Duchi, Hazan, Singer 2011, Theorem 5 in dual-averaging form",
        value,
        reason,
    )


def _agile(facts: Facts) -> Iterator[Statement]:
    domain = facts.certificate.domain
    if not facts.mirror.euclidean() or facts.rate.restarts():
        return
    if not facts.eta > 0.0:
        return
    stability = 0.5 * facts.rated_squares
    if type(domain) is domains.Ball:
        reason = "" if facts.radius <= domain.radius else "the class is larger than the domain"
        size = domain.radius
        value = (
            facts.radius * facts.radius / (2.0 * facts.first_eta)
            + 2.0 * size**2 * (1.0 / facts.eta - 1.0 / facts.first_eta)
            + stability
        )
        yield facts.regret(
            "projected OGD, observed gradients", "Cesa-Bianchi 2024, eq. 5-6", value, reason
        )
        if facts.rate.root_eta() > 0.0:
            steepest = math.sqrt(float(facts.certificate.ledger[Entry.LARGEST_SQUARE]))
            value = closed_forms.projected_ogd_regret(
                size, steepest, facts.rate.root_eta(), facts.rounds
            )
            yield facts.regret("projected OGD", "Cesa-Bianchi 2024, eq. 7", value, reason)
    elif domain is None and facts.rate.constant():
        yield facts.regret(
            "OGD, observed gradients",
            "Shalev-Shwartz 2012, Theorem 2.21",
            facts.complexity + stability,
        )

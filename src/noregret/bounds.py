"""The theorems: what each promises about a run, and whether its preconditions held.

Every bound has the form  measure <= factor * (comparator's loss) + value  for all comparators of
a class, where the measure is the learner's loss or its number of mistakes. With factor 1 the
value bounds the regret. A value is never printed below what the ledger itself proves, so that
rounding cannot make a theorem say more than the run.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from noregret import domains, geometry, mirrors, rates, theorems
from noregret.competitors import Competitors
from noregret.ledger import Entry
from noregret.losses import Hinge, MulticlassHinge, WinnowHinge
from noregret.rounding import exact, up

if TYPE_CHECKING:
    from noregret.certificate import Certificate


#: What products of a radius and a norm may lose where they underflow.
UNDERFLOW = 1e-200


@dataclass(frozen=True)
class Bound:
    """One theorem at work: measure <= factor * comparator's loss + value."""

    name: str
    reference: str
    value: float
    factor: float = 1.0
    measure: str = "loss"
    applies: bool = True
    reason: str = ""
    #: Whose loss it is compared with.
    against: str = "L(u)"

    def as_dict(self) -> dict[str, Any]:
        """Return the fields as plain values, None for a value that is not finite."""
        return vars(self) | {"value": self.value if math.isfinite(self.value) else None}

    def __str__(self) -> str:
        if not self.applies:
            return f"{self.name:<41}not applicable: {self.reason}"
        excess = f"{self.measure} - {self.against}"
        if self.factor != 1.0:
            excess = f"{self.measure} - {up(self.factor)} {self.against}"
        return f"{self.name:<41}{excess} <= {up(self.value)}"


def theorem_bounds(certificate: Certificate, radius: float | None) -> list[Bound]:
    """Return the bounds that speak about this kind of learner, for comparators of that radius.

    Without a radius the class is the learner's own domain.
    """
    if certificate.rounds == 0 or not certificate.played or certificate.scaled_length is not None:
        return []
    facts = _Facts(certificate, radius)
    bounds: list[Bound] = []
    if certificate.rate.strong_convexity() > 0.0:
        # The theorem is about the loss with its penalty.
        bounds += _strongly_convex(facts) if certificate.penalised else ()
    elif certificate.factors is not None:
        bounds += _per_coordinate(facts)
    elif certificate.lazy:
        bounds += _lazy(facts)
        bounds += _local_norms(facts)
    else:
        bounds += _agile(facts)
    if certificate.conservative:
        bounds += _mistakes(facts)
    return bounds


class _Facts:
    """The numbers that the theorems are made of."""

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

    def proved(self) -> float:
        """Return what the ledger proves about the linear regret over the class."""
        return self.played + self.competitors.support() + 2.0 * self.certificate.slack

    def regret(self, name: str, reference: str, value: float, reason: str = "") -> Bound:
        """Return a bound with factor 1, not below what is proved anyway."""
        # The other rounds of a conservative learner have a loss that no theorem speaks about.
        measure = "loss on mistakes" if self.certificate.conservative else "loss"
        value = math.inf if reason else max(value, self.proved())
        return Bound(name, reference, value, 1.0, measure, not reason, reason)

    def mistakes(
        self, name: str, reference: str, value: float, factor: float, floor: float, reason: str
    ) -> Bound:
        """Return a bound on the mistakes, not below `floor`, which the ledger proves."""
        if reason:
            return Bound(name, reference, math.inf, 1.0, "mistakes", False, reason)
        value = max(value * (1.0 + 1e-12) + UNDERFLOW, floor)
        return Bound(name, reference, value, factor, "mistakes")

    def weighted(self) -> str:
        """Say why mistakes cannot be counted one by one, if they cannot."""
        ledger = self.certificate.ledger
        if ledger[Entry.COUNTED] and not ledger[Entry.LIGHTEST] == 1.0 == ledger[Entry.HEAVIEST]:
            return "the examples do not all weigh 1"
        return ""

    def crooked(self) -> str:
        """Say why the weights are not along the link of theta = -Z, if they are not."""
        certificate = self.certificate
        if certificate.factors is not None:
            return "every feature has a rate of its own"
        if self.rate.restarts():
            return "the learner restarts"
        if not certificate.lazy and not (certificate.domain is None and self.rate.constant()):
            return "agile steps follow the link only at a constant rate, without a domain"
        return ""


def _lazy(facts: _Facts) -> Iterator[Bound]:
    if not facts.smoothness > 0.0 or facts.mirror.threshold(1.0) > 0.0:
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
        conjugate = math.inf
        if not outside:
            conjugate = geometry.conjugate_upper(
                facts.mirror,
                -facts.certificate.gradient,
                facts.eta,
                facts.certificate.delta,
                facts.rounds,
            )
        yield facts.regret(
            "mirror descent, after the fact",
            "Shalev-Shwartz 2012, Lemma 2.20",
            facts.complexity + conjugate + facts.played,
            outside,
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


def _local_norms(facts: _Facts) -> Iterator[Bound]:
    entropies = (mirrors.Entropy, mirrors.UnnormalizedEntropy)
    if not isinstance(facts.mirror, entropies) or not facts.rate.constant():
        return
    ledger = facts.certificate.ledger
    reason = facts.competitors.outside(facts.eta)
    if ledger[Entry.STEP_BROKEN] > 0.0:
        reason = f"eta z >= -1 does not hold since round {int(ledger[Entry.STEP_BROKEN])}"
    theorem = "2.22" if isinstance(facts.mirror, mirrors.Entropy) else "2.23"
    yield facts.regret(
        "exponentiated gradient, local norms",
        f"Shalev-Shwartz 2012, Theorem {theorem}",
        facts.complexity + facts.eta * float(ledger[Entry.LOCAL_SQUARES]),
        reason,
    )


def _strongly_convex(facts: _Facts) -> Iterator[Bound]:
    ledger = facts.certificate.ledger
    sigma = facts.rate.strong_convexity()
    largest = float(ledger[Entry.LARGEST_CURVED_SQUARE])
    certificate = facts.certificate
    proved = certificate.loss - certificate.regularized_floor()
    proved += certificate.slack + 8.0 * geometry.EPSILON * abs(certificate.loss)
    for name, reference, value in (
        (
            "strongly convex OGD, observed gradients",
            "Cesa-Bianchi 2024, strongly convex case, before bounding the gradients",
            float(ledger[Entry.CURVED_SQUARES]) / (2.0 * sigma),
        ),
        (
            "strongly convex OGD",
            "Cesa-Bianchi 2024, strongly convex case",
            theorems.strongly_convex_regret(math.sqrt(largest), sigma, facts.rounds),
        ),
    ):
        yield Bound(name, reference, max(value, proved), measure="penalised loss")


def _per_coordinate(facts: _Facts) -> Iterator[Bound]:
    certificate = facts.certificate
    rate = facts.rate
    assert isinstance(rate, rates.PerCoordinate) and certificate.factors is not None
    if certificate.squares is None or rate.invariant:
        return
    used = certificate.factors[certificate.factors > 0.0]
    steepest = float((1.0 / used).max(initial=0.0))
    reason = ""
    if not math.isfinite(certificate.loss_function.lipschitz()):
        reason = "the loss has no Lipschitz constant"
    elif not isinstance(facts.mirror, mirrors.Euclidean) or facts.mirror.threshold(1.0) > 0.0:
        reason = "the soft threshold adds its own regulariser"
    roots = float((certificate.squares**0.5).sum())
    yield facts.regret(
        "per-coordinate rates",
        "Duchi, Hazan, Singer 2011, Theorem 5 in dual-averaging form",
        0.5 * facts.radius * facts.radius * steepest + rate.scale * roots,
        reason,
    )


def _agile(facts: _Facts) -> Iterator[Bound]:
    domain = facts.certificate.domain
    if type(facts.mirror) is not mirrors.Euclidean or facts.rate.restarts():
        return
    if not facts.eta > 0.0:
        return
    stability = 0.5 * facts.rated_squares
    if isinstance(domain, domains.Ball):
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
        if isinstance(facts.rate, rates.InverseSqrt):
            steepest = math.sqrt(float(facts.certificate.ledger[Entry.LARGEST_SQUARE]))
            value = theorems.projected_ogd_regret(size, steepest, facts.rate.eta, facts.rounds)
            yield facts.regret("projected OGD", "Cesa-Bianchi 2024, eq. 7", value, reason)
    elif domain is None and facts.rate.constant():
        yield facts.regret(
            "OGD, observed gradients",
            "Shalev-Shwartz 2012, Theorem 2.21",
            facts.complexity + stability,
        )


def _mistakes(facts: _Facts) -> Iterator[Bound]:
    loss, mirror = type(facts.certificate.loss_function), type(facts.mirror)
    norms = (mirrors.PNorm, mirrors.Euclidean, mirrors.Ball)
    if loss in (Hinge, MulticlassHinge) and mirror in norms:
        yield from _perceptron(facts)
    elif loss is Hinge and mirror in (mirrors.Entropy, mirrors.SignedEntropy):
        yield from _simplex_winnow(facts)
    elif loss is WinnowHinge and mirror is mirrors.UnnormalizedEntropy:
        yield from _winnow(facts)


def _perceptron(facts: _Facts) -> Iterator[Bound]:
    loss: Any = facts.certificate.loss_function
    assert isinstance(loss, Hinge | MulticlassHinge)
    # Rounded up, unless the division is exact.
    scale = 1.0 / loss.margin
    scale = scale if math.frexp(scale)[0] == 0.5 else math.nextafter(scale, math.inf)
    proved = scale * facts.competitors.support()
    weighted = facts.weighted()
    yield facts.mistakes(
        "Perceptron, after the fact",
        "Shalev-Shwartz, Singer 2006, eq. 19 with the best C",
        proved,
        scale,
        proved,
        weighted,
    )
    # Outside its ball the map Ball still plays multiples of theta: the same mistakes.
    reach = facts.largest_counted_row * math.sqrt(facts.smoothness * facts.count)
    reference = "Cesa-Bianchi 2024, eq. 1; Shalev-Shwartz 2012, Theorem 3.9"
    if isinstance(loss, MulticlassHinge):
        # Two columns move in opposite directions.
        reach *= math.sqrt(2.0) * (1.0 + geometry.EPSILON)
        reference = "Cesa-Bianchi 2024, eq. 1; Crammer, Singer 2003, Ultraconservative Algorithms"
    yield facts.mistakes(
        "Perceptron",
        reference,
        scale * facts.radius * reach,
        scale,
        proved,
        weighted or facts.crooked(),
    )


def _simplex_winnow(facts: _Facts) -> Iterator[Bound]:
    loss = facts.certificate.loss_function
    assert isinstance(loss, Hinge)
    if not facts.rate.constant():
        return
    square = facts.smoothness * facts.largest_counted_row**2
    progress = theorems.progress(loss.margin, facts.eta, square)
    reason = facts.competitors.outside(facts.eta) or facts.weighted() or facts.crooked()
    if progress <= 0.0:
        reason = "eta is too large for the rows seen: the theorem is empty"
    yield facts.mistakes(
        "Winnow on the simplex or the 1-ball",
        "Shalev-Shwartz, Singer 2006, Corollary 1 with Example 2",
        facts.eta * facts.complexity / progress if not reason else math.inf,
        facts.eta / progress * (1.0 + 1e-12) if not reason else 1.0,
        facts.competitors.support() / loss.margin * (1.0 + 1e-12),
        reason,
    )


def _winnow(facts: _Facts) -> Iterator[Bound]:
    ledger = facts.certificate.ledger
    reason = facts.weighted() or facts.crooked()
    if not facts.rate.constant() or facts.eta >= 0.5:
        reason = "eta must be constant and below 1/2"
    elif ledger[Entry.FEATURE_BROKEN] > 0.0:
        reason = f"features in [0, 1] do not hold since round {int(ledger[Entry.FEATURE_BROKEN])}"
    elif facts.mirror != mirrors.UnnormalizedEntropy(1.0 / facts.dimension):
        reason = "the weights must start at 1/d"
    shrink = 1.0 - 2.0 * facts.eta
    name, value = "Winnow", facts.complexity / shrink
    domain, radius = facts.competitors.domain, facts.radius
    if domain is None and 1.0 <= radius <= facts.dimension and radius == int(radius):
        name = f"Winnow, u of {int(radius)} ones"
        value = theorems.winnow_mistakes_sharp(
            0.0, radius, facts.dimension, min(facts.eta, 0.25) if reason else facts.eta
        )
    yield facts.mistakes(
        name,
        "Shalev-Shwartz 2012, Theorem 3.10",
        value,
        (1.0 + 1e-12) / shrink,
        0.0 if name != "Winnow" else facts.proved(),
        reason,
    )

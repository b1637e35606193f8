"""The theorems: the bound of each for a run, and whether its preconditions held.

Every bound has the form  measure <= factor * (comparator's loss) + value  for all comparators of
a class, where the measure is the learner's loss or its number of mistakes. With factor 1 the
value bounds the regret. A theorem that the run contradicts by more than rounding is printed as not
applicable, with the precondition to suspect.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from noregret import mirrors
from noregret.losses import Hinge, MulticlassHinge, WinnowHinge
from noregret.mirrors.base import declares
from noregret.proof import closed_forms
from noregret.proof.competitors import Facts
from noregret.proof.convexity import undeclared
from noregret.proof.ledger import Entry
from noregret.proof.statement import ROUNDING, Measured, Statement
from noregret.rounding import CLOSED_FORM, exact, grown, rounding_error

if TYPE_CHECKING:
    from noregret.proof.certificate import Certificate


def theorem_bounds(certificate: Certificate, radius: float | None) -> list[Statement]:
    """Return the bounds for this kind of learner, for comparators of that radius.

    Without a radius the class is the learner's own domain.
    """
    factors, rate = certificate.evidence.factors, certificate.rate
    # A rate with state of its own has theorems only where its evidence states them.
    known = rate.family == "scalar" or factors is not None
    if certificate.rounds == 0 or not certificate.played or not known:
        return []
    facts = Facts(certificate, radius)
    bounds: list[Statement] = []
    if rate.strong_convexity() > 0.0:
        # The theorem is about the loss with its penalty.
        bounds += _strongly_convex(facts) if certificate.penalised else ()
    elif factors is not None:
        bounds += _per_coordinate(facts)
    elif certificate.lazy:
        bounds += _lazy(facts)
        bounds += _local_norms(facts)
    else:
        bounds += _agile(facts)
    if certificate.conservative:
        bounds += _mistakes(facts)
    return bounds


def _lazy(facts: Facts) -> Iterator[Statement]:
    unknown = not facts.smoothness > 0.0 and not undeclared(facts.mirror)
    if unknown or facts.mirror.threshold(1.0) > 0.0:
        return
    outside = facts.outside(facts.eta)
    stability = 0.5 * facts.smoothness * facts.entry(Entry.RATED_SQUARES)
    if facts.rate.restarts():
        epochs = range(facts.rounds.bit_length())
        complexity = sum(
            facts.largest_regularizer(facts.rate.at(2.0**m - 1.0, 0.0, 0.0)) for m in epochs
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
            # Without its rounding error the value of the conjugate proves nothing.
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
            if facts.entry(Entry.LIMIT_BROKEN) > 0.0:
                since = f"does not hold since round {facts.entry(Entry.LIMIT_BROKEN):.0f}"
                reason = f"||x|| <= {exact(facts.limit)} {since}"
            elif not math.isfinite(steepest):
                reason = "the loss has no Lipschitz constant"
            elif facts.entry(Entry.LARGEST_REACH) > steepest * (1.0 + 1e-12):
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
    reason = facts.outside(facts.eta)
    if facts.entry(Entry.STEP_BROKEN) > 0.0:
        reason = f"eta z >= -1 does not hold since round {facts.entry(Entry.STEP_BROKEN):.0f}"
    yield facts.regret(
        "exponentiated gradient, local norms",
        f"Shalev-Shwartz 2012, Theorem {theorem}",
        facts.complexity + facts.eta * facts.entry(Entry.LOCAL_SQUARES),
        reason,
    )


def _strongly_convex(facts: Facts) -> Iterator[Statement]:
    sigma = facts.rate.strong_convexity()
    steepest = math.sqrt(facts.entry(Entry.LARGEST_CURVED_SQUARE))
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
            facts.entry(Entry.CURVED_SQUARES) / (2.0 * sigma),
        ),
        (
            "strongly convex OGD",
            "Cesa-Bianchi 2024, strongly convex case",
            closed_forms.strongly_convex_regret(steepest, sigma, facts.rounds),
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
    value = rate.coordinate_regret(facts.radius, steepest, float((squares**0.5).sum()))
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
    if not facts.mirror.euclidean() or facts.rate.restarts() or not facts.eta > 0.0:
        return
    stability = 0.5 * facts.entry(Entry.RATED_SQUARES)
    if domain is not None and domain.is_ball():
        size = domain.extent()
        first = facts.entry(Entry.FIRST_ETA)
        reason = "" if facts.radius <= size else "the class is larger than the domain"
        value = (
            facts.radius * facts.radius / (2.0 * first)
            + 2.0 * size**2 * (1.0 / facts.eta - 1.0 / first)
            + stability
        )
        yield facts.regret(
            "projected OGD, observed gradients", "Cesa-Bianchi 2024, eq. 5-6", value, reason
        )
        if facts.rate.root_eta() > 0.0:
            steepest = math.sqrt(facts.entry(Entry.LARGEST_SQUARE))
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


def _mistakes(facts: Facts) -> Iterator[Statement]:
    """Return the bounds on the mistakes of a conservative learner, for exact losses and maps."""
    loss, mirror = type(facts.certificate.loss_function), facts.mirror
    if loss in (Hinge, MulticlassHinge) and mirror.squared_norm():
        yield from _perceptron(facts)
    elif loss is Hinge and mirror.multiplicative() and mirror.own_radius() is not None:
        yield from _simplex_winnow(facts)
    elif loss is WinnowHinge and mirror.separable() and mirror.local_norms():
        yield from _winnow(facts)


def _perceptron(facts: Facts) -> Iterator[Statement]:
    loss: Any = facts.certificate.loss_function
    # Rounded up, unless the division is exact.
    scale = 1.0 / loss.margin
    scale = scale if math.frexp(scale)[0] == 0.5 else math.nextafter(scale, math.inf)
    weighted = facts.weighted()
    yield facts.mistakes(
        "Perceptron, after the fact",
        "Shalev-Shwartz, Singer 2006, eq. 19 with the best C",
        scale * facts.support(),
        scale,
        facts.support(),
        weighted,
    )
    # The map Ball plays multiples of theta, which make the same mistakes as theta.
    longest = facts.entry(Entry.LARGEST_COUNTED_ROW)
    growth = longest * math.sqrt(facts.smoothness * facts.count)
    reference = "Cesa-Bianchi 2024, eq. 1; Shalev-Shwartz 2012, Theorem 3.9"
    if isinstance(loss, MulticlassHinge):
        # Two columns move in opposite directions.
        growth *= grown(math.sqrt(2.0), 1.0)
        reference = "Cesa-Bianchi 2024, eq. 1; Crammer, Singer 2003, Ultraconservative Algorithms"
    yield facts.mistakes(
        "Perceptron",
        reference,
        scale * facts.radius * growth,
        scale,
        facts.support(),
        weighted or facts.off_link_reason(),
    )


def _simplex_winnow(facts: Facts) -> Iterator[Statement]:
    loss: Any = facts.certificate.loss_function
    if not facts.rate.constant():
        return
    square = facts.smoothness * facts.entry(Entry.LARGEST_COUNTED_ROW) ** 2
    progress = closed_forms.progress(loss.margin, facts.eta, square)
    reason = facts.outside(facts.eta) or facts.weighted() or facts.off_link_reason()
    if progress <= 0.0:
        reason = "eta is too large for the rows seen: the theorem is empty"
    yield facts.mistakes(
        "Winnow on the simplex or the 1-ball",
        "Shalev-Shwartz, Singer 2006, Corollary 1 with Example 2",
        facts.eta * facts.complexity / progress if not reason else math.inf,
        facts.eta / progress * CLOSED_FORM if not reason else 1.0,
        facts.support(),
        reason,
    )


def _winnow(facts: Facts) -> Iterator[Statement]:
    reason = facts.weighted() or facts.off_link_reason()
    support, shrink = facts.support(), 1.0 - 2.0 * facts.eta
    if not facts.rate.constant() or not shrink > 0.0:
        # Only the reason is printed; the 1 avoids a division by 0.
        reason, shrink = "eta must be constant and below 1/2", 1.0
    elif facts.entry(Entry.FEATURE_BROKEN) > 0.0:
        broken = facts.entry(Entry.FEATURE_BROKEN)
        reason = f"features in [0, 1] do not hold since round {broken:.0f}"
    elif facts.mirror != mirrors.UnnormalizedEntropy(1.0 / facts.dimension):
        reason = "the weights must start at 1/d"
    name, value = "Winnow", facts.complexity / shrink
    domain, radius = facts.domain, facts.radius
    if domain is None and 1.0 <= radius <= facts.dimension and radius == int(radius):
        ones = int(radius)
        name = f"Winnow, u of {ones} ones"
        support = radius * facts.certificate.delta
        support += float(np.sort(-facts.certificate.gradient)[-ones:].sum())
        value = closed_forms.winnow_mistakes_sharp(
            0.0, radius, facts.dimension, min(facts.eta, 0.25) if reason else facts.eta
        )
    yield facts.mistakes(
        name,
        "Shalev-Shwartz 2012, Theorem 3.10",
        value,
        CLOSED_FORM / shrink,
        support,
        reason,
    )

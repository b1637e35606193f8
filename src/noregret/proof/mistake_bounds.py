"""The theorems about the mistakes of conservative learners, from the sums of a run."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from noregret import mirrors
from noregret.losses import Hinge, MulticlassHinge, WinnowHinge
from noregret.proof import closed_forms
from noregret.proof.ledger import Entry
from noregret.rounding.slack import CLOSED_FORM, grown

if TYPE_CHECKING:
    from noregret.proof.bounds import Facts
    from noregret.proof.statement import Statement


def mistake_bounds(facts: Facts) -> Iterator[Statement]:
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
    assert isinstance(loss, Hinge | MulticlassHinge)
    # Rounded up, unless the division is exact.
    scale = 1.0 / loss.margin
    scale = scale if math.frexp(scale)[0] == 0.5 else math.nextafter(scale, math.inf)
    weighted = facts.weighted()
    yield facts.mistakes(
        "Perceptron, after the fact",
        "Shalev-Shwartz, Singer 2006, eq. 19 with the best C",
        scale * facts.competitors.support(),
        scale,
        facts.competitors.support(),
        weighted,
    )
    # Outside its ball the map Ball still plays multiples of theta: the same mistakes.
    reach = facts.largest_counted_row * math.sqrt(facts.smoothness * facts.count)
    reference = "Cesa-Bianchi 2024, eq. 1; Shalev-Shwartz 2012, Theorem 3.9"
    if isinstance(loss, MulticlassHinge):
        # Two columns move in opposite directions.
        reach *= grown(math.sqrt(2.0), 1.0)
        reference = "Cesa-Bianchi 2024, eq. 1; Crammer, Singer 2003, Ultraconservative Algorithms"
    yield facts.mistakes(
        "Perceptron",
        reference,
        scale * facts.radius * reach,
        scale,
        facts.competitors.support(),
        weighted or facts.crooked(),
    )


def _simplex_winnow(facts: Facts) -> Iterator[Statement]:
    loss = facts.certificate.loss_function
    assert isinstance(loss, Hinge)
    if not facts.rate.constant():
        return
    square = facts.smoothness * facts.largest_counted_row**2
    progress = closed_forms.progress(loss.margin, facts.eta, square)
    reason = facts.competitors.outside(facts.eta) or facts.weighted() or facts.crooked()
    if progress <= 0.0:
        reason = "eta is too large for the rows seen: the theorem is empty"
    yield facts.mistakes(
        "Winnow on the simplex or the 1-ball",
        "Shalev-Shwartz, Singer 2006, Corollary 1 with Example 2",
        facts.eta * facts.complexity / progress if not reason else math.inf,
        facts.eta / progress * CLOSED_FORM if not reason else 1.0,
        facts.competitors.support(),
        reason,
    )


def _winnow(facts: Facts) -> Iterator[Statement]:
    ledger = facts.certificate.ledger
    reason = facts.weighted() or facts.crooked()
    support, shrink = facts.competitors.support(), 1.0 - 2.0 * facts.eta
    if not facts.rate.constant() or not shrink > 0.0:
        # What is printed then is the reason alone.
        reason, shrink = "eta must be constant and below 1/2", 1.0
    elif ledger[Entry.FEATURE_BROKEN] > 0.0:
        reason = f"features in [0, 1] do not hold since round {int(ledger[Entry.FEATURE_BROKEN])}"
    elif facts.mirror != mirrors.UnnormalizedEntropy(1.0 / facts.dimension):
        reason = "the weights must start at 1/d"
    name, value = "Winnow", facts.complexity / shrink
    domain, radius = facts.competitors.domain, facts.radius
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

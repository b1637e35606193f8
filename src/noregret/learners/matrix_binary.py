"""Convert a learner of one score into the equivalent one of two, as when classes are added."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from noregret import losses
from noregret.arrays import Vector
from noregret.losses import OneAgainstRest
from noregret.mirrors import Mirror
from noregret.passes.slots import new_slots
from noregret.proof.ledger import Entry
from noregret.rates import Rate

if TYPE_CHECKING:
    from noregret.learners.mirror_descent import MirrorDescent


#: Losses that depend on y p alone: the other class then has the same rounds with opposite sign.
_EVEN = (losses.Hinge, losses.SquaredHinge, losses.Logistic)
#: Entries of the ledger that are sums over scores; the others are maxima, counts or per row.
_SUMS = [
    *range(Entry.LOSS, Entry.COUNTED),
    Entry.MAGNITUDE,
    Entry.TRAVEL,
    Entry.SQUARES,
    Entry.RATED_SQUARES,
    Entry.LARGEST_SQUARE,
    Entry.SCALED_TRAVEL,
]
#: Columns of a record that change sign with the score: theta, and the path of `ScaleFree`.
_SIGNED = {1: [0], 4: [0, 3]}


def two_classes(
    learner: MirrorDescent,
) -> tuple[tuple[OneAgainstRest, Mirror, Rate], Vector | None, Vector, Vector]:
    """Return the parts of the equivalent learner of two classes, its state, slots and ledger."""
    parts = learner._parts
    plain = parts.mirror.euclidean() and parts.domain is None and parts.lazy
    tuned = parts.rate.columnwise()
    if type(parts.loss) not in _EVEN or not plain or not tuned or parts.conservative:
        raise ValueError(
            "from_binary takes a MirrorDescent with Hinge, SquaredHinge or Logistic, Euclidean() "
            "and Constant or ScaleFree, lazy, without a domain and not conservative"
        )
    ledger = learner._ledger.copy()
    ledger[_SUMS] *= 2.0
    ledger[Entry.LARGEST_REACH] *= math.sqrt(2.0)
    # A promise about the rows of one score does not carry over to two.
    ledger[[Entry.ROW_LIMIT, Entry.LIMIT_BROKEN]] = math.inf, 0.0
    given = OneAgainstRest(parts.loss), parts.mirror, parts.rate
    engine = learner._engine
    if engine is None:
        return given, None, new_slots(), ledger
    scaled = parts.rate.scaled()
    records = engine.state if scaled else engine.state[:, :1]
    state = np.stack([records, records], axis=1)
    state[:, 0, _SIGNED[records.shape[1]]] *= -1.0
    slots = np.stack([engine.slots, engine.slots]) if scaled else new_slots()
    return given, state, slots, ledger

"""Mix the states of several learners with the same settings: their average, row for row.

Each learner gives its state multiplied by its part of the rows learnt since the last mixing. What
they all receive back:

- theta, averaged. It is the vector in which a learner steps: minus the sum of its gradients if it
  is lazy, the weights themselves (in the dual of the map) if it is agile. Where the link is linear
  and the rate constant, the weights are averaged, too. Averages in the dual belong to every map
  (for the entropies they are geometric means of the weights) and remain within its domain.
- what a rate sums up, averaged the same way: rounds (to the nearest whole number), squared
  gradients, of each feature for `PerCoordinate`. A rate counts the rows of one shard, not of all:
  with K shards of equal length it falls as that of one learner on a K-th of the rows.
- the largest sizes of rows and features, by their maximum.

After a mixing all learners are in the same state. Gradients are never summed over learners: K
stale gradients at one point are one step that is K times too long, which diverges.

A mixed learner's own `certificate` would be false, for theta is not -Z any more: certify the
predictions that it made (`learners.foreign.Certifier`).

References: Duchi, Agarwal, Wainwright, Dual Averaging for Distributed Optimization, 2012 (theta);
McDonald, Hall, Mann, Distributed Training Strategies for the Structured Perceptron, 2010 (weights).
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from noregret.arrays import Vector
from noregret.learners.agile_engines import AgileEngine
from noregret.learners.coordinate_engine import CoordinateEngine
from noregret.learners.engines import Engine, MappedEngine
from noregret.learners.mirror_descent import MirrorDescent
from noregret.passes.descent import coordinate
from noregret.passes.slots import Slot
from noregret.proof.ledger import Entry, new_ledger

#: Entries of a learner's ledger that its rate reads, averaged and by their maximum.
_AVERAGED = (Entry.ROUNDS, Entry.SQUARES)
_LARGEST = (Entry.LARGEST_SQUARE, Entry.LARGEST_REACH)
#: Numbers beside those of the features: the entries above, and the rate inside phi.
_SCALARS = len(_AVERAGED), len(_LARGEST) + 1
#: Families of rates and domains whose state has no average that is a state of theirs.
_REFUSED = {
    "scale_free": "its multipliers, ranges of labels and directions belong to one stream",
    "coin_betting": "the average of several bettors' wealth is not the wealth of their average bet",
    "block_leader": "the rows of a block belong to one stream",
    "second_order": "the average of several matrices is not that of one stream",
    "clipped_simplex": "its weights are kept in groups that differ from learner to learner",
}


def unmixable(learner: Any) -> str:
    """Return the reason why learners like this one cannot be mixed, or ''.

    >>> import noregret as nr
    >>> parts = nr.losses.Logistic(), nr.mirrors.Euclidean()
    >>> unmixable(nr.MirrorDescent(*parts, nr.rates.Adaptive()))
    ''
    >>> unmixable(nr.MirrorDescent(*parts, nr.rates.Doubling()))
    'Doubling restarts the learner, and shards would restart at different rows'
    """
    if not isinstance(learner, MirrorDescent):
        return f"{type(learner).__name__} is not a MirrorDescent: its state has no known average"
    if learner.rounds:
        return f"it has learnt {learner.rounds:,} rounds: give one that has learnt nothing"
    if learner.blocks:
        return "its blocks hold the rows of one stream: make it without blocks"
    rate, domain = learner.rate, learner._parts.domain
    families = {type(part).__name__: part.family for part in (rate, domain) if part is not None}
    for name, family in families.items():
        if family in _REFUSED:
            return f"{name} has state of its own: {_REFUSED[family]}"
        if family not in ("scalar", "coordinate", "any"):
            return f"{name} is of the family {family!r}, whose state has no known average"
    name = type(rate).__name__
    if rate.restarts():
        return f"{name} restarts the learner, and shards would restart at different rows"
    if rate.strong_convexity() > 0.0:
        return f"{name} adds a penalty on the weights, which predictions alone do not certify"
    return ""


def require_mixable(learner: Any) -> None:
    """Refuse a learner that cannot be mixed."""
    reason = unmixable(learner)
    if reason:
        raise ValueError(f"this learner cannot be mixed: {reason}")


def mixable_copy(learner: Any, width: int) -> MirrorDescent:
    """Return a learner with the same settings and room for `width` features, or refuse it.

    It keeps no average: a mixing moves weights without a round.
    """
    require_mixable(learner)
    settings = learner._settings() | {"averaging": False, "dimension": learner._fixed}
    copy = MirrorDescent(**settings)
    copy._open(copy._fixed or width)
    return copy


def _columns(engine: Engine) -> tuple[list[int], list[int]]:
    """Return the columns of a record that are averaged, and those of which the largest counts."""
    if isinstance(engine, CoordinateEngine):
        column = coordinate.Column
        averaged, largest = (column.THETA, column.SQUARES), (column.WEIGHTED_SIZE, column.SIZE)
        return list(map(int, averaged)), list(map(int, largest))
    # The first column of every other engine is theta.
    return [0], []


def shared(learner: MirrorDescent, part: float) -> tuple[Vector, Vector]:
    """Return what the learner gives to a mixing: terms of a sum, and of a maximum.

    Args:
        learner: as `mixable_copy` made it, with the width of all others.
        part: its part of the rows since the last mixing, from 0 to 1.
    """
    engine = learner._engine
    assert engine is not None
    means, sizes = _columns(engine)
    state = engine.state[:, means]
    if isinstance(engine, AgileEngine):
        state = state * engine.slots[Slot.FACTOR]
    ledger = learner._ledger
    averaged = np.concatenate((state.T.ravel(), ledger[list(_AVERAGED)]))
    inner = -engine.slots[Slot.INNER]
    largest = np.concatenate((engine.state[:, sizes].T.ravel(), ledger[list(_LARGEST)], [inner]))
    # Without rows a state may hold anything that its map allows, but no part of the average.
    return part * averaged if part > 0.0 else np.zeros(len(averaged)), largest


def take_mixed(learner: MirrorDescent, averaged: Vector, largest: Vector) -> None:
    """Put the learner in the mixed state: sum and maximum of what all have `shared`."""
    engine = learner._engine
    assert engine is not None
    means, sizes = _columns(engine)
    width = (len(averaged) - _SCALARS[0]) // len(means)
    engine.begin(width)
    state = engine.state
    state[:, means] = averaged[: -_SCALARS[0]].reshape(len(means), width).T
    state[:, sizes] = largest[: -_SCALARS[1]].reshape(len(sizes), width).T
    ledger = new_ledger()
    ledger[list(_AVERAGED)] = averaged[-_SCALARS[0] :]
    ledger[Entry.ROUNDS] = round(ledger[Entry.ROUNDS])
    ledger[list(_LARGEST)] = largest[-_SCALARS[1] : -1]
    learner._ledger, learner._weights = ledger, None
    if isinstance(engine, CoordinateEngine):
        return
    if isinstance(engine, MappedEngine):
        # A rate inside phi never rises: begin at the lowest.
        engine.slots[Slot.INNER] = -largest[-1]
    elif isinstance(engine, AgileEngine):
        _clamp(engine)
    engine.resum()


def _clamp(engine: AgileEngine) -> None:
    """Undo the rounding of an average that leaves a box or the orthant by a last digit."""
    domain = engine.domain
    if domain.separable():
        inverse = engine.mirror.inverse
        low, high = (
            float(inverse(end)) if math.isfinite(end) else end
            for end in (domain.clamp(-math.inf), domain.clamp(math.inf))
        )
        np.clip(engine.state[:, 0], low, high, out=engine.state[:, 0])

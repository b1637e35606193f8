"""The rule of second-order rates for several scores, which share one matrix A.

The scores are s_k = <w_k, x>. A round is, with A = s U'U (see `triangle`), U w_k = v_k, and the
sizes m of its own row,

    where m_i grows from l:   A <- A + lambda (m_i^2 - l^2) e_i e_i',   A w_k as it was,
    a = U'^-1 x / sqrt(s),   s_k = <v_k, a>,   k = <a, a> / keep,
    (c, b) = bend_scores(...),   A <- keep A + c x x',   A w_k <- keep A w_k + b_k x.

One row is solved for and swept once, whatever the number of scores: O(d^2 + K d). `state[k]` holds
theta = -Z and the sizes that the certificate of score k is measured by. The first score has seen
every row, so that its sizes are those of A.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from noregret.jit import kernel
from noregret.losses import ScoreLoss
from noregret.mirrors import Mirror
from noregret.passes.descent.second_order import (
    Column,
    Measured,
    Memory,
    Scalar,
    forget,
    give_back,
    grow_prior,
    measure_sizes,
    scatter,
)
from noregret.passes.descent.triangle import (
    Room,
    Triangle,
    copy_triangle,
    reduce_row,
    rotate_target,
    sums,
    sweep,
    turn_factors,
)
from noregret.passes.frame import Rule, Vector
from noregret.passes.matrices.score_rounds import enter_scores, suffer
from noregret.passes.rounds import (
    LARGEST_GRADIENT,
    LARGEST_LOSS,
    Round,
    enter_loss,
    row_norm,
)
from noregret.passes.rows import Row, fetch_ahead, place
from noregret.passes.slots import Stop
from noregret.proof.ledger import SMALLEST_SIZE, Entry
from noregret.rates.second_order import SecondOrder

_THETA, _SIZE = (np.uint64(k) for k in Column)
_ALONG = np.uint64(Room.ALONG)


class ScoresMemory(NamedTuple):
    """Records and scalars, the triangle and its copy that grows, and buffers for one row."""

    state: Vector
    slots: Vector
    now: Triangle
    ahead: Triangle
    room: Vector
    scores: Vector
    slopes: Vector
    pulls: Vector


class Found(NamedTuple):
    """What `examine` found: the round, its loss, the row measured, and c."""

    played: Round
    value: float
    measured: Measured
    curve: float


@dataclass(frozen=True)
class SecondOrderScoresRule(Rule):
    """Predict every score by the triangle, and enter the round in it once for all scores."""

    loss: ScoreLoss
    mirror: Mirror
    rate: SecondOrder

    width = len(Column)

    def examine(
        self, row: Row, label: Any, mass: float, memory: ScoresMemory, ledger: Vector
    ) -> tuple[Found, int]:
        """Predict, and find c and what each score adds to A w."""
        loss, scores, pulls = self.loss, memory.scores, memory.pulls
        fetch_ahead(*row)
        shared = _shared(memory)
        measured = measure_sizes(shared.state, row)
        length = _score(self.rate, memory, shared, row, measured)
        norm = row_norm(self.mirror, measured.powers, measured.one_norm)
        value, stop = suffer(loss, memory, label, mass, norm)
        curve = 0.0
        if stop == Stop.DONE and mass * length < LARGEST_LOSS:
            curve = self.rate.bend_scores(loss, label, mass, scores, length, pulls)
            fits = curve * length < LARGEST_GRADIENT and curve < LARGEST_GRADIENT
            for k in range(np.uint64(scores.shape[0])):
                fits = fits and abs(pulls[k]) < LARGEST_GRADIENT
            stop = Stop.DONE if fits else Stop.OVERFLOW
        else:
            stop = Stop.OVERFLOW
        played = Round(label, mass, scores, memory.slopes, measured.one_norm, norm, 1.0)
        return Found(played, value, measured, curve), stop

    def commit(self, row: Row, memory: ScoresMemory, ledger: Vector, found: Found) -> int:
        """Enter the round in the triangle and in the ledger."""
        loss, rate, played, slots = self.loss, self.rate, found.played, memory.slots
        mass = played.mass
        if mass == 0.0:
            enter_loss(loss, ledger, played, found.value)
            return Stop.DONE
        shared, width = _shared(memory), np.uint64(memory.now.upper.shape[0])
        if found.measured.grown > np.uint64(0):
            copy_triangle(memory.ahead, memory.now, width)
        scaled, seen = step_scores(memory.state, memory.slopes, row, mass)
        slots[Scalar.SEEN] += seen
        keep = rate.keep()
        if keep < 1.0:
            forget(slots, memory.now, width, keep)
        _enter(memory, row, found, width)
        if keep < 1.0:
            give_back(rate, shared, width, keep)
        enter_scores(loss, self.mirror, ledger, played, found.value, False)
        # Upper bound on the sum over the scores: the largest ratio stands for all of them.
        size = mass * loss.slope_mass(played.slope, found.value)
        ledger[Entry.SCALED_TRAVEL] += size * scaled
        return Stop.DONE


@kernel(inline=True)
def _shared(memory):  # type: ignore[no-untyped-def]
    """Return the arrays of A, with the records of the first score, whose sizes are A's."""
    state = memory.state[0, : memory.now.upper.shape[0]]
    return Memory(state, memory.slots, memory.now, memory.ahead, memory.room)


@kernel(inline=True)
def _score(rate, memory, shared, row, measured):  # type: ignore[no-untyped-def]
    """Write the scores of a row, after the growth of its sizes; return k."""
    slots, room, scores = memory.slots, memory.room, memory.scores
    width = np.uint64(memory.now.upper.shape[0])
    outputs = np.uint64(scores.shape[0])
    # A row that is not finite is refused; in the room for work it would not vanish again.
    if not measured.one_norm < np.inf:
        for k in range(outputs):
            scores[k] = 0.0
        return 0.0
    first, square = measured.first, 0.0
    if measured.grown > np.uint64(0):
        copy_triangle(memory.now, memory.ahead, width)
        grow_prior(rate.ridge() / slots[Scalar.SCALE], shared, row, width)
        scatter(room, row)
        reduce_row(memory.ahead, room, first, width)
        for k in range(outputs):
            scores[k], square = sums(memory.ahead.target[k], room, first, width)
    else:
        scatter(room, row)
        reduce_row(memory.now, room, first, width)
        for k in range(outputs):
            scores[k], square = sums(memory.now.target[k], room, first, width)
    return square / (slots[Scalar.SCALE] * rate.keep())


@kernel(inline=True)
def step_scores(state, slopes, row, mass):  # type: ignore[no-untyped-def]
    """Move theta and the sizes of every score.

    Returns the largest sum of |x_i| / m_i, and how many features the first score had not seen.
    """
    largest, seen = 0.0, 0.0
    for k in range(np.uint64(slopes.shape[0])):
        slope, scaled = mass * slopes[k], 0.0
        for j in range(row.end - row.begin):
            i, x = place(row, j)
            size, known = abs(x), state[k, i, _SIZE]
            state[k, i, _THETA] -= slope * x
            if size > known:
                seen += 1.0 if k == 0 and known == 0.0 else 0.0
                state[k, i, _SIZE] = size
            scaled += size / max(known, size, SMALLEST_SIZE)
        largest = max(largest, scaled)
    return largest, seen


@kernel(inline=True)
def _enter(memory, row, found, width):  # type: ignore[no-untyped-def]
    """Add c x x' to A and b_k x to A w_k; a is still in the room for work."""
    scale, first = memory.slots[Scalar.SCALE], found.measured.first
    curve = found.curve / scale
    turn_factors(memory.room, first, width, curve)
    for k in range(np.uint64(memory.scores.shape[0])):
        pull = memory.pulls[k] / scale
        rotate_target(memory.now.target[k], memory.room, first, width, curve, pull)
    if curve > 0.0:
        scatter(memory.room, row)
        sweep(memory.now, memory.room, first, width)

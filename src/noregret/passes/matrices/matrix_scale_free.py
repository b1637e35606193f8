"""The rule of `rates.ScaleFree` for a matrix of weights.

The directions of each score are its own, and so are the multipliers where the loss is a sum over
the scores; where it joins them, all scores have the multipliers in common. `state` and `slots`
are class-major; state[k] and slots[k] are those of `scale_free`.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from enum import IntEnum
from typing import Any

import numpy as np

from noregret.jit import kernel, step
from noregret.losses import ScoreLoss
from noregret.passes.descent.scale_free import (
    SPEED,
    TINY,
    Scalar,
    ScaleFreeRule,
    along,
    count_row,
    move_multiplier,
    predict_row,
    scaled_travel,
    tune,
    weigh_row,
)
from noregret.passes.frame import Vector
from noregret.passes.matrices.score_rounds import Found, enter_scores, suffer
from noregret.passes.rounds import Round, enter_loss, row_norm
from noregret.passes.rows import Row, fetch_ahead
from noregret.passes.slots import Stop
from noregret.proof.ledger import Entry


class Work(IntEnum):
    """Rows of `work`: the sums over a row for each score, see `scale_free.Weighed`."""

    LAZY = 0
    AGILE = 1
    SCALED = 2
    GROWTH = 3
    STEEPEST = 4


@dataclass(frozen=True)
class ScaleFreeScoresRule(ScaleFreeRule):
    """Predict each score by S_1 q_1 + S_2 q_2; labels are classes, `real` is False."""

    loss: ScoreLoss  # type: ignore[assignment]

    def examine(
        self, row: Row, label: Any, mass: float, memory: Any, ledger: Vector
    ) -> tuple[Any, int]:
        """Predict."""
        slots, work = memory.slots, memory.work
        fetch_ahead(*row)
        powers = one_norm = 0.0
        for k in range(np.uint64(memory.state.shape[0])):
            weighed = weigh_row(
                self.real, self.loss.lipschitz(), memory.state[k], slots[k], row, mass
            )
            powers, one_norm = weighed.powers, weighed.one_norm
            work[Work.LAZY, k] = weighed.lazy
            work[Work.AGILE, k] = weighed.agile
            work[Work.SCALED, k] = weighed.scaled
            work[Work.GROWTH, k] = weighed.growth
            work[Work.STEEPEST, k] = weighed.steepest
            memory.scores[k] = along(slots[k], weighed.lazy, weighed.agile)
        norm = row_norm(self.mirror, powers, one_norm)
        value, stop = suffer(self.loss, memory, label, mass, norm)
        played = Round(label, mass, memory.scores, memory.slopes, one_norm, norm, 1.0)
        return Found(played, value, powers, 0.0), stop

    def commit(self, row: Row, memory: Any, ledger: Vector, found: Any) -> int:
        """Enter the round, step along the directions of each score and move the multipliers."""
        played = found.played
        ratio = advance(self.loss, row, memory, played.mass)
        enter(self.loss, self.mirror, ledger, found, ratio)
        return Stop.DONE


@kernel(inline=True)
def advance(loss, row, memory, mass):  # type: ignore[no-untyped-def]
    """Step along the directions of each score and move the multipliers.

    Return an upper bound of ||x / m||_1 times the weight, the largest of all scores.
    """
    slots, slopes, work = memory.slots, memory.slopes, memory.work
    lipschitz, ratio = loss.lipschitz(), 0.0
    outputs = np.uint64(memory.state.shape[0])
    for k in range(outputs):
        slots[k, Scalar.STEEPEST] = work[Work.STEEPEST, k]
    if mass == 0.0:
        return ratio
    count = np.float64(row.end - row.begin)
    for k in range(outputs):
        own, scaled, weighted = slots[k], work[Work.SCALED, k], mass * slopes[k]
        if weighted != 0.0 or work[Work.GROWTH, k] > 0.0:
            step(
                memory.state[k], row.indices, row.values, row.t, row.begin, row.end, weighted,
                TINY,
            )  # fmt: skip
        count_row(own, mass, scaled)
        ratio = max(ratio, scaled_travel(mass, scaled, count))
        if loss.separate:
            tune(lipschitz, own, weighted, work[Work.LAZY, k], work[Work.AGILE, k], 1.0)
        elif not lipschitz < np.inf:
            own[Scalar.STEEPEST] = max(own[Scalar.STEEPEST], abs(weighted))
    if not loss.separate:
        _tune_together(memory, mass)
    return ratio


@kernel(inline=True)
def enter(loss, mirror, ledger, found, ratio):  # type: ignore[no-untyped-def]
    """Enter a round in the ledger; `ratio` is that of `advance`."""
    played = found.played
    if played.mass == 0.0:
        enter_loss(loss, ledger, played, found.value)
    else:
        enter_scores(loss, mirror, ledger, played, found.value, False)
        # Upper bound on the sum over the scores: the largest ratio stands for all of them.
        ledger[Entry.SCALED_TRAVEL] += loss.slope_mass(played.slope, found.value) * ratio


@kernel(inline=True)
def _tune_together(memory, mass):  # type: ignore[no-untyped-def]
    """Move the multipliers that all scores have in common, against their gradient.

    With s_k = S_1 q_(1,k) + S_2 q_(2,k) that of S_j is sum_k g_k q_(j,k). It combines K - 1 free
    scores and is less noisy than that of one, so the speed is sqrt(K - 1) times as high.
    """
    slots, slopes, work = memory.slots, memory.slopes, memory.work
    speed = SPEED * math.sqrt(max(slots.shape[0] - 1.0, 1.0))
    lazy = agile = 0.0
    for k in range(slots.shape[0]):
        lazy += slopes[k] * work[Work.LAZY, k]
        agile += slopes[k] * work[Work.AGILE, k]
    move_multiplier(slots[0], 0, mass, lazy, 1.0, speed)
    move_multiplier(slots[0], 1, mass, agile, 1.0, speed)
    for k in range(1, slots.shape[0]):
        slots[k, Scalar.FIRST] = slots[0, Scalar.FIRST]
        slots[k, Scalar.SECOND] = slots[0, Scalar.SECOND]


@kernel
def score_row(state, slots, indices, values, scores):  # type: ignore[no-untyped-def]
    """Write the scores of one row; return False for a row that `predict_row` cannot read."""
    for k in range(np.uint64(state.shape[0])):
        scores[k] = predict_row(False, state[k], slots[k], indices, values)
        if scores[k] != scores[k]:
            return False
    return True

"""The rule of `rates.BlockLeader` for several scores: `descent.block_leader` with one block."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from noregret.jit import kernel
from noregret.losses import ScoreLoss
from noregret.mirrors import Mirror
from noregret.passes.descent.block_leader import Column, HeldRows, Scalar, counted, hold
from noregret.passes.frame import Rule, Vector
from noregret.passes.matrices.matrix_second_order import step_scores
from noregret.passes.matrices.score_rounds import enter_scores, suffer
from noregret.passes.rounds import Round, enter_loss, row_norm
from noregret.passes.rows import Row, fetch_ahead, measure_row, place
from noregret.passes.slots import Stop
from noregret.proof.ledger import Entry

_WEIGHT = np.uint64(Column.WEIGHT)


class ScoresMemory(NamedTuple):
    """Records and scalars, the rows held back, and buffers for one row."""

    state: Vector
    slots: Vector
    held: HeldRows
    scores: Vector
    slopes: Vector


class Found(NamedTuple):
    """What `examine` found: the round and its loss."""

    played: Round
    value: float


@dataclass(frozen=True)
class BlockLeaderScoresRule(Rule):
    """Predict every score by the weights of the last leader, and hold the row back."""

    loss: ScoreLoss
    mirror: Mirror

    width = len(Column)

    def examine(
        self, row: Row, label: Any, mass: float, memory: ScoresMemory, ledger: Vector
    ) -> tuple[Found, int]:
        """Predict."""
        fetch_ahead(*row)
        score(memory.state, row, memory.scores)
        powers, one_norm = measure_row(self.mirror, row)
        norm = row_norm(self.mirror, powers, one_norm)
        value, stop = suffer(self.loss, memory, label, mass, norm)
        played = Round(label, mass, memory.scores, memory.slopes, one_norm, norm, 1.0)
        return Found(played, value), stop

    def commit(self, row: Row, memory: ScoresMemory, ledger: Vector, found: Found) -> int:
        """Hold the row back and enter the round; stop where a leader is due."""
        played = found.played
        mass = played.mass
        if mass == 0.0:
            enter_loss(self.loss, ledger, played, found.value)
            return Stop.DONE
        scaled, _ = step_scores(memory.state, memory.slopes, row, mass)
        enter_scores(self.loss, self.mirror, ledger, played, found.value, False)
        # Upper bound on the sum over the scores: the largest ratio stands for all of them.
        ledger[Entry.SCALED_TRAVEL] += (
            mass * self.loss.slope_mass(played.slope, found.value) * scaled
        )
        hold(memory.held, memory.slots, row, mass)
        memory.held.y[np.uint64(memory.slots[Scalar.HELD])] = played.label
        return counted(memory)  # type: ignore[no-any-return]


@kernel(inline=True)
def score(state, row, scores):  # type: ignore[no-untyped-def]
    """Write <w_k, x> of every score."""
    for k in range(np.uint64(scores.shape[0])):
        total = 0.0
        for j in range(row.end - row.begin):
            i, x = place(row, j)
            total += state[k, i, _WEIGHT] * x
        scores[k] = total

"""The pass of `rates.ScaleFree` over some of the scores, and the ledger of all of them.

Where the loss is a sum over the scores, each score learns by itself: threads can play disjoint
ranges of scores over the same rows. What they write for each row is then entered in the ledger in
the order of the rows, so that every bit is that of one thread.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

from noregret.losses import ScoreLoss
from noregret.mirrors import Mirror
from noregret.passes.frame import Rule, Vector
from noregret.passes.matrices.matrix_scale_free import ScaleFreeScoresRule, advance, enter
from noregret.passes.matrices.score_rounds import Found, playable_scores
from noregret.passes.rounds import Round, row_norm
from noregret.passes.rows import Row
from noregret.passes.slots import Stop

#: Columns of `measures`: ||x||_1, the accumulator of the dual norm, and the ratio of `advance`.
MEASURES = 3


class ColumnsMemory(NamedTuple):
    """Records and scalars of some scores, buffers for one row, and measures of every row."""

    state: Vector
    slots: Vector
    scores: Vector
    slopes: Vector
    work: Vector
    measures: Vector


class RoundsMemory(NamedTuple):
    """Measures of every row, its scores before its step, and a buffer for their slopes."""

    state: Vector
    scores: Vector
    slopes: Vector


@dataclass(frozen=True)
class ScoreColumnsRule(ScaleFreeScoresRule):
    """Learn some of the scores; write what the ledger needs of every row to `measures`."""

    def commit(self, row: Row, memory: Any, ledger: Vector, found: Any) -> int:
        """Step along the directions of each score and move the multipliers."""
        played, measures = found.played, memory.measures[row.t]
        measures[0], measures[1] = played.one_norm, found.powers
        measures[2] = advance(self.loss, row, memory, played.mass)
        return Stop.DONE


@dataclass(frozen=True)
class ScoreLedgerRule(Rule):
    """Enter rounds whose scores are known; learn nothing."""

    loss: ScoreLoss
    mirror: Mirror

    width = MEASURES

    def examine(
        self, row: Row, label: Any, mass: float, memory: Any, ledger: Vector
    ) -> tuple[Any, int]:
        """Find the loss of the scores of the row."""
        scores, slopes, measures = memory.scores[row.t], memory.slopes, memory.state[row.t]
        norm = row_norm(self.mirror, measures[1], measures[0])
        value = self.loss.value_and_slopes(label, scores, slopes)
        fits = playable_scores(mass, value, scores, slopes, norm)
        played = Round(label, mass, scores, slopes, measures[0], norm, 1.0)
        found = Found(played, value, measures[1], 0.0)
        return found, Stop.DONE if fits else Stop.OVERFLOW

    def commit(self, row: Row, memory: Any, ledger: Vector, found: Any) -> int:
        """Enter the round."""
        enter(self.loss, self.mirror, ledger, found, memory.state[row.t, 2])
        return Stop.DONE

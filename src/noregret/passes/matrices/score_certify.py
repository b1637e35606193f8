"""The rule of `nr.certify` for several scores: enter given scores and sum the gradients."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from noregret.losses import ScoreLoss
from noregret.mirrors import Mirror
from noregret.passes.frame import Rule, Vector
from noregret.passes.matrices.score_rounds import Found, enter_scores, playable_scores
from noregret.passes.rounds import Round, row_norm
from noregret.passes.rows import Row, measure_row, place
from noregret.passes.slots import Stop
from noregret.proof.ledger import SMALLEST_SIZE, Entry


class GivenMemory(NamedTuple):
    """Z of every score, the scores given, and a buffer for the slopes of a row."""

    state: Vector
    given: Vector
    slopes: Vector


@dataclass(frozen=True)
class ScoreCertifyRule(Rule):
    """Enter one round for each row of scores s and add its gradient g (x) x to Z."""

    loss: ScoreLoss
    mirror: Mirror

    #: A record is Z_ki.
    width = 1

    def examine(
        self, row: Row, label: Any, mass: float, memory: GivenMemory, ledger: Vector
    ) -> tuple[Found, int]:
        """Take the scores that were given."""
        scores, slopes = memory.given[row.t], memory.slopes
        powers, one_norm = measure_row(self.mirror, row)
        norm = row_norm(self.mirror, powers, one_norm)
        value = self.loss.value_and_slopes(label, scores, slopes)
        fits = playable_scores(mass, value, scores, slopes, norm)
        played = Round(label, mass, scores, slopes, one_norm, norm, 1.0)
        return Found(played, value, powers, 0.0), Stop.DONE if fits else Stop.OVERFLOW

    def commit(self, row: Row, memory: GivenMemory, ledger: Vector, found: Any) -> int:
        """Enter the round and add its gradient."""
        played = found.played
        enter_scores(self.loss, self.mirror, ledger, played, found.value, False)
        for score in range(np.uint64(memory.state.shape[0])):
            slope = played.mass * memory.slopes[score]
            for k in range(row.end - row.begin):
                i, x = place(row, k)
                memory.state[score, i, 0] += slope * x
        return Stop.DONE


@dataclass(frozen=True)
class SizedScoreCertifyRule(ScoreCertifyRule):
    """The same for features measured by their sizes m_i, the largest |x_i| so far.

    Rows of weight 0 do not enter the m_i, which every score keeps.
    """

    #: A record is Z_ki and m_i.
    width = 2

    def commit(self, row: Row, memory: GivenMemory, ledger: Vector, found: Any) -> int:
        """Enter the round, add its gradient and bring the sizes up to date."""
        played, state, mass = found.played, memory.state, found.played.mass
        enter_scores(self.loss, self.mirror, ledger, played, found.value, False)
        if mass == 0.0:
            return Stop.DONE
        scaled = 0.0
        for k in range(row.end - row.begin):
            i, x = place(row, k)
            scaled += abs(x) / max(state[0, i, 1], abs(x), SMALLEST_SIZE)
        steep = mass * self.loss.slope_mass(memory.slopes, found.value)
        ledger[Entry.SCALED_TRAVEL] += steep * scaled
        for score in range(np.uint64(state.shape[0])):
            slope = mass * memory.slopes[score]
            for k in range(row.end - row.begin):
                i, x = place(row, k)
                state[score, i, 0] += slope * x
                state[score, i, 1] = max(state[score, i, 1], abs(x))
        return Stop.DONE

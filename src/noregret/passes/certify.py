"""The rule of `nr.certify`: enter given predictions in a ledger and sum the gradients."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from noregret.losses import Loss
from noregret.mirrors import Mirror
from noregret.passes.frame import Rule, Vector
from noregret.passes.rounds import Round, enter_round, playable, row_norm
from noregret.passes.rows import Row, measure_row, place
from noregret.passes.slots import Stop


class Memory(NamedTuple):
    """Z as a matrix of one column, and the predictions given."""

    state: Vector
    given: Vector


class Found(NamedTuple):
    """What `examine` found: the round."""

    played: Round


@dataclass(frozen=True)
class CertifyRule(Rule):
    """Enter one round for each prediction and add its gradient to Z."""

    loss: Loss
    mirror: Mirror

    #: A record is Z_i.
    width = 1

    def examine(
        self, row: Row, label: float, mass: float, memory: Memory, ledger: Vector
    ) -> tuple[Found, int]:
        """Take the prediction that was given."""
        p = memory.given[row.t]
        slope = self.loss.slope(label, p)
        powers, one_norm = measure_row(self.mirror, row)
        norm = row_norm(self.mirror, powers, one_norm)
        fits = playable(self.loss, label, mass, p, slope, norm)
        found = Found(Round(label, mass, p, slope, one_norm, norm, 1.0))
        return found, Stop.DONE if fits else Stop.OVERFLOW

    def commit(self, row: Row, memory: Memory, ledger: Vector, found: Found) -> int:
        """Enter the round and add its gradient."""
        played = found.played
        enter_round(self.loss, ledger, played, False)
        slope = played.mass * played.slope
        for k in range(row.end - row.begin):
            i, x = place(row, k)
            memory.state[i, 0] += slope * x
        return Stop.DONE

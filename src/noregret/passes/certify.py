"""The rules of `nr.certify`: enter given predictions in a ledger and sum the gradients."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from noregret.jit import kernel
from noregret.losses import Loss
from noregret.mirrors import Mirror
from noregret.passes.frame import Rule, Vector
from noregret.passes.rounds import Round, enter_round, playable, row_norm
from noregret.passes.rows import Row, fetch_ahead, measure_row, place
from noregret.passes.slots import Stop
from noregret.proof.ledger import SMALLEST_SIZE, Entry


class Memory(NamedTuple):
    """Z as a matrix of one column, and the predictions given."""

    state: Vector
    given: Vector


class Found(NamedTuple):
    """What `examine` found: the round."""

    played: Round


@kernel(inline=True)
def examined(loss, mirror, row, label, mass, p):  # type: ignore[no-untyped-def]
    """Return the round in which p is predicted for a row, and DONE or why it is refused."""
    slope = loss.slope(label, p)
    powers, one_norm = measure_row(mirror, row)
    norm = row_norm(mirror, powers, one_norm)
    fits = playable(loss, label, mass, p, slope, norm)
    played = Round(label, mass, p, slope, one_norm, norm, 1.0)
    return played, Stop.DONE if fits else Stop.OVERFLOW


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
        played, stop = examined(self.loss, self.mirror, row, label, mass, memory.given[row.t])
        return Found(played), stop

    def commit(self, row: Row, memory: Memory, ledger: Vector, found: Found) -> int:
        """Enter the round and add its gradient."""
        played = found.played
        enter_round(self.loss, ledger, played, False)
        slope = played.mass * played.slope
        for k in range(row.end - row.begin):
            i, x = place(row, k)
            memory.state[i, 0] += slope * x
        return Stop.DONE


class SizedFound(NamedTuple):
    """What `examine` found: the round, and sum |x_i| / m_i."""

    played: Round
    scaled: float


@kernel(fast=True, inline=True)
def _in_sizes(state, row):  # type: ignore[no-untyped-def]
    """Return sum |x_i| / m_i, the m_i those after the row."""
    scaled = 0.0
    for k in range(row.end - row.begin):
        i, x = place(row, k)
        scaled += abs(x) / max(state[i, 1], abs(x), SMALLEST_SIZE)
    return scaled


@dataclass(frozen=True)
class SizedCertifyRule(Rule):
    """The same for features measured by their sizes m_i, the largest |x_i| so far.

    Rows of weight 0 do not enter the m_i.
    """

    loss: Loss
    mirror: Mirror

    #: A record is Z_i and m_i.
    width = 2

    def examine(
        self, row: Row, label: float, mass: float, memory: Memory, ledger: Vector
    ) -> tuple[SizedFound, int]:
        """Take the prediction that was given, and measure the row."""
        fetch_ahead(*row)
        found, stop = examined(self.loss, self.mirror, row, label, mass, memory.given[row.t])
        return SizedFound(found, _in_sizes(memory.state, row)), stop

    def commit(self, row: Row, memory: Memory, ledger: Vector, found: SizedFound) -> int:
        """Enter the round, add its gradient and bring the sizes up to date."""
        played = found.played
        enter_round(self.loss, ledger, played, False)
        if played.mass == 0.0:
            return Stop.DONE
        slope = played.mass * played.slope
        ledger[Entry.SCALED_TRAVEL] += abs(slope) * found.scaled
        for k in range(row.end - row.begin):
            i, x = place(row, k)
            memory.state[i, 0] += slope * x
            memory.state[i, 1] = max(memory.state[i, 1], abs(x))
        return Stop.DONE

"""The rule of `rates.BlockLeader`: predict by the last leader, hold the row back.

A round is p = <w, x>, and then the row is written behind those held back. The pass stops after a
round that fills the block, or after which the next leader is due: the engine finds it.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum
from typing import Any, NamedTuple

import numpy as np

from noregret.jit import kernel
from noregret.losses import Loss
from noregret.mirrors import Mirror
from noregret.passes.frame import Rule, Vector
from noregret.passes.rounds import Round, enter_round, playable, row_norm
from noregret.passes.rows import Row, fetch_ahead, place
from noregret.passes.slots import Stop
from noregret.proof.ledger import SMALLEST_SIZE, Entry


class Column(IntEnum):
    """Columns of a record: theta = -Z, m = largest |x_i|, and the weight."""

    THETA = 0
    SIZE = 1
    WEIGHT = 2


class Scalar(IntEnum):
    """Places in the array of the pass's scalars."""

    #: Rows held back, rows of weight above 0 so far, and after how many the next leader is due.
    HELD = 0
    SEEN = 1
    DUE = 2


_THETA, _SIZE, _WEIGHT = (np.uint64(k) for k in Column)


class HeldRows(NamedTuple):
    """Room for the rows of a block, with a column for each feature, their labels and weights."""

    rows: Any
    y: Any
    weight: Any

    def widened(self, width: int, count: int) -> HeldRows:
        """Return `count` rows with more or fewer features; those that are new were 0."""
        rows, known = np.empty((len(self.y), width)), min(width, self.rows.shape[1])
        rows[:count, :known] = self.rows[:count, :known]
        rows[:count, known:] = 0.0
        return self._replace(rows=rows)

    def within(self, units: Vector, count: int) -> HeldRows:
        """Return `count` rows in units of the features, feature by feature."""
        rows = np.divide(self.rows[:count].T, units[:, None], order="C")
        return HeldRows(rows, self.y[:count], self.weight[:count])


class Memory(NamedTuple):
    """Records and scalars, and the rows held back."""

    state: Vector
    slots: Vector
    held: HeldRows


class Found(NamedTuple):
    """What `examine` found: the round, and the sum of |x_i| / m_i."""

    played: Round
    scaled: float


@dataclass(frozen=True)
class BlockLeaderRule(Rule):
    """Predict by the weights of the last leader, and hold the row back."""

    loss: Loss
    mirror: Mirror

    width = len(Column)

    def examine(
        self, row: Row, label: float, mass: float, memory: Memory, ledger: Vector
    ) -> tuple[Found, int]:
        """Predict."""
        fetch_ahead(*row)
        p, powers, one_norm, scaled = weigh_row(memory.state, row)
        norm = row_norm(self.mirror, powers, one_norm)
        slope = self.loss.slope(label, p)
        fits = playable(self.loss, label, mass, p, slope, norm)
        played = Round(label, mass, p, slope, one_norm, norm, 1.0)
        return Found(played, scaled), Stop.DONE if fits else Stop.OVERFLOW

    def commit(self, row: Row, memory: Memory, ledger: Vector, found: Found) -> int:
        """Hold the row back and enter the round; stop where a leader is due."""
        played = found.played
        mass = played.mass
        enter_round(self.loss, ledger, played, False)
        if mass == 0.0:
            return Stop.DONE
        weighted = mass * played.slope
        step_record(memory.state, weighted, row)
        ledger[Entry.SCALED_TRAVEL] += abs(weighted) * found.scaled
        hold(memory.held, memory.slots, row, mass)
        memory.held.y[np.uint64(memory.slots[Scalar.HELD])] = played.label
        return counted(memory)  # type: ignore[no-any-return]


@kernel(inline=True)
def weigh_row(state, row):  # type: ignore[no-untyped-def]
    """Return <w, x>, the sum of x^2, ||x||_1 and the sum of |x_i| / m_i.

    In strict order, so that zeros may be stored or left out.
    """
    raw = powers = one_norm = scaled = 0.0
    for k in range(row.end - row.begin):
        i, x = place(row, k)
        size = abs(x)
        raw += state[i, _WEIGHT] * x
        powers += x * x
        one_norm += size
        scaled += size / max(state[i, _SIZE], size, SMALLEST_SIZE)
    return raw, powers, one_norm, scaled


@kernel(inline=True)
def step_record(state, weighted, row):  # type: ignore[no-untyped-def]
    """Move theta by a weighted slope, and the sizes."""
    for k in range(row.end - row.begin):
        i, x = place(row, k)
        state[i, _THETA] -= weighted * x
        state[i, _SIZE] = max(state[i, _SIZE], abs(x))


@kernel(inline=True)
def hold(held, slots, row, mass):  # type: ignore[no-untyped-def]
    """Write a row and its weight behind those held back, which it is not counted among yet."""
    t = np.uint64(slots[Scalar.HELD])
    for i in range(np.uint64(held.rows.shape[1])):
        held.rows[t, i] = 0.0
    for k in range(row.end - row.begin):
        i, x = place(row, k)
        held.rows[t, i] = x
    held.weight[t] = mass


@kernel(inline=True)
def counted(memory):  # type: ignore[no-untyped-def]
    """Count the row just written; return LEAD if its block is full or a leader is due."""
    slots = memory.slots
    slots[Scalar.HELD] += 1.0
    slots[Scalar.SEEN] += 1.0
    full = slots[Scalar.HELD] >= memory.held.weight.shape[0]
    return Stop.LEAD if full or slots[Scalar.SEEN] >= slots[Scalar.DUE] else Stop.DONE

"""The rule of `rates.ScaleFree`: two adaptive directions a feature, two learnt multipliers.

A round is, with the sums before it but the m_i and, where the loss has a steepest slope, the c of
its own row,

    q_1 = R f sum_i x_i theta_i / (m_i sqrt(G_i + c^2 m_i^2)),   q_2 = R f sum_i x_i v_i / m_i,
    p   = centre + S_1 q_1 + S_2 q_2, within the range of the labels seen for real targets,

and after it S_j <- S_j exp(-SPEED z_j / sqrt(A_j + 1)) with z_j = g S_j q_j / unit and A_j the
sum of z_j^2, forgotten at the rate MEMORY. The unit is 1 for classes and, for real targets,
R (f'(y + R) - f'(y - R)) / 4. See `rates.ScaleFree` for the other letters.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from enum import IntEnum
from typing import NamedTuple

import numpy as np

from noregret.jit import kernel, step, weigh
from noregret.losses import Loss
from noregret.mirrors import Mirror
from noregret.passes.frame import Memory, Rule, Vector
from noregret.passes.promises import keep_promises
from noregret.passes.rounds import Round, enter_line, enter_loss, playable, row_norm
from noregret.passes.rows import Row, fetch_ahead
from noregret.passes.slots import Stop
from noregret.proof.ledger import SMALLEST_SIZE, Entry
from noregret.rows.soundness import bounded

#: Features that are summed up together.
BLOCK = 4096


class Column(IntEnum):
    """Columns of a record."""

    THETA = 0
    #: G = sum z_i^2, m = largest |x_i|, v = -sum z_i / sqrt(G_i).
    SQUARES = 1
    SIZE = 2
    PATH = 3


class Scalar(IntEnum):
    """Places in the array of the pass's scalars."""

    #: The multipliers S_1 and S_2, and the sums A_1 and A_2 of their squared gradients.
    FIRST = 0
    SECOND = 1
    FIRST_SQUARES = 2
    SECOND_SQUARES = 3
    #: Sum of the example weights, and of weight * sum_i (x_i / m_i)^2.
    MASS = 4
    LENGTHS = 5
    #: Real targets: range and mean of the labels, weighted squares of residuals, their weight.
    LOW = 6
    HIGH = 7
    CENTRE = 8
    RESIDUALS = 9
    RESIDUAL_MASS = 10
    #: c: the steepest weighted slope.
    STEEPEST = 11


#: Multipliers forget at this rate, learn at this speed and stay within these ends.
MEMORY, SPEED, LEAST, LARGEST = 0.99, 0.05, 1e-3, 1e3
STARTS = (1.0, 0.5)
#: Residuals are clipped to this multiple of their root mean square.
OUTLIER = 5.0
#: Added under roots that may be 0; also the least divisor.
TINY = 1e-280
#: A c beyond this counts as this, so that c^2 m^2 stays finite.
STEEPEST_SLOPE = 1e50
#: Upper bound on the |x| / m whose square underflows.
LOST_RATIO = 1e-160


_THETA, _SQUARES, _SIZE, _PATH = (np.uint64(k) for k in Column)


@kernel(inline=True)
def _steepest_square(steepest):  # type: ignore[no-untyped-def]
    slope = min(steepest, STEEPEST_SLOPE)
    return slope * slope


@kernel(inline=True)
def spread(real, slots):  # type: ignore[no-untyped-def]
    """Return R: the root mean square of the residuals for real targets, 1 for classes."""
    if not real:
        return 1.0
    return math.sqrt(slots[Scalar.RESIDUALS] / max(slots[Scalar.RESIDUAL_MASS], TINY))


@kernel(inline=True)
def common_factor(real, slots):  # type: ignore[no-untyped-def]
    """Return R f, the factor that all weights have in common."""
    # Where the squares of all features underflow, f is not known.
    if not slots[Scalar.LENGTHS] > TINY * slots[Scalar.MASS]:
        return 0.0
    return spread(real, slots) * math.sqrt(slots[Scalar.MASS] / slots[Scalar.LENGTHS])


@kernel(inline=True)
def predicted(real, slots, raw):  # type: ignore[no-untyped-def]
    """Return the prediction from <w, x>: for real targets centred, within the labels seen."""
    if not real:
        return raw
    return min(max(raw + slots[Scalar.CENTRE], slots[Scalar.LOW]), slots[Scalar.HIGH])


class Weighed(NamedTuple):
    """Sums over a row: q_1, q_2, sum (x_i / m_i)^2, sum x_i^2, ||x||_1, growth of the m_i and c."""

    lazy: float
    agile: float
    scaled: float
    powers: float
    one_norm: float
    growth: float
    steepest: float


@kernel(inline=True)
def weigh_row(real, lipschitz, state, slots, row, mass):  # type: ignore[no-untyped-def]
    """Return a row `Weighed`, with the c that its weight allows."""
    factor = common_factor(real, slots)
    steepest = slots[Scalar.STEEPEST]
    if lipschitz < np.inf:
        steepest = max(steepest, mass * lipschitz)
    lazy, agile, scaled, powers, one_norm, growth = weigh(
        state, row.indices, row.values, row.t, row.begin, row.end, _steepest_square(steepest),
        TINY, SMALLEST_SIZE,
    )  # fmt: skip
    return Weighed(lazy * factor, agile * factor, scaled, powers, one_norm, growth, steepest)


@kernel(inline=True)
def along(slots, lazy, agile):  # type: ignore[no-untyped-def]
    """Return S_1 q_1 + S_2 q_2."""
    return slots[Scalar.FIRST] * lazy + slots[Scalar.SECOND] * agile


@kernel(inline=True)
def count_row(slots, mass, scaled):  # type: ignore[no-untyped-def]
    """Bring the mean length of the rows up to date."""
    slots[Scalar.MASS] += mass
    slots[Scalar.LENGTHS] += mass * scaled


@kernel(inline=True)
def scaled_travel(weighted, scaled, count):  # type: ignore[no-untyped-def]
    """Return an upper bound on |g| sum_i |x_i| / m_i, from the sum of (x_i / m_i)^2."""
    return abs(weighted) * (math.sqrt(count * scaled) + count * LOST_RATIO)


@kernel(inline=True)
def tune(lipschitz, slots, weighted, lazy, agile, unit):  # type: ignore[no-untyped-def]
    """Move c where the loss has no steepest slope, and both multipliers."""
    if not lipschitz < np.inf:
        slots[Scalar.STEEPEST] = max(slots[Scalar.STEEPEST], abs(weighted))
    move_multiplier(slots, 0, weighted, lazy, unit, SPEED)
    move_multiplier(slots, 1, weighted, agile, unit, SPEED)


@kernel(inline=True)
def move_multiplier(slots, j, slope, direction, unit, speed):  # type: ignore[no-untyped-def]
    """Move S_j against its own gradient."""
    multiplier = slots[Scalar.FIRST + j]
    z = slope * multiplier * direction / unit if unit > TINY else 0.0
    z = min(max(z, -1e100), 1e100)
    squares = MEMORY * slots[Scalar.FIRST_SQUARES + j] + z * z
    slots[Scalar.FIRST_SQUARES + j] = squares
    moved = multiplier * math.exp(-speed * z / math.sqrt(squares + 1.0))
    slots[Scalar.FIRST + j] = min(max(moved, LEAST), LARGEST)


@kernel(inline=True)
def _see_label(slots, label, mass, residual, wide):  # type: ignore[no-untyped-def]
    """Bring range, mean and residuals of real targets up to date; `wide` is 5 R."""
    ahead = label - slots[Scalar.CENTRE]
    if wide > 0.0:
        ahead = min(max(ahead, -wide), wide)
    slots[Scalar.LOW] = min(slots[Scalar.LOW], label)
    slots[Scalar.HIGH] = max(slots[Scalar.HIGH], label)
    slots[Scalar.CENTRE] += mass * ahead / slots[Scalar.MASS]
    slots[Scalar.RESIDUALS] += mass * residual * residual
    slots[Scalar.RESIDUAL_MASS] += mass


class Found(NamedTuple):
    """What `examine` found; `slope` is that of the line entered, which touches at `touch`."""

    played: Round
    weighed: Weighed
    opening: bool
    scale: float
    touch: float
    slope: float


@dataclass(frozen=True)
class ScaleFreeRule(Rule):
    """Predict by S_1 q_1 + S_2 q_2; `real`: labels are real targets, not classes."""

    loss: Loss
    mirror: Mirror
    real: bool

    width = len(Column)

    def examine(
        self, row: Row, label: float, mass: float, memory: Memory, ledger: Vector
    ) -> tuple[Found, int]:
        """Predict, and choose where the line of the round touches the loss."""
        slots = memory.slots
        fetch_ahead(*row)
        weighed = weigh_row(self.real, self.loss.lipschitz(), memory.state, slots, row, mass)
        norm = row_norm(self.mirror, weighed.powers, weighed.one_norm)
        p = predicted(self.real, slots, along(slots, weighed.lazy, weighed.agile))
        slope = self.loss.slope(label, p)
        fits = playable(self.loss, label, mass, p, slope, norm)
        played = Round(label, mass, p, slope, weighed.one_norm, norm, 1.0)
        opening = self.real and slots[Scalar.MASS] == 0.0
        scale = spread(self.real, slots)
        wide = OUTLIER * scale
        touch = p
        if opening:
            # Nothing is known about the scale of the labels: the round enters with the line 0.
            slope = 0.0
        elif self.real and wide > 0.0:
            # Clip the residual to 5R; the line at the clipped point is still a lower bound.
            touch = min(max(p, label - wide), label + wide)
            if touch != p:
                slope = self.loss.slope(label, touch)
        found = Found(played, weighed, opening, scale, touch, slope)
        return found, Stop.DONE if fits else Stop.OVERFLOW

    def commit(self, row: Row, memory: Memory, ledger: Vector, found: Found) -> int:
        """Step along both directions, enter the round and move the multipliers."""
        slots, played, weighed = memory.slots, found.played, found.weighed
        label, mass, p = played.label, played.mass, played.prediction
        slots[Scalar.STEEPEST] = weighed.steepest
        weighted = mass * found.slope
        # The step comes first: the ledger is brought up to date while it is under way.
        if mass > 0.0 and (weighted != 0.0 or weighed.growth > 0.0):
            step(memory.state, row.indices, row.values, row.t, row.begin, row.end, weighted, TINY)
        value = self.loss.value(label, p)
        enter_loss(self.loss, ledger, played, value)
        if mass == 0.0:
            return Stop.DONE
        count_row(slots, mass, weighed.scaled)
        unit = 1.0
        if found.opening:
            slots[Scalar.LOW] = label
            slots[Scalar.HIGH] = label
            slots[Scalar.CENTRE] = label
            keep_promises(self.loss, ledger, label, p, value, played.slope)
        else:
            touch, scale = found.touch, found.scale
            if touch != p:
                value = self.loss.value(label, touch)
            keep_promises(self.loss, ledger, label, touch, value, found.slope)
            line = Round(label, mass, touch, found.slope, weighed.one_norm, played.norm, played.eta)
            enter_line(self.loss, ledger, line, value)
            if self.real:
                _see_label(slots, label, mass, touch - label, OUTLIER * scale)
                steps = self.loss.slope(label, label + scale) - self.loss.slope(
                    label, label - scale
                )
                unit = 0.25 * scale * steps
        count = np.float64(row.end - row.begin)
        ledger[Entry.SCALED_TRAVEL] += scaled_travel(weighted, weighed.scaled, count)
        tune(self.loss.lipschitz(), slots, weighted, weighed.lazy, weighed.agile, unit)
        return Stop.DONE


@kernel(inline=True)
def _direction(state, slots, i):  # type: ignore[no-untyped-def]
    """Return m_i w_i without the common factor."""
    size = max(state[i, _SIZE], SMALLEST_SIZE)
    square = _steepest_square(slots[Scalar.STEEPEST])
    root = math.sqrt(state[i, _SQUARES] + square * (size * size) + TINY)
    return slots[Scalar.FIRST] * state[i, _THETA] / root + slots[Scalar.SECOND] * state[i, _PATH]


@kernel
def scaled_squares(real, state, slots):  # type: ignore[no-untyped-def]
    """Return sum (Z_i / m_i)^2, sum (m_i w_i)^2 and the smallest m_i above 0, at most 1.

    Sums are made in blocks of BLOCK features, so that their roundings stay few.
    """
    factor = common_factor(real, slots)
    gradient = weights = 0.0
    smallest = 1.0
    for start in range(0, state.shape[0], BLOCK):
        part = other = 0.0
        for i in range(start, min(start + BLOCK, state.shape[0])):
            size = state[i, _SIZE]
            if size > 0.0:
                smallest = min(smallest, size)
                ratio = state[i, _THETA] / max(size, SMALLEST_SIZE)
                along = factor * _direction(state, slots, i)
                part += ratio * ratio
                other += along * along
        gradient += part
        weights += other
    return gradient, weights, smallest


@kernel(inline=True)
def _weight(state, slots, factor, i):  # type: ignore[no-untyped-def]
    size = state[i, _SIZE]
    if size == 0.0:
        return 0.0
    return factor * _direction(state, slots, i) / max(size, SMALLEST_SIZE)


@kernel
def read_weights(real, state, slots, result):  # type: ignore[no-untyped-def]
    """Write the weights, as far as they do not depend on the coming row, into `result`."""
    factor = common_factor(real, slots)
    for i in range(state.shape[0]):
        result[i] = _weight(state, slots, factor, i)


@kernel
def predict_row(real, state, slots, indices, values):  # type: ignore[no-untyped-def]
    """Return the prediction for one row, NaN if values are not bounded or features not known."""
    count = np.uint64(values.shape[0])
    known = np.uint64(state.shape[0])
    if not bounded(values, np.uint64(0), count):
        return np.nan
    factor = common_factor(real, slots)
    raw = 0.0
    for k in range(count):
        i = np.uint64(indices[k])
        if i >= known:
            return np.nan
        raw += _weight(state, slots, factor, i) * values[k]
    return predicted(real, slots, raw)

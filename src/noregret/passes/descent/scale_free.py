"""The pass that tunes itself: two adaptive directions a feature, two learnt multipliers.

Columns of `state`: theta, G = sum z_i^2, m = largest |x_i|, v = -sum z_i / sqrt(G_i). A round is,
with the sums before it but the m_i and, where the loss has a steepest slope, the c of its own row,

    q_1 = R f sum_i x_i theta_i / (m_i sqrt(G_i + c^2 m_i^2)),   q_2 = R f sum_i x_i v_i / m_i,
    p   = centre + S_1 q_1 + S_2 q_2, within the range of the labels seen for real targets,

and after it S_j <- S_j exp(-SPEED z_j / sqrt(A_j + 1)) with z_j = g S_j q_j / unit and A_j the
sum of z_j^2, forgotten at the rate MEMORY. The unit is 1 for classes and, for real targets,
R (f'(y + R) - f'(y - R)) / 4. See `rates.ScaleFree` for the other letters.
"""

from __future__ import annotations

import math
from enum import IntEnum

import numpy as np

from noregret.jit import kernel, step, weigh
from noregret.passes.checks import LARGEST_FEATURE, indices_sound_until
from noregret.passes.promises import keep_promises
from noregret.passes.rounds import enter_line, enter_loss, playable, row_norm
from noregret.passes.rows import fetch_ahead, row_span
from noregret.passes.slots import Stop
from noregret.proof.ledger import SMALLEST_SIZE, Entry
from noregret.rows.soundness import bounded

COLUMNS = 4
#: Features that are summed up together.
BLOCK = 4096


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
#: What is added under roots that may be 0, and the least that is divided by.
TINY = 1e-280
#: A c beyond this counts as this, so that c^2 m^2 stays finite.
STEEPEST_SLOPE = 1e50
#: More than what is lost of |x| / m where its square underflows.
LOST_RATIO = 1e-160

_SCALED_TRAVEL = int(Entry.SCALED_TRAVEL)
_DONE = int(Stop.DONE)
_OVERFLOW = int(Stop.OVERFLOW)
_UNSOUND = int(Stop.UNSOUND)

_FIRST, _SECOND = int(Scalar.FIRST), int(Scalar.SECOND)
_FIRST_SQUARES, _MASS, _LENGTHS = (
    int(Scalar.FIRST_SQUARES),
    int(Scalar.MASS),
    int(Scalar.LENGTHS),
)
_LOW, _HIGH, _CENTRE = int(Scalar.LOW), int(Scalar.HIGH), int(Scalar.CENTRE)
_RESIDUALS, _RESIDUAL_MASS = int(Scalar.RESIDUALS), int(Scalar.RESIDUAL_MASS)
_STEEPEST = int(Scalar.STEEPEST)

_THETA, _SQUARES, _SIZE, _PATH = (np.uint64(k) for k in range(COLUMNS))


@kernel(inline=True)
def _steepest_square(steepest):  # type: ignore[no-untyped-def]
    slope = min(steepest, STEEPEST_SLOPE)
    return slope * slope


@kernel(inline=True)
def spread(real, slots):  # type: ignore[no-untyped-def]
    """Return R: the root mean square of the residuals for real targets, 1 for classes."""
    if not real:
        return 1.0
    return math.sqrt(slots[_RESIDUALS] / max(slots[_RESIDUAL_MASS], TINY))


@kernel(inline=True)
def common_factor(real, slots):  # type: ignore[no-untyped-def]
    """Return R f, the factor that all weights have in common."""
    # Where all features are tiny, what is left of their squares is no measure.
    if not slots[_LENGTHS] > TINY * slots[_MASS]:
        return 0.0
    return spread(real, slots) * math.sqrt(slots[_MASS] / slots[_LENGTHS])


@kernel(inline=True)
def predicted(real, slots, raw):  # type: ignore[no-untyped-def]
    """Return the prediction that <w, x> stands for."""
    if not real:
        return raw
    return min(max(raw + slots[_CENTRE], slots[_LOW]), slots[_HIGH])


@kernel(inline=True)
def weigh_row(real, lipschitz, state, slots, indices, values, t, begin, end, mass):  # type: ignore[no-untyped-def]
    """Return q_1, q_2, sum (x_i / m_i)^2, sum x_i^2, ||x||_1, the growth of the m_i and c."""
    factor = common_factor(real, slots)
    steepest = slots[_STEEPEST]
    if lipschitz < np.inf:
        steepest = max(steepest, mass * lipschitz)
    lazy, agile, scaled, total, reach, growth = weigh(
        state, indices, values, t, begin, end, _steepest_square(steepest), TINY, SMALLEST_SIZE
    )
    return lazy * factor, agile * factor, scaled, total, reach, growth, steepest


@kernel(inline=True)
def along(slots, lazy, agile):  # type: ignore[no-untyped-def]
    """Return S_1 q_1 + S_2 q_2."""
    return slots[_FIRST] * lazy + slots[_SECOND] * agile


@kernel(inline=True)
def count_row(slots, mass, scaled):  # type: ignore[no-untyped-def]
    """Bring the mean length of the rows up to date."""
    slots[_MASS] += mass
    slots[_LENGTHS] += mass * scaled


@kernel(inline=True)
def scaled_travel(weighted, scaled, count):  # type: ignore[no-untyped-def]
    """Return at least |g| sum_i |x_i| / m_i, from the squares that were summed anyway."""
    return abs(weighted) * (math.sqrt(count * scaled) + count * LOST_RATIO)


@kernel(inline=True)
def tune(lipschitz, slots, weighted, lazy, agile, unit):  # type: ignore[no-untyped-def]
    """Move c where the loss has no steepest slope, and both multipliers."""
    if not lipschitz < np.inf:
        slots[_STEEPEST] = max(slots[_STEEPEST], abs(weighted))
    move_multiplier(slots, 0, weighted, lazy, unit, SPEED)
    move_multiplier(slots, 1, weighted, agile, unit, SPEED)


@kernel(inline=True)
def move_multiplier(slots, j, slope, direction, unit, speed):  # type: ignore[no-untyped-def]
    """Move S_j against its own gradient."""
    multiplier = slots[_FIRST + j]
    z = slope * multiplier * direction / unit if unit > TINY else 0.0
    z = min(max(z, -1e100), 1e100)
    squares = MEMORY * slots[_FIRST_SQUARES + j] + z * z
    slots[_FIRST_SQUARES + j] = squares
    moved = multiplier * math.exp(-speed * z / math.sqrt(squares + 1.0))
    slots[_FIRST + j] = min(max(moved, LEAST), LARGEST)


@kernel(inline=True)
def _see_label(slots, label, mass, residual, wide):  # type: ignore[no-untyped-def]
    """Bring range, mean and residuals of real targets up to date; `wide` is 5 R."""
    ahead = label - slots[_CENTRE]
    if wide > 0.0:
        ahead = min(max(ahead, -wide), wide)
    slots[_LOW] = min(slots[_LOW], label)
    slots[_HIGH] = max(slots[_HIGH], label)
    slots[_CENTRE] += mass * ahead / slots[_MASS]
    slots[_RESIDUALS] += mass * residual * residual
    slots[_RESIDUAL_MASS] += mass


@kernel
def scale_free_pass(  # type: ignore[no-untyped-def]
    loss,
    mirror,
    real,
    indptr,
    indices,
    values,
    width,
    trusted,
    y,
    weight,
    first,
    state,
    slots,
    ledger,
    predictions,
):
    """Run the pass that tunes itself; return (next row, why it stopped)."""
    assert state.shape[1] == COLUMNS
    sound = np.uint64(trusted)
    lipschitz = loss.lipschitz()
    for t in range(np.uint64(first), np.uint64(y.shape[0])):
        if t >= sound:
            sound = indices_sound_until(indptr, indices, values, width, t)
            if sound == t:
                return np.int64(t), _UNSOUND
        label, mass = y[t], weight[t]
        begin, end = row_span(indptr, values, t)
        if values.ndim == 1:
            fetch_ahead(indices, values, begin, end)
        lazy, agile, scaled, total, reach, growth, steepest = weigh_row(
            real, lipschitz, state, slots, indices, values, t, begin, end, mass
        )
        if t >= trusted and not reach <= LARGEST_FEATURE:
            return np.int64(t), _UNSOUND
        norm = row_norm(mirror, total, reach)
        p = predicted(real, slots, along(slots, lazy, agile))
        slope = loss.slope(label, p)
        if not playable(loss, label, mass, p, slope, norm):
            return np.int64(t), _OVERFLOW
        slots[_STEEPEST] = steepest
        predictions[t] = p
        opening = real and slots[_MASS] == 0.0
        scale = spread(real, slots)
        wide = OUTLIER * scale
        touch = p
        if opening:
            # Nothing is known about the scale of the labels: the round enters with the line 0.
            slope = 0.0
        elif real and wide > 0.0:
            # An outlier counts as if it had been less of one: the line touches nearer the label.
            touch = min(max(p, label - wide), label + wide)
            if touch != p:
                slope = loss.slope(label, touch)
        weighted = mass * slope
        # The step comes first: the ledger is brought up to date while it is under way.
        if mass > 0.0 and (weighted != 0.0 or growth > 0.0):
            step(state, indices, values, t, begin, end, weighted, TINY)
        value = loss.value(label, p)
        enter_loss(loss, ledger, label, mass, p, value, norm, 1.0)
        if mass == 0.0:
            continue
        count_row(slots, mass, scaled)
        unit = 1.0
        if opening:
            slots[_LOW] = label
            slots[_HIGH] = label
            slots[_CENTRE] = label
            keep_promises(loss, ledger, label, p, value, loss.slope(label, p))
        else:
            if touch != p:
                value = loss.value(label, touch)
            keep_promises(loss, ledger, label, touch, value, slope)
            enter_line(loss, ledger, label, mass, touch, value, slope, reach, norm, 1.0)
        if real and not opening:
            _see_label(slots, label, mass, touch - label, wide)
            steps = loss.slope(label, label + scale) - loss.slope(label, label - scale)
            unit = 0.25 * scale * steps
        ledger[_SCALED_TRAVEL] += scaled_travel(weighted, scaled, np.float64(end - begin))
        tune(lipschitz, slots, weighted, lazy, agile, unit)
    return y.shape[0], _DONE


@kernel(inline=True)
def _direction(state, slots, i):  # type: ignore[no-untyped-def]
    """Return m_i w_i but for the common factor."""
    size = max(state[i, _SIZE], SMALLEST_SIZE)
    square = _steepest_square(slots[_STEEPEST])
    root = math.sqrt(state[i, _SQUARES] + square * (size * size) + TINY)
    return slots[_FIRST] * state[i, _THETA] / root + slots[_SECOND] * state[i, _PATH]


@kernel
def scaled_squares(real, state, slots):  # type: ignore[no-untyped-def]
    """Return sum (Z_i / m_i)^2, sum (m_i w_i)^2 and the smallest m_i above 0, at most 1.

    Sums are made in blocks of BLOCK features, so that their roundings stay few.
    """
    factor = common_factor(real, slots)
    gradient = 0.0
    weights = 0.0
    smallest = 1.0
    for start in range(0, state.shape[0], BLOCK):
        part = 0.0
        other = 0.0
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

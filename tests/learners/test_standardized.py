"""The features that `Standardized` sees: units, offsets, outliers, other regimes."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from scipy.sparse import csr_array

import noregret as nr
from noregret.learners.standardized_fields import Scaler
from noregret.passes.checks import sound_rows
from noregret.passes.standardizing import LONGEST
from noregret.rows.examples import Rows, as_rows
from tests.learners.standardized_streams import (
    CLASSES,
    EUCLIDEAN,
    LOGISTIC,
    ROWS,
    SCALE_FREE,
    SQUARED,
    T,
    X,
    Y,
    made,
    matrix,
)


def dense(rows: Rows) -> np.ndarray:
    return np.asarray(
        csr_array((rows.values, rows.indices, rows.indptr), (len(rows), rows.width)).todense()
    )


def seen(given: Any, weight: Any = None, bound: float = 20.0, limit: float = 3.0) -> np.ndarray:
    """Return what a learner sees of rows, without a constant."""
    scaler = Scaler(bound, limit, 0, 512, math.inf)
    rows = sound_rows(as_rows(given), 0)
    scaler.widen(rows.width)
    weight = np.ones(len(rows)) if weight is None else np.asarray(weight, float)
    return dense(scaler.standardized(rows, weight, True))


def window(t: int) -> tuple[int, int]:
    """Return the rows that row t is measured by: those of the epoch before and its own."""
    before = start = 0
    length = 1
    while t >= start + length:
        before, start = start, start + length
        length = int(min(2 * length, LONGEST))
    return before, t


def measured(given: np.ndarray, bound: float = 20.0, limit: float = 3.0) -> np.ndarray:
    """Return the same from the definition: mean and deviation of a window, row by row."""
    entered, result = given.copy(), np.zeros_like(given)
    for t in range(1, len(given)):
        part = entered[slice(*window(t))]
        centre, spread = part.mean(axis=0), part.std(axis=0)
        for i in np.flatnonzero(spread > 0.0):
            distance = (given[t, i] - centre[i]) / spread[i]
            size = min(abs(distance), bound)
            result[t, i] = math.copysign(
                size if size <= limit else limit + math.log(1.0 + size - limit), distance
            )
            if abs(distance) > bound:
                entered[t, i] = centre[i] + math.copysign(bound * spread[i], distance)
    return result


@pytest.mark.parametrize(("bound", "limit"), [(20.0, 3.0), (3.0, 1.0), (1.5, 0.0)])
def test_rows_are_measured_by_the_rows_before(bound: float, limit: float) -> None:
    rng = np.random.default_rng(3)
    heavy = rng.standard_cauchy((ROWS, 3))
    found = seen(heavy, bound=bound, limit=limit)
    assert np.abs(found - measured(heavy, bound, limit)).max() < 1e-9
    assert np.abs(found).max() <= limit + math.log1p(bound - limit) + 1e-12
    assert (np.abs(found) > limit).any()


def test_large_offsets_do_not_cancel() -> None:
    offset = X[:, :3] + [1e9, -1e9, 1e6]
    # What is left of the rows once they are stored is known exactly.
    kept = offset - [1e9, -1e9, 1e6]
    assert np.abs(seen(offset) - measured(kept)).max() < 1e-6
    steps = kept * 2.0**-4 + [1e9, -1e9, 1e6]
    assert np.abs(seen(steps) - measured(steps - [1e9, -1e9, 1e6])).max() < 1e-6


def test_a_feature_that_does_not_vary_is_zero() -> None:
    constant = np.tile([0.1, 1e9 + 0.1, -3e-7, 0.0], (70, 1))
    assert not seen(constant).any()
    constant[50] += 1.0
    found = seen(constant)
    assert not found[:51].any()
    assert found[51:].all()


@pytest.mark.parametrize("loss", [LOGISTIC, SQUARED, None])
def test_units_and_offsets_are_free(loss: Any) -> None:
    y = {LOGISTIC: Y, SQUARED: T, None: CLASSES}[loss]

    def learnt(rows: np.ndarray) -> np.ndarray:
        return (matrix() if loss is None else made(loss)).learn(rows, y)

    predictions = learnt(X)
    powers = X * [2.0**30, 2.0**-40, 8.0, 0.5]
    assert learnt(powers).tobytes() == predictions.tobytes()
    moved = X * [1e3, 1e-3, 7.0, 1.0] + [1e4, -0.1, 100.0, 5.0]
    assert np.abs(learnt(moved) - predictions).max() < 1e-6
    if loss is LOGISTIC:
        # The learner within is not free of offsets itself.
        one, other = (nr.MirrorDescent(LOGISTIC, EUCLIDEAN, SCALE_FREE) for _ in range(2))
        assert np.abs(one.learn(X, y) - other.learn(moved, y)).max() > 0.1


def test_an_outlier_does_not_spoil_the_moments() -> None:
    for place, factor in ((100, 3.0), (20, 8.0)):
        spoilt = X.copy()
        spoilt[place] *= 1e6
        learner, control = made(), made()
        learner.learn(spoilt[: place + 1], Y[: place + 1])
        control.learn(X[: place + 1], Y[: place + 1])
        assert np.all(learner.moments[1] <= factor * control.moments[1])
        assert np.all(learner.moments[1] >= control.moments[1] / 2.0)
    # Among the first rows nothing tells it from the others, and it is soon forgotten.
    for place in (0, 1, 2):
        spoilt = X.copy()
        spoilt[place] += 1e6
        learner = made()
        learner.learn(spoilt, Y)
        assert np.all(learner.moments[1] < 1.5)


def test_spreads_that_begin_too_small_grow() -> None:
    rows = X[:, :3].copy()
    rows[:3] *= 1e-8
    for bound, enough in ((20.0, 30), (5.0, 60)):
        learner = made(bound=bound)
        learner.learn(rows[:enough], Y[:enough])
        assert np.all(learner.moments[1] > 0.3)


def test_what_rounding_leaves_of_a_constant_is_no_spread() -> None:
    """A feature that has not varied for two epochs has spread 0, wherever its offset is."""
    random = np.random.default_rng(5)
    rows = random.exponential(size=(150, 20)) * (random.random((150, 20)) < 0.5)
    rows[20:140] = 0.0
    offsets, units = random.uniform(-1.0, 1.0, 20), np.exp(random.uniform(-7.0, 7.0, 20))
    still, moved = seen(rows, bound=5.0), seen((rows + offsets) * units, bound=5.0)
    assert not still[63:140].any()
    assert np.abs(moved - still).max() < 1e-6


def test_another_regime_is_followed() -> None:
    rng = np.random.default_rng(3)
    scaler = Scaler(20.0, 3.0, 0, 512, math.inf)
    count = int(2 * LONGEST)
    scaler.widen(1)

    def learn(rows: np.ndarray) -> None:
        sound = sound_rows(as_rows(rows[:, None]), 0)
        scaler.standardized(sound, np.ones(len(rows)), True)

    for centre, spread in ((0.0, 1.0), (1e6, 100.0), (0.0, 1e-3)):
        learn(centre + spread * rng.normal(size=count + int(LONGEST)))
        found = scaler.read()
        assert abs(found[0][0] - centre) < 0.1 * spread
        assert abs(found[1][0] - spread) < 0.1 * spread


def test_rows_of_weight_0_do_not_move_the_moments() -> None:
    learner, control = made(), made()
    learner.learn(X[:50], Y[:50])
    control.learn(X[:50], Y[:50])
    learner.learn(1e6 * X[50:60], Y[50:60], np.zeros(10))
    for found, expected in zip(learner.moments, control.moments, strict=True):
        assert found.tobytes() == expected.tobytes()
    # Other rows count once, whatever they weigh.
    learner.learn(X[50:], Y[50:], np.full(100, 1e-3))
    control.learn(X[50:], Y[50:], np.full(100, 1e3))
    for found, expected in zip(learner.moments, control.moments, strict=True):
        assert found.tobytes() == expected.tobytes()

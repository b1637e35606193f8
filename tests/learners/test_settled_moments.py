"""Moments that are settled after the first rows: what the learner sees of rows then."""

from __future__ import annotations

import copy
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.sparse import csr_array

import noregret as nr
from noregret.arguments import ArgumentError

SQUARED, PLAIN = nr.losses.Squared(), nr.mirrors.Euclidean()
ROWS = 60
X = np.random.default_rng(0).normal(size=(ROWS, 3)) * [1e3, 1.0, 1e-3] + [0.0, 1e4, 5.0]
Y = X @ [1e-3, 1.0, 1e3] + 3.0
WEIGHT = np.where(np.arange(ROWS) % 5 == 1, 0.0, 1.0)


def made(settled: int | None = 4, **settings: Any) -> nr.Standardized:
    ridge = nr.MirrorDescent(SQUARED, PLAIN, nr.rates.Ridge(1e-6), averaging=False)
    return nr.Standardized(ridge, settled=settled, bound=50.0, limit=20.0, **settings)


def test_centres_and_spreads_are_those_of_one_epoch() -> None:
    learner = made()
    for t in range(ROWS):
        settled = t >= 7
        # Rows 3 to 6 are the epoch of four rows.
        seen = (X[t] - X[3:7].mean(axis=0)) / X[3:7].std(axis=0)
        given = learner.view.standardized(nr_rows(X[t]), np.ones(1), False)
        assert learner.view.hidden is not settled
        far = np.abs(seen)
        squashed = np.copysign(np.where(far > 20.0, 20.0 + np.log1p(far - 20.0), far), seen)
        expected = np.append(1.0, squashed) if settled else np.ones(1)
        assert given.values == pytest.approx(expected, rel=1e-9)
        learner.learn(X[t : t + 1], Y[t : t + 1])
    centre, spread = learner.moments
    assert centre == pytest.approx(X[3:7].mean(axis=0)) and spread == pytest.approx(
        X[3:7].std(axis=0)
    )
    # A linear target is met to the last digits once it is seen in units that stay.
    assert learner.predict(X) == pytest.approx(Y, rel=1e-4)


def nr_rows(row: Any) -> Any:
    from noregret.rows.examples import as_rows

    return as_rows(row[None])


def test_rows_of_weight_0_settle_nothing() -> None:
    weighed, kept = made(), made()
    weighed.learn(X, Y, WEIGHT)
    kept.learn(X[WEIGHT > 0.0], Y[WEIGHT > 0.0])
    for one, other in zip(weighed.moments, kept.moments, strict=True):
        assert np.array_equal(one, other)


@pytest.mark.parametrize("cuts", [[0, 3, 6, 9, ROWS], list(range(ROWS + 1))])
def test_cuts_files_and_sparse_rows_change_no_bit(cuts: list[int], tmp_path: Path) -> None:
    whole, parts = made(), made()
    expected, found = whole.learn(X, Y, WEIGHT), []
    for start, stop in pairwise(cuts):
        rows = slice(start, stop)
        found.append(parts.learn(csr_array(X[rows]), Y[rows], WEIGHT[rows]))
        parts.save(tmp_path / "s.nr")
        loaded = nr.load(tmp_path / "s.nr")
        assert isinstance(loaded, nr.Standardized) and "settled=4" in repr(loaded)
        parts = copy.deepcopy(loaded)
    assert np.array_equal(np.concatenate(found), expected)
    assert str(parts.certificate()) == str(whole.certificate())
    weights, offset = parts.affine()
    near = parts.moments[0] + 0.5 * parts.moments[1]
    assert parts.predict([near])[0] == pytest.approx(float(near @ weights) + offset)


def test_before_they_are_settled_weights_are_0() -> None:
    learner = made()
    learner.learn(X[:6], Y[:6])
    weights, offset = learner.affine()
    assert not weights.any() and learner.predict(X[6:8]) == pytest.approx(offset)


def test_shifts_and_units_do_not_matter() -> None:
    plain, moved = made(), made()
    expected = plain.learn(X, Y)
    found = moved.learn(X * [1e-3, 1e3, 1.0] + [1e4, -1e5, 100.0], Y)
    assert found[8:] == pytest.approx(expected[8:], rel=1e-5)


@pytest.mark.parametrize("settled", [0, 3, 6, -4, 16384, 4.0, True])
def test_epochs_have_powers_of_two_as_lengths(settled: Any) -> None:
    with pytest.raises(ArgumentError, match="a power of two of at most 8192"):
        made(settled)


def test_a_copy_whose_arrays_cannot_be_written_goes_on() -> None:
    learner, other = made(), made()
    learner.learn(X[:20], Y[:20])
    other.learn(X[:20], Y[:20])
    state = dict(vars(learner.view.scaler))
    for name in ("_table", "_counts"):
        state[name] = state[name].copy()
        state[name].flags.writeable = False
    learner.view.scaler.__setstate__(state)
    assert np.array_equal(learner.learn(X[20:], Y[20:]), other.learn(X[20:], Y[20:]))


def test_a_feature_that_did_not_vary_takes_its_first_deviation_for_the_spread() -> None:
    rows = np.zeros((20, 2))
    rows[:, 0] = np.arange(20.0)
    rows[:, 1] = 5.0
    rows[12, 1], rows[15, 1] = 2.0, 11.0
    learner = made()
    seen = []
    for t in range(20):
        given = learner.view.standardized(nr_rows(rows[t]), np.ones(1), False)
        seen.append(dict(zip(given.indices.tolist(), given.values.tolist(), strict=True)).get(2))
        # A row of weight 0 tells nothing about the spread.
        learner.learn(rows[t : t + 1], Y[t : t + 1], [0.0 if t == 10 else 1.0])
    # Row 12 is 3 below the constant: that is the spread of all rows after it.
    assert seen[:15] == [None] * 15 and seen[15] == pytest.approx(2.0)
    assert learner.moments[1][1] == 3.0
    silent = made()
    rows[10, 1] = 7.0
    silent.learn(rows[:12], Y[:12], np.where(np.arange(12) == 10, 0.0, 1.0))
    assert silent.moments[1][1] == 0.0

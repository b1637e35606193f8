"""Rows whose columns are in no order: sorted, duplicates added up, limits as for others."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.sparse import csr_array

from noregret import losses, mirrors, rates
from noregret.learners import MirrorDescent
from noregret.rows.examples import Rows, canonical


@pytest.mark.parametrize("width", [3, 64, 65, 5_000, 64 * 256, 64 * 256 + 1, 300_000, 1 << 23])
def test_unsorted_rows_are_learnt_as_sorted_ones_and_duplicates_add_up(width: int) -> None:
    rng = np.random.default_rng(7)
    chosen = [rng.choice(width, rng.integers(0, min(width, 90) + 1), False) for _ in range(30)]
    ends = np.cumsum([0, *map(len, chosen)]).astype(np.uint64)
    indices = np.concatenate(chosen).astype(np.uint32)
    for dtype in (np.float64, np.float32):
        values = rng.standard_normal(len(indices)).astype(dtype)
        # A part of the rows: arrays hold more before and after it.
        rows = Rows(ends, indices, values, width).part(4, 27)
        found = canonical(rows)
        for k in range(23):
            begin, end = int(rows.indptr[k]), int(rows.indptr[k + 1])
            order = np.argsort(indices[begin:end])
            own = slice(int(found.indptr[k]), int(found.indptr[k + 1]))
            assert found.indices[own].tolist() == indices[begin:end][order].tolist()
            assert found.values[own].tolist() == values[begin:end][order].astype(float).tolist()
    twice = Rows(
        np.array([0, 3], np.uint64),
        np.array([2, 0, 2], np.uint32),
        np.array([1.0, 2.0, 4.0]),
        width,
    )
    assert canonical(twice).indices.tolist() == [0, 2]
    assert canonical(twice).values.tolist() == [2.0, 5.0]


def test_values_that_are_sound_alone_may_have_any_sum() -> None:
    columns, values = np.array([1, 0, 2, 3]), np.full(4, 9e99)
    learnt = []
    for order in ([0, 1, 2, 3], [1, 0, 2, 3]):
        learner = MirrorDescent(losses.Hinge(), mirrors.Euclidean(), rates.ScaleFree(), dimension=4)
        learner.learn(csr_array((values, columns[order], np.array([0, 4])), (1, 4)), [1.0])
        learnt.append(learner.weights.tobytes())
    assert learnt[0] == learnt[1]


def test_a_bad_row_behind_rows_in_disorder_is_refused_with_its_number() -> None:
    rows = csr_array(
        (np.array([1.0, 2.0, np.nan, 1.0]), np.array([1, 0, 2, 3]), np.array([0, 2, 4])), (2, 4)
    )
    learner = MirrorDescent(losses.Hinge(), mirrors.Euclidean(), rates.ScaleFree(), dimension=4)
    with pytest.raises(ValueError, match="X row 1: a value is not finite"):
        learner.learn(rows, [1.0, -1.0])
    assert learner.rounds == 0

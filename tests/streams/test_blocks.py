"""Blocks of rows: what they share, and what they refuse."""

from __future__ import annotations

import numpy as np
import pytest

from noregret.streams import Block


def small_block(**changes: object) -> Block:
    fields: dict[str, object] = {
        "indptr": np.array([0, 2, 2, 3], np.uint64),
        "indices": np.array([0, 2, 1], np.uint32),
        "values": np.array([0.5, 2.0, -1.0]),
        "y": np.array([1.0, -1.0, 1.0]),
        "width": 3,
    }
    return Block(**(fields | changes))  # type: ignore[arg-type]


def test_rows_of_a_block_share_its_arrays_and_keep_its_content() -> None:
    block = small_block(weight=np.array([1.0, 2.0, 3.0]))
    part = block.rows(1, 3)
    assert (len(part), part.nonzeros, part.shape) == (2, 1, (2, 3))
    assert part.indices is block.indices
    assert part.weight is not None and part.weight.tolist() == [2.0, 3.0]
    np.testing.assert_array_equal(part.dense(), block.dense()[1:3])
    np.testing.assert_array_equal(part.rows(1, 2).dense(), block.dense()[2:3])


@pytest.mark.parametrize(("start", "stop"), [(-1, 2), (2, 1), (0, 4)])
def test_rows_outside_a_block_are_refused(start: int, stop: int) -> None:
    with pytest.raises(IndexError, match=r"of a block of 3 rows"):
        small_block().rows(start, stop)


@pytest.mark.parametrize(
    ("changes", "complaint"),
    [
        ({"indptr": np.array([0, 2, 2, 3])}, "indptr is int64, not uint64"),
        ({"indices": np.array([0, 2, 1])}, "indices are int64, not uint32"),
        ({"values": np.array([1, 2, 3])}, "values are int64, not float32 or float64"),
        ({"y": np.array([1, -1, 1])}, "y is int64, not float64"),
        ({"indptr": np.array([0, 3], np.uint64)}, r"expected \(4,\) for 3 labels"),
        ({"indptr": np.array([0, 2, 1, 3], np.uint64)}, "must not fall"),
        ({"indptr": np.array([0, 2, 2, 9], np.uint64)}, "end within the 3 nonzeros"),
        ({"values": np.array([1.0, 2.0])}, "expected one and the same length"),
        ({"weight": np.array([1.0])}, r"weight is float64 of shape \(1,\)"),
        ({"width": 2}, "width is 2 but column 2 occurs"),
    ],
)
def test_a_block_that_a_pass_could_not_read_safely_is_refused(
    changes: dict[str, object], complaint: str
) -> None:
    with pytest.raises(ValueError, match=complaint):
        small_block(**changes)

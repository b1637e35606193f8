"""Rows put in order equal rows put in order by a dictionary."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from noregret.streams.order import order_rows

ROW = st.lists(
    st.tuples(st.one_of(st.integers(0, 4), st.integers(0, 2**32 - 1)), st.integers(-8, 8)),
    max_size=120,
)


def arrays(rows, dtype):
    indptr = np.cumsum([0, *map(len, rows)]).astype(np.uint64)
    flat = [pair for row in rows for pair in row]
    indices = np.array([column for column, _ in flat], np.uint32)
    return indptr, indices, np.array([value for _, value in flat], dtype)


def merged(row):
    total: dict[int, float] = {}
    for column, value in row:
        total[column] = total.get(column, 0) + value
    return sorted(total.items())


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@given(rows=st.lists(st.one_of(ROW, ROW.map(lambda row: sorted(row))), max_size=5))
@settings(max_examples=200, deadline=None)
def test_every_row_is_sorted_and_merged(rows, dtype):
    indptr, indices, values = arrays(rows, dtype)
    order_rows(indptr, indices, values)
    assert indptr[0] == 0 and len(indptr) == len(rows) + 1
    for t, row in enumerate(rows):
        part = slice(int(indptr[t]), int(indptr[t + 1]))
        assert list(zip(indices[part], values[part], strict=True)) == merged(row)


def test_equal_columns_are_added_in_the_order_of_the_line():
    big = 1e16
    indptr, indices, values = arrays([[(3, 1), (3, big), (3, -big), (0, 1)]], np.float64)
    order_rows(indptr, indices, values)
    assert values[:2].tolist() == [1.0, (1.0 + big) - big]


def test_rows_that_begin_elsewhere_stay_there():
    indptr = np.array([2, 4, 6], np.uint64)
    indices = np.array([9, 9, 5, 5, 4, 3], np.uint32)
    values = np.arange(6.0)
    order_rows(indptr, indices, values)
    assert indptr.tolist() == [2, 3, 5]
    assert indices[:5].tolist() == [9, 9, 5, 3, 4]
    assert values[:5].tolist() == [0.0, 1.0, 5.0, 5.0, 4.0]

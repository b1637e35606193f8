"""Rows put in order equal rows put in order by a dictionary."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import noregret as nr
from noregret.streams import read
from noregret.streams.binary import write_binary
from noregret.streams.block import Block
from noregret.streams.sparse import in_order, order_rows
from tests.sizes import sized

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
@settings(max_examples=sized(50, 200))
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


def ascending(row):
    columns = [column for column, _ in row]
    return all(a < b for a, b in pairwise(columns))


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@given(
    rows=st.lists(st.one_of(ROW, ROW.map(merged), st.just([])), max_size=6),
    before=st.integers(0, 3),
)
@settings(max_examples=sized(75, 300))
def test_rows_are_in_order_when_every_row_ascends(rows, before, dtype):
    indptr, indices, values = arrays(rows, dtype)
    # What lies before and behind the rows is nobody's.
    strange = [(7, 1), (7, np.nan), (3, np.inf)]
    _, wrong, bad = arrays([strange[:before], strange], np.float32)
    indices = np.concatenate([wrong[:before], indices, wrong[before:]])
    values = np.concatenate([bad[:before], values, bad[before:]]).astype(dtype)
    indptr += np.uint64(before)
    assert in_order(indptr, indices, values) == all(map(ascending, rows))


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf, 1.1e100, -1e200])
@pytest.mark.parametrize("place", [0, 5, 40])
def test_rows_with_values_that_no_learner_takes_are_not_in_order(value, place):
    indptr, indices, values = arrays([[(k, 1.0) for k in range(41)]], np.float64)
    assert in_order(indptr, indices, values)
    values[place] = value
    assert not in_order(indptr, indices, values)


TEXTS = {
    "svm": ("1 1:0.5 7:2\n-1\n-1 2:1 3:1e99\n1\n", "1 1:1e120\n"),
    "vw": ("1 | b:2 a:3\n-1 |\n-1 |x a b c a:4\n", "1 | a:1e120\n"),
    "csv": ("label,a,b\n1,2,0\n-1,0,0\n-1,5,6\n", "1,1e120,1\n"),
    "jsonl": ('{"label": 1, "b": 2, "a": 1}\n{"label": -1}\n', '{"label": 1, "a": 1e120}\n'),
}


@pytest.mark.parametrize("format", TEXTS)
def test_what_a_stream_calls_ordered_is_what_a_learner_wants(format, tmp_path):
    good, bad = TEXTS[format]
    sound, faulty = tmp_path / f"sound.{format}", tmp_path / f"faulty.{format}"
    sound.write_text(good)
    faulty.write_text(good + bad)
    streams = {"text": read(sound, rows=2), "one": read(sound, rows=1), "all": read(sound)}
    pytest.importorskip("pyarrow")
    write_binary(read(sound), tmp_path / "compact.arrow")
    streams["compact"] = read(tmp_path / "compact.arrow", rows=2)
    learnt = {}
    for name, stream in streams.items():
        trusted, checked = (
            nr.MirrorDescent(nr.losses.Logistic(), nr.mirrors.Euclidean(), nr.rates.ScaleFree())
            for _ in range(2)
        )
        blocks = list(stream)
        for block in blocks:
            parts = (
                block,
                block.rows(0, 1),
                block.rows(1, 1),
                block.rows(len(block), len(block)),
            )
            assert all(part.ordered for part in parts)
            # Learnt before anyone asks for the arrays, which ends the trust in them.
            trusted.learn(block, block.y)
            empty = block.rows(0, 0)
            assert empty.ordered and len(trusted.learn(empty, empty.y)) == 0
        for block in blocks:
            parts = block.rows(0, 1), block.rows(1, 1), block.rows(len(block), len(block))
            for part in (block, *parts):
                assert in_order(part.indptr, part.indices, part.values)
                assert not block.ordered and not part.ordered
                used = part.indices[int(part.indptr[0]) : int(part.indptr[-1])]
                assert len(used) == 0 or used.max() < part.width
            plain = Block(block.indptr, block.indices, block.values, block.y, block.width)
            assert not plain.ordered
            checked.learn(plain, block.y)
        learnt[name] = trusted.weights
        np.testing.assert_array_equal(trusted.weights, checked.weights)
        np.testing.assert_array_equal(trusted.weights, learnt["text"])
    strange = list(read(faulty, on_error="skip"))
    for block in strange:
        ordered = block.ordered
        held = block.values[int(block.indptr[0]) : int(block.indptr[-1])]
        assert ordered == bool(np.all(np.abs(held) <= 1e100))

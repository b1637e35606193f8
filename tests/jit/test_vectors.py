"""Vector code against what it says in Python: sums over sparse rows, exponentials, roots."""

from __future__ import annotations

import math

import mpmath
import numpy as np
import pytest

from noregret import elementary
from noregret.jit import (
    axpy1,
    axpy2,
    collect,
    dot,
    dot_ahead,
    fetch,
    kernel,
    mapped_dot,
    put_back,
    step,
    weigh,
    write_step,
)

pytestmark = pytest.mark.compiled


@kernel
def add_one(array, indices, values, begin, end):
    for k in range(begin, end):
        axpy1(array, indices[k], 0.5, values[k])


@kernel
def add_two(array, indices, values, begin, end):
    for k in range(begin, end):
        axpy2(array, indices[k], 0.5, -3.0, values[k])


@kernel
def plain(array, indices, values, begin, end):
    return dot(array, indices, values, begin, end)


@kernel
def ahead(array, indices, values, begin, end):
    return dot_ahead(array, indices, values, begin, end)


@kernel
def weighed(array, indices, values, t, begin, end):
    return weigh(array, indices, values, t, begin, end, 0.3, 1e-280, 1e-140)


@kernel
def stepped(array, indices, values, t, begin, end):
    step(array, indices, values, t, begin, end, -0.7, 1e-280)


@kernel
def mapped(array, indices, values, begin, end):
    return mapped_dot(array, indices, values, begin, end)


@kernel
def there_and_back(array, indices, values, t, begin, end, work):
    collect(array, indices, values, t, begin, end, work)
    write_step(array, indices, values, t, begin, end, work, 0.7, 1.5)


@kernel
def changed_and_back(array, indices, values, t, begin, end, work):
    collect(array, indices, values, t, begin, end, work)
    for row in range(4):
        for k in range(end - begin):
            work[row, k] += 1.0
    put_back(array, indices, values, t, begin, end, work)


@kernel
def exponentials(x, result):
    for k in range(x.shape[0]):
        result[k] = elementary.exp(x[k])


@kernel
def logarithms(x, result):
    for k in range(x.shape[0]):
        result[k] = elementary.log1p_unit(x[k])


@kernel
def roots(x, result):
    for k in range(x.shape[0]):
        result[k] = elementary.sqrt(x[k])


@pytest.fixture(params=[np.float32, np.float64])
def row(request):
    rng = np.random.default_rng(5)
    indices = rng.permutation(40)[:20].astype(np.uint32)
    return rng, indices, rng.standard_normal(20).astype(request.param)


@pytest.mark.parametrize("length", [0, 1, 3, 4, 5, 8, 15])
@pytest.mark.parametrize(("kernel_", "columns"), [(plain, 1), (plain, 2), (mapped, 2), (mapped, 4)])
def test_sums_over_a_row(row, length, kernel_, columns) -> None:
    rng, indices, values = row
    array = rng.standard_normal((40, columns))
    begin, end = np.uint64(3), np.uint64(3 + length)
    found = kernel_(array, indices, values, begin, end)
    expected = kernel_.py_func(array, indices, values, begin, end)
    assert found == pytest.approx(expected, rel=1e-14, abs=1e-14)


def test_records_asked_for_in_advance_change_no_bit() -> None:
    rng = np.random.default_rng(6)
    indices = rng.integers(0, 40, 300).astype(np.uint32)
    # A hint may be asked of a record that does not exist.
    indices[250:] = 2**32 - 1
    values, array = rng.standard_normal(300), rng.standard_normal((40, 1))
    for begin, end in ((0, 0), (0, 3), (1, 90), (7, 250), (200, 250)):
        span = np.uint64(begin), np.uint64(end)
        assert ahead(array, indices, values, *span) == plain(array, indices, values, *span)
    short = indices[:3], values[:3], np.uint64(0), np.uint64(3)
    assert ahead(array, *short) == plain(array, *short)
    assert ahead(array, *short) == pytest.approx(ahead.py_func(array, *short), rel=1e-14)


@pytest.mark.parametrize("length", [0, 1, 2, 3, 4, 5, 8, 15])
@pytest.mark.parametrize("dense", [False, True])
def test_adaptive_records(row, length, dense) -> None:
    rng, indices, values = row
    array = np.abs(rng.standard_normal((40, 4)))
    array[:, ::3] -= 1.0
    # Never seen, seen smaller, a feature of 0.
    array[indices[3]], array[indices[4], 2], values[5] = 0.0, 1e-9, 0.0
    if dense:
        values = np.stack([np.full(20, np.nan, values.dtype), values])
    place = np.uint64(1), np.uint64(0 if dense else 3), np.uint64(length if dense else 3 + length)
    touched = np.arange(length) if dense else indices[3 : 3 + length]
    before = array.copy()
    found = weighed(array, indices, values, *place)
    expected = weighed.py_func(array, indices, values, *place)
    assert found == pytest.approx(expected, rel=1e-13, abs=1e-14)
    assert np.array_equal(array, before)
    stepped(array, indices, values, *place)
    moved = before.copy()
    stepped.py_func(moved, indices, values, *place)
    assert array == pytest.approx(moved, rel=1e-14, abs=1e-15)
    untouched = np.setdiff1d(np.arange(40), touched)
    assert np.array_equal(array[untouched], before[untouched])
    assert length == 0 or not np.array_equal(array, before)


@pytest.mark.parametrize(("kernel_", "columns"), [(add_one, 1), (add_two, 2)])
def test_a_step_in_all_columns(row, kernel_, columns) -> None:
    rng, indices, values = row
    array = rng.standard_normal((40, columns))
    before = array.copy()
    expected = array.copy()
    kernel_(array, indices, values, np.uint64(2), np.uint64(9))
    kernel_.py_func(expected, indices, values, np.uint64(2), np.uint64(9))
    assert array == pytest.approx(expected, rel=1e-15)
    untouched = np.setdiff1d(np.arange(40), indices[2:9])
    assert np.array_equal(array[untouched], before[untouched])


def test_one_column_moves_as_the_first_of_two(row) -> None:
    rng, indices, values = row
    pairs = rng.standard_normal((40, 2))
    single = pairs[:, :1].copy()
    add_two(pairs, indices, values, np.uint64(0), np.uint64(20))
    add_one(single, indices, values, np.uint64(0), np.uint64(20))
    assert single[:, 0].tobytes() == pairs[:, 0].tobytes()


@pytest.mark.parametrize("length", [1, 3, 4, 7, 13])
@pytest.mark.parametrize("columns", [4, 6])
@pytest.mark.parametrize("dense", [False, True])
def test_records_there_and_back(row, length, columns, dense) -> None:
    rng, indices, values = row
    array = rng.standard_normal((40, columns))
    before, expected = array.copy(), array.copy()
    work, expected_work = np.full((2, 6, 16), 9.0)
    if dense:
        values = np.stack([np.full(20, np.nan, values.dtype), values])
    place = np.uint64(1), np.uint64(2), np.uint64(2 + length)
    touched = np.arange(2, 2 + length) if dense else indices[2 : 2 + length]
    there_and_back(array, indices, values, *place, work)
    there_and_back.py_func(expected, indices, values, *place, expected_work)
    assert np.array_equal(array, expected)
    assert np.array_equal(work, expected_work)
    filled = -(-length // 4) * 4
    assert np.all(work[4, length:filled] == 0.0)
    assert np.all(work[:5, filled:] == 9.0) and np.all(work[5] == 9.0)
    untouched = np.setdiff1d(np.arange(40), touched)
    assert np.array_equal(array[untouched], before[untouched])
    assert np.all(array[touched, 0] != before[touched, 0])
    assert np.array_equal(array[:, 4:], before[:, 4:])


@pytest.mark.parametrize("length", [1, 3, 4, 7, 13])
@pytest.mark.parametrize("columns", [4, 5])
@pytest.mark.parametrize("dense", [False, True])
def test_records_changed_and_put_back(row, length, columns, dense) -> None:
    rng, indices, values = row
    array = rng.standard_normal((40, columns))
    if dense:
        values = np.stack([np.full(20, np.nan, values.dtype), values])
    place = np.uint64(1), np.uint64(2), np.uint64(2 + length)
    touched = np.arange(2, 2 + length) if dense else indices[2 : 2 + length]
    expected, interpreted = array.copy(), array.copy()
    expected[touched, :4] += 1.0
    changed_and_back(array, indices, values, *place, np.zeros((6, 16)))
    changed_and_back.py_func(interpreted, indices, values, *place, np.zeros((6, 16)))
    assert np.array_equal(array, expected) and np.array_equal(interpreted, expected)


def test_exponentials_are_right_to_the_last_places() -> None:
    x = np.concatenate([np.linspace(-708.0, 709.7, 100_001), np.linspace(-1.0, 1.0, 10_001)])
    result = np.empty_like(x)
    exponentials(x, result)
    expected = np.array([math.exp(value) for value in x])
    assert np.max(np.abs(result - expected) / np.spacing(expected)) <= 2.0


def test_exponentials_at_the_ends() -> None:
    x = np.array([0.0, -0.0, -709.0, -np.inf, 709.9, np.inf, np.nan])
    result = np.empty_like(x)
    exponentials(x, result)
    assert result[:6].tolist() == [1.0, 1.0, 0.0, 0.0, math.inf, math.inf]
    assert math.isnan(result[6])


def test_roots() -> None:
    x = np.random.default_rng(0).exponential(size=1000)
    result = np.empty_like(x)
    roots(x, result)
    assert np.array_equal(result, np.sqrt(x))


def test_logarithm_of_one_plus_a_fraction_to_one_unit_in_the_last_place() -> None:
    rng = np.random.default_rng(8)
    edges = [0.0, 5e-324, 1e-300, math.sqrt(2.0) - 1.0, 0.5, 1.0]
    x = np.concatenate([rng.random(3000), 10.0 ** rng.uniform(-320.0, 0.0, 1000), edges])
    found = np.empty_like(x)
    logarithms(x, found)
    with mpmath.workprec(120):
        for given, result in zip(x.tolist(), found.tolist(), strict=True):
            exact = mpmath.log1p(mpmath.mpf(given))
            assert abs(mpmath.mpf(result) - exact) <= math.ulp(float(exact))


def test_memory_may_be_asked_for_beyond_the_end() -> None:
    """A hint reads nothing: it may point past an array, into no one's memory."""
    array = np.zeros(4, np.float32)

    @kernel
    def ask(array):
        for k in range(np.uint64(0), np.uint64(1 << 40), np.uint64(1 << 30)):
            fetch(array, k)
        return array[0]

    assert ask(array) == ask.py_func(array) == 0.0

"""Sums over shards: the plain sum along a fixed tree, the same bits for any number of workers."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from noregret.workers import (
    Entries,
    Host,
    Threads,
    middle,
    packed,
    plain_sum,
    shares,
    sum_and_largest,
    twofold_sum,
    whole,
)

COUNTS = [1, 2, 3, 5, 8, 13]


class Holder:
    """A shard that returns what it was given."""

    def __init__(self, number: int, vector: Any) -> None:
        self.number, self.vector = number, vector

    def told(self) -> tuple[Any, int]:
        return self.vector, self.number

    def name(self, prefix: str) -> str:
        return f"{prefix}{self.number}"

    def failed(self) -> None:
        raise ValueError(f"shard {self.number}")


def sums(vectors: list[Any], join: str = "plain", most: int = 6) -> list[Any]:
    """Return the sum for every number of workers."""
    holders = [Holder(k, vector) for k, vector in enumerate(vectors)]
    found = []
    for workers in range(1, most):
        total, rest = Threads(holders, workers).add("told", join=join)
        assert rest == list(range(len(vectors)))
        found.append(total)
    return found


@pytest.mark.parametrize("count", COUNTS)
def test_the_sum_is_the_plain_one_and_the_same_for_any_workers(count: int) -> None:
    random = np.random.default_rng(count)
    # Whole numbers are added without rounding: in any order the sum is this one.
    whole_numbers = [random.integers(-99, 99, 7).astype(float) for _ in range(count)]
    for found in sums(whole_numbers):
        np.testing.assert_array_equal(found, np.sum(whole_numbers, axis=0))
    wild = [random.normal(size=7) * 10.0 ** random.integers(-9, 9) for _ in range(count)]
    first, *others = sums(wild)
    np.testing.assert_allclose(first, np.sum(wild, axis=0), rtol=1e-9, atol=1e-6)
    assert all(first.tobytes() == other.tobytes() for other in others)


@pytest.mark.parametrize("count", COUNTS)
def test_sparse_sums_are_dense_ones_to_the_last_bit(count: int) -> None:
    random = np.random.default_rng(count)
    for width, density in ((40, 0.02), (40, 0.2), (40, 0.7), (3, 0.5)):
        dense = [random.normal(size=width) * (random.random(width) < density) for _ in range(count)]
        mixed = [packed(vector) for vector in dense]
        for plain, sparse in zip(sums(dense), sums(mixed), strict=True):
            np.testing.assert_array_equal(whole(sparse), plain)


def test_vectors_are_sent_sparse_only_where_that_is_shorter() -> None:
    few, many = np.zeros(10), np.ones(10)
    few[3] = 2.0
    entries = packed(few)
    assert isinstance(entries, Entries) and entries.columns.dtype == np.uint32
    np.testing.assert_array_equal(whole(entries), few)
    assert packed(many) is many
    other = np.zeros(10)
    other[[0, 1, 2, 4]] = 1.0
    # Together they have more entries than are worth it.
    total = plain_sum(entries, packed(other))
    assert isinstance(total, np.ndarray)
    np.testing.assert_array_equal(total, few + other)
    np.testing.assert_array_equal(plain_sum(many, entries), plain_sum(entries, many))
    np.testing.assert_array_equal(many, np.ones(10))


@pytest.mark.parametrize("count", COUNTS)
def test_twofold_sums_lose_nothing(count: int) -> None:
    """The number and its low-order part together are the sum of all, exactly."""
    random = np.random.default_rng(count)
    # 2^53 and small whole numbers: every loss is a whole number, and their sum is not rounded.
    high = random.choice([2.0**53, -(2.0**53), 2.0**60], (count, 5))
    vectors = [
        np.stack((one + random.integers(0, 9, 5), random.integers(0, 9, 5)), axis=-1)
        for one in high
    ]
    exact = [
        sum((Fraction(float(v[j, 0])) + Fraction(float(v[j, 1])) for v in vectors), Fraction(0))
        for j in range(5)
    ]
    first, *others = sums(vectors, "twofold")
    for j in range(5):
        assert Fraction(float(first[j, 0])) + Fraction(float(first[j, 1])) == exact[j]
    assert all(first.tobytes() == other.tobytes() for other in others)
    if count > 1:
        # The same numbers in one double each lose some of it.
        assert [Fraction(float(x)) for x in first[:, 0]] != exact


def test_twofold_sums_of_any_numbers_keep_twice_the_digits() -> None:
    random = np.random.default_rng(1)
    vectors = [
        np.stack((random.normal(size=4) * 10.0 ** random.integers(-12, 12), np.zeros(4)), axis=-1)
        for _ in range(30)
    ]
    total = vectors[0]
    for one in vectors[1:]:
        total = twofold_sum(total, one)
    for j in range(4):
        terms = [Fraction(float(v[j, 0])) for v in vectors]
        size = sum(map(abs, terms), Fraction(0))
        found = Fraction(float(total[j, 0])) + Fraction(float(total[j, 1]))
        assert abs(found - sum(terms, Fraction(0))) <= size * Fraction(2) ** -90


def test_a_sum_beside_a_maximum() -> None:
    a, b = (
        (np.array([1.0, 2.0]), np.array([5.0, 0.0])),
        (np.array([3.0, -2.0]), np.array([4.0, 1.0])),
    )
    total, largest = sum_and_largest(a, b)
    assert total.tolist() == [4.0, 0.0] and largest.tolist() == [5.0, 1.0]
    found = sums([a, b, a], "sum_and_largest")
    assert all(one[0].tolist() == [5.0, 2.0] and one[1].tolist() == [5.0, 1.0] for one in found)


@pytest.mark.parametrize("count", range(1, 20))
def test_a_host_adds_whole_subtrees_and_nothing_else(count: int) -> None:
    def nodes(low: int, high: int) -> set[tuple[int, int]]:
        if high - low == 1:
            return {(low, high)}
        cut = middle(low, high)
        assert low < cut < high
        return {(low, high)} | nodes(low, cut) | nodes(cut, high)

    tree = nodes(0, count)
    for workers in range(1, count + 3):
        pieces = shares(count, workers)
        assert len(pieces) == min(workers, count)
        for begin, end in pieces:
            holders = [Holder(k, np.array([2.0**k])) for k in range(begin, end)]
            found, rest = Host(holders, begin, count).add("plain", "told")
            assert rest == list(range(begin, end))
            assert all(node in tree for node, _ in found)
            # Whole subtrees: no two of them have a parent that lies here too.
            held = {node for node in tree if begin <= node[0] and node[1] <= end}
            assert {node for node, _ in found} == {
                a for a in held if not any(b != a and b[0] <= a[0] and a[1] <= b[1] for b in held)
            }
            covered = [k for (low, high), _ in found for k in range(low, high)]
            assert covered == list(range(begin, end))
            for (low, high), vector in found:
                assert vector[0] == sum(2.0**k for k in range(low, high))


def test_calls_come_back_in_the_order_of_the_shards() -> None:
    holders = [Holder(k, None) for k in range(7)]
    for workers in (1, 2, 5, 9):
        threads = Threads(holders, workers)
        assert threads.count == 7
        assert threads.call("name", "s") == [f"s{k}" for k in range(7)]
        with pytest.raises(ValueError, match="shard 0"):
            threads.call("failed")


def test_sums_can_be_written_to() -> None:
    """Arrays of a message are read-only; kernels would be compiled anew for them."""
    vector = np.ones(3)
    vector.flags.writeable = False
    (total,) = sums([vector], most=2)
    assert total.flags.writeable
    total += 1.0
    assert vector.tolist() == [1.0, 1.0, 1.0]

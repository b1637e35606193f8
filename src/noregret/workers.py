"""Shards at workers: threads of this process here, processes of a cluster elsewhere.

Each of W workers hosts a run of neighbouring shards. A call goes to all shards; what they return
comes back in their order, and vectors are added along a fixed binary tree over the shards. A worker
adds up the whole subtrees that it hosts, so that it sends few vectors, and every result depends on
the number of shards, never on that of workers.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

from noregret.rounding import two_sum
from noregret.shards import Shards

Vector = npt.NDArray[np.float64]
#: Begin and end of the shards whose vectors were added.
Node: TypeAlias = tuple[int, int]
#: A vector with more entries than this part of its width is sent whole.
SPARSE = 0.4


class Entries(NamedTuple):
    """A sparse vector: its columns in ascending order, their values, and how long it is."""

    columns: npt.NDArray[np.uint32]
    values: Vector
    width: int

    def dense(self) -> Vector:
        """Return the vector as an array."""
        found = np.zeros(self.width)
        found[self.columns] = self.values
        return found


def packed(vector: Vector) -> Any:
    """Return a vector as `Entries` if few of its numbers differ from 0, else as it is.

    >>> packed(np.array([0.0, 0.0, 0.0, 2.0])).columns.tolist()
    [3]
    """
    columns = np.flatnonzero(vector)
    if len(columns) > SPARSE * len(vector):
        return vector
    return Entries(columns.astype(np.uint32), vector[columns], len(vector))


def whole(vector: Any) -> Vector:
    """Return a vector as an array, sparse or not."""
    return vector.dense() if isinstance(vector, Entries) else np.asarray(vector)


def plain_sum(a: Any, b: Any) -> Any:
    """Return a + b, sparse if both are and the sum is."""
    if isinstance(a, Entries) and isinstance(b, Entries):
        columns = np.union1d(a.columns, b.columns)
        values = np.zeros(len(columns))
        values[np.searchsorted(columns, a.columns)] = a.values
        values[np.searchsorted(columns, b.columns)] += b.values
        added = Entries(columns, values, a.width)
        return added.dense() if len(columns) > SPARSE * a.width else added
    if isinstance(a, Entries):
        a, b = b, a
    if isinstance(b, Entries):
        found = np.array(a)
        found[b.columns] += b.values
        return found
    return a + b


def twofold_sum(a: Vector, b: Vector) -> Vector:
    """Return the sum of two arrays of (number, low-order part), with what rounding loses."""
    total, lost = two_sum(a[..., 0], b[..., 0])  # type: ignore[arg-type]
    return np.stack((total, (a[..., 1] + b[..., 1]) + lost), axis=-1)


def sum_and_largest(a: tuple[Any, Vector], b: tuple[Any, Vector]) -> tuple[Any, Vector]:
    """Return the sum of the first vectors and the coordinate-wise maximum of the second ones."""
    return plain_sum(a[0], b[0]), np.maximum(a[1], b[1])


#: How vectors are added, by name: a name can be sent to another process.
SUMS: dict[str, Callable[[Any, Any], Any]] = {
    "plain": plain_sum,
    "twofold": twofold_sum,
    "largest": np.maximum,
    "sum_and_largest": sum_and_largest,
}


def middle(begin: int, end: int) -> int:
    """Return where a node of the tree is cut: after the largest power of 2 below its size.

    >>> [middle(0, 8), middle(0, 5), middle(4, 7)]
    [4, 4, 6]
    """
    return begin + (1 << (end - begin - 1).bit_length() - 1)


class Host:
    """The shards first to first + len(shards) - 1 of `count`, where they live.

    A shard is any object; its methods are called by name.
    """

    def __init__(self, shards: Sequence[Any], first: int = 0, count: int | None = None) -> None:
        self.shards, self.first = list(shards), first
        self.count = len(self.shards) if count is None else count

    def call(self, method: str, *arguments: Any) -> list[Any]:
        """Return what the method of each shard returns, in their order."""
        return [getattr(shard, method)(*arguments) for shard in self.shards]

    def add(self, join: str, method: str, *arguments: Any) -> tuple[list[Any], list[Any]]:
        """Return sums over whole subtrees, as (node, vector), and what else each shard returns.

        The method returns a vector and something small.
        """
        rest: list[Any] = []
        begin, end = self.first, self.first + len(self.shards)

        def summed(low: int, high: int) -> Any:
            if high - low == 1:
                vector, other = getattr(self.shards[low - self.first], method)(*arguments)
                rest.append(other)
                return vector
            cut = middle(low, high)
            left = summed(low, cut)
            return SUMS[join](left, summed(cut, high))

        def nodes(low: int, high: int) -> list[Any]:
            if high <= begin or end <= low:
                return []
            if begin <= low and high <= end:
                return [((low, high), summed(low, high))]
            cut = middle(low, high)
            return nodes(low, cut) + nodes(cut, high)

        return nodes(0, self.count), rest


@dataclass
class Traffic:
    """Calls so far, sums of vectors among them, bytes sent in both directions, and seconds.

    `work` is the time of the slowest worker, `wait` that of waiting beside it.
    """

    calls: int = 0
    vectors: int = 0
    sent: int = 0
    work: float = 0.0
    wait: float = 0.0


class Workers:
    """All shards, wherever they are hosted: the workers of one run."""

    #: The number of shards.
    count: int
    #: Begin and end of the shards of each worker, and the seconds that each took in the last call.
    pieces: Sequence[tuple[int, int]]
    seconds: Sequence[float]
    traffic: Traffic

    def hosts(self, method: str, *arguments: Any) -> list[Any]:
        """Return what a method of each `Host` returns, in the order of their shards."""
        raise NotImplementedError

    def call(self, method: str, *arguments: Any) -> list[Any]:
        """Return what the method of each shard returns, in the order of the shards."""
        return [one for found in self.hosts("call", method, *arguments) for one in found]

    def add(self, method: str, *arguments: Any, join: str = "plain") -> tuple[Any, list[Any]]:
        """Return the sum of the vectors of all shards, and what else each of them returns."""
        self.traffic.vectors += 1
        vectors: dict[Node, Any] = {}
        rest: list[Any] = []
        for nodes, others in self.hosts("add", join, method, *arguments):
            vectors.update(nodes)
            rest += others

        def summed(low: int, high: int) -> Any:
            if (low, high) in vectors:
                return vectors.pop((low, high))
            cut = middle(low, high)
            left = summed(low, cut)
            return SUMS[join](left, summed(cut, high))

        found = summed(0, self.count)
        # An array that came in a message is read-only, and kernels would be compiled anew for it.
        if isinstance(found, np.ndarray) and not found.flags.writeable:
            found = found.copy()
        return found, rest


def shares(count: int, workers: int) -> list[tuple[int, int]]:
    """Return begin and end of the shards of each worker, at most one worker a shard.

    >>> shares(5, 2), shares(2, 4)
    ([(0, 3), (3, 5)], [(0, 1), (1, 2)])
    """
    return Shards(min(workers, count)).pieces(count)


class Threads(Workers):
    """Shards in the memory of this process, and threads that work on them.

    >>> class One:
    ...     def __init__(self, number):
    ...         self.number = number
    ...
    ...     def scaled(self, factor):
    ...         return np.array([factor * self.number]), self.number
    >>> Threads([One(k) for k in range(5)], workers=2).add("scaled", 10.0)
    (array([100.]), [0, 1, 2, 3, 4])
    """

    def __init__(
        self, shards: Sequence[Any], workers: int = 1, host: Callable[..., Host] = Host
    ) -> None:
        self.count = len(shards)
        self.pieces = pieces = shares(self.count, workers)
        self.seconds = [0.0] * len(pieces)
        self._hosts = [host(shards[begin:end], begin, self.count) for begin, end in pieces]
        self._threads = Shards(len(pieces), len(pieces))
        self.traffic = Traffic()

    def hosts(self, method: str, *arguments: Any) -> list[Any]:
        """Return what a method of each host returns; a thread a host."""
        self.traffic.calls += 1

        def called(begin: int, end: int) -> tuple[Any, float]:
            start = time.perf_counter()
            found = getattr(self._hosts[begin], method)(*arguments)
            return found, time.perf_counter() - start

        answers = self._threads.each(len(self._hosts), called)
        self.seconds = [seconds for _, seconds in answers]
        return [found for found, _ in answers]

"""Shards of the rows, worked on by several threads.

What a shard finds does not depend on the thread that works on it, and shards are joined in their
own order: results depend on the number of shards, never on that of threads.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor, wait
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Any, TypeVar

T = TypeVar("T")

#: Numbers below which a second thread costs more than it saves.
WORTH_SHARING = 1 << 20


def cores() -> int:
    """Return how many cores this process may use."""
    affinity = getattr(os, "sched_getaffinity", None)
    return len(affinity(0)) if affinity else os.cpu_count() or 1


@dataclass(frozen=True, eq=False)
class Shards:
    """How many shards there are, and how many threads work on them.

    >>> Shards(3, workers=2).each(10, lambda begin, end: end - begin)
    [4, 3, 3]
    """

    count: int = 1
    workers: int = 1

    @classmethod
    def of(cls, numbers: int, rows: int) -> Shards:
        """Return one shard a core for rows with at least WORTH_SHARING numbers, else one shard."""
        count = max(min(cores(), rows), 1) if numbers >= WORTH_SHARING else 1
        return cls(count, count)

    @classmethod
    def of_tasks(cls, count: int, numbers: int) -> Shards:
        """Return a shard a task, for all cores if the tasks read WORTH_SHARING numbers or more."""
        return cls(count, cores() if numbers >= WORTH_SHARING else 1)

    @cached_property
    def _pool(self) -> ThreadPoolExecutor:
        return ThreadPoolExecutor(min(self.workers, self.count), "noregret")

    def pieces(self, total: int) -> list[tuple[int, int]]:
        """Return begin and end of each shard of `total` items, the longer ones first."""
        short, longer = divmod(total, self.count)
        ends = [short * k + min(k, longer) for k in range(self.count + 1)]
        return list(pairwise(ends))

    def each(self, total: int, work: Callable[..., T], *arguments: Any) -> list[T]:
        """Return what `work(begin, end, *arguments)` returns for each shard, in order.

        An argument is a list with an entry a shard. An error of a shard is raised when all have
        ended, so that nothing is written afterwards.
        """
        if self.count == 1:
            return [work(0, total, *(one[0] for one in arguments))]
        tasks = [
            (*piece, *rest) for piece, *rest in zip(self.pieces(total), *arguments, strict=True)
        ]
        if min(self.workers, self.count) == 1:
            return [work(*task) for task in tasks]
        futures = [self._pool.submit(work, *task) for task in tasks]
        try:
            return [future.result() for future in futures]
        finally:
            wait(futures)

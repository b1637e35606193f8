"""Batch problems larger than the memory: rows are read piece by piece, again in every pass.

A piece is a shard whose rows are there only while a call works on it; its slopes stay. Pieces are
worked on one after the other, the next one being read meanwhile, so that visits continue from the
weights that the piece before has left: plain dual coordinate ascent in an order of its own.
Reference: Yu, Hsieh, Chang, Lin, Large Linear Classification When Data Cannot Fit in Memory, 2010.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from noregret.batch.ascent import SAMPLE, SETTLED
from noregret.batch.objective import dual_parts
from noregret.batch.problem import Problem
from noregret.batch.shard import Shard
from noregret.batch.shared import SharedProblem, SharedSolver
from noregret.passes.dual import dual, gap
from noregret.passes.dual.dual import inner
from noregret.workers import Host, Traffic, Workers

#: What loads a piece: its number gives its rows, labels and weights, and the objective.
Load = Callable[[int], Problem]


class PieceShard(Shard):
    """A shard without rows between two calls."""

    def __init__(self, problem: Problem, seed: int, number: int) -> None:
        super().__init__(problem, seed=seed, number=number)
        # Newton steps alone need slopes to smooth around.
        self.given = self.slopes
        self._order = np.flatnonzero(problem.weight).astype(np.uint32)
        self._active = len(self._order)

    @property
    def active(self) -> int:
        """Rows still visited."""
        return self._active

    def hold(self) -> None:
        """Keep slopes to smooth around beside the present ones."""
        if self.given is self.slopes:
            self.given = self.slopes.copy()

    def drop(self) -> None:
        """Let go of the rows and of all that can be computed again from them."""
        if self._memory is not None:
            self._order = self._memory.order
            self._memory = None
        del self.problem

    def _ready(self) -> dual.Memory:
        """Return records with the present slopes, in the order that was kept."""
        memory, active, visited = self._memory, self._active, self._visited
        found = super()._ready()
        if memory is None:
            found.order[:] = self._order
            self._active, self._visited = active, visited
        return found

    def dual_into(self, state: Any) -> Any:
        """Add sum c_i s_i x_i to a twofold sum; return the sums of `gap.dual_sums`."""
        problem = self.problem
        return gap.dual_sums(problem.loss, self._block, problem.terms, self.slopes, state)

    def ascend(self, theta: Any, far: float, every: int) -> tuple[float, float, float]:
        """Visit all active rows and step in theta itself.

        Returns the largest movement and the sampled losses and parts of the gap.
        """
        problem, memory = self.problem, self._ready()
        self.random = np.uint64(dual.shuffle(memory.order, np.uint64(self._active), self.random))
        course = dual.Course(np.uint64(self._active), far, np.uint64(every))
        square = float(inner(theta, theta))
        active, largest, lost, apart, _ = dual.ascend(
            problem.loss, problem.mirror, self._block, memory._replace(theta=theta), square,
            course, None,
        )  # fmt: skip
        self._active = int(active)
        self.slopes[:] = memory.records[:, dual.SLOPE]
        return float(largest), float(lost), float(apart)


class Pieces(Workers):
    """Shards that are loaded one after the other, each for one call; the next is read meanwhile.

    Args:
        load: returns the problem of a piece by its number; called by one thread at a time.
        count: number of pieces, at least 1.
        seed: of the order of visits [default: 0].
    """

    def __init__(self, load: Load, count: int, seed: int = 0) -> None:
        self.count, self.traffic = count, Traffic()
        self._load, self._reader = load, ThreadPoolExecutor(1, "noregret")
        self._next: tuple[int, Future[Problem]] | None = None
        self.shards: list[PieceShard] = []
        for number in range(count):
            with self._loaded(number) as problem:
                shard = PieceShard(problem, seed, number)
                shard.drop()
                self.shards.append(shard)
        self._host = Host([Visitor(self, number) for number in range(count)])

    def hold(self) -> None:
        """Keep slopes to smooth around beside the present ones, for rounds of Newton's method."""
        for shard in self.shards:
            shard.hold()

    def close(self) -> None:
        """End the thread that reads."""
        self._reader.shutdown(cancel_futures=True)

    @contextmanager
    def _loaded(self, number: int) -> Iterator[Problem]:
        """Give out the rows of a piece while the next one is read."""
        if self._next is None or self._next[0] != number:
            self._next = number, self._reader.submit(self._load, number)
        problem = self._next[1].result()
        later = (number + 1) % self.count
        self._next = (later, self._reader.submit(self._load, later)) if self.count > 1 else None
        yield problem

    def at(self, number: int, method: str, *arguments: Any) -> Any:
        """Return what a method of one piece returns, with its rows in memory."""
        shard = self.shards[number]
        with self._loaded(number) as shard.problem:
            try:
                return getattr(shard, method)(*arguments)
            finally:
                shard.drop()

    def hosts(self, method: str, *arguments: Any) -> list[Any]:
        """Return what a method of the only host returns."""
        self.traffic.calls += 1
        return [getattr(self._host, method)(*arguments)]


class Visitor:
    """One piece, as a shard that is loaded whenever one of its methods is called."""

    def __init__(self, pieces: Pieces, number: int) -> None:
        self._pieces, self._number = pieces, number

    def __getattr__(self, method: str) -> Callable[..., Any]:
        return lambda *arguments: self._pieces.at(self._number, method, *arguments)


@dataclass(frozen=True, eq=False)
class PieceProblem(SharedProblem):
    """A problem over pieces, whose gradients are added to one vector."""

    workers: Pieces = field(repr=False)

    def gradient(self, which: str = "slopes", part: float = 1.0) -> Any:
        """Return g = sum c_i s_i x_i and sum c_i (s_i o_i - f*(s_i)), each with its error."""
        if which != "slopes":
            return super().gradient(which, part)
        state, pieces = np.zeros((self.width, 2)), self.workers
        rest = [pieces.at(number, "dual_into", state) for number in range(pieces.count)]
        sums = [float(sum(column)) for column in zip(*rest, strict=True)]
        return dual_parts(state, self.size.rows, pieces.count, *sums)


class OutOfCoreSolver(SharedSolver):
    """The solver over pieces: visits go through them one after the other."""

    workers: Pieces

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.newton:
            self.workers.hold()

    def visit(self) -> tuple[float, bool]:
        """Visit the active rows of every piece; return the largest movement, and that all were."""
        problem, before = self.problem, self.active
        every = 1 << (before // SAMPLE).bit_length()
        sums = np.array(
            [
                self.workers.at(number, "ascend", self.theta, self.far, every)
                for number in range(self.workers.count)
            ]
        )
        largest = float(sums[:, 0].max())
        if not math.isfinite(largest):
            raise OverflowError("the weights overflow: scale the rows or raise the strength")
        self.travelled += float(np.max(np.abs(self.theta)))
        self.active = sum(shard.active for shard in self.workers.shards)
        self.far = SETTLED * largest
        share = every * problem.strength
        half = 0.5 * problem.strength * float(inner(self.theta, self.theta))
        primal = share * float(sums[:, 1].sum()) + half
        counted = before == problem.size.counted
        self.guess.see(share * float(sums[:, 2].sum()), primal if counted else None)
        return largest, True

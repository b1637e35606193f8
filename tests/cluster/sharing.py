"""Ways to share a stream out to shards, and shards that record what they predicted."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from noregret.cluster.online import OnlineRun
from noregret.cluster.online_shard import OnlineShard, Part
from noregret.workers import Threads
from tests.truth.streams import layout

Vector = npt.NDArray[np.float64]
Random = np.random.Generator
WAYS = ("runs", "turns", "by label", "all in one", "uneven")


def shares(random: Random, y: Vector, count: int, way: str) -> list[npt.NDArray[np.int64]]:
    """Return which rows each shard gets, in their order there; some may get none."""
    rows = np.arange(len(y))
    if way == "turns":
        return [rows[k::count] for k in range(count)]
    if way == "by label":
        # Each shard sees few labels, and the largest come last.
        rows = np.argsort(y, kind="stable")
    if way == "all in one":
        chosen = int(random.integers(count))
        return [rows if k == chosen else rows[:0] for k in range(count)]
    if way == "uneven":
        cuts = np.sort(random.integers(0, len(y) + 1, count - 1))
        return np.split(rows, cuts)
    return np.array_split(rows, count)


class Recording(OnlineShard):
    """A shard that keeps its predictions."""

    def open(self, width: int) -> None:
        super().open(width)
        self.predictions: list[float] = []

    def _enter(self, part: Part, predictions: Vector) -> None:
        super()._enter(part, predictions)
        self.predictions += predictions.tolist()


def blocks_of(
    random: Random, X: Vector, y: Vector, weight: Vector | None, rows: Any, form: str = "dense64"
) -> list[Any]:
    """Return the rows of one shard, cut into blocks at random places."""
    cuts = np.sort(random.integers(0, len(rows) + 1, int(random.integers(3))))
    parts = [part for part in np.split(rows, cuts) if len(part)]
    if weight is None:
        return [(layout(X[part], form), y[part]) for part in parts]
    return [(layout(X[part], form), y[part], weight[part]) for part in parts]


def begun(
    blocks: Sequence[Any], learner: Any, every: int, workers: int = 1, radius: float | None = None
) -> tuple[OnlineRun, list[Recording]]:
    """Return a run that has learnt nothing, and its shards."""
    shards = [Recording(number, own, learner) for number, own in enumerate(blocks)]
    return OnlineRun(Threads(shards, workers), learner, every, radius), shards

"""The shards of a batch problem at one worker: rows read there, dual variables kept there."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from noregret.arrays import Vector
from noregret.batch.best_matrix import class_indices
from noregret.batch.problem import Problem
from noregret.batch.shard import Shard
from noregret.cluster.reading import Reader
from noregret.evaluate.effects import sizes_of
from noregret.files import store
from noregret.files.store import component_from_header
from noregret.losses import Loss
from noregret.mirrors import Mirror


class FileShard(Shard):
    """A shard whose state can be kept in a file.

    Args:
        written: the labels as they were read, indices where there are several classes.
        problem: the rows, and the objective that they share with all shards.
        options: those of a shard.
    """

    def __init__(self, written: Vector, problem: Problem, **options: Any) -> None:
        super().__init__(problem, **options)
        self.written = written

    def save(self, folder: str) -> None:
        """Write the slopes and the order of visits to a file of the folder."""
        kept = self.kept()
        arrays = {name: one for name, one in kept.items() if isinstance(one, np.ndarray)}
        numbers = {name: one for name, one in kept.items() if name not in arrays}
        store.write(shard_file(folder, self.number), numbers, arrays)

    def load(self, folder: str) -> None:
        """Go back to the state in the file of the folder."""
        numbers, arrays = store.read(shard_file(folder, self.number))
        if len(arrays["slopes"]) != len(self.slopes):
            raise ValueError(
                f"{folder}: shard {self.number} has {len(arrays['slopes']):,} dual variables and "
                f"{len(self.slopes):,} rows: the checkpoint is of another run"
            )
        self.restore(numbers | arrays)

    def reopen(self, spec: Mapping[str, Any]) -> None:
        """Solve another problem of `BatchHost.open` from here on, warm or from a cold start."""
        self.problem = replace(
            self.problem, strength=float(spec["strength"]), radius=spec["radius"],
            y=labels_of(self.written, spec["target"]),
        )  # fmt: skip
        if not spec["warm"]:
            self.slopes[:] = self.problem.start()
            self.random = self.first_random
        self.given[:] = self.slopes
        self.forget()

    def sizes(self) -> tuple[Vector, None]:
        """Return the largest |x_i| of each feature."""
        return sizes_of(self.problem.rows), None


def labels_of(written: Vector, target: int | None) -> Vector:
    """Return labels as they are, or +1 for a class and -1 for the rest.

    >>> labels_of(np.array([2.0, 0.0]), 2).tolist()
    [1.0, -1.0]
    """
    return written if target is None else np.where(written == target, 1.0, -1.0)


def shard_file(folder: str, number: int) -> str:
    """Return the file of a shard in a checkpoint.

    >>> shard_file("run", 3)
    'run/shard-00003'
    """
    return os.path.join(folder, f"shard-{number:05d}")


class BatchHost(Reader):
    """Shards of a batch problem: read by `scan` and `settle`, then made a problem by `open`."""

    def open(self, spec: Mapping[str, Any]) -> list[int]:
        """Make shards of a problem out of the rows, or change the problem of those that there are.

        Returns the number of classes among the rows of each shard, nothing without a target.

        Args:
            spec: `loss` and `mirror` as plain data, `strength`, `radius` or None, `seed`, `target`,
                the class that is +1 where the others are -1, or None, and `warm`, whether the
                slopes of the problem that was open before are kept.
        """
        loss = component_from_header(spec["loss"], Loss)
        mirror = component_from_header(spec["mirror"], Mirror)
        target, classes = spec["target"], []
        for k, rows in enumerate(self.shards):
            opened = isinstance(rows, FileShard)
            written = rows.written if opened else rows.y
            if target is not None:
                classes.append(int(class_indices(written, len(written)).max()) + 1)
            if opened:
                rows.reopen(spec)
                continue
            problem = Problem.of(
                rows, labels_of(written, target), loss, mirror, float(spec["strength"]),
                rows.weight, radius=spec["radius"],
            )  # fmt: skip
            self.shards[k] = FileShard(
                written, problem, seed=int(spec["seed"]), number=self.first + k
            )
        return classes

"""The shards of a batch problem at one worker: rows read there, dual variables kept there."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from noregret.arrays import Vector
from noregret.batch.problem import Problem
from noregret.batch.shard import Shard
from noregret.cluster.reading import Reader
from noregret.evaluate.effects import sizes_of
from noregret.files import store
from noregret.files.store import component_from_header
from noregret.losses import Loss
from noregret.mirrors import Mirror


class FileShard(Shard):
    """A shard whose state can be kept in a file."""

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

    def reopen(self, strength: float, warm: bool) -> None:
        """Solve for another strength from here on, from the present slopes or from a cold start."""
        self.problem = replace(self.problem, strength=strength)
        if not warm:
            self.slopes[:] = self.problem.start()
            self.random = self.first_random
        self.given[:] = self.slopes
        self.forget()

    def sizes(self) -> tuple[Vector, None]:
        """Return the largest |x_i| of each feature."""
        return sizes_of(self.problem.rows), None


def shard_file(folder: str, number: int) -> str:
    """Return the file of a shard in a checkpoint.

    >>> shard_file("run", 3)
    'run/shard-00003'
    """
    return os.path.join(folder, f"shard-{number:05d}")


class BatchHost(Reader):
    """Shards of a batch problem: read by `scan` and `settle`, then made a problem by `open`."""

    def open(self, spec: Mapping[str, Any]) -> list[int]:
        """Make shards of a problem out of the rows, or change its strength; return their sizes.

        Args:
            spec: `loss` and `mirror` as plain data, `strength`, `seed`, and whether the slopes of a
                problem that was open before are kept, `warm`.
        """
        loss = component_from_header(spec["loss"], Loss)
        mirror = component_from_header(spec["mirror"], Mirror)
        for k, rows in enumerate(self.shards):
            if isinstance(rows, FileShard):
                rows.reopen(float(spec["strength"]), bool(spec["warm"]))
                continue
            problem = Problem.of(rows, rows.y, loss, mirror, float(spec["strength"]), rows.weight)
            number = self.first + k
            self.shards[k] = FileShard(problem, seed=int(spec["seed"]), number=number)
        return [len(shard.problem.rows) for shard in self.shards]

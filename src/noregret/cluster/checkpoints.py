"""Common checkpoints of a run: what the driver knows, and the state of every shard.

A checkpoint is a folder with a file a shard, written by the workers, and one of the driver, written
last: without it the folder does not count. Workers on several machines need a folder that all of
them see.
"""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path
from typing import Any

from noregret.batch.shared import SharedSolver
from noregret.cluster.errors import ClusterError
from noregret.files import store

DRIVER = "driver"


class Checkpoints:
    """The checkpoints of a run in a folder; the last two are kept.

    Args:
        folder: where they are, made if it does not exist.
        identity: what the run is about; a checkpoint of another one is refused.
        every: passes between two of them, at least 1 [default: 10].
    """

    def __init__(self, folder: str | os.PathLike[str], identity: Any, every: int = 10) -> None:
        self.folder, self.every = Path(folder), every
        self.identity = json.loads(json.dumps(identity))
        self._last = -1
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise ClusterError(
                f"{folder}: checkpoints cannot be written ({error.strerror})"
            ) from None

    def complete(self) -> list[Path]:
        """Return the complete checkpoints, the oldest first."""
        return sorted(one.parent for one in self.folder.glob(f"pass-*/{DRIVER}"))

    def due(self, solver: SharedSolver) -> bool:
        """Return whether enough passes were made since the last one."""
        return solver.passes - self._last >= self.every

    def save(self, solver: SharedSolver) -> None:
        """Check that the shards and the driver agree, then keep the state of all."""
        solver.check()
        folder = self.folder / f"pass-{solver.passes:08d}"
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir()
        solver.workers.call("save", str(folder))
        numbers, arrays = solver.state()
        store.write(folder / DRIVER, {"identity": self.identity, "numbers": numbers}, arrays)
        self._last = solver.passes
        for old in self.complete()[:-2]:
            shutil.rmtree(old)

    def save_end(self, solver: SharedSolver) -> Path:
        """Keep the state of the shards at the end of the run, for a run that starts there.

        It is no checkpoint of this run: resumed, it makes its last passes again.
        """
        folder = self.folder / "end"
        folder.mkdir(exist_ok=True)
        solver.workers.call("save", str(folder))
        return folder

    def restore(self, solver: SharedSolver) -> None:
        """Bring the driver and all shards back to the last complete checkpoint."""
        found = self.complete()
        if not found:
            raise ClusterError(f"{self.folder}: holds no complete checkpoint to resume from")
        header, arrays = store.read(found[-1] / DRIVER)
        if header["identity"] != self.identity:
            raise ClusterError(
                f"{found[-1]}: the checkpoint is of another run: give the files and options of "
                "that run, or another folder"
            )
        solver.workers.call("load", str(found[-1]))
        solver.go_back(header["numbers"], arrays)
        self._last = solver.passes

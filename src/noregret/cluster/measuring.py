"""What a plan needs to know: sums over the rows of some files, and what this machine does a second.

Both are taken from the first rows of the files, in about two seconds. Labels are not looked at.
"""

from __future__ import annotations

import itertools
import os
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from noregret.arrays import as_positive
from noregret.batch.ascent import FAR, SAMPLE
from noregret.batch.newton import LARGEST_MATRIX
from noregret.batch.problem import Problem
from noregret.batch.shard import Shard
from noregret.cluster.dealing import File
from noregret.cluster.gathering import planned
from noregret.cluster.planning import PULLS, Data, Rates
from noregret.losses import Loss
from noregret.mirrors import Euclidean
from noregret.passes.dual import joint
from noregret.streams.block import Block
from noregret.streams.errors import StreamError
from noregret.streams.sparse import joined_rows

#: Stored features and seconds after which the sample is large enough.
ENOUGH, PATIENCE = 1 << 21, 0.5
#: Seconds for which each rate is measured.
SECONDS = 0.2
#: l2 a row where none is given.
STRENGTH = 1e-4
#: Size of the system of equations that is solved to measure how fast that is.
SYSTEM = 300
#: Where Linux tells the memory that a container may use.
CONTAINER = Path("/sys/fs/cgroup/memory.max")


@dataclass(frozen=True, eq=False)
class Sample:
    """The first rows of some files.

    Attributes:
        rows: these rows; their labels mean nothing.
        seen: bytes of the files that were read for them.
        parsing: bytes a second.
        whole: whether these are all rows.
        data: sums over all rows of the files, extrapolated from these.
    """

    rows: Block
    seen: int
    parsing: float
    whole: bool
    data: Data


def sample(inputs: Any, stream: Any, shards: int) -> Sample:
    """Read the first rows of files twice: to have them, and, compiled by then, by the clock.

    Args:
        inputs: paths, patterns or addresses, those of the stream.
        stream: what reads them.
        shards: K, at least 1.
    """
    files = [File(*one) for one in planned(inputs, stream.reading, shards)["files"]]
    total = sum(_known(file) for file in files)
    parts: list[Any] = []
    stored = 0
    pieces, whole = stream.parts(), True
    for part in pieces:
        if not parts:
            # What came before may have compiled the parser.
            begin = time.perf_counter()
        parts.append(part)
        stored += len(part.rows.indices)
        if stored >= ENOUGH or time.perf_counter() - begin > PATIENCE:
            whole = next(pieces, None) is None
            break
    pieces.close()
    blocks = [Block._of_parser(one.rows, one.ordered, one.y, stream.width, one.weight)
              for one in parts if len(one.y)]  # fmt: skip
    if not blocks:
        raise StreamError(f"{stream.name}: found no rows")
    rows, y, _ = joined_rows(blocks)
    width = stream.width
    begin = time.perf_counter()
    pieces = stream.parts()
    for _ in itertools.islice(pieces, len(parts)):
        seen = max(stream.bytes_read, 1)
    seconds = max(time.perf_counter() - begin, 1e-9)
    pieces.close()
    seen = total if whole else min(seen, total)
    factor = total / seen
    lengths = np.diff(rows.indptr).astype(np.float64)
    data = Data(
        round(len(y) * factor), max(width, 1), float(lengths.sum()) * factor,
        float(lengths @ lengths) * factor, rows.values.itemsize, files,
    )  # fmt: skip
    held = Block.sound(*rows, y, max(width, 1))
    return Sample(held, seen, seen / seconds, whole, data)


def _known(file: File) -> int:
    if file.size is None:
        raise StreamError(f"{file.name}: its size is not known, expected a file")
    return max(file.size, 1)


def rates(taken: Sample, loss: Loss, l2: float | None = None) -> Rates:
    """Measure what this machine does a second with the rows of a sample.

    Args:
        taken: the sample.
        loss: whose visits and slopes are computed.
        l2: the factor of half the squared norm, above 0 [default: 1e-4 a row].
    """
    rows = taken.rows
    y = rows.y
    if loss.labels == "sign":
        y = np.where(y == y[0], 1.0, -1.0)
    strength = as_positive("l2", STRENGTH * len(y) if l2 is None else l2)
    # Of the strength a row that the whole problem has.
    strength *= 1.0 if l2 is None else len(y) / max(taken.data.rows, 1)
    shard = Shard(Problem.of(rows, np.nan_to_num(y), loss, Euclidean(), strength))
    weights = np.zeros(rows.width)
    stored = max(float(rows.nonzeros), 1.0)
    every = 1 << (len(y) // SAMPLE).bit_length()
    visits = stored / _seconds(lambda: shard.visit(weights, 1.0, FAR, every, 1))

    def pulled() -> None:
        shard.answer(weights, 0.0, 1.0)
        shard.pull(0.0)

    pulls = PULLS * stored / _seconds(pulled)
    # Only narrow rows have a matrix; of others its rate is not asked for.
    pairs = np.inf
    if rows.width <= LARGEST_MATRIX:
        shard.bend(1.0)
        pairs = float(np.square(np.diff(rows.indptr).astype(np.float64)).sum())
        pairs = max(pairs, 1.0) / _seconds(shard.squares)
    return Rates(taken.parsing, visits, pairs, pulls, _solving())


def _seconds(run: Callable[[], Any]) -> float:
    """Return the least seconds of some calls; the first one may compile and is not counted."""
    run()
    least, end = np.inf, time.perf_counter() + SECONDS
    while least == np.inf or time.perf_counter() < end:
        begin = time.perf_counter()
        run()
        least = min(least, time.perf_counter() - begin)
    return float(max(least, 1e-9))


def _solving() -> float:
    """Return the operations a second of solving a system, n^3/3 of them for n unknowns."""
    matrix = np.eye(SYSTEM) + 1.0 / SYSTEM
    return SYSTEM**3 / 3.0 / _seconds(lambda: joint.solve(matrix.copy(), np.ones(SYSTEM)))


def machine_memory() -> int:
    """Return the bytes of memory that this machine, or its container, has."""
    whole = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    try:
        return min(whole, int(CONTAINER.read_text()))
    except (OSError, ValueError):
        # No container, or one without a limit: "max".
        return whole

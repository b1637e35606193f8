"""What a batch run over K shards at W workers will take: memory, bytes and seconds, as estimates.

A round is one sum of vectors over all shards, what `bench/rounds_to_gap.py` counts: W vectors go
down, and one comes up for each whole subtree of shards that a worker hosts (`noregret.workers`).
Each takes two calls of all workers at most, and

    seconds of a call = latency + W call + bytes / bandwidth,
    seconds of a round = those of its calls + work of the worker with the most rows.

Wide rows take dual ascent: a pass is T turns of a round each, and an iteration of conjugate
gradients, where visits are slow, is a round as well. Narrow rows take Newton's method: a pass is a
step of two rounds, in one of which its matrix comes up. All bytes pass through the driver, so that
its bandwidth counts. The defaults of `Network` were measured by `bench/rounds_model.py`.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from noregret.arguments import refuse
from noregret.batch.newton import narrow
from noregret.batch.shard import Size
from noregret.batch.side_by_side import LEAST_TURN, MOST_TURNS, WORTH_JOINING
from noregret.cluster.dealing import File, deal, files_of
from noregret.workers import SPARSE, middle, shares

#: Bytes of a row beside its features. Always: where it begins, label, weight, offset and two
#: slopes. Visits: a record of 64 bytes, its place in the order and its slope before the turn.
#: Newton steps over free rows: the plan of 40 bytes, eight vectors and a flag. Newton's method for
#: narrow rows: prediction and bend.
HELD, VISITED, FREE_ROWS, BENT = 48, 76, 105, 16
#: Bytes of a column number and a double; of an entry of a sparse vector.
COLUMN, DOUBLE, ENTRY = 4, 8, 12
#: Bytes of a process of Ray that has loaded the compiler and its kernels, as measured.
PROCESS = 300e6
#: Vectors of the width that a worker has at a time, beside those of the sums.
VECTORS = 4
#: Calls of all workers a round: visit and settle; turned and moved of conjugate gradients; bend and
#: matrix, answer and pull of a Newton step, which has two rounds.
CALLS, STEP = 2, 2
#: Times that a Newton step, or an iteration of conjugate gradients, reads the stored features,
#: beside those of the matrix.
PULLS = 2


@dataclass(frozen=True)
class Data:
    """Sums over the rows of a run.

    Attributes:
        rows: n.
        width: d, the number of columns.
        features: stored features in all, n m.
        pairs: the sum of the squares of their number a row.
        value_bytes: v, 4 or 8.
        files: the files with their sizes in bytes.
    """

    rows: int
    width: int
    features: float
    pairs: float
    value_bytes: int
    files: Sequence[File]

    @property
    def bytes(self) -> int:
        """The size of all files."""
        return sum(file.size or 0 for file in self.files)

    @property
    def narrow(self) -> bool:
        """Whether the solver takes Newton's method with a matrix, as `batch.newton` decides."""
        n = self.rows
        size = Size(n, self.features, self.pairs, float(n), 1.0, 1.0, n, False)
        return narrow(size, self.width)


@dataclass(frozen=True)
class Rates:
    """What one process of a machine does in a second."""

    #: Bytes of the files parsed.
    parsing: float
    #: Stored features visited by dual ascent.
    visits: float
    #: Pairs of features of a row added to the matrix of a Newton step, and features predicted from.
    pairs: float
    pulls: float
    #: Operations of solving a system of equations.
    solving: float


@dataclass(frozen=True)
class Network:
    """Latency of a call in seconds, seconds a worker and call, and bytes a second of the driver.

    The defaults are those of one to four workers of Ray 2.60 on one machine of two busy cores, see
    `bench/rounds_model.py`.
    """

    latency: float = 3.4e-3
    call: float = 3.0e-3
    bandwidth: float = 2.5e9

    def seconds(self, calls: float, workers: int, sent: float) -> float:
        """Return the seconds of some calls in which `sent` bytes pass through the driver."""
        return calls * (self.latency + workers * self.call) + sent / self.bandwidth


@dataclass(frozen=True)
class Estimate:
    """What a run with some number of workers takes.

    Attributes:
        workers: W.
        memory: bytes of the worker with the most shards, its process included.
        driver: bytes of the driver, its process included.
        sent: bytes of a round through the driver, an upper bound.
        work: seconds of a round at the worker with the most rows.
        network: seconds of a round in which its bytes travel.
        pass_seconds: seconds of a pass over all rows, or of a Newton step.
        reading: seconds until all rows are read.
        total: seconds of reading and of all rounds.
    """

    workers: int
    memory: float
    driver: float
    sent: float
    work: float
    network: float
    pass_seconds: float
    reading: float
    total: float


def estimate(
    data: Data, shards: int, workers: int, rounds: float, rates: Rates, network: Network
) -> Estimate:
    """Return what a run takes.

    Args:
        data: the rows.
        shards: K, at least 1.
        workers: W, at least 1 and at most one a shard.
        rounds: sums of vectors over all shards, above 0.
        rates: of the process of a worker.
        network: between the driver and the workers.
    """
    require(shards, workers)
    pieces = shares(shards, workers)
    most = max(end - begin for begin, end in pieces)
    # The largest part of the rows that one worker has.
    part = most / shards
    sent = round_bytes(data, shards, pieces)
    travel = network.seconds(CALLS, workers, sent)
    a_pull = part * PULLS * data.features / rates.pulls
    if data.narrow:
        steps = part * data.pairs / rates.pairs + data.width**3 / 3.0 / rates.solving
        work = (steps + a_pull) / STEP
        a_pass = STEP * (work + travel)
    else:
        count = turns(data, shards)
        turn = part * data.features / rates.visits / count
        # A round is a turn or an iteration of conjugate gradients: take the slower one.
        work = max(turn, a_pull)
        a_pass = count * (turn + travel)
    reading = most_read(data.files, shards, pieces) / rates.parsing
    return Estimate(
        workers, memory(data, most, part * data.rows), driver_memory(data, shards, pieces), sent,
        work, travel, a_pass, reading, reading + rounds * (work + travel),
    )  # fmt: skip


def require(shards: int, workers: int) -> None:
    """Refuse more workers than shards."""
    refuse(
        {
            f"workers must be at most one a shard: {workers} workers for {shards} shards":
                workers > shards,
        }
    )  # fmt: skip


def round_bytes(data: Data, shards: int, pieces: list[tuple[int, int]]) -> float:
    """Return an upper bound on the bytes of a round, those down and those up.

    Of the two rounds of a Newton step, the mean.
    """
    sizes = [size for piece in pieces for size in subtrees(shards, *piece)]
    vector = DOUBLE * data.width
    if data.narrow:
        matrix = DOUBLE * (data.width + 1) ** 2
        return (len(pieces) * vector + len(sizes) * (matrix + vector)) / STEP
    visited = data.features / shards / turns(data, shards)
    up = sum(vector_bytes(data.width, size * visited) for size in sizes)
    return len(pieces) * vector + up


def turns(data: Data, shards: int) -> int:
    """Return T, the turns in which shards visit all rows once, as `SharedSolver` has them."""
    least = max(LEAST_TURN, WORTH_JOINING * shards * data.width)
    return int(min(max(data.features / least, 1.0), MOST_TURNS))


def vector_bytes(width: int, entries: float) -> float:
    """Return an upper bound on the bytes of a vector with that many nonzeros at most.

    >>> vector_bytes(1000, 100), vector_bytes(1000, 500)
    (1200, 8000)
    """
    return ENTRY * entries if entries <= SPARSE * width else DOUBLE * width


def subtrees(count: int, begin: int, end: int) -> list[int]:
    """Return the sizes of the whole subtrees of `count` shards that a worker adds up.

    >>> subtrees(8, 0, 4), subtrees(8, 3, 8)
    ([4], [1, 4])
    """

    def sizes(low: int, high: int) -> list[int]:
        if high <= begin or end <= low:
            return []
        if begin <= low and high <= end:
            return [high - low]
        cut = middle(low, high)
        return sizes(low, cut) + sizes(cut, high)

    return sizes(0, count)


def memory(data: Data, shards: int, rows: float) -> float:
    """Return the bytes of a worker that hosts some shards with this many rows together.

    The sums along the tree need a vector a level, of two numbers a column when the gap is examined.
    """
    a_row = data.features / data.rows * (COLUMN + data.value_bytes) + HELD
    a_row += BENT if data.narrow else VISITED + FREE_ROWS
    levels = math.ceil(math.log2(shards)) + 2
    vectors = (VECTORS + 2 * levels) * DOUBLE * data.width
    matrices = levels * DOUBLE * (data.width + 1) ** 2 if data.narrow else 0
    return PROCESS + rows * a_row + vectors + matrices


def driver_memory(data: Data, shards: int, pieces: list[tuple[int, int]]) -> float:
    """Return the bytes of the driver: its own vectors, and one answer for each subtree."""
    sums = sum(len(subtrees(shards, *piece)) for piece in pieces)
    vectors = (2 * VECTORS + 2 * sums) * DOUBLE * data.width
    matrices = (sums + 2) * DOUBLE * (data.width + 1) ** 2 if data.narrow else 0
    return PROCESS + vectors + matrices


def most_read(files: Iterable[File], shards: int, pieces: list[tuple[int, int]]) -> float:
    """Return the bytes of the worker that reads most.

    A worker reads all files of which its shards have rows, of the compact form its batches only.
    """
    held = list(files)
    parts = deal(held, shards)

    def read(begin: int, end: int) -> float:
        own = parts[begin:end]
        flat = [part for several in own for part in several]
        if all(part.batches for part in flat):
            return sum((held[part.file].size or 0) / part.of for part in flat)
        return sum(held[k].size or 0 for k in files_of(own))

    return max(read(*piece) for piece in pieces)


def least_workers(data: Data, shards: int, limit: float) -> int | None:
    """Return the least number of workers each of which fits in `limit` bytes, None if none does."""
    return next(
        (
            workers
            for workers in range(1, shards + 1)
            if memory(data, (most := -(-shards // workers)), most / shards * data.rows) <= limit
        ),
        None,
    )

"""`hindsight` over files that need not fit into memory.

Other files than those of the compact form are first converted to one, in a folder for temporary
files. Batches of the compact form are read in every pass, never mapped: a mapped file that somebody
cuts short ends the program.
"""

from __future__ import annotations

import math
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from noregret.arguments import ArgumentError
from noregret.arrays import Vector
from noregret.batch.form import form
from noregret.batch.newton import LARGEST_MATRIX
from noregret.batch.out_of_core import OutOfCoreSolver, PieceProblem, Pieces
from noregret.batch.problem import Problem, Solution
from noregret.batch.sharing import solver_of
from noregret.batch.solver import Progress, require_options, trusted
from noregret.evaluate.effects import sizes_of
from noregret.losses import Loss
from noregret.mirrors import Mirror
from noregret.runs.progress import Watched
from noregret.streams import Reading, Stream, resolve
from noregret.streams.binary import write_binary
from noregret.streams.binary_file import BinaryFile
from noregret.streams.reading import COMPACT

#: Bytes that the program needs without any rows, the compiler and the libraries included.
PROGRAM = 220_000_000
#: Bytes a row: its slope, the one that a step starts from, and its place in the order of visits;
ROW = 8 + 8 + 4
#: and for rounds of Newton's method its prediction and its curvature.
NEWTON = 8 + 8
#: Vectors as long as the weights that a solver holds at a time.
VECTORS = 8
#: Bytes of rows in memory for each byte of their batch, records and checks included.
COPIES = 3


@dataclass(frozen=True, eq=False)
class Stored:
    """A solution, and what is known of the rows that were read for it."""

    solution: Solution
    name: str
    rows: int
    width: int
    names: Any = field(repr=False)
    #: The largest |x_i| of each feature.
    sizes: Vector = field(repr=False)
    #: Megabytes by which the run was planned.
    memory: float = 0.0


def hindsight_files(
    inputs: Any,
    loss: Loss,
    *,
    l2: float | None = None,
    radius: float | None = None,
    mirror: Mirror | None = None,
    strength: float | None = None,
    bias: bool = False,
    memory: float = 1000.0,
    tol: float = 1e-6,
    max_passes: int = 10_000,
    seed: int = 0,
    progress: bool | Callable[[Progress], None] = False,
    reading: Reading | None = None,
) -> Stored:
    r"""Return the best fixed linear predictor of files, whose rows are never all in memory.

    Minimises what `nr.hindsight` does for one score, by reading the rows again in every pass.

    Args:
        inputs: what `nr.read` takes; files of the compact form are read where they are.
        loss: of one score.
        l2: factor of half the squared norm, above 0.
        radius: of the 2-norm ball, above 0.
        mirror: a map, with `strength`.
        strength: factor of the map's regulariser, above 0.
        bias: whether a constant that nothing regularises is added to every prediction, with l2 or
            strength [default: False].
        memory: megabytes that the program may use, itself included [default: 1000].
        tol: stop when gap <= tol max(1, |primal|) [default: 1e-6].
        max_passes: passes over the rows, at most [default: 10,000].
        seed: of the order of visits, a whole number >= 0 [default: 0].
        progress: True shows a status line, a function is called with each `Progress`.
        reading: how files are read [default: labels as the loss needs them].

    >>> import tempfile, pathlib, noregret as nr
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder) / "tiny.svm"
    ...     _ = path.write_text("1 1:1\n-1 2:1\n1 1:1 2:1\n")
    ...     found = hindsight_files(path, nr.losses.Hinge(), l2=1.0)
    >>> round(found.solution.primal, 3), found.rows
    (1.5, 3)
    """
    require_options(tol, max_passes)
    what = form(l2, radius, mirror, strength, bias)
    rule: Any = {"sign": "binary"}.get(loss.labels, "real")
    with compact(inputs, reading or Reading(labels=rule)) as (files, stream):
        batches = [(file, k) for file in files for k in range(file.batches)]
        rows, width = sum(file.facts.rows for file in files), max(f.facts.width for f in files)
        if not rows or not width:
            raise ValueError(f"{stream.name}: the file has no examples")
        most = max(COPIES * file.size // max(file.batches, 1) for file in files)
        rounds = bias or what.radius is not None or not what.mirror.half_square()
        row = ROW + NEWTON * (rounds or width <= LARGEST_MATRIX)
        needed = PROGRAM + row * rows + 8 * VECTORS * width + 2 * most
        if needed > 1e6 * memory:
            raise ArgumentError(
                "memory",
                f"{rows:,} rows of {width:,} columns need {math.ceil(needed / 1e6):,} MB",
                memory,
            )
        sizes: Vector = np.zeros(width)
        seen: set[int] = set()

        def load(number: int) -> Problem:
            file, batch = batches[number]
            block, _ = file.batch(batch)
            if number not in seen:
                own = sizes_of(block)
                np.maximum(sizes[: len(own)], own, out=sizes[: len(own)])
                seen.add(number)
            found = Problem.of(
                block, block.y, loss, what.mirror, what.strength, block.weight, radius=what.radius
            )
            # Files written one after the other may know of fewer columns.
            return replace(found, rows=replace(found.rows, width=width))

        pieces = Pieces(load, len(batches), seed)
        try:
            shape = what.mirror.resolved(width)
            problem = PieceProblem(pieces, loss, shape, what.strength, width, what.radius, bias)
            kind = solver_of(problem, OutOfCoreSolver)
            if kind is not OutOfCoreSolver:
                pieces.hold()
            solution = kind(problem, tol, max_passes, progress=progress).run()
        finally:
            pieces.close()
        names = stream.names
        name = stream.name
        return Stored(trusted(solution, loss), name, rows, width, names, sizes, needed / 1e6)


@contextmanager
def compact(inputs: Any, reading: Reading) -> Iterator[tuple[list[BinaryFile], Stream]]:
    """Give out files of the compact form: those given, or one made of them for the time being."""
    found = resolve(inputs, reading.format)
    stream = found.open(reading)
    if found.format == COMPACT:
        # Labels that were not mapped when the file was written must be -1 and 1: `load` looks.
        yield stream.files, stream  # type: ignore[attr-defined]
        return
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "rows.arrow"
        write_binary(Watched(stream), path)
        yield [BinaryFile(path)], stream

"""The best in hindsight on a local Ray, for several W and K: `python -m bench.cluster`.

Minimises sum of losses + (l2/2) ||w||^2, l2 = n / 10,000, on covtype (all rows), a9a, rcv1_small
(NOREGRET_DATA names their folder, features in units of their largest size) and the generated set
of 1,000,000 rows and features. Rows are files of the compact form, read by the workers. Narrow
rows are solved to a relative gap of 1e-6 for every K, wide ones to 1e-6 for K = 1 and to 1e-3 for
others. A line a loss and K: passes, sums of vectors over all shards, the verified relative gap,
the seconds of solving for each W, megabytes sent for the largest W, and whether weights and gap
have the same bits for every W. One process without Ray stands beside it.
"""

from __future__ import annotations

import argparse
import os
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

import noregret as nr
from bench.data import make
from bench.quality.data import STREAMS
from noregret.batch.newton import LARGEST_MATRIX
from noregret.cluster import batch
from noregret.cluster.ray_workers import connected
from noregret.streams import Block, Reading
from noregret.streams.binary import write_binary

LOSSES = {"hinge": nr.losses.Hinge(), "logistic": nr.losses.Logistic()}
SETS = ("a9a", "rcv1_small", "covtype", "generated")
#: Rows of a block that is written at a time.
BLOCK = 50_000


def write_compact(X: Any, y: Any, path: Path) -> None:
    """Write CSR rows as a file of the compact form."""

    def blocks() -> Any:
        for begin in range(0, X.shape[0], BLOCK):
            part = X[begin : begin + BLOCK]
            arrays = part.indptr.astype(np.uint64), part.indices.astype(np.uint32), part.data
            yield Block(*arrays, np.asarray(y[begin : begin + BLOCK], np.float64), X.shape[1])

    write_binary(blocks(), path)


def rows_of(name: str, size: int) -> tuple[Any, Any]:
    """Return rows and labels of a set."""
    if name == "generated":
        data = make(size, size)
        return data.X, data.y
    stream = STREAMS[name]()
    units = np.maximum(abs(stream.rows).max(axis=0).toarray().ravel(), 1e-300)
    return sp.csr_matrix(stream.rows @ sp.diags(1.0 / units)), stream.y


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(
        prog="python -m bench.cluster", description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )  # fmt: skip
    parser.add_argument("--sets", nargs="*", choices=SETS, default=list(SETS))
    parser.add_argument("--losses", nargs="*", choices=LOSSES, default=list(LOSSES))
    parser.add_argument("--workers", nargs="*", type=int, default=[1, 2, 4])
    parser.add_argument("--shards", nargs="*", type=int, default=[1, 8, 32])
    parser.add_argument("--size", type=int, default=1_000_000, help="of the generated set")
    given = parser.parse_args()
    if set(given.sets) - {"generated"} and "NOREGRET_DATA" not in os.environ:
        parser.error("set NOREGRET_DATA, the folder of the real sets, or give --sets generated")
    with tempfile.TemporaryDirectory() as folder, connected("local", max(given.workers)):
        for name in given.sets:
            X, y = rows_of(name, given.size)
            print(f"{name}: {X.shape[0]:,} rows, {X.shape[1]:,} features, {X.nnz:,} nonzeros")
            path = Path(folder) / f"{name}.arrow"
            write_compact(X, y, path)
            for word in given.losses:
                one_process(word, X, y)
                for shards in given.shards:
                    on_ray(word, path, X.shape, shards, given.workers)


def one_process(word: str, X: Any, y: Any) -> None:
    """Print what one process needs."""
    for tol in (1e-3, 1e-6):
        begin = time.perf_counter()
        found = nr.hindsight(X, y, LOSSES[word], l2=1e-4 * X.shape[0], tol=tol)
        seconds = time.perf_counter() - begin
        gap = found.gap / max(1.0, found.primal)
        print(f"  {word:<9} one process: gap {gap:.1e}, {found.passes} passes, {seconds:.2f} s")


def on_ray(word: str, path: Path, shape: tuple[int, int], shards: int, workers: list[int]) -> None:
    """Print a line for a number of shards."""
    narrow = shape[1] <= LARGEST_MATRIX
    tol = 1e-6 if narrow or shards == 1 else 1e-3
    times, found = [], []
    for count in workers:
        if count > shards:
            continue
        reading = Reading(labels="real")
        with batch.session(
            path, LOSSES[word], shards=shards, workers=count, reading=reading
        ) as run:
            begin = time.perf_counter()
            found.append(run.solve(nr.mirrors.Euclidean(), 1e-4 * shape[0], tol=tol))
            times.append(f"W={count} {time.perf_counter() - begin:.1f} s")
    first = found[0]
    same = all(
        np.array_equal(first.weights, one.weights)
        and (first.primal, first.dual) == (one.primal, one.dual)
        for one in found
    )
    gap, last = first.gap / max(1.0, first.primal), found[-1].rounds[-1]
    missed = "" if first.converged else " MISSED"
    print(
        f"  {word:<9} K={shards:<4} gap {gap:.1e} of {tol:g}{missed}, {first.passes} passes, "
        f"{first.rounds[-1].vectors} sums, {', '.join(times)}, {last.sent / 1e6:.0f} MB, "
        f"bits {'the same' if same else 'DIFFER'}",
        flush=True,
    )


if __name__ == "__main__":
    main()

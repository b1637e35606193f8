"""Two threads against one in `nr.hindsight`: `python -m bench.threads`.

Both solve sum of losses + (l2/2) ||w||^2 with l2 = n / 10,000 to a relative gap of 1e-3, on rows in
memory: the generated sparse set, then every real set with two classes in the folder that
NOREGRET_DATA names, its features in units of their largest size. One core with one shard, the
solver as it is without threads, against `workers=2` with its default shards. Seconds are of the
clock, conversion of the rows included.
"""

from __future__ import annotations

import argparse
import os
from collections.abc import Iterator
from typing import Any

import numpy as np
import scipy.sparse as sp

import noregret as nr
from bench.data import make
from bench.quality.data import STREAMS
from bench.timing import interleave

LOSSES = {"hinge": nr.losses.Hinge(), "logistic": nr.losses.Logistic()}
#: Least speed-up asked for on the generated set, and on any other.
BAR, LEAST = 1.6, 0.95


def lines(name: str, X: Any, y: Any, turns: int, tol: float, bar: float) -> Iterator[str]:
    """Yield a line a loss: seconds and passes of both, and how much faster two threads are."""
    for word, loss in LOSSES.items():
        passes = {}

        def solve(workers: int, loss: Any = loss, passes: dict[int, int] = passes) -> None:
            found = nr.hindsight(X, y, loss, l2=1e-4 * X.shape[0], tol=tol, workers=workers)
            assert found.converged
            passes[workers] = found.passes

        times = interleave({"one": lambda: solve(1), "two": lambda: solve(2)}, turns)
        ratio, median = times.ratio("one", "two"), times.median_ratio("one", "two")
        missed = "" if ratio >= bar else " (missed)"
        yield (
            f"{name:<16}{word:<10}{times.best('one'):>9.3f}{times.best('two'):>9.3f}"
            f"{passes[1]:>8}{passes[2]:>8}{ratio:>8.2f}{median:>8.2f}  at least {bar:g}{missed}"
        )


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(
        prog="python -m bench.threads", description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )  # fmt: skip
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--features", type=int, default=1_000_000)
    parser.add_argument("--tol", type=float, default=1e-3)
    parser.add_argument("--turns", type=int, default=5)
    parser.add_argument(
        "--sets", nargs="*", help="names of real sets [default: all, generated too]"
    )
    given = parser.parse_args()
    print(f"{'seconds':<26}{'one':>9}{'two':>9}{'passes':>8}{'passes':>8}{'ratio':>8}{'median':>8}")
    if given.sets is None:
        data = make(given.rows, given.features)
        for line in lines("generated", data.X, data.y, given.turns, given.tol, BAR):
            print(line, flush=True)
    if given.sets and "NOREGRET_DATA" not in os.environ:
        parser.error("--sets needs NOREGRET_DATA, the folder of the real sets")
    names = [] if "NOREGRET_DATA" not in os.environ else (given.sets or list(STREAMS))
    for name in names:
        stream = STREAMS[name]()
        if stream.classes and stream.outputs == 1:
            units = np.maximum(abs(stream.rows).max(axis=0).toarray().ravel(), 1e-300)
            scaled = sp.csr_matrix(stream.rows @ sp.diags(1.0 / units))
            for line in lines(name, scaled, stream.y, given.turns, given.tol, LEAST):
                print(line, flush=True)


if __name__ == "__main__":
    main()

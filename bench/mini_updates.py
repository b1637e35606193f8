"""What mini-updates buy: dual value, mistakes and floor for k = 1 ... 32 on real streams.

`python -m bench.mini_updates` reads a9a and rcv1_small from the folder that NOREGRET_DATA names.
The first line of each table is the plain subgradient learner, whose floor is the linearised one:
the slope of a round is that of the loss where the learner stood, and is never looked at again.
D is set beside P*, the least F(u) + C L(u), and the floor for predictors of the norm of its
minimiser beside that one's loss L(u*), both from the batch solver.
"""

from __future__ import annotations

import argparse
import os
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from scipy.sparse import csr_array, vstack

import noregret as nr
from noregret.batch import hindsight
from noregret.learners import DualAscent

SETS = {"a9a": "a9a/a9a.svm.xz", "rcv1_small": "rcv1_small/rcv1_small.svm.xz"}
STEPS = (1, 2, 4, 8, 16, 32)


@dataclass(frozen=True)
class Line:
    """What one learner reached: all but the first two are sums over the stream."""

    name: str
    seconds: float
    mistakes: int
    loss: float
    dual: float
    certificate: Any

    def cells(self, best: Best) -> list[str]:
        """Return the line's cells, the floor for predictors of the norm of the best one."""
        floor = self.certificate.floor(best.radius)
        return [
            self.name,
            f"{self.dual:.3f}",
            f"{self.dual / best.objective:.4f}",
            f"{self.mistakes:,}",
            f"{self.loss:.1f}",
            f"{floor:.1f}",
            f"{floor / best.loss:.4f}",
            f"{self.seconds:.2f}",
        ]


@dataclass(frozen=True)
class Best:
    """The best regularised predictor in hindsight: P*, its norm and its loss."""

    objective: float
    radius: float
    loss: float


HEADINGS = [
    "updates a round",
    "D",
    "D / P*",
    "mistakes",
    "loss",
    "floor",
    "floor / L(u*)",
    "seconds",
]


def read(name: str) -> tuple[csr_array, np.ndarray]:
    """Return the rows and labels of a data set."""
    folder = os.environ.get("NOREGRET_DATA")
    if folder is None:
        raise SystemExit("NOREGRET_DATA must name a folder that holds a9a and rcv1_small")
    blocks = list(nr.read(Path(folder) / SETS[name], labels="binary"))
    width = max(block.width for block in blocks)
    rows = []
    for block in blocks:
        begin, end = int(block.indptr[0]), int(block.indptr[-1])
        columns = block.indices[begin:end].astype(np.int64)
        starts = (block.indptr - block.indptr[0]).astype(np.int64)
        rows.append(csr_array((block.values[begin:end], columns, starts), (len(block), width)))
    return csr_array(vstack(rows)), np.concatenate([block.y for block in blocks])


def in_hindsight(X: csr_array, y: np.ndarray, C: float) -> Best:
    """Return the best predictor that the batch solver finds, to six digits."""
    found = hindsight(X, y, nr.losses.Hinge(), l2=1.0 / C, tol=1e-6)
    square = float(found.weights @ found.weights)
    return Best(C * found.primal, square**0.5, found.primal - 0.5 * square / C)


def measure(
    X: csr_array, y: np.ndarray, C: float, schedule: str, memory: int | None
) -> Iterator[Line]:
    """Yield a line for the subgradient learner and for each number of updates."""
    hinge, euclid = nr.losses.Hinge(), nr.mirrors.Euclidean()

    def plain() -> Any:
        return nr.MirrorDescent(hinge, euclid, nr.rates.Constant(C))

    yield _line("subgradient", plain, X, y, C)
    for k in STEPS:
        kept = None if schedule == "last" else max(memory or 0, k)

        def ascent(k: int = k, kept: int | None = kept) -> Any:
            return DualAscent(hinge, euclid, C, "mini", k, schedule, memory=kept)

        yield _line(f"k = {k}", ascent, X, y, C)


def _line(name: str, make: Callable[[], Any], X: csr_array, y: np.ndarray, C: float) -> Line:
    make().learn(X[:1], y[:1])  # compiles
    learner = make()
    start = time.perf_counter()
    learner.learn(X, y)
    seconds = time.perf_counter() - start
    certificate = learner.certificate()
    dual = C * certificate.regularized_floor(C)
    return Line(name, seconds, certificate.mistakes, certificate.loss, dual, certificate)


def table(name: str, C: float, schedule: str, memory: int | None) -> str:
    """Return the table of a data set as Markdown."""
    X, y = read(name)
    best = in_hindsight(X, y, C)
    cells = [HEADINGS] + [line.cells(best) for line in measure(X, y, C, schedule, memory)]
    text = [
        f"{name}: {X.shape[0]:,} rows, hinge, C = {C:g}, schedule {schedule}; P* = "
        f"{best.objective:.3f}, ||u*|| = {best.radius:.4g}, L(u*) = {best.loss:.1f}",
        "",
    ]
    widths = [max(len(row[i]) for row in cells) for i in range(len(HEADINGS))]
    for number, row in enumerate(cells):
        text.append("| " + " | ".join(c.rjust(w) for c, w in zip(row, widths, strict=True)) + " |")
        if number == 0:
            text.append("|" + "|".join("-" * (w + 1) + ":" for w in widths) + "|")
    return "\n".join(text) + "\n"


def main() -> None:
    """Parse the command line and print the tables."""
    parser = argparse.ArgumentParser(prog="python -m bench.mini_updates", description=__doc__)
    parser.add_argument("--sets", nargs="+", choices=SETS, default=list(SETS))
    parser.add_argument("--C", type=float, nargs="+", default=[0.01, 0.1, 1.0])
    parser.add_argument("--schedule", default="last", help="last, random, oldest or support")
    parser.add_argument("--memory", type=int, help="rows kept, for schedules other than last")
    arguments = parser.parse_args()
    for name in arguments.sets:
        for C in arguments.C:
            print(table(name, C, arguments.schedule, arguments.memory), flush=True)


if __name__ == "__main__":
    main()

"""Rounds to a relative gap of 1e-3, by the number of shards: `python -m bench.rounds`.

All solve sum of losses + (l2/2) ||w||^2 with l2 = n / 10,000. The rows are dealt at random, by a
seed, to K fixed shards. In a round every shard starts from the weights w of all, visits each of its
rows once, and sends one vector; the vectors are added and the sum goes back to all. Only rounds are
counted, so that the figures do not depend on the machine. The gap is that of
`noregret.batch.problem.evaluate` at the slopes after the round, divided by the primal value.

- CoCoA: each shard ascends the dual as if it were alone (sigma' = 1), all steps are divided by K.
  Jaggi et al., Communication-Efficient Distributed Dual Coordinate Ascent, 2014.
- CoCoA+: each shard ascends the dual with sigma' = K, and all steps are added.
  Ma et al., Adding vs. Averaging in Distributed Primal-Dual Optimization, 2015.
- mini-batch SDCA: every step is computed at w itself, with the curvature of its row times beta, the
  largest factor by which steps of all rows can add up: the largest eigenvalue of the Gram matrix of
  the rows in units of their norms. A batch is all rows, so that K makes no difference: one run.
  Takac et al., Mini-Batch Primal and Dual Methods for SVMs, 2013, for a batch of all rows.
- one-shot averaging: each shard solves its own part with l2 / K to a relative gap of 1e-5, and the
  weights are averaged. One round, no gap: printed is P(w) / min P - 1, the minimum from below.

A method that exceeds the cap with K shards is not run with more: "-". Sets: a9a, rcv1_small, the
first 100,000 rows of covtype after a shuffle, its features in units of their largest size, and a
generated sparse set of 100,000 rows and features. The real ones need NOREGRET_DATA.
"""

from __future__ import annotations

import argparse
import itertools
import json
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

import noregret as nr
from bench.data import make
from bench.quality.data import load
from noregret import mirrors
from noregret.batch.ascent import FAR, Ascent, seed_state
from noregret.batch.problem import Problem, closed, evaluate
from noregret.batch.shard import Shard
from noregret.batch.shared import SharedProblem, SharedSolver
from noregret.passes.dual import dual
from noregret.workers import Threads

Vector = npt.NDArray[np.float64]
#: The rows of each shard.
Parts = list[npt.NDArray[np.uint32]]
#: From a problem, its shards and a seed to the slopes of all rows after each round.
Method = Callable[[Problem, Parts, int], Iterator[Vector]]

LOSSES = {"hinge": nr.losses.Hinge(), "logistic": nr.losses.Logistic()}
COUNTS = (1, 2, 4, 8, 16, 32, 64, 128)
TOL = 1e-3
#: Tolerances of the minimum itself and of the shards that solve alone.
MINIMUM, ALONE = 1e-6, 1e-5
#: Rows of covtype, rows and features of the generated set.
ROWS = 100_000
#: Sample no visit but the first: the gap is evaluated exactly.
EVERY = np.uint64(1 << 62)
#: Iterations of the power method for beta, and the factor by which its estimate may be too small.
POWERS, MARGIN = 100, 1.05


def visit(problem: Problem, state: Ascent, rows: Any, weights: Vector, spread: float) -> None:
    """Visit the rows once from the given weights, which move by `spread` times their steps."""
    memory = dual.Memory(state.records, weights, rows)
    course = dual.Course(np.uint64(len(rows)), FAR, EVERY)
    dual.ascend(problem.loss, mirrors.Euclidean(), problem.block, memory, 0.0, course, spread)


def cocoa(problem: Problem, parts: Parts, seed: int, adding: bool) -> Iterator[Vector]:
    """Yield slopes of CoCoA+ if steps are added, else of CoCoA, which averages them."""
    spread, gamma = (float(len(parts)), 1.0) if adding else (1.0, 1.0 / len(parts))
    state = Ascent(problem, problem.start(), seed)
    local, random = np.empty_like(state.theta), np.uint64(seed_state(seed))
    parts = [rows.copy() for rows in parts]
    while True:
        total = np.zeros_like(state.theta)
        for rows in parts:
            random = np.uint64(dual.shuffle(rows, np.uint64(len(rows)), random))
            local[:] = state.theta
            visit(problem, state, rows, local, spread)
            total += local
            if gamma < 1.0:
                dual.retreat(state.records, rows, gamma)
        # total is K theta + spread sum_k D_k.
        state.theta += (gamma / spread) * (total - len(parts) * state.theta)
        yield state.slopes


def mini_batch(problem: Problem, parts: Parts, seed: int) -> Iterator[Vector]:
    """Yield slopes of SDCA whose batch is all rows."""
    state = Ascent(problem, problem.start(), seed)
    order = np.concatenate(parts)
    scale = state.records[:, dual.SCALE].copy()
    state.records[:, dual.CURVATURE] *= steepness(problem, seed)
    # With the scale 0 a visit changes the slope of its row and leaves the weights alone.
    state.records[:, dual.SCALE] = 0.0
    while True:
        visit(problem, state, order, state.theta, 1.0)
        change = state.records[:, dual.SLOPE] - state.records[:, dual.BEFORE]
        dual.gather(problem.block, -scale * change, state.theta)
        yield state.slopes


def steepness(problem: Problem, seed: int) -> float:
    """Return beta with ||sum_i a_i x_i||^2 <= beta sum_i a_i^2 ||x_i||^2, by the power method."""
    rows = problem.rows
    parts = rows.values.astype(np.float64), rows.indices.astype(np.int64), rows.indptr
    X = sp.csr_array((parts[0], parts[1], parts[2].astype(np.int64)), (len(rows), rows.width))
    norms = np.sqrt(np.maximum(X.multiply(X).sum(axis=1), 1e-300))
    unit = sp.csr_array(sp.diags_array(1.0 / norms) @ X)
    v = np.random.default_rng(seed).random(rows.width)
    for _ in range(POWERS):
        v = unit.T @ (unit @ (v / np.linalg.norm(v)))
    return MARGIN * float(np.linalg.norm(v))


#: Yield the slopes once for every sum of vectors over all shards. A method whose second entry is
#: false makes the same steps for any number of shards.
METHODS: dict[str, tuple[Method, bool]] = {
    "CoCoA": (lambda *given: cocoa(*given, adding=False), True),
    "CoCoA+": (lambda *given: cocoa(*given, adding=True), True),
    "mini-batch SDCA": (mini_batch, False),
}


class Counted(Threads):
    """Shards in this process, and how many vectors a method has added over all of them."""

    vectors = 0

    def add(self, method: str, *arguments: Any, join: str = "plain") -> tuple[Any, list[Any]]:
        # Gaps are evaluated after each round of the other methods, too, and counted for none.
        self.vectors += method != "dual_sums"
        return super().add(method, *arguments, join=join)


def ours(problem: Problem, X: Any, count: int, cap: int, seed: int) -> int | None:
    """Return the sums of vectors that our solver over shards needs to the gap."""
    shards = [
        Shard(Problem.of(X[rows], problem.y[rows], problem.loss, strength=problem.strength),
              seed=seed, number=number)
        for number, rows in enumerate(deal(len(problem.y), count, seed))
    ]  # fmt: skip
    workers = Counted(shards, 2)
    shared = SharedProblem(
        workers, problem.loss, problem.mirror, problem.strength, problem.rows.width
    )
    found = SharedSolver(shared, TOL, 10_000).run()
    return workers.vectors if found.converged and workers.vectors <= cap else None


def deal(rows: int, count: int, seed: int) -> Parts:
    """Return the rows of `count` shards, dealt at random."""
    order = np.random.default_rng(seed).permutation(rows).astype(np.uint32)
    return [part.copy() for part in np.array_split(order, count)]


def rounds(problem: Problem, method: Method, count: int, cap: int, seed: int) -> int | None:
    """Return the rounds to the gap, None if they exceed the cap."""
    steps = method(problem, deal(len(problem.y), count, seed), seed)
    for made, slopes in enumerate(itertools.islice(steps, cap), 1):
        if closed(*evaluate(problem, slopes)[1:], TOL):
            return made
    return None


def one_shot(X: Any, problem: Problem, count: int, seed: int, least: float) -> float:
    """Return how far, relative to the minimum, the average of the shards' solutions is from it."""
    total = np.zeros(problem.rows.width)
    for rows in deal(len(problem.y), count, seed):
        share = problem.strength * len(rows) / len(problem.y)
        found = nr.hindsight(X[rows], problem.y[rows], problem.loss, l2=share, tol=ALONE)
        total += found.weights * (len(rows) / len(problem.y))
    return problem.primal_upper(total) / least - 1.0


def table(X: Any, y: Vector, loss: Any, counts: list[int], cap: int, seed: int) -> Any:
    """Yield for every method its name and a cell for each number of shards."""
    problem = Problem.of(X, y, loss, strength=1e-4 * X.shape[0])
    for name, (method, depends) in METHODS.items():
        cells: list[Any] = []
        for count in counts:
            if cells and not depends:
                cells.append(cells[0])
            elif f">{cap}" in cells:
                cells.append("-")
            else:
                cells.append(rounds(problem, method, count, cap, seed) or f">{cap}")
        yield name, cells
    found = [ours(problem, X, count, cap, seed) or f">{cap}" for count in counts]
    yield "noregret", found
    least = nr.hindsight(X, y, loss, l2=problem.strength, tol=MINIMUM).dual
    yield "one-shot, P/min-1", [one_shot(X, problem, k, seed, least) for k in counts]


def _covtype(seed: int) -> tuple[Any, Vector]:
    stream = load("covtype")
    some = np.random.default_rng(seed).permutation(len(stream.y))[:ROWS]
    rows = stream.rows[some]
    units = np.maximum(abs(rows).max(axis=0).toarray().ravel(), 1e-300)
    return sp.csr_matrix(rows @ sp.diags(1.0 / units)), stream.y[some]


def _stream(name: str) -> tuple[Any, Vector]:
    stream = load(name)
    return stream.rows, stream.y


def _generated() -> tuple[Any, Vector]:
    data = make(ROWS, ROWS)
    return data.X, data.y


SETS: dict[str, Callable[[int], tuple[Any, Vector]]] = {
    "a9a": lambda _: _stream("a9a"),
    "rcv1_small": lambda _: _stream("rcv1_small"),
    "covtype": _covtype,
    "generated": lambda _: _generated(),
}


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(
        prog="python -m bench.rounds", description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )  # fmt: skip
    parser.add_argument("--sets", nargs="*", choices=SETS, default=list(SETS))
    parser.add_argument("--losses", nargs="*", choices=LOSSES, default=list(LOSSES))
    parser.add_argument("--shards", nargs="*", type=int, default=list(COUNTS))
    parser.add_argument("--cap", type=int, default=500, help="rounds at most [default: 500]")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the table here too")
    given = parser.parse_args()
    if set(given.sets) - {"generated"} and "NOREGRET_DATA" not in os.environ:
        parser.error("set NOREGRET_DATA, the folder of the real sets, or give --sets generated")
    lines = []
    for name in given.sets:
        X, y = SETS[name](given.seed)
        print(f"{name}: {X.shape[0]:,} rows, {X.shape[1]:,} features, gap {TOL:g}")
        print(f"{'rounds, by shards':<28}" + "".join(f"{k:>9}" for k in given.shards))
        for word in given.losses:
            found = table(X, y, LOSSES[word], given.shards, given.cap, given.seed)
            for method, cells in found:
                shown = [f"{c:.1e}" if isinstance(c, float) else str(c) for c in cells]
                print(f"{word:<10}{method:<18}" + "".join(f"{c:>9}" for c in shown), flush=True)
                lines.append({"set": name, "loss": word, "method": method} | {"cells": cells})
    if given.json:
        facts = {"tol": TOL, "cap": given.cap, "seed": given.seed, "shards": given.shards}
        given.json.write_text(json.dumps(facts | {"lines": lines}, indent=1) + "\n")


if __name__ == "__main__":
    main()

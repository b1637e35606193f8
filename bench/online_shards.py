"""Online learning over K shards, average loss and floor: `python -m bench.online_shards`.

The rows of each real set in the folder that NOREGRET_DATA names, in their order, are cut into K
runs of neighbouring rows; each shard learns its own, and the learners are mixed every so many rows
of a shard. Logistic loss, features in units of their largest size and a constant 1, lazy descent in
the ball of the radius with the adaptive rate of that ball (and one rate a feature beside it). All
numbers are a row: the average loss of the predictions, each made before its row was learnt; the
floor that they prove for every predictor of that ball; the true minimum over the ball, found by
`nr.hindsight`, between the dual and the primal value that are printed.

On a stationary stream floors get looser with K. Where the data drift, shards that see neighbouring
rows track them: the loss, and even the floor, can be better with more shards.
"""

from __future__ import annotations

import argparse
import os
import time
from collections.abc import Iterator
from typing import Any

import numpy as np
import scipy.sparse as sp

import noregret as nr
from bench.quality.data import STREAMS
from noregret.cluster.online import learn
from noregret.rounding import down, down_each
from noregret.shards import Shards

LOSS = nr.losses.Logistic()
COUNTS = (1, 2, 8, 32)


def scaled(rows: Any) -> Any:
    """Return rows in units of the largest |x_i|, with a constant 1 as the last feature."""
    units = np.maximum(abs(rows).max(axis=0).toarray().ravel(), 1e-300)
    return sp.csr_matrix(sp.hstack([rows @ sp.diags(1.0 / units), np.ones((rows.shape[0], 1))]))


def learners(radius: float) -> dict[str, nr.MirrorDescent]:
    """Return the learners that are compared, by name."""
    return {
        "adaptive": nr.MirrorDescent(LOSS, nr.mirrors.Ball(radius), nr.rates.Adaptive()),
        "by feature": nr.MirrorDescent(LOSS, nr.mirrors.Euclidean(), nr.rates.PerCoordinate()),
    }


def lines(name: str, X: Any, y: Any, radius: float, every: int, tol: float) -> Iterator[str]:
    """Yield a line a learner and number of shards."""
    n = len(y)
    best = nr.hindsight(X, y, LOSS, radius=radius, tol=tol)
    for word, learner in learners(radius).items():
        # Compile before the clock runs.
        learn([[(X[:9], y[:9])]] * 2, learner, every)
        for count in COUNTS:
            blocks = [[(X[a:b], y[a:b])] for a, b in Shards(count).pieces(n)]
            begin = time.perf_counter()
            run = learn(blocks, learner, every, workers=2)
            seconds = time.perf_counter() - begin
            proof = run.certificate()
            floor = proof.floor(radius)
            assert floor <= best.primal, "a false floor"
            yield (
                f"{name:<10}{n:>9,}{word:>12}{count:>4}{len(run.table):>9,}{run.loss / n:>10.5f}"
                f"{down(down_each(floor, n), 5):>10}{best.dual / n:>10.5f}{best.primal / n:>10.5f}"
                f"{(run.loss - floor) / n:>9.5f}{seconds:>8.2f}"
            )


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(
        prog="python -m bench.online_shards", description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )  # fmt: skip
    parser.add_argument("--radius", type=float, default=10.0, help="of the ball [default: 10]")
    parser.add_argument("--every", type=int, default=100, help="rows of a shard [default: 100]")
    parser.add_argument("--tol", type=float, default=1e-4)
    parser.add_argument("--sets", nargs="*", default=["elec2", "covtype", "a9a"])
    given = parser.parse_args()
    if "NOREGRET_DATA" not in os.environ:
        parser.error("NOREGRET_DATA must name the folder of the real sets")
    print(
        f"radius {given.radius:g}, mixed every {given.every:,} rows of a shard; numbers are a row"
    )
    print(
        f"{'set':<10}{'rows':>9}{'rate':>12}{'K':>4}{'mixings':>9}{'loss':>10}{'floor':>10}"
        f"{'best >=':>10}{'best <=':>10}{'regret':>9}{'seconds':>8}"
    )
    for name in given.sets:
        stream = STREAMS[name]()
        args = given.radius, given.every, given.tol
        for line in lines(name, scaled(stream.rows), stream.y, *args):
            print(line, flush=True)


if __name__ == "__main__":
    main()

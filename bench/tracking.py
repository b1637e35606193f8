"""What tracking costs: projections linear in n, and rounds of sparse C-EG that grow like log n.

`python -m bench.tracking` prints both tables. The projection is that on the simplex with a
floor, of weights with a heavy tail; its slope is d ln(time) / d ln(n), 1 for linear time. C-EG
learns rows of 100 features out of n; its time a round should grow like log2(n), so the last
column is the time a round over log2(n), relative to the first line, and the line that fits best
says what a doubling of n adds. Larger n also leave the caches. Sizes take turns, in which each
learns rows that it has not seen; the best turn counts, in processor time: times are the machine's,
the shape is not.
"""

from __future__ import annotations

import argparse
import math
import time
from collections.abc import Callable

import numpy as np
import scipy.sparse

from noregret import catalogue
from noregret.domains.medians import clipped_multiplier

#: How far the slope of the projection may be from 1.
BAR = 0.15
FEATURES = 100
#: How often each weight is touched, on the average, before C-EG is timed.
WARM = 8


def best_times(runs: dict[int, Callable[[], float]], turns: int) -> dict[int, float]:
    """Return the shortest time of each run, all of them taking turns."""
    best = dict.fromkeys(runs, math.inf)
    for _ in range(turns):
        for n, run in runs.items():
            best[n] = min(best[n], run())
    return best


def slope(times: dict[int, float]) -> float:
    """Return the slope of ln(time) over ln(n) by least squares.

    >>> round(slope({10: 1.0, 100: 10.0}), 6)
    1.0
    """
    sizes = np.log(np.array(list(times), float))
    return float(np.polyfit(sizes, np.log(np.array(list(times.values()))), 1)[0])


def projection(n: int, alpha: float = 0.5) -> Callable[[], float]:
    """Return what times a projection of n weights, a second of work at most."""
    weights = np.random.default_rng(n).pareto(1.0, n)
    repeats = max(1, 10**6 // n)

    def run() -> float:
        total = 0.0
        for _ in range(repeats):
            work = weights.copy()
            begin = time.process_time()
            clipped_multiplier(work, alpha)
            total += time.process_time() - begin
        return total / repeats

    return run


def rounds(n: int, count: int, alpha: float = 0.1) -> Callable[[], float]:
    """Return what times a round of C-EG with 100 features of n, in the middle of a stream."""
    rng = np.random.default_rng(n)
    apart = n // FEATURES
    learner = catalogue.c_eg(alpha, 1.0, dimension=n)

    def run() -> float:
        columns = rng.integers(0, apart, (count, FEATURES)) + apart * np.arange(FEATURES)
        starts = np.arange(0, columns.size + 1, FEATURES)
        shape = (count, n)
        X = scipy.sparse.csr_matrix((rng.random(columns.size), columns.ravel(), starts), shape)
        y = rng.random(count)
        begin = time.process_time()
        learner.learn(X, y)
        return (time.process_time() - begin) / count

    # Heap and groups have the shape that they keep once every weight was touched some times.
    while learner.rounds * FEATURES < WARM * n:
        run()
    return run


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(prog="python -m bench.tracking", description=__doc__)
    parser.add_argument("--largest", type=int, default=10**7, help="weights of a projection")
    parser.add_argument("--rows", type=int, default=20_000, help="rounds of C-EG a turn")
    parser.add_argument("--turns", type=int, default=7)
    arguments = parser.parse_args()
    clipped_multiplier(np.ones(8), 0.5)

    sizes = [10**k for k in range(4, 8) if 10**k <= arguments.largest]
    times = best_times({n: projection(n) for n in sizes}, arguments.turns)
    for n, seconds in times.items():
        print(f"projection, n = {n:>10,}  {1e9 * seconds / n:6.2f} ns a weight")
    found = slope(times)
    verdict = "" if abs(found - 1.0) <= BAR else " (missed)"
    print(f"slope over n {found:.3f}, within {BAR:g} of 1{verdict}")

    sizes = [n for n in (10**4, 31623, 10**5, 316228, 10**6) if n <= arguments.largest]
    times = best_times({n: rounds(n, arguments.rows) for n in sizes}, arguments.turns)
    first = times[sizes[0]] / math.log2(sizes[0])
    for n, seconds in times.items():
        ratio = seconds / math.log2(n) / first
        print(f"C-EG, n = {n:>10,}  {1e6 * seconds:7.1f} us a round  over log2(n): {ratio:.2f}x")
    print(f"slope over n {slope(times):.3f}: 0 is constant, 1 would be a cost of all weights")
    each, start = np.polyfit(np.log2(sizes), 1e6 * np.array(list(times.values())), 1)
    print(f"{start:.1f} us and {each:.2f} us more for every doubling of n")


if __name__ == "__main__":
    main()

"""How long exact Littlestone and VC dimensions take, and where they explode."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator

import numpy as np

from noregret import classes

#: More version spaces or sets of points than that are given up.
SPACES, SETS = 200_000, 100_000_000


def families() -> Iterator[tuple[str, classes.FiniteClass]]:
    rng = np.random.default_rng(0)
    yield "thresholds", classes.thresholds(1000)
    yield "thresholds", classes.thresholds(3000)
    yield "intervals", classes.intervals(62)
    yield "intervals", classes.intervals(90)
    yield "half-planes", classes.half_planes(rng.integers(0, 10**6, (45, 2)))
    yield "half-planes", classes.half_planes(rng.integers(0, 10**6, (64, 2)))
    yield "random, even", classes.FiniteClass(rng.integers(0, 2, (1000, 20)))
    yield "random, even", classes.FiniteClass(rng.integers(0, 2, (4096, 30)))
    yield "random, even", classes.FiniteClass(rng.integers(0, 2, (4096, 60)))
    yield "random, even", classes.FiniteClass(rng.integers(0, 2, (20_000, 40)))
    yield "random, 5% ones", classes.FiniteClass(rng.random((4000, 60)) < 0.05)
    yield (
        "signs of rank 8",
        classes.FiniteClass(rng.normal(size=(5000, 8)) @ rng.normal(size=(8, 50)) > 0),
    )
    yield "all functions", classes.all_functions(14)
    yield "lopsided", classes.lopsided(10)
    for d in (8, 10, 12, 14):
        yield f"disjunctions {d}, 3, 2", classes.disjunctions(d, 3, 2)
    yield "random, even", classes.FiniteClass(rng.integers(0, 2, (2000, 40)))


def timed(ask: Callable[[], int]) -> str:
    start = time.process_time()
    try:
        answer = str(ask())
    except classes.SearchLimit:
        answer = "gave up"
    return f"{answer:>8} {time.process_time() - start:8.2f} s"


def main() -> None:
    classes.vc_dimension(classes.thresholds(3))  # compile
    print(f"{'class':<24}{'|H|':>7}{'|X|':>6}{'Ldim':>10}{'':>11}{'VC':>9}")
    for name, h in families():
        dimension = classes.Littlestone(h, limit=SPACES)
        online = timed(dimension)
        fixed = timed(lambda h=h: classes.vc_dimension(h, limit=SETS))
        print(f"{name:<24}{h.size:>7}{h.points:>6}{online:>21}{fixed:>20}", flush=True)


if __name__ == "__main__":
    main()

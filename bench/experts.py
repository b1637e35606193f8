"""A round of Hedge against one numpy pass over the same experts.

`python -m bench.experts` times a round (check of the costs, mean, mixability gap, new weights and
sums of the certificate) against `w *= exp(-eta * z); w.sum()` in kept arrays, in turns; the bar
is 1.5.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable

import numpy as np

from bench.timing import Line, interleave
from noregret import experts

#: How many times a numpy pass a round may take.
BAR = 1.5
#: So small that no weight becomes a denormal number, which would slow numpy down.
ETA = 1e-3


def contestants(count: int) -> dict[str, Callable[[], object]]:
    """Return a round of each rate and the numpy pass, over `count` experts."""
    costs = np.random.default_rng(0).random(count)
    w, room = np.full(count, 1.0 / count), np.empty(count)

    def plain() -> float:
        # Kept room for what is between: numpy at its best, without asking for pages.
        np.multiply(costs, -ETA, out=room)
        np.exp(room, out=room)
        np.multiply(w, room, out=w)
        return float(w.sum())

    def hedge(eta: float | str) -> Callable[[], float]:
        learner = experts.Hedge(count, eta)
        return lambda: learner.suffer(costs)

    rates: dict[str, float | str] = {
        "Hedge": ETA, "anytime": "anytime", "doubling": "doubling", "AdaHedge": "adaptive"
    }  # fmt: skip
    return {"numpy": plain} | {name: hedge(eta) for name, eta in rates.items()}


def lines(count: int, turns: int) -> list[Line]:
    """Return the ratios, that of the fixed rate beside its bar."""
    times = interleave(contestants(count), turns)
    return [
        Line.of(f"{name} / numpy, d = {count:,}", times, name, "numpy", at_most=limit)
        for name, limit in (
            ("Hedge", BAR),
            ("anytime", None),
            ("doubling", None),
            ("AdaHedge", None),
        )
    ]


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(prog="python -m bench.experts", description=__doc__)
    parser.add_argument("--experts", type=int, default=100_000)
    parser.add_argument("--turns", type=int, default=300)
    arguments = parser.parse_args()
    for line in lines(arguments.experts, arguments.turns):
        what, value, median, bar = line.cells()
        microseconds = 1e6 * (line.seconds or 0.0)
        print(f"{what:<34}{value:>8}  median {median:>7}  {microseconds:7.0f} us  {bar}")


if __name__ == "__main__":
    main()

"""The shifting theorems on random problems: none is violated, none is printed too small."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable

import numpy as np
import pytest

from noregret import catalogue
from noregret.tracking.schedules import Schedule
from tests.sizes import sized
from tests.truth.shifting_problems import Problem, ball, box, judge, simplex

#: Each draws problems for the theorems named.
KINDS: dict[str, tuple[Callable[[np.random.Generator], Problem], list[str]]] = {
    "ball": (ball, ["C-GD", "tracking in a bounded set"]),
    "p-norm": (
        lambda rng: ball(rng, float(rng.choice([3.0, 6.5]))),
        ["shifting p-norm", "tracking in a bounded set"],
    ),
    "box": (
        lambda rng: box(rng, sparse=False),
        ["C-EGU", "C-EGU, sparse comparators", "tracking in a bounded set"],
    ),
    "box, sparse": (
        lambda rng: box(rng, sparse=True),
        ["C-EGU, sparse comparators", "C-EGU, alpha from guesses"],
    ),
    "simplex": (lambda rng: simplex(rng, sparse=False), ["C-EG", "C-EG, range of ln w"]),
    "simplex, sparse": (lambda rng: simplex(rng, sparse=True), ["C-EG, sparse comparators"]),
}


def run(kind: str, count: int) -> Counter[str]:
    """Judge so many problems; return how often each theorem was."""
    draw, names = KINDS[kind]
    tally: Counter[str] = Counter()
    number = 0
    while min((tally[name] for name in names), default=0) < count:
        problem = draw(np.random.default_rng([number, len(kind)]))
        _, judged, false = judge(problem)
        assert not false, f"{kind} {number}: {false}"
        tally.update(judged)
        number += 1
        assert number <= 4 * count, f"{kind}: too few problems are within the theorems: {tally}"
    return tally


@pytest.mark.parametrize("kind", KINDS)
def test_theorems_hold(kind: str) -> None:
    run(kind, sized(6, 25))


def test_rows_far_from_zero() -> None:
    """EG does not see an offset that all features share, however large its exponents are."""
    rng = np.random.default_rng(39)
    X = 3.5 * rng.choice([0.0, 1.0], size=(20, 4)) + rng.choice([-340.0, 340.0], size=(20, 1))
    schedule = Schedule([(0, [0.7, 0.1, 0.1, 0.1]), (9, [0.1, 0.1, 0.1, 0.7])])
    y = np.array([schedule.at(t) @ X[t] for t in range(20)]) + 60 * rng.normal(size=20)
    learner = catalogue.c_eg(0.2, 3.5 * (1 + 1e-9), dimension=4)
    _, judged, false = judge(Problem("C-EG", X, y, learner, schedule, 0.2))
    assert "C-EG" in judged and not false


@pytest.mark.soak
@pytest.mark.parametrize("kind", KINDS)
def test_theorems_hold_a_thousand_times(kind: str) -> None:
    print(kind, dict(run(kind, 1000)))

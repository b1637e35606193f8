"""Where the paper's statements as printed fail: the corrected ones hold, or say why not."""

from __future__ import annotations

import math

import numpy as np
import pytest

import noregret as nr
from noregret import catalogue
from noregret.tracking.potentials import Entropic
from noregret.tracking.schedules import Schedule
from noregret.tracking.shifting import shifting_bounds
from tests.oracles.data import near


def totals(
    learner: nr.MirrorDescent,
    schedule: Schedule,
    X: list[list[float]],
    y: list[float],
    guess: tuple[int, float] | None = None,
) -> dict[str, float | str]:
    """Learn, and return what each bound says in all, or why it says nothing."""
    learner.learn(X, y)
    found = shifting_bounds(learner, schedule, X, y, guess)
    said: dict[str, float | str] = {"loss": found.loss}
    for bound in found.bounds:
        said[bound.name] = found.total(bound) if bound.applies else bound.reason
    return said


def test_signs_of_the_last_comparator() -> None:
    """Printed signs give bounds below 0 here, with a loss of 195."""
    schedule = Schedule([(0, [10.0])])
    learner = catalogue.c_egu(0.1, 1, 1.0, 10.0)
    said = totals(learner, schedule, [[1.0]] * 3, [10.0] * 3, (3, 0.2))
    assert said["loss"] == near(194.895572583)
    assert said["C-EGU"] == near(420.775527898)
    assert said["C-EGU, sparse comparators"] == near(426.775527898)
    assert said["C-EGU, alpha from guesses"] == near(426.775527898)


def test_predictions_must_be_clipped() -> None:
    clipped = catalogue.c_egu(0.01, 1, 1.0, 0.01)
    said = totals(clipped, Schedule([(0, [0.01])]), [[1.0]], [0.0])
    assert said["loss"] == near(0.0001)
    assert said["C-EGU"] == near(0.0286184489442)
    rate, box = nr.rates.Constant(1 / 0.03), nr.domains.Box(0.01, 100.0)
    mirror, loss = nr.mirrors.UnnormalizedEntropy(), nr.losses.Squared()
    learner = nr.MirrorDescent(loss, mirror, rate, box, lazy=False)
    said = totals(learner, Schedule([(0, [0.01])]), [[1.0]], [0.0])
    assert said["loss"] == near(1.0)
    assert "eta is too large" in str(said["C-EGU"])


def test_one_range_for_all_coordinates() -> None:
    """Ranges with an offset of each coordinate's own are not enough: loss 25, printed 1.04."""
    learner = catalogue.c_eg(0.01, 1.0)
    said = totals(learner, Schedule([(0, [0.995, 0.005])]), [[0.0, 10.0]], [0.0])
    assert said["loss"] == near(25.0)
    assert "rows of width 10" in str(said["C-EG"])


def test_negative_features_are_outside() -> None:
    learner = catalogue.c_egu(0.5, 1, 1.0, 1.0)
    said = totals(learner, Schedule([(0, [1.0])]), [[-1.0]], [1.0])
    assert "negative feature" in str(said["C-EGU"])


def test_the_projection_loses_at_most_alpha() -> None:
    """Lemma 17 with its numbers, and on draws."""
    potential = Entropic()

    def sides(alpha: float, w: np.ndarray, u: np.ndarray, after: np.ndarray) -> tuple[float, float]:
        n = len(w)
        moved = nr.domains.Box(alpha / n, n / alpha).project_entropic(w)
        left = potential.divergence(u, w) - potential.divergence(after, moved)
        right = potential.value(u) - potential.value(after) - alpha
        return left, right - math.log(n / alpha) * float(np.abs(u - after).sum())

    found = sides(0.6, np.array([0.02, 0.7, 9]), np.array([0, 0.5, 2.0]), np.array([1.0, 0, 2]))
    assert found == near((1.36675263945, -2.86073045893))
    rng = np.random.default_rng(17)
    for _ in range(500):
        n, alpha = int(rng.integers(1, 5)), float(rng.uniform(0.01, 1.0))
        if n == 1 and alpha == 1.0:
            continue
        w = np.exp(rng.normal(size=n) * 4)
        u, after = rng.uniform(0, n / alpha, (2, n)) * (rng.random((2, n)) < 0.6)
        left, right = sides(alpha, w, u, after)
        assert left >= right - 1e-9 * (1 + abs(right))


def test_vanished_weights_are_said_to_have_vanished() -> None:
    learner = catalogue.eg(nr.losses.Absolute(), 1.0, dimension=2)
    X, y = [[1.0, 0.0]] * 1200, [-1.0] * 1200
    learner.learn(X, y)
    assert learner.weights[0] == 0.0
    schedule = Schedule([(0, [0.0, 1.0]), (1190, [1.0, 0.0])])
    found = shifting_bounds(learner, schedule, X, y)
    exact = next(bound for bound in found.bounds if bound.name == "exact identity")
    assert not exact.applies and "infinitely far" in exact.reason
    assert found.regret == pytest.approx(found.loss - 10 * 2 - 1190 * 1, abs=1e-6)

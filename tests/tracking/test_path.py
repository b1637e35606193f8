"""The best moving predictor in hindsight, against all schedules tried one by one."""

from __future__ import annotations

import functools
import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
from scipy.sparse import csr_array

import noregret as nr
from noregret.tracking.path import HindsightPath, hindsight_path
from noregret.tracking.segments import LANES, cheapest, segment_costs
from tests.sizes import sized, some
from tests.truth.drift_streams import least_squares


class Halved(nr.losses.Squared):
    """A loss that is a square loss by inheritance only."""

    def value(self, y: float, p: float) -> float:
        return 0.5 * (p - y) ** 2


def tiny(seed: int, rounds: int = 13, d: int = 2) -> tuple[np.ndarray, np.ndarray]:
    random = np.random.default_rng(seed)
    return random.normal(size=(rounds, d)), random.normal(size=rounds)


def segment(X: np.ndarray, y: np.ndarray, radius: float) -> float:
    u = least_squares(X, y, np.ones(len(y)), radius)
    return float(np.sum((X @ u - y) ** 2))


@functools.cache
def every_schedule(seed: int, most: int, radius: float) -> list[float]:
    """The best loss on a tiny stream with exactly 0, 1, ... shifts, by trying all of them."""
    X, y = tiny(seed)
    rounds = len(y)
    cost = {
        (a, b): segment(X[a:b], y[a:b], radius)
        for a in range(rounds)
        for b in range(a + 1, rounds + 1)
    }
    return [
        min(
            sum(cost[pair] for pair in itertools.pairwise([0, *cuts, rounds]))
            for cuts in itertools.combinations(range(1, rounds), shifts)
        )
        for shifts in range(most + 1)
    ]


@pytest.mark.each_value
@pytest.mark.parametrize("radius", [0.4, 1.5, None])
@pytest.mark.parametrize("seed", range(3))
def test_no_schedule_is_better(seed: int, radius: float | None) -> None:
    X, y = tiny(seed)
    ball = 1e6 if radius is None else radius
    best = every_schedule(seed, 3, ball)
    for shifts in range(4):
        least = min(best[: shifts + 1])
        path = hindsight_path(X, y, shifts=shifts, radius=radius)
        assert path.exact and path.schedule.shifts <= shifts
        assert path.loss == pytest.approx(least, rel=1e-9, abs=1e-9)
        assert path.lower_bound <= least * (1.0 + 1e-12)
        assert path.gap <= 1e-6 * (1.0 + least)
        if radius is not None:
            assert max(np.linalg.norm(path.schedule.comparators, axis=1)) <= radius
    for penalty in (0.05, 0.5, 5.0):
        least = min(loss + penalty * shifts for shifts, loss in enumerate(best))
        path = hindsight_path(X, y, penalty=penalty, radius=radius)
        # With a small price more shifts than were tried may pay.
        assert path.lower_bound <= least * (1.0 + 1e-12)
        assert path.objective <= least * (1.0 + 1e-9)
        assert path.objective == pytest.approx(path.loss + penalty * path.schedule.shifts)
        assert path.gap <= 1e-6 * (1.0 + least)


@pytest.mark.parametrize("grid", [1, 2, 4, 5, 12])
@pytest.mark.parametrize("seed", range(4))
def test_a_grid_is_bounded_from_both_sides(seed: int, grid: int) -> None:
    X, y = tiny(seed)
    best = every_schedule(seed, 2, 0.8)
    path = hindsight_path(X, y, shifts=2, radius=0.8, grid=grid)
    assert not path.exact and path.cells == grid
    assert path.lower_bound <= min(best) <= path.loss
    price = min(loss + 0.3 * shifts for shifts, loss in enumerate(best))
    path = hindsight_path(X, y, penalty=0.3, radius=0.8, grid=grid)
    assert path.lower_bound <= price


def exact_schedules(x: np.ndarray, y: np.ndarray, radius: float) -> list[Fraction]:
    """The best loss of one feature with exactly 0, 1, ... shifts, in fractions."""
    rounds = len(y)
    costs = {}
    for first, stop in itertools.combinations(range(rounds + 1), 2):
        pairs = [(Fraction(a), Fraction(b)) for a, b in zip(x[first:stop], y[first:stop])]  # noqa: B905
        square = sum(a * a for a, _ in pairs)
        u = sum(a * b for a, b in pairs) / square if square else Fraction(0)
        u = max(min(u, Fraction(radius)), -Fraction(radius))
        costs[first, stop] = sum(((u * a - b) ** 2 for a, b in pairs), Fraction(0))
    return [
        min(
            sum(costs[pair] for pair in itertools.pairwise([0, *cuts, rounds]))
            for cuts in itertools.combinations(range(1, rounds), shifts)
        )
        for shifts in range(rounds)
    ]


@pytest.mark.parametrize("seed", some(range(40), 9))
def test_bounds_are_true_in_fractions_whatever_the_scale(seed: int) -> None:
    """Squares of what is left of a gradient underflowed, and the bound was above the optimum."""
    random = np.random.default_rng(seed)
    rows, targets = random.uniform(-99, 99, 2)
    x, y = random.normal(size=7) * 10.0**rows, random.normal(size=7) * 10.0**targets
    if seed % 2:
        x *= 10.0 ** random.uniform(-30, 0, 7)
    radius = float(10.0 ** (targets - rows + random.uniform(-2, 2)))
    best = exact_schedules(x, y, radius)
    for grid in (None, 3):
        for shifts in (0, 1, 3):
            path = hindsight_path(x[:, None], y, shifts=shifts, radius=radius, grid=grid)
            assert Fraction(path.lower_bound) <= min(best[: shifts + 1]) <= Fraction(path.loss)
        for penalty in (0.0, float(10.0 ** (2 * targets)), 1e300, 5e-324):
            least = min(loss + Fraction(penalty) * shifts for shifts, loss in enumerate(best))
            path = hindsight_path(x[:, None], y, penalty=penalty, radius=radius, grid=grid)
            assert Fraction(path.lower_bound) <= least <= Fraction(path.objective)


def test_small_numbers_have_the_bound_of_large_ones() -> None:
    X, y = tiny(8)
    one = hindsight_path(X, y, shifts=2, radius=0.7)
    small = hindsight_path(X * 2.0**-300, y * 2.0**-320, shifts=2, radius=0.7 * 2.0**-20)
    assert small.lower_bound == pytest.approx(one.lower_bound * 2.0**-640, rel=1e-12)
    assert small.lower_bound > 0.0


@pytest.mark.compiled
def test_change_points_are_found_within_a_cell_of_a_long_stream() -> None:
    random = np.random.default_rng(5)
    X = random.normal(size=(6000, 3))
    u = np.array([[1.0, 0.0, 0.5], [-1.0, 0.3, 0.0], [0.0, 1.0, 1.0]])
    which = np.searchsorted([1490, 4021], np.arange(6000), side="right")
    y = np.einsum("td,td->t", X, u[which]) + 0.1 * random.normal(size=6000)
    path = hindsight_path(csr_array(X), y, shifts=2, grid=300)
    assert path.cells == 300
    np.testing.assert_allclose(path.schedule.starts, [0, 1490, 4021], atol=20)
    np.testing.assert_allclose(path.schedule.comparators, u, atol=0.05)
    fixed = hindsight_path(X, y, shifts=0, grid=300)
    assert path.loss < 0.2 * fixed.loss
    assert 0.75 * path.loss < path.lower_bound <= path.loss
    assert fixed.loss == pytest.approx(segment(X, y, math.inf), rel=1e-9)


def test_shifting_regret_can_be_measured() -> None:
    """The loss of a tracker lies above the bound for schedules with enough shifts to follow it."""
    random = np.random.default_rng(6)
    n = sized(140, 400)
    X = random.normal(size=(n, 2))
    y = np.where(np.arange(n) < n // 2, X[:, 0], -X[:, 0])
    learner = nr.MirrorDescent(
        nr.losses.Squared(), nr.mirrors.Euclidean(), nr.rates.Constant(0.05),
        nr.domains.Ball(1.0), lazy=False,
    )  # fmt: skip
    learner.learn(X, y)
    path = hindsight_path(X, y, shifts=1, radius=1.0)
    assert path.schedule.starts == (0, n // 2)
    assert path.loss < 1e-8
    assert learner.certificate().loss > path.loss


@pytest.mark.compiled
@pytest.mark.parametrize("count", [6, LANES + 3])
def test_the_kernel_is_what_was_written(count: int) -> None:
    random = np.random.default_rng(7)
    rows = random.normal(size=(count, 4))
    cells = np.einsum("ti,tj->tij", rows, rows)
    for radius in (0.5, math.inf):
        jitted, written = segment_costs(cells, radius), segment_costs.py_func(cells, radius)
        np.testing.assert_allclose(jitted, written, rtol=1e-9, atol=1e-9)


def test_degenerate_rows() -> None:
    path = hindsight_path(np.zeros((5, 2)), np.ones(5), shifts=2)
    assert path.loss == pytest.approx(5.0) and path.lower_bound == pytest.approx(5.0)
    one = hindsight_path([[2.0]], [4.0], shifts=3)
    assert one.schedule.starts == (0,) and one.loss < 1e-12
    tied = hindsight_path(np.ones((6, 3)), [1.0, 1.0, 1.0, 3.0, 3.0, 3.0], shifts=1)
    assert tied.schedule.starts == (0, 3) and tied.loss < 1e-9


def test_the_cheapest_way_by_hand() -> None:
    costs = np.array([[0.0, 1.0, 9.0], [0.0, 0.0, 4.0], [0.0, 0.0, 0.0]])
    assert cheapest(costs, 0, 0.0, 0) == ([0], 9.0)
    assert cheapest(costs, 1, 0.0, 0) == ([0, 2], 1.0)
    assert cheapest(costs, 9, 0.0, 0)[1] == 0.0
    # A change leaves the cell out in which it happens.
    assert cheapest(costs, 1, 0.0, 1)[1] == 0.0
    assert cheapest(costs, None, 2.0, 0) == ([0, 2], 3.0)
    assert cheapest(costs, None, 20.0, 1) == ([0], 9.0)


def test_what_it_says() -> None:
    X, y = np.ones((60, 1)), np.repeat([1.0, -1.0, 2.0], 20)
    text = str(hindsight_path(X, y, shifts=2, radius=2.0))
    assert "at most 2 shifts, changing at any round" in text
    assert "no schedule has less (norms <= 2)" in text
    assert "rounds 21 to 40: norm 1" in text
    text = str(hindsight_path(X, y, penalty=0.5, grid=12))
    assert "0.5 for each shift, changing at the edges of 12 cells" in text
    assert "loss and price" in text
    assert isinstance(hindsight_path(X, y, shifts=0), HindsightPath)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({}, "give shifts= or penalty="),
        ({"shifts": 1, "penalty": 1.0}, "give shifts= or penalty="),
        ({"shifts": -1}, "shifts must be a whole number >= 0"),
        ({"shifts": 1.5}, "shifts must be a whole number >= 0"),
        ({"penalty": -1.0}, "penalty must be a finite number >= 0"),
        ({"penalty": math.nan}, "penalty must be a finite number >= 0"),
        ({"penalty": "0.5"}, "penalty must be a number, got '0.5'"),
        ({"shifts": 1, "radius": 0.0}, "radius must be a finite number above 0"),
        ({"shifts": 1, "grid": 0}, "grid must be a whole number >= 1"),
        ({"shifts": 1, "loss": nr.losses.Hinge()}, "knows the square loss only"),
        ({"shifts": 1, "loss": Halved()}, "knows the square loss only, got Halved()"),
    ],
)
def test_one_line_says_what_is_wrong(options: dict[str, object], words: str) -> None:
    with pytest.raises(ValueError, match=words):
        hindsight_path(np.ones((3, 1)), [1.0, 2.0, 3.0], **options)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="expected some of both"):
        hindsight_path(np.ones((0, 1)), [], shifts=1)

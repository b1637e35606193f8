"""Projections: the paper's numbers, repeated medians against sorting, Pythagoras."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from noregret.domains import ClippedSimplex, PNormBall
from noregret.domains.medians import (
    careful_pivot,
    clipped_multiplier,
    left_mass,
    sampled_pivot,
    visit,
)
from noregret.tracking.potentials import (
    Entropic,
    PNormSquare,
    Potential,
    SimplexEntropic,
    Square,
)
from noregret.tracking.projections import project_affine, project_halfspace, project_hyperplane
from tests.oracles.data import near
from tests.sizes import sized

W = np.array([0.2, 0.3, 0.5])
X = np.array([1.0, 0.0, 2.0])
POTENTIALS = (Square(), Entropic(), SimplexEntropic())
seeds = st.integers(0, 2**32 - 1)


def sorted_projection(w: np.ndarray, alpha: float) -> np.ndarray:
    """The projection on the floored simplex by sorting, written down as in the paper's claims."""
    n, phi = len(w), alpha / len(w)
    ordered = np.sort(w)
    for k in range(n):
        m = (1 - k * phi) / math.fsum(ordered[k:])
        if m * ordered[k] >= phi or k == n - 1:
            return np.maximum(phi, m * w)
    raise AssertionError("n is at least 1")


def figure_3(w: np.ndarray, alpha: float) -> list[tuple[float, int, float]]:
    """The pivots visited by the compiled steps: omega, components clipped before it, m0."""
    work, low, high, clipped, kept, lost = w.copy(), 0, len(w), 0, 0.0, 0.0
    visits = []
    while low < high:
        pivot = float(sampled_pivot(work, low, high))
        below = clipped + int(np.sum(work[low:high] < pivot))
        low, high, clipped, kept, lost, m0 = visit(
            work, low, high, alpha, clipped, kept, lost, pivot
        )
        visits.append((pivot, below, float(m0)))
    assert left_mass(alpha, len(w), clipped) / (kept + lost) == clipped_multiplier(w.copy(), alpha)
    return visits


# The floored simplex


@pytest.mark.parametrize(
    ("w", "alpha", "visits"),
    [
        ((0.7, 0.2, 0.06, 0.04), 0.4, [(0.06, 1, 0.9375), (0.2, 2, 0.888888888889)]),
        (
            (0.25, 0.25, 0.25, 0.15, 0.1),
            0.9,
            [(0.25, 2, 0.853333333333), (0.1, 0, 1.0), (0.15, 1, 0.911111111111)],
        ),
        ((0.9, 0.05, 0.05), 0.3, [(0.05, 0, 1.0), (0.9, 2, 0.888888888889)]),
    ],
)
def test_the_medians_that_are_visited(w: tuple[float, ...], alpha: float, visits: list) -> None:  # type: ignore[type-arg]
    got = figure_3(np.array(w), alpha)
    assert [one[:2] for one in got] == [one[:2] for one in visits]
    assert [one[2] for one in got] == near([one[2] for one in visits])


@given(
    seeds,
    st.integers(1, sized(100, 400)),
    st.sampled_from([1e-9, 0.1, 0.5, 0.9, 1 - 2**-53, 1.0]),
)
def test_medians_against_sorting(seed: int, n: int, alpha: float) -> None:
    rng = np.random.default_rng(seed)
    w = [
        rng.pareto(0.3, n),
        rng.choice([0.0, 0.1, 0.2, 1.0], n) + 1e-3,
        10.0 ** rng.uniform(-150, 150, n),
        np.sort(rng.random(n)),
    ][seed % 4]
    # Far apart weights sum to no more than the largest double.
    unit = w / w.max()
    got = np.maximum(alpha / n, clipped_multiplier(unit.copy(), alpha) * unit)
    assert got == pytest.approx(sorted_projection(unit, alpha), rel=1e-13)
    assert math.fsum(got) == pytest.approx(1.0, abs=1e-14)
    assert ClippedSimplex(alpha).project_entropic(w) == pytest.approx(got, rel=1e-15)


def test_zeros_and_one_large() -> None:
    for n in (2, 7, 64, 1000):
        w = np.zeros(n)
        w[n // 2] = 1.0
        got = ClippedSimplex(0.5).project_entropic(w)
        assert got[n // 2] == near(1 - 0.5 * (n - 1) / n)
        assert np.delete(got, n // 2) == near(np.full(n - 1, 0.5 / n))


def test_pivots_that_leave_nearly_all_are_followed_by_careful_ones() -> None:
    """An input built against the sample: its pivots are the smallest weights that are left."""
    n = 3000
    w = np.linspace(2.0, 3.0, n)
    low, rank = 0, 1.0
    while n - low > 25:
        # The places that the sample looks at get the smallest values so far.
        step = (n - low) // 25
        for k in range(low, low + 25 * step, step):
            w[k] = rank * 1e-6
            rank += 1.0
        low += 25
    steps, work, high, clipped, kept, lost = 0, w.copy(), n, 0, 0.0, 0.0
    low, careful = 0, False
    scanned = 0
    while low < high:
        pivot = (careful_pivot if careful else sampled_pivot)(work, low, high)
        count = high - low
        scanned += count
        low, high, clipped, kept, lost, _ = visit(
            work, low, high, 1e-3, clipped, kept, lost, float(pivot)
        )
        careful = high - low > 0.75 * count
        steps += 1
    assert scanned <= 8 * n and steps <= 60
    m = clipped_multiplier(w.copy(), 1e-3)
    assert np.maximum(1e-3 / n, m * w) == pytest.approx(sorted_projection(w, 1e-3), rel=1e-13)


def test_careful_pivots_halve_every_range() -> None:
    """However the weights lie, so many careful steps settle them all."""
    rng = np.random.default_rng(0)
    for w in (
        10.0 ** rng.uniform(-300, 0, sized(400, 2000)),
        np.nextafter(1.0, 2.0) ** np.arange(float(sized(400, 2000))),
        np.concatenate([np.zeros(5), [5e-324, 1e-310, 1.0]]),
    ):
        low, high, clipped, kept, lost, steps = 0, len(w), 0, 0.0, 0.0, 0
        work = w.copy()
        while low < high:
            pivot = float(careful_pivot(work, low, high))
            low, high, clipped, kept, lost, _ = visit(
                work, low, high, 0.5, clipped, kept, lost, pivot
            )
            steps += 1
        assert steps <= 70
        got = np.maximum(0.5 / len(w), left_mass(0.5, len(w), clipped) / (kept + lost) * w)
        assert got == pytest.approx(sorted_projection(w, 0.5), rel=1e-13)


# Balls of other norms


@given(seeds, st.sampled_from([2.0, 2.5, 4.0, 10.0]), st.sampled_from([1e-3, 1.0, 50.0]))
def test_balls_of_the_p_norm(seed: int, p: float, radius: float) -> None:
    rng = np.random.default_rng(seed)
    ball, potential = PNormBall(p, radius), PNormSquare(p)
    w, u = rng.normal(size=(2, 5)) * 3
    u = ball.project_norm(u) * rng.choice([1.0, rng.random()])
    v = ball.project_norm(w)
    assert ball.contains(v, 1e-14) and ball.contains(u, 1e-14)
    assert ball.project_norm(v) == pytest.approx(v, rel=1e-14)
    whole, parts = (
        potential.divergence(u, w),
        potential.divergence(u, v) + potential.divergence(v, w),
    )
    assert whole >= parts - 1e-12 * max(1.0, whole)
    variation = float((potential.gradient(v) - potential.gradient(w)) @ (u - v))
    assert variation >= -1e-11 * max(1.0, radius) ** 2
    q = p / (p - 1)
    assert float(np.sum(np.abs(u) ** q) ** (1 / q)) <= radius * (1 + 1e-12)
    assert float(u @ w) <= ball.support(w) * (1 + 1e-12)
    # The support is attained where the gradient of G points.
    best = potential.link(w) * (radius / potential.shift_norm(potential.link(w)))
    assert float(best @ w) == pytest.approx(ball.support(w), rel=1e-12)


def test_a_ball_of_the_p_norm_refuses() -> None:
    with pytest.raises(ValueError, match="no Euclidean projection"):
        PNormBall(3, 1).project([1.0])
    with pytest.raises(ValueError, match="p must be a finite number >= 2"):
        PNormBall(1.5, 1)
    with pytest.raises(ValueError, match="radius must be a finite number above 0"):
        PNormBall(3, 0)
    assert PNormBall(3, 1).project_norm([0.0]).tolist() == [0.0]
    assert not PNormBall(3, 1).contains([math.inf])


# Hyperplanes, half-spaces, affine sets


def test_hyperplanes_of_the_paper() -> None:
    assert project_hyperplane(Square(), W, X, 1) == near([0.16, 0.3, 0.42])
    assert project_hyperplane(Entropic(), W, X, 1) == near([0.180997512422, 0.3, 0.409501243789])
    p = project_hyperplane(SimplexEntropic(), W, X, 1)
    assert p == near([0.205213096158, 0.397393451921, 0.397393451921])
    u, D = np.array([0.4, 0.3, 0.3]), SimplexEntropic().divergence
    assert (D(u, W), D(u, p), D(p, W)) == near((0.124011185094, 0.098279618951, 0.0257315661432))


def instance(potential: Potential, seed: int, rows: int = 1) -> tuple[np.ndarray, ...]:
    """Draw w, A and a u inside the potential's set; A u is the right-hand side."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(rows + 1, 7))
    A = rng.normal(size=(rows, n)) * rng.choice([0.1, 1.0, 10.0])
    if isinstance(potential, SimplexEntropic):
        w, u = rng.dirichlet(np.ones(n), 2) * 0.99 + 0.01 / n
    elif isinstance(potential, Entropic):
        w, u = rng.gamma(1.0, size=(2, n)) + 1e-2
    else:
        w, u = rng.normal(size=(2, n))
    return w, A, u


def scale_of(*numbers: float) -> float:
    return max(1.0, *map(abs, numbers))


@given(st.sampled_from(POTENTIALS), seeds)
def test_projections_on_hyperplanes(potential: Potential, seed: int) -> None:
    w, (x,), u = instance(potential, seed)
    y = float(x @ u)
    p = project_hyperplane(potential, w, x, y)
    assert float(x @ p) == pytest.approx(y, rel=1e-12, abs=1e-12 * float(np.abs(x) @ np.abs(p)))
    D = potential.divergence
    assert D(u, w) == pytest.approx(D(u, p) + D(p, w), rel=1e-9, abs=1e-9)
    assert project_hyperplane(potential, p, x, y) == pytest.approx(p, rel=1e-9, abs=1e-12)
    assert D(p, w) <= D(u, w) + 1e-12 * scale_of(D(u, w))
    if isinstance(potential, SimplexEntropic):
        assert p.sum() == pytest.approx(1.0, abs=1e-14)
    else:
        assert np.array_equal(p[x == 0], w[x == 0])


@given(st.sampled_from(POTENTIALS), seeds, st.sampled_from([0.0, 0.1, 1.0]))
def test_projections_on_half_spaces(potential: Potential, seed: int, room: float) -> None:
    w, (x,), u = instance(potential, seed)
    y = float(x @ u) + room
    p = project_halfspace(potential, w, x, y)
    assert float(x @ p) <= y + 1e-12 * float(np.abs(x) @ np.abs(p))
    if float(x @ w) <= y:
        assert np.array_equal(p, w)
    D = potential.divergence
    assert D(u, w) >= D(u, p) + D(p, w) - 1e-9 * scale_of(D(u, w))
    again = project_halfspace(potential, p, x, y)
    assert again == pytest.approx(p, rel=1e-9, abs=1e-11)
    variation = float((potential.gradient(p) - potential.gradient(w)) @ (u - p))
    assert variation >= -1e-9 * scale_of(D(u, w))


@given(st.sampled_from(POTENTIALS), seeds)
def test_projections_on_affine_sets(potential: Potential, seed: int) -> None:
    w, A, u = instance(potential, seed, rows=2)
    b = A @ u
    p = project_affine(potential, w, A, b)
    assert A @ p == pytest.approx(b, rel=1e-9, abs=1e-9 * float(np.abs(A).max()))
    D = potential.divergence
    assert D(u, w) == pytest.approx(D(u, p) + D(p, w), rel=1e-7, abs=1e-8)
    assert project_affine(potential, p, A, b) == pytest.approx(p, rel=1e-7, abs=1e-9)


@pytest.mark.parametrize("potential", POTENTIALS, ids=str)
def test_one_row_is_a_hyperplane(potential: Potential) -> None:
    whole = project_affine(potential, W, [X], [1.0])
    assert whole == pytest.approx(project_hyperplane(potential, W, X, 1.0), rel=1e-10)
    doubled = project_affine(potential, W, [X, 2 * X], [1.0, 2.0])
    assert doubled == pytest.approx(whole, rel=1e-8)


@pytest.mark.parametrize("shift", [1.0, -30.0, 1000.0])
def test_on_the_simplex_a_constant_may_be_added_to_both_sides(shift: float) -> None:
    # Components of sum 1: <x + c, u> = y + c is the same set.
    simplex, A, b = SimplexEntropic(), np.array([X, [0.0, 1.0, 0.0]]), np.array([1.0, 0.4])
    plain = project_affine(simplex, W, A, b)
    assert plain == near([0.2, 0.4, 0.4])
    assert project_affine(simplex, W, A + shift, b + shift) == pytest.approx(plain, rel=1e-9)
    one = project_affine(simplex, W, A[:1], b[:1])
    assert project_affine(simplex, W, A[:1] + shift, b[:1] + shift) == pytest.approx(one, rel=1e-9)


def test_projections_that_do_not_exist() -> None:
    for y in (0.0, 2.0, 3.0):
        with pytest.raises(ValueError, match="holds for no u > 0"):
            project_hyperplane(SimplexEntropic(), W, X, y)
    for y in (0.0, -1.0):
        with pytest.raises(ValueError, match="holds for no u > 0"):
            project_hyperplane(Entropic(), W, X, y)
    with pytest.raises(ValueError, match="holds for no u > 0"):
        project_hyperplane(Entropic(), [1.0, 0.0], [1.0, -1.0], -1.0)
    with pytest.raises(ValueError, match="not 0"):
        project_hyperplane(Square(), W, [0, 0, 0], 1)
    with pytest.raises(ValueError, match="x has 2 components, expected 3"):
        project_hyperplane(Square(), W, [1, 0], 1)
    for potential in POTENTIALS:
        with pytest.raises(ValueError, match="holds for no u inside"):
            project_affine(potential, W, [X, X], [0.9, 1.0])
    with pytest.raises(ValueError, match="shape"):
        project_affine(Square(), W, [[1.0, 2.0]], [1.0])
    with pytest.raises(ValueError, match="no projection here"):
        project_hyperplane(PNormSquare(3.0), W, X, 1.0)
    with pytest.raises(ValueError, match="zeros only"):
        project_hyperplane(Entropic(), [0.0], [1.0], 1.0)


def test_far_hyperplanes() -> None:
    p = project_hyperplane(Entropic(), [1e-200, 1.0], [1.0, 0.0], 1e200)
    assert p == pytest.approx([1e200, 1.0], rel=1e-12)
    p = project_hyperplane(SimplexEntropic(), [1 - 1e-12, 1e-12], [0.0, 1.0], 1 - 1e-9)
    assert p == pytest.approx([1e-9, 1 - 1e-9], rel=1e-6)

"""Potentials: the paper's numbers, what a divergence is, digits where u is close to w."""

from __future__ import annotations

import math

import mpmath
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from noregret import mirrors
from noregret.tracking.potentials import (
    Entropic,
    PNormSquare,
    Potential,
    SimplexEntropic,
    Square,
    entropy,
    potential_of,
)
from tests.oracles.data import near

U = np.array([0.7, 0.1, 0.2])
POTENTIALS = (Square(), PNormSquare(3.0), Entropic(), SimplexEntropic())
seeds = st.integers(0, 2**32 - 1)


def draw(potential: Potential, rng: np.random.Generator, n: int = 4) -> np.ndarray:
    """Draw a point of the interior of the potential's set."""
    if isinstance(potential, SimplexEntropic):
        return rng.dirichlet(np.ones(n))
    if isinstance(potential, Entropic):
        return rng.gamma(1.0, size=n) + 1e-6
    return rng.normal(size=n)


def test_numbers_of_the_paper() -> None:
    w = [0.2, 0.3, 0.5]
    assert Square().divergence(U, w) == near(0.19)
    assert SimplexEntropic().divergence(U, w) == near(0.583814702705)
    assert Entropic().divergence(U, [0.5, 1.5, 0.25]) == near(1.17009683526)
    assert entropy(U) == near(0.801818552543)
    assert Entropic().value(U) == near(-1.80181855254)
    assert Square().value(U) == near(0.27)
    for potential in (Entropic(), SimplexEntropic()):
        assert potential.divergence([1, 0, 0], [0.5, 0.25, 0.25]) == near(0.69314718056)
    assert Entropic().divergence([1.0], [1e-300]) == near(689.775527898)


def test_components_that_are_zero() -> None:
    assert Entropic().divergence([0.0, 1.0], [3.0, 1.0]) == 3.0
    assert Entropic().divergence([0.0], [0.0]) == 0.0
    assert Entropic().divergence([1.0], [0.0]) == math.inf
    assert entropy([0.0, 2.0]) == near(-2 * math.log(2))
    with pytest.raises(ValueError, match="weights >= 0"):
        Entropic().divergence([-1.0], [1.0])


@given(st.sampled_from(POTENTIALS), seeds)
def test_divergences(potential: Potential, seed: int) -> None:
    """D is what its definition says, not negative, and zero at u = w; the link inverts grad F."""
    rng = np.random.default_rng(seed)
    u, w = draw(potential, rng), draw(potential, rng)
    gradient = potential.gradient(w)
    direct = potential.value(u) - potential.value(w) - float((u - w) @ gradient)
    assert potential.divergence(u, w) == pytest.approx(direct, rel=1e-9, abs=1e-12)
    assert potential.divergence(u, w) >= 0.0
    assert potential.divergence(w, w) == pytest.approx(0.0, abs=1e-14)
    assert potential.link(gradient) == pytest.approx(w, rel=1e-12, abs=1e-14)


@pytest.mark.parametrize("potential", POTENTIALS, ids=str)
def test_gradients_against_differences(potential: Potential) -> None:
    w = draw(potential, np.random.default_rng(3))
    for i, slope in enumerate(potential.gradient(w)):
        h = 1e-6 * abs(w[i])
        up, down = w.copy(), w.copy()
        up[i] += h
        down[i] -= h
        difference = (potential.value(up) - potential.value(down)) / (2 * h)
        assert slope == pytest.approx(difference, rel=1e-6, abs=1e-7)


@given(st.floats(1e-9, 1e9), st.floats(-1e-7, 1e-7))
def test_digits_close_to_w(w: float, part: float) -> None:
    """The error is a rounding of |u - w|, not of u."""
    u = w * (1 + part)
    with mpmath.workdps(60):
        a, b = mpmath.mpf(u), mpmath.mpf(w)
        exact = float(a * mpmath.log(a / b) + b - a)
    assert abs(Entropic().divergence([u], [w]) - exact) <= 4 * 2.0**-52 * abs(u - w)


@given(st.sampled_from(POTENTIALS), seeds)
def test_shift_norms(potential: Potential, seed: int) -> None:
    """<u - u', grad F(w)> <= shift_norm(w) ||u - u'||, in the norm of a schedule's size."""
    rng = np.random.default_rng(seed)
    step = draw(potential, rng) - draw(potential, rng)
    w = draw(potential, rng)
    exponent = 1.0 if isinstance(potential, Entropic) else 2.0
    if isinstance(potential, PNormSquare):
        exponent = potential.p / (potential.p - 1.0)
    size = float(np.sum(np.abs(step) ** exponent) ** (1 / exponent))
    bound = potential.shift_norm(w) * size
    assert float(step @ potential.gradient(w)) <= bound * (1 + 1e-12) + 1e-12


def test_the_half_range_on_the_simplex() -> None:
    w, q = np.array([0.05, 0.15, 0.8]), np.array([0.6, -0.1, -0.5])
    potential = SimplexEntropic()
    assert float(-potential.gradient(w) @ q) == near(1.49615558999)
    assert potential.shift_norm(w) * np.abs(q).sum() == near(1.66355323334)
    assert Entropic().shift_norm(w) * np.abs(q).sum() / 2 == near(1.79743936413)


def test_sets_of_bounded_gradient() -> None:
    """[alpha/n, n/alpha] is one; with a finite exponent such a set need not be convex."""
    logs = Entropic().gradient([0.4 / 4, 4 / 0.4])
    assert np.abs(logs) == near([2.30258509299, 2.30258509299])
    a, b = np.array([math.e**3, 1.0]), np.array([1.0, math.e**3])
    norms = [float(np.linalg.norm(Entropic().gradient(w))) for w in (a, b, (a + b) / 2)]
    assert norms == near([3.0, 3.0, 3.33109543521])


def test_p_norm_potential() -> None:
    w = np.array([3.0, -4.0, 0.0])
    assert PNormSquare(2.0).gradient(w) == near(w)
    for p in (2.0, 2.5, 6.0):
        potential = PNormSquare(p)
        theta = potential.gradient(w)
        dual = float(np.sum(np.abs(theta) ** p) ** (1 / p))
        assert dual == near(potential.shift_norm(w))
        assert float(theta @ w) == near(2 * potential.value(w))
        assert potential.gradient(3 * w) == near(3 * theta)
        assert potential.gradient(1e-200 * w) == near(1e-200 * theta)
    assert PNormSquare(3.0).gradient([0.0, 0.0]).tolist() == [0, 0]
    with pytest.raises(ValueError, match="finite number >= 2"):
        PNormSquare(1.5)


def test_the_potential_of_a_map() -> None:
    assert potential_of(mirrors.Euclidean()) == Square()
    assert potential_of(mirrors.PNorm(3)) == PNormSquare(3.0)
    assert potential_of(mirrors.UnnormalizedEntropy()) == Entropic()
    assert potential_of(mirrors.Entropy()) == SimplexEntropic()
    with pytest.raises(ValueError, match="SignedEntropy has no potential here"):
        potential_of(mirrors.SignedEntropy())

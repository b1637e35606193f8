"""The floor under all fixed predictors of a ball."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction
from typing import Any
from unittest import mock

import numpy as np
import pytest
from scipy.sparse import csr_array

import noregret as nr
from noregret.rows.examples import as_rows
from noregret.tracking import static
from noregret.tracking.static import (
    BLOCK,
    LARGEST_WIDTH,
    Moments,
    products,
    row_norms,
    static_floor,
)
from tests.truth.drift_streams import least_squares

SQUARED = nr.losses.Squared()


def problem(seed: int, rounds: int = 200, d: int = 6) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    random = np.random.default_rng(seed)
    X = random.normal(size=(rounds, d)) * 10.0 ** random.uniform(-1, 1, d)
    X[random.random((rounds, d)) < 0.4] = 0.0
    y = X @ random.normal(size=d) + random.normal(size=rounds)
    return X, y, random.uniform(0.0, 3.0, rounds)


def moments_of(X: Any, y: np.ndarray, weight: np.ndarray | None = None) -> Moments:
    moments = Moments()
    moments.add(X, y, weight)
    return moments


@pytest.mark.parametrize("radius", [1e-3, 0.1, 1.0, 3.0, 1e3])
@pytest.mark.parametrize("seed", range(4))
def test_the_floor_is_the_optimum_over_the_ball(seed: int, radius: float) -> None:
    X, y, weight = problem(seed)
    u = least_squares(X, y, weight, radius)
    assert np.linalg.norm(u) <= radius * (1.0 + 1e-9)
    best = float(weight @ (X @ u - y) ** 2)
    for floor in (
        moments_of(X, y, weight).floor(radius),
        static_floor(X, y, SQUARED, radius, weight),
    ):
        assert best * (1.0 - 1e-7) <= floor <= best * (1.0 + 1e-12)


def test_the_least_norm_solution_where_features_hang_together() -> None:
    X, y, _ = problem(1)
    twice = np.hstack([X, X])
    once, both = moments_of(X, y), moments_of(twice, y)
    reach = float(np.linalg.norm(once.minimizer(math.inf)))
    # Half of each weight on either copy: shorter by the square root of two.
    assert both.floor(reach / math.sqrt(2.0) * 1.001) == pytest.approx(once.floor(reach), rel=1e-9)


def test_the_proof_does_not_depend_on_the_solver() -> None:
    X, y, weight = problem(2)
    random = np.random.default_rng(0)
    best = weight @ (X @ least_squares(X, y, weight, 2.0) - y) ** 2
    moments = moments_of(X, y, weight)
    for size in (0.0, 0.01, 1.0, 2.0, 100.0):
        v = size * random.normal(size=X.shape[1])
        with mock.patch.object(Moments, "minimizer", lambda self, radius, v=v: v):
            assert 0.0 <= moments.floor(2.0) <= best


def test_every_layout_and_every_cut_gives_the_same_moments() -> None:
    X, y, weight = problem(3, rounds=2 * BLOCK + 77)
    whole = moments_of(X, y, weight)
    sparse = moments_of(csr_array(X), y, weight)
    cut = Moments()
    for start in range(0, len(y), 300):
        part = slice(start, start + 300)
        cut.add(csr_array(X[part]), y[part], weight[part])
    for other in (sparse, cut):
        assert other.rounds == whole.rounds
        np.testing.assert_allclose(other.matrix, whole.matrix, rtol=1e-12)
        assert other.floor(1.0) == pytest.approx(whole.floor(1.0), rel=1e-9)
    single = moments_of(X.astype(np.float32), y, weight)
    exact = moments_of(X.astype(np.float32).astype(np.float64), y, weight)
    assert np.array_equal(single.matrix, exact.matrix)


def test_crowded_blocks_become_dense_and_change_nothing() -> None:
    X, y, weight = problem(8, rounds=60)
    rows = as_rows(csr_array(X))
    for share, kind in ((0.0, np.ndarray), (1.0, csr_array)):
        with mock.patch.object(static, "MOST_SPARSE", share):
            assert all(isinstance(matrix, kind) for matrix, _ in static._matrices(rows))
            np.testing.assert_allclose(
                moments_of(csr_array(X), y, weight).matrix,
                moments_of(X, y, weight).matrix,
                rtol=1e-12,
                atol=1e-12,
            )


def test_features_may_come_later() -> None:
    X, y, _ = problem(4)
    grown = Moments()
    narrow = X.copy()
    narrow[:50, 3:] = 0.0
    grown.add(narrow[:50, :3], y[:50])
    grown.add(narrow[50:], y[50:])
    np.testing.assert_allclose(grown.matrix, moments_of(narrow, y).matrix, rtol=1e-12, atol=1e-12)
    grown.add(narrow[:10, :2], y[:10])
    assert grown.width == X.shape[1]


def test_what_cannot_be_known_is_zero() -> None:
    huge = moments_of(np.full((3, 2), 1e100), np.full(3, 1e100), np.full(3, 1e99))
    assert huge.floor(1.0) == 0.0 and huge.floor(1e200) == 0.0
    assert moments_of(np.zeros((4, 2)), np.ones(4)).floor(5.0) == pytest.approx(4.0)
    assert moments_of(np.zeros((4, 0)), np.ones(4)).floor(5.0) == pytest.approx(4.0)
    assert Moments().floor(1.0) == 0.0


def test_too_many_features_for_moments() -> None:
    wide = csr_array((np.ones(1), ([0], [LARGEST_WIDTH])), shape=(1, LARGEST_WIDTH + 1))
    with pytest.raises(ValueError, match="2,049 columns: second moments are kept of 2,048"):
        Moments().add(wide, [1.0])
    # In memory the dual of the batch solver takes over.
    assert static_floor(wide, [3.0], SQUARED, 1.0) == pytest.approx(4.0, rel=1e-3)


@pytest.mark.parametrize(
    "loss", [nr.losses.Hinge(), nr.losses.Logistic(), nr.losses.Absolute()], ids=str
)
def test_other_losses_have_the_dual_of_the_batch_solver(loss: nr.losses.Loss) -> None:
    X, y, _ = problem(5, rounds=80)
    y = np.sign(y)
    best = nr.hindsight(X, y, loss, radius=1.0, tol=1e-8)
    floor = static_floor(X, y, loss, 1.0)
    assert best.dual - 2e-4 * best.primal <= floor <= best.primal


def test_a_loss_without_a_conjugate_has_only_its_sign() -> None:
    class Plain(nr.losses.Loss):
        pass

    assert static_floor(np.ones((2, 1)), [1.0, -1.0], Plain(), 1.0) == 0.0


def exact_optimum(x: np.ndarray, y: np.ndarray, c: np.ndarray, radius: float) -> Fraction:
    """The minimum over |u| <= radius of sum c (u x - y)^2 for one feature, in fractions."""
    triples = [tuple(map(Fraction, map(float, three))) for three in zip(x, y, c, strict=True)]
    a = sum((k * v * v for v, _, k in triples), Fraction(0))
    b = sum((k * v * t for v, t, k in triples), Fraction(0))
    u = max(min(b / a, Fraction(radius)), -Fraction(radius)) if a else Fraction(0)
    return sum((k * (u * v - t) ** 2 for v, t, k in triples), Fraction(0))


@pytest.mark.parametrize("seed", range(60))
def test_numbers_of_any_size_in_fractions(seed: int) -> None:
    random = np.random.default_rng(seed)
    x, y, c = random.normal(size=7), random.normal(size=7), np.ones(7)
    rows, targets = random.uniform(-99, 99, 2)
    x, y = x * 10.0**rows, y * 10.0**targets
    if seed % 2:
        x *= 10.0 ** random.uniform(-60, 0, 7)
    if seed % 3:
        c = 10.0 ** random.uniform(-100, 100, 7)
    for radius in (10.0 ** (targets - rows + random.uniform(-2, 2)), 10.0**rows, 5e-324, 1e308):
        least = exact_optimum(x, y, c, radius)
        assert 0 <= Fraction(moments_of(x[:, None], y, c).floor(radius)) <= least
        assert 0 <= Fraction(static_floor(x[:, None], y, SQUARED, radius, c)) <= least


def test_balls_of_every_size_have_a_floor() -> None:
    X, y, _ = problem(7, rounds=40)
    moments, best = moments_of(X, y), float(y @ y)
    floors = [moments.floor(10.0**power) for power in range(-323, 309)]
    # In balls that are next to nothing it is the loss of 0, in huge ones nothing is known.
    assert floors[0] == pytest.approx(best, rel=1e-9) and floors[-1] == 0.0
    for smaller, larger in itertools.pairwise(floors):
        assert larger <= smaller + 1e-9 * best


def test_a_small_row_beside_a_huge_one_is_not_made_longer() -> None:
    """Squares measured by the largest entry of a block were rounded up among denormals."""
    for size in 10.0 ** np.linspace(-64, -56, 60):
        for form in (np.asarray, csr_array):
            norms = row_norms(as_rows(form(np.array([[1e100, 0.0], [size, size]]))))
            exact = 2 * Fraction(float(size)) ** 2
            assert abs(Fraction(float(norms[1])) ** 2 / exact - 1) < 1e-14


def test_norms_and_products_of_rows() -> None:
    X, _, _ = problem(6, rounds=BLOCK + 5)
    w = np.arange(1.0, 7.0)
    for form in (X, csr_array(X), csr_array(1e-200 * X), 1e200 * X):
        rows = as_rows(form)
        size = 1.0 if form is X else float(np.abs(form).max() / np.abs(X).max())
        np.testing.assert_allclose(row_norms(rows), size * np.linalg.norm(X, axis=1), rtol=1e-13)
        np.testing.assert_allclose(products(rows, w), form @ w, rtol=1e-12)
    assert row_norms(as_rows(np.zeros((2, 3)))).tolist() == [0.0, 0.0]

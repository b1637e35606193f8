"""The best predictor in a ball: against multipliers and a general method, active or not."""

from __future__ import annotations

import os

import numpy as np
import pytest
from scipy.optimize import brentq, minimize

import noregret as nr
from noregret.batch import hindsight
from noregret.batch.problem import Problem
from noregret.norms import norm_upper
from tests.batch.test_hindsight import objective, random_rows
from tests.real_data.test_real_data import matrix
from tests.sizes import sized, some

SMOOTH = (nr.losses.Logistic(), nr.losses.SquaredHinge(), nr.losses.Huber(0.5))
KINKED = (nr.losses.Hinge(), nr.losses.Absolute(), nr.losses.EpsilonInsensitive(0.3))


def name(loss: object) -> str:
    return type(loss).__name__


@pytest.mark.each_value
@pytest.mark.parametrize("radius", [0.05, 0.7, 40.0])
@pytest.mark.parametrize("loss", SMOOTH, ids=name)
def test_smooth_losses_against_a_general_method(loss: nr.losses.Loss, radius: float) -> None:
    X, y = random_rows(21, rows=sized(20, 60))
    best = hindsight(X, y, loss, radius=radius, tol=1e-9)

    def gradient(w: np.ndarray) -> np.ndarray:
        return X.T @ np.array([loss.slope(a, p) for a, p in zip(y, X @ w, strict=True)])

    found = minimize(
        lambda w: objective(loss, X, y, w),
        np.full(X.shape[1], 0.01 * radius),
        jac=gradient,
        constraints={
            "type": "ineq",
            "fun": lambda w: radius**2 - w @ w,
            "jac": lambda w: -2.0 * w,
        },
        method="SLSQP",
        options={"ftol": 1e-14, "maxiter": 1000},
    )
    assert best.converged
    assert np.linalg.norm(best.weights) <= radius
    assert best.primal <= found.fun * (1.0 + 1e-7)
    assert best.dual <= found.fun * (1.0 + 1e-7)


@pytest.mark.parametrize("loss", KINKED, ids=name)
def test_kinked_losses_against_the_multiplier(loss: nr.losses.Loss) -> None:
    """The best in the ball is the best with the multiplier as strength."""
    X, y = random_rows(22, rows=sized(20, 60))
    radius = 0.4

    def excess(log_multiplier: float) -> float:
        best = hindsight(X, y, loss, l2=np.exp(log_multiplier), tol=1e-11)
        return float(np.linalg.norm(best.weights)) - radius

    multiplier = np.exp(brentq(excess, -7.0, 7.0, xtol=1e-10))
    regularised = hindsight(X, y, loss, l2=multiplier, tol=1e-11)
    least = regularised.primal - 0.5 * multiplier * radius**2
    best = hindsight(X, y, loss, radius=radius, tol=1e-8)
    assert best.converged
    assert best.primal == pytest.approx(least, rel=1e-6)
    assert best.dual <= best.primal


@pytest.mark.compiled
@pytest.mark.parametrize("loss", some((*SMOOTH, *KINKED), 3), ids=name)
def test_the_optimum_may_lie_inside(loss: nr.losses.Loss) -> None:
    """Then the radius does not matter, and a regulariser that vanishes gives the same."""
    X, y = random_rows(23)
    near, far = (hindsight(X, y, loss, radius=r, tol=1e-7) for r in (20.0, 40.0))
    assert near.converged
    assert far.converged
    assert np.linalg.norm(near.weights) < 19.0
    assert near.primal == pytest.approx(far.primal, rel=1e-6)
    weak = hindsight(X, y, loss, l2=1e-5, tol=1e-9, max_passes=20_000)
    assert weak.dual <= near.primal + 0.5e-5 * 20.0**2


@pytest.mark.parametrize("loss", [nr.losses.Hinge(), nr.losses.SquaredHinge()], ids=name)
def test_separable_rows_can_be_fitted_without_loss(loss: nr.losses.Loss) -> None:
    X, _ = random_rows(24)
    y = np.where(X @ np.arange(1.0, 9.0) >= 0.0, 1.0, -1.0)
    kept = np.abs(X @ np.arange(1.0, 9.0)) > 0.5
    best = hindsight(X[kept], y[kept], loss, radius=100.0, tol=1e-6)
    assert best.converged
    assert best.primal <= 1e-6


def test_a_ball_with_a_regulariser() -> None:
    X, y = random_rows(25)
    loss = nr.losses.Hinge()
    free = hindsight(X, y, loss, l2=0.5, tol=1e-9)
    wide = hindsight(X, y, loss, l2=0.5, radius=100.0, tol=1e-9)
    assert wide.primal == pytest.approx(free.primal, rel=1e-8)
    tight = hindsight(X, y, loss, l2=0.5, radius=0.1, tol=1e-9)
    inside = hindsight(X, y, loss, radius=0.1, tol=1e-9)
    # On the sphere the regulariser is a constant.
    assert tight.primal == pytest.approx(inside.primal + 0.25 * 0.1**2, rel=1e-7)


def test_the_floor_of_a_run_is_below_the_best_in_the_ball() -> None:
    X, y = random_rows(26, rows=400)
    learner = nr.MirrorDescent(nr.losses.Hinge(), nr.mirrors.Ball(2.0), nr.rates.InverseSqrt(1.0))
    learner.learn(X, y)
    best = hindsight(X, y, nr.losses.Hinge(), radius=2.0)
    certificate = learner.certificate()
    assert certificate.floor(2.0) <= best.primal
    assert certificate.loss - best.dual <= certificate.regret_bound(2.0) + best.gap


@pytest.mark.parametrize("radius", [1e-307, 1e-310, 2.5e-323, 5e-324])
def test_a_subnormal_radius_has_a_best_predictor(radius: float) -> None:
    """Weights that round back to themselves when they are shortened hung the solver."""
    best = nr.hindsight([[1.0, 2.0], [3.0, -1.0]], [1, -1], nr.losses.Logistic(), radius=radius)
    assert best.converged and norm_upper(best.weights, 2.0) <= radius


@pytest.mark.parametrize("radius", [0.3, 1.0, 7.0])
def test_weights_are_moved_into_the_ball_as_certainly_as_norms_are_known(radius: float) -> None:
    rng = np.random.default_rng(27)
    problem = Problem.of([[1.0]], [1], nr.losses.Hinge(), radius=radius)
    for d in range(1, 40):
        direction = rng.normal(size=d)
        direction *= radius / np.linalg.norm(direction)
        for length in (0.5, 1.0, 1.0 + 1e-15, 2.0):
            inside = problem.inside(length * direction)
            assert norm_upper(inside, 2.0) <= radius
            np.testing.assert_allclose(inside, min(length, 1.0) * direction, rtol=1e-13)


@pytest.mark.compiled
@pytest.mark.skipif(
    "NOREGRET_DATA" not in os.environ, reason="NOREGRET_DATA does not name a folder of real data"
)
@pytest.mark.parametrize("loss", [nr.losses.Hinge(), nr.losses.Logistic()], ids=name)
@pytest.mark.each_value
@pytest.mark.parametrize("radius", [1.0, 30.0])
def test_a9a(loss: nr.losses.Loss, radius: float) -> None:
    X, y = matrix("a9a")
    best = hindsight(X, y, loss, radius=radius, tol=1e-6)
    assert best.converged
    assert best.gap <= 1e-6 * best.primal

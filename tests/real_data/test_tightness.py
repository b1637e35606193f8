"""The certificate is not only true but useful: a floor close to the true constrained optimum."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pytest
from scipy.linalg import solve
from scipy.optimize import brentq
from scipy.special import expit

import noregret as nr
from noregret import losses, mirrors, rates

Vector = npt.NDArray[np.float64]

ROUNDS, DIMENSION, RADIUS = 50_000, 20, 5.0


def flipped_logistic_stream(seed: int) -> tuple[Vector, Vector]:
    """Rows N(0, I/d), labels of a logistic model of norm 6, one in twenty flipped."""
    random = np.random.default_rng(seed)
    X = random.normal(size=(ROUNDS, DIMENSION)) / np.sqrt(DIMENSION)
    u = random.normal(size=DIMENSION)
    u *= 6.0 / np.linalg.norm(u)
    y = np.where(random.random(ROUNDS) < expit(X @ u), 1.0, -1.0)
    return X, np.where(random.random(ROUNDS) < 0.05, -y, y)


def penalised(X: Vector, y: Vector, multiplier: float, start: Vector) -> Vector:
    """Return argmin of the sum of losses + (multiplier/2)||w||^2, by Newton's method."""
    w = start
    for _ in range(50):
        s = expit(-y * (X @ w))
        gradient = -X.T @ (y * s) + multiplier * w
        if np.linalg.norm(gradient) < 1e-8:
            break
        hessian = (X * (s * (1.0 - s))[:, None]).T @ X + multiplier * np.eye(len(w))
        w = w - solve(hessian, gradient, assume_a="pos")
    return w


def best_in_ball(X: Vector, y: Vector, radius: float) -> tuple[float, float]:
    """Return the least loss in the ball and a lower bound on it, by bisection on the multiplier.

    With multiplier m and minimiser w the dual value loss(w) + (m/2)(||w||^2 - radius^2) is below
    every loss in the ball.
    """

    def excess(multiplier: float) -> float:
        w = penalised(X, y, multiplier, np.zeros(DIMENSION))
        return float(np.linalg.norm(w)) - radius

    multiplier = 0.0 if excess(1e-9) < 0.0 else float(brentq(excess, 1e-9, 1e6, xtol=1e-10))
    w = penalised(X, y, multiplier, np.zeros(DIMENSION))
    loss = float(np.logaddexp(0.0, -y * (X @ w)).sum())
    return loss, loss + 0.5 * multiplier * (float(w @ w) - radius**2)


@pytest.mark.compiled
@pytest.mark.parametrize("seed", [0, 1, 2])
def test_the_floor_is_within_two_percent_of_the_optimum(seed: int) -> None:
    X, y = flipped_logistic_stream(seed)
    optimum, dual = best_in_ball(X, y, RADIUS)
    assert dual == pytest.approx(optimum, rel=1e-6)
    learner = nr.MirrorDescent(losses.Logistic(), mirrors.Ball(RADIUS), rates.Adaptive())
    learner.learn(X, y)
    certificate = learner.certificate()
    floor = certificate.floor()
    print(f"floor {floor:.1f}, optimum {optimum:.1f}, ratio {floor / optimum:.4f}")
    assert 0.98 * optimum <= floor <= optimum <= certificate.loss
    # The regret that is proved is less than that of the theorem.
    assert certificate.regret_bound() < min(bound.value for bound in certificate.bounds)

"""The shifting p-norm algorithm: its lemma, its projection, its bound."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
import scipy.sparse

from noregret import catalogue, domains, losses
from noregret.proof import closed_forms
from noregret.tracking.potentials import PNormSquare
from tests.oracles.data import near, total
from tests.sizes import sized
from tests.tracking.dense import Tracker

SQUARED = losses.Squared()


def test_lemma_of_the_p_norm() -> None:
    """a L(w) - b L(u) <= D(u, w) - D(u, w') with X^2 replaced by (p - 1) X_p^2."""
    rng = np.random.default_rng(4)
    for _ in range(sized(400, 2000)):
        p = float(rng.choice([2.0, 2.3, 3.0, 8.0]))
        potential, n = PNormSquare(p), int(rng.integers(1, 7))
        w, u, x = rng.normal(size=(3, n)) * rng.choice([0.1, 1.0, 10.0])
        limit = float(np.sum(np.abs(x) ** p) ** (1 / p)) * float(rng.choice([1.0, 2.0]))
        eta = closed_forms.amortised_gd(limit).eta / (p - 1)
        y = float(rng.normal())
        d, e = float(w @ x) - y, float(u @ x) - y
        moved = potential.link(potential.gradient(w) - eta * 2 * d * x)
        gain = potential.divergence(u, w) - potential.divergence(u, moved)
        size = 1.0 + potential.value(u) + potential.value(w)
        assert eta * d * d - 2 * eta * e * e <= gain + 1e-11 * size


@pytest.mark.parametrize("p", [2.0, 3.0, 4.0, 7.5])
def test_p_norm_balls_equal_the_dense_algorithm(p: float) -> None:
    rng = np.random.default_rng(5)
    X, y = rng.normal(size=(150, 8)) * (rng.random((150, 8)) < 0.4), rng.normal(size=150)
    limit = float((np.sum(np.abs(X) ** p, axis=1) ** (1 / p)).max())
    learner = catalogue.shifting_p_norm(p, 0.4, limit)
    reference = Tracker(SQUARED, "norm", learner.rate.at(0, 0, 0), 8, 0.4, p)
    expected = reference.learn(X, y)
    assert learner.learn(X, y) == pytest.approx(expected, rel=1e-9, abs=1e-11)
    assert learner.weights == pytest.approx(reference.w, rel=1e-8, abs=1e-11)
    assert learner.average == pytest.approx(reference.total / 150, rel=1e-8, abs=1e-11)
    sparse = catalogue.shifting_p_norm(p, 0.4, limit)
    assert sparse.learn(scipy.sparse.csr_matrix(X), y) == pytest.approx(expected, abs=1e-11)
    q = p / (p - 1)
    length = float(np.sum(np.abs(learner.weights) ** q) ** (1 / q))
    assert length <= 0.4 * (1 + 1e-12)
    certificate = learner.certificate()
    assert certificate.radius == 0.4
    for _ in range(20):
        u = domains.PNormBall(p, 0.4).project_norm(rng.normal(size=8))
        assert certificate.floor() <= total(SQUARED, X, y, u)


def test_p_norm_steps_that_leap() -> None:
    """A row so long that the power sum overflows: summed afresh, then projected."""
    learner = catalogue.shifting_p_norm(10.0, 1.0, eta=1.0)
    learner.learn([[1e-3, 0.0]], [1e-3])
    before = learner.weights
    assert 0.0 < before[0] < 1e-5
    learner.learn([[0.0, 1e40]], [1e40])
    assert learner.weights == near([0.0, 1.0])
    learner.learn([[1.0, 0.0]], [1.0])
    assert np.all(np.isfinite(learner.weights)) and learner.weights[0] > 0.0
    assert learner.certificate().floor() <= learner.certificate().loss


def test_the_shifting_bound_of_the_p_norm() -> None:
    rng = np.random.default_rng(6)
    for _ in range(sized(9, 40)):
        p, n, radius = float(rng.choice([2.0, 3.0, 6.0])), 10, 0.8
        q, ball = p / (p - 1), domains.PNormBall(p, 0.8)
        targets = [ball.project_norm(rng.normal(size=n) * (rng.random(n) < 0.3)) for _ in range(3)]
        schedule = np.repeat(targets, 60, axis=0)
        X = rng.choice([-1.0, 1.0], (180, n))
        y = np.sum(X * schedule, axis=1) + 0.05 * rng.normal(size=180)
        limit = n ** (1 / p)
        learner = catalogue.shifting_p_norm(p, radius, limit)
        learner.learn(X, y)
        own = float(np.sum((np.sum(X * schedule, axis=1) - y) ** 2))
        size = sum(float(np.sum(np.abs(a - b) ** q) ** (1 / q)) for a, b in pairwise(targets))
        last = float(np.sum(np.abs(targets[-1]) ** q) ** (1 / q))
        bound = 2 * own + 4 * (p - 1) * limit**2 * (0.5 * last**2 + radius * size)
        assert learner.certificate().loss <= bound

"""Numbers of the general certificate (items GC): floors under every competitor."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.optimize import minimize

from noregret import catalogue, losses, mirrors, rates
from noregret.learners import MirrorDescent
from noregret.learners.anyone import certify
from noregret.norms import norm_upper
from noregret.proof.certificate import Certificate
from tests.oracles.data import ROW_A, S_A, S_B, S_W, U0, X_A, X_B, X_T, X_W, Y_A, Y_T, near, total

HINGE = losses.Hinge()


@pytest.fixture(scope="module")
def projected() -> Certificate:
    learner = catalogue.projected_ogd(HINGE, radius=1.0, row_limit=ROW_A)
    learner.learn(X_A, S_A)
    return learner.certificate()


@pytest.fixture(scope="module")
def conservative() -> Certificate:
    learner = catalogue.perceptron()
    learner.learn(X_A, S_A)
    return learner.certificate()


def test_gc3_the_floor_is_the_exact_minimum(projected: Certificate) -> None:
    assert projected.intercept == near(6)
    assert projected.gradient == near([-2.5, 0.6, -1.5])
    assert projected.loss == near(4.66218092647)
    assert projected.floor(1.0) == near(3.02342478677)
    best = -projected.gradient / np.linalg.norm(projected.gradient)
    assert total(HINGE, X_A, S_A, best) == near(3.02342478677)


def test_gc4_gap_to_the_floor_is_the_proved_regret(projected: Certificate) -> None:
    assert projected.regret_bound(1.0) == near(1.6387561397)
    assert projected.loss - projected.floor(1.0) == near(1.6387561397)
    linear = projected.loss - projected.intercept
    assert linear + float(np.linalg.norm(projected.gradient)) == near(1.6387561397)
    assert 6 * ROW_A * math.sqrt(8 / 6) == near(6.82348884372)


#: map, predictions of the class, and R(u) / eta where the floor is regularised.
CLASSES = {
    "2-ball": (mirrors.Euclidean(), 2.0),
    "4/3-ball": (mirrors.PNorm(4), 4.0),
    "1-ball": (mirrors.SignedEntropy(1.5), math.inf),
    "simplex": (mirrors.Entropy(1.5), math.inf),
    "subsimplex": (mirrors.UnnormalizedEntropy(0.2), math.inf),
}


@pytest.mark.parametrize("name", CLASSES)
def test_gc1_table_of_floors(name: str) -> None:
    """The closed forms of the table, from the intercept and Z of arbitrary predictions."""
    mirror, p = CLASSES[name]
    given = np.array([0.1, -2.0, 0.3, 1.5, -0.4, 0.2])
    loss = losses.Logistic()
    proof = certify(X_A, S_A, given, loss, mirror=mirror)
    slopes = np.array([loss.slope(y, q) for y, q in zip(S_A, given, strict=True)])
    a = sum(loss.value(y, q) - s * q for y, q, s in zip(S_A, given, slopes, strict=True))
    z = slopes @ X_A
    assert (proof.intercept, proof.gradient) == (near(a), near(z))
    radius, eta = 1.5, 0.7
    norm = float(np.abs(z).max()) if p == math.inf else float(np.sum(np.abs(z) ** p) ** (1 / p))
    reach = {
        "simplex": -radius * float(z.min()),
        "subsimplex": radius * max(-float(z.min()), 0.0),
    }.get(name, radius * norm)
    assert proof.floor(radius) == near(max(a - reach, 0.0))
    assert a - reach > 0.0
    smooth = {
        "simplex": 1.5 / eta * math.log(np.mean(np.exp(-eta * z))),
        "subsimplex": 0.2 / eta * float(np.sum(np.expm1(-eta * z))),
        "1-ball": 1 / eta * math.log(np.mean(np.cosh(1.5 * eta * z))),
    }.get(name, 0.5 * eta * norm**2)
    assert proof.regularized_floor(eta) == near(a - smooth)
    for q, dual in ((1, math.inf), (2, 2.0), (math.inf, 1.0)):
        assert proof.floor(0.3, norm=q) == near(a - 0.3 * float(np.linalg.norm(z, dual)))


def test_gc2_intercepts_in_closed_form() -> None:
    rng = np.random.default_rng(1)
    for y, p in zip(rng.choice([-1.0, 1.0], 50), rng.normal(size=50) * 2, strict=True):
        excess = max(1.0 - y * p, 0.0)
        sigma = 1 / (1 + math.exp(y * p))
        entropy = -sigma * math.log(sigma) - (1 - sigma) * math.log(1 - sigma)
        table = (
            (HINGE, float(excess > 0)),
            (losses.SquaredHinge(), excess - 0.5 * excess**2),
            (losses.Logistic(), entropy),
            (losses.Squared(), y * y - p * p),
            (losses.Absolute(), -np.sign(p - y) * y),
        )
        for loss, expected in table:
            value, slope = loss.value(y, p), loss.slope(y, p)
            assert loss.intercept(y, p, value, slope) == near(expected)


def test_gc5_the_ball_floor_is_the_best_quadratic_floor(projected: Certificate) -> None:
    length = float(np.linalg.norm(projected.gradient))
    for radius in (0.5, 1.0, 1.7):
        floors = [
            projected.regularized_floor(eta) - radius**2 / (2 * eta)
            for eta in radius / length * np.array([0.5, 0.9, 1.0, 1.1, 2.0])
        ]
        assert max(floors) == floors[2] == near(projected.floor(radius))


def test_gc5_gc6_conservative_floors(conservative: Certificate) -> None:
    """(gamma sum alpha - B ||theta||) / C, with alpha = C on the three mistakes."""
    assert conservative.intercept == near(3)
    assert float(np.linalg.norm(conservative.gradient)) == near(1.15758369028)
    assert conservative.regularized_floor() == near(2.33)
    assert conservative.floor(1.0) == near(1.84241630972)
    assert conservative.floor(1.5) == near(1.26362446458)
    assert conservative.floor(1.0) <= 3.02342478677 and conservative.floor(1.5) <= 1.86700628075
    four = MirrorDescent(HINGE, mirrors.Euclidean(), rates.Constant(4), conservative=True)
    four.learn(X_A, S_A)
    # D of the run with C = 4, before any rescaling of alpha.
    assert 4 * four.certificate().regularized_floor() == near(1.28)
    assert four.certificate().floor(1.0) == near(1.84241630972)


def test_gc7_prefix_floors_are_floors() -> None:
    """Losses are not negative, so the floor of a prefix stays true, and none is below zero."""
    learner = catalogue.projected_ogd(HINGE, radius=1.0, row_limit=ROW_A)
    floors = [learner.certificate().floor(1.0)]
    for t in range(6):
        learner.learn(X_A[t], S_A[t])
        floors.append(learner.certificate().floor(1.0))
    assert min(floors) >= 0.0
    assert max(floors) <= 3.02342478677 + 1e-10
    # Certified in two blocks, the floors add up to no more than the single sum.
    parts = [
        certify(X_A[k], S_A[k], np.zeros(3), HINGE).floor(1.0) for k in (slice(3), slice(3, 6))
    ]
    assert sum(parts) <= certify(X_A, S_A, np.zeros(6), HINGE).floor(1.0) + 1e-12


def test_gc8_norms() -> None:
    z = np.array([3.0, -4.0, 0.0, 12.0])
    for p, expected in ((2.0, 13.0), (1.0, 19.0), (math.inf, 12.0)):
        assert norm_upper(z, p) == near(expected)
    assert norm_upper(z, 4.0) == near(float(np.sum(z**4)) ** 0.25)
    assert norm_upper(np.zeros(0), 2.0) == 0.0


def test_gc9_strongly_convex_floor() -> None:
    learner = catalogue.strongly_convex_ogd(HINGE, 0.5)
    learner.learn(X_A, S_A)
    certificate, w = learner.certificate(), learner.weights
    assert certificate.regularized_floor() / 6 == near(0.699722222222)
    # GC-1 with R = (sigma T / 2)||u||^2 applied to the unregularised losses.
    assert certificate.regularized_floor(eta=1 / (0.5 * 6)) == near(certificate.regularized_floor())
    assert certificate.intercept - 0.5 * 6 / 2 * float(w @ w) == near(
        certificate.regularized_floor()
    )
    # Over a ball that holds the minimiser the two floors agree, over a small one they do not.
    assert certificate.floor(2.0) == near(certificate.regularized_floor())
    length = float(np.linalg.norm(certificate.gradient))
    small = certificate.intercept - 0.1 * length + 0.5 * 6 / 2 * 0.1**2
    assert certificate.floor(0.1) == near(small)
    assert small > certificate.regularized_floor()


def test_gc10_second_pass() -> None:
    """At the minimiser of a smooth loss the floor of a second pass is the minimum itself."""
    loss, eta = losses.Logistic(), 0.5

    def objective(u: np.ndarray) -> float:
        return total(loss, X_A, S_A, u) + float(u @ u) / (2 * eta)

    best = minimize(objective, np.zeros(3), tol=1e-14, method="BFGS", options={"gtol": 1e-10}).x
    proof = certify(X_A, S_A, X_A @ best, loss)
    assert proof.regularized_floor(eta) == near(objective(best))
    # Elsewhere the gap is <z, w> + R(w) + R*(-z) exactly.
    proof = certify(X_A, S_A, X_A @ U0, loss)
    z = proof.gradient
    gap = float(z @ U0) + float(U0 @ U0) / (2 * eta) + 0.5 * eta * float(z @ z)
    assert gap > 0.1
    assert objective(U0) - proof.regularized_floor(eta) == near(gap)


RUNS = {
    "A": (X_A, S_A, HINGE),
    "A, targets": (X_A, Y_A, losses.Huber(0.5)),
    "B": (X_B, S_B, losses.Logistic()),
    "W": (X_W, S_W, losses.SquaredHinge()),
    "tracking": (X_T, Y_T, losses.Squared()),
}


@pytest.mark.parametrize("name", RUNS)
def test_gc1_floor_below_every_comparator(name: str) -> None:
    X, y, loss = RUNS[name]
    learner = MirrorDescent(loss, mirrors.Ball(1.2), rates.Adaptive())
    learner.learn(X, y)
    certificate = learner.certificate()
    rng = np.random.default_rng(3)
    comparators = rng.normal(size=(300, X.shape[1]))
    comparators *= 1.2 * rng.random((300, 1)) / np.linalg.norm(comparators, axis=1, keepdims=True)
    for u in comparators:
        own = total(loss, X, y, u)
        assert certificate.floor() <= own
        assert certificate.loss - own <= min(certificate.regret(u), certificate.regret_bound())

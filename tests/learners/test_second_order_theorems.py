"""What second-order rates promise: identities, theorems, certificates, accuracy of the factor."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

import noregret as nr
from noregret import losses, rates
from noregret.passes.descent.second_order import Scalar
from tests.learners.second_order_reference import play
from tests.learners.test_second_order import (
    LOGISTIC,
    SQUARED,
    fresh,
    in_units_of_1,
    scalar,
    stream,
)
from tests.sizes import sized
from tests.truth.comparators import Class
from tests.truth.referee import Referee

Vector = npt.NDArray[np.float64]

#: Rates whose parabolas lie below the loss, for every u or for ||m u|| <= 2.
CERTIFIED: list[tuple[losses.Loss, Any]] = [
    (SQUARED, rates.Ridge(clipped=False)),
    (SQUARED, rates.Ridge(0.1)),
    (SQUARED, rates.Ridge(0.3, clipped=False, anticipating=True)),
    (SQUARED, rates.Ridge(anticipating=True)),
    (LOGISTIC, rates.CertifiedNewton(2.0)),
    (LOGISTIC, rates.CertifiedNewton(2.0, 0.1)),
    (losses.Huber(0.5), rates.CertifiedNewton(2.0)),
    (losses.SquaredHinge(), rates.CertifiedNewton(2.0)),
    (LOGISTIC, rates.Aioli(2.0)),
    (LOGISTIC, rates.Aioli(2.0, row_limit=2.0)),
]
certified = pytest.mark.parametrize(("loss", "rate"), CERTIFIED, ids=str)


def least(run: Any, ridge: float, sizes: Vector) -> float:
    """Return the minimum over all u of the parabolas and the prior."""
    H = run.curves / np.outer(sizes, sizes) + ridge * np.eye(len(sizes))
    h = run.lines / sizes
    return float(run.height - 0.5 * h @ np.linalg.solve(H, h))


@certified
def test_the_loss_without_the_costs_is_the_regularised_optimum(
    loss: losses.Loss, rate: Any
) -> None:
    X, y, weight = stream(loss, 80, 5)
    sizes = np.abs(X).max(axis=0)
    learner = in_units_of_1(loss, rate, 5)
    learner.learn(X / sizes, y, weight)
    proof = learner.certificate()
    cost = scalar(learner, Scalar.COST) + scalar(learner, Scalar.COST_LOW)
    run = play(rate, loss, X / sizes, y, weight, np.ones(5))
    assert proof.loss - cost == pytest.approx(least(run, rate.ridge(), np.ones(5)), rel=1e-9)
    # With sizes that grow on the way it is no more than that.
    learner = fresh(loss, rate)
    learner.learn(X, y, weight)
    assert learner.sizes is not None
    run = play(rate, loss, X, y, weight)
    optimum = least(run, rate.ridge(), learner.sizes)
    assert learner.certificate().loss - scalar(learner, Scalar.COST) <= optimum * (1.0 + 1e-9)


def hostile(random: np.random.Generator, loss: losses.Loss) -> tuple[Vector, Vector, Vector]:
    """Return rows of changing sizes, labels with outliers and weights."""
    n, d = int(random.integers(1, 60)), int(random.integers(1, 5))
    X = random.normal(size=(n, d)) * 10.0 ** random.uniform(-3.0, 3.0, d)
    style = int(random.integers(4))
    if style == 1:
        X *= 2.0 ** np.linspace(-6.0, 6.0, n)[:, None]
    elif style == 2:
        X = np.abs(X) * np.sign(random.normal(size=d))
    elif style == 3:
        X[random.random(X.shape) < 0.6] = 0.0
    y = random.normal(size=n) * np.where(random.random(n) < 0.1, 30.0, 1.0) + random.choice([0, 9])
    if loss.labels == "sign":
        y = np.where(random.random(n) < random.uniform(0.2, 0.9), 1.0, -1.0)
    return X, y, np.where(random.random(n) < 0.2, 0.0, random.exponential(size=n))


@certified
def test_the_theorems_hold_on_hostile_streams(loss: losses.Loss, rate: Any) -> None:
    random = np.random.default_rng(3)
    tightest, printed = math.inf, 0
    for _ in range(sized(15, 150)):
        X, y, weight = hostile(random, loss)
        learner = fresh(loss, rate)
        learner.learn(X, y, weight)
        proof, sizes = learner.certificate(), learner.sizes
        assert sizes is not None
        used = sizes > 0.0
        for radius in (0.0, 0.1, 1.0, 2.0):
            scaled = X[:, used] / sizes[used]
            if used.any() and radius > 0.0:
                best = nr.hindsight(scaled, y, loss, weight=weight, radius=radius, tol=1e-4)
                optimum = best.primal
            else:
                optimum = sum(
                    mass * loss.value(label, 0.0)
                    for label, mass in zip(y.tolist(), weight.tolist(), strict=True)
                )
            for bound in proof.bounds_for(radius):
                assert bound.applies
                printed += 1
                room = 1e-9 * (1.0 + abs(optimum))
                assert proof.loss - optimum <= bound.value + room, (radius, str(bound))
                if optimum < proof.loss - 1e-3:
                    tightest = min(tightest, bound.value / (proof.loss - optimum))
    # They are no empty statements.
    assert printed and tightest < 3.0


def test_the_bound_of_vovk_azoury_and_warmuth() -> None:
    rate = rates.Ridge(clipped=False, anticipating=True)
    for prior, expected in ((1.0, 4.16230255049), (0.25, 6.9288032004)):
        from tests.learners.test_second_order import TARGETS, A

        learner = in_units_of_1(SQUARED, rate.replace(prior=prior), 3)
        learner.learn(A, TARGETS)
        u = np.linalg.solve(A.T @ A + prior * np.eye(3), A.T @ TARGETS)
        own, advance = learner.certificate().bounds_for(float(np.linalg.norm(u)))
        assert advance.name == "Vovk-Azoury-Warmuth" and "Theorem 11.8" in advance.reference
        assert own.value <= advance.value
        loss = float(((A @ u - TARGETS) ** 2).sum())
        assert loss + advance.value == pytest.approx(expected, rel=1e-9)


def test_what_is_not_proved_is_not_printed() -> None:
    X, y, _ = stream(LOGISTIC, 20)
    for rate in (rates.Newton(), rates.CertifiedNewton(forgetting=0.99)):
        learner = fresh(LOGISTIC, rate)
        learner.learn(X, y)
        assert learner.certificate().bounds_for(1.0) == []
    hinge = fresh(losses.Hinge(), rates.Arow())
    hinge.learn(X, y)
    assert hinge.certificate().bounds_for(1.0) == []
    # Beyond the radius that was promised.
    learner = fresh(LOGISTIC, rates.CertifiedNewton(2.0))
    learner.learn(X, y)
    (bound,) = learner.certificate().bounds_for(2.5)
    assert not bound.applies and bound.reason == "the parabolas serve radius <= 2 only"
    # By default a certificate speaks about no larger radius.
    narrow = fresh(LOGISTIC, rates.CertifiedNewton(0.5))
    narrow.learn(X, y)
    assert narrow.sizes is not None and narrow.certificate().radius == 0.5
    assert np.linalg.norm(narrow.weights * narrow.sizes) > 0.5
    # Clipped, the forecaster has the bound of its own run only.
    ridge = fresh(SQUARED, rates.Ridge(anticipating=True))
    ridge.learn(X, y)
    assert [bound.name for bound in ridge.certificate().bounds_for(1.0)] == [
        "ridge regression, observed"
    ]


@pytest.mark.parametrize("span", [0.0, 6.0, 40.0])
@pytest.mark.parametrize(
    ("loss", "rate"),
    [
        (SQUARED, rates.Ridge()),
        (LOGISTIC, rates.CertifiedNewton(10.0)),
        (LOGISTIC, rates.Newton(forgetting=0.9)),
        (LOGISTIC, rates.Aioli()),
        (losses.Hinge(), rates.Arow()),
    ],
    ids=str,
)
def test_the_certificate_is_true(loss: losses.Loss, rate: Any, span: float) -> None:
    X, y, weight = stream(loss, n=sized(60, 300), d=5)
    X = X * 10.0 ** np.linspace(-span, span, 5)
    learner = fresh(loss, rate)
    predictions = learner.learn(X, y, weight)
    sizes = np.abs(X[weight > 0.0]).max(axis=0)
    np.testing.assert_array_equal(learner.sizes, sizes)
    proof, referee = learner.certificate(), Referee(loss, X, y, weight)
    suffered = referee.exact_at(predictions)[0]
    for radius in (0.5, 2.0, 10.0, proof.radius):
        assert radius is not None
        ball = Class("2", radius, sizes)
        best = nr.hindsight(X / sizes, y, loss, weight=weight, radius=radius).weights
        corner = -proof.gradient / sizes
        for v in (best, corner / np.linalg.norm(corner) * radius, np.zeros(5)):
            u = ball.fitted(v / sizes)
            assert u is not None
            assert referee.exceeds(u, [proof.floor(radius)])[0]
            assert referee.exceeds(u, [suffered, -proof.regret(u)])[0]
            for bound in proof.bounds_for(radius):
                if bound.applies:
                    assert referee.exceeds(u, [suffered, -bound.value])[0]


# The factor, and forgetting.


def trending(n: int, d: int = 8) -> tuple[Vector, Vector]:
    """Return rows like those of a market: correlated features, a constant and a trend."""
    random = np.random.default_rng(1)
    common = np.cumsum(random.normal(size=n)) / math.sqrt(n)
    X = 0.02 * random.normal(size=(n, d)) + common[:, None]
    X[:, 0], X[:, 1] = 1.0, np.arange(n) / n
    return X, X @ random.normal(size=d) + 0.1 * random.normal(size=n)


@pytest.mark.compiled
@pytest.mark.parametrize("prior", [1.0, 1e-3, 1e-6, 1e-9])
def test_weights_are_accurate_whatever_the_prior(prior: float) -> None:
    X, y = trending(20_000)
    learner = fresh(SQUARED, rates.Ridge(prior))
    learner.learn(X, y)
    sizes = np.abs(X).max(axis=0)
    rows = np.vstack([np.diag(np.full(8, math.sqrt(prior))), X / sizes])
    Q, R = np.linalg.qr(rows)
    expected = np.linalg.solve(R, Q.T @ np.concatenate([np.zeros(8), y]))
    error = np.linalg.norm(learner.weights * sizes - expected) / np.linalg.norm(expected)
    assert error < 1e-12


@pytest.mark.compiled
@pytest.mark.parametrize("keep", [0.99, 0.999])
def test_forgetting_is_stable_where_nothing_is_excited(keep: float) -> None:
    n = 50_000
    X, y = trending(n)
    # Two features fall silent, one of them until the end.
    X[1000:, 5] = 0.0
    X[1000 : n - 100, 6] = 0.0
    learner = fresh(SQUARED, rates.Ridge(0.01, forgetting=keep, clipped=False))
    predictions = learner.learn(X, y)
    assert np.abs(predictions - y).max() < 50.0 * np.abs(y).max()
    assert np.mean((predictions - y)[-10_000:] ** 2) < 0.05
    # A solver with matrices says the same of the last rounds.
    short = play(learner.rate, SQUARED, X[:3000], y[:3000], np.ones(3000))
    again = fresh(SQUARED, learner.rate)
    np.testing.assert_allclose(again.learn(X[:3000], y[:3000]), short.predictions, atol=1e-9)
    newton = fresh(LOGISTIC, rates.Newton(forgetting=keep))
    margins = newton.learn(X, np.where(y > np.median(y), 1.0, -1.0))
    assert np.abs(margins).max() < 1e3


@pytest.mark.compiled
@pytest.mark.parametrize(
    ("loss", "rate"),
    [
        (SQUARED, rates.Ridge(forgetting=0.9)),
        (LOGISTIC, rates.Newton()),
        (LOGISTIC, rates.CertifiedNewton()),
        (LOGISTIC, rates.Aioli()),
        (losses.Hinge(), rates.Arow()),
    ],
    ids=str,
)
def test_machine_code_equals_the_interpreter(loss: losses.Loss, rate: Any) -> None:
    X, y, weight = stream(loss, 40)
    one, other = fresh(loss, rate, dimension=6), fresh(loss, rate, dimension=6)
    expected = one.learn(X, y, weight)
    engine: Any = other._engine
    rows = nr.rows.examples.as_rows(X)
    found = np.empty(len(y))
    kernel, arguments = engine.call(rows, y, weight, 0, other._ledger, found)
    kernel.py_func(*arguments)
    np.testing.assert_allclose(found, expected, rtol=1e-10, atol=1e-12)
    np.testing.assert_allclose(other.weights, one.weights, rtol=1e-9, atol=1e-12)


def test_blocks_raise_the_floor_beside_the_theorem() -> None:
    X, y, weight = stream(LOGISTIC, sized(60, 300), 4)
    plain = fresh(LOGISTIC, rates.CertifiedNewton(2.0))
    learner = fresh(LOGISTIC, rates.CertifiedNewton(2.0), blocks=True)
    np.testing.assert_array_equal(learner.learn(X, y, weight), plain.learn(X, y, weight))
    one, other = learner.certificate(), plain.certificate()
    assert one.floor(2.0) >= other.floor(2.0)
    assert [str(b) for b in one.bounds_for(2.0)] == [str(b) for b in other.bounds_for(2.0)]
    assert learner.sizes is not None
    best = nr.hindsight(X / learner.sizes, y, LOGISTIC, weight=weight, radius=2.0)
    assert one.floor(2.0) <= best.primal

"""Steps of any length, floors of any depth: weights to the last digits, no statement from ruins."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.sparse

import noregret as nr
from noregret import catalogue, domains, losses, mirrors, rates
from noregret.losses import Loss
from tests.sizes import sized
from tests.tracking import exact

SQUARED, HINGE = losses.Squared(), losses.Hinge()
LOSSES = [SQUARED, losses.Absolute(), HINGE, losses.Hinge(1000.0), losses.Logistic()]


def make(loss: Loss, eta: float, alpha: float, n: int, step: str) -> Any:
    domain = domains.ClippedSimplex(alpha) if alpha else None
    parts = (loss, mirrors.Entropy(), rates.Constant(eta), domain)
    return nr.MirrorDescent(*parts, lazy=False, dimension=n, implicit=step == "implicit")


def check(
    seed: int, loss: Loss, eta: float, alpha: float, step: str, size: float, masses: list[float]
) -> None:
    rng = np.random.default_rng(seed)
    rounds, n = sized(6, 16), int(rng.choice([2, 4, 9]))
    X = size * rng.normal(size=(rounds, n)) * (rng.random((rounds, n)) < 0.4)
    y = rng.normal(size=rounds) * size
    y = np.sign(y) if loss.labels == "sign" else y
    mass = rng.choice(masses, rounds)
    expected, weights, average = exact.run(X, y, loss, eta, alpha, step, mass)
    for rows in (scipy.sparse.csr_matrix(X), X):
        learner = make(loss, eta, alpha, n, step)
        got = learner.learn(rows, y, mass)
        assert got == pytest.approx(expected, abs=1e-9 * size)
        assert learner.average == pytest.approx(average, rel=1e-7)
        if alpha:
            assert learner.weights == pytest.approx(weights, rel=1e-7, abs=0.0)


@pytest.mark.parametrize("eta", [10.0, 1e3, 1e6])
@pytest.mark.parametrize("loss", LOSSES, ids=str)
def test_implicit_eg_at_any_rate(loss: Loss, eta: float) -> None:
    """A row may hold nearly all of the mass, or lose it: the rest is no difference of sums."""
    check(int(eta) % 7, loss, eta, 0.0, "implicit", 1.0, [1.0])


@pytest.mark.parametrize(("number", "alpha"), enumerate([1e-200, 1e-12, 0.3, 1.0]))
def test_implicit_c_eg_at_any_rate(number: int, alpha: float) -> None:
    """Where the loss has a kink the step is a tiny part of the slope, and counts all the same."""
    settings = [(0.3, [0.0, 1e-8, 1.0, 1e6]), (1e6, [1.0, 1e6])]
    for seed, loss in enumerate(LOSSES):
        # In the short form one of the rates: every loss meets both, and so does every alpha.
        for eta, masses in sized(settings[(number + seed) % 2 :][:1], settings):
            check(seed, loss, eta, alpha, "implicit", 1e5, masses)


@pytest.mark.parametrize("alpha", [1e-200, 1e-12, 0.3, 1.0])
def test_explicit_c_eg_at_any_rate(alpha: float) -> None:
    """A weight far below the largest may still be far above a deep floor."""
    for seed, loss in enumerate(LOSSES):
        for eta, size in ((1e-8, 1e5), (0.3, 1.0), (30.0, 1.0)):
            check(seed, loss, eta, alpha, "explicit", size, [0.0, 1e-8, 1.0, 1e6])


def test_weights_far_below_the_largest_are_not_lost() -> None:
    learner = make(HINGE, 1.0, 1e-200, 3, "explicit")
    rows = np.array([[0.0, 460.0, 460.0], [0.0, -460.0, -160.0]])
    learner.learn(rows, [-1.0, -1.0])
    expected = exact.run(rows, np.full(2, -1.0), HINGE, 1.0, 1e-200, "explicit", np.ones(2))[1]
    assert learner.weights == pytest.approx(expected, rel=1e-9, abs=0.0)


def test_a_clip_does_not_hide_weights_out_of_range() -> None:
    learner = catalogue.egu(label_limit=2.0, eta=1e4, dimension=2)
    with pytest.raises(OverflowError, match="round 2 overflows"):
        learner.learn([[1.0, 0.0], [1.0, -1.0], [1.0, -1.0]], [1.9, -1.0, 1.9])
    assert learner.rounds == 1


def test_a_box_beyond_the_exponents_is_refused() -> None:
    """Its ends would have infinite exponents, from which no step leads back."""
    for start, box in ((1e-300, domains.Box(1e20, 1e25)), (1e300, domains.Box(1e-20, 1.0))):
        with pytest.raises(ValueError, match="out of reach of weights that start at 1e"):
            nr.MirrorDescent(
                SQUARED,
                mirrors.UnnormalizedEntropy(start),
                rates.Constant(1.0),
                box,
                lazy=False,
                dimension=2,
            )

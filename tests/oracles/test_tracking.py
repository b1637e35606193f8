"""Numbers of "Tracking the Best Linear Predictor", the static learners (items T)."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from noregret import catalogue, losses, mirrors
from noregret.proof import closed_forms
from noregret.proof.ledger import Entry
from tests.oracles.data import X_T, Y_T, near, played, total

SQUARED = losses.Squared()
U = np.array([0.7, 0.1, 0.2])


def divergence(mirror: mirrors.Mirror, u: Any, w: Any) -> float:
    """Return D(u, w) of the square or of the unnormalised entropy."""
    u, w = np.asarray(u, float), np.asarray(w, float)
    if isinstance(mirror, mirrors.Euclidean):
        return 0.5 * float((u - w) @ (u - w))
    some = u > 0
    return float(np.sum(u[some] * np.log(u[some] / w[some])) + np.sum(w - u))


def test_t2_divergences_are_the_regularisers() -> None:
    """With w_1 = start, the map's own R(u) is D(u, w_1)."""
    ones = np.full(3, 1 / 3)
    for mirror in (mirrors.Entropy(), mirrors.UnnormalizedEntropy(1 / 3)):
        expected = divergence(mirror, U, ones)
        assert mirror.regularizer(U, 1.0) == near(expected)
    w = [0.2, 0.3, 0.5]
    assert divergence(mirrors.Euclidean(), U, w) == near(0.19)
    assert divergence(mirrors.Entropy(), U, w) == near(0.583814702705)
    assert divergence(mirrors.UnnormalizedEntropy(), U, [0.5, 1.5, 0.25]) == near(1.17009683526)
    vertex = np.array([1.0, 0.0, 0.0])
    assert divergence(mirrors.Entropy(), vertex, [0.5, 0.25, 0.25]) == near(0.69314718056)
    assert mirrors.Entropy().regularizer(vertex, 1.0) == near(math.log(3))
    # sq(u), and ne(u) = -H(u) - ||u||_1 against the uniform start of mass 1.
    assert mirrors.Euclidean().regularizer(U, 1.0) == near(0.27)
    assert mirrors.UnnormalizedEntropy(1.0).regularizer(U, 1.0) == near(-1.80181855254 + 3.0)


def test_t3_one_step() -> None:
    w, x, y, eta = np.array([0.2, 0.3, 0.5]), np.array([1, 0, 0.5]), 0.8, 0.1
    p = float(w @ x)
    z = SQUARED.slope(y, p) * x
    assert z == near([-0.7, 0, -0.35])
    assert losses.Absolute().slope(y, p) * x == near([-1, 0, -0.5])

    def step(mirror: mirrors.Mirror) -> np.ndarray:
        pairs = zip(w, z, strict=True)
        return np.array([mirror.phi_prime(mirror.inverse(wi) - eta * zi, 0.0) for wi, zi in pairs])

    assert step(mirrors.Euclidean()) == near([0.27, 0.3, 0.535])
    moved = step(mirrors.UnnormalizedEntropy(0.25))
    assert moved == near([0.214501636251, 0.3, 0.5178098544])
    assert moved / moved.sum() == near([0.20778770574, 0.290609959026, 0.501602335235])


def test_t4_gradient_descent() -> None:
    constants = closed_forms.amortised_gd(math.sqrt(2))
    assert constants.eta == near(1 / 8)
    learner = catalogue.ogd(SQUARED, constants.eta)
    assert learner.learn(X_T, Y_T) == near([0, 0.04, 0.1075, 0.3170625, 0.3974921875])
    assert learner.certificate().loss == near(1.63496304303)
    assert learner.weights == near([0.274047851562, 0.109796875, 0.448751953125])


def test_t5_unnormalised_eg() -> None:
    constants = closed_forms.amortised_egu(1, 1)
    learner = catalogue.unnormalized_eg(SQUARED, constants.eta)
    predictions = learner.learn(X_T, Y_T)
    assert predictions == near(
        [0.5, 0.414760183877, 0.503509281099, 0.698822432981, 0.629475454155]
    )
    # None exceeds the largest label, so that clipping would have changed nothing.
    assert predictions.max() <= 1.0
    assert learner.certificate().loss == near(0.642626635651)
    assert learner.weights == near([0.338593924236, 0.236414074062, 0.614301899403])


def test_t6_eg() -> None:
    constants = closed_forms.amortised_eg(1)
    learner = catalogue.eg(SQUARED, constants.eta)
    weights = played(learner, X_T, Y_T)
    assert np.sum(weights[:-1] * X_T, axis=1) == near(
        [0.5, 0.349659414884, 0.473854755061, 0.521343162376, 0.685310966057]
    )
    assert weights[1] == near([0.401759578533, 0.269307499178, 0.328932922289])
    assert weights[5] == near([0.243167070962, 0.13452492619, 0.622308002847])
    assert learner.certificate().loss == near(0.481951576839)
    assert float(learner.certificate().ledger[Entry.WIDEST_ROW]) == near(1.0)


def test_t6_weights_come_back_from_underflow() -> None:
    learner = catalogue.eg(losses.Absolute(), 1.0, dimension=2)
    X = np.repeat([[1.0, 0.0], [0.0, 1.0]], 2000, axis=0)
    # Labels below every prediction make the gradients the rows themselves.
    learner.learn(X, np.full(4000, -1.0))
    assert learner.weights == near([0.5, 0.5])


#: learner, constants, divergence from w_1, sides of trial 1, static bound, loss.
STATIC = {
    "GD": (
        lambda eta: catalogue.ogd(SQUARED, eta),
        closed_forms.amortised_gd(math.sqrt(2)),
        mirrors.Euclidean(),
        (0.08, 0.135),
        (3.9492, 1.63496304303),
    ),
    "EGU": (
        lambda eta: catalogue.unnormalized_eg(SQUARED, eta),
        closed_forms.amortised_egu(1, 1),
        mirrors.UnnormalizedEntropy(1 / 3),
        (0.03, 0.0511421079214),
        (3.57418120837, 0.642626635651),
    ),
    "EG": (
        lambda eta: catalogue.eg(SQUARED, eta),
        closed_forms.amortised_eg(1),
        mirrors.Entropy(),
        (0.06, 0.106710856044),
        (1.78709060419, 0.481951576839),
    ),
}


@pytest.mark.parametrize("name", STATIC)
def test_t8_amortised_analysis(name: str) -> None:
    make, constants, mirror, sides, (value, loss) = STATIC[name]
    learner = make(constants.eta)
    weights = played(learner, X_T, Y_T)
    first = constants.a * (weights[0] @ X_T[0] - Y_T[0]) ** 2
    first -= constants.b * (U @ X_T[0] - Y_T[0]) ** 2
    gain = divergence(mirror, U, weights[0]) - divergence(mirror, U, weights[1])
    assert (first, gain) == near(sides)
    own = total(SQUARED, X_T, Y_T, U)
    assert own == near(0.8946)
    start = mirror.regularizer(U, 1.0)
    assert constants.bound(own, start) == near(value)
    assert learner.certificate().loss == near(loss)
    assert loss <= constants.bound(own, start)


def test_t8_constants() -> None:
    table = (
        (closed_forms.amortised_gd(3.0), 2.0, 4 * 9.0, "||x||_2 <= 3"),
        (closed_forms.amortised_egu(2.0, 5.0), 3.0, 3 * 10.0, "predictions clipped at 5"),
        (closed_forms.amortised_eg(2.0), 1.5, 1.5 * 4.0, "max x - min x <= 2"),
    )
    for constants, factor, inverse, needs in table:
        assert (constants.factor, 1 / constants.a) == near((factor, inverse))
        assert constants.eta == constants.a
        assert needs in constants.needs
    # Gradient descent is tight: x = w = X = 1, y = 0, u = 1/2.
    constants = closed_forms.amortised_gd(1.0)
    moved = 1.0 - constants.eta * 2.0
    gain = 0.5 * (0.5 - 1.0) ** 2 - 0.5 * (0.5 - moved) ** 2
    assert (constants.a - constants.b * 0.25, gain) == near((0.125, 0.125))


@pytest.mark.parametrize("name", STATIC)
def test_t8_every_trial(name: str) -> None:
    """a L(w) - b L(u) <= D(u, w) - D(u, w') on random trials, the draws within the lemma."""
    rng = np.random.default_rng(7)
    _, constants, mirror, _, _ = STATIC[name]
    for _ in range(2000):
        if name == "GD":
            w, u, x = rng.normal(size=(3, 3))
            x *= math.sqrt(2) * rng.random() / np.linalg.norm(x)
            y = float(rng.normal())
        else:
            w, u = rng.dirichlet(np.ones(3), 2) * (1.0 if name == "EG" else 2 * rng.random())
            x, y = rng.random(3), float(rng.random())
        p = float(w @ x)
        if name == "EGU":
            p = min(p, 1.0)
        z = SQUARED.slope(y, p) * x
        if name == "GD":
            moved = w - constants.eta * z
        else:
            moved = w * np.exp(-constants.eta * z)
            if name == "EG":
                moved /= moved.sum()
        left = constants.a * (p - y) ** 2 - constants.b * (float(u @ x) - y) ** 2
        assert left <= divergence(mirror, u, w) - divergence(mirror, u, moved) + 1e-9

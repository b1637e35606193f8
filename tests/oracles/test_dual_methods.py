"""The methods of "On the Dual Formulation of Regularized Linear Systems" (Z-9 to Z-26)."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from noregret import losses
from noregret.batch.bias import BiasSolver
from noregret.batch.mapped import MapAscent
from noregret.batch.problem import evaluate
from tests.oracles.data import ROW_A, S_A, S_B, S_N, X_A, X_B, X_N, near
from tests.oracles.duals import (
    EXACT,
    FORMS,
    MAPS,
    Form,
    interpreted,
    problem,
    settled,
    sweeps,
    zeta,
)

SQUARE, ENTROPY = MAPS["square"], MAPS["normalised entropy"]


@pytest.fixture(autouse=True)
def in_python() -> Iterator[None]:
    with interpreted():
        yield


def test_z12_square_loss() -> None:
    posed = problem(FORMS["square"], SQUARE)
    ascent, seen = sweeps(posed)
    assert zeta(posed, ascent.slopes) == near(
        [
            0.191082802548,
            0.0212990385005,
            0.34174200682,
            0.252049466041,
            -0.410284691888,
            0.0921699937326,
        ]
    )
    weights, primal, _ = evaluate(posed, ascent.slopes)
    assert weights == near([-0.513727316784, 0.0459285396426, -0.540207593321])
    assert (seen[0][0], primal / 6.0) == near((-0.0769545728608, 0.105965044764))
    best, dual, _ = settled(posed)
    assert best == near([-0.463043277872, -0.0845591299785, -0.402896407686])
    assert dual == near(
        [
            0.0227157536543,
            0.172524005561,
            0.476005038465,
            0.540723940777,
            -0.612642640851,
            -0.034504585293,
        ]
    )


@pytest.mark.parametrize(
    ("form", "first", "weights"),
    [
        (
            "abs",
            (0.309278350515, 0.151450738654, 0.542806678843, 0.391445306808, -1.0, 0.515573468007),
            (-0.388384901993, -0.366110481127, -0.750040498947),
        ),
        (
            "epsins",
            (
                0.247422680412,
                0.0283770857689,
                0.472187738653,
                0.324511065299,
                -0.802005213856,
                0.371308817128,
            ),
            (-0.426770035494, -0.431378043465, -0.659069680553),
        ),
        (
            "huber",
            (
                0.191082802548,
                0.0212990385005,
                0.34174200682,
                0.252049466041,
                -0.410284691888,
                0.0921699937326,
            ),
            (-0.486283861244, -0.109384002617, -0.386556822293),
        ),
    ],
)
def test_z13_robust_regression(form: str, first: Any, weights: Any) -> None:
    posed = problem(FORMS[form], SQUARE)
    ascent, _ = sweeps(posed)
    assert zeta(posed, ascent.slopes) == near(first)
    assert settled(posed)[0] == pytest.approx(weights, rel=1e-8)


def test_z14_logistic_regression() -> None:
    posed = problem(FORMS["logistic"], SQUARE)
    ascent = MapAscent(posed, posed.initial_slopes())
    assert ascent.memory.state[:, 0] == near([2.08333333333, -0.5, 1.25])
    ascent.visit(np.arange(6), EXACT)
    assert zeta(posed, ascent.slopes) == near(
        [
            0.155396106204,
            0.244631218008,
            0.298767347558,
            0.334758161673,
            0.447986635375,
            0.503744880951,
        ]
    )
    assert ascent.memory.state[:, 0] == near([1.09206473525, -0.205783310425, 0.596752207865])
    weights, dual, _ = settled(posed)
    assert weights == near([1.17537873906, -0.25085313951, 0.661599231423])
    assert dual == near(
        [
            0.226599417906,
            0.243209952948,
            0.302771029315,
            0.337229895664,
            0.450754392464,
            0.497210028008,
        ]
    )


CONSTANT = np.hstack([X_A, np.ones((6, 1))])


def test_z15_support_vectors() -> None:
    posed = problem(FORMS["hinge"], SQUARE)
    ascent, seen = sweeps(posed)
    assert zeta(posed, ascent.slopes) == near(
        [0.618556701031, 0.0063768732065, 0.387345741574, 0.485688466735, 0.495927795707, 1.0]
    )
    assert ascent.memory.state[:, 0] == near([1.34084999875, -0.721221886069, 1.19120180752])
    assert seen[0][0] == near(-0.312132522659)
    assert settled(posed)[0] == near([1.47058823529, 0.0, 0.441176470588])
    weights, dual, low = settled(problem(FORMS["hinge"], SQUARE, CONSTANT))
    assert weights == near([1.25827377473, -0.401038425516, 0.618105187727, -0.240623055309])
    assert dual == near([0, 0.469153670633, 0.234781911784, 0.378745592035, 1, 1])
    assert low == near(0.404578286305)


def test_z16_squared_hinge() -> None:
    posed = problem(FORMS["sqhinge"], SQUARE)
    ascent, seen = sweeps(posed)
    assert zeta(posed, ascent.slopes) == near(
        [
            0.382165605096,
            0.148484725547,
            0.270891210687,
            0.315128646414,
            0.361288665136,
            0.643297872207,
        ]
    )
    assert ascent.memory.state[:, 0] == near([1.02402571998, -0.538288837032, 0.886678227135])
    assert seen[0][0] == near(-0.173551360628)
    assert settled(posed)[0] == near([0.961248765874, -0.174793343601, 0.501984720582])
    weights, _, low = settled(problem(FORMS["sqhinge"], SQUARE, CONSTANT))
    assert weights == near([0.83405505714, -0.361905903747, 0.576341965801, -0.207809738754])
    assert low == near(0.22104894109)
    assert losses.OneSidedHuber().proximal_slope(1.0, -3.0 - 0.5 * 1.9, 0.5, -1.9) == -2.0


@pytest.mark.parametrize(
    ("loss", "dual", "weights", "low"),
    [
        (
            losses.SquaredHinge(0.1),
            0.0330155666757,
            (0.500476649986, 0.166507783338),
            0.00171615835222,
        ),
        (losses.Hinge(0.1), 0.0389784895239, (0.55, 0.15), 0.00203780017506),
    ],
)
def test_z17_regularised_winnow(loss: Any, dual: float, weights: Any, low: float) -> None:
    # The threshold is an offset, the band a margin: b_i = 0.1 + 0.4 y_i.
    posed = problem(Form(loss, S_B), ENTROPY, X_B, 0.01, np.full(6, -0.4))
    found, variables, value = settled(posed)
    assert variables == pytest.approx([0.0, dual] * 3, rel=1e-8, abs=1e-12)
    assert found == pytest.approx([weights[0], *[weights[1]] * 3], rel=1e-8)
    assert value == pytest.approx(low, rel=1e-8)
    scores = [weights[0] + weights[1], 2.0 * weights[1]]
    assert X_B @ found == pytest.approx(scores * 3, rel=1e-8)


MOMENTS = np.array([[1.0, 2.0, 3.0, 4.0], [1.0, 0.0, 0.0, 1.0]])


def test_z18_modified_maximum_entropy() -> None:
    form = Form(losses.Squared(), np.array([2.8, 0.6]), 0.5)
    found, dual, low = settled(problem(form, ENTROPY, MOMENTS))
    assert found == near([0.199998987884, 0.198730146303, 0.24165726495, 0.359613600863])
    assert MOMENTS @ found == near([2.76088547879, 0.559612588747])
    assert low == near(0.00402045345697)
    assert dual == near(form.y - MOMENTS @ found)
    found, _, _ = settled(problem(form, ENTROPY, MOMENTS, 0.001))
    assert found == near([0.206882857368, 0.179062593299, 0.221652996604, 0.392401552729])
    assert MOMENTS @ found == near([2.79957324469, 0.599284410097])
    found, _, _ = settled(problem(form, ENTROPY, MOMENTS, 1e-5), 2000)
    limit = [0.207089033899, 0.178732898304, 0.221267101696, 0.392910966101]
    assert np.max(np.abs(found - limit)) == pytest.approx(5.12556328236e-06, rel=1e-5)


def test_z19_mixture_likelihood() -> None:
    densities = np.array([[0.9, 0.1, 0.2], [0.3, 0.5, 0.1], [0.2, 0.2, 0.7], [0.1, 0.6, 0.3]])
    posed = problem(Form(losses.NegativeLog(), np.zeros(4)), ENTROPY, densities, 0.05)
    ascent = MapAscent(posed, posed.initial_slopes())
    assert ascent.memory.state[:, 0] == near([7.5, 7.0, 6.5])
    found, dual, low = settled(posed)
    assert found == near([0.359779583037, 0.426245837754, 0.21397457921])
    assert dual == near([2.44366661567, 2.92009807152, 3.25746385555, 2.80963723212])
    assert dual == near(1.0 / (densities @ found))
    assert low == near(1.04665124546)


def test_z21_free_bias_step_by_step() -> None:
    posed = problem(FORMS["hinge"], SQUARE)
    multipliers = BiasSolver(posed, warm_start=posed.initial_slopes())
    seen = []
    for _ in range(6):
        for _ in range(300):
            multipliers.ascent.visit(np.arange(6), EXACT)
        balance = multipliers.balance
        multipliers.move()
        seen.append((multipliers.bias - multipliers.balance / multipliers.mu, balance))
    expected = [
        (-0.240623055309, -0.240623055309),
        (-0.287831983772, -0.0472089284625),
        (-0.297094117543, -0.00926213377065),
        (-0.298911297571, -0.00181718002885),
        (-0.299267818362, -0.000356520790891),
        (-0.299337765793, -6.99474308099e-05),
    ]
    assert np.array(seen) == pytest.approx(np.array(expected), rel=1e-8)
    assert multipliers.mu == 1.0


@pytest.mark.parametrize(
    ("form", "weights", "bias", "value"),
    [
        ("hinge", (1.2064516129, -0.498924731183, 0.661290322581), -0.29935483871, 0.400976702509),
        (
            "sqhinge",
            (0.78339305652, -0.448790725723, 0.613227401367),
            -0.299529218971,
            0.217936686653,
        ),
    ],
)
def test_z21_free_bias(form: str, weights: Any, bias: float, value: float) -> None:
    posed = problem(FORMS[form], SQUARE)
    found = BiasSolver(posed, 1e-12, 5000).run()
    assert found.dual / 6.0 == pytest.approx(value, rel=1e-9)
    assert found.primal / 6.0 == pytest.approx(value, rel=1e-9)
    assert found.weights == pytest.approx(weights, rel=1e-5)
    assert found.bias == pytest.approx(bias, rel=1e-5)
    assert math.fsum(found.alpha) == pytest.approx(0.0, abs=1e-14)
    if form == "hinge":
        assert zeta(posed, found.alpha) == pytest.approx(
            [0.0, 0.524193548387, 0.191935483871, 0.332258064516, 1.0, 1.0], abs=1e-6
        )


def logistic(X: np.ndarray, y: np.ndarray, strength: float) -> tuple[np.ndarray, np.ndarray, float]:
    """Return weights, dual variables and min P of the mean logistic loss."""
    return settled(problem(Form(losses.Logistic(), y), SQUARE, X, strength), 100)


def entropy(z: np.ndarray) -> np.ndarray:
    return z * np.log(z) + (1.0 - z) * np.log1p(-z)


def test_z24_parts_of_the_data() -> None:
    whole, dual, _ = logistic(X_A, S_A, 0.1)
    part = np.array([0, 2, 5])
    rows = X_A[part] * S_A[part, None]
    inner, own, _ = logistic(X_A[part], S_A[part], 0.1)
    restricted = dual[part] @ rows / 0.3
    left = 0.05 * np.sum((inner - whole) ** 2)
    apart = np.mean(entropy(own) - entropy(dual[part]) + (rows @ whole) * (own - dual[part]))
    right = 0.05 * np.sum((restricted - whole) ** 2)
    assert (left, apart, right) == near((0.0609691802955, 0.024313663768, 0.127193925921))
    assert left + apart <= right


def test_z25_samples_of_a_population() -> None:
    whole, dual, _ = logistic(X_N, S_N, 0.3)
    parts = S_N[:, None] * X_N * dual[:, None] / 0.3
    left, right = [], []
    for sample in itertools.combinations_with_replacement(range(8), 2):
        chosen = list(sample)
        times = 1.0 if chosen[0] == chosen[1] else 2.0
        found, _, _ = logistic(X_N[chosen], S_N[chosen], 0.3)
        left.append(times * 0.5 * np.sum((found - whole) ** 2))
        right.append(times * 0.5 * np.sum((parts[chosen].mean(axis=0) - whole) ** 2))
    spread = np.sum(np.var(parts, axis=0)) / (2.0 * 2.0)
    assert sum(right) / 64.0 == near(spread)
    assert sum(left) <= sum(right)


def test_z26_online_by_solving_every_prefix() -> None:
    weights = [np.zeros(3)]
    steps, bounds = [], []
    for k in range(1, 7):
        found, dual, low = logistic(X_A[:k], S_A[:k], 0.1)
        if k > 1:
            steps.append(np.linalg.norm(found - weights[-1]))
            own = dual[-1] * S_A[k - 1] * X_A[k - 1] / 0.1
            bounds.append(np.linalg.norm(found - own) / (k - 1))
        weights.append(found)
    assert steps == near(
        [0.117648571979, 0.759060065433, 0.643360861447, 0.399061192203, 0.556827760546]
    )
    assert bounds == near(
        [0.117897486748, 0.834124450664, 0.691982607346, 0.611298289709, 0.912292721119]
    )
    lost = sum(losses.Logistic().value(S_A[k], float(X_A[k] @ weights[k])) for k in range(6))
    bound = 6.0 * low + math.log(2.0) + 2.0 * ROW_A**2 / 0.1 * (1.0 + math.log(5.0))
    assert (lost, 6.0 * low) == near((3.34816794888, 3.1590351907))
    assert bound == pytest.approx(54.4752778725, rel=1e-10)

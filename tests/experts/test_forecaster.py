"""Forecasts mixed for any loss, the classifier by a surrogate, and combinations in hindsight."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import noregret as nr
from noregret import experts, losses
from noregret.experts import Forecaster, SurrogateClassifier, best_combination, exp_concavity
from noregret.experts.forecaster import cost_range

CONCAVE: list[Any] = [
    (losses.Squared(), -1.0, 2.0),
    (losses.NegativeLog(), 0.05, 1.0),
    (losses.Logistic(), -2.0, 3.0),
    (losses.SquaredHinge(1.5), -1.0, 1.0),
    (losses.Exponential(), -1.0, 1.5),
]


def outcomes_of(loss: Any, low: float, high: float, rounds: int, seed: int) -> np.ndarray:
    random = np.random.default_rng(seed)
    if loss.labels == "sign":
        return random.choice([-1.0, 1.0], rounds)
    return random.uniform(low, high, rounds)


@pytest.mark.parametrize(("loss", "low", "high"), CONCAVE)
def test_the_rate_is_the_largest_that_is_exp_concave(loss: Any, low: float, high: float) -> None:
    eta = exp_concavity(loss, low, high)
    labels = (-1.0, 1.0) if loss.labels == "sign" else (low, high)
    p = np.linspace(low, high, 401)

    def bends(rate: float) -> float:
        curves = [np.exp([-rate * loss.value(y, q) for q in p]) for y in labels]
        return max(float(np.diff(curve, 2).max()) for curve in curves)

    assert bends(eta) <= 1e-12
    assert bends(1.02 * eta) > 1e-9
    least, most = cost_range(loss, low, high)
    values = [loss.value(y, q) for y in labels for q in p]
    assert least <= min(values) + 1e-12 and most == pytest.approx(max(values))


@pytest.mark.parametrize(("loss", "low", "high"), CONCAVE)
def test_exp_concave_losses_have_a_regret_that_does_not_grow(
    loss: Any, low: float, high: float
) -> None:
    random = np.random.default_rng(0)
    for seed in range(6):
        d = int(random.integers(1, 12))
        predictions = random.uniform(low, high, (120, d))
        if seed % 2:
            predictions = np.where(predictions > 0.5 * (low + high), high, low)
        y = outcomes_of(loss, low, high, 120, seed)
        forecaster = Forecaster(d, loss, "concave", low, high)
        made = forecaster.learn(predictions, y)
        own = math.fsum(loss.value(a, b) for a, b in zip(y.tolist(), made.tolist(), strict=True))
        lost = [
            sum(loss.value(a, b) for a, b in zip(y, column, strict=True))
            for column in predictions.T
        ]
        proof = forecaster.certificate()
        assert own - min(lost) <= math.log(d) / forecaster.eta + 1e-9
        assert proof.loss == pytest.approx(own, rel=1e-12)
        np.testing.assert_allclose(proof.totals, lost, rtol=1e-11)
        bound = proof.bounds[0]
        assert bound.name == "exp-concave loss, ln d/eta" and bound.applies
        assert proof.regret() <= bound.value


def test_a_rate_above_the_concave_one_is_told() -> None:
    forecaster = Forecaster(2, losses.Squared(), 1.0, 0.0, 1.0)
    forecaster.learn([[0.0, 1.0]], [0.0])
    bound = forecaster.certificate().bounds[0]
    assert not bound.applies and bound.reason == "eta = 1, needed <= 0.5"


def test_randomised_prediction() -> None:
    """Theorem 1.3: hypotheses with values 0 and 1, the loss |p - y|."""
    random = np.random.default_rng(1)
    T, d = 200, 16
    table = random.integers(0, 2, (T, d)).astype(float)
    y = np.where(random.uniform(size=T) < 0.8, table[:, 3], 1.0 - table[:, 3])
    eta = experts.expert_theorems.tuned_rate(d, T)
    forecaster = Forecaster(d, losses.Absolute(), eta, 0.0, 1.0)
    made = forecaster.learn(table, y)
    best = np.abs(table - y[:, None]).sum(axis=0).min()
    assert np.abs(made - y).sum() - best <= math.sqrt(0.5 * T * math.log(d))
    # |<w, v> - y| is the mean of |v_i - y|.
    assert forecaster.certificate().loss == pytest.approx(np.abs(made - y).sum())


@pytest.mark.parametrize("loss", [losses.Squared(), losses.Absolute(), losses.Logistic()])
@pytest.mark.parametrize("eta", ["adaptive", 0.05])
def test_slopes_compete_with_every_combination(loss: Any, eta: Any) -> None:
    random = np.random.default_rng(2)
    predictions = random.normal(size=(150, 4))
    y = predictions @ [0.4, 0.3, 0.3, 0.0] + 0.2 * random.normal(size=150)
    y = np.sign(y) if loss.labels == "sign" else y
    forecaster = Forecaster(4, loss, eta, against="combinations")
    made = forecaster.learn(predictions, y)
    proof = forecaster.certificate()
    best = best_combination(predictions, y, loss)
    assert proof.combination_regret is not None
    assert proof.loss - best.floor <= proof.combination_regret + best.gap
    assert all(proof.combination_regret <= b.value for b in proof.bounds if b.applies)
    # Its floor is that of the supporting lines at the forecasts, over the simplex.
    floor = nr.certify(predictions, y, made, loss, mirror=nr.mirrors.Entropy()).floor(1.0)
    assert max(proof.loss - proof.combination_regret, 0.0) == pytest.approx(floor, abs=1e-8)


def test_cuts_and_files_change_no_bit(tmp_path: Path) -> None:
    random = np.random.default_rng(3)
    predictions, y = random.uniform(size=(50, 3)), random.uniform(size=50)
    for eta, against in (
        ("concave", "experts"),
        ("doubling", "experts"),
        ("adaptive", "combinations"),
    ):
        unbroken = Forecaster(3, losses.Squared(), eta, 0.0, 1.0, against)
        made = unbroken.learn(predictions, y)
        broken, pieces = Forecaster(3, losses.Squared(), eta, 0.0, 1.0, against), []
        for part in (slice(0, 1), slice(1, 30), slice(30, 50)):
            assert np.allclose(broken.forecast(predictions[part][:1]), made[part][:1])
            pieces.append(broken.learn(predictions[part], y[part]))
            broken.save(tmp_path / "f.nr")
            loaded = nr.load(tmp_path / "f.nr")
            assert isinstance(loaded, Forecaster)
            broken = loaded
        assert np.array_equal(np.concatenate(pieces), made)
        assert str(broken.certificate()) == str(unbroken.certificate())


def test_the_classifier_of_section_2_1_2() -> None:
    rows = np.array([[1, 0, 1, 0], [1, 1, 0, 0], [0, 1, 1, 0], [1, 1, 1, 1]])
    learner = SurrogateClassifier(4)
    activations, predictions = [], []
    for x in (1, 2, 3, 4, 2, 3):
        activations.append(learner.activation(rows[:, x - 1]))
        predictions.append(learner.learn(rows[:, x - 1], int(rows[2, x - 1])))
    expected = [0.75, 0.784887081464, 0.784887081464, 0.215112918536, 0.784887081464]
    assert activations == pytest.approx([*expected, 0.784887081464], rel=1e-10)
    assert predictions == [1, 1, 1, 0, 1, 1] and learner.mistakes == 1
    weights = [0.215112918536, 0.215112918536, 0.354661244392, 0.215112918536]
    assert learner.weights == pytest.approx(weights, rel=1e-10)
    values = {bound.name: bound.value for bound in learner.certificate().bounds}
    assert values["in advance"] == pytest.approx(11.090354889, rel=1e-10)
    sharp = SurrogateClassifier(4, eta=1.0).certificate().bounds[-1]
    assert (sharp.value, sharp.factor) == (pytest.approx(2.77258872224, rel=1e-10), 2.0)
    # A tie is the label 1.
    assert SurrogateClassifier(2).learn([1, 0], 1) == 1


@pytest.mark.parametrize("eta", [0.25, 1.0])
def test_mistakes_stay_below_the_bounds(eta: float) -> None:
    random = np.random.default_rng(4)
    for noise in (0.0, 0.1):
        for d in (2, 9, 40):
            learner = SurrogateClassifier(d, eta)
            for _ in range(200):
                v = random.integers(0, 2, d)
                y = int(v[0]) ^ int(random.uniform() < noise)
                learner.learn(v, y)
            proof = learner.certificate()
            for bound in proof.bounds:
                assert proof.mistakes <= bound.factor * proof.surrogate + bound.value
            if eta == 1.0:
                assert proof.mistakes <= 2.0 * proof.surrogate + 2.0 * math.log(d)
            after = math.log(d) / eta + learner._gaps
            assert proof.mistakes <= proof.surrogate + after
            assert learner._gaps <= 0.5 * eta * proof.mistakes + 1e-12
            assert f"{proof.mistakes}" in str(proof)


@pytest.mark.parametrize(
    "loss",
    [
        losses.Squared(), losses.Absolute(), losses.Huber(0.5), losses.Quantile(0.3),
        losses.EpsilonInsensitive(0.1), losses.Logistic(), losses.Hinge(), losses.SquaredHinge(),
        losses.Exponential(),
    ],
)  # fmt: skip
def test_best_combinations_are_proved(loss: Any) -> None:
    random = np.random.default_rng(5)
    predictions = random.normal(size=(120, 5))
    y = predictions @ [0.5, 0.2, 0.3, 0.0, 0.0] + 0.3 * random.normal(size=120)
    y = np.sign(y) if loss.labels == "sign" else y
    found = best_combination(predictions, y, loss)
    assert found.gap <= 1e-6 * max(1.0, found.loss)
    assert found.weights.min() >= 0.0 and found.weights.sum() == pytest.approx(1.0, abs=1e-12)
    for u in (*np.eye(5), *random.dirichlet(np.full(5, 0.5), 50), found.weights):
        lost = math.fsum(
            loss.value(a, b) for a, b in zip(y.tolist(), (predictions @ u).tolist(), strict=True)
        )
        assert lost >= found.floor
    assert lost <= found.loss


def test_losses_of_combinations_are_bounds_to_the_last_bit() -> None:
    """Levels of 1e9 under differences of 1: rounding of a prediction is all that is left."""
    random = np.random.default_rng(6)
    for _ in range(60):
        levels = random.uniform(1e7, 1e9, 2)
        table = np.column_stack([levels, levels + 1.0])
        y = levels + random.uniform(0.2, 0.8)
        found = best_combination(table, y, losses.Absolute())
        rows = [tuple(map(Fraction, row)) for row in np.column_stack([table, y]).tolist()]
        kinks = [(goal - a) / (b - a) for a, b, goal in rows]
        # A sum of absolute values is least at a kink or at an end.
        least = min(
            sum(abs(a + v * (b - a) - goal) for a, b, goal in rows)
            for v in [Fraction(0), Fraction(1), *(v for v in kinks if 0 <= v <= 1)]
        )
        assert Fraction(found.floor) <= least <= Fraction(found.loss)
        assert found.gap < 1e-5


def test_a_bound_does_not_fall_below_what_the_lines_prove() -> None:
    forecaster = Forecaster(1, losses.Squared(), against="combinations")
    forecaster.learn([[0.1], [0.7]], [0.3, 0.2])
    proof = forecaster.certificate()
    assert proof.combination_regret is not None and len(proof.bounds) == 3
    assert all(proof.combination_regret <= bound.value for bound in proof.bounds)


@dataclass(frozen=True)
class Hump(losses.Loss):
    """Convex in the prediction, not in the target: largest where the target is in the middle."""

    labels = "real"

    def value(self, y: float, p: float) -> float:
        return p * p / (1.0 + y * y)

    def slope(self, y: float, p: float) -> float:
        return 2.0 * p / (1.0 + y * y)


def test_a_promise_of_the_corners_that_is_broken_is_told() -> None:
    for eta, name in ((0.5, "in advance"), ("anytime", "rates"), ("doubling", "doubling trick")):
        forecaster = Forecaster(2, Hump(), eta, -1.0, 1.0)
        forecaster.learn([[0.0, 1.0]], [0.0])
        (bound,) = [each for each in forecaster.certificate().bounds if each.name.startswith(name)]
        assert not bound.applies and bound.reason == "costs 1 apart were seen, promised 0.5"


def test_a_steep_classifier_goes_on() -> None:
    learner = SurrogateClassifier(2, 1000.0)
    # The hypothesis that was given up, its weight 0 as a number, is right in the second round.
    assert [learner.learn([1, 0], y) for y in (0, 1, 1)] == [1, 0, 1]
    assert learner.mistakes == 2 and learner._gaps == pytest.approx(1.0, rel=1e-12)
    proof = learner.certificate()
    assert all(proof.mistakes <= b.factor * proof.surrogate + b.value for b in proof.bounds)


def test_a_combination_of_one_and_of_twins() -> None:
    alone = best_combination([[1.0], [2.0]], [0.0, 0.0], losses.Squared())
    assert (alone.weights.tolist(), alone.loss) == ([1.0], pytest.approx(5.0))
    twins = best_combination(np.ones((3, 4)), [0.0, 0.0, 0.0], losses.Absolute())
    assert twins.loss == pytest.approx(3.0) and twins.gap <= 1e-6

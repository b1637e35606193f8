"""Every theorem's value, recomputed from the rounds that were played.

A bound that is a little too low is lifted to what the run proves, and one that is too high is
true all the same: so the values are compared with the formulas of the references, with that
safeguard taken away.
"""

from __future__ import annotations

import itertools
import math
from fractions import Fraction
from typing import Any
from unittest import mock

import numpy as np
import pytest

import noregret as nr
from noregret import catalogue, domains, losses, mirrors, rates
from noregret.proof.evidence import Coins
from noregret.proof.ledger import Entry
from noregret.proof.statement import Measured, Statement
from noregret.rates.first_order import CURVATURE
from tests.truth.claims import bare_theorems

ROUNDS, D = 24, 3
RNG = np.random.default_rng(7)
X = RNG.normal(size=(ROUNDS, D))
SIGNS = RNG.choice([-1.0, 1.0], ROUNDS)
TARGETS = RNG.normal(size=ROUNDS)
ETA = 0.3


class Run:
    """A learner on the rows above: the weights and gradients of every round."""

    def __init__(self, learner: nr.MirrorDescent, rows: Any = X, y: Any = SIGNS) -> None:
        self.learner = learner
        weights, gradients, self.rated = [], [], []
        for x, label in zip(rows, y, strict=True):
            weights.append(learner.weights if learner.rounds else np.zeros(rows.shape[1]))
            p = learner.learn([x], [label])[0]
            gradients.append(learner.loss.slope(label, p) * x)
            self.rated.append(learner.certificate().ledger[Entry.LAST_ETA])
        self.w, self.z = np.array(weights), np.array(gradients)
        self.proof = learner.certificate()

    def bounds(self, radius: float | None = None) -> dict[str, Statement]:
        with bare_theorems():
            return {bound.name: bound for bound in self.proof.bounds_for(radius)}

    def value(self, name: str, radius: float | None = None) -> float:
        bound = self.bounds(radius)[name]
        assert bound.applies, bound
        return bound.value


def descent(
    mirror: mirrors.Mirror, rate: rates.Rate | None = None, **more: Any
) -> nr.MirrorDescent:
    given = {"loss": losses.Hinge(), "dimension": D} | more
    return nr.MirrorDescent(mirror=mirror, rate=rate or rates.Constant(ETA), **given)


def two(z: np.ndarray) -> np.ndarray:
    return np.sqrt((z * z).sum(axis=1))


def largest(z: np.ndarray) -> np.ndarray:
    return np.abs(z).max(axis=1)


def cube(z: np.ndarray) -> np.ndarray:
    return (np.abs(z) ** 3.0).sum(axis=1) ** (1.0 / 3.0)


@pytest.mark.parametrize(
    ("mirror", "radius", "complexity", "smooth", "norm"),
    [
        (mirrors.Euclidean(), 1.5, 1.125, 1.0, two),
        (mirrors.Ball(2.0), 2.0, 2.0, 1.0, two),
        (mirrors.PNorm(3.0), 1.5, 1.125, 2.0, cube),
        (mirrors.Entropy(2.0), 2.0, 2.0 * math.log(D), 2.0, largest),
        (mirrors.SignedEntropy(2.0), 2.0, math.log(2.0 * D), 4.0, largest),
        (mirrors.ElasticNet(0.25), 2.0, 2.0 + 0.25 * 2.0 * math.sqrt(D), 1.0, two),
    ],
    ids=lambda given: getattr(given, "__name__", str(given)),
)
def test_observed_gradients(
    mirror: mirrors.Mirror, radius: float, complexity: float, smooth: float, norm: Any
) -> None:
    run = Run(descent(mirror))
    stability = 0.5 * smooth * ETA * float((norm(run.z) ** 2).sum())
    value = run.value("mirror descent, observed gradients", radius)
    assert value == pytest.approx(complexity / ETA + stability, rel=1e-9)


@pytest.mark.parametrize("rate", [rates.InverseSqrt(0.5), rates.Adaptive()], ids=str)
def test_rates_that_fall_are_summed_round_by_round(rate: rates.Rate) -> None:
    run = Run(descent(mirrors.Ball(2.0), rate))
    stability = 0.5 * float(np.array(run.rated) @ two(run.z) ** 2)
    value = run.value("mirror descent, observed gradients")
    assert value == pytest.approx(2.0 / run.rated[-1] + stability, rel=1e-9)


def test_after_the_fact() -> None:
    run = Run(descent(mirrors.Euclidean()))
    Z = run.z.sum(axis=0)
    played = float((run.w * run.z).sum())
    value = run.value("mirror descent, after the fact", 1.5)
    assert value == pytest.approx(1.125 / ETA + 0.5 * ETA * float(Z @ Z) + played, rel=1e-9)


def test_in_advance() -> None:
    limit = 4.0
    assert two(X).max() < limit
    run = Run(descent(mirrors.Ball(2.0), row_limit=limit))
    value = run.value("mirror descent, in advance")
    assert value == pytest.approx(2.0 / ETA + 0.5 * ETA * ROUNDS * limit**2, rel=1e-9)


def test_in_advance_needs_the_promised_rows() -> None:
    short = float(np.sort(two(X))[-2]) * 1.001
    first = int(np.argmax(two(X))) + 1
    bound = Run(descent(mirrors.Ball(2.0), row_limit=short)).bounds()["mirror descent, in advance"]
    assert not bound.applies
    assert bound.reason.endswith(f"does not hold since round {first}")
    heavy = descent(mirrors.Ball(2.0), row_limit=4.0)
    heavy.learn(X, SIGNS, np.full(ROUNDS, 2.0))
    named = {bound.name: bound for bound in heavy.certificate().bounds}
    assert named["mirror descent, in advance"].reason.startswith("a weighted row is longer")
    square = descent(mirrors.Ball(2.0), loss=losses.Squared(), row_limit=4.0)
    square.learn(X, TARGETS)
    named = {bound.name: bound for bound in square.certificate().bounds}
    assert named["mirror descent, in advance"].reason == "the loss has no Lipschitz constant"


def test_local_norms() -> None:
    rows = np.abs(X)
    run = Run(descent(mirrors.Entropy(2.0), rates.Constant(0.1)), rows)
    run.w[0] = 2.0 / D
    local = float((run.w * run.z**2).sum())
    value = run.value("exponentiated gradient, local norms")
    assert value == pytest.approx(2.0 * math.log(D) / 0.1 + 0.1 * local, rel=1e-9)


def test_local_norms_need_steps_of_at_least_minus_one() -> None:
    run = Run(descent(mirrors.Entropy(2.0), rates.Constant(1.0)))
    late = next(t for t, z in enumerate(run.z, 1) if z.min() < -1.0)
    bound = run.bounds()["exponentiated gradient, local norms"]
    assert bound.reason == f"eta z >= -1 does not hold since round {late}"


def test_strongly_convex_rounds() -> None:
    sigma = 0.5
    run = Run(descent(mirrors.Euclidean(), rates.StronglyConvex(sigma)))
    squares = ((run.z + sigma * run.w) ** 2).sum(axis=1)
    observed = float((squares / np.arange(1.0, ROUNDS + 1.0)).sum()) / (2.0 * sigma)
    assert run.value("strongly convex OGD, observed gradients") == pytest.approx(observed, rel=1e-9)
    worst = float(squares.max()) / (2.0 * sigma) * (1.0 + math.log(ROUNDS))
    assert run.value("strongly convex OGD") == pytest.approx(worst, rel=1e-9)


def test_projected_descent() -> None:
    R, r = 1.5, 1.0
    run = Run(
        descent(mirrors.Euclidean(), rates.InverseSqrt(0.5), domain=domains.Ball(R), lazy=False)
    )
    etas, squares = np.array(run.rated), two(run.z) ** 2
    observed = r * r / (2.0 * etas[0]) + 2.0 * R * R * (1.0 / etas[-1] - 1.0 / etas[0])
    observed += 0.5 * float(etas @ squares)
    assert run.value("projected OGD, observed gradients", r) == pytest.approx(observed, rel=1e-9)
    worst = (2.0 * R * R / 0.5 + float(squares.max()) * 0.5) * math.sqrt(ROUNDS)
    assert run.value("projected OGD", r) == pytest.approx(worst, rel=1e-9)
    beyond = run.bounds(2.0)["projected OGD, observed gradients"]
    assert beyond.reason == "the class is larger than the domain"


def test_agile_steps_without_a_domain() -> None:
    run = Run(descent(mirrors.Euclidean(), lazy=False))
    observed = 1.125 / ETA + 0.5 * ETA * float((two(run.z) ** 2).sum())
    assert run.value("OGD, observed gradients", 1.5) == pytest.approx(observed, rel=1e-9)


def test_a_box_is_measured_at_its_farther_corner() -> None:
    run = Run(descent(mirrors.Euclidean(), domain=domains.Box(-2.0, 1.0)))
    stability = 0.5 * ETA * float((two(run.z) ** 2).sum())
    value = run.value("mirror descent, observed gradients")
    assert value == pytest.approx(0.5 * D * 4.0 / ETA + stability, rel=1e-9)


def test_rates_by_coordinate() -> None:
    scale, R = 0.5, 1.5
    run = Run(descent(mirrors.Euclidean(), rates.PerCoordinate(scale)))
    squares, sizes = (run.z**2).sum(axis=0), np.abs(X).max(axis=0)
    steepest = float((np.sqrt(squares + sizes**2) / scale).max())
    wanted = 0.5 * R * R * steepest + scale * float(np.sqrt(squares).sum())
    assert run.value("per-coordinate rates", R) == pytest.approx(wanted, rel=1e-9)


def test_rates_by_coordinate_are_not_for_thresholds_nor_steep_losses_nor_sizes() -> None:
    soft = Run(descent(mirrors.SoftThreshold(0.01), rates.PerCoordinate(0.5)))
    assert soft.bounds(1.0)["per-coordinate rates"].reason.startswith("the soft threshold")
    steep = Run(descent(mirrors.Euclidean(), rates.PerCoordinate(0.5), loss=losses.Squared()))
    assert steep.bounds(1.0)["per-coordinate rates"].reason == "the loss has no Lipschitz constant"
    sized = Run(descent(mirrors.Euclidean(), rates.PerCoordinate(0.5, invariant=True)))
    assert "per-coordinate rates" not in sized.bounds(1.0)


def conservative(mirror: mirrors.Mirror, loss: Any, rate: float = 1.0, **more: Any) -> Run:
    learner = descent(mirror, rates.Constant(rate), loss=loss, conservative=True, **more)
    return Run(learner)


@pytest.mark.parametrize(
    ("mirror", "margin", "smooth", "norm"),
    [
        (mirrors.Euclidean(), 1.0, 1.0, two),
        (mirrors.Euclidean(), 0.3, 1.0, two),
        (mirrors.PNorm(3.0), 1.0, 2.0, cube),
    ],
    ids=lambda given: getattr(given, "__name__", str(given)),
)
def test_the_perceptron(mirror: mirrors.Mirror, margin: float, smooth: float, norm: Any) -> None:
    run = conservative(mirror, losses.Hinge(margin))
    wrong = [t for t in range(ROUNDS) if SIGNS[t] * float(run.w[t] @ X[t]) <= 0.0]
    bound = run.bounds(1.5)["Perceptron"]
    reach = 1.5 * float(norm(X[wrong]).max()) * math.sqrt(smooth * len(wrong))
    assert bound.value == pytest.approx(reach / margin, rel=1e-9)
    assert bound.factor == pytest.approx(1.0 / margin)
    # A factor below 1 / margin would count a mistake of loss `margin` as less than one.
    assert Fraction(bound.factor) * Fraction(margin) >= 1
    fact = run.bounds(1.5)["Perceptron, after the fact"]
    dual = mirror.predictors().dual_norm(run.z[wrong].sum(axis=0))
    assert fact.value == pytest.approx(1.5 * dual / margin, rel=1e-9)


def test_two_columns_of_a_multiclass_perceptron_move_at_a_mistake() -> None:
    learner = nr.MatrixDescent(
        losses.MulticlassHinge(), mirrors.Euclidean(), rates.Constant(1.0), 3, D, conservative=True
    )
    classes = np.random.default_rng(3).integers(0, 3, ROUNDS)
    scores = learner.learn(X, classes)
    others = scores.copy()
    others[np.arange(ROUNDS), classes] = -np.inf
    wrong = scores[np.arange(ROUNDS), classes] <= others.max(axis=1)
    with bare_theorems():
        named = {bound.name: bound for bound in learner.certificate().bounds_for(1.5)}
    reach = 1.5 * float(two(X[wrong]).max()) * math.sqrt(2.0 * wrong.sum())
    assert named["Perceptron"].value == pytest.approx(reach, rel=1e-9)


@pytest.mark.parametrize(
    ("more", "reason"),
    [
        ({"rate": rates.Doubling(1.0)}, "the learner restarts"),
        (
            {"rate": rates.InverseSqrt(1.0), "lazy": False},
            "agile steps follow the link only at a constant rate, without a domain",
        ),
        ({"rate": rates.PerCoordinate(1.0)}, "every feature has a rate of its own"),
    ],
)
def test_a_perceptron_must_follow_its_link(more: dict[str, Any], reason: str) -> None:
    run = Run(descent(mirrors.Euclidean(), conservative=True, **more))
    assert run.bounds(1.0)["Perceptron"].reason == reason


def test_mistakes_are_counted_one_by_one_where_examples_weigh_1() -> None:
    for weight in (0.5, 2.0):
        learner = catalogue.perceptron(D)
        learner.learn(X, SIGNS, np.where(np.arange(ROUNDS) == 0, weight, 1.0))
        for bound in learner.certificate().bounds_for(1.0):
            if bound.measure == "mistakes":
                assert bound.reason == "the examples do not all weigh 1", bound


ONES = np.abs(np.round(RNG.random((ROUNDS, 4)) * 4.0) / 4.0)


def winnowed(mirror: mirrors.Mirror | None = None, rows: Any = ONES) -> Run:
    loss = losses.WinnowHinge()
    given = mirror or mirrors.UnnormalizedEntropy()
    return Run(descent(given, rates.Constant(0.2), loss=loss, conservative=True, dimension=4), rows)


def test_winnow_of_ones() -> None:
    run = winnowed()
    bound = run.bounds(2.0)["Winnow, u of 2 ones"]
    assert bound.applies
    assert bound.value == pytest.approx((1.0 + 2.0 * (math.log(4.0) - 1.0)) / 0.2 / 0.6, rel=1e-9)
    assert bound.factor == pytest.approx(1.0 / 0.6)


def test_what_winnow_is_measured_against_are_the_best_of_that_many_ones() -> None:
    proof = winnowed().proof
    seen: dict[str, float] = {}
    state = Measured.state

    def noted(run: Measured, name: str, *given: Any, **more: Any) -> Statement:
        seen[name] = run.value
        return state(run, name, *given, **more)

    with mock.patch.object(Measured, "state", noted):
        proof.bounds_for(2.0)
    pairs = [u for u in itertools.product((0.0, 1.0), repeat=4) if sum(u) == 2.0]
    least = proof.intercept + min(float(np.array(u) @ proof.gradient) for u in pairs)
    excess = proof.ledger[Entry.COUNTED] - least / 0.6
    assert seen["Winnow, u of 2 ones"] == pytest.approx(excess, rel=1e-9)


def test_winnow_needs_its_start_and_features() -> None:
    other = winnowed(mirrors.UnnormalizedEntropy(0.5)).bounds(2.0)
    assert other["Winnow, u of 2 ones"].reason == "the weights must start at 1/d"
    rows = ONES.copy()
    rows[5, 0] = 1.25
    run = winnowed(rows=rows)
    assert run.bounds(2.0)["Winnow, u of 2 ones"].reason == (
        "features in [0, 1] do not hold since round 6"
    )
    rows[5, 0] = -0.25
    assert "since round 6" in winnowed(rows=rows).bounds(2.0)["Winnow, u of 2 ones"].reason


@pytest.mark.parametrize("rounds", [1, 2**44])
@pytest.mark.parametrize("radius", [0.5, 20.0])
def test_coin_betting(radius: float, rounds: int) -> None:
    sizes, hints = np.array([2.0, 0.5, 1.0]), np.array([1.0, 0.25, 3.0])
    squares, prices = np.array([40.0, 0.1, 900.0]), np.array([3.0, 0.2, 4.5])
    coins = Coins(0.3, sizes, hints, squares, prices)
    # Sums over so many rounds are known to this part.
    off = 16.0 * 2.0**-52 * rounds
    costs = []
    for m, h, v, n in zip(sizes, hints, squares, prices, strict=True):
        b = 0.5 / h * np.geomspace(1e-6, 1.0, 20001)
        first = (np.log(radius / m / (b * 0.3)) + n * (1.0 + off) + off - 1.0) / b
        costs.append(((first + CURVATURE * b * (v * (1.0 + off) + h * h)) / m).min())
    best = 0.9 + radius * float(np.linalg.norm(np.maximum(costs, 0.0)))
    assert best * (1.0 - 1e-9) <= coins.regret(radius, rounds) <= 1.03 * best


def test_what_theorems_are_measured_against_is_the_largest_linear_regret() -> None:
    run = Run(descent(mirrors.Ball(2.0)))
    seen: dict[str, float] = {}
    state = Measured.state

    def noted(measured: Measured, name: str, *given: Any, **more: Any) -> Statement:
        seen[name] = measured.value
        return state(measured, name, *given, **more)

    with mock.patch.object(Measured, "state", noted):
        assert run.proof.bounds
    linear = float((run.w * run.z).sum()) + 2.0 * float(np.linalg.norm(run.z.sum(axis=0)))
    for value in seen.values():
        assert value == pytest.approx(linear, rel=1e-9)
        assert value > linear

"""Floors and regrets against their formulas, on runs short enough to be worked out."""

from __future__ import annotations

import json
import math
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import ClassVar

import numpy as np
import pytest

import noregret as nr
from noregret import domains, losses, mirrors, rates
from noregret.proof.ledger import Entry
from tests.slack.test_terms import CANCELLING, cancelled, cancelled_loss

RNG = np.random.default_rng(11)
X = RNG.normal(size=(12, 2))
Y = RNG.choice([-1.0, 1.0], 12)


def curved() -> nr.Certificate:
    """Return the certificate of rounds that carry (1/4)||w||^2 each."""
    learner = nr.MirrorDescent(losses.Hinge(), mirrors.Euclidean(), rates.StronglyConvex(0.5))
    learner.learn(X, Y)
    return learner.certificate()


@pytest.mark.parametrize("radius", [1e-3, 0.1, 1.0, 50.0])
def test_the_floor_of_curved_rounds_is_the_minimum_of_their_parabola(radius: float) -> None:
    proof = curved()
    length, bend = float(np.linalg.norm(proof.gradient)), 0.5 * 12
    best = min(radius, length / bend)
    lowest = proof.intercept - best * length + 0.5 * bend * best * best
    assert lowest > 0.0
    assert proof.floor(radius) == pytest.approx(lowest, rel=1e-9)
    assert proof.floor(radius) < lowest
    everywhere = proof.intercept - length * length / (2.0 * bend)
    assert proof.regularized_floor() == pytest.approx(everywhere, rel=1e-9)


def test_a_regret_subtracts_the_line_and_the_penalty_of_u() -> None:
    proof = curved()
    for u in ([0.0, 0.0], [0.5, -0.25], [0.1, 0.3]):
        penalty = 0.25 * 12 * float(np.dot(u, u))
        lowest = proof.intercept + float(proof.gradient @ u) + penalty
        wanted = min(proof.loss - lowest, proof.loss)
        assert proof.regret(u) == pytest.approx(wanted, rel=1e-9)
        assert proof.regret(u) > wanted


def test_losses_regrets_and_floors_are_rounded_outwards() -> None:
    proof = nr.certify(X, Y, 0.1 * Y, losses.Logistic())
    assert proof.slack > 0.0
    assert proof.loss_upper >= proof.loss + proof.slack
    floor = proof.floor(0.01)
    assert 0.0 < floor <= proof.intercept - 0.01 * np.linalg.norm(proof.gradient) - proof.slack
    # The loss may be higher by its slack, and so may the regret.
    assert proof.regret_bound(0.01) >= proof.loss - floor + proof.slack


def test_the_support_of_a_domain_covers_the_rounding_of_Z() -> None:
    proof = replace(cancelled(), domain=domains.Box(-1.0, 1.5))
    assert Fraction(proof.floor()) <= cancelled_loss(-1.0)
    assert proof.floor() == pytest.approx(len(CANCELLING), rel=1e-9)


def test_the_support_of_a_domain_covers_the_rounding_of_its_inner_product() -> None:
    box = domains.Box(1.0, 2.0)
    for seed in range(20):
        z = np.random.default_rng(seed).normal(size=301)
        z[-1] = 0.0
        corner = np.where(-z > 0.0, 2.0, 1.0)
        # The last coordinate makes the large sums of both signs cancel.
        z[-1] = float(corner[:-1] @ z[:-1]) / (2.0 if corner[:-1] @ z[:-1] < 0.0 else 1.0)
        ledger = curved().ledger.copy()
        ledger[Entry.TRAVEL] = 0.0
        proof = replace(curved(), ledger=ledger, gradient=z, domain=box, penalised=False)
        true = sum((max(-Fraction(x), -2 * Fraction(x)) for x in z.tolist()), Fraction())
        assert Fraction(proof.domain_support(box)) - Fraction(proof.delta) * 2 >= true


def test_zero_regret_needs_losses_that_are_truly_zero() -> None:
    # exp(-800) is 0 in floating point: the learner lost more than a perfect predictor may.
    proof = nr.certify([[1.0]], [1.0], [800.0], losses.Logistic())
    assert proof.loss == 0.0
    assert proof.regret([0.0]) > 0.0 or proof.regret_bound(1.0) > 0.0
    sure = nr.certify([[1.0]], [1.0], [800.0], losses.Hinge())
    assert sure.regret_bound(1.0) == 0.0
    # A weight below 1 can make a loss above 0 vanish.
    light = nr.certify([[1.0]], [0.0], [1e-200], losses.Absolute(), [1e-200])
    assert light.loss == 0.0
    assert light.regret_bound(0.0) > 0.0


def test_a_statement_that_overflowed_is_not_made() -> None:
    proof = curved()
    assert proof.regret([1e308, 1e308]) <= proof.loss_upper
    assert not math.isnan(proof.regret([1e308, -1e308]))


@dataclass(frozen=True)
class Sunk(losses.Regression):
    """The absolute loss minus 1."""

    nonnegative: ClassVar[bool] = False

    def value(self, y: float, p: float) -> float:
        return abs(p - y) - 1.0

    def slope(self, y: float, p: float) -> float:
        return 1.0 if p > y else -1.0


def test_floors_far_below_the_loss_are_rounded_outwards_too() -> None:
    learner = nr.MirrorDescent(Sunk(), mirrors.Euclidean(), rates.Constant(1e-9))
    learner.learn([[1.0], [2.0]], [1.0, -3.0])
    proof = learner.certificate()
    for radius in RNG.uniform(1e10, 1e12, 20).tolist():
        regret = Fraction(proof.loss) - Fraction(proof.floor(radius))
        assert Fraction(proof.regret_bound(radius)) >= regret


def test_an_infinite_floor_is_ready_for_json() -> None:
    learner = nr.MirrorDescent(Sunk(), mirrors.Euclidean(), rates.Constant(1e-9))
    learner.learn([[1e10], [2.0]], [1.0, -3.0])
    proof = learner.certificate()
    assert proof.floor(1e300) == -math.inf
    found = json.loads(json.dumps(proof.as_dict(1e300), allow_nan=False))
    assert found["floor"] is None and found["regret_bound"] is None

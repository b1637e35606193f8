"""The accounts of dual ascent cover what rounding did to the dual value and to Z."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

from noregret import losses, mirrors
from noregret.learners import DualAscent
from noregret.learners.dual_certificate import TRAVELLED, DualCertificate
from noregret.proof.certificate import ROUND_ERRORS
from noregret.rounding import EPSILON


def to_and_fro(mirror: mirrors.Mirror, count: int, C: float, x: float = 1.0) -> DualCertificate:
    """Return the certificate of one feature whose labels alternate: Z goes to and fro."""
    learner = DualAscent(losses.Hinge(), mirror, C=C)
    learner.learn(np.full((count, 1), x), np.where(np.arange(count) % 2 == 0, 1.0, -1.0))
    return learner.certificate()


@pytest.mark.parametrize("mirror", [mirrors.Euclidean(), mirrors.Hypentropy(1.0)], ids=str)
def test_every_step_of_theta_is_rounded(mirror: mirrors.Mirror) -> None:
    proof = to_and_fro(mirror, 200, 1e-3)
    assert abs(proof.gradient[0]) < 1e-6
    # Z moved by 1 in each of 200 rounds, and half a unit in the last place is lost by each.
    assert proof.delta >= 200.0 * 0.5 * EPSILON


def test_steps_that_underflow_are_part_of_delta() -> None:
    learner = DualAscent(losses.Hinge(), mirrors.Euclidean(), C=5e-324)
    learner.learn(np.full((8, 1), 0.1), np.ones(8))
    proof = learner.certificate()
    # C s x is 0 in floating point: nothing is left of Z, which is -0.8.
    assert proof.gradient[0] == 0.0
    assert Fraction(proof.delta) >= 8 * Fraction(0.1)


def test_heights_of_all_rows_are_part_of_the_slack() -> None:
    learner = DualAscent(losses.Hinge(100.0), mirrors.Euclidean(), C=1e-6)
    learner.learn(np.ones((20, 1)), np.ones(20))
    proof = learner.certificate()
    # Both the losses and the heights -f*(s) are near 100 in every round.
    assert proof.intercept > 1990.0 and proof.loss > 1990.0
    assert proof.slack >= ROUND_ERRORS * EPSILON * (proof.intercept + proof.loss) * (1.0 - 1e-9)


def test_what_went_through_the_sums_leaves_a_rounding_of_second_order() -> None:
    learner = DualAscent(losses.Hinge(), mirrors.Euclidean(), C=0.5, update="window", k=4)
    rng = np.random.default_rng(0)
    learner.learn(rng.normal(size=(12, 3)), rng.choice([-1.0, 1.0], 12))
    proof = learner.certificate()
    # Each visit takes a height out and puts another one in.
    assert proof.accounts[TRAVELLED] >= proof.intercept > 0.0
    accounts = proof.accounts.copy()
    accounts[TRAVELLED] += EPSILON**-2
    assert replace(proof, accounts=accounts).slack >= proof.slack + ROUND_ERRORS


def test_a_floor_is_below_every_predictor_by_the_exact_sums() -> None:
    for seed in range(5):
        rng = np.random.default_rng(seed)
        X, y = rng.normal(size=(30, 2)), rng.choice([-1.0, 1.0], 30)
        learner = DualAscent(losses.Hinge(), mirrors.Euclidean(), C=0.3)
        learner.learn(X, y)
        proof = learner.certificate()
        for u in (np.zeros(2), learner.weights, 0.5 * learner.weights):
            lost = Fraction()
            for row, label in zip(X.tolist(), y.tolist(), strict=True):
                p = sum(Fraction(a) * Fraction(b) for a, b in zip(u.tolist(), row, strict=True))
                lost += max(1 - Fraction(label) * p, Fraction())
            half = sum(Fraction(a) ** 2 for a in u.tolist()) / 2
            assert Fraction(proof.dual) <= half + Fraction(0.3) * lost
        assert proof.fell == 0

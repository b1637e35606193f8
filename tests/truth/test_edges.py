"""Corners of the number line where a statement was once false, or not a number."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from scipy.sparse import csr_array

import noregret as nr
from noregret import domains, losses, mirrors, rates
from noregret.proof import bounds
from noregret.proof.ledger import Entry
from tests.sizes import sized
from tests.truth.claims import bare_theorems
from tests.truth.referee import Referee


def test_the_conjugate_of_the_unnormalised_entropy_is_not_capped() -> None:
    mirror = mirrors.UnnormalizedEntropy(1e-300)
    loss = losses.Hinge(1e6)
    proof = nr.certify(np.ones((1000, 1)), np.ones(1000), np.zeros(1000), loss, mirror=mirror)
    # u = 1e6 has no loss at all.
    assert proof.regularized_floor(1.0) <= mirror.regularizer(np.array([1e6]), 1.0)


def test_the_soft_threshold_is_part_of_its_regulariser() -> None:
    learner = nr.MirrorDescent(
        losses.Absolute(), mirrors.SoftThreshold(0.5), rates.Constant(1.0), dimension=1
    )
    learner.learn(np.ones((100, 1)), np.full(100, 3.0))
    proof, u = learner.certificate(), np.array([3.0])
    assert 100.0 < proof.regularized_floor() <= proof.mirror.regularizer(u, 1.0, 100)
    assert proof.mirror.regularizer(u, 1.0, 100) == 4.5 + 150.0


def test_regret_against_a_predictor_whose_square_overflows() -> None:
    proof = nr.certify([[1.0, 2.0]], [1.0], [0.0], losses.Hinge())
    assert proof.regret([1e200, 0.0]) >= 1.0
    assert 1.0 <= proof.regret([1e308, -1e308]) < math.inf


@pytest.mark.parametrize("mirror", [mirrors.Euclidean(), mirrors.Entropy(), mirrors.PNorm(3)])
def test_nothing_is_claimed_before_the_first_round(mirror: mirrors.Mirror) -> None:
    fresh = nr.MirrorDescent(losses.Hinge(), mirror, rates.Constant(1.0)).certificate()
    assert fresh.floor(1.0) == fresh.loss == fresh.regularized_floor() == 0.0
    assert fresh.bounds_for(1.0) == []


@pytest.mark.parametrize("domain", [domains.Box(-1.0, 1.0), domains.Ball(1.0), domains.Orthant()])
def test_a_domain_before_the_first_round(domain: domains.Domain) -> None:
    learner = nr.MirrorDescent(
        losses.Hinge(), mirrors.Euclidean(), rates.Constant(1.0), domain=domain, lazy=False
    )
    assert learner.certificate().floor() == 0.0


def test_rows_without_any_feature_are_rounds_too() -> None:
    learner = nr.catalogue.perceptron()
    learner.learn(csr_array((3, 4)), [1, -1, 1])
    assert learner.rounds == 3 and learner.certificate().floor(1e6) == pytest.approx(3.0)
    learner.learn(np.zeros((0, 4)), [])
    assert learner.rounds == 3


def test_a_rate_just_below_a_step_of_the_grid_ends() -> None:
    eta = float(np.nextafter(1024.0, 0.0))
    learner = nr.MirrorDescent(
        losses.Hinge(), mirrors.Entropy(), rates.InverseSqrt(eta), dimension=2
    )
    learner.learn([[1.0, 2.0]] * 3, [1, -1, 1])
    assert learner.rounds == 3


@pytest.mark.parametrize("mirror", [mirrors.Entropy(), mirrors.Ball(1.0), mirrors.Euclidean()])
def test_gradients_whose_squares_overflow_are_refused(mirror: mirrors.Mirror) -> None:
    learner = nr.MirrorDescent(losses.Hinge(), mirror, rates.Adaptive(), dimension=2)
    learner.learn([[1.0, 2.0]], [1])
    before = learner.certificate().as_dict()
    with pytest.raises(OverflowError, match="round 2 overflow"):
        learner.learn([[1e90, 2e90]], [1], [1e90])
    assert learner.certificate().as_dict() == before


def test_losses_below_zero_are_measured_by_their_size() -> None:
    from tests.truth.learners import Shifted

    loss = Shifted(1e10)
    proof = nr.certify(np.ones((50, 1)), np.ones(50), np.zeros(50), loss)
    assert proof.slack > 50 * 1e10 * 1e-16
    referee = Referee(loss, np.ones((50, 1)), np.ones(50), np.ones(50))
    assert referee.exceeds(np.array([1.0]), [proof.floor(1.0)])[0]


def test_duplicates_in_single_precision_are_added_in_double() -> None:
    row = csr_array(
        (np.array([1.0, 1e-8], np.float32), np.array([0, 0]), np.array([0, 2])), shape=(1, 1)
    )
    proof = nr.certify(row, [1.0], [0.0], losses.Hinge())
    exact = Fraction(1) + Fraction(float(np.float32(1e-8)))
    assert abs(Fraction(float(-proof.gradient[0])) - exact) < Fraction(1, 10**15)


def test_winnows_loss_near_zero_is_not_lost() -> None:
    proof = nr.certify([[1.0]], [-1.0], [1e-20], losses.WinnowHinge())
    assert proof.loss == 2e-20 and proof.regret([0.0]) >= 2e-20


def test_a_loss_at_the_rim_of_the_tube_is_not_lost() -> None:
    y, p = 0.03639814654603079, 0.1363981465460308
    assert p - y == 0.1 and Fraction(p) - Fraction(y) > Fraction(0.1)
    proof = nr.certify([[1.0]], [y], [p], losses.EpsilonInsensitive(0.1))
    assert Fraction(proof.regret([y])) >= Fraction(p) - Fraction(y) - Fraction(0.1)


@pytest.mark.parametrize("size", [1e-90, 1e-9, 1e9, 1e90])
def test_powers_of_a_row_out_of_range(size: float) -> None:
    learner = nr.MirrorDescent(losses.Hinge(), mirrors.PNorm(40), rates.Adaptive(1.0))
    learner.learn(np.full((1000, 2), size), np.ones(1000))
    assert np.all(learner.weights > 0.0) and np.all(np.isfinite(learner.average))
    proof = learner.certificate()
    with bare_theorems():
        bare = [bound.value for bound in proof.bounds_for(1.0 / size)]
    assert bare and min(bare) >= bounds.Facts(proof, 1.0 / size).measured().value * (1.0 - 1e-9)


@pytest.mark.parametrize("weight", [1e-6, 2.0])
def test_weighted_mistakes_are_not_counted_as_whole_ones(weight: float) -> None:
    random = np.random.default_rng(0)
    learner = nr.catalogue.perceptron()
    learner.learn(
        random.normal(size=(100, 2)), random.choice([-1.0, 1.0], 100), np.full(100, weight)
    )
    mistakes = [b for b in learner.certificate().bounds_for(1.0) if b.measure == "mistakes"]
    assert len(mistakes) == 2 and not any(bound.applies for bound in mistakes)
    assert {bound.reason for bound in mistakes} == {"the examples do not all weigh 1"}


@pytest.mark.parametrize(
    ("rate", "lazy"),
    [
        (rates.Doubling(1.0), True),
        (rates.PerCoordinate(1.0), True),
        (rates.InverseSqrt(1.0), False),
    ],
)
def test_the_perceptrons_theorem_is_for_weights_along_theta(rate: rates.Rate, lazy: bool) -> None:
    learner = nr.MirrorDescent(
        losses.Hinge(), mirrors.Euclidean(), rate, lazy=lazy, conservative=True
    )
    learner.learn([[1.0, 0.5], [0.5, -1.0]] * 4, [1, -1] * 4)
    printed = {bound.name: bound for bound in learner.certificate().bounds_for(1.0)}
    assert printed["Perceptron, after the fact"].applies
    assert not printed["Perceptron"].applies


def test_heavy_examples_reach_the_rate_of_their_features() -> None:
    learner = nr.MirrorDescent(losses.Hinge(), mirrors.Euclidean(), rates.PerCoordinate(1.0))
    learner.learn([[1.0], [-1.0]] * 50, np.ones(100), np.where(np.arange(100) == 50, 1e6, 1.0))
    proof = learner.certificate()
    with bare_theorems():
        bare = proof.bounds_for(1.0)[0].value
    assert bare >= bounds.Facts(proof, 1.0).measured().value * (1.0 - 1e-9)


def test_a_rate_whose_square_overflows() -> None:
    learner = nr.MirrorDescent(losses.Logistic(), mirrors.Ball(1e70), rates.Adaptive())
    learner.learn([[1e-90]] * 4, [1, 1, -1, 1])
    assert learner.rounds == 4 and 0.0 < learner.weights[0] <= 1e70 * (1.0 + 1e-12)


@pytest.mark.parametrize("mirror", [mirrors.Entropy(), mirrors.SignedEntropy(6.0)])
def test_one_step_beyond_the_largest_exponent(mirror: mirrors.Mirror) -> None:
    learner = nr.MirrorDescent(losses.Absolute(), mirror, rates.Constant(0.3), dimension=2)
    learner.learn([[0.1, -0.1], [1e8, -2e8], [0.3, 0.2]], [0.5, 3e8, 0.5])
    assert np.all(np.isfinite(learner.weights)) and np.all(np.isfinite(learner.average))


def test_the_regulariser_of_many_small_rounds_is_covered_by_the_slack() -> None:
    # A heavy first example, then thousands of light ones: every addition is rounded.
    n, sigma = sized(4_000, 20_000), 0.125
    learner = nr.MirrorDescent(
        losses.Absolute(), mirrors.Euclidean(), rates.StronglyConvex(sigma), dimension=1
    )
    weight = np.full(n, 1e-3)
    weight[0] = 1e3
    learner.learn(np.ones((n, 1)), np.full(n, 1e9), weight)
    # All lines are tight below the target: w_(t+1) = (sum of weights) / (sigma t).
    sums = [Fraction(0)]
    for w in weight[:-1]:
        sums.append(sums[-1] + Fraction(float(w)))
    squares = sum(((s / max(t, 1)) ** 2 for t, s in enumerate(sums)), start=Fraction(0))
    true = squares / (2 * Fraction(sigma))
    proof = learner.certificate()
    stated = Fraction(float(proof.ledger[Entry.REGULARIZER]))
    slack = Fraction(float(proof.ledger[Entry.REGULARIZER_SLACK]))
    assert abs(stated - true) <= slack < true / 10**9


def test_the_lazy_box_above_zero() -> None:
    # Conjugate terms of opposite signs cancel: the floor must allow for each of them.
    random = np.random.default_rng(1)
    for _ in range(20):
        box = domains.Box(1.0, 2.0)
        X, y = random.normal(size=(5, 3)), 100.0 * random.choice([-1.0, 1.0], 5)
        learner = nr.MirrorDescent(
            losses.Absolute(), mirrors.Euclidean(), rates.Constant(1e-9), domain=box
        )
        learner.learn(X, y)
        proof = learner.certificate()
        u = learner.weights
        referee = Referee(losses.Absolute(), X, y, np.ones(5))
        extra = proof.mirror.regularizer(u, 1e-9)
        assert referee.exceeds(u, [proof.regularized_floor()], extra=extra * (1 + 1e-13))[0]

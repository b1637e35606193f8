"""Each term of the rounding slack is needed: streams on which that one term dominates.

A test fails if its term alone is removed, while all the others stay.
"""

from __future__ import annotations

import math
from dataclasses import replace
from decimal import Decimal, getcontext
from fractions import Fraction

import numpy as np
import pytest

import noregret as nr
from noregret import losses, mirrors, rates
from noregret.experts import Shares
from noregret.passes.descent.linear import Found, _add_regularizer
from noregret.passes.rounds import Round
from noregret.passes.slots import Slot
from noregret.passes.sync import rebuild
from noregret.proof.evidence import FeatureSizes
from noregret.proof.ledger import Entry
from noregret.rounding import EPSILON

#: Rows that lift Z to 2^10, rows of half a unit in its last place, which are lost, and rows that
#: bring Z back to 0: Z is off by 2^-31 although no row is above 1.
LIFT, LOST = 1024, 4096
CANCELLING = np.concatenate([np.ones(LIFT), np.full(LOST, 2.0**-43), -np.ones(LIFT)])


def cancelled() -> nr.Certificate:
    """Return the certificate of predictions 0 for labels -1 by the absolute loss: slopes are 1."""
    labels = np.full(len(CANCELLING), -1.0)
    zeros = np.zeros(len(CANCELLING))
    return nr.certify(CANCELLING.reshape(-1, 1), labels, zeros, losses.Absolute())


def cancelled_loss(u: float) -> Fraction:
    """Return what the predictor u really lost on these rows."""
    return sum((abs(Fraction(u) * Fraction(x) + 1) for x in CANCELLING), Fraction())


def test_the_stream_really_loses_its_gradient() -> None:
    assert cancelled().gradient.tolist() == [0.0]
    assert sum(map(Fraction, CANCELLING)) == Fraction(LOST, 2**43)


@pytest.mark.parametrize("norm", [None, 1.0, math.inf])
def test_moved_and_radius_times_delta_a_floor_covers_the_rounding_of_Z(norm: float | None) -> None:
    floor = cancelled().floor(1.0, norm=norm)
    assert Fraction(floor) <= cancelled_loss(-1.0)
    assert floor == pytest.approx(len(CANCELLING), rel=1e-9)


def test_moved_a_regret_covers_the_rounding_of_Z() -> None:
    proof = cancelled()
    true = Fraction(len(CANCELLING)) - cancelled_loss(-1.0)
    assert 0 < true <= Fraction(proof.regret([-1.0]))


def test_scaled_travel_moves_the_floor_of_scaled_features() -> None:
    learner = nr.MirrorDescent(losses.Absolute(), mirrors.Euclidean(), rates.ScaleFree())
    learner.learn([[1.0], [2.0]], [1.0, -1.0])
    proof = learner.certificate()
    ledger = proof.ledger.copy()
    ledger[Entry.SCALED_TRAVEL] += 1.0 / EPSILON
    assert replace(proof, ledger=ledger).floor(1e-4) <= proof.floor(1e-4) - 1e-4


@pytest.mark.parametrize("rate", [rates.CoinBetting(), rates.ScaleFree()], ids=str)
def test_scaled_travel_has_every_feature_in_units_of_the_largest_so_far(rate: rates.Rate) -> None:
    rng = np.random.default_rng(4)
    X, y = rng.normal(size=(60, 3)) * [1e-3, 1.0, 1e6], rng.normal(size=60)
    learner = nr.MirrorDescent(losses.Absolute(), mirrors.Euclidean(), rate)
    learner.learn(X, y)
    # Slopes are 1 or -1, whatever is predicted.
    travel = float(np.sum(np.abs(X) / np.maximum.accumulate(np.abs(X))))
    entered = learner.certificate().ledger[Entry.SCALED_TRAVEL]
    assert 2.0 * travel >= entered >= travel * (1.0 - 1e-12)


@pytest.mark.parametrize("weight", [1.0, 1e-170])
def test_the_length_of_scaled_features_is_rounded_up(weight: float) -> None:
    for seed in range(10):
        rng = np.random.default_rng(seed)
        learner = nr.MirrorDescent(losses.Hinge(), mirrors.Euclidean(), rates.ScaleFree())
        # Squares of weights of 1e-170 underflow.
        learner.learn(rng.normal(size=(3, 20)), [1.0, -1.0, 1.0], [weight] * 3)
        proof, sizes = learner.certificate(), learner.sizes
        assert isinstance(proof.evidence, FeatureSizes) and sizes is not None
        ratios = (Fraction(z) / Fraction(m) for z, m in zip(proof.gradient, sizes, strict=True))
        square = sum((ratio * ratio for ratio in ratios), Fraction())
        length = proof.evidence.scaled_length
        assert 0 < square <= Fraction(length) ** 2
        unweighted = math.sqrt(square / Fraction(weight) ** 2)
        assert length == pytest.approx(weight * unweighted, rel=1e-11, abs=1e-149)


CLASSES = [
    mirrors.Euclidean(),
    mirrors.PNorm(3.0),
    mirrors.SignedEntropy(2.0),
    mirrors.Entropy(2.0),
    mirrors.UnnormalizedEntropy(0.5),
]


@pytest.mark.parametrize("mirror", CLASSES, ids=lambda mirror: type(mirror).__name__)
def test_radius_times_delta_every_vector_near_z_has_a_smaller_support(
    mirror: mirrors.Mirror,
) -> None:
    z, radius, delta = np.array([-3.0, 4.0]), 2.0, 0.5
    bound = mirror.predictors().support_upper(z, radius, delta)
    for shift in ([delta, 0.0], [-delta, 0.0], [0.0, delta], [0.0, -delta]):
        assert mirror.predictors().support_upper(z + shift, radius, 0.0) <= bound + 1e-12


def test_regularizer_slack_is_taken_off_floors_and_added_to_regrets() -> None:
    learner = nr.MirrorDescent(losses.Hinge(), mirrors.Euclidean(), rates.StronglyConvex(0.5))
    learner.learn([[1.0], [2.0], [1.0]], [1.0, -1.0, 1.0])
    proof = learner.certificate()
    ledger = proof.ledger.copy()
    assert ledger[Entry.REGULARIZER_SLACK] > 0.0
    ledger[Entry.REGULARIZER_SLACK] += 0.125
    wider = replace(proof, ledger=ledger)
    assert wider.slack >= proof.slack + 0.125
    assert wider.floor(0.01) <= proof.floor(0.01) - 0.125
    assert wider.regret([0.5]) >= min(proof.regret([0.5]) + 0.125, wider.loss)


def test_regularizer_slack_covers_the_products_of_a_penalty() -> None:
    sigma, d = 0.3, 300
    for seed in range(20):
        rng = np.random.default_rng(seed)
        learner = nr.MirrorDescent(losses.Hinge(), mirrors.Euclidean(), rates.StronglyConvex(sigma))
        learner.learn(rng.normal(size=(1, d)), [1.0])
        w = learner.weights
        learner.learn(np.zeros((1, d)), [1.0])
        ledger = learner.certificate().ledger
        penalty = Fraction(sigma) / 2 * sum((Fraction(x) ** 2 for x in w), Fraction())
        slack = Fraction(float(ledger[Entry.REGULARIZER_SLACK]))
        assert abs(Fraction(float(ledger[Entry.REGULARIZER])) - penalty) <= slack
        # A sum of d squares, two factors and the weights are rounded, each by EPSILON/2 at worst.
        assert slack >= penalty * (d + 4) * Fraction(EPSILON) / 2


def test_regularizer_slack_counts_a_rounding_of_the_sum_in_every_round() -> None:
    learner = nr.MirrorDescent(losses.Hinge(), mirrors.Euclidean(), rates.StronglyConvex(0.1))
    # The weights fall like 1/t, so that the sum hardly grows and is rounded all the same.
    learner.learn(np.concatenate([[[1e3]], np.zeros((50, 1))]), np.ones(51))
    least = float(learner.certificate().ledger[Entry.REGULARIZER])
    learner.learn(np.zeros((10000, 1)), np.ones(10000))
    worst = 0.5 * EPSILON * least * 10000
    assert learner.certificate().ledger[Entry.REGULARIZER_SLACK] >= worst > 0.0


def test_regularizer_slack_covers_the_factors_of_a_sum_that_is_right() -> None:
    ledger, slots = np.zeros(len(Entry)), np.zeros(max(Slot) + 1)
    ledger[Entry.ROUNDS], slots[Slot.SUM], kappa, sigma = 3.0, 0.7, 1.1, 0.3
    played = Round(1.0, 1.0, 0.0, 0.0, 0.0, 0.0, 1.0)
    _add_regularizer(ledger, slots, sigma, 0.0, Found(played, 0.0, 0.0, 1.0, kappa))
    exact = Fraction(sigma) * Fraction(kappa) ** 2 * Fraction(0.7)
    slack = Fraction(float(ledger[Entry.REGULARIZER_SLACK]))
    # kappa and sigma, their three products and the total are each rounded.
    assert slack >= exact * 6 * Fraction(EPSILON) / 2
    assert abs(Fraction(float(ledger[Entry.REGULARIZER])) - exact) <= slack


def test_compensation_of_alternating_large_losses() -> None:
    labels = np.where(np.arange(1000) % 2 == 0, 2.0**60, 1.0)
    proof = nr.certify(np.zeros((1000, 1)), labels, np.zeros(1000), losses.Absolute())
    exact = sum(map(Fraction, labels))
    loss, low = (Fraction(float(proof.ledger[k])) for k in (Entry.LOSS, Entry.LOSS_LOW))
    assert loss + low == exact != loss
    line = proof.ledger[[Entry.INTERCEPT, Entry.INTERCEPT_LOW]].tolist()
    assert sum(map(Fraction, line)) == exact


def test_sizes_of_label_and_prediction_are_part_of_the_magnitude() -> None:
    label = 1e8
    # A loss may round p - y, which can cost 7e-9 here, while the loss itself is about 1.
    made = np.array([-0.1 * k for k in range(1, 9)])
    loss = losses.EpsilonInsensitive(label - 1.0)
    proof = nr.certify(np.zeros((8, 1)), np.full(8, label), made, loss)
    off = [abs(Fraction(float(p - label)) - (Fraction(float(p)) - Fraction(label))) for p in made]
    assert proof.loss < 20.0
    assert 1e-9 < sum(off) <= Fraction(proof.slack)


def exact_price(n: int, alpha: float, rounds: int, k: int, eta: float) -> Decimal:
    """Return (ln n + k ln(n-1) + k ln(1/b) + (T-1-k) ln(1/(1-b))) / eta to 40 digits."""
    b = Decimal(alpha) * (n - 1) / n
    price = Decimal(n).ln() + k * Decimal(n - 1).ln() - k * b.ln()
    return (price - (rounds - 1 - k) * (1 - b).ln()) / Decimal(eta)


@pytest.mark.parametrize("n", [2, 3, 5, 7])
def test_error_of_a_switching_bound_covers_its_logarithms(n: int) -> None:
    getcontext().prec = 40
    for alpha in (0.1, 0.3, 0.7):
        # Without costs the price of the switches is all that is left.
        share = Shares(n, 0.3, alpha)
        share.learn(np.zeros((12, n)))
        proof = share.certificate()
        for k in range(12):
            assert Decimal(proof.switching_bound(k)) >= exact_price(n, alpha, 12, k, 0.3)


def test_a_sum_over_all_features_is_compensated() -> None:
    mirror = mirrors.PNorm(3.0)
    theta = np.array([2.0**18, *np.full(1000, 1.0)])
    state = np.column_stack([theta, np.zeros(len(theta))])
    terms = [mirror.phi(float(a), 1.0) for a in theta]
    assert sum(terms) == terms[0] != math.fsum(terms)
    assert rebuild(mirror, state, 1.0, 1.0) == math.fsum(terms)

"""Mixability gaps and the slack of games with experts, against exact arithmetic."""

from __future__ import annotations

from decimal import Decimal, getcontext
from fractions import Fraction

import numpy as np
import pytest

from noregret import losses
from noregret.experts import Forecaster, Hedge


def exact_gap(weights: list[float], costs: list[float], eta: float) -> Decimal:
    """Return <w, z> + (1/eta) ln sum w e^(-eta z) to 60 digits."""
    getcontext().prec = 60
    total = sum(map(Decimal, weights))
    shares = [Decimal(w) / total for w in weights]
    rate = Decimal(eta)
    mean = sum(w * Decimal(z) for w, z in zip(shares, costs, strict=True))
    mixed = sum(w * (-rate * Decimal(z)).exp() for w, z in zip(shares, costs, strict=True))
    return mean + mixed.ln() / rate


@pytest.mark.parametrize("eta", [5e-5, 9.9e-5, 1e-3, 0.5, 20.0])
def test_the_gap_of_a_skewed_round(eta: float) -> None:
    learner = Hedge(3, eta=eta)
    learner.learn([[0.0, 0.0, 1.0]])
    proof = learner.certificate()
    assert proof.mix_loss is not None
    gap = proof.loss - proof.mix_loss
    # The difference of two numbers near 1/3 is known to their last digits only.
    wanted = float(exact_gap([1.0] * 3, [0.0, 0.0, 1.0], eta))
    assert gap == pytest.approx(wanted, rel=1e-7, abs=2e-16)


def test_gaps_are_never_negative_nor_above_hoeffdings_bound() -> None:
    rng = np.random.default_rng(0)
    for eta in (1e-3, 0.3, 30.0):
        learner = Hedge(4, eta=eta)
        before = 0.0
        for _ in range(200):
            costs = rng.choice([0.0, 0.1, 0.3, 1.0], 4)
            learner.learn([costs])
            proof = learner.certificate()
            assert proof.mix_loss is not None
            gap = proof.loss - proof.mix_loss
            width = float(np.ptp(costs))
            assert -1e-13 <= gap - before <= 0.125 * eta * width * width + 1e-13
            before = gap


@pytest.mark.parametrize("u", [None, [0.5, 0.25, 0.25]])
def test_a_regret_is_not_below_the_exact_one(u: list[float] | None) -> None:
    for seed in range(10):
        rng = np.random.default_rng(seed)
        costs = rng.random((400, 3))
        learner = Hedge(3, eta=0.2)
        paid = learner.learn(costs)
        proof = learner.certificate()
        totals = [sum(map(Fraction, column.tolist()), Fraction()) for column in costs.T]
        best = (
            min(totals)
            if u is None
            else sum(Fraction(a) * t for a, t in zip(u, totals, strict=True))
        )
        true = sum(map(Fraction, paid.tolist()), Fraction()) - best
        assert Fraction(proof.regret(u)) >= true
        # Parts and sums are each right to some roundings a round, and the slack says so.
        assert proof.slack >= 2.0**-53 * (400 + 2 * 3) * float(costs.max(axis=1).sum())


def test_the_slack_of_a_mean_grows_with_totals_that_cancel() -> None:
    learner = Hedge(2)
    learner.learn([[1e6, -1e6]])
    proof = learner.certificate()
    apart = proof.regret([0.5, 0.5]) - (proof.loss - 0.0)
    assert apart >= proof.slack + 4.0 * 2.0**-53 * 1e6


def test_a_combination_is_proved_with_the_rounding_of_the_lines() -> None:
    rng = np.random.default_rng(1)
    table, y = rng.random((50, 3)), rng.random(50)
    forecaster = Forecaster(3, losses.Squared(), low=0.0, high=1.0, against="combinations")
    made = forecaster.learn(table, y)
    proof = forecaster.certificate()
    slopes = 2.0 * (made - y)
    charged = [
        sum(
            (Fraction(s) * Fraction(p) for s, p in zip(slopes.tolist(), column, strict=True)),
            Fraction(),
        )
        for column in table.T.tolist()
    ]
    paid = sum(
        (Fraction(s) * Fraction(p) for s, p in zip(slopes.tolist(), made.tolist(), strict=True)),
        Fraction(),
    )
    assert proof.combination_regret is not None
    # Losses of size 1 a round may each be off by some units in the last place.
    sizes = float(
        np.maximum(np.abs(slopes)[:, None] * table, (table - y[:, None]) ** 2).max(axis=1).sum()
    )
    assert Fraction(proof.combination_regret) >= paid - min(charged) + Fraction(
        16 * 2.0**-52 * sizes
    )
    # What the experts were charged has a slack of its own, and the lines come on top of it.
    lines = Fraction(16 * 2.0**-52 * sizes)
    assert Fraction(proof.combination_regret) >= Fraction(charged_regret(forecaster)) + lines


def charged_regret(forecaster: Forecaster) -> float:
    """Return the regret in the costs that the experts were charged, with its own slack."""
    return forecaster._state.measured().value

"""Hedge and Weighted Majority: the survey's figures, the formulas, and what rates do."""

from __future__ import annotations

import math
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import noregret as nr
from noregret import losses
from noregret.experts import Forecaster, Hedge, draw, expert_theorems, weighted_majority
from noregret.experts.hedge_rounds import ExpertSum, hedge_rounds
from tests.sizes import sized

Z = np.array([[0.5, 0, 1], [1, 0.25, 0], [0, 1, 0.5], [0.75, 0.5, 0]])
#: The same with signs.
ZS = np.array([[0.5, -0.25, 1], [-1, 0.25, 0], [0, 1, -0.5], [0.75, -0.5, 0]])
RATES: list[Any] = [0.3, "anytime", "doubling", "adaptive"]


def close(value: Any) -> Any:
    return pytest.approx(value, rel=1e-10, abs=1e-12)


def bounds(learner: Hedge) -> dict[str, float]:
    return {bound.name: bound.value for bound in learner.certificate().bounds}


def test_weighted_majority_of_the_survey() -> None:
    learner = Hedge(3, 0.5)
    assert learner.suffer(Z[0]) == 0.5
    assert learner.weights == close([0.3264958358, 0.41922895161, 0.25427521259])
    learner.learn(Z[1:])
    assert learner.weights == close([0.267449986218, 0.343412579996, 0.389137433786])
    proof = learner.certificate()
    assert (proof.loss, proof.best_loss, proof.best_expert) == (close(1.95606185566), 1.5, 2)
    found = bounds(learner)
    assert 1.5 + found["Weighted Majority, (1)"] == close(5.69722457734)
    assert 1.5 + found["Weighted Majority, (2)"] == close(7.39444915467)
    assert 1.5 + found["after the fact, ln d/eta + gaps"] == close(3.84370725074)
    book = learner._state.book
    # The survey's factor 1; costs >= 0 allow the half of it.
    local = expert_theorems.local_norms(3, 0.5, float(book[ExpertSum.SQUARES]), nonnegative=False)
    assert 1.5 + local == close(4.48050177999)
    assert found["local norms"] == close(expert_theorems.local_norms(3, 0.5, 1.56655440531, True))
    assert book[ExpertSum.SQUARES] == close(1.56655440531)
    assert book[ExpertSum.GAP] == close(0.146482673402)
    mix = -2.0 * math.log(np.mean(np.exp(-0.5 * Z.sum(axis=0))))
    assert proof.mix_loss == close(mix) == close(1.80957918226)
    assert "mix loss                         1.80958" in str(proof)


def test_theorem_1_3() -> None:
    eta = expert_theorems.tuned_rate(3, 4)
    assert eta == close(1.48230380737)
    learner = Hedge(3, eta)
    learner.learn(Z)
    proof = learner.certificate()
    assert proof.loss == close(2.13773699197)
    assert proof.regret() == close(0.63773699197)
    assert bounds(learner)["in advance"] == close(1.48230380737)
    # One hypothesis: nothing to learn and no regret.
    alone = Hedge(1, expert_theorems.tuned_rate(1, 4))
    alone.learn(Z[:, :1])
    assert alone.certificate().regret() == pytest.approx(0.0, abs=1e-12)
    assert all(bound.value < 1e300 for bound in alone.certificate().bounds if bound.applies)


def test_local_norms_of_signed_costs() -> None:
    learner = Hedge(3, 0.5, -1.0, 1.0)
    learner.learn(ZS)
    assert learner.certificate().regret([1.0, 0.0, 0.0]) == close(0.458112167366)
    assert learner._state.book[ExpertSum.SQUARES] == close(1.50064855083)
    assert bounds(learner)["local norms"] == close(2.94754885275)
    reasons = {bound.name: bound.reason for bound in learner.certificate().bounds}
    assert "costs in [-1, 1] were seen" in reasons["Weighted Majority, (1)"]
    steep = Hedge(3, 1.5, -1.0, 1.0)
    steep.learn(ZS)
    reasons = {bound.name: bound.reason for bound in steep.certificate().bounds}
    assert reasons["local norms"] == "eta z = -1.5 was seen, needed >= -1"
    large = Hedge(3, 1.0)
    large.learn(Z)
    reasons = {bound.name: bound.reason for bound in large.certificate().bounds}
    assert reasons["Weighted Majority, (2)"] == "eta = 1, needed < 1"


def test_constants_of_the_errata() -> None:
    d, T = 16, 100
    # Corollary 2.14 with its own rate, with the best rate of its formula, and what it claims.
    corollary = expert_theorems.weighted_majority(d, math.sqrt(math.log(d) / (2 * T)), T)
    assert corollary == close(35.3223006755)
    assert expert_theorems.weighted_majority(d, 0.166510922232, T) == close(33.3021844463)
    half = math.log(d) / 0.235482004503 + 0.5 * 0.235482004503 * T
    assert half == close(23.5482004503)
    # Theorem 1.3 follows from half ranges.
    assert expert_theorems.hedge_regret(d, expert_theorems.tuned_rate(d, T), T) == close(
        11.7741002252
    )
    learner = weighted_majority(d, rounds=T)
    learner.learn(np.zeros((T, d)))
    assert bounds(learner)["Weighted Majority, (1)"] == close(33.3021844463)


def test_small_steps_keep_the_digits_of_the_gap() -> None:
    learner = Hedge(2, 1e-8)
    learner._state.parts[:] = 0.5, 1.5
    learner.learn([[1.0, 0.2]])
    assert learner._state.book[ExpertSum.GAP] == pytest.approx(5.999999992e-10, rel=1e-9)


def test_drawing_by_the_inverse_distribution() -> None:
    assert [draw([0.2, 0.5, 0.3], u) for u in (0.1, 0.2, 0.69, 0.7)] == [0, 1, 1, 2]
    assert draw([0.5, 0.5 - 1e-12], 1.0 - 1e-16) == 1
    assert float(np.array([0.2, 0.5, 0.3]) @ [1.0, 0.0, 0.5]) == close(0.35)
    for bad in (1.0, -0.1, math.nan):
        with pytest.raises(ValueError, match="u must be a number in"):
            draw([1.0], bad)


def reference(costs: np.ndarray, rate: Any) -> tuple[np.ndarray, np.ndarray, float]:
    """Weights of every round, what was paid, and the sum of the gaps, from the definitions."""
    T, d = costs.shape
    total, gaps, weights, paid = np.zeros(d), 0.0, [], []
    for t in range(1, T + 1):
        if rate == "doubling" and t & (t - 1) == 0:
            total = np.zeros(d)
            epoch = t
        if rate == "adaptive":
            eta = math.log(d) / gaps if gaps > 0.0 else math.inf
        elif rate == "anytime":
            eta = math.sqrt(8.0 * math.log(d) / t)
        else:
            eta = math.sqrt(8.0 * math.log(d) / epoch) if rate == "doubling" else rate
        if math.isinf(eta):
            w = (total == total.min()) / np.sum(total == total.min())
            mix = costs[t - 1][w > 0.0].min()
        else:
            w = np.exp(-eta * (total - total.min()))
            w /= w.sum()
            mix = -math.log(float(w @ np.exp(-eta * costs[t - 1]))) / eta
        weights.append(w)
        paid.append(float(w @ costs[t - 1]))
        gaps += paid[-1] - mix
        total += costs[t - 1]
    return np.array(weights), np.array(paid), gaps


@pytest.mark.parametrize("rate", RATES)
@pytest.mark.parametrize("d", [2, 7])
def test_the_formulas(rate: Any, d: int) -> None:
    # Multiples of 1/8, whose sums are exact: ties of leaders are ties.
    costs = np.random.default_rng(1).integers(0, 9, (70, d)) / 8.0
    weights, paid, gaps = reference(costs, rate)
    learner = Hedge(d, rate, 0.0, 1.0)
    for t in range(70):
        np.testing.assert_allclose(learner.weights, weights[t], rtol=1e-9, atol=1e-14)
        assert learner.suffer(costs[t]) == pytest.approx(paid[t], rel=1e-10)
    assert learner._state.book[ExpertSum.GAP] == pytest.approx(gaps, rel=1e-9)
    np.testing.assert_allclose(learner.certificate().totals, costs.sum(axis=0), rtol=1e-13)


@pytest.mark.parametrize("rounds", [1, 2, 3, 5, 7, 12])
def test_every_epoch_of_the_doubling_trick_pays_for_its_own_rate(rounds: int) -> None:
    costs = np.random.default_rng(3).integers(0, 9, (rounds, 3)) / 8.0
    learner = Hedge(3, "doubling", 0.0, 1.0)
    learner.learn(costs)
    *_, gaps = reference(costs, "doubling")
    # Epochs start in rounds 1, 2, 4, ... with the rate sqrt(8 ln d / length).
    starts = [2**m for m in range(rounds.bit_length())]
    prices = sum(math.log(3) / math.sqrt(8.0 * math.log(3) / start) for start in starts)
    after = learner.certificate().bounds[0]
    assert after.reference.endswith("in every epoch")
    assert after.value == pytest.approx(prices + gaps, rel=1e-9)


@pytest.mark.parametrize("rate", RATES)
def test_cuts_and_files_change_no_bit(rate: Any, tmp_path: Path) -> None:
    costs = np.random.default_rng(2).uniform(size=(90, 5))
    unbroken = Hedge(5, rate)
    paid = unbroken.learn(costs)
    broken, pieces = Hedge(5, rate), []
    for start, stop in ((0, 1), (1, 40), (40, 63), (63, 90)):
        pieces.append(broken.learn(costs[start:stop]))
        broken.save(tmp_path / "hedge.nr")
        loaded = nr.load(tmp_path / "hedge.nr")
        assert isinstance(loaded, Hedge)
        broken = loaded
    assert np.array_equal(np.concatenate(pieces), paid)
    assert np.array_equal(broken.weights, unbroken.weights)
    assert str(broken.certificate()) == str(unbroken.certificate())
    assert broken.certificate().as_dict() == unbroken.certificate().as_dict()


@pytest.mark.parametrize("rate", RATES)
def test_scales_and_shifts(rate: Any) -> None:
    """AdaHedge has no unit and no zero; the tuned rates follow the promised range."""
    costs = np.random.default_rng(3).uniform(size=(40, 4))
    plain = Hedge(4, rate, 0.0, 1.0)
    plain.learn(costs)
    scale = 2.0**20
    other = Hedge(4, rate if isinstance(rate, str) else rate / scale, -scale, 0.0)
    other.learn(scale * costs - scale)
    np.testing.assert_allclose(other.weights, plain.weights, rtol=1e-7)
    assert other.certificate().regret() == pytest.approx(
        scale * plain.certificate().regret(), rel=1e-8
    )


@pytest.mark.parametrize("eta", [1e-12, 700.0, 1e6, 1e300])
def test_extreme_rates_stay_finite_and_true(eta: float) -> None:
    random = np.random.default_rng(4)
    learner = Hedge(6, eta)
    for costs in random.uniform(size=(200, 6)).round(2):
        learner.suffer(costs)
        assert learner.weights.sum() == pytest.approx(1.0, abs=1e-12)
    proof = learner.certificate()
    assert all(proof.regret() <= bound.value < math.inf for bound in proof.bounds if bound.applies)


def test_an_old_leader_is_not_forgotten_by_underflow() -> None:
    # Each expert in turn is far ahead; the references must move with the leader.
    learner = Hedge(2, 5.0)
    learner.learn(np.tile([0.0, 1.0], (400, 1)))
    assert learner.weights.tolist() == [1.0, 0.0]
    learner.learn(np.tile([1.0, 0.0], (401, 1)))
    assert learner.weights[1] == pytest.approx(1.0 / (1.0 + math.exp(-5.0)))


@pytest.mark.compiled
def test_the_kernel_is_what_was_written() -> None:
    costs = np.random.default_rng(5).uniform(size=(30, 4))
    runs = []
    for run in (hedge_rounds, hedge_rounds.py_func):
        learner, paid = Hedge(4, "adaptive"), np.empty(30)
        state = learner._state
        run(state, costs, costs.min(axis=1), costs.max(axis=1), paid)
        runs.append(np.concatenate([paid, learner.weights, state.book]))
    np.testing.assert_allclose(runs[0], runs[1], rtol=1e-12)


@pytest.mark.compiled
def test_many_experts() -> None:
    d = 1_000_000
    learner = Hedge(d, "anytime")
    costs = np.random.default_rng(6).uniform(size=d)
    costs[77] = 0.0
    learner.learn(np.tile(costs, (2, 1)))
    assert learner.certificate().best_expert == 77
    assert learner.certificate().regret() <= bounds(learner)["after the fact, ln d/eta + gaps"]


def test_the_certificate_in_words() -> None:
    learner = Hedge(3, 0.5)
    assert "after 0 rounds" in str(learner.certificate())
    learner.learn(Z)
    text = str(learner.certificate())
    assert "Certificate after 4 rounds of Hedge, eta 0.5, 3 experts" in text
    assert "0.375 a round, expert 2" in text
    assert "Weighted Majority, (1)                   loss - loss of any expert <= 4.19723" in text


@pytest.mark.parametrize("rate", RATES)
def test_the_measured_regret_is_rounded_up(rate: Any) -> None:
    """In exact arithmetic, for the weights as they are given."""
    random = np.random.default_rng(7)
    for size in (1e-30, 1.0, 1e30):
        costs = random.uniform(-1.0, 1.0, (150, 5)) * size
        learner = Hedge(5, rate if isinstance(rate, str) else rate / size, -size, size)
        paid = Fraction(0)
        for row in costs:
            weights = [Fraction(w) for w in learner.weights.tolist()]
            paid += sum(w * Fraction(z) for w, z in zip(weights, row.tolist(), strict=True))
            learner.suffer(row)
        best = min(sum(map(Fraction, column)) for column in costs.T.tolist())
        proof = learner.certificate()
        assert paid - best <= Fraction(proof.regret())
        assert proof.regret() <= float(paid - best) + 1e-10 * size
        assert all(proof.regret() <= bound.value for bound in proof.bounds)


def test_gaps_of_losses_whose_cubes_overflow() -> None:
    """AdaHedge has no unit: the same game 1e149 times larger has gaps 1e149 times larger."""
    found = []
    for size, weight in ((1.0, 1.0), (1e99, 1e50)):
        learner = Forecaster(2, losses.Absolute())
        for high in (1.0, 1e-5, 1e-5):
            learner.learn([[0.0, high * size]], [0.0], [weight])
        found.append(learner._state.book[ExpertSum.GAP] / (size * weight))
    assert found[1] == pytest.approx(found[0], rel=1e-14)
    assert found[0] > 0.5 * (1.0 + 1e-12)


def test_the_regret_against_a_mean_of_totals_that_cancel() -> None:
    random = np.random.default_rng(9)
    learner = Hedge(3, 1e-16, -1e16, 1e16)
    costs = np.column_stack([*(random.uniform(0, 1e16, (2, 40)) * [[1], [-1]]), np.ones(40)])
    learner.learn(costs)
    proof = learner.certificate()
    for u in random.dirichlet(np.ones(3), 200):
        exact = sum(Fraction(a) * Fraction(b) for a, b in zip(u, proof.totals, strict=True))
        assert Fraction(proof.loss) - exact <= Fraction(proof.regret(u))


@pytest.mark.parametrize("eta", [3e-6, 0.01, 5.0])
def test_the_gaps_telescope_over_a_long_run(eta: float) -> None:
    """loss - gaps = -(1/eta) ln mean e^(-eta C), whichever way each gap was computed."""
    random = np.random.default_rng(8)
    costs = random.uniform(size=(sized(4_000, 20_000), 6)) * np.linspace(0.9, 1.0, 6)
    learner = Hedge(6, eta)
    learner.learn(costs)
    totals = costs.sum(axis=0)
    mix = totals.min() - math.log(np.mean(np.exp(-eta * (totals - totals.min())))) / eta
    assert learner.certificate().mix_loss == pytest.approx(mix, rel=1e-11)
    gaps = learner.certificate().loss - mix
    assert learner._state.book[ExpertSum.GAP] == pytest.approx(gaps, rel=1e-6)

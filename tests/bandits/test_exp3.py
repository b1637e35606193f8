"""EXP3: the survey's numbers, the exact expectation, a dense reference, and what is printed."""

from __future__ import annotations

import itertools
import json
import math
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

import noregret as nr
from noregret.bandits import EstimatedGame, Exp3, Exp3IX, theorems
from noregret.bandits.arms import ArmSum
from noregret.bandits.exp3 import fill, stretch, suffer
from tests.bandits.measuring import Scripted, cost_streams
from tests.sizes import sized

#: The survey's costs in the specification: three arms, four rounds.
Z = np.array([[0.5, 0.0, 1.0], [1.0, 0.25, 0.0], [0.0, 1.0, 0.5], [0.75, 0.5, 0.0]])


def scripted(draws: list[float], eta: float = 0.2, arms: int = 3) -> Exp3:
    bandit = Exp3(arms, eta=eta)
    bandit._rng = Scripted(draws)  # type: ignore[assignment]
    return bandit


def test_the_survey_s_example() -> None:
    bandit = scripted([0.1, 0.5, 0.9, 0.3])
    assert bandit.play(Z).tolist() == [0, 1, 2, 0]
    proof = bandit.certificate()
    assert proof.cost == 2.0
    expected = [0.217824739024, 0.415349695084, 0.366825565892]
    assert bandit.probabilities == pytest.approx(expected, rel=1e-10)
    assert proof.estimates == pytest.approx([3.91235462593, 0.68520455517, 1.30637638717], 1e-10)
    # (eta/2) sum y^2 / w
    assert bandit._book[ArmSum.LOCAL] == pytest.approx(0.1 * 3.38375530183, rel=1e-10)


def test_the_exact_expectation_of_the_example() -> None:
    """All 81 paths: the probability of each is the product of those of its draws."""
    expected = 0.0
    for arms in itertools.product(range(3), repeat=4):
        weights, chance, cost = np.full(3, 1 / 3), 1.0, 0.0
        for arm, y in zip(arms, Z, strict=True):
            p = weights[arm]
            weights[arm] *= math.exp(-0.2 * y[arm] / p)
            weights /= weights.sum()
            chance, cost = chance * p, cost + y[arm]
        expected += chance * cost
    assert expected == pytest.approx(1.87761109997, rel=1e-10)
    # The bandit itself has these expectations: the same enumeration through its own draws.
    total = 0.0
    stack = [((), 1.0)]
    while stack:
        draws, chance = stack.pop()
        bandit = scripted(list(draws))
        bandit.play(Z[: len(draws)])
        if len(draws) == 4:
            total += chance * bandit.certificate().cost
            continue
        p = bandit.probabilities
        middles = np.cumsum(p) - p / 2
        stack += [((*draws, u), chance * q) for u, q in zip(middles, p, strict=True)]
    assert total == pytest.approx(1.87761109997, rel=1e-10)
    least = Z.sum(axis=0).min()
    assert least + theorems.exp3_regret(3, 0.2, 4) == pytest.approx(9.39306144334, rel=1e-10)
    sharper = least + theorems.exp3_regret_halved(3, 0.2, 0.2 * float((Z**2).sum()))
    assert sharper == pytest.approx(7.43056144334, rel=1e-10)
    assert expected <= sharper


def test_the_tuned_rates() -> None:
    d, T = 10, 1000
    printed = math.sqrt(math.log(d) / (d * T))
    assert theorems.exp3_regret(d, printed, T) == pytest.approx(2 * math.sqrt(d * T * math.log(d)))
    best = theorems.exp3_rate(d, T)
    assert Exp3(d, horizon=T).eta == best
    value = theorems.exp3_regret_halved(d, best, best * d * T)
    assert value == pytest.approx(math.sqrt(2 * d * T * math.log(d)))


def test_the_tree_plays_as_dense_weights_do() -> None:
    """4,000 rounds with the same draws: the same arms, and the weights of the log domain.

    The rate is small: estimates by 1/w spread rounding errors, exponentially in eta sum of costs.
    """
    rng = np.random.default_rng(7)
    costs, draws = rng.random((4000, 7)), rng.random(4000)
    bandit = scripted(draws.tolist(), 0.002, 7)
    played = bandit.play(costs)
    estimates = np.zeros(7)
    for t in range(4000):
        w = np.exp(-0.002 * (estimates - estimates.min()))
        w /= w.sum()
        arm = int(np.searchsorted(np.cumsum(w), draws[t], side="right"))
        assert played[t] == arm
        estimates[arm] += costs[t, arm] / w[arm]
    assert bandit._estimates == pytest.approx(estimates, rel=1e-9)
    w = np.exp(-0.002 * (estimates - estimates.min()))
    assert bandit.probabilities == pytest.approx(w / w.sum(), rel=1e-9)


@pytest.mark.parametrize("kind", [Exp3, Exp3IX])
@pytest.mark.parametrize(("arms", "eta"), [(2, 0.5), (7, 0.05), (40, 2.0)])
def test_each_round_is_that_of_dense_weights(arms: int, eta: float, kind: type[Exp3]) -> None:
    rng = np.random.default_rng(arms)
    bandit = kind(arms, eta=eta, seed=arms)
    gamma = 0.5 * eta if kind is Exp3IX else 0.0
    for y in rng.random((sized(200, 1000), arms)):
        before = bandit._estimates.copy()
        w = np.exp(-eta * (before - before.min()))
        w /= w.sum()
        decision = bandit.decide()
        assert decision.probability == pytest.approx(w[decision.arm], rel=1e-9)
        bandit.learn(decision, y[decision.arm])
        before[decision.arm] += y[decision.arm] / (decision.probability + gamma)
        assert np.array_equal(bandit._estimates, before)
        w = np.exp(-eta * (before - before.min()))
        assert bandit.probabilities == pytest.approx(w / w.sum(), rel=1e-9, abs=1e-100)


def test_one_decision_at_a_time_is_the_same_game() -> None:
    rng = np.random.default_rng(8)
    costs = rng.random((300, 5))
    for options in ({"eta": 0.1}, {"horizon": 300}, {}):
        whole, stepwise = Exp3(5, seed=1, **options), Exp3(5, seed=1, **options)
        arms = whole.play(costs)
        for t in range(300):
            decision = stepwise.decide()
            assert decision.arm == arms[t] and decision.id == t
            stepwise.learn(decision, costs[t, decision.arm])
        assert np.array_equal(whole._book, stepwise._book)
        assert np.array_equal(whole._tree, stepwise._tree)


def test_it_is_mirror_descent_on_estimated_gradients() -> None:
    """Theorem 4.1 with the entropy: the general game and the tree agree, stability included."""
    rng = np.random.default_rng(2)
    costs = rng.random((200, 4))
    bandit = Exp3(4, eta=0.15, seed=6)
    game = EstimatedGame(nr.oco.Game(4, nr.mirrors.Entropy(), nr.rates.Constant(0.15)))
    for y in costs:
        decision = bandit.decide()
        assert game.play() == pytest.approx(bandit.probabilities, rel=1e-9)
        estimate = np.zeros(4)
        estimate[decision.arm] = y[decision.arm] / decision.probability
        game.suffer(y[decision.arm], estimate)
        bandit.learn(decision, y[decision.arm])
    mine, theirs = bandit.certificate(), game.certificate()
    assert theirs.cost == pytest.approx(mine.cost, rel=1e-12)
    divergence = theirs.estimates.monitors.divergence
    assert float(bandit._book[ArmSum.DIVERGENCE]) == pytest.approx(divergence, rel=1e-9)
    assert "on estimated gradients" in str(theirs)


def test_weights_survive_when_all_have_become_tiny() -> None:
    """Estimates of thousands at a rate of 2: every weight underflows unless they are shifted."""
    bandit = scripted(np.random.default_rng(1).random(3000).tolist(), eta=2.0, arms=3)
    bandit.play(np.tile([1.0, 1.0, 0.9], (3000, 1)))
    assert bandit._estimates.min() * 2.0 > 750.0
    w = np.exp(-2.0 * (bandit._estimates - bandit._estimates.min()))
    assert bandit.probabilities == pytest.approx(w / w.sum(), rel=1e-12)
    assert np.isfinite(bandit._book[[ArmSum.DIVERGENCE, ArmSum.LOCAL, ArmSum.DRIFT]]).all()


def test_no_probability_underflows_and_sums_that_overflow_come_back(tmp_path: Path) -> None:
    """The rarest arm that can be drawn has an estimate; files hold squares that are infinite."""
    bandit = scripted([0.0] * 4, eta=1.0, arms=2)
    bandit._estimates[0] = 710.0
    fill(bandit._tree, bandit._estimates, bandit._book)
    # exp(-710) is a number, though its weight among many arms might not be.
    assert bandit.probabilities[0] == 0.0 and bandit.decide().arm == 1
    steep = Exp3(2, eta=1e308, seed=0)
    steep.play(np.ones((50, 2)))
    assert steep._book[ArmSum.LOCAL] == math.inf
    steep.save(tmp_path / "bandit")
    again = nr.load(tmp_path / "bandit")
    assert str(again.certificate()) == str(steep.certificate())
    assert "not applicable: the sums overflow" in str(again.certificate())


@pytest.mark.parametrize("costs", [(0.0, 1e-323), (1e15, 1e15 + 1.0), (-1e290, 1e290)])
def test_floors_and_bounds_in_ranges_of_any_size(costs: tuple[float, float]) -> None:
    """In exact numbers, from the units of the book: low T + width unit, never on the wrong side."""
    for high in (0.0, 1.0):
        bandit = Exp3IX(2, eta=0.5, costs=costs, seed=0)
        bandit.play(np.full((200, 2), costs[int(high)]))
        proof, (low, top) = bandit.certificate(), (Fraction(end) for end in costs)
        least, excess = Fraction(float(bandit._estimates.min())), Fraction(bandit._excess())
        floor = low * 200 + (top - low) * max(least - excess, 0)
        assert proof.floor is not None and Fraction(proof.floor) <= floor
        room = 3 * bandit._slack() * float((top - low) * (least + excess)) + 4e-15 * abs(
            float(floor)
        )
        assert float(floor) - proof.floor <= room + 1e-322
        units = {each.name: each for each in bandit._statements("")}
        for each in proof.statements:
            assert Fraction(each.value) >= (top - low) * Fraction(units[each.name].value)
            if each.holds == "on this path":
                assert proof.estimated_regret <= each.value


def test_a_single_arm_has_no_regret() -> None:
    bandit = Exp3(1, eta=40.0, seed=0)
    bandit.play(np.random.default_rng(0).random((500, 1)))
    proof = bandit.certificate()
    assert proof.estimated_regret == pytest.approx(0.0, abs=1e-9)
    assert 0.0 <= proof.statements[0].value < 1e-9
    assert bandit.probabilities.tolist() == [1.0]


def test_costs_in_another_range_are_the_same_game() -> None:
    costs = np.random.default_rng(4).integers(0, 9, (200, 6)) / 8.0
    plain, moved = Exp3(6, eta=0.1, seed=2), Exp3(6, eta=0.1, seed=2, costs=(-4.0, 12.0))
    assert np.array_equal(plain.play(costs), moved.play(16.0 * costs - 4.0))
    one, other = plain.certificate(), moved.certificate()
    assert other.cost == pytest.approx(16.0 * one.cost - 800.0)
    assert other.estimated_regret == pytest.approx(16.0 * one.estimated_regret)
    for a, b in zip(one.statements, other.statements, strict=True):
        assert b.value == pytest.approx(16.0 * a.value)


def test_rewards_are_costs_seen_from_the_other_side() -> None:
    first, second = (Exp3(3, eta=0.3, seed=9, costs=(1.0, 5.0)) for _ in range(2))
    for reward in (1.0, 2.5, 5.0, 4.0):
        first.learn(first.decide().id, 6.0 - reward)
        second.reward(second.decide().id, reward)
    assert np.array_equal(first._book, second._book)


@pytest.mark.parametrize("arms", [2, 30])
def test_rates_that_fall_in_steps_keep_the_anytime_bound(arms: int) -> None:
    bandit = Exp3(arms, seed=0)
    T = 5000
    bandit.play(np.random.default_rng(arms).random((T, arms)))
    value = bandit.certificate().statements[-1].value
    assert value <= 2.0 ** (1 / 8) * 2 * math.sqrt(arms * T * math.log(arms)) + 2 * arms
    assert bandit.eta == pytest.approx(math.sqrt(math.log(arms) / (arms * T)), rel=0.2)


def test_late_costs_leave_only_what_is_certain() -> None:
    bandit = Exp3(3, eta=0.2, seed=5)
    rng, waiting = np.random.default_rng(0), []
    for _ in range(300):
        waiting.append(bandit.decide())
        if len(waiting) > 10:
            late = waiting.pop(int(rng.integers(len(waiting))))
            bandit.learn(late.id, rng.random())
    proof = bandit.certificate()
    assert proof.waiting == 10 and proof.rounds == 290
    certain = [each for each in proof.statements if each.applies]
    assert [each.holds for each in certain] == ["on this path", "on this path"]
    assert all(proof.estimated_regret <= each.value for each in certain)
    assert "a cost was late since decision 1" in str(proof)


@pytest.mark.parametrize("kind", [Exp3, Exp3IX])
def test_what_is_certain_about_late_costs_is_computed_from_the_weights_they_meet(
    kind: type[Exp3],
) -> None:
    """ln d / eta + sum D_t + sum (y_t - <w_t, z_t>), all of it from dense weights."""
    eta, rng = 0.3, np.random.default_rng(2)
    bandit, waiting = kind(4, eta=eta, seed=5), []
    gamma = 0.5 * eta if kind is Exp3IX else 0.0
    expected, estimates = math.log(4) / eta, np.zeros(4)
    for _ in range(200):
        waiting.append(bandit.decide())
        if len(waiting) > 5:
            late = waiting.pop(int(rng.integers(6)))
            y = float(rng.random())
            bandit.learn(late, y)
            w = np.exp(-eta * (estimates - estimates.min()))
            w /= w.sum()
            z = np.zeros(4)
            z[late.arm] = y / (late.probability + gamma)
            expected += math.log(w @ np.exp(-eta * z)) / eta + w @ z + (y - w @ z)
            estimates += z
    proof = bandit.certificate()
    assert proof.estimated_regret < expected
    assert proof.statements[0].value == pytest.approx(expected, rel=1e-9)


def test_a_certificate_is_plain_data_and_does_not_change() -> None:
    bandit = Exp3(3, eta=0.2, seed=5)
    empty = bandit.certificate()
    assert empty.rounds == 0 and not empty.statements and "after 0 rounds of EXP3" in str(empty)
    bandit.play(Z)
    proof = bandit.certificate()
    before = json.dumps(proof.as_dict())
    assert json.loads(before)["statements"][0]["holds"] == "on this path"
    bandit.play(Z)
    assert json.dumps(proof.as_dict()) == before
    assert str(proof).count("in expectation") == 2 and "regret, estimated" in str(proof)


def test_ids_go_on_after_a_play_in_one_piece() -> None:
    bandit = Exp3(3, eta=0.2, seed=5)
    bandit.play(Z)
    assert bandit.decide().id == 4
    with pytest.raises(ValueError, match="decision 2 is settled"):
        bandit.learn(2, 0.5)


def test_forgetting_a_decision_is_told() -> None:
    bandit = Exp3(2, eta=0.1, seed=1)
    bandit.forget(bandit.decide())
    bandit.learn(bandit.decide(), 0.5)
    assert "decision 0 was forgotten" in str(bandit.certificate())
    assert not bandit.waiting


@pytest.mark.compiled
def test_compiled_and_interpreted_agree() -> None:
    costs = cost_streams(np.random.default_rng(1), 60, 4)["uniform"]
    compiled, interpreted = Exp3(4, eta=0.5, seed=3), Exp3(4, eta=0.5, seed=3)
    compiled.play(costs)
    for y in costs:
        arm, p = interpreted._draw(interpreted._rng.random())
        parts = interpreted._tree, interpreted._estimates, interpreted._book
        suffer.py_func(*parts, 0.0, arm, p, y[arm])
    assert interpreted._book == pytest.approx(compiled._book, rel=1e-12)
    assert interpreted.probabilities == pytest.approx(compiled.probabilities, rel=1e-12)


def test_falling_rates_share_the_failures_of_implicit_exploration_among_stretches() -> None:
    arms, delta = 3, 0.05
    bandit = Exp3IX(arms, delta=delta, seed=3)
    costs = np.tile([0.9, 0.8, 0.7], (3_000, 1))
    bandit.play(costs)
    proof, k = bandit.certificate(), stretch(3_001)
    # Stretch k may fail with probability delta / (k (k + 1)): these add up to delta.
    assert k > 10
    excess = math.log(arms * k * (k + 1) / delta) / bandit.eta
    least = float(proof.estimates.min()) - excess
    assert 0.0 < least
    assert proof.floor == pytest.approx(least, rel=1e-9)
    after, advance = (one for one in proof.statements if one.name.startswith("EXP3-IX"))
    assert after.value == pytest.approx(proof.cost - least, rel=1e-9)
    assert "in all rounds together" in after.holds and "in all rounds together" in advance.holds


def test_rates_are_held_over_stretches_that_start_with_the_largest() -> None:
    bandit, start = Exp3(2, seed=0), 1
    for t in range(1, 60):
        if t > 1 and stretch(t) > stretch(t - 1):
            start = t
        assert bandit.eta == pytest.approx(math.sqrt(math.log(2) / (2 * start)), rel=1e-12)
        bandit.learn(bandit.decide().id, 0.5)

"""Off-policy estimates: by hand, without bias by enumeration, covered, replayed, on real logs."""

from __future__ import annotations

import csv
import io
import itertools
import lzma
import math
import os
from pathlib import Path

import numpy as np
import pytest

from noregret.bandits import (
    ContextualBandit,
    EpsilonGreedy,
    Exp3,
    Log,
    doubly_robust,
    ips,
    replay,
    snips,
)
from noregret.bandits.offpolicy import mean_floor, stakes
from tests.bandits.measuring import too_many
from tests.sizes import sized

LOG = Log([0, 1, 1, 2], [1.0, 0.5, 0.0, 1.0], [0.5, 0.25, 0.25, 0.5], arms=3)
POLICY = [0.5, 0.25, 0.25]


def test_by_hand() -> None:
    """Weights 1, 1, 1, 1/2."""
    value = ips(LOG, POLICY)
    assert value.value == pytest.approx((1 + 0.5 + 0 + 0.5) / 4)
    assert snips(LOG, POLICY).value == pytest.approx(2.0 / 3.5)
    assert value.effective_rows == pytest.approx(3.5**2 / 3.25)
    model = np.tile([0.8, 0.4, 0.6], (4, 1))
    base = 0.5 * 0.8 + 0.25 * 0.4 + 0.25 * 0.6
    terms = base + np.array([1, 1, 1, 0.5]) * np.array([0.2, 0.1, -0.4, 0.4])
    robust = doubly_robust(LOG, POLICY, model)
    assert robust.value == pytest.approx(terms.mean())
    spread = np.std(terms, ddof=1) / 2
    assert robust.high - robust.value == pytest.approx(1.959963984540054 * spread)
    errors = np.array([1, 1, 1, 0.5]) * (LOG.outcomes - snips(LOG, POLICY).value)
    half = snips(LOG, POLICY).high - snips(LOG, POLICY).value
    assert half == pytest.approx(1.959963984540054 * np.sqrt((errors**2).sum()) / 3.5)


def test_the_estimates_are_unbiased() -> None:
    """All logs of three rows, two arms, outcomes fixed by row and arm: the exact expectation."""
    outcomes = np.array([[0.2, 0.9], [0.5, 0.1], [1.0, 0.0]])
    logged = np.array([[0.3, 0.7], [0.6, 0.4], [0.5, 0.5]])
    policy = np.array([[0.9, 0.1], [0.2, 0.8], [1.0, 0.0]])
    model = np.array([[0.1, 0.4], [0.9, 0.2], [0.6, 0.6]])
    true = (policy * outcomes).sum(axis=1).mean()
    means = np.zeros(2)
    for arms in itertools.product((0, 1), repeat=3):
        rows = np.arange(3), np.array(arms)
        log = Log(arms, outcomes[rows], logged[rows], arms=2)
        chance = logged[rows].prod()
        means += chance * np.array(
            [ips(log, policy).value, doubly_robust(log, policy, model).value]
        )
    assert means == pytest.approx([true, true], rel=1e-12)


def drawn(kind: str, rng: np.random.Generator, rows: int) -> tuple[Log, np.ndarray, float, float]:
    """Return a log, another policy, its value, and the largest weight that there can be."""
    if kind == "heavy tails":
        # The policy's arm has the propensity u^2, so that weights have no second moment.
        chances = np.clip(rng.random(rows) ** 2, 1e-4, 0.999)
        arms = (rng.random(rows) >= chances).astype(int)
        outcomes = (rng.random(rows) < np.where(arms == 0, 0.3, 0.8)).astype(float)
        propensities = np.where(arms == 0, chances, 1.0 - chances)
        return Log(arms, outcomes, propensities, 2), np.array([1.0, 0.0]), 0.3, 1e4
    logged, policy, means = {
        "mild": ([0.55, 0.15, 0.15, 0.15], [0.1, 0.1, 0.7, 0.1], [0.1, 0.3, 0.6, 0.2]),
        "rare": ([0.01, 0.99], [1.0, 0.0], [0.3, 0.6]),
    }[kind]
    arms = rng.choice(len(logged), rows, p=logged)
    outcomes = (rng.random(rows) < np.array(means)[arms]).astype(float)
    log = Log(arms, outcomes, np.array(logged)[arms], len(logged))
    limit = float((np.array(policy) / logged).max())
    return log, np.array(policy), float(np.dot(policy, means)), limit


@pytest.mark.each_value
@pytest.mark.parametrize("kind", ["mild", "rare", "heavy tails"])
@pytest.mark.parametrize("rows", [2, 10, 100])
def test_finite_sample_intervals_cover(kind: str, rows: int) -> None:
    """Logs of every size and with weights of any size, with no promise about them for IPS."""
    logs = sized(100, 400)
    rng = np.random.default_rng(rows)
    missed = {"ips": 0, "limited": 0, "dr": 0}
    for _ in range(logs):
        log, policy, true, limit = drawn(kind, rng, rows)
        model = np.full((rows, log.count), 0.4)
        found = {
            "ips": ips(log, policy, 0.9),
            "limited": ips(log, policy, 0.9, limit),
            "dr": doubly_robust(log, policy, model, 0.9, limit),
        }
        for name, each in found.items():
            missed[name] += not each.low <= true <= each.high
            assert each.interval == "finite-sample" and 0.0 <= each.low <= each.high <= 1.0
    assert not any(too_many(each, logs, 0.1) for each in missed.values())


def test_asymptotic_intervals_cover_in_the_limit_only() -> None:
    """2,000 rows of mild weights: about as often as said. A few dozen of heavy ones: far less."""
    rng = np.random.default_rng(1)
    missed = {}
    for kind, rows in (("mild", 2000), ("heavy tails", 20)):
        for _ in range(400):
            log, policy, true, _ = drawn(kind, rng, rows)
            model = np.full((rows, log.count), 0.4)
            for each in (snips(log, policy, 0.9), doubly_robust(log, policy, model, 0.9)):
                assert each.interval == "asymptotic" and 0.0 <= each.low <= each.high <= 1.0
                key = kind, each.method
                missed[key] = missed.get(key, 0) + (not each.low <= true <= each.high)
    assert 20 < missed["mild", "SNIPS"] < 65 and 20 < missed["mild", "doubly robust"] < 65
    assert missed["heavy tails", "SNIPS"] > 80


def test_a_log_of_a_policy_that_learns_is_covered() -> None:
    """Propensities that depend on earlier outcomes: the mean given the past is still one number."""
    means, policy, missed = np.array([0.2, 0.5, 0.6]), np.array([0.2, 0.3, 0.5]), 0
    true, rng = float(policy @ means), np.random.default_rng(3)
    plays = sized(80, 300)
    for seed in range(plays):
        costs = (rng.random((60, 3)) < means).astype(float)
        bandit = Exp3(3, eta=0.5, seed=seed)
        made = []
        for row in costs:
            decision = bandit.decide()
            bandit.learn(decision, row[decision.arm])
            made.append((decision.arm, row[decision.arm], decision.probability))
        arms, outcomes, chances = zip(*made, strict=True)
        found = ips(Log(arms, outcomes, chances, 3), policy, 0.9)
        missed += not found.low <= true <= found.high
    assert not too_many(missed, plays, 0.1)


def test_intervals_shrink_like_one_over_the_root() -> None:
    """Not 1.96 deviations of the mean, as in the limit, but within three times as many."""
    rng = np.random.default_rng(2)
    for rows in (1000, 10_000, 100_000):
        log, policy, true, limit = drawn("mild", rng, rows)
        terms = policy[log.arms] / log.propensities * log.outcomes
        deviation = float(terms.std()) / math.sqrt(rows)
        found = ips(log, policy)
        assert found.low < true < found.high
        assert 1.96 * deviation < found.value - found.low < 3 * 1.96 * deviation
        model = np.tile([0.1, 0.3, 0.6, 0.2], (rows, 1))
        robust = doubly_robust(log, policy, model, weight_limit=limit)
        assert robust.low < true < robust.high
        limited = ips(log, policy, weight_limit=limit)
        assert limited.low < true < limited.high
    assert "finite-sample" in str(found) and found.as_dict()["rows"] == 100_000


def test_the_gambler_s_capital_is_fair() -> None:
    """All outcomes of five variables: at their mean the capital has the expectation 1.

    No floor is above the mean but where 1/delta is reached there: with probability below delta.
    """
    shares, spread = stakes(5, 0.3)
    values, chances = np.array([0.0, 0.4, 6.0]), np.array([0.6, 0.3, 0.1])
    mean = float(values @ chances)
    expectation = above = 0.0
    for picks in itertools.product(range(3), repeat=5):
        chance, x = float(chances[list(picks)].prod()), values[list(picks)]
        capital = float(spread @ (1 - shares[:, None] + shares[:, None] * x / mean).prod(axis=1))
        expectation += chance * capital
        if mean_floor(x, 0.3) > mean:
            above += chance
            assert capital > 1 / 0.3
    assert expectation == pytest.approx(1.0, rel=1e-12) and 0.0 < above <= 0.3


def test_floors_of_means_at_the_extremes() -> None:
    assert mean_floor(np.array([0.0, 0.0, 1e100]), 0.05) <= 1e100
    for units in (1, 2, 3, 7):
        assert 0.0 <= mean_floor(np.full(50, units * 5e-324), 0.05) < units * 5e-324
    assert mean_floor(np.full(10**5, 3.0), 1e-12) == pytest.approx(3.0, rel=1e-3)
    assert mean_floor(np.ones(2), 0.5) < 1.0
    wide = Log([0, 1, 0], [-1e290, 1e290, 0.0], [1e-15, 0.5, 0.5], 2, (-1e290, 1e290))
    for found in (ips(wide, [0.5, 0.5]), snips(wide, [0.5, 0.5])):
        assert -1e290 <= found.low <= found.high <= 1e290 and math.isfinite(found.value)


def test_a_limit_of_the_weights_pays_where_outcomes_are_rare() -> None:
    """One click in 200 and weights of 0 or 10: the ceiling by what is left of the limit."""
    rng = np.random.default_rng(6)
    arms = rng.integers(0, 10, 5000)
    log = Log(arms, (rng.random(5000) < 0.005).astype(float), np.full(5000, 0.1), 10)
    policy = np.eye(10)[0]
    without, limited = ips(log, policy), ips(log, policy, weight_limit=10.0)
    assert without.low < 0.005 < limited.high < 0.5 * without.high


@pytest.mark.parametrize("rate", [0.1, 0.9])
def test_ends_are_the_better_of_two_floors_at_a_quarter_of_the_level_each(rate: float) -> None:
    rng = np.random.default_rng(3)
    arms, outcomes = rng.integers(0, 2, 200), (rng.random(200) < rate).astype(float)
    log = Log(arms, outcomes, np.full(200, 0.5), arms=2)
    found = ips(log, [0.2, 0.8], level=0.9, weight_limit=1.6)
    w = np.where(arms == 1, 1.6, 0.4)

    def end(values: np.ndarray, left: np.ndarray) -> float:
        """Return a floor under a mean from w v, or from 1.6 - w (1 - v), too high by 0.6."""
        return max(mean_floor(values, 0.025), mean_floor(1.6 - left, 0.025) - 0.6)

    below, above = w * outcomes, w * (1.0 - outcomes)
    assert found.low == pytest.approx(end(below, above), rel=1e-6)
    assert found.high == pytest.approx(1.0 - end(above, below), rel=1e-6)
    assert 0.0 < found.low < found.high < 1.0


def test_logs_cannot_be_changed_after_their_check() -> None:
    arms = np.array([0, 1])
    log = Log(arms, [0.0, 1.0], [0.5, 0.5], 2)
    arms[0] = 7
    assert log.arms.tolist() == [0, 1]
    with pytest.raises(ValueError, match="read-only"):
        log.arms[0] = 7


def test_replay_lives_through_a_run_of_the_policy() -> None:
    """Logs that favour one arm: of the accepted rows each arm has the policy's share."""
    rng = np.random.default_rng(4)
    logged = np.array([0.7, 0.2, 0.1])
    arms = rng.choice(3, 20_000, p=logged)
    log = Log(arms, rng.random(20_000) < np.array([0.5, 0.2, 0.8])[arms], logged[arms], 3)
    still = Exp3(3, eta=1e-9, seed=1)
    run = replay(still, log, seed=2)
    # A uniform policy is accepted with probability 0.1, and each arm equally often.
    assert len(run.accepted) == pytest.approx(2000, abs=250)
    shares = np.bincount(arms[run.accepted]) / len(run.accepted)
    assert shares == pytest.approx([1 / 3] * 3, abs=0.05)
    assert run.average == pytest.approx(0.5, abs=0.05)
    assert still.rounds == len(run.accepted)
    learning = replay(Exp3(3, eta=0.1, seed=1), log, seed=2)
    assert learning.average < run.average and "accepted" in str(learning)


def test_replay_with_contexts_and_rewards() -> None:
    rng = np.random.default_rng(4)
    rows = sized(800, 3000)
    X = np.column_stack([np.ones(rows), rng.integers(0, 2, rows)])
    arms = rng.integers(0, 2, rows)
    log = Log(arms, (arms == X[:, 1]).astype(float), np.full(rows, 0.5), 2)
    policy = ContextualBandit(2, EpsilonGreedy(0.1), seed=3)
    run = replay(policy, log, X, rewards=True)
    assert run.average > 0.8 and policy.rounds == len(run.accepted)
    assert policy.certificate().cost == pytest.approx(len(run.accepted) * (1 - run.average))


def test_what_cannot_be_estimated_is_said() -> None:
    cases = [
        (lambda: ips(LOG, [0.5, 0.5, 0.5]), "row 0 sum to 1.5, expected 1"),
        (lambda: ips(LOG, [0.5, 0.5]), r"policy has shape \(2,\), expected \(4, 3\)"),
        (lambda: ips(LOG, [1.5, -0.5, 0.0]), "row 0 gives arm 1 the probability -0.5"),
        (lambda: ips(LOG, [np.nan, 0.5, 0.5]), "row 0 gives arm 0 the probability nan"),
        (
            lambda: doubly_robust(LOG, POLICY, np.ones((4, 3)), weight_limit=0.5),
            "row 0 has the weight 1, weight_limit",
        ),
        (lambda: doubly_robust(LOG, POLICY, "x"), "predicted must hold numbers"),
        (lambda: ips(Log([0, 1], [1, 1], [1e-310, 1], 2), [0.5, 0.5]), "row 0 has the propensity"),
        (lambda: ips(LOG, POLICY, level=1.0), "level must lie strictly between 0 and 1"),
        (lambda: doubly_robust(LOG, POLICY, np.ones((4, 2))), "predicted has shape"),
        (lambda: doubly_robust(LOG, POLICY, np.full((4, 3), 2.0)), "within the promised"),
        (lambda: snips(Log([0, 0], [1, 1], [1, 1], 2), [0.0, 1.0]), "never takes an arm"),
        (lambda: ips(Log([0], [1], [1], 2), [0.0, 1.0]), "at least 2 rows"),
        (lambda: Log([0, 3], [1, 1], [1, 1], 3), "arms: row 1 is 3, expected an arm from 0 to 2"),
        (lambda: Log([0.0], [1], [1], 3), "column of whole numbers"),
        (lambda: Log([0], [1.5], [1], 3), "outcomes: row 0 is 1.5"),
        (lambda: Log([0], [1], [0.0], 3), "propensities: row 0 is 0.0"),
        (lambda: Log([0], [1], [0.5, 0.5], 3), "propensities have shape"),
        (lambda: replay(Exp3(3, eta=1), LOG, np.ones((4, 1))), "has no use for contexts"),
        (lambda: replay(ContextualBandit(3), LOG), "needs contexts"),
        (lambda: replay(Exp3(2, eta=1), LOG), "the log has 3 arms"),
        (lambda: replay(Exp3(3, eta=1), LOG, least=0.3), "least must be above 0 and at most 0.25"),
    ]
    for act, message in cases:
        with pytest.raises(ValueError, match=message):
            act()


def open_bandit(name: str, arms: int) -> Log:
    folder = Path(os.environ.get("NOREGRET_DATA", "missing")) / "open_bandit"
    if not folder.is_dir():
        pytest.skip("open_bandit is not at NOREGRET_DATA")
    text = lzma.open(folder / f"{name}.csv.xz", "rt").read()
    rows = list(csv.DictReader(io.StringIO(text)))
    columns = ([row[key] for row in rows] for key in ("item_id", "click", "propensity_score"))
    drawn, clicks, chances = columns
    return Log(np.array(drawn, int), np.array(clicks, float), np.array(chances, float), arms)


def test_the_uniform_policy_from_the_other_s_log() -> None:
    """Open Bandit, men: the uniform policy has clicks of 0.0046 in its own log."""
    own, other = open_bandit("random_men", 34), open_bandit("bts_men", 34)
    uniform = np.full(34, 1 / 34)
    truth = ips(own, uniform)
    assert truth.value == pytest.approx(own.outcomes.mean(), rel=1e-12)
    assert truth.value == pytest.approx(0.0046, abs=5e-5)
    for estimate in (ips(other, uniform), snips(other, uniform)):
        # Both logs are samples: their intervals must meet.
        assert max(estimate.low, truth.low) < min(estimate.high, truth.high)
        assert estimate.effective_rows < 0.1 * len(other)

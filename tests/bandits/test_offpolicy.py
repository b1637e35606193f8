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

from bandits.measuring import too_many
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
from noregret.bandits.offpolicy import bernstein

LOG = Log([0, 1, 1, 2], [1.0, 0.5, 0.0, 1.0], [0.5, 0.25, 0.25, 0.5], arms=3)
POLICY = [0.5, 0.25, 0.25]


def test_by_hand() -> None:
    """Weights 1, 1, 1, 1/2."""
    value = ips(LOG, POLICY)
    assert value.value == pytest.approx((1 + 0.5 + 0 + 0.5) / 4)
    assert snips(LOG, POLICY).value == pytest.approx(2.0 / 3.5)
    assert value.effective_rows == pytest.approx(3.5**2 / 3.25)
    spread = np.std([1, 0.5, 0, 0.5], ddof=1) / 2
    assert value.high - value.value == pytest.approx(1.959963984540054 * spread)
    model = np.tile([0.8, 0.4, 0.6], (4, 1))
    base = 0.5 * 0.8 + 0.25 * 0.4 + 0.25 * 0.6
    terms = base + np.array([1, 1, 1, 0.5]) * np.array([0.2, 0.1, -0.4, 0.4])
    assert doubly_robust(LOG, POLICY, model).value == pytest.approx(terms.mean())
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


def simulated(rng: np.random.Generator, rows: int) -> tuple[Log, np.ndarray, float]:
    """Return a log of a policy that favours one of four arms, another policy, and its value."""
    means, logged = np.array([0.1, 0.3, 0.6, 0.2]), np.array([0.55, 0.15, 0.15, 0.15])
    policy = np.array([0.1, 0.1, 0.7, 0.1])
    arms = rng.choice(4, rows, p=logged)
    outcomes = (rng.random(rows) < means[arms]).astype(float)
    return Log(arms, outcomes, logged[arms], 4), policy, float(policy @ means)


def test_intervals_cover() -> None:
    """1,000 logs: finite-sample intervals at every size, asymptotic ones about as often as said."""
    rng = np.random.default_rng(1)
    limit = 0.7 / 0.15
    for rows in (2, 10, 300):
        missed = {"ips": 0, "dr": 0, "normal": 0, "snips": 0}
        for _ in range(1000):
            log, policy, true = simulated(rng, rows)
            model = np.tile([0.2, 0.2, 0.5, 0.3], (rows, 1))
            found = {
                "ips": ips(log, policy, 0.9, limit),
                "dr": doubly_robust(log, policy, model, 0.9, limit),
                "normal": ips(log, policy, 0.9),
                "snips": snips(log, policy, 0.9),
            }
            for name, each in found.items():
                missed[name] += not each.low <= true <= each.high
            assert found["ips"].interval == "finite-sample"
            assert found["snips"].interval == "asymptotic"
            assert 0.0 <= found["ips"].low <= found["ips"].high <= 1.0
        assert not too_many(missed["ips"], 1000, 0.1) and not too_many(missed["dr"], 1000, 0.1)
        if rows == 300:
            assert 60 < missed["normal"] < 150 and 60 < missed["snips"] < 150


def test_the_width_of_the_finite_interval() -> None:
    log, policy, _ = simulated(np.random.default_rng(2), 5000)
    found = ips(log, policy, 0.95, weight_limit=5.0)
    weights = policy[log.arms] / log.propensities
    variance = float(np.var(weights * log.outcomes, ddof=1))
    width = math.sqrt(2 * variance * math.log(80) / 5000) + 35 * math.log(80) / (3 * 4999)
    assert bernstein(variance, 5.0, 5000, 0.05) == pytest.approx(width)
    assert found.high - found.value == pytest.approx(width, rel=1e-9)
    assert "finite-sample" in str(found) and found.as_dict()["rows"] == 5000


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
    X = np.column_stack([np.ones(3000), rng.integers(0, 2, 3000)])
    arms = rng.integers(0, 2, 3000)
    log = Log(arms, (arms == X[:, 1]).astype(float), np.full(3000, 0.5), 2)
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
        (lambda: ips(LOG, POLICY, weight_limit=0.5), "row 0 has the weight 1, weight_limit"),
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
    truth = ips(own, uniform, weight_limit=1.0)
    assert truth.value == pytest.approx(own.outcomes.mean(), rel=1e-12)
    assert truth.value == pytest.approx(0.0046, abs=5e-5)
    own_range = ips(own, uniform)
    for estimate in (ips(other, uniform), snips(other, uniform)):
        # Both logs are samples: their intervals must meet.
        assert max(estimate.low, own_range.low) < min(estimate.high, own_range.high)
        assert estimate.effective_rows < 0.1 * len(other)

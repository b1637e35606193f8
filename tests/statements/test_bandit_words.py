"""What bandits print: for which rounds, which arms and which losses it holds."""

from __future__ import annotations

import math

import numpy as np
import pytest

import noregret as nr
from noregret.bandits import Exp3, Exp3IX, Log, TsallisINF, replay
from noregret.bandits.estimated import EstimatedGame
from tests.sizes import sized


def test_the_floor_of_falling_rates_holds_in_all_rounds_together() -> None:
    # By Ville's inequality a floor that lies x below an estimate at the rate eta fails at some
    # round of the rate's stretch with probability exp(-eta x) an arm: these must add up to delta.
    arms, delta = 3, 0.05
    bandit = Exp3IX(arms, delta=delta, seed=4)
    costs = np.random.default_rng(1).uniform(0.8, 1.0, (sized(1500, 6000), arms))
    failing: dict[float, float] = {}
    for row in costs:
        bandit.play(row[None, :])
        proof = bandit.certificate()
        assert proof.floor is not None
        if proof.floor > 0.0:
            below = float(proof.estimates.min()) - proof.floor
            stretch = arms * math.exp(-bandit.eta * below)
            failing[bandit.eta] = max(failing.get(bandit.eta, 0.0), stretch)
    assert len(failing) >= sized(6, 8) and sum(failing.values()) <= delta * (1.0 + 1e-6)
    assert proof.floor <= costs.sum(axis=0).min()
    assert "1 - 0.05, in all rounds together" in str(proof)


@pytest.mark.parametrize("bandit", [Exp3(3, seed=1), TsallisINF(3, seed=1)])
def test_expectations_are_about_an_arm_fixed_in_advance(bandit: Exp3 | TsallisINF) -> None:
    bandit.play(np.random.default_rng(0).random((50, 3)))
    lines = [line for line in str(bandit.certificate()).splitlines() if "in expectation" in line]
    assert lines and all("cost - cost of an arm fixed in advance <= " in line for line in lines)


def test_the_floor_is_under_the_costs_that_were_set() -> None:
    bandit = Exp3IX(2, eta=0.1, seed=1)
    bandit.play(np.tile([0.9, 0.4], (200, 1)))
    text = str(bandit.certificate())
    assert "would have" not in text
    assert "the costs that any arm had in these rounds sum to at least that" in text


def test_a_replay_by_a_bound_read_off_the_log_says_so() -> None:
    arms, outcomes = [0, 1, 0, 1], [0.0, 1.0, 0.0, 1.0]
    uneven = Log(arms, outcomes, [0.5, 0.25, 0.5, 0.75], arms=2)
    assert "not exactly a run of the policy: 0.25" in str(replay(Exp3(2, eta=0.1, seed=1), uneven))
    for log, least in ((uneven, 0.2), (Log(arms, outcomes, [0.5] * 4, arms=2), None)):
        run = replay(Exp3(2, eta=0.1, seed=1), log, least=least)
        assert run.promised and "not exactly" not in str(run)


def test_a_game_on_estimates_speaks_of_estimated_losses() -> None:
    game = EstimatedGame(nr.oco.Game(2, nr.mirrors.Entropy(), nr.rates.Constant(0.5)))
    game.suffer(1.0, [1.0 / game.play()[0], 0.0])
    proof = game.certificate()
    lines = str(proof).splitlines()
    assert "about the estimated linear losses <z_t, w>, not about the cost" in lines[2]
    assert "Certificate" in lines[3]
    assert "expectation of each bound above" in lines[-1]
    assert proof.as_dict()["on_estimated_losses"] == proof.estimates.as_dict()

"""Every theorem measured on random and adversarial plays: no violation."""

from __future__ import annotations

import numpy as np
import pytest

from noregret.experts import Hedge, expert_theorems
from tests.experts.plays import KINDS, judge_hedge, play
from tests.sizes import sized


@pytest.mark.parametrize("seed", range(sized(1, 3) * len(KINDS)))
def test_plays(seed: int) -> None:
    assert play(seed)[1] == []


@pytest.mark.soak
def test_a_thousand_plays() -> None:
    false = [text for seed in range(1000) for text in play(seed)[1]]
    assert false == []


def test_the_judge_sees_a_false_theorem(monkeypatch: pytest.MonkeyPatch) -> None:
    learner = Hedge(8, 0.5)
    random = np.random.default_rng(0)
    costs = np.array([np.where(random.uniform(size=8) < 0.5, 1.0, 0.0) for _ in range(50)])
    costs[:, 3] = 0.0
    learner.learn(costs)
    assert judge_hedge(learner, costs) == []
    monkeypatch.setattr(
        expert_theorems, "hedge_regret", lambda d, eta, ranges: 0.125 * eta * ranges
    )
    assert any("in advance" in text for text in judge_hedge(learner, costs))

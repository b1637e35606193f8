"""Input that cannot be used: one clear line, and the bandit as it was, to the last bit."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import noregret as nr
from noregret.bandits import (
    ContextualBandit,
    Decision,
    EpsilonGreedy,
    EstimatedGame,
    Exp3,
    Exp3IX,
    GradientBandit,
    InverseGap,
    Log,
    TsallisINF,
    replay,
)
from noregret.domains import Ball

MAKERS: dict[str, Callable[[], Any]] = {
    "exp3": lambda: Exp3(3, eta=0.1, seed=0),
    "exp3-ix": lambda: Exp3IX(3, eta=0.1, seed=0),
    "tsallis": lambda: TsallisINF(3, seed=0),
    "contextual": lambda: ContextualBandit(3, seed=0),
}


def refused(bandit: Any, act: Callable[[], Any], message: str, path: Path) -> None:
    """Demand the error, in one line, and the same file before and after."""
    bandit.save(path)
    before = path.read_bytes()
    with pytest.raises(ValueError, match=message) as caught:
        act()
    assert "\n" not in str(caught.value)
    bandit.save(path)
    assert path.read_bytes() == before


@pytest.mark.parametrize("name", MAKERS)
def test_costs_and_ids(name: str, tmp_path: Path) -> None:
    bandit, path = MAKERS[name](), tmp_path / "bandit"
    decide = (lambda: bandit.decide([1.0, 2.0])) if name == "contextual" else bandit.decide
    refused(bandit, lambda: bandit.learn(0, 0.5), "decision 0 is unknown: none were made", path)
    first, second = decide(), decide()
    bandit.learn(first, 0.5)
    for act, message in (
        (lambda: bandit.learn(second, 1.5), r"within the promised \[0, 1\], got 1.5"),
        (lambda: bandit.learn(second, -1e-9), "within the promised"),
        (lambda: bandit.learn(second, np.nan), "within the promised"),
        (lambda: bandit.learn(second, "dear"), "the cost must be a number, got 'dear'"),
        (lambda: bandit.learn(second, [0.5]), "must be one number, got the shape"),
        (lambda: bandit.learn(second, "0.5"), "the cost must be a number, got '0.5'"),
        (lambda: bandit.learn(second, 10**400), "the cost must be a number, got 0x"),
        (lambda: bandit.learn(second._replace(arm=7), 0.5), "decision 1 of this bandit is another"),
        (lambda: bandit.reward(second, 2.0), "within the promised"),
        (lambda: bandit.learn(first, 0.5), "decision 0 is settled: its cost was reported"),
        (lambda: bandit.learn(0, 0.5), "decision 0 is settled"),
        (lambda: bandit.learn(2, 0.5), "decision 2 is unknown: the ids so far are 0 to 1"),
        (lambda: bandit.learn(-1, 0.5), "decision -1 is unknown"),
        (lambda: bandit.learn(True, 0.5), "a decision is named by its id"),
        (lambda: bandit.learn(1.0, 0.5), "a decision is named by its id"),
        (lambda: bandit.learn("1", 0.5), "a decision is named by its id"),
        (lambda: bandit.learn(Decision(9, 0, 1.0), 0.5), "decision 9 is unknown"),
        (lambda: bandit.forget(0), "decision 0 is settled"),
    ):
        refused(bandit, act, message, path)
    bandit.learn(np.int64(second.id), np.float32(0.5))
    assert bandit.rounds == 2 and not bandit.waiting


@pytest.mark.parametrize("name", ["exp3", "exp3-ix", "tsallis"])
def test_whole_plays(name: str, tmp_path: Path) -> None:
    bandit, path = MAKERS[name](), tmp_path / "bandit"
    costs = np.full((4, 3), 0.5)
    costs[2, 1] = 1.25
    refused(bandit, lambda: bandit.play(costs), r"got 1.25 in row 2 at arm 1", path)
    costs[2, 1] = np.nan
    refused(bandit, lambda: bandit.play(costs), r"got nan in row 2 at arm 1", path)
    refused(bandit, lambda: bandit.play(np.ones((4, 2))), r"expected \(rounds, 3\)", path)
    refused(bandit, lambda: bandit.play([[None, {}, 1j]]), "costs must hold numbers", path)


def test_contexts(tmp_path: Path) -> None:
    policy, path = ContextualBandit(2, seed=0), tmp_path / "bandit"
    decisions = policy.decide_many(np.ones((4, 2)))
    for act, message in (
        (lambda: policy.decide([1.0, np.nan]), "not finite"),
        (lambda: policy.decide([1.0]), "X has 1 columns, the policy knows 2"),
        (lambda: policy.learn_many([0, 0], [0.5, 0.5]), "decision 0 is named twice"),
        (lambda: policy.learn_many([0, 1], [0.5]), "got 2 decisions and 1 costs"),
        (lambda: policy.learn_many([0, 1], [0.5, 3.0]), "within the promised"),
        (lambda: policy.learn_many([0, 7], [0.5, 0.5]), "decision 7 is unknown"),
        (lambda: policy.learn_logged(np.ones((1, 2)), [2], [0.5], [1.0]), "row 0 is 2"),
        (lambda: policy.learn_logged(np.ones((1, 2)), [0], [0.5], [1.5]), "row 0 is 1.5"),
        (lambda: policy.learn_logged(np.ones((2, 2)), [0], [0.5], [1.0]), "2 contexts and 1 arms"),
    ):
        refused(policy, act, message, path)
    refused(policy, lambda: policy.decide(np.ones((2, 2))), "takes one context, got 2", path)
    bad = np.vstack([np.ones((3, 2)), [np.nan, 0.0]])
    log = Log([0, 1, 0, 1], [0.0] * 4, [0.5] * 4, 2)
    refused(policy, lambda: replay(policy, log, bad), "X row 3: a value is not finite", path)
    refused(policy, lambda: policy.learn(decisions.ids, 0.5), "named by its id", path)
    policy.learn_many(decisions, [0.5] * 4)
    assert not policy.waiting


def test_gradients(tmp_path: Path) -> None:
    bandit = GradientBandit(2, Ball(1.0), 0.1, 0.5, lipschitz=1.0, size=2.0, seed=0)
    path = tmp_path / "bandit"
    refused(bandit, lambda: bandit.suffer(0.5), "play first", path)
    bandit.play()
    for cost, message in (
        (np.nan, "finite"),
        (2.6, r"within the promised \+-2.5"),
        ([1.0], "one number"),
        ("x", "number"),
    ):
        refused(bandit, lambda cost=cost: bandit.suffer(cost), message, path)
    bandit.suffer(2.4)
    pair = GradientBandit(2, Ball(1.0), 0.1, 0.5, points=2, lipschitz=1.0, seed=0)
    pair.play()
    for costs, message in (
        ([0.0, 1.5], "differ by 1.5 over a distance of 1"), (0.5, "shape"), ([1, 2, 3], "shape"),
    ):  # fmt: skip
        refused(pair, lambda costs=costs: pair.suffer(costs), message, path)
    # The second has a step that is finite, and a square that is not.
    for huge in (
        GradientBandit(2, Ball(1.0), 1e10, 1e-10),
        GradientBandit(2, Ball(1.0), 1e-300, 1),
    ):
        huge.play()
        refused(huge, lambda huge=huge: huge.suffer(1e300), "too large to learn from", path)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Exp3(0, eta=0.1), "arms must be a whole number >= 1, got 0"),
        (lambda: Exp3(2.0, eta=0.1), "arms must be a whole number"),
        (lambda: Exp3(2, eta=0.0), "eta must be a finite number above 0"),
        (lambda: Exp3(2, eta=np.inf), "eta must be a finite number above 0"),
        (lambda: Exp3(2, eta=0.1, horizon=10), "give eta or horizon, not both"),
        (lambda: Exp3(2, eta="x"), "eta must be a finite number above 0, got 'x'"),
        (lambda: Exp3(2, eta=[1.0]), "eta must be a finite number above 0, got [1.0]"),
        (lambda: Exp3(2, horizon=0), "horizon must be a whole number >= 1"),
        (lambda: Exp3(2, horizon="x"), "horizon must be a whole number >= 1, got 'x'"),
        (lambda: Exp3(2, horizon=np.nan), "horizon must be a whole number >= 1, got nan"),
        (lambda: Exp3(2, horizon=np.inf), "horizon must be a whole number >= 1, got inf"),
        (lambda: Exp3(2, horizon=10**400), "horizon must be a whole number >= 1, got 0x"),
        (lambda: Exp3(2, costs="01"), "a pair of numbers (low, high), got '0'"),
        (lambda: Exp3(2, costs=(0, 10**400)), "a pair of numbers (low, high), got 0x"),
        (lambda: Exp3(2, costs=(-1e308, 7e307)), "of size at most 1e+290 with low < high"),
        (lambda: Exp3IX(2, delta="x"), "delta must lie strictly between 0 and 1, got 'x'"),
        (lambda: Exp3(2, costs=(1.0, 1.0)), "low < high"),
        (lambda: Exp3(2, costs=(0.0, np.inf)), "low < high"),
        (lambda: Exp3(2, costs=3.0), "a pair of numbers"),
        (lambda: Exp3(2, seed=1.5), "seed must be a whole number"),
        (lambda: Exp3(2, seed=np.random.Generator(np.random.MT19937(1))), "on MT19937"),
        (lambda: Exp3IX(2, delta=0.0), "delta must lie strictly between 0 and 1"),
        (lambda: EpsilonGreedy(1.5), "epsilon must be within"),
        (lambda: InverseGap(0.0), "scale must be a finite number above 0"),
        (lambda: InverseGap(1.0, -1.0), "exponent must be within [0, 1]"),
        (lambda: ContextualBandit(2, exploration="greedy"), "must be an Exploration"),
        (lambda: ContextualBandit(2, learner=nr.catalogue.perceptron()), "not Hinge"),
    ],
)
def test_settings_that_mean_nothing(make: Callable[[], Any], message: str) -> None:
    with pytest.raises(ValueError, match=re.escape(message)):
        make()


def test_learners_and_games_must_be_fresh() -> None:
    learner = nr.MirrorDescent(nr.losses.Squared(), nr.mirrors.Euclidean(), nr.rates.ScaleFree())
    learner.learn([[1.0]], [0.5])
    with pytest.raises(ValueError, match="must be fresh, it has learnt 1 examples"):
        ContextualBandit(2, learner=learner)
    game = nr.oco.Game(2, nr.mirrors.Euclidean(), nr.rates.Constant(0.1))
    EstimatedGame(game).suffer(1.0, [1.0, 0.0])
    with pytest.raises(ValueError, match="must be fresh, it has 1 rounds"):
        EstimatedGame(game)

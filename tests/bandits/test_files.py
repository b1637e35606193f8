"""Bandits cut, saved and loaded go on to the bit, their generators and waiting decisions too."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import noregret as nr
from noregret import bandits
from noregret.bandits import (
    ContextualBandit,
    EpsilonGreedy,
    Exp3,
    Exp3IX,
    GradientBandit,
    InverseGap,
    TsallisINF,
)
from noregret.bandits.arms import ArmBandit, ArmSum
from noregret.domains import Ball, Box
from noregret.files import store
from noregret.learners import load_with_extra

ARMS = {
    "exp3": lambda: Exp3(5, eta=0.2, seed=1),
    "exp3, falling": lambda: Exp3(5, costs=(-1.0, 3.0), seed=1),
    "exp3-ix": lambda: Exp3IX(5, horizon=100, delta=0.01, seed=2),
    "tsallis": lambda: TsallisINF(5, seed=3),
}


def contents(bandit: Any, path: Path) -> bytes:
    bandit.save(path)
    return path.read_bytes()


def live(bandit: ArmBandit, rng: np.random.Generator, rounds: int) -> list[bandits.Decision]:
    """Decide, and let costs come in any order, some of them never."""
    made = []
    low, high = bandit.costs
    for _ in range(rounds):
        made.append(bandit.decide())
        waiting = bandit.waiting
        while len(waiting) > 3:
            late = waiting.pop(int(rng.integers(len(waiting))))
            bandit.learn(late.id, float(rng.uniform(low, high)))
    return made


@pytest.mark.parametrize("name", ARMS)
def test_cut_anywhere(name: str, tmp_path: Path) -> None:
    whole, costs = ARMS[name](), np.random.default_rng(0)
    expected = live(whole, costs, 60)
    rng = np.random.default_rng(0)
    part, made = ARMS[name](), []
    for rounds in (1, 17, 30, 12):
        made += live(part, rng, rounds)
        part.save(tmp_path / "bandit")
        loaded = nr.load(tmp_path / "bandit")
        assert isinstance(loaded, type(part))
        assert contents(loaded, tmp_path / "again") == contents(part, tmp_path / "bandit")
        part = loaded
    assert made == expected
    assert contents(part, tmp_path / "a") == contents(whole, tmp_path / "b")
    assert str(part.certificate()) == str(whole.certificate())


@pytest.mark.parametrize("exploration", [EpsilonGreedy(0.2), InverseGap(5.0, 0.25)])
def test_contextual_policies(exploration: bandits.Exploration, tmp_path: Path) -> None:
    X = np.random.default_rng(1).random((90, 3))

    def run(cut: bool) -> tuple[ContextualBandit, list[list[int]]]:
        policy, arms = ContextualBandit(4, exploration, None, (0.0, 2.0), True, seed=7), []
        for start in range(0, 90, 9):
            decisions = policy.decide_many(X[start : start + 9])
            arms.append(decisions.arms.tolist())
            policy.learn_many(decisions.ids[::2], decisions.arms[::2] / 2)
            if cut:
                policy.save(tmp_path / "policy")
                policy = nr.load(tmp_path / "policy")
        return policy, arms

    (one, first), (other, second) = run(False), run(True)
    assert first == second and one.waiting == other.waiting
    assert contents(one, tmp_path / "a") == contents(other, tmp_path / "b")
    one.learn(one.waiting[0], 0.5)
    other.learn(other.waiting[0], 0.5)
    assert np.array_equal(one.predict(X), other.predict(X))
    regressors, _ = load_with_extra(tmp_path / "policy")
    assert isinstance(regressors, nr.MirrorDescent) and regressors.dimension == 16


@pytest.mark.parametrize("points", [1, 2])
def test_gradient_bandits(points: int, tmp_path: Path) -> None:
    def run(cut: bool) -> GradientBandit:
        domain = Ball(1.0) if points == 1 else Box(-1.0, 1.0)
        bandit = GradientBandit(3, domain, 0.1, 0.2, points, lipschitz=1.0, seed=5)
        for k in range(12):
            point = bandit.play()
            if cut:
                bandit.save(tmp_path / "bandit")
                bandit = nr.load(tmp_path / "bandit")
            if k == 11:
                break
            values = np.abs(np.atleast_2d(point)).max(axis=1)
            bandit.suffer(values if points == 2 else values[0])
        return bandit

    one, other = run(False), run(True)
    assert np.array_equal(one.play(), other.play()) and one.rounds == other.rounds == 11
    assert contents(one, tmp_path / "a") == contents(other, tmp_path / "b")
    assert str(one.certificate()) == str(other.certificate())


def test_files_that_hold_no_bandit(tmp_path: Path) -> None:
    path = tmp_path / "file"
    store.write(path, {"rounds": 1}, {})
    with pytest.raises(ValueError, match="holds None, not a model of a kind"):
        nr.load(path)
    with pytest.raises(FileNotFoundError, match="no such file"):
        nr.load(tmp_path / "none")
    Exp3(3, eta=0.1, seed=0).save(path)
    header, arrays = store.read(path)
    for change in (
        {"estimates": np.zeros(2)}, {"estimates": np.full(3, np.nan)}, {"weights": np.zeros(3)},
        {"waiting": np.array([7])}, {"book": np.zeros(13)},
    ):  # fmt: skip
        extra = {"waiting_arms": np.array([0]), "waiting_probabilities": np.ones(1)}
        store.write(path, header, arrays | change | (extra if "waiting" in change else {}))
        with pytest.raises(ValueError, match="file: ") as caught:
            nr.load(path)
        assert "\n" not in str(caught.value)
    for change in ({"arms": -1}, {"costs": [1, 0]}, {"generator": {}}, {"made": "x"}):
        store.write(path, header | change, arrays)
        with pytest.raises(ValueError, match="file: "):
            nr.load(path)


def test_weights_and_rounds_that_no_bandit_has_written_are_named(tmp_path: Path) -> None:
    path = tmp_path / "file"
    Exp3(3, eta=0.1, seed=0).save(path)
    header, arrays = store.read(path)
    for weight in (1.5, -0.5, 1e-320):
        store.write(path, header, arrays | {"weights": np.array([1.0, weight, 1.0])})
        with pytest.raises(ValueError, match=r"weights must be 3 numbers within \[0, 1\]"):
            nr.load(path)
    for rounds in (0.5, 2.0**54):
        book = arrays["book"].copy()
        book[ArmSum.ROUNDS] = rounds
        store.write(path, header, arrays | {"book": book})
        with pytest.raises(ValueError, match=re.escape(f"the book counts {rounds:g} rounds")):
            nr.load(path)

"""Cover's demonstration and online ranking."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest

from noregret import classes
from tests.classes import reference


class Constant:
    def predict(self, x: object) -> int:
        return 1

    def learn(self, x: object, y: int) -> None: ...


class LastLabel:
    label = 0

    def predict(self, x: object) -> int:
        return self.label

    def learn(self, x: object, y: int) -> None:
        self.label = y


def test_the_loss_of_a_play_is_absolute() -> None:
    assert classes.Transcript((0, 0), (1.0, 0.0), (2, 0.5)).loss == 1.5


def test_the_majority_of_nine_rounds() -> None:
    shown = classes.demonstrate(classes.Majority(), 9)
    assert shown.predictions == (1, 0, 1, 0, 1, 0, 1, 0, 1)
    assert shown.labels == (0, 1, 0, 1, 0, 1, 0, 1, 0)
    assert (shown.loss, shown.best, shown.regret) == (9, 4, 5)


@pytest.mark.parametrize("learner", [classes.Majority, Constant, LastLabel])
@pytest.mark.parametrize("rounds", [1, 2, 9, 50])
def test_no_deterministic_learner_escapes(learner: type, rounds: int) -> None:
    shown = classes.demonstrate(learner(), rounds)
    assert shown.loss == rounds and shown.deterministic
    assert shown.regret >= math.ceil(rounds / 2)


def test_version_spaces_are_empty_after_two_rounds() -> None:
    with pytest.raises(ValueError, match="since round 2"):
        classes.demonstrate(classes.Halving([[0], [1]]), 3)


@pytest.mark.parametrize("rounds", [1, 9, 100, 500])
def test_a_probability_escapes(rounds: int) -> None:
    hedged = classes.demonstrate(classes.Hedged(rounds), rounds)
    assert hedged.regret <= math.sqrt(0.5 * rounds * math.log(2))
    shown = classes.demonstrate(classes.Agnostic([[0], [1]], rounds), rounds)
    assert not shown.deterministic and not hedged.deterministic
    # N is 1 + T here: the class has dimension 1
    assert shown.regret <= math.sqrt(0.5 * rounds * math.log(1 + rounds))
    assert "expected mistakes" in str(shown)


def test_the_lists_of_the_example() -> None:
    clicks = [1, 1, 2, 0, 1]
    totals = {
        order: sum(order.index(item) + 1 for item in clicks)
        for order in itertools.permutations(range(3))
    }
    assert [totals[order] for order in ((0, 1, 2), (1, 0, 2), (2, 0, 1))] == [10, 8, 12]
    learner = classes.Ranking(3, horizon=5)
    learner.learn(clicks)
    certificate = learner.certificate()
    assert (certificate.best, certificate.best_list) == (8, (1, 0, 2))
    assert certificate.bounds[0].value == pytest.approx(4.2329179879, rel=1e-10)


@pytest.mark.parametrize("plays", [40, pytest.param(1000, marks=pytest.mark.soak)])
def test_the_sum_over_subsets_is_the_sum_over_lists(plays: int) -> None:
    rng = np.random.default_rng(31)
    for play in range(plays):
        k, rounds = int(rng.integers(1, 6)), int(rng.integers(1, 12))
        learner = classes.Ranking(k, horizon=rounds)
        clicks = rng.choice(k, size=rounds, p=rng.dirichlet(np.ones(k))).tolist()
        if play % 2:
            clicks = []
            for _ in range(rounds):
                # the adversary clicks what is expected at the bottom
                bottom = int(np.argmax(learner.positions() @ np.arange(k)))
                clicks.append(bottom)
                learner.learn(bottom)
                certificate = learner.certificate()
                assert certificate.regret <= certificate.bounds[1].value
        learner = classes.Ranking(k, horizon=rounds)
        positions = learner.learn(clicks)
        expected = reference.lists_as_experts(k, clicks, learner.eta)
        assert positions == pytest.approx(expected, rel=1e-12)
        certificate = learner.certificate()
        lists = itertools.permutations(range(k))
        totals = [sum(order.index(item) + 1 for item in clicks) for order in lists]
        assert certificate.best == min(totals)
        advance, now = (bound.value for bound in certificate.bounds)
        assert certificate.regret <= now <= advance + 1e-9
        exact = (k - 1) * math.sqrt(0.5 * rounds * math.lgamma(k + 1))
        assert advance == pytest.approx(exact, rel=1e-9)


def test_lists_are_drawn_as_the_positions_say() -> None:
    """By Hoeffding 4,000 draws miss a chance by more than 0.042 with probability below 1e-6."""
    learner = classes.Ranking(3, eta=0.7)
    learner.learn([2, 2, 1])
    rng = np.random.default_rng(32)
    seen = np.zeros((3, 3))
    for _ in range(4000):
        for place, item in enumerate(learner.draw(rng)):
            seen[item, place] += 1
    assert np.abs(seen / 4000 - learner.positions()).max() < 0.042
    assert learner.positions().sum(axis=0) == pytest.approx(np.ones(3))


def test_twelve_items_need_no_479001600_lists() -> None:
    learner = classes.Ranking(12, eta=500.0)
    learner.learn([3] * 4 + [5] * 2)
    positions = learner.positions()
    assert positions[3, 0] == pytest.approx(1.0) and positions[5, 1] == pytest.approx(1.0)
    others = np.delete(positions, [3, 5], axis=0)[:, 2:]
    assert others == pytest.approx(np.full((10, 10), 0.1))

"""The survey's first examples as games with experts: regression by the hour, and ranking."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest

from noregret import losses
from noregret.experts import Forecaster, Hedge, Specialists, expert_theorems

CLICKS = [2, 2, 3, 1, 2]


def test_absolute_losses_add_up() -> None:
    forecaster = Forecaster(1, losses.Absolute())
    made = forecaster.learn([[1.0], [0.0]], [2.0, 0.5])
    assert made.tolist() == [1.0, 0.0]
    assert forecaster.certificate().loss == 1.5
    assert forecaster.certificate().regret() == pytest.approx(0.0, abs=1e-12)


def test_ranking_by_permutations() -> None:
    """Lists of k items as experts; the cost of a list is where the clicked item stands."""
    k, rounds = 3, len(CLICKS)
    lists = list(itertools.permutations(range(1, k + 1)))
    positions = np.array([[each.index(click) + 1 for each in lists] for click in CLICKS])
    totals = dict(zip(lists, positions.sum(axis=0).tolist(), strict=True))
    assert [totals[1, 2, 3], totals[2, 1, 3], totals[3, 1, 2]] == [10, 8, 12]
    learner = Hedge(len(lists), expert_theorems.tuned_rate(len(lists), rounds))
    learner.learn((positions - 1.0) / (k - 1.0))
    proof = learner.certificate()
    assert lists[proof.best_expert] == (2, 1, 3)
    # In positions: costs of the experts are scaled by k - 1.
    bound = {each.name: each.value for each in proof.bounds}["in advance"]
    assert (k - 1) * bound == pytest.approx(4.2329179879, rel=1e-10)
    assert (k - 1) * proof.regret() <= (k - 1) * math.sqrt(0.5 * rounds * math.log(6))
    # One item: always the first, and nothing to regret.
    alone = Hedge(1, 0.5)
    alone.learn(np.zeros((rounds, 1)))
    assert alone.certificate().regret() == pytest.approx(0.0, abs=1e-12)


def test_those_awake_keep_together_the_weight_that_they_had() -> None:
    random = np.random.default_rng(8)
    costs, awake = random.random((40, 4)), random.random((40, 4)) < 0.6
    awake[:, 0] |= ~awake.any(axis=1)
    learner, w = Specialists(4, eta=0.7), np.full(4, 0.25)
    for z, here in zip(costs, awake, strict=True):
        share = w[here] / w[here].sum()
        assert learner.weights(here)[here] == pytest.approx(share, rel=1e-10)
        assert learner.suffer(z, here) == pytest.approx(share @ z[here], rel=1e-10)
        moved = w[here] * np.exp(-0.7 * z[here])
        w[here] = moved / moved.sum() * w[here].sum()
        assert learner.weights() == pytest.approx(w, rel=1e-10)

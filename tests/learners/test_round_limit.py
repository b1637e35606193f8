"""Counts are float64: at 2^53 rounds learners refuse further ones, and nothing changes."""

from __future__ import annotations

import numpy as np
import pytest

from noregret.bandits.arms import ArmSum as Bandits
from noregret.experts.hedge_rounds import ExpertSum as Experts
from noregret.experts.probability_rounds import MixtureSum as Mixtures
from noregret.proof.ledger import MOST_ROUNDS, Entry
from tests.learners.test_threads import LEARNERS, X

#: Where each counts its rounds: a path of attributes and a place.
COUNTS = {
    "MirrorDescent": ("_ledger", Entry.ROUNDS),
    "ScaleFree": ("_ledger", Entry.ROUNDS),
    "MatrixDescent": ("_ledger", Entry.ROUNDS),
    "DualAscent": ("_ledger", Entry.ROUNDS),
    "Ranker": ("_steps._ledger", Entry.ROUNDS),
    "Certifier": ("_ledger", Entry.ROUNDS),
    "Hedge": ("_state.book", Experts.ROUNDS),
    "Shares": ("_state.book", Experts.ROUNDS),
    "Forecaster": ("_state.book", Experts.ROUNDS),
    "ProbabilityForecaster": ("_state.book", Mixtures.ROUNDS),
    "ScoreForecaster": ("_state.book", Mixtures.ROUNDS),
    "Specialists": ("_totals", 0),
    "KernelDescent": ("_ledger", Entry.ROUNDS),
    "Tracker": ("_totals", 0),
    "Exp3.play": ("_book", Bandits.ROUNDS),
    "Exp3.learn": ("_book", Bandits.ROUNDS),
    "TsallisINF": ("_book", Bandits.ROUNDS),
    "ContextualBandit": ("_counts", "rounds"),
    "Game.face": ("_ledger", Entry.ROUNDS),
    "Game.suffer": ("_ledger", Entry.ROUNDS),
    "FollowTheLeader": ("_ledger", Entry.ROUNDS),
}


def counts(learner, name):
    path, place = COUNTS[name]
    for attribute in path.split("."):
        learner = getattr(learner, attribute)
    return learner, place


@pytest.mark.parametrize("name", COUNTS)
def test_the_limit_of_rounds_is_said_and_nothing_is_learnt(name):
    make, learn = LEARNERS[name]
    learner = make()
    learn(learner, X)
    book, place = counts(learner, name)
    book[place] = float(MOST_ROUNDS)
    before = book.copy()
    with pytest.raises(OverflowError, match=r"^9007199254740992 rounds .* new learner$"):
        learn(learner, X)
    now, _ = counts(learner, name)
    assert now is book
    if isinstance(now, dict):
        assert now == before
    else:
        np.testing.assert_array_equal(now, before)


@pytest.mark.parametrize("name", ["MirrorDescent", "ScaleFree", "MatrixDescent"])
def test_the_last_round_that_can_be_counted_is_learnt_one_by_one(name):
    make, learn = LEARNERS[name]
    learner = make()
    learn(learner, X)
    one = np.array([0, 1], np.uint32), np.array([1.0, 2.0]), 1.0
    learner.learn_one(*one)
    book, place = counts(learner, name)
    book[place] = float(MOST_ROUNDS - 1)
    learner.learn_one(*one)
    assert learner.rounds == MOST_ROUNDS
    weights = learner.weights
    with pytest.raises(OverflowError, match="cannot be counted"):
        learner.learn_one(*one)
    np.testing.assert_array_equal(learner.weights, weights)

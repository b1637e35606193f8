"""Threads: one learns, others read; a second one that learns gets an error and changes nothing.

Most tests interrupt a method in the middle without a clock: what it is given calls back when it is
converted, and another thread comes in there.
"""

from __future__ import annotations

import copy
import pickle
import sys
import threading

import numpy as np
import pytest

import noregret as nr
from noregret import bandits, classes, experts, losses, mirrors, oco, rates, tracking
from noregret.learners.foreign import Certifier
from noregret.tracking.static import Moments

X = np.array([[1.0, 0.5], [0.0, 1.0], [1.0, 1.0]])
SIGNS = np.array([1.0, -1.0, 1.0])


class Given:
    """An array-like, and a number, that calls back while it is converted."""

    def __init__(self, content, during):
        self.content, self.during = content, during

    def __array__(self, dtype=None, copy=None):
        self.during()
        return np.asarray(self.content, dtype)

    def __float__(self):
        self.during()
        return float(self.content)


class Thread(threading.Thread):
    """A thread that hands back what its work returned or raised."""

    def __init__(self, work):
        super().__init__()
        self._work, self.result, self.error = work, None, None

    def run(self):
        try:
            self.result = self._work()
        except Exception as error:
            self.error = error


def in_another_thread(work):
    thread = Thread(work)
    thread.start()
    thread.join()
    return thread


def descent(loss=None, **options):
    loss = losses.Hinge() if loss is None else loss
    return nr.MirrorDescent(loss, mirrors.Euclidean(), rates.Constant(0.1), **options)


def ranked(learner, x):
    return learner.learn(x, [1, 0, 2], qid=[1, 1, 2])


def quadratic(during):
    """Return a loss as a pair, which calls back when it is asked for its value."""
    return (lambda w: during() or float(w @ w), lambda w: 2.0 * w)


#: What is made, and how it learns from X or something as large that calls back.
LEARNERS = {
    "MirrorDescent": (descent, lambda it, x: it.learn(x, SIGNS)),
    "ScaleFree": (
        lambda: nr.MirrorDescent(losses.Hinge(), mirrors.Euclidean(), rates.ScaleFree()),
        lambda it, x: it.learn(x, SIGNS),
    ),
    "MatrixDescent": (
        lambda: nr.MatrixDescent(losses.Softmax(), outputs=3),
        lambda it, x: it.learn(x, [0, 1, 2]),
    ),
    "DualAscent": (
        lambda: nr.DualAscent(losses.Hinge(), mirrors.Euclidean()),
        lambda it, x: it.learn(x, SIGNS),
    ),
    "Ranker": (lambda: nr.Ranker(rate=rates.Constant(0.1)), ranked),
    "Certifier": (
        lambda: Certifier(losses.Hinge()),
        lambda it, x: it.add(x, SIGNS, np.zeros(3)),
    ),
    "Aggregate": (
        lambda: experts.Aggregate([descent(), descent()]),
        lambda it, x: it.learn(x, SIGNS),
    ),
    "Hedge": (lambda: experts.Hedge(2, 0.5), lambda it, x: it.learn(x)),
    "Shares": (lambda: experts.Shares(2, 0.5, 0.1), lambda it, x: it.learn(x)),
    "Forecaster": (
        lambda: experts.Forecaster(2, losses.Squared(), low=0.0, high=1.0),
        lambda it, x: it.learn(x, [0.0, 1.0, 0.5]),
    ),
    "ProbabilityForecaster": (
        lambda: experts.ProbabilityForecaster(2),
        lambda it, x: it.learn(x, SIGNS),
    ),
    "Mixture": (lambda: nr.Mixture(losses.Logistic()), lambda it, x: it.learn(x, SIGNS)),
    "ScoreAggregate": (experts.ScoreAggregate, lambda it, x: it.learn(x, [0, 1, 2])),
    "ScoreForecaster": (
        lambda: experts.ScoreForecaster(2),
        lambda it, x: it.learn(_as(x, np.zeros((3, 2, 2))), [0, 1, 0]),
    ),
    "Specialists": (
        lambda: experts.Specialists(2, eta=0.5),
        lambda it, x: it.learn(x, np.ones((3, 2), bool)),
    ),
    "KernelDescent": (
        lambda: tracking.KernelDescent(tracking.Gaussian(1.0), 1.0, 0.1),
        lambda it, x: it.learn(x, SIGNS),
    ),
    "Tracker": (
        lambda: tracking.Tracker(losses.Squared(), radius=1.0),
        lambda it, x: it.learn(x, SIGNS),
    ),
    "Moments": (Moments, lambda it, x: it.add(x, SIGNS)),
    "Exp3.play": (lambda: bandits.Exp3(2, eta=0.1, seed=0), lambda it, x: it.play(x)),
    "Exp3.learn": (
        lambda: bandits.Exp3(2, eta=0.1, seed=0),
        lambda it, x: it.learn(it.decide(), _as(x, 0.5)),
    ),
    "TsallisINF": (lambda: bandits.TsallisINF(2, seed=0), lambda it, x: it.play(x)),
    "ContextualBandit": (
        lambda: bandits.ContextualBandit(2, seed=0),
        lambda it, x: it.learn(it.decide(X[:1]), _as(x, 0.5)),
    ),
    "ArmFeatureBandit": (
        lambda: bandits.ArmFeatureBandit(seed=0),
        lambda it, x: it.decide(x),
    ),
    "Game.face": (
        lambda: oco.Game(2, mirrors.Euclidean(), rates.Constant(0.1)),
        lambda it, x: it.face(quadratic(getattr(x, "during", lambda: None))),
    ),
    "Game.suffer": (
        lambda: oco.Game(2, mirrors.Euclidean(), rates.Constant(0.1)),
        lambda it, x: it.suffer(1.0, _as(x, X[0])),
    ),
    "doubling": (
        lambda: oco.doubling(lambda horizon: oco.Game(2, mirrors.Euclidean(), rates.Constant(0.1))),
        lambda it, x: it.face(quadratic(getattr(x, "during", lambda: None))),
    ),
    "FollowTheLeader": (
        lambda: oco.FollowTheLeader(1),
        lambda it, x: it.face(quadratic(getattr(x, "during", lambda: None))),
    ),
    "Halving": (
        lambda: classes.Halving(classes.thresholds(3)),
        lambda it, x: it.learn(_as(x, [0, 1]), [0, 0]),
    ),
    "Elimination": (
        lambda: classes.Elimination(2, 1),
        lambda it, x: it.learn(_as(x, [[0, 1], [1, 0]]), [0, 1]),
    ),
    "Ranking": (lambda: classes.Ranking(3, 10), lambda it, x: it.learn(_as(x, [0, 2]))),
}


def _as(x, content):
    return Given(content, x.during) if isinstance(x, Given) else content


def _estimator(name):
    import noregret.sklearn as estimators

    return getattr(estimators, name)()


for _name in ("OnlineClassifier", "OnlineRegressor", "DualClassifier", "DualRegressor"):
    LEARNERS[f"sklearn {_name}"] = (
        lambda name=_name: _estimator(name),
        lambda it, x: it.partial_fit(_as(x, X), SIGNS),
    )


@pytest.mark.parametrize("name", LEARNERS)
def test_a_second_thread_that_learns_gets_one_clear_error(name):
    if name.startswith("sklearn"):
        pytest.importorskip("sklearn")
    make, learn = LEARNERS[name]
    learner, alone = make(), make()
    met = []

    def during():
        if not met:
            met.append(None)
            met[0] = in_another_thread(lambda: learn(learner, X))

    learn(learner, Given(X, during))
    assert met, "the input was not looked at"
    error = met[0].error
    assert type(error) is RuntimeError and "\n" not in str(error)
    assert str(error).startswith(f"{type(learner).__name__}: another thread is learning with it; ")
    # The first thread learnt what it would have learnt alone, and the turn is free again.
    learn(alone, X)
    if hasattr(learner, "rounds"):
        assert learner.rounds == alone.rounds > 0 or name == "ArmFeatureBandit"
    assert in_another_thread(lambda: learn(learner, X)).error is None


@pytest.mark.compiled
@pytest.mark.parametrize("name", ["MirrorDescent", "ScaleFree", "MatrixDescent"])
def test_learn_one_is_refused_while_another_thread_learns(name):
    make, learn = LEARNERS[name]
    learner = make()
    one = np.array([0, 1], np.uint32), np.array([1.0, 2.0]), 1.0
    learn(learner, X)
    learner.learn_one(*one)
    rounds, met = learner.rounds, []

    def during():
        if not met:
            met.append(None)
            met[0] = in_another_thread(lambda: learner.learn_one(*one))

    learn(learner, Given(X, during))
    assert type(met[0].error) is RuntimeError
    assert learner.rounds == rounds + 3
    learner.learn_one(*one)
    assert learner.rounds == rounds + 4


@pytest.mark.compiled
@pytest.mark.parametrize("name", ["MirrorDescent", "ScaleFree", "MatrixDescent", "DualAscent"])
def test_readers_are_served_while_a_thread_learns(name):
    make, learn = LEARNERS[name]
    learner = make()
    learn(learner, X)
    before = learner.predict(X)
    found = []

    def during():
        if not found:
            found.append(in_another_thread(lambda: learner.predict(X)))
            found.append(in_another_thread(lambda: learner.certificate().floor(1.0)))
            found.append(in_another_thread(lambda: learner.weights))
            if hasattr(learner, "predict_one"):
                columns = np.array([0, 1], np.uint32)
                found.append(in_another_thread(lambda: learner.predict_one(columns, X[0])))

    learn(learner, Given(X, during))
    assert [thread.error for thread in found] == [None] * len(found) and len(found) >= 3
    np.testing.assert_array_equal(found[0].result, before)


def test_what_is_refused_or_fails_gives_the_turn_back():
    learner = descent()
    for _ in range(2):
        with pytest.raises(ValueError, match="y row 0"):
            learner.learn(X, [7.0, 1.0, 1.0])
        with pytest.raises(ValueError, match="one and the same length"):
            learner.learn_one([0], [1.0, 2.0], 1.0)

    def interrupt():
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        learner.learn(Given(X, interrupt), SIGNS)
    learner.learn(X, SIGNS)
    assert learner.rounds == 3


@pytest.mark.parametrize("copied", [copy.deepcopy, lambda it: pickle.loads(pickle.dumps(it))])
@pytest.mark.parametrize("name", LEARNERS)
def test_a_copy_made_meanwhile_has_a_turn_of_its_own(name, copied):
    if name.startswith("sklearn"):
        pytest.importorskip("sklearn")
    if name in ("doubling", "FollowTheLeader") and copied is not copy.deepcopy:
        pytest.skip("it holds functions of the user, which cannot be pickled")
    make, learn = LEARNERS[name]
    learner, kept = make(), []
    learn(learner, X)

    def during():
        if not kept:
            kept.append(copied(learner))

    learn(learner, Given(X, during))
    learn(kept[0], X)


@pytest.mark.compiled
@pytest.mark.parametrize("singly", [False, True])
@pytest.mark.parametrize("rate", [rates.Constant(0.01), rates.ScaleFree()], ids=str)
def test_rounds_counted_are_those_of_the_calls_that_returned(rate, singly):
    random = np.random.default_rng(0)
    rows, y = random.normal(size=(2000, 5)), np.sign(random.normal(size=2000))
    learner = nr.MirrorDescent(losses.Logistic(), mirrors.Euclidean(), rate)
    learner.learn(rows, y)
    columns = np.arange(5, dtype=np.uint32)
    learner.learn_one(columns, rows[0], 1.0)
    before, refused, returned = learner.rounds, [], []
    # At most a limit for a machine on which threads never meet.
    tries = 200_000 if singly else 4_000

    def work():
        for k in range(tries):
            try:
                if singly:
                    learner.learn_one(columns, rows[k % 2000], 1.0)
                    returned.append(1)
                else:
                    returned.append(len(learner.learn(rows, y)))
            except RuntimeError as error:
                refused.append(error)
            if len(refused) > 20:
                return

    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        threads = [threading.Thread(target=work) for _ in range(3)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    finally:
        sys.setswitchinterval(interval)
    assert learner.rounds == before + sum(returned)
    assert refused and all("another thread is learning" in str(error) for error in refused)
    assert learner.certificate().loss >= learner.certificate().floor(1.0)

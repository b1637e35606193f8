"""A refused round changes nothing: of games, bandits, classes, trackers and estimators."""

from __future__ import annotations

import importlib
import inspect
import pkgutil
from typing import Any

import numpy as np
import pytest

import noregret
from noregret import bandits, losses, rates, sklearn, tracking
from noregret.classes import Contrarian
from noregret.learners.foreign import Certifier
from noregret.learners.foreign_scores import ScoreCertifier
from noregret.learners.foreign_sizes import SizedCertifier, SizedScoreCertifier
from noregret.learners.ranking import Ranker
from noregret.tracking.watch import Watch
from noregret.turns import one_at_a_time
from tests.learners.frozen_state import difference, frozen
from tests.learners.refused_estimators import BIG, ESTIMATORS, X, Y, Z
from tests.learners.refused_rounds import GAMES, steep
from tests.learners.test_refused_rows import LEARNERS

CASES = GAMES | ESTIMATORS
REFUSALS = (OverflowError, TypeError, ValueError)


@pytest.mark.parametrize("name", CASES)
def test_a_refused_round_changes_nothing(name: str) -> None:
    make, good, bad, after = CASES[name]
    for begun in {after, max(after, len(good) - 1), len(good)}:
        it, control = make(), make()
        for each in good[:begun]:
            each(it)
            each(control)
        before = frozen(it)
        for fault, refused in bad.items():
            with pytest.raises(REFUSALS):
                refused(it)
            assert not difference(frozen(it), before), (fault, begun)
        for each in good[begun:]:
            one, other = each(it), each(control)
            # Estimators return themselves.
            assert one is it or not difference(frozen(one), frozen(other))
        assert not difference(frozen(it), frozen(control))


def test_costs_told_together_up_to_the_one_that_overflows() -> None:
    policy, control = (bandits.ContextualBandit(1, learner=steep(), seed=1) for _ in range(2))
    for one in (policy, control):
        for _ in range(3):
            one.decide([1e99, 0.0])
    with pytest.raises(OverflowError):
        policy.learn_many([0, 1, 2], [0.5, 0.5, 0.5])
    control.learn(0, 0.5)
    assert [one.id for one in policy.waiting] == [1, 2]
    assert not difference(frozen(policy), frozen(control))
    rows, arms, costs, chances = np.array([[1e99, 0.0]] * 2), [0, 0], [0.5, 0.5], [1.0, 1.0]
    policy, control = (bandits.ContextualBandit(1, learner=steep(), seed=1) for _ in range(2))
    with pytest.raises(OverflowError):
        policy.learn_logged(rows, arms, costs, chances)
    control.learn_logged(rows[:1], arms[:1], costs[:1], chances[:1])
    assert not difference(frozen(policy), frozen(control))


def test_trackers_keep_the_rows_before_one_that_overflows() -> None:
    """Every member has learnt the same rows, and so have the shares."""
    tracker, control = (tracking.Tracker(losses.Squared(), radius=1.0) for _ in range(2))
    with pytest.raises(OverflowError):
        tracker.learn(np.vstack([X[:4], BIG, X[4:]]), [*Z[:4], 1e99, *Z[4:]], [1e100] * 13)
    control.learn(X[:4], Z[:4], [1e100] * 4)
    assert tracker.rounds == 4
    assert not difference(frozen(tracker), frozen(control))
    assert tracker.learn(X, Z).tobytes() == control.learn(X, Z).tobytes()


CLASSIFIERS: dict[str, dict[str, Any]] = {
    "one score": {"rate": "scale_free"},
    "Platt": {"loss": "hinge", "rate": "scale_free"},
    "balanced": {"loss": "hinge", "class_weight": "balanced", "rate": "scale_free"},
    "default": {},
    "joint": {"multiclass": "softmax", "rate": rates.Constant(0.5)},
    "columns": {"loss": "hinge", "rate": "coin_betting", "class_weight": "balanced"},
}


@pytest.mark.parametrize("name", CLASSIFIERS)
@pytest.mark.parametrize("label", ["a", "c", "z"])
@pytest.mark.parametrize("begun", [0, 6])
def test_estimators_keep_the_rows_before_one_that_overflows(
    name: str, label: str, begun: int
) -> None:
    """Neither class nor calibration nor count of the refused row is kept."""
    model, control = (sklearn.OnlineClassifier(**CLASSIFIERS[name]) for _ in range(2))
    for one in (model, control):
        if begun:
            one.partial_fit(X[:begun], Y[:begun])
    y = np.where(np.arange(4) == 2, "c", Y[6:10])
    rows, labels = np.vstack([X[6:10], BIG, X[10:]]), [*y, label, "d", "e"]
    weight = np.array([1.0, 2.0, 1.0, 0.0, 1e100, 1.0, 1.0])
    with pytest.raises(OverflowError):
        model.partial_fit(rows, labels, sample_weight=weight)
    control.partial_fit(rows[:4], y, sample_weight=weight[:4])
    assert model.classes_.tolist() == control.classes_.tolist()
    assert not difference(frozen(model), frozen(control))
    model.partial_fit(X, Y)
    control.partial_fit(X, Y)
    assert model.predict_proba(X).tobytes() == control.predict_proba(X).tobytes()
    assert not difference(frozen(model), frozen(control))


@pytest.mark.parametrize("kind", [sklearn.OnlineClassifier, sklearn.DualClassifier])
def test_an_estimator_whose_first_row_overflows_is_as_new(kind: Any) -> None:
    model = kind("squared_hinge", class_weight="balanced")
    before = frozen(model)
    for _ in range(2):
        with pytest.raises(OverflowError):
            model.partial_fit(BIG, ["a"], ["a", "b"], [1e100])
        assert not difference(frozen(model), before)
    model.partial_fit(X, Y)
    assert model.classes_.tolist() == ["b", "a"]


#: Packages whose names a user may call.
PUBLIC = ("oco", "experts", "bandits", "classes", "tracking", "sklearn", "river", "foreign")
#: Methods that change what they belong to, beside those that take turns.
CHANGING = {"learn", "learn_one", "learn_many", "suffer", "face", "answer", "next", "add"}
CHANGING |= {"fit", "partial_fit", "decide", "forget"}
#: Classes that are no case, and why a refused row cannot change them for a user.
EXEMPT = {
    Watch: "belongs to one call of drift_proof, and ends with it",
    Contrarian: "keeps nothing",
}


def _takes_turns(method: Any) -> bool:
    return getattr(method, "__code__", None) is one_at_a_time(lambda self: None).__code__


def learning_classes() -> set[type]:
    """Return the classes with methods that change them: those that take turns, and public ones."""
    found: set[type] = set()
    for module in pkgutil.walk_packages(noregret.__path__, "noregret."):
        if module.name == "noregret.__main__":
            continue
        here = importlib.import_module(module.name)
        public = set(getattr(here, "__all__", ())) if module.name[9:] in PUBLIC else set()
        for name, one in inspect.getmembers(here, inspect.isclass):
            if not one.__module__.startswith("noregret.") or getattr(one, "_is_protocol", False):
                continue
            methods = dict(inspect.getmembers(one, callable))
            turns = any(_takes_turns(method) for method in methods.values())
            if turns or (name in public and CHANGING & {*methods}):
                found.add(one)
    return found


def test_every_class_that_learns_is_tried() -> None:
    """A new one fails here until it is a case of this file or a learner of the other."""
    made = [case.make() for case in CASES.values()] + [make() for make in LEARNERS.values()]
    certifiers = {Certifier, ScoreCertifier, SizedCertifier, SizedScoreCertifier}
    tried = {kind for it in made for kind in type(it).__mro__} | {Ranker} | certifiers
    found = learning_classes()
    assert len(found) > 40
    missing = sorted(kind.__qualname__ for kind in found - tried - {*EXEMPT})
    assert not missing, missing
    assert not [kind for kind in EXEMPT if kind in tried]

"""An audit compares weights, table and measures of the replay with what the model states."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import noregret as nr
from noregret.evaluate import Point, metrics_for
from noregret.runs.verdicts import LinearStatements

X = np.array([[1.0, 0.5], [-0.5, 1.0], [1.0, 1.0], [0.25, -1.0]])
Y = np.array([1.0, -1.0, 1.0, 1.0])


def point(rounds: int, loss: float) -> Point:
    return Point(rounds, loss, 1, 0.0, loss, 1.0)


@pytest.fixture
def statements() -> Any:
    """Return the statements of a model beside a replay that gives the same."""
    learner = nr.MirrorDescent(nr.losses.Hinge(), nr.mirrors.Euclidean(), nr.rates.Constant(0.5))
    made = learner.learn(X, Y)
    metrics = metrics_for(learner.loss)
    metrics.add(Y, made, None)
    points = [point(2, 1.0), point(4, 2.5)]
    found: Any = object.__new__(LinearStatements)
    found.learner, found.certificate = learner, learner.certificate()
    found.record = SimpleNamespace(points=points, metrics=metrics.arrays(), held_metrics={})
    found.again = SimpleNamespace(
        learner=SimpleNamespace(certificate=learner.certificate, weights=learner.weights.copy()),
        record=SimpleNamespace(points=list(points)),
        metrics=metrics,
        held=None,
    )
    return found


def test_the_same_replay_holds(statements: Any) -> None:
    assert [verdict.holds for verdict in statements._replay()] == [True, True]
    assert [verdict.holds for verdict in statements._metrics()] == [True]


def test_other_weights_beside_the_same_ledger(statements: Any) -> None:
    statements.again.learner.weights[1] += 1e-12
    assert [verdict.holds for verdict in statements._replay()] == [False, True]


def test_another_line_of_the_table(statements: Any) -> None:
    last = statements.again.record.points[-1]
    statements.again.record.points[-1] = replace(last, mistakes=last.mistakes + 1)
    same, lines = statements._replay()
    assert (same.holds, lines.holds) == (True, False)
    assert lines.detail.endswith("the first that differs is that of round 4")


def test_other_measures(statements: Any) -> None:
    statements.again.metrics.add(Y[:1], np.array([-1.0]), None)
    assert [verdict.holds for verdict in statements._metrics()] == [False]

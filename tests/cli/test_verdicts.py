"""Every verdict of `noregret audit` is false where its statement is, whatever else holds."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any
from unittest import mock

import numpy as np
import pytest

import noregret as nr
from noregret.learners.foreign import Certifier
from noregret.proof.certificate import Certificate
from noregret.proof.ledger import Entry
from noregret.runs.verdicts import LinearStatements, Verdict

X = np.array([[1.0, 0.5], [-0.5, 1.0], [1.0, 1.0], [0.25, -1.0]])
Y = np.array([1.0, -1.0, 1.0, 1.0])


@pytest.fixture
def statements() -> LinearStatements:
    """Return the statements of a model, with the zero predictor and another one to try."""
    learner = nr.MirrorDescent(nr.losses.Hinge(), nr.mirrors.Ball(1.0), nr.rates.Constant(0.5))
    made = learner.learn(X, Y)
    found: Any = object.__new__(LinearStatements)
    found.learner, found.certificate, found.radius = learner, learner.certificate(), 1.0
    found.loss, found.sizes = learner.loss, None
    found._played = Certifier(learner.loss)
    found._played.add(X, Y, made)
    tried = {"zero": np.zeros(2), "another one": np.array([0.6, 0.1])}
    found.comparators = [
        (name, u, sum(learner.loss.value(y, float(u @ x)) for x, y in zip(X, Y, strict=True)))
        for name, u in tried.items()
    ]
    return found  # type: ignore[no-any-return]


def holds(verdicts: Iterator[Verdict]) -> list[bool | None]:
    return [verdict.holds for verdict in verdicts]


def test_true_statements_hold(statements: LinearStatements) -> None:
    assert holds(statements._floor("not solved")) == [True, True]
    assert holds(statements._regularized()) == [True]
    assert holds(statements._theorems()) == [True, True]
    assert statements._loss().holds


def least(statements: LinearStatements) -> float:
    return min(loss for _, _, loss in statements.comparators)


def test_a_floor_that_is_too_high_is_false(statements: LinearStatements) -> None:
    with mock.patch.object(Certificate, "floor", lambda *given: least(statements) + 1e-6):
        assert holds(statements._floor("not solved"))[0] is False


def test_a_regret_that_is_too_low_is_false(statements: LinearStatements) -> None:
    regret = statements.certificate.loss - least(statements)
    with mock.patch.object(Certificate, "regret_bound", lambda *given: regret - 1e-6):
        assert holds(statements._floor("not solved")) == [True, False]


def test_a_regularised_floor_that_is_too_high_is_false(statements: LinearStatements) -> None:
    # The zero predictor has no penalty, and a loss of 1 a round.
    with mock.patch.object(Certificate, "regularized_floor", lambda self: 4.0 + 1e-6):
        assert holds(statements._regularized()) == [False]


def test_a_theorem_that_is_too_low_is_false(statements: LinearStatements) -> None:
    proof = statements.certificate
    regret = proof.loss - least(statements)
    stated = [replace(bound, value=regret - 1e-6) for bound in proof.bounds]
    with mock.patch.object(Certificate, "bounds_for", lambda *given: stated):
        assert holds(statements._theorems()) == [False, False]
    # The comparator's loss counts as often as the theorem says.
    half = [replace(stated[0], factor=0.5, value=regret)]
    with mock.patch.object(Certificate, "bounds_for", lambda *given: half):
        assert holds(statements._theorems()) == [False]


@pytest.mark.parametrize("entry", [Entry.RATED_SQUARES, Entry.LAST_ETA])
def test_a_forged_rate_makes_no_theorem_that_holds(
    statements: LinearStatements, entry: Entry
) -> None:
    ledger = statements.certificate.ledger.copy()
    ledger[entry] = 0.0 if entry == Entry.RATED_SQUARES else 1e3
    statements.certificate = replace(statements.certificate, ledger=ledger)
    regret = statements.certificate.loss - least(statements)
    for bound in statements.certificate.bounds:
        # What is left of the theorem is at least what was measured, or it says nothing.
        assert not bound.applies or bound.value >= regret
    assert False not in holds(statements._theorems())


@pytest.mark.parametrize("entry", [Entry.LOSS, Entry.MISTAKES])
def test_a_loss_that_was_not_suffered_is_false(statements: LinearStatements, entry: Entry) -> None:
    ledger = statements.certificate.ledger.copy()
    ledger[entry] += 1.0
    statements.certificate = replace(statements.certificate, ledger=ledger)
    assert statements._loss().holds is False

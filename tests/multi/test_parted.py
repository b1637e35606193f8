"""One-against-rest with ranges of scores in several threads: every bit is that of one thread."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

import noregret as nr
from noregret.learners import matrix_engines
from noregret.learners.matrix_engines import MatrixScaleFree

OUTPUTS = 5


def draw(rows: int = 40, width: int = 6) -> tuple[Any, Any, Any]:
    random = np.random.default_rng(3)
    X = random.normal(size=(rows, width)) * (random.random((rows, width)) < 0.5)
    X[3] = 0.0
    weight = random.choice([0.0, 0.5, 1.0, 3.0], rows)
    return X, random.integers(0, OUTPUTS, rows), weight


def parted(monkeypatch: pytest.MonkeyPatch, threads: int) -> list[bool]:
    """Part every block among threads; return a list of whether that went well."""
    seen: list[bool] = []
    original = MatrixScaleFree._parted

    def noted(self: Any, *given: Any) -> bool:
        seen.append(original(self, *given))
        return seen[-1]

    monkeypatch.setattr(MatrixScaleFree, "_parted", noted)
    monkeypatch.setattr(matrix_engines, "WORTH_PARTING", 1)
    monkeypatch.setattr(matrix_engines, "WORTH_COPYING", 0)
    monkeypatch.setattr(matrix_engines, "cores", lambda: threads)
    return seen


def require_same(one: nr.MatrixDescent, other: nr.MatrixDescent) -> None:
    """Check that two learners agree in every bit of their arrays."""
    mine, its = one._arrays(), other._arrays()
    assert mine.keys() == its.keys()
    for name, array in mine.items():
        np.testing.assert_array_equal(array, its[name], strict=True)


@pytest.mark.parametrize("loss", [nr.losses.Logistic(), nr.losses.SquaredHinge()], ids=str)
@pytest.mark.parametrize("layout", [np.asarray, sp.csr_matrix])
@pytest.mark.parametrize("threads", [2, 3, 8])
@pytest.mark.parametrize("sets", [False, True])
def test_the_bits_do_not_depend_on_threads(
    loss: Any, layout: Any, threads: int, sets: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    X, y, weight = draw()
    labels = np.eye(OUTPUTS)[y] + np.eye(OUTPUTS)[y[::-1]] > 0 if sets else y
    alone = nr.MatrixDescent(nr.losses.OneAgainstRest(loss), outputs=OUTPUTS)
    expected = alone.learn(layout(X), labels, weight)
    seen = parted(monkeypatch, threads)
    learner = nr.MatrixDescent(nr.losses.OneAgainstRest(loss), outputs=OUTPUTS)
    found = learner.learn(layout(X), labels, weight)
    assert seen == [True]
    np.testing.assert_array_equal(found, expected)
    require_same(learner, alone)
    assert str(learner.certificate()) == str(alone.certificate())


def test_scores_that_are_added_later_have_measures_of_their_own(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Their sizes of features are smaller, so that the largest ratio is theirs."""
    X, y, weight = draw()
    X[:5] *= 100.0

    def played() -> nr.MatrixDescent:
        learner = nr.MatrixDescent(nr.losses.OneAgainstRest(), outputs=2)
        learner.learn(X[:20], y[:20] % 2, weight[:20])
        learner.grow(OUTPUTS)
        learner.learn(X[20:], y[20:], weight[20:])
        return learner

    alone = played()
    # The first thread has the old scores, the others the new ones.
    seen = parted(monkeypatch, 3)
    require_same(played(), alone)
    assert seen == [True, True]


def test_a_row_that_one_thread_refuses_ends_the_block_as_in_one_thread(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    X, y, _ = draw()
    weight = np.ones(len(y))
    loss = nr.losses.OneAgainstRest(nr.losses.SquaredHinge())
    # The gradient of this row overflows.
    X[30], weight[30] = 1e90, 1e90

    def played() -> nr.MatrixDescent:
        learner = nr.MatrixDescent(loss, outputs=OUTPUTS)
        with pytest.raises(OverflowError):
            learner.learn(X, y, weight)
        return learner

    alone = played()
    seen = parted(monkeypatch, 2)
    learner = played()
    assert seen == [False] and learner.rounds == alone.rounds == 30
    require_same(learner, alone)


def test_losses_that_join_the_scores_are_never_parted(monkeypatch: pytest.MonkeyPatch) -> None:
    seen = parted(monkeypatch, 2)
    X, y, weight = draw()
    nr.MatrixDescent(nr.losses.Softmax(), outputs=OUTPUTS).learn(X, y, weight)
    assert seen == []

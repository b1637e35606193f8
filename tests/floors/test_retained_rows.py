"""Rows that stay for the next block: each row enters once, and the floor is higher for it."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import noregret as nr
from noregret.floors import BlockCurves, BlockLines, JointScores, SeparateScores
from noregret.floors.lines import Lines
from noregret.floors.pending import Pending
from noregret.floors.planes import Planes
from noregret.proof.ledger import Entry
from noregret.proof.statement import PARABOLAS
from noregret.rows.examples import as_rows

LOGISTIC = nr.losses.Logistic()
ROWS, WIDTH = 120, 3


def draw(classes: int = 0, rows: int = ROWS) -> tuple[Any, Any, Any]:
    """Return rows whose first feature tells them apart, labels and weights."""
    random = np.random.default_rng(3)
    X = random.normal(size=(rows, WIDTH))
    scores = X @ random.normal(size=(WIDTH, max(classes, 1))) + random.normal(size=(rows, 1))
    y = np.argmax(scores, axis=1).astype(float) if classes else np.sign(scores[:, 0])
    return X, y, random.choice([0.5, 1.0, 2.0], rows)


def spy(monkeypatch: Any, kind: type, method: str = "enter") -> list[Any]:
    """Record the rows that leave a block: first features, slopes and weights."""
    enter, seen = getattr(kind, method), []

    def recorded(self: Any, held: Any, chosen: Any, staying: Any) -> None:
        first = held.rows.values.reshape(-1, WIDTH)
        seen.append((first[~staying], chosen.slopes[~staying], held.weight[~staying].copy()))
        enter(self, held, chosen, staying)

    monkeypatch.setattr(kind, method, recorded)
    return seen


@pytest.mark.parametrize("loss", [LOGISTIC, nr.losses.Hinge(), nr.losses.Huber()], ids=str)
def test_every_row_enters_once(loss: Any, monkeypatch: Any) -> None:
    """Blocks of 45 features; rows that stay enter later, with their last slopes."""
    X, y, weight = draw()
    seen = spy(monkeypatch, Lines)
    lines = BlockLines(loss, 45)
    lines.add(as_rows(X), y, weight)
    assert any(len(part[2]) < 15 for part in seen)
    lines.close()
    left, slopes, weights = (np.concatenate(parts) for parts in zip(*seen, strict=True))
    assert len(left) == ROWS == lines.entered == lines.rounds
    np.testing.assert_array_equal(np.sort(left[:, 0]), np.sort(X[:, 0]))
    labels = y[[int(np.flatnonzero(X[:, 0] == x)[0]) for x in left[:, 0]]]
    ledger, gradient = lines.lines.ledger, lines.lines.gradient()
    np.testing.assert_allclose(gradient, (weights * slopes) @ left, rtol=1e-12)
    conjugates = [loss.conjugate(*one) for one in zip(labels, slopes, strict=True)]
    assert ledger[Entry.INTERCEPT] == pytest.approx(-float(weights @ conjugates), rel=1e-12)


def test_every_row_of_planes_enters_once(monkeypatch: Any) -> None:
    X, y, weight = draw(classes=3)
    seen = spy(monkeypatch, Planes)
    planes = JointScores(nr.losses.Softmax(), 45)
    planes.grow(3)
    planes.add(as_rows(X), y, weight)
    assert any(len(part[2]) < 15 for part in seen)
    planes.close()
    left, slopes, weights = (np.concatenate(parts) for parts in zip(*seen, strict=True))
    np.testing.assert_array_equal(np.sort(left[:, 0]), np.sort(X[:, 0]))
    expected = left.T @ (weights[:, None] * slopes)
    np.testing.assert_allclose(planes.planes.gradient(), expected.T.ravel(), rtol=1e-12)


def test_every_score_keeps_the_same_rows() -> None:
    X, y, weight = draw(classes=3)
    scores = SeparateScores(nr.losses.OneAgainstRest(), 45)
    scores.grow(3)
    scores.add(as_rows(X), y, weight)
    kept = {len(lines.slopes) for lines in scores.lines}
    assert kept != {0} and len(kept) == 1
    assert scores.rounds == ROWS


def test_every_parabola_enters_once() -> None:
    """Those of the square loss do not depend on where they touch."""
    X, y, weight = draw()
    # Units that no later row changes.
    X[0] = 5.0
    whole, parts = BlockCurves(nr.losses.Squared()), BlockCurves(nr.losses.Squared(), size=45)
    for one in (whole, parts):
        one.add(as_rows(X), y, weight)
    assert len(parts.lines.slopes) > 0
    (expected,), (found,) = whole.curves(), parts.curves()
    np.testing.assert_allclose(found.matrix, expected.matrix, rtol=1e-12)
    np.testing.assert_allclose(found.slopes(1.0), expected.slopes(1.0), rtol=1e-12)
    assert found.ledger[Entry.ROUNDS] == expected.ledger[Entry.ROUNDS] == ROWS


def test_labels_far_from_0_cost_no_digits() -> None:
    """The first block tells how far: sums of squared labels would round away the losses."""
    X, y, _ = draw()
    X[:, 2], far = 1.0, 1e3
    certificate = nr.certify(X, y + far, np.full(ROWS, far), nr.losses.Squared(), blocks=True)
    best = np.linalg.lstsq(X, y)[0]
    least = float(((X @ best - y) ** 2).sum())
    floor = certificate.floors(float(np.linalg.norm(np.add(best, [0.0, 0.0, far]))))[PARABOLAS]
    assert (1.0 - 5e-8) * least <= floor <= least


def test_floors_are_higher_than_if_no_row_stayed(monkeypatch: Any) -> None:
    """Ten blocks of sparse rows, most of them far from the boundary."""
    random = np.random.default_rng(4)
    X = (random.random((2000, 60)) < 0.1).astype(float)
    y = np.sign(X @ random.normal(size=60) + 1e-9)
    best = nr.hindsight(X, y, LOGISTIC, l2=1.0, tol=1e-6)
    radius = float(np.linalg.norm(best.weights))
    optimum = nr.hindsight(X, y, LOGISTIC, radius=radius, tol=1e-6).primal

    def floor() -> float:
        lines = BlockLines(LOGISTIC, int(X.sum()) // 10)
        lines.add(as_rows(X), y, np.ones(2000))
        return max(
            float(ledger[Entry.INTERCEPT] - radius * np.linalg.norm(Z))
            for ledger, Z in lines.proved()
        )

    assert 0.77 * optimum < floor() <= optimum
    monkeypatch.setattr(
        "noregret.floors.blocks.most_bent", lambda bends, *_: np.zeros(len(bends), np.bool_)
    )
    assert floor() < 0.73 * optimum


def test_rows_at_the_kink_stay_and_rows_on_straight_parts_leave() -> None:
    """The leader is 1: twenty rows at the kink, thirty far beyond it, one on the wrong side."""
    X = np.ones((51, 1))
    X[:30], X[30] = 3.0, -3.0
    lines = BlockLines(nr.losses.Hinge(), 51)
    lines.add(as_rows(X), np.ones(51), np.ones(51))
    assert lines.pending.held(1).rows.values.tolist() == [1.0] * 20
    assert lines.entered == 31


def test_no_more_than_half_a_block_stays() -> None:
    X, y, weight = draw()
    lines, pending = BlockLines(LOGISTIC, 1 << 30), Pending(1 << 30, 10)
    lines.pending = pending
    for end in range(1, ROWS + 1):
        lines.add(as_rows(X[end - 1 : end]), y[end - 1 : end], weight[end - 1 : end])
        assert lines.rounds == end and len(pending) < 10
        assert len(lines.lines.slopes) == (5 if end >= 10 else 0)
    with pytest.raises(ValueError, match="10 rows with 30 features fill a block"):
        for _ in pending.take(as_rows(X), y, weight, np.zeros(ROWS)):
            pending.retain(np.ones(10, np.bool_))


def test_a_file_with_more_chosen_slopes_than_rows_is_refused() -> None:
    X, y, weight = draw()
    lines = BlockLines(LOGISTIC, 45)
    lines.add(as_rows(X), y, weight)
    arrays = lines.arrays()
    arrays["slopes"] = np.zeros(len(lines.pending) + 1)
    with pytest.raises(ValueError, match="rows are held back"):
        BlockLines(LOGISTIC, 45).restore(arrays)
    arrays["slopes"] = np.full(2, np.nan)
    with pytest.raises(ValueError, match="slopes of blocks must hold finite numbers"):
        BlockLines(LOGISTIC, 45).restore(arrays)

"""Members of a mixture that see rows by the same moments learn as if each had its own."""

from __future__ import annotations

import copy
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

import noregret as nr
from noregret.experts import Mixture, ScoreAggregate
from noregret.experts.roster import NARROW, PAIRS, SETTLED, narrow_members, score_members
from noregret.learners.standardized import Standardized
from noregret.rows.examples import as_rows

LOGISTIC, SQUARED = nr.losses.Logistic(), nr.losses.Squared()


def rows_of(width: int, count: int, seed: int = 0) -> Any:
    """Return sparse rows of which the later ones have features in later columns."""
    random = np.random.default_rng(seed)
    X = sp.random_array((count, width), density=0.2, rng=random, format="lil")
    X[: count // 2, width // 2 :] = 0.0
    X[count // 2 + 2 :: 3, width // 2 :] = 0.0
    X[:, 0] = random.normal(size=count) * 100.0 + 1e4
    return sp.csr_array(X)


def alone(members: list[Any], X: Any, y: Any, weight: Any) -> list[np.ndarray]:
    """Return what each member predicts that standardises the rows for itself."""
    return [
        one.learn(X, y, weight) if weight is not None else one.learn(X, y)
        for one in members
        if isinstance(one, Standardized)
    ]


@pytest.mark.parametrize("loss", [LOGISTIC, SQUARED])
@pytest.mark.parametrize("width", [6, 2 * PAIRS])
def test_shared_moments_change_no_bit(loss: Any, width: int, monkeypatch: Any) -> None:
    X = rows_of(width, 60)
    y = np.where(X[:, [0]].toarray().ravel() > 1e4, 1.0, -1.0)
    weight = np.where(np.arange(60) % 7 == 0, 0.0, 1.0)
    mixture = Mixture(loss)
    made: list[np.ndarray] = []
    mix = Mixture._mix

    def noted(self: Any, given: Any, labels: Any, weights: Any, table: Any) -> Any:
        made.append(table.copy())
        return mix(self, given, labels, weights, table)

    monkeypatch.setattr(Mixture, "_mix", noted)
    for start, stop in ((0, 1), (1, 20), (20, 21), (21, 60)):
        mixture.learn(X[start:stop], y[start:stop], weight[start:stop])
    # No part of the rows was refused and played again in halves.
    assert [len(table) for table in made] == [1, 19, 1, 39]
    members = narrow_members(loss)
    expected = alone(members, X, y, weight)
    found = np.concatenate(made)
    for k, one in enumerate(expected):
        assert np.array_equal(found[:, k], one)
        assert members[k].outgrown == mixture.learners[k].outgrown
        asked = rows_of(width, 9, 1)
        given = mixture._predictions(as_rows(asked))
        assert np.array_equal(given[k], members[k].predict(asked))
    # Second-order members are outgrown where rows have more than 128 features, and the one that
    # follows the level alone at once.
    seeing = mixture.learners[:-1]
    assert [one.outgrown for one in seeing] == [one.view.widest < width for one in seeing]
    assert {one.view.widest for one in seeing} == {1, PAIRS, NARROW}
    first = seeing[0].view
    assert [one.view.scaler is first.scaler for one in seeing] == [
        one.view.fits(first) for one in seeing
    ]


def test_scores_share_moments_too() -> None:
    X, y = rows_of(8, 60), np.arange(60.0) % 3
    aggregate = ScoreAggregate()
    members = [one for one in score_members() if isinstance(one, Standardized)]
    for one in members:
        one.learner.grow(3)
    aggregate.grow(3)
    aggregate.learn(X, y)
    for one, other in zip(members, aggregate.learners, strict=False):
        one.learn(X, y)
        assert np.array_equal(one.affine()[0], other.affine()[0])  # type: ignore[union-attr]
    # Learners of the user's own keep their moments: they may have learnt other rows.
    own = ScoreAggregate([Standardized(nr.MatrixDescent(nr.losses.Softmax())) for _ in range(2)])
    own.learn(X, y)
    first, second = own.learners
    assert first.view.scaler is not second.view.scaler  # type: ignore[union-attr]


@pytest.mark.parametrize("width", [6, 2 * PAIRS, NARROW + 8])
def test_files_keep_the_moments_of_each_member(width: int, tmp_path: Path) -> None:
    X = rows_of(width, 60)
    y = np.where(X[:, [0]].toarray().ravel() > 1e4, 1.0, -1.0)
    whole, broken = Mixture(LOGISTIC, wide=False), Mixture(LOGISTIC, wide=False)
    expected = whole.learn(X, y)
    pieces = []
    for start, stop in ((0, 10), (10, 40), (40, 60)):
        pieces.append(broken.learn(X[start:stop], y[start:stop]))
        broken.save(tmp_path / "m.nr")
        broken = nr.load(tmp_path / "m.nr")
        copied = copy.deepcopy(broken)
        assert np.array_equal(copied.predict(X), broken.predict(X))
        # The leader's moments stay as they are.
        views = [one.view.scaler for one in copied.learners[:-2]]
        assert all(one is views[0] for one in views)
        assert copied.learners[-2].view.scaler is not views[0]
    assert np.array_equal(np.concatenate(pieces), expected)
    assert np.array_equal(broken.predict(X), whole.predict(X))


def test_a_refused_row_leaves_the_moments_as_they_were() -> None:
    X = rows_of(6, 30)
    y = np.where(np.arange(30) % 2 == 0, 1.0, -1.0)
    learner, other = Mixture(SQUARED), Mixture(SQUARED)
    learner.learn(X, y)
    other.learn(X, y)
    bad = X.toarray()
    bad[3, 2] = np.nan
    with pytest.raises(ValueError, match="X row 3"):
        learner.learn(bad, y)
    with pytest.raises(OverflowError):
        learner.learn(X[:9], np.append(y[:8], 1e100), np.append(np.ones(8), 1e100))
    other.learn(X[:8], y[:8])
    assert np.array_equal(learner.predict(X), other.predict(X))
    assert np.array_equal(learner.learn(X, y), other.learn(X, y))


def test_views_that_do_not_fit_are_refused() -> None:
    one, other = narrow_members(LOGISTIC)[:2]
    one.learn([[1.0], [2.0]], [1, -1])
    with pytest.raises(ValueError, match="must have learnt the same rows"):
        other.view.share(one.view)
    other.learn([[1.0], [3.0]], [1, -1])
    with pytest.raises(ValueError, match="must have learnt the same rows"):
        other.view.share(one.view)
    wide, level = narrow_members(LOGISTIC)[0].view, narrow_members(LOGISTIC)[3].view
    assert level.fits(wide) and not wide.fits(level)
    with pytest.raises(ValueError, match="the widest first"):
        wide.share(level)
    views = [one.view for one in narrow_members(SQUARED)[:-1]]
    fixed = [view for view in views if view.scaler.scaling.settled == SETTLED]
    assert len(fixed) == 1 and not fixed[0].fits(wide) and not wide.fits(fixed[0])

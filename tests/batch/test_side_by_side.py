"""Work on shards: the same for any number of threads, never a lower dual, true gaps."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

import noregret as nr
from noregret.batch import Problem, side_by_side
from noregret.batch.ascent import Ascent, Guess
from noregret.batch.side_by_side import SideBySide, ascent_of
from noregret.shards import Shards

LOSSES = [nr.losses.Hinge(), nr.losses.Logistic(), nr.losses.Squared(), nr.losses.Absolute()]
FORMS = [{"l2": 0.3}, {"l2": 0.3, "radius": 0.5}, {"radius": 2.0}]


@pytest.fixture(autouse=True)
def shares_little(monkeypatch: pytest.MonkeyPatch) -> None:
    """Share out what is too little to be worth it."""
    monkeypatch.setattr(side_by_side, "LEAST_TURN", 64)
    monkeypatch.setattr(side_by_side, "LEAST_EPOCH", 64)
    monkeypatch.setattr(side_by_side, "WORTH_JOINING", 2.0)


def stream(seed: int, rows: int = 60, width: int = 8, twins: bool = False) -> Any:
    random = np.random.default_rng(seed)
    X = random.normal(size=(rows, width)) * random.choice([0.0, 1.0], (rows, width))
    if twins:
        X[:] = X[0]
    return X, np.sign(X @ random.normal(size=width) + 0.3 * random.normal(size=rows) + 1e-9)


@pytest.mark.parametrize("loss", LOSSES, ids=str)
@pytest.mark.parametrize("twins", [False, True])
@pytest.mark.parametrize("spread", [1.0, 4.0])
def test_the_dual_never_falls_and_theta_belongs_to_the_slopes(
    loss: Any, twins: bool, spread: float
) -> None:
    """Also where all rows are equal and every shard steps as if it were alone."""
    X, y = stream(2, rows=40, twins=twins)
    y = np.ones(len(y)) if twins else y
    problem = replace(Problem.of(X, y, loss, strength=0.05), shards=Shards(4))
    ascent = SideBySide(problem, problem.start(), 0)
    lower = problem.dual_lower(ascent.slopes)
    for _ in range(12):
        ascent.spread = spread
        ascent.epoch(Guess(1e-9))
        higher = problem.dual_lower(ascent.slopes)
        assert higher >= lower - 1e-9 * (1.0 + abs(lower))
        lower = higher
        theta = -(X.T @ ascent.slopes) / problem.strength
        np.testing.assert_allclose(
            ascent.theta, theta, rtol=1e-9, atol=1e-9 * (1 + abs(theta).max())
        )
        assert sorted(ascent.order.tolist()) == list(range(len(y)))
    assert lower > problem.dual_lower(problem.start())


@pytest.mark.parametrize("loss", LOSSES, ids=str)
@pytest.mark.parametrize("form", FORMS, ids=str)
@pytest.mark.parametrize("layout", [np.asarray, sp.csr_array])
def test_the_number_of_threads_changes_nothing(loss: Any, form: Any, layout: Any) -> None:
    X, y = stream(1)
    X = layout(X)
    one, two, many = (
        nr.hindsight(X, y, loss, **form, tol=1e-5, max_passes=500, shards=3, workers=workers)
        for workers in (1, 2, 7)
    )
    assert one.converged and one.passes == two.passes == many.passes
    for other in (two, many):
        assert (one.primal, one.dual) == (other.primal, other.dual)
        np.testing.assert_array_equal(one.weights, other.weights)
        np.testing.assert_array_equal(one.alpha, other.alpha)
    alone = nr.hindsight(X, y, loss, **form, tol=1e-5)
    assert max(one.dual, alone.dual) <= min(one.primal, alone.primal)


def test_equal_shards_are_damped_and_orthogonal_ones_are_not() -> None:
    """Rows of one direction need sigma' = K, rows without a common feature none; K at first."""
    for X, expected in ((np.ones((80, 1)), 4.0), (np.eye(80), 1.0)):
        problem = Problem.of(X, np.ones(80), nr.losses.Squared(), strength=1.0)
        ascent = ascent_of(replace(problem, shards=Shards(4)), problem.start(), 0)
        assert isinstance(ascent, SideBySide)
        ascent.epoch(Guess(1e-9))
        assert ascent.spread == 4.0 and ascent.adapting
        later = ascent_of(ascent.problem, problem.start(), 0)
        assert isinstance(later, SideBySide)
        later.adapting = True
        later.epoch(Guess(1e-9))
        assert later.spread == pytest.approx(expected)
    assert type(ascent_of(problem, problem.start(), 0)) is Ascent


def test_few_features_are_visited_by_one_thread() -> None:
    """The bits are then those of one shard."""
    X, y = stream(10, rows=7)
    one, many = (
        nr.hindsight(X, y, nr.losses.Hinge(), l2=0.3, shards=shards).alpha for shards in (1, 4)
    )
    np.testing.assert_array_equal(one, many)


def test_gaps_of_shards_are_those_of_all_rows() -> None:
    X, y = stream(3)
    whole = Problem.of(X, y, nr.losses.Logistic(), strength=0.2)
    slopes = np.random.default_rng(4).uniform(0.0, 1.0, len(y)) * -y
    weights = np.random.default_rng(5).normal(size=X.shape[1])
    for count in (2, 7, 60):
        shared = replace(whole, shards=Shards(count, workers=2))
        assert shared.dual_lower(slopes) == pytest.approx(whole.dual_lower(slopes), rel=1e-13)
        assert shared.primal_upper(weights) == pytest.approx(whole.primal_upper(weights), rel=1e-13)


def test_gradients_that_cancel_between_shards_keep_their_digits() -> None:
    X, y = np.array([[1e16], [1.0], [-1e16]]), np.ones(3)
    problem = Problem.of(X, y, nr.losses.Absolute(), strength=1.0)
    shared = replace(problem, shards=Shards(3))
    assert shared.gradient(np.ones(3))[0].tolist() == [1.0]


def test_several_classes_and_defaults() -> None:
    X, _ = stream(6)
    classes = np.random.default_rng(7).integers(3, size=len(X))
    loss = nr.losses.OneAgainstRest()
    shared = nr.hindsight(X, classes, loss, l2=1.0, shards=2, workers=2)
    alone = nr.hindsight(X, classes, loss, l2=1.0)
    assert max(shared.dual, alone.dual) <= min(shared.primal, alone.primal)
    # So few rows are not worth a second thread.
    y = np.where(classes == 0, 1.0, -1.0)
    default, plain = (
        nr.hindsight(X, y, nr.losses.Hinge(), l2=1.0, workers=workers) for workers in (2, 1)
    )
    np.testing.assert_array_equal(default.alpha, plain.alpha)
    # More shards than rows are as many as rows.
    assert nr.hindsight(X[:3], y[:3], nr.losses.Hinge(), l2=1.0, shards=50).converged


@pytest.mark.parametrize(
    "options",
    [
        {"workers": 0, "l2": 1.0},
        {"workers": True, "l2": 1.0},
        {"shards": 0, "l2": 1.0},
        {"shards": 1.5, "l2": 1.0},
        {"shards": 2, "l2": 1.0, "bias": True},
        {"shards": 2, "l2": 1.0, "fraction": 0.5},
        {"shards": 2, "strength": 1.0, "mirror": nr.mirrors.PNorm(3.0)},
    ],
    ids=str,
)
def test_what_is_refused(options: dict[str, Any]) -> None:
    X, y = stream(8)
    name = "workers" if "workers" in options else "shards"
    with pytest.raises(ValueError, match=f"^{name}[ =]"):
        nr.hindsight(X, y, nr.losses.Hinge(), **options)


@pytest.mark.compiled
def test_compiled_equals_interpreted_shards() -> None:
    """The machine code of shards finds what the interpreter finds."""
    X, y = stream(9)
    for rows in (X, sp.csr_array(X), X.astype(np.float32)):
        found = nr.hindsight(rows, y, nr.losses.Hinge(), l2=0.3, shards=3, workers=2, tol=1e-7)
        alone = nr.hindsight(rows, y, nr.losses.Hinge(), l2=0.3, tol=1e-7)
        np.testing.assert_allclose(found.weights, alone.weights, atol=1e-3)
        assert found.converged and max(found.dual, alone.dual) <= min(found.primal, alone.primal)

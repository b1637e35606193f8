"""A refused row changes nothing: not a bit of any array, and what is learnt afterwards."""

from __future__ import annotations

import copy
import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from scipy.sparse import csr_array

import noregret as nr
from noregret import domains, losses, mirrors, rates
from noregret.experts import Aggregate
from noregret.learners import DualAscent, MatrixDescent, MirrorDescent
from noregret.learners.base import learn_together
from noregret.learners.foreign import Certifier
from noregret.learners.ranking import Ranker
from noregret.tracking import KernelDescent
from noregret.tracking.kernels import Polynomial
from tests.learners.frozen_state import difference, frozen

SQUARED, HINGE = losses.Squared(), losses.Hinge()
EUCLIDEAN, ENTROPY = mirrors.Euclidean(), mirrors.SignedEntropy(2)


def descent(*parts: Any, **options: Any) -> Callable[[], Any]:
    return lambda: MirrorDescent(*parts, **options)


def dual(*parts: Any, **options: Any) -> Callable[[], Any]:
    return lambda: DualAscent(*parts, **options)


def matrix(*parts: Any, **options: Any) -> Callable[[], Any]:
    return lambda: MatrixDescent(*parts, outputs=3, **options)


def of_three_classes() -> nr.experts.ScoreAggregate:
    learner = nr.experts.ScoreAggregate()
    learner.grow(3)
    return learner


AGILE = {"lazy": False}
SIMPLEX = domains.ClippedSimplex(0.1)
#: A learner of each pass; those of real targets meet losses that overflow.
LEARNERS: dict[str, Callable[[], Any]] = {
    "linear": descent(SQUARED, EUCLIDEAN, rates.Adaptive()),
    "linear, no average": descent(SQUARED, EUCLIDEAN, rates.Adaptive(), averaging=False),
    "linear, strongly convex": descent(SQUARED, EUCLIDEAN, rates.StronglyConvex(0.5)),
    "linear, restarts": descent(SQUARED, mirrors.Ball(2), rates.Doubling(0.1)),
    "mapped": descent(SQUARED, ENTROPY, rates.Adaptive()),
    "mapped, power": descent(SQUARED, mirrors.PNorm(3.0), rates.Adaptive()),
    "coordinate": descent(SQUARED, EUCLIDEAN, rates.PerCoordinate(0.5)),
    "agile": descent(SQUARED, EUCLIDEAN, rates.Adaptive(), domains.Ball(1), **AGILE),
    "agile, implicit": descent(
        SQUARED, EUCLIDEAN, rates.Adaptive(), domains.Ball(1), implicit=True, **AGILE
    ),
    "clipped simplex": descent(SQUARED, mirrors.Entropy(), rates.Adaptive(), SIMPLEX, **AGILE),
    "scale-free": descent(SQUARED, EUCLIDEAN, rates.ScaleFree()),
    "ridge": descent(SQUARED, EUCLIDEAN, rates.Ridge()),
    "ridge, forgetting": descent(SQUARED, EUCLIDEAN, rates.Ridge(0.1, 0.9, False, True)),
    "newton": descent(losses.Huber(1e3), EUCLIDEAN, rates.Newton()),
    "newton, explicit": descent(SQUARED, EUCLIDEAN, rates.Newton(1.0, False, 0.9)),
    "newton, certified": descent(SQUARED, EUCLIDEAN, rates.CertifiedNewton()),
    "aioli": descent(losses.Logistic(), EUCLIDEAN, rates.Aioli()),
    "arow": descent(HINGE, EUCLIDEAN, rates.Arow()),
    "newton, three classes": matrix(losses.Softmax(), EUCLIDEAN, rates.Newton(forgetting=0.95)),
    "block leader": descent(losses.Huber(1e3), EUCLIDEAN, rates.BlockLeader(0.5, 2)),
    "block leader, three classes": matrix(losses.Softmax(), EUCLIDEAN, rates.BlockLeader(0.5, 2)),
    "coin betting": descent(losses.Absolute(), EUCLIDEAN, rates.CoinBetting()),
    "signs": descent(HINGE, EUCLIDEAN, rates.Adaptive(), conservative=True),
    "dual, conservative": dual(HINGE, EUCLIDEAN, update="conservative"),
    "dual, aggressive": dual(SQUARED, EUCLIDEAN, update="aggressive", row_limit=2.0),
    "dual, exact": dual(SQUARED, EUCLIDEAN, update="exact", memory=3),
    "dual, pair": dual(HINGE, EUCLIDEAN, update="window", k=2),
    "dual, window": dual(SQUARED, EUCLIDEAN, update="window", k=3),
    "dual, mini": dual(SQUARED, EUCLIDEAN, update="mini", k=2, schedule="random", memory=4),
    "dual, leader": dual(SQUARED, EUCLIDEAN, update="leader"),
    "dual, map": dual(SQUARED, mirrors.PNorm(3.0), update="exact"),
    "matrix": matrix(losses.OneAgainstRest(losses.SquaredHinge()), rate=rates.Adaptive()),
    "matrix, mapped": matrix(losses.Softmax(), ENTROPY, rates.Adaptive(), dimension=3),
    "matrix, scale-free": matrix(losses.Softmax()),
    "matrix, implicit": matrix(losses.Softmax(), rate=rates.Constant(0.5), implicit=True),
    "kernel": lambda: KernelDescent(Polynomial(degree=1), radius=2.0, eta=0.1, budget=3),
    "standardized": lambda: nr.Standardized(MirrorDescent(SQUARED, EUCLIDEAN, rates.ScaleFree())),
    "standardized, no certificate": lambda: nr.Standardized(
        MirrorDescent(SQUARED, EUCLIDEAN, rates.Newton()), certified=False
    ),
    "aggregate": lambda: Aggregate(
        [
            MirrorDescent(SQUARED, EUCLIDEAN, rates.Adaptive()),
            MirrorDescent(SQUARED, EUCLIDEAN, rates.PerCoordinate(0.5)),
        ]
    ),
    "aggregate, scores": lambda: of_three_classes(),
    "mixture": lambda: nr.Mixture(losses.Hinge()),
    "mixture, real": lambda: nr.Mixture(SQUARED),
    "mixture, wide": lambda: nr.Mixture(losses.Logistic(), wide=True),
    "aggregate, probabilities": lambda: Aggregate(
        [
            MirrorDescent(losses.Logistic(), EUCLIDEAN, rates.Adaptive()),
            MirrorDescent(losses.Logistic(), EUCLIDEAN, rates.Aioli()),
        ],
        mixing="probabilities",
        stack=MirrorDescent(losses.Logistic(), EUCLIDEAN, rates.ScaleFree()),
    ),
}

rng = np.random.default_rng(5)
X = np.round(rng.uniform(-1.0, 1.0, (12, 3)), 2)
#: Mass, feature and label of rows whose loss or gradient leaves the range of numbers.
OVERFLOWS = {
    "loss": (1e80, 1e60, 1e20),
    "gradient": (1e100, 1e99, 1.0),
    "label": (1e100, 1.0, 1e100),
    "step": (1.0, 1e99, 1e99),
}


def labels_of(learner: Any, count: int) -> np.ndarray:
    kind = learner.loss.labels
    if kind == "class":
        return np.arange(count) % 3
    signs = np.where(np.arange(count) % 3 == 0, 1.0, -1.0)
    return signs if kind == "sign" else np.round(rng.uniform(-1.0, 1.0, count), 2)


def started(name: str, rows: int = 6) -> tuple[Any, np.ndarray]:
    learner = LEARNERS[name]()
    y = labels_of(learner, len(X))
    if rows:
        learner.learn(X[:rows], y[:rows])
    return learner, y


def spoilt(learner: Any, y: np.ndarray) -> dict[str, tuple[Any, ...]]:
    """Return rows, labels and weights that raise ValueError."""
    rows = X[6:9]

    def changed(array: np.ndarray, place: Any, value: float) -> np.ndarray:
        copied = array.astype(float)
        copied[place] = value
        return copied

    bad: dict[str, tuple[Any, ...]] = {
        "NaN": (changed(rows, (1, 2), math.nan), y[6:9]),
        "infinity": (changed(rows, (2, 0), math.inf), y[6:9]),
        "too large": (changed(rows, (2, 0), 1e101), y[6:9]),
        "label": (rows, changed(y[6:9], 2, math.nan)),
        "labels": (rows, y[6:8]),
        "width": (np.ones((3, 5)), y[6:9]),
    }
    sparse = csr_array(rows)
    sparse.indices = np.full_like(sparse.indices, 7)
    bad["index"] = (sparse, y[6:9])
    if not isinstance(learner, KernelDescent):
        for name, mass in (("weight", -1.0), ("weights", math.nan), ("heavy", 1e101)):
            bad[name] = (rows, y[6:9], [1.0, 1.0, mass])
    return bad


@pytest.mark.parametrize("name", LEARNERS)
def test_what_cannot_be_learnt_changes_nothing(name: str) -> None:
    for rows in (0, 6):
        learner, y = started(name, rows)
        before = frozen(learner)
        for fault, given in spoilt(learner, y).items():
            if fault == "width" and rows == 0:
                continue
            with pytest.raises(ValueError):
                learner.learn(*given)
            assert not difference(frozen(learner), before), (fault, rows)
        other, _ = started(name, 0)
        other.learn(X[:rows], y[:rows]) if rows else None
        assert learner.learn(X[rows:], y[rows:]).tobytes() == (
            other.learn(X[rows:], y[rows:]).tobytes()
        )
        assert not difference(frozen(learner), frozen(other))


def overflowing(learner: Any) -> list[tuple[np.ndarray, float, float]]:
    """Return row, label and weight of rows that this learner refuses with OverflowError."""
    found = []
    for mass, feature, label in OVERFLOWS.values():
        if isinstance(learner, KernelDescent) and mass != 1.0:
            continue
        given = {"sign": -1.0, "class": 1.0}.get(learner.loss.labels, label)
        row = np.array([feature, 0.5 * feature, -feature])
        trial = copy.deepcopy(learner)
        try:
            trial.learn(*_shaped(trial, row[None], [given], [mass]))
        except OverflowError:
            found.append((row, given, mass))
    return found


def _shaped(learner: Any, rows: Any, y: Any, weight: Any) -> tuple[Any, ...]:
    return (rows, y) if isinstance(learner, KernelDescent) else (rows, y, weight)


@pytest.mark.parametrize("name", LEARNERS)
def test_a_row_that_overflows_changes_nothing(name: str) -> None:
    for rows in (0, 6):
        learner, y = started(name, rows)
        refused = overflowing(learner)
        if rows:
            assert refused
        before = frozen(learner)
        for row, label, mass in refused:
            with pytest.raises(OverflowError):
                learner.learn(*_shaped(learner, row[None], [label], [mass]))
            assert not difference(frozen(learner), before), (rows, row[0], mass)
            # In the middle of a block: what came before it is kept, it changes nothing itself.
            block, control = copy.deepcopy(learner), copy.deepcopy(learner)
            given = np.vstack([X[6:8], row, X[8:9]])
            weight = [1.0, 1.0, mass, 1.0]
            with pytest.raises(OverflowError):
                block.learn(*_shaped(block, given, [*y[6:8], label, y[8]], weight))
            control.learn(X[6:8], y[6:8])
            assert not difference(frozen(block), frozen(control))
            assert block.learn(X[8:], y[8:]).tobytes() == control.learn(X[8:], y[8:]).tobytes()
            assert not difference(frozen(block), frozen(control))


@pytest.mark.parametrize("name", [name for name in LEARNERS if "dual" not in name])
def test_single_rows_that_are_refused_change_nothing(name: str) -> None:
    learner, y = started(name)
    if not hasattr(learner, "learn_one"):
        return
    control, before = copy.deepcopy(learner), frozen(learner)
    places, values = [0, 1, 2], [0.5, 0.25, -0.5]
    wide = [0, 1, 9] if getattr(learner, "growable", True) else places
    for row, label, mass in overflowing(learner):
        for columns in (places, wide):
            with pytest.raises((OverflowError, ValueError)):
                learner.learn_one(columns, row, label, mass)
            assert not difference(frozen(learner), before)
    bad: list[tuple[Any, ...]] = [
        (places, [0.5, math.nan, 1.0], y[6]),
        (wide, [0.5, math.inf, 1.0], y[6]),
        (wide, [0.5, 1.0, 1e101], y[6]),
        (wide, values, math.nan),
        (wide, values, "x"),
        (wide, values, y[6], -1.0),
        (wide, values, y[6], math.nan),
        ([0, 1, -1], values, y[6]),
        ([0, 1], values, y[6]),
    ]
    for given in bad:
        with pytest.raises((TypeError, ValueError)):
            learner.learn_one(*given)
        assert not difference(frozen(learner), before), given
    for k in range(6, 12):
        assert np.array_equal(
            learner.learn_one(places, X[k], y[k]), control.learn_one(places, X[k], y[k])
        )
    assert not difference(frozen(learner), frozen(control))


def test_the_row_that_ended_an_adaptive_learner() -> None:
    """Features of 1e60, weight 1e80, label 1e20: once refused, its size must not be remembered."""
    learner, control = LEARNERS["linear"](), LEARNERS["linear"]()
    learner.learn(X, X[:, 0])
    control.learn(X, X[:, 0])
    with pytest.raises(OverflowError):
        learner.learn(np.full((1, 3), 1e60), [1e20], [1e80])
    learner.learn(X, X[:, 0])
    control.learn(X, X[:, 0])
    assert np.any(learner.weights != 0.0)
    assert learner.weights.tobytes() == control.weights.tobytes()


def test_a_rate_that_a_refused_row_would_have_lowered() -> None:
    """Rates inside a map fall before the row is played, and with them all records change."""
    learner = LEARNERS["mapped"]()
    learner.learn(X[:6], X[:6, 0])
    before = frozen(learner)
    for _ in range(2):
        with pytest.raises(OverflowError):
            learner.learn(np.full((1, 3), 1e60), [1e20], [1e80])
        assert not difference(frozen(learner), before)


def test_room_for_features_of_a_refused_row_is_taken_back() -> None:
    row = csr_array(([1e99], ([0], [9])), shape=(1, 10))
    makers = ("linear", "coordinate", "scale-free", "coin betting", "dual, exact", "matrix")
    for name in makers:
        for rows in (0, 6):
            learner = LEARNERS[name]()
            y = labels_of(learner, 12)
            if rows:
                learner.learn(csr_array(X[:rows]), y[:rows])
            known, before = learner.dimension, frozen(learner)
            with pytest.raises(OverflowError):
                learner.learn(row, y[:1], [1e100])
            assert learner.dimension == known
            assert not difference(frozen(learner), before), name


def test_rankers() -> None:
    ranker, control = Ranker(), Ranker()
    args = (X[:6], [2, 1, 0, 1, 0, 0], [1, 1, 1, 2, 2, 2])
    for start in (False, True):
        if start:
            ranker.learn(*args)
            control.learn(*args)
        before = frozen(ranker)
        bad: list[tuple[Any, ...]] = [
            (np.full((2, 3), math.nan), [1, 0], [5, 5]),
            (X[:2], [1, math.inf], [5, 5]),
            (X[:2], [1, 0], [5]),
            (X[:2], [1, 0], [5, 5], [1.0, -1.0]),
            (X[:3], [1, 0, 1], [5, 6, 5]),
        ]
        for given in bad:
            with pytest.raises(ValueError):
                ranker.learn(*given)
            assert not difference(frozen(ranker), before)
        with pytest.raises(OverflowError):
            ranker.learn(1e50 * X[:2], [0, 1], [5, 5], [1e99, 1e99])
        assert not difference(frozen(ranker), before)
    ranker.learn(*args)
    control.learn(*args)
    assert not difference(frozen(ranker), frozen(control))
    with pytest.raises(OverflowError):
        ranker.learn(
            np.vstack([X[:2], 1e50 * X[:2]]), [1, 0, 0, 1], [5, 5, 6, 6], [1, 1, 1e99, 1e99]
        )
    control.learn(X[:2], [1, 0], [5, 5])
    assert not difference(frozen(ranker), frozen(control))


def test_certifiers() -> None:
    certifier = Certifier(SQUARED, mirrors.UnnormalizedEntropy())
    for start in (False, True):
        if start:
            certifier.add(X[:4], X[:4, 0], X[:4, 1])
        before = frozen(certifier)
        bad: list[tuple[Any, ...]] = [
            ([[math.nan] * 9], [1.0], [1.0]),
            ([[1.0] * 9], [math.nan], [1.0]),
            ([[1.0] * 9], [1.0], [math.inf]),
            ([[1.0] * 9], [1.0], [1.0], [-1.0]),
            ([[1.0] * 9, [1e99] * 9], [1.0, 1.0], [1.0, 1e149]),
        ]
        for given in bad:
            with pytest.raises(ValueError):
                certifier.add(*given)
            assert not difference(frozen(certifier), before)
    control = Certifier(SQUARED, mirrors.UnnormalizedEntropy())
    control.add(X[:4], X[:4, 0], X[:4, 1])
    assert certifier.certificate().as_dict() == control.certificate().as_dict()


def test_aggregates_of_which_one_learner_refuses() -> None:
    """The others have learnt the row by then: all of them are taken back."""
    makers = [
        lambda: nr.MirrorDescent(SQUARED, EUCLIDEAN, rates.Constant(0.001)),
        lambda: nr.MirrorDescent(SQUARED, EUCLIDEAN, rates.Constant(10.0)),
    ]
    aggregate, control = Aggregate([one() for one in makers]), Aggregate([one() for one in makers])
    rows = np.full((400, 1), 10.0)
    with pytest.raises(OverflowError, match="overflow"):
        aggregate.learn(rows, np.ones(400))
    played = aggregate.rounds
    assert 0 < played < 400
    assert [one.rounds for one in aggregate.learners] == [played, played]
    control.learn(rows[:played], np.ones(played))
    assert not difference(frozen(aggregate), frozen(control))
    assert aggregate.certificate().as_dict() == control.certificate().as_dict()


def test_a_learner_that_was_taken_back_keeps_its_weights_when_it_grows() -> None:
    rows, labels = [[1.0, 0.0], [2.0, 1.0], [1e99, 0.0]], [1.0, 2.0, 1e99]
    parts = losses.Squared(), mirrors.Euclidean(), rates.Constant(0.1)
    learner, other = MirrorDescent(*parts), MirrorDescent(*parts)
    learner.learn_one([0], [1.0], 0.5)
    other.learn_one([0], [1.0], 0.5)

    def play(start: int, stop: int) -> None:
        learner.learn(csr_array(rows[start:stop]), labels[start:stop])

    with pytest.raises(OverflowError):
        learn_together([learner], 0, 3, play)
    other.learn(csr_array(rows[:2]), labels[:2])
    for one in (learner, other):
        one.learn(csr_array([[0.0, 1.0, 0.0, 1.0]]), [3.0])
    np.testing.assert_array_equal(learner.weights, other.weights)

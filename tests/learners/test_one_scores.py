"""One row at a time for several scores: the same as many, and as careful."""

from __future__ import annotations

import copy
import pickle
from typing import Any

import numpy as np
import pytest
from scipy.sparse import csr_array

from noregret import losses, mirrors, rates
from noregret.learners.matrix import MatrixDescent

ROUNDS, DIMENSION, CLASSES = 120, 7, 4

CASES: dict[str, dict[str, Any]] = {
    "scale-free": {"loss": losses.OneAgainstRest(losses.Logistic())},
    "softmax": {"loss": losses.Softmax()},
    "newton": {"loss": losses.Softmax(), "rate": rates.Newton(0.1, forgetting=0.98)},
    "plain": {"loss": losses.MulticlassHinge(), "rate": rates.Constant(0.1)},
    "p-norm": {
        "loss": losses.Softmax(),
        "mirror": mirrors.PNorm(3.0),
        "rate": rates.Adaptive(1.0),
    },
}


def learner(name: str) -> MatrixDescent:
    return MatrixDescent(**CASES[name], outputs=CLASSES)


def stream() -> tuple[csr_array, Any, Any]:
    rng = np.random.default_rng(8)
    dense = rng.standard_normal((ROUNDS, DIMENSION)) * (rng.random((ROUNDS, DIMENSION)) < 0.6)
    dense[:20, DIMENSION // 2 :] = 0.0
    y = (dense @ rng.standard_normal((DIMENSION, CLASSES))).argmax(axis=1)
    return csr_array(dense), y.astype(float), rng.choice([0.0, 0.5, 1.0, 2.0], ROUNDS)


def rows(X: csr_array) -> Any:
    for begin, end in zip(X.indptr, X.indptr[1:], strict=False):
        yield X.indices[begin:end].astype(np.uint32), X.data[begin:end].copy()


def state(made: MatrixDescent) -> list[bytes]:
    assert made._engine is not None
    return [made._ledger.tobytes(), *(a.tobytes() for a in made._engine.arrays().values())]


@pytest.mark.parametrize("name", CASES)
def test_rows_one_after_the_other_are_learnt_as_all_at_once(name: str) -> None:
    one, many = learner(name), learner(name)
    X, y, weight = stream()
    found = []
    for k, row in enumerate(rows(X)):
        found.append(one.learn_one(*row, y[k], weight[k]))
        if k % 40 == 7:
            one = pickle.loads(pickle.dumps(one))
        if k % 40 == 9:
            one = copy.deepcopy(one)
    assert np.array_equal(found, many.learn(X, y, weight))
    assert state(one) == state(many)
    scores = np.array([one.predict_one(*row) for row in rows(X)])
    assert scores == pytest.approx(many.predict(X), rel=1e-12, abs=1e-12)
    assert str(one.certificate()) == str(many.certificate())


@pytest.mark.parametrize("name", CASES)
def test_classes_are_added_on_the_way(name: str) -> None:
    one, many = learner(name), learner(name)
    X, y, _ = stream()
    for part in (slice(0, 50), slice(50, None)):
        for k, row in zip(range(ROUNDS)[part], rows(X[part]), strict=True):
            one.learn_one(*row, y[k])
        many.learn(X[part], y[part])
        for each in (one, many):
            each.grow(CLASSES + 2)
    assert state(one) == state(many)
    assert one.predict_one([0], [1.0]).shape == (CLASSES + 2,)


BAD: dict[str, tuple[Any, ...]] = {
    "a value is not finite": ([0, 3], [1.0, np.nan], 1),
    "not finite or beyond": ([0, 9], [1.0, 1e101], 1),
    "y row 0: class 4, expected": ([0, 9], [1.0, 1.0], 4),
    "y row 0: class 0.5, expected": ([0, 3], [1.0, 1.0], 0.5),
    "y must hold numbers": ([0, 3], [1.0, 1.0], "a"),
    "weight row 0: -1": ([0, 3], [1.0, 1.0], 1, -1.0),
    "indices must be columns": ([-1, 3], [1.0, 1.0], 1),
}


@pytest.mark.parametrize("complaint", BAD)
@pytest.mark.parametrize("name", ["scale-free", "plain"])
def test_what_cannot_be_learnt_changes_nothing(name: str, complaint: str) -> None:
    made = learner(name)
    X, y, _ = stream()
    made.learn(X, y)
    before = state(made)
    with pytest.raises(ValueError, match=complaint):
        made.learn_one(*BAD[complaint])
    assert state(made) == before and made.dimension == DIMENSION
    made.learn_one([5, 2, 5], [1.0, 2.0, 0.5], 1)
    assert made.rounds == ROUNDS + 1


def test_rows_that_cannot_be_read_are_refused_and_features_not_known_are_zeros() -> None:
    made = learner("scale-free")
    assert made.predict_one([3], [1.0]).tolist() == [0.0] * CLASSES
    X, y, _ = stream()
    made.learn(X, y)
    with pytest.raises(ValueError, match="not finite"):
        made.predict_one([3], [np.inf])
    known, more = made.predict_one([3], [1.0]), made.predict_one([3, 100], [1.0, 5.0])
    assert more == pytest.approx(known, rel=1e-12)


@pytest.mark.parametrize("name", ["scale-free", "softmax", "plain", "p-norm"])
def test_a_prediction_reads_the_features_of_its_row_alone(name: str) -> None:
    made = learner(name)
    X, y, _ = stream()
    made.learn(X, y)
    expected = made.predict(X[:1])[0]
    made._weights = None
    found = made.predict_one(*next(rows(X)))
    assert found == pytest.approx(expected, rel=1e-12, abs=1e-12)
    # Those of all features would be kept for the next call.
    assert made._weights is None


def test_targets_that_are_rows_of_numbers() -> None:
    """A single row of them is learnt as a block of one, and read as any other."""
    parts = losses.PairwiseHinge(), mirrors.Euclidean(), rates.Constant(0.1)
    one, many = (MatrixDescent(*parts, outputs=3, dimension=DIMENSION) for _ in range(2))
    X, _, _ = stream()
    for row in rows(X[:5]):
        one.learn_one(*row, [2.0, 0.0, 1.0])
    many.learn(X[:5], np.tile([2.0, 0.0, 1.0], (5, 1)))
    assert state(one) == state(many) and one.rounds == 5
    np.testing.assert_array_equal(one.predict_one([0], [1.0]), one.weights[0])

"""One row at a time is the same as many: to the bit where it is learnt, and when it is refused."""

from __future__ import annotations

import copy
import os
import pickle
import subprocess
import sys
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from scipy.sparse import csr_array

import noregret as nr
from noregret import domains, losses, mirrors, rates
from noregret.learners import MirrorDescent

ROUNDS, DIMENSION = 150, 9
INDEX = np.array([0, 3], np.uint32)

CASES: dict[str, dict[str, Any]] = {
    "scale-free": {"rate": rates.ScaleFree()},
    "scale-free targets": {"loss": losses.Squared(), "rate": rates.ScaleFree()},
    "plain": {"rate": rates.Constant(0.1)},
    "no average": {"rate": rates.Adaptive(), "averaging": False},
    "ball": {"mirror": mirrors.Ball(0.3), "rate": rates.Adaptive()},
    "curved": {"rate": rates.StronglyConvex(0.5)},
    "soft": {"mirror": mirrors.SoftThreshold(0.01), "rate": rates.InverseSqrt(0.5)},
    "p-norm": {"mirror": mirrors.PNorm(4.0), "rate": rates.Adaptive(1.0)},
    "each": {"rate": rates.PerCoordinate(0.5)},
    "doubling": {"rate": rates.Doubling(0.4)},
    "perceptron": {"loss": losses.Hinge(), "rate": rates.Constant(1.0), "conservative": True},
    "box": {"rate": rates.Constant(0.1), "domain": domains.Box(-0.1, 0.2), "lazy": False},
    "clipped": {
        "mirror": mirrors.UnnormalizedEntropy(),
        "rate": rates.Constant(0.1),
        "lazy": False,
        "clip": 0.1,
    },
    "implicit": {"rate": rates.Constant(0.1), "lazy": False, "implicit": True},
    "signed": {"mirror": mirrors.SignedEntropy(4.0), "rate": rates.InverseSqrt(0.5)},
    "entropy": {"mirror": mirrors.Entropy(3.0), "rate": rates.Adaptive()},
    "floored": {
        "mirror": mirrors.Entropy(1.0),
        "rate": rates.Constant(0.5),
        "domain": domains.ClippedSimplex(0.1),
        "lazy": False,
    },
}


def learner(name: str) -> MirrorDescent:
    parts = {"loss": losses.Logistic(), "mirror": mirrors.Euclidean(), **CASES[name]}
    made = MirrorDescent(**parts)
    return made if made.growable else MirrorDescent(**parts, dimension=DIMENSION)


def stream(made: MirrorDescent, rounds: int = ROUNDS) -> tuple[csr_array, Any, Any]:
    """Return sparse rows, the first of which know few features, labels and weights."""
    rng = np.random.default_rng(5)
    dense = rng.standard_normal((rounds, DIMENSION)) * (rng.random((rounds, DIMENSION)) < 0.6)
    dense[:20, DIMENSION // 2 :] = 0.0
    real = dense @ rng.standard_normal(DIMENSION)
    y = real if made.loss.labels == "real" else np.where(real > 0.0, 1.0, -1.0)
    return csr_array(dense), y, rng.choice([0.0, 0.5, 1.0, 2.0], rounds)


def rows(X: csr_array) -> Any:
    for begin, end in zip(X.indptr, X.indptr[1:], strict=False):
        yield X.indices[begin:end].astype(np.uint32), X.data[begin:end].copy()


def state(made: MirrorDescent) -> dict[str, bytes]:
    return {name: array.tobytes() for name, array in made._arrays().items()}


@pytest.mark.parametrize("name", CASES)
def test_rows_one_after_the_other_are_learnt_as_all_at_once(name: str) -> None:
    one, many = learner(name), learner(name)
    X, y, weight = stream(one)
    found = [
        one.learn_one(*row, label, mass)
        for row, label, mass in zip(rows(X), y.tolist(), weight.tolist(), strict=True)
    ]
    assert np.array_equal(found, many.learn(X, y, weight))
    assert state(one) == state(many) and one.dimension == DIMENSION
    assert str(one.certificate()) == str(many.certificate())


@pytest.mark.parametrize("name", CASES)
def test_predictions_are_those_for_many(name: str) -> None:
    made = learner(name)
    X, y, weight = stream(made)
    made.learn(X[:100], y[:100], weight[:100])
    before = state(made)
    found = [made.predict_one(*row) for row in rows(X)]
    expected = made.predict(X)
    assert found == pytest.approx(expected, rel=1e-12, abs=1e-12 * np.abs(expected).max())
    assert np.abs(expected).max() > 0.0 and state(made) == before


@pytest.mark.parametrize("name", CASES)
def test_one_and_many_take_turns(name: str) -> None:
    mixed, many = learner(name), learner(name)
    X, y, weight = stream(mixed)
    for k, row in enumerate(rows(X)):
        if k % 3:
            mixed.learn_one(*row, y[k], weight[k])
        else:
            mixed.learn(X[[k]], y[[k]], weight[[k]])
        if k % 50 == 7:
            mixed = pickle.loads(pickle.dumps(mixed))
        if k % 50 == 9:
            mixed = copy.deepcopy(mixed)
    many.learn(X, y, weight)
    assert state(mixed) == state(many)


@pytest.mark.compiled
@pytest.mark.parametrize("name", ["scale-free", "p-norm", "box", "floored"])
def test_machine_code_of_one_row_does_what_that_of_many_does(name: str) -> None:
    test_rows_one_after_the_other_are_learnt_as_all_at_once(name)
    test_one_and_many_take_turns(name)


BAD: dict[str, tuple[Any, ...]] = {
    "X row 0: a value is not finite": (INDEX, np.array([1.0, np.nan]), 1.0),
    "X row 0: a value is not finite or beyond": (INDEX, np.array([1.0, -1e101]), 1.0),
    "y row 0: label 0.5; Logistic expects": (INDEX, np.ones(2), 0.5),
    "y row 0: label nan": (INDEX, np.ones(2), np.nan),
    "weight row 0: -1; expected": (INDEX, np.ones(2), 1.0, -1.0),
    "weight row 0: inf; expected": (INDEX, np.ones(2), 1.0, np.inf),
    "indices and values have shapes": (INDEX, np.ones(3), 1.0),
    "values must hold numbers": (INDEX, ["a", "b"], 1.0),
    "indices must hold whole numbers": ([0.5, 1.0], np.ones(2), 1.0),
    "indices must be columns 0": ([-1, 1], np.ones(2), 1.0),
}


@pytest.mark.parametrize("complaint", BAD)
@pytest.mark.parametrize("shift", [0, 40])
def test_what_cannot_be_learnt_changes_nothing(complaint: str, shift: int) -> None:
    """Known features and features that would be new."""
    made, twin = learner("scale-free"), learner("scale-free")
    X, y, _ = stream(made)
    made.learn(X, y)
    twin.learn(X, y)
    before = state(made)
    indices, *rest = BAD[complaint]
    if isinstance(indices, np.ndarray):
        indices = indices + np.uint32(shift)
    for _ in range(2):
        with pytest.raises(ValueError, match=complaint):
            made.learn_one(indices, *rest)
    assert state(made) == before and made.dimension == DIMENSION
    for each in (made, twin):
        each.learn_one([2, 50], [1.0, 3.0], 1.0)
    assert state(made) == state(twin)


def test_rows_in_any_form_and_order() -> None:
    made, twin = learner("plain"), learner("plain")
    made.learn_one([7, 2, 7], [1, 2, 0.5], 1)
    made.learn_one(np.array([2, 7]), np.array([1.0, 2.0], np.float32), np.float64(-1.0))
    made.learn_one([], [], 1)
    made.learn_one(np.arange(8, dtype=np.uint32)[::2], np.arange(8.0)[::2], True)
    dense = np.zeros((4, 8))
    dense[0, [2, 7]] = 2.0, 1.5
    dense[1, [2, 7]] = 1.0, 2.0
    dense[3, ::2] = 0.0, 2.0, 4.0, 6.0
    twin.learn(csr_array(dense), [1, -1, 1, 1])
    assert made.weights == pytest.approx(twin.weights, abs=1e-15) and made.rounds == 4
    assert made.predict_one([100], [1.0]) == 0.0
    assert made.predict_one([7, 2], [1.0, 1.0]) == pytest.approx(made.weights[[2, 7]].sum())
    with pytest.raises(ValueError, match="not finite"):
        made.predict_one([2], [np.inf])


def test_a_learner_that_diverges_says_so() -> None:
    made = MirrorDescent(losses.Squared(), mirrors.Euclidean(), rates.Constant(1e3))
    with pytest.raises(OverflowError, match="it diverges") as found:
        for _ in range(10_000):
            made.learn_one(INDEX, np.array([3.0, -2.0]), 1.0)
    assert f"round {made.rounds + 1} " in str(found.value) and made.rounds > 5
    before = state(made)
    with pytest.raises(OverflowError, match="it diverges"):
        made.learn_one(INDEX, np.array([3.0, -2.0]), 1.0)
    assert state(made) == before


def test_dimensions_that_are_fixed_or_must_be() -> None:
    fixed = MirrorDescent(losses.Logistic(), mirrors.Euclidean(), rates.Constant(0.1), dimension=4)
    fixed.learn_one([1], [1.0], 1.0)
    for call in (lambda: fixed.learn_one([4], [1.0], 1.0), lambda: fixed.predict_one([4], [1.0])):
        with pytest.raises(ValueError, match="X has 5 columns, the learner knows 4"):
            call()
    blind = MirrorDescent(losses.Logistic(), mirrors.Entropy(1.0), rates.Constant(0.1))
    with pytest.raises(ValueError, match="must know its features in advance"):
        blind.learn_one([1], [1.0], 1.0)


@pytest.mark.parametrize("twin", [copy.deepcopy, lambda made: pickle.loads(pickle.dumps(made))])
def test_copies_grow_by_themselves(twin: Callable[[Any], Any]) -> None:
    """A copy once went back to what was known when it was made, as soon as it grew."""
    made = learner("plain")
    made.learn(csr_array(np.eye(5)), np.ones(5))
    other = twin(made)
    for each in (made, other):
        each.learn(csr_array(np.eye(5)), np.ones(5))
        each.learn(csr_array(np.eye(6)), np.ones(6))
    assert state(other) == state(made)
    assert other.certificate().floor(1.0) == made.certificate().floor(1.0)
    other.learn_one([0], [1.0], -1.0)
    assert other.rounds == made.rounds + 1


PROGRAM = """
import numpy as np, noregret as nr
from noregret.jit import cache_events
made = nr.MirrorDescent(nr.losses.Logistic(), nr.mirrors.Euclidean(), nr.rates.ScaleFree())
found = [made.learn_one([0, k % 3 + 1], [1.0, k], (-1) ** k) for k in range(20)]
print(sum(found), made.predict_one([0, 1], [1.0, 2.0]), cache_events.misses)
"""


def run(**environment: str) -> list[str]:
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM],
        capture_output=True,
        text=True,
        env=os.environ | environment,
        check=True,
    )
    return done.stdout.split()


@pytest.mark.compiled
def test_nothing_is_compiled_twice_and_interpreted_code_agrees() -> None:
    run()
    again, interpreted = run(), run(NUMBA_DISABLE_JIT="1")
    assert again[2] == "0"
    for ours, theirs in zip(again[:2], interpreted[:2], strict=True):
        assert float(ours) == pytest.approx(float(theirs), rel=1e-12)


def test_the_learner_is_what_users_hold() -> None:
    assert nr.MirrorDescent.learn_one is MirrorDescent.learn_one


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("name", CASES)
def test_a_matrix_of_one_row_is_learnt_as_many_are(name: str, dtype: type) -> None:
    rng = np.random.default_rng(5)
    X = rng.standard_normal((40, DIMENSION)).astype(dtype)
    y = np.where(X[:, 0] > 0.0, 1.0, -1.0)
    whole, single = learner(name), learner(name)
    made = whole.learn(X, y)
    parts = [single.learn(X[k : k + 1], y[k : k + 1]) for k in range(40)]
    assert np.concatenate(parts).tobytes() == made.tobytes()
    assert single._ledger.tobytes() == whole._ledger.tobytes()
    assert single.weights.tobytes() == whole.weights.tobytes()


def test_what_a_matrix_of_one_row_is_refused_changes_nothing() -> None:
    rows = np.arange(1.0, DIMENSION + 1.0)[np.newaxis]
    made, one = learner("scale-free"), np.array([1.0])
    made.learn(rows, one)
    made.learn(rows, -one)
    before = pickle.dumps(made)
    odd = rows.copy()
    odd[0, 3] = np.nan
    for X, y, words in (
        (odd, one, "X row 0: a value is not finite"),
        (rows, np.array([0.5]), "y row 0: label 0.5"),
        (rows, np.array([np.nan]), "y row 0"),
        (rows[:, :4].copy(), one, "X has 4 columns"),
        (rows, np.ones(2), "y has shape"),
    ):
        with pytest.raises(ValueError, match=words):
            made.learn(X, y)
        assert pickle.dumps(made) == before
    # Read-only, of another layout or byte order: taken, by the way of many rows.
    for X in (np.asfortranarray(np.tile(rows, (2, 1)))[:1], rows.astype(">f8"), rows.view()):
        X.flags.writeable = False
        other = pickle.loads(before)
        assert other.learn(X, one).tobytes() == pickle.loads(before).learn(rows, one).tobytes()

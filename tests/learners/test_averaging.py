"""A learner that keeps no average: narrower records, and all else as before."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import noregret as nr
from noregret import domains, losses, mirrors, rates
from tests.sizes import sized
from tests.truth.streams import layout

ROUNDS, DIMENSION = sized(100, 400), 11

#: Learner, and the columns of its records without an average and with one.
CASES: dict[str, tuple[dict[str, Any], int, int]] = {
    "plain": ({"mirror": mirrors.Euclidean(), "rate": rates.Constant(0.1)}, 1, 2),
    "ball": ({"mirror": mirrors.Ball(2.0), "rate": rates.Adaptive()}, 1, 2),
    "curved": ({"mirror": mirrors.Euclidean(), "rate": rates.StronglyConvex(0.5)}, 1, 2),
    "soft": ({"mirror": mirrors.SoftThreshold(0.01), "rate": rates.InverseSqrt(0.5)}, 1, 2),
    "p-norm": ({"mirror": mirrors.PNorm(4.0), "rate": rates.Adaptive(1.0)}, 2, 4),
    "entropy": ({"mirror": mirrors.Entropy(3.0), "rate": rates.Constant(3.0)}, 2, 4),
    "signed": ({"mirror": mirrors.SignedEntropy(4.0), "rate": rates.InverseSqrt(0.5)}, 2, 4),
    "orthant": ({"mirror": mirrors.UnnormalizedEntropy(), "rate": rates.Constant(0.1)}, 2, 4),
    "box": (
        {
            "mirror": mirrors.Euclidean(),
            "rate": rates.Constant(0.1),
            "domain": domains.Box(-0.1, 0.2),
        },
        2,
        4,
    ),
    "each": ({"mirror": mirrors.Euclidean(), "rate": rates.PerCoordinate(0.5)}, 4, 6),
    "each, invariant": (
        {"mirror": mirrors.SoftThreshold(0.01), "rate": rates.PerCoordinate(0.5, True)},
        4,
        6,
    ),
    # The certificate of a learner that restarts names its average, which stays.
    "doubling": ({"mirror": mirrors.Euclidean(), "rate": rates.Doubling(0.5)}, 2, 2),
    "agile": (
        {
            "mirror": mirrors.Euclidean(),
            "rate": rates.InverseSqrt(0.5),
            "domain": domains.Ball(1.0),
            "lazy": False,
        },
        4,
        4,
    ),
}


def stream(seed: int, width: int = DIMENSION) -> tuple[Any, Any, Any]:
    """Return rows of very different sizes, so that one step may leap and sums are refreshed."""
    random = np.random.default_rng(seed)
    X = random.normal(size=(ROUNDS, width)) * 10.0 ** random.normal(0, 0.5, (ROUNDS, 1))
    X[random.random(X.shape) < 0.4] = 0.0
    weight = np.where(random.random(ROUNDS) < 0.1, 0.0, random.exponential(size=ROUNDS))
    return X, random.choice([-1.0, 1.0], ROUNDS), weight


def pair(name: str, dimension: int | None = DIMENSION) -> list[nr.MirrorDescent]:
    parts = CASES[name][0]
    return [
        nr.MirrorDescent(losses.Logistic(), **parts, dimension=dimension, averaging=averaging)
        for averaging in (False, True)
    ]


def outcome(learner: nr.MirrorDescent, predictions: Any) -> list[Any]:
    certificate = learner.certificate()
    parts = (predictions, learner.weights, certificate.gradient, certificate.ledger)
    words = [repr(certificate.as_dict(1.5)), str(certificate)]
    return [array.tobytes() for array in parts] + words


@pytest.mark.parametrize("name", CASES)
def test_sparse_rows_give_the_same_to_the_bit(name: str) -> None:
    X, y, weight = stream(1)
    rows = layout(X, "sparse64")
    without, averaged = pair(name)
    found = without.learn(rows, y, weight)
    assert outcome(without, found) == outcome(averaged, averaged.learn(rows, y, weight))
    _, narrow, wide = CASES[name]
    for learner, columns in ((without, narrow), (averaged, wide)):
        assert learner._engine is not None
        assert learner._engine.state.shape == (DIMENSION, columns)
    with pytest.raises(ValueError, match=r"averaging=True|SoftThreshold keeps no average"):
        _ = without.average


@pytest.mark.parametrize("name", ["plain", "p-norm", "each"])
def test_dense_rows_give_the_same_up_to_the_order_of_sums(name: str) -> None:
    # The compiler lays out the sums over dense rows by the width of the records.
    X, y, weight = stream(2)
    without, averaged = pair(name)
    found, expected = without.learn(X, y, weight), averaged.learn(X, y, weight)
    size = np.abs(expected).max()
    assert np.abs(found - expected).max() <= 1e-12 * size > 0.0
    size = np.abs(averaged.weights).max()
    assert np.abs(without.weights - averaged.weights).max() <= 1e-12 * size > 0.0


@pytest.mark.parametrize("name", ["plain", "p-norm", "each"])
def test_a_growing_learner_is_saved_and_goes_on(name: str, tmp_path: Path) -> None:
    X, y, weight = stream(3)
    X[:200, 6:] = 0.0
    first, second = layout(X[:200, :6], "sparse32"), layout(X[200:], "sparse32")
    without, averaged = pair(name, None)
    for learner in (without, averaged):
        learner.learn(first, y[:200], weight[:200])
    without.save(tmp_path / "model.nr")
    loaded = nr.load(tmp_path / "model.nr")
    assert isinstance(loaded, nr.MirrorDescent)
    expected = outcome(averaged, averaged.learn(second, y[200:], weight[200:]))
    for learner in (without, loaded):
        assert outcome(learner, learner.learn(second, y[200:], weight[200:])) == expected
    with pytest.raises(ValueError, match="averaging=True"):
        _ = loaded.average


def test_rows_longer_than_the_work_space() -> None:
    # More features than are computed together: they are collected once more for the step.
    X, y, weight = stream(4, 300)
    rows = layout(X, "sparse64")
    for rate in (rates.PerCoordinate(0.5), rates.PerCoordinate(0.5, True)):
        learner = nr.MirrorDescent(losses.Logistic(), mirrors.Euclidean(), rate)
        predictions = learner.learn(rows, y, weight)
        slopes = [
            w * losses.Logistic().slope(label, p)
            for w, label, p in zip(weight, y, predictions, strict=True)
        ]
        z = np.array(slopes)[:, None] * X
        reach = np.maximum.accumulate(weight[:, None] * np.abs(X))
        before = np.vstack([np.zeros((1, 300)), np.cumsum(z, axis=0)])
        squares = np.vstack([np.zeros((1, 300)), np.cumsum(z * z, axis=0)])
        total = np.sqrt(squares[:-1] + reach * reach)
        if rate.invariant:
            total = total * np.maximum.accumulate(np.abs(X))
        played = -0.5 * before[:-1] / np.where(total > 0.0, total, np.inf)
        assert np.sum(played * X, axis=1) == pytest.approx(predictions, rel=1e-9, abs=1e-9)
        assert learner.average == pytest.approx(played.mean(axis=0), rel=1e-9, abs=1e-11)


def test_a_first_prediction_without_an_average() -> None:
    learner = nr.MirrorDescent(
        losses.Hinge(), mirrors.Entropy(2.0), rates.Constant(1.0), averaging=False
    )
    assert learner.predict([[1.0, 3.0]]).tolist() == [4.0]


def test_online_to_batch_needs_an_average_and_says_so_before_it_learns() -> None:
    learner = nr.MirrorDescent(
        losses.Absolute(), mirrors.Euclidean(), rates.Constant(0.3), averaging=False
    )
    with pytest.raises(ValueError, match="averaging=True"):
        nr.catalogue.online_to_batch(learner, [[1.0]], [1.0])
    assert learner.rounds == 0
    assert nr.catalogue.online_to_batch(learner, [[1.0]], [1.0], "random").tolist() == [0.0]

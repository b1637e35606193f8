"""Learners in one pass: the mixture, its certificate, its files, and what it refuses."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.sparse import csr_array

import noregret as nr
from noregret.experts import Aggregate, Hedge
from noregret.tracking import KernelDescent, kernels
from tests.sizes import sized

SQUARED = nr.losses.Squared()


def descent(eta: float, loss: Any = SQUARED, **settings: Any) -> nr.MirrorDescent:
    return nr.MirrorDescent(loss, nr.mirrors.Euclidean(), nr.rates.Constant(eta), **settings)


def members() -> list[Any]:
    return [
        descent(0.001),
        descent(0.03),
        nr.DualAscent(SQUARED, nr.mirrors.Euclidean(), 0.5),
        descent(0.2),
    ]


def stream(seed: int, rounds: int = 300, d: int = 4) -> tuple[np.ndarray, np.ndarray]:
    random = np.random.default_rng(seed)
    X = random.normal(size=(rounds, d)) / math.sqrt(d)
    return X, X @ random.normal(size=d) + 0.3 * random.normal(size=rounds)


def test_it_is_adahedge_on_the_losses_of_the_learners() -> None:
    X, y = stream(0)
    weight = np.random.default_rng(1).uniform(0.0, 2.0, len(y))
    learner = Aggregate(members())
    made = learner.learn(X, y, weight)
    apart = np.column_stack([one.learn(X, y, weight) for one in members()])
    costs = weight[:, None] * (apart - y[:, None]) ** 2
    hedge = Hedge(4)
    for t in range(len(y)):
        np.testing.assert_allclose(made[t], hedge.weights @ apart[t], rtol=1e-9, atol=1e-12)
        hedge.suffer(costs[t])
    np.testing.assert_allclose(learner.shares, hedge.weights, rtol=1e-8)
    proof = learner.certificate()
    assert proof.loss == pytest.approx(float(weight @ (made - y) ** 2))
    np.testing.assert_allclose(proof.members.totals, costs.sum(axis=0), rtol=1e-11)
    assert proof.members.regret() == pytest.approx(proof.loss - costs.sum(axis=0).min())
    assert proof.members.regret() <= min(bound.value for bound in proof.bounds)
    assert learner.rounds == 300 and learner.dimension == 4


def test_it_predicts_by_the_mixed_weights() -> None:
    X, y = stream(2)
    learner = Aggregate(members())
    learner.learn(X, y)
    mixed = sum(s * one.weights for s, one in zip(learner.shares, learner.learners, strict=True))
    np.testing.assert_allclose(learner.weights, mixed, rtol=1e-13)
    np.testing.assert_allclose(learner.predict(X), X @ learner.weights, rtol=1e-10)


def test_its_floor_is_true_and_that_of_its_own_predictions() -> None:
    X, y = stream(3)
    learner = Aggregate(members())
    made = learner.learn(X, y)
    proof = learner.certificate()
    other = nr.certify(X, y, made, SQUARED)
    assert proof.floor(2.0) == other.floor(2.0) and proof.loss == other.loss
    best = nr.hindsight(X, y, SQUARED, radius=2.0)
    assert 0.2 * best.primal < proof.floor(2.0) <= best.primal
    assert proof.floor() == proof.floor(proof.radius)
    text = str(proof)
    for words in ("certified floor", "best of its members", "AdaHedge, second order"):
        assert words in text
    assert text.count("AdaHedge, second order") == 1
    assert proof.as_dict()["members"]["best_expert"] == proof.members.best_expert


@pytest.mark.parametrize("form", [np.asarray, csr_array], ids=["dense", "sparse"])
def test_cuts_and_files_change_no_bit(form: Any, tmp_path: Path) -> None:
    X, y = stream(4)
    unbroken = Aggregate(members())
    made = unbroken.learn(form(X), y)
    broken, pieces = Aggregate(members()), []
    for part in (slice(0, 1), slice(1, 120), slice(120, 300)):
        pieces.append(broken.learn(form(X[part]), y[part]))
        broken.save(tmp_path / "a.nr")
        loaded: Any = nr.load(tmp_path / "a.nr")
        assert isinstance(loaded, Aggregate)
        broken = loaded
    assert np.array_equal(np.concatenate(pieces), made)
    assert np.array_equal(broken.weights, unbroken.weights)
    assert str(broken.certificate()) == str(unbroken.certificate())


@pytest.mark.parametrize("form", [np.asarray, csr_array], ids=["dense", "sparse"])
def test_long_streams_are_learnt_in_parts(form: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    X, y = stream(12)
    X[::5, 1] = 0.0
    weight = np.random.default_rng(0).uniform(0.5, 1.0, len(y))
    whole, parts = Aggregate(members()), Aggregate(members())
    made = whole.learn(form(X), y, weight)
    monkeypatch.setattr("noregret.rows.examples.CHUNK", 64)
    assert np.array_equal(parts.learn(form(X), y, weight), made)
    assert str(parts.certificate()) == str(whole.certificate())


def test_aggregates_of_aggregates_and_of_other_maps(tmp_path: Path) -> None:
    X, y = stream(5, rounds=sized(60, 300))
    maps = [nr.MirrorDescent(SQUARED, nr.mirrors.PNorm(4.0), nr.rates.Constant(0.05))]
    maps.append(nr.MirrorDescent(SQUARED, nr.mirrors.SignedEntropy(3.0), nr.rates.Constant(0.05)))
    learner = Aggregate(
        [Aggregate(maps), Aggregate(members())], mirror=nr.mirrors.SignedEntropy(3.0)
    )
    made = learner.learn(X, y)
    learner.save(tmp_path / "a.nr")
    loaded: Any = nr.load(tmp_path / "a.nr")
    assert np.array_equal(loaded.learn(X, y), learner.learn(X, y))
    best = nr.hindsight(X, y, SQUARED, radius=1.0)
    # A vector in the 2-norm ball of radius 1 is in the 1-norm ball of radius 2.
    assert nr.certify(X, y, made, SQUARED, mirror=nr.mirrors.SignedEntropy(3.0)).floor(2.0) <= (
        best.primal
    )


def test_members_that_predict_by_more_than_weights(tmp_path: Path) -> None:
    X, y = stream(9)
    y = y + 7.0
    free = nr.MirrorDescent(SQUARED, nr.mirrors.Euclidean(), nr.rates.ScaleFree())
    learner = Aggregate([free, descent(0.05)])
    learner.learn(X, y)
    made = np.column_stack([one.predict(X) for one in learner.learners])
    np.testing.assert_allclose(learner.predict(X), made @ learner.shares, rtol=1e-12)
    with pytest.raises(ValueError, match="predicts by more than weights"):
        _ = learner.weights
    proof = learner.certificate()
    assert proof.radius is None and proof.members.regret() <= min(b.value for b in proof.bounds)
    assert "best of its members" in str(proof)
    learner.save(tmp_path / "a.nr")
    loaded: Any = nr.load(tmp_path / "a.nr")
    assert np.array_equal(loaded.learn(X, y), learner.learn(X, y))


def test_kernels_and_weights_together(tmp_path: Path) -> None:
    X, y = stream(11, rounds=80)
    kernel = KernelDescent(kernels.Gaussian(1.0), radius=3.0, eta=0.2, budget=20)
    learner = Aggregate([kernel, descent(0.05)])
    made = learner.learn(X, y)
    proof = learner.certificate()
    assert proof.loss == pytest.approx(float(((made - y) ** 2).sum()))
    assert proof.members.regret() <= min(bound.value for bound in proof.bounds)
    learner.save(tmp_path / "a.nr")
    loaded: Any = nr.load(tmp_path / "a.nr")
    assert np.array_equal(loaded.learn(X, y), learner.learn(X, y))
    kernel.save(tmp_path / "k.nr")
    assert np.array_equal(nr.load(tmp_path / "k.nr").predict(X), kernel.predict(X))


def test_a_learner_without_weights_of_examples() -> None:
    X, y = stream(10, rounds=30)

    class Constant:
        loss = SQUARED
        dimension = 0

        def learn(self, X: Any, y: Any) -> np.ndarray:
            return np.zeros(len(y))

        predict = save = learn

    learner = Aggregate([descent(0.1), Constant()])
    learner.learn(X, y)
    with pytest.raises(ValueError, match="learner 1, a Constant, takes no weights"):
        learner.learn(X, y, np.ones(30))
    assert learner.rounds == 30 and learner.learners[0].rounds == 30


def test_different_losses_judged_by_one() -> None:
    X, y = stream(6)
    labels = np.sign(y)
    parts = [descent(0.1, nr.losses.Hinge()), descent(0.1, nr.losses.Logistic())]
    learner = Aggregate(parts, loss=nr.losses.Logistic())
    made = learner.learn(X, labels)
    assert learner.certificate().loss == pytest.approx(np.log1p(np.exp(-labels * made)).sum())
    assert learner.certificate().mistakes == np.count_nonzero(labels * made <= 0.0)


def test_no_rate_is_left_to_tune() -> None:
    """As good as the best of rates that differ by factors of a million."""
    X, y = stream(7, rounds=sized(600, 2000))
    rates = [10.0**-k for k in range(7)]
    learner = Aggregate([descent(eta) for eta in rates])
    learner.learn(X, y)
    alone = []
    for eta in rates:
        one = descent(eta)
        one.learn(X, y)
        alone.append(one.certificate().loss)
    assert learner.certificate().loss <= 1.02 * min(alone) + 5.0
    assert max(alone) > 3.0 * min(alone)


def test_bad_rows_leave_all_learners_as_they_were() -> None:
    X, y = stream(8, rounds=20)
    learner = Aggregate([descent(0.1), descent(0.1, dimension=4)])
    learner.learn(X, y)
    before = [learner.weights, learner.shares, learner.certificate().as_dict()]
    spoilt = X.copy()
    spoilt[7, 2] = math.nan
    cases: list[tuple[Any, Any]] = [
        (spoilt, y),
        (X, np.where(np.arange(20) == 3, math.inf, y)),
        (X, y[:-1]),
        (np.ones((20, 5)), y),
    ]
    for rows, labels in cases:
        with pytest.raises(ValueError) as error:
            learner.learn(rows, labels)
        assert "\n" not in str(error.value)
        assert [one.rounds for one in learner.learners] == [20, 20]
        assert np.array_equal(learner.weights, before[0])
        assert np.array_equal(learner.shares, before[1])
        assert learner.certificate().as_dict() == before[2]


@pytest.mark.parametrize("nested", [False, True])
def test_a_width_that_one_learner_refuses_leaves_all_as_they_were(nested: bool) -> None:
    X, y = stream(13, rounds=20)
    kernel = KernelDescent(kernels.Gaussian(1.0), radius=3.0, eta=0.2, budget=20)
    last: Any = Aggregate([descent(0.05), kernel]) if nested else kernel
    free = descent(0.1)
    learner = Aggregate([free, last])
    learner.learn(csr_array(X), y)
    before = [free.weights, learner.shares, str(learner.certificate()), kernel.predict(X)]
    with pytest.raises(ValueError, match="X has 5 columns, the learner knows 4"):
        learner.learn(csr_array(np.ones((3, 5))), np.ones(3))
    after = [free.weights, learner.shares, str(learner.certificate()), kernel.predict(X)]
    assert all(np.array_equal(a, b) for a, b in zip(before, after, strict=True))
    assert free.rounds == 20
    learner.learn(csr_array(X), y)
    assert learner.rounds == 40 == free.rounds


def test_both_books_keep_the_same_rounds(monkeypatch: pytest.MonkeyPatch) -> None:
    X, y = stream(14, rounds=30)
    learner = Aggregate([descent(0.1), descent(0.01)])
    learner.learn(X, y)
    before = learner.certificate().as_dict()["members"]

    def refuse(*_: Any) -> None:
        raise ValueError("predictions row 0: the loss at 1 overflows")

    monkeypatch.setattr(learner._book, "add", refuse)
    with pytest.raises(OverflowError, match="the losses of the learners overflow"):
        learner.learn(X, y)
    assert learner.certificate().as_dict()["members"] == before
    assert learner.certificate().rounds == learner.rounds == 30


def test_a_learner_that_could_not_be_loaded_is_not_saved(tmp_path: Path) -> None:
    class Stranger:
        loss = SQUARED
        learn = predict = save = None

    with pytest.raises(ValueError, match="learner 1, a Stranger, could not be loaded"):
        Aggregate([descent(0.1), Stranger()]).save(tmp_path / "a.nr")
    assert not (tmp_path / "a.nr").exists()


def test_a_learner_that_diverges_leaves_the_rounds_before(tmp_path: Path) -> None:
    X = np.full((400, 1), 10.0)
    learner = Aggregate([descent(0.001), descent(1.0)])
    with pytest.raises(OverflowError, match="overflow"):
        learner.learn(X, np.ones(400))
    played = learner.rounds
    assert 0 < played < 400
    assert [one.rounds for one in learner.learners] == [played, played]
    with pytest.raises(OverflowError, match="overflow"):
        learner.learn(X[:1], [1.0])
    assert learner.certificate().rounds == played
    learner.save(tmp_path / "a.nr")
    assert nr.load(tmp_path / "a.nr").rounds == played


class Stranger:
    """A learner that cannot be taken back."""

    loss = SQUARED

    def __init__(self) -> None:
        self.rows = 0

    def learn(self, X: Any, y: Any, weight: Any = None) -> np.ndarray:
        self.rows += len(X)
        return np.zeros(len(X))

    def predict(self, X: Any) -> np.ndarray:
        return np.zeros(len(X))

    def save(self, path: Any) -> None: ...


def test_a_stranger_that_was_ahead_ends_the_aggregate() -> None:
    X = np.full((400, 1), 10.0)
    learner = Aggregate([Stranger(), descent(1.0)])
    for _ in range(2):
        with pytest.raises(OverflowError, match="learner 1 cannot go on"):
            learner.learn(X, np.ones(400))
    with pytest.raises(OverflowError, match="learner 1 cannot go on"):
        learner.save("nowhere.nr")


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Aggregate([]), "an aggregate needs a learner or more, got none"),
        (lambda: Aggregate([3]), "learner 0 is int, expected a learner"),
        (lambda: Aggregate(2 * [descent(0.1)]), "the same learner is given twice"),
        (
            lambda: Aggregate([descent(0.1), descent(0.1, nr.losses.Hinge())]),
            "all losses must take the same labels",
        ),
    ],
)
def test_what_is_no_aggregate(make: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        make()

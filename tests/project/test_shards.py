"""Pieces for threads, and what all cores do: the same bits as one, the same complaints."""

from __future__ import annotations

import threading
import time
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

import noregret as nr
from noregret import shards
from noregret.passes.sync import products
from noregret.rows.examples import as_rows
from noregret.shards import Shards


@pytest.fixture
def three_cores(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shards, "WORTH_SHARING", 1)
    monkeypatch.setattr(shards, "cores", lambda: 3)


def test_pieces_cover_all_in_order() -> None:
    for total in range(12):
        for count in range(1, 6):
            pieces = Shards(count).pieces(total)
            assert [k for begin, end in pieces for k in range(begin, end)] == list(range(total))
            lengths = [end - begin for begin, end in pieces]
            assert len(pieces) == count and max(lengths) - min(lengths) <= 1


def test_an_error_is_raised_when_all_shards_have_ended() -> None:
    begun, ended = threading.Barrier(2), []

    def work(begin: int, end: int) -> None:
        begun.wait(10.0)
        if begin == 0:
            raise OverflowError("shard 0")
        time.sleep(0.2)
        ended.append(begin)

    with pytest.raises(OverflowError, match="shard 0"):
        Shards(2, workers=2).each(4, work)
    assert ended == [2]


def test_only_much_work_is_shared() -> None:
    assert shards.cores() >= 1
    assert Shards.of(shards.WORTH_SHARING - 1, 10**6).count == 1
    assert Shards.of(shards.WORTH_SHARING, 10**6).count == shards.cores()
    assert Shards.of(shards.WORTH_SHARING, 1).count == 1


@pytest.mark.parametrize("layout", [np.asarray, sp.csr_array])
def test_predictions_by_all_cores_are_those_of_one(layout: Any, three_cores: None) -> None:
    random = np.random.default_rng(0)
    X, weights = random.normal(size=(20, 5)), random.normal(size=5)
    rows = as_rows(layout(X))
    expected = np.array([products(weights, rows.part(k, k + 1))[0] for k in range(20)])
    np.testing.assert_array_equal(products(weights, rows), expected)
    assert products(weights, rows.part(0, 0)).shape == (0,)


@pytest.mark.parametrize("layout", [np.asarray, sp.csr_array])
def test_the_first_bad_row_is_named_whichever_thread_finds_it(
    layout: Any, three_cores: None
) -> None:
    X = np.ones((20, 5))
    X[9, 2] = X[18, 1] = np.nan
    learner = nr.MirrorDescent(nr.losses.Hinge(), nr.mirrors.Euclidean(), nr.rates.Constant(0.1))
    learner.learn(np.ones((2, 5)), [1.0, -1.0])
    with pytest.raises(ValueError, match=r"^X row 9:"):
        learner.predict(layout(X))
    X[9, 2] = X[18, 1] = 0.0
    assert learner.predict(layout(X)).shape == (20,)


def test_columns_in_disorder_are_sorted_before_they_are_shared(three_cores: None) -> None:
    X = sp.csr_array(np.random.default_rng(1).normal(size=(12, 4)))
    turned = X.copy()
    for t in range(12):
        part = slice(turned.indptr[t], turned.indptr[t + 1])
        turned.indices[part] = X.indices[part][::-1]
        turned.data[part] = X.data[part][::-1]
    turned.has_sorted_indices = False
    learner = nr.MirrorDescent(nr.losses.Hinge(), nr.mirrors.Euclidean(), nr.rates.Constant(0.1))
    learner.learn(np.ones((2, 4)), [1.0, -1.0])
    np.testing.assert_array_equal(learner.predict(X), learner.predict(turned))


def test_members_learn_side_by_side_what_they_learn_one_by_one(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    random = np.random.default_rng(2)
    X, y = random.normal(size=(60, 3)), np.sign(random.normal(size=60))

    def learnt() -> tuple[np.ndarray, str]:
        aggregate = nr.Aggregate(
            [
                nr.MirrorDescent(nr.losses.Logistic(), nr.mirrors.Euclidean(), rate)
                for rate in (nr.rates.Constant(0.1), nr.rates.Adaptive(1.0), nr.rates.ScaleFree())
            ]
        )
        made = aggregate.learn(X, y)
        with pytest.raises(ValueError, match=r"^X row 1"):
            aggregate.learn([[1.0, 0.0, 0.0], [np.inf, 0.0, 0.0]], [1.0, 1.0])
        return np.append(made, aggregate.predict(X)), str(aggregate.certificate())

    alone, words = learnt()
    monkeypatch.setattr(shards, "WORTH_SHARING", 1)
    monkeypatch.setattr(shards, "cores", lambda: 3)
    together, same = learnt()
    np.testing.assert_array_equal(alone, together)
    assert words == same


def test_a_member_that_diverges_in_its_thread_undoes_all(three_cores: None) -> None:
    members = [
        nr.MirrorDescent(nr.losses.Squared(), nr.mirrors.Euclidean(), nr.rates.Constant(eta))
        for eta in (1e-9, 1e40)
    ]
    aggregate = nr.Aggregate(members)
    with pytest.raises(OverflowError):
        aggregate.learn(1e30 * np.ones((9, 1)), np.ones(9))
    assert members[0].rounds == members[1].rounds == aggregate.certificate().rounds < 9


def test_learners_are_compared_side_by_side_as_one_by_one(monkeypatch: pytest.MonkeyPatch) -> None:
    random = np.random.default_rng(3)
    X, y = random.normal(size=(80, 3)), np.sign(random.normal(size=80))

    def compared(rates: dict[str, Any]) -> str:
        learners = {
            name: nr.MirrorDescent(nr.losses.Logistic(), nr.mirrors.Euclidean(), rate)
            for name, rate in rates.items()
        }
        # One that diverges is left behind, the others go on.
        diverging = nr.MirrorDescent(
            nr.losses.Squared(), nr.mirrors.Euclidean(), nr.rates.Constant(1e50)
        )
        return str(nr.evaluate.compare(learners | {"diverging": diverging}, X, y))

    rates = {"slow": nr.rates.Constant(0.01), "fast": nr.rates.Constant(1.0)}
    alone = compared(rates)
    monkeypatch.setattr(shards, "WORTH_SHARING", 1)
    monkeypatch.setattr(shards, "cores", lambda: 3)
    assert compared(rates) == alone and "diverging" in alone
    twice = nr.MirrorDescent(nr.losses.Logistic(), nr.mirrors.Euclidean(), nr.rates.Constant(0.1))
    nr.evaluate.compare({"a": twice, "b": twice}, X, y)
    assert twice.rounds == 160


def test_learners_that_cannot_be_undone_learn_one_after_the_other(three_cores: None) -> None:
    """A stranger's learner must not have learnt rows that one before it refuses."""
    seen: list[int] = []

    class Stranger:
        loss, dimension = nr.losses.Squared(), 1

        def __init__(self, refuses: bool) -> None:
            self.refuses = refuses

        def learn(self, X: Any, y: Any) -> Any:
            if self.refuses:
                raise ValueError("no")
            seen.append(len(y))
            return np.zeros(len(y))

        def predict(self, X: Any) -> Any:
            return np.zeros(len(as_rows(X)))

        def save(self, path: Any) -> None:
            raise NotImplementedError

    with pytest.raises(ValueError, match=r"^no$"):
        nr.Aggregate([Stranger(True), Stranger(False)]).learn([[1.0], [2.0]], [1.0, 2.0])
    assert not seen

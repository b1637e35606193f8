"""Marks: what a learner learnt is undone to the bit, with or without a copy of it."""

from __future__ import annotations

import copy
from typing import Any

import numpy as np
import pytest
from scipy.sparse import csr_array

import noregret as nr
from noregret.experts.membership import nested
from noregret.learners import marks
from noregret.learners.marks import features_of, learn_or_undo, marked, saved, saved_records
from noregret.rows.examples import as_rows
from tests.learners.test_refused_rows import LEARNERS, X, labels_of, started

LOGISTIC, EUCLIDEAN = nr.losses.Logistic(), nr.mirrors.Euclidean()


def own_mark(learner: Any, rows: Any) -> Any:
    """Return what puts a learner back without a copy of it, or None."""
    found = getattr(learner, "_mark", None)
    return None if found is None else found(rows)


def bits(learner: Any) -> list[Any]:
    header, arrays = learner._to_file()
    return [header, *((name, array.tobytes()) for name, array in arrays.items())]


def forbidden(*_: Any) -> Any:
    raise AssertionError("a learner was copied")


@pytest.mark.parametrize("form", [np.asarray, csr_array], ids=["dense", "sparse"])
@pytest.mark.parametrize("name", LEARNERS)
def test_what_was_learnt_is_undone_to_the_bit(
    name: str, form: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    learner, y = started(name)
    control = copy.deepcopy(learner)
    rows = as_rows(form(X[6:9]))
    before = bits(learner)
    ahead = learner.predict(form(X))
    # Row by row as well: bound passes must see what was undone.
    for length in (3, 1, 3):
        with monkeypatch.context() as patch:
            # Learners of several scores are copied, wherever they are members.
            scores = any(isinstance(one, nr.MatrixDescent) for one in nested(learner))
            if own_mark(learner, rows) is not None and not scores:
                patch.setattr(marks.copy, "deepcopy", forbidden)
            undo = marked(learner, rows)
        for t in range(6, 9, length):
            learner.learn(form(X[t : t + length]), y[t : t + length])
        learner.predict(form(X))
        assert bits(learner) != before
        undo()
        assert bits(learner) == before
        assert np.array_equal(learner.predict(form(X)), ahead)
    assert np.array_equal(learner.predict(form(X)), control.predict(form(X)))
    again, apart = learner.learn(form(X[6:]), y[6:]), control.learn(form(X[6:]), y[6:])
    assert np.array_equal(again, apart) and bits(learner) == bits(control)


def test_most_learners_are_put_back_without_a_copy() -> None:
    without = []
    for name in LEARNERS:
        learner, _ = started(name)
        if own_mark(learner, as_rows(X[6:9])) is not None:
            without.append(name)
    assert {"aioli", "aggregate", "aggregate, probabilities", "dual, window"} <= set(without)
    assert len(without) >= 0.6 * len(LEARNERS) and "kernel" not in without


def test_new_features_blocks_restarts_and_first_rows_need_a_copy() -> None:
    def descent(rate: Any = None, **settings: Any) -> nr.MirrorDescent:
        return nr.MirrorDescent(LOGISTIC, EUCLIDEAN, rate or nr.rates.Constant(0.1), **settings)

    y = np.array([1.0, -1.0, 1.0])
    narrow, wide = as_rows(csr_array(X[:3])), as_rows(csr_array(np.ones((3, 5))))
    for make in (
        lambda: descent(),
        lambda: descent(blocks=True),
        lambda: descent(nr.rates.Doubling(0.5)),
        lambda: nr.DualAscent(LOGISTIC, EUCLIDEAN, blocks=True),
        lambda: nr.Aggregate([descent()], blocks=True),
    ):
        learner = make()
        assert learner._mark(narrow) is None or isinstance(learner, nr.Aggregate)
        for rows in (narrow, wide, narrow):
            undo, before = marked(learner, rows), bits(learner)
            learner.learn(rows, y)
            undo()
            assert bits(learner) == before
            learner.learn(rows, y)
    plain = descent()
    plain.learn(narrow, y)
    assert plain._mark(narrow) is not None and plain._mark(wide) is None
    blocks = nr.Aggregate([descent()], blocks=True)
    blocks.learn(narrow, y)
    assert blocks._mark(narrow) is None


def test_few_records_are_saved_one_by_one() -> None:
    wide = csr_array(([1.0, 2.0, 3.0], ([0, 1, 1], [7, 2, 30])), shape=(3, 40))
    assert features_of(as_rows(wide), 40).tolist() == [7, 2, 30]  # type: ignore[union-attr]
    assert features_of(as_rows(wide).part(1, 2), 40).tolist() == [2, 30]  # type: ignore[union-attr]
    assert features_of(as_rows(wide), 11) is None
    assert features_of(as_rows(wide.toarray()), 4000) is None
    state = np.arange(12.0).reshape(4, 3)
    undo, whole = saved_records(state, np.array([2, 0, 2], np.uint32)), saved([state])
    before = state.copy()
    state[0], state[2] = -1.0, -2.0
    undo()
    assert np.array_equal(state, before)
    state[1] = -3.0
    undo()
    assert not np.array_equal(state, before)
    whole()
    assert np.array_equal(state, before)


@pytest.mark.parametrize("rate", [nr.rates.ScaleFree(), nr.rates.CoinBetting(), nr.rates.Adaptive(),
                                  nr.rates.Constant(0.3), nr.rates.PerCoordinate(0.5)])  # fmt: skip
@pytest.mark.parametrize("averaging", [False, True])
def test_wide_rows_are_undone_to_the_bit(rate: Any, averaging: bool) -> None:
    random = np.random.default_rng(0)
    wide = csr_array(np.where(random.random((60, 400)) < 0.02, random.normal(size=(60, 400)), 0.0))
    y = random.choice([-1.0, 1.0], 60)
    learner = nr.MirrorDescent(LOGISTIC, EUCLIDEAN, rate, averaging=averaging)
    learner.learn(wide[:20], y[:20])
    for start in range(20, 60, 4):
        rows = as_rows(wide[start : start + 4])
        undo, before = marked(learner, rows), bits(learner)
        learner.learn(rows, y[start : start + 4])
        undo()
        assert bits(learner) == before
        learner.learn(rows, y[start : start + 4])


def test_the_rows_before_a_refusal_are_kept() -> None:
    log: list[Any] = []

    def play(start: int, stop: int) -> None:
        log.append((start, stop))
        if stop > 5:
            raise OverflowError("row 5")

    with pytest.raises(OverflowError, match="row 5"):
        learn_or_undo(lambda a, b: lambda: log.append(("undo", a, b)), 0, 8, play)
    assert log == [
        (0, 8), ("undo", 0, 8), (0, 4), (4, 8), ("undo", 4, 8), (4, 6), ("undo", 4, 6), (4, 5),
        (5, 6), ("undo", 5, 6),
    ]  # fmt: skip

    def refuse(start: int, stop: int) -> None:
        raise ValueError("no")

    log.clear()
    with pytest.raises(ValueError, match="no"):
        learn_or_undo(lambda a, b: lambda: log.append(("undo", a, b)), 0, 8, refuse)
    assert log == [("undo", 0, 8)]


def test_single_rows_of_an_aggregate_make_no_copy(monkeypatch: pytest.MonkeyPatch) -> None:
    def made() -> nr.Aggregate:
        rates: list[Any] = [nr.rates.ScaleFree(), nr.rates.Aioli(), nr.rates.Newton()]
        parts = [nr.MirrorDescent(LOGISTIC, EUCLIDEAN, rate) for rate in rates]
        inner = nr.Aggregate([nr.DualAscent(LOGISTIC, EUCLIDEAN), nr.catalogue.kalman()])
        stack = nr.catalogue.ogd(LOGISTIC, 0.1)
        return nr.Aggregate([*parts, inner], mixing="probabilities", stack=stack)

    y = labels_of(made(), len(X))
    whole, single = made(), made()
    whole.learn(X[:4], y[:4])
    single.learn(X[:4], y[:4])
    whole.learn(X[4:], y[4:])
    with monkeypatch.context() as patch:
        patch.setattr(marks.copy, "deepcopy", forbidden)
        for t in range(4, len(X)):
            single.learn(X[t : t + 1], y[t : t + 1])
    assert bits(single) == bits(whole)


def test_averages_that_are_settled_are_undone_for_all_features() -> None:
    """A row that lowers the rate by far settles the averages of features that it does not have."""
    rows = np.zeros((40, 200))
    random = np.random.default_rng(1)
    for t in range(40):
        rows[t, random.integers(0, 200, 3)] = 1e-5 if t < 30 else 1e5
    y = random.choice([-1.0, 1.0], 40)
    learner = nr.MirrorDescent(LOGISTIC, EUCLIDEAN, nr.rates.Adaptive(1.0))
    learner.learn(csr_array(rows[:30]), y[:30])
    before, settled = bits(learner), learner._engine.state.copy()
    heavy = as_rows(csr_array(rows[30:31]))
    undo = marked(learner, heavy)
    learner.learn(heavy, y[30:31])
    others = rows[30] == 0.0
    assert not np.array_equal(learner._engine.state[others], settled[others])
    undo()
    assert bits(learner) == before


def test_room_for_more_rows_is_taken_back() -> None:
    random = np.random.default_rng(2)
    rows, y = random.normal(size=(60, 8)), random.choice([-1.0, 1.0], 60)
    learner = nr.DualAscent(nr.losses.Hinge(), EUCLIDEAN, 0.5, update="leader")
    learner.learn(rows[:10], y[:10])
    control = copy.deepcopy(learner)
    undo, before, room = marked(learner, as_rows(rows[10:])), bits(learner), learner._engine.values
    learner.learn(rows[10:], y[10:])
    assert len(learner._engine.values) > len(room)
    undo()
    assert learner._engine.values is room and bits(learner) == before
    assert np.array_equal(learner.learn(rows[10:], y[10:]), control.learn(rows[10:], y[10:]))
    assert bits(learner) == bits(control)


def test_a_mixture_forgets_how_wide_rows_were_that_are_undone() -> None:
    random = np.random.default_rng(3)
    rows, y = random.normal(size=(8, 3)), random.choice([-1.0, 1.0], 8)
    wide = csr_array(([1.0], ([0], [600])), shape=(1, 700))
    learner = nr.experts.Mixture(LOGISTIC)
    undo = marked(learner, as_rows(rows))
    learner.learn(csr_array(rows), y)
    undo()
    assert learner.rounds == 0 and learner.wide is None
    learner.learn(csr_array(rows), y)
    learner.learn(csr_array((1, 700)), y[:1])
    undo, before = marked(learner, as_rows(wide)), bits(learner)
    learner.learn(wide, y[:1])
    assert learner.outgrown
    undo()
    assert not learner.outgrown and bits(learner) == before

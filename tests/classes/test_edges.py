"""What must not become false at the edges: searches given up, tampering, sizes, rounding."""

from __future__ import annotations

import math
import tracemalloc
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import noregret as nr
from noregret import classes


def test_a_search_given_up_leaves_the_agnostic_learner_as_it_was() -> None:
    table = np.random.default_rng(51).integers(0, 2, (60, 12))
    dry = classes.Agnostic(table, horizon=20)
    dry.learn(0, 1)
    dry.predict(0)
    learner = classes.Agnostic(classes.Littlestone(table, dry.dimension.states + 1), horizon=20)
    learner.learn(0, 1)
    before, p = learner.certificate(), learner.predict(0)
    # The first of these rounds needs no search.
    with pytest.raises(classes.SearchLimit):
        learner.learn(np.arange(12), np.zeros(12, dtype=int))
    assert learner.certificate() == before and learner.predict(0) == p


def test_a_search_given_up_leaves_an_expert_as_it_was() -> None:
    table = np.random.default_rng(52).integers(0, 2, (60, 12))
    expert = classes.Expert(classes.Littlestone(table, 1), [1])
    with pytest.raises(classes.SearchLimit):
        expert.next(0)
    expert.dimension.limit = 10**6
    fresh = classes.Expert(table, [1])
    assert [expert.next(x) for x in range(12)] == [fresh.next(x) for x in range(12)]


def test_the_worst_case_of_a_large_class_is_given_up_in_one_line() -> None:
    with pytest.raises(classes.SearchLimit, match="gave up after 1,000 version spaces"):
        classes.worst_mistakes(classes.Consistent(classes.singletons(1500)), limit=1000)
    assert classes.worst_mistakes(classes.Consistent(classes.thresholds(40)), limit=10**5) == 40


def test_what_is_returned_is_not_the_state() -> None:
    ranking = classes.Ranking(3, eta=0.5)
    ranking.learn([1, 1])
    before = ranking.certificate()
    ranking.counts[:] = 7
    assert ranking.certificate() == before
    elimination = classes.Elimination(3, 1)
    elimination.learn([1, 0, 0], 1)
    elimination.candidates[:] = False
    assert elimination.predict([1, 0, 0]) == 1


def test_arrays_given_may_change_afterwards() -> None:
    table = np.array([[0, 0], [0, 1], [1, 1]], dtype=np.uint8)
    h = classes.FiniteClass(table)
    table[:] = 0
    assert h.table.tolist() == [[0, 0], [0, 1], [1, 1]]
    with pytest.raises(ValueError, match="read-only"):
        h.table[0, 0] = 1
    for odd in (np.asfortranarray(h.table), h.table[::-1][::-1], h.table.astype(np.float32)):
        assert classes.FiniteClass(odd).columns == h.columns


@pytest.mark.parametrize(
    "make",
    [
        classes.Consistent,
        classes.Halving,
        classes.SOA,
        lambda h: classes.Agnostic(h, 5),
    ],
)
def test_a_file_remembers_the_rows_and_the_limit(make: Callable[..., Any], tmp_path: Path) -> None:
    dimension = classes.Littlestone([[0, 1], [0, 1], [1, 1], [0, 0]], limit=77)
    learner = make(
        dimension if make not in (classes.Consistent, classes.Halving) else dimension.hypotheses
    )
    learner.save(tmp_path / "model.nr")
    again = nr.load(tmp_path / "model.nr")
    assert again.hypotheses.origin == learner.hypotheses.origin == (0, 2, 3)
    if hasattr(learner, "dimension"):
        assert again.dimension.limit == 77


@pytest.mark.parametrize("eta", [5e-324, 1e-300, 1e-9, 1.0, 1e9, 1e99])
def test_rankings_at_any_rate(eta: float) -> None:
    learner = classes.Ranking(3, eta=eta)
    positions = learner.learn([0, 0, 0, 2, 2, 1])
    assert np.isfinite(positions).all() and positions[0] == pytest.approx(2.0)
    certificate = learner.certificate()
    assert all(certificate.regret <= bound.value for bound in certificate.bounds)
    assert learner.positions().sum(axis=1) == pytest.approx(np.ones(3))


@pytest.mark.parametrize("eta", [5e-324, 0.5, 1e99])
def test_a_single_item_with_a_rate(eta: float) -> None:
    learner = classes.Ranking(1, eta=eta)
    assert learner.learn([0, 0]).tolist() == [1.0, 1.0]
    certificate = learner.certificate()
    assert certificate.regret == 0.0 == certificate.bounds[0].value == certificate.bounds[1].value


@pytest.mark.parametrize("eta", [np.float32(0.5), np.float64(0.5), Fraction(1, 2)])
def test_rates_of_any_real_type(eta: Any) -> None:
    assert classes.Ranking(3, eta=eta).eta == 0.5
    assert classes.Agnostic([[0], [1]], flip=eta / 2, eta=eta).eta == 0.5


@pytest.mark.parametrize(
    ("act", "words"),
    [
        (lambda: classes.Elimination(2, 1).predict([[0, 1], [1, 0]]), "one point"),
        (lambda: classes.Elimination(2, 1).predict(np.zeros((0, 2))), "one point"),
        (lambda: classes.dyadic_tree(60), "too large"),
        (lambda: classes.tree_of_set(range(60)), "too large"),
        (lambda: classes.disjunctions(60, 20, 2), "too many"),
        (lambda: classes.Ranking(3, eta=1e308), "eta must be a number between"),
        (lambda: classes.Ranking(3, 10**400), "horizon must be a whole number"),
        (lambda: classes.Agnostic([[0], [1]], 10**400), "horizon must be a whole number"),
        (lambda: classes.Agnostic([[0], [1]], 5, eta=10**400), "eta must be a number between"),
        (lambda: classes.Ranking(3, 5).learn(np.full(10**4, 3)), r"clicks\[0\] .*got 3$"),
        (lambda: classes.Halving([[0], [1]]).predict(np.zeros((40, 40))), "x must be a point"),
        (lambda: classes.ShatteredTree((-1,)).is_shattered_by([[0], [1]]), "instance -1"),
        (lambda: classes.ShatteredTree((4,)).witnesses(classes.thresholds(2)), "instance 4"),
        (lambda: classes.ShatteredTree((0, 1, 2)).instance([2]), "must be a label"),
        (lambda: classes.Majority().learn(0, 3), "must be a label"),
        (lambda: classes.Hedged(3).learn(0, 0.5), "must be a label"),
        (lambda: classes.Contrarian().answer(math.nan), r"lie in \[0, 1\]"),
        (lambda: classes.Littlestone([[0], [1]]).at_least(3, 0.5), "depth must be a whole"),
    ],
)
def test_refused_in_one_short_line(act: Callable[[], Any], words: str) -> None:
    with pytest.raises(ValueError, match=words) as error:
        act()
    assert "\n" not in str(error.value) and len(str(error.value)) < 200


def test_no_labels_are_whole_numbers() -> None:
    assert classes.Elimination(2, 1).learn(np.zeros((0, 2)), []).dtype == np.int64
    assert classes.Halving([[0], [1]]).learn([], []).dtype == np.int64
    assert classes.Agnostic([[0], [1]], 5).learn([], []).dtype == np.float64


def test_the_promise_of_an_elimination_travels_with_its_bounds() -> None:
    certificate = classes.Elimination(3, 2).certificate()
    assert certificate.as_dict()["assumption"] == certificate.assumption


@pytest.mark.parametrize("rounds", [1, 2, 3, 7, 25, 100, 1001])
def test_the_regret_forced_is_rounded_down(rounds: int) -> None:
    opponent = classes.RandomLabels(classes.dyadic_tree(1), rounds)
    exact = Fraction(rounds * math.comb(rounds - 1, (rounds - 1) // 2), 1 << rounds)
    assert (
        Fraction(opponent.forced_regret) <= exact <= Fraction(opponent.forced_regret * (1 + 1e-14))
    )
    blocks = classes.RandomLabels(classes.dyadic_tree(3), 3 * rounds)
    assert Fraction(blocks.forced_regret) <= 3 * exact
    assert blocks.forced_regret == pytest.approx(float(3 * exact), rel=1e-14)


@pytest.mark.parametrize("steps", [20_001, 20_002, 60_000])
def test_long_walks_are_rounded_down_as_well(steps: int) -> None:
    exact = Fraction(steps * math.comb(steps - 1, (steps - 1) // 2), 1 << (steps - 1))
    found = Fraction(classes.mean_distance(steps))
    assert found <= exact <= found * (1 + Fraction(1, 10**14))


def test_walks_of_any_length_are_quick() -> None:
    assert classes.mean_distance(10**15) == pytest.approx(math.sqrt(2e15 / math.pi), rel=1e-14)


def test_a_tree_takes_no_more_memory_than_its_nodes() -> None:
    dimension = classes.Littlestone(classes.all_functions(12))
    dimension.tree()  # what the search remembers is there
    tracemalloc.start()
    tree = dimension.tree()
    _, most = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert tree.depth == 12 and most < 500_000

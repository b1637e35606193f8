"""Littlestone and VC dimension: worked classes, brute force, trees that are checked."""

from __future__ import annotations

import itertools
import math
import time

import numpy as np
import pytest

from noregret import classes
from noregret.classes import vc as vc_module
from tests.classes import reference
from tests.sizes import sized

CLASSES = sized(120, 500)


def rows_of(table: np.ndarray) -> list[tuple[int, ...]]:
    return [tuple(row) for row in table.tolist()]


@pytest.mark.parametrize(
    ("points", "dimension"), [(1, 1), (2, 1), (3, 2), (6, 2), (7, 3), (14, 3), (15, 4)]
)
def test_thresholds(points: int, dimension: int) -> None:
    h = classes.thresholds(points)
    assert classes.littlestone_dimension(h) == dimension == int(math.log2(points + 1))
    assert classes.vc_dimension(h) == 1


@pytest.mark.parametrize(
    ("points", "size", "dimension"), [(3, 7, 2), (4, 11, 3), (5, 16, 3), (6, 22, 4), (7, 29, 4)]
)
def test_intervals(points: int, size: int, dimension: int) -> None:
    h = classes.intervals(points)
    assert (h.size, classes.littlestone_dimension(h)) == (size, dimension)
    assert classes.vc_dimension(h) == 2


@pytest.mark.parametrize("n", [1, 2, 3, 4])
def test_parities_all_functions_and_singletons(n: int) -> None:
    for h in (classes.parities(n), classes.all_functions(n)):
        assert classes.littlestone_dimension(h) == classes.vc_dimension(h) == n
    assert classes.littlestone_dimension(classes.singletons(n)) == min(1, n - 1)


def test_the_class_of_figure_3_1() -> None:
    # the rows of the figure on v_1, v_2, v_3, unknown entries set to 0
    h = [[0, 0, 0], [0, 1, 0], [1, 0, 0], [1, 0, 1]]
    assert classes.littlestone_dimension(h) == 2
    assert classes.vc_dimension(h) == 1


def test_disjunctions_have_at_most_rk_and_real_weights_do_not() -> None:
    for d, k, r in itertools.product((3, 4, 5), (1, 2, 3), (1, 2)):
        assert classes.littlestone_dimension(classes.disjunctions(d, k, r)) <= r * k
    weights = (-1.0, -0.4, 0.0, 0.2, 0.3, 0.6, 1.5)
    points = [p for r in (1, 2) for p in itertools.combinations(range(5), r)]
    rows = set()
    for support in itertools.combinations(range(5), 3):
        for values in itertools.product(weights, repeat=3):
            w = dict(zip(support, values, strict=True))
            rows.add(tuple(int(sum(w.get(i, 0.0) for i in p) > 0.5) for p in points))
    assert len(rows) == 216
    h = classes.FiniteClass(sorted(rows))
    tree = classes.Littlestone(h).tree()
    assert tree.depth == 7 > 2 * 3
    assert None not in tree.witnesses(h) and len(set(tree.witnesses(h))) == 128


def test_the_dyadic_tree_is_shattered_below_and_not_above_the_threshold() -> None:
    tree = classes.dyadic_tree(10)
    below = classes.thresholds(1023)
    assert tree.depth == 10 and tree.witnesses(below) == tuple(range(1024))
    missing = []
    for depth in range(1, 7):
        n = (1 << depth) - 1
        above = classes.FiniteClass(1 - classes.thresholds(n).table)
        missing.append(classes.dyadic_tree(depth).witnesses(above).count(None))
    assert missing == [0, 2, 6, 14, 30, 62]


def test_random_classes_against_brute_force() -> None:
    rng = np.random.default_rng(1)
    trees_tried = 0
    for _ in range(CLASSES):
        table = reference.random_table(rng)
        rows = rows_of(table)
        dimension = classes.Littlestone(table)
        found = dimension()
        assert found == reference.littlestone(rows)
        if len(rows[0]) <= 3:
            trees_tried += 1
            assert found == reference.deepest_tree(rows)
        assert dimension.tree().depth == found
        assert dimension.tree().is_shattered_by(dimension.hypotheses)
        shattered = classes.largest_shattered_set(table)
        assert len(shattered) == reference.vc(rows)
        assert classes.tree_of_set(shattered).is_shattered_by(dimension.hypotheses)
        assert len(shattered) <= found <= math.log2(len(set(rows)))
        for d in range(-1, 6):
            assert dimension.at_least(dimension.hypotheses.everything, d) == (d <= found)
    assert trees_tried > CLASSES // 5


def test_every_version_space_of_a_class_against_brute_force() -> None:
    rng = np.random.default_rng(2)
    for _ in range(10):
        table = np.unique(reference.random_table(rng, 8, 5), axis=0)
        dimension = classes.Littlestone(table)
        spaces = rng.permutation(1 << len(table)).tolist()
        for space in spaces:
            rows = rows_of(table[dimension.hypotheses.members(space)])
            assert dimension(space) == reference.littlestone(rows)


@pytest.mark.parametrize("tail", [1, 2, 3, 5, 6])
def test_vc_sets_do_not_depend_on_how_many_points_are_tried_together(
    tail: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(vc_module, "_TAIL", tail)
    rng = np.random.default_rng(3)
    for _ in range(sized(15, 60)):
        table = rng.integers(0, 2, (int(rng.integers(8, 80)), 7)).astype(np.uint8)
        assert classes.vc_dimension(table) == reference.vc(rows_of(table))


def test_half_planes_are_all_divisions_by_a_line() -> None:
    rng = np.random.default_rng(4)
    general = rng.integers(-1000, 1000, (9, 2))
    h = classes.half_planes(general)
    assert h.size == 9 * 8 + 2
    assert classes.vc_dimension(h) == 3
    on_a_line = np.array([[0, 0], [1, 1], [2, 2], [3, 3], [3, 0]])
    # whatever a random line says is among them, and nothing else turns up
    expected = set()
    for _ in range(20_000):
        w, b = rng.normal(size=2), rng.normal() * 3
        expected.add(tuple((on_a_line @ w > b).astype(int).tolist()))
    assert {tuple(row) for row in classes.half_planes(on_a_line).table.tolist()} == expected


def test_thousands_of_hypotheses_on_tens_of_points() -> None:
    """Each takes a fraction of a second; two minutes of its own time would be a hang."""
    rng = np.random.default_rng(5)
    before = time.process_time()
    expected = [
        (classes.intervals(62), 10),
        (classes.thresholds(1000), 9),
        (classes.half_planes(rng.integers(0, 10**6, (45, 2))), 10),
        (classes.FiniteClass(rng.integers(0, 2, (4096, 30))), 11),
    ]
    for h, dimension in expected:
        search = classes.Littlestone(h)
        assert search() == dimension
        assert search.tree().is_shattered_by(h)
        assert search.states < 20_000
    assert time.process_time() - before < 120.0


def test_a_search_that_is_too_large_is_given_up_in_one_line() -> None:
    rng = np.random.default_rng(6)
    table = rng.integers(0, 2, (200, 12))
    search = classes.Littlestone(table, limit=5)
    with pytest.raises(classes.SearchLimit, match=r"gave up after \d+ version spaces"):
        search()
    assert classes.Littlestone(table)() == 7
    with pytest.raises(classes.SearchLimit, match="the VC dimension is at least 6"):
        classes.vc_dimension(table, limit=300)


@pytest.mark.parametrize(
    ("size", "dimension", "sets"),
    [(1000, 8, 12_000_000), pytest.param(2000, 9, 40_000_000, marks=pytest.mark.soak)],
)
def test_vc_of_random_classes_takes_seconds(size: int, dimension: int, sets: int) -> None:
    """All sets of nine or ten points are 270 and 850 million."""
    table = np.random.default_rng(0).integers(0, 2, (size, 40))
    assert classes.vc_dimension(table, limit=sets) == dimension


def test_trees_print_and_refuse() -> None:
    tree = classes.ShatteredTree((1, 0, 2))
    assert str(tree).splitlines()[:3] == ["x=1", "  0: x=0", "    0: leaf"]
    assert tree.instance([]) == 1 and tree.instance([1]) == 2
    assert not tree.is_shattered_by(classes.singletons(3))
    with pytest.raises(ValueError, match="2\\^depth - 1 nodes, got 2"):
        classes.ShatteredTree((1, 0))
    with pytest.raises(ValueError, match="lead out of a tree"):
        tree.instance([0, 1])
    with pytest.raises(ValueError, match="empty version space"):
        classes.Littlestone([[0, 1]]).tree(0)


def test_points_with_one_label_almost_everywhere_are_dropped_at_once() -> None:
    """Two points need two hypotheses of either label: here one hypothesis alone says 0."""
    table = 1 - np.eye(30, dtype=np.int64)
    # 30 sets of one point are tried for dimension 1 and, all dropped, 30 for dimension 2.
    assert classes.vc_dimension(table, limit=60) == 1
    assert classes.vc_dimension(1 - table, limit=60) == 1

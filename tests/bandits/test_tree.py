"""The sum tree: the sampling contract, its sums, and arms without a chance."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from noregret.bandits.exp3 import find, new_tree, set_leaf, sum_up


def planted(weights: np.ndarray) -> np.ndarray:
    tree = new_tree(len(weights))
    tree[len(tree) // 2 :][: len(weights)] = weights
    sum_up(tree)
    return tree


def test_the_survey_s_sampling_contract() -> None:
    """Inverse distribution function in index order; expected cost of (1, 0, 0.5) is 0.35."""
    w = np.array([0.2, 0.5, 0.3])
    assert [find(planted(w), u) for u in (0.1, 0.2, 0.69, 0.7)] == [0, 1, 1, 2]
    assert w @ [1.0, 0.0, 0.5] == pytest.approx(0.35, rel=1e-12)


@pytest.mark.parametrize("size", [1, 2, 3, 7, 8, 9, 100, 1000])
def test_draws_are_those_of_the_cumulative_sum(size: int) -> None:
    rng = np.random.default_rng(size)
    w = rng.integers(0, 8, size).astype(float)
    w[rng.integers(size)] = 5.0
    tree, draws = planted(w), rng.random(500)
    # Whole numbers are added exactly, so that both must agree at every draw.
    expected = np.searchsorted(np.cumsum(w), draws * w.sum(), side="right")
    assert [find(tree, u) for u in draws] == expected.tolist()


def test_setting_leaves_one_by_one_is_summing_all() -> None:
    rng = np.random.default_rng(3)
    w = rng.random(37)
    tree = new_tree(37)
    for i in rng.permutation(37):
        set_leaf(tree, i, w[i])
    assert np.array_equal(tree, planted(w))
    set_leaf(tree, 11, 2.0)
    w[11] = 2.0
    assert np.array_equal(tree, planted(w))


@given(
    st.lists(st.sampled_from([0.0, 1e-300, 1e-20, 0.1, 1 / 3, 1.0, 1e10]), min_size=1, max_size=20),
    st.floats(0.0, 1.0, exclude_max=True),
)
@settings(max_examples=300)
def test_no_draw_leads_to_a_weight_of_zero(weights: list[float], u: float) -> None:
    if not any(weights):
        weights[0] = 1.0
    tree = planted(np.array(weights))
    arm = find(tree, u)
    assert 0 <= arm < len(weights) and weights[arm] > 0.0


def test_ties_of_rounding_stay_within_the_weights() -> None:
    """Both the sum at the root and what is left of the last draw below 1 are rounded up."""
    unit, last = 2.0**-52, float(np.nextafter(1.0, 0.0))
    left, right = 0.25 + 1.5 * unit, 1.0 + 2.0 * unit
    tree = planted(np.array([left, 0.0, right, 0.0]))
    assert last * tree[1] - left == right
    assert find(tree, last) == 2


@pytest.mark.compiled
def test_compiled_and_interpreted_agree() -> None:
    rng = np.random.default_rng(5)
    compiled, interpreted = planted(rng.random(9)), new_tree(9)
    interpreted[16:25] = compiled[16:25]
    sum_up.py_func(interpreted)
    assert np.array_equal(compiled, interpreted)
    set_leaf(compiled, 4, 0.25)
    set_leaf.py_func(interpreted, 4, 0.25)
    assert np.array_equal(compiled, interpreted)
    draws = rng.random(50)
    assert [find(compiled, u) for u in draws] == [find.py_func(interpreted, u) for u in draws]

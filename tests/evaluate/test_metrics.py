"""Metrics in bounded memory against scikit-learn on everything at once."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from noregret.evaluate import Classification, Metrics, Multiclass, Regression
from noregret.evaluate.metrics import score_bins
from tests.sizes import sized

sklearn = pytest.importorskip("sklearn.metrics", reason="scikit-learn is not installed")


def _filled(metrics: Metrics, cuts: list[int], *columns: np.ndarray) -> dict[str, float]:
    for start, stop in zip([0, *cuts], [*cuts, len(columns[0])], strict=True):
        metrics.add(*(column[start:stop] for column in columns))
    return metrics.summary()


@pytest.mark.parametrize("scale", [1e-6, 1.0, 50.0, 1e9])
def test_classification_equals_scikit_learn(scale: float) -> None:
    rng = np.random.default_rng(5)
    y = np.where(rng.random(20_000) < 0.3, 1.0, -1.0)
    scores = scale * (0.7 * y + rng.standard_normal(len(y)))
    weight = rng.exponential(size=len(y))
    found = _filled(Classification(), [1, 777, 8192], y, scores, weight)
    sign = np.where(scores > 0.0, 1.0, -1.0)
    area = sklearn.roc_auc_score(y, scores, sample_weight=weight)
    assert abs(found["auc"] - area) <= found["auc_error"] + 1e-12
    # The bound is honest, and the value much better than the bound.
    assert found["auc_error"] < 1e-3 and abs(found["auc"] - area) < 2e-5
    accuracy = sklearn.accuracy_score(y, sign, sample_weight=weight)
    assert found["accuracy"] == pytest.approx(accuracy, rel=1e-12)
    f1 = sklearn.f1_score(y, sign, sample_weight=weight)
    assert found["f1"] == pytest.approx(f1, rel=1e-12)
    assert found["examples"] == len(y)
    assert found["weight"] == pytest.approx(weight.sum())


@settings(max_examples=sized(25, 100))
@given(
    st.lists(
        st.tuples(
            st.booleans(),
            st.floats(allow_nan=False, allow_infinity=False),
            st.integers(1, 3),
        ),
        min_size=2,
        max_size=60,
    )
)
def test_the_area_lies_where_it_is_said_to_lie(rows: list[tuple[bool, float, int]]) -> None:
    y = np.array([1.0 if positive else -1.0 for positive, _, _ in rows])
    scores = np.array([score for _, score, _ in rows])
    weight = np.array([float(count) for _, _, count in rows])
    found = _filled(Classification(), [1], y, scores, weight)
    if len(set(y)) < 2:
        assert "auc" not in found
        return
    exact = won = 0.0
    for a in range(len(y)):
        for b in range(len(y)):
            if y[a] > 0.0 > y[b]:
                exact += weight[a] * weight[b]
                won += (
                    weight[a]
                    * weight[b]
                    * (1.0 if scores[a] > scores[b] else 0.5 if scores[a] == scores[b] else 0.0)
                )
    assert abs(found["auc"] - won / exact) <= found["auc_error"] + 1e-12


@given(arrays(np.float64, 20, elements=st.floats(allow_nan=False)))
def test_bins_keep_the_order(scores: np.ndarray) -> None:
    order = np.argsort(scores, kind="stable")
    assert np.all(np.diff(score_bins(scores)[order]) >= 0)


def test_a_margin_of_zero_is_a_mistake_whatever_the_label() -> None:
    found = _filled(Classification(), [], np.array([1.0, -1.0]), np.array([0.0, -0.0]))
    assert found["accuracy"] == 0.0 and found["auc"] == 0.5


def test_what_is_not_defined_is_left_out() -> None:
    assert Classification().summary() == {"examples": 0.0, "weight": 0.0}
    assert Regression().summary() == {"examples": 0.0, "weight": 0.0}
    only = _filled(Classification(), [], np.array([-1.0]), np.array([-2.0]))
    assert only == {"examples": 1.0, "weight": 1.0, "accuracy": 1.0, "repeat_error": 1.0}


@pytest.mark.parametrize("offset", [0.0, 1e6])
def test_regression_equals_scikit_learn(offset: float) -> None:
    rng = np.random.default_rng(6)
    y = rng.standard_normal(5000) + offset
    made = y + 0.5 * rng.standard_normal(5000)
    weight = rng.exponential(size=len(y))
    found = _filled(Regression(), [1, 100, 4096], y, made, weight)
    assert found["rmse"] == pytest.approx(
        sklearn.root_mean_squared_error(y, made, sample_weight=weight), rel=1e-9
    )
    assert found["mae"] == pytest.approx(
        sklearn.mean_absolute_error(y, made, sample_weight=weight), rel=1e-9
    )
    assert found["r2"] == pytest.approx(sklearn.r2_score(y, made, sample_weight=weight), abs=1e-9)


@pytest.mark.parametrize("kind", [Classification, Regression])
def test_taking_up_again_equals_going_on(kind: type[Classification] | type[Regression]) -> None:
    rng = np.random.default_rng(7)
    y = np.where(rng.random(500) < 0.5, 1.0, -1.0)
    made = y + rng.standard_normal(500)
    whole, first, second = kind(), kind(), kind()
    whole.add(y[:200], made[:200])
    whole.add(y[200:], made[200:])
    first.add(y[:200], made[:200])
    second.restore(first.arrays())
    second.add(y[200:], made[200:])
    assert second.summary() == whole.summary()


@pytest.mark.parametrize("kind", ["sign", "class"])
def test_repeating_the_label_before_is_measured_whatever_the_cuts(kind: str) -> None:
    rng = np.random.default_rng(2)
    labels = [-1.0, 1.0] if kind == "sign" else [0.0, 1.0, 2.0]
    y, weight = rng.choice(labels, 500), rng.integers(0, 4, 500).astype(np.float64)
    scores = rng.standard_normal(500 if kind == "sign" else (500, 3))

    def fresh() -> Metrics:
        return Classification() if kind == "sign" else Multiclass()

    found = _filled(fresh(), [], y, scores, weight)
    expected = weight[np.append(True, y[1:] != y[:-1])].sum() / weight.sum()
    assert found["repeat_error"] == pytest.approx(expected, rel=1e-12)
    cut = _filled(fresh(), [1, 17, 17, 300], y, scores, weight)
    assert cut["repeat_error"] == found["repeat_error"]
    # A run that goes on counts the first label against the last before the break.
    first, second = fresh(), fresh()
    _filled(first, [], y[:99], scores[:99], weight[:99])
    second.restore(first.arrays())
    assert _filled(second, [], y[99:], scores[99:], weight[99:]) == cut
    # Model files of before have no such count, and nothing is invented for them.
    old = {name: array for name, array in first.arrays().items() if name != "repeats"}
    second.restore(old)
    assert "repeat_error" not in _filled(second, [], y[99:], scores[99:], weight[99:])

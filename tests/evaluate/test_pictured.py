"""What metrics keep for pictures: bounded, cut-free, and right."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import noregret as nr
from noregret.evaluate import Classification, Multiclass, Regression, compare, progressive
from noregret.evaluate.metrics import bin_scores, score_bins
from noregret.evaluate.sample import MOST, Sample
from noregret.evaluate.weighing import Reliability
from noregret.losses import Softmax
from noregret.losses.links import link_of, log_multinomial

sklearn = pytest.importorskip("sklearn", reason="scikit-learn is not installed")


@settings(max_examples=200)
@given(st.floats(allow_nan=False))
def test_the_middle_of_a_bin_lies_in_the_bin(score: float) -> None:
    bins = score_bins(np.array([score]))
    middle = bin_scores(bins)
    assert np.isfinite(middle).all()
    # Infinity in single precision is beyond every number.
    if abs(score) < 3e38:
        assert score_bins(middle) == bins


@pytest.mark.parametrize("weighted", [False, True])
def test_reliability_is_the_calibration_curve_of_scikit_learn(weighted: bool) -> None:
    from sklearn.calibration import calibration_curve

    rng = np.random.default_rng(2)
    margins = 2.0 * rng.standard_normal(20_000)
    y = np.where(rng.random(20_000) < 1.0 / (1.0 + np.exp(-1.3 * margins)), 1.0, -1.0)
    metrics = Classification(probabilities=True)
    weight = np.full(20_000, 2.0) if weighted else None
    metrics.add(y, margins, weight)
    assert metrics.reliability is not None
    probability, share, total = metrics.reliability.table()
    true, predicted = calibration_curve(y > 0.0, 1.0 / (1.0 + np.exp(-margins)), n_bins=10)
    np.testing.assert_allclose(probability, predicted, atol=2e-3)
    np.testing.assert_allclose(share, true, atol=1e-2)
    assert total.sum() == (40_000 if weighted else 20_000)


def test_confusion_counts_a_margin_of_zero_as_wrong() -> None:
    metrics = Classification()
    metrics.add(np.array([1.0, -1.0, 1.0, -1.0]), np.array([0.0, 0.0, 2.0, -1.0]))
    assert metrics.confusion.tolist() == [[1.0, 1.0], [1.0, 1.0]]


def test_reliability_of_several_classes_counts_the_likeliest() -> None:
    rng = np.random.default_rng(6)
    scores, y = rng.standard_normal((500, 3)), rng.integers(0, 3, 500).astype(float)
    metrics = Multiclass(link_of(Softmax()))
    metrics.add(y[:200], scores[:200])
    metrics.add(y[200:], scores[200:])
    assert metrics.reliability is not None
    likeliest = np.exp(log_multinomial(scores)).max(axis=1)
    right = scores.argmax(axis=1) == y
    for tenth in range(10):
        inside = (likeliest * 10).astype(int) == tenth
        assert metrics.reliability.sums[0, tenth] == inside.sum()
        assert metrics.reliability.sums[1, tenth] == right[inside].sum()
        assert metrics.reliability.sums[2, tenth] == pytest.approx(likeliest[inside].sum())


def test_a_probability_of_one_is_in_the_last_tenth() -> None:
    told = Reliability()
    told.add(np.array([1.0, 0.0]), np.array([1.0, 0.0]), np.ones(2))
    assert told.sums[0].tolist() == [1.0, *[0.0] * 8, 1.0]


@settings(max_examples=40)
@given(st.lists(st.integers(0, 9_000), max_size=6), st.integers(1, 9_000))
def test_cutting_a_stream_does_not_change_the_sample(cuts: list[int], count: int) -> None:
    numbers = np.arange(float(count))
    whole, parts = Sample(), Sample()
    whole.add(numbers, -numbers)
    edges = [0, *sorted(min(cut, count) for cut in cuts), count]
    for start, stop in pairwise(edges):
        parts.add(numbers[start:stop], -numbers[start:stop])
        # A file in between changes nothing either.
        parts = Sample.restored(parts.arrays())
    for one, other in zip(whole.table(), parts.table(), strict=True):
        np.testing.assert_array_equal(one, other)
    rounds, y, predictions = whole.table()
    assert len(rounds) < MOST and len(set(rounds)) == len(rounds)
    np.testing.assert_array_equal(y, rounds - 1.0)
    np.testing.assert_array_equal(predictions, -y)
    # Every stretch has one example, but for the last one, whose example may be still to come.
    stretches = ((rounds - 1) // whole.stretch).astype(int)
    assert stretches.tolist() == list(range(len(rounds)))
    assert len(rounds) >= count // whole.stretch


def test_a_sample_shows_no_false_pattern_of_a_periodic_stream() -> None:
    sample, hour = Sample(), np.arange(200_000.0) % 48
    sample.add(hour, hour)
    _, y, _ = sample.table()
    shares = np.bincount(y.astype(int), minlength=48) / len(y)
    assert shares.min() > 0.005 and shares.max() < 0.04


def test_a_run_that_began_without_a_sample_goes_on_without_one() -> None:
    metrics = Regression()
    metrics.add(np.ones(3), np.zeros(3))
    older = {name: kept for name, kept in metrics.arrays().items() if "sample" not in name}
    restored = Regression()
    restored.restore(older)
    restored.add(np.ones(2), np.zeros(2))
    assert restored.sample is None and "sample" not in restored.arrays()
    assert restored.summary()["examples"] == 5
    several = Multiclass(link_of(Softmax()))
    several.add(np.zeros(2), np.zeros((2, 2)))
    older = {k: kept for k, kept in several.arrays().items() if k != "reliability"}
    again = Multiclass(link_of(Softmax()))
    again.restore(older)
    assert again.reliability is None


def test_a_sample_of_a_strange_shape_is_refused() -> None:
    metrics = Regression()
    with pytest.raises(ValueError, match="a sample has shape"):
        metrics.restore(metrics.arrays() | {"sample": np.zeros((2, 4))})
    for state in ([0, 5], [3, 5], [-2, 5], [1, 5], [1, -1]):
        kept = {"sample": np.zeros((3, 4)), "sample_state": np.array(state)}
        with pytest.raises(ValueError, match="is not one of"):
            metrics.restore(metrics.arrays() | kept)
    several = Multiclass(link_of(Softmax()))
    with pytest.raises(ValueError, match="reliability has shape"):
        several.restore(several.arrays() | {"reliability": np.zeros(3)})


def _learner(eta: float = 1.0) -> nr.MirrorDescent:
    return nr.MirrorDescent(nr.losses.Logistic(), nr.mirrors.Ball(5.0), nr.rates.Constant(eta))


def _rows() -> tuple[Any, Any]:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 2))
    return X, np.where(X[:, 0] > 0.0, 1.0, -1.0)


def test_progressive_learns_what_learn_would_and_counts_it() -> None:
    X, y = _rows()
    trial, alone = progressive(_learner(), X, y), _learner()
    made = alone.learn(X, y)
    learner: Any = trial.learner
    np.testing.assert_allclose(learner.weights, alone.weights, rtol=1e-12)
    assert trial.points[-1].rounds == 300 and trial.metrics is not None
    assert trial.metrics.summary()["accuracy"] == ((made * y) > 0.0).mean()
    assert "300 rounds" in repr(trial) and "<td>300</td>" in trial._repr_html_()


def test_progress_is_told_block_by_block() -> None:
    X, y = _rows()
    frame = [
        ({"a": float(a), "b": float(b)}, float(label)) for (a, b), label in zip(X, y, strict=True)
    ]
    seen: list[int] = []
    progressive(_learner(), nr.read(frame, rows=100), progress=seen.append)
    assert seen == [100, 200, 300]


def test_compare_has_a_row_for_each_and_names_what_stopped() -> None:
    X, y = _rows()
    squared = nr.losses.Squared()
    wild = nr.MirrorDescent(squared, nr.mirrors.Euclidean(), nr.rates.Constant(1e30))
    calm = nr.MirrorDescent(squared, nr.mirrors.Euclidean(), nr.rates.Constant(0.01))
    both = compare({"<wild>": wild, "calm": calm}, X, y)
    head, first, second = both.rows()
    assert head[:3] == ["learner", "rounds", "average loss"] and "RMSE" in head
    assert "mistakes" not in head
    assert first[0].startswith("<wild> (stopped: ") and second[:2] == ["calm", "300"]
    assert "<wild>" not in both._repr_html_() and "&lt;wild&gt;" in both._repr_html_()
    assert len(str(both).splitlines()) == 3 and repr(both) == "<Comparison of <wild>, calm>"


def test_compare_refuses_what_it_cannot_learn() -> None:
    X, y = _rows()
    with pytest.raises(ValueError, match="a learner or more"):
        compare({}, X, y)
    with pytest.raises(ValueError, match="give y for arrays"):
        progressive(_learner(), X)
    with pytest.raises(ValueError, match="blocks of a stream have their own"):
        progressive(_learner(), [], weight=[1.0])
    with pytest.raises(ValueError, match=r"y has shape \(3,\)"):
        progressive(_learner(), X, y[:3])

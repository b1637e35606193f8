"""Several classes: learners that grow on the way, and what their scores are worth."""

from __future__ import annotations

import math
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.metrics import accuracy_score, confusion_matrix, f1_score, log_loss

import noregret as nr
from noregret.evaluate import Multiclass, Trial, metrics_for
from noregret.evaluate.class_metrics import CONFUSED
from noregret.losses.links import chances, link_of, logistic
from noregret.scoring.growing import learn_block, predicted, segments, stacked
from noregret.streams import Block
from tests.sizes import sized

LOSSES = (nr.losses.Softmax(), nr.losses.OneAgainstRest(), nr.losses.MulticlassHinge())


def _block(rows: int, classes: int, seed: int = 5) -> Block:
    """Rows of 4 features whose classes, numbered as they appear, follow from them."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((rows, 4))
    told = (X @ rng.standard_normal((4, classes))).argmax(axis=1)
    order = {c: float(k) for k, c in enumerate(dict.fromkeys(told.tolist()))}
    return Block(
        np.arange(0, 4 * rows + 1, 4, dtype=np.uint64),
        np.tile(np.arange(4, dtype=np.uint32), rows),
        X.ravel(),
        np.array([order[c] for c in told.tolist()]),
        width=4,
        weight=rng.uniform(0.1, 2.0, rows),
    )


@pytest.mark.parametrize("loss", LOSSES, ids=str)
@settings(max_examples=sized(4, 15))
@given(cuts=st.sets(st.integers(1, 59), max_size=8))
def test_cutting_a_stream_changes_no_bit_of_learner_scores_and_metrics(
    loss: nr.losses.ScoreLoss, cuts: set[int]
) -> None:
    block = _block(60, 6)
    whole = Trial(nr.MatrixDescent(loss), metrics=metrics_for(loss))
    parts = Trial(nr.MatrixDescent(loss), metrics=metrics_for(loss))
    scores = whole.learn(block)
    edges = [0, *sorted(cuts), len(block)]
    pieces = [parts.learn(block.rows(a, b)) for a, b in pairwise(edges)]
    assert np.array_equal(stacked(pieces), scores)
    a, b = (one.learner.certificate() for one in (whole, parts))
    assert a.ledger.tobytes() == b.ledger.tobytes()  # type: ignore[attr-defined]
    assert a.gradient.tobytes() == b.gradient.tobytes()  # type: ignore[attr-defined]
    assert whole.metrics is not None and parts.metrics is not None
    for name, array in whole.metrics.arrays().items():
        assert array.tobytes() == parts.metrics.arrays()[name].tobytes(), name


def test_a_learner_grows_where_a_class_appears() -> None:
    block = _block(40, 5)
    learner, by_hand = (nr.MatrixDescent(nr.losses.Softmax()) for _ in range(2))
    scores = learn_block(learner, block)
    for t in range(len(block)):
        y = int(block.y[t])
        known = by_hand.outputs
        if y >= known:
            by_hand.grow(y + 1)
        row = block.rows(t, t + 1)
        made = by_hand.learn(row, row.y, row.weight)[0]
        assert np.array_equal(scores[t, :known], made[:known])
        assert np.isneginf(scores[t, known:]).all()
    assert learner.weights.tobytes() == by_hand.weights.tobytes()
    assert learner.certificate().ledger.tobytes() == by_hand.certificate().ledger.tobytes()


def test_an_empty_block_changes_nothing() -> None:
    learner = nr.MatrixDescent(nr.losses.Softmax())
    assert learn_block(learner, _block(3, 2).rows(0, 0)).shape == (0, 0)
    assert learner.rounds == learner.outputs == 0


def test_measures_are_those_of_scikit_learn() -> None:
    rng = np.random.default_rng(1)
    scores, y = rng.standard_normal((300, 5)), rng.integers(0, 5, 300)
    weight = rng.uniform(0.0, 2.0, 300)
    metrics = Multiclass(link_of(nr.losses.Softmax()))
    metrics.add(y[:100].astype(float), scores[:100], weight[:100])
    metrics.add(y[100:].astype(float), scores[100:], weight[100:])
    found, best = metrics.summary(), scores.argmax(axis=1)
    shares = np.exp(scores) / np.exp(scores).sum(axis=1, keepdims=True)
    assert found["accuracy"] == pytest.approx(accuracy_score(y, best, sample_weight=weight))
    assert found["macro_f1"] == pytest.approx(
        f1_score(y, best, average="macro", sample_weight=weight)
    )
    assert found["log_loss"] == pytest.approx(log_loss(y, shares, sample_weight=weight))
    assert metrics.confusion == pytest.approx(confusion_matrix(y, best, sample_weight=weight))


def test_probabilities_of_one_against_rest_are_logistic_and_sum_to_one() -> None:
    link = link_of(nr.losses.OneAgainstRest())
    assert link is not None
    found = np.exp(link.logs(np.array([[0.0, math.log(3.0), -np.inf]])))
    assert found[0].tolist() == pytest.approx([0.4, 0.6, 0.0])
    extreme = link.logs(np.array([[-800.0, -900.0], [800.0, 900.0]]))
    assert extreme == pytest.approx(np.array([[0.0, -100.0], [-math.log(2.0)] * 2]))
    assert link_of(nr.losses.OneAgainstRest(nr.losses.Hinge())) is None


def test_probabilities_are_the_exponentials_of_their_logs_and_one_is_as_many() -> None:
    scores = np.random.default_rng(3).normal(0.0, 20.0, (50, 4))
    for loss in (nr.losses.Softmax(), nr.losses.OneAgainstRest()):
        link = link_of(loss)
        assert link is not None
        assert np.array_equal(link.probabilities(scores), np.exp(link.logs(scores)))
    binary = link_of(nr.losses.Logistic())
    assert binary is not None
    pairs = binary.probabilities(scores[:, 0])
    singly = [chances(s) for s in scores[:, 0].tolist()]
    np.testing.assert_allclose(pairs, singly, rtol=1e-14)
    far = binary.probabilities(np.array([-800.0, -40.0, 0.0, 40.0, 800.0]))[:, 1]
    np.testing.assert_allclose(far, [0.0, np.exp(-40.0), 0.5, 1.0, 1.0], rtol=1e-14)


def test_parts_bring_a_class_in_their_first_row_only() -> None:
    rng = np.random.default_rng(0)
    for known in range(4):
        codes = rng.integers(0, 6, 30)
        parts = list(segments(codes, known))
        assert [k for part in parts for k in range(*part)] == list(range(30))
        highest = known - 1
        for start, stop in parts:
            assert start == 0 or codes[start] > highest
            highest = max(highest, int(codes[start]))
            assert codes[start:stop].max() <= highest
    assert list(segments(codes[:0], 2)) == []


def test_ties_and_classes_nobody_knew_are_wrong() -> None:
    metrics = Multiclass(link_of(nr.losses.Softmax()))
    metrics.add(np.array([0.0]), np.array([[-np.inf]]))
    metrics.add(np.array([0.0]), np.zeros((1, 0)))
    metrics.add(np.array([0.0]), np.array([[1.0, 1.0]]))
    metrics.add(np.array([2.0]), np.array([[0.0, 1.0]]))
    summary = metrics.summary()
    assert summary["accuracy"] == summary["macro_f1"] == 0.0
    # Of the four only the tie knew its class.
    assert summary["log_loss"] == pytest.approx(math.log(2.0))
    assert metrics.confusion is not None
    assert metrics.confusion.tolist() == [[0, 1, 0], [0, 0, 0], [0, 1, 0]]


def test_one_known_class_is_right_and_no_examples_say_nothing() -> None:
    metrics = Multiclass()
    metrics.add(np.zeros(0), np.zeros((0, 3)))
    assert metrics.summary() == {"examples": 0.0, "weight": 0.0}
    metrics.add(np.array([0.0]), np.array([[-3.0]]))
    assert metrics.summary()["accuracy"] == 1.0


def test_too_many_classes_are_not_told_apart_but_measured() -> None:
    rng = np.random.default_rng(2)
    many = CONFUSED + 1
    y, scores = rng.integers(0, many, 500), rng.standard_normal((500, many))
    scores[np.arange(500), y] += 2.0
    metrics = Multiclass()
    metrics.add(np.array([0.0]), np.array([[1.0]]))
    assert metrics.confusion is not None
    metrics.add(y.astype(float), scores)
    assert metrics.confusion is None and "confusion" not in metrics.arrays()
    right = (scores.argmax(axis=1) == y).sum() + 1
    assert metrics.summary()["accuracy"] == right / 501


@pytest.mark.parametrize("classes", [3, CONFUSED + 3])
def test_metrics_go_on_where_they_were(classes: int) -> None:
    rng = np.random.default_rng(3)
    y, scores = rng.integers(0, classes, 80).astype(float), rng.standard_normal((80, classes))
    whole, first = (Multiclass(link_of(nr.losses.Softmax())) for _ in range(2))
    whole.add(y, scores)
    first.add(y[:30], scores[:30])
    second = Multiclass(link_of(nr.losses.Softmax()))
    second.restore(first.arrays())
    second.add(y[30:], scores[30:])
    assert second.summary() == whole.summary()
    with pytest.raises(ValueError, match="metrics have shape"):
        second.restore(whole.arrays() | {"counts": np.zeros((2, classes))})


def test_the_class_of_scores() -> None:
    assert predicted(np.zeros((2, 0))).tolist() == [-1, -1]
    assert predicted(np.array([[-1.0, 2.0], [-np.inf, -5.0]])).tolist() == [1, 1]


def test_probabilities_far_out_are_still_numbers() -> None:
    found = logistic(np.array([-800.0, -40.0, 0.0, 40.0, 800.0]))[:, 1]
    np.testing.assert_allclose(found, [0.0, np.exp(-40.0), 0.5, 1.0, 1.0], rtol=1e-14)

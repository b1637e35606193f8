"""`nr.certify` for rows of scores of several classes."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

import noregret as nr
from noregret import losses, mirrors, rates
from noregret.arguments import ArgumentError
from noregret.learners.foreign import Certifier
from noregret.learners.foreign_scores import ScoreCertifier
from noregret.learners.matrix_certificate import MatrixCertificate
from noregret.proof.ledger import Entry

LOSSES = [losses.Softmax(), losses.MulticlassHinge(), losses.OneAgainstRest(losses.Logistic())]
RNG = np.random.default_rng(11)
ROWS, WIDTH, OUTPUTS = 40, 5, 3
X = RNG.normal(size=(ROWS, WIDTH)) * (RNG.random((ROWS, WIDTH)) < 0.7)
Y = RNG.integers(0, OUTPUTS, ROWS).astype(float)
S = RNG.normal(size=(ROWS, OUTPUTS))
WEIGHTS = RNG.choice([0.0, 0.5, 2.0], ROWS)


def total(loss, matrix, weights=WEIGHTS) -> float:
    """The loss of a fixed matrix, by the definition."""
    slopes = np.empty(OUTPUTS)
    scores = X @ matrix
    terms = zip(weights, Y, scores, strict=True)
    return sum(w * loss.value_and_slopes(y, s, slopes) for w, y, s in terms)


def same(first: ScoreCertifier, second: ScoreCertifier) -> bool:
    one, other = first.arrays(), second.arrays()
    return one.keys() == other.keys() and all(np.array_equal(one[k], other[k]) for k in one)


@pytest.mark.parametrize("loss", LOSSES, ids=str)
def test_floors_are_those_of_the_definition(loss) -> None:
    proof = nr.certify(X, Y, S, loss, weight=WEIGHTS)
    assert isinstance(proof, MatrixCertificate) and proof.rounds == ROWS
    intercept, Z, slopes, lost = 0.0, np.zeros((WIDTH, OUTPUTS)), np.empty(OUTPUTS), 0.0
    for x, y, s, w in zip(X, Y, S, WEIGHTS, strict=True):
        value = loss.value_and_slopes(y, s, slopes)
        lost += w * value
        intercept += w * (value - slopes @ s)
        Z += w * np.outer(x, slopes)
    assert proof.loss == pytest.approx(lost, rel=1e-12)
    for radius in (0.0, 0.3, 2.0):
        exact = max(intercept - radius * np.linalg.norm(Z), 0.0)
        assert exact - 1e-9 <= proof.floor(radius) <= exact
        trace = max(intercept - radius * np.linalg.norm(Z, 2), 0.0)
        assert trace - 1e-9 <= proof.floor(radius, norm="trace") <= trace


@pytest.mark.parametrize("loss", LOSSES, ids=str)
@pytest.mark.parametrize("blocks", [False, True])
def test_no_matrix_of_the_class_loses_less(loss, blocks) -> None:
    rng = np.random.default_rng(5)
    scores = 2.0 * np.eye(OUTPUTS)[Y.astype(int)]
    proof = nr.certify(X, Y, scores, loss, weight=WEIGHTS, blocks=blocks)
    for radius in (0.2, 1.0, 5.0):
        floor = proof.floor(radius)
        for _ in range(50):
            matrix = rng.normal(size=(WIDTH, OUTPUTS))
            matrix *= radius * rng.random() ** 0.2 / np.linalg.norm(matrix)
            assert floor <= total(loss, matrix) + 1e-9
    if blocks:
        # Lines at blocks do not depend on the scores, which are bad here.
        other = nr.certify(X, Y, -10.0 * scores, loss, weight=WEIGHTS, blocks=True)
        plain = nr.certify(X, Y, -10.0 * scores, loss, weight=WEIGHTS)
        assert other.floor(0.5) > plain.floor(0.5)


@pytest.mark.parametrize("loss", LOSSES, ids=str)
def test_a_learner_and_its_predictions_prove_the_same(loss) -> None:
    learner = nr.MatrixDescent(loss, mirrors.Euclidean(), rates.Constant(0.3))
    made = learner.learn(X, Y, WEIGHTS)
    own, foreign = learner.certificate(), nr.certify(X, Y, made, loss, weight=WEIGHTS)
    assert foreign.gradient == pytest.approx(own.gradient, abs=1e-12)
    for entry in (Entry.LOSS, Entry.INTERCEPT, Entry.ROUNDS):
        assert foreign.ledger[entry] == own.ledger[entry]
    assert foreign.floor(1.0) == pytest.approx(own.floor(1.0), rel=1e-12)
    # They are somebody's predictions: no theorem about a learner speaks of them.
    assert own.bounds and not foreign.bounds


@pytest.mark.parametrize("loss", LOSSES, ids=str)
@pytest.mark.parametrize("blocks", [False, True])
def test_cuts_and_sparse_rows_change_no_bit(loss, blocks) -> None:
    whole, parts, sparse = (ScoreCertifier(loss, blocks=blocks) for _ in range(3))
    whole.add(X, Y, S, WEIGHTS)
    sparse.add(sp.csr_matrix(X), Y, S, WEIGHTS)
    for start in range(0, ROWS, 7):
        part = slice(start, start + 7)
        parts.add(X[part], Y[part], S[part], WEIGHTS[part])
        resumed = ScoreCertifier(loss, blocks=blocks)
        resumed.restore(parts.arrays())
        parts = resumed
    assert same(whole, parts)
    assert whole.certificate().floor(0.7) == parts.certificate().floor(0.7)
    assert sparse.certificate().floor(0.7) == whole.certificate().floor(0.7)


@pytest.mark.parametrize("blocks", [False, True])
def test_scores_may_be_added_and_belong_to_later_losses(blocks) -> None:
    loss = losses.Softmax()
    certifier = ScoreCertifier(loss, blocks=blocks)
    early = Y[:20] % 2
    certifier.add(X[:20], early, S[:20, :2])
    certifier.add(X[20:], Y[20:], S[20:])
    proof = certifier.certificate()
    assert proof.outputs == 3 and proof.gradient.shape == (3 * WIDTH,)
    rng = np.random.default_rng(2)
    for _ in range(100):
        matrix = rng.normal(size=(WIDTH, 3))
        matrix /= np.linalg.norm(matrix)
        value = 0.0
        for t in range(ROWS):
            known = 2 if t < 20 else 3
            label = early[t] if t < 20 else Y[t]
            value += loss.value_and_slopes(label, (X[t] @ matrix)[:known], np.empty(known))
        assert proof.floor(1.0) <= value
    with pytest.raises(ValueError, match="2 scores a row, expected the 3 of before or more"):
        certifier.add(X[:1], [0], S[:1, :2])


def test_refusals_change_nothing() -> None:
    certifier = ScoreCertifier(losses.Softmax(), blocks=True)
    certifier.add(X[:10], Y[:10], S[:10])
    before = certifier.arrays()
    bad = S.copy()
    bad[3, 1] = np.nan
    cases = [
        ((X, Y, bad), "predictions row 3, score 1: nan, expected a finite number"),
        ((X, Y, S[:, 0]), r"shape \(40,\), expected \(40, K\)"),
        ((X, Y, S[:-1]), r"shape \(39, 3\), expected \(40, K\)"),
        ((X, Y + 1.0, S), "class 3, expected a whole number from 0 to 2"),
        ((X, Y, S, -WEIGHTS), "weight"),
        ((X, Y, np.where(np.arange(ROWS)[:, None] == 7, 1e149 * S, S), 1e200), "weight"),
    ]
    for given, message in cases:
        with pytest.raises(ValueError, match=message):
            certifier.add(*given)
        after = certifier.arrays()
        assert all(np.array_equal(before[name], after[name]) for name in before)
    with pytest.raises(ArgumentError, match="there are parabolas"):
        ScoreCertifier(losses.Softmax(), radius=2.0)
    with pytest.raises(ArgumentError, match="several scores"):
        ScoreCertifier(losses.Hinge())
    with pytest.raises(ArgumentError, match="one score"):
        Certifier(losses.Softmax())
    with pytest.raises(ValueError, match=r"expected \(\d+,\) and \(scores, features\)"):
        certifier.restore(before | {"gradient": np.zeros(3)})

"""Rankings online: the step by hand, honest floors against the best w found, resume to the bit."""

from __future__ import annotations

import mpmath
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from scipy.optimize import minimize
from sklearn.metrics import ndcg_score

import noregret as nr
from noregret.evaluate.discounted_gain import ndcg
from noregret.losses import PairwiseHinge, PairwiseLogistic
from noregret.proof.ledger import Entry
from tests.sizes import sized

LOSSES = [PairwiseHinge(), PairwiseHinge(0.5), PairwiseLogistic()]


def queries(seed, groups=60, size=6, features=5, scale=1.0):
    rng = np.random.default_rng(seed)
    sizes = rng.integers(1, size + 1, groups)
    X = rng.normal(size=(sizes.sum(), features)) * scale
    truth = X / scale @ rng.normal(size=features) + 0.5 * rng.normal(size=len(X))
    return X, np.clip(np.round(truth + 1.0), 0.0, 3.0), np.repeat(np.arange(groups), sizes)


def total(loss, X, relevance, qid, w):
    """Return the sum of the losses of a fixed w in 40 digits."""
    with mpmath.workdps(40):
        columns = [mpmath.mpf(v) for v in w]
        s = [
            mpmath.fsum(mpmath.mpf(float(v)) * c for v, c in zip(x, columns, strict=True))
            for x in X
        ]
        result = mpmath.mpf(0)
        for q in np.unique(qid):
            rows = np.flatnonzero(qid == q)
            pairs = [(i, j) for i in rows for j in rows if relevance[i] > relevance[j]]
            if not pairs:
                continue
            if isinstance(loss, PairwiseHinge):
                margin = mpmath.mpf(loss.margin)
                values = [max(margin - s[i] + s[j], mpmath.mpf(0)) for i, j in pairs]
            else:
                values = [mpmath.log(1 + mpmath.exp(s[j] - s[i])) for i, j in pairs]
            result += mpmath.fsum(values) / len(pairs)
        return result


@pytest.mark.parametrize("loss", LOSSES, ids=repr)
def test_one_step_a_group_by_the_joint_gradient(loss):
    X, relevance, qid = queries(0)
    ranker = nr.Ranker(loss, rate=nr.rates.Constant(0.1))
    scores = ranker.learn(X, relevance, qid)
    w, lost = np.zeros(5), 0.0
    for q in np.unique(qid):
        rows = qid == q
        s = X[rows] @ w
        np.testing.assert_allclose(scores[rows], s, rtol=0, atol=1e-12)
        slopes = np.empty(len(s))
        lost += loss.value_and_slopes(relevance[rows], s, slopes)
        w -= 0.1 * X[rows].T @ slopes
    np.testing.assert_allclose(ranker.weights, w, atol=1e-12)
    proof = ranker.certificate()
    assert ranker.rounds == proof.rounds == len(np.unique(qid))
    assert abs(proof.loss - lost) <= 1e-9


@pytest.mark.parametrize("loss", LOSSES, ids=repr)
@pytest.mark.parametrize("scale", [1e-60, 1.0, 1e50])
def test_no_fixed_predictor_is_below_the_floor(loss, scale):
    X, relevance, qid = queries(1, groups=sized(10, 40), scale=scale)
    ranker = nr.Ranker(loss, nr.mirrors.Ball(2.0 / scale), nr.rates.Adaptive())
    ranker.learn(X, relevance, qid)
    proof = ranker.certificate()
    assert not proof.bounds

    def objective(w):
        inside = w * min(1.0, 2.0 / max(np.linalg.norm(w), 1e-300))
        return float(total(loss, X * 1.0, relevance, qid, inside / scale))

    best = minimize(objective, np.ones(5), method="Nelder-Mead", options={"maxiter": sized(40, 60)})
    radius = 2.0 / scale
    assert proof.floor(radius) <= best.fun
    assert proof.floor(radius) <= proof.loss
    rng = np.random.default_rng(0)
    for _ in range(5):
        u = rng.normal(size=5)
        u *= radius * (1.0 - 1e-12) / np.linalg.norm(u)
        assert proof.floor(radius) <= total(loss, X, relevance, qid, u)
        assert proof.loss - float(total(loss, X, relevance, qid, u)) <= proof.regret(u)


@settings(max_examples=sized(15, 40))
@given(seed=st.integers(0, 2**32 - 1), power=st.integers(-70, 70), logistic=st.booleans())
def test_floors_hold_on_random_groups(seed, power, logistic):
    loss = PairwiseLogistic() if logistic else PairwiseHinge()
    scale = 10.0**power
    X, relevance, qid = queries(seed, groups=8, size=5, features=3, scale=scale)
    rng = np.random.default_rng(seed)
    # Columns without differences inside a group cancel in the gradient.
    X[:, 0] = scale
    ranker = nr.Ranker(loss, rate=nr.rates.Constant(10.0 ** rng.uniform(-3, 0) / scale / scale))
    ranker.learn(X, relevance, qid)
    proof = ranker.certificate()
    for size in (0.1, 1.0, 10.0):
        u = rng.normal(size=3)
        u *= size / scale / np.linalg.norm(u)
        radius = float(np.linalg.norm(u)) * (1.0 + 1e-12)
        assert proof.floor(radius) <= total(loss, X, relevance, qid, u)


@pytest.mark.parametrize(
    "mirror", [nr.mirrors.Euclidean(), nr.mirrors.PNorm(3.0), nr.mirrors.SignedEntropy(2.0)],
    ids=repr,
)  # fmt: skip
def test_sparse_equals_dense_and_saved_goes_on_to_the_bit(mirror, tmp_path):
    X, relevance, qid = queries(3)
    X *= np.random.default_rng(0).random(X.shape) < 0.5
    whole = nr.Ranker(mirror=mirror, dimension=5)
    scores = whole.learn(X, relevance, qid)
    thin = nr.Ranker(mirror=mirror, dimension=5)
    np.testing.assert_allclose(
        thin.learn(sparse.csr_array(X), relevance, qid), scores, rtol=1e-10, atol=1e-12
    )
    half = np.flatnonzero(qid == 30)[0]
    first = nr.Ranker(mirror=mirror, dimension=5)
    first.learn(X[:half], relevance[:half], qid[:half])
    first.save(tmp_path / "ranker")
    second = nr.load(tmp_path / "ranker")
    np.testing.assert_array_equal(
        second.learn(X[half:], relevance[half:], qid[half:]), scores[half:]
    )
    np.testing.assert_array_equal(second.weights, whole.weights)
    assert second.certificate().as_dict() == whole.certificate().as_dict()


@pytest.mark.compiled
def test_large_groups_have_more_roundings():
    """A sum over pairs loses a rounding a row, all in one direction where the terms are equal."""
    margin, rows = 4123.754494040761, 4000
    ranker = nr.Ranker(PairwiseHinge(margin), rate=nr.rates.Constant(1.0))
    ranker.learn(np.zeros((rows, 1)), np.arange(rows) % 2, np.zeros(rows))
    assert margin * (1.0 - 1e-10) <= ranker.certificate().floor(0.0) <= margin


def test_the_size_of_groups_is_kept_in_files(tmp_path):
    ranker = nr.Ranker(rate=nr.rates.Constant(1.0))
    ranker.learn(np.eye(50), np.arange(50), np.zeros(50))
    ranker.learn(np.eye(50), np.arange(50), np.arange(50))
    ranker.save(tmp_path / "ranker")
    assert nr.load(tmp_path / "ranker").certificate().slack == ranker.certificate().slack


@pytest.mark.parametrize("rate", [nr.rates.Constant(100.0), nr.rates.Adaptive(10.0)], ids=repr)
def test_the_regularised_floor_is_that_of_the_rate(rate):
    X, relevance, qid = queries(2, groups=sized(15, 60))
    ranker = nr.Ranker(PairwiseLogistic(), rate=rate)
    ranker.learn(X, relevance, qid)
    proof, eta = ranker.certificate(), ranker._steps._ledger[Entry.LAST_ETA]
    assert eta > 1.0 and proof.regularized_floor() == proof.regularized_floor(eta)

    def objective(w):
        value = float(total(PairwiseLogistic(), X, relevance, qid, w))
        return value + float(w @ w) / (2.0 * eta)

    best = minimize(objective, np.zeros(5), method="Nelder-Mead", options={"maxiter": 40})
    assert proof.regularized_floor() <= best.fun


@pytest.mark.parametrize(
    "mirror",
    [nr.mirrors.Entropy(), nr.mirrors.UnnormalizedEntropy(), nr.mirrors.SignedEntropy(1.0)],
    ids=repr,
)
def test_entropies_take_the_width_of_the_first_group(mirror):
    X, relevance, qid = queries(3)
    ranker, told = nr.Ranker(mirror=mirror), nr.Ranker(mirror=mirror, dimension=5)
    np.testing.assert_array_equal(ranker.learn(X, relevance, qid), told.learn(X, relevance, qid))
    assert ranker.certificate().floor() <= ranker.certificate().loss


def test_a_gradient_beyond_all_features_is_said_and_groups_before_are_kept():
    X = np.array([[1.0, 0.0], [0.0, 1.0], [1e100, 0.0], [-1e100, 1.0]])
    ranker = nr.Ranker(rate=nr.rates.Constant(1e-200))
    with pytest.raises(OverflowError, match="gradient of round 2 overflows"):
        ranker.learn(X, [0, 1, 0, 1], [0, 0, 1, 1])
    assert ranker.rounds == ranker._steps.rounds == 1 and not ranker._sums.any()


def test_it_learns_to_rank():
    X, relevance, qid = queries(4, groups=400)
    ranker = nr.Ranker()
    scores = ranker.learn(X, relevance, qid)
    late = qid >= 200
    chance = ndcg(relevance[late], np.zeros(late.sum()), qid[late])
    assert ndcg(relevance[late], scores[late], qid[late]) > chance + 0.5 * (1.0 - chance)


def test_refused_in_one_line_and_nothing_changed():
    X, relevance, qid = queries(5, groups=30)
    ranker = nr.Ranker()
    ranker.learn(X, relevance, qid)
    before, rounds = ranker.weights, ranker.rounds
    wrong = X.copy()
    wrong[-1, 0] = np.nan
    for arguments, message in (
        ((wrong, relevance, qid), "not finite|NaN|nan|finite"),
        ((X, relevance[:-1], qid), "relevance has shape"),
        ((X, relevance, qid[:-1]), "qid has shape"),
        ((X, np.full(len(X), np.inf), qid), "relevance row"),
        ((X[:3], [1, 2, 3], [1, 2, 1]), "qid row 2: group 1 comes again"),
        ((X[:2], [1, 2], [1, 1], [1.0, 2.0]), "same weight within a group"),
    ):
        with pytest.raises(ValueError, match=message):
            ranker.learn(*arguments)
    np.testing.assert_array_equal(ranker.weights, before)
    assert ranker.rounds == rounds
    with pytest.raises(ValueError, match="must be one of Constant"):
        nr.Ranker(rate=nr.rates.ScaleFree())
    with pytest.raises(ValueError, match="takes PairwiseHinge"):
        nr.Ranker(nr.losses.Softmax())
    with pytest.raises(OverflowError, match="diverges"):
        nr.Ranker(rate=nr.rates.Constant(1e200)).learn(X * 1e80, relevance, qid)


def test_gains_are_those_of_scikit_learn():
    rng = np.random.default_rng(0)
    for k in (None, 1, 3):
        relevance, scores = rng.integers(0, 4, (20, 8)), np.round(rng.normal(size=(20, 8)), 1)
        qid = np.repeat(np.arange(20), 8)
        expected = ndcg_score(np.exp2(relevance) - 1.0, scores, k=k)
        assert abs(ndcg(relevance.ravel(), scores.ravel(), qid, k) - expected) < 1e-12
    for arguments, message in (
        (([1], [1.0, 2.0], [1]), "as many each"),
        (([1], [1.0], [1], 0), "k must be a whole number >= 1, got 0"),
        (([1, 0], [1.0, np.nan], [1, 1]), "scores row 1: nan"),
        (([-1, 0], [1.0, 2.0], [1, 1]), "relevance row 0: -1"),
        (([1, 2000], [1.0, 2.0], [1, 1]), "relevance row 1: 2000"),
        (([[1, 2]], [1.0, 2.0], [1, 1]), "relevance has shape"),
        ((["a"], [1.0], [1]), "relevance must hold numbers"),
    ):
        with pytest.raises(ValueError, match=message):
            ndcg(*arguments)

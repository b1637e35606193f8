"""What users hand over: frames, sparse and narrow arrays, readonly ones, and wrong ones."""

from __future__ import annotations

import tracemalloc

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy import sparse
from sklearn.datasets import load_breast_cancer, load_iris

import noregret as nr
from noregret.rows.examples import as_rows
from noregret.sklearn import DualClassifier, DualRegressor, OnlineClassifier, OnlineRegressor
from noregret.sklearn.rows import Feeder
from tests.sizes import sized

FRAMES = {"pandas": pd.DataFrame, "polars": pl.DataFrame}
MODELS = [OnlineClassifier, OnlineRegressor, DualClassifier, DualRegressor]


@pytest.fixture(scope="module")
def cancer():
    X, y = load_breast_cancer(return_X_y=True)
    return X[:300], y[:300]


@pytest.mark.parametrize("kind", FRAMES)
@pytest.mark.parametrize("maker", MODELS)
def test_frames_are_learnt_by_the_names_of_their_columns(kind, maker, cancer) -> None:
    count = sized(60, 300)
    X, y = cancer[0][:count, :4], cancer[1][:count]
    names = ["radius", "texture", "perimeter", "area"]
    frame = FRAMES[kind](dict(zip(names, X.T, strict=True)))
    options = {"random_state": 0, "tol": 10.0} if "Dual" in maker.__name__ else {"random_state": 0}
    model = maker(**options).fit(frame, y)
    plain = maker(**options).fit(X, y)
    assert model.feature_names_in_.tolist() == names and model.n_features_in_ == 4
    assert model.coef_.tobytes() == plain.coef_.tobytes()
    assert (model.predict(frame) == plain.predict(X)).all()
    with pytest.raises(ValueError, match="feature names"):
        model.predict(frame[names[::-1]])
    with pytest.raises(ValueError, match="feature names"):
        model.partial_fit(frame[names[::-1]], y)
    with pytest.warns(UserWarning, match="does not have valid feature names"):
        model.partial_fit(X, y)


@pytest.mark.parametrize("kind", FRAMES)
def test_a_frame_of_float32_stays_so(kind, cancer, monkeypatch) -> None:
    X, y = cancer
    given = []
    chunks = Feeder.chunks
    monkeypatch.setattr(
        Feeder, "chunks", lambda *a: ((p, given.append(c.dtype) or c) for p, c in chunks(*a))
    )
    frame = FRAMES[kind]({f"x{k}": column for k, column in enumerate(X.astype(np.float32).T)})
    OnlineClassifier(rate="scale_free").partial_fit(frame, y)
    assert given == [np.float32]


@pytest.mark.compiled
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_no_copy_of_the_rows_is_made(dtype) -> None:
    X = np.ones((50_000, 200), dtype)
    y = (np.arange(50_000) % 2).astype(float)
    for model in (
        OnlineClassifier(passes=1, rate="scale_free"),
        OnlineRegressor(passes=1, rate="scale_free"),
    ):
        model.partial_fit(X[:10], y[:10])
        tracemalloc.start()
        model.partial_fit(X, y)
        model.fit(X, y)
        model.predict(X)
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        # A chunk of rows, its buffer, and some vectors of one number a row.
        assert peak < 0.75 * X.nbytes


def test_without_a_constant_rows_are_learnt_where_they_are() -> None:
    X = np.random.default_rng(0).standard_normal((100, 5)).astype(np.float32)
    X.flags.writeable = False
    ((part, chunk),) = Feeder(False).chunks(as_rows(X))
    assert part == slice(0, 100) and np.shares_memory(chunk, X)
    S = sparse.csr_array(X)
    ((_, block),) = Feeder(False).chunks(as_rows(S))
    assert np.shares_memory(block.values, S.data)
    model = OnlineClassifier(fit_intercept=False, rate="scale_free")
    model.partial_fit(X, X[:, 0] > 0.0, classes=[False, True])
    assert model.intercept_.tolist() == [0.0] and model.coef_[0, 0] > 0.0


def test_the_constant_is_added_in_one_buffer() -> None:
    X = np.arange(24.0, dtype=np.float32).reshape(6, 4)
    feeder = Feeder(True)
    ((_, first),) = feeder.chunks(as_rows(X))
    assert first.dtype == np.float32
    assert first.tolist() == np.hstack([X, np.ones((6, 1))]).tolist()
    ((_, second),) = feeder.chunks(as_rows(X[:3]), np.array([2, 0]))
    assert np.shares_memory(first, second) and second[:, 0].tolist() == [8.0, 0.0]
    S = sparse.csr_array(np.where(X % 3.0, X, 0.0))
    for order in (None, np.array([5, 1, 1])):
        ((_, block),) = Feeder(True).chunks(as_rows(S), order)
        rows = S.toarray() if order is None else S.toarray()[order]
        assert block.dense().tolist() == np.hstack([rows, np.ones((len(rows), 1))]).tolist()
        assert block.ordered and block.values.dtype == np.float32


def test_rows_out_of_order_are_as_those_in_order() -> None:
    X = np.random.default_rng(0).standard_normal((40, 5))
    y = X[:, 0] > 0.0
    backwards = sparse.csr_array(X)
    for t in range(40):
        part = slice(5 * t, 5 * t + 5)
        backwards.indices[part] = backwards.indices[part][::-1].copy()
        backwards.data[part] = backwards.data[part][::-1].copy()
    backwards.has_sorted_indices = False
    model = OnlineClassifier(rate="scale_free").partial_fit(sparse.csr_array(X), y)
    other = (
        OnlineClassifier(rate="scale_free")
        .partial_fit(backwards[:1], y[:1])
        .partial_fit(backwards[1:], y[1:])
    )
    assert model.coef_.tobytes() == other.coef_.tobytes()


@pytest.mark.parametrize("maker", MODELS)
@pytest.mark.parametrize("bad", [np.nan, np.inf, 1e200])
def test_what_cannot_be_learnt_leaves_the_model_as_it_was(maker, bad, cancer, monkeypatch) -> None:
    X, y = cancer
    model = maker().partial_fit(X[:100], y[:100])
    before = model.coef_.tobytes(), model.certificate_.loss
    words = "NaN|infinity" if not np.isfinite(bad) else "beyond 1e\\+100"
    wrong = X[100:200].copy()
    wrong[57, 3] = bad
    for rows in (wrong, sparse.csr_array(wrong)):
        with pytest.raises(ValueError, match=words):
            model.partial_fit(rows, y[100:200])
        with pytest.raises(ValueError, match=words):
            model.predict(rows)
    for module in ("noregret.rows.examples", "noregret.sklearn.rows", "noregret.sklearn.estimator"):
        monkeypatch.setattr(f"{module}.CHUNK", 64)
    with pytest.raises(ValueError, match=words):
        model.partial_fit(wrong, y[100:200])
    assert (model.coef_.tobytes(), model.certificate_.loss) == before


@pytest.mark.parametrize(
    ("model", "words"),
    [
        (
            OnlineClassifier("square", rate="scale_free"),
            "loss='square': no such loss, did you mean squared",
        ),
        (
            OnlineClassifier(nr.losses.Squared(), rate="scale_free"),
            "loss=Squared\\(\\): expected one of two classes",
        ),
        (
            OnlineRegressor(nr.losses.Hinge(), rate="scale_free"),
            "loss=Hinge\\(margin=1.0\\): expected one of real targets",
        ),
        (
            OnlineClassifier(multiclass="pairs", rate="scale_free"),
            "multiclass='pairs': no such loss",
        ),
        (
            OnlineClassifier("hinge", multiclass="softmax", rate="scale_free"),
            "'softmax': goes with loss='logistic'",
        ),
        (
            OnlineClassifier(multiclass="hinge", rate="scale_free"),
            "multiclass='hinge': expected one_against_rest",
        ),
        (
            OnlineClassifier(multiclass="crammer_singer", rate="scale_free"),
            "goes with loss='hinge'",
        ),
        (OnlineClassifier(rate="fast"), "rate='fast': no such rate"),
        (OnlineClassifier(multiclass="softmax", rate="grid"), "goes with 'one_against_rest'"),
        (
            OnlineClassifier("hinge", multiclass="multiclass_hinge", rate="mixture"),
            "goes with 'one_against_rest'",
        ),
        (OnlineClassifier(multiclass="softmax", rate="mixture", mirror="p_norm"), "has maps of"),
        (OnlineClassifier(rate=nr.rates.Constant), "expected a rate or the word of one"),
        (
            OnlineClassifier(mirror="bal", rate="scale_free"),
            "mirror='bal': no such mirror, did you mean ball",
        ),
        (OnlineClassifier(mirror="ball:1", rate="scale_free"), "ScaleFree belongs to Euclidean"),
        (
            OnlineClassifier(passes=0, rate="scale_free"),
            "passes=0: expected a whole number of at least 1",
        ),
        (
            OnlineRegressor(passes=1.5, rate="scale_free"),
            "passes=1.5: expected a whole number of at least 1",
        ),
        (
            OnlineClassifier(class_weight="even", rate="scale_free"),
            "class_weight must be None, a dict or 'balanced'",
        ),
        (
            OnlineClassifier(class_weight={0: -1.0}, rate="scale_free"),
            "weight row 0: -1; expected a number from 0",
        ),
    ],
)
def test_wrong_parameters_are_named(model, words) -> None:
    X, y = load_iris(return_X_y=True)
    with pytest.raises(ValueError, match=words):
        model.fit(X, y)


def test_labels_of_another_kind_are_refused() -> None:
    X, y = load_iris(return_X_y=True)
    model = OnlineClassifier(rate="scale_free").partial_fit(X, y)
    with pytest.raises(ValueError, match="y holds labels of type <U1, expected what the classes"):
        model.partial_fit(X, np.array(list("abc"))[y])
    with pytest.raises(ValueError, match="Unknown label type: continuous"):
        OnlineClassifier(rate="scale_free").partial_fit(X, X[:, 0])
    entropy = OnlineClassifier(mirror=nr.mirrors.SignedEntropy(1.0), rate=nr.rates.Adaptive())
    entropy.partial_fit(X[:100], y[:100])
    with pytest.raises(ValueError, match="declare the classes in the first partial_fit"):
        entropy.partial_fit(X[100:], y[100:])
    assert entropy.fit(X, y).coef_.shape == (3, 4)

"""What is refused: in one line, before anything is learnt, and with the estimator as it was."""

from __future__ import annotations

import pickle

import numpy as np
import pytest

import noregret as nr
from noregret.sklearn import DualClassifier, DualRegressor, OnlineClassifier, OnlineRegressor

MODELS = [OnlineClassifier, OnlineRegressor, DualClassifier, DualRegressor]
UNEVEN = {
    "ball": (nr.mirrors.Ball(1.0), "one_against_rest"),
    "entropy": (nr.mirrors.Entropy(), "one_against_rest"),
    "unnormalized": (nr.mirrors.UnnormalizedEntropy(), "one_against_rest"),
    "signed": (nr.mirrors.SignedEntropy(1.0), "softmax"),
}


def rows(count: int = 30) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    return rng.standard_normal((count, 3)), rng.integers(0, 3, count)


@pytest.mark.parametrize("maker", MODELS)
@pytest.mark.parametrize("begun", ["no", "partial_fit", "fit"])
def test_a_refused_part_of_a_stream_changes_nothing(maker, begun) -> None:
    X, y = rows()
    model = maker()
    if begun != "no":
        getattr(model, begun)(X, y)
    before = pickle.dumps(model)
    for X2, y2, weight, words in (
        (X[:2] * np.nan, [0, 7], None, "contains NaN"),
        (X[:2], [0, 7], [1.0, 1e200], "weight row 1: 1e\\+200"),
        (X[:2], [0, 7], [1.0, -1.0], "Negative values"),
        (X[:3], [0, 7], None, "inconsistent numbers"),
    ):
        with pytest.raises(ValueError, match=words):
            model.partial_fit(X2, y2, sample_weight=weight)
        assert pickle.dumps(model) == before
    if begun == "no":
        with pytest.raises(ValueError, match="not fitted"):
            model.predict(X)


@pytest.mark.parametrize("maker", [OnlineRegressor, DualRegressor])
def test_all_targets_are_looked_at_before_any_chunk_is_learnt(maker, monkeypatch) -> None:
    monkeypatch.setattr("noregret.rows.examples.CHUNK", 12)
    monkeypatch.setattr("noregret.sklearn.rows.CHUNK", 12)
    monkeypatch.setattr("noregret.sklearn.estimator.CHUNK", 12)
    X, y = rows()
    model = maker().partial_fit(X, y)
    before = pickle.dumps(model)
    late = y.astype(float)
    late[-1] = 1e200
    with pytest.raises(ValueError, match="y row 29: label 1e\\+200"):
        model.partial_fit(X, late)
    weight = np.ones(30)
    weight[0], weight[-1] = 0.0, 1e200
    with pytest.raises(ValueError, match="weight row 29"):
        model.partial_fit(X, y, sample_weight=weight)
    weight[-1] = 1.0
    with pytest.raises(ValueError, match="y row 29: label 1e\\+200"):
        model.partial_fit(X, late, sample_weight=weight)
    assert pickle.dumps(model) == before
    with pytest.raises(ValueError, match="y row 29"):
        model.fit(X, late)
    with pytest.raises(ValueError, match="not fitted"):
        model.predict(X)


def test_a_fit_without_passes_learns_nothing() -> None:
    model = OnlineClassifier(passes=0, rate="scale_free")
    with pytest.raises(ValueError, match="passes=0: expected a whole number of at least 1"):
        model.fit(*rows())
    with pytest.raises(ValueError, match="not fitted"):
        model.predict([[0.0, 0.0, 0.0]])


@pytest.mark.parametrize("name", UNEVEN)
def test_a_third_class_is_refused_by_maps_with_a_sign_in_one_call_too(name) -> None:
    mirror, multiclass = UNEVEN[name]
    model = OnlineClassifier(multiclass=multiclass, mirror=mirror, rate=nr.rates.Constant(0.1))
    before = pickle.dumps(model)
    X, y = rows()
    with pytest.raises(ValueError, match=r"y has 3 classes, and .* cannot go on with more"):
        model.partial_fit(X, y)
    assert pickle.dumps(model) == before
    # Before any row there is nothing that would have to be turned round.
    model.partial_fit(X[:1], [0], classes=[0, 1], sample_weight=[0.0]).partial_fit(
        X[:1], [2], classes=[2]
    )
    declared = OnlineClassifier(**model.get_params()).partial_fit(X[:1], [2], classes=[0, 1, 2])
    assert model.coef_.tobytes() == declared.coef_.tobytes()


@pytest.mark.parametrize(
    ("first", "second", "words"),
    [
        (np.array([1, 2, 3]), np.array([2**63 + 1, 2**63 + 3], np.uint64), "told apart"),
        (np.array([2**60 + 1, 2**60 + 2, 3]), np.array([4.0, 5.0]), "told apart"),
        (np.array(["a", "b", "a"]), np.array([b"a", b"c"]), "expected what the classes are"),
        (np.array(["a", "b", "a"]), np.array(["c", 4], object), "several types"),
    ],
)
def test_classes_that_could_be_mistaken_for_one_another_are_refused(first, second, words) -> None:
    X, _ = rows()
    model = OnlineClassifier(rate="scale_free").partial_fit(X[:3], first)
    before = pickle.dumps(model)
    with pytest.raises(ValueError, match=words):
        model.partial_fit(X[:2], second)
    assert pickle.dumps(model) == before


@pytest.mark.parametrize(
    ("model", "words"),
    [
        (DualClassifier(C="1"), "C='1': expected a finite number above 0"),
        (DualRegressor(tol=None), "tol: expected a finite number of at least 0"),
        (
            OnlineClassifier(class_weight=np.ones(3), rate="scale_free"),
            "class_weight must be None, a dict or",
        ),
    ],
)
def test_parameters_of_another_type_are_named(model, words) -> None:
    with pytest.raises(ValueError, match=words):
        model.fit(*rows())


@pytest.mark.parametrize("maker", MODELS)
def test_the_model_is_its_own(maker) -> None:
    X, y = rows()
    model = maker(random_state=0).fit(X + 1.0, y)
    made, coefficients = model.predict(X), model.coef_.copy()
    model.coef_[...] = 99.0
    # A parameter of the next fit says nothing about the last one.
    model.set_params(fit_intercept=False)
    assert (model.predict(X) == made).all() and (model.coef_ == coefficients).all()
    assert np.any(pickle.loads(pickle.dumps(model)).intercept_)

"""The estimators as scikit-learn's users meet them: its own checks, and its own optima."""

from __future__ import annotations

import sys
import warnings

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer, load_diabetes, load_iris
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC

import noregret as nr
from noregret.batch import side_by_side
from noregret.sklearn import DualClassifier, DualRegressor
from tests.sizes import sized

#: The data have 569 rows.
SIZE = sized(150, 569)


@pytest.fixture(scope="module")
def cancer():
    X, y = load_breast_cancer(return_X_y=True)
    X, y = X[:SIZE], y[:SIZE]
    return StandardScaler().fit_transform(X), y


def objective(model, X, y, value, C):
    margins = np.where(y == 1, 1.0, -1.0) * (X @ model.coef_[0] + model.intercept_[0])
    penalty = model.coef_[0] @ model.coef_[0] + model.intercept_[0] ** 2
    return 0.5 * penalty + C * np.sum(value(margins))


@pytest.mark.parametrize("C", [0.01, 1.0])
@pytest.mark.parametrize(
    ("loss", "value", "other"),
    [
        ("hinge", lambda m: np.maximum(1.0 - m, 0.0), LinearSVC(loss="hinge")),
        ("logistic", lambda m: np.logaddexp(0.0, -m), LogisticRegression(solver="liblinear")),
    ],
)
def test_the_optimum_is_that_of_liblinear(cancer, loss, value, other, C) -> None:
    X, y = cancer
    other = clone(other).set_params(C=C, tol=1e-9, max_iter=1_000_000, random_state=0).fit(X, y)
    ours = DualClassifier(loss, C=C, tol=1e-9, max_iter=100_000, random_state=0).fit(X, y)
    theirs = objective(other, X, y, value, C)
    assert objective(ours, X, y, value, C) == pytest.approx(theirs, rel=1e-6)
    assert ours.objective_ == pytest.approx(theirs, rel=1e-6)
    assert 0.0 <= ours.dual_gap_ <= 1e-9 * max(1.0, ours.objective_)


def test_regression_with_a_free_intercept_is_ridge() -> None:
    X, y = load_diabetes(return_X_y=True)
    X = StandardScaler().fit_transform(X)
    ours = DualRegressor(C=0.5, penalize_intercept=False, tol=1e-12, max_iter=100_000).fit(X, y)
    ridge = Ridge(alpha=1.0).fit(X, y)
    assert ours.coef_ == pytest.approx(ridge.coef_, rel=1e-4, abs=1e-3)
    assert ours.intercept_ == pytest.approx(ridge.intercept_, rel=1e-5)


def test_sparse_rows_give_the_same_model(cancer) -> None:
    X, y = cancer
    X = np.where(np.abs(X) > 0.5, X, 0.0)
    dense = DualClassifier(tol=1e-10, random_state=1).fit(X, y)
    for kind in (sparse.csr_array, sparse.csc_matrix):
        model = DualClassifier(tol=1e-10, random_state=1).fit(kind(X), y)
        assert model.coef_ == pytest.approx(dense.coef_, rel=1e-4, abs=1e-6)
        assert (model.predict(kind(X)) == dense.predict(X)).all()


def test_three_classes_in_a_pipeline_and_a_grid() -> None:
    X, y = load_iris(return_X_y=True)
    names = np.array(["setosa", "versicolor", "virginica"])[y]
    pipeline = make_pipeline(StandardScaler(), DualClassifier("squared_hinge", random_state=0))
    weights, folds = sized(([0.01, 1.0], 2), ([0.01, 1.0, 10.0], 5))
    grid = GridSearchCV(pipeline, {"dualclassifier__C": weights}, cv=folds)
    grid.fit(X, names)
    assert grid.best_score_ > 0.9
    assert grid.predict(X[:1]) == ["setosa"]
    assert grid.decision_function(X).shape == (150, 3)


def test_threads_over_classes_change_nothing() -> None:
    X, y = load_iris(return_X_y=True)
    one, two = (
        DualClassifier("logistic", random_state=0, n_jobs=jobs).fit(X, y) for jobs in (1, 2)
    )
    np.testing.assert_array_equal(one.coef_, two.coef_)
    assert one.objective_ == two.objective_


def test_threads_over_shards_reach_the_same_optimum(cancer, monkeypatch) -> None:
    monkeypatch.setattr(sys.modules["noregret.batch.hindsight"], "LEAST_EPOCH", 0)
    monkeypatch.setattr(side_by_side, "LEAST_TURN", 64)
    monkeypatch.setattr(side_by_side, "LEAST_EPOCH", 64)
    X, y = cancer
    one, two = (
        DualClassifier("logistic", tol=1e-6, random_state=0, n_jobs=jobs).fit(X, y)
        for jobs in (None, 2)
    )
    assert one.objective_ == pytest.approx(two.objective_, rel=2e-6)
    assert not np.array_equal(one.coef_, two.coef_)


@pytest.mark.compiled
def test_a_weight_is_a_repetition_and_balance_counts(cancer) -> None:
    X, y = cancer
    weight = np.where(y == 0, 2.0, 1.0)
    twice = np.concatenate([np.arange(len(y)), np.flatnonzero(y == 0)])
    tight = DualClassifier("logistic", tol=1e-11, max_iter=100_000, random_state=0)
    weighted = clone(tight).fit(X, y, sample_weight=weight)
    repeated = clone(tight).fit(X[twice], y[twice])
    assert weighted.coef_ == pytest.approx(repeated.coef_, rel=1e-3, abs=1e-5)
    classes = clone(tight).set_params(class_weight={0: 2.0, 1: 1.0}).fit(X, y)
    assert classes.coef_ == pytest.approx(weighted.coef_, rel=1e-3, abs=1e-5)


@pytest.mark.parametrize(
    ("model", "words"),
    [
        (DualClassifier("square"), "loss='square': no such loss, did you mean squared"),
        (DualClassifier(C=0.0), "C=0.0: expected a finite number above 0"),
        (DualClassifier(C=np.inf), "C=inf: expected a finite number above 0"),
        (DualClassifier(tol=-1.0), "tol=-1.0: expected a finite number of at least 0"),
        (DualClassifier(max_iter=0), "max_iter=0: expected a whole number of at least 1"),
        (DualClassifier(["hinge"]), "expected a loss or the word of one"),
        (DualRegressor("hinge"), "loss='hinge': expected one of real targets"),
        (DualRegressor(nr.losses.Hinge()), "expected one of real targets"),
    ],
)
def test_wrong_parameters_are_named(model, words) -> None:
    X, y = load_iris(return_X_y=True)
    with pytest.raises(ValueError, match=words):
        model.fit(X, y)


def test_a_fit_that_was_cut_short_warns_and_says_by_how_much(cancer) -> None:
    X, y = cancer
    with pytest.warns(ConvergenceWarning, match="the duality gap is"):
        short = DualClassifier(C=100.0, tol=1e-9, max_iter=1).fit(X, y)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        whole = DualClassifier(C=100.0, tol=1e-6, max_iter=100_000).fit(X, y)
    assert short.n_iter_ == 1
    assert 0.0 <= short.objective_ - whole.objective_ <= short.dual_gap_ + whole.dual_gap_


def test_the_certificate_of_a_fit_brackets_the_best_objective(cancer) -> None:
    X, y = cancer
    model = DualClassifier("logistic", C=0.1, tol=1e-8, random_state=0).fit(X, y)
    best = model.certificate_
    value = objective(model, X, y, lambda m: np.logaddexp(0.0, -m), 0.1)
    assert best.dual <= value <= best.primal and best.gap == model.dual_gap_
    X3, y3 = load_iris(return_X_y=True)
    X3, y3 = X3[:: sized(3, 1)], y3[:: sized(3, 1)]
    three = DualClassifier("logistic", random_state=0).fit(X3, y3)
    assert len(three.certificate_) == 3
    assert three.predict_proba(X3).sum(axis=1) == pytest.approx(1.0)
    assert hasattr(model, "predict_proba") and not hasattr(DualClassifier(), "predict_proba")


def test_partial_fit_is_passive_aggressive(cancer) -> None:
    X, y = cancer
    model = DualClassifier(C=0.1, fit_intercept=False).partial_fit(X, y, classes=[0, 1])
    w = np.zeros(X.shape[1])
    for x, label in zip(X, np.where(y == 1, 1.0, -1.0), strict=True):
        w += label * x * min(0.1, max(0.0, 1.0 - label * (w @ x)) / (x @ x))
    assert model.coef_[0] == pytest.approx(w, rel=1e-9, abs=1e-12)
    optimum = DualClassifier(C=0.1, fit_intercept=False, tol=1e-8, random_state=0).fit(X, y)
    assert model.certificate_.dual <= optimum.objective_
    assert model.predict_proba(X).shape == (len(y), 2)
    with pytest.raises(AttributeError, match="no optimum"):
        _ = model.dual_gap_


def test_partial_fit_goes_on_from_the_optimum_and_stays_near(cancer) -> None:
    X, y = cancer
    model = DualClassifier(C=0.1, fit_intercept=False, tol=1e-8, random_state=0)
    half = len(y) // 2
    model.fit(X[:half], y[:half])
    w = model.coef_[0].copy()
    model.partial_fit(X[half:], y[half:])
    for x, label in zip(X[half:], np.where(y[half:] == 1, 1.0, -1.0), strict=True):
        w += label * x * min(0.1, max(0.0, 1.0 - label * (w @ x)) / (x @ x))
    assert model.coef_[0] == pytest.approx(w, rel=1e-9, abs=1e-12)
    assert model.decision_function(X) == pytest.approx(X @ w, rel=1e-8, abs=1e-8)


def test_a_third_class_after_a_fit_of_two() -> None:
    X, y = load_iris(return_X_y=True)
    X = StandardScaler().fit_transform(X)
    model = DualClassifier("logistic", tol=1e-8, random_state=0).fit(X[:100], y[:100])
    before = model.coef_[0].copy()
    model.set_params(C=1e-9).partial_fit(X[100:], y[100:])
    assert model.classes_.tolist() == [0, 1, 2] and model.coef_.shape == (3, 4)
    # The steps are tiny: each of the two is the other turned round, and the third is 0.
    expected = np.vstack([-before, before, 0.0 * before])
    assert model.coef_ == pytest.approx(expected, abs=1e-6)


def test_regression_goes_on_by_exact_steps() -> None:
    X, y = load_diabetes(return_X_y=True)
    X = StandardScaler().fit_transform(X)
    model = DualRegressor("squared", C=0.01, fit_intercept=False).partial_fit(X, y)
    w = np.zeros(X.shape[1])
    for x, target in zip(X, y, strict=True):
        w += x * (target - w @ x) * 0.02 / (1.0 + 0.02 * (x @ x))
    assert model.coef_ == pytest.approx(w, rel=1e-9)
    fitted = DualRegressor(C=0.01, tol=1e-8, random_state=0).fit(X[:200], y[:200])
    before = fitted.predict(X)
    fitted.partial_fit(X[200:201], y[200:201])
    moved = (fitted.predict(X) - before)[200]
    assert moved == pytest.approx(
        (y[200] - before[200]) * (1.0 - 1.0 / (1.0 + 0.02 * (X[200] @ X[200] + 1.0))), rel=1e-6
    )


def test_a_free_intercept_has_no_online_form(cancer) -> None:
    X, y = cancer
    with pytest.raises(ValueError, match="partial_fit needs penalize_intercept=True"):
        DualClassifier(penalize_intercept=False).partial_fit(X, y)


def test_joint_losses_have_the_optimum_of_others() -> None:
    X, y = load_iris(return_X_y=True)
    X = StandardScaler().fit_transform(X)
    ours = DualClassifier(
        "logistic", multiclass="softmax", C=0.5, fit_intercept=False, tol=1e-9, random_state=0
    ).fit(X, y)
    theirs = LogisticRegression(C=0.5, fit_intercept=False, tol=1e-10, max_iter=10_000).fit(X, y)
    assert ours.coef_ == pytest.approx(theirs.coef_, abs=1e-4)
    assert ours.predict_proba(X) == pytest.approx(theirs.predict_proba(X), abs=1e-4)
    hinge = DualClassifier(
        multiclass="crammer_singer", fit_intercept=False, tol=1e-7, random_state=0
    )
    hinge.fit(X, y)
    svm = LinearSVC(multi_class="crammer_singer", fit_intercept=False, tol=1e-9, max_iter=10**6)
    assert hinge.coef_ == pytest.approx(svm.fit(X, y).coef_, abs=1e-3)
    assert hinge.certificate_.dual <= hinge.objective_
    with pytest.raises(ValueError, match="partial_fit needs 'one_against_rest'"):
        hinge.partial_fit(X, y)


def test_two_classes_of_a_joint_loss_share_the_difference_of_their_scores(cancer) -> None:
    X, y = cancer
    joint = DualClassifier("logistic", multiclass="softmax", C=0.1, tol=1e-9, random_state=0)
    # With w_1 = -w_0 = v / 2 the penalty is |v|^2 / 4.
    single = DualClassifier("logistic", C=0.2, tol=1e-9, random_state=0).fit(X, y)
    joint.fit(X, y)
    assert joint.coef_.shape == (1, 30)
    assert joint.coef_ == pytest.approx(single.coef_, abs=1e-3)
    assert joint.predict_proba(X) == pytest.approx(single.predict_proba(X), abs=1e-3)

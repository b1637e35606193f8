"""The estimators as scikit-learn's users meet them: its own checks, and its own optima."""

from __future__ import annotations

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
from sklearn.utils.estimator_checks import parametrize_with_checks

import noregret as nr
from noregret.sklearn import DualClassifier, DualRegressor

#: Two fits to a gap of 1e-10 agree to about its root; these checks ask for 1e-7. That a weight
#: is a repetition is tested below.
COARSE = {
    f"check_sample_weight_equivalence_on_{kind}_data": "fits agree to the root of the gap"
    for kind in ("dense", "sparse")
}


@parametrize_with_checks(
    [
        DualClassifier(tol=1e-10),
        DualClassifier("logistic", tol=1e-10),
        DualRegressor(tol=1e-10),
    ],
    expected_failed_checks=lambda model: {} if model.loss == "hinge" else COARSE,
)
def test_estimators_keep_the_contract_of_scikit_learn(estimator, check) -> None:
    check(estimator)


@pytest.fixture(scope="module")
def cancer():
    X, y = load_breast_cancer(return_X_y=True)
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
    grid = GridSearchCV(pipeline, {"dualclassifier__C": [0.01, 1.0, 10.0]}).fit(X, names)
    assert grid.best_score_ > 0.9
    assert grid.predict(X[:1]) == ["setosa"]
    assert grid.decision_function(X).shape == (150, 3)


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
        (DualClassifier("square"), "loss must be one of hinge, logistic, squared_hinge"),
        (DualClassifier(C=0.0), "C must be a finite number above 0, got 0"),
        (DualClassifier(C=np.inf), "C must be a finite number above 0, got inf"),
        (DualClassifier(tol=-1.0), "tol must be a finite number of at least 0, got -1"),
        (DualClassifier(max_iter=0), "max_iter must be at least 1, got 0"),
        (DualClassifier(["hinge"]), "loss must be one of hinge, logistic, squared_hinge"),
        (DualRegressor("hinge"), "loss must be one of absolute"),
        (DualRegressor(nr.losses.Hinge()), "expects -1 or \\+1"),
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

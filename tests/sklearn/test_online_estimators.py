"""The online estimators on real data: as good as those people know, raw features or not."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.special import expit
from sklearn.base import clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.datasets import load_breast_cancer, load_diabetes, load_digits, load_iris, load_wine
from sklearn.linear_model import LinearRegression, SGDClassifier
from sklearn.metrics import log_loss
from sklearn.model_selection import GridSearchCV, StratifiedKFold, cross_val_score, train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC

import noregret as nr
from noregret.scoring.scorer import Platt
from noregret.sklearn import OnlineClassifier, OnlineRegressor
from tests.sizes import sized

DATA = {
    "digits": load_digits,
    "cancer": load_breast_cancer,
    "wine": load_wine,
    "iris": load_iris,
}
STEP = sized(3, 1)
#: Accuracies of 5 folds that the defaults reach on raw features.
REACHED = {"digits": 0.94, "cancer": 0.93, "wine": 0.91, "iris": 0.93}


@pytest.mark.compiled
@pytest.mark.parametrize("rate", [None, "scale_free"])
@pytest.mark.parametrize("name", DATA)
def test_what_needs_no_tuning_is_better_than_sgd_on_raw_features(name, rate) -> None:
    X, y = DATA[name](return_X_y=True)
    folds = StratifiedKFold(shuffle=True, random_state=0)
    ours = cross_val_score(OnlineClassifier(random_state=0, rate=rate), X, y, cv=folds).mean()
    sgd = cross_val_score(SGDClassifier(random_state=0), X, y, cv=folds).mean()
    assert ours > max(sgd, REACHED[name])


@pytest.mark.compiled
@pytest.mark.parametrize("rate", [None, "scale_free"])
def test_regression_is_about_as_good_as_least_squares(rate) -> None:
    X, y = load_diabetes(return_X_y=True)
    passes, folds = sized((6, 2), (10, 5))
    blank = OnlineRegressor(passes=passes, random_state=0, rate=rate)
    ours = cross_val_score(blank, X, y, cv=folds).mean()
    assert ours > cross_val_score(LinearRegression(), X, y, cv=folds).mean() - 0.03


def test_the_weights_of_scale_free_predict_within_the_range_of_the_targets() -> None:
    X, y = load_diabetes(return_X_y=True)
    passes = sized(2, 10)
    model = OnlineRegressor(passes=passes, random_state=0, rate="scale_free").fit(X, y)
    inside = np.clip(X @ model.coef_ + model.intercept_, y.min(), y.max())
    assert model.predict(X) == pytest.approx(inside, rel=1e-9)


@pytest.mark.parametrize("multiclass", ["one_against_rest", "softmax"])
def test_units_of_the_features_do_not_matter(multiclass) -> None:
    X, y = load_wine(return_X_y=True)
    scales = 10.0 ** np.random.default_rng(0).uniform(-3.0, 3.0, X.shape[1])
    model = OnlineClassifier(
        multiclass=multiclass, passes=sized(2, 10), random_state=0, rate="scale_free"
    )
    plain, scaled = clone(model).fit(X, y), clone(model).fit(X * scales, y)
    assert scaled.predict_proba(X * scales) == pytest.approx(plain.predict_proba(X), rel=1e-6)


def test_fit_plays_its_passes_and_certifies_all_rounds() -> None:
    X, y = load_wine(return_X_y=True)
    X, y = X[::STEP], y[::STEP]
    model = OnlineClassifier(passes=3, random_state=0, rate="scale_free").fit(X, y)
    certificate = model.certificate_
    assert certificate.rounds == 3 * len(y)
    W = np.vstack([model.coef_.T, model.intercept_])
    wide = np.hstack([X, np.ones((len(X), 1))])
    signs = np.where(np.arange(3) == y[:, None], 1.0, -1.0)
    of_last = 3.0 * np.logaddexp(0.0, -signs * (wide @ W)).sum()
    assert certificate.loss - certificate.regret(W) <= of_last
    again = clone(model).fit(X, y)
    assert again.coef_.tobytes() == model.coef_.tobytes()
    other = clone(model).set_params(random_state=1).fit(X, y)
    assert other.coef_.tobytes() != model.coef_.tobytes()
    ordered = OnlineClassifier(passes=2, shuffle=False, rate="scale_free").fit(X, y)
    twice = (
        OnlineClassifier(rate="scale_free").partial_fit(X, y, classes=[0, 1, 2]).partial_fit(X, y)
    )
    assert ordered.coef_.tobytes() == twice.coef_.tobytes()


def test_pipelines_grids_and_clones() -> None:
    X, y = load_iris(return_X_y=True)
    names = np.array(["setosa", "versicolor", "virginica"])[y]
    passes, folds = sized((3, 2), (10, 5))
    pipeline = make_pipeline(
        StandardScaler(), OnlineClassifier(passes=passes, random_state=0, rate="scale_free")
    )
    grid = GridSearchCV(
        pipeline,
        [
            {"onlineclassifier__rate": ["scale_free", "coin_betting", nr.rates.Constant(0.1)]},
            {"onlineclassifier__multiclass": ["softmax"]},
        ],
        error_score="raise",
        cv=folds,
    )
    grid.fit(X, names)
    assert grid.best_score_ > 0.93
    assert grid.predict(X[:1]) == ["setosa"]
    assert clone(grid.best_estimator_).get_params().keys() == pipeline.get_params().keys()


@pytest.mark.parametrize("class_weight", [None, "balanced"])
def test_balance_of_fit_is_that_of_scikit_learn(class_weight) -> None:
    X, y = load_breast_cancer(return_X_y=True)
    X, y = X[:250], y[:250]
    passes = sized(2, 10)
    model = OnlineClassifier(
        class_weight=class_weight, passes=passes, random_state=0, rate="scale_free"
    ).fit(X, y)
    counts = np.bincount(y)
    factors = len(y) / (2.0 * counts) if class_weight else np.ones(2)
    weighted = OnlineClassifier(passes=passes, random_state=0, rate="scale_free")
    weighted.fit(X, y, sample_weight=factors[y])
    assert model.coef_.tobytes() == weighted.coef_.tobytes()


@pytest.mark.compiled
@pytest.mark.parametrize("name", ["cancer", "digits"])
@pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])
def test_margins_are_calibrated_about_as_well_as_by_cross_validation(name, loss) -> None:
    X, y = DATA[name](return_X_y=True)
    train, test, labels, truth = train_test_split(X, y, random_state=0, stratify=y)
    model = OnlineClassifier(loss, random_state=0, rate="scale_free").fit(train, labels)
    other = make_pipeline(StandardScaler(), CalibratedClassifierCV(LinearSVC(), ensemble=False))
    ours = log_loss(truth, model.predict_proba(test))
    assert ours < log_loss(truth, other.fit(train, labels).predict_proba(test)) + 0.1
    margins = model.decision_function(test)
    raw = expit(100.0 * margins)
    overconfident = np.column_stack([1.0 - raw, raw]) if margins.ndim == 1 else raw
    assert ours < log_loss(truth, overconfident / overconfident.sum(axis=1, keepdims=True))


@pytest.mark.parametrize("outputs", [2, 4])
def test_platt_finds_the_slope_that_made_the_labels(outputs) -> None:
    rng, count = np.random.default_rng(0), sized(5_000, 20_000)
    scores = rng.standard_normal((count, outputs)) * 2.0
    chances = np.exp(1.7 * scores)
    chances /= chances.sum(axis=1, keepdims=True)
    codes = (rng.random((count, 1)) > np.cumsum(chances, axis=1)).sum(axis=1)
    given = scores[:, 1] - scores[:, 0] if outputs == 2 else scores
    platt = Platt(outputs)
    platt.learn(given, codes, np.ones(count))
    assert platt.state[:, 0] == pytest.approx(1.7, rel=0.05)
    assert platt.probabilities(given) == pytest.approx(chances, abs=0.03)
    before = platt.probabilities(given)
    platt.grow(1.0)
    if outputs == 2:
        pairs = np.column_stack([-0.5 * given, 0.5 * given])
        assert platt.probabilities(pairs) == pytest.approx(before, abs=0.03)


def test_platt_takes_newton_steps_on_the_log_loss() -> None:
    scores = np.array([[1.0, 0.2, -0.5], [0.3, 0.9, 0.1]])
    codes, weight = np.array([1, 1]), np.array([2.0, 0.5])
    platt, a, curvature = Platt(3), 1.0, 1.0
    platt.learn(scores, codes, weight)
    for s, code, c in zip(scores, codes, weight, strict=True):
        p = np.exp(a * s) / np.exp(a * s).sum()
        curvature += c * (p @ s**2 - (p @ s) ** 2)
        a -= c * (p @ s - s[code]) / curvature
    assert platt.state[0] == pytest.approx([a, curvature], rel=1e-12)


def test_platt_of_two_classes_becomes_one_slope_for_scores_twice_as_far_apart() -> None:
    rng = np.random.default_rng(3)
    X, y = rng.normal(size=(60, 2)), rng.integers(0, 2, 60)
    scorer = (
        OnlineClassifier(loss="hinge", fit_intercept=False, rate="scale_free")
        .partial_fit(X, y)
        ._learner
    )
    slopes, curvatures = scorer.platt.state.T
    before, mean = scorer.predict(X), slopes @ curvatures / curvatures.sum()
    scorer.grow(3)
    apart = scorer.predict(X)
    assert apart[:, 1] - apart[:, 0] == pytest.approx(2.0 * before)
    assert scorer.platt.state == pytest.approx(np.array([[0.5 * mean, 4.0 * curvatures.sum()]]))
    state = scorer.platt.state.copy()
    scorer.grow(4)
    assert np.array_equal(scorer.platt.state, state)


def test_platt_stays_finite_whatever_a_row_weighs() -> None:
    platt = Platt(2)
    # Nearly no curvature and a huge weight: the slope leaps to 1e39, and scores times it overflow.
    platt.learn(np.array([1e-60]), np.array([1]), np.array([1e100]))
    assert platt.state[0, 0] > 1e30
    assert platt.probabilities(np.array([1e300, 0.0, -1e300])).tolist() == [
        [0.0, 1.0],
        [0.5, 0.5],
        [1.0, 0.0],
    ]
    platt.learn(np.full(5, 1e-160), np.ones(5, np.intp), np.full(5, 1e200))
    assert np.isfinite(platt.state).all()


def test_probabilities_are_the_links_of_their_losses() -> None:
    X, y = load_wine(return_X_y=True)
    passes = sized(2, 10)
    binary = OnlineClassifier(passes=passes, random_state=0, rate="scale_free").fit(
        X[y < 2], y[y < 2]
    )
    margins = binary.decision_function(X)
    assert binary.predict_proba(X)[:, 1] == pytest.approx(1.0 / (1.0 + np.exp(-margins)))
    joint = OnlineClassifier(
        multiclass="softmax", passes=passes, random_state=0, rate="scale_free"
    ).fit(X, y)
    powers = np.exp(joint.decision_function(X))
    assert joint.predict_proba(X) == pytest.approx(powers / powers.sum(axis=1, keepdims=True))
    separate = OnlineClassifier(passes=passes, random_state=0, rate="scale_free").fit(X, y)
    chances = 1.0 / (1.0 + np.exp(-separate.decision_function(X)))
    expected = chances / chances.sum(axis=1, keepdims=True)
    assert separate.predict_proba(X) == pytest.approx(expected)
    assert np.exp(separate.predict_log_proba(X)) == pytest.approx(expected)


def test_two_classes_of_a_joint_loss_share_the_difference_of_their_scores() -> None:
    X, y = load_breast_cancer(return_X_y=True)
    X, y = X[:: sized(2, 1)], y[:: sized(2, 1)]
    model = OnlineClassifier(
        multiclass="softmax", passes=sized(4, 10), random_state=0, rate="scale_free"
    ).fit(X, y)
    assert model.coef_.shape == (1, 30) and model.intercept_.shape == (1,)
    margins = X @ model.coef_[0] + model.intercept_[0]
    assert model.decision_function(X) == pytest.approx(margins, rel=1e-6, abs=1e-6)
    assert model.score(X, y) > 0.93


def test_other_maps_have_a_learner_and_a_certificate_a_class() -> None:
    X, y = load_iris(return_X_y=True)
    X = StandardScaler().fit_transform(X)
    model = OnlineClassifier(
        "hinge", mirror=nr.mirrors.Ball(5.0), rate=nr.rates.Adaptive(), random_state=0
    ).fit(X, y)
    assert model.score(X, y) > 0.8
    assert [type(each).__name__ for each in model.certificate_] == ["Certificate"] * 3

"""The certificates of the scores, each tried against fixed predictors of that very score."""

from __future__ import annotations

import numpy as np
import pytest

import noregret as nr
from noregret.sklearn import DualClassifier, DualRegressor, OnlineClassifier

VALUES = {
    "hinge": lambda m: np.maximum(0.0, 1.0 - m),
    "logistic": lambda m: np.logaddexp(0.0, -m),
    "squared_hinge": lambda m: np.maximum(0.0, 1.0 - m) ** 2 / 2.0,
}
STREAMED = {
    "coins": OnlineClassifier(rate="coin_betting"),
    "grid": OnlineClassifier("hinge", rate="grid"),
    "mixture": OnlineClassifier(multiclass="one_against_rest", rate="mixture"),
    "adaptive": OnlineClassifier("squared_hinge", rate=nr.rates.Adaptive()),
    "dual": DualClassifier("hinge", C=0.3),
    "dual logistic": DualClassifier("logistic", C=0.3),
}


def stream(count: int = 160) -> tuple[np.ndarray, np.ndarray]:
    """Return rows with a constant, and classes of which the third comes late."""
    rng = np.random.default_rng(2)
    X = rng.standard_normal((count, 3))
    y = (X @ rng.standard_normal((3, 3)) + rng.standard_normal((count, 3))).argmax(axis=1)
    y[:50] = np.minimum(y[:50], 1)
    return np.column_stack([X, np.ones(count)]), y


def rivals(center: np.ndarray, count: int = 200) -> np.ndarray:
    rng = np.random.default_rng(4)
    sizes = rng.choice([0.1, 0.5, 1.0, 3.0], (count, 1))
    return center + sizes * rng.standard_normal((count, len(center)))


@pytest.mark.parametrize("name", STREAMED)
def test_a_class_that_was_turned_round_certifies_its_own_score(name) -> None:
    X, y = stream()
    model = STREAMED[name].__class__(**STREAMED[name].get_params())
    model.partial_fit(X[:, :3], y)
    value = VALUES[model.loss]
    weights = np.column_stack([model.coef_, model.intercept_])
    for k, (label, certificate) in enumerate(zip(model.classes_, model.certificate_, strict=True)):
        # The third class is played from its first row on.
        begin = 0 if k < 2 else int((y == label).argmax())
        signs = np.where(y[begin:] == label, 1.0, -1.0)
        assert certificate.rounds == len(signs)
        for u in rivals(weights[k]):
            loss = value(signs * (X[begin:] @ u)).sum()
            assert certificate.loss - loss <= certificate.regret(u)


def test_a_mixture_of_softmax_certifies_matrices_of_weights() -> None:
    X, y = stream()
    X[:, :3] += [0.0, 20.0, 50.0]
    model = OnlineClassifier(multiclass="softmax", rate="mixture").partial_fit(X[:, :3], y)
    certificate = model.certificate_
    known = np.maximum(np.maximum.accumulate(y) + 1, 2)
    losses = []
    center = np.column_stack([model.coef_, model.intercept_]).ravel()
    sizes = np.abs(X).max(axis=0)
    for u in [*rivals(center), *rivals(np.zeros(12)), np.zeros(12)]:
        scores = X @ u.reshape(3, 4).T
        # The third class is in the losses from its first row on.
        unknown = np.arange(3) >= known[:, None]
        logs = scores - np.logaddexp.reduce(np.where(unknown, -np.inf, scores), axis=1)[:, None]
        losses.append(-logs[np.arange(len(y)), y].sum())
        length = float(np.linalg.norm(u.reshape(3, 4) * sizes))
        assert certificate.floor(length * (1.0 + 1e-12)) <= losses[-1]
        assert certificate.loss - losses[-1] <= certificate.regret(u.reshape(3, 4).T)
    assert losses[-1] == pytest.approx(np.log(known).sum()) and certificate.floor(0.0) > 100.0
    # What is shown is one member, in the features as they were given.
    place, member = model._learner.learner.representative
    rows = np.array([X[:, :3].mean(axis=0), np.median(X[:, :3], axis=0)])
    made = rows @ model.coef_.T + model.intercept_
    expected = member.predict(np.column_stack([rows, np.ones(2)]))
    assert np.allclose(made, expected) and place == np.argmax(model._learner.learner.shares)
    assert np.allclose(np.exp(model.decision_function(rows)), model.predict_proba(rows))


def test_rounds_after_a_fit_certify_balls_around_its_optimum() -> None:
    X, y = stream()
    # Far from 0, so that a ball around 0 is another class.
    model = DualClassifier("hinge", C=50.0, random_state=0).fit(X[:80, :3], y[:80] > 0)
    anchor = np.append(model.coef_[0], model.intercept_)
    model.set_params(C=0.05).partial_fit(X[80:, :3], ~(y[80:] > 0))
    certificate = model.certificate_
    signs = np.where(~(y[80:] > 0), 1.0, -1.0)
    assert "the optimum of fit" in str(certificate) and "the optimum" in certificate.describe(1.0)
    for u in rivals(anchor):
        loss = VALUES["hinge"](signs * (X[80:] @ u)).sum()
        away = float(np.linalg.norm(u - anchor))
        assert certificate.floor(away * (1.0 + 1e-12)) <= loss
        assert certificate.dual <= away**2 / 2.0 + 0.05 * loss
        assert certificate.loss - loss <= certificate.regret(u)
    at_zero = VALUES["hinge"](np.zeros(80)).sum()
    assert certificate.loss - at_zero <= certificate.regret(np.zeros(4))
    with pytest.raises(ValueError, match="u has shape"):
        certificate.regret(np.zeros(3))


def test_regression_after_a_fit_certifies_against_predictors_themselves() -> None:
    X, _ = stream()
    target = X @ [5.0, -3.0, 2.0, 1.0]
    model = DualRegressor("absolute", C=50.0, random_state=0).fit(X[:80, :3], target[:80])
    anchor = np.append(model.coef_, model.intercept_)
    certificate = model.set_params(C=0.1).partial_fit(X[80:, :3], -target[80:]).certificate_
    for u in [*rivals(anchor), np.zeros(4), -anchor]:
        loss = np.abs(X[80:] @ u + target[80:]).sum()
        assert certificate.loss - loss <= certificate.regret(u)
        assert certificate.floor(float(np.linalg.norm(u - anchor)) * (1.0 + 1e-12)) <= loss

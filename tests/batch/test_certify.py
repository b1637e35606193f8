"""Certificates for predictions made by other tools, held against independent optima."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from scipy.sparse import coo_array, csr_array
from sklearn.ensemble import GradientBoostingRegressor
from sklearn.linear_model import LogisticRegression, SGDClassifier

import noregret as nr
from noregret import losses, mirrors, rates
from noregret.learners.foreign import Certifier
from noregret.proof.ledger import Entry
from tests.truth.comparators import Class, comparators
from tests.truth.learners import COMBOS, Combo
from tests.truth.referee import Referee
from tests.truth.streams import layout

Vector = npt.NDArray[np.float64]


def classification(seed: int = 0, n: int = 400, d: int = 5) -> tuple[Vector, Vector]:
    random = np.random.default_rng(seed)
    X = random.normal(size=(n, d)) / np.sqrt(d)
    margins = X @ random.normal(size=d) * 3.0 + 0.3 * random.normal(size=n)
    return X, np.where(margins > 0.0, 1.0, -1.0)


def assert_below_the_best(
    proof: nr.Certificate, X: Vector, y: Vector, loss: losses.Loss, weight: Vector | None = None
) -> dict[float, tuple[float, float]]:
    """Hold floors of several radii against the best that solvers find; return both."""
    random = np.random.default_rng(0)
    referee = Referee(loss, X, y, np.ones(len(y)) if weight is None else weight)
    found = {}
    for radius in (0.0, 0.5, 2.0, 16.0):
        floor = proof.floor(radius)
        tried = comparators(random, referee, Class("2", radius), proof.gradient, 1.0)
        assert all(referee.exceeds(u, [floor])[0] for u in tried)
        best = min(float(referee.approximate(u)[0]) for u in tried)
        found[radius] = floor, best
    floors = [floor for floor, _ in found.values()]
    assert floors == sorted(floors, reverse=True)
    return found


def test_stochastic_gradient_descent_of_scikit_learn_progressively() -> None:
    X, y = classification()
    model = SGDClassifier(loss="hinge", random_state=0)
    predictions = np.zeros(len(y))
    for k in range(0, len(y), 20):
        part = slice(k, k + 20)
        if k:
            predictions[part] = model.decision_function(X[part])
        model.partial_fit(X[part], y[part], classes=[-1.0, 1.0])
    proof = nr.certify(X, y, predictions, losses.Hinge())
    assert proof.loss == pytest.approx(np.maximum(1.0 - y * predictions, 0.0).sum(), rel=1e-12)
    assert proof.mistakes == int(np.sum(y * predictions <= 0.0))
    found = assert_below_the_best(proof, X, y, losses.Hinge())
    assert found[0.0][0] > 0.0


def test_logistic_regression_of_scikit_learn_is_proved_nearly_best() -> None:
    X, y = classification()
    model = LogisticRegression(C=1.0, fit_intercept=False, tol=1e-10).fit(X, y)
    length = float(np.linalg.norm(model.coef_))
    proof = nr.certify(X, y, model.decision_function(X), losses.Logistic())
    found = assert_below_the_best(proof, X, y, losses.Logistic())
    # At its own norm the model is optimal (its gradient points along -w), and that is proved.
    assert proof.floor(length) == pytest.approx(proof.loss, rel=1e-7)
    assert proof.floor(length) <= proof.loss
    assert found[0.5][0] > 0.5 * found[0.5][1]


def test_gradient_boosting_of_scikit_learn_beats_every_linear_model() -> None:
    random = np.random.default_rng(3)
    X = random.uniform(-1.0, 1.0, (2000, 3))
    y = np.abs(X[:, 0]) + X[:, 1] ** 2
    # Half trained: slopes that shrink towards the mean are what proves something here.
    model = GradientBoostingRegressor(random_state=0, n_estimators=7).fit(X, y)
    proof = nr.certify(X, y, model.predict(X), losses.Squared())
    found = assert_below_the_best(proof, X, y, losses.Squared())
    for radius in (0.0, 0.5, 2.0):
        floor, best = found[radius]
        assert proof.loss < floor <= best
    # Least squares over all of space is above the floor of any radius too.
    residual = float(np.linalg.lstsq(X, y, rcond=None)[1][0])
    assert found[16.0][0] <= residual


def test_river_progressively() -> None:
    river = pytest.importorskip("river", reason="River is not installed")
    from river import linear_model, optim

    assert river
    X, y = classification(n=200)
    model = linear_model.LogisticRegression(optim.SGD(0.5), intercept_lr=0.0)
    predictions = np.zeros(len(y))
    for t in range(len(y)):
        row = {str(j): float(x) for j, x in enumerate(X[t])}
        chance = model.predict_proba_one(row).get(True, 0.5)
        predictions[t] = math.log(chance / (1.0 - chance))
        model.learn_one(row, bool(y[t] > 0.0))
    proof = nr.certify(X, y, predictions, losses.Logistic())
    assert_below_the_best(proof, X, y, losses.Logistic())


def test_arbitrary_predictions_prove_true_floors() -> None:
    X, y = classification(n=100)
    random = np.random.default_rng(1)
    for scale in (0.0, 1e-8, 1.0, 1e3, 1e12):
        predictions = random.normal(size=100) * scale
        for loss in (losses.Logistic(), losses.Hinge(0.5), losses.Squared()):
            assert_below_the_best(nr.certify(X, y, predictions, loss), X, y, loss)


LAZY = [combo for combo in COMBOS if not combo.conservative and combo.loss != "user"]


@pytest.mark.parametrize("combo", LAZY[::3], ids=lambda combo: combo.name)
def test_a_learners_own_predictions_give_its_own_certificate(combo: Combo) -> None:
    random = np.random.default_rng(5)
    X, y = classification(seed=6, n=150, d=4)
    X = X.astype(np.float32).astype(np.float64)
    weight = random.exponential(size=150)
    learner = combo.learner(random, 1.0, 4)
    rows = layout(X, combo.layout)
    predictions = learner.learn(rows, y, weight)
    own = learner.certificate()
    proof = nr.certify(rows, y, predictions, learner.loss, weight, mirror=own.mirror)
    for place in (Entry.LOSS, Entry.INTERCEPT, Entry.TRAVEL, Entry.MAGNITUDE, Entry.MISTAKES):
        assert proof.ledger[place] == own.ledger[place], place.name
    assert np.abs(proof.gradient - own.gradient).max() <= 1e-13 * own.ledger[Entry.TRAVEL]
    if own.curvature == 0.0:
        assert proof.floor(1.0) == pytest.approx(own.floor(1.0), rel=1e-12, abs=1e-11)
    assert proof.bounds_for(1.0) == []


def test_layouts_and_precisions_agree() -> None:
    X, y = classification(n=80)
    X = np.where(np.abs(X) < 0.3, 0.0, X).astype(np.float32).astype(np.float64)
    predictions = np.random.default_rng(0).normal(size=80)
    expected = nr.certify(X, y, predictions, losses.Logistic())
    given: list[Any] = [X.astype(np.float32), csr_array(X), coo_array(X), X.tolist()]
    given += [csr_array(X.astype(np.float32)), np.asfortranarray(X)]
    for rows in given:
        proof = nr.certify(rows, y, predictions, losses.Logistic())
        assert proof.loss == expected.loss and proof.intercept == expected.intercept
        np.testing.assert_allclose(proof.gradient, expected.gradient, rtol=0.0, atol=1e-13)


def test_whole_weights_are_repetitions() -> None:
    X, y = classification(n=60)
    random = np.random.default_rng(2)
    predictions, times = random.normal(size=60), random.integers(0, 4, 60)
    proof = nr.certify(X, y, predictions, losses.Logistic(), weight=times)
    repeated = nr.certify(
        X.repeat(times, axis=0), y.repeat(times), predictions.repeat(times), losses.Logistic()
    )
    assert proof.loss == pytest.approx(repeated.loss, rel=1e-13)
    assert proof.floor(1.0) == pytest.approx(repeated.floor(1.0), rel=1e-12)
    assert_below_the_best(proof, X, y, losses.Logistic(), times.astype(float))


def test_the_map_chooses_the_class() -> None:
    X, y = classification(n=50, d=3)
    random = np.random.default_rng(0)
    predictions = random.normal(size=50)
    for mirror, shape in (
        (mirrors.Entropy(), "simplex"),
        (mirrors.SignedEntropy(1.0), "1"),
        (mirrors.PNorm(4.0), repr(4.0 / 3.0)),
        (mirrors.UnnormalizedEntropy(), "subsimplex"),
    ):
        proof = nr.certify(X, y, predictions, losses.Hinge(), mirror=mirror)
        referee = Referee(losses.Hinge(), X, y, np.ones(50))
        for u in comparators(random, referee, Class(shape, 2.0), proof.gradient, 1.0):
            assert referee.exceeds(u, [proof.floor(2.0)])[0]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"y": [1, 2]}, "y row 1: label 2; Hinge expects -1 or \\+1"),
        ({"y": [1]}, "y has shape \\(1,\\), expected \\(2,\\)"),
        ({"predictions": [0.0]}, "predictions has shape"),
        ({"predictions": [0.0, math.nan]}, "predictions row 1: nan"),
        ({"predictions": [math.inf, 0.0]}, "predictions row 0: inf"),
        ({"X": [[1.0], [math.nan]]}, "X row 1: a value is not finite"),
        ({"X": [[1.0], ["a"]]}, "X must hold numbers"),
        ({"weight": [1.0, -1.0]}, "weight row 1: -1"),
        ({"loss": losses.Squared(), "predictions": [0.0, 1e149], "weight": [1, 1e90]}, "overflows"),
    ],
)
def test_bad_input_is_refused_in_one_line(change: dict[str, Any], message: str) -> None:
    given = {"X": [[1.0], [2.0]], "y": [1, -1], "predictions": [0.0, 0.5], "loss": losses.Hinge()}
    with pytest.raises(ValueError, match=message) as caught:
        nr.certify(**(given | change))
    assert "\n" not in str(caught.value)


class Uphill(losses.Squared):
    """A loss whose slope has the wrong sign: its tangents are no floors."""

    def slope(self, y, p):  # type: ignore[no-untyped-def]
        return -2.0 * (p - y)


def test_a_loss_that_its_slopes_do_not_support_is_refused_at_once() -> None:
    assert Certifier(losses.Squared()).certificate().rounds == 0
    for loss in (Uphill(), losses.Loss()):
        with pytest.raises(ValueError, match=type(loss).__name__):
            Certifier(loss)


def test_no_rows_prove_nothing() -> None:
    proof = nr.certify(np.zeros((0, 3)), [], [], losses.Hinge())
    assert proof.rounds == 0 and proof.floor(1.0) == proof.loss == 0.0


def test_rounds_that_a_learner_never_saw_can_be_certified() -> None:
    X, y = classification(n=300)
    learner = nr.MirrorDescent(losses.Logistic(), mirrors.Ball(2.0), rates.Adaptive())
    learner.learn(X[:200], y[:200])
    proof = nr.certify(X[200:], y[200:], learner.predict(X[200:]), losses.Logistic())
    assert_below_the_best(proof, X[200:], y[200:], losses.Logistic())

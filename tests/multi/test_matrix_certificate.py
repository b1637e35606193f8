"""What a run with several scores proves, and what it refuses."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from noregret import catalogue, losses, mirrors, rates
from noregret.learners import MatrixDescent
from noregret.norms import spectral_upper
from tests.sizes import sized

Vector = np.ndarray


def stream(n: int = 150, d: int = 6, k: int = 4, seed: int = 0) -> tuple[Vector, Vector]:
    random = np.random.default_rng(seed)
    X = random.normal(size=(n, d))
    X /= np.linalg.norm(X, axis=1, keepdims=True)
    return X, np.argmax(X @ random.normal(size=(d, k)) + 0.3 * random.normal(size=(n, k)), axis=1)


def loss_of(loss: losses.ScoreLoss, X: Vector, y: Vector, U: Vector) -> float:
    slopes = np.empty(U.shape[1])
    return sum(loss.value_and_slopes(float(c), s, slopes) for c, s in zip(y, X @ U, strict=True))


def descended(loss: losses.ScoreLoss, X: Vector, y: Vector, project: Any, steps: int) -> Vector:
    """Return a good member of a class, by projected subgradient descent."""
    U, best, slopes = np.zeros((X.shape[1], int(y.max()) + 1)), None, np.empty(int(y.max()) + 1)
    for step in range(1, steps + 1):
        G = np.zeros_like(U)
        for x, c in zip(X, y, strict=True):
            loss.value_and_slopes(float(c), x @ U, slopes)
            G += np.outer(x, slopes)
        U = project(U - G / math.sqrt(step) / 10.0)
        value = loss_of(loss, X, y, U)
        if best is None or value < best[0]:
            best = value, U
    assert best is not None
    return best[1]


def within_frobenius(U: Vector, radius: float) -> Vector:
    return U * min(1.0, radius / np.linalg.norm(U))


def within_columns(U: Vector, radius: float) -> Vector:
    return U * np.minimum(1.0, radius / np.maximum(np.linalg.norm(U, axis=0), 1e-300))


def within_trace(U: Vector, radius: float) -> Vector:
    return U * min(1.0, radius / np.linalg.svd(U, compute_uv=False).sum())


CLASSES: dict[Any, Any] = {
    None: within_frobenius,
    "columns": within_columns,
    "trace": within_trace,
}


@pytest.mark.each_value
@pytest.mark.parametrize("norm", CLASSES)
@pytest.mark.parametrize("loss", [losses.Softmax(), losses.MulticlassHinge()], ids=str)
def test_floors_are_below_what_descent_finds(loss: losses.ScoreLoss, norm: Any) -> None:
    X, y = stream()
    learner = MatrixDescent(loss, mirrors.Euclidean(), rates.Constant(0.3))
    learner.learn(X, y)
    certificate = learner.certificate()
    for radius in (0.5, 2.0):
        U = descended(loss, X, y, lambda V, r=radius: CLASSES[norm](V, r), sized(20, 40))
        found = loss_of(loss, X, y, U)
        floor = certificate.floor(radius, norm)
        assert floor <= found * (1.0 + 1e-12)
        # Far from empty: the floor of 0 scores alone is far lower.
        assert floor > 0.25 * found
        assert certificate.loss - found <= certificate.regret(U)


def test_larger_classes_have_lower_floors() -> None:
    X, y = stream()
    learner = MatrixDescent(losses.Softmax(), mirrors.Euclidean(), rates.Constant(0.3))
    learner.learn(X, y)
    certificate = learner.certificate()
    floors = [certificate.floor(0.5, norm) for norm in ("columns", None, "trace", 1)]
    assert floors == sorted(floors) and len(set(floors)) == 4
    assert certificate.floor(0.5) == certificate.floor(0.5, 2.0)
    # One column of norm r has Frobenius and trace norm r: all floors lie above this.
    z = certificate.gradient.reshape(4, -1)
    lowest = certificate.intercept - 0.5 * np.linalg.norm(z, axis=1).sum()
    assert floors[0] == pytest.approx(lowest, rel=1e-9)


@pytest.mark.parametrize("shape", [(1, 1), (3, 50), (50, 3), (1, 9), (20, 20)])
def test_the_spectral_norm_is_rounded_up(shape: tuple[int, int]) -> None:
    random = np.random.default_rng(3)
    for size in (1e-200, 1.0, 1e150):
        for _ in range(20):
            z = size * random.normal(size=shape) * np.exp(5.0 * random.normal(size=(1, shape[1])))
            true = float(np.linalg.svd(z, compute_uv=False)[0])
            found = spectral_upper(z)
            assert true <= found * (1.0 + 1e-15) and found <= true * (1.0 + 1e-12)
    assert spectral_upper(np.zeros(shape)) == 0.0
    one = np.outer(np.arange(1.0, shape[0] + 1.0), np.ones(shape[1]))
    exact = math.sqrt(shape[1] * sum(k * k for k in range(1, shape[0] + 1)))
    assert exact <= spectral_upper(one) <= exact * (1.0 + 1e-12)


def test_theorems_hold_of_the_runs_they_speak_about() -> None:
    X, y = stream(400, 8, 5)
    for learner in (
        catalogue.softmax_regression(2.0),
        catalogue.multiclass_ogd(2.0, 400),
        MatrixDescent(losses.Softmax(), mirrors.PNorm(4.0), rates.Constant(0.1)),
        MatrixDescent(losses.OneAgainstRest(), mirrors.SignedEntropy(2.0), rates.Adaptive()),
    ):
        learner.learn(X, y)
        certificate = learner.certificate()
        radius = 0.7 * certificate.radius
        for bound in certificate.bounds_for(radius):
            assert bound.applies and bound.value < 400.0
            U = np.zeros((8, 5))
            U[0, 0] = radius
            for V in (U, -U, 0.0 * U):
                found = certificate.loss - loss_of(learner.loss, X, y, V)
                assert found <= bound.value
    advance = catalogue.multiclass_ogd(2.0, 400)
    advance.learn(X, y)
    assert advance.certificate().regret_bound(2.0) <= 2.0 * math.sqrt(2.0 * 400.0)


def test_the_perceptron_of_several_classes_and_its_mistakes() -> None:
    random = np.random.default_rng(4)
    U = random.normal(size=(6, 4))
    X = random.normal(size=(3000, 6))
    s = np.sort(X @ U, axis=1)
    clear = s[:, -1] - s[:, -2] > 0.5
    X, y = X[clear], np.argmax(X[clear] @ U, axis=1)
    learner = catalogue.multiclass_perceptron()
    scores = learner.learn(X, y)
    certificate = learner.certificate()
    own = scores[np.arange(len(y)), y]
    rivals = np.where(np.eye(4, dtype=bool)[y], -np.inf, scores).max(axis=1)
    assert certificate.mistakes == int((rivals >= own).sum())
    bounds = certificate.bounds_for(2.0 * np.linalg.norm(U))
    after, before = (bound for bound in bounds if bound.measure == "mistakes")
    # 2 U separates with margin 1, so that its loss is 0: the bounds are on the mistakes alone.
    assert after.applies and before.applies
    assert certificate.mistakes <= after.value <= before.value * (1.0 + 1e-12)
    reach = 2.0 * np.linalg.norm(U) * np.linalg.norm(X, axis=1).max()
    assert certificate.mistakes <= 2.0 * reach**2
    assert certificate.floor(1.0) <= certificate.loss


def test_words() -> None:
    X, y = stream()
    learner = MatrixDescent(losses.Softmax())
    learner.learn(X, y)
    text = str(learner.certificate())
    assert "every U with ||m U||_F <= " in text and "mistakes" in text
    assert learner.sizes is not None and learner.sizes.shape == (6, 4)
    plain = MatrixDescent(losses.Softmax(), mirrors.PNorm(4.0), rates.Constant(0.1))
    plain.learn(X, y)
    assert plain.certificate().describe(1.0).startswith("every U with ||U||_1.333 <= 1")
    assert plain.certificate().as_dict(1.0)["floor"] == plain.certificate().floor(1.0)
    ball = catalogue.softmax_regression(2.0)
    ball.learn(X, y)
    assert ball.certificate().describe() == "every U with ||U||_F <= 2"
    assert ball.certificate().regularized_floor() <= ball.certificate().loss


@pytest.mark.parametrize(
    ("X", "y", "weight", "message"),
    [
        ([[1.0, 2.0]], [4], None, "y row 0: class 4, expected a whole number from 0 to 3; grow"),
        ([[1.0, 2.0]], [0.5], None, "y row 0: class 0.5"),
        ([[1.0, 2.0]], [-1], None, "y row 0: class -1"),
        ([[1.0, 2.0]], [math.nan], None, "y row 0: class nan"),
        ([[1.0, 2.0]], [math.inf], None, "y row 0: class inf"),
        ([[1.0, 2.0]], [[1, 0, 0, 0]], None, "Softmax expects \\(1,\\): a class a row"),
        ([[1.0, 2.0]], [0, 1], None, "one class a row of X"),
        ([[1.0, math.inf]], [0], None, "X row 0"),
        ([[1.0, 2.0], [1.0, 1e200]], [0, 1], None, "X row 1"),
        ([[1.0, 2.0, 3.0]], [0], None, "X has 3 columns, the learner knows 2"),
        ([[1.0, 2.0]], [0], [-1.0], "weight row 0"),
        ([[1.0, 2.0]], ["cat"], None, "y must hold numbers"),
    ],
)
@pytest.mark.filterwarnings("error")
def test_bad_input_changes_nothing(X: Any, y: Any, weight: Any, message: str) -> None:
    learner = MatrixDescent(losses.Softmax(), outputs=4)
    learner.learn([[1.0, -1.0], [0.5, 2.0]], [3, 0])
    weights, ledger = learner.weights, learner._ledger.copy()
    with pytest.raises(ValueError, match=message):
        learner.learn(X, y, weight)
    np.testing.assert_array_equal(learner.weights, weights)
    np.testing.assert_array_equal(learner._ledger, ledger)
    assert (learner.outputs, learner.dimension) == (4, 2)


def test_what_is_refused_in_one_line() -> None:
    softmax, plain = losses.Softmax(), mirrors.Euclidean()
    for arguments, message in (
        ((losses.Logistic(),), "loss=...\\) must be one of ScoreLoss"),
        ((softmax, mirrors.Entropy()), "mirror=...\\) must be one of"),
        ((softmax, mirrors.SoftThreshold(0.1)), "mirror=...\\) must be one of"),
        ((softmax, plain, rates.PerCoordinate()), "rate=...\\) must be one of"),
        ((softmax, mirrors.Ball(1.0), rates.ScaleFree()), "ScaleFree belongs to Euclidean"),
        ((softmax, plain, rates.Constant(1.0), 0), "outputs must be a whole number >= 1"),
        ((softmax, plain, rates.Constant(1.0), 2, 0.5), "dimension must be a whole number >= 1"),
        ((softmax, plain, rates.Constant(1.0), math.nan), "outputs must be a whole number >= 1"),
        ((softmax, plain, rates.Constant(1.0), "3"), "outputs must be a whole number >= 1"),
    ):
        with pytest.raises(ValueError, match=message):
            MatrixDescent(*arguments)
    sets = MatrixDescent(losses.OneAgainstRest(), outputs=3)
    with pytest.raises(ValueError, match="y row 0: 2; OneAgainstRest expects 0 or 1"):
        sets.learn([[1.0]], [[2, 0, 1]])
    with pytest.raises(ValueError, match="expects \\(1, 3\\): a number a score"):
        sets.learn([[1.0]], [[0, 1]])
    with pytest.raises(ValueError, match="grow\\(outputs\\) must be a whole number >= 3"):
        sets.grow(2)
    signed = MatrixDescent(softmax, mirrors.SignedEntropy(1.0), rates.Constant(1.0))
    signed.learn([[1.0]], [1])
    with pytest.raises(ValueError, match="must know its scores in advance"):
        signed.grow(5)
    with pytest.raises(ValueError, match="norm must be 'columns', 'trace' or a number"):
        signed.certificate().floor(1.0, "rows")
    with pytest.raises(ValueError, match="U has shape \\(1,\\), expected \\(1, 2\\)"):
        signed.certificate().regret([1.0])


def test_divergence_is_said_and_earlier_rounds_kept() -> None:
    learner = MatrixDescent(
        losses.OneAgainstRest(losses.SquaredHinge()), mirrors.Euclidean(), rates.Constant(1e30)
    )
    X = np.full((50, 1), 1e20)
    with pytest.raises(OverflowError, match="the loss or gradient of round"):
        learner.learn(X, np.arange(50) % 2)
    assert 0 < learner.rounds < 50
    certificate = learner.certificate()
    assert math.isfinite(certificate.loss) and certificate.floor(1.0) <= 50.0


def test_nothing_seen() -> None:
    learner = MatrixDescent(losses.Softmax())
    assert learner.learn(np.zeros((0, 3)), []).shape == (0, 0)
    assert learner.certificate().floor(1.0) == 0.0
    assert learner.predict(np.ones((2, 3))).shape == (2, 0)
    assert (learner.outputs, learner.rounds) == (0, 0)

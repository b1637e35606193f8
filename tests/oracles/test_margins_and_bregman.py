"""Trial-dependent margins (eq. 34-36) and the Bregman step (eq. 38), each by its public name."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy.optimize import minimize, minimize_scalar

import noregret as nr
from noregret import losses, mirrors
from noregret.catalogue import bregman_step
from noregret.learners import DualAscent
from noregret.oco import divergence
from tests.oracles.data import S_A, S_N, U_N, X_A, X_N, Y_A, near
from tests.oracles.dual_runs import PROXIMAL_STEPS

#: A dot product a row: a product of matrices may round otherwise.
MARGINS_N = np.array([y * float(x @ U_N) for x, y in zip(X_N, S_N, strict=True)])


def perceptron(C: float = 0.28) -> DualAscent:
    return DualAscent(losses.Hinge(), mirrors.Euclidean(), C, "conservative")


def test_pd30_the_perceptron_on_set_n() -> None:
    """Margins y <u,x>: predictions and mistakes stay the Perceptron's, D becomes the distance."""
    learner = perceptron()
    margins, duals = [], []
    for x, y, margin in zip(X_N, S_N, MARGINS_N, strict=True):
        margins.append(float(y * learner.learn(x, y, margin=[margin])[0]))
        duals.append(learner.dual)
    assert margins == near([0, -0.168, 0.0448, 0.18368, 0.224, 0.0448, 0.224, 0.112])
    assert duals == near([0.1288] + [0.21504] * 7)
    proof = learner.certificate()
    assert proof.mistakes == 2 and learner.weights == near([0.112, -0.224])
    # Twice D is the sum of ||w_t - u||^2 - ||w_(t+1) - u||^2, eq. 35, and at most ||u||^2 = 1.
    assert 2 * learner.dual == near(0.43008)
    gap = learner.weights - U_N
    assert learner.dual == near(0.5 - 0.5 * float(gap @ gap))
    # P(u) = F(u): u is charged nothing.
    assert proof.dual <= 0.5 * float(U_N @ U_N)
    lost = sum(max(m - y * float(x @ U_N), 0.0)
               for x, y, m in zip(X_N, S_N, MARGINS_N, strict=True))  # fmt: skip
    assert lost == 0.0


@pytest.mark.parametrize("update", ["exact", "aggressive", "window", "mini", "leader"])
def test_the_distance_to_u_shrinks_by_the_dual(update: str) -> None:
    rng = np.random.default_rng(2)
    X, u = rng.normal(size=(30, 4)), rng.normal(size=4)
    X /= np.linalg.norm(X, axis=1, keepdims=True)
    y = np.sign(rng.normal(size=30))
    learner = DualAscent(losses.Hinge(), mirrors.Euclidean(), 0.3, update, 3)
    before = 0.0
    for t in range(30):
        learner.learn(X[t], y[t], margin=[y[t] * float(X[t] @ u)])
        gap = learner.weights - u
        assert learner.dual == pytest.approx(0.5 * float(u @ u - gap @ gap), abs=1e-9)
        assert learner.dual >= before - 1e-12
        before = learner.dual


def test_margins_are_charged_to_the_learner_and_to_every_u() -> None:
    """Loss, floor and dual are those of [m_t - y p]+, against direct sums and a batch solver."""
    rng = np.random.default_rng(4)
    X, y, m = rng.normal(size=(25, 3)), np.sign(rng.normal(size=25)), rng.uniform(-0.5, 2, 25)
    learner = DualAscent(losses.Hinge(0.7), mirrors.Euclidean(), 0.5, "leader")
    predictions = learner.learn(X, y, margin=m)
    proof = learner.certificate()
    assert proof.loss == pytest.approx(float(np.maximum(m - y * predictions, 0.0).sum()), rel=1e-12)
    assert proof.mistakes == int(np.sum(y * predictions <= 0.0))

    def charged(w: np.ndarray) -> float:
        return float(np.maximum(m - y * (X @ w), 0.0).sum())

    w = learner.weights
    assert proof.dual <= 0.5 * float(w @ w) + 0.5 * charged(w)
    assert proof.dual == pytest.approx(0.5 * float(w @ w) + 0.5 * charged(w), rel=1e-6)
    for u in rng.normal(size=(50, 3)):
        assert proof.floor(float(np.linalg.norm(u))) <= charged(u) * (1 + 1e-12)
    # The same by offsets, whose predictions and mistakes are of another kind.
    other = DualAscent(losses.Hinge(0.7), mirrors.Euclidean(), 0.5, "leader")
    other.learn(X, y, offset=y * (0.7 - m))
    assert other.dual == pytest.approx(learner.dual, rel=1e-9)


def test_margins_are_in_the_words_and_leave_out_what_they_void() -> None:
    learner = DualAscent(losses.Hinge(), mirrors.Euclidean(), 0.5)
    plain = learner.certificate()
    learner.learn(X_A, S_A, margin=np.ones(6))
    assert not learner.certificate().margins, "margins that are the loss's own change nothing"
    learner.learn(X_A, S_A, margin=np.linspace(0.1, 2.0, 6))
    proof = learner.certificate()
    assert proof.margins and not plain.margins and proof.as_dict()["margins"] is True
    assert "every u is charged [m - y <u, x>]+, m the trial's own margin" in str(proof)
    assert "lost at least that much by Hinge with the trial's own margin" in str(proof)
    assert proof.as_dict()["objective"] == "Hinge with the trial's own margin"
    named = {bound.name: bound for bound in proof.bounds_for(1.0)}
    assert named["dual ascent, aggressive mistakes"].reason == "the margins depend on the trial"
    assert named["dual ascent, aggressive steps"].applies
    conservative = perceptron()
    conservative.learn(X_N, S_N, margin=MARGINS_N)
    named = {bound.name: bound for bound in conservative.certificate().bounds_for(1.0)}
    assert named["dual ascent, gain guaranteed"].reason == "the margins depend on the trial"


def test_margins_that_cannot_be_used() -> None:
    learner = DualAscent(losses.Logistic(), mirrors.Euclidean())
    with pytest.raises(ValueError, match="margin is for the Hinge loss, not Logistic"):
        learner.learn(X_A, S_A, margin=np.ones(6))
    hinge = DualAscent(losses.Hinge(), mirrors.Euclidean())
    with pytest.raises(ValueError, match="margin has"):
        hinge.learn(X_A, S_A, margin=np.ones(5))
    with pytest.raises(ValueError, match="margin row 0: nan; expected a finite number"):
        hinge.learn(X_A, S_A, margin=np.full(6, np.nan))
    assert hinge.rounds == 0


def test_a_learner_with_margins_survives_a_file(tmp_path: Any) -> None:
    learner = perceptron()
    learner.learn(X_N[:4], S_N[:4], margin=MARGINS_N[:4])
    learner.save(tmp_path / "m.nr")
    again = nr.load(tmp_path / "m.nr")
    assert again.certificate().margins
    again.learn(X_N[4:], S_N[4:], margin=MARGINS_N[4:])
    assert again.dual == near(0.21504)


@pytest.mark.parametrize(("mirror", "margin", "eta", "before", "after"), PROXIMAL_STEPS)
def test_pd32_oracles(mirror: Any, margin: float, eta: float, before: Any, after: Any) -> None:
    step = bregman_step(losses.Hinge(margin), mirror, before, X_A[5], S_A[5], C=5.0)
    assert step.eta == pytest.approx(eta, rel=1e-9)
    assert step.weights == pytest.approx(np.array(after), rel=1e-9)
    assert step.prediction == pytest.approx(float(np.dot(before, X_A[5])), rel=1e-12)


@pytest.mark.parametrize(
    "loss", [losses.Logistic(), losses.Squared(), losses.SquaredHinge()], ids=str
)
@pytest.mark.parametrize("mirror", [mirrors.Euclidean(), mirrors.PNorm(3)], ids=str)
def test_no_w_does_better(loss: Any, mirror: Any) -> None:
    """The divergence plus C times the loss, minimised by scipy over w itself."""
    start, C, offset = np.array([0.4, -0.3, 0.6]), 1.7, 0.2
    y = 1.0 if loss.labels == "sign" else float(Y_A[2])
    step = bregman_step(loss, mirror, start, X_A[2], y, C, offset)

    def objective(w: np.ndarray) -> float:
        return divergence(mirror, w, start) + C * loss.value(y, float(w @ X_A[2]) + offset)

    found = minimize(objective, start, method="Nelder-Mead",
                     options={"xatol": 1e-10, "fatol": 1e-14, "maxiter": 20_000})  # fmt: skip
    assert objective(step.weights) <= found.fun * (1 + 1e-9) + 1e-12
    assert step.weights == pytest.approx(found.x, abs=1e-4)


@pytest.mark.parametrize(
    "mirror", [mirrors.UnnormalizedEntropy(0.5), mirrors.Entropy(2.0)], ids=str
)
def test_the_dual_is_maximised_for_entropies(mirror: Any) -> None:
    start = np.array([0.9, 0.3, 0.8])
    step = bregman_step(losses.Hinge(), mirror, start, X_A[3], S_A[3], C=2.0)
    theta = mirror.inverse_link(start)

    def negative(alpha: float) -> float:
        return mirror.potential(theta + alpha * S_A[3] * X_A[3]) - alpha

    found = minimize_scalar(negative, bounds=(0.0, 2.0), method="bounded", options={"xatol": 1e-12})
    assert step.eta * S_A[3] == pytest.approx(float(found.x), abs=1e-6)


def test_it_is_the_exact_step_of_dual_ascent() -> None:
    learner = DualAscent(losses.Hinge(), mirrors.Euclidean(), 0.5)
    w = np.zeros(3)
    for x, y in zip(X_A, S_A, strict=True):
        step = bregman_step(losses.Hinge(), mirrors.Euclidean(), w, x, y, 0.5)
        assert learner.learn(x, y)[0] == near(step.prediction)
        w = step.weights
        assert w == near(learner.weights)


@pytest.mark.parametrize(
    ("mirror", "weights", "words"),
    [
        (mirrors.Euclidean(), [1.0, 2.0], "expected one vector shape"),
        (mirrors.Euclidean(), [1.0, 2.0, np.inf], "finite numbers"),
        (mirrors.Entropy(), [0.5, 0.5, 0.0], "above 0 in every coordinate"),
        (mirrors.Entropy(), [0.5, 0.5, 0.5], "not in the set of Entropy"),
        (mirrors.Ball(1.0), [0.1, 0.1, 0.1], "the link of Ball has no inverse here"),
    ],
    ids=["shape", "infinite", "zero", "sum", "ball"],
)
def test_what_is_refused(mirror: Any, weights: Any, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        bregman_step(losses.Hinge(), mirror, weights, [1.0, 0.0, 0.0], 1.0)

"""`ScaleFree` for several scores: one pair of multipliers where the loss joins the scores."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

import noregret as nr
from noregret import losses

Vector = npt.NDArray[np.float64]
JOINED: list[Any] = [losses.Softmax(), losses.MulticlassHinge()]


def stream(n: int = 300, d: int = 6, K: int = 4) -> tuple[Vector, Vector, Vector]:
    random = np.random.default_rng(8)
    X = random.normal(size=(n, d)) * np.linspace(0.5, 2.0, n)[:, None]
    X[random.random(X.shape) < 0.3] = 0.0
    y = (X @ random.normal(size=(d, K)) + 0.3 * random.normal(size=(n, K))).argmax(axis=1)
    return X, y.astype(float), np.where(random.random(n) < 0.1, 0.0, random.exponential(size=n))


def reference(loss: Any, X: Vector, y: Vector, weight: Vector, K: int) -> Vector:
    """Return the scores by the definition: one S_1 and one S_2, moved by sum_k g_k q_(j,k)."""
    d = X.shape[1]
    theta, G, v, m = np.zeros((K, d)), np.zeros((K, d)), np.zeros((K, d)), np.zeros(d)
    S, A, speed = [1.0, 0.5], [0.0, 0.0], 0.05 * math.sqrt(K - 1)
    mass = lengths = c = 0.0
    made, slopes = np.zeros((len(X), K)), np.zeros(K)
    for t in range(len(X)):
        x, w = X[t], float(weight[t])
        c = max(c, w * loss.lipschitz())
        size = np.maximum(m, np.abs(x))
        used = x != 0.0
        ratio = np.where(used, x / np.where(used, size, 1.0), 0.0)
        f = math.sqrt(mass / lengths) if lengths > 0.0 else 0.0
        root = np.sqrt(G + (c * size) ** 2 + 1e-280)
        q = np.array([f * (theta / root) @ ratio, f * v @ ratio])
        made[t] = S[0] * q[0] + S[1] * q[1]
        loss.value_and_slopes(y[t], made[t], slopes)
        if w == 0.0:
            continue
        mass, lengths, m = mass + w, lengths + w * float(ratio @ ratio), size
        g = w * slopes
        for j in range(2):
            z = S[j] * float(g @ q[j])
            A[j] = 0.99 * A[j] + z * z
            S[j] = min(max(S[j] * math.exp(-speed * z / math.sqrt(A[j] + 1.0)), 1e-3), 1e3)
        step = g[:, None] * x
        theta, G = theta - step, G + step * step
        v = v - step / np.sqrt(G + 1e-280)
    return made


@pytest.mark.parametrize("loss", JOINED, ids=str)
def test_it_is_what_its_definition_says(loss: Any) -> None:
    X, y, weight = stream()
    expected = reference(loss, X, y, weight, 4)
    learner = nr.MatrixDescent(loss, outputs=4)
    np.testing.assert_allclose(learner.learn(X, y, weight), expected, rtol=0.0, atol=1e-10)


@pytest.mark.parametrize("loss", JOINED, ids=str)
def test_scores_know_no_units_of_features(loss: Any) -> None:
    X, y, weight = stream()
    expected = nr.MatrixDescent(loss, outputs=4).learn(X, y, weight)
    got = nr.MatrixDescent(loss, outputs=4).learn(X * 10.0 ** np.arange(-3.0, 3.0), y, weight)
    np.testing.assert_allclose(got, expected, rtol=0.0, atol=1e-9)


def test_two_classes_are_one_margin() -> None:
    """With two classes the multipliers move as those of one margin do."""
    X, y, _ = stream(K=2)
    scores = nr.MatrixDescent(losses.Softmax(), outputs=2).learn(X, y)
    np.testing.assert_allclose(scores[:, 0], -scores[:, 1], rtol=0.0, atol=1e-10)
    expected = reference(losses.Softmax(), X, y, np.ones(len(X)), 2)
    np.testing.assert_allclose(scores, expected, rtol=0.0, atol=1e-10)


def test_a_sum_over_the_scores_leaves_each_its_own() -> None:
    X, y, weight = stream()
    together = nr.MatrixDescent(losses.OneAgainstRest(), outputs=4).learn(X, y, weight)
    for k in range(4):
        alone = nr.MirrorDescent(losses.Logistic(), nr.mirrors.Euclidean(), nr.rates.ScaleFree())
        signs = np.where(y == k, 1.0, -1.0)
        np.testing.assert_array_equal(alone.learn(X, signs, weight), together[:, k])

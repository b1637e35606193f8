"""Floors and duals against exact sums, where rounding is all that could make them false."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

import noregret as nr
from noregret import losses, mirrors, rates

Vector = npt.NDArray[np.float64]


def suffered(margin: float, X: Vector, y: Vector, weight: Vector, W: Vector) -> Fraction:
    """Return the multiclass hinge loss of columns W of which each row may see the first few."""
    total = Fraction(0)
    columns = [[Fraction(float(w)) for w in column] for column in W.T]
    for x, target, c in zip(X, y, weight, strict=True):
        row = [Fraction(float(v)) for v in x]
        s = [sum(map(Fraction.__mul__, row, column), Fraction(0)) for column in columns]
        rivals = [v for k, v in enumerate(s) if k != int(target)]
        excess = Fraction(margin) + max(rivals) - s[int(target)] if rivals else Fraction(0)
        total += Fraction(float(c)) * max(excess, Fraction(0))
    return total


@pytest.mark.soak
@pytest.mark.parametrize("seed", range(300))
def test_floors_are_true_near_zero(seed: int, tmp_path: Path) -> None:
    """With a large margin no hinge is inactive near 0, and planes touch along their edges."""
    random: Any = np.random.default_rng(seed)
    outputs, d, n = int(random.choice([1, 2, 5, 50])), int(random.integers(1, 4)), 40
    scale, mass = 10.0 ** random.integers(-60, 60, size=2)
    X, y = random.normal(size=(n, d)) * scale, random.integers(0, outputs, n)
    weight = random.choice([0.0, 0.3, 1.0], size=n) * mass
    margin, largest = 10.0 ** random.integers(1, 7), float(np.abs(X).max())
    learner = nr.MatrixDescent(
        losses.MulticlassHinge(margin), mirrors.Euclidean(),
        rates.Constant(1e-4 / largest / largest / mass), outputs, implicit=bool(seed % 2),
    )  # fmt: skip
    learner.learn(X[:20], y[:20], weight[:20])
    learner.save(tmp_path / "model.nr")
    learner = nr.load(tmp_path / "model.nr")
    learner.grow(outputs + 1)
    y[20:] = random.integers(0, outputs + 1, 20)
    learner.learn(X[20:], y[20:], weight[20:])
    proof = learner.certificate()
    z = proof.gradient / (np.abs(proof.gradient).max() or 1.0)
    radius = 10.0 ** random.integers(-6, 1) / largest
    U = (-z / (np.linalg.norm(z) or 1.0) * radius * (1.0 - 1e-14)).reshape(outputs + 1, d).T
    early = suffered(margin, X[:20], y[:20], weight[:20], U[:, :outputs])
    exact = early + suffered(margin, X[20:], y[20:], weight[20:], U)
    floor = Fraction(proof.floor(radius))
    assert floor <= exact
    # Both are the sum of the margins but for what the scores can add to it.
    reach = Fraction(radius) * Fraction(float(weight @ np.abs(X).sum(axis=1)))
    assert exact - floor <= 4 * reach + exact / 10**9 + Fraction(1, 10**200)
    assert proof.floor(radius, "columns") <= proof.floor(radius) <= proof.floor(radius, "trace")


@pytest.mark.soak
@pytest.mark.parametrize("seed", range(200))
def test_the_best_matrix_is_above_its_dual(seed: int) -> None:
    random: Any = np.random.default_rng(seed)
    outputs, d, n = int(random.choice([2, 3, 20])), int(random.integers(1, 4)), 12
    X = random.normal(size=(n, d)) * 10.0 ** random.integers(-60, 60)
    X = np.round(X / np.abs(X).max() * 4.0) if seed % 3 == 0 else X
    y = random.integers(0, outputs, n)
    weight = random.choice([0.0, 0.3, 1.0], size=n) * 10.0 ** random.integers(-100, 100)
    square = float((X * X).sum(axis=1).max()) or 1.0
    l2 = (float(weight.max()) or 1.0) * square * 10.0 ** random.integers(-4, 8)
    margin = 10.0 ** random.integers(-5, 6)
    best = nr.hindsight(
        X, y, losses.MulticlassHinge(margin), l2=l2, weight=weight, tol=1e-14, max_passes=300
    )
    width = best.weights.shape[1]
    exact = suffered(margin, X, y, weight, best.weights)
    exact += Fraction(l2) / 2 * sum(Fraction(float(w)) ** 2 for w in best.weights.ravel())
    assert Fraction(best.dual) <= exact <= Fraction(best.primal)
    assert Fraction(best.dual) <= suffered(margin, X, y, weight, np.zeros((d, width)))

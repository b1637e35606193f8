"""The certificate of kernel descent against the exact best member of a ball of the space."""

from __future__ import annotations

import functools
import json
import math
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

import mpmath
import numpy as np
import pytest
from mpmath import mpf

import noregret as nr
from noregret.rounding import down, down_each, up
from noregret.tracking import Gaussian, KernelDescent, Linear, Polynomial
from noregret.tracking.hilbert_certificate import KernelCertificate
from noregret.tracking.hilbert_pass import Place
from noregret.tracking.kernels import Kernel
from tests.sizes import sized
from tests.tracking.test_hilbert import stream

ROUNDS = 12
KERNELS = [Linear(), Polynomial(2), Polynomial(3, 0.5), Gaussian(0.7)]


def exact(kernel: Kernel, a: Any, b: Any) -> mpf:
    """Return K(a, b) of two rows of floats, in the working precision."""
    left, right = [mpf(float(e)) for e in a], [mpf(float(e)) for e in b]
    inner = mpmath.fsum(s * t for s, t in zip(left, right, strict=True))
    if isinstance(kernel, Polynomial):
        return (mpf(kernel.offset) + inner) ** kernel.degree
    if isinstance(kernel, Gaussian):
        gap = mpmath.fsum((s - t) ** 2 for s, t in zip(left, right, strict=True))
        return mpmath.exp(-mpf(kernel.gamma) * gap)
    return inner


@functools.cache
def turned_stream(kernel: Kernel, seed: int) -> list[tuple[mpf, mpf]]:
    """Return the eigenvalues of K on the rows of a stream, each with the part of y along it."""
    X, y = stream(seed, ROUNDS, 2)
    with mpmath.workdps(50):
        K = mpmath.matrix(ROUNDS, ROUNDS)
        for i in range(ROUNDS):
            for j in range(ROUNDS):
                K[i, j] = exact(kernel, X[i], X[j])
        values, vectors = mpmath.eigsy(K)
        turned = vectors.T * mpmath.matrix([mpf(float(e)) for e in y])
        return [(max(value, mpf(0)), part) for value, part in zip(values, turned, strict=True)]


@functools.cache
def least_loss(kernel: Kernel, seed: int, radius: float) -> mpf:
    """Return the minimum of sum (u(x_t) - y_t)^2 over ||u|| <= radius, to 30 digits.

    The minimiser is an expansion in the rows, a = (K + m I)^-1 y, with the m >= 0 at which its
    norm is the radius: in the basis of K's eigenvectors, sums over its eigenvalues.
    """
    pairs = turned_stream(kernel, seed)

    def at(m: mpf) -> tuple[mpf, mpf]:
        square = mpmath.fsum(value * (part / (value + m)) ** 2 for value, part in pairs)
        return square, mpmath.fsum((m * part / (value + m)) ** 2 for value, part in pairs)

    low, high, goal = mpf("1e-25"), mpf("1e9"), mpf(radius) ** 2
    if at(low)[0] <= goal:
        return at(low)[1]
    for _ in range(140):
        m = mpmath.sqrt(low * high)
        low, high = (m, high) if at(m)[0] > goal else (low, m)
    # At the smaller multiplier the norm is too long: its loss is not above the minimum.
    return at(low)[1]


@pytest.mark.parametrize("kernel", KERNELS, ids=str)
@pytest.mark.parametrize("budget", [None, 4], ids=["all points", "budget"])
def test_no_statement_is_false_of_the_best_member(kernel: Kernel, budget: int | None) -> None:
    dropped = 0
    for seed in range(sized(2, 3)):
        X, y = stream(seed, ROUNDS, 2)
        largest = max(kernel(x, x) for x in X)
        for radius, share in [(0.3, 1.0), (1.5, 0.5)]:
            learner = KernelDescent(kernel, radius, 1.0 / (4.0 * largest), budget=budget)
            predictions = learner.learn(X, y)
            proof = learner.certificate()
            dropped += proof.drops
            pairs = zip(predictions.tolist(), y.tolist(), strict=True)
            own = sum(((Fraction(p) - Fraction(t)) ** 2 for p, t in pairs), Fraction(0))
            assert proof.loss == pytest.approx(float(own), rel=1e-13)
            for B in (share * radius, radius):
                with mpmath.workdps(50):
                    least = least_loss(kernel, seed, B)
                    assert proof.floor(B) <= least
                    loss = mpf(own.numerator) / own.denominator
                    assert proof.regret_bound(B) >= loss - least
                    theorem, additive = proof.bounds_for(B)
                    assert theorem.applies and additive.applies and theorem.factor == 2.0
                    assert loss <= 2 * least + theorem.value
                    assert loss - least <= additive.value
    assert (dropped > 0) == (budget is not None)


def test_without_the_cost_of_the_budget_the_theorem_is_false() -> None:
    """A constant to learn, and one point to keep: what is dropped was what was learnt."""
    rounds = 300
    X, y = np.linspace(-50.0, 50.0, rounds).reshape(-1, 1) % 7.0, np.full(rounds, 1.0)
    kernel = Gaussian(0.05)
    learner = KernelDescent(kernel, 1.3, 0.25, budget=1)
    learner.learn(X, y)
    proof = learner.certificate()
    assert proof.drops > 200
    # u = a sum of two bumps, of norm below the radius by its own Gram matrix.
    points, b = np.array([[1.5], [5.5]]), np.array([0.72, 0.72])
    gram = np.array([[kernel(s, t) for t in points] for s in points])
    norm = math.sqrt(b @ gram @ b)
    assert norm < 1.3
    made = np.array([[kernel(x, t) for t in points] for x in X]) @ b
    compared = float(np.sum((made - y) ** 2))
    theorem, additive = proof.bounds_for(1.3)
    assert proof.loss <= 2.0 * compared + theorem.value
    assert proof.loss > 2.0 * compared + theorem.value - proof.budget_cost(1.3)
    assert proof.loss - compared <= additive.value
    assert proof.floor(1.3) <= compared


def test_the_cost_of_the_budget_has_room_for_the_rounding_of_its_sums() -> None:
    X, y = stream(6, 120)
    learner = KernelDescent(Gaussian(0.7), 2.0, 0.25, budget=3)
    learner.learn(X, y)
    proof = learner.certificate()
    dropped, recoil, error = (
        float(proof.places[place]) for place in (Place.DROPPED, Place.RECOIL, Place.RECOIL_ERROR)
    )
    assert proof.drops > 50
    sums = Fraction(2.0) * Fraction(dropped) + Fraction(recoil) + Fraction(error)
    # A drop moves ||v||^2 / 2 by at most its length times ||v||, and each sum rounds once a drop.
    room = proof.drops * 2.0**-53 * (2.0 + 2.0) * dropped / 0.25
    assert Fraction(proof.budget_cost(2.0)) >= sums / Fraction(0.25) + Fraction(room)


def test_without_drops_the_theorem_is_not_below_what_the_lines_prove() -> None:
    X, y = stream(5, 200)
    learner = KernelDescent(Gaussian(0.7), 2.0, 0.25)
    learner.learn(X, y)
    proof = learner.certificate()
    additive = proof.bounds_for(1.0)[1]
    by_hand = 1.0 / (2 * 0.25) + 0.125 * float(np.sum(4 * (learner_slopes(X, y)) ** 2))
    assert additive.value == pytest.approx(by_hand, rel=1e-9)
    assert additive.value >= proof.regret_bound(1.0)
    assert proof.room < 1e-3


def learner_slopes(X: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Return p - y of the same run; for this kernel K(x, x) = 1."""
    return KernelDescent(Gaussian(0.7), 2.0, 0.25).learn(X, y) - y


@dataclass(frozen=True)
class Indefinite(Kernel):
    """K(a, b) = -<a, b>, which is no inner product of any space."""

    def term(self, a: float, b: float) -> float:
        return -a * b

    def value(self, total: float) -> float:
        # On the diagonal the pass asks for a square; off it the sign is wrong.
        return abs(total) if total < -0.9 else 40.0 * total


def test_a_kernel_that_is_none_is_named_and_cannot_contradict_a_theorem_in_print() -> None:
    X = np.array([[1.0, 0.0], [0.8, 0.6]] * 20)
    y = np.array([1.0, -1.0] * 20)
    learner = KernelDescent(Indefinite(), 1.0, 0.01, nr.losses.Absolute())
    learner.learn(X, y)
    proof = learner.certificate()
    assert proof.assumption == "Indefinite is taken at its word to be positive definite"
    additive = proof.bounds_for(1.0)[1]
    assert not additive.applies
    assert (
        additive.reason == "this run contradicts it (suspect: positive definiteness of Indefinite)"
    )


def test_what_is_said_and_written() -> None:
    X, y = stream(7, 40)
    learner = KernelDescent(Gaussian(0.7), 1.0, 0.1, nr.losses.Absolute(), budget=10)
    assert learner.certificate().rounds == 0
    assert learner.certificate().bounds_for(1.0) == []
    assert "0 rounds" in str(learner.certificate())
    learner.learn(X, y)
    proof = learner.certificate()
    before = str(proof)
    text = proof.text(0.5)
    each = down(down_each(proof.floor(0.5), 40))
    floor = f"  {'certified floor':<26}{down(proof.floor(0.5)):>14}  {each} a round"
    for line in (
        "Certificate after 40 rounds, Absolute, 10 points stored",
        floor,
        "    every u in the space of Gaussian(gamma=0.7) with ||u|| <= 0.5 lost at least that much "
        "by Absolute",
        "    L(u): what such a u lost by Absolute",
        f"  {'regret at most':<26}{up(proof.regret_bound(0.5)):>14}",
        f"  {'cost of the budget':<26}{up(proof.budget_cost(0.5)):>14}  in the theorems, 30 points",
        "not applicable: the loss is not the square loss",
    ):
        assert line in text, line
    told = json.loads(json.dumps(proof.as_dict(0.5)))
    assert told["class"] == "every u in the space of Gaussian(gamma=0.7) with ||u|| <= 0.5"
    assert (told["floor"], told["radius"]) == (proof.floor(0.5), 0.5)
    assert (told["drops"], told["budget"], told["points"]) == (30, 10, 10)
    assert told["bounds"][1]["value"] == proof.bounds_for(0.5)[1].value
    wide = proof.bounds_for(2.0)
    assert not wide[1].applies and "larger than the ball of radius 1" in wide[1].reason
    with pytest.raises(ValueError, match="radius must be a finite number"):
        proof.floor(-1.0)
    # A certificate is a value: later rounds do not change it.
    learner.learn(X, y)
    assert str(proof) == before
    assert learner.certificate().rounds == 80


def test_a_resumed_learner_has_the_same_certificate(tmp_path: Path) -> None:
    X, y = stream(8, 30)
    learner = KernelDescent(Gaussian(0.7), 1.0, 0.1, budget=7)
    learner.learn(X[:20], y[:20])
    learner.save(tmp_path / "k.nr")
    again = nr.load(tmp_path / "k.nr")
    for each in (learner, again):
        each.learn(X[20:], y[20:])
    one, other = learner.certificate(), again.certificate()
    assert isinstance(other, KernelCertificate)
    assert one.as_dict() == other.as_dict()

"""The default tracker: its formula, its ball, and what it is good for."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any
from unittest import mock

import numpy as np
import pytest
from scipy.sparse import csr_array

import noregret as nr
from noregret.experts.shares import mix_rounds
from noregret.tracking.mixture import DECAY, MARGIN, RATES, RATIO, ScaledDescent, Tracker
from tests.sizes import sized

SQUARED = nr.losses.Squared()


def shifting(seed: int, rounds: int = 300, d: int = 5) -> tuple[np.ndarray, np.ndarray]:
    random = np.random.default_rng(seed)
    X = random.normal(size=(rounds, d)) / math.sqrt(d)
    u = random.normal(size=(3, d))
    y = np.einsum("td,td->t", X, u[3 * np.arange(rounds) // rounds])
    return X, y + 0.1 * random.normal(size=rounds)


def reference(tracker: Tracker, X: np.ndarray, y: np.ndarray, weight: np.ndarray) -> np.ndarray:
    """The mixture as its docstring has it, on vectors."""
    radius = tracker.radius * (1.0 - MARGIN)
    etas = np.array([member.rate.eta for member in tracker.members])
    scaled = np.array([member.eta for member in tracker.scaled])
    w, shares = np.zeros((2 * RATES, X.shape[1])), np.full(2 * RATES, 0.5 / RATES)
    means = np.zeros((RATES, X.shape[1]))
    predictions, total = [], 0.0
    for t, (x, label, c) in enumerate(zip(X, y, weight, strict=True), 1):
        mixed = shares @ w
        assert np.linalg.norm(mixed) <= tracker.radius
        predictions.append(mixed @ x)
        total += c * (predictions[-1] - label) ** 2
        losses = c * (w @ x - label) ** 2
        shares *= np.exp(-(losses - losses.min()) / (2.0 * total / t))
        shares = (1.0 - 1.0 / (t + 1)) * shares / shares.sum() + 1.0 / ((t + 1) * 2 * RATES)
        z = c * 2.0 * (w @ x - label)[:, None] * x
        w[:RATES] -= etas[:, None] * z[:RATES]
        seen = z[RATES:]
        means += np.where(seen == 0.0, 0.0, (1.0 - DECAY) * (seen * seen - means))
        w[RATES:] -= scaled[:, None] * seen / np.sqrt(np.where(means > 0.0, means, 1.0))
        w *= np.minimum(1.0, radius / np.maximum(np.linalg.norm(w, axis=1), 1e-300))[:, None]
    return np.array(predictions)


@pytest.mark.parametrize("radius", [0.3, 2.0])
def test_the_formula(radius: float) -> None:
    X, y = shifting(0)
    X[::3, 1] = 0.0
    weight = np.random.default_rng(1).uniform(0.0, 2.0, len(y))
    tracker = Tracker(SQUARED, radius, row=2.0)
    found = tracker.learn(X, y, weight)
    np.testing.assert_allclose(found, reference(tracker, X, y, weight), rtol=1e-8, atol=1e-10)
    assert tracker.rounds == len(y)
    assert tracker.shares.sum() == pytest.approx(1.0, abs=1e-12)
    np.testing.assert_allclose(tracker.predict(X), X @ tracker.weights, rtol=1e-12, atol=1e-15)


def test_the_floor_is_the_best_of_the_members() -> None:
    X, y = shifting(3)
    tracker = Tracker(SQUARED, 2.0)
    tracker.learn(X, y)
    floors = [member.certificate().floor(2.0) for member in tracker.members]
    assert min(floors) < tracker.floor() == max(floors)


def test_rates_fall_by_a_ratio_from_the_steepest() -> None:
    etas = [member.rate.eta for member in Tracker(SQUARED, 1.0, row=3.0).members]
    assert etas[0] == pytest.approx(4.0 / (2.0 * 9.0))
    np.testing.assert_allclose(np.array(etas[:-1]) / etas[1:], RATIO)
    # A kinked loss crosses the ball in some steps of the fastest member.
    etas = [member.rate.eta for member in Tracker(nr.losses.Hinge(), 5.0, row=2.0).members]
    assert etas[0] == pytest.approx(4.0 * 5.0 / 2.0)


@pytest.mark.compiled
def test_the_kernel_is_what_was_written() -> None:
    random = np.random.default_rng(3)
    made, y, weight = random.normal(size=(4, 30)), random.normal(size=30), random.uniform(size=30)
    reach = np.full(30, 0.8)
    runs = []
    for run in (mix_rounds, mix_rounds.py_func):
        shares, totals, out = np.full(4, 0.25), np.zeros(2), np.empty(30)
        run(SQUARED, made, y, weight, reach, shares, totals, out)
        runs.append(np.concatenate([out, shares, totals]))
    np.testing.assert_allclose(runs[0], runs[1], rtol=1e-13)
    assert np.abs(runs[0][:30]).max() == 0.8


@pytest.mark.parametrize("form", [np.asarray, csr_array], ids=["dense", "sparse"])
def test_cuts_change_nothing(form: Any) -> None:
    n = sized(90, 300)
    X, y = shifting(4, n)
    unbroken = Tracker(SQUARED, 1.0).learn(form(X), y)
    broken = Tracker(SQUARED, 1.0)
    parts = [slice(0, 1), slice(1, 2 * n // 5), slice(2 * n // 5, n)]
    pieces = [broken.learn(form(X[part]), y[part]) for part in parts]
    assert np.array_equal(np.concatenate(pieces), unbroken)


@pytest.mark.parametrize("size", [1e-60, 1.0, 1e60])
@pytest.mark.parametrize("targets", [1.0, 1e6])
def test_members_and_mixture_stay_in_the_ball_exactly(size: float, targets: float) -> None:
    n = sized(35, 120)
    X, y = shifting(5, n)
    tracker = Tracker(SQUARED, 0.7 / size, row=size)
    for start in range(0, n, 7):
        part = slice(start, start + 7)
        made = tracker.learn(X[part] * size, targets * y[part])
        limit = Fraction(tracker.radius) ** 2
        for weights in (
            tracker.weights,
            *(one.weights for one in (*tracker.members, *tracker.scaled)),
        ):
            assert sum(Fraction(float(w)) ** 2 for w in weights) <= limit
        for x, p in zip(X[part] * size, made, strict=True):
            assert Fraction(float(p)) ** 2 <= limit * sum(Fraction(float(v)) ** 2 for v in x)


def test_members_that_left_the_ball_do_not_matter() -> None:
    """Rows of many scales in one portion, and members that predict anything."""
    random = np.random.default_rng(8)
    X = random.normal(size=(50, 3)) * 10.0 ** random.uniform(-120, 99, (50, 1))
    tracker = Tracker(SQUARED, 0.3, row=1.0)
    far = np.full(50, 1e140)
    with (
        mock.patch.object(nr.MirrorDescent, "learn", lambda *given: far),
        mock.patch.object(ScaledDescent, "learn", lambda *given: far),
    ):
        made = tracker.learn(X, np.ones(50))
    for x, p in zip(X, made, strict=True):
        square = sum(Fraction(float(v)) ** 2 for v in x)
        inside = Fraction(0.3) ** 2 * square
        assert inside * Fraction(1.0 - 1e-12) <= Fraction(float(p)) ** 2 <= inside


def test_it_stays_near_its_best_member_and_beats_a_fixed_one() -> None:
    X, y = shifting(6, sized(500, 1500))
    tracker = Tracker(SQUARED, 4.0, row=2.0)
    found = float(np.sum((tracker.learn(X, y) - y) ** 2))
    members = [member.certificate().loss for member in tracker.members]
    assert found <= 1.3 * min(members)
    assert found < 0.5 * np.sum((X @ np.linalg.lstsq(X, y, rcond=None)[0] - y) ** 2)
    small = Tracker(SQUARED, 0.5, row=2.0)
    small.learn(X, y)
    best = nr.hindsight(X, y, SQUARED, radius=0.5, tol=1e-6)
    assert 0.5 * best.dual < small.floor() <= best.primal


def test_rows_without_anything_predict_nothing() -> None:
    tracker = Tracker(SQUARED, 1.0)
    assert tracker.learn(np.zeros((3, 2)), [1.0, -1.0, 1.0]).tolist() == [0.0, 0.0, 0.0]
    assert tracker.learn(np.full((2, 2), 1e-300), [1.0, 1.0]).tolist() == [0.0, 0.0]
    assert np.abs(tracker.learn(np.ones((1, 2)), [1.0], [0.0])).max() < 1e-290
    assert Tracker(SQUARED, 1.0).weights.tolist() == []


@pytest.mark.parametrize("radius", [0.0, -1.0, math.inf, math.nan])
def test_a_ball_has_a_radius(radius: float) -> None:
    with pytest.raises(ValueError, match="radius must be a finite number above 0"):
        Tracker(SQUARED, radius)
    with pytest.raises(ValueError, match="row must be a finite number above 0"):
        Tracker(SQUARED, 1.0, row=radius)

"""A grid of rates in one pass: its members, what it is worth, and what it refuses."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import noregret as nr
from noregret import losses, mirrors, rates
from noregret.experts import rate_grid
from tests.sizes import sized


def stream(n: int = 2000) -> tuple[Any, Any]:
    random = np.random.default_rng(2)
    X = random.normal(size=(n, 4)) * [1e-3, 1.0, 10.0, 1e3]
    y = np.where(X @ [3e3, 1.0, -0.2, 1e-3] + random.normal(size=n) > 0.0, 1.0, -1.0)
    return X, y


def test_members_are_powers_of_two_apart() -> None:
    usual = rate_grid(losses.Logistic())
    assert [m.rate.scale for m in usual.learners] == [2.0**j for j in range(-5, 6)]
    assert {m.rate.invariant for m in usual.learners} == {True}
    ball = rate_grid(losses.Hinge(), mirrors.Ball(2.0), low=0.3, high=5.0)
    assert [m.rate for m in ball.learners] == [rates.Adaptive(2.0**j) for j in (-1, 0, 1, 2)]
    own = rate_grid(losses.Hinge(), rate=rates.Constant(0.3), low=0.5, high=0.5)
    assert [m.rate for m in own.learners] == [rates.Constant(0.15)]
    wide = rate_grid(losses.Hinge(), mirrors.Entropy(), dimension=3)
    assert wide.dimension == 3


def test_it_is_nearly_as_good_as_the_best_rate() -> None:
    X, y = stream(sized(600, 2000))
    learner = rate_grid(losses.Logistic())
    learner.learn(X, y)
    proof = learner.certificate()
    alone = []
    for member in learner.learners:
        one = nr.MirrorDescent(losses.Logistic(), mirrors.Euclidean(), member.rate)
        one.learn(X, y)
        alone.append(one.certificate().loss)
    np.testing.assert_allclose(proof.members.totals, alone, rtol=1e-12)
    assert proof.loss <= min(alone) + min(b.value for b in proof.bounds if b.applies)
    # Neither end is the best: the grid holds what was looked for.
    assert 0 < int(np.argmin(alone)) < len(alone) - 1
    assert proof.loss < 0.5 * max(alone) and proof.loss < 1.05 * min(alone)


def test_predictions_know_no_units_of_features() -> None:
    X, y = stream(300)
    units = np.array([1e5, 1e-5, 3.0, 1e2])
    expected = rate_grid(losses.Logistic()).learn(X, y)
    got = rate_grid(losses.Logistic()).learn(X * units, y)
    np.testing.assert_allclose(got, expected, atol=1e-10)


def test_saved_and_loaded_it_goes_on_to_the_bit(tmp_path: Path) -> None:
    X, y = stream(300)
    whole, half = rate_grid(losses.Logistic()), rate_grid(losses.Logistic())
    expected = whole.learn(X, y)
    half.learn(X[:100], y[:100])
    half.save(tmp_path / "grid.nr")
    again = nr.load(tmp_path / "grid.nr")
    np.testing.assert_array_equal(again.learn(X[100:], y[100:]), expected[100:])
    assert str(again.certificate()) == str(whole.certificate())


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({"rate": rates.ScaleFree()}, "has no eta or scale that could be varied"),
        ({"rate": rates.Adaptive()}, "has no eta or scale that could be varied"),
        ({"low": 0.0}, "0 < low <= high, got low=0.0"),
        ({"low": 4.0, "high": 2.0}, "0 < low <= high"),
        ({"high": float("inf")}, "0 < low <= high"),
        ({"low": 1.1, "high": 1.9}, "lie 0 powers of 2"),
        ({"low": 1e-30, "high": 1e30}, "expected 1 to 64"),
    ],
)
def test_what_makes_no_grid_is_refused(options: dict[str, Any], expected: str) -> None:
    with pytest.raises(ValueError, match=expected) as caught:
        rate_grid(losses.Logistic(), **options)
    assert "\n" not in str(caught.value)

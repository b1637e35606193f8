"""The convex game at its edges: maps of one's own, broken promises, bad input, printing."""

from __future__ import annotations

import copy
import json
import math
from typing import Any

import numpy as np
import pytest

from noregret import domains, mirrors, oco, rates
from tests.mirrors.own_map import Cosh

half = rates.Constant(0.5)


def near(value: Any) -> Any:
    return pytest.approx(value, rel=1e-10, abs=1e-12)


def bound(bounds: list[Any], name: str) -> Any:
    return next(b for b in bounds if b.name == name)


@pytest.mark.parametrize("lazy", [True, False])
def test_a_map_of_ones_own_is_played_and_certified(lazy: bool) -> None:
    game = oco.Game(2, Cosh(), half, lazy=lazy)
    proof = oco.run(game, [oco.Linear([1.0, -2.0])] * 3)
    assert game.play() == near(np.sinh([-1.5, 3.0]))
    assert proof.floor(1.0) == near(-3 * math.sqrt(5))
    reasons = {bound.reason for bound in proof.bounds}
    assert reasons == {"Cosh declares no largest_regularizer()"}


def test_curvature_raises_the_floor() -> None:
    flat, curved = (oco.Game(2, mirrors.Entropy(), half) for _ in range(2))
    for center in ([0.2, 0.8], [0.9, 0.1]):
        loss = oco.Quadratic(center, 3.0)
        flat.suffer(loss.value(flat.play()), loss.subgradient(flat.play()))
        curved.face(loss)
    centers = np.array([[0.2, 0.8], [0.9, 0.1]])
    least = sum(1.5 * float(np.sum((centers.mean(0) - c) ** 2)) for c in centers)
    plain, bent = flat.certificate(), curved.certificate()
    assert plain.floor() < bent.floor() <= least + 1e-12
    assert bent.regularized_floor(0.5) > plain.regularized_floor(0.5)
    simplex = oco.Game(2, mirrors.Euclidean(), half, domains.Simplex())
    proof = oco.run(simplex, [oco.Quadratic(c, 3.0) for c in centers])
    assert proof.floor() == near(least)


def test_a_broken_promise_is_told_with_its_round() -> None:  # G-1
    game = oco.Game(2, mirrors.Ball(1), half, gradient_limit=1.0)
    for size in (0.5, 1.0, 3.0, 0.1):
        game.face(oco.Linear([size, 0.0]))
    proof = game.certificate()
    found = bound(proof.bounds, "mirror descent, in advance")
    assert not found.applies and found.reason == "||z||_* <= 1 does not hold since round 3"
    assert "not applicable" in str(proof)
    outside = proof.bounds_for(2.0)
    assert outside and not any(b.applies for b in outside)
    assert "radius 2" in outside[0].reason
    assert "outside" in proof.bounds_at([2.0, 0.0])[0].reason


def test_the_certificate_is_a_value_that_prints() -> None:
    game = oco.Game(2, mirrors.Euclidean(), rates.Adaptive(), domains.Simplex())
    assert game.certificate().floor() == 0.0 and game.certificate().bounds == []
    proof = oco.run(game, [oco.Linear([1.0, 0.0])] * 3)
    before = str(proof)
    game.face(oco.Linear([0.0, 5.0]))
    assert str(proof) == before and "every u in Simplex(scale=1.0)" in before
    assert json.loads(json.dumps(proof.as_dict()))["rounds"] == 3
    point = game.play()
    point[:] = 9.0
    assert game.play().max() <= 1.0


def test_floors_may_be_negative_unless_promised_otherwise() -> None:
    for nonnegative, wanted in ((False, -2.0), (True, 0.0)):
        game = oco.Game(1, mirrors.Ball(1), half, nonnegative=nonnegative)
        game.suffer(0.0, [2.0])
        assert game.certificate().floor() == near(wanted)
    with pytest.raises(ValueError, match="value must be >= 0"):
        game.suffer(-0.1, [0.0])


BAD = [
    ((math.nan, [0.0, 0.0]), "value must be a finite number, got nan"),
    ((math.inf, [0.0, 0.0]), "value must be a finite number, got inf"),
    (("x", [0.0, 0.0]), "value must be a number, got 'x'"),
    (([1.0], [0.0, 0.0]), r"value must be one number, got the shape \(1,\)"),
    ((0.0, [0.0]), r"subgradient has shape \(1,\), expected \(2,\)"),
    ((0.0, [[0.0, 0.0]]), r"subgradient has shape \(1, 2\)"),
    ((0.0, [0.0, math.nan]), "subgradient must be finite, got nan at index 1"),
    ((0.0, ["a", "b"]), "subgradient must be a vector of real numbers"),
    ((0.0, [1e200, 0.0]), "subgradient is too large"),
    ((1e300, [0.0, 0.0]), "too large to be summed"),
    ((0.0, [0.0, 0.0], -1.0), "curvature must be >= 0"),
    ((0.0, [0.0, 0.0], 1e308), "curvature are too large to be summed"),
]


@pytest.mark.parametrize("rate", [half, rates.PerCoordinate(1.0), rates.StronglyConvex(1.0)])
@pytest.mark.parametrize(("arguments", "message"), BAD)
def test_bad_input_leaves_the_game_unchanged(rate: Any, arguments: Any, message: str) -> None:
    game = oco.Game(2, mirrors.Euclidean(), rate)
    game.suffer(1.0, [1.0, -1.0])
    before = copy.deepcopy(game)
    with pytest.raises(ValueError, match=message) as caught:
        game.suffer(*arguments)
    assert "\n" not in str(caught.value)
    assert np.array_equal(game.play(), before.play())
    assert np.array_equal(game._ledger, before._ledger)
    assert np.array_equal(game._theta, before._theta)
    assert game._monitors == before._monitors


def test_a_diverging_game_stops_before_it_moves() -> None:
    game = oco.Game(1, mirrors.Euclidean(), rates.Constant(1e299))
    with pytest.raises(OverflowError, match="round 2 overflows"):
        game.suffer(0.0, [1e20])
    assert game.rounds == 0 and game.play() == 0.0


REFUSED: list[tuple[Any, str]] = [
    ((0, mirrors.Euclidean(), half), "dimension must be a whole number >= 1"),
    ((2, mirrors.Euclidean, half), "forget the parentheses"),
    ((2, mirrors.Euclidean(), 0.5), "rate must be one of noregret.rates"),
    ((2, mirrors.Ball(1), half, None, False), "the map Ball is lazy"),
    ((2, mirrors.Ball(1), half, domains.Box(0, 1)), "has a set of its own"),
    ((2, mirrors.PNorm(3), half, domains.Ball(1)), "takes no domain"),
    ((2, mirrors.Entropy(1), half, domains.Simplex(2)), "of that scale"),
    ((2, mirrors.Entropy(1), half, domains.Ball(1)), "of that scale"),
    ((2, mirrors.UnnormalizedEntropy(), half, domains.Box(0, 1)), "low must be above 0"),
    ((2, mirrors.SoftThreshold(1), half, None, False), "lazy=True"),
    ((2, mirrors.Entropy(), rates.PerCoordinate()), "PerCoordinate needs"),
    ((2, mirrors.Euclidean(), rates.PerCoordinate(), None, False), "lazy=True"),
    ((2, mirrors.Entropy(), rates.StronglyConvex(1)), "StronglyConvex needs"),
    ((2, mirrors.SoftThreshold(1), rates.Doubling()), "restarts the game"),
]


@pytest.mark.parametrize(("arguments", "message"), REFUSED)
def test_what_does_not_go_together_is_refused(arguments: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        oco.Game(*arguments)


def test_floors_that_have_no_class_say_so() -> None:
    game = oco.Game(1, mirrors.Euclidean(), half, domains.Orthant())
    game.suffer(0.0, [1.0])
    with pytest.raises(ValueError, match=r"say floor\(radius\)"):
        game.certificate().floor()
    assert game.certificate().floor(3.0) == near(0.0)
    with pytest.raises(ValueError, match=r"bounds_for\(radius\)"):
        game.certificate().bounds_for()
    with pytest.raises(ValueError, match="a loss must be"):
        game.face(3.0)


@pytest.mark.parametrize("lazy", [True, False])
def test_the_adaptive_rate_needs_no_promise(lazy: bool) -> None:
    mirror, domain = (mirrors.Ball(1), None) if lazy else (mirrors.Euclidean(), domains.Ball(1))
    game = oco.Game(2, mirror, rates.Adaptive(), domain, lazy)
    game.face(oco.Linear([0.0, 0.0]))
    assert list(game.play()) == [0.0, 0.0]
    proof = oco.run(game, [oco.Linear([2.0, 0.0])])
    # The first gradient chooses its own rate, radius / (sqrt(2) ||z||).
    eta = 1 / (2 * math.sqrt(2))
    found = next(b for b in proof.bounds if b.name.endswith("observed gradients"))
    assert found.value == near(0.5 / eta + 0.5 * eta * 4)
    assert game.play() == near([-0.5 if lazy else -1 / math.sqrt(2), 0.0])


def test_a_limit_or_radius_whose_square_overflows_is_refused_in_one_line() -> None:
    ball = mirrors.Ball(1.0)
    for make in (
        lambda: oco.Game(2, mirrors.Euclidean(), half, gradient_limit=1e200),
        lambda: oco.tuned(ball, 2, 10, gradient_limit=1e200),
    ):
        with pytest.raises(ValueError, match=r"gradient_limit must be .* at most 1e\+145"):
            make()
    game = oco.Game(2, mirrors.Euclidean(), rates.PerCoordinate())
    game.suffer(0.0, [1.0, 0.0])
    (found,) = game.certificate().bounds_for(1e200)
    assert not found.applies and found.reason == "the sums overflow"


def test_a_divergence_is_of_finite_vectors() -> None:
    with pytest.raises(ValueError, match="u must be finite, got nan at index 0"):
        oco.divergence(mirrors.Euclidean(), [math.nan], [1.0])

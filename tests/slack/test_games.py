"""The books of convex games and of moments cover the rounding of their inner products."""

from __future__ import annotations

import numpy as np
import pytest

from noregret import mirrors, oco, rates
from noregret.proof.certificate import ROUND_ERRORS
from noregret.proof.ledger import Entry
from noregret.rounding import EPSILON
from noregret.tracking.static import Moments


def entered(w: np.ndarray, z: np.ndarray, curvature: float) -> np.ndarray:
    """Return what the ledger of a game gains by a round at w with the subgradient z."""
    game = oco.Game(len(w), mirrors.Euclidean(), rates.Constant(1.0))
    game.suffer(0.0, -w)
    assert np.array_equal(game.play(), w)
    before = game.certificate().ledger
    game.suffer(0.0, z, curvature)
    gained: np.ndarray = game.certificate().ledger - before
    return gained


@pytest.mark.filterwarnings("ignore:invalid value")
def test_the_magnitude_of_a_round_grows_with_the_coordinates_of_its_inner_product() -> None:
    d = 4000
    rng = np.random.default_rng(0)
    w, z = rng.normal(size=d), rng.normal(size=d)
    # A sum of d products loses half a unit in the last place for each, at worst.
    worst = 0.5 * d * EPSILON * float(np.abs(w) @ np.abs(z))
    assert ROUND_ERRORS * EPSILON * entered(w, z, 0.0)[Entry.MAGNITUDE] >= worst


@pytest.mark.filterwarnings("ignore:invalid value")
def test_what_curved_rounds_draw_Z_by_is_part_of_its_way() -> None:
    gained = entered(np.array([3.0, -4.0]), np.array([1.0, 1.0]), 2.0)
    assert gained[Entry.TRAVEL] >= 2.0 + 14.0


def test_the_tangent_of_a_parabola_moves_Z_and_its_height() -> None:
    game = oco.Game(2, mirrors.Euclidean(), rates.Constant(0.1))
    for center in ([1.0, 2.0], [-3.0, 0.5]):
        game.face(oco.Quadratic(center))
    proof = game.certificate()
    point = np.array([2.0, -5.0])
    flat = proof._flattened(point)
    bend = proof.curvature
    assert bend == 2.0
    for u in ([0.0, 0.0], [1.0, -1.0], [2.0, -5.0]):
        parabola = proof.intercept + proof.gradient @ u + 0.5 * bend * np.dot(u, u)
        tangent = flat.intercept + flat.gradient @ u
        assert tangent <= parabola + 1e-9
    assert tangent == pytest.approx(parabola)
    way = flat.ledger[Entry.TRAVEL] - proof.ledger[Entry.TRAVEL]
    assert way >= bend * float(np.abs(point).sum())
    size = flat.ledger[Entry.MAGNITUDE] - proof.ledger[Entry.MAGNITUDE]
    assert size >= 0.5 * bend * float(point @ point)


@pytest.mark.parametrize("seed", range(20))
def test_moments_of_an_exact_fit_have_no_floor_above_zero(seed: int) -> None:
    rng = np.random.default_rng(seed)
    X = np.round(rng.normal(size=(400, 2)) * 64.0) / 64.0
    u = np.round(rng.normal(size=2) * 64.0) / 64.0
    # Multiples of 1/4096: the products are exact, u loses nothing, and so is their sum.
    y = X @ u
    moments = Moments()
    moments.add(X, y, rng.random(400))
    # Without room beyond u nothing but the slack covers the rounding of s - v'Av.
    assert moments.floor(1.0001 * float(np.linalg.norm(u))) == 0.0

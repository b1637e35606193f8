"""What games state, against the formulas computed here from the points that were played."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from noregret import domains, mirrors, oco, rates
from noregret.proof.statement import Statement

COSTS = np.array([[0.5, 0.0, 1.0], [1.0, 0.25, 0.0], [0.0, 1.0, 0.5], [0.75, 0.5, 0.0]])


def played(player: Any, losses: list[Any]) -> np.ndarray:
    """Face the losses; return the points played."""
    points = []
    for loss in losses:
        points.append(player.play())
        player.face(loss)
    return np.array(points)


def named(bounds: list[Statement], name: str) -> Statement:
    (found,) = [bound for bound in bounds if bound.name == name]
    assert found.applies, found.reason
    return found


def test_exponentiated_gradient_with_costs_above_zero() -> None:
    eta = 0.4
    game = oco.Game(3, mirrors.Entropy(), rates.Constant(eta))
    points = played(game, [oco.Linear(z) for z in COSTS])
    local = eta * float((points * COSTS**2).sum())
    bounds = game.certificate().bounds
    halved = named(bounds, "exponentiated gradient, costs >= 0").value
    assert halved == pytest.approx(math.log(3.0) / eta + 0.5 * local, rel=1e-9)
    whole = named(bounds, "exponentiated gradient, local norms").value
    assert whole == pytest.approx(math.log(3.0) / eta + local, rel=1e-9)


def test_exponentiated_gradient_on_a_simplex_of_another_scale() -> None:
    eta, scale = 0.2, 3.0
    game = oco.Game(3, mirrors.Entropy(scale), rates.Constant(eta))
    played(game, [oco.Linear(z) for z in COSTS])
    ranges = (COSTS.max(axis=1) - COSTS.min(axis=1)) ** 2
    found = named(game.certificate().bounds, "exponentiated gradient, range of costs").value
    expected = scale * (math.log(3.0) / eta + 0.125 * eta * float(ranges.sum()))
    assert found == pytest.approx(expected, rel=1e-9)


def test_the_regularised_leader_of_a_map_whose_conjugate_is_not_1_smooth() -> None:
    eta, p, radius = 0.3, 3.0, 2.0
    player = oco.FollowTheRegularizedLeader(3, mirrors.PNorm(p), eta)
    played(player, [oco.Linear(z) for z in COSTS])
    norms = (COSTS**p).sum(axis=1) ** (1.0 / p)
    bounds = player.certificate().bounds_at([radius, 0.0, 0.0])
    complexity = radius**2 / (2.0 * eta)
    for name, stability in {
        "FoReL, observed gradients, plain": eta * (p - 1.0) * (norms**2).sum(),
        "FoReL, observed gradients": 0.5 * eta * (p - 1.0) * (norms**2).sum(),
        "FoReL, largest gradient": eta * (p - 1.0) * len(COSTS) * norms.max() ** 2,
    }.items():
        assert named(bounds, name).value == pytest.approx(complexity + stability, rel=1e-9)


def test_in_an_orthant_only_falling_coordinates_lower_the_floor() -> None:
    game = oco.Game(2, mirrors.Euclidean(), rates.Constant(0.1), domains.Orthant(), lazy=False)
    played(game, [oco.Linear([3.0, -4.0]), oco.Linear([1.0, 1.0])])
    # The least of <u, Z> over u >= 0 with ||u|| <= 2 is that of u = (0, 2).
    assert game.certificate().floor(2.0) == pytest.approx(-3.0 * 2.0, rel=1e-9)


def test_the_floor_with_the_regulariser_is_the_least_of_the_parabola() -> None:
    eta, centers = 0.5, np.array([[1.0, 2.0], [-3.0, 0.5], [2.0, 2.0]])
    game = oco.Game(2, mirrors.Euclidean(), rates.Constant(eta))
    played(game, [oco.Quadratic(center) for center in centers])
    best = centers.sum(axis=0) / (len(centers) + 1.0 / eta)
    least = 0.5 * ((best - centers) ** 2).sum() + best @ best / (2.0 * eta)
    assert game.certificate().regularized_floor(eta) == pytest.approx(least, rel=1e-9)


def test_a_class_must_lie_within_both_sides_of_a_box() -> None:
    box = domains.Box(-0.5, 2.0)
    game = oco.Game(2, mirrors.Euclidean(), rates.Constant(0.1), box, lazy=False)
    played(game, [oco.Linear([0.5, -0.25]), oco.Linear([-0.5, 1.0])])
    setting = game.certificate().setting
    assert setting.complexity(0.5, 0.1) == pytest.approx(0.25 / 0.2)
    assert setting.complexity(0.6, 0.1) == math.inf


def test_epochs_double_and_their_points_are_averaged() -> None:
    def fresh(rounds: int) -> oco.Game:
        return oco.Game(3, mirrors.Entropy(), rates.Constant(0.5 / math.sqrt(rounds)))

    player = oco.doubling(fresh)
    points = played(player, [oco.Linear(z) for z in np.tile(COSTS, (3, 1))[:9]])
    # Epochs begin at rounds 1, 2, 4 and 8, at the first point of a fresh game.
    start = np.full(3, 1.0 / 3.0)
    begun = [t + 1 for t, point in enumerate(points) if np.allclose(point, start, atol=1e-12)]
    assert begun == [1, 2, 4, 8]
    assert player.average == pytest.approx(points.mean(axis=0), rel=1e-12)

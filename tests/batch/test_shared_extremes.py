"""Rows on shards at the ends of floating point: an overflow of a step is not a lost step."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

import noregret as nr
from noregret.batch import Problem, shared
from noregret.batch.newton import Factor, Joint
from noregret.batch.problem import link
from noregret.batch.shard import Size
from noregret.batch.side_by_side import joint_step, moved
from noregret.passes.dual import joint
from tests.batch.on_shards import shards_of, slopes_of, solver_of
from tests.truth.shared_problems import COMBOS, run_one

ASCENT = False


@pytest.mark.parametrize("number", [379, 701, 795, 956])
def test_generated_problems_in_which_numbers_overflow_or_underflow(number: int) -> None:
    """Found by `tests.truth.shared_problems`: reported as a lost step, or a division by zero."""
    tally = run_one(COMBOS[number % len(COMBOS)], [0, number])
    assert tally is None or tally.false == []


@pytest.mark.parametrize("mirror", [nr.mirrors.Euclidean(), nr.mirrors.Ball(1e152)], ids=str)
def test_a_step_whose_square_overflows_is_shortened(
    mirror: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Steps of three shards, 1e154 long each: the dual never falls, and theta stays in range."""
    shorter = []

    def recorded(theta: Any, step: Any, gamma: float) -> Any:
        found = moved(theta, step, gamma)
        shorter.append(found[0] < gamma)
        return found

    monkeypatch.setattr(shared, "moved", recorded)
    X = np.abs(np.random.default_rng(0).standard_normal((6, 3))) * 1e-150
    problem = Problem.of(
        X, np.ones(6), nr.losses.NegativeLog(), mirror, 1e-300, np.full(6, 1e8), np.full(6, 1e-6)
    )
    shards = shards_of(problem, 3)
    for shard in shards:
        shard.slopes[:] = -1e-150
    solver = solver_of(problem, shards, ASCENT, tol=1e-6, max_passes=1)
    lower = -math.inf
    for _ in range(20):
        solver.max_passes = solver.passes + 1
        done = solver.step()
        theta = -(X.T @ (1e8 * slopes_of(shards))) / problem.strength
        np.testing.assert_allclose(solver.theta, theta, rtol=1e-9)
        assert math.isfinite(float(theta @ theta)) and 1.0 <= solver.spread <= 3.0
        higher = solver.problem.dual_lower()
        assert higher > -math.inf and higher >= lower - 1e-9 * abs(higher)
        lower = higher
        if done:
            break
    solver.check()
    assert any(shorter)


def test_a_step_that_overflows_is_refused_as_one() -> None:
    with pytest.raises(OverflowError, match=r"a step of the weights overflows: scale the rows"):
        moved(np.zeros(2), np.array([1.0, math.inf]), 1.0)
    problem = Problem.of([[1.0]], [1.0], nr.losses.Hinge(), strength=1.0)
    solver = solver_of(problem, shards_of(problem, 1), ASCENT)
    solver.theta[0] = math.inf
    with pytest.raises(OverflowError, match="the weights overflow"):
        solver.require_same(np.array([1.0]), 0.0)


def test_theta_moves_by_the_largest_half_whose_square_is_finite() -> None:
    gamma, theta = moved(np.array([1e150]), np.array([2e154]), 1.0)
    assert gamma == 0.5 and theta[0] == 1e150 + 0.5 * 2e154
    assert moved(np.array([1.0, 2.0]), np.array([4.0, -2.0]), 0.5)[1].tolist() == [3.0, 1.0]
    # Nothing of a step may be left; theta stays where it was.
    assert moved(np.array([1e154]), np.array([1e308]), 1e-300)[0] == 1e-300
    assert math.isfinite(moved(np.array([1e154]), np.array([-1e308]), 1.0)[1][0] ** 2)
    # Where the square overflows already, a step is taken whole.
    assert moved(np.array([1e160]), np.array([2e160]), 1.0)[0] == 1.0


def test_a_joint_step_whose_square_overflows_keeps_sigma() -> None:
    """It is then as short as is safe for any steps: sigma' / K."""
    for parts in (math.inf, 1e300):
        assert joint_step(parts, math.inf, math.inf, 2.0, 8) == (0.25, 2.0)
    # Steps that cancel: the whole step is safe, whatever their squares.
    assert joint_step(math.inf, 0.0, 1.0, 4.0, 4) == (1.0, 1.0)


class Alone:
    """No shards: sums of losses are 0."""

    def call(self, *given: Any) -> list[float]:
        return [0.0]


@pytest.mark.parametrize("size", [1e-300, 1e-170, 1e-160, 1e-100, 1e-3, 1.0])
@pytest.mark.parametrize(
    "mirror",
    [nr.mirrors.SignedEntropy(1.5), nr.mirrors.Ball(0.7), nr.mirrors.PNorm(3.0)],
    ids=str,
)
def test_a_tiny_theta_has_a_factor(mirror: Any, size: float) -> None:
    """L L' is the derivative of the link, which differences of weights estimate."""
    theta = size * np.array([0.3, -0.2])
    problem = Problem.of([[1.0, 1.0]], [1.0], nr.losses.Hinge(), mirror, 1.0)
    size_of_all = Size(1, 2.0, 4.0, 1.0, 1.0, 1.0, 1, False)
    alone: Any = Alone()
    here = Joint(problem, alone, size_of_all, 0.0, False).point(theta, 0.0)
    diagonal = np.empty(2)
    joint.stiffness(mirror, theta.copy(), theta, here.reference, diagonal)
    factor = Factor.of(here, diagonal * here.kappa, mirror)
    found = np.array([factor.times(factor.transposed(unit)) for unit in np.eye(3)])[:2, :2]
    near = 1e-5 * size
    expected = np.empty((2, 2))
    for j in range(2):
        move = near * np.eye(2)[j]
        ends = [link(mirror, theta + sign * move) for sign in (1.0, -1.0)]
        expected[:, j] = (ends[0] - ends[1]) / (2.0 * near)
    np.testing.assert_allclose(found, expected, rtol=1e-3, atol=1e-3 * np.abs(expected).max())

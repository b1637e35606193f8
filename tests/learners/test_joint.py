"""Newton steps over all rows: the factor, the solver, and what rounds do to the gap."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import noregret as nr
from noregret import losses, mirrors
from noregret.batch import newton as rounds
from noregret.batch.newton_rounds import Rounds
from noregret.batch.problem import Problem, link
from noregret.passes.dual import joint
from noregret.passes.dual.gap import Terms
from noregret.shards import Shards

MAPS = [
    mirrors.PNorm(4.0),
    mirrors.PNorm(2.5),
    mirrors.Entropy(2.0),
    mirrors.SignedEntropy(3.0),
    mirrors.UnnormalizedEntropy(0.5),
    mirrors.Hypentropy(0.5),
    mirrors.Euclidean(),
]


def problem_of(mirror: Any, loss: Any = None, rows: int = 40, seed: int = 0) -> Problem:
    random = np.random.default_rng(seed)
    X = random.normal(size=(rows, 6))
    y = np.sign(X @ random.normal(size=6) + 0.5 * random.normal(size=rows))
    return Problem.of(X, y, loss or losses.Logistic(), mirror, strength=0.1)


def joint_of(problem: Problem, given: Any = None, free: bool = False) -> rounds.Joint:
    """Return the problem with its losses unsmoothed, on two shards."""
    split = Rounds(replace(problem, shards=Shards(2)), free)
    split.given[:] = problem.initial_slopes() if given is None else given
    return rounds.Joint(problem, split.workers, split.size, 0.0, free)


@pytest.mark.parametrize("mirror", MAPS, ids=str)
@pytest.mark.parametrize("scale", [0.3, 11.0])
def test_the_factor_is_that_of_the_derivative_of_the_link(mirror: Any, scale: float) -> None:
    problem = problem_of(mirror)
    theta = scale * np.random.default_rng(1).normal(size=6)
    whole = joint_of(problem)
    here = whole.point(theta, 0.0)
    stiff = np.empty(6)
    joint.stiffness(problem.mirror, here.theta, here.theta.copy(), here.reference, stiff)
    factor = rounds.Factor.of(here, stiff * here.kappa, problem.mirror)
    step = np.append(np.random.default_rng(2).normal(size=6), 0.0)
    found = factor.times(factor.transposed(step))[:-1]
    near = 1e-6
    wanted = link(problem.mirror, theta + near * step[:-1])
    wanted = (wanted - link(problem.mirror, theta - near * step[:-1])) / (2.0 * near)
    assert found == pytest.approx(wanted, rel=1e-5, abs=1e-5 * float(np.abs(wanted).max()))


def test_cholesky_solves_and_leaves_out_what_is_lost() -> None:
    random = np.random.default_rng(0)
    half = random.normal(size=(7, 7))
    matrix, right = half @ half.T, random.normal(size=7)
    found = right.copy()
    joint.solve(matrix.copy(), found)
    assert matrix @ found == pytest.approx(right, abs=1e-9)
    singular, right = np.zeros((3, 3)), np.array([4.0, 0.0, 32.0])
    singular[0, 0], singular[2, 2] = 4.0, 16.0
    joint.solve(singular, right)
    assert right.tolist() == [1.0, 0.0, 2.0]


@pytest.mark.parametrize("free", [False, True])
@pytest.mark.parametrize("mirror", [mirrors.SignedEntropy(3.0), mirrors.Euclidean()], ids=str)
def test_applied_and_formed_matrices_take_the_same_step(
    mirror: Any, free: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    problem = problem_of(mirror)
    whole = joint_of(problem, free=free)
    here = whole.point(np.zeros(6), 0.0)
    pulled = whole.pull(here)
    formed = whole.step(here, pulled)
    monkeypatch.setattr(rounds, "LARGEST_MATRIX", 0)
    whole.answer(here.weights, here.bias)
    applied = whole.step(here, pulled)
    assert formed is not None and applied is not None
    assert applied.theta == pytest.approx(formed.theta, rel=1e-6, abs=1e-9)
    assert applied.bias == pytest.approx(formed.bias, rel=1e-6)


def test_flat_weights_move_to_the_edge_that_faces_their_aim() -> None:
    theta, stiff = np.array([0.0, 0.0, 0.5, 2.0]), np.empty(4)
    joint.stiffness(mirrors.ElasticNet(1.0), theta, np.array([0.7, -3.0, 4.0, 5.0]), 0.0, stiff)
    assert theta == pytest.approx([0.7, -1.0, 1.0, 2.0])
    assert stiff == pytest.approx([0.0, 1.0, 1.0, 1.0])


@pytest.mark.compiled
@pytest.mark.each_value
@pytest.mark.parametrize("bias", [False, True])
@pytest.mark.parametrize("loss", [losses.Hinge(), losses.Squared()], ids=str)
@pytest.mark.parametrize("mirror", [mirrors.PNorm(4.0), mirrors.SignedEntropy(20.0)], ids=str)
def test_nearly_parallel_rows_are_solved_in_few_passes(mirror: Any, loss: Any, bias: bool) -> None:
    random = np.random.default_rng(3)
    X = random.normal(size=(300, 8)) + 6.0
    y = np.sign(X @ random.normal(size=8) + random.normal(size=300))
    best = nr.hindsight(X, y, loss, mirror=mirror, strength=0.01, bias=bias, max_passes=300)
    assert best.converged
    other = nr.hindsight(X, y, loss, mirror=mirror, strength=0.01, bias=bias, seed=1)
    assert other.dual <= best.primal and best.dual <= other.primal


@pytest.mark.parametrize("level", [0.0, 3e3, -5e8, 5e8])
def test_derivatives_of_exponentials_know_differences_only(level: float) -> None:
    """theta is the gradient over the strength, and may be huge where that is small."""
    mirror, theta = mirrors.Entropy(), level - np.array([0.0, 0.5, 3.0, 20.0])
    found = np.empty(4)
    joint.stiffness(mirror, theta.copy(), theta - 1.0, level, found)
    np.testing.assert_allclose(found, np.exp(theta - level), rtol=6e-3)
    rows = np.random.default_rng(11).uniform(0.8, 1.25, (20, 4))
    problem = Problem.of(rows, np.zeros(20), losses.NegativeLog(), mirror, strength=1e-6)
    point = joint_of(problem, np.full(20, -1.0)).point(theta, 0.0)
    assert point.growth == pytest.approx(1.0, rel=1e-3)


@pytest.mark.parametrize("loss", [losses.Hinge(), losses.Absolute(), losses.Logistic()], ids=str)
def test_slopes_are_the_derivatives_of_the_smoothed_losses(loss: losses.Loss) -> None:
    rng = np.random.default_rng(1)
    count, delta, near = 12, 0.4, 1e-6
    y = np.where(rng.random(count) < 0.5, 1.0, -1.0)
    terms = Terms(y, rng.random(count) + 0.5, np.zeros(count))
    given = np.array([loss.initial_slope(label) for label in y])
    predictions, slopes, unused = rng.normal(size=count), np.empty(count), np.empty(count)
    joint.answer(loss, terms, predictions, given, delta, slopes)
    for t in range(count):
        ends = []
        for move in (-near, near):
            moved = predictions.copy()
            moved[t] += move
            ends.append(joint.answer(loss, terms, moved, given, delta, unused))
        assert (ends[1] - ends[0]) / (2.0 * near) == pytest.approx(
            terms.weight[t] * slopes[t], abs=1e-5
        )

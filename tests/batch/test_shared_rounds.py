"""A free bias and a ball without a regulariser, over shards: closed gaps, bits, states."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

import noregret as nr
from noregret.batch import Problem, newton
from noregret.batch.shard import Shard
from noregret.batch.shared import LostStep, SharedSolver
from noregret.batch.shared_bias import BiasRounds
from noregret.batch.shared_radius import RadiusRounds
from tests.batch.on_shards import proved, shards_of, slopes_of, solver_of
from tests.batch.test_shared import PASSES, draw
from tests.truth.hindsight_problems import LOSSES, MAPS

#: -ln p falls forever along a bias.
WITH_BIAS = [loss for loss in LOSSES if not isinstance(loss, nr.losses.NegativeLog)]
RADIUS, BIAS = "radius", "bias"
CASES = [(RADIUS, loss) for loss in LOSSES] + [(BIAS, loss) for loss in WITH_BIAS]
SOME = [
    (mode, loss)
    for mode in (RADIUS, BIAS)
    for loss in (nr.losses.Hinge(), nr.losses.Logistic(), nr.losses.Absolute())
]


def drawn(mode: str, loss: Any, radius: float = 0.8, **more: Any) -> Problem:
    """Return a problem of `draw`, in a ball or to be solved with a free bias."""
    problem = draw(loss, **more)
    if mode == BIAS:
        return problem
    return replace(problem, strength=0.0, radius=radius)


def solving(mode: str, problem: Problem, shards: list[Shard], **options: Any) -> SharedSolver:
    """Return the solver that the problem needs."""
    solver = solver_of(problem, shards, free=mode == BIAS, **({"max_passes": PASSES} | options))
    assert type(solver) is {RADIUS: RadiusRounds, BIAS: BiasRounds}[mode]
    return solver


def require_agreement(mode: str, problem: Problem, found: Any, tol: float) -> None:
    """Check the gap, and that the solution in memory does not disprove it, nor it that one."""
    assert found.converged and found.gap <= tol * max(1.0, abs(found.primal))
    rows = problem.rows
    X = rows.values if rows.dense else sp.csr_array((rows.values, rows.indices, rows.indptr))
    form: dict[str, Any] = {"radius": problem.radius}
    if mode == BIAS:
        form = {"mirror": problem.mirror, "strength": problem.strength, "bias": True}
    other = nr.hindsight(
        X, problem.y, problem.loss, weight=problem.weight, offset=problem.offset, tol=tol,
        max_passes=PASSES, **form,
    )  # fmt: skip
    assert other.converged
    assert max(found.dual, other.dual) <= min(found.primal, other.primal)
    # Each predictor is judged by the evaluation of the other solver.
    primal = problem.primal_upper(found.weights, found.bias)
    assert primal >= other.dual and primal == pytest.approx(found.primal, rel=1e-12)
    assert found.objective == other.objective


@pytest.mark.each_value
@pytest.mark.parametrize(("mode", "loss"), CASES, ids=str)
@pytest.mark.parametrize("count", [1, 3, 8])
@pytest.mark.parametrize("layout", [np.asarray, sp.csr_array], ids=["dense", "sparse"])
@pytest.mark.parametrize("narrow", [True, False], ids=["matrix", "applied"])
def test_the_gap_is_closed_for_every_loss(
    mode: str, loss: Any, count: int, layout: Any, narrow: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    if not narrow:
        monkeypatch.setattr(newton, "LARGEST_MATRIX", 0)
    for tol in (1e-3, 1e-6):
        problem = drawn(mode, loss, layout=layout)
        shards = shards_of(problem, count)
        solver = solving(mode, problem, shards, workers=2, tol=tol)
        found = solver.run()
        require_agreement(mode, problem, found, tol)
        solver.check()
        bias = found.bias if mode == BIAS else None
        primal, dual = proved(problem, slopes_of(shards), found.weights, count, bias)
        assert primal == pytest.approx(found.primal, rel=1e-9)
        assert dual == pytest.approx(found.dual, rel=1e-9, abs=1e-9)

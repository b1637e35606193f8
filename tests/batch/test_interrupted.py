"""Ctrl-C in the middle of a call of all shards leaves a solution with a true gap."""

from __future__ import annotations

from typing import Any

import pytest

import noregret as nr
from noregret.batch.shard import Shard
from tests.batch.on_shards import shards_of, solver_of
from tests.batch.test_shared import ASCENT, NEWTON, PASSES, alone, draw


class Cut(Shard):
    """A shard at which Ctrl-C arrives in the middle of a call."""

    due: dict[str, int]

    def interrupt(self, method: str) -> None:
        self.due[method] -= 1
        if not self.due[method]:
            raise KeyboardInterrupt

    def visit(self, *arguments: Any) -> Any:
        self.interrupt("visit")
        return super().visit(*arguments)

    def bend(self, delta: float) -> float:
        self.interrupt("bend")
        return super().bend(delta)


@pytest.mark.parametrize("path", [NEWTON, ASCENT], ids=["newton", "ascent"])
@pytest.mark.parametrize("after", [1, 2, 3])
def test_an_interrupted_pass_leaves_a_solution(path: bool, after: int) -> None:
    """Some shards have moved their slopes when the last one is interrupted."""
    problem = draw(nr.losses.SquaredHinge(), seed=11, strength=0.01)
    shards = shards_of(problem, 4)
    shards[-1].__class__ = Cut
    shards[-1].due = {"visit": after, "bend": after}  # type: ignore[attr-defined]
    solver = solver_of(problem, shards, path, tol=1e-12, max_passes=PASSES)
    found = solver.run()
    assert min(shards[-1].due.values()) == 0  # type: ignore[attr-defined]
    assert not found.converged and solver.passes < PASSES
    best = alone(problem, 1e-9)
    assert found.dual <= best.primal and best.dual <= found.primal
    assert solver.problem.dual_lower() == found.dual
    solver.check()

"""Problems cut into shards, for the tests of what works on them."""

from __future__ import annotations

from typing import Any

import numpy as np

from noregret.batch import Problem
from noregret.batch.shard import Shard
from noregret.batch.shared import SharedProblem, SharedSolver
from noregret.batch.sharing import solver_of as kind_of
from noregret.batch.verifying import verified
from noregret.shards import Shards
from noregret.workers import Threads


def shards_of(problem: Problem, count: int, seed: int = 0) -> list[Shard]:
    """Return the rows of a problem on this many shards."""
    pieces = Shards(count).pieces(len(problem.rows))
    return [Shard(problem.cut(*piece), seed=seed, number=k) for k, piece in enumerate(pieces)]


def shared(
    problem: Problem, shards: list[Any], workers: int = 1, free: bool = False
) -> SharedProblem:
    """Return the problem of all shards together, with a free bias or without."""
    return SharedProblem(
        Threads(shards, workers), problem.loss, problem.mirror, problem.strength, problem.width,
        problem.radius, free,
    )  # fmt: skip


def solver_of(
    problem: Problem,
    shards: list[Any],
    newton: bool | None = None,
    workers: int = 1,
    free: bool = False,
    **options: Any,
) -> SharedSolver:
    """Return the solver over the shards; `newton` forces one of the two paths of `SharedSolver`."""
    whole = shared(problem, shards, workers, free)
    solver = kind_of(whole)(whole, **options)
    if newton is not None:
        solver.newton = newton
    return solver


def slopes_of(shards: list[Any]) -> Any:
    """Return the slopes of all shards in the order of the rows."""
    return np.concatenate([shard.slopes for shard in shards])


def proved(
    problem: Problem, slopes: Any, weights: Any, count: int = 1, bias: float | None = None
) -> tuple[float, float]:
    """Return what `verified` finds for slopes and weights that no solver has made."""
    pieces = Shards(count).pieces(len(problem.rows))
    shards = [Shard(problem.cut(b, e), np.array(slopes[b:e], np.float64)) for b, e in pieces]
    objective = shared(problem, shards, free=bias is not None)
    size = objective.size
    return verified(objective, objective.workers, size.rows, size.weight, np.asarray(weights), bias)

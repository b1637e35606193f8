"""Which solver a problem over shards needs, wherever the shards are."""

from __future__ import annotations

from noregret.batch.shared import SharedProblem, SharedSolver
from noregret.batch.shared_bias import BiasRounds
from noregret.batch.shared_radius import RadiusRounds


def solver_of(
    problem: SharedProblem, visits: type[SharedSolver] = SharedSolver
) -> type[SharedSolver]:
    """Return the class of the solver: Newton rounds with a free bias or in a ball, else `visits`.

    Args:
        problem: what is minimised.
        visits: the solver for a regulariser without a bias, which may also visit rows one by one
            [default: `SharedSolver`].
    """
    if problem.free:
        return BiasRounds
    return visits if problem.radius is None else RadiusRounds

"""Batch problems: the best fixed predictor in hindsight, with a certified duality gap."""

from noregret.batch.constrained import ConstrainedSolution, hindsight_constrained
from noregret.batch.hindsight import hindsight, regularization_path
from noregret.batch.problem import Problem, Solution
from noregret.batch.solver import Progress

__all__ = [
    "ConstrainedSolution",
    "Problem",
    "Progress",
    "Solution",
    "hindsight",
    "hindsight_constrained",
    "regularization_path",
]

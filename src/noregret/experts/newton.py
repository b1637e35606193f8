"""Quadratics on the simplex, minimised exactly, and the online Newton step for portfolios."""

from __future__ import annotations

import numpy as np

from noregret.arrays import Matrix, Vector, real_array
from noregret.experts.checks import as_relatives
from noregret.turns import one_at_a_time

#: Multipliers above minus this part of the gradient's size count as not negative.
_TOLERANCE = 1e-13


def simplex_minimum(A: Matrix, b: Vector, start: Vector) -> Vector:
    """Return the p of the simplex with the least p'Ap/2 - b'p, A positive definite.

    A primal active-set method from a feasible start: minimise on the face of the current
    support, walk there until a component vanishes, else let in the component with the most
    negative multiplier. It ends, since every face is minimised at most once.

    >>> simplex_minimum(np.eye(3), np.array([1.0, 0.5, -3.0]), np.ones(3) / 3)
    array([0.75, 0.25, 0.  ])
    """
    p = start.copy()
    free = p > 0.0
    for _ in range(50 * len(p) + 100):
        face = np.flatnonzero(free)
        inverse = np.linalg.solve(
            A[np.ix_(face, face)], np.column_stack([b[face], np.ones(len(face))])
        )
        # A q = b + level on the face, with the level at which q sums to 1.
        level = (1.0 - inverse[:, 0].sum()) / inverse[:, 1].sum()
        q = inverse[:, 0] + level * inverse[:, 1]
        outward = q < 0.0
        if outward.any():
            here = p[face]
            reach = np.where(outward, here / np.where(outward, here - q, 1.0), np.inf)
            first = int(np.argmin(reach))
            p[face] = np.maximum(here + min(float(reach[first]), 1.0) * (q - here), 0.0)
            p[face[first]] = 0.0
            free[face[first]] = False
            continue
        p[:] = 0.0
        p[face] = q
        gradient = A @ p - b
        multipliers = np.where(free, 0.0, gradient - level)
        entering = int(np.argmin(multipliers))
        size = float(np.abs(A @ np.abs(p)).max() + np.abs(b).max())
        if multipliers[entering] >= -_TOLERANCE * size:
            return p
        free[entering] = True
    raise ArithmeticError("the active-set method did not end: A is too near to singular")


class NewtonStep:
    """The online Newton step on portfolios, the weights of the coming round in `weights`.

    g = x / <p, x>, A <- A + g g', b <- b + (1 + 1/beta) g from A = I and b = 0, and p the point
    of the simplex nearest to delta A^(-1) b in the norm of A; a part `mixing` of the wealth is
    kept in equal parts.
    Reference: Agarwal, Hazan, Kale, Schapire, Algorithms for Portfolio Management Based on the
    Newton Method, 2006, Figure 1.

    >>> step = NewtonStep(2)
    >>> step.learn(np.array([1.1, 0.9]))
    >>> step.weights.round(4)
    array([0.4265, 0.5735])
    """

    def __init__(
        self, assets: int, beta: float = 1.0, delta: float = 0.125, mixing: float = 0.0
    ) -> None:
        self.beta, self.delta, self.mixing = beta, delta, mixing
        self._A = np.eye(assets)
        self._b = np.zeros(assets)
        self._point = np.full(assets, 1.0 / assets)

    @property
    def weights(self) -> Vector:
        """The portfolio of the coming round."""
        return (1.0 - self.mixing) * self._point + self.mixing / len(self._point)

    @one_at_a_time
    def learn(self, relatives: Vector) -> None:
        """Learn the price relatives of one round.

        Relatives that cannot be used raise ValueError and leave the portfolio as it was.
        """
        x = as_relatives(real_array("relatives", relatives)[None], len(self._point))[0]
        slope = x / float(self.weights @ x)
        A, b = self._A + np.outer(slope, slope), self._b + (1.0 + 1.0 / self.beta) * slope
        self._point = simplex_minimum(A, self.delta * b, self._point)
        self._A, self._b = A, b

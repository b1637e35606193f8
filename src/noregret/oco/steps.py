"""Single steps without a game: the additive one and the implicit (proximal) one."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from noregret import mirrors
from noregret.component import require_positive
from noregret.domains import Domain
from noregret.mirrors import Mirror
from noregret.oco import maps
from noregret.oco.losses import number, vector

Vector = npt.NDArray[np.float64]


def step(
    mirror: Mirror, w: npt.ArrayLike, z: npt.ArrayLike, eta: float, domain: Domain | None = None
) -> Vector:
    """Return argmin over u of D(u, w) + eta <z, u>, projected on the domain if there is one.

    Euclidean: w - eta z; entropies: w_i exp(-eta z_i), normalised on the simplex.
    Reference: Herbster and Warmuth, Tracking the Best Linear Predictor, eq. 4.

    >>> from noregret import mirrors
    >>> step(mirrors.Euclidean(), [0.2, 0.3], [-0.5, 0.0], 0.1)
    array([0.25, 0.3 ])
    """
    point = vector("w", w)
    gradient = vector("z", z, len(point))
    require_positive("eta", eta)
    moved = maps.link(mirror, maps.inverse_link(mirror, point) - eta * gradient)
    return moved if domain is None else maps.project(mirror, domain, moved)


def implicit_step(
    mirror: Mirror, w: npt.ArrayLike, x: npt.ArrayLike, y: float, eta: float
) -> Vector:
    """Return argmin over u of D(u, w) + eta (<u, x> - y)^2, the loss not linearised.

    Euclidean: w - 2 eta (p - y) x / (1 + 2 eta ||x||^2) with p = <w, x>. Entropies: with s the
    one root of s = sum_i x_i w_i exp(-2 eta (s - y) x_i), normalised on the simplex, found by
    bisection between p and y.
    Reference: Herbster and Warmuth, Tracking the Best Linear Predictor, section 3.1; Kivinen
    and Warmuth, Exponentiated Gradient versus Gradient Descent, 1997.

    >>> from noregret import mirrors
    >>> implicit_step(mirrors.Euclidean(), [0.2, 0.3, 0.5], [1.0, 0.0, 0.5], 0.8, 0.1)
    array([0.256, 0.3  , 0.528])
    """
    point = vector("w", w)
    row = vector("x", x, len(point))
    target = number("y", y)
    require_positive("eta", eta)
    if type(mirror) is mirrors.Euclidean:
        factor = 2.0 * eta * (float(point @ row) - target) / (1.0 + 2.0 * eta * float(row @ row))
        return point - factor * row
    if type(mirror) not in maps.ENTROPIES:
        raise ValueError(
            f"the implicit step is known for Euclidean and the entropies, not {mirror}"
        )
    logs = maps.inverse_link(mirror, point)

    def moved(s: float) -> Vector:
        return maps.link(mirror, logs - 2.0 * eta * (s - target) * row)

    # s - <moved(s), x> increases in s, and changes sign between the target and the prediction.
    low, high = sorted((float(moved(target) @ row), target))
    while True:
        middle = low + 0.5 * (high - low)
        if not low < middle < high:
            return moved(middle)
        if middle < float(moved(middle) @ row):
            low = middle
        else:
            high = middle

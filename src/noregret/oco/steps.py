"""What needs no game: single steps, divergences, and the rate that is tuned in advance."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from noregret import rates
from noregret.arrays import ArrayLike, Vector, as_number, as_vector, as_whole
from noregret.component import require_positive
from noregret.domains import Domain
from noregret.mirrors import Mirror
from noregret.oco.setting import settle
from noregret.proof import closed_forms
from noregret.proof.convexity import undeclared


def step(
    mirror: Mirror, w: ArrayLike, z: ArrayLike, eta: float, domain: Domain | None = None
) -> Vector:
    """Return argmin over u of D(u, w) + eta <z, u>, projected on the domain if there is one.

    Euclidean: w - eta z; entropies: w_i exp(-eta z_i), normalised on the simplex.
    Reference: Herbster and Warmuth, Tracking the Best Linear Predictor, eq. 4.

    >>> from noregret import mirrors
    >>> step(mirrors.Euclidean(), [0.2, 0.3], [-0.5, 0.0], 0.1)
    array([0.25, 0.3 ])
    """
    point = as_vector("w", w)
    gradient = as_vector("z", z, len(point))
    require_positive("eta", eta)
    moved = mirror.link(mirror.inverse_link(point) - eta * gradient)
    return moved if domain is None else mirror.project(domain, moved)


def implicit_step(mirror: Mirror, w: ArrayLike, x: ArrayLike, y: float, eta: float) -> Vector:
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
    point = as_vector("w", w)
    row = as_vector("x", x, len(point))
    target = as_number("y", y)
    require_positive("eta", eta)
    if mirror.euclidean():
        factor = 2.0 * eta * (float(point @ row) - target) / (1.0 + 2.0 * eta * float(row @ row))
        return point - factor * row
    if not mirror.local_norms():
        raise ValueError(
            f"the implicit step is known for Euclidean and the entropies, not {mirror}"
        )
    logs = mirror.inverse_link(point)

    def moved(s: float) -> Vector:
        return mirror.link(logs - 2.0 * eta * (s - target) * row)

    # s - <moved(s), x> increases in s, and changes sign between the target and the prediction.
    low, high = sorted((float(moved(target) @ row), target))
    while low < (middle := low + 0.5 * (high - low)) < high:
        low, high = (middle, high) if middle < float(moved(middle) @ row) else (low, middle)
    return moved(middle)


def divergence(mirror: Mirror, u: ArrayLike, w: ArrayLike) -> float:
    """Return the Bregman divergence D(u, w) = R(u) - R(w) - <grad R(w), u - w> of a map.

    Euclidean: ||u - w||^2 / 2; unnormalised entropy: sum u_i ln(u_i / w_i) + w_i - u_i; the
    entropy on the simplex is the same where u and w have the same sum.
    Reference: Herbster and Warmuth, Tracking the Best Linear Predictor, section 3.

    >>> from noregret import mirrors
    >>> divergence(mirrors.Euclidean(), [3.0, 1.0], [1.0, 1.0])
    2.0
    """
    left, right = np.array(u, np.float64), np.array(w, np.float64)
    if left.ndim != 1 or left.shape != right.shape:
        raise ValueError(f"u has shape {left.shape}, w has shape {right.shape}: expected one shape")
    return mirror.divergence(left, right)


class Tuned(NamedTuple):
    """A constant rate, and the regret that no sequence can push it above."""

    rate: rates.Constant
    bound: float


def tuned(
    mirror: Mirror,
    dimension: int,
    horizon: int,
    gradient_limit: float,
    radius: float | None = None,
    domain: Domain | None = None,
) -> Tuned:
    """Return the best constant rate for `horizon` rounds with ||z||_* <= gradient_limit.

    With C the maximum of R over the class and c the map's smoothness, C/eta + (c/2) eta T G^2
    is least at eta = sqrt(2 C / (c T)) / G, where it is G sqrt(2 C c T). The class is the set of
    the game, or the map's class of that radius.
    Reference: Shalev-Shwartz, Online Learning and Online Convex Optimization, Theorem 2.21.

    >>> from noregret import mirrors
    >>> round(tuned(mirrors.Ball(1.0), dimension=3, horizon=100, gradient_limit=1.0).bound, 9)
    10.0
    """
    horizon = as_whole("horizon", horizon)
    require_positive("gradient_limit", gradient_limit)
    setting = settle(as_whole("dimension", dimension), mirror, rates.Constant(1.0), domain, True)
    if radius is None and not setting.bounded:
        radius = setting.mirror.own_radius()
        if radius is None:
            raise ValueError(f"{mirror} has no set of its own: say radius=")
    if undeclared(setting.mirror):
        raise ValueError(undeclared(setting.mirror))
    complexity, smoothness = setting.complexity(radius, 1.0), setting.mirror.smoothness()
    if not math.isfinite(complexity):
        raise ValueError(f"radius {radius} is not within the set of the game")
    if not smoothness > 0.0:
        raise ValueError(f"{type(mirror).__name__} has no global bound on a round's cost")
    if complexity == 0.0:
        return Tuned(rates.Constant(1.0 / gradient_limit), 0.0)
    squares = smoothness * horizon * gradient_limit**2
    rate = rates.Constant(closed_forms.tuned_rate(complexity, squares))
    return Tuned(rate, closed_forms.tuned_regret(complexity, squares))

"""The exact dual step of a loss of several scores, all slopes of one row at a time.

With z = s + q g_old, s the scores of the row and q its curvature, the new slopes maximise

    -f*(g) + <z, g> - (q/2) ||g||^2   over g,

which is also the implicit step: g is a subgradient of f at z - q g.
"""

from __future__ import annotations

import math
from typing import Any

from noregret.arrays import Vector
from noregret.elementary import exp, log

#: Excess of the sum of the probabilities, relative to it, at which the multiplier is final.
_RESOLUTION = 1e-15
#: Limit on the steps of Newton's method, which needs about ten.
_STEPS = 60
#: exp underflows to 0 below this exponent.
_LOWEST = -745.0


def hinge_slopes(y: int, margin: float, z: Vector, q: float, slopes: Vector) -> None:
    """Write the best slopes a (p - e_y) of a multiclass hinge, q > 0.

    With v_k = margin + z_k - z_y they are [v_k - level]+ / q off y, and the level solves
    sum_k [v_k - level]+ = min(level, q): the left side falls, the right one does not. Classes are
    dropped until every one left is above the level, which only rises meanwhile. All is counted
    from the largest v, which is `height` above the level, so that nothing cancels for small q.
    Reference: Crammer and Singer, 2001, section 5; Michelot, 1986, for the dropping.

    >>> import numpy as np
    >>> slopes = np.empty(3)
    >>> hinge_slopes(0, 1.0, np.zeros(3), 1.0, slopes)
    >>> slopes.round(6).tolist()
    [-0.666667, 0.333333, 0.333333]
    """
    top = -math.inf
    for k in range(len(z)):
        top = max(top, z[k] if k != y else -math.inf)
    lead = margin + (top - z[y])
    height = lead if lead > 0.0 else 0.0
    left = len(z)
    while height > 0.0:
        total = 0.0
        count = 0
        for k in range(len(z)):
            if k != y and z[k] - top + height > 0.0:
                total += z[k] - top
                count += 1
        # Rounding may count a class at the level again: stop where the count does not fall.
        if count >= left:
            break
        left = count
        height = min((lead - total) / (1.0 + count), (q - total) / count)
    mass = 0.0
    for k in range(len(z)):
        slopes[k] = max(z[k] - top + height, 0.0) / q if k != y and height > 0.0 else 0.0
        mass += slopes[k]
    _balance(y, slopes, mass)


def softmax_slopes(y: int, z: Vector, q: float, slopes: Vector) -> None:
    """Write the best slopes p - e_y of the softmax loss, q > 0.

    The probabilities solve ln p_k + q p_k = z_k + q [k = y] - level with sum 1. Their sum is convex
    and falls in the level, so that Newton's method from below never oversteps. Each ln p_k is
    concave in the level: its tangent at one level is the start from above at the next.

    >>> import numpy as np
    >>> slopes = np.empty(2)
    >>> softmax_slopes(1, np.zeros(2), 1e-9, slopes)
    >>> slopes.round(6).tolist()
    [0.5, -0.5]
    """
    highest = -math.inf
    for k in range(len(z)):
        highest = max(highest, _raised(y, z, q, k))
    total = 0.0
    for k in range(len(z)):
        total += exp(_raised(y, z, q, k) - highest)
    # No probability is above 1: at this level each is at least what it is at the root.
    level = (highest + log(total)) - q
    log_q = log(q)
    for k in range(len(z)):
        slopes[k] = _probability(_raised(y, z, q, k) - level, q, log_q)
    for _ in range(_STEPS):
        total = 0.0
        fall = 0.0
        for k in range(len(z)):
            total += slopes[k]
            fall += slopes[k] / (1.0 + q * slopes[k])
        excess = total - 1.0
        if not excess > _RESOLUTION * total:
            break
        moved = level + excess / fall
        if not moved > level:
            break
        for k in range(len(z)):
            p = slopes[k]
            if p > 0.0:
                # x - q p is ln p, too, but cancels where q is large.
                start = log(p) - (moved - level) / (1.0 + q * p)
                slopes[k] = _from_above(_raised(y, z, q, k) - moved, q, start)
        level = moved
    rest = 0.0
    total = 0.0
    for k in range(len(z)):
        total += slopes[k]
    for k in range(len(z)):
        slopes[k] /= total
        rest += slopes[k] if k != y else 0.0
    slopes[y] = -min(rest, 1.0)


def _raised(y: int, z: Vector, q: float, k: int) -> float:
    """Return z_k + q [k = y]."""
    return float(z[k] + (q if k == y else 0.0))


def _probability(x: float, q: float, log_q: float) -> float:
    """Return the p > 0 with ln p + q p = x, 0 if it underflows; p is W(q exp(x)) / q."""
    # W(exp(y)) is at most y for y > 1, so that u starts above the root ln p.
    y = x + log_q
    return _from_above(x, q, min(x, log(y) - log_q) if y > 1.0 else x)


def _from_above(x: float, q: float, u: float) -> float:
    """Return the same from a start u above ln p.

    Newton's steps on x - u - q exp(u), which is concave and falls, do not cross the root.
    """
    if x < _LOWEST:
        return 0.0
    p = 0.0
    for _ in range(_STEPS):
        p = exp(u)
        step = (x - u - q * p) / (1.0 + q * p)
        u += step
        if abs(step) < 1e-8:
            # 1 + step is exp(step) to the last digit; the next step would be of its square's size.
            p += p * step
            break
    return p


def entropy(y: int, slopes: Vector) -> float:
    """Return -sum_k p_k ln p_k for the probabilities p = slopes + e_y, none of whose terms is < 0.

    >>> import numpy as np
    >>> round(entropy(0, np.array([-0.5, 0.5])), 6)
    0.693147
    """
    total = 0.0
    for k in range(len(slopes)):
        p = 1.0 + slopes[k] if k == y else slopes[k]
        if 0.0 < p < 1.0:
            total -= p * math.log(p)
    return float(total)


def allowed(target: Any, slopes: Vector) -> None:
    """Bring any slopes to a (p - e_y) with 0 <= a <= 1 and p a probability vector off y.

    >>> import numpy as np
    >>> slopes = np.array([5.0, 0.5, 3.0, 0.5])
    >>> allowed(0.0, slopes)
    >>> slopes.tolist()
    [-1.0, 0.25, 0.5, 0.25]
    """
    y = int(target)
    mass = 0.0
    for k in range(len(slopes)):
        # None is above 1, and their sum then does not overflow.
        slopes[k] = min(max(slopes[k], 0.0), 1.0) if k != y else 0.0
        mass += slopes[k]
    _balance(y, slopes, mass)


def _balance(y: int, slopes: Vector, mass: float) -> None:
    """Shrink slopes off y to a sum of at most 1, from `mass`, and write minus the sum at y."""
    if mass > 1.0:
        for k in range(len(slopes)):
            slopes[k] /= mass
        mass = 1.0
    slopes[y] = -mass

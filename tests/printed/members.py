"""Members of a class to compare with: corners, random ones, and the best that is found."""

from __future__ import annotations

import numpy as np

from tests.printed.data import Data, Member, Vector
from tests.printed.spaces import Space


def members(
    space: Space, data: Data, random: np.random.Generator, tried: list[Vector] | None = None
) -> list[Member]:
    """Return exact members of the class, the best predictor found among them."""
    space = space.measured(data)
    d = data.dimension
    zero = np.zeros(d)
    _, slope = data.objective(zero)
    starts = [zero, *space.corners(slope), *(tried or [])]
    size = _natural(data)
    for length in (1.0, 0.1, 10.0):
        starts.append(random.normal(size=d) * size * length)
    near = [space.near(np.asarray(u, np.float64)) for u in starts]
    values = [data.objective(u)[0] for u in near]
    order = np.argsort(np.nan_to_num(values, nan=np.inf))
    found = [descended(space, data, near[int(order[k])], size) for k in range(min(2, len(order)))]
    exact = [space.fitted(u) for u in [*found, *near]]
    kept = [u for u in exact if u is not None]
    for u in kept:
        assert space.contains(u), (space, u)
    return kept


def _natural(data: Data) -> float:
    """Return a length at which predictions are of order 1, or of the order of the targets."""
    size = float(np.abs(data.X).max(initial=0.0))
    return max(1.0, float(np.abs(data.y).max(initial=0.0))) / size if size > 0.0 else 1.0


def descended(space: Space, data: Data, start: Vector, size: float) -> Vector:
    """Return the best of projected subgradient steps, shorter and shorter.

    A step is normalised; each stage starts again from the best point so far.
    """
    units = np.ones(len(start))
    if space.units is not None:
        m = np.array(space.units)
        units = np.where(m > 0.0, 1.0 / np.where(m > 0.0, m, 1.0), 1.0)
    best, least = start, data.objective(start)[0]
    length = min(float(space.radius), 3.0 * size) if space.shape != "box" else size
    length = length if length > 0.0 else size
    if space.units is not None:
        length = min(float(space.radius), 10.0)
    for _ in range(9):
        u = best
        for k in range(25):
            _, slope = data.objective(u)
            step = units * units * slope
            norm = float(np.sqrt(slope @ step))
            if not 0.0 < norm < np.inf:
                break
            u = space.near(u - length / (1.0 + 0.3 * k) / norm * step)
            value = data.objective(u)[0]
            if value < least:
                best, least = u, value
        length *= 0.35
    return best

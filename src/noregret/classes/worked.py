"""The classes of the survey's examples, as tables."""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np
import numpy.typing as npt

from noregret.arrays import as_whole
from noregret.classes.tables import FiniteClass

#: `all_functions` and `parities` have at most 2^16 hypotheses.
_MOST_POINTS = 16


def thresholds(points: int) -> FiniteClass:
    """Return all h_a(x) = 1 if x < a else 0, a = 0..N, on the points 0..N-1.

    Littlestone dimension floor(log2(N + 1)), VC dimension 1.
    Reference: Shalev-Shwartz, Online Learning and Online Convex Optimization, Example 3.3.

    >>> thresholds(2).table.tolist()
    [[0, 0], [1, 0], [1, 1]]
    """
    n = as_whole("points", points)
    return FiniteClass(np.arange(n) < np.arange(n + 1)[:, None])


def intervals(points: int) -> FiniteClass:
    """Return all h(x) = 1 if a <= x < b else 0 on the points 0..N-1.

    >>> intervals(4).size
    11
    """
    n = as_whole("points", points)
    x = np.arange(n)
    ends = [(0, 0), *itertools.combinations(range(n + 1), 2)]
    return FiniteClass([(a <= x) & (x < b) for a, b in ends])


def singletons(points: int) -> FiniteClass:
    """Return all h_i(x) = 1 if x = i else 0 on N points: Littlestone dimension 1 for N >= 2.

    Reference: Shalev-Shwartz, Online Learning and Online Convex Optimization, Example 3.2.
    """
    return FiniteClass(np.eye(as_whole("points", points)))


def all_functions(points: int) -> FiniteClass:
    """Return all 2^N functions on N points: Littlestone and VC dimension N.

    >>> all_functions(3).size
    8
    """
    return FiniteClass(_cube(as_whole("points", points)))


def parities(dimension: int) -> FiniteClass:
    """Return all x -> <a, x> mod 2 on the 2^n points of {0, 1}^n: both dimensions are n."""
    cube = _cube(as_whole("dimension", dimension))
    return FiniteClass(cube @ cube.T % 2)


def disjunctions(dimension: int, k: int, r: int) -> FiniteClass:
    """Return all disjunctions of at most k variables, on the points with at most r ones.

    Littlestone dimension at most r k.
    Reference: Shalev-Shwartz, Online Learning and Online Convex Optimization, Example 3.4.

    >>> disjunctions(4, 2, 2)
    FiniteClass(11 hypotheses on 11 points)
    """
    d = as_whole("dimension", dimension)
    hypotheses = _supports(d, min(as_whole("k", k), d))
    instances = _supports(d, min(as_whole("r", r), d))
    return FiniteClass(hypotheses.astype(np.int64) @ instances.T.astype(np.int64) > 0)


def lopsided(levels: int) -> FiniteClass:
    """Return groups of 2^m, ..., 2, 1 hypotheses, each larger than all that follow it.

    The points 0..m-1 say in which group a hypothesis is not: point j is 1 in the groups after
    the j-th. Each hypothesis has its own 1 among the 2^m other points. So Halving follows the
    larger group and can be wrong m times, where about log2(m) + 1 are enough for SOA.

    >>> h = lopsided(3)
    >>> h
    FiniteClass(15 hypotheses on 11 points)
    """
    m = as_whole("levels", levels)
    if m > _MOST_POINTS:
        raise ValueError(f"2^{m} points are too many, expected at most 2^{_MOST_POINTS}")
    group = np.repeat(np.arange(m + 1), [1 << (m - j) for j in range(m + 1)])
    place = np.concatenate([np.arange(1 << (m - j)) for j in range(m + 1)])
    return FiniteClass(
        np.hstack([group[:, None] > np.arange(m), place[:, None] == np.arange(1 << m)])
    )


def half_planes(coordinates: Any) -> FiniteClass:
    """Return all ways in which a line can divide the given points of the plane.

    The coordinates must be whole numbers, so that the side of a point is exact. A line can be
    turned and shifted until it runs through two points; it then divides the points on it into
    a beginning and an end, and the others by side.

    >>> half_planes([[0, 0], [4, 1], [1, 5], [7, 7]]).size
    14
    """
    given = np.asarray(coordinates)
    if given.ndim != 2 or given.shape[1] != 2 or len(given) == 0:
        raise ValueError(f"half_planes needs points (x, y), got the shape {given.shape}")
    if given.dtype.kind not in "biuf" or not np.all(np.abs(given.astype(float)) < 2.0**30):
        raise ValueError("half_planes needs whole coordinates below 2^30 in size")
    whole_numbers = given.astype(np.int64)
    if not np.array_equal(whole_numbers, given):
        raise ValueError("half_planes needs whole coordinates, got fractions")
    rows = [np.zeros(len(given), dtype=bool), np.ones(len(given), dtype=bool)]
    for first, second in itertools.permutations(whole_numbers, 2):
        rows += _divisions(whole_numbers, first, second)
    return FiniteClass(rows)


def _divisions(
    points: npt.NDArray[np.int64], first: npt.NDArray[np.int64], second: npt.NDArray[np.int64]
) -> list[npt.NDArray[np.bool_]]:
    along = second - first
    if not along.any():
        return []
    offset = points - first
    side = along[0] * offset[:, 1] - along[1] * offset[:, 0]
    place = offset @ along
    left, on = side > 0, side == 0
    cuts = np.unique(place[on])
    ahead = [left | (on & (place > cut)) for cut in cuts]
    behind = [left | (on & (place < cut)) for cut in cuts]
    return [*ahead, *behind]


def _cube(dimension: int) -> npt.NDArray[np.int64]:
    if dimension > _MOST_POINTS:
        raise ValueError(f"2^{dimension} rows are too many, expected at most 2^{_MOST_POINTS}")
    return np.arange(1 << dimension)[:, None] >> np.arange(dimension) & 1


def _supports(dimension: int, most: int) -> npt.NDArray[np.bool_]:
    count = sum(math.comb(dimension, k) for k in range(most + 1))
    if count > 1 << _MOST_POINTS:
        raise ValueError(f"{count:,} sets of variables are too many, expected at most 2^16")
    sets = [s for k in range(most + 1) for s in itertools.combinations(range(dimension), k)]
    return np.array([[i in members for i in range(dimension)] for members in sets])

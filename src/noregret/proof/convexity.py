"""A numerical look at a user's own loss before it is trusted."""

from __future__ import annotations

import math

import numpy as np

from noregret.component import built_in
from noregret.domains import Domain
from noregret.losses import Loss

#: Where a loss is looked at; beyond, values such as exp(-y p) leave the range of numbers.
_PREDICTIONS = tuple(
    sign * size for size in (0.0, 1e-3, 0.1, 0.3, 0.7, 1.0, 1.5, 2.0, 4.0, 9.0) for sign in (1, -1)
)
_LABELS = {"sign": (-1.0, 1.0), "real": (-2.5, 0.0, 0.4, 3.0)}


def require_convex(loss: Loss) -> None:
    """Refuse a loss whose slopes visibly do not support it from below.

    Checks value(q) >= value(p) + slope(p) (q - p) on a grid: this finds a forgotten sign or a
    slope of another loss, and proves nothing beyond the grid, which is why certificates name
    the convexity of a loss that is not one of ours as an assumption.

    >>> from noregret.losses import Hinge
    >>> require_convex(Hinge())
    """
    name = type(loss).__name__
    if loss.labels not in _LABELS:
        raise ValueError(f"{name}.labels must be 'sign' or 'real', got {loss.labels!r}")
    for y in _LABELS[loss.labels]:
        points = [(p, loss.value(y, p), loss.slope(y, p)) for p in _PREDICTIONS]
        for p, value, slope in points:
            if not (math.isfinite(value) and math.isfinite(slope)):
                raise ValueError(f"{name} is not finite at y={y:g}, p={p:g}")
            if loss.nonnegative and value < 0.0:
                raise ValueError(
                    f"{name} is {value:g} at y={y:g}, p={p:g}; set nonnegative = False for losses "
                    "below zero"
                )
            if abs(slope) > loss.lipschitz() * (1.0 + 1e-12):
                raise ValueError(
                    f"{name}.lipschitz() is {loss.lipschitz():g} but the slope at y={y:g}, "
                    f"p={p:g} is {slope:g}"
                )
            height = loss.intercept(y, p, value, slope)
            if height > value - slope * p + 1e-12 * (abs(value) + abs(slope * p)):
                raise ValueError(
                    f"{name}.intercept is {height:g} at y={y:g}, p={p:g}, above value - slope * p"
                )
            for q, other, _ in points:
                line = value + slope * (q - p)
                size = abs(value) + abs(slope * (q - p)) + abs(other)
                if other < line - 1e-12 * size:
                    raise ValueError(
                        f"{name} is not convex, or slope does not belong to value: at y={y:g} the "
                        f"line from p={p:g} passes above the loss at p={q:g}"
                    )


def require_support(domain: Domain, dimension: int) -> None:
    """Refuse a user's domain whose support function is below one of its own points.

    Checks support(theta) >= <u, theta> for projections u of points along every axis and along the
    diagonals. It proves nothing beyond them, which is why certificates name the support function
    of a domain that is not one of ours as an assumption.

    dimension: the number of coordinates, >= 1.

    >>> from noregret.domains import Ball
    >>> require_support(Ball(1.0), 3)
    """
    if built_in(domain):
        return
    axes = [sign * np.eye(dimension)[i] for i in range(min(dimension, 8)) for sign in (1.0, -1.0)]
    ways = [*axes, np.ones(dimension), -np.ones(dimension)]
    points = [domain.project(size * way) for way in ways for size in (0.5, 3.0, 1e3)]
    for theta in ways:
        most = domain.support(theta)
        for u in points:
            value = float(u @ theta)
            if value > most + 1e-9 * (abs(value) + abs(most)):
                raise ValueError(
                    f"{type(domain).__name__}.support() is {most:g} along {theta[:4].tolist()}, "
                    f"but the projection {np.asarray(u)[:4].tolist()} has {value:g}"
                )

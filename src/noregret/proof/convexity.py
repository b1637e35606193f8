"""Checks of a user's own loss, domain or map before its declarations are trusted."""

from __future__ import annotations

import functools
import itertools
import math
import re

import numpy as np

from noregret.arrays import Vector
from noregret.component import Component, built_in
from noregret.domains import Domain
from noregret.losses import Loss
from noregret.mirrors import Mirror
from noregret.norms import norm_upper

#: The points at which losses and maps are checked; exp(-y p) overflows far beyond them.
_POINTS = tuple(
    sign * size for size in (0.0, 1e-3, 0.1, 0.3, 0.7, 1.0, 1.5, 2.0, 4.0, 9.0) for sign in (1, -1)
)
#: The coordinates of the points at which a map is checked in two dimensions.
_PLANE = (0.0, 0.1, -0.3, 1.0, -2.0, 4.0)
_LABELS = {"sign": (-1.0, 1.0), "real": (-2.5, 0.0, 0.4, 3.0)}
#: Bound on the rounding of the map's four functions, relative to the numbers summed.
_ROUNDING = 1e-9
#: Lines of the compiler's report that say nothing about the source.
_CHATTER = ("Failed in ", "- Resolution failure", "File ", "During: ", "None")


def require_written(component: Component, base: type[Component], **methods: str) -> None:
    """Refuse a component whose class does not define a method that the base leaves open.

    methods: the names, each with its arguments and what it returns.

    >>> require_written(Loss(), Loss, slope="(y, p), a subgradient of value in p")
    Traceback (most recent call last):
    ValueError: Loss has no slope(y, p), a subgradient of value in p: define it
    """
    for name, words in methods.items():
        if getattr(type(component), name) is getattr(base, name):
            raise ValueError(f"{type(component).__name__} has no {name}{words}: define it")


def uncompiled(error: Exception, *parts: Component) -> Exception:
    """Return the error for a user's own component that the compiler refuses, in one line.

    error: the compiler's, which is returned as it is where all parts are built in.
    """
    own = " or ".join(type(part).__name__ for part in parts if not built_in(part))
    if not own:
        return error
    text = str(error)
    lines = (line.strip() for line in text.splitlines())
    reason = next((line for line in lines if line and not line.startswith(_CHATTER)), "")
    place = re.search(r'File "([^"]+)", line (\d+)', text)
    where = f" ({place[1]}, line {place[2]})" if place else ""
    return ValueError(
        f"{own} cannot be compiled{where}: {reason[:120]}; methods may use numbers, if, loops and "
        "the functions of math"
    )


@functools.lru_cache(maxsize=64)
def require_convex(loss: Loss) -> None:
    """Refuse a loss whose slopes do not support it from below on a grid.

    Checks value(q) >= value(p) + slope(p) (q - p): this finds a forgotten sign or the slope of
    another loss, and proves nothing beyond the grid. So certificates name the convexity of a
    user's own loss as an assumption.

    >>> from noregret.losses import Hinge
    >>> require_convex(Hinge())
    """
    name = type(loss).__name__
    require_written(
        loss, Loss, value="(y, p), the loss of the prediction p", slope="(y, p), its slope in p"
    )
    if loss.labels not in _LABELS:
        raise ValueError(f"{name}.labels must be 'sign' or 'real', got {loss.labels!r}")
    for y in _LABELS[loss.labels]:
        points = [(p, loss.value(y, p), loss.slope(y, p)) for p in _POINTS]
        for p, value, slope in points:
            if not (math.isfinite(value) and math.isfinite(slope)):
                raise ValueError(f"{name} is not finite at y={y:g}, p={p:g}")
            if loss.nonnegative and value < 0.0:
                raise ValueError(
                    f"{name} is {value:g} at y={y:g}, p={p:g}; set nonnegative = False for losses "
                    "below zero"
                )
            if not abs(slope) <= loss.lipschitz() * (1.0 + 1e-12):
                raise ValueError(
                    f"{name}.lipschitz() is {loss.lipschitz():g} but the slope at y={y:g}, "
                    f"p={p:g} is {slope:g}"
                )
            height = loss.intercept(y, p, value, slope)
            if not height <= value - slope * p + 1e-12 * (abs(value) + abs(slope * p)):
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

    Checks support(theta) >= <u, theta> for projections u of points along the first axes and two
    diagonals. It proves nothing beyond them, so certificates name the support function of a
    user's own domain as an assumption.

    dimension: number of coordinates, >= 1.

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
            if not value <= most + 1e-9 * (abs(value) + abs(most)):
                raise ValueError(
                    f"{type(domain).__name__}.support() is {most:g} along {theta[:4].tolist()}, "
                    f"but the projection {np.asarray(u)[:4].tolist()} has {value:g}"
                )


def require_declared(mirror: Mirror) -> None:
    """Refuse a user's map whose declarations do not hold on a grid.

    With w(a) = grad G(a) and c = smoothness() it checks on a grid, in one dimension and two,

        0 <= G(b) - G(a) - <w(a), b - a> <= (c/2) ||b - a||_*^2,
        R(w) - min R = <w, a> - G(a) + G(0) <= largest_regularizer(||w||, d),

    that `norm` is the dual norm of `geometry`, and that a map declared linear or homogeneous is
    so. This finds the constant of another map, and proves nothing beyond the grid: a theorem that
    a run contradicts is printed as not applicable.

    >>> from noregret.mirrors import Euclidean
    >>> require_declared(Euclidean())
    """
    if built_in(mirror):
        return
    name = type(mirror).__name__
    require_written(
        mirror, Mirror,
        phi="(a, reference)", phi_prime="(a, reference), the derivative of phi",
        psi="(s, reference)", psi_prime="(s, reference), the derivative of psi",
    )  # fmt: skip
    # Raises for an unknown `geometry`.
    mirror.predictors()
    points = [np.array([a]) for a in _POINTS]
    points += [np.array(pair) for pair in itertools.product(_PLANE, repeat=2)]
    _require_link(mirror, name, points)
    c = mirror.smoothness()
    if not math.isnan(c):
        if not 0.0 < c < math.inf:
            raise ValueError(f"{name}.smoothness() must be a finite number above 0, got {c:g}")
        _require_norm(mirror, name, points)
    # Without a declaration the weights must be the gradient of a convex function all the same.
    _require_smooth(mirror, name, math.inf if math.isnan(c) else c, points)
    if not math.isnan(mirror.largest_regularizer(1.0, 1)):
        _require_largest(mirror, name, points)


def undeclared(mirror: Mirror) -> str:
    """Return which declaration of strong convexity a user's map lacks, or ''.

    >>> from noregret.mirrors import Power
    >>> undeclared(Power(1.5))
    ''
    """
    if built_in(mirror):
        return ""
    declared = {
        "smoothness()": mirror.smoothness(),
        "largest_regularizer()": mirror.largest_regularizer(1.0, 1),
    }
    lacks = [name for name, value in declared.items() if math.isnan(value)]
    return f"{type(mirror).__name__} declares no {' and no '.join(lacks)}" if lacks else ""


def _potential(mirror: Mirror, a: Vector, eta: float = 1.0) -> tuple[float, Vector]:
    """Return G(a), up to a constant of the dimension, and its gradient; eta is inside kappa."""
    try:
        s, reference = mirror._sum_of_phi(a)
        slopes = np.array([mirror.phi_prime(float(x), reference) for x in a])
        return mirror.psi(s, reference), mirror.kappa(s, reference, eta) * slopes
    except OverflowError:
        return math.inf, np.full(len(a), math.inf)


def _require_link(mirror: Mirror, name: str, points: list[Vector]) -> None:
    for a in points:
        value, w = _potential(mirror, a)
        if not (math.isfinite(value) and np.isfinite(w).all()):
            raise ValueError(f"{name} is not finite at theta={_shown(a)}")
        if mirror.linear() and any(mirror.phi_prime(float(x), 0.0) != x for x in a):
            raise ValueError(f"{name}.linear() is True, but phi_prime(a) is not a at {_shown(a)}")
        if mirror.homogeneous():
            outside, inside = _potential(mirror, a, 2.0)[1], _potential(mirror, 2.0 * a)[1]
            if not np.allclose(outside, inside, rtol=_ROUNDING, atol=1e-300):
                raise ValueError(
                    f"{name}.homogeneous() is True, but kappa(s, r, 2) does not give the weights "
                    f"of 2 theta at theta={_shown(a)}"
                )


def _require_norm(mirror: Mirror, name: str, points: list[Vector]) -> None:
    p = mirror.predictors().dual
    for x in points:
        total = functools.reduce(mirror.norm_term, x.tolist(), 0.0)
        seen, true = mirror.norm(total), norm_upper(x, p)
        if not abs(seen - true) <= _ROUNDING * true:
            raise ValueError(
                f"{name}.norm() is {seen:g} for the row {_shown(x)}, but the dual norm of its "
                f"geometry {mirror.geometry!r} is {true:g}"
            )


def _require_smooth(mirror: Mirror, name: str, c: float, points: list[Vector]) -> None:
    p = mirror.predictors().dual
    known = [(a, *_potential(mirror, a)) for a in points]
    worst, message = 1.0, ""
    for (a, value, w), (b, other, _) in itertools.product(known, repeat=2):
        if len(a) != len(b):
            continue
        apart = norm_upper(b - a, p)
        line, most = float(w @ (b - a)), 0.5 * c * apart * apart if apart > 0.0 else 0.0
        cost, size = other - value - line, abs(other) + abs(value) + abs(line)
        where = f"from theta={_shown(a)} to {_shown(b)}"
        if cost < -_ROUNDING * size:
            raise ValueError(
                f"{name} is not the gradient of a convex function {where}: expected a convex G, "
                "with phi_prime and psi_prime the derivatives of phi and psi"
            )
        # Report the largest of all violations.
        if cost > worst * (most + _ROUNDING * size):
            worst, message = (
                cost / (most + _ROUNDING * size),
                (
                    f"{name}.smoothness() is {c:g}, but G rises by {cost:g} above its tangent "
                    f"{where}, at most {most:g} is allowed"
                ),
            )
    if message:
        raise ValueError(message)


def _require_largest(mirror: Mirror, name: str, points: list[Vector]) -> None:
    for a in points:
        value, w = _potential(mirror, a)
        zero, _ = _potential(mirror, np.zeros(len(a)))
        radius, own = mirror.predictors().norm(w), float(w @ a) - value + zero
        size = abs(float(w @ a)) + abs(value) + abs(zero)
        most = mirror.largest_regularizer(radius, len(a))
        if not own <= most + _ROUNDING * (size + abs(most)):
            raise ValueError(
                f"{name}.largest_regularizer({radius:g}, {len(a)}) is {most:g}, but R - min R "
                f"of the weights at theta={_shown(a)} is {own:g}"
            )


def _shown(a: Vector) -> str:
    return "(" + ", ".join(f"{x:g}" for x in a) + ")"

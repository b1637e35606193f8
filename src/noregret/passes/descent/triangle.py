"""The matrix of second-order steps as a triangle: A = s U'U, and the weights as U w = v.

A matrix that only grows by c x x' is kept as the transposed Cholesky factor U, never as an
inverse: its error stays near rounding whatever the prior is, while that of an inverse grows like
1 / prior. With a = U'^-1 x the prediction is <w, x> = <v, a>, and the factor of U'U + c x x'
follows in one sweep: with t_0 = 1, t_j = t_(j-1) + c a_j^2, and r = x - sum over i < j of
a_i U_i what is left of x at row j,

    U_j <- sqrt(t_(j-1) / t_j) U_j + c a_j / sqrt(t_(j-1) t_j) r,

which only reads and writes rows of U from left to right. The same rotation of v, for
U'v <- U'v + b x, is v_j <- sqrt(t_(j-1) / t_j) v_j + a_j (b - c sum over i < j of a_i v_i)
/ sqrt(t_(j-1) t_j); it does not divide by c. References: Gill, Golub, Murray, Saunders, Methods
for Modifying Matrix Factorizations, 1974; Golub, Van Loan, Matrix Computations, section 6.5.

Several scores share U: each has a row of `target`, and all are turned by the same rotations.

Rows are as wide as the room for features, and loops over them begin and end at multiples of
`LANES`: what they read beyond the triangle is 0. A feature that was never seen has a row of
zeros and the inverse 0.
"""

from __future__ import annotations

import math
from enum import IntEnum
from typing import NamedTuple

import numpy as np

from noregret.jit import kernel
from noregret.passes.frame import Vector

#: Loops over a row begin and end at multiples of this: full vector registers, no remainder.
LANES = 8

_LANES, _0, _1, _2, _3 = (np.uint64(k) for k in (LANES, 0, 1, 2, 3))


class Triangle(NamedTuple):
    """U, v or a row v a score, and the inverses of U's diagonal, 0 for a feature never seen."""

    upper: Vector
    target: Vector
    inverse: Vector


class Room(IntEnum):
    """Rows of the room for work: r, a, and the factors of each row's rotation."""

    LEFT = 0
    ALONG = 1
    KEEP = 2
    #: TURN is c times SHARE.
    TURN = 3
    SHARE = 4


ROOMS = len(Room)
_LEFT, _ALONG, _KEEP, _TURN, _SHARE = (np.uint64(k) for k in Room)


@kernel(inline=True)
def padded(width):  # type: ignore[no-untyped-def]
    """Return the number of columns that a loop over a row visits."""
    return ((np.uint64(width) + _LANES - _1) >> _3) << _3


@kernel(inner=True)
def reduce_row(triangle, room, first, width):  # type: ignore[no-untyped-def]
    """Write a = U'^-1 x into `room`, where r is x and becomes 0.

    first: the first feature of the row; entries of a before it are not touched.
    """
    upper, inverse = triangle.upper, triangle.inverse
    end = padded(width)
    j = first
    # Two rows at a time, so that r is read and written once for both.
    while j + _1 < width:
        i = j + _1
        along = room[_LEFT, j] * inverse[j]
        after = (room[_LEFT, i] - along * upper[j, i]) * inverse[i]
        room[_ALONG, j] = along
        room[_ALONG, i] = after
        if along != 0.0 or after != 0.0:
            for k in range((j >> _3) << _3, end):
                room[_LEFT, k] = (room[_LEFT, k] - along * upper[j, k]) - after * upper[i, k]
        room[_LEFT, j] = 0.0
        room[_LEFT, i] = 0.0
        j = i + _1
    if j < width:
        room[_ALONG, j] = room[_LEFT, j] * inverse[j]
        room[_LEFT, j] = 0.0


@kernel(inline=True)
def solve(triangle, room, first, width):  # type: ignore[no-untyped-def]
    """Reduce a row as `reduce_row` does; return <v, a> and <a, a>."""
    reduce_row(triangle, room, first, width)
    return sums(triangle.target, room, first, width)


@kernel(inline=True)
def sums(target, room, first, width):  # type: ignore[no-untyped-def]
    """Return <v, a> and <a, a>, in an order that does not depend on the width."""
    raw = square = other_raw = other_square = 0.0
    j = first
    while j + _1 < width:
        along, after = room[_ALONG, j], room[_ALONG, j + _1]
        raw += along * target[j]
        square += along * along
        other_raw += after * target[j + _1]
        other_square += after * after
        j += _2
    if j < width:
        along = room[_ALONG, j]
        raw += along * target[j]
        square += along * along
    return raw + other_raw, square + other_square


@kernel(inline=True)
def turn_factors(room, first, width, c):  # type: ignore[no-untyped-def]
    """Write the factors of the rotations for U'U + c x x'."""
    before = 1.0
    for j in range(first, width):
        along = room[_ALONG, j]
        after = before + c * along * along
        # One root and one division for both factors.
        mean = 1.0 / math.sqrt(before * after)
        share = along * mean
        room[_KEEP, j] = before * mean
        room[_SHARE, j] = share
        room[_TURN, j] = c * share
        before = after


@kernel(inline=True)
def rotate_target(target, room, first, width, c, b):  # type: ignore[no-untyped-def]
    """Rotate v for U'v + b x, by factors that `turn_factors` has written for this c."""
    passed = 0.0
    for j in range(first, width):
        v = target[j]
        target[j] = room[_KEEP, j] * v + room[_SHARE, j] * (b - c * passed)
        passed += room[_ALONG, j] * v


@kernel(inline=True)
def turn_target(triangle, room, first, width, c, b):  # type: ignore[no-untyped-def]
    """Rotate v for U'U + c x x' and U'v + b x, and write the factors of the rotations."""
    turn_factors(room, first, width, c)
    rotate_target(triangle.target, room, first, width, c, b)


@kernel(inline=True)
def _keep_products(target, room, first, width):  # type: ignore[no-untyped-def]
    """Rotate v, that of each score if there are several, without changing U'v, for c = 1."""
    if target.ndim == 2:
        for k in range(np.uint64(target.shape[0])):
            rotate_target(target[k], room, first, width, 1.0, 0.0)
    else:
        rotate_target(target, room, first, width, 1.0, 0.0)


@kernel(inner=True)
def sweep(triangle, room, first, width):  # type: ignore[no-untyped-def]
    """Make U the factor of U'U + c x x', r being x again, which becomes 0."""
    upper, inverse = triangle.upper, triangle.inverse
    end = padded(width)
    j = first
    while j + _1 < width:
        i = j + _1
        along, keep, turn = room[_ALONG, j], room[_KEEP, j], room[_TURN, j]
        after, keep_after, turn_after = room[_ALONG, i], room[_KEEP, i], room[_TURN, i]
        if along != 0.0 or after != 0.0:
            for k in range((j >> _3) << _3, end):
                u, left = upper[j, k], room[_LEFT, k]
                u_after, rest = upper[i, k], left - along * u
                upper[j, k] = keep * u + turn * left
                upper[i, k] = keep_after * u_after + turn_after * rest
                room[_LEFT, k] = rest - after * u_after
            # What rounding left of r at row j does not belong to the triangle.
            upper[i, j] = 0.0
            _invert(upper, inverse, j)
            _invert(upper, inverse, i)
        room[_LEFT, j] = 0.0
        room[_LEFT, i] = 0.0
        j = i + _1
    if j < width:
        if room[_ALONG, j] != 0.0:
            upper[j, j] = room[_KEEP, j] * upper[j, j] + room[_TURN, j] * room[_LEFT, j]
            _invert(upper, inverse, j)
        room[_LEFT, j] = 0.0


@kernel(inline=True)
def _invert(upper, inverse, j):  # type: ignore[no-untyped-def]
    """Bring the inverse of a place of the diagonal up to date, 0 for a row of zeros."""
    inverse[j] = 1.0 / upper[j, j] if upper[j, j] != 0.0 else 0.0


@kernel(inline=True)
def add_diagonal(triangle, room, i, width, root):  # type: ignore[no-untyped-def]
    """Add root^2 to place i of the diagonal of U'U, without changing U'v."""
    if triangle.inverse[i] == 0.0:
        triangle.upper[i, i] = root
        triangle.inverse[i] = 1.0 / root
    else:
        room[_LEFT, i] = root
        reduce_row(triangle, room, i, width)
        turn_factors(room, i, width, 1.0)
        _keep_products(triangle.target, room, i, width)
        room[_LEFT, i] = root
        sweep(triangle, room, i, width)


@kernel(inline=True)
def _copy_target(source, copy, width):  # type: ignore[no-untyped-def]
    if source.ndim == 2:
        for k in range(np.uint64(source.shape[0])):
            for j in range(_0, width):
                copy[k, j] = source[k, j]
    else:
        for j in range(_0, width):
            copy[j] = source[j]


@kernel(inline=True)
def _multiply_target(target, width, factor):  # type: ignore[no-untyped-def]
    if target.ndim == 2:
        for k in range(np.uint64(target.shape[0])):
            for j in range(_0, width):
                target[k, j] *= factor
    else:
        for j in range(_0, width):
            target[j] *= factor


@kernel(inner=True)
def copy_triangle(source, copy, width):  # type: ignore[no-untyped-def]
    """Copy U, v and the inverses."""
    end = padded(width)
    _copy_target(source.target, copy.target, width)
    for j in range(_0, width):
        copy.inverse[j] = source.inverse[j]
        for k in range((j >> _3) << _3, end):
            copy.upper[j, k] = source.upper[j, k]


@kernel(inner=True)
def multiply(triangle, width, factor):  # type: ignore[no-untyped-def]
    """Multiply U and v by a power of two, exactly."""
    _multiply_target(triangle.target, width, factor)
    for j in range(_0, width):
        triangle.inverse[j] /= factor
        for k in range((j >> _3) << _3, padded(width)):
            triangle.upper[j, k] *= factor


@kernel
def read_weights(upper, target, inverse, result):  # type: ignore[no-untyped-def]
    """Write w = U^-1 v into `result`, 0 for features that were never seen."""
    width = np.uint64(result.shape[0])
    for back in range(_1, width + _1):
        j = width - back
        rest = target[j]
        for k in range(j + _1, width):
            rest -= upper[j, k] * result[k]
        result[j] = rest * inverse[j]


@kernel
def read_inverse(upper, result):  # type: ignore[no-untyped-def]
    """Write the inverses of the diagonal into `result`, as `sweep` computes them."""
    for j in range(np.uint64(upper.shape[0])):
        _invert(upper, result, j)

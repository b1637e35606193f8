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

_LANES, _3, _0, _1 = (np.uint64(k) for k in (LANES, 3, 0, 1))


class Triangle(NamedTuple):
    """U, v, and the inverses of the diagonal of U, 0 for a feature that was never seen."""

    upper: Vector
    target: Vector
    inverse: Vector


class Room(IntEnum):
    """Rows of the room for work: r, a, and the two factors of each row's rotation."""

    LEFT = 0
    ALONG = 1
    KEEP = 2
    TURN = 3


ROOMS = len(Room)
_LEFT, _ALONG, _KEEP, _TURN = (np.uint64(k) for k in Room)


@kernel(inline=True)
def padded(width):  # type: ignore[no-untyped-def]
    """Return the number of columns that a loop over a row visits."""
    return ((np.uint64(width) + _LANES - _1) >> _3) << _3


@kernel(fast=True, inner=True)
def solve(triangle, room, first, width):  # type: ignore[no-untyped-def]
    """Write a = U'^-1 x into `room`, where r is x and becomes 0; return <v, a> and <a, a>.

    first: the first feature of the row; entries of a before it are not touched.
    """
    upper, inverse = triangle.upper, triangle.inverse
    end = padded(width)
    for j in range(first, width):
        along = room[_LEFT, j] * inverse[j]
        room[_ALONG, j] = along
        if along != 0.0:
            for k in range((j >> _3) << _3, end):
                room[_LEFT, k] -= along * upper[j, k]
        room[_LEFT, j] = 0.0
    raw = square = 0.0
    for j in range(first, width):
        along = room[_ALONG, j]
        raw += along * triangle.target[j]
        square += along * along
    return raw, square


@kernel(inline=True)
def turn_target(triangle, room, first, width, c, b):  # type: ignore[no-untyped-def]
    """Rotate v for U'U + c x x' and U'v + b x, and write the factors of the rotations."""
    target = triangle.target
    before, passed = 1.0, 0.0
    root = 1.0
    for j in range(first, width):
        along = room[_ALONG, j]
        after = before + c * along * along
        next_root = math.sqrt(after)
        room[_KEEP, j] = root / next_root
        share = along / (root * next_root)
        room[_TURN, j] = c * share
        v = target[j]
        target[j] = room[_KEEP, j] * v + share * (b - c * passed)
        passed += along * v
        before, root = after, next_root


@kernel(fast=True, inner=True)
def sweep(triangle, room, first, width):  # type: ignore[no-untyped-def]
    """Make U the factor of U'U + c x x', r being x again, which becomes 0."""
    upper, inverse = triangle.upper, triangle.inverse
    end = padded(width)
    for j in range(first, width):
        along, keep, turn = room[_ALONG, j], room[_KEEP, j], room[_TURN, j]
        if along != 0.0:
            for k in range((j >> _3) << _3, end):
                u, left = upper[j, k], room[_LEFT, k]
                upper[j, k] = keep * u + turn * left
                room[_LEFT, k] = left - along * u
            inverse[j] = 1.0 / upper[j, j]
        room[_LEFT, j] = 0.0


@kernel(inline=True)
def add_diagonal(triangle, room, i, width, root):  # type: ignore[no-untyped-def]
    """Add root^2 to place i of the diagonal of U'U, without changing U'v."""
    if triangle.inverse[i] == 0.0:
        triangle.upper[i, i] = root
        triangle.inverse[i] = 1.0 / root
    else:
        room[_LEFT, i] = root
        solve(triangle, room, i, width)
        turn_target(triangle, room, i, width, 1.0, 0.0)
        room[_LEFT, i] = root
        sweep(triangle, room, i, width)


@kernel(inner=True)
def copy_triangle(source, copy, width):  # type: ignore[no-untyped-def]
    """Copy U, v and the inverses."""
    end = padded(width)
    for j in range(_0, width):
        copy.target[j] = source.target[j]
        copy.inverse[j] = source.inverse[j]
        for k in range((j >> _3) << _3, end):
            copy.upper[j, k] = source.upper[j, k]


@kernel(inner=True)
def multiply(triangle, width, factor):  # type: ignore[no-untyped-def]
    """Multiply U and v by a power of two, exactly."""
    for j in range(_0, width):
        triangle.target[j] *= factor
        triangle.inverse[j] /= factor
        for k in range((j >> _3) << _3, padded(width)):
            triangle.upper[j, k] *= factor


@kernel(fast=True)
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
        result[j] = 1.0 / upper[j, j] if upper[j, j] != 0.0 else 0.0

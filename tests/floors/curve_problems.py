"""Parabolas from their definitions, for the tests of floors that they prove."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

import noregret as nr
from noregret.passes.curved_rows import Reach, Sums, Touch, enter_parabolas
from noregret.passes.frame import block
from noregret.proof.certificate import Certificate
from noregret.proof.ledger import SIZE, Entry
from noregret.proof.other_lines import with_curves
from noregret.proof.quadratic import Bend, Quadratic
from noregret.proof.statement import PARABOLAS
from noregret.rows.examples import Rows, as_rows

#: Six rows with labels, targets and predictions.
X = np.array([
    [-0.6, 0.5, -0.6], [0.5, -0.6, 0.6], [-0.5, -0.6, -0.6],
    [-0.8, 0.0, 0.4], [-0.5, -0.5, 0.4], [-0.4, -0.6, 0.5],
])  # fmt: skip
Y = np.array([-1.0, 1.0, -1.0, -1.0, -1.0, 1.0])
TARGETS = np.array([0.5, -0.25, 1.0, 0.75, -0.5, 0.0])
POINTS = np.array([0.25, -0.5, 0.0, 1.0, -0.75, 0.5])


def no_sums(width: int, sizes: Any = None) -> Sums:
    """Return sums of nothing, with units of 1 unless sizes are given."""
    sizes = np.ones(width) if sizes is None else np.asarray(sizes, float)
    pairs, squares = (np.zeros((width, 2)) for _ in range(2)), np.zeros((2, width, width))
    return Sums(*pairs, *squares, sizes, np.zeros(SIZE), np.zeros(len(Bend)), np.zeros(width))


def quadratic_of(sums: Sums, reach: Reach, measured: bool = False) -> Quadratic:
    """Return the quadratic of sums."""
    upper = sums.matrix + sums.low
    return Quadratic(
        reach.radius, reach.symmetric, measured, sums.sizes, sums.lines.sum(axis=1),
        sums.shifts.sum(axis=1), upper + np.triu(upper, 1).T, sums.ledger, sums.bends, sums.origin,
    )  # fmt: skip


def entered(
    loss: Any, rows: Any, y: Any, points: Any, reach: Reach, weight: Any = None, offset: Any = None
) -> Quadratic:
    """Return the parabolas that touch at these points, in units of 1."""
    count, width = rows.shape
    sums = no_sums(width)
    touch = Touch(
        np.asarray(y, float), np.ones(count) if weight is None else np.asarray(weight, float),
        np.zeros(count) if offset is None else np.asarray(offset, float), np.asarray(points, float),
    )  # fmt: skip
    enter_parabolas(loss, block(as_rows(np.ascontiguousarray(rows))), touch, reach, sums)
    return quadratic_of(sums, reach)


def defined(loss: Any, rows: Any, y: Any, points: Any, ranges: Any, radius: float) -> Quadratic:
    """Return the sum of parabolas with curvatures for |z| <= ranges, by the formulas in numpy."""
    f, g, c = (np.empty(len(y)) for _ in range(3))
    for t, (label, p, reach) in enumerate(zip(y, points, ranges, strict=True)):
        f[t], g[t] = loss.value(label, p), loss.slope(label, p)
        c[t] = loss.curvature_below(label, p, -reach, reach)
    ledger, bends = np.zeros(SIZE), np.zeros(len(Bend))
    ledger[[Entry.ROUNDS, Entry.INTERCEPT]] = len(y), np.sum(f - g * points)
    bends[Bend.RISE] = np.sum(c * points**2)
    return Quadratic(
        radius, False, False, np.ones(rows.shape[1]), rows.T @ g, rows.T @ (c * points),
        (rows * c[:, None]).T @ rows, ledger, bends, np.zeros(rows.shape[1]),
    )  # fmt: skip


def certified(loss: Any, rows: Any, y: Any, *curves: Quadratic, **given: Any) -> Certificate:
    """Return a certificate of predictions of 0, with these parabolas."""
    return with_curves(nr.certify(rows, y, np.zeros(len(y)), loss, **given), curves)


def curved(certificate: Certificate, radius: float, norm: float | None = None) -> float:
    """Return the floor of the parabolas, minus infinity where there is none."""
    return certificate.floors(radius, norm).get(PARABOLAS, -math.inf)


def rows_of(matrix: Any) -> Rows:
    """Return sound rows, sorted."""
    return as_rows(np.ascontiguousarray(matrix, float))

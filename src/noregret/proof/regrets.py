"""Regret against one fixed predictor, from the lines of a certificate."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from noregret.arrays import Vector, real_array
from noregret.rounding import certified_ceiling, rounding_error

if TYPE_CHECKING:
    from noregret.proof.certificate import Certificate


def as_predictor(u: Any, width: int) -> Vector:
    """Return a fixed predictor as an array, or refuse it.

    >>> as_predictor([1, 2], 1)
    array([1., 2.])
    """
    vector = np.asarray(real_array("u", u), np.float64)
    if vector.ndim != 1 or len(vector) < width:
        raise ValueError(f"u has shape {vector.shape}, expected ({width},), a weight a feature")
    if not np.all(np.isfinite(vector)):
        raise ValueError("u must hold finite numbers")
    return vector


def above_line(certificate: Certificate, u: Vector) -> float:
    """Return an upper bound on the learner's loss minus the height of the lines at u."""
    used, loss = u[: len(certificate.gradient)], certificate.loss
    with np.errstate(over="ignore", invalid="ignore"):
        line = float(used @ certificate.gradient)
        size = float(np.abs(used) @ np.abs(certificate.gradient))
        square = float(u @ u) if certificate.curvature > 0.0 else 0.0
    square *= 0.5 * certificate.curvature
    error = float(np.abs(used).max(initial=0.0)) * certificate.delta
    error += rounding_error(len(used) + 8.0, size + square)
    error += rounding_error(8.0, abs(loss) + abs(certificate.intercept)) + 2.0 * certificate.slack
    return certified_ceiling(loss - certificate.intercept - line - square + error)

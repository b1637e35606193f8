"""Validate the targets of a loss of several scores: a class a row, or a row of numbers."""

from __future__ import annotations

from typing import Any

import numpy as np

from noregret.arrays import Vector, real_array
from noregret.losses import ScoreLoss
from noregret.rows.examples import LARGEST_LABEL


def as_targets(y: Any, count: int, loss: ScoreLoss, outputs: int | None) -> Vector:
    """Return classes as a vector, sets or relevances as a matrix, both of float64.

    Without `outputs` the number of scores follows from the targets.

    >>> from noregret.losses import Softmax
    >>> as_targets([0, 2], 2, Softmax(), None)
    array([0., 2.])
    """
    targets = np.ascontiguousarray(np.atleast_1d(real_array("y", y)), np.float64)
    if loss.labels == "class" and targets.ndim == 1:
        return _classes(targets, count, outputs)
    name = type(loss).__name__
    if loss.labels == "class" and not loss.sets:
        raise ValueError(f"y has shape {targets.shape}, {name} expects ({count},): a class a row")
    width = "K" if outputs is None else outputs
    if targets.ndim != 2 or len(targets) != count or width not in ("K", targets.shape[1]):
        raise ValueError(
            f"y has shape {targets.shape}, {name} expects ({count}, {width}): a number a score"
        )
    if loss.labels == "relevance":
        sound, expected = np.abs(targets) <= LARGEST_LABEL, "a finite number"
    else:
        sound, expected = (targets == 0.0) | (targets == 1.0), "0 or 1"
    if not sound.all():
        row, column = np.argwhere(~sound)[0]
        raise ValueError(f"y row {row}: {targets[row, column]:g}; {name} expects {expected}")
    return targets


def _classes(targets: Vector, count: int, outputs: int | None) -> Vector:
    if targets.shape != (count,):
        raise ValueError(f"y has shape {targets.shape}, expected ({count},): one class a row of X")
    highest = float(0xFFFFFFFF if outputs is None else outputs - 1)
    whole = targets == np.floor(targets)
    bad = np.flatnonzero(~((targets >= 0.0) & (targets <= highest) & whole))
    if bad.size:
        given = targets[bad[0]]
        hint = "" if outputs is None or not highest < given else "; grow(outputs) adds classes"
        raise ValueError(
            f"y row {bad[0]}: class {given:g}, expected a whole number from 0 to {highest:g}{hint}"
        )
    return targets


def count_of(targets: Vector) -> int:
    """Return the number of scores that the targets imply.

    >>> count_of(np.array([0.0, 2.0])), count_of(np.zeros((5, 4)))
    (3, 4)
    """
    return targets.shape[1] if targets.ndim == 2 else int(targets.max(initial=0.0)) + 1

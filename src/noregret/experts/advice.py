"""Validate the input of learners with expert advice: costs, predictions, distributions."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from noregret.arrays import Matrix, Vector, first_true, not_real, real_array, refuse_masked
from noregret.domains.base import as_weights
from noregret.jit import kernel
from noregret.rounding import exact

#: How far a sum of probabilities may be from 1.
_TOLERANCE = 1e-9
#: Larger numbers would overflow when they are squared and summed.
LARGEST = 1e100
#: Largest factor by which a price may rise or fall in a round.
LARGEST_GROWTH = 1e50
#: Larger rates would overflow when they multiply the costs of many rounds.
STEEPEST = 1e150


def as_interval(low: Any, high: Any) -> tuple[float, float]:
    """Return the ends of an interval, which may be infinite but not empty.

    >>> as_interval(0.0, 1e200)
    Traceback (most recent call last):
    ...
    ValueError: low and high must be infinite or within 1e+100 of 0, got 0.0 and 1e+200
    """
    if not_real(low) or not_real(high) or not low < high:
        raise ValueError(f"low must be below high, got {low} and {high}")
    if any(LARGEST < abs(end) < math.inf for end in (low, high)):
        raise ValueError(
            f"low and high must be infinite or within {LARGEST:g} of 0, got {low} and {high}"
        )
    return float(low), float(high)


def as_distribution(name: str, values: Any, count: int) -> Vector:
    """Return weights >= 0 that sum to 1, or say what is wrong with them.

    >>> as_distribution("u", [0.5, 0.25], 2)
    Traceback (most recent call last):
    ...
    ValueError: u must sum to 1, got the sum 0.75
    """
    vector = as_weights(name, values)
    if len(vector) != count:
        raise ValueError(f"{name} has {len(vector)} components, expected {count}")
    total = math.fsum(vector)
    if abs(total - 1.0) > _TOLERANCE:
        raise ValueError(f"{name} must sum to 1, got the sum {total:.12g}")
    return vector


def as_table(name: str, values: Any, count: int | None = None) -> Matrix:
    """Return rows of numbers, one for each round, a column an expert; a vector is one row.

    >>> as_table("costs", [[1, 2], [3, 4]]).dtype, as_table("costs", [1.0, 2.0]).shape
    (dtype('float64'), (1, 2))
    """
    given = real_array(name, values)
    table = np.atleast_2d(np.ascontiguousarray(given, np.float64))
    if table.ndim != 2 or (count is not None and table.shape[1] != count):
        wanted = "numbers" if count is None else f"{count} numbers"
        raise ValueError(f"{name} has shape {given.shape}, expected rows of {wanted}")
    return table


def one_round(name: str, values: Any, count: int) -> Any:
    """Return the numbers of one round as they are, or refuse several rows."""
    refuse_masked(name, values)
    vector = np.asarray(values)
    if vector.ndim != 1:
        raise ValueError(f"{name} has shape {vector.shape}, expected ({count},)")
    return vector


@kernel
def _extremes(table, least, most, lows, highs):  # type: ignore[no-untyped-def]
    """Write the least and the largest of every row; return whether all lie in [least, most]."""
    inside = True
    for t in range(np.uint64(table.shape[0])):
        low, high = np.inf, -np.inf
        for i in range(np.uint64(table.shape[1])):
            cost = table[t, i]
            low = min(low, cost)
            high = max(high, cost)
            inside &= least <= cost and cost <= most
        lows[t] = low
        highs[t] = high
    return inside


def require_within(name: str, table: Matrix, low: float, high: float) -> tuple[Vector, Vector]:
    """Return the least and the largest of every row, or name the first entry outside."""
    lows, highs = np.empty(len(table)), np.empty(len(table))
    least, most = float(max(low, -LARGEST)), float(min(high, LARGEST))
    # Compiled: for one round at a time, numpy's reductions would take longer than the round.
    if not _extremes(table, least, most, lows, highs):
        at = first_true(~((table >= least) & (table <= most)))
        raise ValueError(
            f"{name} row {at[0]}, expert {at[1]}: {exact(table[at])}; expected a number in "
            f"[{exact(least)}, {exact(most)}]"
        )
    return lows, highs


def as_relatives(relatives: Any, assets: int | None = None) -> Matrix:
    """Return the rows of price relatives, or name the first that is not above 0."""
    table = np.ascontiguousarray(real_array("relatives", relatives), np.float64)
    if table.ndim != 2 or table.shape[1] < 1 or (assets is not None and table.shape[1] != assets):
        wanted = "an asset or more" if assets is None else f"{assets} assets"
        raise ValueError(f"relatives has shape {table.shape}, expected rows of {wanted}")
    # The Newton step squares ratios of two relatives.
    if at := first_true(~((table >= 1.0 / LARGEST_GROWTH) & (table <= LARGEST_GROWTH))):
        raise ValueError(
            f"relatives row {at[0]}, asset {at[1]}: {table[at]:g}; expected a number above 0, "
            f"between {1.0 / LARGEST_GROWTH:g} and {LARGEST_GROWTH:g}"
        )
    return table

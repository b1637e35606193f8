"""A floor under the mean of non-negative variables of any size, by betting that it is higher."""

from __future__ import annotations

import math

import numpy as np

from noregret.arrays import Vector
from noregret.elementary import log_sum_exp

#: Shares of the capital are staked in steps of this ratio, so many of them below the middle one.
_RATIO, _BELOW = 3.0, 8
_LARGEST_SHARE = 0.9
#: The floor is found to this part of its distance from the sample mean; stopping short is safe.
_ACCURACY = 1e-4
#: More than rounding can have added to the logarithm of a capital, a variable.
_ROUNDING = 1e-12
#: So many variables are looked at together, for all shares.
_CHUNK = 1 << 14


def stakes(count: int, delta: float) -> tuple[Vector, Vector]:
    """Return the shares c and how the capital is spread over them, most in the middle.

    The middle one is best for variables whose deviation is as large as their mean.

    >>> shares, spread = stakes(800, 0.05)
    >>> round(float(spread.sum()), 12), round(float(shares[8] ** 2 * 400 / math.log(20)), 12)
    (1.0, 1.0)
    """
    middle = min(0.5, math.sqrt(2.0 * math.log(1.0 / delta) / count))
    above = int(math.log(_LARGEST_SHARE / middle) / math.log(_RATIO))
    steps = np.arange(-_BELOW, above + 1, dtype=np.float64)
    spread = 1.0 / ((np.abs(steps) + 1.0) * (np.abs(steps) + 2.0))
    return middle * _RATIO**steps, spread / spread.sum()


def mean_floor(values: Vector, delta: float) -> float:
    """Return what the mean of non-negative variables is below with probability at most delta.

    Who stakes the share c of the capital on each X_i at the price m has prod_i (1 - c + c X_i/m)
    in the end: at most 1 in expectation if m is not below the mean, so that 1/delta is reached with
    probability at most delta. That falls in m; returned is an m, nearly the largest, at which a
    capital spread over several c does reach it. The variables need no upper bound. They are
    independent, and then "the mean" is the mean of their means; or each has the same mean given
    those before it. Reference: Waudby-Smith and Ramdas, Estimating Means of Bounded Random
    Variables by Betting, 2024, Theorem 1; independence: the geometric mean is at most the mean.

    >>> mean_floor(np.zeros(9), 0.05)
    0.0
    >>> 0.8 < mean_floor(np.ones(100), 0.05) < 1.0
    True
    """
    shares, spread = stakes(len(values), delta)
    found, counts = np.unique(values, return_counts=True)
    goal = math.log(1.0 / delta) + _ROUNDING * len(values)

    def reached(price: float) -> bool:
        logs = np.log(spread)
        for start in range(0, len(found), _CHUNK):
            part = slice(start, start + _CHUNK)
            gains = shares[:, None] * (found[part] / price - 1.0)
            logs += np.log1p(gains) @ counts[part]
        return bool(log_sum_exp(logs) >= goal)

    high = float(values.mean())
    # Prices are halved until one is too low for the gambler to lose; 2^-40 of the mean is nothing.
    for _ in range(40):
        low = 0.5 * high if high > 0.0 else 0.0
        if low == 0.0 or reached(low):
            break
        high = low
    else:
        return 0.0
    top = float(values.mean())
    while low > 0.0 and high - low > _ACCURACY * (top - low):
        middle = 0.5 * (low + high)
        if middle in (low, high):
            # Next to 0 there are not that many numbers.
            break
        if reached(middle):
            low = middle
        else:
            high = middle
    return low

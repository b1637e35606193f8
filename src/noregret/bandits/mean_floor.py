"""A lower confidence bound on the mean of non-negative variables, by a betting martingale."""

from __future__ import annotations

import math

import numpy as np

from noregret.arrays import Vector
from noregret.elementary import log_sum_exp

#: Ratio of successive shares of the capital, and how many of them are below the middle one.
_RATIO, _BELOW = 3.0, 8
_LARGEST_SHARE = 0.9
#: The floor is found to this part of its distance from the sample mean; stopping short is safe.
_ACCURACY = 1e-4
#: More than rounding can have added to the logarithm of a capital, a variable.
_ROUNDING = 1e-12
#: Variables processed at a time, for all shares: bounds the memory.
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

    M(m) = prod_i (1 - c + c X_i / m) has E[M] <= 1 for m >= mean; by Markov's inequality
    P(M >= 1/delta) <= delta. M falls in m; return nearly the largest m at which a mixture of M over
    several shares c reaches 1/delta. The variables need no upper bound. They are independent, and
    then "the mean" is the mean of their means; or each has the same mean given those before it.
    Reference: Waudby-Smith and Ramdas, Estimating Means of Bounded Random Variables by Betting,
    2024, Theorem 1; independence: the geometric mean is at most the mean.

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

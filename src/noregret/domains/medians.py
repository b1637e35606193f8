"""The projection on the simplex with a floor in linear time, by repeated medians.

Problem: for w >= 0, not all 0, and phi = alpha / n find the one m with sum_i max(phi, m w_i) = 1.
Whether a value omega ends at the floor is decided without knowing m: with k components below
omega, and sum A of the others, m0 = (1 - k phi) / A is what m would be if just those k were
clipped, and omega m0 < phi says that omega is clipped too. So each pivot settles all components
on one side of it, and only the others are looked at again.

Pivots are medians of a sample, which leave half as a rule. After a pivot that left more than
three quarters the next one is the geometric mean of the extremes: since that halves a range of
exponents and digits of 64 bits, at most about 64 such steps can follow, and the time is linear
for every input. Sums are compensated, so that they hardly depend on the order of the components.
Reference: Herbster and Warmuth, Tracking the Best Linear Predictor, Theorem 7 and Figure 3 (with
its two denominators corrected), kept sums in place of 1 - clipped sums.
"""

from __future__ import annotations

import numpy as np

from noregret.jit import kernel
from noregret.rounding import add_twofold

#: A sample has GROUP groups of GROUP components; its pivot is the median of their medians.
GROUP = 5
#: If a pivot leaves more than this part of the components, `careful_pivot` chooses the next one.
LEFT = 0.75


@kernel(inline=True, counted=True)
def _lower_median(work, first, step, count):  # type: ignore[no-untyped-def]
    """Return the lower median of `count` <= GROUP components, `step` apart."""
    if count == 1:
        return work[first]
    sample = np.empty(GROUP)
    for k in range(count):
        x = work[first + k * step]
        j = k
        while j > 0 and sample[j - 1] > x:
            sample[j] = sample[j - 1]
            j -= 1
        sample[j] = x
    return sample[(count - 1) // 2]


@kernel
def sampled_pivot(work, low, high):  # type: ignore[no-untyped-def]
    """Return the lower median of work[low:high] if there are at most 5, else of a sample."""
    count = high - low
    if count <= GROUP:
        return _lower_median(work, low, 1, count)
    medians = np.empty(GROUP)
    step = count // (GROUP * GROUP)
    if step == 0:
        return _lower_median(work, low, count // GROUP, GROUP)
    for k in range(GROUP):
        medians[k] = _lower_median(work, low + k * GROUP * step, step, GROUP)
    return _lower_median(medians, 0, 1, GROUP)


@kernel
def careful_pivot(work, low, high):  # type: ignore[no-untyped-def]
    """Return the geometric mean of the extremes of work[low:high], or the largest."""
    least, most = np.inf, 0.0
    for k in range(low, high):
        least = min(least, work[k])
        most = max(most, work[k])
    middle = np.sqrt(least) * np.sqrt(most)
    return middle if least < middle < most else most


@kernel
def _gather(work, low, high, limit):  # type: ignore[no-untyped-def]
    """Move components below a limit to the front, without a branch; return where others begin."""
    place = low
    for k in range(low, high):
        x = work[k]
        work[k] = work[place]
        work[place] = x
        place += int(x < limit)
    return place


@kernel
def _sum(work, low, high, total, lost):  # type: ignore[no-untyped-def]
    """Return total + lost + the sum of work[low:high] as a sum and what rounding took from it."""
    for k in range(low, high):
        total, lost = add_twofold(total, lost, work[k])
    return total, lost


@kernel
def left_mass(alpha, n, clipped):  # type: ignore[no-untyped-def]
    """Return 1 - clipped * alpha / n, without cancellation."""
    return (1.0 - alpha) + alpha * ((n - clipped) / n)


@kernel
def visit(work, low, high, alpha, clipped, kept, lost, pivot):  # type: ignore[no-untyped-def]
    """Settle one side of a pivot.

    Returns the new low, high, count of clipped, sum of kept and its low part, and m0.
    """
    n = work.shape[0]
    below = _gather(work, low, high, pivot)
    total, rest = _sum(work, below, high, kept, lost)
    multiplier = left_mass(alpha, n, clipped + (below - low)) / (total + rest)
    if pivot * multiplier < alpha / n:
        above = _gather(work, below, high, np.nextafter(pivot, np.inf))
        # Rounding must not clip the largest component, which can always be kept.
        if above < high or kept > 0.0:
            return above, high, clipped + (above - low), kept, lost, multiplier
    return low, below, clipped, total, rest, multiplier


@kernel
def clipped_multiplier(work, alpha):  # type: ignore[no-untyped-def]
    """Return the m with sum_i max(alpha/n, m w_i) = 1 for the weights in `work`, reordering them.

    The weights must not be negative nor all 0, and their sum must not overflow.
    """
    low, high = 0, work.shape[0]
    clipped, kept, lost = 0, 0.0, 0.0
    careful = False
    while low < high:
        if careful:
            pivot = careful_pivot(work, low, high)
        else:
            pivot = sampled_pivot(work, low, high)
        count = high - low
        low, high, clipped, kept, lost, _ = visit(
            work, low, high, alpha, clipped, kept, lost, pivot
        )
        careful = high - low > LEFT * count
    return left_mass(alpha, work.shape[0], clipped) / (kept + lost)

"""The running sums of a learner with expert advice, from which its certificate is read."""

from __future__ import annotations

from enum import IntEnum

from noregret.jit import add_compensated, kernel


class ExpertSum(IntEnum):
    """Places in the book. Compensated sums keep in the next place what an addition lost."""

    ROUNDS = 0
    #: Sum of <w_t, z_t>.
    LOSS = 1
    LOSS_LOW = 2
    #: Sum of the mixability gaps delta_t = <w_t, z_t> + (1/eta_t) ln sum_i w_(t,i) e^(-eta_t z_i).
    GAP = 3
    #: Sums over rounds of sum_i w_i z_i^2, of the variance of z under w, of (max z - min z)^2.
    SQUARES = 4
    VARIANCE = 5
    RANGES = 6
    #: The largest max z - min z, the extremes of all costs, and the least eta_t z_(t,i).
    WIDEST = 7
    LOWEST = 8
    HIGHEST = 9
    LOWEST_STEP = 10
    #: Sum of max_i |z_(t,i)|, which rounding errors are proportional to.
    MAGNITUDE = 11
    #: The rate of the coming round; the one of the last.
    ETA = 12
    LAST_ETA = 13
    #: Sum of 1/eta over the epochs of a doubling rate that have ended.
    EPOCHS = 14
    #: Weights are parts over their TOTAL, parts are e^(-eta (costs - REFERENCE)).
    REFERENCE = 15
    TOTAL = 16
    #: Sum of the forecaster's own losses f_t(sum_i w_i p_i), and of the sizes of its terms.
    OWN = 17
    OWN_LOW = 18
    OWN_SIZE = 19
    #: The first round that broke a promise of a loss of one's own (0: none), which promise it was,
    #: and where the loss was looked at in the round before.
    PROMISE_BROKEN = 20
    BROKEN_PROMISE = 21
    LAST_POINT = 22


_ROUNDS = int(ExpertSum.ROUNDS)
_SQUARES, _VARIANCE = int(ExpertSum.SQUARES), int(ExpertSum.VARIANCE)
_RANGES, _WIDEST = int(ExpertSum.RANGES), int(ExpertSum.WIDEST)
_LOWEST, _HIGHEST = int(ExpertSum.LOWEST), int(ExpertSum.HIGHEST)
_LOWEST_STEP, _MAGNITUDE = int(ExpertSum.LOWEST_STEP), int(ExpertSum.MAGNITUDE)
_LOSS, _GAP, _LAST_ETA = int(ExpertSum.LOSS), int(ExpertSum.GAP), int(ExpertSum.LAST_ETA)


@kernel
def enter(book, low, high, mean, variance, gap, eta):  # type: ignore[no-untyped-def]
    """Enter a round whose costs lie in [low, high], with their mean and variance under w."""
    width = high - low
    book[_ROUNDS] += 1.0
    add_compensated(book, _LOSS, mean)
    book[_GAP] += gap
    book[_SQUARES] += variance + mean * mean
    book[_VARIANCE] += variance
    book[_RANGES] += width * width
    book[_WIDEST] = max(book[_WIDEST], width)
    book[_LOWEST] = min(book[_LOWEST], low)
    book[_HIGHEST] = max(book[_HIGHEST], high)
    if low < 0.0:
        book[_LOWEST_STEP] = min(book[_LOWEST_STEP], eta * low)
    book[_MAGNITUDE] += max(abs(low), abs(high))
    book[_LAST_ETA] = eta


@kernel
def gap_of(mean, variance, third, low, high, shifted, eta):  # type: ignore[no-untyped-def]
    """Return the mixability gap, `shifted` being (1/eta) ln sum_i w_i e^(-eta (z_i - low)).

    Where eta (high - low) is small the difference of mean and mix loss would be rounding alone,
    and the series (eta/2) Var - third / (6 eta) is used, `third` the third central moment of
    eta z, which cannot overflow there as that of z can. 0 <= gap <= eta width^2 / 8.
    """
    width = high - low
    gap = (mean - low) + shifted
    if eta * width < SMALL_STEP:
        gap = 0.5 * eta * variance - third / (6.0 * eta)
    return min(max(gap, 0.0), 0.125 * eta * width * width, mean - low)


#: Below this eta (max z - min z) the gap is a series.
SMALL_STEP = 1e-4

"""The running sums from which every certificate is read.

For rounds t with prediction p_t, convexity gives sum f_t(u) >= sum a_t + <u, Z> for every u,
with a_t = f_t(p_t) - g_t p_t, g_t a slope at p_t and Z = sum g_t x_t. The vector Z belongs to
the learner; everything else is the fixed set of scalars below, in one float64 array so that a
compiled pass can update it and a model file can hold it. Sums that a certificate subtracts
from one another are compensated: the next place carries the low-order part that was lost.
"""

from __future__ import annotations

from enum import IntEnum

import numpy as np
import numpy.typing as npt

from noregret.rounding import UNDERFLOW, grown, rounding_error

#: The least size m_i of a feature, so that the square of a size does not underflow.
SMALLEST_SIZE = 1e-140
#: Counts are float64: above this, adding 1 changes nothing.
MOST_ROUNDS = 2**53
#: Further roundings of Z beside the one or two of each round.
GRADIENT_ERRORS = 256.0


class Entry(IntEnum):
    """Places in the ledger array."""

    ROUNDS = 0
    MISTAKES = 1
    #: Sum of the losses suffered, over all rounds.
    LOSS = 2
    LOSS_LOW = 3
    #: Sum of the intercepts a_t over the rounds whose line was counted: all of them, unless
    #: the learner is conservative, which also sums their losses and counts them.
    INTERCEPT = 4
    INTERCEPT_LOW = 5
    COUNTED_LOSS = 6
    COUNTED_LOSS_LOW = 7
    COUNTED = 8
    #: Sum of the absolute sizes that rounding errors are proportional to.
    MAGNITUDE = 9
    #: Sum of |g_t| ||x_t||_1, the length of the path of Z in the 1-norm.
    TRAVEL = 10
    #: Sum of ||z_t||_*^2, of eta_t ||z_t||_*^2, and the largest ||z_t||_*^2.
    SQUARES = 11
    RATED_SQUARES = 12
    LARGEST_SQUARE = 13
    #: Largest ||x_t||_* over all rounds, and over the counted ones.
    LARGEST_ROW = 14
    LARGEST_COUNTED_ROW = 15
    #: A promised bound on ||x_t||_*, and the first round that broke it (0: none).
    ROW_LIMIT = 16
    LIMIT_BROKEN = 17
    #: The first rate above 0 and the last rate.
    FIRST_ETA = 18
    LAST_ETA = 19
    #: Sum of the parts (sigma/2)||w_t||^2 that strongly convex rounds carry.
    REGULARIZER = 20
    #: Sum over rounds of sum_i v_i z_i^2 kappa, for the local-norm bounds of the entropies.
    LOCAL_SQUARES = 21
    #: The entropies only: extremes of the features and the first round with one outside
    #: [0, 1]; the smallest eta_t z_(t,i) and the first round with one below -1 (0: none).
    LOWEST_FEATURE = 22
    HIGHEST_FEATURE = 23
    FEATURE_BROKEN = 24
    LOWEST_STEP = 25
    #: Upper bound on the rounding error of REGULARIZER.
    REGULARIZER_SLACK = 26
    #: Strongly convex rounds: sum of ||z_t + sigma w_t||^2 / t, and the largest such square.
    CURVED_SQUARES = 27
    LARGEST_CURVED_SQUARE = 28
    #: The largest ||z_t||_* that the rows seen so far allow, for rates that must not rise.
    LARGEST_REACH = 29
    #: Smallest and largest example weight of the counted rounds.
    LIGHTEST = 30
    HEAVIEST = 31
    STEP_BROKEN = 32
    #: The entropies only: the largest max x - min x of a row, zeros included.
    WIDEST_ROW = 33
    #: Upper bound on the sum of |g_t| sum_i |x_i| / m_i, the length of the path of Z in units of
    #: 1 / m_i, m_i = max(largest |x_i| seen, SMALLEST_SIZE). For rates that keep m_i.
    SCALED_TRAVEL = 34
    #: 1 once a round came with an offset: predictions are <u, x> + offset, the comparators' too.
    OFFSETS = 35
    #: Smallest and largest example weight of all rounds.
    LEAST_WEIGHT = 36
    MOST_WEIGHT = 37
    #: A user's own loss: the first round that showed a broken promise (0: none), which `Promise`
    #: it was, and the last round's prediction.
    PROMISE_BROKEN = 38
    BROKEN_PROMISE = 39
    LAST_POINT = 40


SIZE = len(Entry)
#: What lines enter that do not touch at the predictions.
LINES = [
    Entry.INTERCEPT,
    Entry.INTERCEPT_LOW,
    Entry.MAGNITUDE,
    Entry.TRAVEL,
    Entry.SCALED_TRAVEL,
]


class Promise(IntEnum):
    """The promises that a round can find broken, as the ledger stores them."""

    NONNEGATIVE = 1
    LIPSCHITZ = 2
    CONVEX = 3
    INTERCEPT = 4
    CONJUGATE = 5


def require_room(rounds: int, more: int) -> None:
    """Refuse more rounds than can be counted, before anything is learnt.

    >>> require_room(2**53 - 2, 2)
    >>> require_room(2**53 - 2, 3)
    Traceback (most recent call last):
    OverflowError: 9007199254740990 rounds were played and 3 more cannot be counted ...
    """
    if rounds + more > MOST_ROUNDS:
        raise OverflowError(
            f"{rounds} rounds were played and {more} more cannot be counted (2^53 is the limit); "
            "go on with a new learner"
        )


def gradient_error(
    travel: float, rounds: int, width: int, errors: float = GRADIENT_ERRORS, lost: float = 0.0
) -> float:
    """Return an upper bound on the rounding error of Z in the norm that its travel is measured in.

    Args:
        travel: the length of the path of Z, as summed in the ledger.
        rounds: the number of its steps.
        width: the number of its coordinates.
        errors: further roundings beside one or two a round [default: GRADIENT_ERRORS].
        lost: cost of an underflow in a coordinate and round beside UNDERFLOW [default: 0].

    >>> gradient_error(0.0, 0, 5), gradient_error(1.0, 10, 5) < 1e-13
    (0.0, True)
    """
    rounded = rounding_error(rounds + errors, grown(travel, 2.0 * rounds))
    return rounded + rounds * width * (UNDERFLOW + lost)


def new_ledger() -> npt.NDArray[np.float64]:
    """Return the ledger of an empty run.

    >>> float(new_ledger()[Entry.ROUNDS])
    0.0
    """
    ledger = np.zeros(SIZE)
    ledger[
        [
            Entry.ROW_LIMIT,
            Entry.LOWEST_FEATURE,
            Entry.LOWEST_STEP,
            Entry.LIGHTEST,
            Entry.LEAST_WEIGHT,
        ]
    ] = np.inf
    ledger[Entry.HIGHEST_FEATURE] = -np.inf
    return ledger

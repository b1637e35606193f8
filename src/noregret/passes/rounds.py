"""The bookkeeping of one round, shared by every pass."""

from __future__ import annotations

from noregret.jit import kernel
from noregret.ledger import Entry

_ROUNDS = int(Entry.ROUNDS)
_MISTAKES = int(Entry.MISTAKES)
_LOSS = int(Entry.LOSS)
_INTERCEPT = int(Entry.INTERCEPT)
_MAGNITUDE = int(Entry.MAGNITUDE)
_TRAVEL = int(Entry.TRAVEL)
_SQUARES = int(Entry.SQUARES)
_RATED_SQUARES = int(Entry.RATED_SQUARES)
_LARGEST_SQUARE = int(Entry.LARGEST_SQUARE)
_LARGEST_ROW = int(Entry.LARGEST_ROW)
_LARGEST_COUNTED_ROW = int(Entry.LARGEST_COUNTED_ROW)
_COUNTED = int(Entry.COUNTED)
_COUNTED_LOSS = int(Entry.COUNTED_LOSS)
_LOCAL_SQUARES = int(Entry.LOCAL_SQUARES)
_LOWEST_FEATURE = int(Entry.LOWEST_FEATURE)
_HIGHEST_FEATURE = int(Entry.HIGHEST_FEATURE)
_WIDEST_ROW = int(Entry.WIDEST_ROW)
_LOWEST_STEP = int(Entry.LOWEST_STEP)
_FIRST_ETA = int(Entry.FIRST_ETA)
_LAST_ETA = int(Entry.LAST_ETA)
_ROW_LIMIT = int(Entry.ROW_LIMIT)
_LIMIT_BROKEN = int(Entry.LIMIT_BROKEN)
_LIGHTEST = int(Entry.LIGHTEST)
_HEAVIEST = int(Entry.HEAVIEST)

#: Predictions and losses beyond this mean that the learner has diverged; sums must stay finite.
LARGEST_PREDICTION = 1e150
LARGEST_LOSS = 1e290
LARGEST_GRADIENT = 1e145

#: Outside these the powers that make up a row's norm may have over- or underflowed.
SMALLEST_POWERS = 1e-250
LARGEST_POWERS = 1e300


@kernel
def add_compensated(ledger, place, term):  # type: ignore[no-untyped-def]
    """Add a term to the sum at `place`, its rounding error to the next place."""
    total = ledger[place]
    new = total + term
    shadow = new - total
    ledger[place + 1] += (total - (new - shadow)) + (term - shadow)
    ledger[place] = new


@kernel
def row_norm(mirror, total, reach):  # type: ignore[no-untyped-def]
    """Return the dual norm of a row, or ||x||_1, never smaller, where that is out of range."""
    return mirror.norm(total) if SMALLEST_POWERS < total < LARGEST_POWERS else reach


@kernel
def playable(loss, y, weight, p, norm):  # type: ignore[no-untyped-def]
    """Tell whether a prediction, its loss and its squared gradient can be entered in a sum."""
    if not (abs(p) < LARGEST_PREDICTION and weight * loss.value(y, p) < LARGEST_LOSS):
        return False
    return weight * abs(loss.slope(y, p)) * norm < LARGEST_GRADIENT


@kernel
def play_round(loss, ledger, y, weight, p, reach, norm, eta, conservative):  # type: ignore[no-untyped-def]
    """Suffer the loss at p and enter it in the ledger; return the weighted slope to step by.

    A conservative learner counts the supporting line of a round only where it updates; the
    other rounds enter with the line 0, which is below every non-negative loss.
    """
    value = weight * loss.value(y, p)
    slope = weight * loss.slope(y, p)
    mistake = loss.mistake(y, p)
    ledger[_ROUNDS] += 1.0
    ledger[_MISTAKES] += 1.0 if mistake else 0.0
    add_compensated(ledger, _LOSS, value)
    ledger[_LARGEST_ROW] = max(ledger[_LARGEST_ROW], norm)
    if norm > ledger[_ROW_LIMIT] and ledger[_LIMIT_BROKEN] == 0.0:
        ledger[_LIMIT_BROKEN] = ledger[_ROUNDS]
    if ledger[_ROUNDS] == 1.0:
        ledger[_FIRST_ETA] = eta
    ledger[_LAST_ETA] = eta
    ledger[_MAGNITUDE] += abs(value)
    if conservative and not mistake:
        return 0.0
    intercept = weight * loss.intercept(y, p, loss.value(y, p), loss.slope(y, p))
    size = abs(slope)
    add_compensated(ledger, _INTERCEPT, intercept)
    ledger[_MAGNITUDE] += abs(intercept) + size * (abs(y) + abs(p))
    ledger[_TRAVEL] += size * reach
    square = size * norm * (size * norm)
    ledger[_SQUARES] += square
    ledger[_RATED_SQUARES] += eta * square
    ledger[_LARGEST_SQUARE] = max(ledger[_LARGEST_SQUARE], square)
    ledger[_LARGEST_COUNTED_ROW] = max(ledger[_LARGEST_COUNTED_ROW], norm)
    ledger[_COUNTED] += 1.0
    ledger[_LIGHTEST] = min(ledger[_LIGHTEST], weight)
    ledger[_HEAVIEST] = max(ledger[_HEAVIEST], weight)
    add_compensated(ledger, _COUNTED_LOSS, value)
    return slope


@kernel
def observe_features(ledger, slope, eta, local, low, high):  # type: ignore[no-untyped-def]
    """Enter what the theorems of the entropies ask about the features of a round."""
    ledger[_LOCAL_SQUARES] += slope * slope * local
    ledger[_LOWEST_FEATURE] = min(ledger[_LOWEST_FEATURE], low)
    ledger[_HIGHEST_FEATURE] = max(ledger[_HIGHEST_FEATURE], high)
    ledger[_WIDEST_ROW] = max(ledger[_WIDEST_ROW], high - low)
    step = eta * min(slope * low, slope * high)
    ledger[_LOWEST_STEP] = min(ledger[_LOWEST_STEP], step)

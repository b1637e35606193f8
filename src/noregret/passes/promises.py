"""Check in each round what a user's own loss promises: convexity, sign, slopes, intercept.

Each check costs one more value of the loss. A violation is entered in the ledger with its round and
ends all claims of the certificate; the learner goes on. For losses of this package `checked()` is a
constant False, and the compiler removes the checks.
"""

from __future__ import annotations

import numpy as np

from noregret.jit import kernel
from noregret.proof.ledger import Entry, Promise

_NONNEGATIVE, _LIPSCHITZ, _CONVEX, _INTERCEPT, _CONJUGATE = (float(one) for one in Promise)

#: Relative rounding that values, slopes and lines are allowed.
TOLERANCE = 1e-12


@kernel(inline=True)
def _passes_above(line, value, size):  # type: ignore[no-untyped-def]
    """Tell whether a line is above a value by more than rounding, or the value is NaN."""
    return not value >= line - TOLERANCE * size


@kernel(inline=True)
def _enter(ledger, which):  # type: ignore[no-untyped-def]
    """Enter a broken promise, the first one only; 0 stands for none."""
    if which > 0.0 and ledger[Entry.PROMISE_BROKEN] == 0.0:
        ledger[Entry.PROMISE_BROKEN] = ledger[Entry.ROUNDS]
        ledger[Entry.BROKEN_PROMISE] = which


@kernel(inline=True)
def promise_broken(loss, rounds, last, y, p, value, slope):  # type: ignore[no-untyped-def]
    """Return the promise that a round breaks whose line touches the loss at p, 0 for none.

    value >= 0 if the loss is never negative, |slope| <= lipschitz(), the line's height at 0 is not
    above value - slope p, and the line is not above the loss at one other point: the `last`
    round's p, -p and 0 in turn.
    """
    turn = np.int64(rounds) % 3
    q = last if turn == 0 else (-p if turn == 1 else 0.0)
    if q == p:
        q = p - 1.0 if turn == 1 else p + 1.0
    other = loss.value(y, q)
    rise = slope * (q - p)
    tip = slope * p
    which = 0.0
    if _passes_above(value + rise, other, abs(value) + abs(rise) + abs(other)):
        which = _CONVEX
    height = loss.intercept(y, p, value, slope)
    if _passes_above(height, value - tip, abs(value) + abs(tip)):
        which = _INTERCEPT
    if not abs(slope) <= loss.lipschitz() * (1.0 + TOLERANCE):
        which = _LIPSCHITZ
    if loss.nonnegative and not (value >= 0.0 and other >= 0.0):
        which = _NONNEGATIVE
    return which


@kernel(inline=True)
def keep_promises(loss, ledger, y, p, value, slope):  # type: ignore[no-untyped-def]
    """Enter the promise that a round breaks whose line touches the loss at p, if it does."""
    if loss.checked():
        last = ledger[Entry.LAST_POINT]
        ledger[Entry.LAST_POINT] = p
        _enter(ledger, promise_broken(loss, ledger[Entry.ROUNDS], last, y, p, value, slope))


@kernel(inline=True)
def keep_conjugate(loss, ledger, p, value, s, conjugate):  # type: ignore[no-untyped-def]
    """Check a conjugate: the line s q - conjugate must not pass above the loss at q = p."""
    if loss.checked():
        line = s * p - conjugate
        if _passes_above(line, value, abs(value) + abs(s * p) + abs(conjugate)):
            _enter(ledger, _CONJUGATE)


@kernel(inner=True, counted=True)
def keep_score_promises(loss, ledger, target, s, slopes, value):  # type: ignore[no-untyped-def]
    """Check the promises about a round of several scores, as `keep_promises` does for one.

    The other point is 0, -s and s with one score raised by 1, in turn.
    """
    count = s.shape[0]
    turn = np.int64(ledger[Entry.ROUNDS])
    steepest = loss.lipschitz() * (1.0 + TOLERANCE)
    other, spare = np.empty(count), np.empty(count)
    rise = lift = tip = length = which = 0.0
    for k in range(count):
        raised = s[k] + (1.0 if k == turn // 3 % count else 0.0)
        other[k] = raised if turn % 3 == 0 else (-s[k] if turn % 3 == 1 else 0.0)
        rise += slopes[k] * (other[k] - s[k])
        lift += abs(slopes[k]) * (abs(other[k]) + abs(s[k]))
        tip += slopes[k] * s[k]
        length += slopes[k] * slopes[k]
        if not abs(slopes[k]) <= steepest:
            which = _LIPSCHITZ
    if not np.sqrt(length) <= loss.slope_norm(count) * (1.0 + TOLERANCE):
        which = _LIPSCHITZ
    there = loss.value_and_slopes(target, other, spare)
    if _passes_above(value + rise, there, abs(value) + lift + abs(there)):
        which = _CONVEX
    height = loss.intercept(target, s, slopes, value)
    if _passes_above(height, value - tip, abs(value) + lift):
        which = _INTERCEPT
    if loss.nonnegative and not (value >= 0.0 and there >= 0.0):
        which = _NONNEGATIVE
    _enter(ledger, which)


@kernel
def keep_score_conjugate(ledger, s, slopes, value, conjugate):  # type: ignore[no-untyped-def]
    """Check the conjugate of several scores, as `keep_conjugate` does for one."""
    tip = size = 0.0
    for k in range(s.shape[0]):
        tip += slopes[k] * s[k]
        size += abs(slopes[k] * s[k])
    if _passes_above(tip - conjugate, value, abs(value) + size + abs(conjugate)):
        _enter(ledger, _CONJUGATE)

"""The bookkeeping of one round, shared by every pass."""

from __future__ import annotations

from typing import Any, NamedTuple

from noregret.jit import add_compensated, kernel
from noregret.passes.promises import keep_promises
from noregret.passes.rows import Reading
from noregret.proof.ledger import Entry

#: Predictions and losses beyond this mean that the learner has diverged; sums must stay finite.
LARGEST_PREDICTION = 1e150
LARGEST_LOSS = 1e290
LARGEST_GRADIENT = 1e145

#: Rows scaled to a promised norm may miss it by a few roundings.
LIMIT_TOLERANCE = 1.0 + 1e-12

#: Outside these the powers that make up a row's norm may have over- or underflowed.
SMALLEST_POWERS = 1e-250
LARGEST_POWERS = 1e300


class Round(NamedTuple):
    """A round as it is played; `slope` is that of the loss at the prediction, without `mass`.

    With several scores, `prediction` and `slope` have an entry for each.
    """

    label: Any
    #: The example's weight.
    mass: float
    prediction: Any
    slope: Any
    #: ||x||_1 and the dual norm of the row.
    one_norm: float
    norm: float
    eta: float


class MappedFound(NamedTuple):
    """What `examine` of a mapped rule found: the row's reading, the next LARGEST_REACH, kappa."""

    played: Round
    seen: Reading
    allowed: float
    kappa: float


@kernel(inline=True)
def row_norm(mirror, powers, one_norm):  # type: ignore[no-untyped-def]
    """Return the dual norm of a row, or its upper bound ||x||_1 where powers left their range."""
    return mirror.norm(powers) if SMALLEST_POWERS < powers < LARGEST_POWERS else one_norm


@kernel(inline=True)
def playable(loss, y, weight, p, slope, norm):  # type: ignore[no-untyped-def]
    """Return whether a prediction, its loss and its squared gradient can be entered in a sum.

    By convexity f(p) <= f(0) + slope p, so that a non-negative loss is computed in `commit` only.
    A user's own loss may break its promise of convexity and is computed here as well.
    """
    if not (
        abs(p) < LARGEST_PREDICTION
        and weight * abs(slope * p) < LARGEST_LOSS
        and weight * abs(slope) * norm < LARGEST_GRADIENT
    ):
        return False
    if loss.checked() or not loss.nonnegative:
        return abs(weight * loss.value(y, p)) < LARGEST_LOSS
    return abs(y) <= 1.0 or weight * loss.value(y, 0.0) < LARGEST_LOSS


@kernel(inline=True)
def step_slope(loss, played, conservative):  # type: ignore[no-untyped-def]
    """Return the weighted slope to step by: 0 where a conservative learner stays."""
    if conservative and not loss.mistake(played.label, played.prediction):
        return 0.0
    return played.mass * played.slope


@kernel(inline=True)
def enter_round(loss, ledger, played, conservative):  # type: ignore[no-untyped-def]
    """Enter the loss suffered in a round, and its supporting line, in the ledger.

    A conservative learner counts the supporting line of a round only where it updates; the
    other rounds enter with the line 0, which is below every non-negative loss.
    """
    value = loss.value(played.label, played.prediction)
    mistake = enter_loss(loss, ledger, played, value)
    keep_promises(loss, ledger, played.label, played.prediction, value, played.slope)
    if conservative:
        if not mistake:
            return
        count_mistake(ledger, played, value)
    enter_line(loss, ledger, played, value)


@kernel(inline=True)
def enter_loss(loss, ledger, played, value):  # type: ignore[no-untyped-def]
    """Enter a round and the loss suffered, `value`; return whether it was a mistake."""
    norm, eta = played.norm, played.eta
    mistake = loss.mistake(played.label, played.prediction)
    suffered = played.mass * value
    count_round(ledger, played, suffered, mistake)
    ledger[Entry.MAGNITUDE] += abs(suffered)
    if norm > ledger[Entry.ROW_LIMIT] * LIMIT_TOLERANCE and ledger[Entry.LIMIT_BROKEN] == 0.0:
        ledger[Entry.LIMIT_BROKEN] = ledger[Entry.ROUNDS]
    if ledger[Entry.FIRST_ETA] == 0.0:
        ledger[Entry.FIRST_ETA] = eta
    ledger[Entry.LAST_ETA] = eta
    return mistake


@kernel(inline=True)
def count_round(ledger, played, suffered, mistake):  # type: ignore[no-untyped-def]
    """Count a round and enter the weighted loss suffered, the row's norm and its weight."""
    ledger[Entry.ROUNDS] += 1.0
    ledger[Entry.MISTAKES] += 1.0 if mistake else 0.0
    add_compensated(ledger, Entry.LOSS, suffered)
    ledger[Entry.LARGEST_ROW] = max(ledger[Entry.LARGEST_ROW], played.norm)
    ledger[Entry.LEAST_WEIGHT] = min(ledger[Entry.LEAST_WEIGHT], played.mass)
    ledger[Entry.MOST_WEIGHT] = max(ledger[Entry.MOST_WEIGHT], played.mass)


@kernel(inline=True)
def count_mistake(ledger, played, value):  # type: ignore[no-untyped-def]
    """Enter a round among those that a conservative learner learns from."""
    weight = played.mass
    ledger[Entry.COUNTED] += 1.0
    add_compensated(ledger, Entry.COUNTED_LOSS, weight * value)
    ledger[Entry.LARGEST_COUNTED_ROW] = max(ledger[Entry.LARGEST_COUNTED_ROW], played.norm)
    ledger[Entry.LIGHTEST] = min(ledger[Entry.LIGHTEST], weight)
    ledger[Entry.HEAVIEST] = max(ledger[Entry.HEAVIEST], weight)


@kernel(inline=True)
def enter_line(loss, ledger, played, value):  # type: ignore[no-untyped-def]
    """Enter the supporting line that touches the loss at the prediction, where it has `value`."""
    y, weight, p, slope = played.label, played.mass, played.prediction, played.slope
    intercept = weight * loss.intercept(y, p, value, slope)
    size = abs(weight * slope)
    lift, travel, length = size * (abs(y) + abs(p)), size * played.one_norm, size * played.norm
    enter_plane(ledger, intercept, lift, travel, length, played.eta)


@kernel(inline=True)
def enter_plane(ledger, intercept, lift, travel, length, eta):  # type: ignore[no-untyped-def]
    """Enter a supporting plane.

    `intercept`: its height at 0; `lift`: sum of the absolute terms of that height, for the rounding
    slack; `travel`: upper bound on how far Z moves in any norm; `length`: ||z||_*.
    """
    add_compensated(ledger, Entry.INTERCEPT, intercept)
    ledger[Entry.MAGNITUDE] += abs(intercept) + lift
    ledger[Entry.TRAVEL] += travel
    square = length * length
    ledger[Entry.SQUARES] += square
    ledger[Entry.RATED_SQUARES] += eta * square
    ledger[Entry.LARGEST_SQUARE] = max(ledger[Entry.LARGEST_SQUARE], square)


@kernel(inline=True)
def enter_mapped(rule, ledger, found):  # type: ignore[no-untyped-def]
    """Enter a `MappedFound`; return the weighted slope to step by."""
    played, seen = found.played, found.seen
    ledger[Entry.LARGEST_REACH] = found.allowed
    slope = step_slope(rule.loss, played, rule.conservative)
    enter_round(rule.loss, ledger, played, rule.conservative)
    if rule.mirror.multiplicative():
        local = found.kappa * seen.local
        _observe_features(ledger, slope, played.eta, local, seen.low, seen.high)
    return slope


@kernel(inline=True)
def _observe_features(ledger, slope, eta, local, low, high):  # type: ignore[no-untyped-def]
    """Enter a round in the sums and preconditions of the entropies' theorems."""
    ledger[Entry.LOCAL_SQUARES] += slope * slope * local
    ledger[Entry.LOWEST_FEATURE] = min(ledger[Entry.LOWEST_FEATURE], low)
    ledger[Entry.HIGHEST_FEATURE] = max(ledger[Entry.HIGHEST_FEATURE], high)
    ledger[Entry.WIDEST_ROW] = max(ledger[Entry.WIDEST_ROW], high - low)
    if (low < 0.0 or high > 1.0) and ledger[Entry.FEATURE_BROKEN] == 0.0:
        ledger[Entry.FEATURE_BROKEN] = ledger[Entry.ROUNDS]
    step = eta * min(slope * low, slope * high)
    ledger[Entry.LOWEST_STEP] = min(ledger[Entry.LOWEST_STEP], step)
    if step < -1.0 and ledger[Entry.STEP_BROKEN] == 0.0:
        ledger[Entry.STEP_BROKEN] = ledger[Entry.ROUNDS]

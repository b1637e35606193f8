"""Rounds of several scores: what their rules keep, how a round is entered, how rows are scored.

The state of a rule is class-major: state[k] is what the rule of one score keeps, so that its loops
over a row serve each score in turn. The map is that of the flattened matrix, and z = g (x) x has
the dual norm ||g||_* ||x||_*.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from noregret.jit import kernel
from noregret.passes.frame import Vector
from noregret.passes.promises import keep_score_promises
from noregret.passes.rounds import (
    LARGEST_GRADIENT,
    LARGEST_LOSS,
    LARGEST_PREDICTION,
    Round,
    count_mistake,
    enter_loss,
    enter_plane,
    row_norm,
)
from noregret.passes.rows import add_scaled, measure_row, row_of
from noregret.passes.slots import Stop
from noregret.rounding import add_twofold


class Memory(NamedTuple):
    """Records and scalars, and buffers for one row: its scores, their slopes, and more."""

    state: Vector
    slots: Vector
    scores: Vector
    slopes: Vector
    work: Vector


class Found(NamedTuple):
    """What `examine` found: the loss, the accumulator of the norm, and LARGEST_REACH."""

    played: Round
    value: float
    powers: float
    allowed: float


@kernel(inline=True)
def suffer(loss, memory, label, mass, norm):  # type: ignore[no-untyped-def]
    """Return the loss of the scores in `memory`, and whether they can be played; write slopes."""
    value = loss.value_and_slopes(label, memory.scores, memory.slopes)
    fits = playable_scores(mass, value, memory.scores, memory.slopes, norm)
    return value, Stop.DONE if fits else Stop.OVERFLOW


@kernel(inline=True)
def playable_scores(mass, value, s, slopes, norm):  # type: ignore[no-untyped-def]
    """Return whether scores, their loss and its squared gradient can be entered in a sum."""
    sound = mass * abs(value) < LARGEST_LOSS
    for k in range(np.uint64(s.shape[0])):
        slope = abs(slopes[k])
        sound = (
            sound
            and abs(s[k]) < LARGEST_PREDICTION
            and mass * (slope * abs(s[k])) < LARGEST_LOSS
            and mass * slope * norm < LARGEST_GRADIENT
        )
    return sound


@kernel(inline=True)
def enter_scores(loss, mirror, ledger, played, value, conservative):  # type: ignore[no-untyped-def]
    """Enter the loss suffered at the scores; return whether its supporting plane was counted.

    As with one score, a conservative learner counts it on mistakes only.
    """
    mass, s, slopes = played.mass, played.prediction, played.slope
    mistake = enter_loss(loss, ledger, played, value)
    if loss.checked():
        keep_score_promises(loss, ledger, played.label, s, slopes, value)
    if conservative:
        if not mistake:
            return False
        count_mistake(ledger, played, value)
    intercept = mass * loss.intercept(played.label, s, slopes, value)
    size = loss.slope_mass(slopes, value)
    powers = lift = 0.0
    for k in range(np.uint64(s.shape[0])):
        powers = mirror.norm_term(powers, slopes[k])
        lift += abs(slopes[k]) * (1.0 + abs(s[k]))
    length = mass * row_norm(mirror, powers, size) * played.norm
    enter_plane(ledger, intercept, mass * lift, mass * size * played.one_norm, length, played.eta)
    return True


@kernel
def rank_pass(loss, mirror, rows, labels, scores, slopes, ledger, sums):  # type: ignore[no-untyped-def]
    """Enter the round of a ranking: a group of rows with scores s = X w and one vector of weights.

    Adds the gradient X^T g to column 0 of `sums` and what rounding lost to column 1, so that long
    groups lose no digits.
    `labels.y` are the relevances; a group has one weight. Returns whether the round could be
    entered; nothing is changed where it could not.
    """
    relevance, mass = labels.y, labels.weight[0]
    value = loss.value_and_slopes(relevance, scores, slopes)
    longest = widest = 0.0
    for t in range(np.uint64(relevance.shape[0])):
        powers, size = measure_row(mirror, row_of(rows, t))
        longest = max(longest, row_norm(mirror, powers, size))
        widest = max(widest, size)
    if not playable_scores(mass, value, scores, slopes, longest):
        return False
    played = Round(relevance, mass, scores, slopes, widest, longest, 1.0)
    enter_scores(loss, mirror, ledger, played, value, False)
    for t in range(np.uint64(relevance.shape[0])):
        if slopes[t] != 0.0:
            add_scaled(sums, slopes[t], row_of(rows, t))
    return True


@kernel(fast=True)
def score_rows(weights, indptr, indices, values, scores):  # type: ignore[no-untyped-def]
    """Write x_t W into row t of `scores`; features beyond the weights count as weight 0."""
    known = np.uint64(weights.shape[0])
    outputs = np.uint64(weights.shape[1])
    for t in range(np.uint64(scores.shape[0])):
        for k in range(outputs):
            scores[t, k] = 0.0
        if values.ndim == 2:
            for j in range(min(np.uint64(values.shape[1]), known)):
                x = np.float64(values[t, j])
                for k in range(outputs):
                    scores[t, k] += weights[j, k] * x
        else:
            for place in range(indptr[t], indptr[t + np.uint64(1)]):
                i = np.uint64(indices[place])
                if i < known:
                    x = np.float64(values[place])
                    for k in range(outputs):
                        scores[t, k] += weights[i, k] * x


@kernel
def score_losses(loss, y, weight, scores, counts):  # type: ignore[no-untyped-def]
    """Return sum_t weight_t f(y_t, s_t) over the first counts_t scores of each row, compensated."""
    total = low = 0.0
    slopes = np.empty(scores.shape[1])
    for t in range(np.uint64(y.shape[0])):
        played = counts[t]
        term = weight[t] * loss.value_and_slopes(y[t], scores[t, :played], slopes[:played])
        total, low = add_twofold(total, low, term)
    return total + low

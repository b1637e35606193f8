"""The loop that mixes probabilities of several classes; its book is that of margins."""

from __future__ import annotations

import numpy as np

from noregret.experts.probability_rounds import (
    LARGEST_SUM,
    charge,
    enter_mixture,
    log_shares,
    log_sum,
)
from noregret.jit import kernel


@kernel(inner=True)
def mixed_scores(loss, logs, table, terms, slopes, mixed):  # type: ignore[no-untyped-def]
    """Write s_c = ln sum_k v_k p_k(c), p_k the probabilities of expert k's scores.

    ln p_k(c) is its score less the level ln sum_j e^(s_kj), read from the loss of its largest
    score, where nothing cancels. `logs`: ln v_k; `terms` is scratch: a row a class.
    """
    experts, classes = np.uint64(table.shape[0]), np.uint64(table.shape[1])
    for k in range(experts):
        top = np.uint64(0)
        for c in range(classes):
            if table[k, c] > table[k, top]:
                top = np.uint64(c)
        level = loss.value_and_slopes(top, table[k], slopes)
        for c in range(classes):
            terms[c, k] = logs[k] + ((table[k, c] - table[k, top]) - level)
    for c in range(classes):
        mixed[c] = log_sum(terms[c])


@kernel
def score_probability_rounds(loss, sharing, predictions, labels, state, forecasts):  # type: ignore[no-untyped-def]
    """Mix the rows of scores, suffer the loss of the mixture, and charge the experts.

    Returns the rounds played: it stops before one whose losses overflow, with the book of the
    rounds before it.
    """
    experts, classes = predictions.shape[1], predictions.shape[2]
    own, slopes = np.empty(experts), np.empty(classes)
    terms = np.empty((classes, experts))
    for t in range(predictions.shape[0]):
        table, y, weight = predictions[t], labels.y[t], labels.weight[t]
        log_shares(state, sharing, own)
        mixed_scores(loss, own, table, terms, slopes, forecasts[t])
        value = weight * loss.value_and_slopes(y, forecasts[t], slopes)
        size = value
        for k in range(np.uint64(experts)):
            own[k] = loss.value_and_slopes(y, table[k], slopes)
            size = max(size, weight * own[k])
        if not enter_mixture(state.book, value, size, weight, LARGEST_SUM):
            return t
        charge(state, own, weight, sharing)
    return predictions.shape[0]


@kernel
def score_forecasts(loss, sharing, predictions, state, forecasts):  # type: ignore[no-untyped-def]
    """Mix the rows of scores with the same shares."""
    experts, classes = predictions.shape[1], predictions.shape[2]
    terms, slopes, logs = np.empty((classes, experts)), np.empty(classes), np.empty(experts)
    log_shares(state, sharing, logs)
    for t in range(predictions.shape[0]):
        mixed_scores(loss, logs, predictions[t], terms, slopes, forecasts[t])

"""Probabilities from the scores of the logistic losses, safe at any score.

A score of -inf marks a class that is not known yet: it has probability 0 and changes no bit of the
others', so that probabilities do not depend on how a stream is cut into blocks.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from noregret.arrays import Vector
from noregret.losses.margins import Logistic
from noregret.losses.scores import OneAgainstRest, Softmax


def log_multinomial(scores: Vector) -> Vector:
    """Return s_k - ln sum_j exp(s_j) for every row, a column a class.

    >>> np.exp(log_multinomial(np.log([[1.0, 3.0]]))).round(12)
    array([[0.25, 0.75]])
    """
    columns = np.ascontiguousarray(scores.T)
    highest = columns.max(axis=0, initial=-np.inf)
    unknown = np.isneginf(highest)
    highest[unknown] = 0.0
    # Rows without a known class divide by 1.
    total = unknown.astype(np.float64)
    # Class after class: those that are not known yet add zeros.
    for column in columns:
        total += np.exp(column - highest)
    return np.asarray(scores - (highest + np.log(total))[:, None])


def log_against_rest(scores: Vector) -> Vector:
    """Return ln of 1 / (1 + exp(-s_k)), divided by the sum over the classes, for every row."""
    return log_multinomial(-np.logaddexp(0.0, -scores))


def logistic(scores: Vector) -> Vector:
    """Return 1 / (1 + exp(-s)), of two classes or of each class against the rest, in sum 1.

    >>> logistic(np.zeros((1, 4))).tolist(), logistic(np.zeros(1)).tolist()
    ([[0.25, 0.25, 0.25, 0.25]], [[0.5, 0.5]])
    """
    if scores.ndim == 1:
        return np.exp(-np.logaddexp(0.0, np.column_stack([scores, -scores])))
    return np.asarray(np.exp(log_against_rest(scores)))


def multinomial(scores: Vector) -> Vector:
    """Return exp(s_k) / sum_j exp(s_j); two classes share the difference of their scores.

    >>> multinomial(np.zeros(1)).tolist()
    [[0.5, 0.5]]
    """
    return logistic(scores) if scores.ndim == 1 else np.exp(log_multinomial(scores))


def chances(score: float) -> tuple[float, float]:
    """Return 1 / (1 + exp(s)) and 1 / (1 + exp(-s)), what `logistic` is of many, in plain Python.

    >>> chances(0.0), chances(-1e4)
    ((0.5, 0.5), (1.0, 0.0))
    """
    # By the smaller exponential: none overflows.
    small = math.exp(-abs(score))
    more, less = 1.0 / (1.0 + small), small / (1.0 + small)
    return (less, more) if score >= 0.0 else (more, less)


class Link(NamedTuple):
    """How scores become probabilities, a row a row: by themselves, or of a matrix their logs."""

    probabilities: Callable[[Vector], Vector]
    logs: Callable[[Vector], Vector]


def link_of(loss: Any) -> Link | None:
    """Return how scores become probabilities, None where the loss means none.

    Those of `Softmax` are exp(s_k) / sum_j exp(s_j); those of `Logistic`, alone or one against the
    rest, 1 / (1 + exp(-s_k)), divided by their sum.

    >>> from noregret.losses import MulticlassHinge
    >>> link_of(MulticlassHinge()) is None
    True
    >>> np.exp(link_of(Softmax()).logs(np.log([[1.0, 3.0]]))).round(12)
    array([[0.25, 0.75]])
    """
    if type(loss) is Softmax:
        return Link(multinomial, log_multinomial)
    if type(loss.loss if type(loss) is OneAgainstRest else loss) is Logistic:
        return Link(logistic, log_against_rest)
    return None

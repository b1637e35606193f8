"""From predicted costs to probabilities of arms: how a contextual bandit explores."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np

from noregret.arrays import ArrayLike, Indices, Matrix, Vector, first_true, real_array
from noregret.component import POSITIVE, Component, allowed

#: Probabilities of a row may miss 1 by this, for rounding.
TOLERANCE = 1e-9
_UNIT = allowed("must be within [0, 1]", lambda value: 0.0 <= value <= 1.0)


class Exploration(Component):
    """How predicted costs become probabilities; base for your own."""

    _parameter: ClassVar[str] = "{}: {}"

    def probabilities(self, predicted: Matrix, times: Vector) -> Matrix:
        """Return the probability of each arm, a row for each row of predicted costs in [0, 1].

        `times` are the numbers of the decisions, from 1.
        """
        raise NotImplementedError


@dataclass(frozen=True)
class EpsilonGreedy(Exploration):
    """With probability epsilon any arm, else an arm of least predicted cost; ties share.

    epsilon: from 0 to 1 [default: 0.05].

    >>> EpsilonGreedy(0.1).probabilities(np.array([[0.3, 0.2]]), np.ones(1))
    array([[0.05, 0.95]])
    """

    epsilon: float = field(default=0.05, metadata=_UNIT)

    def probabilities(self, predicted: Matrix, times: Vector) -> Matrix:
        """Return epsilon/K for each arm, and a share of 1 - epsilon for the best."""
        best = predicted == predicted.min(axis=1, keepdims=True)
        share = (1.0 - self.epsilon) / best.sum(axis=1, keepdims=True)
        return np.asarray(self.epsilon / predicted.shape[1] + best * share)


@dataclass(frozen=True)
class InverseGap(Exploration):
    """Inverse gap weighting: p_a = 1 / (K + gamma (predicted_a - least)), the rest for the best.

    gamma = scale * t^exponent in round t, scale > 0 [default: 10] and exponent from 0 to 1
    [default: 1/2]. For any costs f and predictions q of one round,
    sum_a p_a (f_a - f_best) <= 2 K / gamma + (gamma/4) sum_a p_a (q_a - f_a)^2: what exploring
    costs is paid by the regressors' squared error.
    Reference: Foster and Rakhlin, Beyond UCB: Optimal and Efficient Contextual Bandits with
    Regression Oracles, 2020, Lemma 3.

    >>> InverseGap(10.0, 0.0).probabilities(np.array([[0.3, 0.1]]), np.ones(1))
    array([[0.25, 0.75]])
    """

    scale: float = field(default=10.0, metadata=POSITIVE)
    exponent: float = field(default=0.5, metadata=_UNIT)

    def probabilities(self, predicted: Matrix, times: Vector) -> Matrix:
        """Return the inverse gap weights of each row."""
        # Bounded: infinity times a gap of 0 would be NaN.
        gamma = np.minimum(self.scale, 1e280) * times[:, None] ** self.exponent
        best = predicted.argmin(axis=1)
        rows = np.arange(len(predicted))
        gaps = predicted - predicted[rows, best][:, None]
        shares: Matrix = 1.0 / (predicted.shape[1] + gamma * gaps)
        shares[rows, best] = 0.0
        shares[rows, best] = 1.0 - shares.sum(axis=1)
        return shares


def as_probabilities(name: str, values: ArrayLike, rows: int, arms: int) -> Matrix:
    """Return probabilities, a row a decision, or refuse them in one line.

    >>> as_probabilities("policy", [0.5, 0.6], 1, 2)
    Traceback (most recent call last):
    ValueError: policy: the probabilities of row 0 sum to 1.1, expected 1
    """
    matrix = np.array(real_array(name, values), np.float64)
    if matrix.shape == (arms,):
        matrix = np.broadcast_to(matrix, (rows, arms))
    if matrix.shape != (rows, arms):
        raise ValueError(f"{name} has shape {matrix.shape}, expected ({rows}, {arms})")
    if at := first_true(~(matrix >= 0.0)):
        raise ValueError(f"{name}: row {at[0]} gives arm {at[1]} the probability {matrix[at]}")
    sums = matrix.sum(axis=1)
    if at := first_true(~(np.abs(sums - 1.0) <= TOLERANCE)):
        raise ValueError(
            f"{name}: the probabilities of row {at[0]} sum to {sums[at]:.12g}, expected 1"
        )
    return matrix


def draw_rows(probabilities: Matrix, u: Vector) -> Indices:
    """Return for each row the smallest i with u < p_0 + ... + p_i, never an arm without a chance.

    >>> draw_rows(np.array([[0.2, 0.8], [0.2, 0.8]]), np.array([0.1, 0.2]))
    array([0, 1])
    """
    sums = np.cumsum(probabilities, axis=1)
    arms = (u[:, None] >= sums).sum(axis=1)
    last = probabilities.shape[1] - 1 - np.argmax(probabilities[:, ::-1] > 0.0, axis=1)
    return np.asarray(np.minimum(arms, last), np.int64)

"""Closed forms that the papers print and the library does not need: it states sharper ones."""

from __future__ import annotations

import math

from noregret.proof import closed_forms


def perceptron_mistakes(loss: float, reach: float) -> float:
    """Return L + b^2/2 + (b/2) sqrt(b^2 + 4 L), the root of M = L + b sqrt(M), b = reach.

    For the p-norm Perceptron b^2 carries the factor p - 1. SS06, Theorem 2.

    >>> perceptron_mistakes(0.0, 3.0)
    9.0
    """
    return loss + 0.5 * reach * (reach + math.sqrt(reach * reach + 4.0 * loss))


def perceptron_mistakes_printed(loss: float, reach: float) -> float:
    """Return L + b sqrt(L) + b^2, never below `perceptron_mistakes`. SS12, Theorem 3.9; CB24.

    >>> perceptron_mistakes_printed(1.0, 2.0)
    7.0
    """
    return loss + reach * math.sqrt(loss) + reach * reach


def perceptron_rate(loss: float, reach: float) -> float:
    """Return the C in (0, 1] at which `competitive_mistakes` is smallest, 2/(1 + sqrt(1 + 4L/b^2)).

    Only the analysis knows C: the Perceptron's predictions do not depend on it. SS06, eq. 19.

    >>> perceptron_rate(0.0, 3.0)
    1.0
    """
    if loss == 0.0:
        return 1.0
    return 2.0 * reach / (reach + math.sqrt(reach * reach + 4.0 * loss))


def competitive_mistakes(
    loss: float, complexity: float, rate: float, margin: float = 1.0, square: float = 1.0
) -> float:
    """Return (F(u) + C L(u)) / progress, which bounds the mistakes of a conservative learner.

    Infinite when C >= 2 gamma / R^2, where the theorem says nothing. SS06, Theorem 1.

    >>> competitive_mistakes(0.0, 0.5, 1.0)
    1.0
    """
    gain = closed_forms.progress(margin, rate, square)
    return (complexity + rate * loss) / gain if gain > 0.0 else math.inf


def winnow_mistakes(loss: float, ones: float, dimension: int, eta: float = 0.25) -> float:
    """Return (L + k ln d / eta) / (1 - 2 eta) for a comparator in {0,1}^d with k >= 1 ones.

    8 k ln d for eta = 1/4 where u makes no loss. SS12, Theorem 3.10.

    >>> winnow_mistakes(0.0, 1, 1)
    0.0
    """
    if ones < 1:
        raise ValueError(f"ones must be at least 1, got {ones}")
    return (loss + ones * math.log(dimension) / eta) / (1.0 - 2.0 * eta)


def unmitigated(value: float, rate: float, square: float = 1.0) -> float:
    """Return the inverse of `mitigated`: sqrt(2 C R^2 z) for z < C R^2/2, z + C R^2/2 above.

    The average loss of an aggressive learner is at most this of (L(u) + F(u)/C) / m. SS06,
    Theorem 3.

    >>> unmitigated(1.75, 0.5)
    2.0
    """
    knee = rate * square
    return math.sqrt(2.0 * knee * value) if value < 0.5 * knee else value + 0.5 * knee


def mirror_descent_regret(
    complexity: float, eta: float, squares: float, stability: float = 0.5
) -> float:
    """Return R(u)/eta + stability * eta * sum ||z_t||_*^2, divided by strong convexity beforehand.

    stability = 1/2 is SS12, Theorem 2.21; 1 is Theorem 2.11 and the corollaries as printed.

    >>> mirror_descent_regret(0.5, 0.1, 100.0)
    10.0
    """
    return complexity / eta + stability * eta * squares

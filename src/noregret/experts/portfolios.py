"""Portfolios: wealth from 1 under price relatives, the loss of a round being -ln <p, x>.

Price relatives x_(t,i) are the prices of round t over those of round t - 1, all above 0. Every
function returns the wealth after each round.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from noregret.arrays import Vector, as_count, as_positive, real_array
from noregret.experts.advice import as_distribution, as_relatives
from noregret.experts.oracles import Combination, best_combination, simplex_minimum
from noregret.losses import NegativeLog
from noregret.turns import one_at_a_time


def buy_and_hold(relatives: Any, weights: Any = None) -> Vector:
    """Return the wealth of buying once, in equal parts by default, and never trading.

    >>> buy_and_hold([[2.0, 1.0], [2.0, 0.5]])
    array([1.5 , 2.25])
    """
    table = as_relatives(relatives)
    return np.asarray(np.cumprod(table, axis=0) @ _portfolio(weights, table.shape[1]))


def best_stock(relatives: Any) -> tuple[int, float]:
    """Return the asset that ended highest, the first of them, and its wealth.

    >>> best_stock([[2.0, 1.0], [2.0, 0.5]])
    (0, 4.0)
    """
    final = np.prod(as_relatives(relatives), axis=0)
    best = int(np.argmax(final))
    return best, float(final[best])


def rebalanced(relatives: Any, weights: Any = None) -> Vector:
    """Return the wealth of a constantly rebalanced portfolio, in equal parts by default.

    >>> rebalanced([[2.0, 1.0], [2.0, 0.5]])
    array([1.5  , 1.875])
    """
    table = as_relatives(relatives)
    return np.asarray(np.cumprod(table @ _portfolio(weights, table.shape[1])))


def best_rebalanced(relatives: Any, tol: float = 1e-7) -> Combination:
    """Return the constantly rebalanced portfolio that ends highest, with a proved gap.

    `loss` is -ln of its wealth, and exp(-floor) a wealth that none exceeds.

    >>> import math
    >>> best = best_rebalanced([[2.0, 0.5], [0.5, 2.0]])
    >>> best.weights.round(4), round(math.exp(-best.loss), 6)
    (array([0.5, 0.5]), 1.5625)
    """
    table = as_relatives(relatives)
    return best_combination(table, np.zeros(len(table)), NegativeLog(), tol)


def portfolio_eg(
    relatives: Any,
    eta: float = 0.05,
    project: Callable[[Vector], Any] | None = None,
) -> Vector:
    """Return the wealth of the exponentiated-gradient portfolio after each round.

    w_i <- w_i exp(eta x_i / <w, x>) over the sum, from equal parts, eta > 0. `project` is called
    with the new weights and returns those to play instead, for constraints (see
    `noregret.tracking.project_halfspace`); what it returns must be >= 0 and sum to 1.
    Reference: Helmbold, Schapire, Singer, Warmuth, On-Line Portfolio Selection Using
    Multiplicative Updates, 1998.

    >>> portfolio_eg([[1.1, 0.9], [1.1, 0.9]], eta=0.05).round(8)
    array([1.    , 1.0005])
    """
    table = as_relatives(relatives)
    as_positive("eta", eta)
    count = table.shape[1]
    weights = np.full(count, 1.0 / count)
    growth = np.empty(len(table))
    for t, x in enumerate(table):
        growth[t] = weights @ x
        exponent = eta * (x / growth[t])
        weights = weights * np.exp(exponent - exponent.max())
        weights /= weights.sum()
        if project is not None:
            weights = as_distribution("project's weights", project(weights), count)
    return np.asarray(np.cumprod(growth))


class NewtonStep:
    """The online Newton step on portfolios, the weights of the coming round in `weights`.

    g = x / <p, x>, A <- A + g g', b <- b + (1 + 1/beta) g from A = I and b = 0, and p the point
    of the simplex nearest to delta A^(-1) b in the norm of A; a part `mixing` of the wealth is
    kept in equal parts.
    Reference: Agarwal, Hazan, Kale, Schapire, Algorithms for Portfolio Management Based on the
    Newton Method, 2006, Figure 1.

    >>> step = NewtonStep(2)
    >>> step.learn(np.array([1.1, 0.9]))
    >>> step.weights.round(4)
    array([0.4265, 0.5735])
    """

    def __init__(
        self, assets: int, beta: float = 1.0, delta: float = 0.125, mixing: float = 0.0
    ) -> None:
        """Make a portfolio of equal parts.

        beta and delta: above 0, as above [default: 1 and 1/8]. mixing: from 0 to 1 [default: 0].
        """
        if not 0.0 <= mixing <= 1.0:
            raise ValueError(f"mixing must be in [0, 1], got {mixing}")
        self.beta, self.delta = as_positive("beta", beta), as_positive("delta", delta)
        self.mixing, count = mixing, as_count("assets", assets)
        self._A, self._b = np.eye(count), np.zeros(count)
        self._point = np.full(count, 1.0 / count)

    @property
    def weights(self) -> Vector:
        """The portfolio of the coming round."""
        return (1.0 - self.mixing) * self._point + self.mixing / len(self._point)

    @one_at_a_time
    def learn(self, relatives: Vector) -> None:
        """Learn the price relatives of one round.

        Relatives that cannot be used raise ValueError and leave the portfolio as it was.
        """
        x = as_relatives(real_array("relatives", relatives)[None], len(self._point))[0]
        slope = x / float(self.weights @ x)
        A, b = self._A + np.outer(slope, slope), self._b + (1.0 + 1.0 / self.beta) * slope
        self._point = simplex_minimum(A, self.delta * b, self._point)
        self._A, self._b = A, b


def online_newton(
    relatives: Any, beta: float = 1.0, delta: float = 0.125, mixing: float = 0.0
) -> Vector:
    """Return the wealth of the online Newton step after each round; see `NewtonStep`.

    >>> online_newton([[1.1, 0.9], [1.1, 0.9]]).round(6)
    array([1.      , 0.985294])
    """
    table = as_relatives(relatives)
    step = NewtonStep(table.shape[1], beta, delta, mixing)
    growth = np.empty(len(table))
    for t, x in enumerate(table):
        growth[t] = step.weights @ x
        step.learn(x)
    return np.asarray(np.cumprod(growth))


def universal_pair(relatives: Any, points: int | None = None) -> Vector:
    """Return the wealth of the universal portfolio of two assets after each round.

    It is the mean wealth of all constantly rebalanced portfolios (b, 1 - b): of b = 0, 1/(n-1), ...
    1 for n `points`, else of all b in [0, 1] alike, which is computed exactly. The wealth of
    (b, 1 - b) is sum_k C(t,k) a_k b^k (1-b)^(t-k) with positive a_k, the integral of each term
    a_k / (t+1), and a_k <- (k x_1 a_(k-1) + (t-k) x_2 a_k) / t in round t.
    Reference: Cover, Universal Portfolios, 1991, sections 2 and 8.

    >>> universal_pair([[2.0, 1.0], [2.0, 1.0]])
    array([1.5       , 2.33333333])
    >>> universal_pair([[2.0, 1.0], [2.0, 1.0]], points=3)
    array([1.5       , 2.41666667])
    """
    table = as_relatives(relatives, 2)
    if points is not None:
        grid = np.linspace(0.0, 1.0, as_count("points", points, least=2))
        growth = table[:, :1] * grid + table[:, 1:] * (1.0 - grid)
        return np.asarray(np.cumprod(growth, axis=0).mean(axis=1))
    means, wealth = np.ones(1), np.empty(len(table))
    for t, (first, second) in enumerate(table, 1):
        k = np.arange(t + 1)
        padded = np.pad(means, 1)
        means = (k * first * padded[:-1] + (t - k) * second * padded[1:]) / t
        wealth[t - 1] = means.mean()
    return wealth


def _portfolio(weights: Any, count: int) -> Vector:
    return as_distribution(
        "weights", np.full(count, 1.0 / count) if weights is None else weights, count
    )

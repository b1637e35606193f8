"""What another policy would have earned, from logged decisions: estimates with intervals.

A row of the log has a context x, an arm drawn with propensity p, and its outcome r. A policy gives
probabilities pi(a|x); with w = pi(arm|x) / p the mean of w r estimates its mean outcome without
bias, provided p > 0 wherever pi > 0. Rows are taken as independent draws of one distribution.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from statistics import NormalDist
from typing import Any

import numpy as np
import numpy.typing as npt

from noregret.bandits.exploration import as_probabilities
from noregret.bandits.logs import Log
from noregret.rounding import down, up

Vector = npt.NDArray[np.float64]

FINITE = "finite-sample"
ASYMPTOTIC = "asymptotic"
#: Relative room for rounding in weights and sums.
_ROUNDING = 1e-12


@dataclass(frozen=True)
class Estimate:
    """A policy's mean outcome a decision, with an interval that holds it with probability `level`.

    "finite-sample" intervals hold at every sample size by the promises made, "asymptotic" ones as
    the log grows.
    """

    method: str
    value: float
    low: float
    high: float
    level: float
    interval: str
    rows: int
    #: (sum w)^2 / sum w^2: so many rows of its own would tell about as much.
    effective_rows: float

    def as_dict(self) -> dict[str, Any]:
        """Return the fields as plain values."""
        return dict(vars(self))

    def __str__(self) -> str:
        return (
            f"{self.method:<14}{self.value:>12.6g}  [{down(self.low)}, {up(self.high)}] "
            f"{self.level:.3g} {self.interval}, {self.rows:,} rows, worth {self.effective_rows:.4g}"
        )


def ips(
    log: Log, policy: npt.ArrayLike, level: float = 0.95, weight_limit: float | None = None
) -> Estimate:
    """Return the inverse propensity score estimate, the mean of w r; it is unbiased.

    `policy`: probabilities of the arms, a row for each of the log or one row for all of them.
    `weight_limit` promises w <= weight_limit for every context and arm, not only those of the log:
    the interval is then mean +- sqrt(2 V ln(4/delta)/n) + 7 R ln(4/delta) / (3 (n - 1)) with V the
    sample variance and R the range of w r, at every n (Maurer and Pontil, Empirical Bernstein
    Bounds and Sample-Variance Penalization, 2009, Theorem 4).

    >>> log = Log([0, 1, 1], [1.0, 0.0, 1.0], [0.5, 0.5, 0.5], arms=2)
    >>> round(ips(log, [0.0, 1.0]).value, 12)
    0.666666666667
    """
    weights = _weights(log, policy, level, weight_limit)[1]
    low, high = log.range
    spread = None
    if weight_limit is not None:
        spread = weight_limit * (max(high, 0.0) - min(low, 0.0))
    return _mean("IPS", log, weights * log.outcomes, weights, level, spread)


def snips(log: Log, policy: npt.ArrayLike, level: float = 0.95) -> Estimate:
    """Return the self-normalised estimate, sum w r / sum w: a little biased, far less noisy.

    The interval is normal with the variance sum w^2 (r - value)^2 / (sum w)^2. Reference:
    Swaminathan and Joachims, The Self-Normalized Estimator for Counterfactual Learning, 2015.

    >>> log = Log([0, 1, 1], [1.0, 0.0, 1.0], [0.5, 0.5, 0.5], arms=2)
    >>> snips(log, [0.0, 1.0]).value
    0.5
    """
    weights = _weights(log, policy, level, None)[1]
    total = float(weights.sum())
    if not total > 0.0:
        raise ValueError("the policy never takes an arm of the log: nothing can be estimated")
    value = float(weights @ log.outcomes) / total
    error = math.sqrt(float(np.sum((weights * (log.outcomes - value)) ** 2))) / total
    return _normal("SNIPS", log, value, error, weights, level)


def doubly_robust(
    log: Log,
    policy: npt.ArrayLike,
    predicted: npt.ArrayLike,
    level: float = 0.95,
    weight_limit: float | None = None,
) -> Estimate:
    """Return the mean of sum_a pi(a|x) q(x, a) + w (r - q(x, arm)): unbiased, whatever q is.

    `predicted` holds q, the outcome predicted for every arm, a row for each of the log, made
    without the outcome of that row and within the promised range. With `weight_limit` the
    interval is that of `ips`, and q must be fixed before the log was made.
    Reference: Dudik, Langford, Li, Doubly Robust Policy Evaluation and Learning, 2011.

    >>> log = Log([0, 1], [1.0, 0.0], [0.5, 0.5], arms=2)
    >>> doubly_robust(log, [0.0, 1.0], [[0.5, 0.2], [0.5, 0.2]]).value
    0.0
    """
    chances, weights = _weights(log, policy, level, weight_limit)
    low, high = log.range
    model = np.asarray(predicted, np.float64)
    if model.shape != chances.shape:
        raise ValueError(f"predicted has shape {model.shape}, expected {chances.shape}")
    if not ((model >= low) & (model <= high)).all():
        raise ValueError(f"predicted must be within the promised [{low:g}, {high:g}]")
    taken = model[np.arange(len(log)), log.arms]
    terms = (chances * model).sum(axis=1) + weights * (log.outcomes - taken)
    spread = None if weight_limit is None else (high - low) * (1.0 + 2.0 * weight_limit)
    return _mean("doubly robust", log, terms, weights, level, spread)


def _weights(
    log: Log, policy: npt.ArrayLike, level: float, weight_limit: float | None
) -> tuple[Vector, Vector]:
    """Return the policy's probabilities and w, after the checks that all estimates share."""
    if len(log) < 2:
        raise ValueError(f"an estimate needs at least 2 rows, the log has {len(log)}")
    if not 0.0 < level < 1.0:
        raise ValueError(f"level must lie strictly between 0 and 1, got {level}")
    chances = as_probabilities("policy", policy, len(log), log.count)
    weights: Vector = chances[np.arange(len(log)), log.arms] / log.propensities
    if weight_limit is not None:
        if not 0.0 < weight_limit < math.inf:
            raise ValueError(f"weight_limit must be a number above 0, got {weight_limit}")
        worst = int(np.argmax(weights))
        if weights[worst] > weight_limit * (1.0 + _ROUNDING):
            raise ValueError(
                f"row {worst} has the weight {weights[worst]:g}, "
                f"weight_limit promises at most {weight_limit:g}"
            )
    return chances, weights


def _mean(
    method: str, log: Log, terms: Vector, weights: Vector, level: float, spread: float | None
) -> Estimate:
    """Return the mean of terms that are unbiased; `spread` bounds the range of one of them."""
    value, variance = float(terms.mean()), float(terms.var(ddof=1))
    if spread is None:
        return _normal(method, log, value, math.sqrt(variance / len(log)), weights, level)
    width = bernstein(variance, spread, len(log), 1.0 - level)
    width += _ROUNDING * (float(np.abs(terms).mean()) + width)
    # Whatever the sample says, the mean outcome of any policy lies within the promised range.
    low, high = (
        min(max(end, log.range[0]), log.range[1]) for end in (value - width, value + width)
    )
    return _estimate(method, log, value, low, high, weights, level, FINITE)


def bernstein(variance: float, spread: float, rows: int, delta: float) -> float:
    """Return the half width of the two-sided empirical Bernstein interval.

    >>> bernstein(0.0, 3.0, 8, 4.0 * math.exp(-1.0))
    1.0
    """
    odds = math.log(4.0 / delta)
    return math.sqrt(2.0 * variance * odds / rows) + 7.0 * spread * odds / (3.0 * (rows - 1))


def _normal(
    method: str, log: Log, value: float, error: float, weights: Vector, level: float
) -> Estimate:
    reach = NormalDist().inv_cdf(0.5 + 0.5 * level) * error
    return _estimate(method, log, value, value - reach, value + reach, weights, level, ASYMPTOTIC)


def _estimate(
    method: str, log: Log, value: float, low: float, high: float, weights: Vector,
    level: float, interval: str,
) -> Estimate:  # fmt: skip
    squares = float(weights @ weights)
    effective = float(weights.sum()) ** 2 / squares if squares > 0.0 else 0.0
    return Estimate(method, value, low, high, level, interval, len(log), effective)

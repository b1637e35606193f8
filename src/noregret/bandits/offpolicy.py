"""Estimate the mean outcome of another policy from logged decisions, with intervals.

A row of the log has a context x, an arm drawn with propensity p, and its outcome r. A policy gives
probabilities pi(a|x); with w = pi(arm|x) / p the mean of w r estimates its mean outcome without
bias, provided p > 0 wherever pi > 0. The policy must not have been chosen by the same rows.
Propensities are taken at their word. "asymptotic" intervals take rows as independent draws of one
distribution, "finite-sample" ones as one of two things: independent, whatever their contexts and
propensities; or logged by a policy that learnt as it went on, on contexts drawn independently from
one distribution.
`replay` runs a learning policy on the log instead, as if it had been there.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from statistics import NormalDist
from typing import Any

import numpy as np

from noregret.arrays import ArrayLike, Indices, Vector, as_positive, first_true, real_array
from noregret.bandits.arms import ArmBandit
from noregret.bandits.contextual import ContextualBandit
from noregret.bandits.decisions import Log, generator
from noregret.bandits.exploration import as_probabilities
from noregret.elementary import log_sum_exp
from noregret.proof.statement import Proof
from noregret.rounding import down, exact, up

FINITE = "finite-sample"
ASYMPTOTIC = "asymptotic"
#: Relative room for rounding in weights and sums; also an upper bound, for each variable, on the
#: rounding of the logarithm of a capital.
_ROUNDING = 1e-12
#: Largest ratio pi/p accepted; beyond it the propensity is surely a data error.
_LARGEST_WEIGHT = 1e15
#: Ratio of successive shares of the capital, and how many of them are below the middle one.
_RATIO, _BELOW = 3.0, 8
_LARGEST_SHARE = 0.9
#: The floor is found to this part of its distance from the sample mean; stopping short is safe.
_ACCURACY = 1e-4
#: Variables processed at a time, for all shares: bounds the memory.
_CHUNK = 1 << 14


@dataclass(frozen=True)
class Estimate(Proof):
    """A policy's mean outcome a decision, with an interval that holds it with probability `level`.

    "finite-sample" intervals do so at every sample size, by the promises made. "asymptotic" ones do
    so in the limit of a long log and promise nothing before it: with a few dozen `effective_rows`,
    or weights of heavy tails, they can miss several times more often than 1 - level, and where all
    rows that count have one outcome they are a single point.
    """

    method: str
    value: float
    low: float
    high: float
    level: float
    interval: str
    rows: int
    #: Effective sample size (sum w)^2 / sum w^2.
    effective_rows: float

    def _lines(self) -> list[str]:
        return [
            f"{self.method:<14}{self.value:>12.6g}  [{down(self.low)}, {up(self.high)}] "
            f"{exact(self.level)} {self.interval}, {self.rows:,} rows, "
            f"worth {self.effective_rows:.4g}"
        ]


def ips(
    log: Log, policy: ArrayLike, level: float = 0.95, weight_limit: float | None = None
) -> Estimate:
    """Return the inverse propensity score estimate, the mean of w r; it is unbiased.

    `policy`: probabilities of the arms, a row for each of the log or one row for all of them. The
    interval is finite-sample and needs no bound on the weights: w (r - low) and w (high - r) are
    not negative, and their means are at most the policy's above low and below high, so that a floor
    under each, by `mean_floor`, is an end of it; it needs no p > 0 wherever pi > 0 either.
    `weight_limit` promises w <= weight_limit for every context and arm, not only those of the log:
    each end is then the better of two. The other one, by weight_limit - w (high - r) or
    weight_limit - w (r - low), is far better where outcomes are rare and weights vary.
    Reference: Karampatziakis, Mineiro, Ramdas, Off-policy Confidence Sequences, 2021.

    >>> log = Log([0, 1, 1], [1.0, 0.0, 1.0], [0.5, 0.5, 0.5], arms=2)
    >>> round(ips(log, [0.0, 1.0]).value, 12)
    0.666666666667
    """
    weights = _weights(log, policy, level)[1]
    below, above = weights * log.units, weights * (1.0 - log.units)
    floors, ceilings = [(below, 0.0)], [(above, 0.0)]
    if weight_limit is not None:
        limit = _limit(weights, weight_limit)
        floors.append((limit - above, limit - 1.0))
        ceilings.append((limit - below, limit - 1.0))
    mean = float((weights * log.outcomes).mean())
    return _betted("IPS", log, mean, floors, ceilings, weights, level)


def snips(log: Log, policy: ArrayLike, level: float = 0.95) -> Estimate:
    """Return the self-normalised estimate, sum w r / sum w: a little biased, far less noisy.

    The interval is normal, asymptotic, with the variance sum w^2 (r - value)^2 / (sum w)^2; that of
    `ips` holds for the same policy at every sample size. Reference: Swaminathan and Joachims, The
    Self-Normalized Estimator for Counterfactual Learning, 2015.

    >>> log = Log([0, 1, 1], [1.0, 0.0, 1.0], [0.5, 0.5, 0.5], arms=2)
    >>> snips(log, [0.0, 1.0]).value
    0.5
    """
    weights = _weights(log, policy, level)[1]
    total = float(weights.sum())
    if not total > 0.0:
        raise ValueError("the policy never takes an arm of the log: nothing can be estimated")
    low, high = log.range
    unit = float(weights @ log.units) / total
    deviation = math.sqrt(float(np.sum((weights * (log.units - unit)) ** 2))) / total
    value = low + (high - low) * unit
    return _normal("SNIPS", log, value, (high - low) * deviation, weights, level)


def doubly_robust(
    log: Log,
    policy: ArrayLike,
    predicted: ArrayLike,
    level: float = 0.95,
    weight_limit: float | None = None,
) -> Estimate:
    """Return the mean of sum_a pi(a|x) q(x, a) + w (r - q(x, arm)): unbiased, whatever q is.

    `predicted` holds q, the outcome predicted for every arm, a row for each of the log, made
    without the outcomes of that row and of later ones, and within the promised range. The interval
    is normal, asymptotic. `weight_limit` promises w <= weight_limit for every context and arm, not
    only those of the log: then it is finite-sample, by `mean_floor` of the terms moved up
    by weight_limit (high - low), which are not negative.
    Reference: Dudik, Langford, Li, Doubly Robust Policy Evaluation and Learning, 2011.

    >>> log = Log([0, 1], [1.0, 0.0], [0.5, 0.5], arms=2)
    >>> doubly_robust(log, [0.0, 1.0], [[0.5, 0.2], [0.5, 0.2]]).value
    0.0
    """
    chances, weights = _weights(log, policy, level)
    low, high = log.range
    model = np.asarray(real_array("predicted", predicted), np.float64)
    if model.shape != chances.shape:
        raise ValueError(f"predicted has shape {model.shape}, expected {chances.shape}")
    if not ((model >= low) & (model <= high)).all():
        raise ValueError(f"predicted must be within the promised [{low:g}, {high:g}]")
    taken = model[np.arange(len(log)), log.arms]
    terms = (chances * model).sum(axis=1) + weights * (log.outcomes - taken)
    value = float(terms.mean())
    if weight_limit is None:
        deviation = math.sqrt(float(terms.var(ddof=1)) / len(log))
        return _normal("doubly robust", log, value, deviation, weights, level)
    limit = _limit(weights, weight_limit)
    unit = (terms - low) / (high - low)
    floors, ceilings = [(unit + limit, limit)], [(1.0 - unit + limit, limit)]
    return _betted("doubly robust", log, value, floors, ceilings, weights, level)


def _weights(log: Log, policy: ArrayLike, level: float) -> tuple[Vector, Vector]:
    """Return the policy's probabilities and w, after the checks that all estimates share."""
    if len(log) < 2:
        raise ValueError(f"an estimate needs at least 2 rows, the log has {len(log)}")
    if not 0.0 < level < 1.0:
        raise ValueError(f"level must lie strictly between 0 and 1, got {level}")
    chances = as_probabilities("policy", policy, len(log), log.count)
    drawn = chances[np.arange(len(log)), log.arms]
    if far := first_true(drawn > _LARGEST_WEIGHT * log.propensities):
        raise ValueError(
            f"row {far[0]} has the propensity {log.propensities[far]:g}, too small for "
            f"the policy's {drawn[far]:g}"
        )
    return chances, np.asarray(drawn / log.propensities)


def _limit(weights: Vector, weight_limit: float) -> float:
    """Return the promised limit of the weights with room for rounding, or refuse a broken one."""
    limit = as_positive("weight_limit", weight_limit)
    worst = int(np.argmax(weights))
    if weights[worst] > limit * (1.0 + _ROUNDING):
        raise ValueError(
            f"row {worst} has the weight {weights[worst]:g}, "
            f"weight_limit promises at most {limit:g}"
        )
    return limit * (1.0 + 4.0 * _ROUNDING)


def _betted(
    method: str, log: Log, value: float, floors: list[tuple[Vector, float]],
    ceilings: list[tuple[Vector, float]], weights: Vector, level: float,
) -> Estimate:  # fmt: skip
    """Return an estimate whose interval ends at the best floor on either side.

    A floor is given as non-negative variables, in units of the range, and the known excess of
    their mean.
    """
    low, high = log.range
    below, above = (_best_floor(each, 0.5 * (1.0 - level)) for each in (floors, ceilings))
    room = _ROUNDING * max(abs(low), abs(high))
    # The mean outcome of any policy lies within the promised range.
    bottom = min(max(low + (high - low) * below - room, low), high)
    top = max(min(high - (high - low) * above + room, high), low)
    if bottom > top:
        # Chance or wrong propensities made one of the ends wrong: fall back to the range.
        bottom, top = low, high
    return _estimate(method, log, value, bottom, top, weights, level, FINITE)


def _best_floor(kinds: list[tuple[Vector, float]], delta: float) -> float:
    # Rounding may leave a variable just below 0, and moves a floor in proportion to it.
    return max(
        mean_floor(np.maximum(values, 0.0), delta / len(kinds)) * (1.0 - _ROUNDING) - excess
        for values, excess in kinds
    )


def _normal(
    method: str, log: Log, value: float, error: float, weights: Vector, level: float
) -> Estimate:
    reach = NormalDist().inv_cdf(0.5 + 0.5 * level) * error
    low, high = (
        min(max(end, log.range[0]), log.range[1]) for end in (value - reach, value + reach)
    )
    return _estimate(method, log, value, low, high, weights, level, ASYMPTOTIC)


def _estimate(
    method: str, log: Log, value: float, low: float, high: float, weights: Vector,
    level: float, interval: str,
) -> Estimate:  # fmt: skip
    squares = float(weights @ weights)
    effective = float(weights.sum()) ** 2 / squares if squares > 0.0 else 0.0
    return Estimate(method, value, low, high, level, interval, len(log), effective)


def stakes(count: int, delta: float) -> tuple[Vector, Vector]:
    """Return the shares c and how the capital is spread over them, most in the middle.

    The middle one is best for variables whose deviation is as large as their mean.

    >>> shares, spread = stakes(800, 0.05)
    >>> round(float(spread.sum()), 12), round(float(shares[8] ** 2 * 400 / math.log(20)), 12)
    (1.0, 1.0)
    """
    middle = min(0.5, math.sqrt(2.0 * math.log(1.0 / delta) / count))
    above = int(math.log(_LARGEST_SHARE / middle) / math.log(_RATIO))
    steps = np.arange(-_BELOW, above + 1, dtype=np.float64)
    spread = 1.0 / ((np.abs(steps) + 1.0) * (np.abs(steps) + 2.0))
    return middle * _RATIO**steps, spread / spread.sum()


def mean_floor(values: Vector, delta: float) -> float:
    """Return a number that the mean of non-negative variables is below with probability <= delta.

    M(m) = prod_i (1 - c + c X_i / m) has E[M] <= 1 for m >= mean; by Markov's inequality
    P(M >= 1/delta) <= delta. M falls in m; return nearly the largest m at which a mixture of M over
    several shares c reaches 1/delta. The variables need no upper bound. They are independent, and
    then "the mean" is the mean of their means; or each has the same mean given those before it.
    Reference: Waudby-Smith and Ramdas, Estimating Means of Bounded Random Variables by Betting,
    2024, Theorem 1; independence: the geometric mean is at most the mean.

    >>> mean_floor(np.zeros(9), 0.05)
    0.0
    >>> 0.8 < mean_floor(np.ones(100), 0.05) < 1.0
    True
    """
    shares, spread = stakes(len(values), delta)
    found, counts = np.unique(values, return_counts=True)
    goal = math.log(1.0 / delta) + _ROUNDING * len(values)

    def reached(price: float) -> bool:
        logs = np.log(spread)
        for start in range(0, len(found), _CHUNK):
            part = slice(start, start + _CHUNK)
            gains = shares[:, None] * (found[part] / price - 1.0)
            logs += np.log1p(gains) @ counts[part]
        return bool(log_sum_exp(logs) >= goal)

    top = high = float(values.mean())
    # Halve the price m until the capital M(m) reaches its goal; give up at 2^-40 of the mean.
    for _ in range(40):
        low = 0.5 * high if high > 0.0 else 0.0
        if low == 0.0 or reached(low):
            break
        high = low
    else:
        return 0.0
    # Near 0 there may be no double between the two.
    while low < (middle := 0.5 * (low + high)) < high and high - low > _ACCURACY * (top - low):
        if reached(middle):
            low = middle
        else:
            high = middle
    return low


@dataclass(frozen=True, eq=False)
class Replay(Proof):
    """The rows of a log that a policy was replayed on, and their outcomes."""

    rows: int
    accepted: Indices
    outcomes: Vector
    #: The bound on the propensities that rows were accepted by, and whether it was known before
    #: the log was: a bound read off the log makes the accepted rows depend on one another.
    least: float
    promised: bool

    @property
    def average(self) -> float:
        """The mean outcome of the accepted rows, NaN if there are none."""
        return float(self.outcomes.mean()) if len(self.outcomes) else float("nan")

    def _lines(self) -> list[str]:
        lines = [
            f"replay of {self.rows:,} rows: {len(self.accepted):,} accepted, "
            f"mean outcome {self.average:.6g}"
        ]
        if not self.promised:
            lines.append(
                f"not exactly a run of the policy: {self.least!r}, the least propensity of this "
                "log, decided which rows were accepted; give least=, known before the log"
            )
        return lines


def replay(
    policy: ArmBandit | ContextualBandit,
    log: Log,
    contexts: Any = None,
    rewards: bool = False,
    least: float | None = None,
    seed: int | np.random.Generator | None = None,
) -> Replay:
    """Let the policy decide on each row, and learn from those where it draws the logged arm.

    Such a row is accepted with probability least / propensity. If `least`, above 0 and at most
    every propensity that the logging policy can have, was known before the log was drawn, each arm
    has the share of the accepted rows that the policy gives it, so that they are a run of the
    policy itself, shorter. By default `least` is the smallest propensity of the log: where the
    propensities differ, that depends on the arms drawn, and the run is nearly, not exactly, one of
    the policy; the result says so. For logs drawn uniformly all such rows are accepted.
    With `rewards` outcomes are rewards, else costs.
    Reference: Li, Chu, Langford, Wang, Unbiased Offline Evaluation of Contextual-bandit-based News
    Article Recommendation Algorithms, 2011.

    >>> from noregret.bandits import Exp3
    >>> log = Log([0, 1, 0, 1], [0.0, 1.0, 0.0, 1.0], [0.5] * 4, arms=2)
    >>> replay(Exp3(arms=2, eta=0.1, seed=1), log).rows
    4
    """
    if isinstance(policy, ContextualBandit) != (contexts is not None):
        wanted = "needs contexts" if contexts is None else "has no use for contexts"
        raise ValueError(f"{type(policy).__name__} {wanted}")
    if policy.arms != log.count or policy.costs != log.range:
        raise ValueError(
            f"the log has {log.count} arms and outcomes in {log.range}, "
            f"the policy {policy.arms} and costs in {policy.costs}"
        )
    # Check all contexts before the first of them is learnt from.
    rows = policy._contexts(contexts) if isinstance(policy, ContextualBandit) else None
    if rows is not None and len(rows) != len(log):
        raise ValueError(f"got {len(rows)} contexts for a log of {len(log)} rows")
    smallest = float(log.propensities.min(initial=1.0))
    # Equal propensities are known before any arm is drawn.
    promised = least is not None or bool((log.propensities == smallest).all())
    least = smallest if least is None else least
    if not 0.0 < least <= smallest:
        raise ValueError(f"least must be above 0 and at most {smallest:g}, got {least}")
    rng, tell = generator(seed), policy.reward if rewards else policy.learn
    player: Any = policy
    accepted: list[int] = []
    for row in range(len(log)):
        decision = player.decide() if rows is None else player.decide_row(rows.part(row, row + 1))
        fair = rng.random() * log.propensities[row] < least
        if fair and decision.arm == log.arms[row]:
            tell(decision, float(log.outcomes[row]))
            accepted.append(row)
        else:
            policy.forget(decision)
    kept = np.array(accepted, np.int64)
    return Replay(len(log), kept, log.outcomes[kept], least, promised)

"""Tsallis-INF: optimal up to constants against an adversary and against chance alike."""

from __future__ import annotations

import math

import numpy as np

from noregret.arrays import Indices, Vector
from noregret.bandits import theorems
from noregret.bandits.arms import ArmBandit, ArmSum, enter_cost
from noregret.bandits.bandit_certificate import FIXED_ARM, MEAN, PATH
from noregret.files.fields import Array
from noregret.jit import kernel
from noregret.proof.statement import NOTHING, Statement

#: Limit on the steps of Newton's method, which doubles its digits.
MOST_STEPS = 100


@kernel
def normalise(estimates, weights, book):  # type: ignore[no-untyped-def]
    """Write w_i = 4 / (eta (estimate_i - x))^2 with the x for which they sum to 1.

    The sum is convex and rising in x < least estimate. At least - 2/eta the best arm alone has the
    weight 1, so that x lies below; from there, and after one step from anywhere below, Newton's
    method comes down on x without overshooting. It starts at the x of the round before.
    """
    eta = book[ArmSum.ETA]
    # Plain loops: array expressions are 10 percent slower for a few arms.
    least = np.inf
    for k in range(np.uint64(len(estimates))):
        least = min(least, estimates[k])
    highest = least - 2.0 / eta
    x, below = min(book[ArmSum.SHIFT], highest), True
    for _ in range(MOST_STEPS):
        total, slope = 0.0, 0.0
        for k in range(np.uint64(len(estimates))):
            root = 2.0 / (eta * (estimates[k] - x))
            total += root * root
            slope += root * root * root
        moved = min(x - (total - 1.0) / (eta * slope), highest)
        # Once above the solution every step goes down: stop where rounding prevents that.
        if not below and moved >= x:
            break
        below = total < 1.0
        if moved == x:
            break
        x = moved
    total = 0.0
    for k in range(np.uint64(len(estimates))):
        root = 2.0 / (eta * (estimates[k] - x))
        weights[k] = root * root
        total += weights[k]
    for k in range(np.uint64(len(weights))):
        weights[k] /= total
    book[ArmSum.SHIFT] = x


@kernel
def find_arm(weights, u):  # type: ignore[no-untyped-def]
    """Return the smallest i with u < w_0 + ... + w_i, the last arm if rounding leaves none."""
    total = 0.0
    for k in range(np.uint64(len(weights) - 1)):
        total += weights[k]
        if u < total:
            return np.int64(k)
    return len(weights) - 1


@kernel
def suffer(estimates, weights, book, arm, probability, cost):  # type: ignore[no-untyped-def]
    """Learn the cost of one decision: z = cost / probability.

    With s = 2/(eta sqrt(w)) the stability is at most w z^2 / (s + z), what it is without the
    constraint that weights sum to 1.
    """
    k = np.uint64(arm)
    eta, w = book[ArmSum.ETA], weights[k]
    z = cost / probability
    estimates[k] += z
    book[ArmSum.DIVERGENCE] += w * z * z / (2.0 / (eta * math.sqrt(w)) + z)
    book[ArmSum.DRIFT] += cost - w * z
    book[ArmSum.ETAS] += eta
    enter_cost(book, cost)
    book[ArmSum.ETA] = 2.0 / math.sqrt(book[ArmSum.ROUNDS] + 1.0)
    normalise(estimates, weights, book)


@kernel
def play(estimates, weights, book, draws, costs, arms):  # type: ignore[no-untyped-def]
    """Play a round for each draw."""
    for t in range(len(draws)):
        row = np.uint64(t)
        arm = find_arm(weights, draws[row])
        k = np.uint64(arm)
        suffer(estimates, weights, book, arm, weights[k], costs[row, k])
        arms[row] = arm


class TsallisINF(ArmBandit):
    """Follow the regularised leader with the Tsallis entropy of power 1/2 on estimated costs.

    w = argmin over the simplex of <w, estimates> - (4/eta_t) sum_i sqrt(w_i), eta_t = 2/sqrt(t):
    no horizon, nothing to tune. Against any costs the regret is at most 4 sqrt(d T) in
    expectation; where costs are drawn independently it grows like ln T only, with a factor that
    depends on the gaps between the arms and is not printed. A round takes O(d).
    Reference: Zimmert and Seldin, Tsallis-INF: An Optimal Algorithm for Stochastic and Adversarial
    Bandits, 2021, Theorem 1 (importance-weighted estimates).

    >>> bandit = TsallisINF(arms=2, seed=0)
    >>> arms = bandit.play(np.tile([0.2, 0.7], (1000, 1)))
    >>> int((arms == 1).sum()) < 100
    True
    """

    algorithm = "Tsallis-INF"
    _FIELDS = (*ArmBandit._FIELDS, Array("weights"))

    def __init__(
        self,
        arms: int,
        costs: tuple[float, float] = (0.0, 1.0),
        seed: int | np.random.Generator | None = None,
    ) -> None:
        """Make a bandit; `costs` promises the range of every cost."""
        super().__init__(arms, costs, seed)
        self._book[ArmSum.ETA] = 2.0
        self._book[ArmSum.NEXT] = math.inf
        self._weights = np.full(self.arms, 1.0 / self.arms)
        normalise(self._estimates, self._weights, self._book)

    @property
    def probabilities(self) -> Vector:
        """The probability of each arm in the coming round."""
        return self._weights.copy()

    def _draw(self, u: float) -> tuple[int, float]:
        arm = find_arm(self._weights, u)
        return arm, self._weights.item(arm)

    def _suffer(self, arm: int, probability: float, cost: float) -> None:
        suffer(self._estimates, self._weights, self._book, arm, probability, cost)

    def _play(self, draws: Vector, costs: Vector, arms: Indices) -> None:
        play(self._estimates, self._weights, self._book, draws, costs, arms)

    def _statements(self, reason: str) -> list[Statement]:
        book, slack = self._book, self._slack()
        # The rate of the coming round is below the last one's: bounds by it are weaker.
        complexity = (4.0 * math.sqrt(self.arms) - 4.0) / self.eta
        path = (complexity + float(book[ArmSum.DIVERGENCE])) * (1.0 + slack)
        path += float(book[ArmSum.DRIFT]) + slack * (self._cost + 1.0)
        mean = theorems.tsallis_regret(self.arms, self.eta, float(book[ArmSum.ETAS]))
        return [
            self._measured().state(
                "regret on the estimates",
                "McMahan 2017, Theorem 1, with the stability of one arm in closed form",
                path,
                claim="cost - least estimate",
                holds=PATH,
            ),
            NOTHING.state(
                "Tsallis-INF",
                "Zimmert and Seldin 2021, Theorem 1",
                mean * (1.0 + slack),
                reason,
                claim=FIXED_ARM,
                holds=MEAN,
            ),
        ]

    def _check_loaded(self) -> None:
        """Refuse weights that are no probabilities."""
        super()._check_loaded()
        if not ((self._weights > 0.0) & (self._weights <= 1.0)).all():
            raise ValueError(f"weights must be {self.arms} probabilities")

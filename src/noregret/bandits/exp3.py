"""EXP3: exponential weights on estimated costs, O(log d) a round; EXP3-IX, for high probability.

A sum tree over the d weights draws an arm and changes a weight in O(log d). Node 1 is the root,
node k has the children 2k and 2k + 1, and leaf i stands at `capacity` + i with capacity the least
power of two >= d. Every inner node is the sum of its two children, so that the tree depends on its
leaves alone, not on the order in which they were set.
"""

from __future__ import annotations

import math
from typing import ClassVar

import numpy as np

from noregret.arrays import Indices, Vector, as_positive, as_real, as_whole
from noregret.bandits import theorems
from noregret.bandits.arms import ArmBandit, ArmSum, enter_cost
from noregret.bandits.bandit_certificate import ANY_ARM, FIXED_ARM, MEAN, PATH
from noregret.elementary import exp
from noregret.files.fields import Array, Fields, Setting
from noregret.jit import kernel
from noregret.proof.statement import NOTHING, Statement

#: Below this root all weights are computed afresh: those to come would underflow.
SMALLEST_ROOT = 1e-200
#: A weight below this is set to 0: its arm is never drawn, and its estimate too low rather than too
#: high, which all theorems allow; above it no probability underflows.
SMALLEST_WEIGHT = 1e-280
#: Falling rates are held over stretches of rounds that grow by this factor.
HELD = 2.0**0.25


def new_tree(size: int) -> Vector:
    """Return a tree with room for that many weights, all of them 0.

    >>> len(new_tree(5))
    16
    """
    return np.zeros(2 << (size - 1).bit_length())


@kernel
def sum_up(tree):  # type: ignore[no-untyped-def]
    """Recompute all inner nodes from the leaves, in O(d)."""
    for k in range(1, len(tree) // 2):
        node = np.uint64(len(tree) // 2 - k)
        left = np.uint64(2) * node
        tree[node] = tree[left] + tree[left + np.uint64(1)]


@kernel
def set_leaf(tree, index, weight):  # type: ignore[no-untyped-def]
    """Set one weight and the sums above it, in O(log d)."""
    node = np.uint64(len(tree) // 2) + np.uint64(index)
    tree[node] = weight
    while node > np.uint64(1):
        node >>= np.uint64(1)
        left = np.uint64(2) * node
        tree[node] = tree[left] + tree[left + np.uint64(1)]


@kernel
def find(tree, u):  # type: ignore[no-untyped-def]
    """Return the smallest i with u < (w_0 + ... + w_i) / sum of w, for 0 <= u < 1, in O(log d).

    Rounding never leads to a weight of 0.

    >>> tree = new_tree(3)
    >>> for i, weight in enumerate((0.2, 0.5, 0.3)):
    ...     set_leaf(tree, i, weight)
    >>> [int(find(tree, u)) for u in (0.1, 0.2, 0.69, 0.7)]
    [0, 1, 1, 2]
    """
    rest = u * tree[np.uint64(1)]
    capacity = np.uint64(len(tree) // 2)
    node = np.uint64(1)
    while node < capacity:
        node *= np.uint64(2)
        left = tree[node]
        if rest >= left and tree[node + np.uint64(1)] > 0.0:
            rest -= left
            node += np.uint64(1)
    return np.int64(node - capacity)


@kernel
def weight_of(estimate, shift, eta):  # type: ignore[no-untyped-def]
    """Return exp(-eta (estimate - shift)), or 0 where it is negligible."""
    weight = exp(-eta * (estimate - shift))
    return weight if weight >= SMALLEST_WEIGHT else 0.0


@kernel
def fill(tree, estimates, book):  # type: ignore[no-untyped-def]
    """Set every weight to exp(-eta (estimate - least estimate))."""
    least, eta, first = estimates.min(), book[ArmSum.ETA], np.uint64(len(tree) // 2)
    book[ArmSum.SHIFT] = least
    for k in range(np.uint64(len(estimates))):
        tree[first + k] = weight_of(estimates[k], least, eta)
    sum_up(tree)


@kernel
def suffer(tree, estimates, book, implicit, arm, probability, cost):  # type: ignore[no-untyped-def]
    """Learn the cost of one decision: estimate it, move one leaf, keep the books.

    z = cost / (probability + implicit eta); D = (1/eta) ln(1 + w (exp(-eta z) - 1)) + w z.
    """
    eta, shift, root = book[ArmSum.ETA], book[ArmSum.SHIFT], tree[np.uint64(1)]
    k = np.uint64(arm)
    w = tree[np.uint64(len(tree) // 2) + k] / root
    z = cost / (probability + implicit * eta)
    estimates[k] += z
    set_leaf(tree, arm, weight_of(estimates[k], shift, eta))
    if tree[np.uint64(1)] < SMALLEST_ROOT:
        fill(tree, estimates, book)
    change = w * math.expm1(-eta * z)
    if change > -0.5:
        grown = math.log1p(change)
    else:
        grown = math.log(tree[np.uint64(1)] / root) - eta * (book[ArmSum.SHIFT] - shift)
    book[ArmSum.DIVERGENCE] += max(grown / eta + w * z, 0.0)
    book[ArmSum.LOCAL] += 0.5 * eta * w * z * z
    book[ArmSum.DRIFT] += cost - w * z
    book[ArmSum.ETAS] += eta
    enter_cost(book, cost)
    coming = book[ArmSum.ROUNDS] + 1.0
    if coming >= book[ArmSum.NEXT]:
        book[ArmSum.ETA] = book[ArmSum.SCALE] / math.sqrt(coming)
        book[ArmSum.NEXT] = math.floor(coming * HELD) + 1.0
        fill(tree, estimates, book)


@kernel
def play(tree, estimates, book, implicit, draws, costs, arms):  # type: ignore[no-untyped-def]
    """Play a round for each draw."""
    first = np.uint64(len(tree) // 2)
    for t in range(len(draws)):
        row = np.uint64(t)
        arm = find(tree, draws[row])
        k = np.uint64(arm)
        probability = tree[first + k] / tree[np.uint64(1)]
        suffer(tree, estimates, book, implicit, arm, probability, costs[row, k])
        arms[row] = arm


def stretch(coming: int) -> int:
    """Return in which stretch of equal rates, counted from 1, a round lies where rates fall.

    >>> [stretch(t) for t in (1, 2, 3, 4, 5, 1_000_000)]
    [1, 2, 3, 4, 5, 73]
    """
    k, end = 1, 2
    while coming >= end:
        k, end = k + 1, math.floor(end * HELD) + 1
    return k


class Exp3(ArmBandit):
    """The survey's multi-armed bandit: draw from w, estimate the cost by z = (cost/w_arm) e_arm.

    w_i is proportional to exp(-eta sum of z_i); drawing and learning take O(log d) for d arms.
    `eta` is the rate; `horizon` chooses sqrt(2 ln d / (d horizon)); with neither, the rate falls
    like sqrt(ln d / (d t)), held over stretches that grow by 2^(1/4).
    Reference: Shalev-Shwartz, Online Learning and Online Convex Optimization, section 4.2.

    >>> bandit = Exp3(arms=3, eta=0.2, seed=1)
    >>> for _ in range(200):
    ...     decision = bandit.decide()
    ...     bandit.learn(decision.id, cost=0.1 if decision.arm == 2 else 0.9)
    >>> int(np.argmax(bandit.probabilities))
    2
    """

    algorithm = "EXP3"
    _FIELDS: ClassVar[Fields] = (*ArmBandit._FIELDS, Array("weights", "_leaves"))
    #: gamma / eta of the implicit exploration.
    _implicit = 0.0

    def __init__(
        self,
        arms: int,
        eta: float | None = None,
        horizon: int | None = None,
        costs: tuple[float, float] = (0.0, 1.0),
        seed: int | np.random.Generator | None = None,
    ) -> None:
        """Make a bandit; `costs` promises the range of every cost."""
        super().__init__(arms, costs, seed)
        scale, coming = 0.0, math.inf
        if eta is not None and horizon is not None:
            raise ValueError("give eta or horizon, not both: the horizon is for choosing eta")
        if eta is not None:
            first = as_positive("eta", eta)
        elif horizon is not None:
            first = theorems.exp3_rate(self.arms, as_whole("horizon", horizon))
        else:
            first = scale = math.sqrt(math.log(max(self.arms, 2)) / self.arms)
            coming = 2.0
        self._book[[ArmSum.ETA, ArmSum.SCALE, ArmSum.NEXT]] = first, scale, coming
        self._tree = new_tree(self.arms)
        fill(self._tree, self._estimates, self._book)

    @property
    def _leaves(self) -> Vector:
        """The weights of the arms, a view of the tree."""
        first = len(self._tree) // 2
        return self._tree[first : first + self.arms]

    @property
    def probabilities(self) -> Vector:
        """The probability of each arm in the coming round."""
        return np.asarray(self._leaves / self._tree[1])

    def _draw(self, u: float) -> tuple[int, float]:
        tree = self._tree
        arm = find(tree, u)
        return arm, tree.item((len(tree) >> 1) + arm) / tree.item(1)

    def _suffer(self, arm: int, probability: float, cost: float) -> None:
        suffer(self._tree, self._estimates, self._book, self._implicit, arm, probability, cost)

    def _play(self, draws: Vector, costs: Vector, arms: Indices) -> None:
        play(self._tree, self._estimates, self._book, self._implicit, draws, costs, arms)

    def _paths(self) -> list[Statement]:
        """Return the certain statements: bounds on the regret on the estimates."""
        book, slack, measured = self._book, self._slack(), self._measured()
        # Large estimates that nearly cancel in the drift are rounded in proportion to themselves.
        drift = float(book[ArmSum.DRIFT]) + slack * (self._cost + abs(float(book[ArmSum.DRIFT])))
        complexity = math.log(self.arms) / self.eta
        kinds = (
            ("", "Lemma 2.20", book[ArmSum.DIVERGENCE]),
            (", simpler", "Theorem 2.22 with exp(-a) <= 1 - a + a^2/2", book[ArmSum.LOCAL]),
        )
        return [
            measured.state(
                f"regret on the estimates{name}",
                f"Shalev-Shwartz 2012, {reference}; falling rates: McMahan 2017, Theorem 1",
                (complexity + float(stability)) * (1.0 + slack) + slack + drift,
                claim="cost - least estimate",
                holds=PATH,
            )
            for name, reference, stability in kinds
        ]

    def _statements(self, reason: str) -> list[Statement]:
        arms, eta, etas = self.arms, self.eta, float(self._book[ArmSum.ETAS])
        slack, held = 1.0 + self._slack(), self._book[ArmSum.NEXT] == math.inf
        # The rate of the coming round is at most the last one's: bounds by it are weaker, and true.
        kinds = (
            ("EXP3", "Corollary 4.2", theorems.exp3_regret(arms, eta, self.rounds)),
            ("EXP3, sharper", "proof of Corollary 4.2 with exp(-a) <= 1 - a + a^2/2; falling "
             "rates: Bubeck and Cesa-Bianchi 2012, Theorem 3.1",
             theorems.exp3_regret_halved(arms, eta, arms * etas)),
        )  # fmt: skip
        return self._paths() + [
            NOTHING.state(
                name,
                f"Shalev-Shwartz 2012, {proof}",
                value * slack,
                reason,
                claim=FIXED_ARM,
                holds=MEAN,
            )
            for name, proof, value in kinds[0 if held else 1 :]
        ]

    def _check_loaded(self) -> None:
        """Refuse weights that no bandit has written, and sum them up."""
        super()._check_loaded()
        weights = self._leaves
        # Estimates are at least the shift, or weights have been flushed to 0.
        sound = (weights == 0.0) | ((weights >= SMALLEST_WEIGHT) & (weights <= 1.0))
        if not sound.all():
            raise ValueError(f"weights must be {self.arms} numbers within [0, 1]")
        if not weights.sum() > 0.0:
            raise ValueError("weights must not all be 0")
        sum_up(self._tree)


class Exp3IX(Exp3):
    """EXP3 on the estimates z = cost / (w_arm + gamma) with gamma = eta/2, biased downwards.

    With probability at least 1 - delta no estimate exceeds the sum of its arm's costs by more than
    ln(d/delta) / eta, for all arms and all rounds together: a floor under the costs that every arm
    had in these rounds, from the costs of the pulled arms alone. Costs may depend on earlier draws;
    then the floor is under the costs as they were set, not as they would have been set for a
    player of one arm.
    Where the rate falls, it is held over stretches known in advance, and stretch k may fail with
    probability delta / (k (k + 1)): these add up to delta.
    Reference: Neu, Explore No More: Improved High-Probability Regret Bounds for Non-Stochastic
    Bandits, 2015; for all rounds together by Ville's inequality for the supermartingale of its
    Lemma 1, once for each stretch with the rate of that stretch, which is the least so far.

    >>> bandit = Exp3IX(arms=2, horizon=1000, seed=3)
    >>> arms = bandit.play(np.tile([0.9, 0.4], (1000, 1)))
    >>> bandit.certificate().floor <= 400.0
    True
    """

    algorithm = "EXP3-IX"
    _implicit = 0.5
    _FIELDS = (*Exp3._FIELDS, Setting("delta"))

    def __init__(
        self,
        arms: int,
        eta: float | None = None,
        horizon: int | None = None,
        costs: tuple[float, float] = (0.0, 1.0),
        delta: float = 0.05,
        seed: int | np.random.Generator | None = None,
    ) -> None:
        """Make a bandit whose statements may fail with probability `delta`."""
        self.delta = as_real("delta", delta, "must lie strictly between 0 and 1")
        if not 0.0 < self.delta < 1.0:
            raise ValueError(f"delta must lie strictly between 0 and 1, got {delta}")
        super().__init__(arms, eta, horizon, costs, seed)

    def _failure(self) -> float:
        """Return the probability that the statements of the current stretch may fail with."""
        k = stretch(self.rounds + 1)
        held = self._book[ArmSum.NEXT] == math.inf
        return self.delta if held else self.delta / (k * (k + 1.0))

    def _excess(self) -> float:
        return theorems.implicit_excess(self.arms, self.eta, self._failure())

    def _floor(self, reason: str) -> tuple[float | None, float | None]:
        if reason or not self.rounds:
            return None, None
        least = float(self._estimates.min()) * (1.0 - self._slack())
        return self.delta, least - self._excess() * (1.0 + self._slack())

    def _statements(self, reason: str) -> list[Statement]:
        sure = f"with probability >= 1 - {self.delta!r}, in all rounds together"
        slack, etas = self._slack(), float(self._book[ArmSum.ETAS])
        # Costs are >= 0 in units of the range, so that no arm's sum is below 0.
        regret = self._cost - max(float(self._estimates.min()) - self._excess(), 0.0)
        regret += slack * (self._cost + abs(regret))
        promised = theorems.implicit_regret(self.arms, self.eta, etas, self._failure())
        promised *= 1.0 + slack
        return self._paths() + [
            NOTHING.state(
                f"EXP3-IX, {name}", f"Neu 2015, {proof}", value, reason, claim=ANY_ARM, holds=sure
            )
            for name, proof, value in (
                ("after the fact", "Corollary 1", regret),
                ("in advance", "proof of Theorem 1", promised),
            )
        ]

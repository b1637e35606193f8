"""Convex losses of a vector of scores: of K classes, of K labels at once, of K items to rank.

Certificates rely on value and slopes: each is right to about 16 + K units in the last place of
the absolute terms that `slope_mass` and the ledger add up.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any, ClassVar

from noregret.arrays import Vector
from noregret.component import MARGIN
from noregret.elementary import exp
from noregret.losses.base import Loss, Promised, one
from noregret.losses.margins import Logistic
from noregret.losses.score_duals import entropy, hinge_slopes, softmax_slopes
from noregret.rounding import two_sum


class ScoreLoss(Promised):
    """A loss f(s) = value, convex in the scores s in R^K; base for your own.

    A target is the index of a class, as a float, or a row of K numbers. Compiled passes call
    `value_and_slopes` once a round and hand its results to the other methods.
    """

    #: "class" for indices 0 ... K - 1, "set" for rows of 0 and 1, "relevance" for rows of numbers.
    labels: ClassVar[str] = "class"
    #: Whether rows of 0 and 1 are taken too where `labels` is "class".
    sets: ClassVar[bool] = False
    #: Whether the loss is a sum over the scores, so that each score is learnt independently.
    separate: ClassVar[bool] = False

    def value_and_slopes(self, target: Any, s: Vector, slopes: Vector) -> float:
        """Return f(s) and write a subgradient into `slopes`."""
        raise NotImplementedError

    def has_conjugate(self) -> bool:
        """Tell whether the loss has the optional `conjugate` and `proximal_slopes`."""
        return super().has_conjugate() and hasattr(self, "proximal_slopes")

    def declares(self, curvature: str) -> bool:
        """Tell whether the loss has one of the optional `mean_curvature`, `own_curvature` itself.

        A subclass that changes the value does not inherit it.
        """
        for cls in type(self).__mro__:
            if curvature in vars(cls):
                return hasattr(self, "proximal_slopes")
            if "value_and_slopes" in vars(cls):
                return False
        return False

    def intercept(self, target: Any, s: Vector, slopes: Vector, value: float) -> float:
        """Return -f*(slopes), the height at 0 of the supporting plane with these slopes."""
        product = 0.0
        for k in range(len(s)):
            product += slopes[k] * s[k]
        return float(value - product)

    def mistake(self, target: Any, s: Vector) -> bool:
        """Tell whether the scores rank something wrongly; a tie does."""
        return outranked(int(target), s)

    def slope_mass(self, slopes: Vector, value: float) -> float:
        """Return an upper bound on the sum of the absolute terms that make up the slopes."""
        mass = 0.0
        for k in range(len(slopes)):
            mass += abs(slopes[k])
        return mass

    def lipschitz(self) -> float:
        """Return the largest |slope| of one score, infinity when there is none."""
        return math.inf

    def slope_norm(self, outputs: int) -> float:
        """Return an upper bound on the 2-norm of the slopes of `outputs` scores."""
        return self.lipschitz() * math.sqrt(outputs)


def outranked(y: int, s: Vector) -> bool:
    """Tell whether some other score is not below that of y."""
    wrong = False
    for k in range(len(s)):
        wrong = wrong or (k != y and s[k] >= s[y])
    return wrong


class Ranked(ScoreLoss):
    """A loss whose slopes are differences of two unit vectors, means of such, or shorter."""

    lipschitz = one

    def slope_norm(self, outputs: int) -> float:
        """Return sqrt(2), the distance of two corners of the simplex."""
        return math.sqrt(2.0) if outputs > 1 else 0.0


@dataclass(frozen=True)
class Softmax(Ranked):
    """The loss of multinomial logistic regression, ln sum_k exp(s_k) - s_y.

    Conjugate: sum_k p_k ln p_k at slopes p - e_y, p a probability vector.

    >>> import numpy as np
    >>> slopes = np.empty(2)
    >>> round(Softmax().value_and_slopes(1.0, np.zeros(2), slopes), 6), slopes.tolist()
    (0.693147, [0.5, -0.5])
    """

    def value_and_slopes(self, target: Any, s: Vector, slopes: Vector) -> float:
        """Return ln sum_k exp(s_k - s_y) without overflow; the slopes are p - e_y."""
        y = int(target)
        top = 0
        for k in range(1, len(s)):
            top = k if s[k] > s[top] else top
        others = 0.0
        for k in range(len(s)):
            slopes[k] = exp(s[k] - s[top])
            others += slopes[k] if k != top else 0.0
        scale = 1.0 / (1.0 + others)
        # The slope of the label is minus the sum of the others: p - 1 would cancel.
        rest = 0.0
        for k in range(len(s)):
            slopes[k] *= scale
            rest += slopes[k] if k != y else 0.0
        slopes[y] = -rest
        return float((s[top] - s[y]) + math.log1p(others))

    def intercept(self, target: Any, s: Vector, slopes: Vector, value: float) -> float:
        """Return the entropy of p, sum_k p_k (ln sum_j exp(s_j) - s_k): no term is negative."""
        y = int(target)
        level = value + s[y]
        total = (1.0 + slopes[y]) * value
        for k in range(len(s)):
            if k != y:
                total += slopes[k] * max(level - s[k], 0.0)
        return float(total)

    def conjugate(self, target: Any, slopes: Vector) -> float:
        """Return f*(slopes), for slopes p - e_y."""
        return -entropy(int(target), slopes)

    def mean_curvature(self, slopes: Vector) -> float:
        """Return sum_k p_k (1 - p_k) / (K - 1) at slopes p - e_y, 0 for one score.

        The mean of the eigenvalues of the second derivative diag(p) - p p', but for that along
        (1, ..., 1), which is always 0.
        """
        total = 0.0
        for k in range(len(slopes)):
            total += self.own_curvature(slopes[k])
        return float(total / (len(slopes) - 1)) if len(slopes) > 1 else 0.0

    def own_curvature(self, slope: float) -> float:
        """Return p (1 - p), the second derivative in one score, from its slope.

        >>> Softmax().own_curvature(-0.75)
        0.1875
        """
        # |slope| is p, of the label 1 - p.
        size = abs(slope)
        return size * (1.0 - size)

    def proximal_slopes(self, target: Any, z: Vector, q: float, slopes: Vector) -> None:
        """Write the maximiser of -f*(g) + <z, g> - (q/2) ||g||^2."""
        if q > 0.0:
            softmax_slopes(int(target), z, q, slopes)
        else:
            self.value_and_slopes(target, z, slopes)


@dataclass(frozen=True)
class MulticlassHinge(Ranked):
    """The hinge of several classes, [margin + max_{k != y} s_k - s_y]+, slope 0 at the kink.

    Conjugate: -margin a at slopes a (q - e_y), 0 <= a <= 1, q a probability vector off y.
    Reference: Crammer and Singer, On the Algorithmic Implementation of Multiclass Kernel-based
    Vector Machines, 2001.

    >>> import numpy as np
    >>> slopes = np.empty(3)
    >>> MulticlassHinge().value_and_slopes(0.0, np.array([1.0, 0.5, 0.0]), slopes), slopes.tolist()
    (0.5, [-1.0, 1.0, 0.0])
    """

    margin: float = field(default=1.0, metadata=MARGIN)

    def value_and_slopes(self, target: Any, s: Vector, slopes: Vector) -> float:
        """Return the excess of the best rival; where it is positive, slopes are e_rival - e_y."""
        y = int(target)
        rival = -1
        for k in range(len(s)):
            slopes[k] = 0.0
            if k != y and (rival < 0 or s[k] > s[rival]):
                rival = k
        if rival < 0:
            return 0.0
        value = float(excess(self.margin, s[y], s[rival]))
        if not value > 0.0:
            return 0.0
        slopes[y], slopes[rival] = -1.0, 1.0
        return value

    def intercept(self, target: Any, s: Vector, slopes: Vector, value: float) -> float:
        """Return margin on an active round, else 0: exact, no subtraction."""
        return float(self.margin * abs(slopes[int(target)]))

    def conjugate(self, target: Any, slopes: Vector) -> float:
        """Return f*(slopes), for slopes a (p - e_y) with 0 <= a <= 1."""
        return float(self.margin * slopes[int(target)])

    def proximal_slopes(self, target: Any, z: Vector, q: float, slopes: Vector) -> None:
        """Write the maximiser of -f*(g) + <z, g> - (q/2) ||g||^2."""
        if q > 0.0:
            hinge_slopes(int(target), self.margin, z, q, slopes)
        else:
            self.value_and_slopes(target, z, slopes)


def excess(margin: float, ahead: float, behind: float) -> float:
    """Return margin - ahead + behind, with the right sign in spite of rounding.

    >>> excess(1.0, 1.0 + 2.0**-52, 2.0**-53) < 0.0
    True
    """
    # Near the kink margin - lead is exact.
    lead, lost = two_sum(ahead, -behind)
    return (margin - lead) - lost


@dataclass(frozen=True)
class OneAgainstRest(ScoreLoss):
    """The sum of a binary loss over the scores, sum_k loss(+1 if k is in the target else -1, s_k).

    The target is a class, or a row of 0 and 1 (binary relevance).
    Reference: Rifkin and Klautau, In Defense of One-Vs-All Classification, 2004.

    >>> import numpy as np
    >>> slopes = np.empty(2)
    >>> OneAgainstRest().value_and_slopes(0.0, np.zeros(2), slopes) == 2.0 * math.log(2.0)
    True
    """

    loss: Loss = Logistic()  # noqa: RUF009 (frozen)

    sets: ClassVar[bool] = True
    separate: ClassVar[bool] = True

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.loss.labels != "sign" or not self.loss.nonnegative:
            raise ValueError(f"OneAgainstRest needs a loss of labels -1 and +1, got {self.loss}")

    def checked(self) -> bool:
        """Tell whether this loss, or that of a score, is a user's own."""
        return self.foreign or self.loss.checked()

    def promising(self) -> Promised:
        """Return the loss of a score, unless this one is a user's own."""
        return self if self.foreign else self.loss

    def has_conjugate(self) -> bool:
        """Tell whether the loss of a score has one."""
        return self.loss.has_conjugate()

    def sign(self, target: Any, k: int) -> float:
        """Return +1 if k is in the target, else -1."""
        if isinstance(target, float):
            return 1.0 if int(target) == k else -1.0
        return 1.0 if target[k] > 0.0 else -1.0

    def value_and_slopes(self, target: Any, s: Vector, slopes: Vector) -> float:
        """Return the sum of the losses; each slope is that of its own."""
        total = 0.0
        for k in range(len(s)):
            y = self.sign(target, k)
            slopes[k] = self.loss.slope(y, s[k])
            total += self.loss.value(y, s[k])
        return float(total)

    def intercept(self, target: Any, s: Vector, slopes: Vector, value: float) -> float:
        """Return the sum of the intercepts."""
        total = 0.0
        for k in range(len(s)):
            y = self.sign(target, k)
            total += self.loss.intercept(y, s[k], self.loss.value(y, s[k]), slopes[k])
        return total

    def conjugate(self, target: Any, slopes: Vector) -> float:
        """Return f*(slopes), the sum of those of the loss."""
        total = 0.0
        for k in range(len(slopes)):
            total += self.loss.conjugate(self.sign(target, k), slopes[k])  # type: ignore[attr-defined]
        return float(total)

    def proximal_slopes(self, target: Any, z: Vector, q: float, slopes: Vector) -> None:
        """Write the maximiser of -f*(g) + <z, g> - (q/2) ||g||^2, each score by itself."""
        for k in range(len(z)):
            y = self.sign(target, k)
            slopes[k] = self.loss.proximal_slope(y, z[k], q, 0.0)

    def mistake(self, target: Any, s: Vector) -> bool:
        """Tell whether a score is not below that of the class; for a set, whether any is wrong."""
        if isinstance(target, float):
            return outranked(int(target), s)
        wrong = False
        for k in range(len(s)):
            wrong = wrong or self.loss.mistake(self.sign(target, k), s[k])
        return wrong

    def lipschitz(self) -> float:
        """Return that of the loss."""
        return self.loss.lipschitz()

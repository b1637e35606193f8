"""Ranking losses: the mean over the pairs of items of which one is more relevant."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, ClassVar

from noregret.arrays import Vector
from noregret.component import MARGIN
from noregret.elementary import exp, log1p_unit
from noregret.losses.scores import Ranked, excess


class PairLoss(Ranked):
    """The mean of a loss of s_i - s_j over the pairs with target_i > target_j; base of the two.

    0 where no two targets differ. For rows of 0 and 1 it is the ranking loss of label sets.
    """

    labels: ClassVar[str] = "relevance"

    def pair_value(self, ahead: float, behind: float) -> float:
        """Return the loss of one pair."""
        raise NotImplementedError

    def pair_slope(self, ahead: float, behind: float) -> float:
        """Return minus its slope in s_i - s_j, which is never positive."""
        raise NotImplementedError

    def pair_intercept(self, ahead: float, behind: float) -> float:
        """Return the height at 0 of the line that touches it."""
        raise NotImplementedError

    def value_and_slopes(self, target: Any, s: Vector, slopes: Vector) -> float:
        """Return the mean; each pair pulls its two scores apart."""
        for k in range(len(s)):
            slopes[k] = 0.0
        count = 0.0
        total = 0.0
        for i in range(len(s)):
            part = 0.0
            pull = 0.0
            for j in range(len(s)):
                if target[i] > target[j]:
                    count += 1.0
                    part += self.pair_value(s[i], s[j])
                    size = self.pair_slope(s[i], s[j])
                    pull += size
                    slopes[j] += size
            slopes[i] -= pull
            total += part
        if count == 0.0:
            return 0.0
        for k in range(len(s)):
            slopes[k] /= count
        return float(total / count)

    def intercept(self, target: Any, s: Vector, slopes: Vector, value: float) -> float:
        """Return the mean of the intercepts, none of which is negative."""
        count = 0.0
        total = 0.0
        for i in range(len(s)):
            part = 0.0
            for j in range(len(s)):
                if target[i] > target[j]:
                    count += 1.0
                    part += self.pair_intercept(s[i], s[j])
            total += part
        return total / max(count, 1.0)

    def mistake(self, target: Any, s: Vector) -> bool:
        """Tell whether any pair is in the wrong order, or tied."""
        wrong = False
        for i in range(len(s)):
            for j in range(len(s)):
                wrong = wrong or (target[i] > target[j] and s[i] <= s[j])
        return wrong


@dataclass(frozen=True)
class PairwiseHinge(PairLoss):
    """The mean of [margin - s_i + s_j]+ over the pairs with target_i > target_j.

    Reference: Herbrich, Graepel, Obermayer, Large Margin Rank Boundaries for Ordinal
    Regression, 2000; Joachims, Optimizing Search Engines using Clickthrough Data, 2002.

    >>> import numpy as np
    >>> slopes = np.empty(2)
    >>> PairwiseHinge().value_and_slopes(np.array([0.0, 1.0]), np.array([0.0, 0.5]), slopes)
    0.5
    """

    margin: float = field(default=1.0, metadata=MARGIN)

    def pair_value(self, ahead: float, behind: float) -> float:
        """Return [margin - s_i + s_j]+."""
        return max(excess(self.margin, ahead, behind), 0.0)

    def pair_slope(self, ahead: float, behind: float) -> float:
        """Return 1 where the loss is positive, else 0: slopes are counts, exact before the mean."""
        return 1.0 if excess(self.margin, ahead, behind) > 0.0 else 0.0

    def pair_intercept(self, ahead: float, behind: float) -> float:
        """Return margin where the loss is positive, else 0."""
        return self.margin * self.pair_slope(ahead, behind)


@dataclass(frozen=True)
class PairwiseLogistic(PairLoss):
    """The mean of ln(1 + exp(s_j - s_i)) over the pairs with target_i > target_j.

    Reference: Burges and others, Learning to Rank using Gradient Descent, 2005.

    >>> import numpy as np
    >>> slopes = np.empty(2)
    >>> value = PairwiseLogistic().value_and_slopes(np.array([0.0, 1.0]), np.zeros(2), slopes)
    >>> round(value, 6), slopes.tolist()
    (0.693147, [0.5, -0.5])
    """

    def pair_value(self, ahead: float, behind: float) -> float:
        """Return ln(1 + exp(s_j - s_i)) without overflow."""
        lead = ahead - behind
        return log1p_unit(exp(-abs(lead))) + max(-lead, 0.0)

    def pair_slope(self, ahead: float, behind: float) -> float:
        """Return 1 / (1 + exp(s_i - s_j)), accurate in both tails."""
        lead = ahead - behind
        tail = exp(-abs(lead))
        return (tail if lead > 0.0 else 1.0) / (1.0 + tail)

    def pair_intercept(self, ahead: float, behind: float) -> float:
        """Return the binary entropy of the slope as c f(lead) + (1 - c) f(-lead), c that slope."""
        chance = self.pair_slope(ahead, behind)
        along = self.pair_value(behind, ahead)
        return chance * along + self.pair_slope(behind, ahead) * self.pair_value(ahead, behind)

    def slope_mass(self, slopes: Vector, value: float) -> float:
        """Return twice the smaller of 1 and the value: no slope of a pair is above its loss."""
        return 2.0 * min(1.0, value)

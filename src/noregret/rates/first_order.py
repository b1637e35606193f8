"""Rates that follow from the round and from the gradients seen."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, ClassVar, Self

from noregret.component import POSITIVE, yes
from noregret.elementary import divide, sqrt
from noregret.rates.base import UNBOUNDED, Rate


@dataclass(frozen=True)
class Constant(Rate):
    """The constant rate eta, above 0 [default: 1].

    >>> Constant(0.5).at(10.0, 0.0, 0.0)
    0.5
    """

    eta: float = field(default=1.0, metadata=POSITIVE)

    def at(self, rounds: float, squares: float, largest: float) -> float:
        """Return eta."""
        return self.eta

    constant = yes


@dataclass(frozen=True)
class InverseSqrt(Rate):
    """The rate eta / sqrt(t) in round t, eta above 0 [default: 1].

    Reference: Cesa-Bianchi, Online Gradient Descent (lecture notes), eq. 8.

    >>> InverseSqrt(1.0).at(3.0, 0.0, 0.0)
    0.5
    """

    eta: float = field(default=1.0, metadata=POSITIVE)

    def at(self, rounds: float, squares: float, largest: float) -> float:
        """Return eta / sqrt(t)."""
        return self.eta / math.sqrt(rounds + 1.0)

    def root_eta(self) -> float:
        """Return eta."""
        return self.eta


@dataclass(frozen=True)
class StronglyConvex(Rate):
    """The rate 1/(sigma t) for losses that carry the regulariser (sigma/2) ||w||^2.

    With f_t the unregularised loss, the step w - z/(sigma t) on the regularised one is
    w_(t+1) = -(1/(sigma t)) sum_s z^f_s: dual averaging with eta = 1/(sigma t). The loss
    reported and the floor are those of the regularised objective. sigma is above 0 [default: 1].
    Reference: Cesa-Bianchi, Online Gradient Descent (lecture notes), strongly convex case.

    >>> StronglyConvex(0.5).at(4.0, 0.0, 0.0)
    0.5
    """

    sigma: float = field(default=1.0, metadata=POSITIVE)

    def at(self, rounds: float, squares: float, largest: float) -> float:
        """Return 1 / (sigma * completed rounds); the first weights are 0 at any rate."""
        return 1.0 / (self.sigma * max(rounds, 1.0))

    def strong_convexity(self) -> float:
        """Return sigma."""
        return self.sigma


@dataclass(frozen=True)
class Adaptive(Rate):
    """One scalar rate from the observed gradients: scale / sqrt(sum ||z_s||_*^2 + largest).

    Needs no horizon and no bound on the data. `scale` is above 0 [default: that of the map's own
    set: radius/sqrt(2) for a ball, sqrt(ln d) and the like for the entropies, else 1].
    `largest` covers the coming round, which the theorem needs.
    Reference: McMahan, A Survey of Algorithms and Analysis for Adaptive Online Learning, 2017.

    >>> Adaptive(1.0).at(0.0, 3.0, 1.0)
    0.5
    """

    scale: float | None = field(default=None, metadata=POSITIVE)

    def at(self, rounds: float, squares: float, largest: float) -> float:
        """Return scale / sqrt(squares + largest)."""
        total = squares + largest
        return self.scale / math.sqrt(total) if total > 0.0 else UNBOUNDED  # type: ignore[operator]

    def needs_scale(self) -> bool:
        """Tell whether no scale was given."""
        return self.scale is None

    def resolved(self, scale: Callable[[], float]) -> Self:
        """Return the rate with the scale of the map, unless one was given."""
        return self if self.scale is not None else self.replace(scale=scale())

    def gradient_scale(self) -> float:
        """Return the scale."""
        return math.nan if self.scale is None else self.scale


@dataclass(frozen=True)
class PerCoordinate(Rate):
    """One rate a feature: w_i = scale theta_i / sqrt(sum_s z_(s,i)^2 + m_i^2).

    m_i is the largest |z_i| that the rows seen so far allow, the coming one included;
    without it the regret bound is false. With `invariant` the weight is divided by the
    largest |x_i| seen as well, so that predictions do not depend on the units of a feature
    [default: False]. scale is above 0 [default: 1].
    AdaGrad in its lazy form; Euclidean and soft-threshold maps only.
    Reference: Duchi, Hazan, Singer, Adaptive Subgradient Methods, 2011.

    >>> PerCoordinate(2.0).weight_factor(3.0, 1.0, 1.0)
    1.0
    """

    scale: float = field(default=1.0, metadata=POSITIVE)
    invariant: bool = False

    family: ClassVar[str] = "coordinate"

    def weight_factor(self, squares: float, reach: float, size: float) -> float:
        """Return w_i / theta_i from sum z_i^2, the bound m_i on |z_i| and max |x_i|."""
        total = squares + reach * reach
        if total <= 0.0:
            return 0.0
        return divide(self.scale, sqrt(total) * (size if self.invariant else 1.0))

    def coordinate_scale(self) -> float:
        """Return the scale."""
        return self.scale

    def coordinate_regret(self, radius: float, steepest: float, roots: float) -> float:
        """Return radius^2 steepest / 2 + scale roots, unless weights are divided by sizes."""
        return math.nan if self.invariant else 0.5 * radius * radius * steepest + self.scale * roots


@dataclass(frozen=True)
class ScaleFree(Rate):
    """Nothing to tune: two AdaGrad directions for each feature, with multipliers that are learnt.

    With m_i the largest |x_i| so far, theta = -Z, G_i = sum z_i^2 and c the steepest slope,

        w_i = R f (S_1 theta_i / (m_i sqrt(G_i + c^2 m_i^2)) + S_2 v_i / m_i),
        v_i = -sum_s z_(s,i) / sqrt(G_(s,i)),   f = sqrt(rounds / sum_s sum_i (x_i / m_i)^2):

    AdaGrad by dual averaging and by descent. The multipliers S_1 and S_2 are exponentiated
    gradients of their own, over a window of about a hundred rounds. For real targets R is the
    root mean square of the residuals, predictions are made around the mean of the labels and
    stay within their range, and a residual above 5 R counts as 5 R; for classes R = 1.
    Predictions do not depend on the units of any feature, and follow those of the targets.
    Euclidean map only. References: Duchi, Hazan, Singer, Adaptive Subgradient Methods, 2011;
    Kivinen, Warmuth, Exponentiated Gradient versus Gradient Descent, 1997; Ross, Mineiro,
    Langford, Normalized Online Learning, 2013.

    Warning: no theorem is claimed for the whole; what a run proves is in its certificate.

    >>> ScaleFree()
    ScaleFree()
    """

    family: ClassVar[str] = "scale_free"

    scaled = columnwise = yes

    def corrects(self, labels: str) -> bool:
        """Return True for real targets: predictions are made around their mean, in their range."""
        return labels == "real"

    def refused_loss(self, loss: Any) -> str:
        """Refuse losses of real targets that can be negative: R is the root of their mean."""
        if loss.labels != "real" or loss.nonnegative:
            return ""
        return f"a loss >= 0 for real targets, {type(loss).__name__} is not"


#: Largest share of its wealth that a feature can lose in a round: for outcomes b >= -LARGEST_BET,
#: ln(1 + b) >= b - CURVATURE b^2.
LARGEST_BET = 0.5
CURVATURE = 4.0 * math.log(2.0) - 2.0


@dataclass(frozen=True)
class CoinBetting(Rate):
    """Nothing to tune, with a theorem: every feature bets a fraction of its wealth on its sign.

    With theta = -Z, V_i = sum z_i^2 and h_i the largest |z_i| that the rows seen so far allow,
    the coming one included,

        w_i = b_i W_i,   b_i = theta_i / (2 k (V_i + h_i^2)), at most 1 / (2 h_i) in size,
        W_i <- W_i - z_i w_i,   from W_i = wealth,   k = 4 ln 2 - 2.

    The regret against any u at all is at most the sum over the features that occurred of

        wealth + |u_i| min over 0 < b <= 1/(2 h_i) of
            ((ln(|u_i| / (b wealth)) + N_i - 1) / b + k b (V_i + h_i^2)),
        N_i = sum_t z_i^2 (1 + 2 k b_i z_i)^2 / (4 k (V_i + h_i^2)) <= 1.02 ln(1 + V_i / h_i^2),

    with the sums up to round t in N_i and the first h_i in its bound: for each u as if the best
    constant rate for it had been known, but for the logarithm. Predictions do not depend on the
    units of any feature. Euclidean map only, and losses with a steepest slope. wealth is above 0,
    in units of the loss [default: 1]. References:
    Orabona, Pal, Coin Betting and Parameter-Free Online Learning, 2016, Lemma 1; Cutkosky,
    Orabona, Black-Box Reductions for Parameter-free Online Learning, 2018, Theorem 1; Cutkosky,
    Artificial Constraints and Hints, 2019, for an h_i that is known before the round and grows.

    >>> CoinBetting().bet(0.5, 0.25, 1.0) * 2.0 * CURVATURE
    0.4
    """

    wealth: float = field(default=1.0, metadata=POSITIVE)

    family: ClassVar[str] = "coin_betting"

    def bet(self, theta: float, squares: float, hint: float) -> float:
        """Return the fraction b_i of the wealth to bet, from theta_i, V_i and h_i above 0."""
        limit = divide(LARGEST_BET, hint)
        wanted = divide(theta, 2.0 * CURVATURE * (squares + hint * hint))
        return min(max(wanted, -limit), limit)

    scaled = yes

    def refused_loss(self, loss: Any) -> str:
        """Refuse losses without a steepest slope, which limits the bets."""
        if math.isfinite(loss.lipschitz()):
            return ""
        return (
            f"a loss with a steepest slope, {type(loss).__name__} has none: use ScaleFree(), or "
            "Huber(delta) in place of Squared()"
        )


@dataclass(frozen=True)
class Doubling(Rate):
    """The doubling trick: epochs of 1, 2, 4, ... rounds, restarted, eta / sqrt(length) each.

    eta: the rate of the first epoch, above 0 [default: 1].

    Reference: Shalev-Shwartz, Online Learning and Online Convex Optimization, section 2.3.1.

    >>> Doubling(1.0).at(3.0, 0.0, 0.0)
    0.5
    """

    eta: float = field(default=1.0, metadata=POSITIVE)

    def at(self, rounds: float, squares: float, largest: float) -> float:
        """Return eta / sqrt(2^m) in the epoch of rounds 2^m ... 2^(m+1) - 1."""
        _, exponent = math.frexp(rounds + 1.0)
        return self.eta * math.pow(2.0, -0.5 * (exponent - 1))

    restarts = yes

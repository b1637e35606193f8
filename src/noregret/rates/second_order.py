"""Second-order rates: steps by the inverse of a matrix of what was seen, not by a number.

All keep A = lambda diag(m_i^2) + sum_t c_t x_t x_t', m_i the largest |x_i| seen, so that
predictions do not depend on the units of features, and weights w with A w = b. They differ in the
prediction, in the curvature c_t and in what the round adds to b = sum_t b_t x_t: round t enters
the parabola (c_t/2) <u, x_t>^2 - b_t <u, x_t>, and w is the minimiser of the sum of these and of
(lambda/2) sum (m_i u_i)^2. With p = <w, x>, k = x' A^-1 x before the round and the slope g, a
parabola that touches the loss at p has b = c p - g, and the step is w <- w - g/(1 + c k) A^-1 x.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any, ClassVar

from noregret.component import POSITIVE, allowed, yes
from noregret.rates.anticipation import halfway_root
from noregret.rates.base import Rate

#: The prior in units of the features; beyond these limits k would overflow or vanish.
PRIOR = allowed("must lie between 1e-60 and 1e60", lambda value: 1e-60 <= value <= 1e60)
_FORGETTING = allowed("must be above 0.5 and at most 1", lambda value: 0.5 < value <= 1.0)
_PART = allowed("must be above 0 and at most 1", lambda value: 0.0 < value <= 1.0)
_LIMIT = allowed("must be above 0; inf is no promise", lambda value: value > 0.0)
#: Rounds up a range of predictions that is computed from a norm.
_UP = 1.0 + 1e-12


class SecondOrder(Rate):
    """Base of the rates that keep a matrix; `length` below is k = x' A^-1 x."""

    family: ClassVar[str] = "second_order"
    #: Where the identity behind the regret bound was published; '' if it is derived here.
    source: ClassVar[str] = ""

    scaled = yes

    def ridge(self) -> float:
        """Return lambda: A is lambda diag(m_i^2) before the first round."""
        raise NotImplementedError

    def keep(self) -> float:
        """Return by what A and b are multiplied each round, at most 1."""
        return 1.0

    def clips(self) -> bool:
        """Tell whether predictions stay within the range of the labels seen."""
        return False

    def linear(self) -> bool:
        """Tell whether the prediction is <w, x>, clipped or not."""
        return True

    def corrects(self, labels: str) -> bool:
        """Tell whether the prediction is clipped, or corrected by the row."""
        return self.clips() or not self.linear()

    def promised(self) -> float:
        """Return the largest radius for which each parabola lies below its loss, NaN for none."""
        return math.nan

    def play(self, raw: float, length: float, mass: float) -> float:
        """Return the prediction from <w, x> and the weight of the example."""
        return raw

    def bend(
        self, loss: Any, y: float, mass: float, p: float, raw: float, length: float, reach: float
    ) -> tuple[float, float]:
        """Return c and b of the round; `reach`: the 2-norm of (x_i / m_i), rounded up."""
        raise NotImplementedError

    def bend_scores(
        self, loss: Any, y: Any, mass: float, scores: Any, length: float, pulls: Any
    ) -> float:
        """Write b_k of each score into `pulls`; return the c that all scores have in common."""
        raise NotImplementedError


@dataclass(frozen=True)
class Ridge(SecondOrder):
    """Online ridge regression: w minimises prior ||m u||^2 + sum (<u, x> - y)^2, m = max |x|.

    For the square loss and nothing else; every step is exact, whatever the units of features and
    targets. With k = x' (prior diag(m_i^2) + sum x x')^-1 x before the round,

        p = <w, x>, clipped to the labels seen, or <w, x> / (1 + k) if `anticipating`.

    The second one is the forecaster of Vovk, Azoury and Warmuth, made as if the coming label
    were 0: it has the better theorem, but a target far from 0 costs it much.

    Args:
        prior: strength of the penalty, in units of the features, 1e-60 to 1e60 [default: 1].
        forgetting: factor by which older rounds count less each round, above 0.5 and at most 1;
            0.999 remembers about 1000 rounds [default: 1].
        clipped: keep predictions within the range of the labels seen [default: True].
        anticipating: predict <w, x> / (1 + k) [default: False].

    References: Vovk, Competitive On-line Statistics, 2001; Azoury, Warmuth, Relative Loss Bounds
    for On-line Density Estimation, 2001; Cesa-Bianchi, Lugosi, Prediction, Learning, and Games,
    2006, Theorem 11.8; Zhdanov, Kalnishkan, An Identity for Kernel Ridge Regression, 2010.

    >>> Ridge().play(3.0, 1.0, 1.0), Ridge(anticipating=True).play(3.0, 0.25, 1.0)
    (3.0, 2.0)
    """

    prior: float = field(default=1.0, metadata=PRIOR)
    forgetting: float = field(default=1.0, metadata=_FORGETTING)
    clipped: bool = True
    anticipating: bool = False

    source = (
        "Azoury, Warmuth 2001; Zhdanov, Kalnishkan 2010; the regret from their identity, here "
        "with growing units"
    )

    def ridge(self) -> float:
        """Return 2 prior: the matrix is the second derivative of the objective."""
        return 2.0 * self.prior

    def keep(self) -> float:
        """Return the forgetting factor."""
        return self.forgetting

    def clips(self) -> bool:
        """Tell whether predictions are clipped."""
        return self.clipped

    def linear(self) -> bool:
        """Tell whether the coming label is not anticipated."""
        return not self.anticipating

    def promised(self) -> float:
        """Return infinity: the parabola is the loss itself."""
        return math.inf

    def play(self, raw: float, length: float, mass: float) -> float:
        """Return <w, x>, divided by 1 + k if the coming label is anticipated."""
        return raw / (1.0 + 2.0 * mass * length) if self.anticipating else raw

    def bend(
        self, loss: Any, y: float, mass: float, p: float, raw: float, length: float, reach: float
    ) -> tuple[float, float]:
        """Return the coefficients of the loss."""
        return 2.0 * mass, 2.0 * mass * y


@dataclass(frozen=True)
class Newton(SecondOrder):
    """Online Newton steps: A adds f'' x x', and w <- w - f' A^-1 x, no theorem.

    Implicit: the slope s is that at the new prediction p - k s (the loss's proximal step), which
    cannot overshoot on its own row, and A adds f''(p - k s) x x' afterwards. Explicit: f' and f''
    at p, with A already increased: the extended Kalman filter.

    Several scores share A, to which each round adds the mean curvature of their loss.

    Args:
        prior: A starts as prior diag(m_i^2), m_i the largest |x_i| seen, 1e-60 to 1e60
            [default: 1].
        implicit: take the slope at the new prediction [default: True].
        forgetting: factor by which older rounds count less each round, above 0.5 and at most 1
            [default: 1].
        curvature: part of f'' that A adds, above 0 and at most 1; below 1 steps stay larger, and
            follow changes faster [default: 1].

    >>> from noregret.losses import Logistic
    >>> c, b = Newton(implicit=False).bend(Logistic(), 1.0, 1.0, 0.0, 0.0, 1.0, 1.0)
    >>> round(c, 12), b
    (0.25, 0.5)
    """

    prior: float = field(default=1.0, metadata=PRIOR)
    implicit: bool = True
    forgetting: float = field(default=1.0, metadata=_FORGETTING)
    curvature: float = field(default=1.0, metadata=_PART)

    curvature_of_scores = "mean_curvature"

    def ridge(self) -> float:
        """Return the prior."""
        return self.prior

    def keep(self) -> float:
        """Return the forgetting factor."""
        return self.forgetting

    def bend(
        self, loss: Any, y: float, mass: float, p: float, raw: float, length: float, reach: float
    ) -> tuple[float, float]:
        """Return the second-order expansion at p, or at the implicit step's prediction."""
        slope = loss.slope(y, raw)
        if self.implicit:
            slope = loss.proximal_slope(y, raw, mass * length, slope)
            raw = raw - mass * length * slope
        c = self.curvature * loss.bend_of_slope(y, raw, slope)
        return mass * c, mass * (c * raw - slope)

    def bend_scores(
        self, loss: Any, y: Any, mass: float, scores: Any, length: float, pulls: Any
    ) -> float:
        """Write b_k at the scores, or at those of the implicit step; return c there."""
        moved = mass * length if self.implicit else 0.0
        loss.proximal_slopes(y, scores, moved, pulls)
        c = self.curvature * loss.mean_curvature(pulls)
        for k in range(len(scores)):
            pulls[k] = mass * (c * (scores[k] - moved * pulls[k]) - pulls[k])
        return float(mass * c)

    def refused_loss(self, loss: Any) -> str:
        """Refuse losses without a second derivative."""
        return without_curvature(loss)


@dataclass(frozen=True)
class CertifiedNewton(SecondOrder):
    """Newton steps by parabolas that lie below the loss, so that they prove a regret bound.

    w minimises (prior/2) ||m u||^2 + sum q_t(u), m = max |x|, where the parabola
    q_t = f + g (z - p) + (c/2) (z - p)^2, z = <u, x>, touches the loss at the prediction p and
    has the largest c that keeps it below the loss for all ||m u|| <= radius. The regret against
    them is at most S + prior radius^2 / 2, S = 1/2 sum g^2 x' A^-1 x with A after the round:
    completing the square in A once a round gives loss - S = min of the sum, and where sizes grow
    the prior only raises that minimum.

    Args:
        radius: the class that the parabolas serve: ||m u||_2 <= radius, above 0 [default: 16].
        prior: strength of the penalty in units of the features, 1e-60 to 1e60; far below 1 the
            first steps are large [default: 1].
        forgetting: factor by which older rounds count less each round, above 0.5 and at most 1;
            below 1 no theorem is printed [default: 1].

    Reference: derived here; for exp-concave losses see Hazan, Agarwal, Kale, Logarithmic Regret
    Algorithms for Online Convex Optimization, 2007.

    >>> from noregret.losses import Logistic
    >>> c, b = CertifiedNewton(radius=1.0).bend(Logistic(), 1.0, 1.0, 0.0, 0.0, 1.0, 1.0)
    >>> round(c, 9), b
    (0.240229014, 0.5)
    """

    radius: float = field(default=16.0, metadata=POSITIVE)
    prior: float = field(default=1.0, metadata=PRIOR)
    forgetting: float = field(default=1.0, metadata=_FORGETTING)

    def ridge(self) -> float:
        """Return the prior."""
        return self.prior

    def keep(self) -> float:
        """Return the forgetting factor."""
        return self.forgetting

    def promised(self) -> float:
        """Return the radius."""
        return self.radius

    def bend(
        self, loss: Any, y: float, mass: float, p: float, raw: float, length: float, reach: float
    ) -> tuple[float, float]:
        """Return the parabola below the loss that touches it at p."""
        far = self.radius * reach * _UP
        c = loss.curvature_below(y, p, -far, far)
        return mass * c, mass * (c * p - loss.slope(y, p))

    def refused_loss(self, loss: Any) -> str:
        """Refuse losses that declare no curvature."""
        return without_curvature(loss)


@dataclass(frozen=True)
class Aioli(SecondOrder):
    """AIOLI, the idea of Vovk, Azoury and Warmuth for the logistic loss: both labels anticipated.

    The prediction p solves p = <w, x> - k tanh(p/2); with the slope g at p and a curvature c,

        A <- A + c x x',   w <- w - (g + c (<w, x> - p)) / (1 + c k) A^-1 x,

    from A = 2 prior diag(m_i^2), m_i the largest |x_i| seen. With `row_limit` the curvature is
    f''(p) / (1 + radius row_limit), as published; without one it is the largest that keeps the
    parabola below the loss for all ||m u||_2 <= radius, which is larger for short rows.

    Args:
        radius: the class that the parabolas serve: ||m u||_2 <= radius, above 0 [default: 16].
        prior: the penalty prior ||m u||^2 in units of the features, 1e-60 to 1e60 [default: 0.1].
        row_limit: promise ||x / m||_2 <= row_limit, above 0; the square root of the number of
            features always holds [default: inf, no promise].

    What is printed is the bound that the parabolas of the run prove, see `CertifiedNewton`, not
    the one in advance of the paper: Jezequel, Gaillard, Rudi, Efficient Improper Learning for
    Online Logistic Regression, 2020.

    >>> round(Aioli().play(1.0, 2.0, 1.0), 6)
    0.50524
    """

    radius: float = field(default=16.0, metadata=POSITIVE)
    prior: float = field(default=0.1, metadata=PRIOR)
    row_limit: float = field(default=math.inf, metadata=_LIMIT)

    def ridge(self) -> float:
        """Return 2 prior."""
        return 2.0 * self.prior

    def linear(self) -> bool:
        """Return False: both labels are anticipated."""
        return False

    def promised(self) -> float:
        """Return the radius."""
        return self.radius

    def play(self, raw: float, length: float, mass: float) -> float:
        """Solve p + k tanh(p/2) = <w, x>."""
        return math.copysign(halfway_root(abs(raw), mass * length), raw)

    def bend(
        self, loss: Any, y: float, mass: float, p: float, raw: float, length: float, reach: float
    ) -> tuple[float, float]:
        """Return the parabola below the loss that touches it at p."""
        if self.row_limit < math.inf:
            # A row beyond the limit counts by its own length: the parabola stays below the loss.
            longest = max(self.row_limit, reach)
            c = second_derivative(loss, y, p) / (1.0 + self.radius * longest)
        else:
            far = self.radius * reach * _UP
            c = loss.curvature_below(y, p, -far, far)
        return mass * c, mass * (c * p - loss.slope(y, p))


@dataclass(frozen=True)
class Arow(SecondOrder):
    """AROW with the full matrix: ridge regression on the labels of the rounds below the margin.

    Where y <w, x> < margin, with k = x' A^-1 x before the round,

        w <- w + y (margin - y <w, x>) / (k + r) A^-1 x,   A <- A + x x' / r,

    from A = diag(m_i^2), m_i the largest |x_i| seen. Its margins are no log-odds. No theorem is
    printed. Reference: Crammer, Kulesza, Dredze, Adaptive Regularization of Weight Vectors, 2009.

    Args:
        r: how little a round counts beside those before it, 1e-60 to 1e60 [default: 1].

    >>> from noregret.losses import Hinge
    >>> Arow(2.0).bend(Hinge(), -1.0, 1.0, 0.5, 0.5, 1.0, 1.0)
    (0.5, -0.5)
    """

    r: float = field(default=1.0, metadata=PRIOR)

    def ridge(self) -> float:
        """Return 1."""
        return 1.0

    def bend(
        self, loss: Any, y: float, mass: float, p: float, raw: float, length: float, reach: float
    ) -> tuple[float, float]:
        """Return the parabola of the label, or nothing beyond the margin."""
        if not y * p < loss.margin:
            return 0.0, 0.0
        share = mass / self.r
        return share, share * y * loss.margin


def second_derivative(loss: Any, y: float, p: float) -> float:
    """Return f''(p), rounded down: the curvature on a range of one point.

    >>> from noregret.losses import Logistic
    >>> round(second_derivative(Logistic(), 1.0, 0.0), 12)
    0.25
    """
    return float(loss.curvature_below(y, p, p, p))


def without_curvature(loss: Any) -> str:
    """Return what a loss lacks that declares no curvature, or ''."""
    if loss.has_curvature():
        return ""
    name = type(loss).__name__
    return f"a loss with a second derivative (curvature_below), {name} has none: use Logistic()"

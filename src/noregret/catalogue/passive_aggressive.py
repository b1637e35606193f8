"""Dual ascent by the exact step of one example: Passive-Aggressive, and one proximal step."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from noregret import losses, mirrors
from noregret.arrays import Vector, real_array
from noregret.learners import DualAscent
from noregret.losses import Loss
from noregret.mirrors import Mirror


def passive_aggressive(
    C: float = 1.0, margin: float = 1.0, dimension: int | None = None
) -> DualAscent:
    """Return PA-I for labels -1 and +1: w <- w + min(C, loss / ||x||^2) y x, hinge loss.

    Reference: Shalev-Shwartz and Singer 2006, section 5.3; Crammer et al. 2006, figure 1.
    Migration: PassiveAggressiveClassifier(C, loss="hinge", fit_intercept=False).

    >>> learner = passive_aggressive(C=0.5)
    >>> _ = learner.learn([[1.0, 0.0], [0.0, 2.0]], [1, -1])
    >>> learner.weights
    array([ 0.5, -0.5])
    """
    return DualAscent(losses.Hinge(margin), mirrors.Euclidean(), C, dimension=dimension)


def passive_aggressive_2(
    C: float = 1.0, margin: float = 1.0, dimension: int | None = None
) -> DualAscent:
    """Return PA-II for labels -1 and +1: w <- w + loss / (||x||^2 + 1/(2 C)) y x, hinge loss.

    It ascends the dual of the loss [margin - y p]^2 / 2 at twice C.
    Reference: Crammer et al. 2006, figure 1.
    Migration: PassiveAggressiveClassifier(C, loss="squared_hinge", fit_intercept=False).

    >>> learner = passive_aggressive_2(C=0.5)
    >>> _ = learner.learn([[1.0, 0.0]], [1])
    >>> learner.weights
    array([0.5, 0. ])
    """
    return DualAscent(
        losses.SquaredHinge(margin), mirrors.Euclidean(), 2.0 * C, dimension=dimension
    )


def passive_aggressive_regression(
    C: float = 1.0, epsilon: float = 0.1, dimension: int | None = None
) -> DualAscent:
    """Return PA-I for real targets: w <- w + min(C, loss / ||x||^2) sign(y - p) x.

    The loss is [|p - y| - epsilon]+. Reference: Crammer et al. 2006, section 5.
    Migration: PassiveAggressiveRegressor(C, epsilon=..., fit_intercept=False).

    >>> learner = passive_aggressive_regression(C=10.0, epsilon=0.5)
    >>> _ = learner.learn([[2.0]], [1.5])
    >>> learner.weights
    array([0.5])
    """
    return DualAscent(
        losses.EpsilonInsensitive(epsilon), mirrors.Euclidean(), C, dimension=dimension
    )


def passive_aggressive_regression_2(
    C: float = 1.0, epsilon: float = 0.1, dimension: int | None = None
) -> DualAscent:
    """Return PA-II for real targets: w <- w + loss / (||x||^2 + 1/(2 C)) sign(y - p) x.

    The loss is [|p - y| - epsilon]+; it ascends the dual of half its square at twice C.
    Reference: Crammer et al. 2006, section 5. Migration: PassiveAggressiveRegressor(C,
    loss="squared_epsilon_insensitive", epsilon=..., fit_intercept=False).

    >>> learner = passive_aggressive_regression_2(C=0.5, epsilon=0.5)
    >>> _ = learner.learn([[1.0]], [1.5])
    >>> learner.weights
    array([0.5])
    """
    return DualAscent(
        losses.SquaredEpsilonInsensitive(epsilon), mirrors.Euclidean(), 2.0 * C, dimension=dimension
    )


@dataclass(frozen=True, eq=False)
class BregmanStep:
    """The result of a step: weights = grad G(theta + eta x), and the prediction before it."""

    weights: Vector
    eta: float
    prediction: float


def bregman_step(
    loss: Loss,
    mirror: Mirror,
    weights: Any,
    x: Any,
    y: float,
    C: float = 1.0,
    offset: float = 0.0,
) -> BregmanStep:
    """Return argmin over w of B_F(w || weights) + C f(y, <w, x> + offset).

    B_F(w || v) = F(w) - F(v) - <grad F(v), w - v> is the divergence of the map's regulariser F, G
    its conjugate. With theta = grad F(weights) the dual is

        max over s of  C (s offset - f*(y, s)) - G(theta - C s x),

    and w = grad G(theta + eta x) with eta = -C s. For the hinge, eta = y a, and a maximises
    margin a - G(theta + a y x) over 0 <= a <= C. It is the step of `DualAscent(update="exact")`,
    from weights of one's own; on a stream from the learner's own weights it is
    `MirrorDescent(implicit=True)`.

    loss: one with a conjugate. mirror: `Euclidean`, `PNorm`, `Entropy` or `UnnormalizedEntropy`,
    whose links have inverses. weights: where to start, above 0 for an entropy and with sum
    `scale` for `Entropy`. x: the row. y: its label. C: weight of the loss, above 0 [default: 1].
    offset: added to predictions [default: 0].

    >>> from noregret import losses, mirrors
    >>> step = bregman_step(losses.Hinge(), mirrors.Euclidean(), [0.5, 0.0], [1.0, 1.0], 1.0)
    >>> step.weights, step.eta, step.prediction
    (array([0.75, 0.25]), 0.25, 0.5)

    Reference: Shalev-Shwartz and Singer, A Primal-Dual Perspective, eq. 38 and 44-46.
    """
    start, row = (
        np.array(real_array(name, v), np.float64) for name, v in (("weights", weights), ("x", x))
    )
    if start.ndim != 1 or start.shape != row.shape or not start.size:
        raise ValueError(
            f"weights has shape {start.shape}, x {row.shape}: expected one vector shape"
        )
    if not np.isfinite(start).all():
        raise ValueError("weights must hold finite numbers")
    learner = DualAscent(loss, mirror, C, dimension=len(start))
    kept = learner._engine
    assert kept is not None
    theta = kept.mirror.inverse_link(start)
    again = kept.mirror.link(theta)
    if np.abs(again - start).max() > 1e-9 * np.abs(start).max(initial=1.0):
        raise ValueError(f"weights are not in the set of {mirror}: its link gives {again}")
    kept.place(theta)
    prediction = float(learner.learn(row[None], [y], offset=[offset])[0])
    return BregmanStep(kept.weights(), -learner.C * float(kept.column("SLOPE")[-1]), prediction)

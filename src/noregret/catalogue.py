"""The named algorithms of the papers: compositions of loss, map, rate and pass.

Each returns a fresh `MirrorDescent` or `DualAscent`; its theorems are printed by its
certificate. The Passive-Aggressive algorithms have, with the same C, without an intercept and
fed in the same order, the weights of scikit-learn's classes of that name.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import numpy.typing as npt

from noregret import domains, losses, mirrors, rates
from noregret.learners import DualAscent, MirrorDescent
from noregret.losses import Loss


def perceptron(dimension: int | None = None) -> MirrorDescent:
    """Return Rosenblatt's Perceptron: on a mistake w <- w + y x.

    Reference: Shalev-Shwartz 2012, Theorem 3.9; Shalev-Shwartz and Singer 2006, Theorem 2.

    >>> learner = perceptron()
    >>> _ = learner.learn([[2, 1], [1, 2]], [1, -1])
    >>> learner.weights
    array([ 1., -1.])
    """
    return MirrorDescent(
        losses.Hinge(),
        mirrors.Euclidean(),
        rates.Constant(1.0),
        conservative=True,
        dimension=dimension,
    )


def p_norm(p: float, dimension: int | None = None) -> MirrorDescent:
    """Return the p-norm Perceptron: theta <- theta + y x on a mistake, w from the p-norm link.

    p = 2 is the Perceptron; p = 2 ln d behaves like Winnow.
    Reference: Shalev-Shwartz and Singer 2006, Example 3.

    >>> p_norm(4).mirror
    PNorm(p=4.0)
    """
    return MirrorDescent(
        losses.Hinge(),
        mirrors.PNorm(p),
        rates.Constant(1.0),
        conservative=True,
        dimension=dimension,
    )


def winnow(eta: float = 0.25, dimension: int | None = None) -> MirrorDescent:
    """Return Winnow for features in [0, 1]: w_i <- w_i exp(2 eta y x_i) on a mistake.

    Predicts +1 where <w, x> > 1/2; starts at w = 1/d.
    Reference: Shalev-Shwartz 2012, Theorem 3.10 (with the sign of its update corrected).

    >>> winnow(dimension=4).weights
    array([0.25, 0.25, 0.25, 0.25])
    """
    if not 0.0 < eta < 0.5:
        raise ValueError(f"winnow(eta) must lie strictly between 0 and 1/2, got {eta}")
    return MirrorDescent(
        losses.WinnowHinge(),
        mirrors.UnnormalizedEntropy(),
        rates.Constant(eta),
        conservative=True,
        dimension=dimension,
    )


def simplex_winnow(
    margin: float = 1.0, eta: float | None = None, dimension: int | None = None
) -> MirrorDescent:
    """Return Winnow on the simplex: w_i proportional to exp(eta sum y x_i) over mistakes.

    eta defaults to the margin, the best choice for features in [-1, 1].
    Reference: Shalev-Shwartz and Singer 2006, Example 2.

    >>> simplex_winnow(margin=0.5).rate
    Constant(eta=0.5)
    """
    return MirrorDescent(
        losses.Hinge(margin),
        mirrors.Entropy(),
        rates.Constant(margin if eta is None else eta),
        conservative=True,
        dimension=dimension,
    )


def balanced_winnow(
    radius: float,
    margin: float = 1.0,
    row_limit: float = 1.0,
    eta: float | None = None,
    dimension: int | None = None,
) -> MirrorDescent:
    """Return Winnow with weights of both signs in the ball ||w||_1 <= radius.

    eta defaults to margin / (radius row_limit)^2, the best choice for max |x_i| <= row_limit.
    Reference: Shalev-Shwartz and Singer 2006, Example 2, on the features radius (x, -x).

    >>> balanced_winnow(2.0, margin=0.5, row_limit=0.5).rate
    Constant(eta=0.5)
    """
    best = margin / (radius * row_limit) ** 2
    return MirrorDescent(
        losses.Hinge(margin),
        mirrors.SignedEntropy(radius),
        rates.Constant(best if eta is None else eta),
        conservative=True,
        dimension=dimension,
        row_limit=row_limit,
    )


def _steepest(loss: Loss, row_limit: float) -> float:
    steepest = loss.lipschitz() * row_limit
    if not math.isfinite(steepest):
        raise ValueError(f"{type(loss).__name__} has no Lipschitz constant: give eta")
    return steepest


def ogd(
    loss: Loss,
    eta: float | None = None,
    *,
    radius: float = 1.0,
    row_limit: float = 1.0,
    horizon: int | None = None,
    dimension: int | None = None,
) -> MirrorDescent:
    """Return online gradient descent, w <- w - eta z, with a constant rate.

    Without eta, the rate is tuned for ||u|| <= radius, ||x|| <= row_limit and `horizon`
    rounds: eta = B / (L sqrt(T)), for a regret of at most B L sqrt(T).
    Reference: Shalev-Shwartz 2012, Corollary 2.7 with Theorem 2.21.

    >>> ogd(losses.Hinge(), radius=2.0, horizon=100).rate
    Constant(eta=0.2)
    """
    if eta is None:
        if horizon is None:
            raise ValueError("ogd needs eta, or a horizon to tune it")
        eta = radius / (_steepest(loss, row_limit) * math.sqrt(horizon))
    return MirrorDescent(
        loss, mirrors.Euclidean(), rates.Constant(eta), dimension=dimension, row_limit=row_limit
    )


def lazy_ogd(loss: Loss, radius: float, eta: float, dimension: int | None = None) -> MirrorDescent:
    """Return OGD with lazy projections: w = eta theta projected on the ball, theta never is.

    Reference: Shalev-Shwartz 2012, Corollary 2.17.

    >>> lazy_ogd(losses.Hinge(), 0.3, 0.5).mirror
    Ball(radius=0.3)
    """
    return MirrorDescent(loss, mirrors.Ball(radius), rates.Constant(eta), dimension=dimension)


def projected_ogd(
    loss: Loss,
    radius: float,
    eta: float | None = None,
    row_limit: float = 1.0,
    dimension: int | None = None,
) -> MirrorDescent:
    """Return projected OGD: w <- projection of w - (eta/sqrt(t)) z on the ball.

    eta defaults to sqrt(2) U / G with G = Lipschitz constant times row_limit.
    Reference: Cesa-Bianchi 2024, eq. 8.

    >>> round(projected_ogd(losses.Hinge(), radius=1.0).rate.eta, 6)
    1.414214
    """
    if eta is None:
        eta = math.sqrt(2.0) * radius / _steepest(loss, row_limit)
    return MirrorDescent(
        loss,
        mirrors.Euclidean(),
        rates.InverseSqrt(eta),
        domain=domains.Ball(radius),
        lazy=False,
        dimension=dimension,
        row_limit=row_limit,
    )


def strongly_convex_ogd(loss: Loss, sigma: float, dimension: int | None = None) -> MirrorDescent:
    """Return OGD with rate 1/(sigma t) on the regularised losses loss + (sigma/2)||w||^2.

    With the hinge this is the online support vector machine.
    Reference: Cesa-Bianchi 2024, strongly convex case.

    >>> strongly_convex_ogd(losses.Hinge(), 0.5).rate
    StronglyConvex(sigma=0.5)
    """
    return MirrorDescent(
        loss, mirrors.Euclidean(), rates.StronglyConvex(sigma), dimension=dimension
    )


def eg(loss: Loss, eta: float, scale: float = 1.0, dimension: int | None = None) -> MirrorDescent:
    """Return normalised exponentiated gradient: w_i <- w_i exp(-eta z_i) / sum, mass `scale`.

    Reference: Shalev-Shwartz 2012, Corollary 2.16; Herbster and Warmuth, Figure 1.

    >>> eg(losses.Squared(), 0.5, dimension=2).weights
    array([0.5, 0.5])
    """
    return MirrorDescent(loss, mirrors.Entropy(scale), rates.Constant(eta), dimension=dimension)


def unnormalized_eg(
    loss: Loss, eta: float, start: float | None = None, dimension: int | None = None
) -> MirrorDescent:
    """Return unnormalised exponentiated gradient: w_i <- w_i exp(-eta z_i), from `start`.

    Reference: Shalev-Shwartz 2012, Theorem 2.23; Herbster and Warmuth, Figure 1.

    >>> unnormalized_eg(losses.Squared(), 0.5, dimension=4).weights
    array([0.25, 0.25, 0.25, 0.25])
    """
    return MirrorDescent(
        loss, mirrors.UnnormalizedEntropy(start), rates.Constant(eta), dimension=dimension
    )


def signed_eg(loss: Loss, radius: float, eta: float, dimension: int | None = None) -> MirrorDescent:
    """Return EG with weights of both signs (EG+-) in the ball ||w||_1 <= radius.

    Reference: Shalev-Shwartz and Singer 2006, Example 2, on the features radius (x, -x).

    >>> signed_eg(losses.Absolute(), 2.0, 0.1, dimension=2).weights
    array([0., 0.])
    """
    return MirrorDescent(
        loss, mirrors.SignedEntropy(radius), rates.Constant(eta), dimension=dimension
    )


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


def online_to_batch(
    learner: MirrorDescent, X: Any, y: Any, method: str = "average", seed: int = 0
) -> npt.NDArray[np.float64]:
    """Run a fresh learner over an i.i.d. sample and return one predictor for the future.

    "average": the mean of the weights played, w_1 to w_T. "random": one of them, drawn
    uniformly. Either has an expected loss within regret/T of the best (for the average the
    loss must be convex). Reference: Shalev-Shwartz 2012, Theorem 5.1.

    >>> learner = ogd(losses.Absolute(), 0.3, dimension=1)
    >>> online_to_batch(learner, [[1.0], [1.0]], [1.0, 1.0])
    array([0.15])
    """
    labels = np.atleast_1d(np.asarray(y, np.float64))
    if learner.rounds:
        raise ValueError(f"online_to_batch needs a fresh learner, this one has {learner.rounds}")
    if method == "average":
        # Asked once before: a learner that keeps no average says so before it learns.
        _ = learner.average
        learner.learn(X, labels)
        return learner.average
    if method != "random":
        raise ValueError(f"method must be 'average' or 'random', got {method!r}")
    draw = int(np.random.default_rng(seed).integers(len(labels)))
    rows = X if hasattr(X, "tocsr") else np.atleast_2d(np.asarray(X))
    if draw:
        learner.learn(rows[:draw], labels[:draw])
    elif learner.dimension == 0:
        learner._open(rows.shape[1])
    chosen = learner.weights
    learner.learn(rows[draw:], labels[draw:])
    return chosen

"""Mirror descent: perceptrons, Winnows, gradient descents and exponentiated gradients."""

from __future__ import annotations

import math

from noregret import domains, losses, mirrors, rates
from noregret.arrays import as_positive, as_whole
from noregret.learners import MirrorDescent
from noregret.losses import Loss
from noregret.proof import closed_forms


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
    longest = as_positive("radius", radius) * as_positive("row_limit", row_limit)
    best = margin / longest**2
    return MirrorDescent(
        losses.Hinge(margin),
        mirrors.SignedEntropy(radius),
        rates.Constant(best if eta is None else eta),
        conservative=True,
        dimension=dimension,
        row_limit=row_limit,
    )


def _steepest(loss: Loss, row_limit: float) -> float:
    steepest = loss.lipschitz() * as_positive("row_limit", row_limit)
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
        rounds = as_whole("ogd(horizon)", horizon)
        eta = radius / (_steepest(loss, row_limit) * math.sqrt(rounds))
    return MirrorDescent(
        loss, mirrors.Euclidean(), rates.Constant(eta), dimension=dimension, row_limit=row_limit
    )


def coin_betting(
    loss: Loss | None = None, wealth: float = 1.0, dimension: int | None = None
) -> MirrorDescent:
    """Return parameter-free descent: every feature bets a fraction of its wealth on its sign.

    There is no rate, radius or horizon, features may be in any units, and the regret against
    each u is nearly what the best constant rate for that u had. Logistic loss by default.
    Reference: Orabona and Pal 2016; Cutkosky and Orabona 2018, Theorem 1; see
    `rates.CoinBetting`.

    >>> coin_betting().rate
    CoinBetting(wealth=1.0)
    """
    loss = losses.Logistic() if loss is None else loss
    return MirrorDescent(
        loss, mirrors.Euclidean(), rates.CoinBetting(wealth), dimension=dimension, averaging=False
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


def eg(
    loss: Loss,
    eta: float | None = None,
    scale: float = 1.0,
    dimension: int | None = None,
    *,
    width: float | None = None,
    implicit: bool = False,
) -> MirrorDescent:
    """Return normalised exponentiated gradient: w_i <- w_i exp(-eta z_i) / sum, mass `scale`.

    Without eta, the rate is the theorem's for the square loss, 2 / (3 scale width^2) where
    max x - min x <= width in every row.
    Reference: Shalev-Shwartz 2012, Corollary 2.16; Herbster and Warmuth, Figure 1, Lemma 13.

    >>> eg(losses.Squared(), 0.5, dimension=2).weights
    array([0.5, 0.5])
    >>> eg(losses.Squared(), width=2.0).rate == rates.Constant(1.0 / 6.0)
    True
    """
    if eta is None:
        eta = simplex_rate(loss, scale, width)
    return MirrorDescent(
        loss,
        mirrors.Entropy(scale),
        rates.Constant(eta),
        lazy=not implicit,
        dimension=dimension,
        implicit=implicit,
    )


def simplex_rate(loss: Loss, scale: float, width: float | None) -> float:
    """Return the rate of EG for the square loss on a simplex of that mass, from a row's width.

    The weights are scale times those of EG on the features scale x, whose rate is
    2 / (3 (scale width)^2) and whose gradients are scale times as large.
    """
    (promised,) = square_loss_promises("eg", loss, width)
    return scale * closed_forms.amortised_eg(scale * promised).eta


def square_loss_promises(name: str, loss: Loss, *promises: float | None) -> list[float]:
    """Return the promises; refuse a missing one, and losses for which no theorem gives a rate.

    name: the learner's, for the message.
    """
    if type(loss) is not losses.Squared:
        raise ValueError(f"{name} has a rate of its own for Squared() only: give eta")
    for promise in promises:
        if promise is None or not 0.0 < promise < math.inf:
            raise ValueError(f"{name} needs eta, or a promise above 0 to derive it, got {promise}")
    return [promise for promise in promises if promise is not None]


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

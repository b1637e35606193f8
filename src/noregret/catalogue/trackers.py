"""Trackers: descent that is kept in a set, so that it can follow a comparator that moves.

Rates default to those of the theorems for the square loss, computed from the promised limits on
rows and labels; with another loss give eta. A projection after every step keeps the dual variables
bounded, and so the cost of a shift of the comparator.
Reference: Herbster and Warmuth, Tracking the Best Linear Predictor, Figure 1 and Definition 9.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from noregret import domains, losses, mirrors, rates
from noregret.arrays import as_positive, as_whole
from noregret.catalogue.descent import simplex_rate, square_loss_promises
from noregret.learners import MirrorDescent
from noregret.losses import Loss
from noregret.proof import closed_forms

SQUARED = losses.Squared()


def gd(
    row_limit: float | None = None,
    loss: Loss = SQUARED,
    eta: float | None = None,
    *,
    implicit: bool = False,
    dimension: int | None = None,
) -> MirrorDescent:
    """Return gradient descent for regression, w <- w - eta g x from 0, eta = 1/(4 X^2).

    X = row_limit promises ||x||_2 <= X. Loss <= 2 L(u) + 2 X^2 ||u||^2 for every fixed u.
    Reference: Herbster and Warmuth, Lemma 11; implicit: their section 3.

    >>> gd(1.0).rate
    Constant(eta=0.25)
    """
    return _descent("gd", mirrors.Euclidean(), row_limit, loss, eta, None, implicit, dimension)


def c_gd(
    radius: float,
    row_limit: float | None = None,
    loss: Loss = SQUARED,
    eta: float | None = None,
    *,
    implicit: bool = False,
    dimension: int | None = None,
) -> MirrorDescent:
    """Return C-GD: gradient descent, projected on the ball ||w||_2 <= radius after every step.

    For every schedule of comparators in the ball, loss <= 2 L(u_1..u_T) + 4 X^2 (||u_T||^2 / 2 +
    radius * sum ||u_t - u_(t+1)||_2), where X = row_limit promises ||x||_2 <= X.
    Reference: Herbster and Warmuth, Theorem 14.

    >>> learner = c_gd(0.3, 2.0**0.5, dimension=3)
    >>> _ = learner.learn([[1, 0, 0.5], [0.2, 1, 0], [0, 0.5, 1]], [0.8, 0.1, 0.9])
    >>> round(float(learner.weights @ learner.weights), 12)
    0.09
    """
    return _descent(
        "c_gd", mirrors.Euclidean(), row_limit, loss, eta, domains.Ball(radius), implicit, dimension
    )


def _descent(
    name: str,
    mirror: mirrors.Mirror,
    row_limit: float | None,
    loss: Loss,
    eta: float | None,
    domain: domains.Domain | None,
    implicit: bool,
    dimension: int | None,
) -> MirrorDescent:
    if eta is None:
        promised = square_loss_promises(name, loss, row_limit)
        eta = closed_forms.amortised_gd(*promised).eta / mirror.smoothness()
    return MirrorDescent(
        loss,
        mirror,
        rates.Constant(eta),
        domain,
        lazy=False,
        dimension=dimension,
        row_limit=row_limit,
        implicit=implicit,
    )


def egu(
    feature_limit: float | None = None,
    label_limit: float | None = None,
    loss: Loss = SQUARED,
    eta: float | None = None,
    *,
    implicit: bool = False,
    dimension: int | None = None,
) -> MirrorDescent:
    """Return unnormalised exponentiated gradient, w_i <- w_i exp(-eta g x_i) from 1/n.

    Features in [0, X], labels in [0, Y], predictions clipped at Y = label_limit, before the
    gradient is taken: eta = 1/(3 X Y), and loss <= 3 L(u) + 3 X Y D(u, w_1) for every u >= 0.
    Reference: Herbster and Warmuth, Lemma 12 (factor 2 restored, predictions clipped).

    >>> egu(1.0, 1.0, dimension=3).rate == rates.Constant(1.0 / 3.0)
    True
    """
    return _unnormalized("egu", None, feature_limit, label_limit, loss, eta, implicit, dimension)


def c_egu(
    alpha: float,
    dimension: int,
    feature_limit: float | None = None,
    label_limit: float | None = None,
    loss: Loss = SQUARED,
    eta: float | None = None,
    *,
    implicit: bool = False,
) -> MirrorDescent:
    """Return C-EGU: EGU with weights clamped to [alpha/n, n/alpha] after every step.

    For schedules in that box, loss <= 3 L(u_1..u_T) + 3 X Y (||u_1||_1 ln n + 1 - ||u_T||_1 -
    H(u_T) + ln(n/alpha) * sum ||u_t - u_(t+1)||_1).
    Reference: Herbster and Warmuth, Theorem 15 (signs of the last comparator corrected).

    >>> c_egu(0.9, 3, 1.0, 1.0).weights
    array([0.33333333, 0.33333333, 0.33333333])
    """
    if not 0.0 < alpha <= 1.0:
        raise ValueError(f"c_egu: alpha must be in (0, 1], got {alpha}")
    if as_whole("c_egu(dimension)", dimension) < 2 and alpha == 1.0:
        raise ValueError("c_egu: alpha = 1 leaves one feature no choice; use alpha < 1")
    box = domains.Box(alpha / dimension, dimension / alpha)
    return _unnormalized("c_egu", box, feature_limit, label_limit, loss, eta, implicit, dimension)


def _unnormalized(
    name: str,
    domain: domains.Domain | None,
    feature_limit: float | None,
    label_limit: float | None,
    loss: Loss,
    eta: float | None,
    implicit: bool,
    dimension: int | None,
) -> MirrorDescent:
    if eta is None:
        promised = square_loss_promises(name, loss, feature_limit, label_limit)
        eta = closed_forms.amortised_egu(*promised).eta
    return MirrorDescent(
        loss,
        mirrors.UnnormalizedEntropy(),
        rates.Constant(eta),
        domain,
        lazy=False,
        dimension=dimension,
        row_limit=feature_limit,
        clip=label_limit,
        implicit=implicit,
    )


def c_eg(
    alpha: float,
    width: float | None = None,
    loss: Loss = SQUARED,
    eta: float | None = None,
    *,
    scale: float = 1.0,
    implicit: bool = False,
    dimension: int | None = None,
) -> MirrorDescent:
    """Return C-EG: EG on the simplex of mass `scale`, no weight below alpha/n of it.

    width promises max x - min x <= X in every row, features left out counting as 0. For schedules
    in that set and scale = 1, loss <= (3/2) L(u_1..u_T) + (3/2) X^2 (ln n + ln(n/alpha) / 2 *
    sum ||u_t - u_(t+1)||_1). A round costs O((nonzeros + 1) log n), amortised.
    Reference: Herbster and Warmuth, Theorem 16.

    >>> learner = c_eg(0.9, 1.0, dimension=3)
    >>> _ = learner.learn([[1, 0, 0.5], [0.2, 1, 0], [0, 0.5, 1]], [0.8, 0.1, 0.9])
    >>> learner.weights
    array([0.3, 0.3, 0.4])
    """
    return MirrorDescent(
        loss,
        mirrors.Entropy(scale),
        rates.Constant(simplex_rate(loss, scale, width) if eta is None else eta),
        domains.ClippedSimplex(alpha, scale),
        lazy=False,
        dimension=dimension,
        implicit=implicit,
    )


def signed_c_eg(
    radius: float,
    alpha: float,
    row_limit: float,
    loss: Loss = SQUARED,
    *,
    dimension: int | None = None,
) -> MirrorDescent:
    """Return C-EG for features of both signs: feed it `doubled_features(X, radius)`.

    Rows x with max |x_i| <= row_limit become (U x, -U x) with U = radius, of width 2 U row_limit,
    so that eta = 1/(6 (U row_limit)^2); weights w' on the simplex of 2 n stand for w =
    U (w'+ - w'-), which the floor keeps in ||w||_1 <= (1 - alpha) U. `dimension` counts the
    features x; Theorem 16 holds for the doubled ones. Every w with ||w||_1 <= U has such a w': the
    reduction loses nothing.
    Reference: Herbster and Warmuth, section 5.1; Kivinen and Warmuth, Exponentiated Gradient
    versus Gradient Descent, 1997 (EG+-).

    >>> signed_c_eg(2.0, 0.5, 0.5, dimension=1).rate == rates.Constant(1.0 / 6.0)
    True
    """
    doubled = None if dimension is None else 2 * dimension
    width = 2.0 * as_positive("radius", radius) * as_positive("row_limit", row_limit)
    return c_eg(alpha, width, loss, dimension=doubled)


def doubled_features(X: Any, radius: float = 1.0) -> Any:
    """Return the rows (U x, -U x) with U = radius, sparse if X is a scipy sparse matrix.

    >>> doubled_features([[-0.5]], 2.0)
    array([[-1.,  1.]])
    """
    as_positive("doubled_features: radius", radius)
    if hasattr(X, "tocsr"):
        import scipy.sparse

        scaled = radius * X.tocsr()
        return scipy.sparse.hstack([scaled, -scaled], format="csr")
    rows = np.atleast_2d(np.asarray(X, np.float64))
    return np.hstack([radius * rows, -radius * rows])


def folded_weights(weights: npt.ArrayLike, radius: float = 1.0) -> npt.NDArray[np.float64]:
    """Return the w = U (w'+ - w'-) that weights on doubled features stand for.

    >>> folded_weights([0.25, 0.75], 2.0)
    array([-1.])
    """
    both = np.asarray(weights, np.float64)
    if both.ndim != 1 or len(both) % 2:
        raise ValueError(f"weights must be one a doubled feature, got the shape {both.shape}")
    half = len(both) // 2
    return radius * (both[:half] - both[half:])


def shifting_p_norm(
    p: float,
    radius: float,
    row_limit: float | None = None,
    loss: Loss = SQUARED,
    eta: float | None = None,
    *,
    implicit: bool = False,
    dimension: int | None = None,
) -> MirrorDescent:
    """Return the p-norm algorithm, projected on the ball ||w||_q <= radius, 1/p + 1/q = 1.

    The reference names it as future work. Its bound is that of C-GD with (p - 1) X^2 for X^2,
    where row_limit promises ||x||_p <= X, and with q-norms of comparators. Proof: let
    F = ||w||_q^2 / 2, G = ||theta||_p^2 / 2 its conjugate, theta = grad F(w), theta' = theta -
    eta g x. Then D(u, w) - D(u, w') = G(theta) - G(theta') - eta g <u, x>, and G is (p - 1)-smooth
    in the p-norm: this is at least eta g (<w, x> - <u, x>) - (p - 1) eta^2 g^2 ||x||_p^2 / 2.
    With d = <w, x> - y, e = <u, x> - y, g = 2 d and eta = 1/(4 (p - 1) X^2) it is at least
    eta (3 d^2 / 2 - 2 d e) = eta (d^2 - 2 e^2) + eta (d - 2 e)^2 / 2, which is Lemma 11's
    a L(w) - b L(u) with a = eta, b = 2 eta. Since ||grad F(w)||_p = ||w||_q, the ball is the set
    of Definition 4, and Theorem 10 gives for comparators in it loss <= 2 L(u_1..u_T) +
    4 (p - 1) X^2 (||u_T||_q^2 / 2 + radius * sum ||u_t - u_(t+1)||_q).
    Reference: Herbster and Warmuth, Theorem 10; Shalev-Shwartz 2012, section 2.6 (smoothness).

    >>> shifting_p_norm(3.0, 1.0, 1.0).rate
    Constant(eta=0.125)
    """
    ball = domains.PNormBall(p, radius)
    return _descent(
        "shifting_p_norm", mirrors.PNorm(p), row_limit, loss, eta, ball, implicit, dimension
    )

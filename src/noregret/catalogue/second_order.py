"""Learners with a matrix: ridge regression, Newton's method and their relatives.

All work in units of the features, m_i the largest |x_i| seen, so that predictions do not depend
on these units. A round takes 2 d^2 multiplications and additions for d features; up to 2048
features are taken.
"""

from __future__ import annotations

import math

from noregret import losses, mirrors, rates
from noregret.learners import MatrixDescent, MirrorDescent
from noregret.losses import Loss
from noregret.rates import Rate


def _learner(loss: Loss, rate: Rate, dimension: int | None) -> MirrorDescent:
    return MirrorDescent(loss, mirrors.Euclidean(), rate, dimension=dimension, averaging=False)


def online_ridge(
    prior: float = 1.0,
    forgetting: float = 1.0,
    clipped: bool = True,
    dimension: int | None = None,
) -> MirrorDescent:
    """Return online ridge regression: w minimises prior ||m u||^2 + sum (<u, x> - y)^2.

    Each round: w <- w + (y - <w, x>)/(1 + k) A^-1 x, A <- A + x x', k = x' A^-1 x.

    Args:
        prior: strength of the penalty in units of the features, 1e-60 to 1e60 [default: 1].
        forgetting: factor by which older rounds count less each round, above 0.5 and at most 1
            [default: 1].
        clipped: keep predictions within the range of the labels seen [default: True].
        dimension: number of features, 1 to 2048 [default: it grows with the data].

    Reference: Azoury and Warmuth 2001; Zhdanov and Kalnishkan 2010; see `rates.Ridge`.

    >>> learner = online_ridge()
    >>> _ = learner.learn([[1.0], [1.0]], [2.0, 2.0])
    >>> round(float(learner.weights[0]), 6)
    1.333333
    """
    return _learner(losses.Squared(), rates.Ridge(prior, forgetting, clipped), dimension)


def vovk_azoury_warmuth(prior: float = 1.0, dimension: int | None = None) -> MirrorDescent:
    """Return the Vovk-Azoury-Warmuth forecaster: ridge regression divided by 1 + k.

    Its regret against every u is at most prior ||m u||^2 + Y^2 ln det(I + sum x x' / prior), in
    units of the features, with Y the largest |y|, which need not be known. It draws predictions
    towards 0: subtract a guess of the mean from targets far from 0, or use `online_ridge`.

    Args:
        prior: strength of the penalty in units of the features, 1e-60 to 1e60 [default: 1].
        dimension: number of features, 1 to 2048 [default: it grows with the data].

    Reference: Vovk 2001; Azoury and Warmuth 2001; Cesa-Bianchi and Lugosi 2006, Theorem 11.8.

    >>> learner = vovk_azoury_warmuth()
    >>> _ = learner.learn([[1.0]], [2.0])
    >>> round(learner.predict_one([0], [1.0]), 6)
    0.666667
    """
    rate = rates.Ridge(prior, clipped=False, anticipating=True)
    return _learner(losses.Squared(), rate, dimension)


def kalman(
    loss: Loss | None = None,
    prior: float = 1.0,
    forgetting: float = 1.0,
    dimension: int | None = None,
) -> MirrorDescent:
    """Return the extended Kalman filter: A <- A + f'' x x', w <- w - f' A^-1 x.

    Args:
        loss: a loss with a second derivative [default: Logistic()].
        prior: A starts as prior diag(m_i^2), 1e-60 to 1e60 [default: 1].
        forgetting: factor by which older rounds count less each round, above 0.5 and at most 1
            [default: 1].
        dimension: number of features, 1 to 2048 [default: it grows with the data].

    No theorem is claimed; the certificate proves what a run has come to.

    >>> learner = kalman()
    >>> _ = learner.learn([[1.0]], [1])
    >>> round(float(learner.weights[0]), 6)
    0.4
    """
    loss = losses.Logistic() if loss is None else loss
    return _learner(loss, rates.Newton(prior, False, forgetting), dimension)


def implicit_newton(
    loss: Loss | None = None,
    prior: float = 1.0,
    forgetting: float = 1.0,
    dimension: int | None = None,
) -> MirrorDescent:
    """Return implicit Newton steps: w <- w - s A^-1 x, s = f'(<w, x> - k s), then A grows by f''.

    A step cannot overshoot on its own row. A <- A + f''(<w, x> - k s) x x', k = x' A^-1 x.

    Args:
        loss: a loss with a second derivative [default: Logistic()].
        prior: A starts as prior diag(m_i^2), 1e-60 to 1e60 [default: 1].
        forgetting: factor by which older rounds count less each round, above 0.5 and at most 1
            [default: 1].
        dimension: number of features, 1 to 2048 [default: it grows with the data].

    No theorem is claimed; the certificate proves what a run has come to.

    >>> learner = implicit_newton(losses.Squared())
    >>> _ = learner.learn([[1.0]], [3.0])
    >>> round(float(learner.weights[0]), 6)
    2.0
    """
    loss = losses.Logistic() if loss is None else loss
    return _learner(loss, rates.Newton(prior, True, forgetting), dimension)


def block_leader(
    loss: Loss | None = None,
    prior: float = 1.0,
    block: int = 1024,
    dimension: int | None = None,
) -> MirrorDescent:
    """Return the leader of all rows by blocks: nearly the batch optimum in one pass.

    w = argmin (prior/2) ||m u||^2 + sum_block c f(y, <u, x>) + q(u), q the second-order expansions
    of earlier blocks; found after 16 rows, then each time there are 1.5 times as many, and after
    each block.

    Args:
        loss: a loss with a second derivative [default: Logistic()].
        prior: strength of the penalty in units of the features, 1e-60 to 1e60 [default: 1].
        block: rows of a block, 1 to 2^20 [default: 1024].
        dimension: number of features, 1 to 2048 [default: it grows with the data].

    No theorem is claimed; the certificate proves what a run has come to. See `rates.BlockLeader`.

    >>> learner = block_leader()
    >>> _ = learner.learn([[1.0]] * 16, [1, 1, 1, -1] * 4)
    >>> round(float(learner.weights[0]), 2)
    0.83
    """
    loss = losses.Logistic() if loss is None else loss
    return _learner(loss, rates.BlockLeader(prior, block), dimension)


def softmax_leader(
    prior: float = 0.1,
    block: int = 1024,
    outputs: int | None = None,
    dimension: int | None = None,
) -> MatrixDescent:
    """Return the leader of all rows by blocks, for classes by `Softmax`.

    W = argmin (prior/2) ||m W||^2 + sum_block c f(y, x W) + q(W); q leaves out how the slope of a
    score depends on other scores.

    Args:
        prior: strength of the penalty in units of the features, 1e-60 to 1e60 [default: 0.1].
        block: rows of a block, 1 to 2^20 [default: 1024].
        outputs: number of classes K, >= 1 [default: that of the first labels]. Once K d^2 exceeds
            2^20 the weights stay as they are.
        dimension: number of features d, 1 to 2048 [default: it grows with the data].

    No theorem is claimed; the certificate proves what a run has come to. See `rates.BlockLeader`.

    >>> learner = softmax_leader()
    >>> _ = learner.learn([[1.0, 0.0], [0.0, 1.0]] * 8, [0, 1] * 8)
    >>> learner.predict([[1.0, 0.0]]).argmax(axis=1)
    array([0])
    """
    loss, rate = losses.Softmax(), rates.BlockLeader(prior, block)
    return MatrixDescent(loss, rate=rate, outputs=outputs, dimension=dimension)


def softmax_newton(
    prior: float = 1.0,
    curvature: float = 1.0,
    forgetting: float = 1.0,
    outputs: int | None = None,
    dimension: int | None = None,
) -> MatrixDescent:
    """Return implicit Newton steps for classes by `Softmax`, all of which share one matrix A.

    w_k <- w_k - g_k A^-1 x, g = p - e_y with p the probabilities at the scores after the step; then
    A <- A + c x x', c = curvature sum_k p_k (1 - p_k) / (K - 1), and K the number of classes.

    Args:
        prior: A starts as prior diag(m_i^2), 1e-60 to 1e60 [default: 1].
        curvature: part of the mean curvature that A adds, above 0 and at most 1; below 1 steps stay
            larger [default: 1].
        forgetting: factor by which older rounds count less each round, above 0.5 and at most 1
            [default: 1].
        outputs: number of classes, >= 1 [default: that of the first targets].
        dimension: number of features, 1 to 2048 [default: it grows with the data].

    No theorem is claimed; the certificate proves what a run has come to.

    >>> learner = softmax_newton()
    >>> _ = learner.learn([[1.0], [-1.0]], [1, 0])
    >>> learner.weights.round(6).tolist()
    [[-0.518324, 0.518324]]
    """
    rate = rates.Newton(prior, True, forgetting, curvature)
    return MatrixDescent(losses.Softmax(), None, rate, outputs, dimension)


def certified_newton(
    loss: Loss | None = None,
    radius: float = 16.0,
    prior: float = 1.0,
    dimension: int | None = None,
) -> MirrorDescent:
    """Return Newton steps by parabolas below the loss: A <- A + c x x', w <- w - f' A^-1 x.

    c is the largest curvature of a parabola that touches the loss at <w, x> and stays below it
    for all ||m u||_2 <= radius. The regret against these u is at most S + prior radius^2 / 2,
    S = sum f'^2 x' A^-1 x / 2, which is printed.

    Args:
        loss: a loss with `curvature_below` [default: Logistic()].
        radius: the class that the parabolas serve, above 0 [default: 16].
        prior: A starts as prior diag(m_i^2), 1e-60 to 1e60 [default: 1].
        dimension: number of features, 1 to 2048 [default: it grows with the data].

    Reference: derived here, see `rates.CertifiedNewton`.

    >>> learner = certified_newton(radius=2.0)
    >>> _ = learner.learn([[1.0], [-1.0]], [1, -1])
    >>> [bound.applies for bound in learner.certificate().bounds_for(2.0)]
    [True]
    """
    loss = losses.Logistic() if loss is None else loss
    return _learner(loss, rates.CertifiedNewton(radius, prior), dimension)


def aioli(
    radius: float = 16.0,
    prior: float = 0.1,
    row_limit: float = math.inf,
    dimension: int | None = None,
) -> MirrorDescent:
    """Return AIOLI for the logistic loss: both labels are anticipated, p + k tanh(p/2) = <w, x>.

    Then w <- w - (f' + c (<w, x> - p))/(1 + c k) A^-1 x, A <- A + c x x', A = 2 prior diag(m_i^2)
    at first. With `row_limit`, c = f''(p)/(1 + radius row_limit) as published.

    Args:
        radius: the class that the parabolas serve, above 0 [default: 16].
        prior: the penalty prior ||m u||^2, 1e-60 to 1e60 [default: 0.1].
        row_limit: promise ||x / m||_2 <= row_limit, above 0 [default: inf, no promise].
        dimension: number of features, 1 to 2048 [default: it grows with the data].

    Reference: Jezequel, Gaillard and Rudi 2020; see `rates.Aioli` for what is printed.

    >>> learner = aioli()
    >>> _ = learner.learn([[1.0], [-1.0]], [1, -1])
    >>> learner.certificate().mistakes
    1
    """
    return _learner(losses.Logistic(), rates.Aioli(radius, prior, row_limit), dimension)


def arow(r: float = 1.0, margin: float = 1.0, dimension: int | None = None) -> MirrorDescent:
    """Return AROW with the full matrix: where y <w, x> < margin, a step of ridge regression.

    w <- w + y (margin - y <w, x>)/(k + r) A^-1 x, A <- A + x x' / r, k = x' A^-1 x.

    Args:
        r: how little a round counts beside those before it, 1e-60 to 1e60 [default: 1].
        margin: the margin below which it learns, above 0 and at most 1e90 [default: 1].
        dimension: number of features, 1 to 2048 [default: it grows with the data].

    No theorem is claimed. Reference: Crammer, Kulesza and Dredze 2009; see `rates.Arow`.

    >>> learner = arow()
    >>> _ = learner.learn([[2.0]], [1])
    >>> float(learner.weights[0])
    0.25
    """
    return _learner(losses.Hinge(margin), rates.Arow(r), dimension)

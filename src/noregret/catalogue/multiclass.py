"""Several classes: the Perceptron, Passive-Aggressive, softmax regression and the hinge."""

from __future__ import annotations

import math

from noregret import losses, mirrors, rates
from noregret.arrays import as_positive, as_whole
from noregret.learners import MatrixDescent


def multiclass_perceptron(
    outputs: int | None = None, dimension: int | None = None
) -> MatrixDescent:
    """Return the Perceptron of several classes: on a mistake w_y <- w_y + x, w_r <- w_r - x.

    r is the class with the highest score other than y. With L the `MulticlassHinge` loss of U on
    the mistakes, ||U||_F <= B and ||x|| <= R, the mistakes M are at most L + B R sqrt(2 M).
    Reference: Crammer and Singer, Ultraconservative Online Algorithms for Multiclass Problems,
    2003; Cesa-Bianchi 2024, eq. 1.

    >>> learner = multiclass_perceptron()
    >>> _ = learner.learn([[2, 1], [1, 2]], [0, 1])
    >>> learner.weights
    array([[ 1., -1.],
           [-1.,  1.]])
    """
    return MatrixDescent(
        losses.MulticlassHinge(),
        mirrors.Euclidean(),
        rates.Constant(1.0),
        outputs,
        dimension,
        conservative=True,
    )


def multiclass_passive_aggressive(
    C: float = 1.0, margin: float = 1.0, outputs: int | None = None, dimension: int | None = None
) -> MatrixDescent:
    """Return PA-I of several classes: W <- argmin ||W - W_t||_F^2 / 2 + C f(W), f the hinge.

    f is [margin + max_{k != y} s_k - s_y]+. The step is exact over all classes: w_y gains
    C a x, which is taken from the rival classes, so that those that moved have equal scores. With
    two classes w_1 - w_0 is what `passive_aggressive(2 C)` learns.
    Reference: Crammer, Dekel, Keshet, Shalev-Shwartz, Singer 2006, section 8 (with one rival at
    a time); Crammer and Singer 2001, section 5, for the exact step.

    >>> learner = multiclass_passive_aggressive(C=0.5)
    >>> _ = learner.learn([[1.0, 0.0], [0.0, 2.0]], [0, 1])
    >>> learner.weights
    array([[ 0.5 , -0.5 ],
           [-0.25,  0.25]])
    """
    return MatrixDescent(
        losses.MulticlassHinge(margin),
        mirrors.Euclidean(),
        rates.Constant(C),
        outputs,
        dimension,
        implicit=True,
    )


def softmax_regression(
    radius: float, outputs: int | None = None, dimension: int | None = None
) -> MatrixDescent:
    """Return multinomial logistic regression with ||W||_F <= radius, by lazy descent.

    The rate is `Adaptive`: the regret is about radius sqrt(2 sum ||z||^2), at most
    2 radius R sqrt(T) for rows with ||x|| <= R, since the slopes have norm at most sqrt(2).
    Reference: Shalev-Shwartz 2012, Theorem 2.21; McMahan 2017, Theorem 1.

    >>> softmax_regression(2.0).mirror
    Ball(radius=2.0)
    """
    return MatrixDescent(
        losses.Softmax(), mirrors.Ball(radius), rates.Adaptive(), outputs, dimension
    )


def multiclass_ogd(
    radius: float,
    rounds: int,
    row_limit: float = 1.0,
    outputs: int | None = None,
    dimension: int | None = None,
) -> MatrixDescent:
    """Return descent on the multiclass hinge in ||W||_F <= radius, tuned for a number of rounds.

    eta = radius / (row_limit sqrt(2 T)); the regret is at most radius row_limit sqrt(2 T).
    Reference: Shalev-Shwartz 2012, Corollary 2.17 with Theorem 2.21; Crammer and Singer 2001.

    >>> multiclass_ogd(1.0, 50).rate
    Constant(eta=0.1)
    """
    horizon = as_whole("multiclass_ogd(rounds)", rounds)
    as_positive("multiclass_ogd(row_limit)", row_limit)
    eta = radius / (row_limit * math.sqrt(2.0 * horizon))
    return MatrixDescent(
        losses.MulticlassHinge(), mirrors.Ball(radius), rates.Constant(eta), outputs, dimension
    )


def one_against_rest(outputs: int | None = None, dimension: int | None = None) -> MatrixDescent:
    """Return one logistic learner a class, with nothing to tune: K times `ScaleFree`.

    Targets are classes, or rows of 0 and 1 for several labels at once.
    Reference: Rifkin and Klautau, In Defense of One-Vs-All Classification, 2004.

    >>> one_against_rest(3).loss
    OneAgainstRest(loss=Logistic())
    """
    return MatrixDescent(losses.OneAgainstRest(), outputs=outputs, dimension=dimension)

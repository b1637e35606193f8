"""The Passive-Aggressive algorithms: dual ascent by the exact step of one example."""

from __future__ import annotations

from noregret import losses, mirrors
from noregret.learners import DualAscent


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

"""The members of the mixture of those who choose nothing: learners that rows of a kind favour."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from noregret import losses, mirrors, rates
from noregret.arrays import Vector
from noregret.learners import DualAscent, MirrorDescent
from noregret.learners.matrix import MatrixDescent
from noregret.learners.standardized import Standardized
from noregret.losses import Loss
from noregret.rates import Rate
from noregret.rates.second_order import SecondOrder

#: The most features of rows that are standardised, and of those that second-order members take.
NARROW, PAIRS = 512, 128
#: Columns of 1 of the member that is quick to find the level, and the C of dual ascent.
CONSTANTS, STRENGTH = 20, 3.0
#: The scale of the member with a rate for each feature.
QUICK = 2.0
#: Of the newest rows the forgetting member weighs about 20.
FORGETTING = 0.95
PRIOR = 0.01


def narrow_members(loss: Loss) -> list[Any]:
    """Return the members for rows of few features; the last one is for rows that grow wide.

    >>> from noregret import losses
    >>> [type(member.learner.rate).__name__ for member in narrow_members(losses.Squared())[:-1]]
    ['ScaleFree', 'Ridge', 'Ridge']
    """
    plain = rates.ScaleFree()
    # Ridge regression does for the squared loss what one constant does for others.
    once = [] if type(loss) is losses.Squared else [_standardized(loss, plain, NARROW)]
    members = [
        *once,
        _standardized(loss, plain, NARROW, CONSTANTS),
        *(_standardized(loss, rate, NARROW) for rate in _by_coordinate(loss)),
        *(_standardized(loss, rate, PAIRS) for rate in second_order(loss)),
    ]
    return [*members, _descent(loss, plain)]


def _by_coordinate(loss: Loss) -> Sequence[Rate]:
    """Return a rate that follows changes fast, where slopes have a size of their own."""
    bounded = math.isfinite(loss.lipschitz())
    return [rates.PerCoordinate(QUICK, invariant=True)] if bounded else []


def second_order(loss: Loss) -> Sequence[Rate]:
    """Return the second-order rates that suit a loss, none for a loss without curvature."""
    if type(loss) is losses.Squared:
        return [rates.Ridge(PRIOR), rates.Ridge(PRIOR, forgetting=FORGETTING)]
    return [] if rates.Newton().refused_loss(loss) else [rates.Newton()]


def wide_members(loss: Loss) -> list[Any]:
    """Return the members for sparse rows of many features, all of which are linear.

    >>> from noregret import losses
    >>> len(wide_members(losses.Logistic())), len(wide_members(losses.Squared()))
    (3, 2)
    """
    members: list[Any] = [_descent(loss, rates.ScaleFree())]
    if math.isfinite(loss.lipschitz()):
        members.append(_descent(loss, rates.CoinBetting()))
    if loss.has_conjugate():
        members.append(DualAscent(loss, mirrors.Euclidean(), STRENGTH))
    return members


def score_members() -> list[Any]:
    """Return the members for several classes; the last one is for rows that grow wide.

    >>> [type(member).__name__ for member in score_members()]
    ['Standardized', 'Standardized', 'MatrixDescent']
    """
    softmax = losses.Softmax()
    members: list[Any] = [
        Standardized(MatrixDescent(softmax), constants=constants, widest=NARROW, certified=False)
        for constants in (1, CONSTANTS)
    ]
    return [*members, MatrixDescent(softmax)]


def stack_of(loss: Loss) -> MirrorDescent:
    """Return the learner of the members' predictions."""
    squared = type(loss) is losses.Squared
    return _descent(loss, rates.Ridge(PRIOR) if squared else rates.ScaleFree())


def stands_for(members: Sequence[Any], shares: Vector) -> int:
    """Return the place of the member with the largest share of those that have weights.

    These predict by <w, x> and an offset, cut to the range of the labels.
    """
    known = [k for k, member in enumerate(members) if not _anticipates(member)]
    return max(known, key=lambda k: float(shares[k]))


def _anticipates(member: Any) -> bool:
    """Tell whether predictions depend on the row by more than weights, as those of `Aioli`."""
    rate = getattr(member.learner if isinstance(member, Standardized) else member, "rate", None)
    return isinstance(rate, SecondOrder) and not rate.linear()


def _descent(loss: Loss, rate: Rate) -> MirrorDescent:
    return MirrorDescent(loss, mirrors.Euclidean(), rate, averaging=False)


def _standardized(loss: Loss, rate: Rate, widest: int, constants: int = 1) -> Standardized:
    learner = _descent(loss, rate)
    return Standardized(learner, constants=constants, widest=widest, certified=False)

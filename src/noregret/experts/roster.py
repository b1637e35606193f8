"""The members of the mixture of those who choose nothing: learners that rows of a kind favour."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from noregret import losses, mirrors, rates
from noregret.arrays import Vector
from noregret.learners import MirrorDescent
from noregret.learners.matrix import MatrixDescent
from noregret.learners.standardized import Standardized
from noregret.losses import Loss
from noregret.rates import Rate
from noregret.rates.second_order import SecondOrder

#: The most features of rows that are standardised, and of those that second-order members take.
NARROW, PAIRS = 512, 128
#: The most features where several scores share one matrix, whose cost their number then hardly
#: raises.
SHARED_PAIRS = 256
#: Columns of 1 of the member that is quick to find the level, and the implicit steps of wide rows.
CONSTANTS, STRENGTH = 20, 3.0
#: The scale of the member with a rate for each feature.
QUICK = 2.0
#: Implicit steps of the members that follow changes: by all features, by the level first, and by
#: the level alone; the last also for the squared loss.
STEP, LEVEL_STEP, LEVEL_ALONE = 0.3, 10.0, 10.0
SQUARED_LEVEL = 1.0
#: Of the newest rows the forgetting member weighs about 20, the stack of real targets 1000.
FORGETTING, STACK_FORGETTING = 0.95, 0.999
PRIOR, RECENT_PRIOR = 0.1, 0.01
#: How the member for targets that drift far sees rows: by moments of the rows 2 and 3, for good,
#: and cut off only far out, so that a linear relation stays one wherever it leads.
FIXED_BOUND, FIXED_LIMIT, SETTLED = 1000.0, 200.0, 2
#: The leader of all rows, of one score and of several; it sees rows by moments of rows 8 to 15.
LEADER_PRIOR, SCORE_LEADER_PRIOR, LEADER_SETTLED = 0.3, 0.1, 8
#: Newton steps of several scores: one for classes that keep still, one that weighs about the
#: newest 100 rows. Both count a part of the curvature, which keeps steps larger.
SCORE_STEPS = (
    rates.Newton(0.1, curvature=0.3),
    rates.Newton(0.1, curvature=0.1, forgetting=0.99),
)


def narrow_members(loss: Loss) -> list[Any]:
    """Return the members for rows of few features; the last one is for rows that grow wide.

    >>> from noregret import losses
    >>> [type(member.learner.rate).__name__ for member in narrow_members(losses.Squared())[:-1]]
    ['ScaleFree', 'ScaleFree', 'Constant', 'Ridge', 'Ridge', 'Ridge']
    """
    plain = rates.ScaleFree()
    first = _standardized(_descent(loss, plain), NARROW)
    return [first, *_trackers(loss), *_curved(loss), _descent(loss, plain)]


def _trackers(loss: Loss) -> list[Standardized]:
    """Return members that follow changes fast.

    Implicit steps of constant size do: none overshoots its own row, however long that is. What is
    the best size does not depend on the units of labels -1 and +1, nor on those of real targets
    with the squared loss. Other losses have rates that find it.
    """
    if type(loss) is losses.Logistic:
        return [
            _standardized(_implicit(loss, STEP), NARROW),
            _standardized(_implicit(loss, LEVEL_STEP), NARROW, CONSTANTS),
            _standardized(_implicit(loss, LEVEL_ALONE), 1),
        ]
    level = _standardized(_descent(loss, rates.ScaleFree()), NARROW, CONSTANTS)
    if type(loss) is losses.Squared:
        return [level, _standardized(_implicit(loss, SQUARED_LEVEL), 1)]
    if math.isfinite(loss.lipschitz()):
        rate = rates.PerCoordinate(QUICK, invariant=True)
        return [level, _standardized(_descent(loss, rate), NARROW)]
    return [level]


def _curved(loss: Loss) -> list[Standardized]:
    """Return members that know pairs of features, none for a loss without curvature."""
    if type(loss) is losses.Squared:
        recent = rates.Ridge(RECENT_PRIOR, forgetting=FORGETTING)
        ridges = [_descent(loss, rate) for rate in (rates.Ridge(PRIOR), recent)]
        sight: Any = {"bound": FIXED_BOUND, "limit": FIXED_LIMIT, "settled": SETTLED}
        fixed = _descent(loss, rates.Ridge(PRIOR))
        far = Standardized(fixed, widest=PAIRS, certified=False, **sight)
        return [*(_standardized(ridge, PAIRS) for ridge in ridges), far]
    leader = rates.BlockLeader(LEADER_PRIOR)
    if leader.refused_loss(loss):
        return []
    return [_led(_descent(loss, leader), PAIRS)]


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
        # Dual ascent by one exact step a row, without the rows and slopes that it keeps.
        members.append(_implicit(loss, STRENGTH))
    return members


def score_members() -> list[Any]:
    """Return the members for several classes; the last one is for rows that grow wide.

    >>> [type(member.learner.rate).__name__ for member in score_members()[:-1]]
    ['ScaleFree', 'ScaleFree', 'Newton', 'Newton', 'BlockLeader']
    """
    softmax = losses.Softmax()
    members: list[Any] = [
        Standardized(MatrixDescent(softmax), constants=constants, widest=NARROW, certified=False)
        for constants in (1, CONSTANTS)
    ]
    members += [
        Standardized(MatrixDescent(softmax, rate=rate), widest=SHARED_PAIRS, certified=False)
        for rate in SCORE_STEPS
    ]
    leader = MatrixDescent(softmax, rate=rates.BlockLeader(SCORE_LEADER_PRIOR))
    return [*members, _led(leader, SHARED_PAIRS), MatrixDescent(softmax)]


def stack_of(loss: Loss) -> MirrorDescent:
    """Return the learner of the members' predictions."""
    if type(loss) is losses.Squared:
        return _descent(loss, rates.Ridge(PRIOR, forgetting=STACK_FORGETTING))
    return _descent(loss, rates.Aioli() if type(loss) is losses.Logistic else rates.ScaleFree())


def stands_for(members: Sequence[Any], shares: Vector) -> int:
    """Return the place of the member with the largest share of those that have weights.

    These see the features and predict by <w, x> and an offset, cut to the range of the labels.
    """
    known = [
        k
        for k, member in enumerate(members)
        if not (_anticipates(member) or getattr(member, "outgrown", False))
    ]
    return max(known, key=lambda k: float(shares[k]))


def _anticipates(member: Any) -> bool:
    """Tell whether predictions depend on the row by more than weights, as those of `Aioli`."""
    rate = getattr(member.learner if isinstance(member, Standardized) else member, "rate", None)
    return isinstance(rate, SecondOrder) and not rate.linear()


def _descent(loss: Loss, rate: Rate) -> MirrorDescent:
    return MirrorDescent(loss, mirrors.Euclidean(), rate, averaging=False)


def _implicit(loss: Loss, eta: float) -> MirrorDescent:
    rate, mirror = rates.Constant(eta), mirrors.Euclidean()
    return MirrorDescent(loss, mirror, rate, lazy=False, implicit=True, averaging=False)


def _standardized(learner: MirrorDescent, widest: int, constants: int = 1) -> Standardized:
    """Return a learner that sees rows standardised, the constants alone beyond `widest` columns."""
    return Standardized(learner, constants=constants, widest=widest, certified=False)


def _led(learner: MirrorDescent | MatrixDescent, widest: int) -> Standardized:
    """Return a learner that sees rows by moments that stay: what it knows of blocks stays right."""
    return Standardized(learner, widest=widest, settled=LEADER_SETTLED, certified=False)

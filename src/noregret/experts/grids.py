"""The same learner at many rates, a geometric grid, mixed by the losses: no rate to tune."""

from __future__ import annotations

import math

from noregret import mirrors, rates
from noregret.experts.aggregate import Aggregate
from noregret.learners import MirrorDescent
from noregret.losses import Loss

#: Most learners of a grid: a request for more is surely a typing error.
MOST = 64


def rate_grid(
    loss: Loss,
    mirror: mirrors.Mirror | None = None,
    rate: rates.Rate | None = None,
    low: float = 2.0**-5,
    high: float = 2.0**5,
    dimension: int | None = None,
    blocks: bool = False,
) -> Aggregate:
    """Return an `Aggregate` of learners whose rates are 2^j times `rate`, low <= 2^j <= high.

    A bound R / eta + eta G is at most (sqrt 2 + 1 / sqrt 2) / 2 < 1.061 of its least value
    2 sqrt(R G) where eta is off by a factor sqrt 2: the best of the grid is that near the best
    rate between its ends, and AdaHedge is near the best of the grid, both in the certificate.
    The map is Euclidean by default, the rate `PerCoordinate(1, invariant=True)` with it, so
    that features may be in any units, and `Adaptive(1)` with any other map.
    References: van Erven, Koolen, MetaGrad: Multiple Learning Rates in Online Learning, 2016,
    for the grid; `Aggregate` for the mixture.

    >>> import noregret as nr
    >>> learner = rate_grid(nr.losses.Logistic(), low=0.25, high=4)
    >>> [member.rate.scale for member in learner.learners]
    [0.25, 0.5, 1.0, 2.0, 4.0]
    """
    mirror = mirrors.Euclidean() if mirror is None else mirror
    if rate is None:
        own = rates.PerCoordinate(1.0, invariant=True)
        rate = own if mirror.euclidean() else rates.Adaptive(1.0)
    fields = rate.fields()
    name = next((name for name in ("eta", "scale") if fields.get(name) is not None), None)
    if name is None:
        raise ValueError(f"rate_grid(rate={rate}) has no eta or scale that could be varied")
    if not 0.0 < low <= high < math.inf:
        raise ValueError(f"rate_grid needs 0 < low <= high, got low={low} and high={high}")
    # Ends that are powers of two up to rounding belong to the grid.
    first = math.ceil(math.log2(low) - 1e-9)
    last = math.floor(math.log2(high) + 1e-9)
    if not 1 <= last - first + 1 <= MOST:
        raise ValueError(
            f"rate_grid: between {low:g} and {high:g} lie {last - first + 1} powers of 2, "
            f"expected 1 to {MOST}"
        )
    grid = [rate.replace(**{name: math.ldexp(fields[name], j)}) for j in range(first, last + 1)]
    return Aggregate(
        [MirrorDescent(loss, mirror, each, dimension=dimension, averaging=False) for each in grid],
        mirror=mirror,
        blocks=blocks,
    )

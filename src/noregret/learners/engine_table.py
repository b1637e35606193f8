"""Which engine plays a combination of parts: the one table of rates and domains that have one."""

from __future__ import annotations

import math
from typing import Any

from noregret.domains import ClippedSimplex
from noregret.learners.agile_engine import AgileEngine
from noregret.learners.clipped_simplex import ClippedSimplexEngine
from noregret.learners.coin_betting import CoinBettingEngine
from noregret.learners.combination import Combination
from noregret.learners.engines import CoordinateEngine, Engine, LinearEngine, MappedEngine
from noregret.learners.scale_free import ScaleFreeEngine
from noregret.mirrors import Mirror
from noregret.rates import Rate

#: The engines of the families that rates name as theirs. A rate with state of its own is added
#: here, with its rule in `passes/descent` and its engine in `learners`.
OWN: dict[str, Any] = {
    "coordinate": CoordinateEngine,
    "scale_free": ScaleFreeEngine,
    "coin_betting": CoinBettingEngine,
}


def choose_engine(parts: Combination, mirror: Mirror, rate: Rate, averaging: bool) -> Engine:
    """Return the engine of a combination that was checked, for the map and rate resolved."""
    if rate.family in OWN:
        kind = OWN[rate.family]
    elif isinstance(parts.domain, ClippedSimplex):
        kind = ClippedSimplexEngine
    elif not parts.lazy:
        kind = AgileEngine
    else:
        kind = LinearEngine if mirror.linear() else MappedEngine
    clip = math.inf if parts.clip is None else parts.clip
    engine: Engine = kind(
        parts.loss, mirror, rate, averaging, parts.conservative, parts.domain, clip, parts.implicit
    )
    return engine

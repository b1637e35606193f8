"""The parts of a mirror-descent learner, and the choice of the engine that plays them."""

from __future__ import annotations

import math
from dataclasses import dataclass

from noregret.combinations import (
    STREAM,
    Parts,
    lazily_projected,
    require_kind,
    require_sound,
    require_together,
)
from noregret.learners.agile_engines import AgileEngine, ClippedSimplexEngine
from noregret.learners.block_leader_engine import BlockLeaderEngine
from noregret.learners.coordinate_engine import CoordinateEngine
from noregret.learners.engines import Engine, LinearEngine, MappedEngine
from noregret.learners.second_order_engine import SecondOrderEngine
from noregret.learners.unit_free_engines import CoinBettingEngine, ScaleFreeEngine
from noregret.losses import Loss
from noregret.mirrors import Mirror
from noregret.proof.convexity import require_convex
from noregret.rates import Rate

#: The engine of each `family` of a rate or domain that needs its own. A rate with further state
#: adds an entry here, a rule in `passes/descent` and an engine in `learners`.
OWN: dict[str, type[Engine]] = {
    "coordinate": CoordinateEngine,
    "scale_free": ScaleFreeEngine,
    "coin_betting": CoinBettingEngine,
    "second_order": SecondOrderEngine,
    "block_leader": BlockLeaderEngine,
    "clipped_simplex": ClippedSimplexEngine,
}


@dataclass(frozen=True)
class Combination(Parts):
    """The parts of a mirror-descent learner, checked against one another."""

    loss: Loss

    def __post_init__(self) -> None:
        for name in ("loss", "mirror", "rate"):
            require_kind(name, getattr(self, name))
        require_convex(self.loss)
        if self.domain is not None:
            require_kind("domain", self.domain)
        require_sound(self.mirror, self.rate)
        require_together(self, STREAM, "learner")

    def played_mirror(self) -> Mirror:
        """Return the map that the lazy pass plays: a lazy projection is a map of its own."""
        if not self.lazy or self.domain is None:
            return self.mirror
        return lazily_projected(self.domain)

    def growable(self) -> bool:
        """Return whether an unseen feature has weight 0 and adds nothing to S."""
        if not self.lazy and self.domain is not None:
            moved = self.domain.separable() and self.domain.clamp(0.0) != 0.0
            if self.domain.is_simplex() or moved:
                return False
        return self.played_mirror().grows()

    def resolved(self, dimension: int) -> tuple[Mirror, Rate]:
        """Return the map and the rate, their dimension-dependent parameters filled in."""
        mirror = self.played_mirror().resolved(dimension)
        if self.domain is not None and self.domain.separable():
            for end in (self.domain.clamp(-math.inf), self.domain.clamp(math.inf)):
                if mirror.out_of_reach(end):
                    raise ValueError(f"{self.domain} is out of reach of {mirror.out_of_reach(end)}")
        return mirror, self.rate.resolved(lambda: mirror.natural_scale(dimension))


def choose_engine(parts: Combination, mirror: Mirror, rate: Rate, averaging: bool) -> Engine:
    """Return the engine of a checked combination; `mirror` and `rate` are the resolved ones."""
    own = rate.family if parts.domain is None or rate.family != "scalar" else parts.domain.family
    if own in OWN:
        kind = OWN[own]
    elif own not in ("scalar", "any"):
        raise ValueError(
            f"{type(rate).__name__}() with domain={parts.domain} is of the family {own!r}, which "
            "has no engine: enter one in OWN of noregret.learners.combination"
        )
    elif not parts.lazy:
        kind = AgileEngine
    else:
        kind = LinearEngine if mirror.linear() else MappedEngine
    clip = math.inf if parts.clip is None else parts.clip
    return kind(
        parts.loss, mirror, rate, averaging, parts.conservative, parts.domain, clip, parts.implicit
    )

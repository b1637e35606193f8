"""Which loss, map, rate and domain go together, and what they mean as one learner."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from noregret import domains, mirrors, rates
from noregret.component import Component, built_in
from noregret.domains import Domain
from noregret.losses import Loss
from noregret.mirrors import Mirror
from noregret.mirrors.entropies import LARGEST_EXPONENT
from noregret.proof.convexity import require_convex
from noregret.proof.strong_convexity import require_declared, require_scale
from noregret.rates import Rate


@dataclass(frozen=True)
class Combination:
    """The parts of a mirror-descent learner, checked against one another."""

    loss: Loss
    mirror: Mirror
    rate: Rate
    domain: Domain | None
    lazy: bool
    conservative: bool
    clip: float | None = None
    implicit: bool = False

    def __post_init__(self) -> None:
        _require_kind("loss", self.loss, Loss, "noregret.losses")
        require_convex(self.loss)
        _require_kind("mirror", self.mirror, Mirror, "noregret.mirrors")
        require_declared(self.mirror)
        _require_kind("rate", self.rate, Rate, "noregret.rates")
        if self.domain is not None:
            _require_kind("domain", self.domain, Domain, "noregret.domains")
        self._check_rate()
        self._check_domain()
        if not self.lazy and isinstance(
            self.mirror, (mirrors.Ball, mirrors.Box, mirrors.SoftThreshold)
        ):
            raise ValueError(
                f"{type(self.mirror).__name__} is a lazy map; with lazy=False use Euclidean() "
                "with a domain, such as domains.Ball(radius)"
            )
        if self.conservative and (self.loss.labels != "sign" or not self.loss.nonnegative):
            raise ValueError(
                f"conservative=True updates on mistakes, which {type(self.loss).__name__} does "
                "not have; use a non-negative loss with labels -1 and +1"
            )
        self._check_step()

    def _check_rate(self) -> None:
        plain = type(self.mirror) is mirrors.Euclidean
        name = type(self.rate).__name__
        if type(self.rate) is rates.Adaptive and self.rate.scale is None:
            require_scale(self.mirror)
        if isinstance(self.rate, rates.PerCoordinate):
            if not (plain or type(self.mirror) is mirrors.SoftThreshold):
                raise ValueError(f"{name} needs the map Euclidean() or SoftThreshold(l1)")
            if not self.lazy or self.domain is not None:
                raise ValueError(f"{name} is a lazy rate and takes no domain")
        if self.rate.strong_convexity() > 0.0:
            if not plain or self.domain is not None or not self.lazy or self.conservative:
                raise ValueError(
                    f"{name} belongs to losses that carry (sigma/2)||w||^2: use it with "
                    "Euclidean(), lazy=True and no domain"
                )
        if isinstance(self.rate, (rates.ScaleFree, rates.CoinBetting)):
            if not plain or self.domain is not None or not self.lazy or self.conservative:
                raise ValueError(
                    f"{name} belongs to Euclidean(): no domain, lazy=True, conservative=False"
                )
            scaled = isinstance(self.rate, rates.ScaleFree)
            if scaled and self.loss.labels == "real" and not self.loss.nonnegative:
                raise ValueError(
                    f"{name} needs a loss >= 0 for real targets, {type(self.loss).__name__} is not"
                )
            if isinstance(self.rate, rates.CoinBetting) and math.isinf(self.loss.lipschitz()):
                raise ValueError(
                    f"{name} needs a loss with a steepest slope, {type(self.loss).__name__} has "
                    "none: use ScaleFree(), or Huber(delta) in place of Squared()"
                )
        if self.rate.restarts() and isinstance(self.mirror, mirrors.SoftThreshold):
            raise ValueError(f"{name} restarts the learner, SoftThreshold counts all its rounds")

    def _check_step(self) -> None:
        if self.clip is not None:
            if self.lazy or not isinstance(self.mirror, mirrors.UnnormalizedEntropy):
                raise ValueError("clip belongs to UnnormalizedEntropy() with lazy=False")
            if not 0.0 < self.clip < math.inf:
                raise ValueError(f"clip must be a finite number above 0, got {self.clip}")
        if self.implicit and self.lazy:
            raise ValueError("implicit=True steps from the weights themselves: use lazy=False")

    def _check_domain(self) -> None:
        if self.domain is None:
            return
        domain, mirror = type(self.domain).__name__, type(self.mirror).__name__
        if type(self.mirror) is mirrors.Euclidean:
            known = (domains.Ball, domains.Box, domains.Orthant, domains.Simplex)
            if type(self.domain) not in known:
                raise ValueError(
                    f"{domain} has no projection in the stream learners; use Ball, Box, Orthant "
                    "or Simplex, or noregret.oco"
                )
            if self.lazy and type(self.domain) is domains.Simplex:
                raise ValueError(
                    "lazy projection on the simplex is for dense games (noregret.oco); here use "
                    "lazy=False, or the map Entropy(scale)"
                )
        elif type(self.mirror) is mirrors.UnnormalizedEntropy:
            if self.lazy or type(self.domain) is not domains.Box:
                raise ValueError(
                    f"domain={domain} does not go with {mirror}; use a Box with lazy=False, or "
                    "the map Entropy(scale) for the simplex"
                )
            if self.domain.low <= 0.0:
                raise ValueError(f"Box(low={self.domain.low}) must be above 0 for {mirror}")
        elif type(self.mirror) is mirrors.PNorm and type(self.domain) is domains.PNormBall:
            if self.lazy or self.domain.p != self.mirror.p:
                raise ValueError(
                    f"PNormBall(p={self.domain.p:g}) goes with PNorm({self.domain.p:g}) and "
                    f"lazy=False, not with {self.mirror}"
                )
        elif type(self.mirror) is mirrors.Entropy and type(self.domain) is domains.ClippedSimplex:
            if self.lazy or self.domain.scale != self.mirror.scale:
                raise ValueError(
                    f"{self.domain} goes with Entropy({self.domain.scale:g}) and lazy=False, "
                    f"not with {self.mirror}"
                )
        elif built_in(self.mirror):
            raise ValueError(f"the map {mirror} has a domain of its own; drop domain={domain}")
        else:
            raise ValueError(f"the map {mirror} is one of your own and takes no domain={domain}")

    def played_mirror(self) -> Mirror:
        """Return the map that the lazy pass plays: a lazy projection is a map of its own."""
        if not self.lazy or self.domain is None:
            return self.mirror
        if type(self.domain) is domains.Ball:
            return mirrors.Ball(self.domain.radius)
        if type(self.domain) is domains.Box:
            return mirrors.Box(self.domain.low, self.domain.high)
        if type(self.domain) is domains.Orthant:
            return mirrors.Box(0.0, mirrors.LARGEST_BOUND)
        raise ValueError(f"domain={type(self.domain).__name__} has no lazy projection here")

    def growable(self) -> bool:
        """Tell whether a feature never seen has weight 0 and adds nothing to S."""
        mirror = self.played_mirror()
        if isinstance(mirror, mirrors.UnnormalizedEntropy):
            return False
        if not self.lazy and self.domain is not None:
            if self.domain.is_simplex():
                return False
            if self.domain.separable() and self.domain.clamp(0.0) != 0.0:
                return False
        reference = mirror.reference(0.0, 0.0)
        return mirror.phi(0.0, reference) == 0.0 == mirror.phi_prime(0.0, reference)

    def resolved(self, dimension: int) -> tuple[Mirror, Rate]:
        """Return the map and the rate with what depends on the dimension filled in."""
        mirror, rate = self.played_mirror(), self.rate
        if isinstance(mirror, mirrors.UnnormalizedEntropy) and mirror.start is None:
            mirror = mirror.replace(start=1.0 / max(dimension, 1))
        if type(mirror) is mirrors.UnnormalizedEntropy and type(self.domain) is domains.Box:
            _require_reachable(mirror, self.domain)
        if isinstance(rate, rates.Adaptive) and rate.scale is None:
            rate = rate.replace(scale=natural_scale(mirror, dimension))
        return mirror, rate


def _require_reachable(mirror: mirrors.UnnormalizedEntropy, box: domains.Box) -> None:
    """Refuse a box whose ends the map's exponents cannot stand for."""
    assert mirror.start is not None
    for end in (box.low, box.high):
        exponent = math.log(end) - math.log(mirror.start)
        if math.isfinite(end) and not abs(exponent) <= LARGEST_EXPONENT:
            raise ValueError(
                f"{box} is out of reach of weights that start at {mirror.start:g}: they keep "
                f"within a factor exp({LARGEST_EXPONENT:g})"
            )


def natural_scale(mirror: Mirror, dimension: int) -> float:
    """Return the scale that balances the two halves of the adaptive bound over the map's set."""
    logarithm = math.log(max(dimension, 2))
    if type(mirror) is mirrors.Ball:
        return mirror.radius / math.sqrt(2.0)
    if type(mirror) is mirrors.SignedEntropy:
        return math.sqrt(math.log(2.0) + logarithm) / mirror.radius
    if type(mirror) in (mirrors.Entropy, mirrors.UnnormalizedEntropy):
        return math.sqrt(logarithm)
    smoothness = mirror.smoothness()
    return 1.0 / math.sqrt(smoothness) if smoothness > 0.0 else 1.0


def _require_kind(name: str, value: Any, kind: type[Component], where: str) -> None:
    if not isinstance(value, kind):
        hint = " (did you forget the parentheses?)" if isinstance(value, type) else ""
        raise ValueError(f"{name} must be one of {where}, got {value!r}{hint}")

"""The table of valid combinations of map, rate, domain and step, for stream learners and games.

Each row is a condition under which parts are refused, and the reason in words; the first condition
that holds gives the reason. Only this table may test the class of a map or a rate.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

from noregret import domains, losses, mirrors, rates
from noregret.component import Component, built_in
from noregret.domains import Domain
from noregret.losses import Loss
from noregret.mirrors import Mirror
from noregret.proof.convexity import require_declared
from noregret.rates import Rate

#: The base class of each part, and the module to look for one.
_BASES: dict[str, tuple[type[Component], str]] = {
    "loss": (Loss, "noregret.losses"),
    "mirror": (Mirror, "noregret.mirrors"),
    "rate": (Rate, "noregret.rates"),
    "domain": (Domain, "noregret.domains"),
}


@dataclass(frozen=True)
class Parts:
    """The parts of a learner or game; a game has no loss."""

    loss: Any
    mirror: Mirror
    rate: Rate
    domain: Domain | None = None
    lazy: bool = True
    conservative: bool = False
    clip: float | None = None
    implicit: bool = False

    def growable(self) -> bool:
        """Return whether an unseen feature has weight 0 and adds nothing to S."""
        return self.mirror.grows()


Rule = tuple[Callable[[Any], bool], str]


def _on(*kinds: type[Domain]) -> Callable[[Parts], bool]:
    return lambda p: type(p.domain) in kinds


def _maps(*kinds: type[Mirror]) -> Callable[[Parts], bool]:
    return lambda p: type(p.mirror) in kinds


#: Rates beside maps, for learners and games alike.
RATES: list[Rule] = [
    (
        lambda p: (
            p.rate.by_coordinate()
            and not (p.mirror.euclidean() or type(p.mirror) is mirrors.SoftThreshold)
        ),
        "{rate_name} needs the map Euclidean() or SoftThreshold(l1)",
    ),
    (
        lambda p: p.rate.by_coordinate() and (not p.lazy or p.domain is not None),
        "{rate_name} is a lazy rate and takes no domain: use lazy=True, domain=None",
    ),
    (
        lambda p: p.rate.restarts() and isinstance(p.mirror, mirrors.SoftThreshold),
        "{rate_name} restarts the {player}, SoftThreshold counts all its rounds",
    ),
]
#: Refusals of stream learners.
STREAM: list[Rule] = [
    (
        lambda p: p.rate.strong_convexity() > 0.0 and not _bare(p),
        "{rate_name} belongs to losses that carry (sigma/2)||w||^2: use it with Euclidean(), "
        "lazy=True and no domain",
    ),
    (
        lambda p: _own_steps(p) and not _bare(p),
        "{rate_name} belongs to Euclidean(): no domain, lazy=True, conservative=False",
    ),
    (lambda p: bool(p.rate.refused_loss(p.loss)), "{rate_name} needs {refused_loss}"),
    (
        lambda p: type(p.rate) is rates.Ridge and type(p.loss) is not losses.Squared,
        "{rate_name} needs Squared(), not {loss_name}: use Newton() or CertifiedNewton()",
    ),
    (
        lambda p: type(p.rate) is rates.Aioli and type(p.loss) is not losses.Logistic,
        "{rate_name} needs Logistic(), not {loss_name}: use Newton() or CertifiedNewton()",
    ),
    (
        lambda p: type(p.rate) is rates.Arow and type(p.loss) is not losses.Hinge,
        "{rate_name} needs Hinge(), not {loss_name}: use Newton() or CertifiedNewton()",
    ),
    *RATES,
    # Domains beside the Euclidean map.
    (
        lambda p: (
            p.domain is not None
            and p.mirror.euclidean()
            and not _on(domains.Ball, domains.Box, domains.Orthant, domains.Simplex)(p)
        ),
        "{domain_name} has no projection in the stream learners; use Ball, Box, Orthant or "
        "Simplex, or noregret.oco",
    ),
    (
        lambda p: p.mirror.euclidean() and p.lazy and _on(domains.Simplex)(p),
        "lazy projection on the simplex is for dense games (noregret.oco); here use lazy=False, "
        "or the map Entropy(scale)",
    ),
    # Domains beside other maps: each map allows one kind, with agile steps only.
    (
        lambda p: (
            p.domain is not None
            and _maps(mirrors.UnnormalizedEntropy)(p)
            and (p.lazy or not _on(domains.Box)(p))
        ),
        "domain={domain_name} does not go with {mirror_name}; use a Box with lazy=False, or the "
        "map Entropy(scale) for the simplex",
    ),
    (
        lambda p: (
            _maps(mirrors.UnnormalizedEntropy)(p) and _on(domains.Box)(p) and p.domain.low <= 0.0
        ),
        "Box(low={domain.low}) must be above 0 for {mirror_name}",
    ),
    (
        lambda p: (
            _maps(mirrors.PNorm)(p)
            and _on(domains.PNormBall)(p)
            and (p.lazy or p.domain.p != p.mirror.p)
        ),
        "PNormBall(p={domain.p:g}) goes with PNorm({domain.p:g}) and lazy=False, not with {mirror}",
    ),
    (
        lambda p: (
            _maps(mirrors.Entropy)(p)
            and _on(domains.ClippedSimplex)(p)
            and (p.lazy or p.domain.scale != p.mirror.scale)
        ),
        "{domain} goes with Entropy({domain.scale:g}) and lazy=False, not with {mirror}",
    ),
    (
        lambda p: p.domain is not None and not _has_domain(p) and built_in(p.mirror),
        "the map {mirror_name} has a domain of its own; drop domain={domain_name}",
    ),
    (
        lambda p: p.domain is not None and not _has_domain(p),
        "the map {mirror_name} is one of your own and takes no domain={domain_name}",
    ),
    (
        lambda p: not p.lazy and p.mirror.lazy_only(),
        "{mirror_name} is a lazy map; with lazy=False use Euclidean() with a domain, such as "
        "domains.Ball(radius)",
    ),
    (
        lambda p: p.conservative and (p.loss.labels != "sign" or not p.loss.nonnegative),
        "conservative=True updates on mistakes, which {loss_name} does not have; use a "
        "non-negative loss with labels -1 and +1",
    ),
    (
        lambda p: (
            p.clip is not None and (p.lazy or not isinstance(p.mirror, mirrors.UnnormalizedEntropy))
        ),
        "clip belongs to UnnormalizedEntropy() with lazy=False",
    ),
    (
        lambda p: p.clip is not None and not 0.0 < p.clip < math.inf,
        "clip must be a finite number above 0, got {clip}",
    ),
    (
        lambda p: p.implicit and p.lazy,
        "implicit=True steps from the weights themselves: use lazy=False",
    ),
]
#: Refusals of games on dense vectors; beside Euclidean() any domain is allowed.
GAME: list[Rule] = [
    (
        lambda p: _maps(mirrors.Ball, mirrors.Box)(p) and not p.lazy,
        "the map {mirror_name} is lazy; with lazy=False use Euclidean() and "
        "domain={mirror_name}(...)",
    ),
    (
        lambda p: _maps(mirrors.Ball, mirrors.Box)(p) and p.domain is not None,
        "the map {mirror_name} has a set of its own; drop domain={domain}",
    ),
    (
        lambda p: p.mirror.lazy_only() and not p.lazy,
        "{mirror_name} is a lazy map: use lazy=True",
    ),
    (
        lambda p: (
            p.domain is not None
            and _maps(mirrors.Entropy)(p)
            and not (
                _on(domains.Simplex, domains.ClippedSimplex)(p) and p.domain.scale == p.mirror.scale
            )
        ),
        "Entropy(scale={mirror.scale:g}) lives on a simplex: domain must be Simplex or "
        "ClippedSimplex of that scale, got {domain}",
    ),
    (
        lambda p: (
            p.domain is not None
            and not (p.mirror.euclidean() or _maps(mirrors.Entropy, mirrors.UnnormalizedEntropy)(p))
        ),
        "the map {mirror_name} takes no domain, got {domain}",
    ),
    (
        lambda p: _own_steps(p),
        "{rate_name} keeps records of features, which a game has not: use another rate",
    ),
    (
        lambda p: p.rate.strong_convexity() > 0.0 and not parted(p.mirror, None)[0].euclidean(),
        "{rate_name} needs the map Euclidean(): the losses are curved in the 2-norm",
    ),
    *RATES,
    (
        lambda p: isinstance(p.rate, rates.PerCoordinate) and p.rate.invariant,
        "{rate_name} needs invariant=False in a game",
    ),
]


#: Refusals of learners of several scores.
MATRIX: list[Rule] = [
    (
        lambda p: (
            not _maps(mirrors.Euclidean, mirrors.Ball, mirrors.PNorm, mirrors.SignedEntropy)(p)
        ),
        "MatrixDescent(mirror=...) must be one of Euclidean, Ball, PNorm, SignedEntropy, got "
        "{mirror!r}",
    ),
    (
        lambda p: (
            not isinstance(
                p.rate, rates.Constant | rates.InverseSqrt | rates.Adaptive | rates.ScaleFree
            )
            and not p.rate.curvature_of_scores
        ),
        "MatrixDescent(rate=...) must be one of Constant, InverseSqrt, Adaptive, ScaleFree, "
        "Newton, BlockLeader, got {rate!r}",
    ),
    (
        lambda p: (
            bool(p.rate.curvature_of_scores) and not p.loss.declares(p.rate.curvature_of_scores)
        ),
        "{rate_name} keeps matrices: it needs a loss that defines {rate.curvature_of_scores}, such "
        "as Softmax(), and {loss_name} does not; use ScaleFree() with it",
    ),
    (
        lambda p: p.rate.scaled() and not _bare(p),
        "{rate_name} belongs to Euclidean() with conservative=False",
    ),
    (
        lambda p: p.conservative and not p.loss.nonnegative,
        "conservative=True needs a loss that is never negative",
    ),
    (
        lambda p: p.implicit and not (_bare(p) and p.rate.constant()),
        "implicit=True belongs to Euclidean(), Constant(eta), not conservative",
    ),
]
#: Refusals of rankers, beside those of the learner inside.
RANKER: list[Rule] = [
    (
        lambda p: not isinstance(p.rate, rates.Constant | rates.InverseSqrt | rates.Adaptive),
        "Ranker(rate=...) must be one of Constant, InverseSqrt, Adaptive, got {rate!r}",
    ),
]


def _own_steps(p: Parts) -> bool:
    """Return whether the rate has a pass of its own, which knows no map, domain or mistakes."""
    return p.rate.family != "scalar" and not p.rate.by_coordinate()


def _bare(p: Parts) -> bool:
    """Return whether the parts are Euclidean(), lazy, without a domain and not conservative."""
    return p.mirror.euclidean() and p.domain is None and p.lazy and not p.conservative


def _has_domain(p: Parts) -> bool:
    """Return whether stream learners project on this domain beside this map."""
    return (
        p.mirror.euclidean()
        or _maps(mirrors.UnnormalizedEntropy)(p)
        or (_maps(mirrors.PNorm)(p) and _on(domains.PNormBall)(p))
        or (_maps(mirrors.Entropy)(p) and _on(domains.ClippedSimplex)(p))
    )


def require_together(parts: Parts, rules: Iterable[Rule], player: str) -> None:
    """Refuse parts that do not go together; `player` names what they would make.

    >>> require_together(Parts(None, mirrors.PNorm(3.0), rates.PerCoordinate()), STREAM, "learner")
    Traceback (most recent call last):
    ...
    ValueError: PerCoordinate needs the map Euclidean() or SoftThreshold(l1)
    """
    for refused, reason in rules:
        if refused(parts):
            names = {f"{name}_name": type(part).__name__ for name, part in vars(parts).items()}
            if "{refused_loss}" in reason:
                names["refused_loss"] = parts.rate.refused_loss(parts.loss)
            raise ValueError(reason.format(**vars(parts), **names, player=player))


def require_sound(mirror: Mirror, rate: Rate) -> None:
    """Refuse a map with a false declaration or without the one that the rate needs, and no eta."""
    require_declared(mirror)
    if rate.family == "scalar" and type(rate).at is Rate.at:
        raise ValueError(
            f"{type(rate).__name__} defines no at(rounds, squares, largest), the eta of a round: "
            "define it, or a family with a pass of its own"
        )
    if rate.needs_scale() and not built_in(mirror) and math.isnan(mirror.smoothness()):
        raise ValueError(
            f"Adaptive() takes its scale from the map, and {type(mirror).__name__} declares no "
            "smoothness(): say Adaptive(scale)"
        )


def require_kind(name: str, value: Any, otherwise: str = "") -> None:
    """Refuse a value that is not a loss, mirror, rate or domain, as `name` requires.

    otherwise: an alternative to name in the message [default: none].
    """
    kind, module = _BASES[name]
    if not isinstance(value, kind):
        hint = " (did you forget the parentheses?)" if isinstance(value, type) else ""
        raise ValueError(f"{name} must be {otherwise}one of {module}, got {value!r}{hint}")


def parted(mirror: Mirror, domain: Domain | None) -> tuple[Mirror, Domain | None]:
    """Return a map without a set of its own, and the set, for a game.

    >>> parted(mirrors.Ball(2.0), None)
    (Euclidean(), Ball(radius=2.0))
    """
    if type(mirror) is mirrors.Ball:
        return mirrors.Euclidean(), domains.Ball(mirror.radius)
    if type(mirror) is mirrors.Box:
        return mirrors.Euclidean(), domains.Box(mirror.low, mirror.high)
    if domain is None or mirror.euclidean():
        return mirror, domain
    # The others are entropies, which have the same projections and steps on a simplex.
    if type(domain) is domains.Orthant and not mirror.normalised():
        return mirror, None
    if type(domain) is domains.Simplex:
        return mirrors.Entropy(domain.scale), None
    if type(domain) is domains.ClippedSimplex:
        return mirrors.Entropy(domain.scale), domain
    return mirror, domain


def lazily_projected(domain: Domain) -> Mirror:
    """Return the map whose link is the lazy projection on the domain.

    >>> lazily_projected(domains.Orthant()).low
    0.0
    """
    if type(domain) is domains.Ball:
        return mirrors.Ball(domain.radius)
    if type(domain) is domains.Box:
        return mirrors.Box(domain.low, domain.high)
    if type(domain) is domains.Orthant:
        return mirrors.Box(0.0, mirrors.LARGEST_BOUND)
    raise ValueError(f"domain={type(domain).__name__} has no lazy projection here")

"""Where to take the tangents of a sum of parabolas: near its least value over a class.

For balls of the 2-norm, and of ||m u||_2, the minimiser is exact but for rounding. Elsewhere an
accelerated projected gradient method takes a fixed number of steps, and the best point that it
met is used: any point gives a true floor.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

from noregret.arrays import Vector
from noregret.domains import Simplex as SimplexDomain
from noregret.mirrors.predictors import Predictors, Simplex, SubSimplex
from noregret.norms import norm_upper
from noregret.proof.evidence import Evidence, FeatureSizes
from noregret.proof.ledger import LINES, Entry
from noregret.proof.quadratic import Quadratic
from noregret.rounding import grown
from noregret.trust_region import ball_minimizer

if TYPE_CHECKING:
    from noregret.proof.certificate import Certificate

#: Steps of the gradient method, and after how many the point is judged.
STEPS, LOOK = 300, 10

_Project = Callable[[Vector], Vector]
_Support = Callable[[Vector], float]


def of_ledger(
    certificate: Certificate, ledger: Vector, gradient: Vector, evidence: Evidence
) -> Certificate:
    """Return the certificate of other lines below the losses of the same rounds."""
    own = certificate.ledger.copy()
    own[LINES] = ledger[LINES]
    # Of the losses, which are the same, and of these lines.
    own[Entry.MAGNITUDE] += abs(certificate.ledger[Entry.MAGNITUDE])
    return certificate.of_lines(ledger=own, gradient=gradient, evidence=evidence, curves=())


def _tangent(certificate: Certificate, one: Quadratic, v: Vector, share: float) -> Certificate:
    """Return the certificate of the tangent at v."""
    ledger, gradient = one.tangent(v, share)
    # Features that were announced and have not occurred have no part in Z.
    more = len(certificate.gradient) - len(gradient)
    whole = np.pad(gradient, (0, more))
    return of_ledger(certificate, ledger, whole, certificate.evidence.of_lines(whole))


def curved_floor(
    certificate: Certificate, radius: float | None = None, norm: float | None = None
) -> tuple[float, float]:
    """Return the largest floor that parabolas prove, and the radius that they were made for.

    It is minus infinity where none are right for the whole class.
    radius, norm: as `certificate.floor` takes them.
    """
    best = -math.inf, math.nan
    for one in certificate.curves if certificate.rounds else ():
        share = one.share(reach_of(certificate, one, radius, norm))
        if share > 0.0:
            # A print asks several times, and each time takes an eigendecomposition.
            if (radius, norm) not in one.lowest:
                one.lowest[radius, norm] = _lowest(certificate, one, share, radius, norm)
            v = one.lowest[radius, norm]
            floor = _tangent(certificate, one, v, share)._floor(radius, norm)
            best = max(best, (floor, one.radius))
    return best


def ridged(certificate: Certificate, eta: float | None) -> list[Certificate]:
    """Return tangents of the parabolas that hold for all u, where they are low with a ridge.

    eta: as `certificate.regularized_floor` takes it.
    """
    eta = float(certificate.ledger[Entry.LAST_ETA]) if eta is None else eta
    ridge = certificate.curvature or (1.0 / eta if eta > 0.0 else 0.0)
    if not 0.0 < ridge < math.inf or not certificate.rounds:
        return []
    everywhere = [one for one in certificate.curves if math.isinf(one.radius)]
    return [_tangent(certificate, one, lowest_regularised(one, ridge), 1.0) for one in everywhere]


def touching(certificate: Certificate, u: Vector) -> list[Certificate]:
    """Return tangents at u, where the parabolas themselves are, of those that hold there."""
    found = []
    for one in certificate.curves:
        inside = u[: len(one.sizes)]
        share = one.share(grown(norm_upper(one.units * inside, 2.0), 4.0))
        if share > 0.0:
            found.append(_tangent(certificate, one, inside, share))
    return found


def reach_of(
    certificate: Certificate, one: Quadratic, radius: float | None, norm: float | None
) -> float:
    """Return an upper bound on ||m u||_2 over the class of a floor, m the units."""
    units = one.units
    largest = float(units.max(initial=0.0))
    domain = certificate.own_domain(radius, norm)
    if domain is not None:
        if domain.is_simplex():
            return _times(domain.extent(), largest)
        side = domain.largest_coordinate(max(len(certificate.gradient), 1))
        return grown(side * norm_upper(units, 2.0), 4.0)
    ball = certificate._radius(radius)
    if norm is None and isinstance(certificate.evidence, FeatureSizes):
        return _times(ball, _apart(one, certificate.evidence))
    q = _class_of(certificate, norm).exponent
    if q <= 2.0:
        return _times(ball, largest)
    # ||m u||_2 <= ||m||_s ||u||_q with 1/2 = 1/s + 1/q.
    s = 2.0 if q == math.inf else 2.0 * q / (q - 2.0)
    return grown(ball * norm_upper(units, s), 8.0)


def _apart(one: Quadratic, evidence: FeatureSizes) -> float:
    """Return the largest ratio of the units to those of the class, at least 1."""
    if evidence.sizes is None or not one.measured:
        return math.inf
    own = evidence.sizes[: len(one.sizes)]
    used = one.sizes > 0.0
    with np.errstate(divide="ignore"):
        ratios = one.units[used] / own[used]
    return float(ratios.max(initial=1.0))


def _times(ball: float, size: float) -> float:
    """Return the product rounded up, and the very radius for units of 1."""
    return ball if size == 1.0 or ball == 0.0 else grown(ball * size, 4.0)


def _class_of(certificate: Certificate, norm: float | None) -> Predictors:
    return certificate.mirror.predictors() if norm is None else Predictors.of_norm(norm)


def _lowest(
    certificate: Certificate,
    one: Quadratic,
    share: float,
    radius: float | None,
    norm: float | None,
) -> Vector:
    """Return a point where the parabolas are low over the class."""
    domain = certificate.own_domain(radius, norm)
    if domain is not None:
        return _descend(one, share, domain.project, lambda rho: domain.support(-rho))
    ball = certificate._radius(radius)
    evidence = certificate.evidence
    if norm is None and isinstance(evidence, FeatureSizes) and evidence.sizes is not None:
        units = evidence.sizes[: len(one.sizes)]
        # What never occurred has no part in the parabolas.
        return lowest_in_ball(one, share, ball, np.where(units > 0.0, units, 1.0))
    kind = _class_of(certificate, norm)
    if type(kind) is Predictors and kind.dual == 2.0:
        return lowest_in_ball(one, share, ball, np.ones(len(one.sizes)))
    return _descend(one, share, projection(kind, ball), lambda rho: kind.support_upper(rho, ball))


def lowest_in_ball(one: Quadratic, share: float, radius: float, units: Vector) -> Vector:
    """Return the minimiser of the parabolas over ||units u||_2 <= radius."""
    with np.errstate(over="ignore", invalid="ignore"):
        matrix = share * one.matrix / units / units[:, None]
        found = ball_minimizer(matrix, -one.slopes(share) / units, radius) / units
    return np.asarray(found)


def lowest_regularised(one: Quadratic, ridge: float) -> Vector:
    """Return the minimiser of the parabolas plus (ridge/2) ||u||_2^2."""
    matrix = one.matrix + ridge * np.eye(len(one.sizes))
    return ball_minimizer(matrix, -one.slopes(1.0), FAR)


#: A radius that does not bind.
FAR = 1e100


def projection(kind: Predictors, radius: float) -> _Project:
    """Return the projection on a class of predictors, or what brings points into it.

    >>> projection(Predictors.of_norm(1.0), 1.0)(np.array([3.0, -2.5])).tolist()
    [0.75, -0.25]
    """
    if radius <= 0.0:
        return np.zeros_like
    onto = SimplexDomain(radius).project
    if isinstance(kind, Simplex):
        return onto
    if isinstance(kind, SubSimplex):
        return lambda u: np.maximum(u, 0.0) if np.maximum(u, 0.0).sum() <= radius else onto(u)
    if kind.exponent == math.inf:
        return lambda u: np.clip(u, -radius, radius)
    if kind.exponent == 1.0:
        return lambda u: u if np.abs(u).sum() <= radius else np.sign(u) * onto(np.abs(u))
    return lambda u: u * min(1.0, radius / (kind.norm(u) or 1.0))


def _descend(one: Quadratic, share: float, project: _Project, support: _Support) -> Vector:
    """Return the best point of an accelerated projected gradient method."""
    best = at = ahead = project(np.zeros(len(one.sizes)))
    with np.errstate(over="ignore", invalid="ignore"):
        matrix, slopes = share * one.matrix, one.slopes(share)
        steepest = float(np.abs(matrix).sum(axis=1).max(initial=0.0))
        if not 0.0 < steepest < math.inf or not np.all(np.isfinite(slopes)):
            return best
        highest, pace = -math.inf, 1.0
        for step in range(STEPS + 1):
            if step % LOOK == 0:
                height = one.height(at, share, support(slopes + matrix @ at))
                if height > highest:
                    highest, best = height, at
            moved = project(ahead - (slopes + matrix @ ahead) / steepest)
            if float((ahead - moved) @ (moved - at)) > 0.0:
                # The momentum points uphill: start again without it.
                pace = 1.0
            following = 0.5 + math.sqrt(0.25 + pace * pace)
            ahead = moved + (pace - 1.0) / following * (moved - at)
            at, pace = moved, following
    return best

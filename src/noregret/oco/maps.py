"""The mirror maps on dense vectors: links, potentials, divergences and projections in numpy.

A map is handled through a = eta theta: w = link(a) = grad G(a), with G the conjugate of the
regulariser R at eta = 1, normalised to min R = 0. A domain beside the map restricts R to it;
its link is the Bregman projection of the map's own link, which is what "lazy projection" means.
"""

from __future__ import annotations

import math
from typing import TypeGuard

import numpy as np
import numpy.typing as npt

from noregret import mirrors
from noregret.domains import Domain
from noregret.mirrors import Mirror
from noregret.mirrors.entropies import LARGEST_EXPONENT
from noregret.proof import geometry

Vector = npt.NDArray[np.float64]

ENTROPIES = (mirrors.Entropy, mirrors.UnnormalizedEntropy)
#: Maps whose regulariser and conjugate `noregret.proof.geometry` knows.
KNOWN = (
    mirrors.Euclidean,
    mirrors.PNorm,
    mirrors.Entropy,
    mirrors.UnnormalizedEntropy,
    mirrors.SignedEntropy,
)

#: Maps whose divergence is half the squared distance.
_SQUARES = (mirrors.Euclidean, mirrors.Ball, mirrors.SoftThreshold)


def _entropic(mirror: Mirror) -> TypeGuard[mirrors.Entropy | mirrors.UnnormalizedEntropy]:
    return type(mirror) in ENTROPIES


def link(mirror: Mirror, a: Vector) -> Vector:
    """Return the weights of a map without a domain, w = grad G(a)."""
    if type(mirror) in (mirrors.Euclidean, mirrors.SoftThreshold):
        return a.copy()
    if type(mirror) is mirrors.Entropy:
        share = np.exp(a - a.max())
        return mirror.scale * (share / share.sum())  # type: ignore[no-any-return]
    if type(mirror) is mirrors.UnnormalizedEntropy:
        return _start(mirror, len(a)) * np.exp(np.minimum(a, LARGEST_EXPONENT))
    if type(mirror) is mirrors.PNorm:
        return _power_link(a, mirror.p)
    if type(mirror) is mirrors.SignedEntropy:
        t = mirror.radius * np.abs(a)
        top = t.max()
        odd = np.exp(t - top) * -np.expm1(-2.0 * t)
        even = np.exp(t - top) + np.exp(-t - top)
        return mirror.radius * np.copysign(odd, a) / even.sum()  # type: ignore[no-any-return]
    s, reference = _sum_of_phi(mirror, a)
    values = [mirror.phi_prime(float(x), reference) for x in a]
    return mirror.kappa(s, reference, 1.0) * np.array(values)


def _power_link(a: Vector, p: float) -> Vector:
    """Return sign(a_i) |a_i|^(p-1) / ||a||_p^(p-2), scaled against overflow; 0 at 0."""
    largest = float(np.abs(a).max())
    if largest == 0.0:
        return np.zeros_like(a)
    ratio = np.abs(a) / largest
    length = float(np.sum(ratio**p)) ** ((p - 2.0) / p)
    size: Vector = largest * ratio ** (p - 1.0) / length
    return np.copysign(size, a)


def _start(mirror: mirrors.UnnormalizedEntropy, dimension: int) -> float:
    return 1.0 / dimension if mirror.start is None else mirror.start


def _sum_of_phi(mirror: Mirror, a: Vector) -> tuple[float, float]:
    """Return S and the reference of a map that is known only by its scalar functions."""
    reference = mirror.reference(float(a.max()), float(np.abs(a).max()))
    return math.fsum(mirror.phi(float(x), reference) for x in a), reference


def inverse_link(mirror: Mirror, w: Vector) -> Vector:
    """Return an a with link(a) = w."""
    if type(mirror) is mirrors.Euclidean:
        return w.copy()
    if _entropic(mirror):
        if not np.all(w > 0.0):
            raise ValueError(f"w must be above 0 in every coordinate for {type(mirror).__name__}")
        # The entropy of a simplex is that of weights which start at any number.
        first = mirror.scale if isinstance(mirror, mirrors.Entropy) else _start(mirror, len(w))
        a: Vector = np.log(w / first)
        return a
    if type(mirror) is mirrors.PNorm:
        return _power_link(w, mirror.p / (mirror.p - 1.0))
    raise ValueError(f"the link of {type(mirror).__name__} has no inverse here")


def potential(mirror: Mirror, a: Vector) -> float:
    """Return G(a) of a map without a domain, with G(0) = 0."""
    if type(mirror) is mirrors.Euclidean:
        return 0.5 * float(a @ a)
    if type(mirror) is mirrors.PNorm:
        return 0.5 * float(link(mirror, a) @ a)
    if type(mirror) is mirrors.Entropy:
        top = float(a.max())
        return mirror.scale * (math.log(float(np.exp(a - top).mean())) + top)
    if type(mirror) is mirrors.UnnormalizedEntropy:
        return _start(mirror, len(a)) * float(np.expm1(np.minimum(a, LARGEST_EXPONENT)).sum())
    if type(mirror) is mirrors.SignedEntropy:
        t = mirror.radius * np.abs(a)
        top = float(t.max())
        return math.log(float((0.5 * (np.exp(t - top) + np.exp(-t - top))).mean())) + top
    zero = _sum_of_phi(mirror, np.zeros_like(a))
    return mirror.psi(*_sum_of_phi(mirror, a)) - mirror.psi(*zero)


def project(mirror: Mirror, domain: Domain, w: Vector) -> Vector:
    """Return the projection of w on the domain in the map's own divergence."""
    return domain.project_entropic(w) if _entropic(mirror) else domain.project(w)


def constrained_link(mirror: Mirror, domain: Domain | None, a: Vector) -> Vector:
    """Return argmax over the domain of <w, a> - R(w)."""
    w = link(mirror, a)
    return w if domain is None else project(mirror, domain, w)


def constrained_potential(mirror: Mirror, w: Vector, a: Vector, first: Vector) -> float:
    """Return the maximum over a domain of <w, a> - R(w) + R(w_1), from its maximiser w."""
    lowest = geometry.regularizer(mirror, first, 1.0)
    return float(w @ a) - geometry.regularizer(mirror, w, 1.0) + lowest


def stability(mirror: Mirror, a: Vector, w: Vector, step: Vector) -> float:
    """Return G(a - step) - G(a) + <w, step> for w = link(a), without cancellation where known.

    It is the Bregman divergence of G, and that of R between w and the point stepped to.
    """
    if type(mirror) in (mirrors.Euclidean, mirrors.SoftThreshold):
        return 0.5 * float(step @ step)
    if type(mirror) is mirrors.Entropy:
        share = w / float(w.sum())
        centred = step - float(share @ step)
        if float(np.abs(centred).max()) < 30.0:
            return mirror.scale * math.log1p(float(share @ _second_order(centred)))
    elif type(mirror) is mirrors.UnnormalizedEntropy and float(-step.min()) < 30.0:
        return float(w @ _second_order(step))
    return max(potential(mirror, a - step) - potential(mirror, a) + float(w @ step), 0.0)


def _second_order(x: Vector) -> Vector:
    """Return exp(-x) - 1 + x, right to the last places also where x is small."""
    series = np.zeros_like(x)
    for k in range(14, 1, -1):
        series = (series * -x + 1.0) / k
    with np.errstate(over="ignore"):
        return np.where(np.abs(x) < 0.25, x * x * series, np.expm1(-x) + x)


def divergence(mirror: Mirror, u: npt.ArrayLike, w: npt.ArrayLike) -> float:
    """Return the Bregman divergence D(u, w) = R(u) - R(w) - <grad R(w), u - w> of a map.

    Euclidean: ||u - w||^2 / 2; unnormalised entropy: sum u_i ln(u_i / w_i) + w_i - u_i; the
    entropy on the simplex is the same where u and w have the same sum.
    Reference: Herbster and Warmuth, Tracking the Best Linear Predictor, section 3.

    >>> divergence(mirrors.Euclidean(), [3.0, 1.0], [1.0, 1.0])
    2.0
    """
    left, right = np.array(u, np.float64), np.array(w, np.float64)
    if left.ndim != 1 or left.shape != right.shape:
        raise ValueError(f"u has shape {left.shape}, w has shape {right.shape}: expected one shape")
    if _entropic(mirror):
        if np.any(left < 0.0) or np.any(right < 0.0):
            raise ValueError("u and w must not be negative for an entropy")
        if np.any((right == 0.0) & (left > 0.0)):
            return math.inf
        some = left > 0.0
        u_, w_ = left[some], right[some]
        # Near one another u ln(u/w) and w - u nearly cancel: the error is then that of u - w.
        near = np.abs(u_ - w_) < 0.5 * w_
        logs = np.log(u_) - np.log(w_)
        logs[near] = np.log1p((u_[near] - w_[near]) / w_[near])
        terms = u_ * logs - (u_ - w_)
        value = float(terms.sum() + right[~some].sum())
        if type(mirror) is mirrors.Entropy:
            value += float(left.sum() - right.sum())
        return max(value, 0.0)
    if type(mirror) in (*_SQUARES, mirrors.Box):
        return 0.5 * float((left - right) @ (left - right))
    if type(mirror) is mirrors.PNorm:
        regularizers = [geometry.regularizer(mirror, v, 1.0) for v in (left, right)]
        return (
            regularizers[0] - regularizers[1] - float(inverse_link(mirror, right) @ (left - right))
        )
    raise ValueError(f"{type(mirror).__name__} has no divergence here")

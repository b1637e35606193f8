"""The classes of predictors that floors speak about: norms, regularisers and conjugates.

Everything here is dense numpy, used when a certificate is read and never in a pass. A function
whose name ends in `_upper` returns a number that is not below the true one: its own rounding is
added, and so is an error `delta` with which theta is known (in the 1-norm, hence in any norm).
"""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from noregret import domains, mirrors
from noregret.component import built_in
from noregret.domains import Domain
from noregret.mirrors import Mirror
from noregret.mirrors.base import declares
from noregret.rounding.printed import down
from noregret.rounding.slack import EPSILON

Vector = npt.NDArray[np.float64]

#: Twice the unit roundoff of double precision.

_PORTION = 1 << 16

#: The dual exponents of the classes that a map can name; `PNorm` and `Power` have their own.
_DUALS = {"1": math.inf, "simplex": math.inf, "subsimplex": math.inf, "2": 2.0}

#: Maps whose regulariser is half the squared 2-norm, on all points or on a ball.
_SQUARES = (mirrors.Euclidean, mirrors.Ball, mirrors.SoftThreshold)


def dual_exponent(mirror: Mirror, norm: float | None = None) -> float:
    """Return the p of the dual norm; `norm` is the q of a predictor's norm and overrides the map's.

    >>> dual_exponent(mirrors.Euclidean(), norm=1)
    inf
    """
    if norm is None:
        if mirror.geometry == "q" and isinstance(mirror, mirrors.PNorm):
            return mirror.p
        if mirror.geometry == "p" and isinstance(mirror, mirrors.Power):
            return mirror.p / (mirror.p - 1.0)
        if mirror.geometry not in _DUALS:
            raise ValueError(
                f"{type(mirror).__name__}.geometry must be one of {', '.join(_DUALS)}, got "
                f"{mirror.geometry!r}"
            )
        return _DUALS[mirror.geometry]
    if not norm >= 1.0:
        raise ValueError(f"norm must be 1, 2, inf or a number >= 1, got {norm}")
    if norm == 1.0:
        return math.inf
    return 1.0 if norm == math.inf else norm / (norm - 1.0)


def norm_upper(z: Vector, p: float) -> float:
    """Return ||z||_p, rounded up.

    >>> 5.0 <= norm_upper(np.array([3.0, 4.0]), 2.0) < 5.0 + 1e-13
    True
    """
    largest = max(float(z.max(initial=0.0)), -float(z.min(initial=0.0)))
    if largest == 0.0 or p == math.inf:
        return largest
    total = 0.0
    # A portion at a time: vectors of millions of weights need no second one beside them.
    for start in range(0, len(z), _PORTION):
        ratio = np.abs(z[start : start + _PORTION]) / largest
        total += float(np.sum(ratio * ratio if p == 2.0 else ratio**p))
    value = largest * (math.sqrt(total) if p == 2.0 else math.pow(total, 1.0 / p))
    # Every term carries a few roundings (p of them through the power), the sum one a term;
    # ratios that underflow lose less than one smallest number each.
    return value * (1.0 + (len(z) + 8.0 + 4.0 * p) * EPSILON) + len(z) * 5e-324


def columns_upper(z: Vector) -> float:
    """Return the sum of the 2-norms of the rows of z, rounded up.

    >>> 7.0 <= columns_upper(np.array([[3.0, 4.0], [0.0, 2.0]])) < 7.0 + 1e-13
    True
    """
    return math.fsum(norm_upper(row, 2.0) for row in z) * (1.0 + 2.0 * EPSILON)


def spectral_upper(z: Vector) -> float:
    """Return the largest singular value of a matrix, rounded up.

    It is the root of the largest eigenvalue of G = a a^T, a = z / max |z|. Whatever l and q came
    out as eigenvalues and eigenvectors, it is at most max l ||q||^2 + ||G - q l q^T||_F, with
    ||q||^2 <= 1 + ||q^T q - 1||_F: nothing is left to trust but sums of products.

    >>> 2.0 <= spectral_upper(np.array([[2.0, 0.0, 0.0], [0.0, 1.0, 0.0]])) < 2.0 + 1e-12
    True
    """
    frobenius = norm_upper(z.ravel(), 2.0)
    largest = max(float(z.max(initial=0.0)), -float(z.min(initial=0.0)))
    if not 0.0 < largest < math.inf:
        return frobenius
    a = (z if z.shape[0] <= z.shape[1] else z.T) / largest
    n, terms = a.shape
    gram = a @ a.T
    level, q = np.linalg.eigh(gram)
    square = float(np.sum(a * a))
    top = float(np.abs(level).max())
    off = float(np.linalg.norm(q.T @ q - np.eye(n)))
    off += 2.0 * n * (n + 4.0) * EPSILON * (1.0 + off)
    residual = float(np.linalg.norm(gram - (q * level) @ q.T))
    residual += 2.0 * n * (n + 4.0) * EPSILON * top * (1.0 + off)
    residual += 2.0 * (terms + 4.0) * EPSILON * square
    bound = largest * math.sqrt(top * (1.0 + off) + residual) * (1.0 + 32.0 * EPSILON)
    # Entries of a are rounded, and may underflow.
    bound += EPSILON * frobenius + n * terms * 5e-324
    return float(min(bound, frobenius))


def predictor_norm(mirror: Mirror, u: Vector) -> float:
    """Return the norm of a predictor in the map's own geometry."""
    p = dual_exponent(mirror)
    q = 1.0 if p == math.inf else p / (p - 1.0)
    return norm_upper(u, q)


def support_upper(
    mirror: Mirror, z: Vector, radius: float, delta: float, norm: float | None = None
) -> float:
    """Return the maximum of <u, -z> over the map's class of that radius, rounded up.

    The class is a norm ball, the simplex of that scale for `Entropy`, and the non-negative
    vectors of sum at most `radius` for `UnnormalizedEntropy`.
    """
    if norm is None and mirror.geometry in ("simplex", "subsimplex"):
        best = float(np.max(-z, initial=-math.inf if mirror.geometry == "simplex" else 0.0))
        value = radius * best
    else:
        value = radius * norm_upper(z, dual_exponent(mirror, norm))
    return value + radius * delta + 4.0 * EPSILON * abs(value)


def describe(mirror: Mirror, radius: float, norm: float | None = None) -> str:
    """Return the class of predictors in words.

    >>> describe(mirrors.Euclidean(), 5.0)
    'every u with ||u||_2 <= 5'
    """
    # Printed digits must not make the class larger than the one that is certified.
    if norm is None and mirror.geometry == "simplex":
        return f"every u >= 0 with sum {radius!r}".removesuffix(".0")
    if norm is None and mirror.geometry == "subsimplex":
        return f"every u >= 0 with sum <= {down(radius)}"
    p = dual_exponent(mirror, norm)
    q = 1.0 if p == math.inf else (math.inf if p == 1.0 else p / (p - 1.0))
    return f"every u with ||u||_{down(q, 4)} <= {down(radius)}"


def own_radius(mirror: Mirror) -> float | None:
    """Return the radius or scale that the map itself carries, if it has one."""
    if type(mirror) is mirrors.Ball or type(mirror) is mirrors.SignedEntropy:
        return mirror.radius
    return mirror.scale if type(mirror) is mirrors.Entropy else None


def regularizer(mirror: Mirror, u: Vector, eta: float, rounds: float = 0.0) -> float:
    """Return R(u) / eta with min R = 0, infinity outside the map's set.

    `SoftThreshold` adds l1 ||u||_1 for each of the rounds, which no rate divides.

    >>> regularizer(mirrors.Euclidean(), np.array([3.0, 4.0]), 0.5)
    25.0
    """
    if type(mirror) is mirrors.Entropy:
        if np.any(u < 0.0) or abs(float(u.sum()) - mirror.scale) > 1e-9 * mirror.scale:
            return math.inf
        return float(_xlogx(u, mirror.scale / len(u)).sum()) / eta
    if type(mirror) is mirrors.UnnormalizedEntropy:
        start = float(mirror.start or 1.0 / max(len(u), 1))
        if np.any(u < 0.0):
            return math.inf
        return float((_xlogx(u, start) - u + start).sum()) / eta
    if type(mirror) is mirrors.SignedEntropy:
        return _signed_complexity(u / mirror.radius) / eta
    if type(mirror) is mirrors.PNorm:
        length = norm_upper(u, mirror.p / (mirror.p - 1.0))
        return length * length / (2.0 * eta)
    if type(mirror) is mirrors.Power:
        return float(np.sum(np.abs(u) ** mirror.p)) / mirror.p / eta
    if type(mirror) is mirrors.Hypentropy:
        return float(_two_sided(u, 2.0 * mirror.beta).sum()) / eta
    if type(mirror) is mirrors.Box:
        first = mirror.phi_prime(0.0, 0.0)
        inside = bool(np.all((u >= mirror.low) & (u <= mirror.high)))
        return float(np.sum(0.5 * u * u - 0.5 * first * first)) / eta if inside else math.inf
    if type(mirror) not in (*_SQUARES, mirrors.ElasticNet):
        raise ValueError(f"{type(mirror).__name__} declares no regulariser of single points")
    square = float(u @ u)
    if type(mirror) is mirrors.ElasticNet:
        return (0.5 * square + mirror.l1 * float(np.abs(u).sum())) / eta
    if type(mirror) is mirrors.Ball and square > mirror.radius**2 * (1.0 + 1e-12):
        return math.inf
    return square / (2.0 * eta) + mirror.threshold(rounds) * float(np.abs(u).sum())


def _xlogx(u: Vector, base: float) -> Vector:
    """Return u ln(u / base), 0 where u is 0."""
    terms = np.zeros_like(u)
    some = u > 0.0
    terms[some] = u[some] * np.log(u[some] / base)
    return terms


def _two_sided(u: Vector, scale: float) -> Vector:
    """Return u asinh(u / scale) - sqrt(u^2 + scale^2) + scale, without cancellation near 0."""
    size = np.abs(u)
    excess = size / (np.hypot(size, scale) + scale) * size
    return size * np.arcsinh(size / scale) - excess


def _signed_complexity(a: Vector) -> float:
    """Return the two-sided entropy of a, ||a||_1 <= 1, by its monotone equation.

    With Z >= n the root of Z = sum sqrt(1 + Z^2 a_i^2), the value is
    sum a_i asinh(Z a_i) - ln(Z / n); on the sphere it is sum |a_i| ln|a_i| + ln(2 n).
    """
    size = np.abs(a)
    total = float(size.sum())
    if total > 1.0 + 1e-12:
        return math.inf
    n = len(a)
    if total >= 1.0 - 1e-12:
        return float(_xlogx(size, 1.0).sum()) + math.log(2.0 * n)
    low, high = float(n), n / (1.0 - total)
    for _ in range(200):
        middle = 0.5 * (low + high)
        if float(np.hypot(1.0, middle * size).sum()) > middle:
            low = middle
        else:
            high = middle
    return float(np.sum(a * np.arcsinh(high * a))) - math.log(high / n)


def largest_regularizer(mirror: Mirror, radius: float, eta: float, dimension: int) -> float:
    """Return the maximum of R(u) / eta over the map's class of that radius, NaN if not declared.

    >>> largest_regularizer(mirrors.Euclidean(), 2.0, 0.5, 3)
    4.0
    """
    if not declares(mirror, "largest_regularizer"):
        return math.nan
    largest = mirror.largest_regularizer(radius, max(dimension, 1))
    return largest / eta if eta > 0.0 else math.inf


def smoothness(mirror: Mirror) -> float:
    """Return the c for which a round costs at most (eta/2) c ||z||_*^2, NaN if not declared.

    >>> smoothness(mirrors.PNorm(3.0))
    2.0
    """
    return mirror.smoothness() if declares(mirror, "smoothness") else math.nan


def undeclared(mirror: Mirror) -> str:
    """Say which declaration of strong convexity a map of one's own lacks, or ''.

    >>> undeclared(mirrors.Power(1.5))
    ''
    """
    if built_in(mirror):
        return ""
    lacks = []
    if math.isnan(smoothness(mirror)):
        lacks.append("smoothness()")
    if math.isnan(largest_regularizer(mirror, 1.0, 1.0, 1)):
        lacks.append("largest_regularizer()")
    return f"{type(mirror).__name__} declares no {' and no '.join(lacks)}" if lacks else ""


def corners(domain: Domain | None, dimension: int) -> list[Vector]:
    """Return points of the domain among which R and every norm are largest, [] if not known.

    They are convex and the same for all coordinates: on a box they are largest where every
    coordinate is at the same end, on balls and simplices at a corner.

    >>> corners(domains.Box(-1.0, 2.0), 2)
    [array([-1., -1.]), array([2., 2.])]
    """
    unit = np.eye(1, dimension).ravel()
    if type(domain) is domains.Ball:
        return [domain.radius * unit]
    if type(domain) is domains.Box and math.isfinite(domain.low + domain.high):
        return [np.full(dimension, domain.low), np.full(dimension, domain.high)]
    if type(domain) is domains.Simplex:
        return [domain.scale * unit]
    if type(domain) is domains.ClippedSimplex:
        return [domain.floor(dimension) + domain.scale * (1.0 - domain.alpha) * unit]
    return []


def conjugate_upper(
    mirror: Mirror,
    theta: Vector,
    eta: float,
    delta: float,
    rounds: float,
    factors: Vector | None = None,
) -> float:
    """Return R*(theta) for R / eta with min R = 0, rounded up.

    For per-coordinate rates, R(u) = sum u_i^2 / (2 factor_i).
    """
    d = len(theta)
    growth = 1.0 + (d + 64.0) * EPSILON
    if factors is not None or type(mirror) is mirrors.SoftThreshold:
        reach = np.maximum(np.abs(theta) + delta - mirror.threshold(rounds), 0.0)
        scales = factors if factors is not None else np.full(d, eta)
        return 0.5 * float(np.sum(scales * reach * reach)) * growth
    if type(mirror) is mirrors.ElasticNet:
        # Divided before it is multiplied, as for the ball.
        reach = np.maximum(eta * (np.abs(theta) + delta) * growth - mirror.l1, 0.0)
        return 0.5 * float(np.sum(reach / eta * reach)) * growth
    if type(mirror) is mirrors.Ball:
        length = eta * (norm_upper(theta, 2.0) + delta) * growth
        inside = min(length, mirror.radius)
        # Divided before it is multiplied: squares of short lengths underflow.
        return inside / eta * (length - 0.5 * inside) * growth
    if type(mirror) is mirrors.Euclidean or type(mirror) is mirrors.PNorm:
        length = norm_upper(theta, dual_exponent(mirror)) + delta
        return 0.5 * eta * length * length * growth
    if type(mirror) is mirrors.Box:
        first = mirror.phi_prime(0.0, 0.0)
        best, size = np.full(d, -math.inf), 0.0
        for a in (eta * (theta - delta), eta * (theta + delta)):
            w = np.clip(a, mirror.low, mirror.high)
            best = np.maximum(best, w * (a - 0.5 * w) + 0.5 * first * first)
            # The terms may cancel: rounding is proportional to each of them.
            size += float(np.sum(np.abs(w) * (np.abs(a) + np.abs(w)))) + d * first * first
        return (float(best.sum()) + (growth - 1.0) * size) / eta
    if type(mirror) is mirrors.Entropy:
        a = eta * theta
        top = float(a.max(initial=-math.inf))
        mean = math.log(float(np.exp(a - top).mean())) + top
        return mirror.scale * (mean / eta + delta) + 8.0 * growth * EPSILON * (
            mirror.scale / eta
        ) * (abs(top) + math.log(d) + d)
    if type(mirror) is mirrors.SignedEntropy:
        t = mirror.radius * eta * np.abs(theta)
        top = float(t.max(initial=0.0))
        mean = math.log(float((0.5 * (np.exp(t - top) + np.exp(-t - top))).mean())) + top
        return mean / eta + mirror.radius * delta + 8.0 * EPSILON * (top + math.log(d) + d) / eta
    if type(mirror) is mirrors.UnnormalizedEntropy:
        a = eta * (theta + delta)
        start = float(mirror.start or 1.0 / d)
        with np.errstate(over="ignore"):
            terms = start * np.expm1(a)
        if not np.all(np.isfinite(terms)):
            return math.inf
        # A rounding of the exponent a moves the exponential by |a| roundings.
        size = float(np.sum((np.abs(a) + d + 64.0) * (np.abs(terms) + start * np.abs(a))))
        # Products of the smallest numbers underflow, and so would what stands for their errors.
        lost = d * (1.0 + start) * 1e-300
        return (float(terms.sum()) + 2.0 * growth * EPSILON * size + lost) / eta
    if type(mirror) is mirrors.Power or type(mirror) is mirrors.Hypentropy:
        return _sum_upper(mirror, eta * (np.abs(theta) + delta), eta)
    raise ValueError(
        f"{type(mirror).__name__} has no conjugate rounded upwards; floor(radius) is available"
    )


def has_conjugate(mirror: Mirror) -> bool:
    """Tell whether `conjugate_upper` knows the map: a map of one's own it does not.

    >>> has_conjugate(mirrors.PNorm(3.0))
    True
    """
    try:
        conjugate_upper(mirror, np.zeros(1), 1.0, 0.0, 0.0)
    except ValueError:
        return False
    return True


def _sum_upper(mirror: mirrors.Power | mirrors.Hypentropy, a: Vector, eta: float) -> float:
    """Return sum_i phi(a_i) / eta for a >= 0, rounded up."""
    d = len(a)
    with np.errstate(over="ignore"):
        if isinstance(mirror, mirrors.Power):
            q = mirror.dual()
            # A relative error of a or q grows by this factor in the power.
            logs = np.log(np.maximum(a, 5e-324))
            terms, errors = a**q / q, 8.0 * q * (1.0 + np.abs(logs))
        else:
            half = np.sinh(0.5 * a)
            terms, errors = 4.0 * mirror.beta * half * half, 8.0 * (1.0 + a)
        size = float(np.sum((errors + d + 64.0) * terms))
        total = float(terms.sum())
    # What underflows loses less than one smallest number a term.
    return (total + 2.0 * EPSILON * size + d * 5e-324) / eta

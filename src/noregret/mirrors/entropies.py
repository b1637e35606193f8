"""Maps built on entropies: multiplicative weights on a simplex or on the orthant."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import ClassVar, Self

import numpy as np

from noregret.arrays import Vector
from noregret.component import POSITIVE, reassociable, yes
from noregret.elementary import divide, exp, log
from noregret.mirrors.base import ConvexSet, Mirror
from noregret.mirrors.separable import Separable
from noregret.rounding import EPSILON

#: Exponents are capped here: exp overflows above 709, and weights are multiples of it.
LARGEST_EXPONENT = 700.0


class Exponential(Mirror):
    """A map built on exponentials, with rows measured in the max norm."""

    multiplicative = yes

    @reassociable
    def norm_term(self, total: float, x: float) -> float:
        """Fold in |x|."""
        return max(total, abs(x))

    def norm(self, total: float) -> float:
        """Return max |x_i|."""
        return total

    def _logs(self, w: Vector, first: float) -> Vector:
        """Return ln(w_i / first), or refuse a weight of 0."""
        if not np.all(w > 0.0):
            raise ValueError(f"w must be above 0 in every coordinate for {type(self).__name__}")
        return np.asarray(np.log(w / first))


@dataclass(frozen=True)
class Entropy(Exponential):
    """Entropy on the simplex of mass `scale`: normalised exponentiated gradient.

    w_i = scale exp(a_i) / sum_j exp(a_j); Psi(s) = scale ln s, phi = exp.
    The dimension must be known in advance, since phi(0) = 1. scale is above 0 [default: 1].
    Reference: Shalev-Shwartz, Online Learning, Corollary 2.16.

    >>> Entropy(2.0).kappa(4.0, 0.0, 1.0)
    0.5
    """

    scale: float = field(default=1.0, metadata=POSITIVE)

    geometry: ClassVar[str] = "simplex"

    def phi(self, a: float, reference: float) -> float:
        """Return exp(a - r)."""
        return exp(a - reference)

    phi_prime = phi

    def phi_given(self, a: float, reference: float, v: float) -> float:
        """Return v."""
        return v

    def psi(self, s: float, reference: float) -> float:
        """Return scale (ln s + r)."""
        return self.scale * (log(s) + reference)

    def psi_prime(self, s: float, reference: float) -> float:
        """Return scale / s."""
        return divide(self.scale, s)

    def out_of_range(self, s: float, a: float, size: float, reference: float) -> bool:
        """Tell whether an exponent has outgrown the reference by 30."""
        return a > reference + 30.0

    def reference(self, largest: float, largest_size: float) -> float:
        """Return the largest exponent."""
        return largest

    def smoothness(self) -> float:
        """Return scale."""
        return self.scale

    def largest_regularizer(self, radius: float, dimension: int) -> float:
        """Return scale ln d at a vertex, infinity for a simplex of another sum."""
        return self.scale * math.log(dimension) if radius == self.scale else math.inf

    def local_norms(self) -> str:
        """Return the theorem's number."""
        return "2.22"

    normalised = yes

    def own_radius(self) -> float:
        """Return the scale."""
        return self.scale

    def natural_scale(self, dimension: int) -> float:
        """Return sqrt(ln d)."""
        return math.sqrt(math.log(max(dimension, 2)))

    def regularizer(self, u: Vector, eta: float = 1.0, rounds: float = 0.0) -> float:
        """Return sum u_i ln(u_i d / scale) / eta on the simplex."""
        if np.any(u < 0.0) or abs(float(u.sum()) - self.scale) > 1e-9 * self.scale:
            return math.inf
        return float(xlogx(u, self.scale / len(u)).sum()) / eta

    def cancellation(self, u: Vector, strength: float) -> float:
        """Return the size of the logarithms."""
        return logarithms(u, strength, self.scale, 0.0)

    def conjugate_upper(
        self, theta: Vector, eta: float, delta: float = 0.0, rounds: float = 0.0
    ) -> float:
        """Return (scale / eta) ln mean_i exp(eta theta_i), rounded up."""
        a, d = eta * theta, len(theta)
        top = float(a.max(initial=-math.inf))
        mean = math.log(float(np.exp(a - top).mean())) + top
        growth = 1.0 + (d + 64.0) * EPSILON
        return self.scale * (mean / eta + delta) + 8.0 * growth * EPSILON * (self.scale / eta) * (
            abs(top) + math.log(d) + d
        )

    def link(self, a: Vector) -> Vector:
        """Return scale exp(a_i) / sum_j exp(a_j)."""
        share = np.exp(a - a.max())
        return np.asarray(self.scale * (share / share.sum()))

    def inverse_link(self, w: Vector) -> Vector:
        """Return ln(w_i / scale), up to a constant that changes no weight."""
        return self._logs(w, self.scale)

    def potential(self, a: Vector) -> float:
        """Return scale ln mean_i exp(a_i)."""
        top = float(a.max())
        return self.scale * (math.log(float(np.exp(a - top).mean())) + top)

    def stability(self, a: Vector, w: Vector, step: Vector) -> float:
        """Return scale ln sum_i (w_i / scale) exp(-c_i), c the step minus its mean under w."""
        share = w / float(w.sum())
        centred = step - float(share @ step)
        if float(np.abs(centred).max()) < 30.0:
            return self.scale * math.log1p(float(share @ _second_order(centred)))
        return super().stability(a, w, step)

    def divergence(self, u: Vector, w: Vector) -> float:
        """Return sum u_i ln(u_i / w_i), for u and w of the same sum."""
        value = _relative_entropy(u, w)
        return max(value + float(u.sum() - w.sum()), 0.0) if value < math.inf else value

    def project(self, domain: ConvexSet, w: Vector) -> Vector:
        """Return the point of the domain nearest in relative entropy."""
        return domain.project_entropic(w)

    def quadratic_minimizer(self, c: float, b: Vector, eta: float) -> Vector:
        """Return the weights y / (eta c) with y + ln y = m - eta b_i.

        Their sum is monotone in the multiplier m, which bisection finds; y is Wright's omega
        function of the right side.
        """
        from scipy.special import wrightomega

        scaled, share = eta * c, self.scale
        a = -eta * (b - b.min())

        def weights(multiplier: float) -> Vector:
            return np.asarray(wrightomega(a + multiplier).real / scaled)

        # The largest weight lies between scale/d and scale, and has a = 0 in the exponent.
        low, high = (v + math.log(v) for v in (scaled * share / len(b), scaled * share))
        low, high = low - 1e-9 * abs(low) - 1e-9, high + 1e-9 * abs(high) + 1e-9
        while low < (middle := 0.5 * (low + high)) < high:
            low, high = (middle, high) if float(weights(middle).sum()) < share else (low, middle)
        found = weights(high)
        return found * (share / float(found.sum()))


@dataclass(frozen=True)
class UnnormalizedEntropy(Exponential, Separable):
    """Entropy on the non-negative orthant: w_i = start exp(a_i), start = 1/d by default.

    phi(a) = start (exp(a) - 1), Psi(s) = s, so that G(0) = 0.
    Reference: Shalev-Shwartz, Online Learning, Theorem 2.23. The dimension must be known.

    >>> UnnormalizedEntropy(0.5).phi_prime(0.0, 0.0)
    0.5
    """

    start: float | None = field(default=None, metadata=POSITIVE)

    geometry: ClassVar[str] = "subsimplex"

    def phi(self, a: float, reference: float) -> float:
        """Return start (exp(a) - 1)."""
        return self.start * math.expm1(min(a, LARGEST_EXPONENT))  # type: ignore[operator]

    def phi_prime(self, a: float, reference: float) -> float:
        """Return start exp(a)."""
        return self.start * exp(min(a, LARGEST_EXPONENT))  # type: ignore[operator]

    def phi_given(self, a: float, reference: float, v: float) -> float:
        """Return v - start."""
        return v - self.start  # type: ignore[operator]

    def largest_regularizer(self, radius: float, dimension: int) -> float:
        """Return the larger of F(0) = d start and F at the vertex radius e_1."""
        start = self._first(dimension)
        corner = dimension * start
        if radius > 0.0:
            corner += radius * math.log(radius / (math.e * start))
        return max(dimension * start, corner)

    def inverse(self, w: float) -> float:
        """Return ln(w / start)."""
        return log(w / self.start)  # type: ignore[operator]

    def resolved(self, dimension: int) -> Self:
        """Return the map with `start` filled in, 1/d by default."""
        return self if self.start is not None else self.replace(start=self._first(dimension))

    def out_of_reach(self, w: float) -> str:
        """Return why exponents in range cannot represent w, in words, or ''."""
        start = self._first(1)
        if not math.isfinite(w) or abs(math.log(w) - math.log(start)) <= LARGEST_EXPONENT:
            return ""
        return (
            f"weights that start at {start:g}: they keep within a factor exp({LARGEST_EXPONENT:g})"
        )

    def local_norms(self) -> str:
        """Return the theorem's number."""
        return "2.23"

    def _first(self, dimension: int) -> float:
        return 1.0 / max(dimension, 1) if self.start is None else self.start

    def natural_scale(self, dimension: int) -> float:
        """Return sqrt(ln d)."""
        return math.sqrt(self.natural_size(max(dimension, 2)))

    def natural_size(self, dimension: int) -> float:
        """Return ln d, that of weights which sum to 1."""
        return math.log(dimension)

    def regularizer(self, u: Vector, eta: float = 1.0, rounds: float = 0.0) -> float:
        """Return sum (u_i ln(u_i / start) - u_i + start) / eta for u >= 0."""
        start = self._first(len(u))
        if np.any(u < 0.0):
            return math.inf
        return float((xlogx(u, start) - u + start).sum()) / eta

    def cancellation(self, u: Vector, strength: float) -> float:
        """Return the size of the logarithms, and of the constants that cancel at 0."""
        start = self._first(len(u))
        return logarithms(u, strength, start, start)

    def conjugate_upper(
        self, theta: Vector, eta: float, delta: float = 0.0, rounds: float = 0.0
    ) -> float:
        """Return start sum (exp(eta theta_i) - 1) / eta, rounded up."""
        d = len(theta)
        a, start = eta * (theta + delta), self._first(d)
        with np.errstate(over="ignore"):
            terms = start * np.expm1(a)
        if not np.all(np.isfinite(terms)):
            return math.inf
        # A rounding of the exponent a moves the exponential by |a| roundings.
        size = float(np.sum((np.abs(a) + d + 64.0) * (np.abs(terms) + start * np.abs(a))))
        # These products can underflow to 0, so add a fixed absolute error.
        lost = d * (1.0 + start) * 1e-300
        growth = 1.0 + (d + 64.0) * EPSILON
        return (float(terms.sum()) + 2.0 * growth * EPSILON * size + lost) / eta

    def link(self, a: Vector) -> Vector:
        """Return start exp(a_i)."""
        return self._first(len(a)) * np.exp(np.minimum(a, LARGEST_EXPONENT))

    def inverse_link(self, w: Vector) -> Vector:
        """Return ln(w_i / start)."""
        return self._logs(w, self._first(len(w)))

    def potential(self, a: Vector) -> float:
        """Return start sum (exp(a_i) - 1)."""
        return self._first(len(a)) * float(np.expm1(np.minimum(a, LARGEST_EXPONENT)).sum())

    def stability(self, a: Vector, w: Vector, step: Vector) -> float:
        """Return sum w_i (exp(-step_i) - 1 + step_i)."""
        if float(-step.min()) < 30.0:
            return float(w @ _second_order(step))
        return super().stability(a, w, step)

    def divergence(self, u: Vector, w: Vector) -> float:
        """Return sum u_i ln(u_i / w_i) + w_i - u_i."""
        return max(_relative_entropy(u, w), 0.0)

    project = Entropy.project

    def quadratic_minimizer(self, c: float, b: Vector, eta: float) -> Vector:
        """Return y / (eta c) with y + ln y = ln(eta c start) - eta b_i, Wright's omega function."""
        from scipy.special import wrightomega

        scaled = eta * c
        start = self._first(len(b))
        return np.asarray(wrightomega(math.log(scaled * start) - eta * b).real / scaled)


def xlogx(u: Vector, base: float) -> Vector:
    """Return u ln(u / base), 0 where u is 0."""
    terms = np.zeros_like(u)
    some = u > 0.0
    terms[some] = u[some] * np.log(u[some] / base)
    return terms


def logarithms(u: Vector, strength: float, scale: float, start: float) -> float:
    """Return the sum of the absolute terms of strength R(u), for an entropy that starts at `start`.

    Logarithms of both signs cancel, and so do the constants that R adds and subtracts at 0.
    """
    size = np.abs(u)
    some = size[size > 0.0]
    logs = np.abs(np.log(some)) + math.log(len(u)) + 4.0
    logs += abs(math.log(scale))
    return strength * (float(np.sum(some * logs)) + 4.0 * len(u) * start)


def _relative_entropy(u: Vector, w: Vector) -> float:
    """Return sum u_i ln(u_i / w_i) + w_i - u_i, its digits kept where u is close to w."""
    if np.any(u < 0.0) or np.any(w < 0.0):
        raise ValueError("u and w must not be negative: an entropy is defined for weights >= 0")
    if np.any((w == 0.0) & (u > 0.0)):
        return math.inf
    some = u > 0.0
    a, b = u[some], w[some]
    # Near one another u ln(u/w) and w - u nearly cancel: the error is then that of u - w.
    near = np.abs(a - b) < 0.5 * b
    logs = np.log(a) - np.log(b)
    logs[near] = np.log1p((a[near] - b[near]) / b[near])
    return float((a * logs - (a - b)).sum() + w[~some].sum())


def _second_order(x: Vector) -> Vector:
    """Return exp(-x) - 1 + x, right to the last places also where x is small."""
    series = np.zeros_like(x)
    for k in range(14, 1, -1):
        series = (series * -x + 1.0) / k
    with np.errstate(over="ignore"):
        return np.where(np.abs(x) < 0.25, x * x * series, np.expm1(-x) + x)

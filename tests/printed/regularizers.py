"""The regularisers F of the maps, written from their definitions, with minimum 0.

The reader chose the map and knows its F; the text names `F(u)` or the map. Entropies are computed
in 60 digits. Nothing of the library is imported.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from mpmath import mp, mpf

from tests.printed.data import Member, Penalty, Vector, half_square
from tests.printed.losses import Parameters, number
from tests.printed.spaces import Space


@dataclass(frozen=True)
class Regularizer:
    """b F over the set of a map."""

    penalty: Penalty
    space: Space


EVERYTHING = Space("everything")


def regularizer_of(
    mirror: str, parameters: Parameters, dimension: int, strength: float
) -> Regularizer:
    """Return strength * F of the map of that name."""
    b, a = strength, parameters
    if mirror == "Euclidean":
        return Regularizer(half_square(b), EVERYTHING)
    if mirror == "Ball":
        return Regularizer(half_square(b), Space("ball", Fraction(a["radius"])))
    if mirror == "Box":
        least = min(max(0.0, a["low"]), a["high"])
        shift = b / 2 * dimension * least * least
        half = half_square(b)
        exact = Fraction(b) / 2 * dimension * Fraction(least) ** 2
        penalty = Penalty(
            lambda u: half.exact(u) - exact, lambda u: half.value(u) - shift, half.slope
        )
        return Regularizer(penalty, Space("box", low=Fraction(a["low"]), high=Fraction(a["high"])))
    if mirror == "ElasticNet":
        return Regularizer(_elastic(b, a["l1"]), EVERYTHING)
    if mirror == "PNorm":
        return Regularizer(_norm_square(b, a["p"] / (a["p"] - 1.0), a["p"]), EVERYTHING)
    if mirror == "Power":
        return Regularizer(_power(b, a["p"]), EVERYTHING)
    if mirror == "Hypentropy":
        return Regularizer(_two_sided(b, 2.0 * a["beta"]), EVERYTHING)
    if mirror == "Entropy":
        base = Fraction(a["scale"]) / dimension
        return Regularizer(_entropy(b, base, False), Space("simplex", Fraction(a["scale"])))
    if mirror == "UnnormalizedEntropy":
        start = a.get("start") or 1.0 / dimension
        space = Space("everything", nonnegative=True)
        return Regularizer(_entropy(b, Fraction(start), True), space)
    if mirror == "SignedEntropy":
        space = Space("ball", Fraction(a["radius"]), 1.0)
        return Regularizer(_signed(b, a["radius"], dimension), space)
    raise ValueError(f"the referee has no regulariser for {mirror}")


def _elastic(b: float, l1: float) -> Penalty:
    half = half_square(b)
    return Penalty(
        lambda u: half.exact(u) + Fraction(b) * Fraction(l1) * sum(map(abs, u), Fraction(0)),
        lambda u: half.value(u) + b * l1 * np.abs(u).sum(),
        lambda u: half.slope(u) + b * l1 * np.sign(u),
    )


def _norm_square(b: float, q: float, p: float) -> Penalty:
    exponent = number(Fraction(p)) / (number(Fraction(p)) - 1)

    def exact(u: Member) -> Any:
        total = mp.fsum(mp.power(abs(number(v)), exponent) for v in u if v)
        return number(b) / 2 * mp.power(total, 2 / exponent) if total else mpf(0)

    def slope(u: Vector) -> Vector:
        length = float(np.linalg.norm(u, q))
        if length == 0.0:
            return np.zeros_like(u)
        return b * np.sign(u) * np.abs(u) ** (q - 1.0) * length ** (2.0 - q)

    return Penalty(exact, lambda u: b / 2 * (np.abs(u) ** q).sum() ** (2.0 / q), slope)


def _power(b: float, p: float) -> Penalty:
    return Penalty(
        lambda u: (
            number(b) * mp.fsum(mp.power(abs(number(v)), number(p)) for v in u if v) / number(p)
        ),
        lambda u: b * (np.abs(u) ** p).sum() / p,
        lambda u: b * np.sign(u) * np.abs(u) ** (p - 1.0),
    )


def _two_sided(b: float, scale: float) -> Penalty:
    def exact(u: Member) -> Any:
        s = number(scale)
        terms = (v * mp.asinh(v / s) - mp.sqrt(v * v + s * s) + s for v in map(number, u))
        return number(b) * mp.fsum(terms)

    return Penalty(
        exact,
        lambda u: b * (u * np.arcsinh(u / scale) - np.hypot(u, scale) + scale).sum(),
        lambda u: b * np.arcsinh(u / scale),
    )


def _entropy(b: float, base: Fraction, linear: bool) -> Penalty:
    def exact(u: Member) -> Any:
        terms = [number(v) * mp.log(number(v / base)) for v in u if v > 0]
        extra = len(u) * base - sum(u, Fraction(0)) if linear else Fraction(0)
        return number(b) * (mp.fsum(terms) + number(extra))

    def value(u: Vector) -> Any:
        inside = np.maximum(u, 0.0)
        terms = inside * np.log(np.maximum(inside, 1e-300) / float(base))
        return b * (terms - (inside - float(base)) * linear).sum()

    def slope(u: Vector) -> Vector:
        return b * (np.log(np.maximum(u, 1e-12) / float(base)) + (0.0 if linear else 1.0))

    return Penalty(exact, value, slope)


def _signed(b: float, radius: float, d: int) -> Penalty:
    """Return the least relative entropy of (v, w) >= 0 with v - w = u/radius and sum 1."""

    def exact(u: Member) -> Any:
        a = [abs(number(v)) / number(radius) for v in u]
        total = mp.fsum(a)
        if total >= 1 - mpf(10) ** -40:
            return number(b) * (mp.fsum(v * mp.log(v) for v in a if v) + mp.log(2 * d))
        # (v, w) has v w = t^2 in every coordinate: sum sqrt(a^2 + 4 t^2) = 1.
        low, high = mpf(0), mpf(1)
        for _ in range(200):
            t = (low + high) / 2
            if mp.fsum(mp.sqrt(v * v + 4 * t * t) for v in a) > 1:
                high = t
            else:
                low = t
        parts = [(mp.sqrt(v * v + 4 * low * low), v) for v in a]
        pairs = [((s + v) / 2, (s - v) / 2) for s, v in parts]
        entropy = mp.fsum(x * mp.log(x) for pair in pairs for x in pair if x > 0)
        return number(b) * (entropy + mp.log(2 * d))

    def balance(size: Vector) -> float:
        low, high = 0.0, 1.0
        for _ in range(60):
            t = 0.5 * (low + high)
            low, high = (low, t) if np.sqrt(size**2 + 4 * t * t).sum() > 1.0 else (t, high)
        return low

    def value(u: Vector) -> Any:
        size = np.abs(np.asarray(u, np.float64)) / radius
        t = balance(size)
        both = np.sqrt(size**2 + 4 * t * t)
        parts = np.maximum(np.concatenate([both + size, both - size]) / 2, 1e-300)
        return b * float((parts * np.log(parts)).sum() + np.log(2 * d))

    def slope(u: Vector) -> Vector:
        a = np.asarray(u, np.float64) / radius
        return b / radius * np.arcsinh(a / (2.0 * max(balance(np.abs(a)), 1e-12)))

    return Penalty(exact, value, slope)

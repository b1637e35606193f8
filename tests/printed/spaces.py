"""Classes of predictors as they are worded in a text, and members of them.

Members have exact entries and lie in the class exactly as it is printed. Nothing of the library is
imported.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np
from mpmath import mp, mpf

from tests.printed.data import Data, Member, Vector, exactly
from tests.printed.losses import number

NUMBER = r"-?(?:\d[\d,]*\.?\d*(?:e[+-]?\d+)?|inf)"
#: By how much a member stays inside where its norm is not rational.
INSIDE = 1.0 - 1e-13


class Unparsed(ValueError):
    """Words that the grammar does not know."""


@dataclass(frozen=True)
class Space:
    """A class: its shape, its size as printed, and the units of its coordinates."""

    shape: str
    radius: Fraction = Fraction(1)
    q: float = 2.0
    low: Fraction = Fraction(0)
    high: Fraction = Fraction(0)
    #: Clipped simplex: every entry is at least alpha * radius / d.
    alpha: Fraction = Fraction(0)
    #: ||m u||: the largest |x_i| seen, to be taken from the data.
    scaled: bool = False
    least_size: float = 0.0
    nonnegative: bool = False
    units: tuple[float, ...] | None = None
    #: U is a matrix.
    matrix: bool = False

    def measured(self, data: Data) -> Space:
        """Return the class with its units read from the rows."""
        if not self.scaled:
            return self
        # An example of weight 0 is not learnt.
        sizes = np.abs(data.X[data.weights > 0.0]).max(axis=0, initial=0.0)
        sizes = np.where(sizes > 0.0, np.maximum(sizes, self.least_size), 0.0)
        return replace(self, units=tuple(sizes.tolist()))

    def contains(self, u: Member) -> bool:
        """Tell exactly whether u is a member."""
        if self.nonnegative and any(v < 0 for v in u):
            return False
        if self.shape == "everything":
            return True
        if self.shape == "box":
            return all(self.low <= v <= self.high for v in u)
        if self.shape in ("simplex", "subsimplex", "clipped"):
            total = sum(u, Fraction(0))
            least = self.alpha * self.radius / len(u)
            if any(v < least for v in u):
                return False
            return total <= self.radius if self.shape == "subsimplex" else total == self.radius
        sizes = [abs(v) for v in u]
        if self.units is not None:
            sizes = [v * Fraction(m) for v, m in zip(sizes, self.units, strict=True)]
        if self.q == 2.0:
            return sum((v * v for v in sizes), Fraction(0)) <= self.radius**2
        if self.q == 1.0:
            return sum(sizes, Fraction(0)) <= self.radius
        if self.q == float("inf"):
            return max(sizes, default=Fraction(0)) <= self.radius
        q = number(Fraction(str(self.q)))
        total = mp.fsum(mp.power(number(v), q) for v in sizes if v)
        return bool(mp.power(total, mpf(1) / q) <= number(self.radius))

    def near(self, u: Vector) -> Vector:
        """Return a point of the class near u, in doubles: for solvers."""
        r = float(self.radius)
        if self.nonnegative:
            u = np.maximum(u, 0.0)
        if self.shape == "everything":
            return u
        if self.shape == "box":
            return np.clip(u, float(self.low), float(self.high))
        if self.shape in ("simplex", "clipped"):
            least = float(self.alpha) * r / len(u)
            return least + _simplex(u - least, r - least * len(u))
        if self.shape == "subsimplex":
            inside = np.maximum(u, 0.0)
            return inside if inside.sum() <= r else _simplex(u, r)
        if self.units is not None:
            units = np.array(self.units)
            v = np.where(units > 0.0, units * u, 0.0)
            length = float(np.linalg.norm(v))
            return u if length <= r else u * (r / length)
        if self.q == float("inf"):
            return np.clip(u, -r, r)
        if self.q == 1.0:
            if np.abs(u).sum() <= r:
                return u
            return np.sign(u) * _simplex(np.abs(u), r)
        length = float(np.linalg.norm(u, self.q))
        return u if length <= r else u * (r / length)

    def fitted(self, u: Vector) -> list[Fraction] | None:
        """Return an exact member near u, None if there is none."""
        u = np.nan_to_num(self.near(np.asarray(u, np.float64)))
        if self.shape in ("simplex", "clipped"):
            return self._summed(u)
        if self.shape == "box":
            exact = [min(max(v, self.low), self.high) for v in exactly(u)]
        else:
            exact = exactly(u)
        if self.contains(exact):
            return exact
        shrunk = exactly(u * INSIDE)
        for _ in range(3):
            if self.contains(shrunk):
                return shrunk
            shrunk = exactly(np.array([float(v) for v in shrunk]) * (1.0 - 1e-9))
        return None

    def _summed(self, u: Vector) -> list[Fraction]:
        """Return shares of the sum in units of 2^-40, none below the least."""
        d, whole = len(u), 2**40
        least = -(-self.alpha.numerator * whole // (self.alpha.denominator * d))
        share = np.maximum(u, 0.0) / max(float(np.maximum(u, 0.0).sum()), 1e-300)
        if least * d >= whole:
            return [self.radius / d] * d
        units = [least + int(s * (whole - least * d)) for s in share]
        units[int(np.argmax(share))] += whole - sum(units)
        return [self.radius * k / whole for k in units]

    def corners(self, z: Vector) -> Iterator[Vector]:
        """Yield the point of the class that is best for the loss <z, u>, and its opposite."""
        r = float(self.radius)
        for sign in (1.0, -1.0):
            v = sign * z
            if self.shape in ("simplex", "clipped", "subsimplex") or self.q == 1.0:
                u = np.zeros(len(z))
                best = int(np.argmin(v)) if self.q != 1.0 else int(np.argmax(np.abs(v)))
                u[best] = r if self.q != 1.0 else -np.copysign(r, v[best])
                yield u
            elif self.shape == "box":
                yield np.where(v > 0.0, float(self.low), float(self.high))
            elif self.q == float("inf"):
                yield -r * np.sign(v)
            else:
                power = 1.0 / (self.q - 1.0) if self.q > 1.0 else 1.0
                units = np.ones(len(z)) if self.units is None else np.array(self.units)
                scaled = np.where(units > 0.0, v / np.where(units > 0.0, units, 1.0), 0.0)
                u = -np.sign(scaled) * np.abs(scaled) ** power
                length = float(np.linalg.norm(u, self.q)) or 1.0
                yield np.where(units > 0.0, u * r / length / np.where(units > 0, units, 1.0), 0.0)


def _simplex(u: Vector, total: float) -> Vector:
    """Return the Euclidean projection on the simplex of that sum."""
    down = np.sort(u)[::-1]
    sums = np.cumsum(down) - total
    count = np.nonzero(down - sums / np.arange(1, len(u) + 1) > 0.0)[0]
    last = int(count[-1]) if len(count) else 0
    return np.maximum(u - sums[last] / (last + 1), 0.0)


_SPACES: list[tuple[str, Any]] = [
    (
        rf"every u with \|\|u\|\|_({NUMBER}) <= ({NUMBER})( and u >= 0)?",
        lambda q, r, part: Space("ball", _f(r), _q(q), nonnegative=bool(part)),
    ),
    (rf"every u >= 0 with sum ({NUMBER})", lambda r: Space("simplex", _d(r))),
    (rf"every u >= 0 with sum <= ({NUMBER})", lambda r: Space("subsimplex", _f(r))),
    (
        rf"every u with \|\|m u\|\|_2 <= ({NUMBER}), m_i the largest \|x_i\| seen"
        rf"(?: or ({NUMBER}))?,?",
        lambda r, least: Space("ball", _f(r), scaled=True, least_size=float(least or 0.0)),
    ),
    (
        rf"every u in Box\(low=({NUMBER}), high=({NUMBER})\)",
        lambda low, high: Space("box", low=_d(low), high=_d(high)),
    ),
    (rf"every u in Simplex\(scale=({NUMBER})\)", lambda r: Space("simplex", _d(r))),
    (rf"every u in Ball\(radius=({NUMBER})\)", lambda r: Space("ball", _d(r))),
    (
        rf"every u in ClippedSimplex\(alpha=({NUMBER}), scale=({NUMBER})\)",
        lambda alpha, r: Space("clipped", _d(r), alpha=_d(alpha)),
    ),
    (
        rf"every u in PNormBall\(p=({NUMBER}), radius=({NUMBER})\)",
        lambda p, r: Space("ball", _d(r), float(p) / (float(p) - 1.0)),
    ),
    (
        rf"every U with \|\|U\|\|_(F|{NUMBER}) <= ({NUMBER})",
        lambda q, r: Space("ball", _f(r), 2.0 if q == "F" else _q(q), matrix=True),
    ),
    (rf"every U >= 0 with sum ({NUMBER})", lambda r: Space("simplex", _d(r), matrix=True)),
    (
        rf"every U with \|\|m U\|\|_F <= ({NUMBER}), (?:m_ik|every m_i) the largest \|x_i\| seen"
        rf"(?: or ({NUMBER}))?,?",
        lambda r, least: Space(
            "ball", _f(r), scaled=True, least_size=float(least or 0.0), matrix=True
        ),
    ),
]


def space_of(words: str) -> Space:
    """Return the class that these words name."""
    # A ball around the optimum of fit is one of differences from it.
    named = words.strip().removesuffix(", u the distance from the optimum of fit,")
    for pattern, make in _SPACES:
        found = re.fullmatch(pattern, named)
        if found:
            return make(*found.groups())
    raise Unparsed(f"unknown class: {words!r}")


def _f(text: str) -> Fraction:
    return Fraction(text.replace(",", ""))


def _d(text: str) -> Fraction:
    """Return the double that is written with all its digits."""
    return Fraction(float(text))


def _q(text: str) -> float:
    return float("inf") if text == "inf" else float(text)

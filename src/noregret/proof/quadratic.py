"""Floors from parabolas under the losses: tangents of their sum, for any class of predictors.

The parabolas of all rows add up to a convex quadratic below the loss,

    sum_t c_t f_t(u) >= Q(u) = a + <w, Z> + w'Hw/2,   w = u - origin,

for every u with ||m u||_2 <= radius. Q is above its tangent at any w = v - origin,
Q(u) >= a - w'Hw/2 + <u - origin, rho> with rho = Z + Hw, and a tangent is a ledger and a gradient
like those of supporting lines: a floor over a class is what a certificate makes of them. At the v
where Q is least over the class nothing is lost; no error in v can make the floor false, only lower.

Beyond the radius the parabolas are flattened. D(p + k h) >= k D(p + h) for k >= 1, as D is convex
and 0 at h = 0; a curvature for all |z - p| <= r is therefore right for |z - p| <= r / k after
multiplication by k < 1. That needs ranges around the points of contact (`symmetric`).

Rounding. The sums are twofold, so that their terms alone are rounded. With R = ||m w||_2 and n the
norms of rows in units of m, Cauchy's inequality bounds what d terms of Hw and w'Hw lose by
d EPSILON times R sum c ||x||_1 n and R^2 sum c n^2, the sums that `bends` keeps. An error of rho
moves <origin, rho> by ||m origin||_2 times its size at most.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from enum import IntEnum

import numpy as np

from noregret.arrays import Vector
from noregret.norms import norm_upper
from noregret.proof.ledger import GRADIENT_ERRORS, SMALLEST_SIZE, Entry
from noregret.rounding import EPSILON, UNDERFLOW, grown

#: Roundings of a term of Z: 16 that a slope is allowed, and twice its products and sums.
SLOPE_ERRORS = 32.0
#: Errors of w'Hw/2 and of Hw in units of EPSILON, beside d: each of w'Hw takes part in a product
#: and d sums on either side, which lose half of EPSILON each, and has three or four roundings more.
BEND_ERRORS = 8.0
#: The errors of intercepts that a certificate counts, see `certificate.ROUND_ERRORS`.
LEDGER_ERRORS = 32.0
#: Above this ||m v||_2 products with v could overflow.
FARTHEST = 1e100


class Bend(IntEnum):
    """Places in the array of the sums that parabolas need beside a ledger.

    c is the curvature of a row, times its weight, e the point of contact less the offset, n the
    2-norm of the row in units of m.
    """

    #: sum c e^2, a twofold sum.
    RISE = 0
    RISE_LOW = 1
    #: sum c n^2, sum c n ||x||_1, and sum c n ||x/m||_1.
    SQUARES = 2
    TRAVEL = 3
    SCALED_TRAVEL = 4


@dataclass(frozen=True, eq=False)
class Quadratic:
    """The parabolas of all rows for one radius.

    Z is `lines` - `shifts`, H is `matrix`; the intercept is that of the ledger plus half the rise.
    """

    #: The class ||m u||_2 <= radius for which the curvatures are right, infinite if for all u.
    radius: float
    #: Whether they are right around the points of contact, so that they serve beyond the radius.
    symmetric: bool
    #: Whether m are the largest |x_i| seen; else they are 1.
    measured: bool
    sizes: Vector
    lines: Vector
    shifts: Vector
    matrix: Vector
    ledger: Vector
    bends: Vector
    #: The point that the sums are about.
    origin: Vector
    #: Points where it is low over the classes of floors that were asked for, by radius and norm.
    lowest: dict[tuple[float | None, float | None], Vector] = field(default_factory=dict)

    @property
    def units(self) -> Vector:
        """The units m of the features."""
        return np.maximum(self.sizes, SMALLEST_SIZE)

    def sound(self) -> bool:
        """Tell whether no sum overflowed."""
        parts = self.lines, self.shifts, self.matrix, self.ledger[Entry.INTERCEPT], self.bends
        sizes = self.ledger[[Entry.MAGNITUDE, Entry.TRAVEL, Entry.SCALED_TRAVEL]]
        return all(bool(np.all(np.isfinite(part))) for part in (*parts, sizes))

    def share(self, reach: float) -> float:
        """Return by what curvatures are multiplied for all u with ||m u||_2 <= reach, 0 for none.

        >>> import dataclasses
        >>> none = np.zeros(0)
        >>> flat = Quadratic(2.0, False, True, *7 * [none])
        >>> flat.share(2.0), flat.share(4.0), dataclasses.replace(flat, symmetric=True).share(4.0)
        (1.0, 0.0, 0.49999999999999...)
        """
        if not reach < math.inf:
            return 0.0
        if reach <= self.radius:
            return 1.0
        # Rounded down.
        return self.radius / reach * (1.0 - 1e-15) if self.symmetric else 0.0

    def slopes(self, share: float) -> Vector:
        """Return the gradient of Q at 0, with curvatures multiplied by `share`."""
        return self.lines - share * (self.shifts + self.matrix @ self.origin)

    def tangent(self, v: Vector, share: float = 1.0) -> tuple[Vector, Vector]:
        """Return the tangent at v as the ledger and the Z of lines, with their sizes.

        The sizes are scaled so that the errors that a certificate counts cover those above.
        """
        w, units = v - self.origin, self.units
        length, away = norm_upper(units * w, 2.0), norm_upper(units * self.origin, 2.0)
        if not length <= FARTHEST:
            w, length = np.zeros(len(v)), 0.0
        ledger, bends = self.ledger.copy(), self.bends
        with np.errstate(over="ignore", invalid="ignore", under="ignore"):
            product = share * (self.matrix @ w)
            slopes = self.lines - share * self.shifts + product
            ledger[Entry.INTERCEPT_LOW] += 0.5 * share * bends[Bend.RISE_LOW]
            ledger[Entry.INTERCEPT_LOW] += 0.5 * share * bends[Bend.RISE] - 0.5 * float(w @ product)
            ledger[Entry.INTERCEPT_LOW] -= float(self.origin @ slopes)
        errors, rounds = len(v) + BEND_ERRORS, float(ledger[Entry.ROUNDS])
        for place, bend in ((Entry.TRAVEL, Bend.TRAVEL), (Entry.SCALED_TRAVEL, Bend.SCALED_TRAVEL)):
            moved = SLOPE_ERRORS * float(ledger[place])
            moved += errors * share * length * float(bends[bend])
            ledger[place] = grown(moved / (rounds + GRADIENT_ERRORS), 8.0)
        # In units of EPSILON; the last is the error of rho in units of m.
        lost = errors * share * length * length * float(bends[Bend.SQUARES])
        lost += errors * float(np.abs(self.origin) @ np.abs(slopes)) + away * moved
        lost += rounds * len(v) * UNDERFLOW / EPSILON
        ledger[Entry.MAGNITUDE] += grown(lost / LEDGER_ERRORS, 8.0)
        return ledger, slopes

    def height(self, v: Vector, share: float, support: float) -> float:
        """Return the floor of the tangent at v, without rounding, for choosing among several v.

        support: the largest <u, -rho> over the class.
        """
        rise = self.ledger[Entry.INTERCEPT] + 0.5 * share * self.bends[Bend.RISE]
        w = v - self.origin
        product = share * (self.matrix @ w)
        slopes = self.lines - share * self.shifts + product
        low = 0.5 * float(w @ product) + float(self.origin @ slopes)
        found = float(rise) - low - support
        return found if math.isfinite(found) else -math.inf

"""How much curvature a parabola under a loss may have that touches it at one prediction.

A parabola that touches the convex f at p stays below it on [low, high],

    f(z) >= f(p) + f'(p) (z - p) + (c/2) (z - p)^2,

exactly if c is at most the least quotient q(z) = 2 D(z, p) / (z - p)^2 of that range, with
D(z, p) = f(z) - f(p) - f'(p) (z - p).

Lemma. If f'' rises and then falls (monotone counts), q is least at an end of the range, wherever p
lies. Proof: q(z) = 2 int_0^1 (1 - s) f''(p + s (z - p)) ds. Let p be where f'' falls, the other
side being its mirror image. To the right q falls. To the left, with z = p - b,

    (b^3/2) dq/db = E(b) = -int_0^b (b - v) v f'''(p - v) dv,   E''(b) = -b f'''(p - b),

so that E'' is positive until p - b passes the top of f'' and negative after it; E and E' begin at
0, hence E changes sign once at most, from + to -, and q rises, then falls. Losses whose f'' jumps
follow as limits.

Every function here rounds down: a curvature above the truth would make a false floor.
"""

from __future__ import annotations

import math
from typing import Any

from noregret.elementary import exp, log, power
from noregret.rounding import EPSILON

#: Below this a curvature is taken as 0: products with it could underflow, and so round up.
_LEAST = 1e-290
#: Largest prediction plus width of a range for which quotients are computed.
_FARTHEST = 1e150
#: Distances from the point of contact below which a logistic quotient cancels.
_NEAR = 1e-5


def least_at_ends(self: Any, y: float, p: float, low: float, high: float) -> float:
    """Return the least quotient of a loss whose second derivative rises and then falls."""
    # Beyond it squares could overflow.
    if not abs(p) + (high - low) < _FARTHEST:
        return 0.0
    return positive(min(self.quotient(y, p, low), self.quotient(y, p, high)))


def logistic_curvature(self: Any, y: float, p: float, low: float, high: float) -> float:
    """Return the least quotient of the logistic loss: at the farther end if p is on its side.

    f'' is even and falls away from 0. For p >= 0 and high >= -low the way from p to `high` is, at
    each part of it, at least as far from 0 as that to `low`.
    """
    if p < 0.0:
        p, low, high = -p, -high, -low
    if not high >= -low:
        return least_at_ends(self, y, p, low, high)
    if not abs(p) + (high - low) < _FARTHEST:
        return 0.0
    return positive(self.quotient(y, p, high))


def positive(c: float) -> float:
    """Return a curvature, 0 for one that is negative, negligible, infinite or NaN.

    >>> positive(0.5), positive(-1.0), positive(math.inf), positive(math.nan)
    (0.5, 0.0, 0.0, 0.0)
    """
    return c if _LEAST < c < math.inf else 0.0


def logistic_quotient(self: Any, y: float, p: float, z: float) -> float:
    """Return the quotient of ln(1 + exp(-y p)), which is the same for both labels.

    With h = z - p > 0, s = 1/(1 + e^p) and b = 1 - s it is D = ln(b + s e^-h) + s h. As
    |f'''| <= f'', D >= f''(p) (e^-h + h - 1) >= f''(p) h^2 / (2 + h), which stands in where the
    closed form cancels (Bach, Self-concordant analysis for logistic regression, 2010).
    """
    if z < p:
        p, z = -p, -z
    h = z - p
    tail = exp(-abs(p))
    small, big = tail / (1.0 + tail), 1.0 / (1.0 + tail)
    safe = (1.0 - 16.0 * EPSILON) * 2.0 * big * small / (2.0 + h)
    if not h >= _NEAR:
        return safe
    # `rise` is how fast D grows with h: it pays for the rounding of h in the exponent.
    if p >= 0.0:
        one, two, rise = math.log1p(small * math.expm1(-h)), small * h, small
    elif h < 700.0:
        after = exp(-abs(z))
        one, two = math.log1p(small * math.expm1(h)), -small * h
        rise = (after if z < 0.0 else 1.0) / (1.0 + after)
    else:
        one, two, rise = log(small + big * exp(-h)), big * h, 1.0
    above = (one + two) - 8.0 * EPSILON * (abs(one) + abs(two)) - 2.0 * EPSILON * h * rise
    return max(safe, (1.0 - 8.0 * EPSILON) * 2.0 * above / (h * h))


def exponential_quotient(self: Any, y: float, p: float, z: float) -> float:
    """Return the quotient of exp(-y p): D = e^-a (e^-h + h - 1), a = y p and h = y z - a."""
    h, height = y * (z - p), exp(-y * p)
    # f'' is at least e^-a towards smaller margins; for larger ones as for the logistic loss.
    safe = (1.0 - 16.0 * EPSILON) * 2.0 * height / (2.0 + max(h, 0.0))
    if not abs(h) >= _NEAR or h < -700.0:
        return safe
    fall = math.expm1(-h)
    above = (fall + h) - EPSILON * (8.0 * (abs(fall) + abs(h)) + 2.0 * abs(h * fall))
    return max(safe, (1.0 - 16.0 * EPSILON) * 2.0 * height * (above / (h * h)))


def logarithm_quotient(self: Any, y: float, p: float, z: float) -> float:
    """Return the quotient of -ln p: D = t - ln(1 + t), t = (z - p)/p; infinite for z <= 0 < p."""
    if not p > 0.0:
        return 0.0
    if z <= 0.0:
        return math.inf
    t = (z - p) / p
    # ln(1 + t) <= t (6 + t)/(6 + 4 t) for t >= 0, and D >= t^2/2 for t <= 0.
    safe = (1.0 - 16.0 * EPSILON) / ((1.0 + 2.0 / 3.0 * max(t, 0.0)) * p * p)
    if not abs(t) >= _NEAR or t < -0.999:
        return safe
    logarithm = math.log1p(t)
    error = 8.0 * (abs(t) + abs(logarithm)) + 4.0 * t * t / (1.0 + t)
    above = (t - logarithm) - EPSILON * error
    return max(safe, (1.0 - 16.0 * EPSILON) * 2.0 * above / (t * t) / (p * p))


def power_quotient(self: Any, y: float, p: float, z: float) -> float:
    """Return that of [margin - y p]+^r / r, from the second derivative where it cancels."""
    r, here, there = self.r, max(self.margin - y * p, 0.0), max(self.margin - y * z, 0.0)
    h = y * (p - z)
    errors = (16.0 + 4.0 * r) * EPSILON
    least = min(here, there)
    safe = 0.0
    if least > 0.0:
        bend = min(power(here, r - 2.0), power(there, r - 2.0))
        safe = (1.0 - errors) * (r - 1.0) * bend
    if not abs(h) >= 1e-4 * here or abs(h) < 1e-100:
        return safe
    first, last = power(there, r) / r, power(here, r) / r
    line = power(here, r - 1.0) * h
    above = (first - last - line) - errors * (first + last + abs(line))
    # Below the second number underflow is no longer negligible.
    return max(safe, (1.0 - errors) * 2.0 * above / (h * h)) if above > 1e-200 else safe


def squared_hinge_quotient(self: Any, y: float, p: float, z: float) -> float:
    """Return the quotient of [margin - y p]+^2 / 2."""
    return stretch_quotient(y * p, y * z, -math.inf, self.margin)


def one_sided_quotient(self: Any, y: float, p: float, z: float) -> float:
    """Return the quotient of the squared hinge that turns linear at margin - 2."""
    # That edge is rounded: raise it.
    first = self.margin - 2.0 + EPSILON * (self.margin + 2.0)
    return stretch_quotient(y * p, y * z, first, self.margin)


def stretch_quotient(p: float, z: float, first: float, last: float) -> float:
    """Return the quotient of a loss with second derivative 1 on [first, last] and 0 elsewhere.

    The part of the way from p to z that lies in the stretch, from a share `start` of the way to a
    share `end`, gives (end - start)(2 - start - end), by integrating (z - s) f''(s).

    >>> stretch_quotient(0.5, 3.0, -math.inf, 1.0), 1.0 - 0.8**2
    (0.35999999999999..., 0.35999999999999...)
    """
    if z < p:
        p, z, first, last = -p, -z, -last, -first
    h = z - p
    if not h > 0.0:
        return 1.0 - 16.0 * EPSILON if first <= p <= last else 0.0
    start, end = max(first - p, 0.0) / h, min(last - p, h) / h
    inside = end - start - 4.0 * EPSILON
    if not inside > 0.0:
        return 0.0
    return (1.0 - 8.0 * EPSILON) * inside * (2.0 - start - end - 4.0 * EPSILON)

"""The prediction of `Aioli`, which anticipates both labels."""

from __future__ import annotations

from noregret.elementary import exp

#: Half a prediction beyond which the tangent is 1.
_FLAT = 8.0
#: A step after which the next would be lost in rounding.
_LAST_STEP = 2e-4
#: Steps of Newton's method after which the equation of `Aioli` is solved to the last place.
_STEPS = 60


def halfway_root(far: float, k: float) -> float:
    """Return the p >= 0 with p + k tanh(p/2) = far, to a few roundings of 1 + p.

    The left-hand side rises, concave for p > 0: what a Newton step from 0 and tanh < 1 leave
    of p are both below the root, and so are long steps of Newton's method from there. Short
    ones expand p as a function of the left-hand side up to the third order. The first step
    takes a rational function for tanh, whose error is below 1e-3.
    """
    p = max(far / (1.0 + 0.5 * k), far - k)
    half = min(0.5 * p, _FLAT)
    square = half * half
    above, below = 945.0 + square * (105.0 + square), 945.0 + square * (420.0 + 15.0 * square)
    tangent = min(half * above / below, 1.0)
    for turn in range(_STEPS):
        steepness = 0.5 * k * (1.0 - tangent * tangent)
        flatness = 1.0 / (1.0 + steepness)
        bent = tangent * steepness * flatness
        second = 0.5 * bent
        third = 0.5 * bent * bent + steepness * flatness * (1.0 - 3.0 * tangent * tangent) / 12.0
        step = (far - p - k * tangent) * flatness
        if abs(step) < 1.0:
            p += step + step * step * (second + step * third)
        else:
            p += step
        # The error after a short step is below half its fourth power.
        if turn > 0 and abs(step) <= max(_LAST_STEP, 1e-15 * p):
            break
        tail = exp(-p)
        tangent = (1.0 - tail) / (1.0 + tail)
    return p

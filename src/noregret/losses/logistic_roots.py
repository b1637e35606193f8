"""The implicit step of the logistic loss."""

from __future__ import annotations

from typing import Any

from noregret.elementary import exp, log

#: Logistic slopes stay between these, so that logarithms of them and of their complements exist.
_LEAST_CHANCE, _LARGEST_CHANCE = 1e-300, 1.0 - 2.0**-53
#: The logit of the least chance.
_LEAST_LOGIT = -690.0
#: Relative step of a search by third-order steps after which the next would be lost in rounding.
_LAST_STEP = 1.5e-4


def logistic_proximal_slope(self: Any, y: float, z: float, q: float, guess: float) -> float:
    """Return -y c with ln(c/(1 - c)) + q c + y z = 0, strictly between the ends.

    The reflection c -> 1 - c brings the root below 1/2, where the left-hand side is concave
    and increasing: Newton's method climbs to it from any start that is not above `high`, so
    that it needs no bracket. Near the root the odds o = c/(1 - c) are expanded as a function
    of the left-hand side, up to the third order.
    """
    a = -y * z
    reflected = a > 0.5 * q
    c = -y * guess
    if reflected:
        a, c = q - a, 1.0 - c
    # The odds are at most `high`. Where Newton's step lands from there: below the root.
    ahead, high = max(a, 0.0), exp(min(a, 0.0))
    odds = high * (1.0 + high + ahead) / (1.0 + high + high * (q - ahead))
    # A guess near `high` is worth less.
    if odds * (1.0 - c) < c < 0.5 * high * (1.0 - c):
        odds = c / (1.0 - c)
    if a > _LEAST_LOGIT:
        for _ in range(60):
            rest = 1.0 / (1.0 + odds)
            c = odds * rest
            flatness = 1.0 / (1.0 + q * c * rest)
            # How much of the slope in ln o comes from q c, and that times 1 - 2 c.
            part = q * c * rest * flatness
            bent = part * (1.0 - 2.0 * c)
            third = 1.0 - bent * (3.0 * (1.0 - bent) + 1.0 - 2.0 * c) + 2.0 * part * c * rest
            second, third = (1.0 - bent) / 2.0, third / 6.0
            left = a - log(odds)
            step = (left - q * c) * flatness
            if abs(step) < 1.0:
                factor = (1.0 + step) + step * step * (second + step * third)
            else:
                factor = (1.0 + rest * left) * flatness / (1.0 - c * step)
            odds = min(odds * factor, high)
            # The error after a step is a part of its fourth power.
            if abs(step) <= _LAST_STEP:
                break
    c = max(odds / (1.0 + odds), _LEAST_CHANCE)
    return -y * min(1.0 - c if reflected else c, _LARGEST_CHANCE)

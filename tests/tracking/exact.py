"""EG and C-EG in fifty digits: what long steps lead to when nothing is rounded or out of range."""

from __future__ import annotations

import mpmath
import numpy as np
from mpmath import mpf

from noregret.losses import Loss

DIGITS = 50


def floored(w: list[mpf], alpha: float) -> list[mpf]:
    """Return the entropic projection on the simplex with a floor; alpha = 0 only normalises."""
    n, phi, ordered = len(w), mpf(alpha) / len(w), sorted(w)
    for k in range(n):
        factor = (1 - k * phi) / mpmath.fsum(ordered[k:])
        if factor * ordered[k] >= phi:
            break
    return [max(phi, factor * value) for value in w]


def moved(w: list[mpf], x: list[mpf], step: mpf) -> list[mpf]:
    """Return w_i exp(step x_i), up to a common factor that is nobody's concern."""
    highest = max(step * value for value in x)
    return [a * mpmath.exp(step * value - highest) for a, value in zip(w, x, strict=True)]


def implicit(loss: Loss, w: list[mpf], x: list[mpf], y: float, pace: mpf, slope: mpf) -> mpf:
    """Return the s with s = f'(u(s)) by bisection between 0 and the slope now."""
    low, high = min(slope, mpf(0)), max(slope, mpf(0))
    for _ in range(180):
        s = (low + high) / 2
        # In the exponents a step is multiplied by up to 1e17; thirteen digits are left.
        if high - low <= abs(s) * mpf("1e-30"):
            break
        after = moved(w, x, -pace * s)
        u = mpmath.fdot(after, x) / mpmath.fsum(after)
        low, high = (s, high) if s < mpf(loss.slope(y, float(u))) else (low, s)
    return (low + high) / 2


def run(
    X: np.ndarray, y: np.ndarray, loss: Loss, eta: float, alpha: float, step: str, mass: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return predictions, last weights and average of a run with `step` explicit or implicit."""
    with mpmath.workdps(DIGITS):
        n = X.shape[1]
        w, total = [mpf(1) / n] * n, [mpf(0)] * n
        predictions = []
        for features, label, weight in zip(X, y, mass, strict=True):
            x = [mpf(float(value)) for value in features]
            predictions.append(float(mpmath.fdot(w, x)))
            total = [a + b for a, b in zip(total, w, strict=True)]
            slope, pace = mpf(loss.slope(float(label), predictions[-1])), eta * mpf(float(weight))
            if slope == 0 or pace == 0:
                continue
            if step == "implicit":
                slope = implicit(loss, w, x, float(label), pace, slope)
            w = floored(moved(w, x, -pace * slope), alpha)
        average = [float(value / len(y)) for value in total]
        return np.array(predictions), np.array([float(a) for a in w]), np.array(average)

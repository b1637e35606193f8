"""Second-order learners by their definition: full matrices, plain solves, no factor."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from scipy.optimize import brentq

from noregret import losses, rates

Vector = npt.NDArray[np.float64]


class Run(NamedTuple):
    """What a run comes to: predictions, weights, S and the sum of ln(1 + c k)."""

    predictions: Vector
    weights: Vector
    cost: float
    growth: float
    #: The sum of the parabolas, (1/2) u'Hu - <h, u> + height.
    curves: Vector
    lines: Vector
    height: float


def parabola(
    rate: Any, loss: losses.Loss, y: float, mass: float, raw: float, k: float, n: float
) -> tuple[float, float, float]:
    """Return the prediction, c and b of a round, as the items of the specification say."""
    p = raw
    if isinstance(rate, rates.Ridge):
        if rate.anticipating:
            p = raw / (1.0 + 2.0 * mass * k)
        return p, 2.0 * mass, 2.0 * mass * y
    if isinstance(rate, rates.Arow):
        c = mass / rate.r if y * p < loss.margin else 0.0  # type: ignore[attr-defined]
        return p, c, c * y * loss.margin  # type: ignore[attr-defined]
    touch = p
    if isinstance(rate, rates.Newton):
        if rate.implicit and k > 0.0:
            slope = loss.slope(y, p)
            reached = p - mass * k * slope
            # Wider than they need be: h may be 0 at an end.
            ends = min(p, reached) - 1e-6, max(p, reached) + 1e-6
            if reached != p:
                touch = brentq(
                    lambda z: z - p + mass * k * loss.slope(y, z), *ends, xtol=1e-14, rtol=1e-14
                )
        c = loss.curvature_below(y, touch, touch, touch)
    elif isinstance(rate, rates.Aioli):
        if raw != 0.0:
            ends = sorted((0.0, raw))
            touch = p = brentq(
                lambda z: z + mass * k * math.tanh(0.5 * z) - raw, *ends, xtol=1e-15, rtol=1e-14
            )
        r = rate.radius * n
        if rate.row_limit < math.inf:
            c = 0.25 / math.cosh(0.5 * p) ** 2 / (1.0 + rate.radius * max(rate.row_limit, n))
        else:
            c = loss.curvature_below(y, p, -r, r)
    else:
        c = loss.curvature_below(y, p, -rate.radius * n, rate.radius * n)
    return p, mass * c, mass * (c * touch - loss.slope(y, touch))


def play(
    rate: Any, loss: losses.Loss, X: Vector, y: Vector, weight: Vector, sizes: Vector | None = None
) -> Run:
    """Play a second-order rate on rows; with `sizes` the units are these from the start.

    In fixed units the prior is not given back.
    """
    d = X.shape[1]
    m = np.zeros(d) if sizes is None else sizes.astype(float)
    ridge, keep = rate.ridge(), rate.keep()
    # Features that were never seen get any positive entry: nothing refers to it.
    A = np.diag(ridge * np.where(m > 0.0, m * m, 0.0))
    b, predictions, cost, growth, last = np.zeros(d), [], 0.0, 0.0, 0
    curves, lines, height = np.zeros((d, d)), np.zeros(d), 0.0
    low, high, clipped = 0.0, 0.0, rate.clips()

    def solved(right: Vector, known: Vector) -> Vector:
        used = known > 0.0
        found = np.zeros(d)
        scale = known[used]
        found[used] = np.linalg.solve(A[np.ix_(used, used)] / np.outer(scale, scale),
                                      right[used] / scale) / scale  # fmt: skip
        return found

    seen = False
    for x, label, mass in zip(X, y.tolist(), weight.tolist(), strict=True):
        grown = np.maximum(m, np.abs(x))
        before = A.copy()
        A += np.diag(ridge * (grown * grown - m * m))
        raw = float(solved(b, grown) @ x)
        k = float(solved(x, grown) @ x) / keep
        n = float(np.linalg.norm(x[grown > 0.0] / grown[grown > 0.0]))
        p, c, pull = parabola(rate, loss, label, mass, raw, k, n)
        if clipped:
            p = min(max(p, low), high)
        predictions.append(p)
        if mass == 0.0:
            A = before
            continue
        low, high = (min(low, label), max(high, label)) if seen else (label, label)
        seen, m = True, grown
        A = keep * A + c * np.outer(x, x)
        b = keep * b + pull * x
        slope = c * p - pull
        value = mass * loss.value(label, p) if isinstance(rate, rates.Ridge) else 0.0
        at_raw = slope * (raw - p) + 0.5 * c * (raw - p) ** 2
        cost += 0.5 * (slope + c * (raw - p)) ** 2 * k / (1.0 + c * k) - at_raw
        growth += math.log1p(c * k)
        value = mass * loss.value(label, p)
        curves, lines = curves + c * np.outer(x, x), lines + pull * x
        height += value - slope * p + 0.5 * c * p * p
        known = np.flatnonzero(m > 0.0)
        if keep < 1.0 and sizes is None and len(known):
            after = known[known > last] if seen else known
            last = int(after[0]) if len(after) else int(known[0])
            A[last, last] += len(known) * (1.0 - keep) * ridge * m[last] ** 2
    return Run(np.array(predictions), solved(b, m), cost, growth, curves, lines, height)

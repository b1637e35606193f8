"""The trackers written down densely: weights, gradients and projections in plain numpy.

Projections are the sorting ones, implicit steps bisections; only losses come from the library.
"""

from __future__ import annotations

import numpy as np

from noregret.losses import Loss

Vector = np.ndarray


def floored(w: Vector, alpha: float) -> Vector:
    """Return the entropic projection on the simplex with a floor, by sorting."""
    n, phi = len(w), alpha / len(w)
    ordered = np.sort(w)
    suffix = np.cumsum(ordered[::-1])[::-1]
    factors = (1 - np.arange(n) * phi) / suffix
    enough = factors * ordered >= phi
    enough[-1] = True
    return np.maximum(phi, factors[int(np.argmax(enough))] * w)


class Tracker:
    """C-GD ("ball"), the shifting p-norm ("norm"), EGU and C-EGU ("box"), EG and C-EG ("simplex").

    `size` is the radius, or alpha; None leaves the set out.
    """

    def __init__(
        self,
        loss: Loss,
        kind: str,
        eta: float,
        n: int,
        size: float | None = None,
        p: float = 2.0,
        clip: float = np.inf,
        conservative: bool = False,
        implicit: bool = False,
    ) -> None:
        self.loss, self.kind, self.eta, self.n, self.size = loss, kind, eta, n, size
        self.p, self.clip, self.conservative, self.implicit = p, clip, conservative, implicit
        self.w = np.zeros(n) if kind in ("ball", "norm") else np.full(n, 1 / n)
        self.total, self.loss_sum = np.zeros(n), 0.0

    def moved(self, step: Vector) -> Vector:
        """Return the weights after a step in the dual, before the projection."""
        if self.kind == "ball":
            return self.w + step
        if self.kind == "norm":
            return power_link(power_link(self.w, self.p / (self.p - 1)) + step, self.p)
        grown = self.w * np.exp(step - (step.max() if self.kind == "simplex" else 0.0))
        return grown / grown.sum() if self.kind == "simplex" else grown

    def projected(self, w: Vector) -> Vector:
        if self.size is None:
            return w
        if self.kind == "simplex":
            return floored(w, self.size)
        if self.kind == "box":
            return np.clip(w, self.size / self.n, self.n / self.size)
        q = self.p / (self.p - 1)
        length = float(np.sum(np.abs(w) ** q) ** (1 / q))
        return w * (self.size / length) if length > self.size else w

    def learn(self, X: Vector, y: Vector, mass: Vector | None = None) -> Vector:
        mass = np.ones(len(y)) if mass is None else mass
        return np.array([self._round(*row) for row in zip(X, y, mass, strict=True)])

    def _round(self, x: Vector, y: float, mass: float) -> float:
        p = min(float(self.w @ x), self.clip)
        self.total += self.w
        self.loss_sum += mass * self.loss.value(y, p)
        slope = self.loss.slope(y, p)
        if slope != 0.0 and not (self.conservative and not self.loss.mistake(y, p)):
            if self.implicit:
                slope = self._implicit(x, y, mass, slope)
            self.w = self.projected(self.moved(-self.eta * mass * slope * x))
        return p

    def _implicit(self, x: Vector, y: float, mass: float, slope: float) -> float:
        """Return the s with s = f'(<w(s), x>) by bisection between 0 and the slope now."""
        low, high = min(slope, 0.0), max(slope, 0.0)
        for _ in range(200):
            s = (low + high) / 2
            u = float(self.moved(-self.eta * mass * s * x) @ x)
            low, high = (s, high) if s < self.loss.slope(y, u) else (low, s)
        return (low + high) / 2


def power_link(v: Vector, exponent: float) -> Vector:
    """Return the gradient of half the square of that norm."""
    length = float(np.sum(np.abs(v) ** exponent) ** (1 / exponent))
    if length == 0.0:
        return np.zeros_like(v)
    return np.sign(v) * np.abs(v) ** (exponent - 1) * length ** (2 - exponent)

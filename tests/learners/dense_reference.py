"""Mirror descent written down densely: explicit theta, eta, link and weights every round.

It shares with the library the losses (which are tested on their own) and nothing else: links
and rates are closed forms, projections are numpy, averages are sums of the weights played.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from noregret import domains, losses, mirrors, rates

Vector = np.ndarray


def dual_norm(mirror: mirrors.Mirror, x: Vector) -> float:
    if isinstance(mirror, mirrors.PNorm):
        return float(np.sum(np.abs(x) ** mirror.p) ** (1.0 / mirror.p))
    if isinstance(mirror, mirrors.Power):
        q = mirror.p / (mirror.p - 1.0)
        return float(np.sum(np.abs(x) ** q) ** (1.0 / q))
    entropies = (mirrors.Entropy, mirrors.UnnormalizedEntropy)
    if isinstance(mirror, (*entropies, mirrors.SignedEntropy, mirrors.Hypentropy)):
        return float(np.max(np.abs(x)))
    dual = mirror.predictors().dual
    return math.sqrt(float(x @ x)) if dual == 2.0 else float(np.linalg.norm(x, dual))


def link(mirror: mirrors.Mirror, a: Vector) -> Vector:
    """Return the weights that belong to a = eta theta."""
    if isinstance(mirror, mirrors.Ball):
        length = math.sqrt(float(a @ a))
        return a * (mirror.radius / length) if length > mirror.radius else a.copy()
    if isinstance(mirror, mirrors.Box):
        return np.clip(a, mirror.low, mirror.high)
    if isinstance(mirror, mirrors.PNorm):
        length = float(np.sum(np.abs(a) ** mirror.p) ** (1.0 / mirror.p))
        if length == 0.0:
            return np.zeros_like(a)
        return np.sign(a) * np.abs(a) ** (mirror.p - 1.0) / length ** (mirror.p - 2.0)
    if isinstance(mirror, mirrors.Entropy):
        powers = np.exp(a - a.max())
        return mirror.scale * powers / powers.sum()
    if isinstance(mirror, mirrors.UnnormalizedEntropy):
        return float(mirror.start or 1.0 / len(a)) * np.exp(a)
    if isinstance(mirror, mirrors.SignedEntropy):
        t = mirror.radius * a
        return mirror.radius * np.sinh(t) / np.cosh(t).sum()
    if isinstance(mirror, mirrors.Power):
        return np.sign(a) * np.abs(a) ** (1.0 / (mirror.p - 1.0))
    if isinstance(mirror, mirrors.Hypentropy):
        return 2.0 * mirror.beta * np.sinh(a)
    # Of a map that is not known here the passes are tested, not its formula.
    return a.copy() if isinstance(mirror, mirrors.Euclidean) else mirror.link(a)


class Reference:
    """The algorithm of `MirrorDescent`, dense and slow."""

    def __init__(
        self,
        loss: losses.Loss,
        mirror: mirrors.Mirror,
        rate: rates.Rate,
        domain: domains.Domain | None = None,
        lazy: bool = True,
        conservative: bool = False,
        dimension: int = 1,
    ) -> None:
        self.loss, self.rate, self.domain = loss, rate, domain
        self.lazy, self.conservative = lazy, conservative
        self.mirror = mirror
        if lazy and isinstance(domain, domains.Ball):
            self.mirror = mirrors.Ball(domain.radius)
        elif lazy and isinstance(domain, domains.Box):
            self.mirror = mirrors.Box(domain.low, domain.high)
        elif lazy and isinstance(domain, domains.Orthant):
            self.mirror = mirrors.Box(0.0, 1e150)
        self.d = dimension
        steepest = loss.lipschitz()
        self.steepest = steepest if math.isfinite(steepest) else 1.0
        #: Maps whose rate sits inside the link take it from a grid of eighth octaves.
        self.on_grid = not isinstance(self.mirror, (mirrors.Euclidean, mirrors.PNorm))
        self.on_grid = self.on_grid and not self.mirror.homogeneous()
        self.rounds = 0
        self.gradient, self.iterates = np.zeros(dimension), np.zeros(dimension)
        self.reach = self.squares = self.largest_square = 0.0
        self.coordinate_squares = np.zeros(dimension)
        self.coordinate_reach, self.coordinate_size = np.zeros(dimension), np.zeros(dimension)
        self.entries: dict[str, float] = dict.fromkeys(
            "MISTAKES LOSS INTERCEPT COUNTED COUNTED_LOSS TRAVEL RATED_SQUARES LARGEST_ROW "
            "LARGEST_COUNTED_ROW FIRST_ETA LAST_ETA REGULARIZER CURVED_SQUARES "
            "LARGEST_CURVED_SQUARE LOCAL_SQUARES WIDEST_ROW".split(),
            0.0,
        )
        self.entries |= {"LOWEST_FEATURE": math.inf, "LOWEST_STEP": math.inf}
        self.entries["HIGHEST_FEATURE"] = -math.inf
        self._begin()

    def _begin(self) -> None:
        self.theta = np.zeros(self.d)
        self.inner = math.inf
        self.agile_weights = self._project(link(self.mirror, np.zeros(self.d)))
        if not self.lazy and isinstance(self.mirror, mirrors.UnnormalizedEntropy):
            self.theta = np.log(self.agile_weights * self.d)
        elif not self.lazy and isinstance(self.mirror, mirrors.Euclidean):
            self.theta = self.agile_weights

    def _project(self, w: Vector) -> Vector:
        if self.lazy or self.domain is None:
            return w
        return self.domain.project(w)

    def _eta(self) -> float:
        """Return the rate that the schedule asks for, infinity before anything was seen."""
        rate, t = self.rate, self.rounds + 1
        if isinstance(rate, rates.InverseSqrt):
            return rate.eta / math.sqrt(t)
        if isinstance(rate, rates.StronglyConvex):
            return 1.0 / (rate.sigma * max(t - 1, 1))
        if isinstance(rate, rates.Doubling):
            return rate.eta / math.sqrt(2 ** (t.bit_length() - 1))
        if isinstance(rate, rates.Adaptive):
            total = self.squares + max(self.largest_square, self.reach**2)
            return self._scale() / math.sqrt(total) if total > 0.0 else math.inf
        if isinstance(rate, rates.PerCoordinate):
            return rate.scale
        if isinstance(rate, rates.Constant):
            return rate.eta
        return rate.at(self.rounds, self.squares, max(self.largest_square, self.reach**2))

    def _scale(self) -> float:
        """Return the scale that balances R and the sum of squares over the map's own set."""
        rate, mirror = self.rate, self.mirror
        assert isinstance(rate, rates.Adaptive)
        if rate.scale is not None:
            return rate.scale
        if isinstance(mirror, mirrors.Ball):
            return mirror.radius / math.sqrt(2.0)
        if isinstance(mirror, mirrors.SignedEntropy):
            return math.sqrt(math.log(2.0 * self.d)) / mirror.radius
        if isinstance(mirror, (mirrors.Entropy, mirrors.UnnormalizedEntropy)):
            return math.sqrt(math.log(self.d))
        if isinstance(mirror, mirrors.PNorm):
            return 1.0 / math.sqrt(mirror.p - 1.0)
        plain = (mirrors.Euclidean, mirrors.Box, mirrors.Power, mirrors.Hypentropy)
        return 1.0 if isinstance(mirror, plain) else mirror.natural_scale(self.d)

    def _weights(self, eta: float) -> Vector:
        if not self.lazy:
            return self.agile_weights.copy()
        left = self.theta
        if isinstance(self.mirror, mirrors.SoftThreshold):
            threshold = self.mirror.l1 * self.rounds
            left = np.sign(left) * np.maximum(np.abs(left) - threshold, 0.0)
        if isinstance(self.rate, rates.PerCoordinate):
            total = self.coordinate_squares + self.coordinate_reach**2
            size = self.coordinate_size if self.rate.invariant else np.ones(self.d)
            factors = np.zeros(self.d)
            seen = total > 0.0
            factors[seen] = self.rate.scale / (np.sqrt(total[seen]) * size[seen])
            return left * factors
        if not np.any(left):
            return link(self.mirror, np.zeros(self.d))
        return link(self.mirror, (eta if math.isfinite(eta) else 0.0) * left)

    @property
    def weights(self) -> Vector:
        """The weights for the coming round, at the rate in force."""
        eta = self._eta()
        if self.on_grid and self.lazy:
            # The coming round is played at the rate that it will have fallen to.
            if not eta < self.inner:
                eta = self.inner
            elif not self.rate.constant():
                eta = 2.0 ** (math.floor(8.0 * math.log2(eta)) / 8.0)
        return self._weights(eta)

    @property
    def average(self) -> Vector:
        return self.iterates / self.rounds

    def learn(self, X: Vector, y: Vector, weight: Vector) -> Vector:
        return np.array([self._round(*row) for row in zip(X, y, weight, strict=True)])

    def _round(self, x: Vector, y: float, weight: float) -> float:
        t, entries, loss = self.rounds + 1, self.entries, self.loss
        if isinstance(self.rate, rates.Doubling) and t & (t - 1) == 0:
            self._begin()
        norm = dual_norm(self.mirror, x)
        self.reach = max(self.reach, self.steepest * weight * norm)
        used = np.abs(x) > 0.0
        self.coordinate_reach = np.maximum(
            self.coordinate_reach, self.steepest * weight * np.abs(x) * used
        )
        self.coordinate_size = np.maximum(self.coordinate_size, np.abs(x))
        eta = self._eta()
        if self.lazy and self.on_grid:
            if isinstance(self.rate, rates.Constant):
                self.inner = eta
            elif eta < self.inner:
                self.inner = 2.0 ** (math.floor(8.0 * math.log2(eta)) / 8.0)
            eta = self.inner
        w = self._weights(eta)
        p = float(w @ x)
        value, slope = weight * loss.value(y, p), weight * loss.slope(y, p)
        mistake = bool(loss.mistake(y, p))
        entries["MISTAKES"] += mistake
        entries["LOSS"] += value
        entries["LARGEST_ROW"] = max(entries["LARGEST_ROW"], norm)
        entries["FIRST_ETA"] = eta if t == 1 else entries["FIRST_ETA"]
        entries["LAST_ETA"] = eta
        if self.conservative and not mistake:
            slope = 0.0
        else:
            self._count(x, value, slope, p, norm, eta)
        z = slope * x
        if isinstance(self.rate, rates.StronglyConvex):
            curved = float((z + self.rate.sigma * w) @ (z + self.rate.sigma * w))
            entries["REGULARIZER"] += 0.5 * self.rate.sigma * float(w @ w)
            entries["CURVED_SQUARES"] += curved / t
            entries["LARGEST_CURVED_SQUARE"] = max(entries["LARGEST_CURVED_SQUARE"], curved)
        if self.mirror.multiplicative():
            self._observe(x, z, w, eta)
        self.iterates += w
        self.gradient += z
        self.coordinate_squares += z * z
        self._step(z, eta)
        self.rounds = t
        return p

    def _count(
        self, x: Vector, value: float, slope: float, p: float, norm: float, eta: float
    ) -> None:
        entries, square = self.entries, (slope * norm) ** 2
        if self.conservative:
            entries["COUNTED"] += 1
            entries["COUNTED_LOSS"] += value
            entries["LARGEST_COUNTED_ROW"] = max(entries["LARGEST_COUNTED_ROW"], norm)
        entries["INTERCEPT"] += value - slope * p
        entries["TRAVEL"] += abs(slope) * float(np.abs(x).sum())
        entries["RATED_SQUARES"] += eta * square
        self.squares += square
        self.largest_square = max(self.largest_square, square)

    def _observe(self, x: Vector, z: Vector, w: Vector, eta: float) -> None:
        entries = self.entries
        entries["LOCAL_SQUARES"] += float(w @ (z * z))
        entries["LOWEST_FEATURE"] = min(entries["LOWEST_FEATURE"], float(x.min()))
        entries["HIGHEST_FEATURE"] = max(entries["HIGHEST_FEATURE"], float(x.max()))
        entries["WIDEST_ROW"] = max(entries["WIDEST_ROW"], float(x.max() - x.min()))
        entries["LOWEST_STEP"] = min(entries["LOWEST_STEP"], eta * float(z.min()))

    def _step(self, z: Vector, eta: float) -> None:
        if self.lazy:
            self.theta = self.theta - z
            return
        if not np.any(z):
            return
        self.theta = self.theta - eta * z
        if isinstance(self.mirror, mirrors.Euclidean):
            self.agile_weights = self.theta = self._project(self.theta)
        elif isinstance(self.mirror, mirrors.UnnormalizedEntropy):
            self.agile_weights = self._project(link(self.mirror, self.theta))
            self.theta = np.log(self.agile_weights / float(self.mirror.start or 1.0 / self.d))
        else:
            self.agile_weights = link(self.mirror, self.theta)

    def ledger(self) -> dict[str, Any]:
        """Return the entries of the ledger by name."""
        return self.entries | {
            "ROUNDS": float(self.rounds),
            "SQUARES": self.squares,
            "LARGEST_SQUARE": self.largest_square,
        }

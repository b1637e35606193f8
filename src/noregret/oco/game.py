"""The general online convex game on dense vectors: play a point, suffer a loss, move on."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import replace
from typing import Any, NamedTuple, Protocol

import numpy as np

from noregret.arrays import ArrayLike, Vector, as_number, as_positive, as_whole
from noregret.domains import Domain
from noregret.mirrors import Mirror
from noregret.oco.game_certificate import GameCertificate, Monitors
from noregret.oco.game_theorems import game_bounds
from noregret.oco.losses import ConvexFunction, as_loss
from noregret.oco.point_player import PointPlayer
from noregret.oco.setting import LARGEST_NORM, settle
from noregret.proof.evidence import CoordinateRates, Evidence
from noregret.proof.ledger import Entry
from noregret.rates import Rate
from noregret.rates.base import UNBOUNDED
from noregret.turns import one_at_a_time


class Game(PointPlayer):
    """Online mirror descent against convex losses that are known by value and subgradient.

    Each round: `play()` gives w_t, the world answers with f_t, and `suffer(f_t(w_t), z_t)` with
    z_t in the subdifferential of f_t at w_t moves on. Lazy: theta <- theta - z_t and
    w = argmax over the domain of <w, eta theta> - R(w). Agile: w = projection of
    link(theta - eta_t z_t), and theta is that point's own. `StronglyConvex(sigma)` steps by
    z_t / (sigma t) and trusts that every f_t - (sigma/2)||w||^2 is convex.
    Reference: Shalev-Shwartz, Online Learning and Online Convex Optimization, section 2.6.

    >>> import noregret as nr
    >>> game = Game(2, nr.mirrors.Euclidean(), nr.rates.Constant(0.5))
    >>> w = game.play()
    >>> game.suffer(abs(w[0] - 1.0), [-1.0, 0.0])
    >>> game.play()
    array([0.5, 0. ])
    """

    def __init__(
        self,
        dimension: int,
        mirror: Mirror,
        rate: Rate,
        domain: Domain | None = None,
        lazy: bool = True,
        *,
        nonnegative: bool = False,
        gradient_limit: float | None = None,
    ) -> None:
        """Set up a game.

        dimension: the number of coordinates, >= 1. domain: the set of the points [default: that of
        the map]. lazy: see above [default: True]. nonnegative: promise losses >= 0, so that floors
        need not go below 0 [default: False]. gradient_limit: promise ||z||_* <= gradient_limit in
        the map's dual norm, at most 1e145 [default: none]; the bounds in advance use it, and say
        since which round it was broken.
        """
        setting = settle(as_whole("dimension", dimension), mirror, rate, domain, bool(lazy))
        limit = (
            math.inf
            if gradient_limit is None
            else as_positive("gradient_limit", gradient_limit, LARGEST_NORM)
        )
        super().__init__(setting, nonnegative, limit)
        self._monitors = Monitors()
        #: For a rate of each coordinate: the sum of z_i^2, the largest |z_i|, the coming round's
        #: factor and the last one used.
        self._coordinates = np.zeros((4, self.dimension))
        self._begin()

    def _begin(self) -> None:
        """Move to the first point."""
        setting = self._setting
        self._w = setting.first.copy()
        self._theta = np.zeros(self.dimension)
        if not setting.lazy and setting.domain is not None:
            self._theta = setting.mirror.inverse_link(self._w)

    @property
    def mirror(self) -> Mirror:
        """The mirror map, with its set."""
        return self._setting.shown

    @property
    def rate(self) -> Rate:
        """The rate."""
        return self._setting.rate

    @property
    def domain(self) -> Domain | None:
        """The set that the points are kept in, if there is one."""
        return self._setting.domain

    @one_at_a_time
    def face(self, loss: Any) -> float:
        """Play a round against a loss: an object with value and subgradient, or a pair of them.

        Returns the loss suffered.
        """
        function: ConvexFunction = as_loss(loss)
        value = as_number("value", function.value(self.play()))
        curvature = getattr(function, "curvature", None)
        sigma = self.rate.strong_convexity()
        if curvature is not None and curvature < sigma:
            raise ValueError(
                f"the loss has curvature {curvature:g}, but StronglyConvex(sigma={sigma:g}) relies "
                "on at least sigma"
            )
        self._end(value, function.subgradient(self.play()), curvature or 0.0)
        return value

    @one_at_a_time
    def suffer(self, value: float, subgradient: ArrayLike, curvature: float = 0.0) -> None:
        """End the round: value = f_t(w_t), subgradient in the subdifferential of f_t at w_t.

        `curvature` is a sigma for which f_t - (sigma/2)||w||^2 is convex as well: floors are
        then higher. Input that cannot be used raises ValueError and leaves the game as it was.
        """
        self._end(value, subgradient, curvature)

    def _end(self, value: float, subgradient: ArrayLike, curvature: float) -> None:
        value, z, norm, curvature = self._examined(value, subgradient, curvature)
        t, sigma = self.rounds + 1, self.rate.strong_convexity()
        step = self._curved if sigma > 0.0 else self._plain
        if self.rate.by_coordinate():
            step = self._by_coordinate
        with np.errstate(over="ignore", invalid="ignore"):
            move = step(z, norm)
            self._finite(move.w)
            self._monitors.watch(t, self._w, z, move.eta, move.divergence)
            self._enter(value, z, norm, move.eta, max(curvature, sigma))
        self._theta, self._w = move.theta, move.w
        if move.coordinates is not None:
            self._coordinates = move.coordinates
        if self.rate.restarts() and (t + 1) & t == 0:
            self._begin()

    def _plain(self, z: Vector, norm: float) -> _Move:
        setting, mirror = self._setting, self._setting.mirror
        ledger, t = self._ledger, self.rounds + 1
        squares = float(ledger[Entry.SQUARES])
        limit = float(ledger[Entry.ROW_LIMIT])
        largest = max(float(ledger[Entry.LARGEST_SQUARE]), limit**2 if limit < math.inf else 0.0)
        # Before the first gradient a lazy game stands at w_1 at every rate, and an agile one
        # steps only now: both may choose the rate knowing this round's gradient.
        known = setting.lazy and squares > 0.0
        eta = self.rate.at(t - 1.0, squares, largest if known else max(largest, norm * norm))
        divergence = self._divergence(z, eta) if norm > 0.0 else 0.0
        if setting.lazy:
            theta = self._theta - z
            after = self.rate.at(float(t), squares + norm * norm, max(largest, norm * norm))
            threshold = mirror.threshold(float(t))
            drawn = _shrunk(theta, threshold) if threshold > 0.0 else theta
            a = after * drawn if after < UNBOUNDED else np.zeros(self.dimension)
            w = a if threshold > 0.0 else setting.link(self._finite(a))
        else:
            theta = self._theta - eta * z if norm > 0.0 else self._theta
            w = mirror.link(self._finite(theta))
            if setting.domain is not None:
                w = mirror.project(setting.domain, self._finite(w))
                theta = mirror.inverse_link(w)
        return _Move(theta, w, eta, divergence)

    def _curved(self, z: Vector, norm: float) -> _Move:
        setting, sigma = self._setting, self.rate.strong_convexity()
        eta = self.rate.at(self.rounds + 1.0, 0.0, 0.0)
        if setting.lazy:
            theta = self._theta - (z - sigma * self._w)
            a = eta * theta
        else:
            theta = a = self._w - eta * z
        return _Move(theta, setting.link(self._finite(a)), eta)

    def _by_coordinate(self, z: Vector, norm: float) -> _Move:
        scale, size = self.rate.coordinate_scale(), np.abs(z)
        squares, sizes, used, _ = self._coordinates.copy()
        # A coordinate that never moved stands at 0 at every rate: its first is chosen now.
        fresh = (squares == 0.0) & (size > 0.0)
        used[fresh] = scale / size[fresh]
        divergence = 0.5 * float(np.sum(used * z * z))
        theta = self._theta - z
        squares, sizes = squares + z * z, np.maximum(sizes, size)
        total = squares + sizes * sizes
        factors = np.divide(scale, np.sqrt(total), out=np.zeros_like(total), where=total > 0.0)
        w = _shrunk(theta, self._setting.mirror.threshold(self.rounds + 1.0)) * factors
        return _Move(theta, w, scale, divergence, np.array([squares, sizes, factors, used]))

    def _divergence(self, z: Vector, eta: float) -> float:
        """Return D_t, the exact stability term of Lemma 2.20 at this round's rate."""
        setting, mirror = self._setting, self._setting.mirror
        if not setting.lazy:
            return mirror.stability(self._theta, self._w, eta * z) / eta
        a = eta * self._theta if self._theta.any() else self._theta
        if setting.domain is None:
            return mirror.stability(a, self._w, eta * z) / eta
        b = a - eta * z
        gain = setting.potential(setting.link(b), b) - setting.potential(self._w, a)
        return max(gain + eta * float(self._w @ z), 0.0) / eta

    def _finite(self, point: Vector) -> Vector:
        """Return a new point, or refuse one that overflowed."""
        if not np.isfinite(point).all():
            raise OverflowError(
                f"the point of round {self.rounds + 2} overflows: the game diverges; use a "
                "smaller rate or a domain"
            )
        return point

    def certificate(self) -> GameCertificate:
        """Return the certificate of the rounds so far, which later rounds do not change."""
        squares, _, _, used = self._coordinates.copy()
        return self._certificate(
            lazy=self._setting.lazy,
            theorems=game_bounds,
            monitors=replace(self._monitors),
            evidence=CoordinateRates(used, squares) if self.rate.by_coordinate() else Evidence(),
        )


class _Move(NamedTuple):
    """Where a round leads, before anything is written: the new theta and w."""

    theta: Vector
    w: Vector
    #: The rate of the round and its stability term D_t.
    eta: float
    divergence: float = 0.0
    coordinates: Vector | None = None


def _shrunk(theta: Vector, threshold: float) -> Vector:
    """Return theta drawn towards 0 by the threshold in every coordinate."""
    return np.copysign(np.maximum(np.abs(theta) - threshold, 0.0), theta)


class Player(Protocol):
    """The protocol of `run`: a player that faces losses and certifies its rounds."""

    def face(self, loss: Any) -> float:
        """Play a round against a loss."""

    def certificate(self) -> GameCertificate:
        """Return the certificate of the rounds so far."""


def run(player: Player, losses: Iterable[Any]) -> GameCertificate:
    """Play against the losses one after the other and return the certificate.

    A loss is an object with `value(w)` and `subgradient(w)`, or a pair of such functions.

    >>> from noregret import mirrors, rates
    >>> game = Game(1, mirrors.Euclidean(), rates.Constant(0.1))
    >>> run(game, [(lambda w: abs(w[0] - 1.0), lambda w: np.sign(w - 1.0))] * 5).rounds
    5
    """
    for loss in losses:
        player.face(loss)
    return player.certificate()

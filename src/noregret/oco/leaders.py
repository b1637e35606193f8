"""Follow the leader, plain and regularised: play the best point of the past."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from noregret import mirrors, rates
from noregret.arrays import ArrayLike, Vector, as_number, as_vector, as_whole
from noregret.domains import Domain
from noregret.mirrors.base import declares
from noregret.oco.game_certificate import Comparators, GameCertificate
from noregret.oco.game_theorems import leader_bounds, regularized_bounds
from noregret.oco.losses import (
    ConvexFunction,
    Linear,
    Quadratic,
    as_loss,
    corner,
    interval,
    on_interval,
)
from noregret.oco.point_player import PointPlayer
from noregret.oco.setting import GameSetting, settle
from noregret.proof.statement import NOTHING, ROUNDING, Measured, Statement
from noregret.rates.base import UNBOUNDED
from noregret.turns import one_at_a_time

Minimizer = Callable[[ConvexFunction, Vector], ArrayLike]

#: The promises that a contradiction puts in doubt, for losses that the user gives.
CONVEX = "convexity and curvature of the losses"


@dataclass(frozen=True, eq=False)
class Past:
    """The sum of the losses seen and of the regulariser, as a function.

    Linear and quadratic losses are kept as (c/2)||w||^2 + <b, w> + constant, all others one by one.
    """

    setting: GameSetting
    eta: float
    b: Vector
    c: float = 0.0
    #: Not needed by minimisers.
    constant: float = 0.0
    others: tuple[ConvexFunction, ...] = ()

    def plus(self, loss: ConvexFunction) -> Past:
        """Return the sum with one loss more."""
        if type(loss) is Linear:
            return replace(self, b=self.b + loss.z)
        if type(loss) is not Quadratic:
            return replace(self, others=(*self.others, loss))
        square = 0.5 * loss.curvature * float(loss.center @ loss.center)
        return replace(
            self,
            c=self.c + loss.curvature,
            b=self.b - loss.curvature * loss.center,
            constant=self.constant + square,
        )

    def losses(self, w: Vector) -> float:
        """Return the sum of the losses at w."""
        return self._varying(w) + self.constant

    def size(self, w: Vector) -> float:
        """Return the sum of the absolute terms of the quadratic part of `losses`."""
        return 0.5 * self.c * float(w @ w) + float(np.abs(self.b) @ np.abs(w)) + self.constant

    def _varying(self, w: Vector) -> float:
        total = 0.5 * self.c * float(w @ w) + float(self.b @ w)
        return total + sum(float(loss.value(w)) for loss in self.others)

    def value(self, w: Vector) -> float:
        """Return the sum of the losses and of R / eta at w, up to a constant."""
        total = self._varying(w)
        if self.eta < UNBOUNDED:
            total += self.setting.mirror.regularizer(w, self.eta)
        return total

    def subgradient(self, w: Vector) -> Vector:
        """Return an element of the subdifferential of that sum."""
        total = self.c * w + self.b
        for loss in self.others:
            total = total + np.asarray(loss.subgradient(w), np.float64)
        if self.eta < UNBOUNDED:
            total = total + self.setting.mirror.inverse_link(w) / self.eta
        return total

    def minimizer(self, standing: Vector, user: Minimizer | None) -> Vector:
        """Return a point of the domain where the sum is least."""
        mirror, domain = self.setting.mirror, self.setting.domain
        if not self.others:
            if mirror.euclidean():
                c = self.c + (1.0 / self.eta if self.eta < UNBOUNDED else 0.0)
                if c == 0.0:
                    return corner(domain, self.b, standing)
                return -self.b / c if domain is None else domain.project(-self.b / c)
            if self.c == 0.0:
                return self.setting.link(-self.eta * self.b)
            if domain is None and declares(mirror, "quadratic_minimizer"):
                return mirror.quadratic_minimizer(self.c, self.b, self.eta)
        elif mirror.everywhere() and len(standing) == 1 and user is None:
            return np.array(
                [
                    on_interval(
                        lambda v: self.value(np.array([v])),
                        lambda v: float(self.subgradient(np.array([v]))[0]),
                        *interval(domain),
                        float(standing[0]),
                    )
                ]
            )
        if user is None:
            raise ValueError(
                "no closed form for these losses: say minimizer=, a function (objective, start) "
                "-> w that minimises objective.value"
            )
        w = as_vector("the point returned by minimizer", user(self, standing.copy()), len(standing))
        w = w if domain is None else domain.project(w)
        if not math.isfinite(self.value(w)):
            raise ValueError(f"minimizer returned {w}, which is not in the set of {mirror}")
        return w


@dataclass(frozen=True)
class LeaderFacts:
    """The quantities that the theorems about leaders use, after a round."""

    #: Sum of f_t(w_t) - f_t(w_(t+1)), and of F_(t+1)(w_t) - F_(t+1)(w_(t+1)), F_t = R + past.
    stability: float = 0.0
    sharp: float = 0.0
    #: Quadratic game: sum of ||w_t - z_t||^2 / t, largest ||z_t||, ||w_1||, first other round.
    gaps: float = 0.0
    largest: float = 0.0
    first: float = 0.0
    other_round: int = 0
    #: The sum of the losses seen, and the leader of the coming round.
    past: Past | None = None
    leader: Vector | None = None

    def measured(self, comparators: Comparators) -> Measured:
        """Return the regret against u, or against the leader if the comparators include it."""
        certificate, u = comparators.certificate, comparators.u
        if u is None and self._included(comparators):
            u = self.leader
        if u is None or self.past is None:
            return NOTHING
        best = self.past.losses(u)
        size = abs(certificate.loss) + abs(best) + self.past.size(u)
        slack = 4.0 * certificate.slack + ROUNDING * size
        own = "minimizer, which must return the least point"
        suspect = own if certificate.minimized else CONVEX
        return Measured(certificate.loss - best, slack, suspect)

    def _included(self, comparators: Comparators) -> bool:
        if self.leader is None or comparators.radius is None:
            return comparators.radius is None
        mirror = comparators.certificate.mirror
        return mirror.predictors().holds(self.leader, comparators.radius)


class Leader(PointPlayer):
    """Base of both leaders: the past, the quantities of their theorems, and the rounds."""

    def __init__(
        self,
        setting: GameSetting,
        eta: float,
        minimizer: Minimizer | None,
        nonnegative: bool,
        theorems: Callable[[LeaderFacts, Comparators], Iterator[Statement]],
    ) -> None:
        super().__init__(setting, nonnegative)
        self._past = Past(setting, eta, np.zeros(setting.dimension))
        self._minimizer, self._theorems, self._facts = minimizer, theorems, LeaderFacts()

    @one_at_a_time
    def face(self, loss: Any) -> float:
        """Play a round against a loss, which joins the past; return the loss suffered.

        `Linear` and `Quadratic` losses need no solver. Anything that cannot be used raises
        ValueError and leaves the player as it was.
        """
        function, w, t = as_loss(loss), self.play(), self.rounds + 1
        if type(function) is Linear:
            as_vector("the loss", function.z, self.dimension)
        elif type(function) is Quadratic:
            as_vector("the loss", function.center, self.dimension)
        value, z, norm, curvature = self._examined(
            function.value(w), function.subgradient(w), getattr(function, "curvature", None) or 0.0
        )
        past = self._past.plus(function)
        after = as_vector("the leader", past.minimizer(w, self._minimizer), self.dimension)
        facts = self._facts
        changed = replace(
            facts,
            stability=facts.stability + value - as_number("value", function.value(after)),
            sharp=facts.sharp + max(past.value(w) - past.value(after), 0.0),
            first=float(np.linalg.norm(w)) if t == 1 else facts.first,
            past=past,
            leader=after,
        )
        if type(function) is Quadratic and function.curvature == 1.0:
            gap, size = w - function.center, float(np.linalg.norm(function.center))
            changed = replace(
                changed,
                gaps=facts.gaps + float(gap @ gap) / t,
                largest=max(facts.largest, size),
            )
        elif not facts.other_round:
            changed = replace(changed, other_round=t)
        self._enter(value, z, norm, past.eta, curvature)
        self._past, self._w, self._facts = past, after, changed
        return value

    def certificate(self) -> GameCertificate:
        """Return the certificate of the rounds so far, which later rounds do not change."""
        return self._certificate(
            theorems=partial(self._theorems, self._facts),
            linear=False,
            minimized=self._minimizer is not None,
        )


class FollowTheLeader(Leader):
    """Follow the leader: w_t = argmin over the domain of the sum of the past losses.

    Quadratic losses: the mean of their centers. Linear losses: a corner of a bounded domain,
    on which an adversary can force regret in every round (Example 2.2). One-dimensional losses of
    any kind by bisection; others through `minimizer(objective, start) -> w`.
    Reference: Shalev-Shwartz, Online Learning and Online Convex Optimization, section 2.2.

    >>> from noregret import oco
    >>> leader = oco.FollowTheLeader(2)
    >>> proof = oco.run(leader, map(oco.Quadratic, [[1, 0], [0, 1], [1, 1]]))
    >>> round(proof.loss, 9), round(proof.floor(), 9)
    (1.75, 0.666666667)
    """

    def __init__(
        self,
        dimension: int,
        domain: Domain | None = None,
        start: ArrayLike | None = None,
        minimizer: Minimizer | None = None,
        *,
        nonnegative: bool = False,
    ) -> None:
        """Make a player; `start` is its first point, else the point of the domain nearest 0."""
        setting = settle(
            as_whole("dimension", dimension), mirrors.Euclidean(), rates.Constant(), domain, True
        )
        super().__init__(setting, UNBOUNDED, minimizer, nonnegative, leader_bounds)
        if start is not None:
            self._w = as_vector("start", start, self.dimension)
            if domain is not None and not domain.contains(self._w):
                raise ValueError(f"start must lie in {domain}, got {start!r}")


class FollowTheRegularizedLeader(Leader):
    """Follow the regularised leader: w_t = argmin over the domain of past losses + R / eta.

    R is the map's regulariser. Exact for linear losses with every map, for linear and quadratic
    ones with the Euclidean map (on any domain), the entropies and the separable maps, and for
    losses of any kind in one dimension; others through `minimizer(objective, start) -> w`.
    Reference: Shalev-Shwartz, Online Learning and Online Convex Optimization, section 2.3.

    >>> from noregret import mirrors, oco
    >>> player = oco.FollowTheRegularizedLeader(1, mirrors.Box(-1.0, 1.0), eta=0.3)
    >>> for a in (0.5, -0.2, 0.8):
    ...     _ = player.face((lambda w, a=a: abs(w[0] - a), lambda w, a=a: np.sign(w - a)))
    >>> round(player.loss, 9), player.play()
    (1.8, array([0.3]))
    """

    def __init__(
        self,
        dimension: int,
        mirror: mirrors.Mirror,
        eta: float,
        domain: Domain | None = None,
        minimizer: Minimizer | None = None,
        *,
        nonnegative: bool = False,
    ) -> None:
        """Make a player with the regulariser R / eta."""
        setting = settle(
            as_whole("dimension", dimension), mirror, rates.Constant(eta), domain, True
        )
        if not (setting.steady and declares(setting.mirror, "regularizer")):
            raise ValueError(f"the regulariser of {mirror} is not known")
        super().__init__(setting, float(eta), minimizer, nonnegative, regularized_bounds)

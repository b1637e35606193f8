"""The doubling trick around any player: epochs of 1, 2, 4, ... rounds, a fresh player each."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from noregret.arrays import ArrayLike, Vector
from noregret.oco.game import Game
from noregret.oco.game_certificate import Comparators, GameCertificate
from noregret.oco.game_theorems import SURVEY
from noregret.oco.leaders import Leader
from noregret.oco.point_player import merged
from noregret.proof import closed_forms
from noregret.proof.evidence import Evidence
from noregret.proof.statement import Statement
from noregret.turns import one_at_a_time

#: A player that is restarted by making a new one.
Epoch = Game | Leader


class DoublingTrick:
    """A player for an unknown horizon, made by `doubling`."""

    def __init__(self, make_game: Callable[[int], Epoch], alpha: float | None) -> None:
        self._make, self._alpha, self._epoch = make_game, alpha, make_game(1)
        self._past: list[GameCertificate] = []
        #: The sum of the points of the epochs in the past.
        self._points = np.zeros(len(self.play()))

    @property
    def rounds(self) -> int:
        """How many rounds were played."""
        return sum(part.rounds for part in self._past) + self._epoch.rounds

    @property
    def loss(self) -> float:
        """The loss suffered, summed over the rounds."""
        return self.certificate().loss

    @property
    def average(self) -> Vector:
        """The average of the points played so far; the first point before any round."""
        if not self.rounds:
            return self.play()
        return (self._epoch.rounds * self._epoch.average + self._points) / self.rounds

    def play(self) -> Vector:
        """Return the point of the coming round."""
        return self._epoch.play()

    @one_at_a_time
    def suffer(self, value: float, subgradient: ArrayLike, curvature: float = 0.0) -> None:
        """End the round, where the players made are games; see `Game.suffer`."""
        if not hasattr(self._epoch, "suffer"):
            raise ValueError(f"{type(self._epoch).__name__} must see whole losses: use face(loss)")
        fresh = self._next()
        self._epoch.suffer(value, subgradient, curvature)
        self._turn(fresh)

    @one_at_a_time
    def face(self, loss: Any) -> float:
        """Play a round against a loss; return the loss suffered."""
        fresh = self._next()
        value = self._epoch.face(loss)
        self._turn(fresh)
        return value

    def _next(self) -> Epoch | None:
        """Return the player of the next epoch if the coming round is the last of this one.

        It is made before the round, so that a failure of `make_game` leaves all as it was.
        """
        if self._epoch.rounds + 1 < 1 << len(self._past):
            return None
        fresh = self._make(1 << (len(self._past) + 1))
        if _kind(self._epoch.certificate()) != _kind(fresh.certificate()):
            raise ValueError(
                "make_game must return the same dimension, map, domain and kind of losses each time"
            )
        return fresh

    def _turn(self, fresh: Epoch | None) -> None:
        """Begin the next epoch if there is one."""
        if fresh is not None:
            self._points = self._points + self._epoch.rounds * self._epoch.average
            self._past.append(self._epoch.certificate())
            self._epoch = fresh

    def certificate(self) -> GameCertificate:
        """Return the certificate of all epochs together, against one fixed point."""
        last = self._epoch.certificate()
        parts = [*self._past, last] if last.rounds else [*self._past]
        if not parts:
            return last
        return replace(
            last,
            ledger=merged([part.ledger for part in parts]),
            gradient=np.sum([part.gradient for part in parts], axis=0),
            pull=np.sum([part.pull for part in parts], axis=0),
            curvature=math.fsum(part.curvature for part in parts),
            evidence=Evidence(),
            theorems=partial(summed_bounds, tuple(parts), self._alpha),
        )


def doubling(make_game: Callable[[int], Epoch], alpha: float | None = None) -> DoublingTrick:
    """Return a player for an unknown horizon from players for a known one.

    make_game(horizon) returns a fresh player; it is called with 1, 2, 4, ... and each plays
    that many rounds. `alpha` promises regret <= alpha sqrt(horizon) of each, also when it is
    stopped early; the whole then has regret below 3.4143 alpha sqrt(T).
    Reference: Shalev-Shwartz, Online Learning and Online Convex Optimization, section 2.3.1.

    >>> from noregret import mirrors, oco, rates
    >>> ball = mirrors.Ball(1.0)
    >>> player = oco.doubling(lambda n: oco.Game(2, ball, oco.tuned(ball, 2, n, 1.0).rate), 1.0)
    >>> proof = oco.run(player, [oco.Linear([0.6, 0.8])] * 5)
    >>> proof.rounds, proof.bounds[-1].name, round(proof.bounds[-1].value, 6)
    (5, 'doubling trick, in advance', 4.414214)
    """
    return DoublingTrick(make_game, alpha)


def summed_bounds(
    parts: tuple[GameCertificate, ...], alpha: float | None, comparators: Comparators
) -> Iterator[Statement]:
    """Return each theorem that speaks about every epoch, added up over them."""
    found: dict[str, list[Statement]] = {}
    begins = list(itertools.accumulate((part.rounds for part in parts), initial=1))
    for part in parts:
        for bound in part.theorems(replace(comparators, certificate=part)):
            found.setdefault(bound.name, []).append(bound)
    for name, bounds in found.items():
        if len(bounds) == len(parts) and bounds[0].factor == 1.0:
            reasons = (
                f"in the epoch from round {begin}: {bound.reason}"
                for begin, bound in zip(begins, bounds, strict=False)
                if bound.reason
            )
            yield comparators.bound(
                f"doubling trick: {name}",
                bounds[0].reference,
                sum(bound.value for bound in bounds),
                next(reasons, ""),
            )
    if alpha is not None:
        value = closed_forms.doubling_regret(alpha, comparators.certificate.rounds)
        # The promise is about the losses; the lines prove less, so they cannot contradict it.
        _, reason = comparators.measured().judge(value)
        yield comparators.bound(
            "doubling trick, in advance",
            f"{SURVEY}, section 2.3.1, for the promised alpha",
            value,
            reason and "the lines of this run do not confirm the promised alpha",
        )


def _kind(certificate: GameCertificate) -> tuple[object, ...]:
    """Return the properties that the epochs of one game must share."""
    return (
        certificate.mirror,
        certificate.domain,
        len(certificate.gradient),
        certificate.loss_function.nonnegative,
    )

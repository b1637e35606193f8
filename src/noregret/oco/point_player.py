"""The base of all players of the convex game: a point and running sums."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from noregret.arrays import Vector, as_number, as_vector
from noregret.oco.game_certificate import ConvexLoss, GameCertificate, NonnegativeLoss
from noregret.oco.setting import GameSetting
from noregret.proof.ledger import Entry, new_ledger, require_room
from noregret.rates.base import UNBOUNDED
from noregret.rounding import add_compensated

#: Sums of many numbers below this are finite.
LARGEST = 1e290


class PointPlayer:
    """A player that stands at a point w of its domain and sums up its rounds.

    `gradient_limit` is a promise ||z||_* <= gradient_limit [default: none].
    """

    def __init__(
        self, setting: GameSetting, nonnegative: bool, gradient_limit: float = math.inf
    ) -> None:
        self._setting, self.nonnegative = setting, bool(nonnegative)
        self._w = setting.first.copy()
        self._ledger = new_ledger()
        self._ledger[Entry.ROW_LIMIT] = gradient_limit
        #: Sum of z_t - sigma_t w_t, of sigma_t w_t, of the points, and of sigma_t.
        self._gradient, self._pull, self._total = np.zeros((3, setting.dimension))
        self._curvature = 0.0

    @property
    def dimension(self) -> int:
        """The number of coordinates."""
        return self._setting.dimension

    @property
    def rounds(self) -> int:
        """How many rounds were played."""
        return int(self._ledger[Entry.ROUNDS])

    @property
    def loss(self) -> float:
        """The loss suffered, summed over the rounds."""
        return float(self._ledger[Entry.LOSS] + self._ledger[Entry.LOSS_LOW])

    @property
    def average(self) -> Vector:
        """The average of the points played so far; the first point before any round."""
        return self._total / self.rounds if self.rounds else self.play()

    def play(self) -> Vector:
        """Return the point of the coming round."""
        return self._w.copy()

    def _examined(
        self, value: Any, subgradient: Any, curvature: Any
    ) -> tuple[float, Vector, float, float]:
        """Return the value, the subgradient z, ||z||_* rounded up and the curvature of a round.

        Raise ValueError if no sum can be kept of them. Changes nothing.
        """
        require_room(self.rounds, 1)
        value = as_number("value", value)
        if self.nonnegative and value < 0.0:
            raise ValueError(f"value must be >= 0 in a game with nonnegative=True, got {value}")
        z = as_vector("subgradient", subgradient, self.dimension)
        curvature = as_number("curvature", curvature)
        if curvature < 0.0:
            raise ValueError(f"curvature must be >= 0, got {curvature}")
        norm = self._setting.mirror.predictors().dual_norm(z)
        with np.errstate(over="ignore"):
            if not norm * norm < LARGEST:
                raise ValueError("subgradient is too large: the square of its norm overflows")
            bow = curvature * (1.0 + float(self._w @ self._w))
            if not abs(value) + float(np.abs(z) @ np.abs(self._w)) + bow < LARGEST:
                raise ValueError(
                    "value, <subgradient, w> and curvature are too large to be summed, got "
                    f"{value} and curvature {curvature}"
                )
        return value, z, norm, curvature

    def _enter(self, value: float, z: Vector, norm: float, eta: float, curvature: float) -> None:
        """Enter the supporting line, or parabola, of the round that was played at w.

        f(u) >= value + <z, u - w> + (curvature/2)||u - w||^2 for every u.
        """
        ledger, w = self._ledger, self._w
        bow = 0.5 * curvature * float(w @ w)
        ledger[[Entry.ROUNDS, Entry.COUNTED]] += 1.0
        for place in (Entry.LOSS, Entry.COUNTED_LOSS):
            add_compensated(ledger, place, value)
        add_compensated(ledger, Entry.INTERCEPT, value - float(z @ w) + bow)
        # The certificate allows 32 roundings of this; the inner products make one a coordinate.
        spread = 1.0 + len(w) / 16.0
        ledger[Entry.MAGNITUDE] += 2.0 * abs(value) + spread * (float(np.abs(z) @ np.abs(w)) + bow)
        if curvature > 0.0:
            drawn = curvature * w
            self._pull += drawn
            self._gradient += z - drawn
            self._curvature += curvature
            ledger[Entry.TRAVEL] += 2.0 * float(np.abs(drawn).sum())
        else:
            self._gradient += z
        self._total += w
        ledger[Entry.TRAVEL] += float(np.abs(z).sum())
        square = norm * norm
        ledger[Entry.SQUARES] += square
        if eta < UNBOUNDED:
            ledger[Entry.RATED_SQUARES] += eta * square
            ledger[Entry.FIRST_ETA] = ledger[Entry.FIRST_ETA] or eta
            ledger[Entry.LAST_ETA] = eta
        ledger[Entry.CURVED_SQUARES] += square / ledger[Entry.ROUNDS]
        for place in (Entry.LARGEST_SQUARE, Entry.LARGEST_CURVED_SQUARE):
            ledger[place] = max(ledger[place], square)
        for place in (Entry.LARGEST_ROW, Entry.LARGEST_COUNTED_ROW):
            ledger[place] = max(ledger[place], norm)
        if norm > ledger[Entry.ROW_LIMIT] * (1.0 + 1e-12) and not ledger[Entry.LIMIT_BROKEN]:
            ledger[Entry.LIMIT_BROKEN] = ledger[Entry.ROUNDS]

    def _certificate(self, **own: Any) -> GameCertificate:
        """Return the certificate, with the fields that only this kind of player has."""
        setting = self._setting
        return GameCertificate(
            loss_function=NonnegativeLoss() if self.nonnegative else ConvexLoss(),
            mirror=setting.shown,
            rate=setting.rate,
            ledger=self._ledger.copy(),
            gradient=self._gradient.copy(),
            domain=setting.domain,
            setting=setting,
            curvature=self._curvature,
            pull=self._pull.copy(),
            **own,
        )


_SUMMED = (
    Entry.ROUNDS,
    Entry.MISTAKES,
    Entry.COUNTED,
    Entry.MAGNITUDE,
    Entry.TRAVEL,
    Entry.SQUARES,
    Entry.RATED_SQUARES,
)
_COMPENSATED = (Entry.LOSS, Entry.INTERCEPT, Entry.COUNTED_LOSS)
_LARGEST = (Entry.LARGEST_SQUARE, Entry.LARGEST_ROW, Entry.LARGEST_COUNTED_ROW)


def merged(ledgers: list[Vector]) -> Vector:
    """Return the ledger of several runs played one after the other."""
    result = new_ledger()
    for ledger in ledgers:
        if ledger[Entry.LIMIT_BROKEN] and not result[Entry.LIMIT_BROKEN]:
            result[Entry.LIMIT_BROKEN] = result[Entry.ROUNDS] + ledger[Entry.LIMIT_BROKEN]
        for place in _SUMMED:
            result[place] += ledger[place]
        for place in _COMPENSATED:
            add_compensated(result, place, float(ledger[place]))
            add_compensated(result, place, float(ledger[place + 1]))
        for place in _LARGEST:
            result[place] = max(result[place], ledger[place])
        result[Entry.ROW_LIMIT] = min(result[Entry.ROW_LIMIT], ledger[Entry.ROW_LIMIT])
        result[Entry.FIRST_ETA] = result[Entry.FIRST_ETA] or ledger[Entry.FIRST_ETA]
        result[Entry.LAST_ETA] = ledger[Entry.LAST_ETA] or result[Entry.LAST_ETA]
    return result

"""The records of a game: ledger, sums of gradients and points, and quantities of the theorems."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from noregret.arrays import Vector
from noregret.proof.ledger import Entry, new_ledger
from noregret.rates import UNBOUNDED
from noregret.rounding.slack import add_compensated

#: Sums of many numbers below this are finite.
LARGEST = 1e290


@dataclass
class Monitors:
    """Quantities of the theorems that the ledger does not keep; a round of 0 means never."""

    #: Sum of the exact stability terms D_t, at the rates of their rounds.
    divergence: float = 0.0
    #: Sums of eta_t, eta_t sum_i w_i z_i^2 and eta_t (max z_i - min z_i)^2.
    etas: float = 0.0
    local: float = 0.0
    ranges: float = 0.0
    #: First round with eta z_i < -1, and with z_i < 0.
    steep_round: int = 0
    negative_round: int = 0

    def watch(self, t: int, w: Vector, z: Vector, eta: float, divergence: float) -> None:
        """Enter a round."""
        low, high = float(z.min()), float(z.max())
        self.divergence += divergence
        if eta < UNBOUNDED:
            self.etas += eta
            self.local += eta * float(w @ (z * z))
            self.ranges += eta * (high - low) ** 2
        if eta * low < -1.0 and not self.steep_round:
            self.steep_round = t
        if low < 0.0 and not self.negative_round:
            self.negative_round = t


class Book:
    """Running sums of one game, from which its certificate is read."""

    def __init__(self, dimension: int, gradient_limit: float | None = None) -> None:
        """Open the books; `gradient_limit` is a promise ||z||_* <= gradient_limit."""
        self.ledger = new_ledger()
        if gradient_limit is not None:
            self.ledger[Entry.ROW_LIMIT] = gradient_limit
        #: Sum of z_t - sigma_t w_t, of sigma_t w_t and of sigma_t, and of the points.
        self.gradient = np.zeros(dimension)
        self.pull = np.zeros(dimension)
        self.bend = 0.0
        self.total = np.zeros(dimension)

    @property
    def rounds(self) -> int:
        """How many rounds were played."""
        return int(self.ledger[Entry.ROUNDS])

    @property
    def loss(self) -> float:
        """The loss suffered so far."""
        return float(self.ledger[Entry.LOSS] + self.ledger[Entry.LOSS_LOW])

    def enter(
        self, w: Vector, value: float, z: Vector, norm: float, eta: float, curvature: float
    ) -> None:
        """Enter the supporting line, or parabola, of a round.

        f(u) >= value + <z, u - w> + (curvature/2)||u - w||^2 for every u.
        """
        ledger = self.ledger
        bow = 0.5 * curvature * float(w @ w)
        ledger[Entry.ROUNDS] += 1.0
        ledger[Entry.COUNTED] += 1.0
        for place in (Entry.LOSS, Entry.COUNTED_LOSS):
            add_compensated(ledger, place, value)
        add_compensated(ledger, Entry.INTERCEPT, value - float(z @ w) + bow)
        # The certificate allows 32 roundings of this; the inner products make one a coordinate.
        spread = 1.0 + len(w) / 16.0
        ledger[Entry.MAGNITUDE] += 2.0 * abs(value) + spread * (float(np.abs(z) @ np.abs(w)) + bow)
        if curvature > 0.0:
            drawn = curvature * w
            self.pull += drawn
            self.gradient += z - drawn
            self.bend += curvature
            ledger[Entry.TRAVEL] += 2.0 * float(np.abs(drawn).sum())
        else:
            self.gradient += z
        self.total += w
        ledger[Entry.TRAVEL] += float(np.abs(z).sum())
        square = norm * norm
        ledger[Entry.SQUARES] += square
        if eta < UNBOUNDED:
            ledger[Entry.RATED_SQUARES] += eta * square
            if ledger[Entry.FIRST_ETA] == 0.0:
                ledger[Entry.FIRST_ETA] = eta
            ledger[Entry.LAST_ETA] = eta
        ledger[Entry.CURVED_SQUARES] += square / ledger[Entry.ROUNDS]
        for place in (Entry.LARGEST_SQUARE, Entry.LARGEST_CURVED_SQUARE):
            ledger[place] = max(ledger[place], square)
        for place in (Entry.LARGEST_ROW, Entry.LARGEST_COUNTED_ROW):
            ledger[place] = max(ledger[place], norm)
        if norm > ledger[Entry.ROW_LIMIT] * (1.0 + 1e-12) and not ledger[Entry.LIMIT_BROKEN]:
            ledger[Entry.LIMIT_BROKEN] = ledger[Entry.ROUNDS]


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
        if not result[Entry.FIRST_ETA]:
            result[Entry.FIRST_ETA] = ledger[Entry.FIRST_ETA]
        result[Entry.LAST_ETA] = ledger[Entry.LAST_ETA] or result[Entry.LAST_ETA]
    return result


def check_sizes(value: float, z: Vector, w: Vector, norm: float) -> None:
    """Refuse numbers so large that no sum could be kept of them."""
    with np.errstate(over="ignore"):
        if not norm * norm < LARGEST:
            raise ValueError("subgradient is too large: the square of its norm overflows")
        if not abs(value) + float(np.abs(z) @ np.abs(w)) < LARGEST:
            raise ValueError(f"value and <subgradient, w> are too large to be summed, got {value}")

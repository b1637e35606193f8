"""Engines that are invariant to the units of features, measured by the largest |x_i| seen."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from noregret.arrays import Vector
from noregret.jit import Call
from noregret.learners.engines import Engine
from noregret.norms import norm_upper
from noregret.passes.descent import coin_betting, scale_free
from noregret.passes.frame import Rule
from noregret.proof.evidence import Bets, Coins, Evidence, FeatureSizes, scaled_length
from noregret.proof.ledger import SMALLEST_SIZE
from noregret.rates import CoinBetting
from noregret.rounding import ROOT_UNDERFLOW, grown


class SizedEngine(Engine):
    """Base of the engines whose class is sum (m_i u_i)^2 <= radius^2; they keep no average.

    Column 0 is theta = -Z.
    """

    #: Column of the largest |x_i|.
    size_column: int
    always_averages = False

    def own_records(self) -> bool:
        """Return True: weights are worked out where they are read."""
        return True

    def written(self) -> tuple[Vector, ...]:
        """Return the scalars."""
        return (self.slots,)

    def scaled_lengths(self) -> tuple[float, float, float]:
        """Return ||Z_i / m_i||_2, rounded up, ||(m_i w_i, offset)||_2 and the smallest m_i."""
        largest = self.state[:, self.size_column]
        smallest = float(largest.min(where=largest > 0.0, initial=1.0))
        # These weights do not depend on the ledger.
        weights: Vector = self.sizes() * self.weights(np.zeros(0))
        return self.length_of(self.state[:, 0]), norm_upper(weights, 2.0), smallest

    def sizes(self) -> Vector:
        """Return max(largest |x_i| seen, SMALLEST_SIZE) of each feature, 0 for one never seen."""
        largest = self.state[:, self.size_column]
        return np.where(largest > 0.0, np.maximum(largest, SMALLEST_SIZE), 0.0)

    def length_of(self, gradient: Vector) -> float:
        """Return ||Z_i / m_i||_2 of that Z, rounded up; features never seen have no part in it."""
        return scaled_length(gradient, self.sizes().ravel())

    def evidence(self) -> Evidence:
        """Return the lengths in units of the features' sizes."""
        return FeatureSizes(None, None, *self.scaled_lengths(), sizes=self.sizes().ravel())

    def evidence_of(self, gradient: Vector) -> Evidence:
        """Return the lengths for lines that do not touch at the predictions, with that Z."""
        _, weights, smallest = self.scaled_lengths()
        length, sizes = self.length_of(gradient), self.sizes().ravel()
        return FeatureSizes(None, None, length, weights, smallest, sizes=sizes)


class ScaleFreeEngine(SizedEngine):
    """Two adaptive directions a feature with learnt multipliers; keeps no average."""

    kind: Callable[..., Rule] = scale_free.ScaleFreeRule
    widths = (scale_free.ScaleFreeRule.width,) * 2
    size_column = int(scale_free.Column.SIZE)

    @property
    def real(self) -> bool:
        """Whether targets are real numbers, around whose mean predictions are made."""
        return bool(self.loss.labels == "real")

    def new_slots(self) -> Vector:
        """Return the scalars of a pass that has seen nothing."""
        slots = np.zeros(len(scale_free.Scalar))
        slots[[scale_free.Scalar.FIRST, scale_free.Scalar.SECOND]] = scale_free.STARTS
        if not self.real and not np.isfinite(self.loss.lipschitz()):
            # The unit of margins is 1, so the first guess of the steepest slope is 1, too.
            slots[scale_free.Scalar.STEEPEST] = 1.0
        return slots

    def rule(self) -> Rule:
        """Return the rule of `rates.ScaleFree`."""
        return self.kind(self.loss, self.mirror, self.real)

    def prediction(self) -> Call:
        """Return the kernel that predicts one row, and its first arguments."""
        return scale_free.predict_row, (self.real, self.state, self.slots)

    def weights(self, ledger: Vector) -> Vector:
        """Return the weights, as far as they do not depend on the coming row."""
        weights = np.empty(len(self.state))
        scale_free.read_weights(self.real, self.state, self.slots, weights)
        return weights

    @property
    def offset(self) -> float:
        """What is added to <w, x>: the mean of the real labels seen."""
        return float(self.slots[scale_free.Scalar.CENTRE])

    def finish(self, raw: Any) -> Any:
        """Return <w, x> + offset within the range of the real labels seen, one or many."""
        if not self.real:
            return raw
        low, high = self.limits
        return np.minimum(np.maximum(raw + self.offset, low), high)

    @property
    def limits(self) -> tuple[float, float]:
        """The least and the largest real label seen."""
        slot = self.slots.item
        ends = slot(scale_free.Scalar.LOW), slot(scale_free.Scalar.HIGH)
        return ends if self.real else (-math.inf, math.inf)

    def scaled_lengths(self) -> tuple[float, float, float]:
        """Return ||Z_i / m_i||_2, rounded up, ||(m_i w_i, offset)||_2 and the smallest m_i."""
        gradient, weights, smallest = scale_free.scaled_squares(self.real, self.state, self.slots)
        terms = 2.0 * scale_free.BLOCK + len(self.state) / scale_free.BLOCK
        length = grown(math.sqrt(gradient), terms) + ROOT_UNDERFLOW
        return length, math.hypot(math.sqrt(weights), self.offset), smallest


class CoinBettingEngine(SizedEngine):
    """One bettor a feature, with a bound on the gradient that is known before the round."""

    widths = (coin_betting.CoinBettingRule.width,) * 2
    size_column = int(coin_betting.Column.SIZE)
    work_shape = coin_betting.WORK
    rate: CoinBetting

    def new_slots(self) -> Vector:
        """Return the scalars of a pass that has seen nothing."""
        return np.zeros(1)

    def rule(self) -> Rule:
        """Return the rule of `rates.CoinBetting`."""
        return coin_betting.CoinBettingRule(self.loss, self.mirror, self.rate)

    def weights(self, ledger: Vector | None = None) -> Vector:
        """Return the weights, as far as they do not depend on the coming row."""
        weights = np.empty(len(self.state))
        coin_betting.read_weights(self.rate, self.state, self.slots, weights)
        return weights

    def evidence(self) -> Bets:
        """Return the lengths in units of the features' sizes, and the terms of the theorem."""
        seen = self.state[:, self.size_column] > 0.0
        sizes = self.sizes()[seen]
        hints = np.empty(len(sizes))
        coin_betting.read_hints(sizes, self.slots, hints)
        squares = self.state[seen, coin_betting.Column.SQUARES]
        prices = self.state[seen, coin_betting.Column.PRICE]
        coins = Coins(self.rate.wealth, sizes, hints, squares, prices)
        lengths = self.scaled_lengths()
        return Bets(None, None, *lengths, sizes=self.sizes(), coins=coins)

"""The engine of `rates.CoinBetting`: state, scalars and what they mean as one predictor."""

from __future__ import annotations

import numpy as np

from noregret.learners.engines import Vector
from noregret.learners.sized import SizedEngine
from noregret.passes.descent import coin_betting
from noregret.passes.descent.coin_betting import Column, Scalar
from noregret.passes.frame import Rule
from noregret.proof.coin_theorem import Coins
from noregret.proof.evidence import Bets
from noregret.rates import CoinBetting
from noregret.rounding.norms import norm_upper
from noregret.rounding.slack import UNDERFLOW, grown


class CoinBettingEngine(SizedEngine):
    """One bettor a feature, with a bound on the gradient that is known before the round."""

    widths = (coin_betting.COLUMNS, coin_betting.COLUMNS)
    size_column = int(Column.SIZE)
    rate: CoinBetting

    def begin(self, dimension: int) -> None:
        """Take the state of a learner that has seen nothing."""
        super().begin(dimension)
        self.slots = np.zeros(len(Scalar))

    def rule(self) -> Rule:
        """Return the rule of `rates.CoinBetting`."""
        return coin_betting.CoinBettingRule(self.loss, self.mirror, self.rate)

    def weights(self, ledger: Vector) -> Vector:
        """Return the weights, as far as they do not depend on the coming row."""
        weights = np.empty(len(self.state))
        coin_betting.read_weights(self.rate, self.state, self.slots, weights)
        return weights

    def scaled_lengths(self) -> tuple[float, float, float]:
        """Return ||Z_i / m_i||_2, rounded up, ||m_i w_i||_2 and the smallest m_i."""
        seen = self.state[:, self.size_column] > 0.0
        sizes = self.sizes()[seen]
        length = grown(norm_upper(self.state[seen, Column.THETA] / sizes, 2.0), 2.0)
        weights = np.empty(len(self.state))
        coin_betting.read_weights(self.rate, self.state, self.slots, weights)
        smallest = float(self.state[seen, self.size_column].min(initial=1.0))
        # Ratios that underflow lose less than a smallest number each.
        return length + UNDERFLOW, norm_upper(sizes * weights[seen], 2.0), smallest

    def evidence(self) -> Bets:
        """Return the lengths in units of the features' sizes, and the terms of the theorem."""
        return Bets(None, None, *self.scaled_lengths(), self.coins())

    def coins(self) -> Coins:
        """Return what the theorem speaks about."""
        seen = self.state[:, self.size_column] > 0.0
        sizes = self.sizes()[seen]
        hints = np.empty(len(sizes))
        coin_betting.read_hints(sizes, self.slots, hints)
        squares, prices = self.state[seen, Column.SQUARES], self.state[seen, Column.PRICE]
        return Coins(self.rate.wealth, sizes, hints, squares, prices)

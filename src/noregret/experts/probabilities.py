"""Probabilities of many experts, mixed into one that loses at most ln K more than the best."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from noregret.arrays import Matrix, Vector, as_count, first_true
from noregret.experts import expert_theorems
from noregret.experts.advice import as_table
from noregret.experts.expert_certificate import ExpertCertificate
from noregret.experts.probability_rounds import (
    MixtureSum,
    probability_forecasts,
    probability_rounds,
)
from noregret.files.fields import Array, Saved, Setting
from noregret.losses import Logistic
from noregret.passes.frame import Labels
from noregret.proof.ledger import require_room
from noregret.proof.statement import RANGE, ROUNDING, Measured, Statement
from noregret.rounding import UNDERFLOW, exact, grown, rounding_error
from noregret.rows.examples import as_labels, as_weights
from noregret.turns import one_at_a_time

#: Largest size of a margin.
LARGEST_MARGIN = 1e300


class MixtureState(NamedTuple):
    """The share v_k and the summed loss of each expert, and the sums by `MixtureSum`."""

    shares: Vector
    totals: Vector
    book: Vector


class ProbabilityForecaster(Saved):
    """Experts whose margins are mixed as probabilities, for the logistic loss.

    Each round: see the margins p_k of K experts, forecast the margin of the mean probability,

        p = ln sum_k v_k s(p_k) - ln sum_k v_k s(-p_k),   s(p) = 1 / (1 + e^-p),

    see the label -1 or +1 and its weight w, suffer w ln(1 + e^(-y p)). Then, with W the largest
    weight so far and t the rounds of a weight above 0,

        v_k <- v_k e^(-(w/W) loss of k) / sum,   v_k <- (1 - a) v_k + a / K,   a = 1/(t + 1).

    The loss exceeds that of any expert by at most W (ln K + ln T), and that of any sequence of
    experts with m switches by at most m + 1 times as much, W the largest weight of all T rounds.
    No range, rate or horizon is needed.

    Why: s^(w/W) is concave, so that the mixture's loss is at most the expert's plus
    W ln(v'_k / v_k), v' the shares before a is given away. Sums of these telescope while W stays;
    where it grows by D, shares v_k >= 1/(t K) make that cost at most D (ln K + ln t).

    Args:
        experts: how many experts there are, 1 or more.
        sharing: give away a part 1/(t + 1) of the shares after each round. Without it weights
            must not exceed 1, W is 1, and the bound is ln K [default: True].

    >>> forecaster = ProbabilityForecaster(2)
    >>> forecaster.learn([[2.0, -2.0], [2.0, -2.0]], [1, 1]).round(6)
    array([0.      , 0.597161])
    >>> print(forecaster.certificate().bounds[0])
    mixed probabilities, W (ln K + ln T)     loss - loss of any expert <= 1.3863

    References: Vovk, A Game of Prediction with Expert Advice, 1998, for the mixture; Herbster,
    Warmuth, Tracking the Best Expert, 1998, for sharing; the rates 1/(t+1) and weights: derived
    here.
    """

    _KIND = "game"
    _FIELDS = (
        Setting("experts"),
        Setting("sharing"),
        *(Array(name, f"_state.{name}") for name in ("shares", "totals", "book")),
    )

    def __init__(self, experts: int, sharing: bool = True) -> None:
        self.experts, self.sharing, self.loss = as_count("experts", experts), sharing, Logistic()
        if not isinstance(sharing, bool):
            raise ValueError(f"sharing must be True or False, got {sharing!r}")
        equal = np.full(self.experts, 1.0 / self.experts)
        self._state = MixtureState(equal, np.zeros(self.experts), np.zeros(len(MixtureSum)))

    @property
    def rounds(self) -> int:
        """How many rounds were played."""
        return int(self._state.book[MixtureSum.ROUNDS])

    @property
    def weights(self) -> Vector:
        """The shares v of the coming round."""
        return self._state.shares.copy()

    def forecast(self, predictions: Any) -> Vector:
        """Return the mixed margin for each row of margins, with the shares of the coming round."""
        table = self._table(predictions)
        forecasts = np.empty(len(table))
        probability_forecasts(self.sharing, table, self._state, forecasts)
        return forecasts

    @one_at_a_time
    def learn(self, predictions: Any, outcomes: Any, weight: Any = None) -> Vector:
        """Play a round for every row of margins; return the mixed margins.

        Losses are multiplied by `weight`. Input that cannot be learnt raises ValueError and leaves
        the forecaster as it was.
        """
        table = self._table(predictions)
        y = as_labels(outcomes, len(table), self.loss)
        return self._play(probability_rounds, table, Labels(y, as_weights(weight, len(y))), ())

    def _play(
        self, rounds: Callable[..., int], table: Vector, labels: Labels, shape: tuple[int, ...]
    ) -> Vector:
        """Play the rounds of a table on copies of the sums; return forecasts of that shape each."""
        weights = labels.weight
        if not self.sharing and (at := first_true(weights > 1.0)):
            raise ValueError(
                f"weight row {at[0]}: {exact(weights[at])}; expected at most 1 with sharing=False"
            )
        require_room(self.rounds, len(table))
        state = MixtureState(*map(np.copy, self._state))
        forecasts = np.empty((len(table), *shape))
        played = rounds(self.loss, self.sharing, table, labels, state, forecasts)
        if played < len(table):
            raise ValueError(f"predictions row {played}: the losses overflow")
        self._state = state
        return forecasts

    def _table(self, predictions: Any) -> Matrix:
        table = as_table("predictions", predictions, self.experts)
        if at := first_true(~(np.abs(table) <= LARGEST_MARGIN)):
            raise ValueError(
                f"predictions row {at[0]}, expert {at[1]}: {exact(table[at])}; expected a number "
                f"of size at most {LARGEST_MARGIN:g}"
            )
        return table

    def _sum(self, place: MixtureSum) -> float:
        return float(self._state.book[place])

    def certificate(self) -> ExpertCertificate:
        """Return the loss beside that of every expert, with the theorem."""
        rounds, size = self.rounds, self._sum(MixtureSum.SIZE)
        # How far rounding can have moved the loss minus an expert's own, at most.
        slack = rounding_error(rounds + 64.0, grown(size, 2.0 * rounds)) + rounds * UNDERFLOW
        own = self._sum(MixtureSum.OWN) + self._sum(MixtureSum.OWN_LOW)
        title = "mixed probabilities" + (", sharing 1/(t+1)" if self.sharing else "")
        totals = self._state.totals.copy()
        bounds = [self._theorem(own, float(totals.min()), slack)] if rounds else []
        return ExpertCertificate(title, rounds, own, totals, slack, bounds)

    def _theorem(self, own: float, best: float, slack: float) -> Statement:
        """Return the theorem, unless the run contradicts it."""
        count, weighed = self.experts, int(self._sum(MixtureSum.WEIGHED))
        # Shares are right to a few roundings for each expert and round, their logarithms have a
        # size of at most ln K + ln T where they matter, and the loss moves by its weight at most.
        each = rounding_error(2.0 * count + 64.0, 1.0 + math.log(count * max(weighed, 1)))
        room = 2.0 * slack + ROUNDING * (abs(own) + abs(best))
        room += each * self._sum(MixtureSum.WEIGHTS)
        run = Measured(own - best + slack, room, RANGE)
        if not self.sharing:
            value = expert_theorems.probability_regret(count, 1, 1.0)
            return run.state("mixed probabilities, ln K", "Vovk 1998", value)
        largest = self._sum(MixtureSum.LARGEST_WEIGHT)
        value = expert_theorems.probability_regret(count, weighed, largest)
        reference = "Vovk 1998; the price of sharing: derived here"
        return run.state("mixed probabilities, W (ln K + ln T)", reference, value)

    def _check_loaded(self) -> None:
        """Refuse what are no shares: numbers above 0, without sharing 0 too, that sum to 1."""
        shares = self._state.shares
        lowest = float(shares.min())
        if not (lowest >= 0.0 if not self.sharing else lowest > 0.0):
            raise ValueError("shares holds numbers that are not above 0")
        if not abs(float(shares.sum()) - 1.0) <= 1e-6:
            raise ValueError("shares does not sum to 1")

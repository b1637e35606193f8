"""Probabilities of several classes from many experts, mixed into one."""

from __future__ import annotations

from typing import Any

import numpy as np

from noregret.arrays import Vector, first_true, real_array
from noregret.experts.probabilities import LARGEST_MARGIN, ProbabilityForecaster
from noregret.experts.score_probability_rounds import score_forecasts, score_probability_rounds
from noregret.losses import Softmax
from noregret.passes.frame import Labels
from noregret.rounding import exact
from noregret.rows.examples import as_targets, as_weights
from noregret.turns import one_at_a_time


class ScoreForecaster(ProbabilityForecaster):
    """Experts whose scores of several classes are mixed as probabilities, for the loss `Softmax`.

    Each round: see the scores s_k of K experts, forecast the logarithms of the mean probabilities,

        s_c = ln sum_k v_k e^(s_kc) / sum_j e^(s_kj),

    see the class y and its weight w, suffer w (ln sum_c e^(s_c) - s_y). The shares v, the bound
    W (ln K + ln T) and its reasons are those of `ProbabilityForecaster`. Classes may be added from
    one call to the next.

    Args:
        experts: how many experts there are, 1 or more.
        sharing: give away a part 1/(t + 1) of the shares after each round. Without it weights
            must not exceed 1, W is 1, and the bound is ln K [default: True].

    >>> forecaster = ScoreForecaster(2)
    >>> scores = [[[2.0, 0.0, 0.0], [0.0, 2.0, 0.0]]] * 2
    >>> np.exp(forecaster.learn(scores, [0, 0])).round(4).tolist()
    [[0.4467, 0.4467, 0.1065], [0.5763, 0.3172, 0.1065]]
    >>> forecaster.certificate().regret() <= float(np.log(2) + np.log(2))
    True

    Reference: Vovk, A Game of Prediction with Expert Advice, 1998.
    """

    def __init__(self, experts: int, sharing: bool = True) -> None:
        super().__init__(experts, sharing)
        self.loss: Any = Softmax()

    def forecast(self, predictions: Any) -> Vector:
        """Return the mixed scores, n x C, for each row of K x C scores."""
        table = self._table(predictions)
        forecasts = np.empty((table.shape[0], table.shape[2]))
        score_forecasts(self.loss, self.sharing, table, self._state, forecasts)
        return forecasts

    @one_at_a_time
    def learn(self, predictions: Any, outcomes: Any, weight: Any = None) -> Vector:
        """Play a round for every row of scores; return the mixed scores.

        Losses are multiplied by `weight`. Input that cannot be learnt raises ValueError and leaves
        the forecaster as it was.
        """
        table = self._table(predictions)
        y = as_targets(outcomes, len(table), self.loss, table.shape[2])
        labels = Labels(y, as_weights(weight, len(y)))
        return self._play(score_probability_rounds, table, labels, (table.shape[2],))

    def _table(self, predictions: Any) -> Vector:
        table = np.ascontiguousarray(real_array("predictions", predictions), np.float64)
        if table.ndim != 3 or table.shape[1] != self.experts or not table.shape[2]:
            raise ValueError(
                f"predictions have shape {table.shape}, expected (rounds, {self.experts}, classes)"
            )
        if at := first_true(~(np.abs(table) <= LARGEST_MARGIN)):
            raise ValueError(
                f"predictions row {at[0]}, expert {at[1]}, class {at[2]}: {exact(table[at])}; "
                f"expected a number of size at most {LARGEST_MARGIN:g}"
            )
        return table

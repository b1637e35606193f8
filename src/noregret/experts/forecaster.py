"""Forecasts of many experts, mixed into one: exponentially weighted averages for any loss."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from noregret.arrays import Vector
from noregret.experts.advice import as_interval, as_table, require_within
from noregret.experts.expert_certificate import GAMES, ExpertCertificate
from noregret.experts.hedge import WeightedGame, weighing
from noregret.experts.hedge_rounds import ADAPTIVE, FIXED, ExpertSum, forecast_rounds
from noregret.files.fields import Array, Setting
from noregret.losses import Exponential, Logistic, Loss, NegativeLog, Squared, SquaredHinge
from noregret.passes.frame import Labels
from noregret.proof.convexity import require_convex
from noregret.proof.ledger import require_room
from noregret.proof.statement import ROUNDING, Measured, Statement, suspect_of
from noregret.proof.wording import Broken, assumption_of, broken_in
from noregret.rounding import UNDERFLOW, exact, grown, rounding_error
from noregret.rows.examples import as_labels, as_weights
from noregret.turns import one_at_a_time

#: The exp-concavity of a loss on an interval of width r with max |p| = s. Exact classes only: a
#: subclass may have other values.
_CONCAVITY: dict[type[Loss], Callable[[Any, float, float], float]] = {
    Squared: lambda loss, r, s: 0.5 / r / r,
    NegativeLog: lambda loss, r, s: 1.0,
    Logistic: lambda loss, r, s: math.exp(-s),
    Exponential: lambda loss, r, s: math.exp(-s),
    SquaredHinge: lambda loss, r, s: 1.0 / (loss.margin + s) / (loss.margin + s),
}


def exp_concavity(loss: Loss, low: float, high: float) -> float:
    """Return the largest eta with exp(-eta f(p)) concave for p in [low, high], 0 if there is none.

    It is the least f''/(f')^2, for all labels, or for all targets in [low, high]:
    (p - y)^2: 1 / (2 (high - low)^2); -ln p: 1; ln(1 + e^(-y p)) and e^(-y p): e^(-max|p|);
    (margin - y p)_+^2 / 2: 1 / (margin + max|p|)^2.
    Reference: Cesa-Bianchi and Lugosi, Prediction, Learning, and Games, section 3.3.

    >>> exp_concavity(Squared(), 0.0, 2.0), exp_concavity(NegativeLog(), 0.0, 5.0)
    (0.125, 1.0)
    """
    low, high = as_interval(low, high)
    known = _CONCAVITY.get(type(loss))
    return known(loss, high - low, max(abs(low), abs(high))) if known else 0.0


def cost_range(loss: Loss, low: float, high: float) -> tuple[float, float]:
    """Return the least and the largest loss for predictions, and targets, in [low, high].

    A convex loss is largest in a corner. Losses that may be negative, other than -ln p, have
    no known least value: the range is infinite then.

    >>> cost_range(Squared(), -1.0, 2.0)
    (0.0, 9.0)
    """
    low, high = as_interval(low, high)
    if math.isinf(high - low):
        return -math.inf, math.inf
    labels = (-1.0, 1.0) if loss.labels == "sign" else (low, high)
    most = max(loss.value(y, p) for y in labels for p in (low, high))
    if type(loss) is NegativeLog:
        return loss.value(0.0, high), most
    return (0.0, most) if loss.nonnegative else (-math.inf, math.inf)


class Forecaster(WeightedGame):
    """Exponentially weighted averages of the experts' predictions, for any convex loss.

    Each round: see the predictions p_i of d experts, forecast p = sum_i w_i p_i, see the outcome,
    suffer loss(outcome, p); weights follow Hedge. Experts are charged their own loss or, with
    `against="combinations"`, p_i times the slope of the loss at p: the regret is then bounded
    against every convex combination of experts. Predictions, and real outcomes, lie in [low, high].
    `eta` as for `Hedge`, or "concave" for the largest with exp(-eta f) concave on the range, where
    the regret is at most ln d / eta for any number of rounds.

    >>> from noregret import losses
    >>> forecaster = Forecaster(2, losses.Squared(), "concave", low=0.0, high=1.0)
    >>> forecaster.learn([[0.0, 1.0], [0.0, 1.0]], [1.0, 1.0]).round(6)
    array([0.5     , 0.622459])
    >>> forecaster.certificate().regret() <= 2.0 * math.log(2.0)
    True

    Reference: Cesa-Bianchi and Lugosi, Prediction, Learning, and Games, Theorems 2.2 and 3.2;
    section 2.5 for the slopes.
    """

    _FIELDS = (
        Setting("experts"),
        Setting("eta", "_eta"),
        *map(Setting, ("low", "high", "against")),
        Setting("loss", of=Loss),
        *WeightedGame._STATE,
        Array("suffered"),
    )

    def __init__(
        self,
        experts: int,
        loss: Loss,
        eta: float | str = "adaptive",
        low: float = -math.inf,
        high: float = math.inf,
        against: str = "experts",
    ) -> None:
        # -ln p is not finite everywhere; where it is not, a round is refused.
        if type(loss) is not NegativeLog:
            require_convex(loss)
        if against not in ("experts", "combinations"):
            raise ValueError(f"against must be 'experts' or 'combinations', got {against!r}")
        self.loss, self.against, self._eta = loss, against, eta
        self.low, self.high = as_interval(low, high)
        self.concavity, width = 0.0, math.inf
        if against == "experts":
            self.concavity = exp_concavity(loss, self.low, self.high)
            least, most = cost_range(loss, self.low, self.high)
            width = most - least
        if eta == "concave" and not self.concavity > 0.0:
            raise ValueError(
                f"eta='concave' needs a loss that is exp-concave on [{low:g}, {high:g}], "
                f"and experts to compare with; {loss} against {against} is not"
            )
        self._state = weighing(experts, self.concavity if eta == "concave" else eta, width)
        self._suffered = np.zeros(self.experts)

    def forecast(self, predictions: Any) -> Vector:
        """Return the forecast for each row of predictions, with the weights of the coming round."""
        table = as_table("predictions", predictions, self.experts)
        lows, highs = require_within("predictions", table, self.low, self.high)
        return np.clip(table @ self.weights, lows, highs)

    @one_at_a_time
    def learn(self, predictions: Any, outcomes: Any, weight: Any = None) -> Vector:
        """Play a round for every row of predictions; return the forecasts made.

        Losses are multiplied by `weight`. Input outside the promised range raises ValueError and
        leaves the forecaster as it was.
        """
        table = as_table("predictions", predictions, self.experts)
        require_within("predictions", table, self.low, self.high)
        y = as_labels(outcomes, len(table), self.loss)
        if self.loss.labels != "sign" and type(self.loss) is not NegativeLog:
            require_within("outcomes", y[:, None], self.low, self.high)
        weights = as_weights(weight, len(y))
        if self._state.kind != ADAPTIVE and np.any(weights > 1.0):
            raise ValueError("weight above 1 needs eta='adaptive', which promises no range")
        require_room(self.rounds, len(table))
        # Play on copies, so that a refused round leaves the sums as they were.
        state, suffered = self._state.copied(), self._suffered.copy()
        labels, forecasts = Labels(y, weights), np.empty(len(table))
        linear = self.against == "combinations"
        played = forecast_rounds(self.loss, linear, table, labels, state, suffered, forecasts)
        if played < len(table):
            raise ValueError(f"predictions row {played}: the loss or its slope overflows")
        self._state, self._suffered = state, suffered
        return forecasts

    def certificate(self) -> ExpertCertificate:
        """Return the loss beside that of every expert, with the theorems."""
        state, rounds, broken = self._state, self.rounds, self.broken
        charged, size = state.measured(), state.sum(ExpertSum.OWN_SIZE)
        # How far rounding can have moved the loss minus an expert's own, at most.
        slack = rounding_error(rounds + 64.0, grown(size, 2.0 * rounds)) + rounds * UNDERFLOW
        own = state.sum(ExpertSum.OWN) + state.sum(ExpertSum.OWN_LOW)
        best, bounds, proved = float(self._suffered.min()), state.bounds(), None
        measured, room = own - best + slack, 2.0 * slack + ROUNDING * (abs(own) + abs(best))
        if broken is None and rounds and self.against == "combinations":
            # Convexity: the loss of the mixture is at most the mean loss of the experts, and at
            # most that of a combination plus the difference along the slope.
            lines = rounding_error(32.0, size) + state.slack
            proved = charged.value + lines
            measured, room = max(measured, proved), room + 2.0 * lines + charged.slack
        run = Measured(measured, room, suspect_of((self.loss, "convexity")))
        if rounds:
            bounds = [
                run.state(bound.name, bound.reference, bound.value, bound.reason)
                for bound in [*self._concave(), *bounds]
            ]
        return ExpertCertificate(
            f"{state.title}, {type(self.loss).__name__}, against {self.against}",
            rounds,
            own,
            self._suffered.copy(),
            slack,
            # Measured differences stay true where a loss broke its promise, theorems do not.
            bounds if broken is None else [],
            proved,
            assumption=assumption_of(self.loss),
            broken=broken,
        )

    @property
    def broken(self) -> Broken | None:
        """The promise that a loss of one's own was found to break, and the round."""
        places = [ExpertSum.PROMISE_BROKEN, ExpertSum.BROKEN_PROMISE]
        return broken_in(self.loss, *self._state.book[places])

    def _concave(self) -> list[Statement]:
        """Return the bound for exp-concave losses, still to be judged, if it is about this one."""
        if self._state.kind != FIXED or not self.concavity > 0.0:
            return []
        name, value = "exp-concave loss, ln d/eta", math.log(self.experts) / self.eta
        needed = f"eta = {exact(self.eta)}, needed <= {exact(self.concavity)}"
        reason = needed if self.eta > self.concavity else ""
        return [Statement(name, f"{GAMES}, Theorem 3.2", value, reason=reason)]

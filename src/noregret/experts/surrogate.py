"""A classifier of 0/1 hypotheses by a convex surrogate: normalised EG on mistakes only."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from noregret.arrays import Vector, as_count, as_positive
from noregret.elementary import log_sum_exp
from noregret.experts import expert_theorems
from noregret.experts.advice import STEEPEST, as_table
from noregret.experts.hedge_rounds import gap_of
from noregret.proof.statement import RANGE, ROUNDING, Measured, Proof, Statement, row
from noregret.rounding import up
from noregret.turns import one_at_a_time


@dataclass(frozen=True, eq=False)
class SurrogateCertificate(Proof):
    """Mistakes, the surrogate loss of the best hypothesis on them, and the bounds."""

    rounds: int
    mistakes: int
    #: 2 |h_i(x) - y| summed over the mistakes, of the best hypothesis.
    surrogate: float
    bounds: list[Statement]

    @property
    def loss(self) -> float:
        """The number of mistakes."""
        return float(self.mistakes)

    def describe(self) -> str:
        """Return the competitors in words."""
        return "any hypothesis, by its surrogate loss"

    def _lines(self) -> list[str]:
        return [
            f"Certificate after {self.rounds:,} rounds of the surrogate classifier",
            row("mistakes", f"{self.mistakes:,}"),
            row("best surrogate loss L(u)", up(self.surrogate)),
            *(f"  {bound}" for bound in self.bounds),
        ]


class SurrogateClassifier:
    """Weights over d hypotheses with values in {0, 1}, changed on mistakes only.

    v = (h_1(x), ..., h_d(x)); predict 1 iff <w, v> >= 1/2; on a mistake w_i is multiplied by
    exp(-eta z_i), z = 2 v if y = 0 and -2 v if y = 1, a subgradient of 2 |<w, v> - y|. At most
    2 F + 8 ln d mistakes with eta = 1/4, F the best hypothesis's surrogate loss; eta = 1 has
    2 F + 2 ln d.

    >>> learner = SurrogateClassifier(2)
    >>> [learner.learn([1, 0], y) for y in (0, 0, 1)]
    [1, 0, 0]
    >>> learner.certificate().mistakes
    2

    Reference: Shalev-Shwartz, Online Learning and Online Convex Optimization, section 2.1.2.
    """

    def __init__(self, hypotheses: int, eta: float = 0.25) -> None:
        self.hypotheses = as_count("hypotheses", hypotheses)
        self.eta = as_positive("eta", eta, STEEPEST)
        self._logs, self._surrogate = np.zeros((2, self.hypotheses))
        self.rounds, self.mistakes, self._gaps = 0, 0, 0.0

    @property
    def weights(self) -> Vector:
        """The weights of the coming round."""
        parts = np.exp(self._logs - self._logs.max())
        return np.asarray(parts / parts.sum())

    def activation(self, values: Any) -> float:
        """Return <w, v>."""
        return float(self.weights @ self._values(values))

    @one_at_a_time
    def learn(self, values: Any, y: int) -> int:
        """Predict a label from the hypotheses' values, learn the true one, return the first."""
        v, w, eta = self._values(values), self.weights, self.eta
        if y not in (0, 1):
            raise ValueError(f"y must be 0 or 1, got {y!r}")
        label = int(float(w @ v) >= 0.5)
        self.rounds += 1
        if label != y:
            z = (2.0 if y == 0 else -2.0) * v
            mean = float(w @ z)
            low, high = float(z.min()), float(z.max())
            variance, third = float(w @ (z - mean) ** 2), float(w @ (eta * (z - mean)) ** 3)
            logs = self._logs - eta * (z - low)
            # Factor out the largest term of each sum: weights that matter next may be 0 now.
            shifted = float(log_sum_exp(logs) - log_sum_exp(self._logs)) / eta
            self._gaps += gap_of(mean, variance, third, low, high, shifted, eta)
            self._logs = logs - logs.max()
            self._surrogate += 2.0 * np.abs(v - y)
            self.mistakes += 1
        return label

    def certificate(self) -> SurrogateCertificate:
        """Return the mistakes beside the bounds."""
        d, eta, best = self.hypotheses, self.eta, float(self._surrogate.min())
        survey = "Shalev-Shwartz 2012, section 2.1.2"
        # Each mistake costs at least 1 in the surrogate loss.
        after = expert_theorems.after_the_fact(d, eta, self._gaps)
        bounds = [self._bound("after the fact", survey, after, 1.0)]
        if eta == 0.25:
            bounds.append(self._bound("in advance", survey, 8.0 * math.log(d), 2.0))
        if eta < 2.0:
            value, factor = expert_theorems.surrogate_mistakes(d, eta, 0.0), 1.0 / (1.0 - 0.5 * eta)
            reference = f"{survey}, Theorem 2.21"
            bounds.append(self._bound("in advance, half ranges", reference, value, factor))
        return SurrogateCertificate(self.rounds, self.mistakes, best, bounds)

    def _bound(self, name: str, reference: str, value: float, factor: float) -> Statement:
        """Return a bound on the mistakes, if the run does not contradict it."""
        best = factor * float(self._surrogate.min())
        measured = Measured(self.mistakes - best, ROUNDING * (self.mistakes + best), RANGE)
        return measured.state(name, reference, value, "", factor, "mistakes")

    def _values(self, values: Any) -> Vector:
        row = as_table("values", values, self.hypotheses)
        if len(row) != 1 or not np.all((row == 0.0) | (row == 1.0)):
            raise ValueError(f"values must be {self.hypotheses} numbers 0 or 1")
        return np.asarray(row[0])

"""The lazy rules for a matrix of weights, a column a score: theta_k <- theta_k - g_k x.

S is summed over all scores. The implicit rule makes the exact dual step of each round,

    W' = argmin over W  ||W - W_t||_F^2 / (2 eta) + c f(y, W^T x),

whose slopes g are those of f at the scores W' makes; they maximise
-f*(g) + <s, g> - (q/2) ||g||^2 with s = W_t^T x, q = eta c ||x||^2. With theta = -Z the weights are
eta theta as ever, and the dual D = -sum_t c_t f*(y_t, g_t) - (eta/2) ||Z||_F^2 never falls.
Reference: Shalev-Shwartz, Online Learning and Online Convex Optimization, section 2.6; Crammer,
Dekel, Keshet, Shalev-Shwartz, Singer, Online Passive-Aggressive Algorithms, 2006, section 8;
Crammer and Singer, 2001.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from noregret.jit import add_compensated, kernel
from noregret.losses import ScoreLoss
from noregret.passes.descent.linear import LinearRule
from noregret.passes.descent.mapped import MappedRule, settled_rate
from noregret.passes.frame import Vector
from noregret.passes.matrices.score_rounds import (
    Found,
    enter_scores,
    playable_scores,
    suffer,
)
from noregret.passes.promises import keep_score_conjugate, keep_score_promises
from noregret.passes.rounds import LARGEST_GRADIENT, LARGEST_LOSS, Round, enter_loss, row_norm
from noregret.passes.rows import Row, add_mapped_row, add_row, read_mapped_row, read_row
from noregret.passes.slots import Slot, Stop, keep_sum, leap_limit, next_rate
from noregret.proof.ledger import Entry
from noregret.rates.base import UNBOUNDED

#: Error of a conjugate, in roundings of a round: the probability of the label is what the others
#: leave, and its logarithm is at most 37 then.
CONJUGATE_ERRORS = 10.0


@dataclass(frozen=True)
class LinearScoresRule(LinearRule):
    """Predict by kappa <theta_k, x>; `work[0]` holds the products <theta_k, x>."""

    loss: ScoreLoss  # type: ignore[assignment]

    def examine(
        self, row: Row, label: Any, mass: float, memory: Any, ledger: Vector
    ) -> tuple[Any, int]:
        """Predict with the rate of the coming round."""
        powers, one_norm = _read_linear(self, memory, row)
        norm = row_norm(self.mirror, powers, one_norm)
        steepest = self.loss.slope_norm(memory.state.shape[0])
        eta, allowed = next_rate(steepest, self.rate, ledger, norm, mass)
        # Before the first gradient theta is 0 and the rate may be unbounded: weights are 0.
        kappa = self.mirror.kappa(memory.slots[Slot.SUM], 0.0, eta) if eta < UNBOUNDED else 0.0
        for k in range(np.uint64(memory.state.shape[0])):
            memory.scores[k] = kappa * memory.work[0, k]
        value, stop = np.inf, Stop.OVERFLOW
        if mass * norm < LARGEST_GRADIENT:
            value, stop = suffer(self.loss, memory, label, mass, norm)
        played = Round(label, mass, memory.scores, memory.slopes, one_norm, norm, eta)
        return Found(played, value, powers, allowed), stop

    def commit(self, row: Row, memory: Any, ledger: Vector, found: Any) -> int:
        """Enter the round, step by -z and keep S = ||theta||^2 / 2 where it is needed."""
        slots, played = memory.slots, found.played
        ledger[Entry.LARGEST_REACH] = found.allowed
        if not enter_scores(self.loss, self.mirror, ledger, played, found.value, self.conservative):
            return Stop.DONE
        _step(self.averages, memory, row, played.mass)
        if self.mirror.separable():
            return Stop.DONE
        change = 0.0
        for k in range(np.uint64(memory.state.shape[0])):
            slope = played.mass * memory.slopes[k]
            if slope != 0.0:
                change += slope * (0.5 * slope * found.powers - memory.work[0, k])
        return Stop.RESUM if keep_sum(slots, slots[Slot.SUM] + change) else Stop.DONE


@kernel(inline=True)
def _read_linear(rule, memory, row):  # type: ignore[no-untyped-def]
    """Write <theta_k, x> into `work[0]`; return the accumulator of the norm and ||x||_1."""
    powers = one_norm = 0.0
    for k in range(np.uint64(memory.state.shape[0])):
        memory.work[0, k], powers, one_norm = read_row(
            rule.mirror, rule.plain, rule.distance, memory.state[k], 0.0, row
        )
    return powers, one_norm


@kernel(inline=True)
def _step(averages, memory, row, mass):  # type: ignore[no-untyped-def]
    for k in range(np.uint64(memory.state.shape[0])):
        slope = mass * memory.slopes[k]
        if slope != 0.0:
            add_row(averages, memory.state[k], -slope, 0.0, row)


class Exact(NamedTuple):
    """What `examine` of the implicit rule found: the loss, and the conjugate at its slopes."""

    played: Round
    value: float
    conjugate: float


class ImplicitScoresRule(LinearScoresRule):
    """Predict by eta <theta_k, x>, step by the slopes at the new weights.

    `work[0]` holds the slopes at the prediction once these are known.
    """

    def examine(
        self, row: Row, label: Any, mass: float, memory: Any, ledger: Vector
    ) -> tuple[Any, int]:
        """Predict, and find the slopes of the exact step."""
        loss, scores, slopes, work = self.loss, memory.scores, memory.slopes, memory.work
        outputs = np.uint64(memory.state.shape[0])
        eta = self.rate.at(0.0, 0.0, 0.0)
        powers, one_norm = _read_linear(self, memory, row)
        for k in range(outputs):
            scores[k] = eta * work[0, k]
        norm = row_norm(self.mirror, powers, one_norm)
        q = eta * mass * powers
        value, conjugate, fits = np.inf, np.inf, False
        if mass * norm < LARGEST_GRADIENT and q < LARGEST_LOSS:
            value = loss.value_and_slopes(label, scores, slopes)
            # A loss of one's own is checked where it was played: keep its slopes there.
            if loss.checked():
                for k in range(outputs):
                    work[0, k] = slopes[k]
            loss.proximal_slopes(label, scores, q, slopes)  # type: ignore[attr-defined]
            conjugate = loss.conjugate(label, slopes)  # type: ignore[attr-defined]
            fits = playable_scores(mass, value, scores, slopes, norm)
            fits = fits and abs(mass * conjugate) < LARGEST_LOSS
        played = Round(label, mass, scores, slopes, one_norm, norm, eta)
        return Exact(played, value, conjugate), Stop.DONE if fits else Stop.OVERFLOW

    def commit(self, row: Row, memory: Any, ledger: Vector, found: Any) -> int:
        """Enter the round with the plane of its conjugate, and step."""
        played, value, conjugate = found.played, found.value, found.conjugate
        mass, s, slopes = played.mass, played.prediction, played.slope
        enter_loss(self.loss, ledger, played, value)
        if self.loss.checked():
            keep_score_promises(self.loss, ledger, played.label, s, memory.work[0], value)
            keep_score_conjugate(ledger, s, slopes, value, conjugate)
        intercept = -mass * conjugate
        add_compensated(ledger, Entry.INTERCEPT, intercept)
        size = 0.0
        for k in range(np.uint64(slopes.shape[0])):
            size += abs(slopes[k])
        ledger[Entry.MAGNITUDE] += abs(intercept) + mass * CONJUGATE_ERRORS * (1.0 + size)
        ledger[Entry.TRAVEL] += mass * size * played.one_norm
        _step(self.averages, memory, row, mass)
        return Stop.DONE


@dataclass(frozen=True)
class MappedScoresRule(MappedRule):
    """Predict by kappa <v_k, x>, step by theta_k <- theta_k - z_k and bring v along."""

    loss: ScoreLoss  # type: ignore[assignment]

    def fits(self, memory: Any) -> bool:
        """Return whether records have the width that is compiled in; `work` may be wider."""
        return bool(memory.state.shape[-1] == self.columns())

    def examine(
        self, row: Row, label: Any, mass: float, memory: Any, ledger: Vector
    ) -> tuple[Any, int]:
        """Predict, or ask for a lower rate inside phi."""
        scores, outputs = memory.scores, np.uint64(memory.state.shape[0])
        powers = one_norm = 0.0
        for k in range(outputs):
            scores[k], powers, one_norm, _, _, _ = read_mapped_row(
                self.mirror, memory.state[k], row
            )
        norm = row_norm(self.mirror, powers, one_norm)
        steepest = self.loss.slope_norm(memory.state.shape[0])
        eta, allowed = next_rate(steepest, self.rate, ledger, norm, mass)
        eta, kappa, falls = settled_rate(self.mirror, memory, eta)
        for k in range(outputs):
            scores[k] *= kappa
        value, stop = np.inf, Stop.OVERFLOW
        if mass * norm < LARGEST_GRADIENT:
            if falls:
                stop = Stop.RATE
            else:
                value, stop = suffer(self.loss, memory, label, mass, norm)
        played = Round(label, mass, scores, memory.slopes, one_norm, norm, eta)
        return Found(played, value, powers, allowed), stop

    def commit(self, row: Row, memory: Any, ledger: Vector, found: Any) -> int:
        """Enter the round, step by -z and keep S."""
        slots, played = memory.slots, found.played
        ledger[Entry.LARGEST_REACH] = found.allowed
        if not enter_scores(self.loss, self.mirror, ledger, played, found.value, self.conservative):
            return Stop.DONE
        change = 0.0
        largest = -np.inf
        size = 0.0
        for k in range(np.uint64(memory.state.shape[0])):
            slope = played.mass * memory.slopes[k]
            if slope != 0.0:
                limit = leap_limit(self.mirror, slots)
                moved, highest, longest = add_mapped_row(
                    self.mirror, self.averages, memory.state[k], memory.work, slots, -slope, limit,
                    row,
                )  # fmt: skip
                change += moved
                largest = max(largest, highest)
                size = max(size, longest)
        stale = not self.mirror.separable() and (
            keep_sum(slots, slots[Slot.SUM] + change)
            or self.mirror.out_of_range(slots[Slot.SUM], largest, size, slots[Slot.REFERENCE])
        )
        return Stop.RESUM if stale else Stop.DONE

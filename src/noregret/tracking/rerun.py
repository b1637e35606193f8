"""A run repeated beside a schedule: the cost and gain of every step of a tracker.

A step of a tracker goes from w_t to v_t with grad F(v_t) = grad F(w_t) - eta g_t x_t, then to
the projection w_(t+1) of v_t on its set. For any comparator u, by the definition of D alone,

    eta g_t (p_t - <u, x_t>) = D(u, w_t) - D(u, w_(t+1)) + s_t - r_t(u),
    s_t = D(w_t, v_t) - eta g_t (<w_t, x_t> - p_t),   r_t(u) = D(u, v_t) - D(u, w_(t+1)),

where p_t is the prediction, smaller than <w_t, x_t> if it was clipped. Summed over a schedule
the divergences telescope but for the shifts, where D(u_t, w) - D(u_(t+1), w) is left: the sum of
g_t (p_t - <u_t, x_t>), which bounds the regret, is known to the last term. For u in the set,
r_t(u) >= D(w_(t+1), v_t) >= 0 (generalised Pythagoras).
Reference: Herbster and Warmuth, Tracking the Best Linear Predictor, eq. 21-27.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from noregret.arrays import Vector
from noregret.learners import MirrorDescent
from noregret.passes.checks import sound_rows
from noregret.proof.certificate import Certificate
from noregret.rows.examples import Rows, as_labels, as_rows
from noregret.tracking.potentials import Potential, potential_of
from noregret.tracking.schedules import Schedule
from noregret.tracking.static import as_matrix

#: Relative difference allowed between the learner's sums and the replay's: dense and sparse forms
#: of a row are summed in different orders.
SAME = 1e-9
#: A prediction below <w, x> by more than this relative gap was clipped, not rounded.
CLIPPED = 1e-9


@dataclass(frozen=True)
class Trace:
    """Quantities that need the weights of every round."""

    #: The largest norm of grad F(w_t) over rounds 2 to T, as `Potential.shift_norm` has it.
    peak: float
    #: The sum of s_t, of D(w_(t+1), v_t) and of r_t(u_t).
    stability: float
    gain: float
    removed: float
    #: The sum of g_t (p_t - <u_t, x_t>), from the data and the predictions alone.
    linear: float
    #: The first round, counted from 1, whose prediction was clipped to below its label (0: none).
    clipped_below: int


@dataclass(frozen=True, eq=False)
class Rerun:
    """The weights of a run where a schedule asks for them."""

    schedule: Schedule
    certificate: Certificate
    potential: Potential
    eta: float
    predictions: Vector
    #: The weights of the first round, of the first round after each shift, and after the last.
    first: Vector
    at_shifts: list[Vector]
    last: Vector
    trace: Trace | None

    @property
    def start(self) -> float:
        """D(u_1, w_1)."""
        return self.potential.divergence(self.schedule.at(0), self.first)

    @property
    def end(self) -> float:
        """D(u_T, w_(T+1))."""
        return self.potential.divergence(self.schedule.comparators[-1], self.last)

    @property
    def climb(self) -> float:
        """F(u_T) - F(u_1)."""
        ends = self.schedule.comparators[[0, -1]]
        return self.potential.value(ends[1]) - self.potential.value(ends[0])

    @property
    def turns(self) -> float:
        """The sum of <u_t - u_(t+1), grad F(w_(t+1))> over the shifts."""
        steps = -np.diff(self.schedule.comparators, axis=0)
        pairs = zip(steps, self.at_shifts, strict=True)
        # The gradient at a vanished weight is infinite: the sum is then infinite or NaN.
        with np.errstate(invalid="ignore"):
            return float(sum(step @ self.potential.gradient(w) for step, w in pairs))

    def identity(self) -> tuple[float, float]:
        """Return both sides of the exact identity: the linear regret, and the sum of its terms.

        sum_t g_t (p_t - <u_t, x_t>) = (1/eta) [D(u_1, w_1) - D(u_T, w_(T+1)) + F(u_T) - F(u_1)
        + sum over shifts <u_t - u_(t+1), grad F(w_(t+1))> + sum_t s_t - r_t(u_t)].
        """
        if self.trace is None:
            raise ValueError("the identity needs the weights of every round: use traced=True")
        bracket = self.start - self.end + self.climb + self.turns
        bracket += self.trace.stability - self.trace.removed
        return self.trace.linear, bracket / self.eta


def rerun(learner: MirrorDescent, schedule: Schedule, X: Any, y: Any, traced: bool = True) -> Rerun:
    """Learn the rows again with a fresh learner of the same parts; read weights at the shifts.

    `traced` reads the weights of every round, O(d) each; without it only those at the shifts.
    The learner must have learnt exactly these rows, with unit weights.
    """
    certificate = learner.certificate()
    if certificate.broken is not None:
        raise ValueError(f"no statement: {certificate.broken}")
    _check_kind(certificate, learner._parts.implicit)
    potential = potential_of(certificate.mirror)
    rows = sound_rows(as_rows(X), 0)
    labels = as_labels(y, len(rows), learner.loss)
    if schedule.dimension != learner.dimension:
        raise ValueError(
            f"the comparators of the schedule have {schedule.dimension} features, "
            f"the learner {learner.dimension}"
        )
    copy = learner._fresh(learner.dimension)
    first = weights = copy.weights
    eta = float(certificate.rate.at(0.0, 0.0, 0.0))
    predictions = np.empty(len(rows))

    def measured(t: int, u: Vector, before: Vector, after: Vector) -> tuple[float, ...]:
        """Return the terms of a trace that round t adds, and whether it was clipped."""
        x, y, p = _dense(rows, t, len(before)), float(labels[t]), float(predictions[t])
        slope = learner.loss.slope(y, p)
        step = eta * slope
        moved = potential.link(potential.gradient(before) - step * x)
        return (
            potential.divergence(before, moved) - step * (float(before @ x) - p),
            potential.divergence(after, moved),
            potential.divergence(u, moved) - potential.divergence(u, after),
            slope * (p - float(u @ x)),
            p < min(y, float(before @ x) * (1.0 - CLIPPED)),
        )

    at_shifts, norms, terms = [], [], []
    for start, stop, u in schedule.segments(len(rows)):
        if start > 0:
            at_shifts.append(weights)
        size = 1 if traced else stop - start
        for t in range(start, stop, size):
            part = slice(t, t + size)
            predictions[part] = copy.learn(rows.part(t, t + size).plain(), labels[part])
            before, weights = weights, copy.weights
            if traced:
                norms.append(potential.shift_norm(weights))
                terms.append(measured(t, u, before, weights))
    check_same(certificate, copy.certificate())
    trace = None
    if traced:
        stability, gain, removed, linear, _ = np.sum(terms, axis=0, initial=0.0).tolist()
        clipped = [term[-1] for term in terms]
        trace = Trace(
            # No shift can happen after the last round.
            max(norms[:-1], default=0.0),
            stability,
            gain,
            removed,
            linear,
            clipped.index(True) + 1 if any(clipped) else 0,
        )
    return Rerun(
        schedule, certificate, potential, eta, predictions, first, at_shifts, weights, trace
    )


def _check_kind(certificate: Certificate, implicit: bool) -> None:
    if certificate.rounds == 0:
        raise ValueError("the learner has learnt nothing yet: learn the rows first")
    if not certificate.rate.constant() or certificate.evidence.factors is not None:
        raise ValueError(
            f"shifting bounds are for a constant rate, got {type(certificate.rate).__name__}"
        )
    if certificate.lazy and certificate.domain is not None:
        raise ValueError("shifting bounds are for projections of every step: use lazy=False")
    if certificate.conservative or implicit:
        raise ValueError(
            "shifting bounds are for steps by the slope at every prediction, not for "
            f"{'implicit' if implicit else 'conservative'}=True"
        )


def check_same(claimed: Certificate, found: Certificate) -> None:
    """Refuse rows that the learner has not learnt, or not in this order."""
    size = claimed.loss + float(np.abs(claimed.gradient).sum())
    gap = abs(claimed.loss - found.loss) + float(np.abs(claimed.gradient - found.gradient).sum())
    if claimed.rounds != found.rounds or not gap <= SAME * size:
        raise ValueError(
            f"the learner has not learnt exactly these {found.rounds} rows from its start, with "
            f"unit weights: its loss is {claimed.loss:.12g}, the replay's {found.loss:.12g}"
        )


def _dense(rows: Rows, t: int, dimension: int) -> Vector:
    """Return one row as a vector."""
    matrix = as_matrix(rows.part(t, t + 1))
    row = matrix if rows.dense else matrix.toarray()
    return np.pad(row[0], (0, dimension - rows.width))

"""The lemmas behind the shifting bounds, for any rate, and how the bounds are printed.

A lemma is about the progress of one step of a tracker.

With d = p - y, q = <u, x> - y, square loss, step eta g x with g = 2 d, and v the weights after
the step and before any projection, each of the lemmas has the form

    D(u, w) - D(u, v) >= 2 eta [(1 - c) d^2 - d q],

and (1 - c) d^2 - d q >= d^2/2 - q^2 / (2 (1 - 2c)) for c < 1/2, the difference being a square.
So eta d^2 - eta q^2 / (1 - 2c) <= D(u, w) - D(u, v): constants a = eta, b = eta / (1 - 2c), and
the comparator's loss is multiplied by b/a = 1 / (1 - 2c). The rates of the paper are those with
factor 2 (gradient descent), 3 (unnormalised EG) and 3/2 (EG). The c of each potential:

  square         c = eta X^2, ||x||_2 <= X: equality, since D(w, v) = eta^2 g^2 ||x||^2 / 2.
  p-norm         c = eta (p-1) X^2, ||x||_p <= X: D(w, v) <= (p-1) ||eta g x||_p^2 / 2.
  simplex of     c = eta S X^2 / 4, max x - min x <= X in each row: D(w, v) = S ln E exp(-eta g
  mass S         (x_i - p)) <= S (eta g X)^2 / 8 with E the mean by w / S (Hoeffding).
  entropy        c = eta X Y, 0 <= x_i <= X, 0 <= y, p <= Y, and p = <w, x>, or p < <w, x> was
                 clipped and y <= p. 1 - exp(-s x/X) is concave in x, so with s = eta g X
                 sum w_i (1 - exp(-eta g x_i)) >= (<w, x>/X) (1 - exp(-s)), and p may stand for
                 <w, x>, which is larger only if s >= 0. It remains that p (exp(-s) - 1 + s) <=
                 Y s^2 / 2. For s >= 0 that is plain. For s = -r: r = 2 c (y - p)/Y <= 1 - p/Y,
                 and (1 - r)(exp(r) - 1 - r) <= (1 - r) (r^2/2) / (1 - r/3) <= r^2/2.

Reference: Herbster and Warmuth, Tracking the Best Linear Predictor, Lemmas 11-13 (the factor 2
of the gradient restored, predictions of unnormalised EG clipped, one range a row for EG); the
rates beyond the paper's and the p-norm are ours.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.sparse import csr_array

from noregret.losses import Squared
from noregret.proof.ledger import Entry
from noregret.proof.statement import RANGE, ROUNDING, Measured, Proof, Statement, finite, row
from noregret.rounding import exact, grown, rounding_error, up
from noregret.rows.examples import Rows, as_labels, as_rows
from noregret.tracking.potentials import Entropic, PNormSquare, SimplexEntropic
from noregret.tracking.rerun import Rerun
from noregret.tracking.static import as_matrix

#: Relative excess over the paper's factor that is added to the bound instead of printed.
TOLERANCE = 1e-9


@dataclass(frozen=True)
class Lemma:
    """Whether the lemma holds on the data seen, and the factor of the comparator's loss.

    `excess` times the comparator's loss is to be added where rounding pushed the rate beyond
    the paper's, so that the printed factor is the paper's.
    """

    factor: float = math.inf
    excess: float = 0.0
    reason: str = ""


def lemma(run: Rerun, X: Any, y: Any) -> Lemma:
    """Return the lemma of a run's potential, judged on the rows and predictions of the run."""
    if type(run.certificate.loss_function) is not Squared:
        return Lemma(reason="the loss is not the square loss")
    row = float(run.certificate.ledger[Entry.LARGEST_ROW])
    rows = as_rows(X)
    # Norms carry a rounding a feature, at most.
    roundings = 2.0 * run.schedule.dimension + 32.0
    if isinstance(run.potential, SimplexEntropic):
        width = _extremes(rows, run.schedule.dimension)[2]
        c = 0.25 * run.eta * run.potential.scale * width * width
        return judged(c, 1.5, f"rows of width {up(width)}", roundings)
    if isinstance(run.potential, Entropic):
        labels = as_labels(y, len(rows), run.certificate.loss_function)
        low, high, _ = _extremes(rows, run.schedule.dimension)
        top = max(float(labels.max()), float(run.predictions.max()))
        reason = _misfit(run, low, labels)
        what = f"features up to {up(high)}, labels and predictions up to {up(top)}"
        found = judged(run.eta * high * top, 3.0, what, roundings)
        return Lemma(reason=reason) if reason else found
    power = run.potential.p - 1.0 if isinstance(run.potential, PNormSquare) else 1.0
    return judged(run.eta * power * row * row, 2.0, f"rows of norm {up(row)}", roundings)


def judged(c: float, usual: float, what: str, roundings: float) -> Lemma:
    """Return the lemma for c with relative error roundings * EPSILON.

    usual: the factor of the paper, printed where the factor misses it by rounding only.

    >>> judged(0.25, 2.0, "rows", 8.0).factor, judged(0.5, 2.0, "rows", 8.0).reason
    (2.0, 'eta is too large for rows: the lemma is empty')
    """
    c = grown(c, roundings + 8.0)
    if not c < 0.5:
        return Lemma(reason=f"eta is too large for {what}: the lemma is empty")
    factor = grown(1.0 / (1.0 - 2.0 * c), 8.0)
    if factor <= usual * (1.0 + TOLERANCE):
        return Lemma(usual, max(factor - usual, 0.0) * (1.0 + 1e-3))
    return Lemma(factor)


def _misfit(run: Rerun, low: float, labels: Any) -> str:
    """Return why the entropy's lemma fails, or '': negative numbers, or clipping below a label.

    low: the smallest feature.
    """
    for least, what in ((low, "feature"), (float(labels.min()), "label")):
        if least < 0.0:
            return f"there is a negative {what}, {exact(least)}"
    if run.trace is not None:
        broken = run.trace.clipped_below
        return f"round {broken} was clipped to below its label" if broken else ""
    # A clipped prediction is the largest of them all.
    if np.any((run.predictions == run.predictions.max()) & (labels > run.predictions)):
        return "with traced=True only it is known whether a prediction was clipped below its label"
    return ""


def _extremes(rows: Rows, dimension: int) -> tuple[float, float, float]:
    """Return the smallest and largest feature and the widest row; absent features count as 0."""
    matrix = csr_array(as_matrix(rows))
    matrix.resize(len(rows), dimension)
    low, high = matrix.min(axis=1).toarray(), matrix.max(axis=1).toarray()
    width = grown(float((high - low).max()), 1.0)
    return float(low.min()), float(high.max()), width


@dataclass(frozen=True)
class ShiftingBounds(Proof):
    """The bounds of a run against one schedule; losses are rounded up.

    `identity` holds both sides of the exact identity for sum_t g_t (p_t - <u_t, x_t>), which is
    not below the regret: measured directly, and put together from divergences.
    `best_alpha` would have made the bound for sparse comparators smallest.
    """

    rounds: int
    shifts: int
    size: float
    norm: float
    loss: float
    schedule_loss: float
    regret: float
    bounds: list[Statement]
    identity: tuple[float, float] | None = None
    best_alpha: float | None = None

    def total(self, bound: Statement) -> float:
        """Return the bound on the learner's loss itself, rounded up."""
        value = bound.factor * self.schedule_loss + bound.value
        size = abs(bound.value) + bound.factor * abs(self.schedule_loss)
        return value + rounding_error(4.0, size)

    def as_dict(self) -> dict[str, Any]:
        """Return plain values, ready for JSON."""
        bounds = [bound.as_dict() | {"total": finite(self.total(bound))} for bound in self.bounds]
        return super().as_dict() | {"bounds": bounds}

    def describe(self) -> str:
        """Return the competitors in words."""
        return f"the schedule with {self.shifts:,} shifts"

    def _lines(self) -> list[str]:
        noun = "shift" if self.shifts == 1 else "shifts"
        lines = [
            f"Shifting bounds after {self.rounds:,} rounds, {self.shifts:,} {noun} of total size "
            f"{up(self.size)} in the {exact(self.norm)}-norm",
            row("learner's loss", up(self.loss)),
            row("loss of the schedule, L(u)", up(self.schedule_loss)),
            row("measured regret", up(self.regret), "at most"),
        ]
        for bound in self.bounds:
            total = f", in all {up(self.total(bound))}" if bound.applies else ""
            lines.append(f"  {bound}{total}")
        if self.best_alpha is not None:
            lines.append(f"  for this schedule the best alpha is {exact(self.best_alpha)}")
        return lines


def stated(
    name: str,
    reference: str,
    value: float,
    factor: float,
    measured: tuple[float, float],
    reason: str = "",
) -> Statement:
    """Return a bound, if the run does not contradict it: (loss rounded up, L(<u>) down)."""
    reference = f"Herbster, Warmuth 2001, {reference}"
    loss, low = measured
    if not reason and not math.isfinite(value):
        reason = "a weight has vanished, or a number is out of range"
    value += rounding_error(8.0, abs(value))
    size = abs(loss) + factor * abs(low)
    run = Measured(loss - factor * low + rounding_error(4.0, size), ROUNDING * size, RANGE)
    return run.state(name, reference, value, reason, factor)

"""The default tracker: constrained gradient descents of many rates, mixed by their losses.

Every member k plays w_k in the ball. Half of them are w_k <- P(w_k - eta_k z), the C-GD of
Herbster and Warmuth, with rates eta_1 > eta_2 > ... in steps of two; the others, `ScaledDescent`,
measure their steps feature by feature. The mixture plays w = sum_k s_k w_k, inside the ball
because that is convex. Shares follow the losses, with some of each given to all,

    s_k <- (1 - 1/(t+1)) s_k exp(-f(w_k) / (2 m)) / norm + 1/((t+1) K),

where m is the mixture's own average loss so far: for the square loss this is Bayes' rule for
Gaussian errors of that variance, and for every loss it has no unit. Sharing lets the mixture
change its mind: after a shift a fast member takes over, and later a slow one again.

Inside the ball, rounding included. Members project on a ball smaller by 2^-20, which is more than
the rounding of their norms, of <w, x> and of the mixing comes to on common data. A proof must not
rest on that: whatever the members did, a prediction p is at last kept within radius ||x||, rounded
down, and is then exactly <u, x> with u = (p / ||x||^2) x, ||u|| <= radius.

References: Herbster and Warmuth, Tracking the Best Linear Predictor, Definition 9; Koolen and
de Rooij, Combining Expert Advice Efficiently, for shares that fall like 1/t.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from noregret import domains, mirrors, rates
from noregret.arrays import Vector, as_positive
from noregret.experts.shares import mix_rounds
from noregret.jit import kernel
from noregret.learners import MirrorDescent
from noregret.learners.base import learn_together
from noregret.losses import Loss
from noregret.passes.checks import sound_rows
from noregret.passes.frame import Labels, Memory, block
from noregret.passes.rows import place, row_of
from noregret.proof.ledger import require_room
from noregret.proof.wording import Broken
from noregret.rounding import rounding_error
from noregret.rows.examples import Rows, as_labels, as_rows, as_weights
from noregret.tracking.static import products, row_norms
from noregret.turns import one_at_a_time

#: How many rates of either kind, and the ratio of one to the next.
RATES = 12
RATIO = 2.0
#: The largest rate in units of 1/(curvature row^2): steps four times as long as the one that
#: removes the loss of a row, since rows are often smaller than the largest.
STEEPEST = 4.0
#: The largest rate of `ScaledDescent`, in units of the radius.
WIDEST = 2.0**-4
#: Relative margin of the members' ball, more than the rounding of norms and of mixing.
MARGIN = 2.0**-20
#: Row norms and predictions below this are treated as 0: products may be denormal.
SMALLEST_LIMIT = 1e-290
#: Smallest rate: in tiny balls rates would underflow.
SMALLEST_RATE = 1e-300
#: How much of a mean square is kept from one touch of a feature to the next.
DECAY = 0.99
#: Rounds after which the squared length is summed afresh, and the least factor.
AFRESH = 1 << 16
SMALLEST_FACTOR = 1e-60

#: Columns of a feature's record: w / factor and the mean square. Scalars: the squared length of w,
#: the common factor of the weights, and the rounds.
_WEIGHT, _SQUARES = range(2)
_LENGTH, _FACTOR, _ROUNDS = range(3)


@kernel(inline=True)
def _step(state, i, x, slope, eta, factor):  # type: ignore[no-untyped-def]
    """Move one weight; return by how much its square has changed."""
    g = slope * x
    state[i, _SQUARES] += (1.0 - DECAY) * (g * g - state[i, _SQUARES])
    if not 0.0 < state[i, _SQUARES] < np.inf:
        return 0.0
    old = factor * state[i, _WEIGHT]
    new = old - eta * g / np.sqrt(state[i, _SQUARES])
    state[i, _WEIGHT] = new / factor
    return new * new - old * old


@kernel(counted=False)
def scaled_pass(loss, eta, radius, rows, labels, memory, predictions):  # type: ignore[no-untyped-def]
    """Run over the rows; `memory.state` has a record a feature, `memory.slots` the scalars."""
    state, slots = memory.state, memory.slots
    for t in range(np.uint64(predictions.shape[0])):
        row = row_of(rows, t)
        factor = slots[_FACTOR]
        p = 0.0
        for k in range(row.end - row.begin):
            i, x = place(row, k)
            p += state[i, _WEIGHT] * x
        p *= factor
        predictions[t] = p
        slope = labels.weight[t] * loss.slope(labels.y[t], p)
        change = 0.0
        for k in range(row.end - row.begin):
            i, x = place(row, k)
            if slope * x != 0.0:
                change += _step(state, i, x, slope, eta, factor)
        slots[_LENGTH] += change
        slots[_ROUNDS] += 1.0
        if slots[_ROUNDS] % AFRESH == 0.0 or factor < SMALLEST_FACTOR:
            total = 0.0
            for i in range(np.uint64(state.shape[0])):
                state[i, _WEIGHT] *= factor
                total += state[i, _WEIGHT] * state[i, _WEIGHT]
            factor = 1.0
            slots[_FACTOR] = 1.0
            slots[_LENGTH] = total
        if slots[_LENGTH] > radius * radius:
            slots[_FACTOR] = factor * (radius / np.sqrt(slots[_LENGTH]))
            slots[_LENGTH] = radius * radius


class ScaledDescent:
    """Constrained descent with steps measured feature by feature, for rows of mixed scales.

        v_i <- v_i + (1 - DECAY) ((g x_i)^2 - v_i),   w_i <- w_i - eta g x_i / sqrt(v_i),

    for the features with g x_i other than 0; then w is scaled back into the ball. The mean square
    v_i forgets, so steps do not die out; eta is in units of the weights, whatever those of the
    features. It has no theorem, and a proof of drift needs none. Sparse rows cost O(nonzeros):
    w = factor * state[:, 0], with its squared length kept.

    >>> from noregret.rows.examples import as_rows
    >>> from noregret.losses import Squared
    >>> learner = ScaledDescent(Squared(), eta=0.01, radius=1.0)
    >>> rows, y = as_rows([[1.0], [1.0]]), np.array([1.0, 1.0])
    >>> learner.learn(rows, y, np.ones(2)).round(9).tolist(), learner.weights.size
    ([0.0, 0.1], 1)
    """

    def __init__(self, loss: Loss, eta: float, radius: float) -> None:
        self.loss, self.eta, self.radius = loss, float(eta), float(radius)
        self._state = np.zeros((0, 2))
        self._slots = np.array([0.0, 1.0, 0.0])

    def learn(self, rows: Rows, y: Vector, weight: Vector) -> Vector:
        """Learn sound rows one after the other; return the predictions made before each."""
        if rows.width > len(self._state):
            self._state = np.pad(self._state, ((0, rows.width - len(self._state)), (0, 0)))
        predictions = np.empty(len(y))
        memory = Memory(self._state, self._slots)
        labels = Labels(y, weight)
        scaled_pass(self.loss, self.eta, self.radius, block(rows), labels, memory, predictions)
        return predictions

    @property
    def weights(self) -> Vector:
        """The weights of the coming round."""
        return np.asarray(self._slots[_FACTOR] * self._state[:, _WEIGHT])


class Tracker:
    """A mixture of constrained gradient descents that needs no rate, inside one ball.

    `row` is the size ||x||_2 of a large row: it sets the unit of the rates and need not be
    exact. Every prediction is that of a vector with ||w||_2 <= radius.

    >>> import numpy as np
    >>> from noregret import losses
    >>> X = np.ones((400, 1))
    >>> y = np.sign(np.sin(np.arange(400) / 25.0) + 1e-9)
    >>> tracker = Tracker(losses.Squared(), radius=1.0)
    >>> predictions = tracker.learn(X, y)
    >>> bool(np.sum((predictions - y) ** 2) < 0.5 * np.sum((np.mean(y) - y) ** 2))
    True
    """

    def __init__(self, loss: Loss, radius: float, row: float = 1.0) -> None:
        self.loss, self.radius = loss, as_positive("radius", radius)
        top = _largest_rate(loss, self.radius, as_positive("row", row))
        ball = domains.Ball(self.radius * (1.0 - MARGIN))
        self.members = [
            MirrorDescent(
                loss,
                mirrors.Euclidean(),
                rates.Constant(max(top / RATIO**k, SMALLEST_RATE)),
                ball,
                lazy=False,
            )
            for k in range(RATES)
        ]
        self.scaled = [
            ScaledDescent(loss, WIDEST * self.radius / RATIO**k, ball.radius) for k in range(RATES)
        ]
        self._shares = np.full(2 * RATES, 0.5 / RATES)
        self._totals = np.zeros(2)

    @property
    def rounds(self) -> int:
        """How many examples were learnt."""
        return int(self._totals[0])

    @property
    def shares(self) -> Vector:
        """The shares in the coming prediction, of `members` and `scaled`, fast ones first."""
        return self._shares.copy()

    @property
    def weights(self) -> Vector:
        """The mixed predictor of the coming round."""
        played = [
            *(member.weights for member in self.members),
            *(member.weights for member in self.scaled),
        ]
        return np.asarray(sum(s * w for s, w in zip(self._shares, played, strict=True)))

    @one_at_a_time
    def learn(self, X: Any, y: Any, weight: Any = None) -> Vector:
        """Learn the rows of X one after the other; return the predictions made before each.

        Input that cannot be learnt raises ValueError and leaves the tracker as it was. A row whose
        loss or gradient overflows raises OverflowError, with the rounds before it kept.
        """
        rows = sound_rows(as_rows(X), 0)
        labels = as_labels(y, len(rows), self.loss)
        weights = as_weights(weight, len(rows))
        require_room(self.rounds, len(rows))
        predictions = np.empty(len(rows))

        def play(start: int, stop: int) -> None:
            part = slice(start, stop)
            predictions[part] = self._mix(rows.part(start, stop), labels[part], weights[part])

        learn_together([*self.members, *self.scaled], 0, len(rows), play)
        return predictions

    def _mix(self, rows: Rows, labels: Vector, weights: Vector) -> Vector:
        """Have all members learn the rows, and mix their predictions."""
        given, predictions = rows.plain(), np.empty(len(rows))
        made = [
            *(member.learn(given, labels, weights) for member in self.members),
            *(member.learn(rows, labels, weights) for member in self.scaled),
        ]
        norms = row_norms(rows)
        limits = self.radius * norms * (1.0 - rounding_error(rows.width + 16.0, 1.0))
        # Rounding of denormal numbers is not relative: clip predictions of such rows to 0.
        limits[np.minimum(norms, limits) < SMALLEST_LIMIT] = 0.0
        mix_rounds(
            self.loss, np.array(made), labels, weights, limits, self._shares, self._totals,
            predictions,
        )  # fmt: skip
        return predictions

    def predict(self, X: Any) -> Vector:
        """Return the prediction for each row with the weights of the coming round."""
        rows = sound_rows(as_rows(X), 0)
        return products(rows, np.pad(self.weights, (0, rows.width))[: rows.width])

    def floor(self) -> float:
        """Return the best floor that the members' own certificates prove for the ball."""
        if self.broken is not None:
            return -math.inf
        return max(member.certificate().floor(self.radius) for member in self.members)

    @property
    def broken(self) -> Broken | None:
        """The promise that the loss was found to break by the first member that saw it."""
        return next(filter(None, (member.certificate().broken for member in self.members)), None)


def _largest_rate(loss: Loss, radius: float, row: float) -> float:
    """Return the fastest rate worth trying for rows of that size."""
    curvature = loss.curvature()
    if 0.0 < curvature < math.inf:
        return STEEPEST / (curvature * row * row)
    # A kinked loss: its steepest slope within the ball takes w across the ball in one step.
    steepest = max(abs(loss.slope(y, -y * radius * row)) for y in (-1.0, 1.0))
    return STEEPEST * radius / (steepest * row) if steepest > 0.0 else radius / row

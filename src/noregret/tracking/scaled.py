"""Constrained descent whose steps are measured feature by feature, for rows of mixed scales.

    v_i <- v_i + (1 - DECAY) ((g x_i)^2 - v_i),   w_i <- w_i - eta g x_i / sqrt(v_i),

for the features with g x_i other than 0; then w is scaled back into the ball. The mean square v_i
forgets, so steps do not die out; eta is in units of the weights, whatever those of the features.
No theorem is claimed: it is a member of the mixture for what it does on real streams, and a proof
of drift needs none.
Sparse rows cost O(nonzeros): w = factor * state[:, 0], with its squared length kept.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from noregret.jit import kernel
from noregret.losses import Loss
from noregret.rows.examples import Rows

Vector = npt.NDArray[np.float64]

#: How much of a mean square is kept from one touch of a feature to the next.
DECAY = 0.99
#: Rounds after which the squared length is summed afresh, and the least factor.
AFRESH = 1 << 16
SMALLEST_FACTOR = 1e-60

_LENGTH, _FACTOR, _ROUNDS = 0, 1, 2


@kernel(inline=True)
def _step(state, i, x, slope, eta, factor):  # type: ignore[no-untyped-def]
    """Move one weight; return by how much its square has changed."""
    g = slope * x
    state[i, 1] += (1.0 - DECAY) * (g * g - state[i, 1])
    if not 0.0 < state[i, 1] < np.inf:
        return 0.0
    old = factor * state[i, 0]
    new = old - eta * g / np.sqrt(state[i, 1])
    state[i, 0] = new / factor
    return new * new - old * old


@kernel
def scaled_pass(  # type: ignore[no-untyped-def]
    loss, eta, radius, indptr, indices, values, y, weight, state, scalars, predictions
):
    """Run over the rows; columns of `state` are w / factor and the mean squares."""
    for t in range(np.uint64(y.shape[0])):
        factor = scalars[_FACTOR]
        p = 0.0
        if values.ndim == 2:
            for j in range(np.uint64(values.shape[1])):
                p += state[j, 0] * np.float64(values[t, j])
        else:
            for k in range(indptr[t], indptr[t + np.uint64(1)]):
                p += state[indices[k], 0] * np.float64(values[k])
        p *= factor
        predictions[t] = p
        slope = weight[t] * loss.slope(y[t], p)
        change = 0.0
        if values.ndim == 2:
            for j in range(np.uint64(values.shape[1])):
                x = np.float64(values[t, j])
                if slope * x != 0.0:
                    change += _step(state, j, x, slope, eta, factor)
        else:
            for k in range(indptr[t], indptr[t + np.uint64(1)]):
                x = np.float64(values[k])
                if slope * x != 0.0:
                    change += _step(state, indices[k], x, slope, eta, factor)
        scalars[_LENGTH] += change
        scalars[_ROUNDS] += 1.0
        if scalars[_ROUNDS] % AFRESH == 0.0 or factor < SMALLEST_FACTOR:
            total = 0.0
            for i in range(state.shape[0]):
                state[i, 0] *= factor
                total += state[i, 0] * state[i, 0]
            factor = 1.0
            scalars[_FACTOR] = 1.0
            scalars[_LENGTH] = total
        if scalars[_LENGTH] > radius * radius:
            scalars[_FACTOR] = factor * (radius / np.sqrt(scalars[_LENGTH]))
            scalars[_LENGTH] = radius * radius


class ScaledDescent:
    """One such learner: predictions of vectors in a ball, for the mixture.

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
        self._scalars = np.array([0.0, 1.0, 0.0])

    def learn(self, rows: Rows, y: Vector, weight: Vector) -> Vector:
        """Learn sound rows one after the other; return the predictions made before each."""
        if rows.width > len(self._state):
            self._state = np.pad(self._state, ((0, rows.width - len(self._state)), (0, 0)))
        predictions = np.empty(len(y))
        scaled_pass(
            self.loss, self.eta, self.radius, rows.indptr, rows.indices, rows.values, y, weight,
            self._state, self._scalars, predictions,
        )  # fmt: skip
        return predictions

    @property
    def weights(self) -> Vector:
        """The weights of the coming round."""
        return np.asarray(self._scalars[_FACTOR] * self._state[:, 0])

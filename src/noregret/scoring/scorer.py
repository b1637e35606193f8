"""The scores of the classes: one learner for two of them, one of a matrix for more.

Scores of margin losses become probabilities by streaming Platt scaling. Platt's sigmoid is fitted
to the scores made before each update, row by row, so that chunks do not matter. It has no
intercept: the minimiser of a margin loss changes its sign where both classes are as likely, so
probabilities are 1/2 at score 0 and the class predicted is the likeliest one. For two classes each
side of 0 has a slope of its own instead.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.special import softmax

from noregret.arrays import Vector
from noregret.elementary import exp
from noregret.experts import ScoreAggregate
from noregret.experts.representative import linear_part, offsets_of
from noregret.jit import kernel
from noregret.learners import MatrixDescent, MirrorDescent
from noregret.learners.base import Diverged
from noregret.learners.matrix import two_classes
from noregret.losses.links import link_of
from noregret.scoring.growing import Codes

#: Slope and curvature before any row; slopes stay positive, so that larger scores are likelier,
#: and finite, whatever a row weighs.
START, PRIOR, LEAST, MOST = 1.0, 1.0, 1e-3, 1e100
#: The labels of the first and of the second class.
_SIGNS = np.array([-1.0, 1.0])


@kernel
def _fit(scores, codes, weight, state):  # type: ignore[no-untyped-def]
    """Take a Newton step a row on the log loss of the probabilities exp(a s_k) / sum."""
    for t in range(scores.shape[0]):
        s = scores[t]
        side = 0
        if state.shape[0] == 2 and s[1] < s[0]:
            side = 1
        a = state[side, 0]
        top = s.max()
        total = 0.0
        first = 0.0
        second = 0.0
        for k in range(s.shape[0]):
            # Away from the largest score nothing cancels.
            below = s[k] - top
            p = exp(a * below)
            total += p
            first += p * below
            second += p * below * below
        mean = first / total
        slope = mean - (s[codes[t]] - top)
        state[side, 1] += weight[t] * max(second / total - mean * mean, 0.0)
        state[side, 0] = min(max(a - weight[t] * slope / state[side, 1], LEAST), MOST)


class Platt:
    """Streaming Platt scaling: exp(a s_k) / sum_j exp(a s_j), one slope a or one a side.

    a moves by Newton steps, a - c g / H, with g the slope of a row's log loss in a, H the sum of
    the curvatures so far and c the row's weight.
    Reference: Platt, Probabilistic Outputs for Support Vector Machines, 1999.

    >>> platt = Platt(2)
    >>> platt.learn(np.array([2.0, -2.0, 2.0]), np.array([1, 0, 1]), np.ones(3))
    >>> platt.probabilities(np.array([2.0])).round(3).tolist()
    [[0.073, 0.927]]
    """

    def __init__(self, outputs: int) -> None:
        self.state = np.tile([START, PRIOR], (2 if outputs == 2 else 1, 1))

    def learn(self, scores: Vector, codes: Codes, weight: Vector) -> None:
        """Move the slopes by the scores that were made before each update."""
        _fit(_paired(scores), codes, weight, self.state)

    def learn_one(self, score: Any, code: int, weight: float) -> None:
        """Move the slopes by one score, or by the scores of all classes, of one row."""
        scores = np.array([score]) if isinstance(score, float) else score[np.newaxis]
        self.learn(scores, np.array([code]), np.array([weight], np.float64))

    def grow(self, factor: float) -> None:
        """Go over from two classes to more; scores are `factor` times as large from now on."""
        if len(self.state) == 2:
            slopes, curvatures = self.state.T
            mean = slopes @ curvatures / curvatures.sum()
            self.state = np.array([[mean / factor, curvatures.sum() * factor * factor]])

    def probabilities(self, scores: Vector) -> Vector:
        """Return a row of probabilities a row."""
        pairs = _paired(scores)
        slopes = self.state[0, 0]
        if len(self.state) == 2:
            slopes = self.state[(pairs[:, 1] < pairs[:, 0]).astype(np.intp), :1]
        # Away from the largest score a product may overflow, but to 0 in the end.
        with np.errstate(over="ignore"):
            below = slopes * (pairs - pairs.max(axis=1, keepdims=True))
        return np.asarray(softmax(below, axis=1))


def _paired(scores: Vector) -> Vector:
    """Return scores of all classes: of two that share one score, 0 and it."""
    if scores.ndim == 2:
        return scores
    return np.column_stack([np.zeros(len(scores)), scores])


class Calibrated:
    """Scores whose loss tells their probabilities, or else streaming Platt scaling.

    `platt` is None where the loss tells.
    """

    def __init__(self, loss: Any, outputs: int) -> None:
        link = link_of(loss)
        self.platt = Platt(outputs) if link is None else None
        self._meaning: Any = link or self.platt

    def probabilities(self, scores: Vector) -> Vector:
        """Return the probabilities that the scores stand for, a row a row."""
        return np.asarray(self._meaning.probabilities(scores))


class Scorer(Calibrated):
    """Learns the scores of classes 0 ... K - 1, and what they mean as probabilities.

    Two classes share one score, that of the second against the first.
    """

    def __init__(self, learner: MirrorDescent | MatrixDescent | ScoreAggregate) -> None:
        self.learner: Any = learner
        super().__init__(learner.loss, self.outputs)

    @property
    def binary(self) -> bool:
        """Whether the learner is that of labels -1 and +1."""
        return isinstance(self.learner, MirrorDescent)

    @property
    def rounds(self) -> int:
        """How many rows were learnt."""
        return int(self.learner.rounds)

    @property
    def outputs(self) -> int:
        """How many classes there is room for."""
        return 2 if self.binary else int(self.learner.outputs)

    def require_more(self, outputs: int) -> None:
        """Refuse as many classes if the learner of two could not go on with them."""
        if self.binary and outputs > 2:
            try:
                two_classes(self.learner)
            except ValueError:
                parts = f"{self.learner.loss}, {self.learner.mirror} and {self.learner.rate}"
                raise ValueError(
                    f"y has a third label, and a learner of two with {parts} cannot go on with "
                    "more: use OneAgainstRest(loss) from the start"
                ) from None

    def require_room(self, now: int, outputs: int, begun: bool) -> None:
        """Refuse classes that `grow` could not make room for.

        There will be `now` of them at once and `outputs` in the end, in between rows if it has
        `begun` by then.
        """
        # The members of a mixture have maps that grow.
        mirror = getattr(self.learner, "mirror", None)
        late = outputs > max(now, self.outputs) and (begun or self.learner.rounds)
        late = late or (now > self.outputs and self.learner.rounds)
        if late and mirror is not None and not mirror.grows():
            raise ValueError(
                f"y has {outputs} classes, and a learner of {self.outputs} with {mirror} cannot go "
                "on with more: declare them in the first partial_fit"
            )

    def grow(self, outputs: int) -> None:
        """Make room for more classes, whose scores are 0 so far."""
        if outputs <= self.outputs:
            return
        if self.platt is not None:
            self.platt.grow(2.0 if self.binary else 1.0)
        if self.binary:
            self.learner = MatrixDescent.from_binary(self.learner)
        self.learner.grow(outputs)

    def target(self, code: int) -> float:
        """Return what the learner calls a class: -1 and +1 of two, else its number."""
        return 2.0 * code - 1.0 if self.binary else float(code)

    def learn(self, rows: Any, codes: Codes, weight: Vector | None) -> None:
        """Learn the classes of the rows, one after the other."""
        targets = _SIGNS.take(codes) if self.binary else codes
        try:
            self._calibrate(self.learner.learn(rows, targets, weight), codes, weight)
        except Diverged as refusal:
            self._calibrate(refusal.predictions, codes, weight)
            raise

    def learn_row(self, columns: Any, values: Any, target: float, weight: float) -> Any:
        """Learn one row whose class has that target, see `SingleRowLearner.learn_row`."""
        return self._learnt(self.learner.learn_row, columns, values, target, weight)

    def learn_one(self, columns: Any, values: Any, target: float, weight: float) -> Any:
        """Learn one row whose class has that target, see `SingleRowLearner.learn_one`."""
        return self._learnt(self.learner.learn_one, columns, values, target, weight)

    def _learnt(self, learn: Any, columns: Any, values: Any, target: float, weight: float) -> Any:
        made = learn(columns, values, target, weight)
        if made is not None and self.platt is not None:
            score = made if self.binary else self._shared(made[np.newaxis])[0]
            code = target > 0.0 if self.binary else target
            self.platt.learn_one(score, int(code), weight)
        return made

    def _calibrate(self, made: Vector, codes: Codes, weight: Vector | None) -> None:
        """Fit the probabilities to the scores made before each row that was learnt."""
        if self.platt is not None:
            learnt = slice(0, len(made))
            masses = np.ones(len(made)) if weight is None else weight[learnt]
            self.platt.learn(self._shared(made), codes[learnt], masses)

    def predict(self, rows: Any) -> Vector:
        """Return the scores: one a row for two classes, else one a row and class."""
        return self._shared(self.learner.predict(rows))

    def weights(self) -> Vector:
        """Return a row of weights a score."""
        weights = self._shared(np.atleast_2d(linear_part(self.learner).weights.T).T)
        return np.atleast_2d(weights.T)

    def offsets(self) -> Vector:
        """Return what each score has beside <weights, x>."""
        own = np.zeros(1) if self.binary else offsets_of(linear_part(self.learner), self.outputs)
        return np.atleast_1d(self._shared(own[np.newaxis])[0])

    def certificate(self) -> Any:
        """Return what the rounds so far prove."""
        return self.learner.certificate()

    def _shared(self, scores: Vector) -> Vector:
        """Return one score of two classes: that of the second against the first."""
        if scores.ndim == 1 or scores.shape[1] > 2:
            return scores
        if self.binary:
            return scores[:, -1]
        return scores[:, 1] - scores[:, 0] if scores.shape[1] == 2 else scores

"""One learner of labels -1 and +1 a class, each against the rest."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Protocol, Self

import numpy as np
import numpy.typing as npt

from noregret.experts import Aggregate, rate_grid
from noregret.learners import MirrorDescent
from noregret.learners.base import learn_together
from noregret.losses import Hinge, Logistic, Loss, SquaredHinge
from noregret.losses.links import link_of
from noregret.mirrors import Mirror
from noregret.proof.certificate import Certificate
from noregret.rates import Rate
from noregret.rows.examples import as_rows
from noregret.scoring.calibration import Platt
from noregret.scoring.labels import Codes
from noregret.sklearn.several import ClassCertificates

Vector = npt.NDArray[np.float64]

#: Losses that depend on y p alone.
EVEN = (Hinge, Logistic, SquaredHinge)


def new_learner(
    loss: Loss, mirror: Mirror, rate: Rate | None, dimension: int
) -> MirrorDescent | Aggregate:
    """Return a learner of one score that has seen nothing, with a grid of rates for None."""
    if rate is None:
        return rate_grid(loss, mirror, dimension=dimension)
    return MirrorDescent(loss, mirror, rate, dimension=dimension, averaging=False)


class Column(Protocol):
    """A learner of one score."""

    @property
    def rounds(self) -> int:
        """How many rows were learnt."""

    def learn(self, rows: Any, y: Vector, weight: Vector | None) -> Vector:
        """Learn the rows one after the other; return the predictions made before each."""

    def predict(self, rows: Any) -> Vector:
        """Return the score of each row."""

    def weights(self) -> Vector:
        """Return the weights of the score."""

    def certificate(self) -> Any:
        """Return what the rounds so far prove."""

    def may_turn(self, begun: bool) -> bool:
        """Tell whether `turned` can be made, after more rows if they have `begun` by then."""

    def turned(self) -> Self:
        """Return the learner of the opposite labels that has seen the same rows."""


class Signed:
    """A core learner, or its mirror image: labels and scores with the sign turned."""

    def __init__(
        self, learner: MirrorDescent | Aggregate, mirror: Mirror, sign: float = 1.0
    ) -> None:
        self.learner, self.mirror, self.sign = learner, mirror, sign

    @property
    def rounds(self) -> int:
        """How many rows were learnt."""
        return self.learner.rounds

    def learn(self, rows: Any, y: Vector, weight: Vector | None) -> Vector:
        """Learn the rows one after the other; return the predictions made before each."""
        return self.sign * self.learner.learn(rows, self.sign * y, weight)

    def predict(self, rows: Any) -> Vector:
        """Return the score of each row."""
        return self.sign * self.learner.predict(rows)

    def weights(self) -> Vector:
        """Return the weights of the score."""
        return self.sign * self.learner.weights

    def certificate(self) -> Any:
        """Return what the rounds so far prove about this score."""
        return facing(self.learner.certificate(), self.sign)

    def may_turn(self, begun: bool) -> bool:
        """Tell whether loss and map are the same with the sign turned, or nothing was seen."""
        plain = self.mirror.euclidean() and type(self.learner.loss) in EVEN
        return plain or not (begun or self.learner.rounds)

    def turned(self) -> Signed:
        """Return the learner of the opposite labels that has seen the same rows."""
        # One that has seen nothing is that of any labels, whatever its map.
        sign = -self.sign if self.learner.rounds else self.sign
        return Signed(copy.deepcopy(self.learner), self.mirror, sign)


class Columns:
    """Learns the scores of classes by one learner each; two classes share one.

    `blank` is a learner that has seen nothing, for classes that appear later.
    """

    def __init__(self, columns: Sequence[Column], blank: Column, loss: Loss) -> None:
        self.columns, self.blank = list(columns), blank
        self._link = link_of(loss)
        self.platt = Platt(self.outputs) if self._link is None else None

    @property
    def rounds(self) -> int:
        """How many rows were learnt."""
        return self.columns[0].rounds

    @property
    def outputs(self) -> int:
        """How many classes there is room for."""
        return max(2, len(self.columns))

    def require_room(self, now: int, outputs: int, begun: bool) -> None:
        """Refuse classes that `grow` could not make room for, see `Scorer`."""
        turning = outputs > 2 and len(self.columns) == 1
        if turning and not self.columns[0].may_turn(begun and now <= 2):
            raise ValueError(
                f"y has {outputs} classes, and this learner of 2 cannot go on with more: its map "
                "or loss is not the same with the sign turned; declare the classes in the first "
                "partial_fit"
            )

    def grow(self, outputs: int) -> None:
        """Make room for more classes, whose scores are 0 so far."""
        if outputs <= self.outputs:
            return
        if len(self.columns) == 1:
            if self.platt is not None:
                self.platt.grow(2.0)
            # The first class against the second is the second against the first, turned round.
            self.columns.insert(0, self.columns[0].turned())
        while len(self.columns) < outputs:
            self.columns.append(copy.deepcopy(self.blank))

    def learn(self, rows: Any, codes: Codes, weight: Vector | None) -> None:
        """Learn the classes of the rows, one after the other."""
        first = 1 if len(self.columns) == 1 else 0
        given = as_rows(rows)

        def play(start: int, stop: int) -> None:
            part = slice(start, stop)
            some = rows if stop - start == len(given) else given.part(start, stop).plain()
            scores = [
                column.learn(
                    some,
                    np.where(codes[part] == k, 1.0, -1.0),
                    None if weight is None else weight[part],
                )
                for k, column in enumerate(self.columns, first)
            ]
            if self.platt is not None:
                masses = np.ones(stop - start) if weight is None else weight[part]
                self.platt.learn(joined(scores), codes[part], masses)

        if len(self.columns) == 1 and self.platt is None:
            # One learner alone keeps the rounds before a row that it refuses.
            play(0, len(given))
        else:
            learn_together(self.columns, 0, len(given), play)

    def predict(self, rows: Any) -> Vector:
        """Return the scores: one a row for two classes, else one a row and class."""
        return joined([column.predict(rows) for column in self.columns])

    def probabilities(self, scores: Vector) -> Vector:
        """Return the probabilities that the scores stand for, a row a row."""
        if self._link is not None:
            return self._link.probabilities(scores)
        assert self.platt is not None
        return self.platt.probabilities(scores)

    def weights(self) -> Vector:
        """Return a row of weights a score."""
        return np.vstack([column.weights() for column in self.columns])

    def certificate(self) -> Any:
        """Return what the rounds prove: one certificate for two classes, else one of all."""
        found = tuple(column.certificate() for column in self.columns)
        return found[0] if len(found) == 1 else ClassCertificates(found, tuple(range(len(found))))


def facing(certificate: Certificate, sign: float) -> Certificate:
    """Return the certificate about scores of a sign, from that of a learner of its labels.

    A predictor u of the opposite labels is -u: what changes is the gradient alone.
    """
    return certificate if sign > 0.0 else replace(certificate, gradient=-certificate.gradient)


def joined(scores: Sequence[Vector]) -> Vector:
    """Return scores side by side, a single one as it is."""
    return scores[0] if len(scores) == 1 else np.column_stack(scores)

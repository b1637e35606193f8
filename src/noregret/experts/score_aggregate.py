"""Learners of several classes in one pass, their probabilities mixed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Self

import numpy as np

from noregret import mirrors
from noregret.arguments import ArgumentError
from noregret.arrays import Vector
from noregret.experts.aggregate_certificate import ScoreAggregateCertificate
from noregret.experts.membership import PROBABILITIES
from noregret.experts.roster import score_members
from noregret.experts.score_probabilities import ScoreForecaster
from noregret.experts.shared_moments import SharedMoments
from noregret.files import store
from noregret.learners.foreign_scores import ScoreCertifier
from noregret.learners.foreign_sizes import SizedScoreCertifier
from noregret.learners.matrix import MatrixDescent
from noregret.learners.standardized import Standardized
from noregret.losses import Softmax
from noregret.proof.certificate import Certificate
from noregret.rows.examples import as_scores, as_targets, count_of
from noregret.turns import one_at_a_time


class ScoreAggregate(SharedMoments):
    """K learners of several classes in one pass, mixed by their probabilities.

    Each round: every member makes scores and learns; the aggregate makes the logarithms of the
    mean probabilities, see `ScoreForecaster`. `learn` takes classes 0 to C - 1 and returns the
    n x C scores made before each row. The loss, `Softmax`, exceeds that of the best member by at
    most W (ln K + ln T), W the largest weight of an example.

    >>> import noregret as nr
    >>> members = [nr.MatrixDescent(nr.losses.Softmax()),
    ...            nr.Standardized(nr.MatrixDescent(nr.losses.Softmax()), certified=False)]
    >>> learner = ScoreAggregate(members)
    >>> rows, classes = [[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]], [0, 1, 2]
    >>> np.exp(learner.learn(rows, classes)).sum(axis=1).round(12).tolist()
    [1.0, 1.0, 1.0]
    >>> learner.outputs, learner.certificate().rounds
    (3, 3)

    Reference: Vovk, A Game of Prediction with Expert Advice, 1998.
    """

    _certificate = ScoreAggregateCertificate
    _book: ScoreCertifier | SizedScoreCertifier

    def __init__(
        self,
        learners: Sequence[MatrixDescent | Standardized] | None = None,
        mirror: mirrors.Mirror | None = None,
        blocks: bool | str = False,
    ) -> None:
        """Make an aggregate of fresh learners.

        Args:
            learners: the members, one or more, each of its own: `MatrixDescent` with `Softmax`,
                or such a one wrapped by `Standardized` [default: `ScaleFree` standardized with one
                and with twenty constants, for rows of up to 256 features `Newton` standardized
                without and with forgetting and `BlockLeader`, and `ScaleFree` alone for rows with
                features beyond 512].
            mirror: the map whose class the certificate's floors are about
                [default: ||m U||_F <= radius, m_i the largest |x_i|].
            blocks: raise the floors by planes under blocks of rows, as in `nr.certify`
                [default: False].
        """
        waits = learners is None
        learners = score_members() if learners is None else learners
        for k, learner in enumerate(learners):
            kind = type(_matrix(learner))
            if kind is not MatrixDescent or type(learner.loss) is not Softmax:
                words = f"learner {k} must be a MatrixDescent with Softmax(), standardized or not"
                raise ArgumentError("learners", words)
        super().__init__(learners, None, mirror, blocks, PROBABILITIES)
        self._share_moments(waits)

    @property
    def outputs(self) -> int:
        """Number of classes, 0 before it is known."""
        return max(int(_matrix(learner).outputs) for learner in self.learners)

    @one_at_a_time
    def grow(self, outputs: int) -> None:
        """Add classes until there are `outputs`; past losses do not change."""
        self._grow(outputs)

    def _grow(self, outputs: int) -> None:
        for learner in self.learners:
            _matrix(learner).grow(outputs)

    def _learn(self, X: Any, y: Any, weight: Any) -> Vector:
        if self.outputs:
            return super()._learn(X, y, weight)
        try:
            # Every part of the rows is learnt with the classes of all of them.
            self._grow(max(count_of(as_targets(y, np.size(y), Softmax(), None)), 1))
            return super()._learn(X, y, weight)
        finally:
            if not self.rounds:
                for learner in self.learners:
                    _matrix(learner)._outputs = None

    @property
    def representative(self) -> tuple[int, MatrixDescent | Standardized]:
        """The member with the largest share, all of which are linear: its place, and the member."""
        place = int(np.argmax(self.shares))
        return place, self.members[place]

    def _require_mixing(self, mixing: str) -> None:
        """Probabilities are mixed."""
        if mixing != PROBABILITIES:
            raise ValueError(f"mixing must be 'probabilities', got {mixing!r}")

    @classmethod
    def _mixer_of(cls, mixing: str) -> type[ScoreForecaster]:
        return ScoreForecaster

    def _new_mixer(self, count: int) -> ScoreForecaster:
        return ScoreForecaster(count)

    def _new_book(self, mirror: mirrors.Mirror | None, blocks: bool | str) -> ScoreCertifier:
        if mirror is None:
            return SizedScoreCertifier(Softmax(), blocks)
        return ScoreCertifier(Softmax(), mirror, blocks)

    def _as_labels(self, y: Any, count: int) -> Vector:
        return as_targets(y, count, Softmax(), self.outputs or None)

    def _as_predictions(self, learnt: Any, count: int) -> Vector:
        return as_scores(learnt, count)

    def _shape(self, labels: Vector) -> tuple[int, ...]:
        return (self.outputs,)

    def _reach(self, proof: Certificate) -> float | None:
        """Return the length of the weights of the member with the largest share."""
        if self.rounds == 0:
            return None
        member = self.representative[1]
        weights, offset = (
            member.affine() if isinstance(member, Standardized) else (member.weights, 0.0)
        )
        if isinstance(self._book, SizedScoreCertifier):
            return self._book.weights_length(weights, offset)
        return float(proof.mirror.predictors().norm(weights.ravel()))

    def _check_members(self) -> None:
        """All members take weights."""

    @classmethod
    def _of_members(cls, header: dict[str, Any], loss: Any, members: list[Any], stack: Any) -> Self:
        shape = header["mirror"]
        mirror = None if shape is None else store.component_from_header(shape, mirrors.Mirror)
        aggregate = cls(members, mirror, header["blocks"])
        waits = header["waits"]
        if not isinstance(waits, bool) or (waits and not isinstance(members[0], Standardized)):
            raise ValueError(f"waits is {waits!r}, expected true, of a standardized one, or false")
        aggregate._share_moments(waits)
        return aggregate

    def _to_file(self) -> tuple[dict[str, Any], dict[str, Vector]]:
        header, arrays = super()._to_file()
        sized = isinstance(self._book, SizedScoreCertifier)
        shape = None if sized else header["mirror"]
        return header | {"mirror": shape, "waits": self._waits}, arrays


def _matrix(learner: Any) -> Any:
    """Return the learner, or the one that is wrapped."""
    return learner.learner if isinstance(learner, Standardized) else learner

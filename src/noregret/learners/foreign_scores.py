"""Certificates for anyone's predictions, part by part: several scores a row."""

from __future__ import annotations

from typing import Any

import numpy as np

from noregret import rates
from noregret.arguments import ArgumentError
from noregret.arrays import Vector
from noregret.floors import ScoreBlocks
from noregret.learners.foreign import Certifier
from noregret.learners.matrix_certificate import MatrixCertificate
from noregret.losses import OneAgainstRest, ScoreLoss
from noregret.mirrors import Mirror
from noregret.passes.frame import Rule
from noregret.passes.matrices.score_certify import GivenMemory, ScoreCertifyRule
from noregret.proof.convexity import require_convex
from noregret.rows.examples import as_scores, as_targets


class ScoreCertifier(Certifier):
    """Certify rows of K scores part by part, against every fixed d x K matrix.

    With slopes g_t of the loss at the given scores s_t, sum f_t(U) >= sum (f_t(s_t) - <g_t, s_t>)
    + <U, sum x_t g_t^T>. Scores that are added later belong to the losses of later rows only.

    >>> from noregret import losses
    >>> certifier = ScoreCertifier(losses.Softmax())
    >>> certifier.add([[1.0, 0.0], [0.0, 1.0]], [0, 1], [[1.0, 0.0], [0.5, 0.5]])
    >>> certifier.add([[1.0, 1.0]], [2], [[0.0, 0.0, 1.0]])
    >>> proof = certifier.certificate()
    >>> proof.rounds, proof.outputs, proof.floor(3) <= proof.loss
    (3, 3, True)
    """

    _loss: ScoreLoss  # type: ignore[assignment]

    def __init__(
        self,
        loss: ScoreLoss,
        mirror: Mirror | None = None,
        blocks: bool | str = False,
        radius: float | None = None,
    ) -> None:
        if radius is not None:
            raise ArgumentError("radius", "is for losses of one score: there are parabolas", radius)
        super().__init__(loss, mirror, blocks)  # type: ignore[arg-type]

    def _require(self, loss: Any) -> None:
        if not isinstance(loss, ScoreLoss) or loss.labels == "relevance":
            raise ArgumentError("loss", "expected a loss of several scores of a row", loss)
        if isinstance(loss, OneAgainstRest):
            require_convex(loss.loss)

    def _nothing(self) -> Vector:
        return np.zeros((0, 0, 1))

    def _asked(self, y: Any, predictions: Any, count: int) -> tuple[Vector, Vector]:
        given = as_scores(predictions, count)
        outputs, known = given.shape[1], len(self._state)
        if count and outputs < known:
            raise ValueError(
                f"predictions have {outputs} scores a row, expected the {known} of before or more"
            )
        return as_targets(y, count, self._loss, outputs), given

    def _widened(self, width: int, given: Vector) -> Vector:
        widened = super()._widened(width, given)
        more = max(given.shape[1] - len(widened), 0)
        return np.pad(widened, [(0, more), (0, 0), (0, 0)])

    def _rule(self, features: int) -> Rule:
        return ScoreCertifyRule(self._loss, self._mirror.resolved(features))

    def _memory(self, state: Vector, given: Vector) -> GivenMemory:
        return GivenMemory(state, given, np.empty(given.shape[1]))

    def _grow(self, state: Vector) -> None:
        if isinstance(self._lines, ScoreBlocks):
            self._lines.grow(len(state))

    def _proof(self) -> MatrixCertificate:
        return MatrixCertificate(
            self._loss, self._mirror.resolved(self._state.shape[1]), rates.Constant(1.0),
            self._ledger.copy(), self._state[..., 0].ravel(), played=False,
            outputs=max(len(self._state), 1),
        )  # fmt: skip

    def certificate(self, thorough: bool = True) -> MatrixCertificate:
        """Return what the scores so far prove; `thorough` as for one score [default: True]."""
        proof: Any = super().certificate(thorough)
        assert isinstance(proof, MatrixCertificate)
        return proof

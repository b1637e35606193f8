"""Certificates for anyone's predictions whose class does not depend on the units of features."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from noregret import mirrors, rates
from noregret.arrays import Vector
from noregret.learners.foreign import Certifier
from noregret.learners.foreign_scores import ScoreCertifier
from noregret.learners.matrix_certificate import MatrixCertificate
from noregret.losses import Loss, ScoreLoss
from noregret.mirrors import Mirror
from noregret.norms import norm_upper
from noregret.passes.certify import SizedCertifyRule
from noregret.passes.frame import Rule
from noregret.passes.matrices.score_certify import SizedScoreCertifyRule
from noregret.proof.certificate import Certificate
from noregret.proof.evidence import FeatureSizes, scaled_length
from noregret.proof.ledger import SMALLEST_SIZE


class SizedCertifier(Certifier):
    """Certify the predictions of any model against every u with ||m u||_2 <= B.

    m_i is the largest |x_i| of all rows of a weight above 0, as for `rates.ScaleFree`. It only
    grows, which makes the class smaller: what was proved before stays right. In other units of the
    features the class, and the floor, are the same.

    >>> from noregret import losses
    >>> certifier = SizedCertifier(losses.Squared())
    >>> certifier.add([[1000.0, 0.0], [0.0, 0.01]], [1.0, 2.0], [1.1, 1.9])
    >>> certifier.add([[1000.0, 0.01]], [3.0], [3.0])
    >>> proof = certifier.certificate()
    >>> proof.describe(0.5)
    'every u with ||m u||_2 <= 0.5, m_i the largest |x_i| seen,'
    >>> proof.rounds, round(proof.floor(0.3), 4)
    (3, 0.0951)
    """

    def __init__(self, loss: Loss, blocks: bool | str = False) -> None:
        super().__init__(loss, mirrors.Euclidean(), blocks)

    @property
    def sizes(self) -> Vector:
        """The m_i, 0 for a feature that never occurred."""
        return _sizes(self._state[:, 1])

    def weights_length(self, weights: Vector, offset: float = 0.0) -> float:
        """Return ||(m_i w_i, offset)||_2, rounded up: the radius of the smallest class with w."""
        known = min(len(weights), len(self._state))
        scaled = self.sizes[:known] * weights[:known]
        return norm_upper(np.append(scaled, offset), 2.0)

    def _nothing(self) -> Vector:
        return np.zeros((0, 2))

    def _rule(self, features: int) -> Rule:
        return SizedCertifyRule(self._loss, self._mirror)

    def _proof(self) -> Certificate:
        gradient = self._state[:, 0].copy()
        return Certificate(
            self._loss, self._mirror, rates.Constant(1.0), self._ledger.copy(), gradient,
            played=False, evidence=_evidence(gradient, self._state[:, 1]),
        )  # fmt: skip

    def arrays(self) -> dict[str, Vector]:
        """Return copies of the ledger, of Z, of the sizes and of the blocks, for a checkpoint."""
        return super().arrays() | {"sizes": self._state[:, 1].copy()}

    def restore(self, arrays: dict[str, Vector]) -> None:
        """Continue from what `arrays` returned."""
        sizes, gradient = arrays["sizes"], arrays["gradient"]
        if sizes.shape != gradient.shape or not sizes.min(initial=0.0) >= 0.0:
            raise ValueError(f"sizes must be {gradient.shape} numbers >= 0, one a feature")
        if np.any(gradient[sizes == 0.0]):
            raise ValueError("a feature of size 0 never occurred, and its gradient is not 0")
        super().restore(arrays)
        self._state = np.stack([gradient, sizes], axis=1)


@dataclass(frozen=True, eq=False)
class RowSizes(FeatureSizes):
    """Features of a matrix measured by sizes that all scores have in common."""

    def describe(self, mirror: Mirror, radius: float) -> str:
        """Return the class of that radius in words: sizes with one index, not one a score."""
        return super().describe(mirror, radius).replace(", m_i the", ", every m_i the")


class SizedScoreCertifier(ScoreCertifier):
    """Certify rows of K scores against every d x K matrix U with ||m U||_F <= B.

    Row i of U counts m_i times, the largest |x_i| of all rows of a weight above 0, whichever
    scores there were by then.

    >>> from noregret import losses
    >>> certifier = SizedScoreCertifier(losses.Softmax())
    >>> certifier.add([[1000.0, 0.0], [0.0, 0.01]], [0, 1], [[1.0, 0.0], [0.5, 0.5]])
    >>> certifier.add([[1000.0, 0.01]], [2], [[0.0, 0.0, 1.0]])
    >>> proof = certifier.certificate()
    >>> certifier.sizes.tolist(), proof.outputs, proof.floor(10.0) <= proof.loss
    ([1000.0, 0.01], 3, True)
    """

    def __init__(self, loss: ScoreLoss, blocks: bool | str = False) -> None:
        super().__init__(loss, mirrors.Euclidean(), blocks)

    @property
    def sizes(self) -> Vector:
        """The m_i, 0 for a feature that never occurred."""
        return _sizes(self._state[:1, :, 1].sum(axis=0))

    def weights_length(self, weights: Vector, offset: Vector | float = 0.0) -> float:
        """Return ||(m W, offset)||_F, rounded up: the radius of the smallest class with W."""
        known = min(len(weights), self._state.shape[1])
        scaled = self.sizes[:known, None] * weights[:known]
        return norm_upper(np.append(scaled, offset), 2.0)

    def _nothing(self) -> Vector:
        return np.zeros((0, 0, 2))

    def _widened(self, width: int, given: Vector) -> Vector:
        widened = super()._widened(width, given)
        # Scores that were added know the sizes, too.
        widened[..., 1] = widened[:1, :, 1]
        return widened

    def _rule(self, features: int) -> Rule:
        return SizedScoreCertifyRule(self._loss, self._mirror)

    def _proof(self) -> MatrixCertificate:
        gradient = self._state[..., 0].ravel()
        return MatrixCertificate(
            self._loss, self._mirror, rates.Constant(1.0), self._ledger.copy(), gradient,
            played=False, outputs=max(len(self._state), 1),
            evidence=_evidence(gradient, self._state[..., 1].ravel(), RowSizes),
        )  # fmt: skip

    def arrays(self) -> dict[str, Vector]:
        """Return copies of the ledger, of Z, of the sizes and of the blocks, for a checkpoint."""
        return super().arrays() | {"sizes": self._state[:1, :, 1].sum(axis=0)}

    def restore(self, arrays: dict[str, Vector]) -> None:
        """Continue from what `arrays` returned."""
        sizes, gradient = arrays["sizes"], arrays["gradient"]
        if sizes.shape != gradient.shape[1:] or not sizes.min(initial=0.0) >= 0.0:
            raise ValueError(f"sizes must be {gradient.shape[1:]} numbers >= 0, one a feature")
        if np.any(gradient[:, sizes == 0.0]):
            raise ValueError("a feature of size 0 never occurred, and its gradient is not 0")
        super().restore(arrays)
        self._state = np.stack([gradient, np.broadcast_to(sizes, gradient.shape)], axis=-1)


def _sizes(largest: Vector) -> Vector:
    """Return max(largest |x_i| seen, SMALLEST_SIZE), 0 for a feature never seen."""
    return np.where(largest > 0.0, np.maximum(largest, SMALLEST_SIZE), 0.0)


def _evidence(
    gradient: Vector, largest: Vector, kind: type[FeatureSizes] = FeatureSizes
) -> FeatureSizes:
    """Return the lengths of Z in units of the features' sizes."""
    sizes = _sizes(largest)
    smallest = float(largest.min(where=sizes > 0.0, initial=1.0))
    length = scaled_length(gradient, sizes)
    return kind(None, None, length, 0.0, smallest, sizes=sizes)

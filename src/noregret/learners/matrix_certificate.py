"""Certificates of runs with several scores: floors and regrets for matrices of weights."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from noregret.arrays import real_array
from noregret.losses import ScoreLoss
from noregret.norms import columns_upper, spectral_upper
from noregret.proof.certificate import ROUND_ERRORS, Certificate
from noregret.proof.ledger import GRADIENT_ERRORS
from noregret.rounding import grown

#: The rounding of a difference of two scores is multiplied by up to 745 in its exponential.
SCORE_ERRORS = 1024.0

_NORMS = ("columns", "trace")
#: The words about a vector u and those about a matrix U.
_MATRIX_WORDS = (
    ("every u with ||u||", "every U with ||U||"),
    ("every u with ||m u||", "every U with ||m U||"),
    ("||_2", "||_F"),
    (", m_i the", ", m_ik the"),
)


@dataclass(frozen=True, eq=False)
class ScoresCertificate(Certificate):
    """A statement about rounds with several scores; the rounding errors grow with their number."""

    loss_function: ScoreLoss  # type: ignore[assignment]
    #: How many scores a round has, at most.
    outputs: int = 1

    @property
    def round_errors(self) -> float:
        """Bound on the rounding error of a round's loss and plane, in units of EPSILON."""
        return ROUND_ERRORS + 4.0 * self.outputs

    @property
    def gradient_errors(self) -> float:
        """Bound on the error of Z beside one rounding a round, in units of EPSILON."""
        return GRADIENT_ERRORS + SCORE_ERRORS + 4.0 * self.outputs


@dataclass(frozen=True, eq=False)
class MatrixCertificate(ScoresCertificate):
    """A statement about rounds with several scores s = x W, true whatever the data were.

    Convexity gives sum f_t(U) >= a + <U, Z> for every d x K matrix U. Scores that were added
    later belong to the losses of later rounds only: f_t is the loss as it was played. The
    gradient holds the columns of Z one after the other.

    >>> import noregret as nr
    >>> learner = nr.MatrixDescent(nr.losses.Softmax(), nr.mirrors.Ball(1), nr.rates.Constant(1))
    >>> _ = learner.learn([[0.6, 0.8], [0.8, 0.6]], [0, 2])
    >>> certificate = learner.certificate()
    >>> certificate.floor(1) <= certificate.floor(1, norm="trace") <= certificate.loss
    True
    """

    predictor: ClassVar[str] = "U"

    def floor(self, radius: float | None = None, norm: float | str | None = None) -> float:
        """Return a number that no fixed matrix of the class can have beaten on these rounds.

        The class is that of the map, for the entries of the matrix: ||U||_F <= radius, or the
        q- or 1-norm; sum (m_ik u_ik)^2 <= radius^2 for `ScaleFree`, m_ik the largest |x_i| that
        score k has seen. `norm` chooses another: a number for that norm of the entries,
        "columns" for matrices with columns of 2-norm at most `radius`, "trace" for matrices
        whose singular values sum to at most `radius`.
        """
        return max(self.floors(radius, norm).values())

    def floors(
        self, radius: float | None = None, norm: float | str | None = None
    ) -> dict[str, float]:
        """Return every floor by its origin: planes at the predictions, or at blocks of rows."""
        return super().floors(radius, norm)  # type: ignore[arg-type]

    def _floor(self, radius: float | None, norm: float | str | None) -> float:
        if not isinstance(norm, str):
            return super()._floor(radius, norm)
        if norm not in _NORMS:
            raise ValueError(f"norm must be 'columns', 'trace' or a number >= 1, got {norm!r}")
        if self.rounds == 0:
            return 0.0
        radius = self._radius(radius)
        z = self.gradient.reshape(self.outputs, -1)
        length = columns_upper(z) if norm == "columns" else spectral_upper(z)
        return self._lowered(grown(radius * (length + self.delta), 4.0))

    def regret(self, u: Any) -> float:
        """Return an upper bound on the learner's loss minus the loss of the fixed matrix U."""
        matrix = np.asarray(real_array("U", u), np.float64)
        features = len(self.gradient) // self.outputs
        if matrix.ndim != 2 or matrix.shape[0] < features or matrix.shape[1] != self.outputs:
            raise ValueError(
                f"U has shape {matrix.shape}, expected ({features}, {self.outputs}): a row a "
                "feature, a column a score"
            )
        return super().regret(matrix[:features].T.ravel())

    def describe(self, radius: float | None = None) -> str:
        """Return in words the class that `floor(radius)` speaks about."""
        words = super().describe(radius)
        for one, many in _MATRIX_WORDS:
            words = words.replace(one, many)
        return words

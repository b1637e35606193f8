"""Which loss of several scores, map and rate go together, and what they mean as one learner."""

from __future__ import annotations

from dataclasses import dataclass

from noregret.combinations import MATRIX, Parts, require_together
from noregret.losses import Loss, OneAgainstRest, ScoreLoss
from noregret.proof.convexity import require_convex
from noregret.rates import Rate


@dataclass(frozen=True)
class MatrixCombination(Parts):
    """The parts of a learner of several scores, checked against one another."""

    loss: ScoreLoss

    def __post_init__(self) -> None:
        if not isinstance(self.loss, ScoreLoss):
            raise ValueError(f"MatrixDescent(loss=...) must be one of ScoreLoss, got {self.loss!r}")
        require_together(self, MATRIX, "learner")
        inner: Loss | ScoreLoss = self.loss
        if isinstance(self.loss, OneAgainstRest):
            inner = self.loss.loss
            require_convex(self.loss.loss)
        if not self.implicit:
            return
        if not self.loss.has_conjugate():
            raise ValueError(
                f"{type(inner).__name__} has no exact steps: use Softmax, MulticlassHinge, or "
                "OneAgainstRest of a loss with a conjugate"
            )

    def growable(self) -> bool:
        """Return whether a feature never seen has weight 0 and adds nothing to S."""
        return self.mirror.grows()

    def resolved(self, size: int) -> Rate:
        """Return the rate for a matrix of `size` weights, its scale filled in."""
        return self.rate.resolved(lambda: self.mirror.natural_scale(size))

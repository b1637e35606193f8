"""Which loss of several scores, map and rate go together, and what they mean as one learner."""

from __future__ import annotations

from dataclasses import dataclass

from noregret import mirrors, rates
from noregret.losses import Loss, OneAgainstRest, ScoreLoss
from noregret.mirrors import Mirror
from noregret.proof.convexity import require_convex
from noregret.rates import Rate

_MAPS = (mirrors.Euclidean, mirrors.Ball, mirrors.PNorm, mirrors.SignedEntropy)
_RATES = (rates.Constant, rates.InverseSqrt, rates.Adaptive, rates.ScaleFree)


@dataclass(frozen=True)
class MatrixCombination:
    """The parts of a learner of several scores, checked against one another."""

    loss: ScoreLoss
    mirror: Mirror
    rate: Rate
    conservative: bool
    implicit: bool

    def __post_init__(self) -> None:
        for name, part, known in (
            ("loss", self.loss, (ScoreLoss,)),
            ("mirror", self.mirror, _MAPS),
            ("rate", self.rate, _RATES),
        ):
            exact = name == "mirror" and type(part) not in known
            if exact or not isinstance(part, known):
                names = ", ".join(kind.__name__ for kind in known)
                raise ValueError(f"MatrixDescent({name}=...) must be one of {names}, got {part!r}")
        plain = self.mirror.euclidean()
        if isinstance(self.rate, rates.ScaleFree) and (self.conservative or not plain):
            raise ValueError("ScaleFree belongs to Euclidean() with conservative=False")
        if self.conservative and not self.loss.nonnegative:
            raise ValueError("conservative=True needs a loss that is never negative")
        inner: Loss | ScoreLoss = self.loss
        if isinstance(self.loss, OneAgainstRest):
            inner = self.loss.loss
            require_convex(self.loss.loss)
        if not self.implicit:
            return
        if not plain or not isinstance(self.rate, rates.Constant) or self.conservative:
            raise ValueError(
                "implicit=True belongs to Euclidean(), Constant(eta), not conservative"
            )
        if not (hasattr(inner, "conjugate") and hasattr(self.loss, "proximal_slopes")):
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

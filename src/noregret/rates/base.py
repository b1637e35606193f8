"""The base of learning rates: what a pass, a theorem or a table asks of one."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, ClassVar, Self

from noregret.component import Component

#: The rate before the first gradient: theta is 0, so that their product is 0.
UNBOUNDED = 1e300


#: Methods that describe the formula of `at`: a subclass that overrides `at` must restate them.
_ABOUT_AT = ("root_eta", "gradient_scale")


class Rate(Component):
    """A non-increasing learning rate eta_t; base of all."""

    #: The family of passes that plays it; "scalar": lazy and agile passes, one eta for all weights.
    family: ClassVar[str] = "scalar"
    #: The method that it needs of a loss of several scores, '' if it has no matrix for these.
    curvature_of_scores: ClassVar[str] = ""

    def __init_subclass__(cls, **kwargs: Any) -> None:
        """Reset the inherited description of `at` if the subclass overrides `at`."""
        super().__init_subclass__(**kwargs)
        for name in _ABOUT_AT:
            if "at" in vars(cls) and name not in vars(cls):
                setattr(cls, name, getattr(Rate, name))

    def at(self, rounds: float, squares: float, largest: float) -> float:
        """Return eta for the coming round.

        `rounds`: completed rounds; `squares`: sum of ||z_s||_*^2 over them; `largest`: the
        largest ||z||_*^2 that was seen or that the coming row allows.
        """
        raise NotImplementedError

    def constant(self) -> bool:
        """Tell whether eta never changes."""
        return False

    def restarts(self) -> bool:
        """Tell whether the learner starts afresh at rounds 1, 2, 4, 8, ..."""
        return False

    def strong_convexity(self) -> float:
        """Return the sigma of a (sigma/2)||w||^2 that every round's loss carries, else 0."""
        return 0.0

    def needs_scale(self) -> bool:
        """Tell whether the scale is still to be taken from the map."""
        return False

    def resolved(self, scale: Callable[[], float]) -> Self:
        """Return the rate with the scale of the map filled in, if it needs one."""
        return self

    def by_coordinate(self) -> bool:
        """Tell whether every weight has a rate of its own, w_i = factor_i theta_i."""
        return self.coordinate_scale() > 0.0

    def coordinate_scale(self) -> float:
        """Return the scale of rates scale / sqrt(G_i + m_i^2) by coordinate, else NaN."""
        return math.nan

    def scaled(self) -> bool:
        """Tell whether features are measured in units of their largest size."""
        return False

    def keeps_average(self) -> bool:
        """Tell whether weights move only where they are read, so that sums of them are kept."""
        return not self.scaled()

    def corrects(self, labels: str) -> bool:
        """Tell whether predictions of such labels, "sign" or "real", are more than <w, x>.

        An offset, a range that they are kept in, a correction that depends on the row.
        """
        return False

    def columnwise(self) -> bool:
        """Tell whether a matrix steps each column as a learner of its own would, to the bit."""
        return self.constant()

    def refused_loss(self, loss: Any) -> str:
        """Return the property that the rate needs and the loss lacks, in words, or ''."""
        return ""

    def root_eta(self) -> float:
        """Return eta if the rate is eta / sqrt(t), else NaN."""
        return math.nan

    def gradient_scale(self) -> float:
        """Return the scale if the rate is scale / sqrt(sum ||z_s||_*^2 + largest), else NaN."""
        return math.nan

    def coordinate_regret(self, radius: float, steepest: float, roots: float) -> float:
        """Return the bound for rates by coordinate, NaN if there is none.

        radius: the largest 2-norm of a comparator; steepest: the largest 1 / factor_i.
        roots: the sum of sqrt(sum_t z_(t,i)^2) over the weights.
        """
        return math.nan

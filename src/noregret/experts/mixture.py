"""The learner of those who choose nothing: members of several kinds, mixed in one pass."""

from __future__ import annotations

from typing import Any, Self

from noregret import mirrors
from noregret.arguments import ArgumentError
from noregret.arrays import Vector
from noregret.experts.membership import LOSSES, PROBABILITIES
from noregret.experts.roster import (
    NARROW,
    narrow_members,
    stack_of,
    stands_for,
    wide_members,
)
from noregret.experts.shared_moments import SharedMoments
from noregret.files import store
from noregret.learners.foreign import Certifier
from noregret.learners.foreign_sizes import SizedCertifier
from noregret.learners.standardized import Standardized
from noregret.losses import Logistic, Loss
from noregret.proof.certificate import Certificate
from noregret.proof.convexity import require_convex
from noregret.rows.examples import as_rows
from noregret.rows.sealed import opened


class Mixture(SharedMoments):
    """Learners of several kinds in one pass, mixed: nothing to tune, whatever the rows are.

    Rows of up to 512 features have members that see them standardised: `ScaleFree`, and others
    that follow changes, of the logistic loss implicit steps of constant size by all features and by
    the level of the labels alone, of other losses `ScaleFree` with twenty constants and beside it
    the level alone for the squared loss, `PerCoordinate` where slopes are bounded. Up to 128
    features there are members that know pairs of features: of curved losses `BlockLeader`, nearly
    the batch optimum; of the squared loss `Ridge` without and with forgetting, and one whose
    centres and spreads stay those of the first rows. Wider rows have `ScaleFree`, implicit steps
    (dual ascent by one exact step a row) and, where slopes are bounded, `CoinBetting`. A last
    member learns from the predictions of the others. The logistic loss mixes probabilities and
    loses at most W (ln K + ln T) more than the best of K members in T rounds, W the largest weight
    of an example; other losses are mixed by AdaHedge.

    Each round: every member predicts and learns, the mixture predicts by their shares, see
    `Aggregate`. It is not linear; `representative` is the member that stands for it.

    >>> import numpy as np, noregret as nr
    >>> rows = np.random.default_rng(0).normal(size=(300, 2)) * [1e-3, 1e3] + [5.0, 1e4]
    >>> y = np.sign(rows @ [1e3, 1e-3] - 5010.0)
    >>> learner = Mixture(nr.losses.Logistic())
    >>> predictions = learner.learn(rows, y)
    >>> bool(np.mean(np.sign(predictions[150:]) == y[150:]) > 0.9), len(learner.members)
    (True, 7)
    """

    def __init__(
        self,
        loss: Loss,
        mirror: mirrors.Mirror | None = None,
        blocks: bool | str = False,
        wide: bool | None = None,
    ) -> None:
        """Make a mixture of fresh members.

        Args:
            loss: of one score, -1 and +1 or real labels.
            mirror: the map whose class the certificate's floors are about
                [default: ||m u||_2 <= radius, m_i the largest |x_i|].
            blocks: raise the floors by lines under blocks of rows, as in `nr.certify`
                [default: False].
            wide: whether rows have more than 512 features [default: the number of columns of the
                first rows tells].
        """
        if not isinstance(loss, Loss):
            raise ArgumentError("loss", "expected a loss of one score", loss)
        require_convex(loss)
        self._given = loss, mirror, blocks
        #: Whether the members are those for many features; None before the first row.
        self.wide = None if wide is None else bool(wide)
        self._gather()

    def _gather(self) -> None:
        """Make fresh members for the rows."""
        loss = self._given[0]
        self._take(wide_members(loss) if self.wide else narrow_members(loss), stack_of(loss))

    def _take(self, members: list[Any], stack: Any) -> None:
        """Begin with these members."""
        loss, mirror, blocks = self._given
        mixing = PROBABILITIES if type(loss) is Logistic else LOSSES
        super().__init__(members, loss, mirror, blocks, mixing, stack)
        self._share_moments(not self.wide)

    def _new_book(self, mirror: mirrors.Mirror | None, blocks: bool | str) -> Certifier:
        if mirror is None:
            return SizedCertifier(self.loss, blocks)
        return super()._new_book(mirror, blocks)

    def _made(self) -> str:
        width = {True: ", wide=True", False: ", wide=False", None: ""}[self.wide]
        return f"{self.loss}{width}"

    def _learn(self, X: Any, y: Any, weight: Any) -> Vector:
        if self.wide is not None:
            return super()._learn(X, y, weight)
        rows = as_rows(opened(X))
        if len(rows):
            self.wide = rows.width > NARROW
            if self.wide:
                self._gather()
        try:
            return super()._learn(rows.plain(), y, weight)
        finally:
            if not self.rounds:
                # Nothing was learnt: other rows may come first.
                self.wide = None
                self._gather()

    def _reach(self, proof: Certificate) -> float | None:
        """Return the length of the weights of the member that stands for all."""
        if not self.rounds:
            return None
        member = self.representative[1]
        if isinstance(member, Standardized):
            weights, offset = member.affine()
        else:
            weights, offset = member.weights, getattr(member, "offset", 0.0)
        if isinstance(self._book, SizedCertifier):
            return self._book.weights_length(weights, float(offset))
        return float(proof.mirror.predictors().norm(weights))

    @property
    def representative(self) -> tuple[int, Any]:
        """The linear member with the largest share: its place, and the member."""
        place = stands_for(self.members[: len(self.learners)], self.shares)
        return place, self.members[place]

    def _to_file(self) -> tuple[dict[str, Any], dict[str, Vector]]:
        header, arrays = super()._to_file()
        shape = None if self._given[1] is None else header["mirror"]
        return header | {"wide": self.wide, "mirror": shape}, arrays

    @classmethod
    def _of_members(
        cls, header: dict[str, Any], loss: Loss, members: list[Any], stack: Any
    ) -> Self:
        wide, shape = header["wide"], header["mirror"]
        if not (wide is None or isinstance(wide, bool)):
            raise ValueError(f"wide is {wide!r}, expected true, false or null")
        mirror = None if shape is None else store.component_from_header(shape, mirrors.Mirror)
        mixture = cls(loss, mirror, header["blocks"], wide)
        # Members of an earlier version may have other settings, and there may be others.
        for place, member in enumerate(members, 1):
            moved = not wide and place < len(members)
            if isinstance(member, Standardized) != moved:
                expected = "standardized" if moved else "plain"
                raise ValueError(f"member {place} is {type(member).__name__}, expected {expected}")
        if stack is None or not members:
            raise ValueError("a mixture needs members and a stack")
        mixture._take(members, stack)
        return mixture

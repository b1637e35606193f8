"""The certificate of an aggregate of learners: its floors, and its regret against its members."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any, Self

from noregret.experts.expert_certificate import ExpertCertificate
from noregret.learners.matrix_certificate import MatrixCertificate
from noregret.proof.certificate import Certificate
from noregret.proof.statement import Statement, at_least, at_most


@dataclass(frozen=True, eq=False)
class AggregateCertificate(Certificate):
    """The certificate of an aggregate's own predictions, and its regret against its members.

    The floors are those of `nr.certify`: supporting lines at the mixed predictions. `members`
    compares the loss with that of every member, the theorem of the mixture beside it; members are
    counted from 1 in print, in the order in which they were given, a stack last.
    """

    members: ExpertCertificate = field(kw_only=True)

    @classmethod
    def joined(cls, proof: Certificate, mixer: ExpertCertificate, reach: float | None) -> Self:
        """Return the certificate of the mixed predictions with that of what mixed them.

        reach: the norm of the weights that stand for the aggregate, None where there are none.
        """
        members = replace(mixer, competitor="member", first=1)
        if proof.broken is not None:
            # Measured differences stay true, theorems about convex losses do not.
            members = replace(members, bounds=[], broken=members.broken or proof.broken)
        own = {"reach": reach, "blocks": tuple(replace(b, reach=reach) for b in proof.blocks)}
        return cls(**vars(proof) | own, members=members)

    @property
    def bounds(self) -> list[Statement]:
        """The theorems on the regret against the best member; none speaks about a radius."""
        return list(self.members.bounds) if self.broken is None else []

    def as_dict(self, radius: float | None = None) -> dict[str, Any]:
        """Return the certificate as plain numbers, ready for JSON."""
        members = self.members.as_dict() | {"best_member": self.members.best_expert + 1}
        return super().as_dict(radius) | {"members": members}

    def _lines(self, radius: float | None = None) -> list[str]:
        members = self.members
        which = f", member {members.best_expert + 1} of {len(members.totals)}"
        return [
            *super()._lines(radius),
            at_least("best of its members", members.best_loss, self.rounds, which),
            at_most("regret against it", members.regret(), self.rounds, f", {members.accuracy}"),
            *(f"  {bound}" for bound in members.bounds),
        ]


@dataclass(frozen=True, eq=False)
class ScoreAggregateCertificate(AggregateCertificate, MatrixCertificate):
    """The same for rows of several scores: the floors are about fixed matrices of weights."""

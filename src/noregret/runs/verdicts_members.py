"""A verdict on a statement, and those on what an aggregate states about its members."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from noregret.experts import AggregateCertificate
from noregret.learners.standardized import Standardized
from noregret.rounding import down, up


@dataclass(frozen=True)
class Verdict:
    """A statement in words, whether it holds (None: it was not checked), and the numbers."""

    statement: str
    holds: bool | None
    detail: str
    #: False for a theorem whose preconditions do not hold: the certificate does not state it.
    applies: bool = True
    #: The number that is stated, and the one found for it, where there is one.
    stated: float | None = None
    found: float | None = None

    def __post_init__(self) -> None:
        # Comparisons of numpy are no bool: `holds is False` would not see them.
        if self.holds is not None:
            object.__setattr__(self, "holds", bool(self.holds))

    @property
    def unchecked(self) -> bool:
        """Whether something is stated that could not be checked."""
        return self.applies and self.holds is None


def _summed(member: Any) -> Any:
    """Return what has summed the losses of a member: it, or the learner wrapped by it."""
    return member.learner if isinstance(member, Standardized) else member


def member_verdicts(certificate: Any, learner: Any) -> Iterator[Verdict]:
    """Yield a verdict on every statement about members; none for a learner that has none.

    `learner` is the one that was learnt again: each of its members has summed its own losses.
    """
    if not isinstance(certificate, AggregateCertificate) or certificate.broken is not None:
        return
    stated, count = certificate.members, len(certificate.members.totals)
    best = stated.best_expert
    texts = [
        f"the best of its members is member {best + 1} of {count} and lost "
        f"{down(stated.best_loss)}",
        f"the regret against it is at most {up(stated.regret())}",
    ]
    theorems = [bound for bound in stated.bounds if bound.applies]
    if any(member.loss != learner.loss for member in learner.members):
        reason = "not checked: members learn by another loss than they are compared by"
        for text in [*texts, *(" ".join(str(bound).split()) for bound in theorems)]:
            yield Verdict(text, None, reason)
        return
    proofs = [_summed(member).certificate() for member in learner.members]
    found = np.array([proof.plain_loss for proof in proofs])
    room = np.array([proof.slack for proof in proofs]) + stated.slack
    room += 1e-12 * (np.abs(found) + np.abs(stated.totals))
    off = np.abs(found - stated.totals)
    least = int(np.argmin(found))
    yield Verdict(
        texts[0],
        # If all totals are right, so is their least, up to the rounding of two sums.
        bool((off <= room).all()),
        f"replayed: member {least + 1} lost {found[least]:.10g}; the losses of all {count} differ "
        f"from those stated by at most {up(float(off.max()))}",
        stated=stated.best_loss,
        found=float(found[least]),
    )
    regret = certificate.plain_loss - float(found[least])
    # A regret that is equal to the bound but for the rounding of two sums is not above it.
    spare = float(room[least])
    most, detail = stated.regret(), f"measured: {up(regret, 10)}"
    yield Verdict(texts[1], regret <= most + spare, detail, stated=most, found=regret)
    for bound in stated.bounds:
        text = " ".join(str(bound).split())
        if not bound.applies:
            yield Verdict(text, None, bound.reference, applies=False)
            continue
        left = bound.value + spare - regret
        detail = f"{bound.reference}; {down(left)} to spare against member {least + 1}"
        yield Verdict(text, left >= 0.0, detail, stated=bound.value, found=regret)

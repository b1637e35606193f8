"""What a run of dual ascent proves: its dual value, floors, and the theorems about it."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, field, fields, replace
from functools import cached_property
from typing import Any

import numpy as np

from noregret.arrays import Vector
from noregret.losses import Hinge
from noregret.passes.dual.dual_online import (
    ERROR,
    FELL,
    MARGINS,
    PROGRESS,
    PROGRESS_LOW,
    TRAVELLED,
    VISITS,
)
from noregret.proof import closed_forms
from noregret.proof.certificate import ROUND_ERRORS, Certificate
from noregret.proof.ledger import Entry
from noregret.proof.statement import (
    NOTHING,
    RANGE,
    ROUNDING,
    Measured,
    Statement,
    finite,
    row,
    suspect_of,
)
from noregret.proof.wording import assumption_of, named
from noregret.rounding import (
    CLOSED_FORM,
    SMALLEST,
    UNDERFLOW,
    certified_ceiling,
    down,
    exact,
    grown,
    rounding_error,
)

_SOURCE = "Shalev-Shwartz, Singer 2006"


@dataclass(frozen=True, eq=False)
class DualCertificate(Certificate):
    """A statement about the rounds of a dual-ascent learner, true whatever the data were.

    The slopes s_t are the learner's dual variables, so that the intercept is sum c (s o - f*(s))
    and a line need not touch its loss at the prediction. `regularized_floor()` is D/C, a lower
    bound on sum f_t(u) + F(u)/C for every u.

    >>> import noregret as nr
    >>> from noregret.learners import DualAscent
    >>> learner = DualAscent(nr.losses.Hinge(), nr.mirrors.Euclidean(), C=0.5)
    >>> _ = learner.learn([[0.6, 0.8], [0.8, 0.6]], [1, -1])
    >>> certificate = learner.certificate()
    >>> round(certificate.dual, 6), round(certificate.floor(1), 6)
    (0.99, 1.717157)
    """

    accounts: Vector = field(default_factory=lambda: np.zeros(0))
    update: str = "exact"
    #: R^2 of the aggressive step.
    square: float = 1.0
    #: The part of an exact step that was taken.
    fraction: float = 1.0

    def of_lines(self, **changes: Any) -> Certificate:
        """Return the certificate of other lines below the losses of the same rounds.

        Roundings of dual variables that changed again belong to the learner's own lines.
        """
        kept = {one.name: getattr(self, one.name) for one in fields(Certificate)}
        return Certificate(**kept | {"blocks": ()} | changes)

    @property
    def C(self) -> float:
        """The factor of the losses in P(u) = F(u) + C sum f_t(u)."""
        return float(self.ledger[Entry.LAST_ETA])

    @cached_property
    def slack(self) -> float:
        """Upper bound on the rounding error of the loss and of the intercept."""
        # Terms are also taken out again. Each leaves its rounding in the sum of the sizes, and a
        # second-order rounding in the compensated sum, in proportion to all terms ever added.
        sums = 4.0 * self._visits
        size = abs(float(self.ledger[Entry.MAGNITUDE])) + float(self.accounts[TRAVELLED])
        second = rounding_error(sums, 1.0) * rounding_error(ROUND_ERRORS + sums, 1.0)
        return grown(super().slack, sums) + second * size

    @cached_property
    def delta(self) -> float:
        """Upper bound on the rounding error of Z in the 1-norm, and so in every p-norm."""
        # A term of the accounts errs by at most EPSILON/2; a whole EPSILON is counted.
        error = grown(float(self.accounts[ERROR]), 4.0 * self._visits) / self.C
        own = 4.0 * float(np.abs(self.gradient).sum())
        return rounding_error(1.0, error + own) + self._visits * len(self.gradient) * UNDERFLOW

    @property
    def assumption(self) -> str | None:
        """The promises of a loss of your own that are trusted, None for built-in losses."""
        return assumption_of(self.loss_function, conjugate=True)

    @property
    def _visits(self) -> float:
        return float(self.accounts[VISITS]) + self.rounds

    @property
    def dual(self) -> float:
        """D, rounded down: a lower bound on P(u) = F(u) + C sum f_t(u) for every u."""
        floor = self.C * self._regularized_floor(None)
        return floor - rounding_error(1.0, abs(floor)) - SMALLEST if floor != 0.0 else 0.0

    @property
    def progress(self) -> float:
        """Theorem 1's lambda: the mean gain of D on a mistake, rounded down; 0 without mistakes."""
        if self.mistakes == 0:
            return 0.0
        return self.gain_at_most(float(self.accounts[PROGRESS] + self.accounts[PROGRESS_LOW]))

    def gain_at_most(self, risen: float) -> float:
        """Return min(risen, D) / mistakes, rounded down."""
        gain = min(risen, self.dual) / self.mistakes
        return gain - rounding_error(4.0, abs(gain)) - SMALLEST

    @property
    def offsets(self) -> bool:
        """Whether offsets were given: the losses of every u are then those of <u, x> + offset."""
        return bool(self.ledger[Entry.OFFSETS])

    @property
    def objective(self) -> str:
        """What a round adds to `loss`, `floor`, `regret` and `bounds`, in words."""
        words = super().objective
        return f"{words} with the trial's own margin" if self.margins else words

    @property
    def margins(self) -> bool:
        """Whether trials had margins of their own: the loss of every u is then by these."""
        return bool(self.accounts[MARGINS])

    @property
    def fell(self) -> int:
        """The first round that lowered D, 0 if none did; only a C too large for the rows can."""
        return int(self.accounts[FELL])

    def bounds_for(self, radius: float | None = None) -> list[Statement]:
        """Return each theorem's bound for comparators of that radius beside what is proved."""
        radius = self._radius(radius)
        own = replace(self, blocks=())
        return list(_bounds(own, radius)) if self.rounds and self.broken is None else []

    def as_dict(self, radius: float | None = None) -> dict[str, Any]:
        """Return the certificate as plain numbers, ready for JSON."""
        own = {
            "update": self.update,
            "C": self.C,
            "dual": finite(self.dual),
            "regularized_floor": finite(self.regularized_floor()),
            "lambda": finite(self.progress),
            "fell": self.fell,
            "offsets": self.offsets,
            "margins": self.margins,
            "fraction": self.fraction,
        }
        return super().as_dict(radius) | own

    def _lines(self, radius: float | None = None) -> list[str]:
        lines = super()._lines(radius)
        if self.broken is not None:
            return lines
        dual, floor = down(self.dual), down(self.regularized_floor())
        step = "" if self.fraction == 1.0 else f", {exact(self.fraction)} of each step"
        lines += [
            row("dual value", dual, f"update {self.update}, C = {exact(self.C)}{step}"),
            f"    every u: sum of {self.objective} + F(u)/C is at least {floor},",
            f"    F the regulariser of {named(self.mirror)}",
        ]
        for holds, line in (
            (self.offsets, "    every u predicts <u, x> + the offset that came with the example"),
            (self.margins, "    every u is charged [m - y <u, x>]+, m the trial's own margin"),
            (self.fell, f"    fell in round {self.fell} first: C is too large for such steps"),
            (self.mistakes, row("gain a mistake (lambda)", down(self.progress))),
        ):
            if holds:
                lines.append(line)
        return lines


class _Facts:
    """The quantities that the theorems use."""

    def __init__(self, certificate: DualCertificate, radius: float) -> None:
        ledger = certificate.ledger
        self.proof = certificate
        self.complexity = certificate.mirror.complexity(radius, 1.0, len(certificate.gradient))
        unlike = f"radius {exact(radius)} is not that of the map"
        self.outside = unlike if math.isinf(self.complexity) else ""
        loss = certificate.loss_function
        # A subclass may mean something else by its margin.
        self.margin = loss.margin if type(loss) is Hinge else math.nan
        self.smoothness = certificate.mirror.smoothness()
        even = ledger[Entry.LEAST_WEIGHT] == 1.0 == ledger[Entry.MOST_WEIGHT]
        self.weighted = "" if even else "the examples do not all weigh 1"
        #: Why a mistake need not cost the margin of the loss.
        self.uneven = "the margins depend on the trial" if certificate.margins else ""

    def square(self, largest: Entry) -> float:
        """Return a bound on <x, H x> over the rows whose largest dual norm is that entry."""
        row = float(self.proof.ledger[largest])
        return self.smoothness * row * row

    def untouched(self) -> str:
        """Return the reason why the theorems about aggressive steps do not apply, or ''."""
        if math.isnan(self.margin):
            return "the theorem is about the Hinge loss"
        if not self.smoothness >= 0.0:
            return "the map has no bound on its Hessian"
        limit = self.proof.square if self.proof.update == "aggressive" else math.inf
        if self.square(Entry.LARGEST_ROW) > limit * CLOSED_FORM:
            return f"<x, H x> <= {exact(limit)} does not hold for the rows seen"
        return self.outside or self.weighted

    def step_square(self) -> float:
        """Return the R^2 with which each step has at least the gain of the theorems."""
        aggressive = self.proof.update == "aggressive"
        return self.proof.square if aggressive else self.square(Entry.LARGEST_ROW)

    def mistakes(self, name: str, reference: str, gain: float, reason: str) -> Statement:
        """Return Theorem 1, M <= (F(u) + C L(u)) / gain, for a gain of D on each mistake."""
        gain, reason = self.gained(gain, reason)
        if not reason and not gain > 0.0:
            reason = "mistakes did not raise the dual" if self.proof.mistakes else "no mistakes"
        factor = math.inf if reason else self.proof.C / gain * CLOSED_FORM
        if factor == math.inf:
            reason = reason or "mistakes raised the dual by too little"
            return NOTHING.state(name, reference, math.inf, reason, measure="mistakes")
        return Statement(
            name, reference, self.complexity / gain * CLOSED_FORM + UNDERFLOW, factor, "mistakes"
        )

    def gained(self, gain: float, reason: str) -> tuple[float, str]:
        """Return a theorem's gain a mistake, and why it does not apply, or ''.

        M gain <= D if the theorem holds; rounding may have cost D some of it.
        """
        if reason or self.proof.mistakes == 0:
            return (0.0 if reason else gain), reason
        risen, dual = gain * self.proof.mistakes, self.proof.dual
        # Where C is subnormal, each product with it loses digits.
        lost = UNDERFLOW * (1.0 + self.proof.rounds)
        room = self.proof.C * self.room() + ROUNDING * risen + lost
        _, reason = Measured(risen, room, RANGE).judge(dual)
        return min(gain, self.proof.gain_at_most(math.inf)), reason

    def room(self) -> float:
        """Return a bound on the rounding error of loss - D/C."""
        lengths = 2.0 * float(self.proof.reach or 0.0) * self.proof.delta
        size = abs(self.proof.loss) + abs(self.proof.intercept)
        room = 4.0 * self.proof.slack + lengths + ROUNDING * size
        if self.proof.mirror.multiplicative():
            # The logarithm of a sum of d exponentials is rounded, and divided by C.
            scale = max(self.proof.mirror.own_radius() or 1.0, 1.0)
            roundings = 64.0 * (len(self.proof.gradient) + 16.0)
            room += rounding_error(roundings, scale) / self.proof.C
        return room

    def proved(self) -> float:
        """Return what D proves about the regret: loss - D/C + F(u)/C."""
        floor = self.proof.regularized_floor()
        gap = self.proof.loss - floor + self.proof.slack
        gap += rounding_error(8.0, abs(self.proof.loss) + abs(floor))
        gap += self.complexity / self.proof.C * CLOSED_FORM
        return certified_ceiling(gap)

    def regret(self, name: str, reference: str, value: float, reason: str) -> Statement:
        """Return a bound with factor 1, if the run does not contradict it.

        The theorems bound loss - D/C + F(u)/C, which is not below the regret.
        """
        room = self.room() + ROUNDING * self.complexity / self.proof.C
        measured = Measured(self.proved(), room, RANGE)
        return measured.state(name, reference, value * CLOSED_FORM, reason)


def _bounds(certificate: DualCertificate, radius: float) -> Iterator[Statement]:
    facts = _Facts(certificate, radius)
    C, rounds = certificate.C, certificate.rounds
    yield facts.regret(
        "dual ascent, after the fact", f"{_SOURCE}, weak duality", facts.proved(), facts.outside
    )
    if certificate.loss_function.labels == "sign":
        yield facts.mistakes(
            "dual ascent, gain as measured",
            f"{_SOURCE}, Theorem 1",
            certificate.progress,
            facts.outside,
        )
    if certificate.update == "conservative":
        yield from _conservative(facts)
        return
    reason = facts.untouched()
    square = facts.step_square() if not reason else 1.0
    yield _steps(facts, square, reason)
    best = math.sqrt(2.0 * facts.complexity / (rounds * square)) if square > 0.0 else math.inf
    partly = "" if certificate.fraction == 1.0 else "only a part of each step was taken"
    # For rows of zeros the best C is infinite, and no C is tuned.
    tuned = math.isfinite(best) and abs(C - best) <= 1e-9 * best
    untuned = "" if tuned else f"C is not sqrt(2 F / (m R^2)) = {exact(best)}"
    yield facts.regret(
        "dual ascent, the best C",
        f"{_SOURCE}, Corollary 2",
        math.sqrt(2.0 * facts.complexity * rounds * square) if not reason else math.inf,
        reason or partly or untuned,
    )
    if certificate.loss_function.labels == "sign":
        # If C R^2 underflows to 0, a step gains C times the loss.
        shrunk = not reason and C * square > 0.0
        gain = C * (closed_forms.mitigated(facts.margin, C, square) if shrunk else facts.margin)
        gain *= certificate.fraction
        reason = reason or facts.uneven
        yield facts.mistakes("dual ascent, aggressive mistakes", f"{_SOURCE}, eq. 31", gain, reason)


def _steps(facts: _Facts, square: float, reason: str) -> Statement:
    """Return Theorem 3, or its weaker form if only a part f of each step was taken.

    A whole step on the new example raises D by C mu(l_t) at least, the part by f C mu(l_t), as D is
    concave along it. So f C sum mu(l_t) <= D <= F(u) + C L(u), and mu(l) >= l - C R^2/2 gives
    sum l_t <= (L(u) + F(u)/C) / f + m C R^2/2.
    """
    certificate = facts.proof
    C, f, name = certificate.C, certificate.fraction, "dual ascent, aggressive steps"
    value = facts.complexity / (f * C) + 0.5 * certificate.rounds * C * square
    if f == 1.0:
        return facts.regret(name, f"{_SOURCE}, Theorem 3", value, reason)
    name, reference = "dual ascent, a part of each step", f"{_SOURCE}, Theorem 3; Zhang 2002"
    # D <= F(u) + C L(u) is certain, and so is the bound if D has risen as much as it says:
    # loss - D / (f C) <= m C R^2/2.
    risen, steps = certificate.regularized_floor() / f, 0.5 * certificate.rounds * C * square
    slack = ROUNDING * (abs(certificate.loss) + abs(risen))
    suspect = suspect_of(
        (certificate.loss_function, "conjugate()"), (certificate.mirror, "smoothness()")
    )
    measured = Measured(certificate.loss + certificate.slack - risen, slack, suspect)
    steps, reason = measured.judge(steps, reason)
    value = (facts.complexity / (f * C) + steps) * CLOSED_FORM
    return NOTHING.state(name, reference, value, reason, CLOSED_FORM / f)


def _conservative(facts: _Facts) -> Iterator[Statement]:
    reason = facts.outside or facts.weighted or facts.uneven
    if not facts.smoothness >= 0.0:
        reason = "the map has no bound on its Hessian"
    square = facts.square(Entry.LARGEST_COUNTED_ROW)
    gain = closed_forms.progress(facts.margin, facts.proof.C, square) if not reason else 0.0
    if not reason and gain <= 0.0:
        reason = "C is too large for the rows seen: the theorem is empty"
    yield facts.mistakes("dual ascent, gain guaranteed", f"{_SOURCE}, Corollary 1", gain, reason)

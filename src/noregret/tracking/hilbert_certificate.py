"""The certificate of gradient descent in the space of a kernel, about every u of a ball.

Floor: sum f_t(u) >= sum (f_t(p_t) - g_t p_t) - B ||Z|| for ||u|| <= B, Z = sum g_t K(x_t, .).

Theorems, for a fixed u with ||u|| <= B <= radius: descent and drops give

    sum g_t (p_t - u(x_t)) <= B^2/(2 eta) + (eta/2) sum g_t^2 K(x_t, x_t) + cost of the budget,

and for the square loss L <= L(u) / (1 - 2 c) + B^2/(2 eta) + cost of the budget, c = eta X^2 < 1/2
and K(x_t, x_t) <= X^2. The cost of the budget is (1/eta) sum over the drops v -> v + e of
B ||e|| + (||v + e||^2 - ||v||^2)/2 >= D(u, v + e) - D(u, v).

Rounding. Write T for the rounds, G = sum |g_t| sqrt(K(x_t, x_t)), M = eta G (no sum of the
|c_i| sqrt(K(x_i, x_i)) was larger, as coefficients are only ever shrunk), R the radius, S the
longest step, q for the relative error of a sum over the stored points. A prediction is wrong by
q M sqrt(K(x_t, x_t)) at most, which moves the sum of g_t p_t by q M G. The running ||w||^2 is
wrong by E = (n + 8) q M^2 + 16 EPSILON T (R + S)^2 at most, n the points stored. So a projection
may leave ||w|| short of R by E/R, and D(u, w) larger than it should be by (E/R)(R + 2 S);
coefficients and their common factor round by a few EPSILON of M + R a round. All of it together
is `room`.
Reference: Herbster and Warmuth, Tracking the Best Linear Predictor, Theorem 14 and section 4.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from noregret.arrays import Vector
from noregret.losses import Squared
from noregret.proof.certificate import Certificate
from noregret.proof.ledger import Entry
from noregret.proof.statement import NOTHING, Measured, RadiusProof, Statement, row, suspect_of
from noregret.proof.wording import assumption_lines, bound_lines, floor_lines, loss_lines
from noregret.rounding import down, exact, grown, rounding_error, up
from noregret.tracking.hilbert_pass import Place
from noregret.tracking.kernels import Kernel
from noregret.tracking.lemmas import Lemma, judged

_SOURCE = "Herbster, Warmuth 2001"


@dataclass(frozen=True, eq=False)
class KernelCertificate(RadiusProof):
    """A statement about the rounds of a `KernelDescent`, true whatever the data were.

    >>> from noregret.tracking import Gaussian, KernelDescent
    >>> learner = KernelDescent(Gaussian(), radius=1.0, eta=0.25)
    >>> _ = learner.learn([[0.0], [1.0], [0.0]], [1.0, -1.0, 1.0])
    >>> proof = learner.certificate()
    >>> proof.rounds, proof.floor(1.0) <= proof.loss, proof.describe(0.5)
    (3, True, 'every u in the space of Gaussian(gamma=1.0) with ||u|| <= 0.5')
    """

    kernel: Kernel
    #: The lines of the losses, with a bound on ||Z|| as the only coordinate of Z.
    account: Certificate
    #: The scalars of the pass, by `Place`.
    places: Vector
    eta: float
    #: The radius of the ball that the learner projects on.
    radius: float
    #: How many points may be stored, None for all; how many features they have.
    budget: int | None
    width: int

    @property
    def rounds(self) -> int:
        """How many examples were learnt."""
        return self.account.rounds

    @property
    def mistakes(self) -> int:
        """How many labels were predicted wrongly; a prediction of zero margin counts."""
        return self.account.mistakes

    @property
    def loss(self) -> float:
        """The learner's own loss, summed over the rounds."""
        return self.account.loss

    @property
    def objective(self) -> str:
        """What a round adds to `loss`, `floor`, `regret_bound` and `bounds`, in words."""
        return self.account.objective

    @property
    def average_loss(self) -> float:
        """The learner's own loss a round."""
        return self.account.average_loss

    @property
    def points(self) -> int:
        """How many points are stored."""
        return int(self.places[Place.COUNT])

    @property
    def drops(self) -> int:
        """How many points the budget has cost."""
        return int(self.places[Place.DROPS])

    def describe(self, radius: float | None = None) -> str:
        """Return in words the class that `floor(radius)` speaks about."""
        ball = down(self.account._radius(radius))
        return f"every u in the space of {self.kernel} with ||u|| <= {ball}"

    def floor(self, radius: float | None = None) -> float:
        """Return a number that no fixed u of the space with ||u|| <= radius can have beaten.

        radius: at least 0, in the norm of the space [default: that of the learner's ball].
        """
        return self.account.floor(self.account._radius(radius))

    def regret_bound(self, radius: float | None = None) -> float:
        """Return a proved upper bound on the regret against the whole ball of that radius."""
        return self.account.regret_bound(self.account._radius(radius))

    def budget_cost(self, radius: float | None = None) -> float:
        """Return what the budget adds to the theorems, for comparators of that norm; rounded up.

        (1/eta) sum over drops of radius ||e|| + (||v + e||^2 - ||v||^2)/2. It is below 0
        where the dropped parts had made ||v|| larger.
        """
        radius = self.account._radius(radius)
        if self.drops == 0:
            return 0.0
        dropped, recoil, error = self.places[
            [Place.DROPPED, Place.RECOIL, Place.RECOIL_ERROR]
        ].tolist()
        # ||v|| is at most the radius plus a step, which bounds the change of its square by a drop.
        size = (radius + 4.0 * self.radius + 4.0 * self._longest_step) * dropped
        error += rounding_error(self.drops + 16.0, size)
        return float((radius * dropped + recoil + error) / self.eta)

    @property
    def bounds(self) -> list[Statement]:
        """The theorems for comparators of the learner's ball."""
        return self.bounds_for()

    def bounds_for(self, radius: float | None = None) -> list[Statement]:
        """Return each theorem's bound for comparators of that radius."""
        if self.rounds == 0 or self.account.broken is not None:
            return []
        radius = self.account._radius(radius)
        reason = (
            f"the class is larger than the ball of radius {exact(self.radius)}"
            if radius > self.radius
            else ""
        )
        value = radius * radius / (2.0 * self.eta) + self.budget_cost(radius)
        found = self.lemma
        # Where L(u) >= loss the statement is empty, so that the excess of L(u) is that of the loss.
        curved = max(value, 0.0) + found.excess * (abs(self.loss) + self.account.slack)
        return [
            self._stated(
                "C-GD in a Hilbert space", "Theorem 14, one comparator", curved, found.factor,
                found.reason or reason, radius,
            ),
            self._stated(
                "additive", "eq. 21-27, linear losses, one comparator", value + self.stability,
                1.0, reason, radius,
            ),
        ]  # fmt: skip

    def _stated(
        self, name: str, reference: str, value: float, factor: float, reason: str, radius: float
    ) -> Statement:
        """Return a theorem with its rounding, or say why it does not speak about this run."""
        reference = f"{_SOURCE}, {reference}"
        room, measured = self.room + rounding_error(16.0, abs(value)), NOTHING
        if factor == 1.0 and not self.drops and not reason:
            # Without drops the lines prove the sum that the theorem bounds, to rounding.
            slack = room + 4.0 * self.account.slack + self._doubt(radius)
            suspect = suspect_of((self.kernel, "positive definiteness"))
            measured, room = Measured(self.regret_bound(radius), slack, suspect), 0.0
        return measured.state(name, reference, value + room, reason, factor)

    @property
    def lemma(self) -> Lemma:
        """The lemma for the square loss: the factor of L(u), or why there is none."""
        if type(self.account.loss_function) is not Squared:
            return Lemma(reason="the loss is not the square loss")
        row = float(self.account.ledger[Entry.LARGEST_ROW])
        return judged(self.eta * row**2, 2.0, f"points of norm {up(row)}", self.roundings)

    @property
    def stability(self) -> float:
        """(eta/2) sum g_t^2 K(x_t, x_t), rounded up."""
        half = 0.5 * float(self.account.ledger[Entry.RATED_SQUARES])
        return grown(half, self.rounds + self.roundings)

    @property
    def roundings(self) -> float:
        """The roundings of an evaluation and of a sum over the stored points."""
        power = self.kernel.power(float(self.places[Place.LARGEST]))
        return power * (self.width + 8.0) + self.points + 16.0

    @property
    def _longest_step(self) -> float:
        return self.eta * math.sqrt(float(self.account.ledger[Entry.LARGEST_SQUARE]))

    @cached_property
    def room(self) -> float:
        """An upper bound on what rounding adds to the regret of a theorem; derived above."""
        T, R, S = float(self.rounds), self.radius, self._longest_step
        stored = float(self.places[Place.STORED] + self.places[Place.LOST])
        G = grown(stored, T + self.roundings)
        # Dropped terms are subtracted from a sum, which rounds at every drop.
        G += rounding_error(4.0 * (self.drops + 4.0), G)
        M, q = self.eta * G, rounding_error(4.0, self.roundings)
        E = (self.points + 8.0) * q * M * M + rounding_error(16.0, T) * (R + S) ** 2
        moved = T * (E / R * (R + 2.0 * S) + rounding_error(16.0, R + M) * (2.0 * R + S))
        return 2.0 * (moved / self.eta + q * M * G)

    def _doubt(self, radius: float) -> float:
        """Return twice what rounding may have added to radius ||Z||."""
        error = max(float(self.places[Place.GRADIENT_ERROR]), 0.0)
        return 4.0 * radius * math.sqrt(error) + self.room

    @property
    def assumption(self) -> str | None:
        """The promises of a loss or kernel of the user's own that are taken on trust."""
        found = [self.account.assumption] if self.account.assumption else []
        if not type(self.kernel).__module__.startswith("noregret.tracking."):
            name = type(self.kernel).__name__
            found.append(f"{name} is taken at its word to be positive definite")
        return "; ".join(found) or None

    def as_dict(self, radius: float | None = None) -> dict[str, Any]:
        """Return the certificate as plain values, ready for JSON."""
        result: dict[str, Any] = {
            "rounds": self.rounds,
            "objective": self.objective,
            "mistakes": self.mistakes,
            "loss": self.loss,
            "average_loss": self.average_loss,
            "kernel": str(self.kernel),
            "radius": self.account._radius(radius),
            "class": self.describe(radius),
            "floor": self.floor(radius),
            "regret_bound": self.regret_bound(radius),
            "bounds": [bound.as_dict() for bound in self.bounds_for(radius)],
            "points": self.points,
            "budget": self.budget,
            "drops": self.drops,
            "budget_cost": self.budget_cost(radius),
            "rounding_slack": self.account.slack,
            "assumption": self.assumption,
        }
        if self.account.broken is not None:
            broken = self.account.broken.as_dict()
            result |= {"floor": None, "regret_bound": None, "broken": broken}
        return result

    def _lines(self, radius: float | None = None) -> list[str]:
        lines = [
            f"Certificate after {self.rounds:,} rounds, {self.objective}, "
            f"{self.points:,} points stored",
            *loss_lines(self.account),
        ]
        if self.account.broken is not None:
            return [*lines, f"  no statement: {self.account.broken}"]
        words = f"{self.describe(radius)} lost at least that much by {self.objective}"
        lines += floor_lines(self, radius, words)
        if self.budget is not None:
            note = f"in the theorems, {self.drops:,} points dropped"
            lines.append(row("cost of the budget", up(self.budget_cost(radius)), note))
        return [*lines, *bound_lines(self, radius), *assumption_lines(self)]

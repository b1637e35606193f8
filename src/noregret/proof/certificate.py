"""The certificate of a run: lower bounds on the loss of competitors, upper bounds on the regret.

Convexity gives sum f_t(u) >= a + <u, Z> for every u, with a the sum of the intercepts of the
supporting lines and Z the sum of the gradients, for any predictions. Minimising the right side
over a class of predictors gives a floor under the loss of all of them. Rounding is accounted for:
a slack proportional to the sizes that were summed is subtracted from every floor and added to
every bound, so that the statements hold for the data as they are stored.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, ClassVar, Self

from noregret.arrays import Vector
from noregret.domains import Domain
from noregret.losses import Loss
from noregret.mirrors import Mirror
from noregret.mirrors.predictors import Predictors
from noregret.norms import norm_upper
from noregret.proof.curves import curved_floor, ridged, touching
from noregret.proof.evidence import Evidence
from noregret.proof.ledger import GRADIENT_ERRORS, Entry, gradient_error
from noregret.proof.quadratic import Quadratic
from noregret.proof.regrets import above_line, as_predictor
from noregret.proof.run_sums import RunSums
from noregret.proof.statement import BLOCKS, PARABOLAS, PREDICTIONS, Statement
from noregret.proof.wording import (
    Broken,
    assumption_lines,
    assumption_of,
    bound_lines,
    broken_in,
    certificate_dict,
    floor_lines,
    loss_lines,
    named,
    objective_words,
)
from noregret.rates import Rate
from noregret.rates.base import UNBOUNDED
from noregret.rounding import (
    UNDERFLOW,
    certified_floor,
    down,
    down_each,
    grown,
    rounding_error,
)

#: The error allowed to `value` and `slope` of a loss, in units of EPSILON, with room for the
#: products and sums of a round in the ledger.
ROUND_ERRORS = 32.0


@dataclass(frozen=True, eq=False)
class Certificate(RunSums):
    """A statement about the rounds seen so far, true whatever the data were.

    >>> import noregret as nr
    >>> learner = nr.MirrorDescent(nr.losses.Hinge(), nr.mirrors.Ball(1), nr.rates.Constant(1))
    >>> _ = learner.learn([[0.6, 0.8], [0.8, 0.6]], [1, -1])
    >>> certificate = learner.certificate()
    >>> certificate.rounds, certificate.mistakes, certificate.floor(1) <= certificate.loss
    (2, 2, True)

    Warning: a loss of your own is trusted for what `assumption` names, and for a value and slope
    right to about 16 units in the last place. If a round shows that the loss broke a promise,
    `broken` names it: floors are -inf, regrets inf, and there are no bounds.
    """

    loss_function: Loss
    mirror: Mirror
    rate: Rate
    ledger: Vector
    gradient: Vector
    domain: Domain | None = None
    lazy: bool = True
    conservative: bool = False
    #: False for foreign or clipped predictions and for implicit steps, which no theorem covers.
    played: bool = True
    #: The norm of the learner's weights: the default radius if the map has none of its own.
    reach: float | None = None
    #: What certificates need of the learner's state beside the ledger and Z.
    evidence: Evidence = field(default_factory=Evidence)
    #: Whether the penalty (sigma/2)||u||^2 of strongly convex rounds is part of the objective.
    penalised: bool = True
    #: How often an example was learnt, at least and at most: all rounds of all passes are summed.
    passes: tuple[int, int] = (1, 1)
    #: What lines prove that do not touch at the predictions, see `proof.other_lines`.
    blocks: tuple[Certificate, ...] = ()
    #: Parabolas under all losses, see `floors.parabolas`.
    curves: tuple[Quadratic, ...] = ()

    #: The letter of a comparator.
    predictor: ClassVar[str] = "u"

    @property
    def objective(self) -> str:
        """What a round adds to `loss`, `floor`, `regret` and `bounds`, in words."""
        sigma = self.rate.strong_convexity() if self.penalised else 0.0
        loss = named(self.loss_function)
        return objective_words(loss, sigma, self.predictor, self.passes, self.example_weights)

    @property
    def loss(self) -> float:
        """The learner's own objective, summed over the rounds."""
        penalty = float(self.ledger[Entry.REGULARIZER]) if self.penalised else 0.0
        return self.plain_loss + penalty

    @property
    def loss_upper(self) -> float:
        """The learner's own objective, rounded up."""
        return self.loss + self.slack + rounding_error(8.0, abs(self.loss))

    def plain(self) -> Self:
        """Return the certificate about the loss without a penalty.

        The lines of the ledger are those of the loss alone, so that they prove floors for it.
        """
        return self if self.curvature == 0.0 else replace(self, penalised=False)

    @property
    def average_loss(self) -> float:
        """The learner's own objective a round."""
        return self.loss / self.rounds if self.rounds else 0.0

    @property
    def curvature(self) -> float:
        """The sum of the sigmas that strongly convex rounds carry."""
        return self.rate.strong_convexity() * self.rounds if self.penalised else 0.0

    @property
    def round_errors(self) -> float:
        """Bound on the rounding error of a round's loss and line, in units of EPSILON."""
        return ROUND_ERRORS

    @property
    def gradient_errors(self) -> float:
        """Bound on the error of Z beside one rounding a round, in units of EPSILON."""
        return GRADIENT_ERRORS

    @cached_property
    def slack(self) -> float:
        """Upper bound on the rounding error of the loss and of the intercept."""
        lines = rounding_error(self.round_errors, float(self.ledger[Entry.MAGNITUDE]))
        penalty = float(self.ledger[Entry.REGULARIZER_SLACK])
        # The sums of these errors are rounded as well.
        sums = 2.0 * self.rounds
        return grown(lines, sums) + grown(penalty, sums) + self.rounds * UNDERFLOW

    @cached_property
    def delta(self) -> float:
        """Upper bound on the rounding error of Z in the 1-norm, and so in every p-norm."""
        return self.moved(Entry.TRAVEL)

    def moved(self, place: Entry, lost: float = 0.0) -> float:
        """Return a bound on the rounding error of Z, from its travel at that place of the ledger.

        lost: cost of an underflow in a coordinate and round beside UNDERFLOW [default: 0].
        """
        travel, width = float(self.ledger[place]), len(self.gradient)
        return gradient_error(travel, self.rounds, width, self.gradient_errors, lost)

    @property
    def radius(self) -> float | None:
        """The radius of the learner's own set, or the norm of its weights if there is none."""
        if self.domain is not None and not math.isnan(self.domain.extent()):
            return self.domain.extent()
        own = self.mirror.own_radius()
        return self.reach if own is None else own

    @property
    def class_radius(self) -> float | None:
        """The radius of the class of `floor()`, None where that is no ball of the map's norm."""
        return None if self._own_set() else self.radius

    def floor(self, radius: float | None = None, norm: float | None = None) -> float:
        """Return a number that no fixed predictor of the class can have beaten on these rounds.

        sum f_t(u) >= floor for every u of the class: the ball of `radius` in the norm that
        belongs to the map (2-norm, q-norm, 1-norm, the simplex of that scale, or the
        non-negative vectors of at most that sum), or sum (m_i u_i)^2 <= radius^2 with m_i the
        largest |x_i| seen for `ScaleFree` and `CoinBetting`; `norm` chooses another ball. Without a
        radius it is the learner's own set, or the ball of its own norm if that has no bound.
        It is the largest of `floors`.
        """
        return max(self.floors(radius, norm).values())

    def floors(self, radius: float | None = None, norm: float | None = None) -> dict[str, float]:
        """Return every floor by its origin: lines at the predictions or at blocks, parabolas."""
        found = {PREDICTIONS: self._floor(radius, norm)}
        if self.blocks:
            found[BLOCKS] = max(one._floor(radius, norm) for one in self.blocks)
        curved, _ = curved_floor(self, radius, norm)
        if curved > -math.inf:
            found[PARABOLAS] = curved
        return found

    def _floor(self, radius: float | None, norm: float | None) -> float:
        if self.rounds == 0:
            return 0.0
        domain = self.own_domain(radius, norm)
        if domain is not None:
            return self._lowered(self.domain_support(domain))
        radius = self._radius(radius)
        if norm is not None:
            chosen = Predictors.of_norm(norm)
            return self._lowered(chosen.support_upper(self.gradient, radius, self.delta))
        length = self.evidence.length(self, radius)
        if self.curvature > 0.0:
            # The lines are bent upwards by (curvature/2)||u||^2: the worst u may lie inside.
            reach = length / radius if radius > 0.0 else 0.0
            best = min(radius, reach / self.curvature)
            length = grown(best * (reach - 0.5 * self.curvature * best), 16.0)
        return self._lowered(length)

    def domain_support(self, domain: Domain) -> float:
        """Return the maximum of <u, -z> over the domain, rounded up."""
        reach = domain.largest_coordinate(max(len(self.gradient), 1))
        if math.isinf(reach):
            return math.inf
        value = domain.support(-self.gradient)
        size = reach * norm_upper(self.gradient, 1.0)
        return value + reach * self.delta + rounding_error(len(self.gradient) + 16.0, size)

    def own_domain(self, radius: float | None, norm: float | None) -> Domain | None:
        """Return the learner's own set where it is the class of `floor`, else None."""
        return self.domain if radius is None and norm is None and self._own_set() else None

    def _own_set(self) -> bool:
        """Return whether the learner's own set is a bounded domain that is not a ball."""
        domain = self.domain
        if domain is None or domain.is_ball() or self.rounds == 0:
            return False
        return math.isfinite(self.domain_support(domain))

    def regularized_floor(self, eta: float | None = None) -> float:
        """Return a lower bound on sum f_t(u) + R(u) / eta over all u.

        R is the map's regulariser, with minimum 0. eta: above 0 [default: the current rate].
        For strongly convex rounds it is the floor of the penalised objective itself.
        """
        own = self, *self.blocks, *ridged(self, eta)
        return max(one._regularized_floor(eta) for one in own)

    def _regularized_floor(self, eta: float | None) -> float:
        if self.curvature > 0.0 and eta is None:
            length = norm_upper(self.gradient, 2.0) + self.delta
            return self._lowered(grown(length * length / (2.0 * self.curvature), 8.0))
        if eta is None:
            # Before anything but zeros was seen, an adaptive rate is not known.
            eta = float(self.ledger[Entry.LAST_ETA]) or UNBOUNDED
        if self.rounds == 0:
            return 0.0
        if self.evidence.factors is not None and eta != float(self.ledger[Entry.LAST_ETA]):
            raise ValueError("per-coordinate rates have no single eta: call regularized_floor()")
        if not 0.0 < eta < math.inf:
            raise ValueError(f"eta must be a finite number above 0, got {eta}")
        return self._lowered(self.evidence.conjugate(self, eta))

    def _lowered(self, length: float) -> float:
        if self.broken is not None:
            return -math.inf
        nonnegative = self.loss_function.nonnegative
        return certified_floor(self.intercept, length, self.slack, nonnegative)

    def of_lines(self, **changes: Any) -> Certificate:
        """Return the certificate of other lines below the losses of the same rounds."""
        return replace(self, blocks=(), **changes)

    def _radius(self, radius: float | None) -> float:
        if radius is None:
            radius = self.radius
            if radius is None:
                raise ValueError("there is no learner whose radius could be taken: give radius")
        if not 0.0 <= radius < math.inf:
            raise ValueError(f"radius must be a finite number >= 0, got {radius}")
        return float(radius)

    def regret(self, u: Any) -> float:
        """Return an upper bound on the learner's loss minus the loss of the fixed predictor u."""
        vector = as_predictor(u, len(self.gradient))
        others = self.blocks, touching(self, vector)
        return min(one._regret_against(vector) for one in (self, *others[0], *others[1]))

    def _regret_against(self, vector: Vector) -> float:
        bound = above_line(self, vector)
        if self.broken is not None:
            return math.inf
        if self._lost_nothing:
            bound = min(bound, 0.0)
        if self.loss_function.nonnegative:
            bound = min(bound, self.loss_upper)
        return bound

    @property
    def _lost_nothing(self) -> bool:
        """Whether the learner's loss is exactly 0, so that no competitor has lost less.

        Weights below 1 are excluded: their products with a loss can underflow to 0.
        """
        exact = self.loss_function.exact_zero and not self.loss_function.foreign
        return exact and self.example_weights[0] >= 1.0 and self.loss == 0.0

    def regret_bound(self, radius: float | None = None) -> float:
        """Return a proved upper bound on the regret against the whole class of that radius."""
        if self._lost_nothing:
            return 0.0
        gap = self.loss - self.floor(radius)
        # A floor below 0 can be far larger than the loss, and so can the rounding of the gap.
        return gap + self.slack + rounding_error(8.0, max(abs(self.loss), abs(gap)))

    @property
    def bounds(self) -> list[Statement]:
        """The theorems about this run, for the learner's own class, or radius 1 without one."""
        return self.bounds_for()

    def bounds_for(self, radius: float | None = None) -> list[Statement]:
        """Return each theorem's bound for the class of `floor(radius)` beside what is proved.

        Without a radius it is the class of `floor()`, or radius 1 where there is no learner.
        """
        if self.broken is not None:
            return []
        # A theorem bounds the regret against the lines at the predictions: only these can show
        # that the run contradicts it.
        own = replace(self, blocks=(), curves=())
        if radius is None and self._own_set():
            return self.evidence.bounds(own, None)
        if radius is None and self.radius is None:
            radius = 1.0
        return self.evidence.bounds(own, self._radius(radius))

    def describe(self, radius: float | None = None) -> str:
        """Return in words the class that `floor(radius)` speaks about."""
        if radius is None and self._own_set():
            return f"every u in {self.domain}"
        return self.evidence.describe(self.mirror, self._radius(radius))

    def statement(self, radius: float | None = None) -> str:
        """Return the claim of `floor(radius)` in words, without the number."""
        return f"{self.describe(radius)} lost at least that much by {self.objective}"

    def as_dict(self, radius: float | None = None) -> dict[str, Any]:
        """Return the certificate as plain numbers, ready for JSON."""
        return certificate_dict(self, radius)

    @property
    def assumption(self) -> str | None:
        """The promises of a loss of your own that are trusted, None for built-in losses."""
        return assumption_of(self.loss_function)

    @property
    def broken(self) -> Broken | None:
        """The promise that the loss was found to break first; nothing is proved then."""
        places = [Entry.PROMISE_BROKEN, Entry.BROKEN_PROMISE]
        return broken_in(self.loss_function, *self.ledger[places])

    def _summary(self) -> str:
        words = f"{self.rounds:,} rounds, average loss {self.average_loss:.4g} by {self.objective}"
        if self.broken is not None:
            return f"{words}, no statement: {self.broken}"
        if self.radius is None:
            return words
        return f"{words}, floor {down(down_each(self.floor(), max(self.rounds, 1)), 4)} a round"

    def _lines(self, radius: float | None = None) -> list[str]:
        lines = [f"Certificate after {self.rounds:,} rounds, {self.objective}"]
        lines += loss_lines(self)
        if self.broken is not None:
            return [*lines, f"  no statement: {self.broken}"]
        if radius is not None or self.radius is not None:
            lines += floor_lines(self, radius, self.statement(radius))
            lines += bound_lines(self, radius, self.predictor)
        return lines + assumption_lines(self)

"""Bounds against a comparator that moves, for a schedule that is given after the run.

A tracker steps by the gradient of the loss and projects on a set G. With a the rate, b/a the
factor of its lemma (see `lemmas`), and every u_t in G,

    loss <= (b/a) L(<u>) + (1/a) [D(u_1, w_1) - D(u_T, w_(T+1)) + F(u_T) - F(u_1)
                                   + sum over shifts <u_t - u_(t+1), grad F(w_(t+1))>],

where each shift costs at most gamma ||u_t - u_(t+1)||, gamma the largest norm of grad F on G.
These statements are proved for the algorithm in exact arithmetic. The printed bounds are rounded
up and never below the regret measured on the run, so that they hold for the run in floating point
as well.
Reference: Herbster and Warmuth, Tracking the Best Linear Predictor, 2001 (HW01).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from noregret.arrays import Vector
from noregret.domains import Ball, Box, ClippedSimplex, PNormBall, Simplex
from noregret.learners import MirrorDescent
from noregret.proof.statement import Statement
from noregret.rounding import exact, grown, rounding_error
from noregret.tracking.lemmas import Lemma, ShiftingBounds, lemma, stated
from noregret.tracking.potentials import Entropic, PNormSquare, SimplexEntropic, Square
from noregret.tracking.rerun import Rerun, rerun
from noregret.tracking.schedules import Schedule

#: How far comparators may lie outside the set by rounding; bounds are checked against the run.
INSIDE = 1e-9
#: Guesses and the alpha made from them may differ by rounding.
TUNED = 1e-9


def shifting_bounds(
    learner: MirrorDescent,
    schedule: Schedule,
    X: Any,
    y: Any,
    guess: tuple[int, float] | None = None,
    traced: bool = True,
) -> ShiftingBounds:
    """Return the bounds of a learner against a schedule, for the rows it has learnt.

    The run is replayed to read weights at the shifts, and with `traced` in every round, O(d)
    each; traced=False leaves out the bounds that need it. `guess` is (rounds, size) from which
    alpha was chosen by `tuned_alpha`, for Corollary 19. A theorem whose precondition does not
    hold on the data seen is listed as not applicable, with the reason.

    >>> import noregret as nr
    >>> learner = nr.MirrorDescent(nr.losses.Squared(), nr.mirrors.Euclidean(),
    ...     nr.rates.Constant(1 / 4), nr.domains.Ball(1.0), lazy=False)
    >>> X, y = [[1.0, 0.0], [0.0, 1.0], [0.0, 1.0]], [1.0, 1.0, -1.0]
    >>> _ = learner.learn(X, y)
    >>> found = shifting_bounds(learner, Schedule([(0, [0.5, 0.5]), (2, [0.5, -0.5])]), X, y)
    >>> [(bound.name, round(found.total(bound), 6)) for bound in found.bounds[:2]]
    [('C-GD', 6.5), ('tracking in a bounded set', 6.375)]

    Reference: HW01, Theorems 10, 14, 15, 16 and 18, Corollary 19, eq. 21-27.
    """
    run = rerun(learner, schedule, X, y, traced)
    low, high = schedule.loss_between(X, y, run.certificate.loss_function)
    loss = run.certificate.loss_upper
    facts = _Facts(run, lemma(run, X, y), loss, low, high)
    return ShiftingBounds(
        facts.rounds,
        schedule.shifts,
        facts.size,
        facts.norm,
        loss,
        high,
        loss - low,
        [*_named(facts, guess), *_general(facts)],
        None if run.trace is None else run.identity(),
        _best_alpha(facts),
    )


def tuned_alpha(rounds: int, size: float, simplex: int | None = None) -> float:
    """Return the alpha that costs least for guesses l of the rounds and U of size_1.

    For C-EGU alpha = min(U / (l - 1), 1), which minimises ln(n/alpha) U + alpha (l - 1) in
    Theorem 18; HW01, Corollary 19. With `simplex=n`, for C-EG in n dimensions, b = alpha (n-1)/n
    minimises (U/2) ln((n-1)(1-b)/b) - (l-1) ln(1-b) at b = U / (2 (l - 1)).

    >>> tuned_alpha(6, 4.0), tuned_alpha(6, 4.0, simplex=3)
    (0.8, 0.6000000000000001)
    """
    if not rounds >= 2:
        raise ValueError(f"tuned_alpha: rounds must be at least 2, got {rounds}")
    if not 0.0 < size < math.inf:
        raise ValueError(
            f"tuned_alpha: size must be a finite number above 0, got {size}; a comparator that "
            "does not move needs no box"
        )
    rate = size / (rounds - 1.0)
    if simplex is None:
        return min(rate, 1.0)
    return min(0.5 * rate * simplex / (simplex - 1.0), 1.0) if simplex > 1 else 1.0


class _Facts:
    """The quantities that the bounds use."""

    def __init__(self, run: Rerun, found: Lemma, loss: float, low: float, high: float) -> None:
        self.run, self.lemma, self.loss, self.low, self.high = run, found, loss, low, high
        self.domain = run.certificate.domain
        self.dimension = run.schedule.dimension
        self.rounds = run.certificate.rounds
        self.norm = run.certificate.mirror.predictors().exponent
        self.size = run.schedule.size(self.norm)
        #: The most that all shifts together can cost, from the learner's set alone.
        self.shifting = grown(self._gamma() * self.size, 8.0) if self.size else 0.0
        #: The part that all theorems share: D(u_1, w_1) + F(u_T) - F(u_1).
        self.base = run.start + run.climb
        ends = run.schedule.comparators[[0, -1]]
        magnitude = _magnitude(run, ends[0], run.first) + _magnitude(run, ends[1], run.last)
        steps = np.abs(np.diff(run.schedule.comparators, axis=0))
        pairs = zip(steps, run.at_shifts, strict=True)
        with np.errstate(invalid="ignore"):
            magnitude += sum(float(s @ np.abs(run.potential.gradient(w))) for s, w in pairs)
        if run.trace is not None:
            magnitude += abs(run.trace.stability) + abs(run.trace.removed)
        self.slack = rounding_error(4.0 * (self.dimension + self.rounds + 64.0), magnitude)

    def _gamma(self) -> float:
        """Return the largest norm of grad F over the learner's set, infinite if there is none."""
        domain, potential, n = self.domain, self.run.potential, self.dimension
        if type(domain) is Ball or type(domain) is PNormBall:
            return domain.radius
        if type(domain) is Simplex:
            return domain.scale
        if type(domain) is ClippedSimplex:
            # ln w lies between the logarithms of alpha/n and 1 - alpha (n-1)/n, times the scale.
            return 0.5 * math.log1p(n * (1.0 - domain.alpha) / domain.alpha)
        if type(domain) is Box:
            if isinstance(potential, Entropic):
                return max(abs(math.log(domain.low)), abs(math.log(domain.high)))
            return math.sqrt(n) * max(abs(domain.low), abs(domain.high))
        return math.inf

    def outside(self) -> str:
        """Return which comparator is not in the learner's set, in words, or ''."""
        potential = self.run.potential
        for k, u in enumerate(self.run.schedule.comparators):
            if isinstance(potential, Entropic) and np.any(u < 0.0):
                return f"comparator {k} has a negative component"
            if isinstance(potential, SimplexEntropic) and not self.in_simplex(u):
                return f"comparator {k} is not in the simplex"
            if self.domain is not None and not self.domain.contains(u, INSIDE):
                return f"comparator {k} is not in {self.domain}"
        return ""

    def last_outside(self, outside: Callable[[Vector], bool], where: str) -> str:
        """Return which comparator, the last one, is outside a set, in words, or ''."""
        numbers = [k for k, u in enumerate(self.run.schedule.comparators) if outside(u)]
        return f"comparator {numbers[-1]} is not in {where}" if numbers else ""

    def in_simplex(self, u: Vector) -> bool:
        """Tell whether u has the mass of the learner's weights."""
        return Simplex(float(self.run.first.sum())).contains(u, INSIDE)

    def bound(self, name: str, reference: str, bracket: float, reason: str = "") -> Statement:
        """Return a bound with the lemma's factor: bracket / eta and the rounding."""
        reason = self.lemma.reason or reason
        if not reason and not math.isfinite(bracket):
            reason = "the weights are not kept in a bounded set"
        value = bracket / self.run.eta + self.lemma.excess * abs(self.high)
        value += self.slack / self.run.eta
        return stated(name, reference, value, self.lemma.factor, (self.loss, self.low), reason)

    def additive(self, name: str, reference: str, bracket: float, reason: str = "") -> Statement:
        """Return a bound with factor 1, for any convex loss and any rate."""
        value = bracket / self.run.eta + self.slack / self.run.eta
        return stated(name, reference, value, 1.0, (self.loss, self.low), reason)


def _magnitude(run: Rerun, u: Vector, w: Vector) -> float:
    """Return the sum of the absolute terms of F(u), F(w) and D(u, w)."""
    if isinstance(run.potential, Entropic):
        logs = [np.abs(np.log(np.where(v > 0.0, v, 1.0))) for v in (u, w)]
        return float(np.sum(np.abs(u) * (logs[0] + logs[1] + 2.0) + np.abs(w)))
    value = run.potential.value
    return 4.0 * (value(u) + value(w))


def _named(facts: _Facts, guess: tuple[int, float] | None) -> Iterator[Statement]:
    """Yield the theorem of the learner's own name, if it has one."""
    potential, domain, inside = facts.run.potential, facts.domain, facts.outside()
    plain = facts.base + facts.shifting
    if isinstance(potential, Square) and type(domain) is Ball:
        yield facts.bound("C-GD", "Theorem 14", plain, inside)
    elif isinstance(potential, PNormSquare) and type(domain) is PNormBall:
        yield facts.bound("shifting p-norm", "Theorem 10 with our lemma", plain, inside)
    elif isinstance(potential, SimplexEntropic) and type(domain) is ClippedSimplex:
        yield from _simplex(facts, domain, plain, inside)
    elif isinstance(potential, Entropic) and type(domain) is Box:
        yield facts.bound("C-EGU", "Theorem 15, signs corrected", plain, inside)
        yield from _sparse_box(facts, domain, plain, guess)


def _simplex(
    facts: _Facts, domain: ClippedSimplex, plain: float, inside: str
) -> Iterator[Statement]:
    n, scale = facts.dimension, domain.scale
    printed = scale * math.log(n) + 0.5 * math.log(n / domain.alpha) * facts.size
    yield facts.bound("C-EG", "Theorem 16", printed, inside)
    yield facts.bound("C-EG, range of ln w", "Theorem 16, sharpened", plain, inside)
    # The clipped weights can only rise, the others fall by at most this factor.
    lost = -scale * math.log1p(-domain.alpha * (n - 1.0) / n)
    reason = facts.last_outside(lambda u: not facts.in_simplex(u), "the simplex")
    yield facts.bound(
        "C-EG, sparse comparators", "after Theorem 18", plain + (facts.rounds - 1) * lost, reason
    )


def _sparse_box(
    facts: _Facts, domain: Box, plain: float, guess: tuple[int, float] | None
) -> Iterator[Statement]:
    alpha = facts.dimension * domain.low
    high = domain.high * (1.0 + INSIDE)
    reason = facts.last_outside(
        lambda u: bool(np.any((u < 0.0) | (u > high))), f"[0, {exact(domain.high)}]^d"
    )
    yield facts.bound(
        "C-EGU, sparse comparators",
        "Theorem 18, signs corrected",
        plain + alpha * (facts.rounds - 1),
        reason,
    )
    if guess is None:
        return
    rounds, size = guess
    tuned = tuned_alpha(rounds, size)
    if abs(alpha - tuned) > TUNED * tuned or abs(domain.low * domain.high - 1.0) > TUNED:
        reason = f"the box is not [alpha/d, d/alpha] for alpha = {exact(tuned)}"
    elif facts.rounds > rounds:
        reason = f"there were more rounds than the {rounds} that were guessed"
    cost = size if tuned < 1.0 else facts.rounds - 1.0
    yield facts.bound(
        "C-EGU, alpha from guesses", "Corollary 19, signs corrected", plain + cost, reason
    )


def _general(facts: _Facts) -> Iterator[Statement]:
    """Yield the bounds for every potential, from the worst case to the exact one."""
    run, inside = facts.run, facts.outside()
    start = facts.base - run.end
    yield facts.bound("tracking in a bounded set", "Theorem 10", start + facts.shifting, inside)
    if run.trace is not None:
        seen = grown(run.trace.peak, facts.dimension + 8.0) * facts.size
        yield facts.bound("largest weights seen", "proof of Theorem 10", start + seen, inside)
    exact = start + run.turns
    yield facts.bound("exact shift costs", "eq. 22", exact, inside)
    if run.trace is None:
        return
    open_set = "" if math.isfinite(exact) else "a comparator is infinitely far from the weights"
    yield facts.bound(
        "exact shift costs and projections",
        "eq. 22 with every projection measured",
        exact - run.trace.removed,
        open_set,
    )
    stable = exact + run.trace.stability
    yield facts.additive(
        "additive, exact shift costs", "eq. 21-27, linear losses", stable - run.trace.gain, inside
    )
    yield facts.additive(
        "exact identity", "eq. 21-27 with equality", stable - run.trace.removed, open_set
    )


def _best_alpha(facts: _Facts) -> float | None:
    """Return the alpha that makes the bound for sparse comparators smallest."""
    if facts.rounds < 2 or facts.size == 0.0:
        return None
    if type(facts.domain) is ClippedSimplex:
        return tuned_alpha(facts.rounds, facts.size / facts.domain.scale, facts.dimension)
    if type(facts.domain) is Box and isinstance(facts.run.potential, Entropic):
        return tuned_alpha(facts.rounds, facts.size)
    return None

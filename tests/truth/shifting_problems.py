"""Random shifting problems and a judge of their own: trackers and theorems in 40 digits.

The judge plays the algorithms of the paper from their definitions in mpmath, with the rate as
the learner has it, and writes down each theorem as printed (signs corrected). Whether a theorem
holds is decided there, where rounding plays no part; the loss of the learner in floating point
is then summed in fractions and held against what the library prints.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import mpmath
import numpy as np
from mpmath import mpf

import noregret as nr
from noregret import catalogue
from noregret.tracking.lemmas import ShiftingBounds
from noregret.tracking.schedules import Schedule
from noregret.tracking.shifting import shifting_bounds, tuned_alpha

DIGITS = 40
#: What 40 digits may lose in a few thousand operations.
LOST = mpf(10) ** -30


@dataclass(frozen=True, eq=False)
class Problem:
    """Rows, labels, a learner that has not seen them, and a schedule to hold it against."""

    family: str
    X: np.ndarray
    y: np.ndarray
    learner: nr.MirrorDescent
    schedule: Schedule
    alpha: float = 1.0
    radius: float = 1.0
    p: float = 2.0
    clip: float = np.inf
    guess: tuple[int, float] | None = None
    #: Whether the comparators are above the floor of the simplex, and its mass.
    inside: bool = True
    scale: float = 1.0

    @property
    def eta(self) -> mpf:
        return mpf(self.learner.rate.at(0.0, 0.0, 0.0))


def _schedule(rng: np.random.Generator, rounds: int, draw: Callable[[], np.ndarray]) -> Schedule:
    count = int(rng.integers(1, min(rounds, 5) + 1))
    starts = [0, *sorted(rng.choice(np.arange(1, rounds), count - 1, replace=False).tolist())]
    return Schedule([(start, draw()) for start in starts])


def _shape(rng: np.random.Generator) -> tuple[int, int]:
    return int(rng.integers(1, 5)), int(rng.integers(1, 26))


def _labels(rng: np.random.Generator, X: np.ndarray, schedule: Schedule, noise: float) -> Any:
    """Return what the schedule itself predicts, with noise: the bounds are tight where it is 0."""
    y = np.array([schedule.at(t) @ X[t] for t in range(len(X))])
    return y + noise * rng.normal(size=len(X))


def _ball_point(rng: np.random.Generator, n: int, radius: float, q: float) -> np.ndarray:
    u = rng.normal(size=n) * (rng.random(n) < 0.7)
    length = float(np.linalg.norm(u, q))
    share = 1.0 if rng.random() < 0.4 else rng.random()
    return u * (radius * share * (1 - 1e-12) / length) if length else u


def ball(rng: np.random.Generator, p: float = 2.0) -> Problem:
    """Draw C-GD, or the p-norm algorithm in its ball."""
    n, rounds = _shape(rng)
    limit, radius = 10.0 ** rng.uniform(-1, 1), 10.0 ** rng.uniform(-1, 1)
    X = rng.normal(size=(rounds, n))
    norms = np.linalg.norm(X, p, axis=1, keepdims=True)
    full = (rng.random((rounds, 1)) < 0.6) * (1 - 1e-12)
    X *= limit * np.where(full > 0, full, rng.random((rounds, 1))) / norms
    q = p / (p - 1.0)
    schedule = _schedule(rng, rounds, lambda: _ball_point(rng, n, radius, q))
    y = _labels(rng, X, schedule, limit * radius * rng.choice([0.0, 0.1, 1.0, 3.0]))
    learner = catalogue.c_gd(radius, limit)
    if p != 2.0:
        learner = catalogue.shifting_p_norm(p, radius, limit)
    family = "C-GD" if p == 2.0 else "shifting p-norm"
    return Problem(family, X, y, learner, schedule, radius=radius, p=p)


def box(rng: np.random.Generator, sparse: bool) -> Problem:
    """Draw C-EGU with comparators in its box, or anywhere below its upper end."""
    n, rounds = _shape(rng)
    feature, top = 10.0 ** rng.uniform(-1, 1), 10.0 ** rng.uniform(-1, 1)
    guess = None
    alpha = float(rng.choice([1.0, rng.uniform(0.01, 1.0)]))
    if sparse and rng.random() < 0.7:
        guess = (rounds + 1 + int(rng.integers(0, 5)), float(rng.uniform(0.01, 3.0)))
        alpha = tuned_alpha(*guess)
    # One feature and alpha = 1 leave a box without an inside.
    n += n == 1 and alpha == 1.0
    X = feature * rng.choice([0.0, 1.0, rng.random()], size=(rounds, n))
    X *= np.where(rng.random((rounds, n)) < 0.5, 1.0, rng.random((rounds, n)))

    def draw() -> np.ndarray:
        if sparse:
            return rng.uniform(0, n / alpha, n) * (rng.random(n) < 0.4) * rng.choice([1.0, 0.05])
        logs = rng.uniform(-1, 1, n) * np.log(n / alpha) * (1 - 1e-12)
        return np.exp(np.where(rng.random(n) < 0.3, np.copysign(np.abs(logs).max(), logs), logs))

    schedule = _schedule(rng, rounds, draw)
    y = np.clip(_labels(rng, X, schedule, top * rng.choice([0.0, 0.3])), 0.0, top)
    if rng.random() < 0.3:
        y = top * rng.choice([0.0, 1.0], size=rounds)
    learner = catalogue.c_egu(alpha, n, feature, top)
    return Problem("C-EGU", X, y, learner, schedule, alpha, clip=top, guess=guess)


def simplex(rng: np.random.Generator, sparse: bool) -> Problem:
    """Draw C-EG with comparators above the floor, or anywhere on the simplex."""
    n, rounds = _shape(rng)
    width = 10.0 ** rng.uniform(-1, 1)
    scale = float(rng.choice([1.0, 10.0 ** rng.uniform(-1, 1)]))
    alpha = float(rng.choice([1.0, rng.uniform(0.01, 1.0)], p=[0.1, 0.9]))
    X = width * rng.choice([0.0, 1.0, rng.random()], size=(rounds, n)) * (1 - 1e-12)
    X += width * rng.choice([0.0, 1.0, 50.0]) * rng.normal(size=(rounds, 1))

    def draw() -> np.ndarray:
        u = rng.dirichlet(np.full(n, rng.choice([0.2, 1.0])))
        if rng.random() < 0.3:
            u = np.eye(n)[int(rng.integers(n))]
        return scale * (u if sparse else np.maximum(alpha / n + (1 - alpha) * u, alpha / n))

    schedule = _schedule(rng, rounds, draw)
    y = _labels(rng, X, schedule, scale * width * rng.choice([0.0, 0.3, 2.0]))
    learner = catalogue.c_eg(alpha, width * (1 + 1e-9), scale=scale, dimension=n)
    return Problem("C-EG", X, y, learner, schedule, alpha, inside=not sparse, scale=scale)


def _project(problem: Problem, w: list[mpf]) -> list[mpf]:
    n = len(w)
    if problem.family == "C-EGU":
        low = mpf(problem.learner.certificate().domain.low)  # type: ignore[union-attr]
        high = mpf(problem.learner.certificate().domain.high)  # type: ignore[union-attr]
        return [min(max(e, low), high) for e in w]
    if problem.family == "C-EG":
        floor = mpf(problem.scale) * mpf(problem.alpha) / n
        order = sorted(w)
        for k in range(n):
            m = (mpf(problem.scale) - k * floor) / mpmath.fsum(order[k:])
            if m * order[k] >= floor or k == n - 1:
                return [max(floor, m * e) for e in w]
    q = mpf(problem.p) / (mpf(problem.p) - 1)
    length = mpmath.fsum(abs(e) ** q for e in w) ** (1 / q)
    radius = mpf(problem.radius)
    return [e * radius / length for e in w] if length > radius else w


def _power_link(v: list[mpf], p: mpf) -> list[mpf]:
    length = mpmath.fsum(abs(e) ** p for e in v) ** (1 / p)
    if length == 0 or p == 2:
        return list(v)
    return [mpmath.sign(e) * abs(e) ** (p - 1) / length ** (p - 2) for e in v]


def play(problem: Problem) -> tuple[mpf, list[mpf], list[mpf]]:
    """Return the loss of the algorithm in exact arithmetic, its first and its last weights."""
    n = problem.X.shape[1]
    multiplicative = problem.family in ("C-EGU", "C-EG")
    w = [mpf(problem.scale) / n if multiplicative else mpf(0)] * n
    first, eta, loss = w, problem.eta, mpf(0)
    p = mpf(problem.p)
    for row, label in zip(problem.X.tolist(), problem.y.tolist(), strict=True):
        x, y = [mpf(e) for e in row], mpf(label)
        prediction = min(mpmath.fdot(w, x), mpf(problem.clip))
        loss += (prediction - y) ** 2
        step = 2 * eta * (prediction - y)
        if multiplicative:
            w = [a * mpmath.exp(-step * b) for a, b in zip(w, x, strict=True)]
        else:
            theta = _power_link(w, p / (p - 1))
            w = _power_link([a - step * b for a, b in zip(theta, x, strict=True)], p)
        w = _project(problem, w)
    return loss, first, w


def _entropy(u: list[mpf]) -> mpf:
    return mpmath.fsum(-e * mpmath.log(e) for e in u if e > 0)


def comparators(problem: Problem) -> list[list[mpf]]:
    """Return the comparators; on a simplex the floor is added and the sum made right exactly."""
    U = [[mpf(e) for e in u] for u in problem.schedule.comparators.tolist()]
    if problem.family != "C-EG":
        return U
    scale = mpf(problem.scale)
    floor = scale * mpf(problem.alpha) / len(U[0]) if problem.inside else mpf(0)
    exact = []
    for u in U:
        free = [max(e - floor, mpf(0)) for e in u]
        total = mpmath.fsum(free)
        mass = scale - floor * len(u)
        exact.append([floor + (mass * e / total if total > 0 else mass / len(u)) for e in free])
    return exact


def compared_loss(problem: Problem, U: list[list[mpf]]) -> mpf:
    """Return the loss of the comparators that the theorems are about."""
    stops = [*problem.schedule.starts[1:], len(problem.y)]
    total = mpf(0)
    for start, stop, u in zip(problem.schedule.starts, stops, U, strict=True):
        for row, label in zip(problem.X[start:stop].tolist(), problem.y[start:stop], strict=True):
            total += (mpmath.fdot(u, [mpf(e) for e in row]) - mpf(float(label))) ** 2
    return total


def theorems(problem: Problem, U: list[list[mpf]], last: list[mpf]) -> dict[str, tuple[mpf, mpf]]:
    """Return (factor, what is added) of every theorem that speaks about the problem."""
    steps = [[a - b for a, b in zip(*pair, strict=True)] for pair in itertools.pairwise(U)]
    n, rounds, over = len(U[0]), len(problem.y), 1 / problem.eta
    found: dict[str, tuple[mpf, mpf]] = {}
    if problem.family in ("C-GD", "shifting p-norm"):
        q = mpf(problem.p) / (mpf(problem.p) - 1)
        norm = lambda v: mpmath.fsum(abs(e) ** q for e in v) ** (1 / q)  # noqa: E731
        shifting = mpf(problem.radius) * mpmath.fsum(map(norm, steps))
        plain = norm(U[-1]) ** 2 / 2 + shifting
        line = mpmath.fdot(U[-1], _power_link(last, q))
        end = norm(U[-1]) ** 2 / 2 + norm(last) ** 2 / 2 - line
        found[problem.family] = (mpf(2), over * plain)
        found["tracking in a bounded set"] = (mpf(2), over * (plain - end))
        return found
    size = mpmath.fsum(abs(e) for step in steps for e in step)
    alpha = mpf(problem.alpha)
    if problem.family == "C-EG":
        scale = mpf(problem.scale)
        log = scale * mpmath.log(n / scale) - _entropy(U[-1])
        sharp = log + mpmath.log(n / alpha - n + 1) * size / 2
        lost = (rounds - 1) * -scale * mpmath.log(1 - alpha * (n - 1) / n)
        half = mpf(3) / 2
        found["C-EG"] = (half, over * (scale * mpmath.log(n) + mpmath.log(n / alpha) * size / 2))
        found["C-EG, range of ln w"] = (half, over * sharp)
        found["C-EG, sparse comparators"] = (half, over * (sharp + lost))
        return found
    base = mpmath.fsum(U[0]) * mpmath.log(n) + 1 - mpmath.fsum(U[-1]) - _entropy(U[-1])
    plain = base + mpmath.log(n / alpha) * size
    end = mpmath.fsum(
        (u * mpmath.log(u / w) if u > 0 else 0) + w - u for u, w in zip(U[-1], last, strict=True)
    )
    found["C-EGU"] = (mpf(3), over * plain)
    found["tracking in a bounded set"] = (mpf(3), over * (plain - end))
    found["C-EGU, sparse comparators"] = (mpf(3), over * (plain + alpha * (rounds - 1)))
    if problem.guess is not None:
        guessed = mpf(problem.guess[1]) if problem.alpha < 1.0 else rounds - 1
        found["C-EGU, alpha from guesses"] = (mpf(3), over * (plain + guessed))
    return found


def exact_loss(predictions: Any, y: Any) -> Fraction:
    """Return the square loss of predictions in floating point, exactly."""
    pairs = zip(predictions.tolist(), y.tolist(), strict=True)
    return sum(((Fraction(p) - Fraction(label)) ** 2 for p, label in pairs), Fraction(0))


def exact_schedule_loss(problem: Problem) -> Fraction:
    """Return the schedule's square loss, exactly."""
    total = Fraction(0)
    for t, (row, label) in enumerate(zip(problem.X.tolist(), problem.y.tolist(), strict=True)):
        pairs = zip(problem.schedule.at(t).tolist(), row, strict=True)
        p = sum((Fraction(a) * Fraction(b) for a, b in pairs), Fraction(0))
        total += (p - Fraction(label)) ** 2
    return total


def judge(problem: Problem) -> tuple[ShiftingBounds, list[str], list[str]]:
    """Return what the library prints, the theorems judged, and every false statement."""
    predictions = problem.learner.learn(problem.X, problem.y)
    found = shifting_bounds(problem.learner, problem.schedule, problem.X, problem.y, problem.guess)
    own, schedule = exact_loss(predictions, problem.y), exact_schedule_loss(problem)
    false, judged = [], []
    if not Fraction(found.schedule_loss) >= schedule or not Fraction(found.loss) >= own:
        false.append("a loss is not rounded up")
    if Fraction(found.regret) < own - schedule:
        false.append("the measured regret is too small")
    for bound in found.bounds:
        if bound.applies and own > Fraction(bound.factor) * schedule + Fraction(bound.value):
            false.append(f"{bound.name}: the learner lost more than is printed")
    with mpmath.workdps(DIGITS):
        loss, _, last = play(problem)
        U = comparators(problem)
        compared = compared_loss(problem, U)
        for name, (factor, value) in theorems(problem, U, last).items():
            (bound,) = [one for one in found.bounds if one.name == name]
            if not bound.applies:
                continue
            judged.append(name)
            if loss > factor * compared + value + LOST * (1 + loss + abs(value)):
                false.append(f"{name}: violated, {loss} > {factor * compared + value}")
            printed = mpf(found.total(bound))
            true = factor * compared + value
            size = abs(value) + factor * compared + loss
            # Terms that cancel in the bracket leave their rounding, divided by the rate.
            cancelled = (1 + float(np.abs(problem.schedule.comparators).sum())) / problem.eta
            room = mpf(10) ** -8 * size + mpf(10) ** -11 * cancelled
            if printed < true - LOST * size or printed > true + room:
                false.append(f"{name}: printed {printed}, true {true}")
    left, right = found.identity or (0.0, 1.0)
    size = abs(left) + found.loss + found.schedule_loss
    cancelled = (1.0 + float(np.abs(problem.schedule.comparators).sum())) / float(problem.eta)
    if not abs(left - right) <= 1e-9 * size + 1e-13 * cancelled:
        false.append(f"the identity is off: {left} and {right}")
    return found, judged, false

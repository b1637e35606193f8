"""A batch problem whose rows are on shards elsewhere, and the solver for it.

Narrow rows: Newton's method (`batch.newton`), with the gradient and the matrix of each shard added
up. Wide rows: dual coordinate ascent of all shards side by side, see `batch.side_by_side` for the
step and why the dual never falls; rows stay on their shard. Where that is slow, a round of Newton's
method that only applies its matrix. Either way the gap is computed from the slopes on the shards,
by other code than that of the steps, and rounded outwards.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np

from noregret.arrays import Vector
from noregret.batch.ascent import FAR, SAMPLE, SETTLED
from noregret.batch.dual_newton import DualNewton
from noregret.batch.newton import MOST_STEPS, PARTS, Point, narrow, newton_round
from noregret.batch.objective import Objective, dual_parts, loss_roundings, loss_upper, sum_of
from noregret.batch.problem import Solution, closed, link
from noregret.batch.shard import Size
from noregret.batch.shard_balance import Balance
from noregret.batch.shared_guess import SharedGuess
from noregret.batch.side_by_side import LEAST_TURN, MOST_TURNS, WORTH_JOINING, joint_step, moved
from noregret.batch.solver import Solver
from noregret.batch.work_shares import WorkShares
from noregret.losses import Loss
from noregret.mirrors import Mirror
from noregret.passes.dual.dual import inner
from noregret.rounding import EPSILON
from noregret.workers import Workers, whole

NO_SLOPES = np.empty(0)
#: Conjugate gradient iterations that a Newton step may take, per slow turn.
GRADIENTS = 10
#: Numbers that a checkpoint keeps.
NUMBERS = ("passes", "looked", "delta", "solved", "spread", "far", "active", "dual", "travelled")
#: Largest part by which theta may differ from the sum of the rows times their slopes,
DRIFT = 1e-7
#: and by how many roundings of that sum and of steps: where they cancel little of theta is left.
ROUNDINGS = 1e5


@dataclass(frozen=True, eq=False)
class SharedProblem(Objective):
    """Rows at workers, and the objective over all of them.

    Args:
        workers: hosts of `batch.shard.Shard`.
        loss: of one score.
        mirror: the map whose regulariser counts.
        strength: b, its factor, above 0; 0 with a radius.
        width: the number of weights.
        radius: of the 2-norm ball that takes the place of the regulariser [default: none].
        free: whether a bias that the regulariser does not count is added [default: False].
    """

    workers: Workers = field(repr=False)
    loss: Loss
    mirror: Mirror
    strength: float
    width: int
    radius: float | None = None
    free: bool = False

    @cached_property
    def balance(self) -> Balance:
        """What balances the slopes of all shards."""
        return Balance(self, self.workers)

    @cached_property
    def size(self) -> Size:
        """The size of all shards together."""
        return Size.total(self.workers.call("size"))

    def describe(self) -> str:
        """Return what is minimised, in words."""
        size = self.size
        words = self.words(sum_of(self.loss, size.lightest, size.heaviest, size.offsets))
        return words + ", bias free" * self.free

    def gradient(self, which: str = "slopes", part: float = 1.0) -> Any:
        """Return g = sum c_i s_i x_i and sum c_i (s_i o_i - f*(s_i)), each with its error."""
        state, rest = self.workers.add("dual_sums", which, part, join="twofold")
        # Fixed order, so that no bit depends on the workers.
        sums = [float(sum(column)) for column in zip(*rest, strict=True)]
        return dual_parts(state, self.size.rows, self.workers.count, *sums)

    def dual_lower(self, which: str = "slopes", part: float = 1.0) -> float:
        """Return D(s), rounded down: no w has a smaller objective, whatever its bias."""
        parts = self.gradient(which, part)
        return self.lower(*(self.balance.lowered(parts, which, part) if self.free else parts))

    def primal_upper(self, weights: Vector, bias: float = 0.0) -> float:
        """Return P(w), rounded up; `bias` is added to every prediction."""
        sums = [sum(one) for one in zip(*self.workers.call("primal_sums", weights, bias))]  # noqa: B905
        roundings = loss_roundings(self.workers.count)
        with np.errstate(over="ignore", invalid="ignore"):
            losses = loss_upper(self.size.rows, self.size.weight, roundings, *sums)
            return self.upper(weights, losses)


class LostStep(RuntimeError):
    """The weights do not belong to the slopes of the shards: a step was lost or done twice."""


class Watch:
    """What is called around every step of a solver over shards: to keep its state, to report."""

    def before(self, solver: SharedSolver) -> None:
        """Before a step; the state of the solver and that of the shards belong together."""

    def after(self, solver: SharedSolver, done: bool) -> None:
        """After a step; done: whether the run ends here."""


@dataclass(eq=False)
class SharedSolver(Solver):
    """Minimise sum_i c_i f(y_i, <w, x_i> + o_i) + b F(w) over rows on shards.

    A pass is a turn of all shards, or a Newton step. The slopes stay where the rows are, so that
    the solution has none.

    Args:
        watch: called around every step [default: nothing is].
    """

    problem: SharedProblem
    watch: Watch = field(default=Watch(), repr=False)

    def __post_init__(self) -> None:
        super().__post_init__()
        problem = self.problem
        self.workers = problem.workers
        self.guess = SharedGuess(self.tol)
        self.newton = narrow(problem.size, problem.width) or not problem.mirror.half_square()
        self.theta: Vector = self.first_theta()
        #: Largest width by which Newton rounds smooth the losses.
        self.delta = math.inf
        #: Whether the last round of Newton steps was solved.
        self.solved = True
        #: sigma', the distance within which a settled slope must stay, and the rows still active.
        self.spread, self.far = float(self.workers.count), FAR
        self.active = problem.size.counted
        self.dual = -math.inf
        #: Sum of the largest |theta_j| of the passes since theta was computed from the slopes.
        self.travelled = 0.0
        self.leaps = DualNewton(problem, self.workers)
        #: How many rows each shard visits in a turn; None for full shares.
        self.work: WorkShares | None = None

    def first_theta(self) -> Vector:
        """Return the theta of the slopes on the shards."""
        return np.asarray(-self.problem.gradient()[0] / self.problem.strength)

    @property
    def turns(self) -> int:
        """Turns in which shards visit their active rows once."""
        size = self.problem.size
        features = size.features * self.active / max(size.counted, 1)
        least = max(LEAST_TURN, WORTH_JOINING * self.workers.count * self.problem.width)
        return int(min(max(features / least, 1.0), MOST_TURNS))

    def step(self) -> bool:
        """Make a round of Newton steps, or a turn of visits; call the watch before and after."""
        self.watch.before(self)
        done = self.advance()
        self.watch.after(self, done)
        return done

    def advance(self) -> bool:
        """Make a round of Newton steps, or a turn of visits; return whether the run ends here."""
        if self.best is None:
            # Newton steps need to know how large the gap is.
            return self.look().converged or (not self.newton and self.turn())
        return self.round() if self.newton else self.turn()

    def round(self) -> bool:
        """Play a round of Newton steps; take of its slopes as much as raises the dual."""
        problem, best = self.problem, self.best
        assert best is not None
        self.workers.call("take", 1.0)
        goal = self.tol * max(1.0, abs(best.primal))
        most = min(MOST_STEPS, self.max_passes - self.passes)
        here, steps = self.play(best.gap, goal, most)
        self.passes += max(steps, 1)
        before, lower = self.dual, -math.inf
        for part in PARTS:
            lower = problem.dual_lower("offered", part)
            if lower > before:
                break
        else:
            part, lower = 0.0, before
        self.workers.call("take", part)
        self.dual = lower
        self.theta = here.theta
        weights = problem.inside(here.weights)
        primal = problem.primal_upper(weights, here.bias)
        best = self.keep(self.solution(weights, primal, lower, NO_SLOPES, here.bias))
        self.report(best.gap, best.primal, problem.size.counted)
        return best.converged

    def play(self, gap: float, goal: float, most: int) -> tuple[Point, int]:
        """Return the point of a round of at most `most` Newton steps, and how many it took.

        gap: that of the slopes; goal: the gap at which the run ends.
        """
        problem, start = self.problem, (self.away_from_zero(), 0.0)
        here, steps, self.delta, self.solved = newton_round(
            problem, self.workers, problem.size, start, self.delta, gap, goal, most,
            follow=self.solved,
        )  # fmt: skip
        return here, steps

    def away_from_zero(self) -> Vector:
        """Return theta, or that of the slopes at w = 0: a p-norm has no second derivative at 0."""
        problem = self.problem
        if problem.mirror.half_square() or self.theta.any():
            return self.theta
        self.workers.call("answer", link(problem.mirror, self.theta), 0.0, 0.0)
        pulled, _ = self.workers.add("pull", 0.0)
        return np.asarray(-whole(pulled) / problem.strength)

    def turn(self) -> bool:
        """Let all shards visit rows; examine the slopes once the guess of the gap is small."""
        guess = self.guess
        guess.turns = self.turns
        largest, all_visited = self.visit()
        self.passes += 1
        self.report(guess.gap, guess.primal, self.active)
        # A turn through a part of the rows says nothing about the others.
        settled = (largest == 0.0 and all_visited) or self.active == 0
        if not settled and guess.gap > guess.goal:
            if guess.stale():
                self.revive()
            crawled = guess.slow()
            if crawled:
                self.leap(GRADIENTS * crawled)
            return False
        solution = self.look()
        if solution.converged or not (self.revive() or not settled):
            return True
        guess.correct(solution, guess.gap)
        crawled = guess.slow()
        if crawled:
            self.leap(GRADIENTS * crawled)
        return False

    def visit(self) -> tuple[float, bool]:
        """Let all shards visit rows and join their steps.

        Returns the largest movement, and whether all active rows were visited.
        """
        problem, before = self.problem, self.active
        every = 1 << (before // SAMPLE).bit_length()
        kappa = problem.mirror.kappa(0.5 * float(inner(self.theta, self.theta)), 0.0, 1.0)
        given = kappa * self.theta, self.spread, self.far, every, self.turns
        shares = () if self.work is None else (self.work.of(self.passes + 1),)
        step, rest = self.workers.add("visit", *given, *shares)
        step = whole(step)
        active, visited, largest, lost, apart, length, squares = zip(*rest, strict=True)
        if self.work is not None:
            self.work.made(self.passes + 1, visited, active, self.workers.seconds)
        if not math.isfinite(max(largest)):
            raise OverflowError("the weights overflow: scale the rows or raise the strength")
        parts, square = sum(squares), float(inner(step, step))
        gamma, self.spread = joint_step(parts, sum(length), square, self.spread, len(rest))
        gamma, self.theta = moved(self.theta, step, gamma)
        if gamma < 1.0:
            self.workers.call("settle", gamma)
        self.travelled += float(np.max(np.abs(self.theta)))
        self.active, self.far = sum(active), SETTLED * max(largest)
        # The sample is of the rows visited, which stand for all active ones.
        share = every * problem.strength * before / max(sum(visited), 1)
        half = 0.5 * problem.strength * float(inner(self.theta, self.theta))
        primal = share * sum(lost) + half if before == problem.size.counted else None
        self.guess.see(share * sum(apart), primal)
        return float(max(largest)), sum(visited) == before

    def leap(self, budget: int) -> None:
        """Try a Newton step of the dual over the free rows."""
        shift = self.leaps.step(self.theta, budget)
        if shift is not None:
            self.theta += shift
            self.far = FAR

    def revive(self) -> bool:
        """Make rows active again that were put aside too early; return whether there were any."""
        kappa = self.problem.mirror.kappa(0.5 * float(inner(self.theta, self.theta)), 0.0, 1.0)
        before, self.active = self.active, sum(self.workers.call("revive", kappa * self.theta))
        return self.active > before

    def examine(self) -> Solution:
        """Return the exact evaluation at the slopes so far; theta must belong to them."""
        problem = self.problem
        parts = problem.gradient()
        theta = -parts[0] / problem.strength
        if self.best is not None and not self.newton:
            self.require_same(theta, parts[1] / problem.strength)
        self.theta, self.dual = theta, problem.lower(*parts)
        self.travelled = float(np.max(np.abs(theta)))
        weights = link(problem.mirror, theta)
        return self.solution(weights, problem.primal_upper(weights), self.dual, NO_SLOPES)

    def require_same(self, theta: Vector, error: float) -> None:
        """Refuse a theta that differs from the sum over the shards by more than drift.

        error: a bound on the rounding of the sum.
        """
        away = float(np.max(np.abs(theta - self.theta), initial=0.0))
        size = float(np.max(np.abs(theta), initial=0.0)) + float(
            np.max(np.abs(self.theta), initial=0.0)
        )
        if not math.isfinite(size):
            raise OverflowError("the weights overflow: scale the rows or raise the strength")
        error += EPSILON * self.travelled
        if not away <= DRIFT * size + ROUNDINGS * error + 1e-300:
            raise LostStep(
                f"the weights differ by {away:.3g} from those of the dual variables of all shards: "
                "a step was lost or made twice"
            )

    def interrupted(self) -> None:
        """Drop an unfinished round; after an unfinished turn take theta from the slopes."""
        if self.newton:
            # Its slopes prove little.
            self.workers.call("take", 0.0)
        else:
            # The slopes of some shards have moved, and theta has not.
            self.theta = self.first_theta()

    def kept(self, new: Solution) -> Solution:
        """Return the new solution with earlier weights in place of its own if they are better."""
        best = self.best
        if best is not None and best.primal < new.primal:
            new = replace(new, weights=best.weights, primal=best.primal, bias=best.bias)
        return replace(new, converged=closed(new.primal, new.dual, self.tol))

    def check(self) -> None:
        """Refuse a state in which weights or dual do not belong to the slopes on the shards."""
        if self.newton:
            lower = self.problem.dual_lower()
            if self.best is not None and lower != self.dual:
                raise LostStep(
                    f"the dual is {lower!r} and was {self.dual!r}: the slopes of a shard changed "
                    "since they were examined"
                )
            return
        g, error, *_ = self.problem.gradient()
        self.require_same(-g / self.problem.strength, error / self.problem.strength)

    def state(self) -> tuple[dict[str, Any], dict[str, Vector]]:
        """Return what the solver knows beside the shards, as numbers and as arrays."""
        numbers = {name: getattr(self, name) for name in NUMBERS}
        numbers |= {"guess": dict(vars(self.guess)), "damping": self.leaps.damping}
        arrays = {"theta": self.theta.copy()}
        if self.best is not None:
            best = self.best
            numbers["best"] = [best.primal, best.dual, best.passes, best.bias]
            arrays["weights"] = self.best.weights.copy()
        return numbers, arrays

    def go_back(self, numbers: dict[str, Any], arrays: dict[str, Vector]) -> None:
        """Return to a state that was kept; the shards return to theirs by themselves."""
        for name in NUMBERS:
            setattr(self, name, numbers[name])
        vars(self.guess).update(numbers["guess"])
        self.leaps.damping = numbers["damping"]
        self.theta, self.best = arrays["theta"].copy(), None
        if "best" in numbers:
            primal, dual, passes, bias = numbers["best"]
            found = self.solution(arrays["weights"], primal, dual, NO_SLOPES, bias)
            self.best = replace(found, passes=passes)

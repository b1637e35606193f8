"""Batch problems on shards before exact arithmetic: python -m tests.truth.shared_problems.

The problems of `hindsight_problems`, cut into 1 to 8 shards and solved by both paths of
`SharedSolver`, Newton's method over shards and dual ascent side by side, or with a free bias or in
a ball by Newton rounds. What the solver returns after some passes, and what `verified` says about
it and about random slopes and weights, is judged: in fractions where loss and map are rational,
else in 100 decimal digits. With a bias a dual is that of slopes of which one row takes the
remainder of their balance, whichever row is best.
"""

from __future__ import annotations

import argparse
import math
import sys
import time
from collections.abc import Sequence
from dataclasses import replace
from typing import Any
from unittest.mock import patch

import mpmath
import numpy as np

import noregret as nr
from noregret.batch import Problem, Solution, shared
from noregret.batch.problem import link
from noregret.mirrors import Ball
from tests.batch.on_shards import proved, shards_of, slopes_of, solver_of
from tests.truth.claims import Tally
from tests.truth.exact_objectives import ExactObjective, rational
from tests.truth.hindsight_problems import (
    LAYOUTS,
    LOSSES,
    MAPS,
    REFUSALS,
    TOL,
    Case,
    Combo,
    table,
)
from tests.truth.objectives import DIGITS, Objective

#: Passes after which a run is judged, cumulative.
STOPS = (1, 2, 5, 40, 200)


def combos() -> list[Combo]:
    """Return every loss with the 2-norm, in balls, with a bias and with other maps."""
    found = []
    for k, loss in enumerate(LOSSES):
        layouts = [LAYOUTS[(k + shift) % len(LAYOUTS)] for shift in range(4)]
        found += [Combo(loss, "l2", None, layouts[0]), Combo(loss, "ball", None, layouts[1])]
        found += [
            Combo(loss, "map", MAPS[(2 * k + shift) % len(MAPS)], layouts[2 + shift])
            for shift in (0, 1)
        ]
        several = Combo(loss, "map and bias", (*MAPS, Ball(0.7))[k % 11], layouts[0])
        found += [Combo(loss, "radius", None, layouts[2]), Combo(loss, "bias", None, layouts[3])]
        found.append(several)
    # Of those with a bias -ln p alone has no best one.
    return [
        one
        for one in found
        if "bias" not in one.mode or not isinstance(one.loss, nr.losses.NegativeLog)
    ]


COMBOS = combos()


class SharedCase(Case):
    """One problem, its shards, and the judge."""

    def __init__(self, combo: Combo, random: np.random.Generator) -> None:
        super().__init__(combo, random)
        self.count = int(random.integers(1, min(8, len(self.y)) + 1))
        # Sometimes a pass visits a part of the rows only.
        self.least = int(random.choice([1, shared.LEAST_TURN]))
        self.free = bool(self.options.get("bias"))

    def judge(self) -> Tally:
        """Solve by both paths and check whatever is said."""
        problem = self.problem()
        objective = Objective(problem)
        self.exact = ExactObjective(problem) if rational(problem) else None
        visits = problem.mirror.half_square() and problem.radius is None and not self.free
        for newton in (True, False) if visits else (True,):
            self.run(problem, objective, newton)
        self.compare(objective)
        self.wild(problem, objective)
        return self.tally

    def run(self, problem: Problem, objective: Objective, newton: bool) -> None:
        """Solve by one path; check it after some passes and at its end."""
        shards = shards_of(problem, self.count, int(self.random.integers(1000)))
        with patch.multiple(shared, LEAST_TURN=self.least, WORTH_JOINING=0.0):
            solver = solver_of(
                problem, shards, newton, 1 + self.count // 2, self.free, tol=TOL, max_passes=1
            )
            for stop in STOPS:
                solver.max_passes = stop
                found = solver.run()
                slopes = slopes_of(shards)
                # The slopes lie on the shards: hand them to the judge with the solution.
                self.enter(objective, replace(found, alpha=slopes), TOL)
                self.verify(problem, objective, slopes, found.weights, found.bias, found)
                if found.converged:
                    break
            solver.check()
        self.say("slopes", bool(np.all(np.isfinite(slopes))), "a slope is not finite")

    def verify(
        self,
        problem: Problem,
        objective: Objective,
        slopes: Any,
        weights: Any,
        bias: float,
        found: Solution | None = None,
    ) -> None:
        """Check what `verified` says about slopes, weights and a bias."""
        primal, dual = proved(problem, slopes, weights, self.count, bias if self.free else None)
        if np.all(np.isfinite(weights)):
            if self.exact is not None:
                value = self.exact.primal(weights, bias)
                true = primal == math.inf or primal >= value
                self.say("verified primal, exact", true, f"P(w) is above {primal!r}")
            else:
                self.check(
                    "verified primal", primal, objective.primal(weights, bias), "P(w) is above it"
                )
        said = {"verified dual": dual} | ({} if found is None else {"dual": found.dual})
        for kind, value in said.items():
            self.judge_dual(kind, value, objective, slopes)
        if found is not None and found.converged:
            # Once for each run that converges: both evaluations differ by their rounding only.
            offset = 0.0 if self.offset is None else float(problem.weight @ np.abs(self.offset))
            size = abs(found.primal) + 1.0 + offset
            size += abs(problem.primal_upper(np.zeros(problem.width)))
            near = abs(primal - found.primal) <= 1e-9 * size and dual >= found.dual - 1e-9 * size
            self.say("verified is tight", near, f"{primal!r}, {dual!r}: {found.primal, found.dual}")

    def judge_dual(self, kind: str, value: float, objective: Objective, slopes: Any) -> None:
        """Check that a lower bound is not above what the slopes prove."""
        judge: Any = objective if self.exact is None else self.exact
        floor = judge.dual(slopes)
        if floor is None or not floor > -math.inf:
            # A slope that rounding has put outside its interval proves nothing to the judge.
            return
        if self.free:
            floor = judge.balanced_dual(slopes)
        proves_something = floor is not None and floor > -math.inf
        if judge.problem.loss.nonnegative:
            floor = max(floor, 0) if proves_something else 0
            proves_something = True
        if not proves_something:
            self.say(f"{kind}, unproved", value == -math.inf, f"{value!r} has no proof")
        elif self.exact is None:
            self.check(kind, floor, value, "D(s) is below it")
        else:
            true = value == -math.inf or value <= floor
            self.say(f"{kind}, exact", true, f"D(s) is below {value!r}")

    def wild(self, problem: Problem, objective: Objective) -> None:
        """Verify slopes and weights that no solver would stop at."""
        random = self.random
        for _ in range(3):
            scale = 10.0 ** random.integers(-3, 4)
            slopes = problem.clipped(random.standard_normal(len(self.y)) * scale)
            theta = random.standard_normal(problem.width) * 10.0 ** random.integers(-3, 3)
            weights = problem.inside(link(problem.mirror, theta))
            bias = float(random.standard_normal() * 10.0 ** random.integers(-3, 3))
            self.verify(problem, objective, slopes, weights, bias * self.free)


def run_one(combo: Combo, seed: Sequence[int]) -> Tally | None:
    """Draw a problem and judge it; None if it was refused, as overflowing ones are."""
    with mpmath.workdps(DIGITS), np.errstate(all="ignore"):
        case = SharedCase(combo, np.random.default_rng(seed))
        try:
            return case.judge()
        except (ArithmeticError, ValueError, RuntimeError) as error:
            if any(text in str(error) for text in REFUSALS):
                return None
            case.say("finished", False, f"{type(error).__name__}: {error}")
            return case.tally


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the problems; return 1 if any statement was false."""
    parser = argparse.ArgumentParser(prog="tests.truth.shared_problems", description=__doc__)
    parser.add_argument("--problems", type=int, default=1000, help="how many problems")
    parser.add_argument("--seed", type=int, default=0, help="which problems")
    parser.add_argument("--only", type=int, help="the number of one problem to solve again")
    options = parser.parse_args(arguments)
    total, refused, start = Tally(), 0, time.monotonic()
    chosen = range(options.problems) if options.only is None else [options.only]
    for done, index in enumerate(chosen, 1):
        combo = COMBOS[index % len(COMBOS)]
        tally = run_one(combo, [options.seed, index])
        if tally is None:
            refused += 1
        else:
            total.add(tally)
            if tally.false:
                print(f"\nFALSE --seed {options.seed} --only {index}: {combo.name}")
                print("\n".join(f"    {text}" for text in tally.false[:5]))
        if done % 20 == 0 or done == len(chosen):
            passed = time.monotonic() - start
            print(
                f"\r{done:,} of {len(chosen):,} problems, {sum(total.checked.values()):,} "
                f"statements, {len(total.false)} violations, {passed:.0f} s",
                end="",
                flush=True,
            )
    print("\n" + table(total, len(chosen), refused))
    return 1 if total.false else 0


if __name__ == "__main__":
    sys.exit(main())

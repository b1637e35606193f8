"""Batch problems before exact arithmetic: python -m tests.truth.hindsight_problems --problems 2000.

Every problem is solved in steps, warm started, interrupted and finished; whatever is returned on
the way is judged: the objective it prints, the lower bound, the gap, what "converged" means, and
the floors that an online learner certifies on the same rows.
"""

from __future__ import annotations

import argparse
import math
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any
from unittest.mock import patch

import mpmath
import numpy as np
import scipy.sparse as sp

import noregret as nr
from noregret.batch import Problem, Progress, Solution, hindsight, side_by_side
from tests.truth.claims import Tally
from tests.truth.objectives import DIGITS, Objective

LOSSES: tuple[nr.losses.Loss, ...] = (
    nr.losses.Hinge(),
    nr.losses.SquaredHinge(0.3),
    nr.losses.Logistic(),
    nr.losses.WinnowHinge(),
    nr.losses.Exponential(),
    nr.losses.PowerHinge(3.0),
    nr.losses.OneSidedHuber(),
    nr.losses.Squared(),
    nr.losses.Absolute(),
    nr.losses.EpsilonInsensitive(0.2),
    nr.losses.SquaredEpsilonInsensitive(0.2),
    nr.losses.Huber(0.7),
    nr.losses.Quantile(0.1),
    nr.losses.NegativeLog(),
)
MAPS: tuple[nr.mirrors.Mirror, ...] = (
    nr.mirrors.PNorm(3.0),
    nr.mirrors.Entropy(2.0),
    nr.mirrors.UnnormalizedEntropy(0.3),
    nr.mirrors.SignedEntropy(1.5),
    nr.mirrors.ElasticNet(0.4),
    nr.mirrors.Box(-0.5, 1.0),
    nr.mirrors.Box(1.0, 2.0),
    nr.mirrors.Power(1.5),
    nr.mirrors.Hypentropy(0.1),
    nr.mirrors.SoftThreshold(0.4),
)
LAYOUTS = ("dense64", "sparse64", "dense32", "sparse32")
#: The losses with which an online learner is run beside.
ONLINE = (nr.losses.Hinge, nr.losses.Logistic, nr.losses.Absolute, nr.losses.Squared)
#: Modes that are solved on shards.
SHARED = ("l2", "ball", "radius")
#: What a refusal may say; any other exception is a failure.
REFUSALS = ("overflow", "falls forever", "beyond 1e+100")
#: The tolerance of the last run of a problem, and its passes.
TOL, PASSES = 1e-9, 300


@dataclass(frozen=True)
class Combo:
    """A loss, a regulariser and a layout, for which the passes are compiled once."""

    loss: nr.losses.Loss
    #: "l2", "ball" (l2 in a ball), "radius", "bias", or a map, with or without a bias.
    mode: str
    mirror: nr.mirrors.Mirror | None
    layout: str

    @property
    def name(self) -> str:
        """What it is, in words."""
        return f"{self.loss} | {self.mode} {self.mirror or ''} | {self.layout}"


def combos() -> list[Combo]:
    """Return every loss with the regularisers of the 2-norm, and with a map or a bias in turn."""
    found = []
    for k, loss in enumerate(LOSSES):
        layout = LAYOUTS[k % len(LAYOUTS)]
        found += [Combo(loss, mode, None, layout) for mode in ("l2", "ball", "radius")]
        mirror = MAPS[k % len(MAPS)] if k % 5 else None
        mode = "bias" if mirror is None else ("map and bias" if k % 4 == 1 else "map")
        found.append(Combo(loss, mode, mirror, layout))
    return found


COMBOS = combos()


class Case:
    """One problem: its data as a user holds them, its options, and the judge."""

    def __init__(self, combo: Combo, random: np.random.Generator) -> None:
        self.combo, self.random = combo, random
        self.tally = Tally()
        rows = int(random.choice([1, 2, 3, 6, 11]))
        width = int(random.choice([1, 2, 4, 15]))
        X = self._features(rows, width)
        self.y = self._labels(rows)
        self.weight = self._weights(rows)
        spread = float(random.choice([0.0, 0.0, 1.0, 1e6]))
        self.offset = spread * random.standard_normal(rows) if spread else None
        typical = float(np.mean(np.sum(X * X, axis=1))) or 1.0
        self.options = self._strength(typical)
        if combo.layout.endswith("32"):
            X = np.clip(X, -1e30, 1e30).astype(np.float32)
        self.X = sp.csr_array(X) if combo.layout.startswith("sparse") else X
        #: Only the solvers of the 2-norm work on shards.
        self.shards = int(random.choice([1, 2, 5])) if combo.mode in SHARED else 1
        self.duals: list[Any] = []
        self.primals: list[Any] = []
        self.solutions: list[tuple[Solution, Any]] = []

    def _features(self, rows: int, width: int) -> Any:
        random = self.random
        power = float(random.choice([0, 0, 0, 0, -3, 3, -20, 20, -150, 90]))
        X = random.standard_normal((rows, width)) * 10.0**power
        X *= random.choice([0.0, 1.0, 1.0], (rows, width))
        kind = random.integers(6)
        if kind == 0:
            X *= 10.0 ** random.integers(-4, 5, (rows, 1))
        elif kind == 1:
            X = np.sign(X)
        elif kind == 2:
            # Twins, and a row without features.
            X[random.integers(rows)] = X[0]
            X[random.integers(rows)] = 0.0
        elif kind == 3:
            X = np.abs(X)
        return X

    def _labels(self, rows: int) -> Any:
        random = self.random
        if self.combo.loss.labels == "sign":
            return random.choice([-1.0, 1.0], rows) if random.random() < 0.8 else np.ones(rows)
        y = random.standard_normal(rows) * 10.0 ** float(random.choice([-8, 0, 0, 0, 5, 60]))
        return y if random.random() < 0.8 else np.full(rows, y[0])

    def _weights(self, rows: int) -> Any:
        random = self.random
        kind = random.random()
        if kind < 0.5:
            return None
        if kind < 0.75:
            return random.choice([0.0, 0.5, 1.0, 3.0], rows)
        return (
            10.0 ** random.uniform(-8, 8, rows)
            if kind < 0.95
            else 10.0 ** random.uniform(-90, 90, rows)
        )

    def _strength(self, typical: float) -> dict[str, Any]:
        random, mode = self.random, self.combo.mode
        force = typical * 10.0 ** (random.uniform(-4, 3) + float(random.choice([0, 0, 0, -30, 30])))
        force = min(max(force, 1e-290), 1e290)
        radius = 10.0 ** random.uniform(-2, 2) / math.sqrt(typical)
        if mode == "radius":
            return {"radius": radius}
        if self.combo.mirror is not None:
            bias = mode == "map and bias"
            return {"mirror": self.combo.mirror, "strength": force, "bias": bias}
        if mode == "ball":
            return {"l2": force, "radius": radius}
        return {"l2": force, "bias": mode == "bias"}

    def solve(self, **more: Any) -> Solution:
        """Solve, with options beside those of the problem; even few features are shared out."""
        with patch.multiple(side_by_side, LEAST_TURN=1, LEAST_EPOCH=1, WORTH_JOINING=0.0):
            return hindsight(
                self.X, self.y, self.combo.loss, weight=self.weight, offset=self.offset,
                seed=int(self.random.integers(1000)), shards=self.shards, **self.options, **more,
            )  # fmt: skip

    def problem(self) -> Problem:
        """Return the problem as the judge sees it."""
        o = self.options
        mirror, radius = o.get("mirror"), o.get("radius")
        if "l2" in o and radius is not None:
            mirror, radius = nr.mirrors.Ball(radius), None
        strength = o.get("l2", o.get("strength", 0.0))
        return Problem.of(
            self.X, self.y, self.combo.loss, mirror, strength, self.weight, self.offset, radius
        )

    def judge(self) -> Tally:
        """Solve in steps and check whatever is said."""
        objective = Objective(self.problem())
        wild = self.random.standard_normal(len(self.y)) * 10.0 ** self.random.integers(-3, 4)
        self.enter(objective, self.solve(max_passes=1, tol=TOL), TOL)
        self.enter(objective, self.solve(max_passes=1, tol=0.3, warm_start=wild), 0.3)
        for passes in (1, 2):
            last = self.solutions[-1][0]
            self.enter(objective, self.solve(max_passes=passes, tol=TOL, warm_start=last), TOL)
        stop = int(self.random.integers(1, 6))

        def interrupt(progress: Progress) -> None:
            if progress.passes >= stop:
                raise KeyboardInterrupt

        self.enter(objective, self.solve(max_passes=40, tol=TOL, progress=interrupt), TOL)
        last = self.solutions[-1][0]
        self.enter(objective, self.solve(max_passes=PASSES, tol=TOL, warm_start=last), TOL)
        self.compare(objective)
        self.online()
        return self.tally

    def enter(self, objective: Objective, found: Solution, tol: float) -> None:
        """Check a solution by itself."""
        finite = bool(np.all(np.isfinite(found.weights)))
        value = objective.primal(found.weights, found.bias) if finite else mpmath.inf
        self.check("primal", found.primal, value, "P(w) is above the objective printed")
        if not self.options.get("bias"):
            proved = objective.dual(found.alpha)
            # A slope that rounding has put outside its interval proves nothing to the judge.
            if mpmath.isfinite(proved):
                floor = max(proved, mpmath.mpf(0)) if self.combo.loss.nonnegative else proved
                self.check("dual", floor, found.dual, "the dual printed is above D(s)")
        said = found.primal < math.inf and found.gap <= tol * max(1.0, abs(found.primal))
        self.say("converged", found.converged == said, "converged is not what the gap says")
        self.say("gap", found.gap >= 0.0, f"the gap is {found.gap}")
        if objective.problem.radius is not None and finite:
            radius = mpmath.mpf(objective.problem.radius)
            length = mpmath.sqrt(mpmath.fsum(mpmath.mpf(float(w)) ** 2 for w in found.weights))
            self.check("ball", radius, length, "the weights lie outside the ball")
        self.solutions.append((found, value))

    def compare(self, objective: Objective) -> None:
        """Check all solutions against each other and against weights nearby."""
        best, least = min(self.solutions, key=lambda pair: pair[1])
        tried = [value for _, value in self.solutions]
        if np.all(np.isfinite(best.weights)):
            for size in (0.0, 1e-12, 1e-6, 1e-2):
                near = best.weights * (1.0 + size * self.random.standard_normal(len(best.weights)))
                if isinstance(objective.mirror, nr.mirrors.Box):
                    near = np.clip(near, objective.mirror.low, objective.mirror.high)
                tried.append(objective.primal(near, best.bias))
        least = min(tried)
        for found, value in self.solutions:
            self.check("weak duality", least, found.dual, "a predictor is below the lower bound")
            if mpmath.isfinite(value):
                self.check("gap", found.gap, value - least, "better by more than the gap")

    def online(self) -> None:
        """Check that an online learner's floors stay below what the best predictor costs."""
        loss, options = self.combo.loss, self.options
        if self.offset is not None or self.combo.mode not in ("radius", "l2"):
            return
        if not isinstance(loss, ONLINE):
            return
        radius = options.get("radius")
        mirror = nr.mirrors.Euclidean() if radius is None else nr.mirrors.Ball(radius)
        size = float(np.max(np.abs(self.X).sum(axis=1)) or 1.0)
        learner = nr.MirrorDescent(loss, mirror, nr.rates.Constant(1.0 / size**2))
        learner.learn(self.X, self.y, self.weight)
        certificate = learner.certificate()
        least = min(value for _, value in self.solutions)
        if radius is not None:
            self.check("online floor", least, certificate.floor(radius), "below a certified floor")
            return
        floor = certificate.regularized_floor(1.0 / options["l2"])
        # 1/l2 is rounded, and the regulariser with it.
        self.check("online floor", least * (1 + mpmath.mpf(2) ** -50), floor, "below its floor")

    def check(self, kind: str, above: Any, below: Any, what: str) -> None:
        """Enter the statement that one number is not below another."""
        above, below = mpmath.mpf(above), mpmath.mpf(below)
        size = max(abs(above), abs(below))
        known = mpmath.isfinite(size) and size > 0
        distance = float((above - below) / size) if known else math.inf
        self.tally.enter(kind, bool(above >= below), distance, what)

    def say(self, kind: str, true: bool, what: str) -> None:
        """Enter a statement without a distance."""
        self.tally.enter(kind, true, math.inf, what)


def run_one(combo: Combo, seed: Sequence[int]) -> Tally | None:
    """Draw a problem and judge it; None if it was refused, as overflowing ones are."""
    with mpmath.workdps(DIGITS), np.errstate(all="ignore"):
        case = Case(combo, np.random.default_rng(seed))
        try:
            return case.judge()
        except (ArithmeticError, ValueError) as error:
            if any(text in str(error) for text in REFUSALS):
                return None
            case.say("finished", False, f"{type(error).__name__}: {error}")
            return case.tally


def table(total: Tally, problems: int, refused: int) -> str:
    """Return the summary: statements, violations, and the least distance from falsehood."""
    lines = [f"{'statement':<22}{'checked':>10}{'false':>8}{'tightest':>12}"]
    for kind, count in sorted(total.checked.items()):
        false = sum(text.startswith(f"{kind}: ") for text in total.false)
        lines.append(f"{kind:<22}{count:>10,}{false:>8}{total.tightest[kind]:>12.2e}")
    checked = sum(total.checked.values())
    lines.append(
        f"{problems:,} problems ({refused:,} refused), {checked:,} statements, "
        f"{len(total.false)} violations"
    )
    return "\n".join(lines)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the problems; return 1 if any statement was false."""
    parser = argparse.ArgumentParser(prog="tests.truth.hindsight_problems", description=__doc__)
    parser.add_argument("--problems", type=int, default=2000, help="how many problems")
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

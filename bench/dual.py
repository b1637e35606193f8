"""Time to a given accuracy of the batch solver, against LIBLINEAR and scikit-learn's saga.

Everybody solves sum of losses + ||w||^2 / (2 C), C = 1, without a bias, on rows in memory. Each
contestant's own tolerance is first swept to the loosest that reaches the accuracy; ours pays for
the checks of the rows and for the exact duality gap, LIBLINEAR not for the conversion of the rows.
"""

from __future__ import annotations

import argparse
import statistics
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

import noregret as nr
from bench.data import Data, make
from bench.timing import Line

ROWS = 100_000
#: The relative distance from the minimum that everybody has to reach, in every repetition.
ACCURACY = 1e-3

Vector = npt.NDArray[np.float64]
#: From a tolerance to weights.
Fit = Callable[[float], Vector]

OWN_TOLERANCES = tuple(10.0 ** (-k / 8.0) for k in range(8, 33))
LIBLINEAR_TOLERANCES = tuple(10.0 ** (-k / 8.0) for k in range(-24, 33))
SAGA_TOLERANCES = (0.1, 0.03, 0.01, 0.003, 0.001, 3e-4, 1e-4)


@dataclass(frozen=True)
class Task:
    """A loss, the factor that makes LIBLINEAR's objective ours, its solvers and our bar."""

    name: str
    loss: nr.losses.Loss
    #: Our strength; the squared hinge of LIBLINEAR is without the half of ours.
    strength: float
    solvers: tuple[int, ...]
    bar: float

    def objective(self, data: Data, weights: Vector) -> float:
        """Return the objective in double precision."""
        margins = data.y * (data.X @ weights)
        if self.name == "hinge":
            total = np.maximum(1.0 - margins, 0.0).sum()
        elif self.name == "squared hinge":
            total = 0.5 * np.square(np.maximum(1.0 - margins, 0.0)).sum()
        else:
            total = np.logaddexp(0.0, -margins).sum()
        return float(total + 0.5 * self.strength * (weights @ weights))


TASKS = (
    Task("hinge", nr.losses.Hinge(), 1.0, (3,), 0.8),
    Task("squared hinge", nr.losses.SquaredHinge(), 0.5, (1, 2), 0.85),
    Task("logistic", nr.losses.Logistic(), 1.0, (0, 7), 1.05),
)


def ours(data: Data, task: Task) -> Fit:
    """Return our solver, from the matrix to the certified solution."""

    def fit(tolerance: float) -> Vector:
        best = nr.hindsight(data.X, data.y, task.loss, l2=task.strength, tol=tolerance)
        return best.weights

    return fit


def liblinear(data: Data, solver: int) -> Fit:
    """Return LIBLINEAR's training on rows that were converted before."""
    from liblinear.liblinearutil import parameter, problem, train

    converted = problem(data.y, data.X.astype(np.float64))

    def fit(tolerance: float) -> Vector:
        model = train(converted, parameter(f"-s {solver} -c 1 -e {tolerance} -B -1 -q"))
        weights = np.array(model.w[: model.nr_feature])
        return weights if model.label[0] == 1 else -weights

    return fit


def saga(data: Data, task: Task) -> Fit:
    """Return scikit-learn's saga, which knows the logistic loss only."""
    import warnings

    from sklearn.exceptions import ConvergenceWarning
    from sklearn.linear_model import LogisticRegression

    def fit(tolerance: float) -> Vector:
        model = LogisticRegression(
            solver="saga", C=1.0, fit_intercept=False, tol=tolerance, max_iter=1000, random_state=0
        )
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            weights: Vector = model.fit(data.X, data.y).coef_[0].astype(np.float64)
        return weights

    return fit


def seconds(fit: Fit, tolerance: float) -> tuple[float, Vector]:
    """Return how long a run took, and its weights."""
    begin = time.perf_counter()
    weights = fit(tolerance)
    return time.perf_counter() - begin, weights


def loosest(fit: Fit, tolerances: tuple[float, ...], reached: Callable[[Vector], bool]) -> int:
    """Return the place of the largest tolerance that reaches the accuracy."""
    for place, tolerance in enumerate(tolerances):
        if reached(fit(tolerance)):
            return place
    raise RuntimeError("no tolerance of the sweep reaches the accuracy")


def measure(data: Data, task: Task, turns: int) -> Iterator[Line]:
    """Measure one loss: everybody at the loosest tolerance, in turns, ratios within a turn."""
    exact = nr.hindsight(data.X, data.y, task.loss, l2=task.strength, tol=1e-9)
    limit = exact.dual * (1.0 + ACCURACY)

    def reached(weights: Vector) -> bool:
        return task.objective(data, weights) <= limit

    contestants: dict[str, tuple[Fit, tuple[float, ...]]]
    contestants = {"ours": (ours(data, task), OWN_TOLERANCES)}
    for solver in task.solvers:
        contestants[f"LIBLINEAR -s {solver}"] = (liblinear(data, solver), LIBLINEAR_TOLERANCES)
    if task.name == "logistic":
        contestants["saga"] = (saga(data, task), SAGA_TOLERANCES)
    tuned = {name: loosest(*fit, reached) for name, fit in contestants.items()}
    times: dict[str, list[float]] = {name: [] for name in tuned}
    while len(times["ours"]) < turns:
        for name, (fit, tolerances) in contestants.items():
            taken, weights = seconds(fit, tolerances[tuned[name]])
            if not reached(weights):
                # The order of the visits is random: the next tolerance, and all turns again.
                tuned[name] += 1
                times = {name: [] for name in tuned}
                break
            times[name].append(taken)
    best = min((name for name in times if name.startswith("LIB")), key=lambda n: min(times[n]))
    for name in times:
        if name.startswith("LIB"):
            used = [contestants[who][1][tuned[who]] for who in ("ours", name)]
            what = f"{task.name}: ours / {name}, tol {used[0]:.2g} and {used[1]:.2g}"
            yield line(what, times, "ours", name, task.bar if name == best else None, None)
    if "saga" in times:
        yield line(f"{task.name}: scikit-learn saga / ours", times, "saga", "ours", None, 3.0)


def line(
    what: str,
    times: dict[str, list[float]],
    name: str,
    base: str,
    at_most: float | None,
    at_least: float | None,
) -> Line:
    """Return the median of the ratios within a turn as a line."""
    ratios = [a / b for a, b in zip(times[name], times[base], strict=True)]
    median = statistics.median(ratios)
    return Line(what, median, median, at_most, at_least, seconds=min(times[name]))


def against_liblinear(data: Data, turns: int) -> Iterator[Line]:
    """Measure all losses on the first rows of the generated set."""
    part: Any = data.head(ROWS) if data.X.shape[0] > ROWS else data
    for task in TASKS:
        yield from measure(part, task, turns)


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(prog="python -m bench.dual", description=__doc__)
    parser.add_argument("--rows", type=int, default=ROWS, help="rows of the generated set")
    parser.add_argument("--turns", type=int, default=7, help="interleaved repetitions")
    arguments = parser.parse_args()
    data = make(rows=arguments.rows)
    print(data.describe(), flush=True)
    for found in against_liblinear(data, max(1, arguments.turns)):
        what, value, _, bar = found.cells()
        print(f"{what:78s} {value:>8s}  {bar}  ({found.seconds:.3f} s)", flush=True)


if __name__ == "__main__":
    main()

"""Time to a given accuracy of the batch solver on real sets with few features, in cells.

A cell is a set, a loss and a relative accuracy. Everybody solves sum of losses + ||w||^2 / (2 C),
C = 1, without a bias, on rows in memory, in one thread. Ours stops at a certified relative gap of
the accuracy, and pays for the checks of the rows and for that gap. Each rival's own tolerance is
first swept to the loosest with which its primal objective is within the accuracy of the minimum,
and one that is not there after 20 times our time is left out;
LIBLINEAR does not pay for the conversion of the rows. Contestants take turns, and are measured by
the processor time of this process.
"""

from __future__ import annotations

import argparse
import gc
import math
import statistics
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp

import noregret as nr
from bench.data import Data
from bench.dual import TASKS, Fit, Task, Vector, liblinear, ours
from bench.quality import data as streams

ACCURACIES = (1e-3, 1e-6)
#: The sets that constants may be chosen by come first.
TUNED = ("phishing", "a9a", "spambase")
NAMES = (*TUNED, "mushrooms", "covtype", "rcv1_small")
#: Only the first rows of a set are used.
MOST_ROWS = 100_000
#: Every solver of LIBLINEAR for the loss of a task.
SOLVERS = {"hinge": (3,), "squared hinge": (1, 2), "logistic": (0, 7)}
#: Bars of one cell, and of the median over all cells.
CELL_BAR, MEDIAN_BAR = 1.0, 0.7
#: Powers of ten of the tolerances tried first, and parts of such a power tried then.
COARSE, FINE = range(-2, 10), 4
#: A rival that takes this many times as long as we do is left out.
HOPELESS = 20.0


@dataclass(frozen=True)
class Cell:
    """One cell: seconds a contestant and turn, and what its tolerance was."""

    name: str
    task: str
    accuracy: float
    seconds: dict[str, list[float]]
    tolerances: dict[str, float]

    @property
    def rival(self) -> str | None:
        """Return the fastest rival that reaches the accuracy."""
        rivals = [name for name in self.seconds if name != "ours"]
        return min(rivals, key=lambda name: min(self.seconds[name])) if rivals else None

    @property
    def ratio(self) -> float:
        """Return our best time over the best time of the fastest rival; 0 if none gets there."""
        best = self.rival
        return min(self.seconds["ours"]) / min(self.seconds[best]) if best else 0.0

    @property
    def median(self) -> float:
        """Return the ratio of the median times."""
        best, middle = self.rival, statistics.median
        return middle(self.seconds["ours"]) / middle(self.seconds[best]) if best else 0.0

    def line(self) -> str:
        """Return the cell as a row of the table."""
        best = self.rival
        times = f"{1e3 * min(self.seconds['ours']):9.1f}"
        if best is None:
            cell = f"{self.name:12s}{self.task:15s}{self.accuracy:7.0e}{times}"
            return f"{cell}  no rival within {HOPELESS:g} times ours"
        theirs = 1e3 * min(self.seconds[best])
        verdict = "" if self.ratio <= CELL_BAR else "  missed"
        return (
            f"{self.name:12s}{self.task:15s}{self.accuracy:7.0e}{times}{theirs:9.1f}"
            f"{self.ratio:7.2f}{self.median:7.2f}  {best} ({self.tolerances[best]:.2g}){verdict}"
        )


def load(name: str) -> Data:
    """Return the first rows of a real set."""
    stream = streams.load(name).head(MOST_ROWS)
    return Data(sp.csr_matrix(stream.rows, dtype=np.float64), stream.y)


def newton_cholesky(data: Data) -> Fit:
    """Return scikit-learn's Newton method with the exact Hessian, for the logistic loss."""
    import warnings

    from sklearn.exceptions import ConvergenceWarning
    from sklearn.linear_model import LogisticRegression

    def fit(tolerance: float) -> Vector:
        model = LogisticRegression(
            solver="newton-cholesky", C=1.0, fit_intercept=False, tol=tolerance, max_iter=1000
        )
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            weights: Vector = model.fit(data.X, data.y).coef_[0].astype(np.float64)
        return weights

    return fit


def rivals(data: Data, task: Task) -> dict[str, Fit]:
    """Return every rival for a loss."""
    found = {f"liblinear -s {solver}": liblinear(data, solver) for solver in SOLVERS[task.name]}
    # Its matrix of second derivatives is dense: of 47,236 features it would be 18 GB.
    if task.name == "logistic" and data.X.shape[1] <= data.X.shape[0]:
        found["newton-cholesky"] = newton_cholesky(data)
    return found


def taken(fit: Fit, tolerance: float) -> tuple[float, Vector]:
    """Return the processor time of a run, and its weights."""
    begin = time.process_time()
    weights = fit(tolerance)
    return time.process_time() - begin, weights


def swept(fit: Fit, reached: Callable[[Vector], bool], most: float = math.inf) -> list[float]:
    """Return the tolerances to use, the loosest that reaches the accuracy first; [] if none.

    A rival that is not there after `most` seconds takes longer with stricter tolerances.
    """
    for power in COARSE:
        time_taken, weights = taken(fit, 10.0**-power)
        if not reached(weights) and time_taken > most:
            break
        if reached(weights):
            finer = [10.0 ** (-power + 1 - k / FINE) for k in range(1, FINE)]
            found = next((place for place, one in enumerate(finer) if reached(fit(one))), FINE - 1)
            # Visits in random order may miss the accuracy another time: stricter ones follow.
            return [*finer[found:], *(10.0 ** (-power - k / FINE) for k in range(9))]
    return []


def measure(
    name: str, data: Data, task: Task, accuracies: Sequence[float], turns: int, against: bool
) -> Iterator[Cell]:
    """Measure the cells of one set and loss."""
    exact = nr.hindsight(data.X, data.y, task.loss, l2=task.strength, tol=1e-9)
    mine = ours(data, task)
    for accuracy in accuracies:
        # A gap within `accuracy` of the primal value is one of a larger part of the minimum.
        limit = exact.primal / (1.0 - accuracy)

        def reached(weights: Vector, limit: float = limit) -> bool:
            return task.objective(data, weights) <= limit

        fits = {"ours": mine} | (rivals(data, task) if against else {})
        used = {"ours": [accuracy]}
        most = HOPELESS * min(taken(mine, accuracy)[0] for _ in range(3))
        used |= {who: swept(fit, reached, most) for who, fit in fits.items() if who != "ours"}
        fits = {who: fit for who, fit in fits.items() if used[who]}
        seconds: dict[str, list[float]] = {who: [] for who in fits}
        while min(len(times) for times in seconds.values()) < turns:
            for who, fit in list(fits.items()):
                gc.collect()
                time_taken, weights = taken(fit, used[who][0])
                if not reached(weights):
                    if who == "ours":
                        raise RuntimeError("our certified gap is not what the weights have")
                    used[who].pop(0)
                    seconds[who] = []
                    if not used[who]:
                        del fits[who], seconds[who]
                    continue
                if len(seconds[who]) < turns:
                    seconds[who].append(time_taken)
                if who != "ours" and min(seconds["ours"]) * HOPELESS < time_taken:
                    seconds[who] = [time_taken] * turns
                    del fits[who]
        yield Cell(name, task.name, accuracy, seconds, {who: used[who][0] for who in seconds})


def summary(cells: Sequence[Cell]) -> list[str]:
    """Return how the cells stand to the bars."""
    ratios = [cell.ratio for cell in cells]
    missed = sum(ratio > CELL_BAR for ratio in ratios)
    return [
        f"median ratio {statistics.median(ratios):.2f} (bar: {MEDIAN_BAR:g})",
        f"cells above {CELL_BAR:g}: {missed} of {len(cells)}, worst {max(ratios):.2f}",
    ]


def main() -> None:
    """Measure and print."""
    from threadpoolctl import threadpool_limits

    parser = argparse.ArgumentParser(prog="python -m bench.narrow", description=__doc__)
    parser.add_argument("--sets", nargs="+", default=NAMES, choices=NAMES)
    parser.add_argument("--losses", nargs="+", default=list(SOLVERS), choices=list(SOLVERS))
    parser.add_argument("--accuracies", nargs="+", type=float, default=ACCURACIES)
    parser.add_argument("--turns", type=int, default=9, help="interleaved repetitions")
    parser.add_argument("--alone", action="store_true", help="time ours only")
    arguments = parser.parse_args()
    cells: list[Cell] = []
    heading = ("set", "loss", "gap", "ours ms", "rival ms", "best", "median", "rival (tolerance)")
    print("{:12s}{:15s}{:>7s}{:>9s}{:>9s}{:>7s}{:>7s}  {}".format(*heading), flush=True)
    with threadpool_limits(1):
        for name in arguments.sets:
            data = load(name)
            for task in (task for task in TASKS if task.name in arguments.losses):
                for cell in measure(
                    name, data, task, arguments.accuracies, arguments.turns, not arguments.alone
                ):
                    cells.append(cell)
                    print(cell.line(), flush=True)
    if not arguments.alone:
        print("\n".join(summary(cells)))


if __name__ == "__main__":
    main()

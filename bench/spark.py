"""Seconds to the same objective, Spark MLlib against `nr.hindsight`: `python -m bench.spark`.

Both minimise sum of losses + (l2/2) ||w||^2 with l2 = n / 10,000 and no intercept, on two cores of
one machine: MLlib's LinearSVC (hinge) and LogisticRegression in `local[2]`, ours with `workers=2`.
MLlib's objective is ours divided by n: mean loss + regParam/2 ||w||^2 without standardization, and
LinearSVC has the plain hinge, not its square. The value that it reports is compared with ours.

Sets: all rows of covtype (class 2 against the rest, features in units of their largest size; needs
NOREGRET_DATA) and the generated sparse set. Spark's rows are vectors in its cache before the clock
starts, ours are a CSR matrix that is checked and converted while it runs. Starting (JVM, session,
rows to Spark; import, load of kernels) is printed apart and is in no ratio.

Spark runs once with the most iterations (default 100, MLlib's own). For a target, a relative
distance from the minimum, its first iteration that reaches it is taken as maxIter; if none does,
"end" is where it ends. The number of partitions, maxBlockSizeInMB and aggregationDepth are those of
the shortest fit of 10 iterations. O is the objective that Spark then has, by our code; ours runs at
the loosest tolerance that reaches an objective of at most O. The ratio is Spark's shortest time by
our shortest time, both in turns. Beside it stand the seconds of processor time of both, which
depend less on what else runs, and the load average of the machine: on two cores a load above 2
means that others worked meanwhile, so that the ratio should be measured again.

Needs pyspark (the extra `bench`), a Java runtime, and 16 GB of memory for the default sizes.
"""

from __future__ import annotations

import argparse
import itertools
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

import noregret as nr
from bench.cluster import write_compact
from bench.data import make
from bench.machine import cpu_seconds
from bench.mllib import cached, fit_spark, history, session, write_rows
from bench.quality.data import load
from bench.timing import Times
from noregret.batch.problem import Problem
from noregret.cluster import batch
from noregret.cluster.ray_workers import connected
from noregret.streams import Reading

Vector = npt.NDArray[np.float64]
#: From a loss and a tolerance to weights.
Fit = Callable[[Any, float], Vector]

LOSSES = {"hinge": nr.losses.Hinge(), "logistic": nr.losses.Logistic()}
#: Relative distances from the minimum, and the tolerance to which the minimum is computed.
TARGETS, MINIMUM = (1e-2, 1e-3), 1e-4
TOLERANCES = tuple(10.0 ** (-k / 4.0) for k in range(25))
#: Partitions, maxBlockSizeInMB (0 is MLlib's default of 1) and aggregationDepth to try.
SETTINGS = (*itertools.product((2, 4), (0.0, 8.0), (2,)), (4, 0.0, 3))
#: Iterations of a fit that compares settings.
PROBE = 10


@contextmanager
def on_threads(X: Any, y: Vector, l2: float) -> Iterator[Fit]:
    """Two threads of this process."""
    yield lambda loss, tol: nr.hindsight(X, y, loss, l2=l2, tol=tol, workers=2).weights


@contextmanager
def on_ray(X: Any, y: Vector, l2: float) -> Iterator[Fit]:
    """Two processes of Ray on this machine, which hold 8 shards of a file."""
    with tempfile.TemporaryDirectory() as folder, connected("local", 2), ExitStack() as stack:
        path = Path(folder) / "rows.arrow"
        write_compact(X, y, path)
        runs: dict[Any, Any] = {}

        def fit(loss: Any, tol: float) -> Vector:
            if loss not in runs:
                # The workers of the loss before hold both cores.
                stack.close()
                runs.clear()
                reading = Reading(labels="real")
                opened = batch.session(path, loss, shards=8, workers=2, reading=reading)
                runs[loss] = stack.enter_context(opened)
            # Without the verification a run ends a little earlier; it is a part of what we promise.
            return runs[loss].solve(nr.mirrors.Euclidean(), l2, tol=tol).weights

        yield fit


#: What is compared with Spark: entering the context is starting, outside the ratio; the least ratio
#: that is asked for.
OURS: dict[str, tuple[Callable[..., AbstractContextManager[Fit]], float]] = {
    "2 threads": (on_threads, 15.0),
    "Ray, 2 workers": (on_ray, 3.0),
}


def timed(run: Callable[..., Any], *arguments: Any) -> tuple[float, Any]:
    """Return the seconds of a call, and what it returns."""
    begin = time.perf_counter()
    found = run(*arguments)
    return time.perf_counter() - begin, found


def loosest(fit: Fit, loss: Any, reached: Callable[[Vector], bool]) -> tuple[float, Vector]:
    """Return the largest tolerance that reaches an objective, and the weights that it found."""
    for tol in TOLERANCES:
        weights = fit(loss, tol)
        if reached(weights):
            return tol, weights
    raise RuntimeError("no tolerance reaches the objective of Spark")


def lines(name: str, X: Any, y: Vector, frames: dict[int, Any], given: Any) -> Iterator[str]:
    """Yield the lines of a set; `frames` are its rows in Spark, by the number of partitions."""
    with ExitStack() as stack:
        fits: dict[str, Fit] = {}
        for who, (context, _) in OURS.items():
            manager = context(X, y, 1e-4 * X.shape[0])
            seconds, fits[who] = timed(stack.enter_context, manager)
            yield f"{name}: {seconds:.2f} s to start {who}"
        for word in given.losses:
            yield from against(f"{name:<11}{word:<10}", word, (X, y), frames, fits, given)


def against(
    title: str, word: str, data: Any, frames: dict[int, Any], fits: dict[str, Fit], given: Any
) -> Iterator[str]:
    """Yield the lines of a set and a loss: starting, Spark's best setting, then the targets."""
    loss, count = LOSSES[word], len(data[1])
    problem = Problem.of(*data, loss, strength=1e-4 * count)
    for who, fit in fits.items():
        first, again = (timed(fit, loss, TOLERANCES[0])[0] for _ in range(2))
        yield f"{title}{max(first - again, 0.0):.2f} s to load the kernels of {who}"
    least = nr.hindsight(*data, loss, l2=problem.strength, tol=MINIMUM, workers=2).dual

    def spark(iterations: int, setting: tuple[int, float, int]) -> Any:
        partitions, *rest = setting
        return timed(fit_spark, frames[partitions], word, 1e-4, iterations, *rest)

    # The first fit also lets the JVM compile what the next ones run.
    seconds, model = spark(given.iterations, SETTINGS[0])
    values = count * history(model)
    own = problem.primal_upper(model.coefficients.toArray())
    if abs(own - values[-1]) > 1e-6 * own:
        raise RuntimeError(f"Spark says that its objective is {values[-1]}, we say {own}")
    yield (
        f"{title}Spark, first fit: {len(values) - 1} iterations, {seconds:.1f} s, "
        f"{own / least - 1.0:.1e} above the minimum"
    )
    probes = {one: min(spark(PROBE, one)[0] for _ in range(given.probes)) for one in SETTINGS}
    best = min(probes, key=lambda setting: probes[setting])
    tried = ", ".join(f"{p}/{block:g}/{depth} {t:.2f}" for (p, block, depth), t in probes.items())
    yield f"{title}Spark, partitions/block/depth, s of {PROBE} iterations: {tried}"
    targets: dict[int, str] = {}
    for target in TARGETS:
        places = np.flatnonzero(values <= (1.0 + target) * least)
        targets[int(places[0]) if len(places) else len(values) - 1] = (
            f"{target:g}" if len(places) else "end"
        )
    for iterations, target in targets.items():
        aim = problem.primal_upper(spark(iterations, best)[1].coefficients.toArray())
        found = {
            who: loosest(fit, loss, lambda w, aim=aim: problem.primal_upper(w) <= aim)
            for who, fit in fits.items()
        }
        runs: dict[str, Callable[[], Any]] = {"Spark": partial(spark, iterations, best)}
        runs |= {who: partial(fit, loss, found[who][0]) for who, fit in fits.items()}
        wall, work = Times({who: [] for who in runs}), Times({who: [] for who in runs})
        for who, run in itertools.chain.from_iterable([runs.items()] * given.turns):
            before = cpu_seconds()
            wall.seconds[who].append(timed(run)[0])
            work.seconds[who].append(cpu_seconds() - before)
        for who, (tol, weights) in found.items():
            ratio, median = wall.ratio("Spark", who), wall.median_ratio("Spark", who)
            bar = OURS[who][1]
            yield (
                f"{title}{target:<7}{iterations:>5}{wall.best('Spark'):>9.2f}{aim / count:>12.8f}"
                f"  {who:<10}{tol:>9.2g}{wall.best(who):>9.3f}"
                f"{problem.primal_upper(weights) / count:>12.8f}{ratio:>8.1f}{median:>8.1f}"
                f"{work.best('Spark'):>9.2f}{work.best(who):>9.2f}"
                f"  at least {bar:g}{'' if ratio >= bar else ' (missed)'}, "
                f"load {os.getloadavg()[0]:.1f}"
            )


def _covtype(given: Any) -> tuple[Any, Vector]:
    stream = load("covtype")
    units = np.maximum(abs(stream.rows).max(axis=0).toarray().ravel(), 1e-300)
    rows = sp.csr_matrix(stream.rows @ sp.diags(1.0 / units))
    # Spark refuses columns out of order, and a product may leave them so.
    rows.sort_indices()
    return rows, stream.y


def _generated(given: Any) -> tuple[Any, Vector]:
    data = make(given.rows, given.features)
    return data.X, data.y


SETS: dict[str, Callable[[Any], tuple[Any, Vector]]] = {
    "covtype": _covtype,
    "generated": _generated,
}


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(
        prog="python -m bench.spark", description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )  # fmt: skip
    parser.add_argument("--sets", nargs="*", choices=SETS, default=list(SETS))
    parser.add_argument("--losses", nargs="*", choices=LOSSES, default=list(LOSSES))
    parser.add_argument("--rows", type=int, default=1_000_000, help="of the generated set")
    parser.add_argument("--features", type=int, default=1_000_000, help="of the generated set")
    parser.add_argument("--iterations", type=int, default=100, help="of Spark, at most")
    parser.add_argument("--turns", type=int, default=3)
    parser.add_argument("--probes", type=int, default=2, help="fits of each setting of Spark")
    parser.add_argument("--memory", default="12g", help="of the Java process [default: 12g]")
    given = parser.parse_args()
    if "covtype" in given.sets and "NOREGRET_DATA" not in os.environ:
        parser.error("set NOREGRET_DATA, the folder of the real sets, or give --sets generated")
    command = [sys.executable, "-c", "import noregret as nr; nr.hindsight"]
    seconds, _ = timed(subprocess.check_call, command)
    print(f"{seconds:.2f} s to start Python and import noregret")
    with tempfile.TemporaryDirectory() as folder:
        seconds, spark = timed(session, given.memory, folder)
        print(f"{seconds:.2f} s to start Spark {spark.version}", flush=True)
        for name in given.sets:
            X, y = SETS[name](given)
            path = str(Path(folder) / f"{name}.parquet")
            writing, _ = timed(write_rows, X, y, path)
            frames: dict[int, Any] = {}
            for partitions in {setting[0] for setting in SETTINGS}:
                reading, frames[partitions] = timed(cached, spark, path, partitions)
                print(
                    f"{name}: {writing:.2f} s to write Parquet, {reading:.2f} s to cache "
                    f"{partitions} partitions in Spark",
                    flush=True,
                )
            print(
                f"{'':<21}{'target':<7}{'iter':>5}{'Spark s':>9}{'objective/n':>12}  {'ours':<10}"
                f"{'tol':>9}{'seconds':>9}{'objective/n':>12}{'ratio':>8}{'median':>8}"
                f"{'CPU s':>9}{'ours':>9}"
            )
            for line in lines(name, X, y, frames, given):
                print(line, flush=True)
            for frame in frames.values():
                frame.unpersist(blocking=True)
        spark.stop()


if __name__ == "__main__":
    main()

"""Speed of two source trees, in turns: `python -m bench.old_and_new OLD_SRC [NEW_SRC]`.

Two fresh processes, one a tree, take turns at every case, old first in one turn and new first in
the next; that is repeated with other fresh processes. Compiling is done before the clock starts.
For every case the table has best and median seconds of each tree, the ratio of the best and the
median over turns of the ratio within a turn, new over old; below it the medians over all cases.
Seconds are of the processor: the kernels have one thread, and waiting for a core is not theirs.
Then a fixed list of learners is compiled into an empty cache: seconds of processor time, files and
size of the cache. `--only PATTERN` chooses cases by name, `--list` prints the names.
"""

from __future__ import annotations

import argparse
import fnmatch
import gc
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from bench.timing import Times

ROOT = Path(__file__).resolve().parents[1]
TREES = ("old", "new")
ROWS = 20_000
#: A case whose ratio is above this is worth a second measurement.
WORST = 1.05


class Worker:
    """A process that times cases in one tree when it is asked to."""

    def __init__(self, source: Path, rows: int, cache: str | None = None) -> None:
        environment = os.environ | {"PYTHONPATH": f"{source}{os.pathsep}{ROOT}"}
        # Waiting threads of a numerical library would count as work.
        environment |= {"OPENBLAS_NUM_THREADS": "1", "MKL_NUM_THREADS": "1"}
        if cache is not None:
            environment["NOREGRET_CACHE_DIR"] = cache
        command = [sys.executable, "-m", "bench.old_and_new", "--worker", "--rows", str(rows)]
        self._process = subprocess.Popen(
            [*command, str(source)], env=environment, cwd=ROOT, text=True,
            stdin=subprocess.PIPE, stdout=subprocess.PIPE,
        )  # fmt: skip

    def ask(self, order: str, case: str) -> float:
        """Have a case made ("make"), timed ("time") or dropped ("drop"); return the answer."""
        assert self._process.stdin is not None and self._process.stdout is not None
        self._process.stdin.write(f"{order} {case}\n")
        self._process.stdin.flush()
        answer = self._process.stdout.readline()
        if not answer:
            raise RuntimeError(f"the process that timed {case!r} has ended")
        return float(answer)

    def __enter__(self) -> Worker:
        return self

    def __exit__(self, *error: Any) -> None:
        self._process.communicate()


def serve(source: Path, rows: int) -> None:
    """Answer the orders on standard input: what the other end of `Worker` does."""
    import noregret
    from bench.old_and_new_cases import cases

    if source.resolve() not in Path(str(noregret.__file__)).resolve().parents:
        raise SystemExit(f"noregret is imported from {noregret.__file__}, expected {source}")
    known, made = cases(rows), dict[str, Any]()
    gc.disable()
    for line in sys.stdin:
        order, _, name = line.rstrip("\n").partition(" ")
        seconds, spent = 0.0, time.process_time()
        if order == "make":
            made[name] = known[name]()
            made[name]()
            seconds = time.process_time() - spent
        elif order == "time":
            spent = time.process_time()
            made[name]()
            seconds = time.process_time() - spent
        else:
            del made[name]
            gc.collect()
        print(seconds, flush=True)


def measure(sources: Sequence[Path], names: Sequence[str], options: Any) -> dict[str, Times]:
    """Return the times of all cases, from several pairs of processes."""
    seconds = {name: {tree: list[float]() for tree in TREES} for name in names}
    for round_ in range(options.processes):
        with ExitStack() as stack:
            workers = {
                tree: stack.enter_context(Worker(source, options.rows, options.cache))
                for tree, source in zip(TREES, sources, strict=True)
            }
            for name in names:
                print(f"process {round_ + 1}: {name}", file=sys.stderr, flush=True)
                for worker in workers.values():
                    worker.ask("make", name)
                for turn in range(options.turns):
                    for tree in TREES if turn % 2 else reversed(TREES):
                        seconds[name][tree].append(workers[tree].ask("time", name))
                for worker in workers.values():
                    worker.ask("drop", name)
    return {name: Times(found) for name, found in seconds.items()}


def table(found: dict[str, Times]) -> Iterator[str]:
    """Yield a line for every case, slowest ratio last, and the medians."""
    head = ("old best", "median", "new best", "median", "best", "turns")
    yield f"{'milliseconds, and ratios new / old':<54}" + "".join(f"{word:>10}" for word in head)
    ordered = sorted(found.items(), key=lambda pair: pair[1].median_ratio("new", "old"))
    for name, times in ordered:
        cells = ""
        for tree in TREES:
            middle = statistics.median(times.seconds[tree])
            cells += f"{1e3 * times.best(tree):10.3f}{1e3 * middle:10.3f}"
        ratio, median = times.ratio("new", "old"), times.median_ratio("new", "old")
        again = "  again" if min(ratio, median) > WORST else ""
        yield f"{name:<54}{cells}{ratio:10.3f}{median:10.3f}{again}"
    ratios = [times.ratio("new", "old") for times in found.values()]
    medians = [times.median_ratio("new", "old") for times in found.values()]
    middle = f"{statistics.median(ratios):.3f} of best times, {statistics.median(medians):.3f}"
    yield f"median ratio of {len(found)} cases: {middle} of turns"
    worst = max(min(pair) for pair in zip(ratios, medians, strict=True))
    yield f"worst ratio, best times or turns: {worst:.3f}"


def cold(sources: Sequence[Path], names: Sequence[str]) -> Iterator[str]:
    """Yield seconds of compiling and the size of the cache, with both trees on tiny streams.

    A case compiles what the cases before it left to compile, and the trees take turns at them.
    """
    yield f"{'compiling: seconds of processor time and kilobytes':<54}" + "".join(
        f"{word:>10}" for word in ("old", "new", "ratio", "old kB", "new kB")
    )
    totals = {tree: [0.0, 0.0] for tree in TREES}
    with ExitStack() as stack:
        caches = [Path(stack.enter_context(tempfile.TemporaryDirectory())) for _ in TREES]
        workers = [
            stack.enter_context(Worker(source, 64, str(cache)))
            for source, cache in zip(sources, caches, strict=True)
        ]
        for name in names:
            print(f"cold: {name}", file=sys.stderr, flush=True)
            line = []
            for tree, cache, worker in zip(TREES, caches, workers, strict=True):
                seconds, before = worker.ask("make", name), totals[tree][1]
                totals[tree][0] += seconds
                totals[tree][1] = sum(f.stat().st_size for f in cache.rglob("*") if f.is_file())
                line.append((seconds, (totals[tree][1] - before) / 1024))
            (old, old_size), (new, new_size) = line
            times = f"{old:10.2f}{new:10.2f}{new / old:10.2f}"
            yield f"{name:<54}{times}{old_size:10.0f}{new_size:10.0f}"
    for tree, (seconds, size) in totals.items():
        yield f"cold, {tree}: {seconds:.1f} s for {len(names)} cases, {size / 2**20:.2f} MB"
    ratios = [new / max(old, 1e-9) for old, new in zip(*totals.values(), strict=True)]
    yield f"cold, new / old: time {ratios[0]:.3f}, size {ratios[1]:.3f}"


def main(arguments: Sequence[str] | None = None) -> None:
    """Parse the command line, measure, print."""
    parser = argparse.ArgumentParser(
        prog="python -m bench.old_and_new", description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )  # fmt: skip
    parser.add_argument("sources", nargs="*", type=Path, metavar="SRC", help="OLD_SRC [NEW_SRC]")
    parser.add_argument("--only", metavar="PATTERN", help="cases with this in their name")
    parser.add_argument("--rows", type=int, default=ROWS, help="rows of the longest streams")
    parser.add_argument("--turns", type=int, default=7, help="turns in each pair of processes")
    parser.add_argument("--processes", type=int, default=3, help="pairs of processes")
    parser.add_argument("--cache", metavar="DIR", help="where compiled kernels are kept")
    parser.add_argument("--part", choices=("warm", "cold"), help="only times, or only compiling")
    parser.add_argument("--list", action="store_true", help="print the names of the cases")
    parser.add_argument("--worker", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args(arguments)
    if options.worker:
        serve(options.sources[0], options.rows)
        return
    from bench.old_and_new_cases import COLD, cases

    names = [name for name in cases(options.rows) if wanted(name, options.only)]
    if options.list:
        print("\n".join(names))
        return
    if not 1 <= len(options.sources) <= 2:
        parser.error("expected OLD_SRC [NEW_SRC]")
    sources = [source.resolve() for source in options.sources]
    sources += [ROOT / "src"] * (2 - len(sources))
    if options.part != "cold":
        if not names:
            parser.error(f"no case has {options.only!r} in its name")
        for line in table(measure(sources, names, options)):
            print(line, flush=True)
    chosen = [name for name in COLD if wanted(name, options.only)]
    if options.part != "warm" and chosen:
        for line in cold(sources, chosen):
            print(line, flush=True)


def wanted(name: str, pattern: str | None) -> bool:
    """Whether a case's name has the pattern, as a part or with wildcards."""
    return pattern is None or pattern in name or fnmatch.fnmatchcase(name, pattern)


if __name__ == "__main__":
    main()

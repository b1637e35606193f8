"""Against Vowpal Wabbit, from files: whole processes, each tool from its own text and cache.

    python -m bench.vowpal                          # everything, 20 GB of disk, about 15 minutes
    python -m bench.vowpal --rows 500000 --only text

Both learn the generated set with logistic loss and one pass, start-up included. VW is the wheel
`vowpalwabbit`, started as `python -m vowpalwabbit`, which is some 15 percent slower than a native
build. Pairs: our default (a mixture of learners) and `ScaleFree` against VW's (adaptive,
normalised, invariant), and our plain Euclidean descent against `vw --sgd`.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path

import numpy as np

from bench import machine
from bench.data import FEATURES, make
from bench.formats import write
from bench.timing import Line, Times

OURS = [sys.executable, "-m", "noregret", "learn", "--quiet"]
VW = [sys.executable, "-m", "vowpalwabbit", "--quiet", "--loss_function", "logistic"]
#: Name of a pair: what we are told, what VW is told.
PAIRS: dict[str, tuple[list[str], list[str]]] = {
    "default, the mixture": ([], []),
    "ScaleFree": (["--rate", "scale-free"], []),
    "plain descent": (["--rate", "inverse-sqrt"], ["--sgd"]),
}
WIDE_BITS = 24


@dataclass
class Race:
    """Two tools on one input, in turns."""

    ours: list[str]
    theirs: list[str]
    seconds: dict[str, list[float]] = field(default_factory=lambda: {"ours": [], "theirs": []})
    #: Peak anonymous memory, MB.
    memory: dict[str, float] = field(default_factory=lambda: {"ours": 0.0, "theirs": 0.0})

    def run(self, turns: int) -> None:
        """Warm both up, then let them take turns."""
        for turn in range(turns + 1):
            for name, command in (("ours", self.ours), ("theirs", self.theirs)):
                seconds, memory = timed(command)
                self.memory[name] = max(self.memory[name], memory)
                if turn:
                    self.seconds[name].append(seconds)


def timed(command: Sequence[str]) -> tuple[float, float]:
    """Return the seconds of a process and the largest anonymous memory it had, in MB."""
    begin = time.perf_counter()
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    peak = [0.0]

    def watch() -> None:
        status = Path(f"/proc/{process.pid}/status")
        while process.poll() is None:
            try:
                for line in status.read_text().splitlines():
                    if line.startswith("RssAnon"):
                        peak[0] = max(peak[0], float(line.split()[1]) / 1024.0)
            except OSError:
                return
            time.sleep(0.01)

    watcher = threading.Thread(target=watch)
    watcher.start()
    _, complaint = process.communicate()
    seconds = time.perf_counter() - begin
    watcher.join()
    if process.returncode:
        raise RuntimeError(f"{' '.join(command)}: {complaint.decode(errors='replace')}")
    return seconds, peak[0]


def make_files(folder: Path, rows: int, features: int, name: str) -> tuple[Path, Path]:
    """Write the generated set in both text formats; nothing is written twice."""
    svmlight, vw = folder / f"{name}.svm", folder / f"{name}.vw"
    if not (svmlight.exists() and vw.exists()):
        print(f"writing {rows:,} rows to {svmlight} and {vw}", flush=True)
        data = make(rows=rows, features=features, dtype=np.float32)
        write(data, svmlight, "svmlight")
        write(data, vw, "vw")
    return svmlight, vw


def races(folder: Path, rows: Sequence[int], only: Sequence[str]) -> Iterator[tuple[str, Race]]:
    """Yield each race with its name, its inputs made."""
    for count in rows:
        svmlight, vw = make_files(folder, count, FEATURES, f"rows{count}")
        if "text" in only:
            for pair, (our, their) in PAIRS.items():
                ours, theirs = [*OURS, str(svmlight), *our], [*VW, "-d", str(vw), *their]
                yield f"text, {count:,} rows, {pair}", Race(ours, theirs)
        if "cache" in only and count == max(rows):
            compact, cache = svmlight.with_suffix(".arrow"), vw.with_suffix(".cache")
            if not compact.exists():
                convert = [sys.executable, "-m", "noregret", "convert", str(svmlight)]
                subprocess.run([*convert, "-o", str(compact), "--float32"], check=True)
            if not cache.exists():
                command = [*VW, "-d", str(vw), "--cache_file", str(cache)]
                subprocess.run(command, check=True)
            for pair, (our, their) in PAIRS.items():
                ours = [*OURS, str(compact), *our]
                yield (
                    f"cache, {count:,} rows, {pair}",
                    Race(ours, [*VW, "-d", str(vw), "--cache_file", str(cache), *their]),
                )
    if "wide" in only:
        svmlight, vw = make_files(folder, max(rows), 2**WIDE_BITS - 2, f"wide{max(rows)}")
        theirs = [*VW, "-d", str(vw), "-b", str(WIDE_BITS)]
        for pair, (our, their) in PAIRS.items():
            ours = [*OURS, str(svmlight), *our]
            yield (
                f"2^{WIDE_BITS} weights, text, {max(rows):,} rows, {pair}",
                Race(ours, [*theirs, *their]),
            )


def bar(name: str) -> float:
    """Return what the ratio should be at most."""
    if name.startswith("text"):
        return 0.6 if "500,000" in name else 0.3
    return 0.5


def main() -> None:
    """Make the files, race, print."""
    parser = argparse.ArgumentParser(prog="python -m bench.vowpal", description=__doc__)
    parser.add_argument("--rows", type=int, nargs="+", default=[500_000, 2_000_000])
    parser.add_argument("--turns", type=int, default=5)
    kinds = ("text", "cache", "wide")
    parser.add_argument("--only", choices=kinds, nargs="+", default=list(kinds))
    parser.add_argument("--folder", type=Path, help="keep the files here")
    parser.add_argument("--json", type=Path, metavar="FILE")
    arguments = parser.parse_args()
    os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, sys.path))
    facts = machine.describe()
    print(", ".join(f"{name} {fact}" for name, fact in facts.items()), flush=True)
    results = []
    with tempfile.TemporaryDirectory() as temporary:
        folder = arguments.folder or Path(temporary)
        folder.mkdir(parents=True, exist_ok=True)
        for name, race in races(folder, arguments.rows, arguments.only):
            race.run(arguments.turns)
            line = Line.of(name, Times(race.seconds), "ours", "theirs", at_most=bar(name))
            what, value, median, goal = line.cells()
            print(
                f"{what:48s} {value:>7s}  median {median:>7s}  {goal:22s} "
                f"{min(race.seconds['ours']):.2f} s against {min(race.seconds['theirs']):.2f} s, "
                f"{race.memory['ours']:.0f} MB against {race.memory['theirs']:.0f} MB",
                flush=True,
            )
            results.append(asdict(line) | {"seconds": race.seconds, "memory": race.memory})
    if arguments.json is not None:
        report = {"machine": facts, "races": results}
        arguments.json.write_text(json.dumps(report, indent=1) + "\n", "utf-8")


if __name__ == "__main__":
    main()

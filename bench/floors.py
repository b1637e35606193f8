"""Floors of blocks of rows beside the best in hindsight: `python -m bench.floors`.

Figures are floors in units of the loss of the best of a class, see `bench.floor_problems`. Nobody
knows the units of its features in advance: floors have those of the rows so far.

`K` are blocks of that many rows, those that stay from the block before included, with parabolas
for the radius B alone, on sparse streams with lines; `lines` and `parabolas` are what
`blocks="parabolas"` keeps, at blocks of 262,144 features, for radii 4, 16 and 64. Times are of
these, a row, and of a print. The last line has the median
over the streams of how far a floor is below the best, in units of the best. Streams are in the
folder that NOREGRET_DATA names.
"""

from __future__ import annotations

import argparse
import json
import math
import statistics
import time
from dataclasses import asdict, dataclass, replace
from pathlib import Path

import numpy as np
import numpy.typing as npt

import noregret as nr
from bench import machine
from bench.floor_problems import Problem, load
from noregret.floors import BlockCurves, BlockLines
from noregret.floors.parabolas import WIDEST, Parabolas
from noregret.floors.pending import Pending
from noregret.proof.certificate import Certificate
from noregret.proof.evidence import FeatureSizes
from noregret.proof.other_lines import with_blocks, with_curves
from noregret.proof.statement import BLOCKS, PARABOLAS
from noregret.rows.examples import Rows, as_rows

Vector = npt.NDArray[np.float64]
#: Least floors of blocks of 1,024 and of 4,096 rows; no bar where there is none.
BARS: dict[str, tuple[float, float] | None] = {
    "sea": (0.99, 0.9887), "elec2": (0.84, 0.8893), "phishing": (0.79, 0.8456),
    "spambase": (0.95, 0.9926), "mushrooms": (0.92, 0.9845), "a9a": (0.975, 0.984),
    "covtype": (0.68, 0.7515), "bike_sharing": (1.0 - 1e-9, 1.0 - 1e-9),
    "california": (1.0 - 1e-9, 1.0 - 1e-9), "ccpp": (1.0 - 1e-9, 1.0 - 1e-9),
    "abalone": (1.0 - 1e-9, 1.0 - 1e-9), "earn": (0.55, 0.82), "crude": (0.55, 0.82),
    "rcv1_small": None,
}  # fmt: skip
#: Rows of a block.
SIZES = (128, 1024, 4096)


@dataclass(frozen=True)
class Figures:
    """What is printed of a stream; floors in units of the best."""

    name: str
    features: int
    radius: float
    best: float
    blocks: dict[str, float]
    lines: float
    parabolas: float
    microseconds: dict[str, float]
    print_seconds: dict[str, float]


def _certificate(problem: Problem) -> Certificate:
    """Return a certificate about ||m u||_2 <= radius, of predictions of 0."""
    plain = nr.certify(problem.rows, problem.y, np.zeros(len(problem.y)), problem.loss)
    sized = FeatureSizes(None, None, math.inf, 0.0, 1.0, sizes=problem.sizes)
    return replace(plain, evidence=sized)


def at_blocks(problem: Problem, rows: int) -> float:
    """Return the floor at blocks of that many rows: of parabolas for the radius, or of lines."""
    wide = problem.rows.shape[1] > WIDEST
    return (_of_lines if wide else _of_parabolas)(problem, rows) / problem.best


def _of_lines(problem: Problem, rows: int) -> float:
    lines, pending = BlockLines(problem.loss, 1 << 62), Pending(1 << 62, rows)
    lines.pending = pending
    given, count = as_rows(problem.rows), len(problem.y)
    lines.add(given, problem.y, np.ones(count))
    return _with_lines(_certificate(problem), lines).floors(problem.radius)[BLOCKS]


def _with_lines(certificate: Certificate, lines: BlockLines) -> Certificate:
    for ledger, gradient in lines.proved():
        own = certificate.evidence.of_lines(gradient)
        certificate = with_blocks(certificate, ledger, gradient, own)
    return certificate


def _of_parabolas(problem: Problem, rows: int) -> float:
    both = BlockCurves(problem.loss)
    both.pending = Pending(1 << 62, rows)
    both.parabolas = Parabolas(problem.loss, (problem.radius,))
    both.add(as_rows(problem.rows), problem.y, np.ones(len(problem.y)))
    return with_curves(_certificate(problem), both.curves()).floors(problem.radius)[PARABOLAS]


def _timed(blocks: BlockLines, rows: Rows, problem: Problem) -> tuple[float, float]:
    """Return microseconds a row, and the seconds of a print."""
    count, start = len(problem.y), time.perf_counter()
    blocks.add(rows, problem.y, np.ones(count))
    middle = time.perf_counter()
    blocks.proved()
    blocks.curves()
    return (middle - start) / count * 1e6, time.perf_counter() - middle


def measure(name: str, rows: int | None = None, sizes: tuple[int, ...] = SIZES) -> Figures:
    """Return the figures of a stream."""
    problem = load(name, rows)
    given = as_rows(problem.rows)
    # Compile first.
    _timed(BlockCurves(problem.loss, size=64), given.part(0, min(256, len(problem.y))),
           replace(problem, y=problem.y[:256]))  # fmt: skip
    both, alone = BlockCurves(problem.loss), BlockLines(problem.loss)
    times = {"lines": _timed(alone, given, problem), "both": _timed(both, given, problem)}
    certificate = _with_lines(_certificate(problem), both)
    floors = with_curves(certificate, both.curves()).floors(problem.radius)
    return Figures(
        name, given.width, problem.radius, problem.best,
        {f"K={count}": at_blocks(problem, count) for count in sizes},
        floors[BLOCKS] / problem.best, floors.get(PARABOLAS, math.nan) / problem.best,
        {kind: found[0] for kind, found in times.items()},
        {kind: found[1] for kind, found in times.items()},
    )  # fmt: skip


def medians(results: list[Figures]) -> dict[str, float]:
    """Return the median over the streams of (best - floor) / best, by the kind of floor.

    A negative floor is one of 0. Where there are no parabolas it is that of the lines.
    """
    kinds = {f"K={size}": [one.blocks[f"K={size}"] for one in results] for size in SIZES}
    kinds["lines"] = [one.lines for one in results]
    kinds["lines and parabolas"] = [np.nanmax([one.lines, one.parabolas]) for one in results]
    return {
        kind: statistics.median(1.0 - max(floor, 0.0) for floor in floors)
        for kind, floors in kinds.items()
    }


def main() -> None:
    """Parse the command line, measure, print."""
    parser = argparse.ArgumentParser(prog="python -m bench.floors", description=__doc__)
    parser.add_argument("--streams", choices=list(BARS), nargs="+", default=list(BARS))
    parser.add_argument("--rows", type=int, metavar="N", help="only the first N rows of each")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the figures to FILE")
    arguments = parser.parse_args()
    facts = machine.describe()
    print(", ".join(f"{name} {fact}" for name, fact in facts.items()))
    head = ("stream", "d", "B", "best", "K=128", "K=1024", "bar", "K=4096", "bar", "lines",
            "parabolas")  # fmt: skip
    print(("{:<13}{:>6}{:>12}{:>17}" + 7 * "{:>11}").format(*head), " us a row, print: lines, both")
    results = []
    for name in arguments.streams:
        found = measure(name, arguments.rows)
        results.append(found)
        bars, blocks = BARS[name] or (math.nan, math.nan), found.blocks
        short = [blocks["K=128"], blocks["K=1024"], bars[0], blocks["K=4096"], bars[1]]
        shown = [_part(one) for one in (*short, found.lines, found.parabolas)]
        times = [f"{one:.2f}" for one in found.microseconds.values()]
        times += [f"{one:.2f} s" for one in found.print_seconds.values()]
        print(f"{name:<13}{found.features:>6}{found.radius:>12.6g}{found.best:>17.10g}"
              + "".join(f"{one:>11}" for one in shown) + "  " + ", ".join(times),
              flush=True)  # fmt: skip
    far = medians(results)
    print("median of (best - floor) / best: "
          + ", ".join(f"{kind} {one:.4f}" for kind, one in far.items()))  # fmt: skip
    if arguments.json is not None:
        report = {"machine": facts, "streams": [asdict(one) for one in results],
                  "medians": far}  # fmt: skip
        arguments.json.write_text(json.dumps(report, indent=1) + "\n", "utf-8")


def _part(value: float) -> str:
    """Return a part of the best with four digits, or how far below 1 it is."""
    if math.isnan(value):
        return "-"
    return f"1-{1.0 - value:.1e}" if 0.9999 < value < 1.0 else f"{value:.4f}"


if __name__ == "__main__":
    main()

"""Floors of blocks of rows beside the best in hindsight: `python -m bench.floors`.

A constant feature 1 is the last column; rows are in the order of the file, but for spambase and
mushrooms, which are shuffled. m_i is the largest |x_i| of the stream, w the minimiser of the loss
plus ||m w||^2 / 2, and the class ||m u||_2 <= B has B = ||m w||_2, so that w is its best. Figures
are floors in units of the loss of w. Nobody knows m in advance: parabolas have the units of the
rows so far.

`K` are blocks of that many rows, with parabolas for the radius B alone; `lines` and `parabolas`
are what `blocks="parabolas"` keeps, at blocks of 262,144 features, for radii 4, 16 and 64. Times
are of these, a row, and of a print. Streams are in the folder that NOREGRET_DATA names.
"""

from __future__ import annotations

import argparse
import json
import math
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
import scipy.sparse as sp

import noregret as nr
from bench import machine
from bench.quality import data
from noregret.floors import BlockCurves, BlockLines
from noregret.floors.parabolas import Parabolas
from noregret.floors.pending import Pending
from noregret.proof.certificate import Certificate
from noregret.proof.evidence import FeatureSizes
from noregret.proof.other_lines import with_blocks, with_curves
from noregret.proof.statement import BLOCKS, PARABOLAS
from noregret.rows.examples import Rows, as_rows

Vector = npt.NDArray[np.float64]
LOGISTIC, SQUARED = nr.losses.Logistic(), nr.losses.Squared()
#: Least floors of blocks of 1,024 rows.
BARS = {
    "sea": 0.99, "elec2": 0.84, "phishing": 0.79, "spambase": 0.95, "mushrooms": 0.92,
    "a9a": 0.975, "covtype": 0.68, "bike_sharing": 1.0 - 1e-9, "california": 1.0 - 1e-9,
    "ccpp": 1.0 - 1e-9, "abalone": 1.0 - 1e-9,
}  # fmt: skip
COVTYPE_ROWS = 60_000


@dataclass(frozen=True)
class Problem:
    """Rows with a constant, labels, and the class."""

    loss: Any
    rows: sp.csr_matrix
    y: Vector
    sizes: Vector
    radius: float
    best: float


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


def _shuffled(stream: data.Stream) -> tuple[sp.csr_matrix, Vector]:
    order = np.random.default_rng(0).permutation(len(stream.y))
    return stream.rows[order], stream.y[order]


def _mushrooms() -> tuple[sp.csr_matrix, Vector]:
    stream = data._svmlight("mushrooms", "mushrooms/mushrooms.svm.xz", 2.0)
    return _shuffled(stream)


def _spambase() -> tuple[sp.csr_matrix, Vector]:
    last = data._last("spambase/spambase")
    return _shuffled(data._csv("spambase", "spambase/spambase.csv.xz", last, "spam"))


def _bike() -> tuple[sp.csr_matrix, Vector]:
    drop = ("casual", "registered", "instant", "dteday")
    stream = data._regression("bike", "bike_sharing/bike_sharing_hour.csv.xz", "cnt", drop)
    return stream.rows, stream.y


def _abalone() -> tuple[sp.csr_matrix, Vector]:
    table = pd.read_csv(data.folder() / "abalone/abalone.csv.xz")
    kinds = [(table["sex"] == kind).to_numpy(np.float64) for kind in "MFI"]
    numbers = table.drop(columns=["sex", "rings"]).to_numpy(np.float64)
    return sp.csr_matrix(np.column_stack([*kinds, numbers])), table["rings"].to_numpy(np.float64)


def _ccpp() -> tuple[sp.csr_matrix, Vector]:
    stream = data._regression("ccpp", "ccpp/ccpp.csv.xz", "PE")
    return stream.rows, stream.y


OWN: dict[str, Callable[[], tuple[sp.csr_matrix, Vector]]] = {
    "mushrooms": _mushrooms,
    "spambase": _spambase,
    "bike_sharing": _bike,
    "california": lambda: _shuffled(data.load("california")),
    "ccpp": _ccpp,
    "abalone": _abalone,
}


def load(name: str, rows: int | None = None) -> Problem:
    """Return a stream with its class, or the first rows of it."""
    if name in OWN:
        X, y = OWN[name]()
    else:
        stream = data.load(name).head(COVTYPE_ROWS if name == "covtype" else None)
        X, y = stream.rows, stream.y
    X, y = X[:rows], y[:rows]
    X = sp.csr_matrix(sp.hstack([X, np.ones((X.shape[0], 1))], format="csr"))
    X.eliminate_zeros()
    X.sort_indices()
    loss = LOGISTIC if set(np.unique(y)) <= {-1.0, 1.0} else SQUARED
    sizes = np.asarray(abs(X).max(axis=0).todense()).ravel()
    units = X @ sp.diags(1.0 / np.where(sizes > 0.0, sizes, 1.0))
    w = _ridge(loss, units, y)
    lost = [loss.value(label, p) for label, p in zip(y.tolist(), (units @ w).tolist(), strict=True)]
    return Problem(loss, X, y, sizes, float(np.linalg.norm(w)), math.fsum(lost))


def _ridge(loss: Any, X: sp.csr_matrix, y: Vector) -> Vector:
    """Return the minimiser of the loss plus ||w||^2 / 2, by Newton's method."""
    w = np.zeros(X.shape[1])

    def value(at: Vector) -> float:
        p = X @ at
        rows = np.logaddexp(0.0, -y * p) if loss is LOGISTIC else (p - y) ** 2
        return float(rows.sum() + 0.5 * at @ at)

    for _ in range(100):
        p = X @ w
        chance = 0.5 * (1.0 - np.tanh(0.5 * y * p))
        slope, bend = (
            (-y * chance, chance * (1.0 - chance)) if loss is LOGISTIC
            else (2.0 * (p - y), np.full(len(y), 2.0))
        )  # fmt: skip
        gradient = X.T @ slope + w
        matrix = (X.T @ sp.diags(bend) @ X).toarray() + np.eye(len(w))
        step, part = np.linalg.solve(matrix, gradient), 1.0
        while part > 1e-9 and value(w - part * step) > value(w):
            part *= 0.5
        if part <= 1e-9 or gradient @ step < 1e-14 * value(w):
            break
        w = w - part * step
    return w


def _certificate(problem: Problem) -> Certificate:
    """Return a certificate about ||m u||_2 <= radius, of predictions of 0."""
    plain = nr.certify(problem.rows, problem.y, np.zeros(len(problem.y)), problem.loss)
    sized = FeatureSizes(None, None, math.inf, 0.0, 1.0, sizes=problem.sizes)
    return replace(plain, evidence=sized)


def at_blocks(problem: Problem, rows: int) -> float:
    """Return the floor of parabolas at blocks of that many rows, for the radius alone."""
    parabolas, pending = Parabolas(problem.loss, (problem.radius,)), Pending(1 << 62, rows)
    given, count = as_rows(problem.rows), len(problem.y)
    parabolas.widen(given.width)
    for full in pending.take(given, problem.y, np.ones(count), np.zeros(count)):
        parabolas.enter(full)
    curves = parabolas.curves(pending.held(given.width) if len(pending) else None)
    floors = with_curves(_certificate(problem), curves).floors(problem.radius)
    return floors[PARABOLAS] / problem.best


def _timed(blocks: BlockLines, rows: Rows, problem: Problem) -> tuple[float, float]:
    """Return microseconds a row, and the seconds of a print."""
    count, start = len(problem.y), time.perf_counter()
    blocks.add(rows, problem.y, np.ones(count))
    middle = time.perf_counter()
    blocks.proved()
    blocks.curves()
    return (middle - start) / count * 1e6, time.perf_counter() - middle


def measure(name: str, rows: int | None = None, sizes: tuple[int, ...] = (1024, 4096)) -> Figures:
    """Return the figures of a stream."""
    problem = load(name, rows)
    given = as_rows(problem.rows)
    # Compile first.
    _timed(BlockCurves(problem.loss, size=64), given.part(0, min(256, len(problem.y))),
           replace(problem, y=problem.y[:256]))  # fmt: skip
    both, alone = BlockCurves(problem.loss), BlockLines(problem.loss)
    times = {"lines": _timed(alone, given, problem), "both": _timed(both, given, problem)}
    certificate = _certificate(problem)
    for ledger, gradient in both.proved():
        own = certificate.evidence.of_lines(gradient)
        certificate = with_blocks(certificate, ledger, gradient, own)
    floors = with_curves(certificate, both.curves()).floors(problem.radius)
    return Figures(
        name, given.width, problem.radius, problem.best,
        {f"K={count}": at_blocks(problem, count) for count in sizes},
        floors[BLOCKS] / problem.best, floors[PARABOLAS] / problem.best,
        {kind: found[0] for kind, found in times.items()},
        {kind: found[1] for kind, found in times.items()},
    )  # fmt: skip


def main() -> None:
    """Parse the command line, measure, print."""
    parser = argparse.ArgumentParser(prog="python -m bench.floors", description=__doc__)
    parser.add_argument("--streams", choices=list(BARS), nargs="+", default=list(BARS))
    parser.add_argument("--rows", type=int, metavar="N", help="only the first N rows of each")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the figures to FILE")
    arguments = parser.parse_args()
    facts = machine.describe()
    print(", ".join(f"{name} {fact}" for name, fact in facts.items()))
    head = ("stream", "d", "B", "best", "K=1024", "bar", "K=4096", "lines", "parabolas")
    print(("{:<13}{:>4}{:>12}{:>17}" + 5 * "{:>11}").format(*head), " us a row, print: lines, both")
    results = []
    for name in arguments.streams:
        found = measure(name, arguments.rows)
        results.append(found)
        short = [found.blocks["K=1024"], BARS[name], found.blocks["K=4096"]]
        shown = [_part(one) for one in (*short, found.lines, found.parabolas)]
        times = [f"{one:.2f}" for one in found.microseconds.values()]
        times += [f"{one:.2f} s" for one in found.print_seconds.values()]
        print(f"{name:<13}{found.features:>4}{found.radius:>12.6g}{found.best:>17.10g}"
              + "".join(f"{one:>11}" for one in shown) + "  " + ", ".join(times),
              flush=True)  # fmt: skip
    if arguments.json is not None:
        report = {"machine": facts, "streams": [asdict(one) for one in results]}
        arguments.json.write_text(json.dumps(report, indent=1) + "\n", "utf-8")


def _part(value: float) -> str:
    """Return a part of the best with four digits, or how far below 1 it is."""
    return f"1-{1.0 - value:.1e}" if 0.9999 < value < 1.0 else f"{value:.4f}"


if __name__ == "__main__":
    main()

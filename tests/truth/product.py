"""All families before their referees, compiled: python -m tests.truth.product --count 2000.

Half of the streams are those of this package, at their own extremes: learners, matrices, proofs of
drift, floors of blocks, optima in hindsight and shifting bounds. The other half goes to the referee
of printed texts, family by family: bandits, experts, games, finite classes, paths, estimators,
commands. The first run compiles what the kernel cache does not hold. Every stream is made again by
its kind, seed and number.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
import warnings
from collections.abc import Callable, Sequence
from functools import partial

import numpy as np

from tests.printed.families import FAMILIES, judged
from tests.truth import (
    drift_streams,
    dual_streams,
    floor_streams,
    hindsight_problems,
    matrix_streams,
)
from tests.truth import shifting_problems as shifting
from tests.truth.claims import Tally
from tests.truth.learners import COMBOS, SCALE_FREE, TRACKERS
from tests.truth.soak import stream

#: How many statements were judged, and the false ones.
Judged = tuple[int, list[str]]
_SHIFTING: list[Callable[[np.random.Generator], shifting.Problem]] = [
    shifting.ball,
    partial(shifting.ball, p=3.0),
    partial(shifting.box, sparse=False),
    partial(shifting.box, sparse=True),
    partial(shifting.simplex, sparse=False),
    partial(shifting.simplex, sparse=True),
]


def _drift(seed: int, index: int) -> Judged:
    tally, _, _ = drift_streams.stream(seed, index)
    return sum(tally.checked.values()), tally.false


def _streams(one: Callable[[int, int], tuple[Tally, str]], seed: int, index: int) -> Judged:
    tally, _ = one(seed, index)
    return sum(tally.checked.values()), tally.false


def _hindsight(seed: int, index: int) -> Judged:
    combos = hindsight_problems.COMBOS
    chosen = int(np.random.default_rng([seed, index, 3]).integers(len(combos)))
    tally = hindsight_problems.run_one(combos[chosen], [seed, index])
    return (0, []) if tally is None else (sum(tally.checked.values()), tally.false)


def _shifting(seed: int, index: int) -> Judged:
    draw = _SHIFTING[index % len(_SHIFTING)]
    found, theorems, false = shifting.judge(draw(np.random.default_rng([seed, index, 5])))
    return len(theorems) + len(found.bounds) + 3, false


def _printed(family: str, seed: int, index: int) -> Judged:
    verdicts = judged(family, seed, index)
    return verdicts.judged.total(), verdicts.false


STREAMS: dict[str, Callable[[int, int], Judged]] = {
    "descent": partial(_streams, partial(stream, combos=COMBOS)),
    "trackers": partial(_streams, partial(stream, combos=TRACKERS)),
    "scale-free": partial(_streams, partial(stream, combos=SCALE_FREE)),
    "dual": partial(_streams, dual_streams.stream),
    "matrix": partial(_streams, matrix_streams.stream),
    "floors": partial(_streams, floor_streams.stream),
    "floors of scores": partial(_streams, partial(matrix_streams.stream, blocks=True)),
    "drift proofs": _drift,
    "hindsight": _hindsight,
    "shifting bounds": _shifting,
}
PRINTED = {
    f"{name}, printed": partial(_printed, name)
    for name in FAMILIES
    if name not in ("linear", "dual", "matrix", "hindsight")
}
KINDS = STREAMS | PRINTED
#: Parts of the first half that each kind has.
SHARES = {"descent": 3.0, "dual": 2.0, "scale-free": 0.5, "trackers": 0.5}


def counts(total: int) -> dict[str, int]:
    """Return how many streams of each kind make up about the total."""
    whole = sum(SHARES.get(name, 1.0) for name in STREAMS)
    found = {name: max(1, round(total / 2 * SHARES.get(name, 1.0) / whole)) for name in STREAMS}
    return found | dict.fromkeys(PRINTED, max(1, round(total / 2 / len(PRINTED))))


def played(kind: str, seed: int, numbers: Sequence[int]) -> Judged:
    """Play these streams of a kind, and print what is false."""
    statements, false = 0, list[str]()
    for index in numbers:
        try:
            found = KINDS[kind](seed, index)
        except Exception as error:
            # What cannot be played or judged counts as false.
            found = (1, [f"not judged: {type(error).__name__}: {error}"])
        if found[1]:
            print(f"FALSE --kind {kind!r} --seed {seed} --only {index}")
            print("\n".join(f"    {text}"[:1000] for text in found[1][:3]), flush=True)
        statements, false = statements + found[0], false + found[1]
    return statements, false


def main(arguments: Sequence[str] | None = None) -> int:
    """Play the streams of all kinds; return 1 if any statement was false."""
    parser = argparse.ArgumentParser(prog="tests.truth.product", description=__doc__)
    parser.add_argument("--count", type=int, default=2000, help="how many streams in all, about")
    parser.add_argument("--seed", type=int, default=0, help="which streams")
    parser.add_argument("--kind", choices=list(KINDS), help="one kind only")
    parser.add_argument("--only", type=int, help="the number of one stream to play again")
    options = parser.parse_args(arguments)
    if os.environ.get("NUMBA_DISABLE_JIT", "0") != "0":
        parser.error("NUMBA_DISABLE_JIT is set, expected kernels to be compiled")
    warnings.simplefilter("ignore")
    wanted = counts(options.count)
    names = list(KINDS) if options.kind is None else [options.kind]
    streams, statements, false, start, expected = 0, 0, 0, time.monotonic(), 0.0
    print(f"{'kind':<32}{'streams':>9}{'statements':>12}{'false':>7}{'seconds':>9}", flush=True)
    for name in names:
        numbers = range(wanted[name]) if options.only is None else [options.only]
        before, begun = time.monotonic(), time.process_time()
        checked, wrong = played(name, options.seed, numbers)
        streams, statements = streams + len(numbers), statements + checked
        false += len(wrong)
        passed = time.monotonic() - before
        expected += (time.process_time() - begun) / len(numbers) * counts(2000)[name]
        line = f"{name:<32}{len(numbers):>9,}{checked:>12,}{len(wrong):>7}{passed:>9.1f}"
        print(line, flush=True)
    passed = time.monotonic() - start
    print(f"{streams:,} streams, {statements:,} statements, {false} false, {passed:.0f} s")
    print(f"2,000 streams of these kinds take {expected / 60.0:.0f} minutes of one idle core")
    return 1 if false else 0


if __name__ == "__main__":
    sys.exit(main())

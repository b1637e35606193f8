"""Thousands of streams before the referee: python -m tests.truth.soak --count 2000 --seed 0."""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Sequence
from functools import partial

import numpy as np

from tests.truth import dual_streams, floor_streams, matrix_streams
from tests.truth.claims import Tally, judge
from tests.truth.learners import BLOCKS, COMBOS, SCALE_FREE, TRACKERS, Combo
from tests.truth.streams import KINDS, LONG, Kind, play

FAMILIES = ("descent", "dual", "scale-free", "blocks", "floors", "floors of scores")
DESCENT = (*COMBOS, *TRACKERS)
LAYOUTS = ("dense64", "sparse64", "dense32", "sparse32")


def run_one(
    combo: Combo, kind: Kind, seed: Sequence[int], form: str | None = None
) -> tuple[Tally, str]:
    """Play one stream and judge it; return the tally and what was played, in words."""
    random = np.random.default_rng(seed)
    dimension = int(random.choice([1, 2, 5, 5, 17]))
    form = combo.layout if form is None else form
    with np.errstate(all="ignore"):
        learner = combo.learner(random, kind.size, dimension)
        parts = f"{learner.loss} {learner.mirror} {learner.rate}"
        played = play(random, kind, learner, form, dimension)
        tally = judge(random, played)
    return tally, f"seed {list(seed)}: {combo.name} | {kind.name} | {form} {dimension}d | {parts}"


def stream(seed: int, index: int, combos: Sequence[Combo] = DESCENT) -> tuple[Tally, str]:
    """Play the stream of that number."""
    random = np.random.default_rng([seed, index, 1])
    combo = combos[int(random.integers(len(combos)))]
    kind = KINDS[int(random.integers(len(KINDS)))]
    # Other layouts compile other kernels: mostly stay with the combination's own.
    form = str(random.choice(LAYOUTS)) if random.random() < 0.3 else combo.layout
    if index % 200 == 199:
        kind = LONG
    return run_one(combo, kind, [seed, index], form)


def table(total: Tally, streams: int) -> str:
    """Return the summary: statements, violations, and the least distance from falsehood."""
    lines = [f"{'statement':<22}{'checked':>10}{'false':>8}{'tightest':>12}"]
    for kind, count in sorted(total.checked.items()):
        false = sum(text.startswith(f"{kind}: ") for text in total.false)
        lines.append(f"{kind:<22}{count:>10,}{false:>8}{total.tightest[kind]:>12.2e}")
    checked = sum(total.checked.values())
    lines.append(f"{streams:,} streams, {checked:,} statements, {len(total.false)} violations")
    return "\n".join(lines)


def soak(family: str, seed: int, numbers: Sequence[int]) -> Tally:
    """Play these streams of a family, print what is false and a table; return the tally."""
    ones = {
        "dual": dual_streams.stream,
        "scale-free": partial(stream, combos=SCALE_FREE),
        "blocks": partial(stream, combos=BLOCKS),
        "floors": floor_streams.stream,
        "floors of scores": partial(matrix_streams.stream, blocks=True),
    }
    one = ones.get(family, stream)
    total, start = Tally(), time.monotonic()
    for done, index in enumerate(numbers, 1):
        tally, what = one(seed, index)
        total.add(tally)
        if tally.false:
            print(f"\nFALSE --family {family} --seed {seed} --only {index}: {what}")
            print("\n".join(f"    {text}" for text in tally.false[:5]))
        if done % 20 == 0 or done == len(numbers):
            checked, passed = sum(total.checked.values()), time.monotonic() - start
            print(
                f"\r{family}: {done:,} of {len(numbers):,} streams, {checked:,} statements, "
                f"{len(total.false)} violations, {passed:.0f} s",
                end="",
                flush=True,
            )
    print("\n" + table(total, len(numbers)))
    return total


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the soak; return 1 if any statement was false."""
    parser = argparse.ArgumentParser(prog="tests.truth.soak", description=__doc__)
    parser.add_argument("--count", type=int, default=2000, help="how many streams of each family")
    parser.add_argument("--seed", type=int, default=0, help="which streams")
    parser.add_argument("--only", type=int, help="the number of one stream to play again")
    parser.add_argument("--family", choices=FAMILIES, help="one family only")
    options = parser.parse_args(arguments)
    numbers = range(options.count) if options.only is None else [options.only]
    families = FAMILIES if options.family is None else [options.family]
    totals = [soak(family, options.seed, numbers) for family in families]
    return 1 if any(total.false for total in totals) else 0


if __name__ == "__main__":
    sys.exit(main())

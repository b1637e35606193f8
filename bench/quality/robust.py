"""How far our loss moves where features are moved: `python -m bench.quality.robust`.

Of streams with up to 512 features. `shifted`: every feature is shifted by a random number within
100 of its spreads and multiplied by one within 1e-3 and 1e3. `broken`: the row in the middle is
multiplied by a million. Three seeds of the shifts, the worst is told; beside the mixture stands
`ScaleFree` alone, for which units do not matter, and shifts do.
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Iterator

import numpy as np
import scipy.sparse as sp

from bench.quality.data import Stream
from bench.quality.ours import NAMED, Tool, noregret
from bench.quality.rivals import progressive_loss
from bench.quality.sets import EVERY, SETS
from bench.quality.several import judged
from noregret.losses.links import multinomial

#: The most features, and by how much the loss may change at most, in parts of it.
WIDEST, SHIFTED, BROKEN = 512, 0.02, 0.05
SEEDS = (1, 2, 3)
LARGEST_SHIFT, LARGEST_UNIT, OUTLIER = 100.0, 1e3, 1e6


def shifted(stream: Stream, seed: int) -> Stream:
    """Return the stream with every feature shifted and in another unit."""
    random = np.random.default_rng(seed)
    rows = stream.rows.toarray()
    width = rows.shape[1]
    shift = random.uniform(-LARGEST_SHIFT, LARGEST_SHIFT, width) * rows.std(axis=0)
    units = np.exp(random.uniform(-math.log(LARGEST_UNIT), math.log(LARGEST_UNIT), width))
    return stream.with_rows(sp.csr_matrix((rows + shift) * units))


def broken(stream: Stream) -> Stream:
    """Return the stream with the row in the middle multiplied by a million."""
    factors = np.ones(len(stream.y))
    factors[len(stream.y) // 2] = OUTLIER
    return stream.with_rows(sp.csr_matrix(sp.diags(factors) @ stream.rows))


def loss_of(tool: Tool, stream: Stream) -> float:
    """Return the mean loss of a tool of ours on a stream."""
    made = tool(stream, math.inf)
    if stream.outputs > 1:
        found = judged(stream.y, made, np.log(multinomial(made))).rates(len(stream.y))[1]
        return math.nan if found is None else found
    return progressive_loss(stream, made)


def changes(tool: Tool, stream: Stream) -> tuple[float, float]:
    """Return by how much the loss changes, shifted and broken, in parts of it."""
    plain = loss_of(tool, stream)
    moved = [loss_of(tool, shifted(stream, seed)) / plain - 1.0 for seed in SEEDS]
    return max(moved, key=abs), loss_of(tool, broken(stream)) / plain - 1.0


def streams(names: list[str], rows: int | None) -> Iterator[Stream]:
    """Yield the streams of so few features that they are standardised."""
    for name in names:
        stream = EVERY[name]().head(rows)
        if stream.rows.shape[1] <= WIDEST:
            yield stream


def main() -> None:
    """Parse the command line, run, print."""
    parser = argparse.ArgumentParser(prog="python -m bench.quality.robust", description=__doc__)
    parser.add_argument("--set", choices=SETS, default="shared", help="[default: shared]")
    parser.add_argument(
        "--streams", choices=EVERY, nargs="+", help="of any set [default: all of --set]"
    )
    parser.add_argument("--rows", type=int, metavar="N", help="only the first N rows of each")
    arguments = parser.parse_args()
    print(f"{'stream':<16}{'shifted':>10}{'broken':>10}   {'ScaleFree':>10}{'':>10}")
    worst = [0.0, 0.0]
    for stream in streams(arguments.streams or list(SETS[arguments.set]), arguments.rows):
        tools = [noregret, *([NAMED["ScaleFree"]] if stream.outputs == 1 else [])]
        found = [changes(tool, stream) for tool in tools]
        worst = [max(kept, abs(new)) for kept, new in zip(worst, found[0], strict=True)]
        told = "   ".join("".join(f"{change:>+10.2%}" for change in pair) for pair in found)
        print(f"{stream.name:<16}{told}", flush=True)
    for what, change, bar in zip(("shifted", "broken"), worst, (SHIFTED, BROKEN), strict=True):
        print(f"{what}: at most {change:.2%}, bar {bar:.0%}: {'met' if change < bar else 'MISSED'}")


if __name__ == "__main__":
    main()

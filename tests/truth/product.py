"""All families before their referees, compiled: python -m tests.truth.product --count 2000.

Streams of linear, dual and scale-free learners go to the referee of this package, at their own
extremes; every other family goes to the referee of printed texts.
"""

from __future__ import annotations

import argparse
import os
import sys
import warnings
from collections.abc import Sequence

from tests.printed.families import FAMILIES
from tests.printed.soak import soak as printed
from tests.truth.soak import FAMILIES as STREAMS
from tests.truth.soak import soak as streams


def main(arguments: Sequence[str] | None = None) -> int:
    """Play the streams of all families; return 1 if any statement was false."""
    parser = argparse.ArgumentParser(prog="tests.truth.product", description=__doc__)
    parser.add_argument("--count", type=int, default=2000, help="how many streams in all, about")
    parser.add_argument("--seed", type=int, default=0, help="which streams")
    options = parser.parse_args(arguments)
    if os.environ.get("NUMBA_DISABLE_JIT", "0") != "0":
        parser.error("NUMBA_DISABLE_JIT is set, expected kernels to be compiled")
    warnings.simplefilter("ignore")
    others = [name for name in FAMILIES if name not in ("linear", "dual")]
    each = max(1, options.count // 2 // len(STREAMS))
    few = max(1, options.count // 2 // len(others))
    false = sum(len(streams(name, options.seed, range(each)).false) for name in STREAMS)
    for name in others:
        found = printed(name, options.seed, range(few))
        false += len(found.false)
        print(f"{name}: {few:,} certificates, {found.judged.total():,} statements", flush=True)
    print(f"{each * len(STREAMS) + few * len(others):,} streams, {false} false")
    return 1 if false else 0


if __name__ == "__main__":
    sys.exit(main())

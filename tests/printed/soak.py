"""Printed certificates before the referee: python -m tests.printed.soak --count 20000 --seed 1.

With NUMBA_DISABLE_JIT=1 kernels run interpreted, which costs less than compiling them for streams
as short as these. Every certificate is made again by its family, seed and number.
"""

from __future__ import annotations

import argparse
import sys
import time
import traceback
import warnings
from collections import Counter
from collections.abc import Sequence

from tests.printed.cases_reached import counting, printing
from tests.printed.families import FAMILIES, counts, judged
from tests.printed.verdicts import Verdicts

#: Certificates of every family, and of every class that prints, in a run of the full length.
LEAST = 200


def soak(family: str, seed: int, numbers: Sequence[int]) -> Verdicts:
    """Judge these certificates of a family, and print what is false or cannot be read."""
    total = Verdicts()
    for index in numbers:
        try:
            found = judged(family, seed, index)
        except Exception as error:
            # What cannot be parsed or judged counts as false.
            found = Verdicts()
            found.enter("not judged", False, f"{type(error).__name__}: {error}")
            if len(numbers) == 1:
                traceback.print_exc()
        if found.false:
            print(f"FALSE --family {family!r} --seed {seed} --only {index}")
            print("\n".join(f"    {text}"[:1000] for text in found.false[:3]), flush=True)
        total.add(found)
    return total


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the soak; return 1 if a statement was false, or a class was read too rarely."""
    parser = argparse.ArgumentParser(prog="tests.printed.soak", description=__doc__)
    parser.add_argument("--count", type=int, default=20000, help="how many certificates, about")
    parser.add_argument("--least", type=int, help=f"of every family [default: {LEAST} in 20000]")
    parser.add_argument("--seed", type=int, default=1, help="which certificates")
    parser.add_argument("--only", type=int, help="the number of one certificate to judge again")
    parser.add_argument("--family", choices=list(FAMILIES), help="one family only")
    options = parser.parse_args(arguments)
    warnings.simplefilter("ignore")
    least = LEAST * options.count // 20000 if options.least is None else options.least
    wanted = counts(options.count, least)
    names = list(FAMILIES) if options.family is None else [options.family]
    with counting() as reached:
        whole = _all(options, names, wanted)
    missing = 0
    if options.family is None and options.only is None:
        missing = _told(reached, least)
    return 1 if whole.false or missing else 0


def _told(reached: Counter[str], least: int) -> int:
    """Print how often each class was read; return how many were read too rarely."""
    print(f"{'class':<28}{'read':>8}")
    for name in sorted(printing()):
        print(f"{name:<28}{reached[name]:>8,}")
    rare = [name for name in sorted(printing()) if reached[name] < least]
    if rare:
        print(f"read less than {least} times: {', '.join(rare)}")
    return len(rare)


def _all(options: argparse.Namespace, names: list[str], wanted: dict[str, int]) -> Verdicts:
    """Soak the families, and print a table of them."""
    whole, certificates, start, expected = Verdicts(), 0, time.monotonic(), 0.0
    print(f"{'family':<22}{'certificates':>14}{'statements':>12}{'false':>8}{'seconds':>9}")
    for name in names:
        numbers = range(wanted[name]) if options.only is None else [options.only]
        before, begun = time.monotonic(), time.process_time()
        total = soak(name, options.seed, numbers)
        whole.add(total)
        certificates += len(numbers)
        judged_here, false = total.judged.total(), len(total.false)
        passed = time.monotonic() - before
        expected += (time.process_time() - begun) / len(numbers) * counts(20000, LEAST)[name]
        print(
            f"{name:<22}{len(numbers):>14,}{judged_here:>12,}{false:>8}{passed:>9.1f}", flush=True
        )
    print(
        f"{certificates:,} certificates, {whole.judged.total():,} statements, "
        f"{len(whole.false)} false, {time.monotonic() - start:.0f} s"
    )
    print(
        f"20,000 certificates of these families take {expected / 60.0:.0f} minutes of one idle core"
    )
    return whole


if __name__ == "__main__":
    sys.exit(main())

"""Compare two source trees bit by bit: `python -m tests.same_bits OLD_SRC [NEW_SRC]`.

The same scenarios are played in both, in processes of their own; every scenario whose SHA-256
differs is listed with the largest relative difference of each quantity. Quantities that only the
new tree has are counted, not held against it. Exit status 1 if any scenario differs.

    python -m tests.same_bits --interpreted OLD_SRC           whole product, by the interpreter
    python -m tests.same_bits OLD_SRC --family dual           one family, compiled
    python -m tests.same_bits OLD_SRC --pairs                 more kernels: hours if none is cached
    python -m tests.same_bits OLD_SRC --only 'Hinge*Entropy*' scenarios by name
    python -m tests.same_bits --record FILE OLD_SRC           write the outcomes of one tree
    python -m tests.same_bits --against FILE [NEW_SRC]        compare a tree with them
"""

from __future__ import annotations

import argparse
import hashlib
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from tests.same_bits.compare import Run, compare, read, summary
from tests.same_bits.names import COMPILED, FAMILIES, INTERPRETED, PAIRS, wanted

ROOT = Path(__file__).resolve().parents[2]


def play(
    source: Path, families: Sequence[str], compiled: int, only: str | None, folder: Path
) -> Path:
    """Play the families in a tree, a process each; return the file of their outcomes."""
    whole = folder / f"{len(list(folder.iterdir()))}.jsonl"
    environment = os.environ | {"PYTHONPATH": f"{source}{os.pathsep}{ROOT}"}
    environment["NUMBA_DISABLE_JIT"] = "0" if compiled else "1"
    if "NOREGRET_CACHE_DIR" not in environment:
        # A directory for each tree: the kernels of both may be more than one may hold.
        place = hashlib.sha256(str(source).encode()).hexdigest()[:12]
        cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
        environment["NOREGRET_CACHE_DIR"] = str(cache / f"noregret_same_bits_{place}")
    with whole.open("wb") as file:
        for family in families:
            part = folder / f"{family}.part"
            command = [sys.executable, "-m", "tests.same_bits.worker", family, str(part)]
            command += ["--source", str(source), "--compiled", str(compiled)]
            command += [] if only is None else ["--only", only]
            subprocess.run(command, check=True, env=environment, cwd=ROOT)
            with part.open("rb") as played:
                shutil.copyfileobj(played, file)
    return whole


def main(arguments: Sequence[str] | None = None) -> int:
    """Parse the command line, play, compare, print."""
    parser = argparse.ArgumentParser(
        prog="python -m tests.same_bits", description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )  # fmt: skip
    parser.add_argument("sources", nargs="*", type=Path, metavar="SRC", help="OLD_SRC [NEW_SRC]")
    parser.add_argument("--interpreted", action="store_true", help="the whole product, uncompiled")
    parser.add_argument("--pairs", action="store_true", help="compile every pair of classes")
    parser.add_argument("--family", action="append", choices=FAMILIES, help="one family only")
    parser.add_argument("--only", metavar="PATTERN", help="scenarios with this in their name")
    parser.add_argument("--record", type=Path, metavar="FILE", help="write the outcomes of SRC")
    parser.add_argument("--against", type=Path, metavar="FILE", help="compare with such a file")
    parser.add_argument("--most", type=int, default=50, help="scenarios to list [default: 50]")
    options = parser.parse_args(arguments)
    families = options.family or FAMILIES
    compiled = INTERPRETED if options.interpreted else PAIRS if options.pairs else COMPILED
    sources = [source.resolve() for source in options.sources]
    if options.against is not None and not options.against.is_file():
        parser.error(f"there is no file {options.against}")
    if options.against is not None or not options.record:
        needed = 0 if options.against is not None else 1
        if not needed <= len(sources) <= needed + 1:
            parser.error("expected OLD_SRC [NEW_SRC], or --against FILE [NEW_SRC]")
        if len(sources) == needed:
            sources.append(ROOT / "src")
    elif len(sources) != 1:
        parser.error("--record FILE takes one SRC")
    with tempfile.TemporaryDirectory(prefix="same_bits") as name:
        folder = Path(name)
        runs = [play(source, families, compiled, options.only, folder) for source in sources]
        if options.record is not None:
            shutil.move(runs[0], options.record)
            return 0
        old = read(runs[0] if options.against is None else options.against)
        new = read(runs[-1])
    if options.against is not None:
        old = _chosen(old, families, options.only)
    return report(old, new, options.most)


def _chosen(old: Run, families: Sequence[str], only: str | None) -> Run:
    """Return the scenarios of a recorded run that are played again."""
    split = {name: name.split(": ", 1) for name in old}
    return {
        name: old[name]
        for name, (family, scenario) in split.items()
        if family in families and wanted(scenario, only)
    }


def report(old: Run, new: Run, most: int) -> int:
    """Print what differs; return 1 if anything does."""
    differences, added = compare(old, new)
    for difference in differences[:most]:
        print("\n".join(difference.lines()))
    if len(differences) > most:
        print(f"... and {len(differences) - most:,} more scenarios: --most lists more")
    if differences:
        print("Scenarios that differ, by quantity, with the largest relative difference:")
        print("\n".join(summary(differences)))
    more = f", {added:,} quantities are new" if added else ""
    print(f"{len(old):,} scenarios, {len(differences):,} differ{more}")
    return 1 if differences else 0


if __name__ == "__main__":
    sys.exit(main())

"""One family of scenarios in this process: `python -m tests.same_bits.worker FAMILY OUT`.

Started by `tests.same_bits` with PYTHONPATH set to one of the trees.
"""

from __future__ import annotations

import argparse
import importlib
import json
import sys
import time
import warnings
from pathlib import Path

import numpy as np

import noregret
from tests.same_bits.names import INTERPRETED, wanted
from tests.same_bits.observe import asked, digest, flat, plain


def play(family: str, compiled: int, pattern: str | None, out: Path, words: str) -> None:
    """Write name, digest and content of every scenario, one JSON object a line."""
    module = importlib.import_module(f"tests.same_bits.{family}")
    begun = shown = time.monotonic()
    count = 0
    with out.open("w", encoding="utf-8") as file:
        for name, scenario, *given in module.scenarios(compiled):
            if not wanted(name, pattern):
                continue
            content = flat(plain(asked(scenario, *given)), "")
            entry = {"name": f"{family}: {name}", "sha256": digest(content), "content": content}
            file.write(json.dumps(entry) + "\n")
            count += 1
            if time.monotonic() - shown > 10.0:
                shown = time.monotonic()
                print(f"{words} {family}: {count:,} scenarios", file=sys.stderr, flush=True)
    passed = time.monotonic() - begun
    print(f"{words} {family}: {count:,} in {passed:.0f} s", file=sys.stderr, flush=True)


def main() -> None:
    """Play one family."""
    parser = argparse.ArgumentParser(prog="tests.same_bits.worker", description=__doc__)
    parser.add_argument("family")
    parser.add_argument("out", type=Path)
    parser.add_argument("--source", type=Path, required=True, help="the tree that must be used")
    parser.add_argument("--compiled", type=int, default=INTERPRETED)
    parser.add_argument("--only")
    options = parser.parse_args()
    found = Path(str(noregret.__file__)).resolve()
    if options.source.resolve() not in found.parents:
        parser.error(f"noregret is imported from {found}, expected {options.source}")
    warnings.simplefilter("ignore")
    words = f"{options.source} {'compiled' if options.compiled else 'interpreted'}"
    with np.errstate(all="ignore"):
        play(options.family, options.compiled, options.only, options.out, words)


if __name__ == "__main__":
    main()

"""The list of mutations, read from the text files beside this one.

    tests NAME: what pytest is called with, for the mutations that say NAME
    @ PLACE NAME [compiled]
    - text that occurs once in PLACE, a file or package below src/noregret; several lines as they
      stand (a package lets the text move between its files)
    + text in its place; none removes it
    equivalent: why no test can notice it, for a mutation that changes nothing observable

A mutation may name its tests in place of a NAME. Tests run interpreted unless it says `compiled`.
"""

from __future__ import annotations

from pathlib import Path

from tests.mutants.mutation import Mutation

_HERE = Path(__file__).parent


def read_mutations(path: Path) -> list[Mutation]:
    """Return the mutations of one file; ValueError for a line that means nothing."""
    groups: dict[str, tuple[str, ...]] = {}
    blocks: list[list[str]] = []
    for line in path.read_text(encoding="utf-8").splitlines():
        if line.startswith("tests "):
            name, _, given = line.removeprefix("tests ").partition(":")
            groups[name.strip()] = tuple(given.split())
        elif line.startswith("@ "):
            blocks.append([line])
        elif line and not line.startswith("#"):
            if not blocks or not f"{line} ".startswith(("- ", "+ ", "equivalent: ")):
                raise ValueError(f"{path.name}: expected '@ ', '- ', '+ ', got {line!r}")
            blocks[-1].append(line if line not in ("-", "+") else f"{line} ")
    return [_mutation(block, groups) for block in blocks]


def _mutation(block: list[str], groups: dict[str, tuple[str, ...]]) -> Mutation:
    place, *words = block[0].removeprefix("@ ").split()
    tests = [test for word in words if word != "compiled" for test in groups.get(word, (word,))]
    old, new, reasons = (
        [line.removeprefix(mark) for line in block if line.startswith(mark)]
        for mark in ("- ", "+ ", "equivalent: ")
    )
    return Mutation(
        place, "\n".join(old), "\n".join(new), tuple(tests), "compiled" in words, " ".join(reasons)
    )


MUTATIONS: list[Mutation] = [
    mutation for path in sorted(_HERE.glob("*.txt")) for mutation in read_mutations(path)
]

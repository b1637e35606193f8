"""One mutation, the tree it is tried in, and the verdict of the tests."""

from __future__ import annotations

import compileall
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from tests.mutants.server import HUNG, ROOT, SECONDS, Server, arguments, environment, limit_time

PACKAGE = Path("src") / "noregret"


@dataclass(frozen=True)
class Mutation:
    """A change of one place of the sources that must not go unnoticed.

    place: a file or a package below src/noregret; a package lets the text move between its files.
    old: the text to replace; it occurs exactly once in the files of that place.
    new: the text in its place.
    tests: what pytest is called with; the first file or test that fails ends the run.
    compiled: whether the tests run compiled; interpreted is faster and the default.
    equivalent: why no test can notice it, for a mutation that changes nothing observable.
    """

    place: str
    old: str
    new: str
    tests: tuple[str, ...]
    compiled: bool = False
    equivalent: str = ""

    @property
    def name(self) -> str:
        """The mutation in one line."""
        old, new = (" ".join(text.split()) for text in (self.old, self.new))
        return f"{self.place}: {old} -> {new or '(removed)'}"

    @property
    def package(self) -> str:
        """The package that is mutated, for the table of results."""
        first, *_ = Path(self.place).parts
        return first.removesuffix(".py")

    def file(self) -> Path:
        """Return the file below src/noregret with the text; ValueError if the list is stale."""
        counts = {path: text.count(self.old) for path, text in _sources(self.place).items()}
        if sum(counts.values()) != 1:
            found = sum(counts.values())
            raise ValueError(f"{self.name}: the text occurs {found} times, expected once")
        return max(counts, key=lambda path: counts[path])

    def applied(self) -> str:
        """Return the mutated source; ValueError if the list is stale."""
        return _sources(self.place)[self.file()].replace(self.old, self.new)


@cache
def _sources(place: str) -> dict[Path, str]:
    """Return the text of the file of that name, or of all files of that package."""
    root = ROOT / PACKAGE
    paths = [root / place] if place.endswith(".py") else sorted((root / place).rglob("*.py"))
    return {path.relative_to(root): path.read_text(encoding="utf-8") for path in paths}


@cache
def _compile_sources() -> None:
    """Bring the byte code up to date, so that only the mutated file is compiled in a copy."""
    compileall.compile_dir(ROOT / "src", quiet=2)


@contextmanager
def mutated_tree(mutation: Mutation) -> Iterator[Path]:
    """Make a copy of the project with that mutation: links, but for the mutated file."""
    with tempfile.TemporaryDirectory(prefix="mutant-") as name:
        tree = Path(name)
        for path in ROOT.iterdir():
            if path.name in ("tests", "bench", "docs", "examples") or path.is_file():
                (tree / path.name).symlink_to(path)
        _compile_sources()
        shutil.copytree(ROOT / "src", tree / "src", copy_function=os.symlink)
        mutated = tree / PACKAGE / mutation.file()
        mutated.unlink()
        mutated.write_text(mutation.applied(), encoding="utf-8")
        yield tree


@dataclass(frozen=True)
class Verdict:
    """What the tests said about a mutation: "killed", "survived" or "broken"."""

    mutation: Mutation
    outcome: str
    detail: str

    @property
    def survived(self) -> bool:
        """Whether no test noticed a mutation that some test should notice."""
        return self.outcome != "killed" and not self.mutation.equivalent


def judge(mutation: Mutation, server: Server) -> Verdict:
    """Run the tests of a mutation in a tree of its own."""
    with mutated_tree(mutation) as tree:
        if mutation.compiled:
            code, output = _compiled_run(tree, mutation.tests)
        else:
            code, output = server.run(tree, mutation.tests)
    if code in HUNG:
        return Verdict(mutation, "killed", f"no answer within {SECONDS} s")
    lines = [line for line in output.splitlines() if line.strip()]
    last = lines[-1] if lines else ""
    failed = next((line for line in lines if line.startswith("FAILED")), last)
    outcome = {0: "survived", 1: "killed"}.get(code, "broken")
    return Verdict(mutation, outcome, failed.removeprefix("FAILED "))


def _compiled_run(tree: Path, tests: tuple[str, ...]) -> tuple[int, str]:
    run = subprocess.run(
        [sys.executable, "-m", "pytest", *arguments(tree, tests)],
        cwd=tree,
        env=os.environ | environment(tree, compiled=True),
        capture_output=True,
        text=True,
        preexec_fn=limit_time,
    )
    return run.returncode, run.stdout or run.stderr

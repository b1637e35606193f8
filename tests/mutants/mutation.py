"""One mutation, the tree it is tried in, and the verdict of the tests."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PACKAGE = Path("src") / "noregret"
#: A test that hangs under a mutation has noticed it.
SECONDS = 600.0


@dataclass(frozen=True)
class Mutation:
    """A change of one place of the sources that must not go unnoticed.

    file: path below src/noregret.
    old: the text to replace; it occurs exactly once in the file.
    new: the text in its place.
    tests: what pytest is called with; the first file or test that fails ends the run.
    compiled: whether the tests run compiled; interpreted is faster and the default.
    equivalent: why no test can notice it, for a mutation that changes nothing observable.
    """

    file: str
    old: str
    new: str
    tests: tuple[str, ...]
    compiled: bool = False
    equivalent: str = ""

    @property
    def name(self) -> str:
        """The mutation in one line."""
        old, new = (" ".join(text.split()) for text in (self.old, self.new))
        return f"{self.file}: {old} -> {new or '(removed)'}"

    def applied(self) -> str:
        """Return the mutated source; ValueError if the list is stale."""
        source = (ROOT / PACKAGE / self.file).read_text(encoding="utf-8")
        count = source.count(self.old)
        if count != 1:
            raise ValueError(f"{self.name}: the text occurs {count} times, expected once")
        return source.replace(self.old, self.new)


@contextmanager
def mutated_tree(mutation: Mutation) -> Iterator[Path]:
    """Make a copy of the project with that mutation: links, but for the package itself."""
    with tempfile.TemporaryDirectory(prefix="mutant-") as name:
        tree = Path(name)
        for path in ROOT.iterdir():
            if path.name in ("tests", "bench", "docs", "examples") or path.is_file():
                (tree / path.name).symlink_to(path)
        hidden = shutil.ignore_patterns("__pycache__")
        shutil.copytree(ROOT / "src", tree / "src", ignore=hidden)
        (tree / PACKAGE / mutation.file).write_text(mutation.applied(), encoding="utf-8")
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


def judge(mutation: Mutation) -> Verdict:
    """Run the tests of a mutation in a tree of its own."""
    with mutated_tree(mutation) as tree:
        command = [
            sys.executable, "-m", "pytest", "-x", "-q", "--no-header", "--tb=line",
            "-p", "no:cacheprovider", "-o", f"pythonpath={tree / 'src'}", *mutation.tests,
        ]  # fmt: skip
        environment = os.environ | {
            "PYTHONPATH": f"{tree / 'src'}{os.pathsep}{tree}",
            "PYTHONDONTWRITEBYTECODE": "1",
            "NUMBA_DISABLE_JIT": "0" if mutation.compiled else "1",
        }
        try:
            run = subprocess.run(
                command, cwd=tree, env=environment, capture_output=True, text=True, timeout=SECONDS
            )
        except subprocess.TimeoutExpired:
            return Verdict(mutation, "killed", f"no answer within {SECONDS:.0f} s")
    lines = [line for line in run.stdout.splitlines() if line.strip()]
    last = lines[-1] if lines else run.stderr.strip()[-200:]
    failed = next((line for line in lines if line.startswith("FAILED")), last)
    outcome = {0: "survived", 1: "killed"}.get(run.returncode, "broken")
    return Verdict(mutation, outcome, failed.removeprefix("FAILED "))

"""A process that has imported what no mutation changes, and forks a child for every mutation.

It reads a line of JSON with the tree, the tests and the file for their output, runs pytest in a
child and answers with the exit code. That saves the imports of numpy, numba and pytest each time.
"""

from __future__ import annotations

import contextlib
import importlib
import json
import os
import resource
import signal
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
#: A test that hangs under a mutation has noticed it: seconds of the processor, so that a busy
#: machine does not count as one, and of the clock, for a test that waits for ever.
SECONDS, CLOCK = 600, 7200
#: The exit codes of a child that was ended for that.
HUNG = (-signal.SIGXCPU, -signal.SIGALRM)
PRELOADED = (
    *(
        "numpy",
        "numba",
        "pytest",
        "hypothesis",
        "hypothesis.extra.numpy",
        "_hypothesis_pytestplugin",
    ),
    *("scipy.sparse", "scipy.optimize", "scipy.special", "scipy.linalg"),
)


#: Tests that are long for the interpreter come last.
MARKS = ("not compiled", "compiled")


def environment(tree: Path, compiled: bool) -> dict[str, str]:
    """Return the environment of the tests of a mutated tree."""
    return {
        "PYTHONPATH": f"{tree / 'src'}{os.pathsep}{tree}",
        "PYTHONDONTWRITEBYTECODE": "1",
        "NUMBA_DISABLE_JIT": "0" if compiled else "1",
    }


def arguments(tree: Path, tests: tuple[str, ...]) -> list[str]:
    """Return the arguments of pytest: the first test that fails ends the run."""
    quiet = ["-x", "-q", "--no-header", "--tb=line", "-p", "no:cacheprovider"]
    return [*quiet, "-o", f"pythonpath={tree / 'src'}", *tests]


def limit_time() -> None:
    """End this process after `SECONDS` of the processor or `CLOCK` of the clock."""
    resource.setrlimit(resource.RLIMIT_CPU, (SECONDS, SECONDS + 60))
    signal.alarm(CLOCK)


class Server:
    """The process that runs the tests of mutations interpreted, started with the first of them."""

    def __init__(self, preloaded: Iterable[str] = PRELOADED) -> None:
        """Make a server that imports these modules once for all mutations."""
        self._process: subprocess.Popen[str] | None = None
        self._preloaded = tuple(preloaded)

    def run(self, tree: Path, tests: tuple[str, ...]) -> tuple[int, str]:
        """Run the tests in that tree; return pytest's exit code and what it printed."""
        output = tree / "output"
        if self._process is None:
            self._process = subprocess.Popen(
                [sys.executable, "-m", "tests.mutants.server", *self._preloaded],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                text=True,
                cwd=ROOT,
                env=os.environ | {"PYTHONPATH": str(ROOT), "NUMBA_DISABLE_JIT": "1"},
            )
        assert self._process.stdin is not None and self._process.stdout is not None
        asked = {"tree": str(tree), "tests": tests, "output": str(output)}
        self._process.stdin.write(json.dumps(asked) + "\n")
        self._process.stdin.flush()
        code = int(self._process.stdout.readline())
        return code, output.read_text(encoding="utf-8", errors="replace")

    def close(self) -> None:
        """End the process."""
        if self._process is not None:
            self._process.communicate()
            self._process = None


def _child(tree: Path, tests: tuple[str, ...], output: Path) -> None:
    """Run the tests of a tree in this process, which ends with pytest's exit code."""
    import pytest

    limit_time()
    with output.open("wb") as stream:
        os.dup2(stream.fileno(), 1)
        os.dup2(stream.fileno(), 2)
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    os.environ.update(environment(tree, compiled=False))
    os.chdir(tree)
    sys.dont_write_bytecode = True
    # Nothing is taken from the tree that is not mutated.
    sys.path[:] = [str(tree / "src"), str(tree), *(p for p in sys.path if p not in ("", str(ROOT)))]
    for name in [name for name in sys.modules if name.split(".")[0] in ("tests", "noregret")]:
        del sys.modules[name]
    code = 0
    for marks in MARKS:
        code = int(
            pytest.main([*arguments(tree, tests), "-m", f"{marks} and not soak and not fuzz"])
        )
        if code not in (0, pytest.ExitCode.NO_TESTS_COLLECTED):
            break
        code = 0
    sys.stdout.flush()
    os._exit(code)


def _serve() -> None:
    for name in sys.argv[1:]:
        with contextlib.suppress(ImportError):
            importlib.import_module(name)
    for line in sys.stdin:
        asked = json.loads(line)
        child = os.fork()
        if not child:
            try:
                _child(Path(asked["tree"]), tuple(asked["tests"]), Path(asked["output"]))
            finally:
                os._exit(3)
        _, status = os.waitpid(child, 0)
        print(os.waitstatus_to_exitcode(status), flush=True)


if __name__ == "__main__":
    _serve()

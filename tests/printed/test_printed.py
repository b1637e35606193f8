"""The short form of the printed soak: a few certificates of every family, none false.

It runs interpreted: what is printed does not depend on the compiler, and streams this short are
played before kernels are compiled. Unless numba is off already, as in `make test`, it runs in a
process of its own.
"""

from __future__ import annotations

import ast
import contextlib
import io
import os
import re
import subprocess
import sys
from pathlib import Path

import numba
import pytest

from tests.printed import soak
from tests.printed.cases_reached import printing
from tests.sizes import sized

ROOT = Path(__file__).parent.parent.parent
PAGES = Path(__file__).parent
#: What parses and judges; cases import the library, which makes the texts.
OTHERS = ("cases_", "test_", "soak")
REFEREE = [path for path in PAGES.glob("*.py") if not path.name.startswith(OTHERS)]


def soaked(count: int, seed: int, least: int) -> subprocess.CompletedProcess[str]:
    arguments = ["--count", str(count), "--seed", str(seed), "--least", str(least)]
    if numba.config.DISABLE_JIT:
        out = io.StringIO()
        with contextlib.redirect_stdout(out):
            code = soak.main(arguments)
        return subprocess.CompletedProcess(arguments, code, out.getvalue(), "")
    paths = os.pathsep.join([str(ROOT / "src"), str(ROOT)])
    environment = os.environ | {"NUMBA_DISABLE_JIT": "1", "PYTHONPATH": paths}
    command = [sys.executable, "-W", "ignore", "-m", "tests.printed.soak"]
    return subprocess.run(
        [*command, *arguments],
        capture_output=True,
        text=True,
        env=environment,
        cwd=ROOT,
    )


def test_no_printed_statement_is_false() -> None:
    # Seed 2 reaches every class with one certificate of most families.
    run = soaked(*sized((50, 2, 1), (200, 7, 2)))
    assert run.returncode == 0, run.stdout + run.stderr
    assert ", 0 false, " in run.stdout
    # A class that prints and that no family reaches fails the run.
    for name in printing():
        assert re.search(rf"^{name} +[1-9]", run.stdout, re.MULTILINE), (name, run.stdout)


@pytest.mark.parametrize("page", REFEREE, ids=lambda page: page.name)
def test_the_referee_imports_nothing_of_the_library(page: Path) -> None:
    for node in ast.walk(ast.parse(page.read_text())):
        names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
        names += [node.module or ""] if isinstance(node, ast.ImportFrom) else []
        assert not [name for name in names if name.split(".")[0] == "noregret"], page

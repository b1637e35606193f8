"""Runs a test file once more in a process of its own, with kernels interpreted."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest
from numba import config

#: For the test that starts the process: in there it must not start another one.
compiled_only = pytest.mark.skipif(bool(config.DISABLE_JIT), reason="kernels run interpreted")


def passed_without_compiler(file: str) -> int:
    """Return how many tests of a file pass with NUMBA_DISABLE_JIT=1; a failing one fails here."""
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", file]
    environment = os.environ | {"NUMBA_DISABLE_JIT": "1"}
    run = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stdout + run.stderr
    return int(run.stdout.split(" passed")[0].split()[-1])

"""Compiled trackers do what their source says: jitted equals interpreted, sparse equals dense."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.tracking.interpreted import DENSE, learners, outcomes

pytestmark = pytest.mark.compiled

ROOT = Path(__file__).parents[2]


def test_compiled_equals_interpreted() -> None:
    paths = [str(ROOT), str(ROOT / "src"), os.environ.get("PYTHONPATH", "")]
    environment = os.environ | {
        "NUMBA_DISABLE_JIT": "1",
        "PYTHONPATH": os.pathsep.join(path for path in paths if path),
    }
    run = subprocess.run(
        [sys.executable, "-m", "tests.tracking.interpreted"],
        capture_output=True,
        text=True,
        env=environment,
    )
    assert run.returncode == 0, run.stderr
    interpreted, compiled = json.loads(run.stdout), outcomes()
    assert (
        interpreted.keys() == compiled.keys() and len(compiled) == len(learners()) + len(DENSE) + 1
    )
    for name, found in compiled.items():
        for what, value in found.items():
            assert value == pytest.approx(interpreted[name][what], rel=1e-11, abs=1e-12), name
    for name in DENSE:
        for what, value in compiled[f"{name}, sparse"].items():
            dense = compiled[f"{name}, dense"][what]
            assert value == pytest.approx(dense, rel=1e-11, abs=1e-12), name

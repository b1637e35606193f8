"""Each script of the gallery runs, prints what it is about, and leaves a picture."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("matplotlib")

GALLERY = Path(__file__).parents[2] / "examples" / "gallery"
PRINTED = {
    "agnostic": "experts in",
    "bandits": "IPS, finite-sample: held in",
    "cover": "forced on every deterministic learner    20",
    "experts": "lost to the best sequence with 2 switches, at most",
    "dimensions": "thresholds   Ldim [2, 2, 3] VC [1, 1, 1]",
    "ranking": "best list: (0, 1,",
    "shattered_tree": "checked against the table: True",
    "three_learners": "Ldim(H), in advance",
}


def test_the_gallery_is_complete() -> None:
    scripts = {path.stem for path in GALLERY.glob("*.py")} - {"picture"}
    assert scripts == set(PRINTED)


@pytest.mark.parametrize("name", sorted(PRINTED))
def test_scripts_run(name: str, tmp_path: Path) -> None:
    source = str(Path(__file__).parents[2] / "src")
    run = subprocess.run(
        [sys.executable, str(GALLERY / f"{name}.py"), str(tmp_path), "--quick"],
        capture_output=True,
        text=True,
        env=os.environ | {"PYTHONPATH": source, "PYTHONDONTWRITEBYTECODE": "1"},
        cwd=tmp_path,
    )
    assert run.returncode == 0, run.stderr
    assert PRINTED[name] in run.stdout and run.stderr == ""
    written = tmp_path / f"{name}.png"
    assert written.read_bytes().startswith(b"\x89PNG") and written.stat().st_size > 10_000

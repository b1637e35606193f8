"""Each script of the gallery runs, prints what it is about, and leaves a picture.

`make test` runs them inside this process, where numba and matplotlib are loaded once for all of
them; `make soak` runs each in a process of its own.
"""

from __future__ import annotations

import os
import runpy
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.sizes import sized

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


Script = Callable[[str, Path], tuple[str, str]]


def apart(name: str, folder: Path) -> tuple[str, str]:
    """Run a script in a process of its own; return what it wrote to stdout and stderr."""
    source = str(Path(__file__).parents[2] / "src")
    run = subprocess.run(
        [sys.executable, str(GALLERY / f"{name}.py"), str(folder), "--quick"],
        capture_output=True,
        text=True,
        env=os.environ | {"PYTHONPATH": source, "PYTHONDONTWRITEBYTECODE": "1"},
        cwd=folder,
    )
    assert run.returncode == 0, run.stderr
    return run.stdout, run.stderr


@pytest.fixture
def script(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Script:
    def inside(name: str, folder: Path) -> tuple[str, str]:
        path = str(GALLERY / f"{name}.py")
        monkeypatch.syspath_prepend(GALLERY)
        monkeypatch.chdir(folder)
        monkeypatch.setattr(sys, "argv", [path, str(folder), "--quick"])
        runpy.run_path(path, run_name="__main__")
        out, err = capsys.readouterr()
        return out, err

    return sized(inside, apart)


@pytest.mark.parametrize("name", sorted(PRINTED))
def test_scripts_run(name: str, tmp_path: Path, script: Script) -> None:
    out, err = script(name, tmp_path)
    assert PRINTED[name] in out and err == ""
    written = tmp_path / f"{name}.png"
    assert written.read_bytes().startswith(b"\x89PNG") and written.stat().st_size > 10_000

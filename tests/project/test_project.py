"""The project as a whole: style, types, import directions."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
from hypothesis import settings

ROOT = Path(__file__).parents[2]
FOLDERS = ("src", "tests", "bench", "docs", "examples")
SOURCES = [path for folder in FOLDERS for path in (ROOT / folder).rglob("*.py")]


ENVIRONMENT = os.environ | {"PYTHONPATH": str(ROOT / "src"), "PYTHONIOENCODING": "utf-8"}


def python(*arguments: str, folder: Path = ROOT) -> str:
    run = subprocess.run(
        [sys.executable, *arguments], cwd=folder, capture_output=True, text=True, env=ENVIRONMENT
    )
    assert run.returncode == 0, run.stdout + run.stderr
    return run.stdout


def test_ruff_finds_nothing() -> None:
    python("-m", "ruff", "check", ".")
    python("-m", "ruff", "format", "--check", ".")


def test_types_are_strict() -> None:
    python("-m", "mypy")


def test_imports_point_one_way() -> None:
    # the command `lint-imports` does no more, but lies wherever the environment put it
    python("-c", "import sys; from importlinter.cli import lint_imports; sys.exit(lint_imports())")


def test_every_module_has_its_place_in_the_import_contract() -> None:
    contracts = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"]
    placed = set(re.findall(r"\w+", " ".join(contracts["contracts"][0]["layers"])))
    package = ROOT / "src" / "noregret"
    modules = {
        path.stem
        for path in package.iterdir()
        if path.suffix == ".py" or (path / "__init__.py").exists()
    }
    assert modules - placed - {"__init__", "__main__", "streams"} == set()


@pytest.mark.parametrize("source", SOURCES, ids=lambda path: str(path.relative_to(ROOT)))
def test_files_stay_readable(source: Path) -> None:
    assert len(source.read_text(encoding="utf-8").splitlines()) <= 400


def test_importing_the_package_does_not_load_numba() -> None:
    python("-c", "import noregret, sys; sys.exit('numba' in sys.modules)")


def test_no_property_depends_on_the_clock() -> None:
    assert settings.default is not None and settings.default.deadline is None
    own = [
        str(path) for path in (ROOT / "tests").rglob("test_*.py") if "deadline=" in path.read_text()
    ]
    assert [path for path in own if path != __file__] == []

"""The project as a whole; `make lint` has style, types and import directions."""

from __future__ import annotations

import ast
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


def test_what_compares_machine_code_with_the_interpreter_runs_compiled() -> None:
    for source in (ROOT / "tests").rglob("test_*.py"):
        text = source.read_text(encoding="utf-8")
        if "py_func" not in text:
            continue
        tree = ast.parse(text)
        marks = [ast.unparse(one) for one in tree.body if isinstance(one, ast.Assign)]
        if any("pytestmark" in mark and "compiled" in mark for mark in marks):
            continue
        for test in tree.body:
            if isinstance(test, ast.FunctionDef) and test.name.startswith("test_"):
                names = {node.attr for node in ast.walk(test) if isinstance(node, ast.Attribute)}
                marked = any("mark.compiled" in ast.unparse(one) for one in test.decorator_list)
                assert marked or "py_func" not in names, f"{source}: {test.name}"

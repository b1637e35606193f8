"""The project as a whole: style, types, import directions, and a README that runs."""

from __future__ import annotations

import gzip
import os
import re
import shlex
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
README = (ROOT / "README.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"^```(\w+)\n(.*?)^```", README, re.MULTILINE | re.DOTALL)
SOURCES = [path for folder in ("src", "tests", "bench") for path in (ROOT / folder).rglob("*.py")]


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


def test_the_readme_begins_with_the_two_commands() -> None:
    language, first = BLOCKS[0]
    assert language == "sh"
    assert [line.split("#")[0].strip() for line in first.splitlines()] == ["make demo", "make test"]
    makefile = (ROOT / "Makefile").read_text()
    assert "\ndemo:" in makefile and "\ntest:" in makefile


def test_the_python_of_the_readme_runs(tmp_path: Path) -> None:
    """All blocks in one process, from a file: the compiler reads the source of a user's loss."""
    blocks = [text for language, text in BLOCKS if language == "python"]
    assert len(blocks) >= 2
    script = tmp_path / "readme.py"
    script.write_text("\n".join(blocks), encoding="utf-8")
    printed = python(str(script), folder=tmp_path)
    assert printed.count("certified floor") == 5 and "Expectile" in printed
    assert "Perceptron" in printed and "can have lost less than" in printed
    assert "Best in hindsight" in printed and "dual value" in printed
    assert "Proved: no fixed predictor will do." in printed and "Shifting bounds" in printed
    assert "best of its learners" in printed and "rounds of EXP3" in printed and "3 1\n" in printed


def _clicks(path: Path, rows: int) -> None:
    lines = []
    for k in range(rows):
        words = ("red", "cheap") if k % 3 else ("blue", "new")
        lines.append(f"{1 if k % 3 else -1} |ad {' '.join(words)} |when hour:{k % 24}\n")
    path.write_bytes(gzip.compress("".join(lines).encode()))


def test_the_commands_of_the_readme_run(tmp_path: Path) -> None:
    _clicks(tmp_path / "clicks.vw.gz", 300)
    _clicks(tmp_path / "more.vw.gz", 100)
    lines = "".join(text for language, text in BLOCKS[1:] if language == "sh").splitlines()
    commands = [shlex.split(line)[1:] for line in lines]
    assert {command[0] for command in commands} >= {"learn", "audit", "predict", "certify"}
    for command in commands:
        python("-m", "noregret", *command, folder=tmp_path)
    assert "certified floor" in (tmp_path / "clicks.html").read_text(encoding="utf-8")
    assert len((tmp_path / "margins.txt").read_text().splitlines()) == 100


def test_importing_the_package_does_not_load_numba() -> None:
    python("-c", "import noregret, sys; sys.exit('numba' in sys.modules)")

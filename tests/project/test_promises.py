"""The page of promises: every test that it names is there."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "promises.md").read_text(encoding="utf-8")
NAMED = re.compile(r"`(tests/[\w/]+\.py)::(\w+)`")


def functions(path: str) -> set[str]:
    """Return the names of the tests in a file, without importing it."""
    tree = ast.parse((ROOT / path).read_text(encoding="utf-8"))
    return {node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)}


def test_the_page_names_tests() -> None:
    # A change of the page's form must not empty the test below.
    assert len(set(NAMED.findall(PAGE))) >= 10
    assert PAGE.count("::test_") == len(NAMED.findall(PAGE))


@pytest.mark.parametrize("path", sorted({path for path, _ in NAMED.findall(PAGE)}))
def test_every_named_test_exists(path: str) -> None:
    wanted = {name for found, name in NAMED.findall(PAGE) if found == path}
    assert wanted <= functions(path), f"{path} has no {sorted(wanted - functions(path))}"

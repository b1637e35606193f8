"""Kernels take a few bundles, not twenty positional arguments."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import noregret

SOURCE = Path(noregret.__file__).parent
MOST = 8


def kernels(tree: ast.Module) -> Iterator[ast.FunctionDef]:
    """Yield the functions of a module that the decorator `kernel` compiles, by whatever name."""
    names = {
        alias.asname or alias.name
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("noregret.jit")
        for alias in node.names
        if alias.name == "kernel"
    }
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef):
            for decorator in node.decorator_list:
                called = decorator.func if isinstance(decorator, ast.Call) else decorator
                if isinstance(called, ast.Name) and called.id in names:
                    yield node


def arguments(function: ast.FunctionDef) -> int:
    given = function.args
    several = (given.vararg is not None) + (given.kwarg is not None)
    return len([*given.posonlyargs, *given.args, *given.kwonlyargs]) + several


def test_kernels_take_few_arguments() -> None:
    found = {}
    for file in SOURCE.rglob("*.py"):
        for function in kernels(ast.parse(file.read_text("utf-8"))):
            place = f"{file.relative_to(SOURCE).as_posix()}:{function.name}"
            found[place] = arguments(function)
    assert len(found) > 100
    assert {place: count for place, count in found.items() if count > MOST} == {}

"""No code asks which class a map or a rate is of, but their own packages and the one table."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

import noregret
from noregret import mirrors, rates

SOURCE = Path(noregret.__file__).parent
#: Where the class of a map or a rate may be asked for.
ALLOWED = ("mirrors/", "rates.py", "combinations.py")
MAPS = {name for name in mirrors.__all__ if isinstance(getattr(mirrors, name), type)}
RATES = {
    name
    for name, kind in vars(rates).items()
    if isinstance(kind, type) and issubclass(kind, rates.Rate)
}


class Questions(ast.NodeVisitor):
    """Collects the lines that ask for the class of a component."""

    def __init__(self, tree: ast.Module) -> None:
        self.lines: list[int] = []
        #: Names in this module that stand for classes of components, alone or in a container.
        self.known = {
            alias.asname or alias.name
            for node in ast.walk(tree)
            if isinstance(node, ast.ImportFrom)
            and (node.module or "").startswith(("noregret.mirrors", "noregret.rates"))
            for alias in node.names
            if alias.name in MAPS | RATES
        }
        containers = (ast.Tuple, ast.List, ast.Set, ast.Dict)
        for node in ast.walk(tree):
            if isinstance(node, ast.Assign) and isinstance(node.value, containers):
                if self.names(node.value):
                    self.known |= {t.id for t in node.targets if isinstance(t, ast.Name)}
        self.visit(tree)

    def names(self, node: ast.AST) -> bool:
        """Tell whether an expression mentions the class of a map or a rate, uncalled."""
        if isinstance(node, ast.Call) and not _asks_type(node):
            return any(map(self.names, node.args))
        if isinstance(node, ast.Attribute):
            room = node.value.attr if isinstance(node.value, ast.Attribute) else ""
            room = node.value.id if isinstance(node.value, ast.Name) else room
            return (room, node.attr in MAPS) == ("mirrors", True) or (
                (room, node.attr in RATES) == ("rates", True)
            )
        if isinstance(node, ast.Name):
            return node.id in self.known
        return any(map(self.names, ast.iter_child_nodes(node)))

    def visit_Call(self, node: ast.Call) -> None:
        """Find isinstance and issubclass."""
        name = node.func.id if isinstance(node.func, ast.Name) else ""
        if name in ("isinstance", "issubclass") and self.names(node.args[1]):
            self.lines.append(node.lineno)
        if name in ("hasattr", "getattr") and _means_component(node.args[0]):
            self.lines.append(node.lineno)
        self.generic_visit(node)

    def visit_Compare(self, node: ast.Compare) -> None:
        """Find type(x) is C, type(x) in (C, D), and names of classes compared with strings."""
        sides = [node.left, *node.comparators]
        strings = {s.value for s in ast.walk(node) if isinstance(s, ast.Constant)}
        if any(map(self.names, sides)) or strings & (MAPS | RATES):
            self.lines.append(node.lineno)
        self.generic_visit(node)

    def visit_Subscript(self, node: ast.Subscript) -> None:
        """Find a dictionary of classes that is looked up."""
        if isinstance(node.value, ast.Name) and node.value.id in self.known:
            self.lines.append(node.lineno)
        self.generic_visit(node)

    def visit_MatchClass(self, node: ast.MatchClass) -> None:
        """Find a match on the class."""
        if self.names(node.cls):
            self.lines.append(node.lineno)
        self.generic_visit(node)


def _asks_type(node: ast.AST) -> bool:
    return isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "type"


def _means_component(node: ast.AST) -> bool:
    name = node.attr if isinstance(node, ast.Attribute) else getattr(node, "id", "")
    return name in ("mirror", "rate")


def questions(source: str) -> list[int]:
    """Return the lines of a module that ask for the class of a map or a rate."""
    return Questions(ast.parse(source)).lines


def _asked() -> Iterator[str]:
    for path in sorted(SOURCE.rglob("*.py")):
        name = path.relative_to(SOURCE).as_posix()
        # Streams know nothing of learning: their "Constant" is a feature.
        if not name.startswith((*ALLOWED, "streams/")):
            for line in questions(path.read_text(encoding="utf-8")):
                yield f"{name}:{line}"


def test_no_module_asks_for_the_class_of_a_map_or_a_rate() -> None:
    assert list(_asked()) == []


@pytest.mark.parametrize(
    "line",
    [
        "isinstance(mirror, mirrors.Ball)",
        "isinstance(rate, (rates.Constant, ScaleFree))",
        "type(self.rate) is rates.Adaptive",
        "type(mirror) in KNOWN",
        "mirror.__class__ == mirrors.Entropy",
        "type(mirror).__name__ == 'Entropy'",
        "issubclass(type(rate), rates.Rate)",
        "hasattr(mirror, 'radius')",
        "getattr(self.rate, 'eta', 1.0)",
        "TABLE[type(mirror)]",
        "[0 for x in y if isinstance(x, nr.mirrors.PNorm | nr.mirrors.Ball)]",
    ],
)
def test_a_question_is_found(line: str) -> None:
    head = (
        "from noregret.rates import ScaleFree\nKNOWN = (mirrors.Euclidean,)\n"
        "TABLE = {mirrors.Ball: 1}\n"
    )
    assert questions(head + line) == [4]


@pytest.mark.parametrize(
    "line",
    [
        "isinstance(x, Loss)",
        "x = mirrors.Ball(1.0)",
        "mirror == mirrors.Euclidean()",
        "type(x) is int",
    ],
)
def test_what_is_no_question_is_left_alone(line: str) -> None:
    assert questions(line) == []

"""No code asks which class a map or a rate is of, but their own packages and the one table.

The class of a domain is asked for where a theorem or a step is about one set alone, in games and in
tracking; learners, passes and proofs ask its methods.
"""

from __future__ import annotations

import ast
import functools
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

import noregret
from noregret import domains, mirrors, rates

SOURCE = Path(noregret.__file__).parent
#: Where the class of a map or a rate may be asked for.
ALLOWED = ("mirrors/", "rates/", "combinations.py", "vocabulary/words.py")
MAPS = {name for name in mirrors.__all__ if isinstance(getattr(mirrors, name), type)}
RATES = {
    name
    for name, kind in vars(rates).items()
    if isinstance(kind, type) and issubclass(kind, rates.Rate)
}
#: The packages whose classes nobody asks for, and those of which learners do not.
ROOMS = {"mirrors": MAPS, "rates": RATES}
SETS = {"domains": {name for name in domains.__all__ if isinstance(getattr(domains, name), type)}}
FOLDERS_WITHOUT_SETS = ("learners/", "passes/", "proof/", "batch/", "files/", "catalogue/")


class Questions(ast.NodeVisitor):
    """Collects the lines that ask for the class of a component."""

    def __init__(self, tree: ast.Module, rooms: dict[str, set[str]]) -> None:
        self.lines: list[int] = []
        self.rooms = rooms
        self.classes = set().union(*rooms.values())
        #: Names in this module that stand for classes of components, alone or in a container.
        self.known = {
            alias.asname or alias.name
            for node in ast.walk(tree)
            if isinstance(node, ast.ImportFrom)
            and (node.module or "").startswith(tuple(f"noregret.{room}" for room in rooms))
            for alias in node.names
            if alias.name in self.classes
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
            return node.attr in self.rooms.get(room, ())
        if isinstance(node, ast.Name):
            return node.id in self.known
        return any(map(self.names, ast.iter_child_nodes(node)))

    def visit_Call(self, node: ast.Call) -> None:
        """Find isinstance and issubclass."""
        name = node.func.id if isinstance(node.func, ast.Name) else ""
        if name in ("isinstance", "issubclass") and self.names(node.args[1]):
            self.lines.append(node.lineno)
        if name in ("hasattr", "getattr") and self.means_component(node.args[0]):
            self.lines.append(node.lineno)
        self.generic_visit(node)

    def means_component(self, node: ast.AST) -> bool:
        """Tell whether a name stands for a component, such as `mirror` or `self.rate`."""
        name = node.attr if isinstance(node, ast.Attribute) else getattr(node, "id", "")
        return f"{name}s" in self.rooms

    def visit_Compare(self, node: ast.Compare) -> None:
        """Find type(x) is C, type(x) in (C, D), and names of classes compared with strings."""
        sides = [node.left, *node.comparators]
        strings = {s.value for s in ast.walk(node) if isinstance(s, ast.Constant)}
        if any(map(self.names, sides)) or strings & self.classes:
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


def questions(source: str, rooms: dict[str, set[str]] = ROOMS) -> list[int]:
    """Return the lines of a module that ask for the class of a component of these packages."""
    return Questions(ast.parse(source), rooms).lines


@functools.cache
def _parsed(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"))


def _asked(rooms: dict[str, set[str]], wanted: Callable[[str], bool]) -> Iterator[str]:
    for path in sorted(SOURCE.rglob("*.py")):
        name = path.relative_to(SOURCE).as_posix()
        if wanted(name):
            for line in Questions(_parsed(path), rooms).lines:
                yield f"{name}:{line}"


def test_no_module_asks_for_the_class_of_a_map_or_a_rate() -> None:
    # Streams know nothing of learning: their "Constant" is a feature.
    asked = _asked(ROOMS, lambda name: not name.startswith((*ALLOWED, "streams/")))
    assert list(asked) == []


def test_no_learner_asks_for_the_class_of_a_domain() -> None:
    assert list(_asked(SETS, lambda name: name.startswith(FOLDERS_WITHOUT_SETS))) == []
    assert questions("type(self.domain) is domains.Ball", SETS) == [1]
    assert questions("hasattr(domain, 'radius')", SETS) == [1]


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

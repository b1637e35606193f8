"""Shattered trees: the witness of a Littlestone dimension, as an object that can be checked."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from noregret.classes.tables import as_class, label, whole

#: A tree has 2^depth - 1 nodes.
_DEEPEST = 20


@dataclass(frozen=True)
class ShatteredTree:
    """A complete binary tree of points: from node i, label y leads to node 2i + y.

    `instances[i - 1]` is the point at node i, the root is node 1. A class shatters the tree if
    for every labelling of every path from the root some hypothesis gives just these labels.
    Reference: Shalev-Shwartz, Online Learning and Online Convex Optimization, Definition 3.2.

    >>> from noregret.classes import Littlestone, thresholds
    >>> h = thresholds(3)
    >>> tree = Littlestone(h).tree()
    >>> print(tree)
    x=1
      0: x=0
        0: leaf
        1: leaf
      1: x=2
        0: leaf
        1: leaf
    >>> tree.witnesses(h)
    (0, 1, 2, 3)
    """

    instances: tuple[int, ...]

    def __post_init__(self) -> None:
        if (len(self.instances) + 1).bit_count() != 1:
            raise ValueError(f"a tree has 2^depth - 1 nodes, got {len(self.instances)}")

    @property
    def depth(self) -> int:
        """The number of points on each path."""
        return len(self.instances).bit_length()

    def instance(self, labels: Sequence[int]) -> int:
        """Return the point that the labels so far lead to.

        >>> ShatteredTree((5, 3, 8)).instance([1])
        8
        """
        if len(labels) >= self.depth:
            raise ValueError(f"{len(labels)} labels lead out of a tree of depth {self.depth}")
        node = 1
        for y in labels:
            node = 2 * node + label(y)
        return self.instances[node - 1]

    def witnesses(self, hypotheses: Any) -> tuple[int | None, ...]:
        """Return for each labelling, in ascending order, a hypothesis that gives it, or None.

        This looks at the table alone and knows nothing of how the tree was found.
        """
        return tuple(
            (space & -space).bit_length() - 1 if space else None
            for space in self._leaves(hypotheses)
        )

    def is_shattered_by(self, hypotheses: Any) -> bool:
        """Tell whether every labelling has a hypothesis."""
        return all(self._leaves(hypotheses))

    def _leaves(self, hypotheses: Any) -> Iterator[int]:
        """Yield the hypotheses that give each labelling, in ascending order."""
        given = as_class(hypotheses)
        points = [given.point(x, f"instance {x}") for x in self.instances]

        def below(node: int, space: int) -> Iterator[int]:
            if node > len(points):
                yield space
                return
            for y in (0, 1):
                yield from below(2 * node + y, given.part(space, points[node - 1], y))

        return below(1, given.everything)

    def __str__(self) -> str:
        lines: list[str] = []
        self._write(lines, 1, "")
        return "\n".join(lines)

    def _write(self, lines: list[str], node: int, mark: str) -> None:
        inside = node <= len(self.instances)
        indent = "  " * (node.bit_length() - 1)
        lines.append(f"{indent}{mark}" + (f"x={self.instances[node - 1]}" if inside else "leaf"))
        if inside:
            self._write(lines, 2 * node, "0: ")
            self._write(lines, 2 * node + 1, "1: ")


def require_depth(depth: int) -> int:
    """Return the depth of a tree that can be written out, or say in one line that it is none."""
    if depth > _DEEPEST:
        raise ValueError(f"a tree of depth {depth} is too large, at most {_DEEPEST} fit")
    return depth


def tree_of_set(points: Sequence[int]) -> ShatteredTree:
    """Return the tree with the i-th point at every node of depth i.

    A set that is shattered in the sense of VC gives a shattered tree, so VC <= Littlestone.
    Reference: Shalev-Shwartz, Online Learning and Online Convex Optimization, Theorem 3.5.

    >>> tree_of_set([4, 2]).instances
    (4, 2, 2)
    """
    require_depth(len(points))
    return ShatteredTree(tuple(x for i, x in enumerate(points) for _ in range(1 << i)))


def dyadic_tree(depth: int) -> ShatteredTree:
    """Return the tree 1/2; 1/4, 3/4; 1/8, ... that thresholds on [0, 1] shatter at any depth.

    Its points are numbered: j stands for (j + 1) / 2^depth. The class is 1 for x < a.
    Reference: Shalev-Shwartz, Online Learning and Online Convex Optimization, Example 3.3.

    >>> dyadic_tree(2).instances
    (1, 0, 2)
    """
    levels = require_depth(whole("depth", depth, least=0))
    nodes = [
        ((2 * place + 1) << (levels - level - 1)) - 1
        for level in range(levels)
        for place in range(1 << level)
    ]
    return ShatteredTree(tuple(nodes))

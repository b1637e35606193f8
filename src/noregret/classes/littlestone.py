"""The Littlestone dimension of a finite class, exactly, with the tree that proves it.

Ldim(V) = max over points x that split V of 1 + min(Ldim(V with label 0), Ldim(V with label 1)),
0 if no point splits V, -1 if V is empty.

The question asked is "Ldim(V) >= d?", because it prunes: V needs 2^d hypotheses, each half of a
split 2^(d-1), and columns that are equal or complementary inside V are one column. With m such
columns, more than the sum of C(m, i) over i < d hypotheses answer yes (the lemma of Sauer and
Shelah, which holds for the VC dimension and so for the larger one). Splits are tried from the
most even one on, the smaller half first; the bounds found for a V are kept.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import comb
from typing import Any

from noregret.arrays import as_whole
from noregret.classes.tables import ClassField, FiniteClass, as_class, label
from noregret.files.fields import Arrays, Header

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
        return "\n".join(self._lines(1, ""))

    def _lines(self, node: int, mark: str) -> Iterator[str]:
        inside = node <= len(self.instances)
        indent = "  " * (node.bit_length() - 1)
        yield f"{indent}{mark}" + (f"x={self.instances[node - 1]}" if inside else "leaf")
        for y in (0, 1) if inside else ():
            yield from self._lines(2 * node + y, f"{y}: ")


def require_depth(depth: int) -> int:
    """Return the depth, or refuse one whose tree is too large to be written out."""
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
    levels = require_depth(as_whole("depth", depth, least=0))
    nodes = [
        ((2 * place + 1) << (levels - level - 1)) - 1
        for level in range(levels)
        for place in range(1 << level)
    ]
    return ShatteredTree(tuple(nodes))


class SearchLimit(RuntimeError):
    """Too many version spaces were looked at."""


class Littlestone:
    """The Littlestone dimension of the version spaces of one class, remembered.

    `limit` bounds the number of different version spaces looked at in all; beyond it a
    `SearchLimit` is raised, and nothing that was answered before becomes wrong.
    Reference: Littlestone, Learning Quickly When Irrelevant Attributes Abound; Shalev-Shwartz,
    Online Learning and Online Convex Optimization, Definition 3.3.

    >>> from noregret.classes import intervals
    >>> dimension = Littlestone(intervals(7))
    >>> dimension()
    4
    >>> dimension.tree().depth
    4
    """

    def __init__(self, hypotheses: Any, limit: int = 5_000_000) -> None:
        self.hypotheses: FiniteClass = as_class(hypotheses)
        self.limit = as_whole("limit", limit)
        self._known: dict[int, tuple[int, int]] = {}

    @property
    def states(self) -> int:
        """How many version spaces were looked at so far."""
        return len(self._known)

    def __call__(self, space: int | None = None) -> int:
        """Return the Littlestone dimension of a version space, that of the class for None."""
        space = self.hypotheses.space(space)
        depth = -1
        while self._at_least(space, depth + 1):
            depth += 1
        return depth

    def at_least(self, space: int, depth: int) -> bool:
        """Tell whether the Littlestone dimension of a version space is that large.

        This can be much quicker than the dimension itself.
        """
        return self._at_least(self.hypotheses.space(space), as_whole("depth", depth, least=-1))

    def _at_least(self, space: int, depth: int) -> bool:
        size = space.bit_count()
        if depth <= 1:
            # The rows of a class differ, so that any two hypotheses differ at some point.
            return depth < 0 or size > depth
        low, high = self._known.get(space, (1, size.bit_length() - 1))
        if depth <= low or depth > high:
            return depth <= low
        if self.states >= self.limit:
            raise SearchLimit(f"gave up after {self.states:,} version spaces of {self.hypotheses}")
        answer = self._search(space, depth)
        self._known[space] = (max(low, depth), high) if answer else (low, min(high, depth - 1))
        return answer

    def _search(self, space: int, depth: int) -> bool:
        size, first = space.bit_count(), space & -space
        parts = (space & column for column in self.hypotheses.columns)
        # Equal and complementary columns split V alike: keep the half without the first of V.
        halves = {part ^ space if part & first else part for part in parts} - {0}
        if size > sum(comb(len(halves), i) for i in range(depth)):
            return True
        need = 1 << (depth - 1)
        large = (half for half in halves if need <= half.bit_count() <= size - need)
        even = sorted(large, key=lambda half: abs(2 * half.bit_count() - size))
        return any(self._splits(space, half, depth - 1) for half in even)

    def _splits(self, space: int, half: int, depth: int) -> bool:
        """Tell whether both halves of a version space have that dimension at least."""
        # The smaller half is refuted sooner.
        halves = sorted((half, space ^ half), key=int.bit_count)
        return all(self._at_least(one, depth) for one in halves)

    def split(self, space: int | None = None) -> int | None:
        """Return the first point that maximises the smaller dimension of the two halves.

        None if no point splits the version space.
        """
        space = self.hypotheses.space(space)
        best = self(space)
        if best < 1:
            return None
        return self._splitting(space, best - 1)

    def _splitting(self, space: int, depth: int) -> int:
        """Return the first point both halves of which have that dimension at least."""
        for x, column in enumerate(self.hypotheses.columns):
            if self._splits(space, space & column, depth):
                return x
        raise AssertionError("a version space of that dimension has a split")

    def tree(self, space: int | None = None) -> ShatteredTree:
        """Return a shattered tree as deep as the dimension of a version space."""
        space = self.hypotheses.space(space)
        depth = self(space)
        if depth < 0:
            raise ValueError("an empty version space has no tree")
        nodes = [0] * ((1 << require_depth(depth)) - 1)
        # Depth first: version spaces are large, and only those of one path are held.
        self._grow(nodes, 1, space, depth)
        return ShatteredTree(tuple(nodes))

    def _grow(self, nodes: list[int], node: int, space: int, depth: int) -> None:
        if depth == 0:
            return
        x = nodes[node - 1] = self._splitting(space, depth - 1)
        for y in (0, 1):
            self._grow(nodes, 2 * node + y, self.hypotheses.part(space, x, y), depth - 1)


class SearchField(ClassField):
    """The class of a learner with the limit of its search, the two as a `Littlestone`."""

    def write(self, owner: Any, header: Header, arrays: Arrays) -> None:
        """Enter the limit in the header, the class as arrays."""
        header["limit"] = owner.dimension.limit
        super().write(owner, header, arrays)

    def arguments(self, header: Header, arrays: Arrays) -> Header:
        """Return the dimensions of the class, none of them known yet."""
        kept = super().arguments(header, arrays)
        return {"hypotheses": Littlestone(kept["hypotheses"], header["limit"])}


def as_dimension(hypotheses: Any) -> Littlestone:
    """Return a dimension as it is, a class or table as the dimension of it."""
    return hypotheses if isinstance(hypotheses, Littlestone) else Littlestone(hypotheses)


def littlestone_dimension(hypotheses: Any) -> int:
    """Return the Littlestone dimension of a class or 0/1 table.

    >>> littlestone_dimension([[0, 0], [1, 0], [1, 1]])
    1
    """
    return Littlestone(hypotheses)()

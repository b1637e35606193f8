"""The Littlestone dimension of a finite class, exactly, with the tree that proves it.

Ldim(V) = max over points x that split V of 1 + min(Ldim(V with label 0), Ldim(V with label 1)),
0 if no point splits V, -1 if V is empty.

The question asked is "Ldim(V) >= d?", because it prunes: V needs 2^d hypotheses, each half of a
split 2^(d-1), and columns that are equal or complementary inside V are one column. With m such
columns, more than the sum of C(m, i) over i < d hypotheses answer yes (the lemma of Sauer and
Shelah, which holds for the VC dimension and so for the larger one). Splits are tried from the
most even one on, the smaller half first; what was learnt about a V is kept.
"""

from __future__ import annotations

from math import comb
from typing import Any

from noregret.classes.tables import FiniteClass, as_class, whole
from noregret.classes.trees import ShatteredTree, require_depth


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
        self.limit = whole("limit", limit)
        self._known: dict[int, tuple[int, int]] = {0: (-1, -1)}
        # Equal and complementary columns split every V alike.
        everything = self.hypotheses.everything
        self._columns = sorted(
            {c ^ everything if c & 1 else c for c in self.hypotheses.columns} - {0}
        )

    @property
    def states(self) -> int:
        """How many version spaces were looked at so far."""
        return len(self._known) - 1

    def __call__(self, space: int | None = None) -> int:
        """Return the Littlestone dimension of a version space, that of the class for None."""
        space = self.hypotheses.space(space)
        size = space.bit_count()
        low, high = self._known.get(space, (0, size.bit_length() - 1))
        while low < high and self._at_least(space, size, low + 1):
            low += 1
        return low

    def at_least(self, space: int, depth: int) -> bool:
        """Tell whether the Littlestone dimension of a version space is that large.

        This can be much quicker than the dimension itself.
        """
        space = self.hypotheses.space(space)
        return self._at_least(space, space.bit_count(), whole("depth", depth, least=-1))

    def _at_least(self, space: int, size: int, depth: int) -> bool:
        if depth <= 1:
            # The rows of a class differ, so any two hypotheses are told apart by some point.
            return depth < 0 or size > depth
        if size >> depth == 0:
            return False
        low, high = self._known.get(space, (1, size.bit_length() - 1))
        if depth <= low or depth > high:
            return depth <= low
        if len(self._known) > self.limit:
            raise SearchLimit(f"gave up after {self.states:,} version spaces of {self.hypotheses}")
        answer = self._search(space, size, depth)
        self._known[space] = (max(low, depth), high) if answer else (low, min(high, depth - 1))
        return answer

    def _search(self, space: int, size: int, depth: int) -> bool:
        halves: dict[int, int] = {}
        for column in self._columns:
            part = column & space
            count = part.bit_count()
            if 2 * count > size or (2 * count == size and part & (space & -space)):
                part, count = part ^ space, size - count
            halves[part] = count
        halves.pop(0, None)
        columns = len(halves)
        if size > sum(comb(columns, i) for i in range(depth)):
            return True
        need = 1 << (depth - 1)
        splits = sorted(((count, part) for part, count in halves.items() if count >= need))
        return any(
            self._at_least(part, count, depth - 1)
            and self._at_least(part ^ space, size - count, depth - 1)
            for count, part in reversed(splits)
        )

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
        size = space.bit_count()
        for x, column in enumerate(self.hypotheses.columns):
            ones = column & space
            count = ones.bit_count()
            smaller, larger = (ones, ones ^ space) if 2 * count <= size else (ones ^ space, ones)
            least = min(count, size - count)
            if (
                least >> depth
                and self._at_least(smaller, least, depth)
                and self._at_least(larger, size - least, depth)
            ):
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


def as_dimension(hypotheses: Any) -> Littlestone:
    """Return a dimension as it is, a class or table as the dimension of it."""
    return hypotheses if isinstance(hypotheses, Littlestone) else Littlestone(hypotheses)


def littlestone_dimension(hypotheses: Any) -> int:
    """Return the Littlestone dimension of a class or 0/1 table.

    >>> littlestone_dimension([[0, 0], [1, 0], [1, 1]])
    1
    """
    return Littlestone(hypotheses)()

"""What a pass must know at compile time: whether it keeps averages, and whether it prefetches.

Both are components, so that each choice is a type and each combination is compiled by itself.
Records are narrower without an average, and loops over features are fastest where the width of a
record is a constant. Where the records exceed the cache, prefetching saves a quarter of the time;
where they do not, it would cost a tenth.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from noregret.component import Component

#: Above this many records of one or two columns the state exceeds the cache: prefetch.
FAR = 1 << 18


class Averages(Component):
    """Base of `Kept` and `Dropped`."""

    #: Whether records have room for the sum of the iterates.
    kept: ClassVar[bool]

    def columns(self, without: int, averaged: int) -> int:
        """Return how many columns a record has."""
        return averaged if self.kept else without


@dataclass(frozen=True)
class Kept(Averages):
    """The average is kept.

    >>> Kept().columns(1, 2), Dropped().columns(1, 2)
    (2, 1)
    """

    kept = True


@dataclass(frozen=True)
class Dropped(Averages):
    """No average is kept."""

    kept = False


class Distance(Component):
    """Base of `Near` and `Far`."""

    #: Whether records are prefetched.
    far: ClassVar[bool]


@dataclass(frozen=True)
class Near(Distance):
    """Few records."""

    far = False


@dataclass(frozen=True)
class Far(Distance):
    """More records than the cache holds."""

    far = True


def distance(records: int) -> Distance:
    """Return Far if this many records exceed the cache, else Near.

    >>> distance(1), distance(FAR + 1)
    (Near(), Far())
    """
    return Far() if records > FAR else Near()

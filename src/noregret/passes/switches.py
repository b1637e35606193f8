"""What a pass must know at compile time: whether it keeps averages, and whether it prefetches.

Both are components, so that each choice is a type and each combination is compiled by itself.
Records are narrower without an average, and loops over features are fastest where the width of a
record is a constant. Where the records exceed the cache, prefetching saves a quarter of the time;
where they do not, it would cost a tenth.
"""

from __future__ import annotations

from dataclasses import dataclass

from noregret.component import Component

#: Above this many records of one or two columns the state exceeds the cache: prefetch.
FAR = 1 << 18


class Averages(Component):
    """Base of `Kept` and `Dropped`."""

    def kept(self) -> bool:
        """Return whether records have room for the sum of the iterates."""
        raise NotImplementedError

    def columns(self, without: int, averaged: int) -> int:
        """Return how many columns a record has."""
        return averaged if self.kept() else without


@dataclass(frozen=True)
class Kept(Averages):
    """The average is kept.

    >>> Kept().kept(), Dropped().kept()
    (True, False)
    """

    def kept(self) -> bool:
        """Return True."""
        return True


@dataclass(frozen=True)
class Dropped(Averages):
    """No average is kept."""

    def kept(self) -> bool:
        """Return False."""
        return False


class Distance(Component):
    """Base of `Near` and `Far`."""

    def far(self) -> bool:
        """Return whether records are prefetched."""
        raise NotImplementedError


@dataclass(frozen=True)
class Near(Distance):
    """Few records."""

    def far(self) -> bool:
        """Return False."""
        return False


@dataclass(frozen=True)
class Far(Distance):
    """More records than the cache holds.

    >>> Near().far(), Far().far()
    (False, True)
    """

    def far(self) -> bool:
        """Return True."""
        return True


def distance(records: int) -> Distance:
    """Return Far if this many records exceed the cache, else Near."""
    return Far() if records > FAR else Near()

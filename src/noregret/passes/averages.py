"""Whether a pass keeps the average of the iterates, known at compile time.

Records are narrower without it, and loops over features are fastest where the width of a record
is a constant: so it is the type of a part, not its value.
"""

from __future__ import annotations

from dataclasses import dataclass

from noregret.component import Component


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

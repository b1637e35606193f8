"""Whether a pass keeps the average of the iterates, known when it is compiled.

The records of `state` are narrower without it, and addresses in the loops over features are
made of a width that must be a constant: so it is the type of an argument, not its value.
"""

from __future__ import annotations

from dataclasses import dataclass

from noregret.component import Component


class Averages(Component):
    """Base of the two."""

    def kept(self) -> bool:
        """Tell whether records have room for the sum of the iterates."""
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

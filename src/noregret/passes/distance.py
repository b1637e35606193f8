"""Whether the records of a learner stay in the cache, known when a pass is compiled.

Where they do not, records are asked for in advance, and a pass takes three quarters of the
time. Where they do, that would cost a tenth: so it is the type of an argument.
"""

from __future__ import annotations

from dataclasses import dataclass

from noregret.component import Component

#: Beyond so many records of one or two columns they do not stay near by themselves.
FAR = 1 << 18


class Distance(Component):
    """Base of the two."""

    def far(self) -> bool:
        """Tell whether records are asked for in advance."""
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
    """Return how far away so many records are."""
    return Far() if records > FAR else Near()

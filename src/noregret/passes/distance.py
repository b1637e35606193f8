"""Whether the records of a learner exceed the cache, known at compile time.

Where they do, records are prefetched, and a pass takes three quarters of the time. Where they do
not, that would cost a tenth: so it is the type of a part.
"""

from __future__ import annotations

from dataclasses import dataclass

from noregret.component import Component

#: Above this many records of one or two columns the state exceeds the cache: prefetch.
FAR = 1 << 18


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

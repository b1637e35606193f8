"""The sets of streams by name: those that constants may be chosen by, and the others."""

from __future__ import annotations

from collections.abc import Callable

from bench.quality import data, unseen
from bench.quality.data import Stream

SETS: dict[str, dict[str, Callable[[], Stream]]] = {
    "shared": data.STREAMS,
    "unseen": unseen.STREAMS,
}
#: Every stream; no name is in two sets.
EVERY: dict[str, Callable[[], Stream]] = data.STREAMS | unseen.STREAMS

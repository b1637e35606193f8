"""How much a test plays: a short form in `make test`, the full one in `make soak`.

`make soak` sets NOREGRET_TESTS=full and runs the whole suite, so that every test has both forms.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import TypeVar

import pytest

FULL = os.environ.get("NOREGRET_TESTS", "") == "full"
T = TypeVar("T")


def sized(short: T, full: T) -> T:
    """Return the short size, or the full one in `make soak`.

    >>> sized(20, 20)
    20
    """
    return full if FULL else short


def some(cases: Iterable[T], count: int) -> list[T]:
    """Return `count` of the cases, evenly spaced with the first and the last; all in `make soak`.

    >>> some([7], 3)
    [7]
    """
    given = list(cases)
    if FULL or len(given) <= count:
        return given
    return [given[round(k * (len(given) - 1) / (count - 1))] for k in range(count)]


def without_repeats(items: list[pytest.Item]) -> tuple[list[pytest.Item], list[pytest.Item]]:
    """Part the items into those to run and those left to `make soak`.

    Of a test marked `each_value`, with several lists of parameters, a case is left out if each of
    its values is in a case before it.
    """
    seen: set[tuple[str, int, str]] = set()
    kept, left = [], []
    for item in items:
        marked = not FULL and item.get_closest_marker("each_value") is not None
        callspec = getattr(item, "callspec", None)
        if not marked or callspec is None:
            kept.append(item)
            continue
        test = item.nodeid.partition("[")[0]
        values = {(test, place, value) for place, value in enumerate(callspec._idlist)}
        (left if values <= seen else kept).append(item)
        seen |= values
    return kept, left

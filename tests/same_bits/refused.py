"""Games, bandits and classes that meet rounds they refuse: the words, and what is left."""

from __future__ import annotations

from typing import Any

from tests.learners.refused_rounds import GAMES
from tests.same_bits.examples import Scenarios
from tests.same_bits.observe import Content, asked, facts, plain


def _met(case: Any) -> Content:
    """Return what good rounds give, with every bad round tried between them."""
    it = case.make()
    found: Content = {}
    for number, good in enumerate([*case.good, None]):
        if number >= case.after:
            for fault, bad in case.bad.items():
                found[f"before {number}, {fault}"] = plain(asked(bad, it))
        if good is not None:
            found[f"round {number}"] = plain(asked(good, it))
    return found | facts(it)


def scenarios(compiled: int) -> Scenarios:
    """Yield every game of the tests of refused rounds."""
    for name, case in GAMES.items():
        yield name, _met, case

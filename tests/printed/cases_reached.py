"""Which classes of the library print or write statements, and how often a soak has read each."""

from __future__ import annotations

import contextlib
import functools
import importlib
import inspect
import pkgutil
from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any

import noregret

#: Classes whose text or dictionary states nothing about a run, with the reason.
NO_STATEMENTS = {
    "Spec": "the options of a command",
    "Given": "the options of a command",
    "Reading": "the options of reading",
    "FeatureRules": "the rules of features; its `text` is a set of columns",
    "Audit": "verdicts, each of which the family of audits reads where the command prints them",
    "Comparison": "measured losses beside floors of certificates, which are read by themselves",
    "Model": "its certificate, which is read by itself, and measures",
    "Schedule": "predictors that a reader gave himself",
    "ShatteredTree": "a picture of a tree",
    "Proof": "what all certificates and solutions share, never made by itself",
    "RadiusProof": "what certificates with a radius share, never made by itself",
    "RunSums": "what is read from a ledger, never made by itself",
    "CostProof": "what certificates of bandits share, never made by itself",
    "CountedMistakes": "what certificates of mistakes share, never made by itself",
    "ByClass": "what certificates of one class against the rest share, never made by itself",
    "Proved": "what certificates of finite classes share, never made by itself",
    "RegretCertificate": "what regret certificates of finite classes share, never made by itself",
}
_WAYS = ("__str__", "text", "as_dict")


def printing() -> dict[str, type]:
    """Return every class of the library that has a text or a dictionary of its own, by name."""
    found: dict[str, type] = {}
    for module in pkgutil.walk_packages(noregret.__path__, "noregret."):
        if module.name.endswith("__main__"):
            continue
        for name, made in vars(importlib.import_module(module.name)).items():
            own = inspect.isclass(made) and made.__module__ == module.name
            if own and _speaks(made) and name not in NO_STATEMENTS:
                found[name] = made
    return found


def _speaks(made: type) -> bool:
    ours = [one for one in made.__mro__ if one.__module__.startswith("noregret")]
    return not issubclass(made, BaseException) and any(
        way in vars(one) for one in ours for way in _WAYS
    )


@contextlib.contextmanager
def counting() -> Iterator[Counter[str]]:
    """Count the objects of each class whose text or dictionary is asked for within.

    The same object counts once.
    """
    counts: Counter[str] = Counter()
    kept: dict[int, Any] = {}
    changed: list[tuple[type, str, Any]] = []
    for made in set(printing().values()):
        for one in made.__mro__:
            for way in _WAYS:
                given = vars(one).get(way)
                if given is None or not one.__module__.startswith("noregret"):
                    continue
                if (one, way) in [(a, b) for a, b, _ in changed]:
                    continue
                changed.append((one, way, given))
                setattr(one, way, _counted(given, counts, kept))
    try:
        yield counts
    finally:
        for one, way, given in changed:
            setattr(one, way, given)


def _counted(given: Callable[..., Any], counts: Counter[str], kept: dict[int, Any]) -> Any:
    @functools.wraps(given)
    def asked(self: Any, *more: Any, **named: Any) -> Any:
        if id(self) not in kept:
            # Kept for a while, so that no other object gets its number.
            if len(kept) > 1000:
                kept.clear()
            kept[id(self)] = self
            counts[type(self).__name__] += 1
        return given(self, *more, **named)

    return asked

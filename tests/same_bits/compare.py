"""Two runs of the same scenarios: which differ, in which quantity and by how much."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

#: Scenario -> {"sha256": ..., "content": ...}
Run = dict[str, dict[str, Any]]


def read(path: Path) -> Run:
    """Return the scenarios of a file, one JSON object a line."""
    with path.open(encoding="utf-8") as file:
        entries = [json.loads(line) for line in file]
    return {entry.pop("name"): entry for entry in entries}


@dataclass
class Difference:
    """How one scenario differs."""

    name: str
    #: Quantities that are missing, of another kind or shape, or other words.
    words: list[str] = field(default_factory=list)
    #: Largest relative difference of each quantity of numbers.
    numbers: dict[str, float] = field(default_factory=dict)

    def __bool__(self) -> bool:
        return bool(self.words or self.numbers)

    def lines(self, most: int = 12) -> Iterator[str]:
        """Yield the scenario and its quantities, the largest difference first."""
        yield self.name
        ordered = sorted(self.numbers.items(), key=lambda pair: -pair[1])
        told = [f"    {quantity}: {size:.2e} relative" for quantity, size in ordered]
        told += [f"    {words}" for words in self.words]
        yield from told[:most]
        if len(told) > most:
            yield f"    and {len(told) - most} more"


def compare(old: Run, new: Run) -> tuple[list[Difference], int]:
    """Return the scenarios that differ, and how many quantities only the new run has."""
    found, added = [], 0
    for name, entry in old.items():
        if name not in new:
            found.append(Difference(name, ["not played in the new tree"]))
        elif entry["sha256"] != new[name]["sha256"]:
            difference = _differing(name, entry["content"], new[name]["content"])
            added += len(new[name]["content"].keys() - entry["content"].keys())
            if difference:
                found.append(difference)
    only = [Difference(name, ["not played in the old tree"]) for name in new if name not in old]
    return found + only, added


def _differing(name: str, old: dict[str, Any], new: dict[str, Any]) -> Difference:
    difference = Difference(name)
    for quantity, before in old.items():
        if quantity not in new:
            difference.words.append(f"{quantity}: gone, was {_short(json.dumps(before))}")
            continue
        after = new[quantity]
        # As text, because NaN equals itself there and -0.0 is not 0.0.
        if json.dumps(before) == json.dumps(after):
            continue
        size = _distance(before, after)
        if size is None:
            difference.words.append(f"{quantity}: {_apart(before, after)}")
        else:
            difference.numbers[quantity] = size
    return difference


def _distance(before: Any, after: Any) -> float | None:
    """Return the largest relative difference, at the size of the largest number; None for words."""
    one, other = _numbers(before), _numbers(after)
    if one is None or other is None or len(one) != len(other):
        return None
    gaps = [
        0.0 if a == b or (math.isnan(a) and math.isnan(b)) else abs(a - b)
        for a, b in zip(one, other, strict=True)
    ]
    sizes = [abs(a) for a in one + other if math.isfinite(a)]
    scale = max(sizes, default=0.0) or 1.0
    return max((math.inf if math.isnan(gap) else gap / scale for gap in gaps), default=0.0)


def _numbers(value: Any) -> list[float] | None:
    if isinstance(value, bool) or not isinstance(value, (int, float, list)):
        return None
    if not isinstance(value, list):
        return [float(value)]
    if any(isinstance(entry, bool) or not isinstance(entry, (int, float)) for entry in value):
        return None
    return [float(entry) for entry in value]


def summary(differences: list[Difference]) -> Iterator[str]:
    """Yield how often each quantity of a family differs, and by how much at most."""
    sizes: dict[tuple[str, str], list[float]] = {}
    first: dict[tuple[str, str], str] = {}
    for difference in differences:
        family = difference.name.split(":")[0]
        told = {words.split(": ")[0]: math.inf for words in difference.words}
        kinds: dict[str, float] = {}
        for quantity, size in (told | difference.numbers).items():
            kind = re.sub(r"\[\d+\]", "", quantity)
            kinds[kind] = max(kinds.get(kind, 0.0), size)
        for kind, size in kinds.items():
            sizes.setdefault((family, kind), []).append(size)
            first.setdefault((family, kind), difference.name)
    for (family, kind), found in sorted(sizes.items(), key=lambda pair: -len(pair[1])):
        most = "other words" if max(found) == math.inf else f"{max(found):.2e}"
        yield f"{family:<14}{len(found):>7,}  {kind}: {most}, first in {first[family, kind]}"


def _apart(before: Any, after: Any) -> str:
    """Return both, from a little before the place where they part."""
    one, other = json.dumps(before), json.dumps(after)
    pairs = enumerate(zip(one, other, strict=False))
    common = next((place for place, (a, b) in pairs if a != b), 0)
    start = max(0, common - 60) if max(len(one), len(other)) > 300 else 0
    return f"{_short(one[start:])} -> {_short(other[start:])}"


def _short(text: str) -> str:
    return text if len(text) <= 300 else f"{text[:300]}..."

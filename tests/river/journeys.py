"""Examples for River's estimators whose labels appear one after the other."""

from __future__ import annotations

import numpy as np

TOWNS = ("Bonn", "Rome", "Oslo", "Kyiv")


def journeys(count: int) -> list[tuple[dict[str, float], str]]:
    """Return examples whose labels appear one after the other."""
    rng = np.random.default_rng(4)
    found = []
    for k in range(count):
        town = int(rng.integers(1 + min(k // 10, 3)))
        x = {f"f{i}": float(rng.standard_normal() + 2.0 * (i == town)) for i in range(4)}
        found.append((x, TOWNS[town]))
    return found

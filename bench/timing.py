"""Fair timing on a noisy machine: contestants take turns, and only ratios are reported."""

from __future__ import annotations

import gc
import statistics
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass


@dataclass(frozen=True)
class Times:
    """Seconds of every turn, by contestant; turn k of all contestants ran back to back."""

    seconds: Mapping[str, list[float]]

    def best(self, name: str) -> float:
        """Return the shortest time."""
        return min(self.seconds[name])

    def ratio(self, name: str, base: str) -> float:
        """Return the ratio of the shortest times, which noise from outside hardly touches."""
        return self.best(name) / self.best(base)

    def median_ratio(self, name: str, base: str) -> float:
        """Return the median over the turns of the ratio within a turn."""
        pairs = zip(self.seconds[name], self.seconds[base], strict=True)
        return statistics.median(one / other for one, other in pairs)


def interleave(contestants: Mapping[str, Callable[[], object]], turns: int) -> Times:
    """Warm every contestant up once, then time them in turns."""
    seconds: dict[str, list[float]] = {name: [] for name in contestants}
    for run in contestants.values():
        run()
    gc.collect()
    gc.disable()
    try:
        for _ in range(turns):
            for name, run in contestants.items():
                begin = time.perf_counter()
                run()
                seconds[name].append(time.perf_counter() - begin)
    finally:
        gc.enable()
    return Times(seconds)

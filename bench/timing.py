"""Fair timing on a noisy machine: contestants take turns, and only ratios are reported."""

from __future__ import annotations

import gc
import statistics
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Self


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


def interleave(
    contestants: Mapping[str, Callable[[], object]],
    turns: int,
    clock: Callable[[], float] = time.perf_counter,
) -> Times:
    """Warm every contestant up once, then time them in turns by the clock."""
    seconds: dict[str, list[float]] = {name: [] for name in contestants}
    for run in contestants.values():
        run()
    gc.collect()
    gc.disable()
    try:
        for _ in range(turns):
            for name, run in contestants.items():
                begin = clock()
                run()
                seconds[name].append(clock() - begin)
    finally:
        gc.enable()
    return Times(seconds)


@dataclass(frozen=True)
class Line:
    """One measured quantity beside the bar it should clear."""

    what: str
    value: float
    #: The median over turns, where the value is a ratio of best times.
    median: float | None = None
    at_most: float | None = None
    at_least: float | None = None
    unit: str = "x"
    seconds: float | None = None

    @classmethod
    def of(
        cls,
        what: str,
        times: Times,
        name: str,
        base: str,
        at_most: float | None = None,
        at_least: float | None = None,
    ) -> Self:
        """Return the line of a ratio."""
        ratio, median = times.ratio(name, base), times.median_ratio(name, base)
        return cls(what, ratio, median, at_most, at_least, seconds=times.best(name))

    @property
    def bar(self) -> str:
        """Return the bar in words."""
        if self.at_most is not None:
            return f"at most {self.at_most:g}{self.unit}"
        return "" if self.at_least is None else f"at least {self.at_least:g}{self.unit}"

    @property
    def met(self) -> bool | None:
        """Tell whether the value clears its bar, None where there is none."""
        if self.at_most is not None:
            return self.value <= self.at_most
        return None if self.at_least is None else self.value >= self.at_least

    def cells(self) -> tuple[str, str, str, str]:
        """Return what, value, median and bar as text."""
        median = "" if self.median is None else f"{self.median:.2f}{self.unit}"
        verdict = {None: "", True: "", False: " (missed)"}[self.met]
        return self.what, f"{self.value:.2f}{self.unit}", median, self.bar + verdict

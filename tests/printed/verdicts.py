"""What the referee keeps: statements judged, and those that are false."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field


@dataclass
class Verdicts:
    """How many statements of each kind were judged, and the false ones in words."""

    judged: Counter[str] = field(default_factory=Counter)
    false: list[str] = field(default_factory=list)

    def enter(self, kind: str, holds: bool, what: object = "") -> None:
        """Count a statement; keep it if it does not hold."""
        self.judged[kind] += 1
        if not holds:
            self.false.append(f"{kind}: {what}")

    def add(self, other: Verdicts) -> None:
        self.judged += other.judged
        self.false += other.false

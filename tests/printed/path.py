"""The judge of the best moving predictor in hindsight, for the square loss."""

from __future__ import annotations

import itertools
from fractions import Fraction
from typing import Any

import numpy as np

from tests.printed.data import Data, exactly
from tests.printed.figures import nearest
from tests.printed.grammar import Line, parse
from tests.printed.linear import ROOM, Reading
from tests.printed.members import members
from tests.printed.spaces import Space
from tests.printed.verdicts import Verdicts


class Path:
    """Judges a printed path; `parts`: predictors returned, with their first rounds from 0."""

    def __init__(self, text: str, reading: Reading, parts: list[tuple[int, Any]]) -> None:
        self.lines = parse(text, "path")
        self.reading, self.parts = reading, parts
        self.verdicts = Verdicts()
        self.segments: list[tuple[int, int]] = []

    def judge(self) -> Verdicts:
        kinds = {line.kind: line for line in self.lines}
        head = kinds["heading"]
        price = head.figure("price").value if head.has("price") else Fraction(0)
        for line in self.lines:
            if line.kind == "segment":
                self._segment(line)
        data = self.reading.data
        covered = [last for _, last in self.segments]
        whole = [first for first, _ in self.segments][1:] == [last + 1 for last in covered[:-1]]
        whole = whole and covered[-1] == len(data.y) and self.segments[0][0] == 1
        self.verdicts.enter("segments", whole, self.segments)
        own = sum((self._loss(first, last, u) for first, last, u in self._found()), Fraction(0))
        loss = kinds["loss"].figure("loss")
        close = own <= loss.value <= own * (1 + Fraction(1, 10**8)) + Fraction(1, 10**8)
        self.verdicts.enter("loss", close, (kinds["loss"].raw, float(own)))
        objective = own + price * (len(self.parts) - 1)
        if "priced" in kinds:
            shown = kinds["priced"].figure("loss").value
            close = objective <= shown <= objective * (1 + Fraction(1, 10**8)) + Fraction(1, 10**8)
            self.verdicts.enter("price", close, (head.raw, kinds["priced"].raw, float(objective)))
        if head.has("shifts"):
            few = len(self.parts) - 1 <= head.figure("shifts").value
            self.verdicts.enter("shifts", few, head.raw)
        self._floor(kinds["floor"], head, price)
        return self.verdicts

    def _segment(self, line: Line) -> None:
        first, last = int(line.figure("first").value), int(line.figure("last").value)
        self.segments.append((first, last))
        u = self.parts[len(self.segments) - 1][1]
        norm = Fraction(float(np.linalg.norm(u)))
        self.verdicts.enter("norm", nearest(line.figure("norm"), norm, 6, ROOM), line.raw)

    def _found(self) -> list[tuple[int, int, Any]]:
        return [(a, b, u) for (a, b), (_, u) in zip(self.segments, self.parts, strict=True)]

    def _part(self, first: int, last: int) -> Data:
        data = self.reading.data
        return Data(data.X[first - 1 : last], data.y[first - 1 : last], "Squared")

    def _loss(self, first: int, last: int, u: Any) -> Fraction:
        value = self._part(first, last).exact(exactly(u))
        assert isinstance(value, Fraction)
        return value

    def _floor(self, line: Line, head: Line, price: Fraction) -> None:
        """No schedule of the kind has less: try the one found, and random ones with best parts."""
        floor, reach = line.figure("floor").value, line.figure("reach").value
        rounds, random = len(self.reading.data.y), self.reading.random
        most = int(head.figure("shifts").value) if head.has("shifts") else rounds - 1
        space = Space("ball", reach)
        schedules = [[first for first, _ in self.segments]]
        for _ in range(4):
            count = int(random.integers(0, min(most, rounds - 1, 3) + 1))
            cuts = random.choice(np.arange(2, rounds + 1), count, replace=False) if count else []
            schedules.append([1, *sorted(int(c) for c in cuts)])
        for starts in schedules:
            total = price * (len(starts) - 1)
            for first, after in itertools.pairwise([*starts, rounds + 1]):
                data = self._part(first, after - 1)
                tried = [u for a, _, u in self._found() if a == first]
                total += min(
                    (v for v in map(data.exact, members(space, data, random, tried))),
                )
            self.verdicts.enter("floor", total >= floor, (head.raw, line.raw, starts, float(total)))

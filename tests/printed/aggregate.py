"""The judge of mixtures of learners: members are members, not predictors of a class."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from typing import Any

from tests.printed.data import difference
from tests.printed.figures import at_least, rounded_down, rounded_up, same_number
from tests.printed.grammar import Line
from tests.printed.linear import ROOM, Linear, Reading
from tests.printed.losses import number


class Aggregate(Linear):
    """Judges the certificate of an aggregate; `others` are its members' predictions."""

    families = ("linear", "aggregate")

    def __init__(
        self, text: str, told: dict[str, Any] | None, reading: Reading, others: list[Any]
    ) -> None:
        super().__init__(text, told, reading)
        self.totals = [_exact(replace(self.data, predictions=p).own_loss()) for p in others]

    def on_best_member(self, line: Line) -> None:
        least = min(self.totals)
        room = ROOM * (1 + self._size())
        # Measured, so that doubles that were summed may be off themselves.
        near = rounded_down(line.figure("loss"), least + room, 6, 2 * room)
        self.verdicts.enter("best member", near, (line.raw, float(least)))
        named, count = int(line.figure("member").value), int(line.figure("members").value)
        same = count == len(self.totals) and 1 <= named <= count
        same = same and self.totals[named - 1] <= least + room
        self.verdicts.enter("which member", same, (line.raw, [float(v) for v in self.totals]))

    def on_member_regret(self, line: Line) -> None:
        regret = _exact(difference(self.data.own_loss(), min(self.totals)))
        shown = line.figure("regret")
        holds = at_least(shown, regret)
        if line.words("how") == "measured":
            # Rounding of the sums is less than half a unit then, and added.
            holds = holds and rounded_up(shown, regret, 6, shown.unit(6) / 2)
        self.verdicts.enter("member regret", holds, (line.raw, float(regret)))

    def on_bound(self, line: Line) -> None:
        if line.words("against") != "loss of any member":
            super().on_bound(line)
            return
        own = _exact(self.data.own_loss())
        for total in self.totals:
            holds = at_least(line.figure("value"), own - total)
            self.verdicts.enter("member theorem", holds, (line.raw, float(own - total)))

    def _json_bounds(self, told: list[dict[str, Any]]) -> None:
        assert self.told is not None
        listed = self.numbers(self.told)["members"]["bounds"]
        lines = [line for line in self.lines if line.kind == "bound"]
        self.verdicts.enter("JSON", len(lines) == len(listed), (len(lines), listed))
        for line, one in zip(lines, listed, strict=False):
            same = same_number(line.figure("value"), one["value"], 6, "up")
            self.verdicts.enter("JSON", same, (line.raw, one))


def _exact(value: Any) -> Fraction:
    return value if isinstance(value, Fraction) else Fraction(str(number(value)))

"""The judge of learners on finite classes: mistakes, version spaces, expected mistakes."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np

from tests.printed.figures import at_least, nearest, rounded_up, same_number
from tests.printed.grammar import Line, Unparsed, parse
from tests.printed.linear import ROOM
from tests.printed.verdicts import Verdicts


class Finite:
    """Judges one text by the predictions made, the labels, and the table of the class."""

    def __init__(
        self, text: str, told: dict[str, Any] | None, predictions: Any, labels: Any, **more: Any
    ) -> None:
        self.lines = parse(text, "classes")
        self.told, self.predictions, self.labels, self.more = told, predictions, labels, more
        self.verdicts = Verdicts()
        pairs = zip(predictions, labels, strict=True)
        self.loss = sum((abs(Fraction(float(p)) - int(y)) for p, y in pairs), Fraction(0))
        if "positions" in more:
            self.loss = sum((Fraction(float(p)) for p in predictions), Fraction(0))
        self.rounds = len(labels)

    def judge(self) -> Verdicts:
        for line in self.lines:
            method = getattr(self, "on_" + line.kind.replace(" ", "_"), None)
            if method is None:
                raise Unparsed(line.raw)
            method(line)
        if self.told is not None:
            self._json(self.told)
        return self.verdicts

    def _rounds(self, line: Line) -> None:
        self.verdicts.enter("rounds", line.figure("rounds").value == self.rounds, line.raw)

    on_rule = on_ranking = on_cover = _rounds

    def on_elimination(self, line: Line) -> None:
        self._rounds(line)
        ones = max(int(sum(x)) for x in self.more["points"])
        self.verdicts.enter("ones", line.figure("ones").value == ones, line.raw)

    def on_agnostic(self, line: Line) -> None:
        self._rounds(line)
        found = line.figure("dimension").value
        self.verdicts.enter("dimension", found == ldim(self.more["table"]), line.raw)

    def on_mistakes(self, line: Line) -> None:
        self.verdicts.enter("mistakes", line.figure("count").value == self.loss, line.raw)

    def on_agree(self, line: Line) -> None:
        agree = self._agreeing(self.rounds)
        same = line.figure("left").value == agree and agree > 0
        same = same and line.figure("all").value == len(self.more["table"])
        self.verdicts.enter("version space", same, (line.raw, agree))

    def _agreeing(self, rounds: int) -> int:
        table, points = self.more["table"], self.more["points"]
        return sum(
            all(row[x] == y for x, y in zip(points[:rounds], self.labels[:rounds], strict=True))
            for row in table
        )

    def on_broken(self, line: Line) -> None:
        first = int(line.figure("round").value)
        holds = self._agreeing(first) == 0 and self._agreeing(first - 1) > 0
        self.verdicts.enter("broken", holds, line.raw)

    def on_mistake_bound(self, line: Line) -> None:
        holds = line.figure("value").value >= self.loss
        if line.words("name").startswith("Ldim(H), in advance"):
            holds = holds and line.figure("value").value == ldim(self.more["table"])
        if line.words("name").startswith("log2 |H|"):
            size = len(self.more["table"])
            holds = holds and line.figure("value").value == int(math.log2(size) + 1e-12)
        self.verdicts.enter("mistake bound", holds, (line.raw, float(self.loss)))

    def on_not_applicable(self, line: Line) -> None:
        self.verdicts.enter("reason", bool(line.words("reason")), line.raw)

    def on_expected(self, line: Line) -> None:
        near = nearest(line.figure("loss"), self.loss, 6, ROOM * (1 + self.rounds))
        self.verdicts.enter("expected mistakes", near, (line.raw, float(self.loss)))

    on_positions = on_expected

    def on_best(self, line: Line) -> None:
        table, points = self.more["table"], self.more["points"]
        wrong = [
            sum(int(row[x]) != int(y) for x, y in zip(points, self.labels, strict=True))
            for row in table
        ]
        self.best = min(wrong)
        self.verdicts.enter("best hypothesis", line.figure("best").value == self.best, line.raw)

    def on_best_list(self, line: Line) -> None:
        counts = np.sort(np.bincount(self.labels, minlength=self.more["items"]))[::-1]
        self.best = int(counts @ np.arange(1, len(counts) + 1))
        self.verdicts.enter("best list", line.figure("best").value == self.best, line.raw)

    def on_constant(self, line: Line) -> None:
        ones = int(sum(self.labels))
        self.best = min(ones, self.rounds - ones)
        self.verdicts.enter("best constant", line.figure("best").value == self.best, line.raw)

    def on_regret(self, line: Line) -> None:
        self.regret = self.loss - self.best
        near = rounded_up(line.figure("regret"), self.regret, 6, ROOM * (1 + self.rounds))
        self.verdicts.enter("regret", near, (line.raw, float(self.regret)))

    def on_regret_bound(self, line: Line) -> None:
        holds = at_least(line.figure("value"), self.regret)
        self.verdicts.enter("regret bound", holds, (line.raw, float(self.regret)))

    def on_assumption(self, line: Line) -> None:
        self.verdicts.enter("assumption", line.figure("k").value == self.more["k"], line.raw)

    def on_forced(self, line: Line) -> None:
        forced = line.figure("value").value
        holds = forced == -(-self.rounds // 2) and self.loss - self.best >= forced
        self.verdicts.enter("forced", holds, line.raw)

    def on_escape(self, line: Line) -> None:
        bound = math.sqrt(0.5 * self.rounds * math.log(2.0))
        holds = rounded_up(line.figure("value"), Fraction(bound), 6, ROOM)
        self.verdicts.enter("escape", holds, line.raw)

    def _json(self, told: dict[str, Any]) -> None:
        self.verdicts.enter("JSON", told["rounds"] == self.rounds, told["rounds"])
        lines = [x for x in self.lines if x.kind.endswith("bound") or x.kind == "not applicable"]
        self.verdicts.enter("JSON", len(lines) == len(told["bounds"]), told["bounds"])
        for line, one in zip(lines, told["bounds"], strict=False):
            same = line.words("name") == one["name"]
            if line.kind != "not applicable":
                same = same and same_number(line.figure("value"), one["value"], 6, "up")
            self.verdicts.enter("JSON", same, (line.raw, one))


def ldim(table: Any) -> int:
    """Return the Littlestone dimension of a small table, by its definition."""
    rows = frozenset(tuple(int(v) for v in row) for row in table)
    known: dict[Any, int] = {}

    def depth(some: frozenset[tuple[int, ...]]) -> int:
        if len(some) <= 1:
            return len(some) - 1
        if some not in known:
            best = 0
            for x in range(len(next(iter(some)))):
                ones = frozenset(row for row in some if row[x])
                if ones and len(ones) < len(some):
                    best = max(best, 1 + min(depth(ones), depth(some - ones)))
            known[some] = best
        return known[some]

    return depth(rows)

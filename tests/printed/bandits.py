"""The judge of bandits: what was paid, estimates, statements on this path and in the mean.

A statement "in expectation" or "with probability" is judged by the same game played many times
with other draws: its mean excess must not be above 0 by more than five standard errors, and the
count of failures not above what chance allows.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

import numpy as np

from tests.printed.figures import at_least, nearest, same_number
from tests.printed.grammar import Line, Unparsed, parse
from tests.printed.linear import ROOM, Linear, Reading
from tests.printed.spaces import space_of
from tests.printed.verdicts import Verdicts


@dataclass
class Pulls:
    """What happened: arm, its probability and its cost in every round; the range of costs."""

    arms: list[int] = field(default_factory=list)
    chances: list[float] = field(default_factory=list)
    costs: list[float] = field(default_factory=list)
    #: Probabilities of all arms, where the reader can ask for them.
    every: list[Any] = field(default_factory=list)
    count: int = 2
    low: float = 0.0
    high: float = 1.0
    #: The costs of all arms, for who knows them: a simulation does.
    table: Any = None
    #: EXP3-IX divides by the probability plus half of the rate.
    biased: bool = False

    def estimates(self) -> list[float]:
        """Return the estimated cost of every arm, NaN where it had no chance in some round."""
        found = []
        for arm in range(self.count):
            if any(row[arm] == 0.0 for row in self.every):
                found.append(math.nan)
                continue
            pulled = zip(self.arms, self.chances, self.costs, strict=True)
            total = sum((c - self.low) / p for a, p, c in pulled if a == arm)
            found.append(self.low * len(self.costs) + total)
        return found


class Bandit:
    """Judges the certificate of one run; `again` prints that of another run of the same game."""

    def __init__(
        self,
        text: str,
        told: dict[str, Any] | None,
        pulls: Pulls,
        again: Callable[[int], tuple[str, Pulls]] | None = None,
        repeats: int = 40,
    ) -> None:
        outer, _, inner = text.partition("  cost regression, costs in units of their range:\n")
        self.lines, self.inner = parse(outer, "bandit"), inner
        self.told, self.pulls, self.again, self.repeats = told, pulls, again, repeats
        self.verdicts = Verdicts()

    def judge(self, regression: Reading | None = None) -> Verdicts:
        for line in self.lines:
            method = getattr(self, "on_" + line.kind.replace(" ", "_"), None)
            if method is None:
                raise Unparsed(line.raw)
            method(line)
        if self.inner:
            assert regression is not None
            self.verdicts.add(Linear(self.inner, None, regression).judge())
        if self.again is not None:
            self._repeat()
        if self.told is not None:
            self._json(self.told)
        return self.verdicts

    @property
    def cost(self) -> float:
        return math.fsum(self.pulls.costs)

    def _near(self, kind: str, line: Line, part: str, true: float) -> None:
        if math.isnan(true):
            self.verdicts.enter(kind, line.words(part) == "nan", line.raw)
            return
        room = ROOM * Fraction(1.0 + abs(true))
        self.verdicts.enter(
            kind, nearest(line.figure(part), Fraction(true), 6, room), (line.raw, true)
        )

    def on_heading(self, line: Line) -> None:
        same = line.figure("rounds").value == len(self.pulls.costs)
        self.verdicts.enter("rounds", same, line.raw)

    def on_cost(self, line: Line) -> None:
        self._near("cost", line, "cost", self.cost)
        self._near("cost a round", line, "each", self.cost / max(len(self.pulls.costs), 1))

    def on_best(self, line: Line) -> None:
        found = self.pulls.estimates()
        least = min(v for v in found if not math.isnan(v))
        if self.pulls.biased:
            # Implicit exploration estimates less.
            cost = line.figure("cost")
            holds = cost.value <= Fraction(least) + cost.unit(6) / 2 + ROOM * (1 + abs(cost.value))
            self.verdicts.enter("best arm", holds, (line.raw, found))
            return
        self._near("best arm", line, "cost", least)
        arm = int(line.figure("arm").value) - FIRST_ARM
        self.verdicts.enter(
            "which arm", abs(found[arm] - least) <= 1e-9 * (1 + abs(least)), line.raw
        )

    def on_none(self, line: Line) -> None:
        found = self.pulls.estimates()
        self.verdicts.enter("no estimate", all(math.isnan(v) for v in found), (line.raw, found))

    def on_even(self, line: Line) -> None:
        """Drawing evenly: every pull counts by 1/n over its probability."""
        total = self.pulls.low * len(self.pulls.costs)
        pulled = zip(self.pulls.chances, self.pulls.costs, self.pulls.every, strict=True)
        for p, c, row in pulled:
            total += (
                (c - self.pulls.low) / (len(row) * p) if all(v > 0.0 for v in row) else math.nan
            )
        self._near("even arms", line, "cost", total)

    def on_regret(self, line: Line) -> None:
        if line.has("set"):
            return
        found = [v for v in self.pulls.estimates() if not math.isnan(v)]
        if self.pulls.biased:
            return
        self._near("estimated regret", line, "regret", self.cost - min(found))

    def on_floor(self, line: Line) -> None:
        self.floor = line.figure("floor")

    def on_chance(self, line: Line) -> None:
        self.verdicts.enter("level", 0 < line.figure("delta").value < 1, line.raw)

    def on_floored(self, line: Line) -> None:
        self.verdicts.enter("floor", bool(self.floor), line.raw)

    def on_path(self, line: Line) -> None:
        found = [v for v in self.pulls.estimates() if not math.isnan(v)]
        room = ROOM * Fraction(1.0 + abs(self.cost))
        if self.pulls.biased:
            (best,) = (one.figure("cost") for one in self.lines if one.kind == "best")
            found, room = [float(best.value)], room + best.unit(6) / 2
        excess = Fraction(self.cost - min(found))
        self.verdicts.enter("on this path", at_least(line.figure("value"), excess, room), line.raw)

    def on_gradient_path(self, line: Line) -> None:
        """Judged against the estimated regret, which is the largest sum over the set."""
        (regret,) = (one.figure("regret") for one in self.lines if one.kind == "regret")
        room = regret.unit(6) / 2 + ROOM
        holds = at_least(line.figure("value"), regret.value, room)
        self.verdicts.enter("on this path", holds, (line.raw, str(regret)))

    def on_mean(self, line: Line) -> None:
        self.verdicts.enter("a mean is named", not line.figure("value").infinite, line.raw)

    on_inside = on_mean

    def on_likely(self, line: Line) -> None:
        self.verdicts.enter("a level is named", 0 < line.figure("delta").value < 1, line.raw)

    def on_not_applicable(self, line: Line) -> None:
        holds = "contradicts" not in line.words("reason")
        self.verdicts.enter("reason", holds, line.raw)

    def _repeat(self) -> None:
        """Play the game again and again: means and failures over the bandit's own draws."""
        assert self.again is not None
        excess: dict[str, list[float]] = {}
        failures: dict[str, tuple[int, float]] = {}
        for seed in range(self.repeats):
            text, pulls = self.again(seed)
            best = float(pulls.table.sum(axis=0).min())
            cost = math.fsum(pulls.costs)
            for line in parse(text, "bandit"):
                if line.kind == "mean":
                    value = float(line.figure("value").value)
                    excess.setdefault(line.words("name"), []).append(cost - best - value)
                elif line.kind in ("likely", "floor"):
                    value = float(line.figure("value" if line.kind == "likely" else "floor").value)
                    failed = cost - best > value if line.kind == "likely" else best < value
                    name = line.parts.get("name") or "floor"
                    count = failures.get(name, (0, 0.0))[0] + int(failed)
                    failures[name] = (count, 0.05)
                elif line.kind == "chance":
                    failures["floor"] = (failures["floor"][0], float(line.figure("delta").value))
        for name, values in excess.items():
            error = float(np.std(values)) / math.sqrt(len(values))
            holds = float(np.mean(values)) <= 5.0 * error + 1e-9
            self.verdicts.enter("in expectation", holds, (name, float(np.mean(values)), error))
        for name, (count, delta) in failures.items():
            holds = _tail(count, self.repeats, delta) > 1e-6
            self.verdicts.enter("with probability", holds, (name, count, self.repeats, delta))

    def _json(self, told: dict[str, Any]) -> None:
        kinds = {line.kind: line for line in self.lines}
        for kind, part, key in (("heading", "rounds", "rounds"), ("cost", "cost", "cost")):
            same = same_number(kinds[kind].figure(part), told[key])
            self.verdicts.enter("JSON", same, (kinds[kind].raw, told[key]))
        stated = [x for x in self.lines if x.kind in ("path", "mean", "likely", "not applicable")]
        listed = told.get("statements", [])
        if listed:
            self.verdicts.enter("JSON", len(stated) == len(listed), (len(stated), len(listed)))
        for line, one in zip(stated, listed, strict=False):
            same = line.words("name") == one["name"]
            if line.kind != "not applicable":
                same = same and same_number(line.figure("value"), one["value"], 6, "up")
            self.verdicts.enter("JSON", same, (line.raw, one))


#: The number of the first arm in a text.
FIRST_ARM = 0


def _tail(count: int, trials: int, chance: float) -> float:
    """Return the probability of at least so many failures."""
    return 1.0 - sum(
        math.comb(trials, k) * chance**k * (1.0 - chance) ** (trials - k) for k in range(count)
    )


def gradient(text: str, costs: list[float], repeats: list[tuple[str, float, float]]) -> Verdicts:
    """Judge bandit gradient descent; `repeats`: text, cost and the best fixed point's cost."""
    lines = parse(text, "bandit")
    judge = Bandit("", None, Pulls(costs=costs))
    judge.lines = lines
    for line in lines:
        if line.kind == "regret":
            space_of(f"every u in {line.words('set')}")
    verdicts = judge.judge()
    excess: dict[str, list[float]] = {}
    for other, cost, best in repeats:
        for line in parse(other, "bandit"):
            if line.kind in ("mean", "inside"):
                value = float(line.figure("value").value)
                excess.setdefault(line.words("name"), []).append(cost - best - value)
    for name, values in excess.items():
        error = float(np.std(values)) / math.sqrt(len(values))
        holds = float(np.mean(values)) <= 5.0 * error + 1e-9
        verdicts.enter("in expectation", holds, (name, float(np.mean(values)), error))
    return verdicts


def off_policy(text: str, told: dict[str, Any], value: float, reading: dict[str, Any]) -> Verdicts:
    """Judge an estimate: its value, order, level to the last digit, rows and their worth."""
    verdicts = Verdicts()
    (line,) = parse(text, "off-policy")
    room = ROOM * Fraction(1 + abs(value))
    verdicts.enter(
        "estimate", nearest(line.figure("value"), Fraction(value), 6, room), (text, value)
    )
    level = Fraction(float(line.words("level")))
    verdicts.enter("level", level == Fraction(reading["level"]), (text, reading["level"]))
    verdicts.enter("rows", line.figure("rows").value == reading["rows"], text)
    worth = Fraction(reading["worth"])
    verdicts.enter(
        "worth", nearest(line.figure("worth"), worth, 4, ROOM * 100), (text, float(worth))
    )
    order = line.figure("low").value <= line.figure("high").value
    verdicts.enter("interval", order, text)
    for part, way in (("low", "down"), ("high", "up"), ("value", "nearest")):
        same = same_number(line.figure(part), told[part], 6, way)
        verdicts.enter("JSON", same, (text, told))
    return verdicts


def covered(text: str, truth: float) -> bool:
    """Tell whether the printed interval holds the true value."""
    (line,) = parse(text, "off-policy")
    return line.figure("low").value <= Fraction(truth) <= line.figure("high").value


def replayed(text: str, outcomes: Any, accepted: Any, exact: bool, least: float) -> Verdicts:
    """Judge a replay: its counts, its mean, and whether it says that it is not exactly a run."""
    verdicts = Verdicts()
    lines = {line.kind: line for line in parse(text, "off-policy")}
    line = lines["replay"]
    verdicts.enter("rows", line.figure("rows").value == len(outcomes), text)
    verdicts.enter("accepted", line.figure("accepted").value == len(accepted), text)
    if len(accepted):
        mean = sum((Fraction(float(v)) for v in outcomes[accepted]), Fraction(0)) / len(accepted)
        near = nearest(line.figure("mean"), mean, 6, ROOM)
        verdicts.enter("mean", near, (text, float(mean)))
    else:
        verdicts.enter("mean", line.words("mean") == "nan", text)
    said = "not a run" not in lines
    verdicts.enter("not exactly a run", said == exact, text)
    if not said:
        same = Fraction(float(lines["not a run"].words("least"))) == Fraction(least)
        verdicts.enter("least propensity", same, text)
    return verdicts

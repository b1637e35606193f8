"""The judge of certificates of linear learners: floors, regret and theorems over a named class."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Any

import numpy as np

from tests.printed.data import Data, Member, Vector, difference
from tests.printed.figures import Figure, nearest, rounded_down, rounded_up, same_number
from tests.printed.grammar import Line, Unparsed, parse
from tests.printed.losses import number
from tests.printed.members import members
from tests.printed.objective import components, objective_of
from tests.printed.spaces import Space, space_of
from tests.printed.verdicts import Verdicts

#: Doubles that were summed may be off by so much, relatively, beside the digits printed.
ROOM = Fraction(1, 10**11)


@dataclass
class Reading:
    """What a reader has beside the text: the data, and predictors that he would try himself."""

    data: Data
    random: np.random.Generator
    tried: list[Vector] = field(default_factory=list)
    #: Which map a dual learner has: F(u) for the reader.
    regularizer: Any = None
    mirror: str = ""
    #: What m_i is, where the rows do not say it by themselves.
    units: tuple[float, ...] | None = None
    #: Whether the loss or the map is a user's own, taken at its word.
    of_user: bool = False
    #: Whether u stands for a difference from the optimum of a fit.
    anchored: bool = False

    def space_in(self, space: Space) -> Space:
        """Return the class with the units that the reader knows."""
        if space.scaled and self.units is not None:
            return replace(space, units=self.units, scaled=False)
        return space


class Linear:
    """Judges one printed certificate about linear predictors."""

    families: tuple[str, ...] = ("linear",)

    def __init__(self, text: str, told: dict[str, Any] | None, reading: Reading) -> None:
        self.lines = parse(text, *self.families)
        self.text, self.told, self.reading = text, told, reading
        self.verdicts = Verdicts()
        self.data: Data = self._as_read()
        self.space: Space | None = None
        self._members: list[Member] | None = None

    def _as_read(self) -> Data:
        """Return the objective that the heading names, on the reader's data."""
        self.objective = self.lines[0].words("objective")
        named = objective_of(self.objective)
        data = self.reading.data
        self.verdicts.enter("objective", named.fits(data), (self.objective, data.parameters))
        return named.of(data)

    def judge(self) -> Verdicts:
        """Judge every line; a line that nobody judges is an error."""
        for line in self.lines:
            method = getattr(self, "on_" + line.kind.replace(" ", "_"), None)
            if method is None:
                raise Unparsed(f"nobody judges {line.kind!r}: {line.raw!r}")
            method(line)
        if self.told is not None:
            self.judge_json(self.numbers(self.told))
        return self.verdicts

    def numbers(self, told: dict[str, Any]) -> dict[str, Any]:
        """Return that part of the JSON which is the certificate."""
        return told

    def members(self) -> list[Member]:
        """Return members of the class that the text names."""
        if self.space is None:
            raise Unparsed("a statement about a class that is not named")
        if self._members is None:
            space = self.reading.space_in(self.space)
            self._members = members(space, self.data, self.reading.random, self.reading.tried)
        return self._members

    def on_heading(self, line: Line) -> None:
        self.verdicts.enter("rounds", line.figure("rounds").value == len(self.data.y), line.raw)

    def on_loss(self, line: Line) -> None:
        own = self.data.own_loss()
        self._near("loss", line.figure("loss"), own, line)
        self._near("loss a round", line.figure("each"), own / len(self.data.y), line)

    def on_plain_loss(self, line: Line) -> None:
        own = self.data.plain().own_loss()
        self._near("plain loss", line.figure("loss"), own, line)
        self._near("plain loss a round", line.figure("each"), own / len(self.data.y), line)

    def on_meaning(self, line: Line) -> None:
        self.verdicts.enter("L(u)", line.words("objective") == self.objective, line.raw)

    def _near(self, kind: str, printed: Figure, true: Any, line: Line, digits: int = 6) -> None:
        exact = true if isinstance(true, Fraction) else Fraction(str(number(true)))
        room = ROOM * (abs(exact) + self._size())
        self.verdicts.enter(kind, nearest(printed, exact, digits, room), (line.raw, float(exact)))

    def _size(self) -> Fraction:
        """Return the order of what was summed, where sums may cancel."""
        return Fraction(float(np.sum(self.data.weights)) * (1.0 + _largest(self.data.y)))

    def on_mistakes(self, line: Line) -> None:
        count = int(self.data.mistaken().sum())
        self.verdicts.enter("mistakes", line.figure("count").value == count, line.raw)
        share = Fraction(100 * count, len(self.data.y))
        off = abs(line.figure("share").value - share)
        self.verdicts.enter("share of mistakes", off <= Fraction(1, 200) + ROOM, line.raw)

    def on_floor(self, line: Line) -> None:
        self.floor = line.figure("floor")
        each = line.figure("each")
        exact = None if self.told is None else self.numbers(self.told)["floor"]
        holds = _each_of(each, self.floor, exact, len(self.data.y), "down")
        self.verdicts.enter("floor a round", holds, (line.raw, exact))

    def on_class(self, line: Line) -> None:
        self.space = space_of(line.words("words"))
        if line.has("objective"):
            same = line.words("objective") == self.objective
            self.verdicts.enter("objective of the floor", same, line.raw)
        self._below_all("floor", self.floor, line)

    def _below_all(self, kind: str, floor: Figure, line: Line) -> None:
        """Judge a floor under every member."""
        if floor.infinite:
            self.verdicts.enter(kind, floor.text.strip() == "-inf", line.raw)
            return
        for u in self.members():
            self.verdicts.enter(
                kind, self.data.holds(u, floor.value), (line.raw, str(floor), _shown(u))
            )

    def on_regret(self, line: Line) -> None:
        regret = line.figure("regret")
        self._above_all("regret", self.data.own_loss(), regret, Fraction(1), line)
        each = line.figure("each")
        exact = None if self.told is None else self.numbers(self.told)["regret_bound"]
        holds = _each_of(each, regret, exact, len(self.data.y), "up")
        self.verdicts.enter("regret a round", holds, (line.raw, exact))

    def _above_all(
        self, kind: str, measure: Any, value: Figure, factor: Fraction, line: Line
    ) -> None:
        """Judge measure - factor L(u) <= value for every member."""
        if value.infinite:
            self.verdicts.enter(kind, value.text.strip() == "inf", line.raw)
            return
        claim = difference(measure, value.value)
        for u in self._for(line):
            holds = self.data.holds(u, claim, factor)
            self.verdicts.enter(kind, holds, (line.raw.strip(), float(measure), _shown(u)))

    def _for(self, line: Line) -> list[Member]:
        """Return the members that a line is about."""
        name = line.parts.get("name") or ""
        if "u of" not in name:
            return self.members()
        ones = int("".join(c for c in name.split("u of")[1] if c.isdigit()))
        d, random = self.data.dimension, self.reading.random
        chosen = [random.permutation(d)[:ones] for _ in range(6)]
        return [[Fraction(int(i in some)) for i in range(d)] for some in chosen]

    def on_bound(self, line: Line) -> None:
        factor = line.figure("factor").value if line.has("factor") else Fraction(1)
        measures = {
            "loss": lambda: self.data.plain().own_loss(),
            "penalised loss": lambda: self.data.own_loss(),
            "mistakes": lambda: Fraction(int(self.data.mistaken().sum())),
            "loss on mistakes": lambda: self.data.loss_on(self.data.mistaken()),
        }
        measure = measures[line.words("measure")]()
        self._above_all("theorem", measure, line.figure("value"), factor, line)

    def on_no_statement(self, line: Line) -> None:
        """A promise of a user's loss was broken: nothing else may be claimed."""
        claims = {"floor", "regret", "bound", "class"} & {one.kind for one in self.lines}
        holds = self.reading.of_user and not claims
        self.verdicts.enter("no statement", holds, line.raw)

    def on_not_applicable(self, line: Line) -> None:
        # Nothing of the library itself may contradict a theorem; what a user wrote may.
        reason = line.words("reason")
        expected = self.reading.of_user or "contradicts" not in reason
        self.verdicts.enter("reason", bool(reason.strip()) and expected, line.raw)

    def on_assumption(self, line: Line) -> None:
        self.verdicts.enter("assumption", self.data.loss in line.words("words"), line.raw)

    def judge_json(self, told: dict[str, Any]) -> None:
        """Judge that the JSON says what the text says."""
        by_kind = {line.kind: line for line in self.lines}
        pairs = [
            ("heading", "rounds", "rounds", "nearest"),
            ("loss", "loss", "loss", "nearest"),
            ("loss", "each", "average_loss", "nearest"),
            ("mistakes", "count", "mistakes", "nearest"),
            ("floor", "floor", "floor", "down"),
            ("regret", "regret", "regret_bound", "up"),
        ]
        for kind, part, key, way in pairs:
            if kind in by_kind:
                same = same_number(by_kind[kind].figure(part), told[key], 6, way)
                self.verdicts.enter("JSON", same, (by_kind[kind].raw, key, told[key]))
        if "objective" in told:
            same = told["objective"] == self.objective
            self.verdicts.enter("JSON", same, told["objective"])
        if "class" in by_kind:
            same = by_kind["class"].words("words") == told["class"]
            self.verdicts.enter("JSON", same, (by_kind["class"].raw, told["class"]))
        self._json_bounds(told.get("bounds", []))

    def _json_bounds(self, told: list[dict[str, Any]]) -> None:
        lines = [line for line in self.lines if line.kind in ("bound", "not applicable")]
        self.verdicts.enter("JSON", len(lines) == len(told), (len(lines), told))
        for line, one in zip(lines, told, strict=False):
            same = line.words("name") == one["name"] and one["applies"] == (line.kind == "bound")
            if line.kind == "bound":
                factor = line.figure("factor") if line.has("factor") else Figure("1")
                same = same and same_number(line.figure("value"), one["value"], 6, "up")
                same = same and same_number(factor, one["factor"], 6, "up")
                same = same and one["measure"] == line.words("measure")
            else:
                same = same and one["value"] is None and one["reason"] == line.words("reason")
            self.verdicts.enter("JSON", same, (line.raw, one))


def _each_of(each: Figure, total: Figure, exact: Any, rounds: int, way: str) -> bool:
    """Tell whether a bound a round is that of all rounds divided, and rounded the same way.

    Without its exact value the bound itself may be a unit away from what is printed.
    """
    if total.infinite or each.infinite:
        return total.infinite == each.infinite
    rule = rounded_down if way == "down" else rounded_up
    if exact is not None:
        # The quotient is a double, too: an ulp away at most, and outwards.
        return rule(each, Fraction(exact) / rounds, 6, abs(Fraction(exact)) / 2**50)
    unit = total.unit(6) if way == "down" else -total.unit(6)
    return rule(each, (total.value + unit) / rounds, 6, 2 * total.unit(6) / rounds)


def _largest(y: Any) -> float:
    return max((float(np.max(np.abs(one), initial=0.0)) for one in y), default=0.0)


def _shown(u: Member) -> list[float]:
    return [float(v) for v in u]


class Dual(Linear):
    """Judges the certificate of a dual-ascent learner as well."""

    families = ("linear", "dual")

    def on_dual(self, line: Line) -> None:
        # All digits of a double are printed.
        self.C = Fraction(float(line.words("C")))
        self.dual = line.figure("dual")

    def on_dual_floor(self, line: Line) -> None:
        """Judge loss + F(u)/C >= floor and C loss + F(u) >= dual, whatever u is."""
        regularizer = self.reading.regularizer(1.0 / float(self.C))
        data = replace(self.data, penalty=regularizer.penalty)
        for u in members(regularizer.space, data, self.reading.random, self.reading.tried):
            floor = line.figure("floor")
            holds = data.holds(u, floor.value)
            self.verdicts.enter("dual floor", holds, (line.raw, _shown(u)))
            holds = data.holds(u, self.dual.value, self.C)
            self.verdicts.enter("dual value", holds, (str(self.dual), str(self.C), _shown(u)))

        if line.has("objective"):
            same = line.words("objective") == self.objective
            self.verdicts.enter("objective of the dual", same, line.raw)

    def on_regulariser(self, line: Line) -> None:
        same = components(line.words("mirror"))[0] == self.reading.mirror
        self.verdicts.enter("regulariser", same, line.raw)

    def on_anchored(self, line: Line) -> None:
        self.verdicts.enter("anchored", self.reading.anchored, line.raw)

    def on_offsets(self, line: Line) -> None:
        self.verdicts.enter("offsets", self.data.offset is not None, line.raw)

    def on_fell(self, line: Line) -> None:
        inside = 1 <= line.figure("round").value <= len(self.data.y)
        self.verdicts.enter("fell", inside, line.raw)

    def on_lambda(self, line: Line) -> None:
        """What a mistake raised the dual by, times the mistakes, is at most the dual."""
        gain = line.figure("gain").value
        count = int(self.data.mistaken().sum())
        dual: Any = self.dual.value + self.dual.unit(6)
        if self.told is not None:
            dual = self.numbers(self.told)["dual"]
        holds = count > 0 and gain * count <= Fraction(dual)
        self.verdicts.enter("lambda", holds, (line.raw, count))

    def judge_json(self, told: dict[str, Any]) -> None:
        super().judge_json(told)
        by_kind = {line.kind: line for line in self.lines}
        same = same_number(self.dual, told["dual"], 6, "down") and Fraction(told["C"]) == self.C
        floor = by_kind["dual floor"].figure("floor")
        same = same and same_number(floor, told["regularized_floor"], 6, "down")
        self.verdicts.enter("JSON", same, (self.text, told))

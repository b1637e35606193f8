"""The judges of what the command line prints: learn, certify, compare, hindsight, drift."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np

from tests.printed.aggregate import Aggregate
from tests.printed.data import Data
from tests.printed.figures import Figure, nearest, rounded_up, same_number
from tests.printed.grammar import Line, parse
from tests.printed.linear import ROOM, Linear, Reading
from tests.printed.members import members
from tests.printed.objective import objective_of
from tests.printed.scores import ScoreData
from tests.printed.spaces import space_of
from tests.printed.verdicts import Verdicts


def _written(shown: Figure, true: Any) -> bool:
    """Tell whether a number of a table is within half of its last place."""
    exact = Fraction(true)
    return abs(shown.value - exact) <= shown.place / 2 + ROOM * (1 + abs(exact))


def _part(data: Data, rounds: int) -> Data:
    assert data.predictions is not None
    return replace(
        data,
        X=data.X[:rounds],
        y=data.y[:rounds],
        weight=None if data.weight is None else data.weight[:rounds],
        predictions=data.predictions[:rounds],
        **({"maps": data.maps[:rounds]} if isinstance(data, ScoreData) else {}),
    )


def _repeated(data: Data) -> float:
    """Return the percentage of the weight whose label is not that of the row before."""
    differ = np.append(True, data.y[1:] != data.y[:-1])
    return 100.0 * float((data.weights * differ).sum() / data.weights.sum())


class Learn(Linear):
    """Judges the whole output of `noregret learn`: its table and its certificate."""

    families = ("linear", "learn")

    def _as_read(self) -> Data:
        heading = next(line for line in self.lines if line.kind == "heading")
        self.objective = heading.words("objective")
        named = objective_of(self.objective)
        data = self.reading.data
        self.verdicts.enter("objective", named.fits(data), (self.objective, data.parameters))
        self.over = None
        return named.of(data)

    def on_title(self, line: Line) -> None:
        self.verdicts.enter("title", bool(line.words("input")), line.raw)

    on_parts = on_target = on_labels = on_columns = on_worse = lambda self, line: None

    def on_floor_over(self, line: Line) -> None:
        if "the size of the weights then" not in line.words("words"):
            self.over = space_of(line.words("words"))

    def on_row(self, line: Line) -> None:
        """A line of the table is about the first rounds: averages to four decimals."""
        rounds = int(line.figure("rounds").value)
        part = _part(self.data, rounds)
        own = Fraction(float(part.own_loss())) / rounds
        near = _written(line.figure("loss"), own)
        self.verdicts.enter("line of the table", near, (line.raw, float(own)))
        share = Fraction(100 * int(part.mistaken().sum()), rounds)
        near = _written(line.figure("mistakes"), share)
        self.verdicts.enter("mistakes in the table", near, line.raw)
        if self.over is None:
            return
        for u in members(self.over, part, self.reading.random):
            floor = line.figure("floor").value * rounds
            self.verdicts.enter("floor in the table", part.holds(u, floor), line.raw)
            claim = Fraction(float(part.own_loss())) - line.figure("regret").value * rounds
            holds = part.holds(u, claim - ROOM * (1 + abs(claim)))
            self.verdicts.enter("regret in the table", holds, line.raw)

    def on_progressive(self, line: Line) -> None:
        data = self.reading.data
        # Progress is measured in the first pass.
        data = _part(data, len(data.y) // data.passes[1])
        wrong = data.mistaken()
        share = 100.0 * float((data.weights * ~wrong).sum() / data.weights.sum())
        near = abs(float(line.figure("accuracy").value) - share) <= 0.0051
        # A prediction of exactly 0 is a mistake, and half an accuracy for some.
        made = np.asarray(data.predictions)
        equal = (made == 0.0) if made.ndim == 1 else (made == made[:, :1]).all(axis=1)
        ties = 100.0 * float((data.weights * equal).sum() / data.weights.sum())
        near = near or abs(float(line.figure("accuracy").value) - share) <= ties + 0.0051
        self.verdicts.enter("accuracy", near, (line.raw, share))

    def on_repeating(self, line: Line) -> None:
        data = self.reading.data
        data = _part(data, len(data.y) // data.passes[1])
        self.repeated = _repeated(data)
        near = abs(float(line.figure("share").value) - self.repeated) <= 0.0051
        self.verdicts.enter("repeating the last label", near, (line.raw, self.repeated))

    def on_saved(self, line: Line) -> None:
        few = line.figure("count").value <= len(self.reading.data.y)
        self.verdicts.enter("sample of the examples", few, line.raw)

    def on_no_fewer(self, line: Line) -> None:
        data = self.reading.data
        data = _part(data, len(data.y) // data.passes[1])
        made = 100.0 * float((data.weights * data.mistaken()).sum() / data.weights.sum())
        self.verdicts.enter("no fewer mistakes", made >= self.repeated - 1e-9, (line.raw, made))

    def on_importance(self, line: Line) -> None:
        own = float(self.data.own_loss()) / float(self.data.weights.sum())
        near = nearest(line.figure("loss"), Fraction(own), 6, ROOM * Fraction(1 + abs(own)))
        self.verdicts.enter("loss by weight", near, (line.raw, own))
        total = sum((Fraction(float(w)) for w in self.data.weights), Fraction(0))
        for u in self.members():
            holds = self.data.holds(u, line.figure("floor").value * total)
            self.verdicts.enter("floor by weight", holds, line.raw)

    def numbers(self, told: dict[str, Any]) -> dict[str, Any]:
        found: dict[str, Any] = told["certificate"]
        return found

    def judge_json(self, told: dict[str, Any]) -> None:
        self.lines.sort(key=lambda line: line.kind != "heading")
        super().judge_json(told)


class LearnGrid(Aggregate, Learn):
    """Judges `noregret learn --rate grid`: a mixture, and its table."""

    families = ("linear", "learn", "aggregate")


def certify(text: str, told: dict[str, Any], reading: Reading) -> Verdicts:
    """Judge the floors that `noregret certify` prints."""
    verdicts, data = Verdicts(), reading.data
    for line in parse(text, "certify"):
        if line.kind == "heading":
            named = objective_of(line.words("objective"))
            verdicts.enter("objective", named.fits(data), line.raw)
            data = named.of(data)
            verdicts.enter("rounds", line.figure("rounds").value == len(data.y), line.raw)
        elif line.kind == "loss":
            own = Fraction(float(data.own_loss()))
            near = nearest(line.figure("loss"), own, 6, ROOM * (1 + abs(own)))
            verdicts.enter("loss", near, (line.raw, float(own)))
            same = same_number(line.figure("loss"), told["certificate"]["loss"])
            verdicts.enter("JSON", same, line.raw)
        elif line.kind == "floor":
            space = space_of(line.words("words"))
            floor = line.figure("floor")
            for u in members(space, data, reading.random):
                verdicts.enter("floor", data.holds(u, floor.value), line.raw)
            for one in told["floors"]:
                if Fraction(one["radius"]) == space.radius:
                    same = same_number(floor, one["floor"], 6, "down")
                    verdicts.enter("JSON", same, line.raw)
    return verdicts


def compare(text: str, told: dict[str, Any], rows: dict[str, Data]) -> Verdicts:
    """Judge the table of `noregret compare`: losses that were suffered, without any penalty."""
    verdicts = Verdicts()
    lines = parse(text, "compare")
    listed = {one["learner"]: one for one in told["learners"]}
    for line in lines:
        if line.kind == "repeating":
            share = _repeated(next(iter(rows.values())))
            near = abs(float(line.figure("share").value) - share) <= 0.0051
            verdicts.enter("repeating the last label", near, (line.raw, share))
        if line.kind != "row":
            continue
        loss = line.words("function")
        data = rows[line.words("learner")].plain()
        if not any(one.kind == "weighted" for one in lines):
            data = data.unweighted()
        named = objective_of(loss)
        verdicts.enter("objective", named.loss == data.loss, (loss, data.loss))
        own = Fraction(float(data.own_loss())) / len(data.y)
        near = _written(line.figure("loss"), own)
        verdicts.enter("loss", near, (line.raw, float(own)))
        point = listed[line.words("learner")]["progress"][-1]
        same = _written(line.figure("loss"), point["average_loss"])
        same = same and line.figure("floor").value <= Fraction(point["average_floor"])
        same = same and line.figure("regret").value >= Fraction(point["average_regret"])
        verdicts.enter("JSON", same, (line.raw, point))
        zero = [Fraction(0)] * data.dimension
        floor = line.figure("floor").value * len(data.y)
        verdicts.enter("floor", data.holds(zero, floor), line.raw)
    return verdicts


def hindsight_rest(text: str, solution_lines: int) -> tuple[str, list[Line]]:
    """Return the solution that `noregret hindsight` prints, and the lines around it."""
    kept, around = [], []
    for raw in text.splitlines():
        if not raw.strip():
            continue
        try:
            parse(raw, "hindsight")
            kept.append(raw)
        except ValueError:
            around += parse(raw, "hindsight command")
    assert len(kept) >= solution_lines, text
    return "\n".join(kept), around


def around_hindsight(around: list[Line], weights: Any, objective: Figure, rounds: int) -> Verdicts:
    """Judge what stands around a solution: counts, the average, the largest weights."""
    verdicts = Verdicts()
    for line in around:
        if line.kind == "input":
            verdicts.enter("rounds", line.figure("rounds").value == rounds, line.raw)
        elif line.kind == "a round":
            # The objective itself is printed with ten digits, rounded up.
            least = (objective.value - objective.unit(10)) / rounds
            near = rounded_up(line.figure("each"), least, 6, objective.unit(10))
            verdicts.enter("a round", near, (line.raw, str(objective)))
        elif line.kind == "feature":
            name = line.words("name")
            place = len(weights) - 1 if name == "intercept" else int(name.split()[1]) - 1
            shown = float(line.words("weight"))
            near = abs(shown - weights[place]) <= 1e-3 * (1e-3 + abs(weights[place]))
            verdicts.enter("weight", near, (line.raw, list(weights)))
    return verdicts

"""The judges of convex games and of learning from experts."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

import numpy as np

from tests.printed.data import Data, Member, Vector, difference, exactly
from tests.printed.figures import at_least, nearest, rounded_down, rounded_up, same_number
from tests.printed.grammar import Line, Unparsed, parse
from tests.printed.linear import ROOM, Linear
from tests.printed.losses import LOSSES, number
from tests.printed.verdicts import Verdicts


@dataclass
class GameData(Data):
    """Rounds f_t(u) = <z_t, u> + (c_t/2) ||u - a_t||^2, and the points that were played."""

    slopes: Vector = field(default_factory=lambda: np.zeros((0, 1)))
    curvatures: Vector = field(default_factory=lambda: np.zeros(0))
    centers: Vector = field(default_factory=lambda: np.zeros((0, 1)))
    played: Vector = field(default_factory=lambda: np.zeros((0, 1)))

    @property
    def dimension(self) -> int:
        return int(self.slopes.shape[1])

    def _round(self, t: int, u: Member) -> Fraction:
        value = sum(
            (Fraction(z) * v for z, v in zip(self.slopes[t].tolist(), u, strict=True)), Fraction(0)
        )
        c = Fraction(float(self.curvatures[t]))
        for a, v in zip(self.centers[t].tolist(), u, strict=True):
            value += c / 2 * (v - Fraction(a)) ** 2
        return value

    def own_loss(self) -> Any:
        points = [exactly(w) for w in self.played]
        return sum((self._round(t, points[t]) for t in range(len(self.y))), Fraction(0))

    def exact(self, u: Member) -> Any:
        return sum((self._round(t, u) for t in range(len(self.y))), Fraction(0))

    def fast(self, u: Vector) -> tuple[Any, Any]:
        value, _ = self.objective(np.asarray(u, np.float64))
        size = np.abs(self.slopes) @ np.abs(u) + np.abs(self.curvatures) * (
            (np.abs(u) + np.abs(self.centers)) ** 2
        ).sum(axis=1)
        return value, abs(value) + 10.0 * float(size.sum()) + 1e-12

    def objective(self, u: Vector) -> tuple[float, Vector]:
        away = u - self.centers
        value = float((self.slopes @ u).sum() + 0.5 * self.curvatures @ (away**2).sum(axis=1))
        return value, self.slopes.sum(axis=0) + self.curvatures @ away


class Game(Linear):
    """Judges the certificate of a convex game."""

    families = ("game",)
    objective = "the game's losses"

    def _as_read(self) -> Data:
        return self.reading.data

    def on_heading(self, line: Line) -> None:
        self.verdicts.enter("rounds", line.figure("rounds").value == len(self.data.y), line.raw)

    def on_meaning(self, line: Line) -> None:
        self.verdicts.enter("L(u)", True, line.raw)

    def on_assumption(self, line: Line) -> None:
        self.verdicts.enter("assumption", "convex" in line.words("words"), line.raw)

    def _size(self) -> Fraction:
        return Fraction(1)


class Estimated(Game):
    """Judges a game on estimated gradients: `cost` is what was paid."""

    families = ("game", "estimated")
    cost: float = 0.0

    def on_estimated_heading(self, line: Line) -> None:
        self.on_heading(line)

    def on_cost(self, line: Line) -> None:
        self._near("cost", line.figure("cost"), Fraction(self.cost), line)

    def on_about(self, line: Line) -> None:
        self.verdicts.enter("about the estimates", True, line.raw)

    def on_unbiased(self, line: Line) -> None:
        self.verdicts.enter("about the expectation", True, line.raw)

    def numbers(self, told: dict[str, Any]) -> dict[str, Any]:
        found: dict[str, Any] = told["on_estimated_losses"]
        return found


@dataclass
class Advice:
    """What a reader of an experts' certificate has: what was paid, and what each expert lost."""

    paid: Any
    #: Exact costs, a row a round.
    costs: list[list[Any]]
    #: Predictions and outcomes, for combinations: (table, y, loss, parameters, weights).
    forecasts: Any = None

    def totals(self) -> list[Any]:
        return [_total(row[i] for row in self.costs) for i in range(len(self.costs[0]))]


def _total(values: Any) -> Any:
    total: Any = Fraction(0)
    for value in values:
        total = difference(total, difference(Fraction(0), value))
    return total


class Experts:
    """Judges a certificate of expert advice."""

    family = "experts"

    def __init__(self, text: str, told: dict[str, Any] | None, advice: Advice, random: Any) -> None:
        self.lines = parse(text, self.family)
        self.told, self.advice, self.random = told, advice, random
        self.verdicts = Verdicts()
        self.totals = advice.totals()
        self.rounds = len(advice.costs)
        self.loss = _total(advice.paid)

    def judge(self) -> Verdicts:
        for line in self.lines:
            getattr(self, "on_" + line.kind.replace(" ", "_"))(line)
        if self.told is not None:
            self._json(self.told)
        return self.verdicts

    def _near(self, kind: str, line: Line, part: str, true: Any) -> None:
        exact = _fraction(true)
        room = ROOM * (abs(exact) + self.rounds)
        self.verdicts.enter(
            kind, nearest(line.figure(part), exact, 6, room), (line.raw, float(exact))
        )

    def on_heading(self, line: Line) -> None:
        same = line.figure("rounds").value == self.rounds
        same = same and line.figure("experts").value == len(self.totals)
        self.verdicts.enter("rounds", same, line.raw)

    def on_loss(self, line: Line) -> None:
        self._near("loss", line, "loss", self.loss)
        self._near("loss a round", line, "each", self.loss / self.rounds)

    def on_best(self, line: Line) -> None:
        """The best expert's loss is printed rounded down, and it is that expert's."""
        least = min(self.totals)
        room = ROOM * (1 + self.rounds)
        # Measured, so that doubles that were summed may be off themselves.
        near = rounded_down(line.figure("loss"), _fraction(least) + room, 6, 2 * room)
        self.verdicts.enter("best expert", near, (line.raw, float(least)))
        named = int(line.figure("expert").value) - FIRST_EXPERT
        near = 0 <= named < len(self.totals)
        near = near and float(self.totals[named]) <= float(least) + 1e-9 * (1 + self.rounds)
        self.verdicts.enter("which expert", near, (line.raw, [float(v) for v in self.totals]))

    def on_regret(self, line: Line) -> None:
        regret = difference(self.loss, min(self.totals))
        shown = line.figure("regret")
        above = at_least(shown, _fraction(regret))
        if line.words("how") == "measured":
            # Rounding of the sums is less than half a unit then, and added.
            above = above and rounded_up(shown, _fraction(regret), 6, shown.unit(6) / 2)
        self.verdicts.enter("regret", above, (line.raw, float(regret)))

    def on_mix(self, line: Line) -> None:
        room = ROOM * (1 + self.rounds) + line.figure("loss").unit(6) / 2
        below = line.figure("loss").value <= _fraction(self.loss) + room
        self.verdicts.enter("mix loss", below, (line.raw, float(self.loss)))

    def on_bound(self, line: Line) -> None:
        factor = line.figure("factor").value if line.has("factor") else Fraction(1)
        for total in self.totals:
            excess = _fraction(self.loss) - factor * _fraction(total)
            holds = at_least(line.figure("value"), excess)
            self.verdicts.enter("theorem", holds, (line.raw, float(excess)))
        if self.advice.forecasts is not None:
            self._against_combinations(line, "value")

    def on_combinations(self, line: Line) -> None:
        self._against_combinations(line, "regret")

    def _against_combinations(self, line: Line, part: str) -> None:
        table, y, loss, parameters, weight = self.advice.forecasts
        for _ in range(4):
            u = self.random.dirichlet(np.full(table.shape[1], 0.5))
            u = np.array([Fraction(float(v)) for v in u], object)
            u = u / u.sum()
            total = Fraction(0)
            for row, outcome, w in zip(table, y, weight, strict=True):
                p = sum((Fraction(float(v)) * c for v, c in zip(row, u, strict=True)), Fraction(0))
                value = LOSSES[loss].exact(Fraction(float(outcome)), p, parameters)
                total += Fraction(float(w)) * _fraction(value)
            excess = _fraction(self.loss) - total
            holds = at_least(line.figure(part), excess)
            self.verdicts.enter("combinations", holds, (line.raw, float(excess)))

    def on_not_applicable(self, line: Line) -> None:
        self.verdicts.enter("reason", bool(line.words("reason")), line.raw)

    def _json(self, told: dict[str, Any]) -> None:
        kinds = {line.kind: line for line in self.lines}
        pairs = [("heading", "rounds", "rounds", "nearest"), ("loss", "loss", "loss", "nearest")]
        pairs += [("best", "loss", "best_loss", "down"), ("regret", "regret", "regret", "up")]
        for kind, part, key, way in pairs:
            same = same_number(kinds[kind].figure(part), told[key], 6, way)
            self.verdicts.enter("JSON", same, (kinds[kind].raw, told[key]))


#: The number of the first expert in a text.
FIRST_EXPERT = 0


def _fraction(value: Any) -> Fraction:
    return value if isinstance(value, Fraction) else Fraction(str(number(value)))


class Sleeping(Experts):
    """Judges specialists: costs of sleeping experts are None."""

    family = "sleeping"

    def __init__(self, text: str, advice: Advice, random: Any, eta: float) -> None:
        self.lines = parse(text, self.family)
        self.told, self.advice, self.random, self.eta = None, advice, random, eta
        self.verdicts = Verdicts()
        self.rounds = len(advice.costs)
        self.loss = _total(advice.paid)
        count = len(advice.costs[0])
        self.totals = [Fraction(0)] * count
        self.awake = [sum(row[i] is not None for row in advice.costs) for i in range(count)]
        self.regrets = [
            sum(
                (
                    p - row[i]
                    for p, row in zip(advice.paid, advice.costs, strict=True)
                    if row[i] is not None
                ),
                Fraction(0),
            )
            for i in range(count)
        ]

    def on_largest(self, line: Line) -> None:
        largest = max(self.regrets)
        near = nearest(line.figure("regret"), largest, 6, ROOM * (1 + self.rounds))
        self.verdicts.enter("regret", near, (line.raw, float(largest)))
        self.named = int(line.figure("expert").value) - FIRST_EXPERT
        same = line.figure("awake").value == self.awake[self.named]
        near = abs(self.regrets[self.named] - largest) <= ROOM * (1 + self.rounds)
        self.verdicts.enter("which expert", same and near, line.raw)

    def on_after(self, line: Line) -> None:
        holds = at_least(line.figure("value"), self.regrets[self.named])
        self.verdicts.enter("theorem", holds, line.raw)

    def on_advance(self, line: Line) -> None:
        holds = at_least(line.figure("value"), self.regrets[self.named])
        formula = math.log(len(self.regrets)) / self.eta + self.eta * self.awake[self.named] / 8.0
        holds = holds and at_least(line.figure("value"), Fraction(formula), ROOM)
        self.verdicts.enter("theorem", holds, (line.raw, formula))


def surrogate(text: str, votes: Any, labels: Any, answers: Any) -> Verdicts:
    """Judge the surrogate classifier: votes of the hypotheses, labels, and its answers."""
    verdicts = Verdicts()
    lines = parse(text, "surrogate")
    wrong = [t for t in range(len(labels)) if answers[t] != labels[t]]
    totals = [
        sum(2 * abs(int(votes[t][i]) - int(labels[t])) for t in wrong) for i in range(len(votes[0]))
    ]
    for line in lines:
        if line.kind == "heading":
            verdicts.enter("rounds", line.figure("rounds").value == len(labels), line.raw)
        elif line.kind == "mistakes":
            verdicts.enter("mistakes", line.figure("count").value == len(wrong), line.raw)
        elif line.kind == "best":
            verdicts.enter("surrogate", line.figure("loss").value == min(totals), line.raw)
        elif line.kind == "bound":
            factor = line.figure("factor").value if line.has("factor") else Fraction(1)
            for total in totals:
                holds = at_least(line.figure("value"), len(wrong) - factor * total)
                verdicts.enter("theorem", holds, (line.raw, total))
        elif line.kind == "not applicable":
            verdicts.enter("reason", True, line.raw)
        else:
            raise Unparsed(line.raw)
    return verdicts

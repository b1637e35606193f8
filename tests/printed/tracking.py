"""The judges of moving predictors: shifting bounds, kernels, proofs of drift."""

from __future__ import annotations

import itertools
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np

from tests.printed.data import Data, Vector, exactly
from tests.printed.figures import Figure, at_least, at_most, nearest, rounded_up, same_number
from tests.printed.grammar import Line, Unparsed, parse
from tests.printed.linear import ROOM, Reading
from tests.printed.losses import LOSSES, number
from tests.printed.members import members
from tests.printed.objective import objective_of
from tests.printed.spaces import Space
from tests.printed.verdicts import Verdicts

#: The kernel of the cases, exp(-||a - b||^2).
GAUSSIAN = "Gaussian(gamma=1.0)"


def _exact(value: Any) -> Fraction:
    return value if isinstance(value, Fraction) else Fraction(str(number(value)))


def shifting(
    text: str, told: dict[str, Any], data: Data, schedule: list[tuple[int, Any]]
) -> Verdicts:
    """Judge what is said about a run and one schedule of predictors."""
    verdicts = Verdicts()
    lines = parse(text, "shifting")
    own = _exact(data.own_loss())
    theirs = Fraction(0)
    for k, (start, u) in enumerate(schedule):
        stop = schedule[k + 1][0] if k + 1 < len(schedule) else len(data.y)
        part = replace(
            data, X=data.X[start:stop], y=data.y[start:stop], predictions=None, weight=None
        )
        theirs += _exact(part.exact(exactly(u)))
    bounds = 0
    for line in lines:
        if line.kind == "heading":
            same = line.figure("rounds").value == len(data.y)
            same = same and line.figure("shifts").value == len(schedule) - 1
            verdicts.enter("rounds", same, line.raw)
            verdicts.enter("size", _size_holds(line, schedule), line.raw)
        elif line.kind == "loss":
            near = rounded_up(line.figure("loss"), own, 6, ROOM)
            verdicts.enter("loss", near, (line.raw, float(own)))
        elif line.kind == "schedule":
            figure = line.figure("loss")
            near = rounded_up(figure, theirs, 6, ROOM)
            verdicts.enter("loss of the schedule", near, (line.raw, float(theirs)))
        elif line.kind == "regret":
            holds = at_least(line.figure("regret"), own - theirs)
            verdicts.enter("regret", holds, (line.raw, float(own - theirs)))
        elif line.kind == "bound":
            factor = line.figure("factor").value if line.has("factor") else Fraction(1)
            holds = at_least(line.figure("value"), own - factor * theirs)
            verdicts.enter("theorem", holds, (line.raw, float(own - factor * theirs)))
            verdicts.enter("in all", at_least(line.figure("total"), own), line.raw)
            same = same_number(line.figure("value"), told["bounds"][bounds]["value"], 6, "up")
            verdicts.enter("JSON", same, (line.raw, told["bounds"][bounds]))
            bounds += 1
        elif line.kind == "not applicable":
            verdicts.enter("reason", "contradicts" not in line.words("reason"), line.raw)
            bounds += 1
        elif line.kind == "alpha":
            verdicts.enter("alpha", 0 <= line.figure("alpha").value <= 1, line.raw)
        else:
            raise Unparsed(line.raw)
    return verdicts


def _size_holds(line: Line, schedule: list[tuple[int, Any]]) -> bool:
    """Tell whether the total size is that of the shifts, rounded up."""
    norm = float(line.words("norm"))
    points = [np.asarray(u, np.float64) for _, u in schedule]
    size = sum(float(np.linalg.norm(b - a, norm)) for a, b in itertools.pairwise(points))
    return rounded_up(line.figure("size"), Fraction(size) * (1 - ROOM), 6, 2 * ROOM)


def kernel(text: str, reading: Reading, gram: Vector) -> Verdicts:
    """Judge kernel descent: comparators are combinations of the points seen, of bounded norm."""
    verdicts = Verdicts()
    data, rounds = reading.data, len(reading.data.y)
    floor, own = Figure("0"), _exact(data.own_loss())
    theirs: list[Fraction] = []
    room = ROOM * (1 + abs(own))
    for line in parse(text, "kernel"):
        if line.kind == "heading":
            verdicts.enter("rounds", line.figure("rounds").value == rounds, line.raw)
            objective = line.words("objective")
            verdicts.enter("objective", objective_of(objective).fits(data), line.raw)
        elif line.kind == "space":
            verdicts.enter("kernel", line.words("kernel") == GAUSSIAN, line.raw)
        elif line.kind == "loss":
            near = nearest(line.figure("loss"), own, 6, room)
            verdicts.enter("loss", near, (line.raw, float(own)))
        elif line.kind == "floor":
            floor = line.figure("floor")
        elif line.kind == "class":
            verdicts.enter("kernel", line.words("kernel") == GAUSSIAN, line.raw)
            verdicts.enter("objective", line.words("objective") == objective, line.raw)
            for c in _combinations(reading, gram, float(line.figure("radius").value)):
                theirs.append(_exact(replace(data, predictions=gram @ c).own_loss()))
            for value in theirs:
                verdicts.enter("floor", at_most(floor, value, room), (line.raw, float(value)))
        elif line.kind in ("regret", "bound"):
            factor = line.figure("factor").value if line.parts.get("factor") else Fraction(1)
            shown = line.figure("regret" if line.kind == "regret" else "value")
            for value in theirs:
                holds = at_least(shown, own - factor * value, room)
                verdicts.enter(line.kind, holds, (line.raw, float(value)))
        elif line.kind == "meaning":
            verdicts.enter("L(u)", line.words("objective") == objective, line.raw)
        elif line.kind == "budget":
            verdicts.enter("budget", line.figure("cost").value >= 0, line.raw)
        elif line.kind != "not applicable":
            raise Unparsed(line.raw)
    verdicts.enter("a class is named", bool(theirs), text)
    return verdicts


def _combinations(reading: Reading, gram: Vector, radius: float) -> list[Vector]:
    """Return coefficients of members of the ball, the best found by steps down among them."""
    data, n = reading.data, len(gram)
    rule = LOSSES[data.loss]

    def inside(c: Vector) -> Vector:
        length = float(np.sqrt(max(c @ gram @ c, 0.0)))
        return c if length <= radius * (1 - 1e-9) else c * (radius * (1 - 1e-9) / length)

    found = [np.zeros(n), inside(reading.random.normal(size=n))]
    c, best, least = np.zeros(n), np.zeros(n), np.inf
    for k in range(150):
        p = gram @ c
        value = float(np.sum(rule.value(data.y, p, data.parameters)))
        if value < least:
            best, least = c, value
        slope = rule.slope(data.y, p, data.parameters)
        length = float(np.sqrt(max(slope @ gram @ slope, 1e-300)))
        c = inside(c - radius / (1.0 + 0.3 * k) / length * slope)
    return [*found, best]


def drift(text: str, told: dict[str, Any], reading: Reading) -> Verdicts:
    """Judge a proof of drift: its floor under all fixed predictors of a ball, and its order."""
    verdicts = Verdicts()
    data = reading.data
    lines = {line.kind: line for line in parse(text, "drift")}
    fixed, tracker = lines["fixed"], lines["tracker"]
    if fixed.has("objective"):
        named = objective_of(fixed.words("objective"))
        verdicts.enter("objective", named.fits(data), fixed.raw)
        data = named.of(data)
    else:
        data = data.unweighted()
    floor, loss = fixed.figure("floor"), tracker.figure("loss")
    verdicts.enter("rounds", fixed.figure("rounds").value == len(data.y), fixed.raw)
    space = Space("ball", Fraction(float(fixed.words("radius"))))
    for u in members(space, data, reading.random):
        verdicts.enter("floor", data.holds(u, floor.value), (fixed.raw, [float(v) for v in u]))
    proved = "proved" in lines
    verdicts.enter("order", proved == (loss.value < floor.value), text)
    if proved:
        verdicts.enter("order", tracker.figure("floor").value == floor.value, text)
    rounds = len(data.y)
    each = at_most(tracker.figure("each"), Fraction(told["static_bound"]) / rounds)
    verdicts.enter("floor a round", each, tracker.raw)
    each = at_least(lines["each"].figure("each"), Fraction(told["tracker_loss"]) / rounds)
    verdicts.enter("loss a round", each, lines["each"].raw)
    # The tracker is inside the ball: no schedule of members loses less than the sum of minima.
    least = sum(_least(data, t, space) for t in range(rounds))
    verdicts.enter("tracker", loss.value >= Fraction(least) * (1 - ROOM) - ROOM, (text, least))
    same = same_number(floor, told["static_bound"], _digits(floor), "down")
    same = same and same_number(loss, told["tracker_loss"], _digits(loss), "up")
    same = same and told["proved"] == proved
    verdicts.enter("JSON", same, (text, told))
    if "window" in lines:
        _window(lines["window"], data, space, reading, verdicts)
    return verdicts


def _window(line: Line, data: Data, space: Space, reading: Reading, verdicts: Verdicts) -> None:
    """The best window has its own floor a round under every fixed predictor."""
    first, last = int(line.figure("first").value), int(line.figure("last").value)
    part = replace(
        data,
        X=data.X[first - 1 : last],
        y=data.y[first - 1 : last],
        weight=None if data.weight is None else data.weight[first - 1 : last],
    )
    floor = line.figure("floor").value * (last - first + 1)
    for u in members(space, part, reading.random):
        verdicts.enter("window", part.holds(u, floor), (line.raw, [float(v) for v in u]))
    verdicts.enter("window order", line.figure("loss").value < line.figure("floor").value, line.raw)


def _least(data: Data, t: int, space: Space) -> float:
    """Return the least loss of one round over the ball: its prediction is any within reach."""
    x, y = data.X[t], float(data.y[t])
    reach = float(space.radius) * float(np.linalg.norm(x))
    best = np.clip(y if not data.rule.signs else np.sign(y) * 1e9, -reach, reach)
    value = data.rule.value(np.array([y]), np.array([float(best)]), data.parameters)[0]
    return float(data.weights[t]) * float(value)


def _digits(figure: Figure) -> int:
    return max(6, len(figure.text.split("e")[0].replace(".", "").lstrip("0")))

"""The judge of predictors for new rows: their risk over a population that the reader knows."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np

from tests.printed.bandits import _tail
from tests.printed.data import Data
from tests.printed.figures import nearest
from tests.printed.grammar import Line, Unparsed, parse
from tests.printed.linear import ROOM
from tests.printed.members import members
from tests.printed.spaces import space_of
from tests.printed.verdicts import Verdicts

#: A text, the rows and predictions of its run, and the weights that were returned.
Drawn = tuple[str, Data, Any]


def risk(drawn: Drawn, population: Data, again: Callable[[int], Drawn] | None) -> Verdicts:
    """Judge one text; `again` draws other samples of the population, for means and failures."""
    verdicts = Verdicts()
    text, data, _ = drawn
    for line in parse(text, "risk"):
        if line.kind == "heading":
            verdicts.enter("rounds", line.figure("rounds").value == len(data.y), line.raw)
        elif line.kind == "loss":
            own = Fraction(data.own_loss()) / len(data.y)
            near = nearest(line.figure("loss"), own, 6, ROOM * (1 + own))
            verdicts.enter("average loss", near, (line.raw, float(own)))
        elif line.kind == "mean":
            drawn_one = line.words("who") == "drawn"
            holds = (line.words("sign") == "=") == drawn_one == line.has("draw")
            verdicts.enter("in expectation, named", holds, line.raw)
        elif line.kind == "likely":
            verdicts.enter("level", 0 < line.figure("delta").value < 1, line.raw)
        elif line.kind not in ("against", "not applicable", "assumption"):
            raise Unparsed(line.raw)
    kinds = {line.kind for line in parse(text, "risk")}
    verdicts.enter("assumption", "assumption" in kinds, text)
    if again is not None:
        _repeat(verdicts, population, [again(seed) for seed in range(40)])
    return verdicts


def _repeat(verdicts: Verdicts, population: Data, runs: list[Drawn]) -> None:
    size = len(population.y)
    above, excess, failures, delta = [], [], 0, 0.0
    for text, data, weights in runs:
        own = population.objective(np.asarray(weights))[0] / size
        lines = {line.kind: line for line in parse(text, "risk")}
        online = float(data.own_loss()) / len(data.y)
        above.append(own - online)
        if "against" in lines:
            excess.append(own - _least(lines["against"], population) / size)
            excess[-1] -= float(lines["against"].figure("value").value)
        if "likely" in lines and "average" in lines["likely"].words("who"):
            delta = float(lines["likely"].figure("delta").value)
            failures += own > float(lines["likely"].figure("value").value)
    drawn = "one drawn" in runs[0][0]
    mean, error = float(np.mean(above)), float(np.std(above)) / math.sqrt(len(above))
    holds = (abs(mean) if drawn else mean) <= 5.0 * error + 1e-9
    verdicts.enter("in expectation", holds, (mean, error))
    if excess:
        mean, error = float(np.mean(excess)), float(np.std(excess)) / math.sqrt(len(excess))
        verdicts.enter("against a fixed u", mean <= 5.0 * error + 1e-9, (mean, error))
    if delta:
        holds = _tail(failures, len(runs), delta) > 1e-6
        verdicts.enter("with probability", holds, (failures, len(runs), delta))


def _least(line: Line, population: Data) -> float:
    """Return the least risk of the class that is found, times the population."""
    found = members(space_of(line.words("words")), population, np.random.default_rng(0))
    return min(population.objective(np.array([float(v) for v in u]))[0] for u in found)

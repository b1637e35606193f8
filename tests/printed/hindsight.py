"""The judge of the best in hindsight: objective, dual value, gap, and the path of strengths."""

from __future__ import annotations

import re
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np

from tests.printed.data import Data, Penalty, compare, exactly, half_square
from tests.printed.figures import at_least, nearest, rounded_down, rounded_up
from tests.printed.grammar import Line, Unparsed, parse
from tests.printed.linear import ROOM, Reading
from tests.printed.members import members
from tests.printed.objective import LOSS, WEIGHED, Objective, components, weights_of
from tests.printed.regularizers import EVERYTHING, regularizer_of
from tests.printed.scores import ScoreData
from tests.printed.spaces import NUMBER as N
from tests.printed.spaces import Space
from tests.printed.verdicts import Verdicts

_PROBLEM = re.compile(
    rf"sum of {WEIGHED}"
    rf"(?: over \|\|w\|\|_2 <= (?P<radius>{N})| \+ (?P<strength>{N}) x (?P<mirror>{LOSS}))"
    r"(?P<bias>, bias free)?(?P<rest>, one class against the rest)?"
    r"(?P<limited> subject to A w <= limits)?"
)


class Hindsight:
    """Judges one printed solution; `weights` and `bias` are the predictor that was returned."""

    #: A and r of the constraints A w <= r, where there are any.
    limits: tuple[Any, Any] | None = None

    def __init__(
        self, text: str, reading: Reading, weights: Any, bias: float = 0.0, told: Any = None
    ) -> None:
        self.lines = parse(text, "hindsight")
        self.reading, self.weights, self.bias, self.told = reading, weights, bias, told
        self.verdicts = Verdicts()

    def judge(self) -> Verdicts:
        for line in self.lines:
            getattr(self, "on_" + line.kind.replace(" ", "_"))(line)
        if self.told is not None:
            self._json(self.told)
        return self.verdicts

    def on_heading(self, line: Line) -> None:
        found = _PROBLEM.fullmatch(line.words("objective"))
        if not found:
            raise Unparsed(f"unknown objective: {line.raw!r}")
        data = self.reading.data
        loss, parameters, inner = components(found["loss"])
        if found["rest"]:
            # The words name the loss of one class.
            loss, inner = "OneAgainstRest", loss
        weights = weights_of(found)
        named = Objective(loss, parameters, inner, 0.0, (1, 1), weights, bool(found["offset"]))
        same = named.fits(data) and named.offset == (data.offset is not None)
        self.verdicts.enter("objective named", same, (line.raw, data.loss, data.parameters))
        limited = bool(found["limited"]) == (self.limits is not None)
        self.verdicts.enter("constraints named", limited, line.raw)
        data = named.of(data)
        self.space, penalty = EVERYTHING, None
        if found["radius"]:
            radius = Fraction(float(found["radius"]))
            self.space = Space("ball", radius)
        else:
            mirror, chosen, _ = components(found["mirror"])
            strength = float(found["strength"])
            d = data.dimension
            if mirror == "Euclidean":
                penalty = half_square(strength)
            else:
                regularizer = regularizer_of(mirror, chosen, d, strength)
                self.space, penalty = regularizer.space, regularizer.penalty
        self.per_column = bool(found["rest"]) and self.space.shape == "ball"
        self.data = replace(data, penalty=penalty)
        if found["bias"]:
            # One more coordinate that no regulariser sees.
            self.data = _with_bias(self.data)
        self.biased = bool(found["bias"])
        self.verdicts.enter("passes", line.figure("passes").value >= 0, line.raw)
        self.converged = line.words("state") == "converged"

    def on_objective(self, line: Line) -> None:
        """The printed objective is not below that of the predictor returned, and near it."""
        self.objective = line.figure("objective")
        u = np.asarray(self.weights, np.float64).ravel()
        if self.biased:
            u = np.append(u, self.bias)
        own = self.data.exact(exactly(u))
        shown = self.objective.value
        self.verdicts.enter("objective", compare(shown, own), (line.raw, float(own)))
        close = abs(float(shown) - float(own)) <= 2e-9 * (1.0 + abs(float(own)))
        self.verdicts.enter("objective is near", close, (line.raw, float(own)))

    def on_dual(self, line: Line) -> None:
        self.dual = line.figure("dual")
        self.verdicts.enter("order", self.dual.value <= self.objective.value, line.raw)
        tried = [np.asarray(self.weights, np.float64).ravel()]
        if self.biased:
            tried = [np.append(tried[0], self.bias)]
        if not self.dual.infinite:
            for u in members(self.space, self.data, self.reading.random, tried):
                if self.per_column and not _columns_hold(u, self.data, self.space.radius):
                    continue
                u = self._feasible(u)
                holds = self.data.holds(u, self.dual.value)
                self.verdicts.enter("dual", holds, (line.raw, [float(v) for v in u]))

    def _feasible(self, u: Any) -> Any:
        """Return u shrunk until it meets every constraint; 0 meets them all."""
        if self.limits is None:
            return u
        share = Fraction(1)
        for row, limit in zip(*self.limits, strict=True):
            product = _product(row, u)
            if product > Fraction(float(limit)):
                share = min(share, Fraction(float(limit)) / product)
        return [share * v for v in u]

    def on_constraints(self, line: Line) -> None:
        """All constraints hold exactly, or are violated by no more than is printed."""
        assert self.limits is not None
        A, limits = self.limits
        own = exactly(self.weights)
        worst = max(
            _product(row, own) - Fraction(float(r)) for row, r in zip(A, limits, strict=True)
        )
        allowed = line.figure("violation").value if line.has("violation") else Fraction(0)
        self.verdicts.enter("constraints", worst <= allowed, (line.raw, float(worst)))
        same = line.figure("count").value == len(limits)
        same = same and 0 <= line.figure("pull").value <= len(limits)
        self.verdicts.enter("count of constraints", same, line.raw)

    on_feasible_dual = on_dual

    def on_gap(self, line: Line) -> None:
        gap = line.figure("gap")
        between = self.objective.value - self.dual.value
        room = self.objective.unit(10) + self.dual.unit(10)
        self.verdicts.enter("gap", at_least(gap, between, room), (line.raw, float(between)))

    def on_bias(self, line: Line) -> None:
        self.verdicts.enter("bias", nearest(line.figure("bias"), Fraction(self.bias)), line.raw)

    def on_norm(self, line: Line) -> None:
        norm = Fraction(float(np.linalg.norm(np.asarray(self.weights))))
        holds = nearest(line.figure("norm"), norm, 6, ROOM)
        self.verdicts.enter("norm", holds, (line.raw, float(norm)))

    def _json(self, told: dict[str, Any]) -> None:
        same = rounded_up(self.objective, Fraction(told["primal"]), 10)
        same = same and rounded_down(self.dual, Fraction(told["dual"]), 10)
        same = same and told["converged"] == self.converged
        (gap,) = (line.figure("gap") for line in self.lines if line.kind == "gap")
        same = same and at_least(gap, Fraction(told["primal"]) - Fraction(told["dual"]))
        self.verdicts.enter("JSON", same, (str(self.objective), told))


def _product(row: Any, u: Any) -> Fraction:
    return sum((Fraction(float(a)) * v for a, v in zip(row, u, strict=True)), Fraction(0))


def _with_bias(data: Data) -> Data:
    """Return the data with a constant column whose weight no penalty sees."""
    X = np.column_stack([data.X, np.ones(len(data.X))])
    given = data.penalty
    if given is None:
        return replace(data, X=X)
    inner: Penalty = given
    return replace(
        data,
        X=X,
        penalty=Penalty(
            lambda u: inner.exact(u[:-1]),
            lambda u: inner.value(u[:-1]),
            lambda u: np.append(inner.slope(u[:-1]), 0.0),
        ),
    )


def _columns_hold(u: Any, data: Data, radius: Fraction) -> bool:
    """Tell whether every column of the matrix has a norm of at most the radius."""
    assert isinstance(data, ScoreData)
    outputs = data.maps[0].shape[0]
    return all(
        sum((v * v for v in u[k::outputs]), Fraction(0)) <= radius**2 for k in range(outputs)
    )

"""What a text says that is summed: the loss, its weights, a penalty, passes."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np

from tests.printed.data import Data, half_square
from tests.printed.losses import Parameters
from tests.printed.spaces import NUMBER as N
from tests.printed.spaces import Unparsed

LOSS = r"\w+(?:\((?:[^()]|\([^()]*\))*\))?"
WEIGHED = (
    rf"(?:(?P<each>{N}) x |(?P<varied>weight x ))?(?P<loss>{LOSS})"
    rf"(?: \(weights (?P<least>{N}) to (?P<most>{N})\))?(?P<offset> at <w, x> \+ offset)?"
)
_OBJECTIVE = re.compile(
    rf"{WEIGHED}(?: \+ \((?P<sigma>{N})/2\)\|\|[uU]\|\|_2\^2 a round)?"
    r"(?:, over (?:(?P<fewest>[\d,]+) to )?(?P<passes>[\d,]+) passes)?"
)
_PART = re.compile(r"(\w+)(?:\((.*)\))?")
#: Parameters that a user need not choose.
DEFAULTS: dict[str, Parameters] = {
    "Hinge": {"margin": 1.0},
    "SquaredHinge": {"margin": 1.0},
    "PowerHinge": {"r": 3.0, "margin": 1.0},
    "OneSidedHuber": {"margin": 1.0},
    "Huber": {"delta": 1.0},
    "Quantile": {"level": 0.5},
    "EpsilonInsensitive": {"epsilon": 0.1},
    "SquaredEpsilonInsensitive": {"epsilon": 0.1},
    "MulticlassHinge": {"margin": 1.0},
    "PairwiseHinge": {"margin": 1.0},
    "Shifted": {"depth": 1e6},
}


@dataclass(frozen=True)
class Objective:
    """One objective as it is worded."""

    loss: str
    parameters: Parameters
    inner: str
    sigma: float
    #: How often an example was learnt, at least and at most.
    passes: tuple[int, int]
    #: Smallest and largest weight, (1, 1) if no weight is named.
    weights: tuple[float, float]
    offset: bool

    def of(self, data: Data) -> Data:
        """Return the reader's data under this objective."""
        if self.weights == (1.0, 1.0):
            data = data.unweighted()
        if self.sigma == 0.0:
            return data.plain()
        return replace(data, penalty=half_square(self.sigma * len(data.y)))

    def fits(self, data: Data) -> bool:
        """Tell whether the loss named is the reader's, with his parameters and weights."""
        inner = getattr(data, "inner", "")
        same = self.loss == data.loss and (not inner or self.inner == inner)
        name = inner or self.loss
        told = DEFAULTS.get(name, {}) | self.parameters
        same = same and told == data.parameters and self.passes == data.passes
        if self.weights != (1.0, 1.0) and data.weight is not None:
            # An example of weight 0 is not learnt, and need not be counted.
            used = data.weight[data.weight > 0.0]
            ranges = [(float(np.min(w)), float(np.max(w))) for w in (data.weight, used) if len(w)]
            same = same and any(_around(self.weights, limits) for limits in ranges)
        return same


def _around(told: tuple[float, float], true: tuple[float, float]) -> bool:
    """Tell whether limits are printed with six digits, rounded outwards."""
    return all(abs(a - b) <= 1e-5 * b for a, b in zip(told, true, strict=True)) and (
        told[0] <= true[0] and true[1] <= told[1]
    )


def components(words: str) -> tuple[str, Parameters, str]:
    """Return a component, its parameters and the component inside it."""
    found = _PART.fullmatch(words)
    if not found:
        raise Unparsed(f"no component: {words!r}")
    parameters: Parameters = {}
    inner = ""
    for part in re.findall(r"[^,()]+(?:\([^()]*\))?", found.group(2) or ""):
        if "=" in part.split("(")[0]:
            name, value = part.strip().split("=")
            if value != "None":
                parameters[name] = float(value)
        else:
            inner, nested, _ = components(part.strip())
            parameters |= nested
    return found.group(1), parameters, inner


def weights_of(found: Any) -> tuple[float, float]:
    """Return the weights that a match of WEIGHED names."""
    if found["varied"]:
        return float(found["least"]), float(found["most"])
    return (float(found["each"]),) * 2 if found["each"] else (1.0, 1.0)


def _count(words: str | None) -> int:
    return int((words or "1").replace(",", ""))


def objective_of(words: str) -> Objective:
    """Return the objective that these words name."""
    found = _OBJECTIVE.fullmatch(words.strip())
    if not found or bool(found["varied"]) != bool(found["least"]):
        raise Unparsed(f"unknown objective: {words!r}")
    loss, parameters, inner = components(found["loss"])
    return Objective(
        loss,
        parameters,
        inner,
        float(Fraction(found["sigma"] or 0)),
        (_count(found["fewest"] or found["passes"]), _count(found["passes"])),
        weights_of(found),
        bool(found["offset"]),
    )

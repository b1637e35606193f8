"""The batch problems of the paper on dual formulations, in its signs and in its mean form.

The paper minimises P = (1/n) sum_i f_i(<w, x_i>) + lambda g(w) and writes zeta_i = -f_i' for rows
multiplied by their labels. Ours is n P, so that b = lambda n and c_i s_i = -zeta_i (times y_i for
classification). Half squares are weights of 1/2 on `Squared`. Our regularisers have minimum 0.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from types import FunctionType
from typing import Any

import numpy as np
import pytest

from noregret import losses, mirrors
from noregret.batch.mapped import MapAscent, MappedSolver
from noregret.batch.problem import Problem, Solution, evaluate
from noregret.losses import Loss
from noregret.passes.dual import dual_maps
from tests.oracles.data import S_A, X_A, Y_A

#: As good as exact: what one-variable maximisation leaves is below rounding.
EXACT = 1e-13
LAMBDA = 0.1


@dataclass(frozen=True)
class Form:
    """A loss of the paper: ours, its targets, and the weight that makes them equal."""

    loss: Loss
    y: np.ndarray
    weight: float = 1.0


FORMS = {
    "hinge": Form(losses.Hinge(), S_A),
    "sqhinge": Form(losses.SquaredHinge(), S_A),
    "modhuber": Form(losses.OneSidedHuber(), S_A),
    "logistic": Form(losses.Logistic(), S_A),
    "phinge": Form(losses.PowerHinge(3.0), S_A),
    "exp": Form(losses.Exponential(), S_A),
    "square": Form(losses.Squared(), Y_A, 0.5),
    "square2": Form(losses.Squared(), Y_A),
    "abs": Form(losses.Absolute(), Y_A),
    "epsins": Form(losses.EpsilonInsensitive(0.1), Y_A),
    "huber": Form(losses.Huber(0.5), Y_A),
}


@dataclass(frozen=True)
class Map:
    """A regulariser g of the paper: g(w) = factor F(w) - shift."""

    mirror: mirrors.Mirror
    factor: float = 1.0
    shift: float = 0.0


MAPS = {
    "square": Map(mirrors.Euclidean()),
    "squared norm": Map(mirrors.PNorm(3.0)),
    "power": Map(mirrors.Power(1.5)),
    "normalised entropy": Map(mirrors.Entropy()),
    "unnormalised entropy": Map(mirrors.UnnormalizedEntropy(1.0), shift=3.0),
    "two-sided entropy": Map(mirrors.Hypentropy(1.0), shift=6.0),
    "soft 1-norm": Map(mirrors.ElasticNet(1.0), factor=0.5),
}


def problem(
    form: Form, regularizer: Map, X: Any = X_A, strength: float = LAMBDA, offset: Any = None
) -> Problem:
    """Return n times the paper's objective."""
    count = len(form.y)
    return Problem.of(
        X,
        form.y,
        form.loss,
        regularizer.mirror,
        strength=strength * count * regularizer.factor,
        weight=np.full(count, form.weight),
        offset=offset,
    )


def zeta(posed: Problem, slopes: np.ndarray) -> np.ndarray:
    """Return the paper's dual variables."""
    sign = posed.y if posed.loss.labels == "sign" else 1.0
    return -posed.weight * slopes * sign


def sweeps(posed: Problem, count: int = 1) -> tuple[MapAscent, list[tuple[float, float]]]:
    """Visit the rows in order with exact steps; return the state, and Q and gap after each."""
    ascent = MapAscent(posed, posed.initial_slopes())
    seen = []
    for _ in range(count):
        ascent.visit(np.arange(len(posed.y)), EXACT)
        _, primal, dual = evaluate(posed, ascent.slopes)
        seen.append((-dual / len(posed.y), (primal - dual) / len(posed.y)))
    return ascent, seen


def solved(posed: Problem, tol: float = 1e-12, max_passes: int = 3000) -> Solution:
    """Solve as far as rounding lets it."""
    return MappedSolver(posed, tol, max_passes).run()


def settled(posed: Problem, passes: int = 200) -> tuple[np.ndarray, np.ndarray, float]:
    """Return weights, dual variables and min P after many exact sweeps."""
    ascent, seen = sweeps(posed, passes)
    assert seen[-1][1] <= 1e-9
    return evaluate(posed, ascent.slopes)[0], zeta(posed, ascent.slopes), -seen[-1][0]


def plain(kernel: Any) -> Any:
    """Return a kernel as Python, and so every kernel that it calls."""
    function = kernel.py_func
    scope = dict(function.__globals__)
    for name in function.__code__.co_names:
        if hasattr(scope.get(name), "py_func"):
            scope[name] = plain(scope[name])
    return FunctionType(function.__code__, scope, function.__name__)


@contextmanager
def interpreted() -> Iterator[None]:
    """Run the dual pass as Python: for many pairs of a loss and a map, sooner than compiled."""
    with pytest.MonkeyPatch.context() as patch, np.errstate(all="ignore"):
        patch.setattr(dual_maps, "ascend", plain(dual_maps.ascend))
        patch.setattr(dual_maps, "settle", plain(dual_maps.settle))
        yield

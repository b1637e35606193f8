"""Extreme points: components give the same number interpreted and compiled, or both raise."""

from __future__ import annotations

import contextlib
import functools
import inspect
import itertools
import json
import math
import os
import random
import re
import subprocess
import sys
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numba
import numpy as np
import pytest

import noregret as nr
from noregret import domains, elementary, losses, mirrors, rates
from noregret.component import Component
from noregret.jit import kernel
from noregret.passes.rounds import playable
from noregret.tracking import kernels
from tests.learners import extreme_rows
from tests.sizes import sized

ROOT = Path(__file__).parents[2]
POSITIVE = (5e-324, 1e-308, 1e-160, 0.5, 1.0, 40.0, 709.0, 800.0, 1e10, 1e100, 1e160, 1e300)
SIZES = (0.0, *POSITIVE, math.inf)
EXTREMES = (*SIZES, *(-size for size in SIZES), math.nan)
SIGNS = (-1.0, 1.0)
#: The values of an argument that is not any number at all, by its name.
RANGES: dict[str, tuple[Any, ...]] = {
    "q": SIZES,
    "rounds": (0.0, 1.0, 1e6, 2.0**53),
    "squares": SIZES,
    "largest": SIZES,
    "largest_size": SIZES,
    "hint": SIZES,
    "size": SIZES,
    "reach": SIZES,
    "radius": SIZES,
    "total": SIZES,
    "dimension": (1, 2, 1000),
    "outputs": (1, 3),
}
#: No more points than this of the product of the arguments' values.
POINTS = sized(400, 4000)
#: Relative difference that polynomials in place of `math` may make; sizes below `TINY` are 0.
CLOSE, TINY = 1e-12, 1e-300

#: Every component whose methods on numbers are compiled, with fields of several kinds.
COMPONENTS: tuple[Component, ...] = (
    losses.Absolute(),
    losses.EpsilonInsensitive(0.1),
    losses.Exponential(),
    losses.Hinge(0.8),
    losses.Huber(0.5),
    losses.Logistic(),
    losses.NegativeLog(),
    losses.OneSidedHuber(0.8),
    losses.PowerHinge(3.0),
    losses.PowerHinge(1.5),
    losses.PowerHinge(50.0),
    losses.Quantile(0.7),
    losses.Squared(),
    losses.SquaredEpsilonInsensitive(0.1),
    losses.SquaredHinge(),
    losses.WinnowHinge(),
    mirrors.Ball(0.6),
    mirrors.Box(-0.3, 0.5),
    mirrors.ElasticNet(0.1),
    mirrors.Entropy(1.5),
    mirrors.Euclidean(),
    mirrors.Hypentropy(0.3),
    mirrors.PNorm(2.5),
    mirrors.PNorm(3.0),
    mirrors.PNorm(4.0),
    mirrors.PNorm(24.0),
    mirrors.Power(1.05),
    mirrors.Power(1.5),
    mirrors.Power(6.0),
    mirrors.SignedEntropy(1.5),
    mirrors.SoftThreshold(0.02),
    mirrors.UnnormalizedEntropy(0.1),
    rates.Adaptive(0.5),
    rates.Aioli(4.0, 0.5),
    rates.Arow(0.5),
    rates.BlockLeader(0.5, 16),
    rates.CertifiedNewton(2.0),
    rates.CoinBetting(2.0),
    rates.Constant(0.2),
    rates.Doubling(0.4),
    rates.InverseSqrt(0.3),
    rates.Newton(),
    rates.PerCoordinate(0.5),
    rates.PerCoordinate(0.5, invariant=True),
    rates.Ridge(0.5, anticipating=True),
    rates.ScaleFree(),
    rates.StronglyConvex(0.7),
    domains.Box(0.05, 0.4),
    domains.Orthant(),
    kernels.Gaussian(0.5),
    kernels.Linear(),
    kernels.Polynomial(7, 0.5),
)
SCORES: tuple[losses.ScoreLoss, ...] = (
    losses.MulticlassHinge(0.8),
    losses.OneAgainstRest(losses.Logistic()),
    losses.OneAgainstRest(losses.Exponential()),
    losses.OneAgainstRest(losses.PowerHinge(3.0)),
    losses.PairwiseHinge(0.8),
    losses.PairwiseLogistic(),
    losses.Softmax(),
)
#: Methods of maps and rates that are asked before or after a run, never in a pass.
OUTSIDE = {"complexity", "coordinate_regret", "natural_scale", "natural_size"}
#: What is no component of a pass, or is the base of some.
BASES = (
    losses.Loss,
    losses.ScoreLoss,
    losses.Regression,
    mirrors.Mirror,
    rates.Rate,
    kernels.Kernel,
)


def interpreted(function: Callable[..., Any], point: tuple[Any, ...]) -> Any:
    """Return what the function gives in Python, or the kind of error that it raises."""
    try:
        return function(*point)
    except (ArithmeticError, ValueError, NotImplementedError) as error:
        return type(error).__name__


def same(one: Any, other: Any) -> bool:
    """Tell whether two results are one number, but for the last digits."""
    if isinstance(one, str):
        return one == other
    one, other = float(one), float(other)
    if one == other or (math.isnan(one) and math.isnan(other)):
        return True
    largest = max(abs(one), abs(other))
    return abs(one - other) <= CLOSE * largest or largest < TINY


def points(component: Component, parameters: list[str]) -> Iterator[tuple[Any, ...]]:
    """Return extreme arguments, all combinations or some thousands of them."""
    signs = isinstance(component, losses.Loss) and component.labels == "sign"
    axes = [SIGNS if name == "y" and signs else RANGES.get(name, EXTREMES) for name in parameters]
    chosen = random.Random(1)
    if math.prod(map(len, axes)) <= POINTS:
        return itertools.product(*axes)
    return (tuple(map(chosen.choice, axes)) for _ in range(POINTS))


def scalar_methods(component: Component) -> dict[str, list[str]]:
    """Return the methods whose arguments are numbers, and how these are named."""
    found = {}
    for name, method in inspect.getmembers(type(component), inspect.isfunction):
        if name.startswith("_") or name in OUTSIDE:
            continue
        signature = inspect.signature(method)
        parameters = list(signature.parameters.values())[1:]
        numbers = [signature.return_annotation, *(one.annotation for one in parameters)]
        if parameters and all(kind in ("float", "int", "bool") for kind in numbers):
            found[name] = [one.name for one in parameters]
    return found


def test_every_component_is_here() -> None:
    """A new loss, map, rate or kernel has its extreme points tried, too."""
    kinds: set[type] = set()
    left = list(BASES)
    while left:
        kind = left.pop()
        left += kind.__subclasses__()
        kinds |= {kind} if kind.__module__.startswith("noregret.") else set()
    public = {
        value
        for module in (losses, mirrors, rates, kernels)
        for value in vars(module).values()
        if isinstance(value, type) and value in kinds and value not in BASES
    }
    assert public == {type(one) for one in (*COMPONENTS, *SCORES)} - {domains.Box, domains.Orthant}


@functools.cache
def called(method: str, count: int) -> Callable[..., Any]:
    """Return a kernel that calls a method: methods are compiled for kernels only."""
    names = ", ".join(f"x{k}" for k in range(count))
    scope: dict[str, Any] = {}
    exec(f"def call(component, {names}):\n    return component.{method}({names})", scope)
    return kernel(scope["call"])


@pytest.mark.parametrize("component", COMPONENTS, ids=str)
def test_components_agree_at_extreme_points(component: Component) -> None:
    for name, parameters in scalar_methods(component).items():
        compiled = called(name, len(parameters))
        for point in points(component, parameters):
            expected = interpreted(compiled, (component, *point))
            found = interpreted(getattr(component, name), point)
            place = f"{component}.{name}{point}"
            assert same(found, expected), f"{place}: {found} interpreted, {expected} compiled"


@kernel
def probed(loss, target, s, slopes, out):  # type: ignore[no-untyped-def]
    """Write what a loss of scores says at s into `out`, and its slopes there into `slopes`."""
    out[0] = loss.value_and_slopes(target, s, slopes)
    out[1] = loss.intercept(target, s, slopes, out[0])
    out[2] = loss.mistake(target, s)
    out[3] = loss.slope_mass(slopes, out[0])


@kernel
def probed_dual(loss, target, s, q, slopes, out):  # type: ignore[no-untyped-def]
    """Write the step of dual ascent into `slopes`, and the conjugate there into `out`."""
    loss.proximal_slopes(target, s, q, slopes)
    out[0] = loss.conjugate(target, slopes)


def asked(function: Callable[..., Any], loss: losses.ScoreLoss, *point: Any) -> list[Any]:
    """Return all that a kernel writes, or the kind of error that it raises."""
    slopes, out = np.zeros(3), np.zeros(4)
    failed = interpreted(function, (loss, *point, slopes, out))
    return [failed] if isinstance(failed, str) else [*slopes.tolist(), *out.tolist()]


@pytest.mark.compiled
@pytest.mark.parametrize("loss", SCORES, ids=str)
def test_losses_of_scores_agree_at_extreme_points(loss: losses.ScoreLoss) -> None:
    chosen = random.Random(1)
    finite = [size for size in EXTREMES if math.isfinite(size)]
    some = [probed, probed_dual] if hasattr(loss, "proximal_slopes") else [probed]
    for _, one in itertools.product(range(400), some):
        s = np.array([chosen.choice(finite) for _ in range(3)])
        relevance = np.array([chosen.choice((0.0, 1.0, 2.0)) for _ in range(3)])
        target = float(chosen.randrange(3)) if loss.labels == "class" else relevance
        point = (target, s) if one is probed else (target, s, chosen.choice(SIZES))
        expected = asked(one, loss, *point)
        with np.errstate(all="ignore"):
            found = asked(one.py_func, loss, *point)
        agree = len(found) == len(expected) and all(map(same, found, expected))
        place = f"{loss} at {point}"
        assert agree, f"{place}: {found} interpreted, {expected} compiled"


@kernel
def unary(x, which):  # type: ignore[no-untyped-def]
    """Return the function of that number, in the order of `UNARY`."""
    if which == 0:
        return elementary.exp(x)
    if which == 1:
        return elementary.log(x)
    return elementary.sqrt(x)


@kernel
def binary(x, y, which):  # type: ignore[no-untyped-def]
    """Return the function of that number, in the order of `BINARY`."""
    return elementary.power(x, y) if which == 0 else elementary.divide(x, y)


UNARY = (elementary.exp, elementary.log, elementary.sqrt)
BINARY = (elementary.power, elementary.divide)
#: Where e^x becomes 0 or infinite, and exponents that are odd, even and neither.
EDGES = (-745.0, -708.0000001, -708.0, 709.78, 709.7827128933841, 710.0, -3.0, -2.0, -0.5, 2.0, 3.0)


@pytest.mark.compiled
def test_elementary_functions_agree_at_extreme_points() -> None:
    named = {value for value in vars(elementary).values() if inspect.isfunction(value)}
    # `log_sum_exp` takes arrays and is not called in passes.
    assert named == {*UNARY, *BINARY, elementary.log1p_unit, elementary.log_sum_exp}
    for which, function in enumerate(UNARY):
        for x in (*EXTREMES, *EDGES):
            assert same(function(x), unary(x, which)), f"{function.__name__}({x})"
    for which, function in enumerate(BINARY):
        for x, y in itertools.product((*EXTREMES, *EDGES), repeat=2):
            found, expected = function(x, y), binary(x, y, which)
            assert same(found, expected), f"{function.__name__}({x}, {y})"
            assert math.copysign(1.0, found) == math.copysign(1.0, expected) or math.isnan(found)


def rows_interpreted(*arguments: str) -> extreme_rows.Outcomes:
    """Return the outcomes of `extreme_rows` in a process that compiles nothing, this or another."""
    if numba.config.DISABLE_JIT:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", RuntimeWarning)
            return extreme_rows.found(*arguments)
    paths = [str(ROOT), str(ROOT / "src"), os.environ.get("PYTHONPATH", "")]
    environment = os.environ | {
        "NUMBA_DISABLE_JIT": "1",
        "PYTHONPATH": os.pathsep.join(path for path in paths if path),
    }
    command = [sys.executable, "-m", "tests.learners.extreme_rows", *arguments]
    run = subprocess.run(command, capture_output=True, text=True, env=environment, check=False)
    assert run.returncode == 0, run.stderr
    outcomes: extreme_rows.Outcomes = json.loads(run.stdout)
    return outcomes


@pytest.mark.compiled
def test_rows_of_extreme_size_are_learnt_or_refused_alike() -> None:
    """Predictions agree to the rounding of their terms; refusals word for word."""
    found, expected = rows_interpreted(), extreme_rows.of_each_kind()
    assert found.keys() == expected.keys()
    refused = 0
    for name, streams in expected.items():
        for seed, rows in enumerate(streams):
            for t, (one, other) in enumerate(zip(found[name][seed], rows, strict=True)):
                place = f"{name}, stream {seed}, row {t}"
                assert type(one) is type(other), f"{place}: {one} interpreted, {other} compiled"
                if isinstance(other, str):
                    refused += 1
                    assert one == other, place
                    continue
                (predictions, size), slack = other, CLOSE * max(one[1], other[1])
                assert slack < math.inf, place
                assert one[1] == pytest.approx(size, rel=1e-9), place
                assert one[0] == pytest.approx(predictions, rel=1e-9, abs=slack), place
    assert refused > 50


def test_every_combination_refuses_extreme_rows_in_its_own_words() -> None:
    found = rows_interpreted("all")
    assert len(found) > sized(150, 500)
    refusals = {row for rows in found.values() for row in rows[0] if isinstance(row, str)}
    assert len(refusals) > 5
    for text in refusals:
        assert re.fullmatch(r"the loss or gradient of round \d+ overflows[:;] .* features", text)


def test_a_loss_that_overflows_is_refused_although_its_gradient_does_not() -> None:
    """A label so large that its square overflows, on a row so small that no gradient does."""
    for y, refused in ((1e120, False), (1e160, True)):
        slope, norm = -2.0 * y, 1e-160
        assert playable(losses.Squared(), y, 1.0, 0.0, slope, norm) is not refused


@pytest.mark.parametrize("loss", [losses.Hinge, losses.SquaredHinge, losses.OneSidedHuber])
def test_a_margin_whose_loss_would_overflow_is_refused(loss: Any) -> None:
    with pytest.raises(ValueError, match="must be above 0 and at most 1e90"):
        loss(1e91)
    learner = nr.MirrorDescent(loss(1e90), nr.mirrors.Euclidean(), nr.rates.Constant(1e-9))
    with contextlib.suppress(OverflowError):
        # A step that would overflow is refused, which leaves the learner as it was.
        learner.learn(np.ones((1, 1)), [1.0], [1e100])
    assert np.isfinite(learner.certificate().loss)

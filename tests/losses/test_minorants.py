"""Parabolas under losses: never above the loss, and close to the best ones."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import mpmath
import numpy as np
import pytest

from noregret import losses
from noregret.jit import kernel
from noregret.losses import Loss
from tests.product.newcomers import newcomers

CURVED = [
    losses.Logistic(),
    losses.Squared(),
    losses.SquaredHinge(),
    losses.SquaredHinge(2.5),
    losses.Huber(),
    losses.Huber(0.3),
    losses.OneSidedHuber(),
    losses.OneSidedHuber(0.25),
    losses.Exponential(),
    losses.NegativeLog(),
    losses.PowerHinge(3.0),
    losses.PowerHinge(1.5),
    losses.PowerHinge(7.0, 0.5),
    losses.SquaredEpsilonInsensitive(0.5),
    losses.SquaredEpsilonInsensitive(0.0),
]
STRAIGHT = "Hinge WinnowHinge Absolute Quantile EpsilonInsensitive"
every_loss = pytest.mark.parametrize(
    "loss", [*CURVED, *newcomers(losses, Loss, CURVED, STRAIGHT)], ids=repr
)


def labels(loss: Loss) -> tuple[float, ...]:
    return (-1.0, 1.0) if loss.labels == "sign" else (-1.7, 0.0, 0.4)


def fill(loss, terms, out):  # type: ignore[no-untyped-def]
    """Write the curvature of each row of y, p, low, high."""
    for i in range(out.shape[0]):
        out[i] = loss.curvature_below(terms[i, 0], terms[i, 1], terms[i, 2], terms[i, 3])


@pytest.fixture(params=["python", pytest.param("compiled", marks=pytest.mark.compiled)])
def curvatures(request: pytest.FixtureRequest) -> Callable[[Loss, Any], Any]:
    run = fill if request.param == "python" else kernel(fill)

    def made(loss: Loss, terms: Any) -> Any:
        out = np.empty(len(terms))
        with np.errstate(over="ignore", invalid="ignore"):
            run(loss, np.array(terms, float), out)
        return out

    return made


#: Loss, label, point, range and c, to 12 digits.
ORACLES = [
    (losses.Logistic(), 1, 0, -1, 1, 0.240229013917),
    (losses.Logistic(), -1, 0, -5, 5, 0.145085453434),
    (losses.Logistic(), 1, 2, -5, 5, 0.0527546896694),
    (losses.Logistic(), 1, 2, -2, 2, 0.104993585404),
    (losses.Logistic(), 1, 6, -2, 2, 0.0143202291598),
    (losses.Logistic(), -1, 1, 0.5, 3, 0.136604253398),
    (losses.Logistic(), 1, 0.5, -100, 100, 0.00749298645211),
    (losses.Logistic(), 1, 3, -1000, 1000, 9.5039397443e-05),
    (losses.Exponential(), 1, 0.5, -2, 2, 0.389867211638),
    (losses.Exponential(), 1, -1, -2, 2, 1.23819976448),
    (losses.NegativeLog(), 0, 0.5, 0.1, 2, 1.43440501234),
    (losses.SquaredHinge(), 1, 0.5, -3, 3, 0.36),
    (losses.SquaredHinge(), 1, -2, -3, 3, 0.84),
    (losses.SquaredHinge(), 1, 2, -3, 3, 0.0),
    (losses.SquaredHinge(), 1, 2, -3, -3, 0.64),
    (losses.SquaredHinge(), 1, 0, -1, 1, 1.0),
    (losses.Huber(), 0, 0.5, -3, 3, 0.36),
    (losses.Huber(), 0, 0.5, -3, -3, 0.673469387755),
    (losses.Huber(), 0, 2, -3, -3, 0.48),
    (losses.Huber(), 0, 2, -3, 3, 0.0),
    (losses.Huber(), 0, 0, -3, 2, 0.555555555556),
    (losses.PowerHinge(3.0), 1, 0.5, -3, 3, 0.186666666667),
    (losses.PowerHinge(3.0), 1, 0.5, -3, -3, 3.33333333333),
    (losses.PowerHinge(3.0), 1, -1, -3, 0.5, 3.0),
    (losses.PowerHinge(1.5), 1, 0.5, -3, 3, 0.428205279802),
    (losses.PowerHinge(1.5), 1, 0.5, 3, 3, 0.490260701623),
    (losses.OneSidedHuber(), 1, 0, -3, 3, 0.555555555556),
    (losses.SquaredEpsilonInsensitive(0.5), 0, 1.5, -3, 3, 0.666666666667),
    (losses.SquaredEpsilonInsensitive(0.5), 0, 1.5, -1, 3, 0.68),
    (losses.Squared(), 0.3, 5.0, -1e300, 1e300, 2.0),
]


@pytest.mark.parametrize(("loss", "y", "p", "low", "high", "c"), ORACLES, ids=str)
def test_oracles(
    curvatures: Any, loss: Loss, y: float, p: float, low: float, high: float, c: float
) -> None:
    assert curvatures(loss, [[y, p, low, high]])[0] == pytest.approx(c, rel=1e-10)


def cases(loss: Loss, count: int, seed: int = 0) -> Any:
    """Return labels, points and ranges of very different sizes; half of the points lie outside."""
    random = np.random.default_rng(seed)
    y = random.choice(labels(loss), count)
    reach = 10.0 ** random.uniform(-2.0, 1.5, count)
    low, high = -reach, reach * random.choice([1.0, 0.5, -0.5], count)
    p = random.uniform(-1.0, 1.0, count) * reach * random.choice([1.0, 3.0], count)
    terms = np.column_stack([y, p, low, high])
    if isinstance(loss, losses.NegativeLog):
        terms = np.add(np.abs(terms), (0.0, 0.1, 0.1, 60.0))
    return terms


@every_loss
def test_no_parabola_is_above_its_loss_on_a_grid(curvatures: Any, loss: Loss) -> None:
    """And none could be bent more, but for rounding and for points where a loss is flat."""
    terms = cases(loss, 60)
    tight = 0
    for (y, p, low, high), c in zip(terms, curvatures(loss, terms), strict=True):
        least = math.inf
        grid = np.linspace(low, high, 2001)
        value, slope = loss.value(y, p), loss.slope(y, p)
        for z in grid[np.abs(grid - p) > 1e-3 * (high - low)]:
            rounding = 1e-14 * (abs(value) + abs(slope * (z - p)) + abs(loss.value(y, z)))
            above = loss.value(y, z) - value - slope * (z - p)
            assert 0.5 * c * (z - p) ** 2 <= above + rounding
            least = min(least, 2.0 * (above + rounding) / (z - p) ** 2)
        tight += c >= 0.99 * least - 1e-9
    assert tight >= 45


def exact_logistic(p: float, z: float) -> Any:
    """Return the quotient in the precision of mpmath."""
    a, b = mpmath.mpf(p), mpmath.mpf(z)
    s = 1 / (1 + mpmath.exp(a))
    D = mpmath.log((1 - s) + s * mpmath.exp(-(b - a))) + s * (b - a)
    return 2 * D / (b - a) ** 2


@pytest.mark.parametrize("high", [1e-6, 1e-4, 1.0, 30.0, 800.0, 1e4])
def test_logistic_curvature_is_below_the_truth_and_near_it(curvatures: Any, high: float) -> None:
    random = np.random.default_rng(7)
    p = random.uniform(-200.0, 200.0, 100) * random.choice([1e-3, 0.1, 1.0], 100)
    z = p + random.uniform(-1.0, 1.0, 100) * high
    found = curvatures(losses.Logistic(), np.column_stack([np.ones(100), p, z, z]))
    with mpmath.workdps(400):
        for one, other, c in zip(p, z, found, strict=True):
            truth = exact_logistic(one, other)
            assert 0.0 <= c <= truth
            assert c >= truth * (1 - mpmath.mpf("1e-5")) or truth < 1e-250


@pytest.mark.parametrize("near", [1e-12, 1e-8, 1e-4, 1e-2, 1.0, 10.0])
def test_other_quotients_are_below_the_truth_beside_the_point(curvatures: Any, near: float) -> None:
    random = np.random.default_rng(8)
    p = random.uniform(0.2, 3.0, 60)
    z = p * (1.0 + near * random.uniform(0.0, 1.0, 60))
    exact: list[tuple[Loss, Any]] = [
        (losses.Exponential(), lambda x: mpmath.exp(-x)),
        (losses.NegativeLog(), lambda x: -mpmath.log(x)),
        (losses.PowerHinge(3.0, 2.0), lambda x: max(2 - x, 0) ** 3 / 3),
        (losses.PowerHinge(30.0, 2.0), lambda x: max(2 - x, 0) ** 30 / 30),
        (losses.SquaredHinge(2.0), lambda x: max(2 - x, 0) ** 2 / 2),
    ]
    slopes: list[Any] = [
        lambda x: -mpmath.exp(-x),
        lambda x: -1 / x,
        lambda x: -(max(2 - x, 0) ** 2),
        lambda x: -(max(2 - x, 0) ** 29),
        lambda x: -max(2 - x, 0),
    ]
    with mpmath.workdps(100):
        for (loss, f), slope in zip(exact, slopes, strict=True):
            for a, b in ((p, z), (z, p)):
                terms = np.column_stack([np.ones(60), a, b, b])
                for one, other, c in zip(a, b, curvatures(loss, terms), strict=True):
                    x, w = mpmath.mpf(one), mpmath.mpf(other)
                    assert c <= 2 * (f(w) - f(x) - slope(x) * (w - x)) / (w - x) ** 2
                    assert c > 0.0 or f(x) < 1e-6 or f(w) < 1e-6


@every_loss
def test_far_ranges_and_points_are_no_error(curvatures: Any, loss: Loss) -> None:
    size = [0.0, 1e-310, 1e-150, 1.0, 710.0, 1e100, 1e160, 1e308, math.inf]
    for y in labels(loss):
        terms = [[y, s * p, -r, r] for p in size[:-1] for r in size for s in (-1.0, 1.0)]
        found = curvatures(loss, terms)
        assert np.all((found >= 0.0) & (found < math.inf))


def test_which_losses_have_curvature() -> None:
    class Own(losses.Squared):
        """A loss of one's own that changes the value."""

        def value(self, y: float, p: float) -> float:
            return abs(p - y)

    class Declared(Own):
        """Another, which says how far it bends."""

        def curvature_below(self, y: float, p: float, low: float, high: float) -> float:
            return 0.0

    assert not Own().has_curvature() and Declared().has_curvature()
    for name in STRAIGHT.split():
        loss = getattr(losses, name)()
        assert not loss.has_curvature()
        assert loss.curvature_below(1.0, 0.3, -1.0, 1.0) == 0.0
    assert all(loss.has_curvature() for loss in CURVED)

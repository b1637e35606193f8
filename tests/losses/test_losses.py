"""Every loss, in plain Python and compiled: derivatives, convexity, conjugates, extremes."""

from __future__ import annotations

import dataclasses
import math
import pickle
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import mpmath
import numpy as np
import pytest

from noregret import losses
from noregret.jit import kernel
from noregret.losses import Loss
from noregret.rows.examples import as_labels
from tests.product.newcomers import newcomers
from tests.sizes import sized

LOSSES = [
    losses.Hinge(),
    losses.Hinge(0.25),
    losses.SquaredHinge(),
    losses.SquaredHinge(2.5),
    losses.Logistic(),
    losses.Squared(),
    losses.Absolute(),
    losses.EpsilonInsensitive(0.1),
    losses.EpsilonInsensitive(0.0),
    losses.Huber(),
    losses.Huber(0.3),
    losses.Quantile(),
    losses.Quantile(0.9),
    losses.Quantile(0.2),
    losses.WinnowHinge(),
]
#: The others are in test_losses_dual.py.
DUAL = "Exponential NegativeLog OneSidedHuber PowerHinge SquaredEpsilonInsensitive"
#: Those whose definition is written down in `exact`.
defined_loss = pytest.mark.parametrize("loss", list(LOSSES), ids=repr)
LOSSES += newcomers(losses, Loss, LOSSES, DUAL)
every_loss = pytest.mark.parametrize("loss", LOSSES, ids=repr)

VALUE, SLOPE, INTERCEPT, CONJUGATE, MISTAKE = range(5)
GRID = np.linspace(-4.0, 4.0, 161) + 0.0123456789


def table(loss, y, p, out):  # type: ignore[no-untyped-def]
    """Fill one row a prediction: value, slope, intercept, conjugate of the slope, mistake."""
    for i in range(p.shape[0]):
        value = loss.value(y[i], p[i])
        slope = loss.slope(y[i], p[i])
        out[i, 0] = value
        out[i, 1] = slope
        out[i, 2] = loss.intercept(y[i], p[i], value, slope)
        out[i, 3] = loss.conjugate(y[i], slope)
        out[i, 4] = loss.mistake(y[i], p[i])


@pytest.fixture(params=["python", "compiled"])
def evaluate(request: pytest.FixtureRequest) -> Callable[[Loss, Any, Any], np.ndarray]:
    fill = table if request.param == "python" else kernel(table)

    def run(loss: Loss, y: Any, p: Any) -> np.ndarray:
        labels, points = np.broadcast_arrays(np.asarray(y, float), np.asarray(p, float))
        out = np.empty((points.size, 5))
        fill(loss, labels.ravel().copy(), points.ravel().copy(), out)
        return out

    return run


def labels(loss: Loss) -> tuple[float, ...]:
    return (-1.0, 1.0) if loss.labels == "sign" else (-1.7, 0.0, 0.4)


@every_loss
def test_slope_is_the_derivative(loss: Loss, evaluate: Any) -> None:
    """The central difference lies between the slopes at its ends, and is the slope inside."""
    h = 1e-5
    for y in labels(loss):
        left, middle, right = (evaluate(loss, y, GRID + shift) for shift in (-h, 0.0, h))
        difference = (right[:, VALUE] - left[:, VALUE]) / (2 * h)
        assert np.all(left[:, SLOPE] <= difference + 1e-9)
        assert np.all(difference <= right[:, SLOPE] + 1e-9)
        smooth = np.abs(right[:, SLOPE] - left[:, SLOPE]) < 1e-4
        assert smooth.mean() > 0.9
        assert middle[smooth, SLOPE] == pytest.approx(difference[smooth], abs=1e-8)


@every_loss
def test_every_slope_supports_the_loss(loss: Loss, evaluate: Any) -> None:
    """f(q) >= f(p) + slope (q - p), hence convexity; the intercept is the line's at 0."""
    for y in labels(loss):
        rows = evaluate(loss, y, GRID)
        lines = rows[:, [VALUE]] + rows[:, [SLOPE]] * (GRID[None, :] - GRID[:, None])
        assert np.all(lines <= rows[:, VALUE][None, :] + 1e-12)
        at_zero = rows[:, VALUE] - rows[:, SLOPE] * GRID
        assert rows[:, INTERCEPT] == pytest.approx(at_zero, abs=1e-13)
        assert np.all(np.diff(rows[:, SLOPE]) >= 0.0)
        assert np.all(rows[:, VALUE] >= 0.0) and loss.nonnegative


@every_loss
def test_intercept_is_minus_the_conjugate_of_the_slope(loss: Loss, evaluate: Any) -> None:
    for y in labels(loss):
        rows = evaluate(loss, y, np.concatenate([GRID, [0.0, y, -y, 30.0, -30.0, 700.0, -700.0]]))
        assert np.all(np.isfinite(rows))
        scale = 1e-14 * (1.0 + np.abs(rows[:, VALUE]))
        assert np.all(np.abs(rows[:, INTERCEPT] + rows[:, CONJUGATE]) <= 4 * scale)


@every_loss
def test_fenchel_young_and_biconjugation(loss: Loss) -> None:
    """The supremum of s p - f*(s) over a fine grid of slopes is f(p), and never above it."""
    limit = min(loss.lipschitz(), 12.0)
    for y in labels(loss):
        # Where a loss is nearly straight, its slopes lie closer together than those of the grid.
        ends = [0.0, *(loss.slope(y, float(p)) for p in (-1e3, 1e3, *GRID[::8]))]
        slopes = np.unique(np.concatenate([np.linspace(-limit, limit, 4001), ends]))
        conjugates = np.array([loss.conjugate(y, float(s)) for s in slopes])
        assert np.isfinite(conjugates).sum() > 100
        assert loss.conjugate(y, 0.0) == pytest.approx(0.0, abs=1e-15)
        for p in GRID[::8]:
            best = float(np.max(slopes * p - conjugates))
            value = loss.value(y, float(p))
            assert best <= value + 1e-12
            assert best == pytest.approx(value, abs=2e-5)


@every_loss
def test_the_conjugate_is_infinite_beyond_the_slopes(loss: Loss) -> None:
    if not math.isfinite(loss.lipschitz()):
        assert loss.slope(labels(loss)[0], 1e6) != loss.slope(labels(loss)[0], 2e6) or (
            loss.slope(labels(loss)[-1], -1e6) != loss.slope(labels(loss)[-1], -2e6)
        )
        return
    for y in labels(loss):
        for s in (1.0001 * loss.lipschitz(), -1.0001 * loss.lipschitz()):
            assert loss.conjugate(y, s) == math.inf


@every_loss
def test_lipschitz_and_curvature(loss: Loss) -> None:
    far = np.concatenate([GRID, [-1e9, -1e3, 1e3, 1e9]])
    slopes = [[loss.slope(y, float(p)) for p in far] for y in labels(loss)]
    steepest = max(abs(s) for row in slopes for s in row)
    assert steepest <= loss.lipschitz()
    if math.isfinite(loss.lipschitz()):
        assert steepest == pytest.approx(loss.lipschitz(), rel=1e-12)
    end, count = sized((1.2, 24_001), (4.0, 80_001))
    fine = np.linspace(-end, end, count)
    steps = [np.diff([loss.slope(y, float(p)) for p in fine]) / 1e-4 for y in labels(loss)]
    bend = float(np.max(steps))
    if math.isfinite(loss.curvature()):
        assert bend == pytest.approx(loss.curvature(), rel=1e-6)
    else:
        assert bend > 100.0


@pytest.mark.parametrize(
    ("loss", "doubled", "power"),
    [
        (losses.Hinge(0.25), losses.Hinge(0.5), 1),
        (losses.SquaredHinge(1), losses.SquaredHinge(2), 2),
        (losses.EpsilonInsensitive(0.1), losses.EpsilonInsensitive(0.2), 1),
        (losses.Huber(0.3), losses.Huber(0.6), 2),
        (losses.Squared(), losses.Squared(), 2),
        (losses.Absolute(), losses.Absolute(), 1),
        (losses.Quantile(0.9), losses.Quantile(0.9), 1),
    ],
    ids=repr,
)
def test_scaling_everything_scales_the_loss(loss: Loss, doubled: Loss, power: int) -> None:
    for y in labels(loss):
        label = y if loss.labels == "sign" else 2 * y
        for p in GRID[::16]:
            once, twice = loss.value(y, float(p)), doubled.value(label, 2 * float(p))
            assert twice == pytest.approx(2**power * once, abs=1e-14)


@every_loss
def test_the_labels_mirror_each_other(loss: Loss) -> None:
    if loss.labels == "sign":
        centre = 0.5 if isinstance(loss, losses.WinnowHinge) else 0.0
        for p in GRID[::4]:
            one, two = loss.value(1.0, centre + float(p)), loss.value(-1.0, centre - float(p))
            assert one == pytest.approx(two, rel=1e-14, abs=1e-14)
    else:
        # A shift of target and prediction together changes nothing.
        for p in GRID[::4]:
            assert loss.value(2.5, 2.5 + float(p)) == pytest.approx(loss.value(0.0, float(p)))


def exact(loss: Loss, y: float, p: float) -> tuple[Any, Any]:
    """Return value and slope of the definitions in 60 digits or more."""
    y, p = mpmath.mpf(y), mpmath.mpf(p)
    zero, m = mpmath.mpf(0), y * p
    if isinstance(loss, losses.Hinge):
        gap = loss.margin - m
        return max(gap, zero), -y if gap > 0 else zero
    if isinstance(loss, losses.SquaredHinge):
        gap = max(loss.margin - m, zero)
        return gap * gap / 2, -y * gap
    if isinstance(loss, losses.Logistic):
        return mpmath.log1p(mpmath.exp(-m)), -y / (1 + mpmath.exp(m))
    if isinstance(loss, losses.WinnowHinge):
        gap = 1 - y * (2 * p - 1)
        return max(gap, zero), -2 * y if gap > 0 else zero
    r = p - y
    if isinstance(loss, losses.Squared):
        return r * r, 2 * r
    if isinstance(loss, losses.Absolute):
        return abs(r), mpmath.sign(r)
    if isinstance(loss, losses.EpsilonInsensitive):
        gap = abs(r) - loss.epsilon
        return max(gap, zero), mpmath.sign(r) if gap > 0 else zero
    if isinstance(loss, losses.Huber):
        reach = min(abs(r), loss.delta)
        return reach * (abs(r) - reach / 2), mpmath.sign(r) * reach
    assert isinstance(loss, losses.Quantile)
    level = mpmath.mpf(loss.level)
    slope = zero if r == 0 else (1 - level if r > 0 else -level)
    return slope * r, slope


EXTREMES = [0.0, 1e-300, 1e-17, 1e-9, 0.25, 0.5, 1.0, 1.5, 36.7, 700.0, 745.2, 1e3, 1e30, 1e150]


@defined_loss
def test_value_and_slope_are_right_to_sixteen_units_in_the_last_place(
    loss: Loss, evaluate: Any
) -> None:
    """At the extremes too: the certificate's rounding slack leans on it."""
    points = np.array([sign * size for size in EXTREMES for sign in (1.0, -1.0)])
    targets = labels(loss) if loss.labels == "sign" else (0.0, 1e-300, -1.75, 1e3, -1e100)
    with mpmath.workprec(2200):  # 1e150 squared beside 1e-300
        for y in targets:
            rows = evaluate(loss, y, points)
            for p, row in zip(points, rows, strict=True):
                for found, right in zip(row[:2], exact(loss, y, float(p)), strict=True):
                    ulp = max(math.ulp(float(right)), 5e-324)
                    assert abs(mpmath.mpf(float(found)) - right) <= 16 * ulp, (y, p, found)


def test_a_loss_at_the_rim_of_the_tube_is_not_lost_to_rounding() -> None:
    """The difference p - y is rounded; whether it exceeds epsilon is decided exactly."""
    loss = losses.EpsilonInsensitive(0.75)
    rim = [(-0.25 - 2.0**-55 * k, 0.5 + 2.0**-53 * j) for k in range(-6, 7) for j in range(-6, 7)]
    assert any(p - y == 0.75 and Fraction(p) - Fraction(y) != Fraction(0.75) for y, p in rim)
    for y, p in rim:
        beyond = Fraction(p) - Fraction(y) > Fraction(0.75)
        assert (loss.value(y, p) > 0.0) == beyond
        assert loss.slope(y, p) == (1.0 if beyond else 0.0)
        assert (loss.value(-y, -p) > 0.0) == beyond


@every_loss
def test_mistakes(loss: Loss, evaluate: Any) -> None:
    rows = {y: evaluate(loss, y, GRID)[:, MISTAKE] for y in labels(loss)}
    if loss.labels == "real":
        assert not any(found.any() for found in rows.values())
        return
    threshold = 0.5 if isinstance(loss, losses.WinnowHinge) else 0.0
    for y, found in rows.items():
        assert found.astype(bool).tolist() == (y * (GRID - threshold) <= 0).tolist()
        assert evaluate(loss, y, [threshold])[0, MISTAKE]
        # A mistake costs at least the margin: this is what mistake bounds rest on.
        least = getattr(loss, "margin", 1.0)
        least = 0.5 * least**2 if isinstance(loss, losses.SquaredHinge) else least
        least = math.log(2) if isinstance(loss, losses.Logistic) else least
        values = evaluate(loss, y, GRID)[:, VALUE]
        assert np.all(values[found.astype(bool)] >= least)


@every_loss
def test_labels(loss: Loss) -> None:
    assert as_labels([1, -1], 2, loss).tolist() == [1.0, -1.0]
    if loss.labels == "sign":
        for bad in (0, 2, 0.5, math.nan, math.inf):
            with pytest.raises(
                ValueError, match=rf"y row 1: .*{type(loss).__name__} expects -1 or"
            ):
                as_labels([1, bad], 2, loss)
    else:
        assert as_labels([0.3, -7e99], 2, loss).tolist() == [0.3, -7e99]
        for bad in (math.nan, math.inf, -math.inf, 1e101):
            with pytest.raises(ValueError, match=r"y row 1: .*expected a finite number"):
                as_labels([0.3, bad], 2, loss)


@every_loss
def test_records_are_frozen_equal_and_portable(loss: Loss) -> None:
    again = type(loss)(**loss.fields())
    assert again == loss and hash(again) == hash(loss) and repr(again) == repr(loss)
    assert pickle.loads(pickle.dumps(loss)) == loss
    for name in loss.fields():
        with pytest.raises(dataclasses.FrozenInstanceError):
            setattr(loss, name, 0.5)
        assert loss.replace(**{name: 0.75}) != loss


def test_whole_numbers_and_numbers_with_a_point_are_one() -> None:
    assert losses.Hinge(1) == losses.Hinge(1.0) == losses.Hinge(np.float32(1))
    assert type(losses.Hinge(1).margin) is float
    assert repr(losses.Hinge(1)) == "Hinge(margin=1.0)"


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: losses.Hinge(0), r"Hinge\(margin\) must be above 0 and at most 1e90, got 0.0"),
        (lambda: losses.Hinge(-1), r"Hinge\(margin\) must be above 0 and at most 1e90, got -1.0"),
        (lambda: losses.Hinge(math.nan), r"Hinge\(margin\) .* got nan"),
        (lambda: losses.Hinge(math.inf), r"Hinge\(margin\) .* got inf"),
        (lambda: losses.Hinge("wide"), r"Hinge\(margin=...\) must be a number, got 'wide'"),
        (lambda: losses.Hinge(None), r"Hinge\(margin=...\) must be a number, got None"),
        (
            lambda: losses.SquaredHinge(0),
            r"SquaredHinge\(margin\) must be above 0 and at most 1e90",
        ),
        (lambda: losses.EpsilonInsensitive(-0.1), r"epsilon\) must be a finite number >= 0"),
        (lambda: losses.EpsilonInsensitive(math.nan), r"epsilon\) must be a finite number >= 0"),
        (lambda: losses.Huber(0), r"Huber\(delta\) must be a finite number above 0"),
        (lambda: losses.Quantile(0), r"Quantile\(level\) must lie strictly between 0 and 1"),
        (lambda: losses.Quantile(1), r"Quantile\(level\) must lie strictly between 0 and 1"),
        (lambda: losses.Quantile(math.nan), r"Quantile\(level\) must lie strictly between"),
    ],
)
def test_parameters_are_checked(make: Callable[[], Loss], message: str) -> None:
    with pytest.raises(ValueError, match=message) as caught:
        make()
    assert "\n" not in str(caught.value)


def test_the_base_class_asks_for_value_and_slope() -> None:
    @dataclasses.dataclass(frozen=True)
    class Empty(Loss):
        pass

    for method in (Empty().value, Empty().slope):
        with pytest.raises(NotImplementedError):
            method(1.0, 0.0)
    assert (Empty().lipschitz(), Empty().curvature()) == (math.inf, math.inf)
    assert Empty().intercept(1.0, 2.0, 7.0, 3.0) == 1.0
    assert Empty().mistake(1.0, 0.0) and not Empty().mistake(-1.0, -0.1)


def bends(loss, y, p, out):  # type: ignore[no-untyped-def]
    """Write the second derivative at every prediction."""
    for i in range(p.shape[0]):
        out[i] = loss.bend(y[i], p[i])


@pytest.mark.parametrize("fill", [bends, kernel(bends)], ids=["python", "compiled"])
@every_loss
def test_the_bend_is_the_derivative_of_the_slope(loss: Loss, fill: Callable[..., None]) -> None:
    """At corners of the slope it lies between the derivatives of both sides."""
    if not loss.curvature() < math.inf:
        pytest.skip("only losses that bend everywhere are asked")
    near = 1e-4
    for y in labels(loss):
        found = np.empty(len(GRID))
        fill(loss, np.full(len(GRID), y), GRID, found)
        sides = np.array(
            [
                [
                    (loss.slope(y, p + near) - loss.slope(y, p)) / near,
                    (loss.slope(y, p) - loss.slope(y, p - near)) / near,
                ]
                for p in GRID
            ]
        )
        assert np.all(found >= sides.min(axis=1) - 1e-3)
        assert np.all(found <= sides.max(axis=1) + 1e-3)
        assert np.all((found >= 0.0) & (found <= loss.curvature() * (1.0 + 1e-9)))
        if isinstance(loss, losses.Logistic):
            exact = [mpmath.diff(lambda p: 1 / (1 + mpmath.exp(-p)), mpmath.mpf(p)) for p in GRID]
            assert np.allclose(found, [float(e) for e in exact], rtol=1e-12)
            far = np.array([700.0, -700.0, 800.0])
            fill(loss, np.full(3, y), far, found[:3])
            assert np.all(np.isfinite(found[:3])) and found[0] == found[1] > 0.0 == found[2]

"""What dual ascent asks of a loss: ranges of slopes, starts, conjugates and proximal steps."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable
from typing import Any

import mpmath
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from noregret import losses
from noregret.jit import kernel
from noregret.losses import Loss
from noregret.proof.convexity import require_convex
from tests.product.newcomers import newcomers
from tests.sizes import sized

LOSSES = [
    losses.Hinge(),
    losses.Hinge(0.25),
    losses.SquaredHinge(),
    losses.SquaredHinge(2.5),
    losses.Logistic(),
    losses.WinnowHinge(),
    losses.PowerHinge(3.0),
    losses.PowerHinge(2.0, 0.4),
    losses.PowerHinge(1.5, 0.7),
    losses.OneSidedHuber(),
    losses.OneSidedHuber(0.4),
    losses.Exponential(),
    losses.NegativeLog(),
    losses.Squared(),
    losses.Absolute(),
    losses.EpsilonInsensitive(0.1),
    losses.EpsilonInsensitive(0.0),
    losses.Huber(),
    losses.Huber(0.3),
    losses.Quantile(),
    losses.Quantile(0.9),
]
NEW = [
    losses.PowerHinge(3.0),
    losses.PowerHinge(1.5, 0.7),
    losses.OneSidedHuber(0.4),
    losses.Exponential(),
    losses.NegativeLog(),
]
LOSSES += newcomers(losses, Loss, LOSSES)
every_loss = pytest.mark.parametrize("loss", LOSSES, ids=repr)
every_new_loss = pytest.mark.parametrize("loss", NEW, ids=repr)

EPSILON = 2.0**-52


def steps(loss, y, z, q, guess, out):  # type: ignore[no-untyped-def]
    """Fill one row a step: proximal slope, lowest and highest slope, start, conjugate."""
    for i in range(z.shape[0]):
        slope = loss.proximal_slope(y[i], z[i], q[i], guess[i])
        out[i, 0] = slope
        out[i, 1] = loss.lowest_slope(y[i])
        out[i, 2] = loss.highest_slope(y[i])
        out[i, 3] = loss.initial_slope(y[i])
        out[i, 4] = loss.conjugate(y[i], slope)


compiled = kernel(steps)


def labels(loss: Loss) -> tuple[float, ...]:
    return (-1.0, 1.0) if loss.labels == "sign" else (-1.7, 0.0, 0.4)


def subdifferential(loss: Loss, y: float, u: float, room: float) -> tuple[float, float]:
    """Return the slopes just below and just above u, further off where u itself is rounded."""
    shift = max(room, abs(u) * EPSILON)
    below = loss.slope(y, u - shift)
    above = loss.slope(y, u + shift)
    return below, above


sizes = st.builds(
    lambda sign, power: sign * 10.0**power, st.sampled_from([-1.0, 1.0]), st.floats(-12, 4)
) | st.sampled_from([0.0, 1.0, -1.0, 0.25, -0.25, 0.5])
weights = st.builds(lambda power: 10.0**power, st.floats(-12, 12)) | st.sampled_from([0.0, 1.0])


@every_loss
@settings(max_examples=sized(25, 100))
@given(st.data(), sizes, weights)
def test_the_proximal_slope_is_a_slope_where_it_leads(
    loss: Loss, data: st.DataObject, z: float, q: float
) -> None:
    """s is in the subdifferential at u = z - q s, and f(u) + f*(s) = s u to rounding."""
    y = data.draw(st.sampled_from(labels(loss)))
    if isinstance(loss, losses.NegativeLog) and q == 0.0:
        z = abs(z) + 0.1
    if isinstance(loss, losses.Exponential) and q == 0.0:
        z = math.copysign(min(abs(z), 600.0), z)
    low, high = loss.lowest_slope(y), loss.highest_slope(y)
    guess = min(max(data.draw(st.floats(-3.0, 3.0)), low), high)
    s = loss.proximal_slope(y, z, q, guess)
    assert low <= s <= high and math.isfinite(s)
    assert math.isfinite(loss.conjugate(y, s))
    with mpmath.workprec(200):
        u = float(mpmath.mpf(z) - mpmath.mpf(q) * mpmath.mpf(s))
    # What a rounding of z, and one of s, means for u.
    room = 16.0 * EPSILON * (abs(z) + abs(q * s) + abs(y) + 1e-12)
    if isinstance(loss, losses.NegativeLog):
        # The prediction itself is the reciprocal; the difference may have lost its digits.
        assert abs(u + 1.0 / s) <= room
        u = -1.0 / s
        room = min(room, 0.5 * u)
    below, above = subdifferential(loss, y, u, room)
    slack = 32.0 * EPSILON * abs(s) + 1e-299
    assert below - slack <= s <= above + slack
    gap = loss.value(y, u) + loss.conjugate(y, s) - s * u
    scale = abs(loss.value(y, u)) + abs(loss.conjugate(y, s)) + abs(s) * (abs(u) + abs(z) + 1.0)
    # Slopes of less than 1e-300 are not told apart.
    assert abs(gap) <= 64.0 * EPSILON * scale + (above - below) * room + 1e-295


def table(loss: Loss, count: int, seed: int) -> tuple[np.ndarray, ...]:
    rng = np.random.default_rng(seed)
    y = rng.choice(labels(loss), count)
    z = rng.normal(size=count) * 10.0 ** rng.uniform(-3, 2.5, count)
    q = 10.0 ** rng.uniform(-6, 6, count)
    q[::7] = 0.0
    if isinstance(loss, losses.NegativeLog):
        z[::7] = np.abs(z[::7])
    low = np.array([loss.lowest_slope(float(v)) for v in y])
    high = np.array([loss.highest_slope(float(v)) for v in y])
    return y, z, q, np.clip(rng.normal(size=count), low, high)


@every_loss
def test_compiled_equals_python(loss: Loss) -> None:
    arguments = table(loss, 400, 1)
    found, expected = np.empty((400, 5)), np.empty((400, 5))
    compiled(loss, *arguments, found)
    steps(loss, *arguments, expected)
    assert found[:, 1:4].tolist() == expected[:, 1:4].tolist()
    assert found[:, 0] == pytest.approx(expected[:, 0], rel=1e-13, abs=1e-290)
    assert found[:, 4] == pytest.approx(expected[:, 4], rel=1e-12, abs=1e-14)


@pytest.mark.parametrize(
    "loss", [loss for loss in LOSSES if not isinstance(loss, losses.NegativeLog)], ids=repr
)
def test_the_search_of_the_base_class_finds_the_closed_form(loss: Loss) -> None:
    """Finite values and slopes are enough: a loss of one's own needs no step of its own."""
    for y, z, q, guess in zip(*(v.tolist() for v in table(loss, 200, 2)), strict=True):
        closed = loss.proximal_slope(y, z, q, guess)
        searched = Loss.proximal_slope(loss, y, z, q, guess)
        # One rounding of z moves the slope by at most 1/q of it, and by the steepness without q.
        error = 8.0 * EPSILON * (abs(z) + abs(y) + 1.0) / q if q > 0.0 else 0.0
        assert searched == pytest.approx(closed, rel=1e-12, abs=error + 1e-290)


def test_the_search_compiles_for_a_loss_of_ones_own() -> None:
    @dataclasses.dataclass(frozen=True)
    class Smooth(losses.Regression):
        def value(self, y: float, p: float) -> float:
            return math.sqrt(1.0 + (p - y) * (p - y))

        def slope(self, y: float, p: float) -> float:
            return (p - y) / math.sqrt(1.0 + (p - y) * (p - y))

        def conjugate(self, y: float, s: float) -> float:
            return s * y - math.sqrt(1.0 - s * s) if abs(s) <= 1.0 else math.inf

        def lipschitz(self) -> float:
            return 1.0

    loss = Smooth()
    y, z, q, guess = table(loss, 300, 3)
    found = np.empty((300, 5))
    compiled(loss, y, z, q, guess, found)
    assert np.all(np.abs(found[:, 0]) <= 1.0)
    assert found[:, 1:4].tolist() == [[-1.0, 1.0, 0.0]] * 300
    for i in range(300):
        assert found[i, 0] == pytest.approx(
            loss.proximal_slope(y[i], z[i], q[i], guess[i]), rel=1e-13
        )
        u = z[i] - q[i] * found[i, 0]
        room = 4.0 * EPSILON * (abs(z[i]) + abs(y[i]))
        assert loss.slope(y[i], u - room) - 1e-15 <= found[i, 0]
        assert found[i, 0] <= loss.slope(y[i], u + room) + 1e-15


@every_loss
def test_starts_and_ranges(loss: Loss) -> None:
    for y in labels(loss):
        low, high, start = loss.lowest_slope(y), loss.highest_slope(y), loss.initial_slope(y)
        assert low <= start <= high
        assert math.isfinite(loss.conjugate(y, start))
        inside = [s for s in (low, high) if math.isfinite(s)]
        for s in inside:
            if not isinstance(loss, losses.NegativeLog):
                assert math.isfinite(loss.conjugate(y, s))
            outside = s + math.copysign(1e-9, s - 0.5 * (max(low, -9.0) + min(high, 9.0)))
            assert loss.conjugate(y, outside) == math.inf
        assert max(-low, high) == loss.lipschitz() or loss.labels == "sign"
    assert losses.Logistic().initial_slope(-1.0) == 0.5
    assert losses.Exponential().initial_slope(1.0) == -0.5
    assert losses.NegativeLog().initial_slope(1.0) == -1.0


@pytest.mark.parametrize("loss", [losses.Logistic(), losses.Exponential()], ids=repr)
def test_newton_steps_are_exact_from_any_start(loss: Loss) -> None:
    """Against 50 digits, from starts at both ends of the range and in the middle."""
    rng = np.random.default_rng(4)
    logistic = isinstance(loss, losses.Logistic)
    with mpmath.workdps(50):
        for _ in range(sized(15, 60)):
            z = float(rng.normal() * 10.0 ** rng.uniform(-2, 2.3))
            q = float(10.0 ** rng.uniform(-5, 7))
            a, b = mpmath.mpf(-z), mpmath.mpf(q)

            def excess(t: Any, a: Any = a, b: Any = b) -> Any:
                chance = 1 / (1 + mpmath.exp(-t)) if logistic else mpmath.exp(t)
                return t + b * chance - a

            low, high = a - b - 1, a
            if not logistic:
                low = min(a, mpmath.log(1 / b)) - mpmath.log(1 + abs(a) + b + 1 / b) - 5
            for _ in range(220):
                middle = (low + high) / 2
                low, high = (middle, high) if excess(middle) < 0 else (low, middle)
            exact = 1 / (1 + mpmath.exp(-low)) if logistic else mpmath.exp(low)
            for start in (1e-300, 1e-8, 0.5, 1.0 - 2.0**-53):
                found = -loss.proximal_slope(1.0, z, q, -start)
                error = abs(mpmath.mpf(found) - exact) / exact
                assert error <= 8.0 * EPSILON * (2.0 + abs(z))
                assert -loss.proximal_slope(-1.0, -z, q, start) == -found


@pytest.mark.parametrize("r", [1.05, 1.07, 1.3, 3.0, 17.0, 50.0])
def test_the_conjugate_of_a_power_hinge_is_right_to_a_few_units(r: float) -> None:
    """1/(r - 1) is rounded, and a power magnifies that; the conjugate undoes it."""
    loss = losses.PowerHinge(r, 1e-3)
    with mpmath.workdps(60):
        exponent = mpmath.mpf(r) / (mpmath.mpf(r) - 1)
        for c in (1e-3, 0.37, 0.99, 1.7, 23.0, 1e3):
            power = mpmath.mpf(c) ** exponent / exponent
            exact = power - mpmath.mpf(1e-3) * mpmath.mpf(c)
            size = float(power) + 1e-3 * c
            assert abs(loss.conjugate(1.0, -c) - exact) <= 16.0 * EPSILON * size


def test_logistic_slopes_stay_strictly_inside() -> None:
    loss = losses.Logistic()
    for z in (-1e200, -1e3, -50.0, 50.0, 1e3, 1e200):
        for q in (0.0, 1e-300, 1.0, 1e200):
            for guess in (0.0, -0.5, -1.0):
                assert -1.0 < loss.proximal_slope(1.0, z, q, guess) < 0.0


def exact_value(loss: Loss, y: float, p: float) -> tuple[Any, Any]:
    y, p = mpmath.mpf(y), mpmath.mpf(p)
    if isinstance(loss, losses.Exponential):
        return mpmath.exp(-y * p), -y * mpmath.exp(-y * p)
    if isinstance(loss, losses.NegativeLog):
        return -mpmath.log(p), -1 / p
    excess = max(mpmath.mpf(loss.margin) - y * p, mpmath.mpf(0))  # type: ignore[attr-defined]
    if isinstance(loss, losses.PowerHinge):
        r = mpmath.mpf(loss.r)
        return excess**r / r, -y * excess ** (r - 1)
    reach = min(excess, mpmath.mpf(2))
    return reach * (excess - reach / 2), -y * reach


@every_new_loss
def test_value_and_slope_are_right_to_sixteen_units_in_the_last_place(loss: Loss) -> None:
    sizes = [1e-300, 1e-17, 1e-9, 0.25, 0.5, 1.0, 1.5, 36.7, 700.0, 1e3, 1e30]
    signs = (1.0,) if isinstance(loss, losses.NegativeLog) else (1.0, -1.0)
    points = [sign * size for size in sizes for sign in signs]
    if isinstance(loss, losses.Exponential):
        points = [p for p in points if abs(p) <= 700.0]
    with mpmath.workprec(1200):
        for y in labels(loss):
            for p in points:
                for found, right in zip(
                    (loss.value(y, p), loss.slope(y, p)), exact_value(loss, y, p), strict=True
                ):
                    ulp = max(math.ulp(float(right)), 5e-324)
                    assert abs(mpmath.mpf(found) - right) <= 16 * ulp, (y, p, found)


@every_new_loss
def test_new_losses_are_convex_with_their_conjugates(loss: Loss) -> None:
    """Lines support the loss, s p - f*(s) <= f(p) with equality at the slope, mirrored labels."""
    grid = np.linspace(-4.0, 4.0, 81) + 0.0123456789
    if isinstance(loss, losses.NegativeLog):
        grid = np.abs(grid)
    for y in labels(loss):
        for p in grid.tolist():
            value, s = loss.value(y, p), loss.slope(y, p)
            height = loss.intercept(y, p, value, s)
            scale = 1e-14 * (abs(value) + abs(s * p) + 1.0)
            assert height == pytest.approx(value - s * p, rel=0.0, abs=scale)
            assert height == pytest.approx(-loss.conjugate(y, s), rel=0.0, abs=scale)
            for other in grid.tolist():
                assert loss.value(y, other) >= value + s * (other - p) - 4.0 * scale
            for slope in (0.1, 0.9, 1.9, 7.0):
                bound = -y * slope if loss.labels == "sign" else -slope
                assert bound * p - loss.conjugate(y, bound) <= value + 1e-13
        if loss.labels == "sign":
            assert [loss.value(-y, -p) for p in grid] == [loss.value(y, p) for p in grid]


def test_the_negative_logarithm_is_refused_where_every_prediction_is_played() -> None:
    loss = losses.NegativeLog()
    assert (loss.value(0.0, 0.0), loss.slope(0.0, -1.0)) == (math.inf, -math.inf)
    with pytest.raises(ValueError, match=r"NegativeLog is not finite at y=-2.5, p=0$"):
        require_convex(loss)
    for other in NEW[:-1]:
        require_convex(other)
    # Without a row there is no slope; the answer is still a number.
    assert loss.proximal_slope(0.0, -3.0, 0.0, -1.0) == -1e150


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: losses.PowerHinge(1.0), r"PowerHinge\(r\) must be a finite number above 1"),
        (lambda: losses.PowerHinge(math.inf), r"PowerHinge\(r\) must be a finite number above 1"),
        (lambda: losses.PowerHinge(2.0, 0), r"PowerHinge\(margin\) must be above 0"),
        (lambda: losses.OneSidedHuber(-1), r"OneSidedHuber\(margin\) must be above 0"),
    ],
)
def test_parameters_are_checked(make: Callable[[], Loss], message: str) -> None:
    with pytest.raises(ValueError, match=message) as caught:
        make()
    assert "\n" not in str(caught.value)


def test_slopes_stay_in_the_domain_of_the_conjugate_at_numbers_that_are_rounded() -> None:
    """Half of an odd subnormal number is rounded, and so was twice the quotient by it."""
    loss = losses.WinnowHinge()
    for steps in (1, 3, 5, 1001):
        z = steps * 5e-324
        assert z > 0.0 and loss.proximal_slope(-1.0, z, 5e-324, 0.0) <= 2.0
        assert math.isfinite(loss.conjugate(-1.0, loss.proximal_slope(-1.0, z, 5e-324, 0.0)))

"""What a loss or a map of one's own declares wrongly is refused before it is used."""

from __future__ import annotations

import math
from dataclasses import dataclass

import pytest

import noregret as nr
from noregret import mirrors, rates
from noregret.losses import Regression


@dataclass(frozen=True)
class Square(Regression):
    """The square loss, written anew."""

    def value(self, y: float, p: float) -> float:
        return (p - y) ** 2

    def slope(self, y: float, p: float) -> float:
        return 2.0 * (p - y)


@dataclass(frozen=True)
class Promising(Square):
    """Slopes that are steeper than promised."""

    def lipschitz(self) -> float:
        return 3.0


@dataclass(frozen=True)
class Lifted(Square):
    """Lines that are higher than they are."""

    def intercept(self, y: float, p: float, value: float, slope: float) -> float:
        return value - slope * p + 0.5


@dataclass(frozen=True)
class Wavy(Square):
    """A loss that is not convex."""

    def value(self, y: float, p: float) -> float:
        return 2.0 + math.cos(3.0 * (p - y))

    def slope(self, y: float, p: float) -> float:
        return -3.0 * math.sin(3.0 * (p - y))


@dataclass(frozen=True)
class Negative(Square):
    """A loss below 0 that says it never is."""

    def value(self, y: float, p: float) -> float:
        return (p - y) ** 2 - 1.0


@dataclass(frozen=True)
class Unlimited(Square):
    """A promise that is not a number."""

    def lipschitz(self) -> float:
        return math.nan


@dataclass(frozen=True)
class Unlevel(Square):
    """Lines that are nowhere."""

    def intercept(self, y: float, p: float, value: float, slope: float) -> float:
        return math.nan


@pytest.mark.parametrize(
    ("loss", "message"),
    [
        (Promising(), r"Promising.lipschitz\(\) is 3 but the slope at"),
        (Lifted(), "Lifted.intercept is .* above value - slope"),
        (Wavy(), "Wavy is not convex, or slope does not belong to value"),
        (Unlimited(), r"Unlimited.lipschitz\(\) is nan but the slope at"),
        (Unlevel(), "Unlevel.intercept is nan at .* above value - slope"),
        (Negative(), "Negative is -0.75 at .* set nonnegative = False"),
    ],
    ids=lambda given: type(given).__name__,
)
def test_a_loss_that_visibly_breaks_its_word_is_refused(loss: nr.losses.Loss, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        nr.certify([[1.0]], [0.0], [0.0], loss)
    assert nr.certify([[1.0]], [0.0], [0.5], Square()).loss == 0.25


@dataclass(frozen=True)
class Bowl(mirrors.Mirror):
    """Half a square, written anew."""

    def phi(self, a: float, reference: float) -> float:
        return 0.5 * a * a

    def phi_prime(self, a: float, reference: float) -> float:
        return a

    def psi(self, s: float, reference: float) -> float:
        return s

    def psi_prime(self, s: float, reference: float) -> float:
        return 1.0

    def smoothness(self) -> float:
        return 1.0


@dataclass(frozen=True)
class Dome(Bowl):
    """Weights that are not the gradient of a convex function."""

    def phi(self, a: float, reference: float) -> float:
        return 0.5 * a * a

    def phi_prime(self, a: float, reference: float) -> float:
        return 0.25 * a

    def smoothness(self) -> float:
        return 4.0


def test_a_map_that_is_no_gradient_is_refused() -> None:
    with pytest.raises(ValueError, match="Dome is not the gradient of a convex function"):
        nr.MirrorDescent(nr.losses.Hinge(), Dome(), rates.Constant(1.0))
    assert nr.MirrorDescent(nr.losses.Hinge(), Bowl(), rates.Constant(1.0)).rounds == 0

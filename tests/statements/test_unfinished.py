"""Losses and maps of a user's own with a method missing, wrong, or beyond the compiler."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import pytest

import noregret as nr
from noregret import losses, mirrors, oco, rates


@dataclass(frozen=True)
class NoSlope(losses.Loss):
    def value(self, y: float, p: float) -> float:
        return max(0.0, 1.0 - y * p)


@dataclass(frozen=True)
class NoValue(losses.Regression):
    def slope(self, y: float, p: float) -> float:
        return p - y


@dataclass(frozen=True)
class NoPsi(mirrors.Mirror):
    def phi(self, a: float, reference: float) -> float:
        return 0.5 * a * a

    def phi_prime(self, a: float, reference: float) -> float:
        return a

    def psi_prime(self, s: float, reference: float) -> float:
        return 1.0


@dataclass(frozen=True)
class Half(NoPsi):
    """Half the squared norm, whole."""

    def psi(self, s: float, reference: float) -> float:
        return s


@dataclass(frozen=True)
class Concave(Half):
    def phi(self, a: float, reference: float) -> float:
        return -0.5 * a * a

    def phi_prime(self, a: float, reference: float) -> float:
        return -a


@dataclass(frozen=True)
class Steep(Half):
    def phi_prime(self, a: float, reference: float) -> float:
        return 3.0 * a


@dataclass(frozen=True)
class Flat(Half):
    def phi_prime(self, a: float, reference: float) -> float:
        return 0.5 * a


@dataclass(frozen=True)
class Beyond(losses.Regression):
    """A list is no number, and `fsum` none of the functions that can be compiled."""

    def value(self, y: float, p: float) -> float:
        return math.fsum([p * p, -2.0 * p * y, y * y])

    def slope(self, y: float, p: float) -> float:
        return 2.0 * (p - y)


@pytest.mark.parametrize(("loss", "missing"), [(NoSlope(), "slope("), (NoValue(), "value(")])
def test_a_loss_without_a_method_is_refused_by_its_name(loss: Any, missing: str) -> None:
    makers = (
        lambda: nr.MirrorDescent(loss, mirrors.Euclidean(), rates.Constant(1.0)),
        lambda: nr.DualAscent(loss, mirrors.Euclidean()),
        lambda: nr.certify([[1.0]], [1.0], [0.0], loss),
    )
    for make in makers:
        with pytest.raises(ValueError) as refused:
            make()
        assert f"{type(loss).__name__} has no {missing}" in str(refused.value)


@pytest.mark.parametrize(
    ("mirror", "complaint"),
    [(NoPsi(), "psi("), (Concave(), "phi_prime"), (Steep(), "phi_prime"), (Flat(), "phi_prime")],
)
def test_a_map_that_is_no_gradient_of_a_convex_function_is_refused(
    mirror: Any, complaint: str
) -> None:
    makers = (
        lambda: nr.MirrorDescent(losses.Hinge(), mirror, rates.Constant(1.0)),
        lambda: oco.Game(2, mirror, rates.Constant(1.0)),
        lambda: nr.certify([[1.0]], [1.0], [0.0], losses.Hinge(), mirror=mirror),
    )
    for make in makers:
        with pytest.raises(ValueError) as refused:
            make()
        assert type(mirror).__name__ in str(refused.value) and complaint in str(refused.value)
    nr.MirrorDescent(losses.Hinge(), Half(), rates.Constant(1.0))


@pytest.mark.compiled
def test_a_loss_beyond_the_compiler_is_told_in_one_line_with_its_place() -> None:
    learner = nr.MirrorDescent(Beyond(), mirrors.Euclidean(), rates.Constant(0.1))
    calls = (
        lambda: learner.learn([[1.0]], [1.0]),
        lambda: nr.certify([[1.0]], [1.0], [0.0], Beyond()),
    )
    for call in calls:
        with pytest.raises(ValueError) as refused:
            call()
        told = str(refused.value)
        assert told.startswith("Beyond cannot be compiled (") and "fsum" in told
        assert "test_unfinished.py, line" in told and "\n" not in told
    assert learner.rounds == 0 and learner.dimension == 0

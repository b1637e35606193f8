"""A domain of one's own is measured along every axis."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import pytest

import noregret as nr
from noregret import domains, losses, mirrors, oco, rates


@dataclass(frozen=True)
class Slab(domains.Domain):
    """|u_1| <= 1 and |u_i| <= width for the others."""

    width: float = math.inf

    def contains(self, w, tolerance=1e-9):  # type: ignore[no-untyped-def]
        return bool(np.all(self.project(w) == np.asarray(w)))

    def project(self, w):  # type: ignore[no-untyped-def]
        ends = np.full(len(w), self.width)
        ends[0] = 1.0
        return np.clip(w, -ends, ends)

    def support(self, theta):  # type: ignore[no-untyped-def]
        sizes = np.abs(np.asarray(theta, np.float64))
        rest = sizes[1:][sizes[1:] > 0.0]
        return float(sizes[0] + (self.width * rest.sum() if len(rest) else 0.0))


@dataclass(frozen=True)
class Halved(domains.Ball):
    """A ball of half its radius."""

    def project(self, w):  # type: ignore[no-untyped-def]
        return domains.Ball(0.5 * self.radius).project(w)

    def support(self, theta):  # type: ignore[no-untyped-def]
        return domains.Ball(0.5 * self.radius).support(theta)


#: In double precision the second coordinates sum to 0, in truth they do not.
STEPS = [[1.0, 0.1], [1.0, 0.2], [1.0, -(0.1 + 0.2)]]


def _game(domain: domains.Domain) -> oco.GameCertificate:
    game = oco.Game(2, mirrors.Euclidean(), rates.Constant(0.1), domain)
    return oco.run(game, [oco.Linear(z) for z in STEPS])


def test_a_domain_without_a_bound_along_its_second_axis_has_no_floor() -> None:
    assert sum(Fraction(z[1]) for z in STEPS) != 0
    with pytest.raises(ValueError, match="has no bound"):
        _game(Slab()).floor()


def test_rounding_is_multiplied_by_the_longest_axis() -> None:
    width = 1e20
    floor = _game(Slab(width)).floor()
    for second in (-width, width):
        u = (Fraction(-1), Fraction(second))
        loss = sum(u[0] * Fraction(z[0]) + u[1] * Fraction(z[1]) for z in STEPS)
        assert Fraction(floor) <= loss


@pytest.mark.parametrize(
    "domain",
    [
        domains.Ball(2.0), domains.PNormBall(3.0, 2.0), domains.Box(-3.0, 2.0),
        domains.Simplex(2.0), domains.ClippedSimplex(0.2, 2.0), Slab(7.0),
    ],
)  # fmt: skip
def test_the_largest_coordinate_is_that_of_the_axes(domain: domains.Domain) -> None:
    known, measured = domain.largest_coordinate(3), domains.Domain.largest_coordinate(domain, 3)
    assert known == pytest.approx(measured, rel=1e-9)


def test_a_subclass_of_a_ball_is_not_a_ball() -> None:
    with pytest.raises(ValueError, match="Halved has no projection in the stream learners"):
        nr.MirrorDescent(losses.Hinge(), mirrors.Euclidean(), rates.Constant(), Halved(2.0))
    game = oco.Game(1, mirrors.Euclidean(), rates.Constant(1.0), Halved(2.0))
    proof = oco.run(game, [oco.Linear([1.0])] * 10)
    assert game.play()[0] == -1.0
    # Every u in the set: |u| <= 1, and not the 2 of its field.
    assert proof.floor() == pytest.approx(-10.0)


@dataclass(frozen=True)
class TooShort(Slab):
    """A support function that leaves out the second axis."""

    def support(self, theta):  # type: ignore[no-untyped-def]
        return abs(float(theta[0]))


def test_a_support_function_below_a_projection_is_refused() -> None:
    with pytest.raises(
        ValueError, match=r"TooShort.support\(\) is 0 along \[0.0, 1.0\], but the p"
    ):
        oco.Game(2, mirrors.Euclidean(), rates.Constant(0.1), TooShort(7.0))


@dataclass(frozen=True)
class Unknown(Slab):
    """A support function that is not a number."""

    def support(self, theta):  # type: ignore[no-untyped-def]
        return math.nan


def test_a_support_function_that_is_not_a_number_is_refused() -> None:
    with pytest.raises(ValueError, match=r"Unknown.support\(\) is nan along"):
        oco.Game(2, mirrors.Euclidean(), rates.Constant(0.1), Unknown(7.0))


def test_the_support_function_of_an_own_domain_is_an_assumption() -> None:
    assert _game(Slab(7.0)).assumption.endswith("to be convex, support() of Slab to be right")
    assert _game(domains.Ball(1.0)).assumption.endswith("to be convex")

"""Sums of parabolas: their oracles, and tangents that are true for every class."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pytest

import noregret as nr
from noregret.passes.curved_rows import Reach, Touch, enter_parabolas, predict
from noregret.passes.frame import block
from noregret.proof.curves import lowest_in_ball, touching
from noregret.proof.ledger import Entry, gradient_error
from noregret.proof.other_lines import with_blocks
from noregret.proof.quadratic import Bend, Quadratic
from noregret.rounding import EPSILON
from tests.floors.curve_problems import (
    POINTS,
    TARGETS,
    X,
    Y,
    certified,
    curved,
    defined,
    entered,
    no_sums,
    quadratic_of,
    rows_of,
)

LOGISTIC, SQUARED = nr.losses.Logistic(), nr.losses.Squared()
ONES = np.ones(3)


def intercept(one: Any) -> float:
    return float(one.tangent(np.zeros(3))[0][4:6].sum())


def test_so9_the_sums() -> None:
    one = entered(LOGISTIC, X, Y, POINTS, Reach(1.0, False))
    assert intercept(one) == pytest.approx(4.13828704303, rel=1e-11)
    Z = (-1.27761541615, 0.311153052075, -0.748220285204)
    np.testing.assert_allclose(one.slopes(1.0), Z, rtol=1e-11)
    H = [
        [0.418530117977, 0.0432471211902, 0.0710431731521],
        [0.0432471211902, 0.361387758072, -0.175503946636],
        [0.0710431731521, -0.175503946636, 0.374679328055],
    ]
    np.testing.assert_allclose(one.matrix, H, rtol=1e-11)


@pytest.mark.parametrize(
    ("radius", "v", "floor"),
    [
        (1.0, (0.864448501478, -0.191766205096, 0.464709060462), 2.86697062445),
        (4.0, (3.63383115156, -0.951640800973, 1.37464575359), 0.170543021663),
    ],
)
def test_so10_floors_of_balls(radius: float, v: Any, floor: float) -> None:
    one = entered(LOGISTIC, X, Y, POINTS, Reach(radius, False))
    np.testing.assert_allclose(lowest_in_ball(one, 1.0, radius, ONES), v, rtol=1e-9)
    assert curved(certified(LOGISTIC, X, Y, one), radius) == pytest.approx(floor, rel=1e-10)


@pytest.mark.parametrize(
    ("norm", "dual", "floor"),
    [(1.0, np.inf, 3.08513215766), (np.inf, 1.0, 2.44986194709)],
)
def test_so10_floors_of_other_classes(norm: float, dual: float, floor: float) -> None:
    ranges = np.linalg.norm(X, dual, axis=1)
    # The ball of the 2-norm around these classes; the ranges are those of the classes themselves.
    one = defined(LOGISTIC, X, Y, POINTS, ranges, 2.0)
    assert curved(certified(LOGISTIC, X, Y, one), 1.0, norm) == pytest.approx(floor, rel=1e-8)


def test_so10_the_square_loss_has_its_optimum_as_floor() -> None:
    one = entered(SQUARED, X, TARGETS, POINTS, Reach(np.inf, False))
    certificate = certified(SQUARED, X, TARGETS, one)
    assert curved(certificate, 0.3) == pytest.approx(1.35464462131, rel=1e-11)
    assert curved(certificate, 1.0) == pytest.approx(0.84453267456, rel=1e-11)
    u = np.array([0.3, -7.0, 2.0])
    lost = float(np.sum((X @ u - TARGETS) ** 2))
    assert certificate.regret(u) == pytest.approx(certificate.loss - lost, rel=1e-12)


def test_so8_curvatures_beyond_the_radius() -> None:
    points = zip(Y, POINTS, np.linalg.norm(X, axis=1) + np.abs(POINTS), strict=True)
    found = [LOGISTIC.curvature_below(y, p, p - far, p + far) for y, p, far in points]
    expected = [
        *(0.221529844797, 0.195265892637, 0.240504630918),
        *(0.13936616772, 0.171072445363, 0.198500949218),
    ]
    np.testing.assert_allclose(found, expected, rtol=1e-10)
    certificate = certified(LOGISTIC, X, Y, entered(LOGISTIC, X, Y, POINTS, Reach(1.0, True)))
    assert curved(certificate, 1.0) == pytest.approx(2.75258010249, rel=1e-10)
    assert curved(certificate, 2.0) == pytest.approx(1.14595803375, rel=1e-10)
    own = certified(LOGISTIC, X, Y, entered(LOGISTIC, X, Y, POINTS, Reach(1.0, False)))
    assert curved(own, 1.0 + 1e-9) == -np.inf


def optimum(loss: Any, radius: float, norm: float = 2.0) -> float:
    """Return the least loss over a ball of Set A, found by trying many points of it."""
    random = np.random.default_rng(1)
    best, centre, spread = np.inf, np.zeros(3), radius
    for _ in range(60):
        u = centre + spread * random.normal(size=(400, 3))
        length = np.linalg.norm(u, norm, axis=1)
        u *= np.minimum(1.0, radius / np.maximum(length, 1e-300))[:, None]
        lost = [sum(loss.value(y, float(x @ one)) for x, y in zip(X, Y, strict=True)) for one in u]
        if min(lost) < best:
            best, centre = min(lost), u[int(np.argmin(lost))]
        spread *= 0.8
    return best


@pytest.mark.parametrize("norm", [1.0, 1.5, 2.0, 3.0, np.inf])
@pytest.mark.parametrize("radius", [0.2, 1.0, 5.0])
def test_floors_of_all_norms_are_true_and_rise_above_those_of_the_lines(
    norm: float, radius: float
) -> None:
    reach = Reach(5.0 * np.sqrt(3.0), True)
    certificate = certified(LOGISTIC, X, Y, entered(LOGISTIC, X, Y, POINTS * 0.0, reach))
    best = optimum(LOGISTIC, radius, norm)
    floor = curved(certificate, radius, norm)
    lines = certificate.floors(radius, norm)["predictions"]
    assert lines < floor <= best or lines == floor == 0.0


def test_any_tangent_is_true_for_every_predictor_of_the_ball() -> None:
    """However far away it is taken, and by exact arithmetic."""
    random = np.random.default_rng(2)
    rows = random.normal(size=(40, 3)) * [1e-3, 1.0, 1e3]
    y = np.sign(random.normal(size=40))
    one = entered(SQUARED, rows, y, random.normal(size=40), Reach(np.inf, False))
    certificate = certified(SQUARED, rows, y, one)
    for size in (0.0, 1e-3, 1.0, 1e3, 1e6):
        u, v = size * random.normal(size=3), size * random.normal(size=3)
        lost = sum(
            (sum(Fraction(a) * Fraction(b) for a, b in zip(x, u, strict=True)) - Fraction(t)) ** 2
            for x, t in zip(rows, y, strict=True)
        )
        assert Fraction(certificate.regret(u)) >= Fraction(certificate.loss) - lost
        ledger, Z = one.tangent(v)
        below = with_blocks(certificate, ledger, Z).blocks[0]
        assert Fraction(below.regret(u)) >= Fraction(certificate.loss) - lost


def about_an_origin(origin: Any, offset: Any, rows: Any) -> tuple[Quadratic, Any]:
    """Return parabolas of the square loss that touch at an origin, and labels right there."""
    sums, y = no_sums(rows.shape[1]), np.empty(len(rows))
    sums.origin[:] = origin
    predict(block(rows_of(rows)), sums.origin, offset, y)
    touch, reach = Touch(y, np.ones(len(y)), y, y), Reach(np.inf, False)
    enter_parabolas(SQUARED, block(rows_of(rows)), touch, reach, sums)
    return quadratic_of(sums, reach), y


@pytest.mark.parametrize(("far", "shift"), [(1e-3, 1e12), (1e9, 0.0), (1e9, 1e12), (1.0, 1.0)])
def test_tangents_of_sums_about_an_origin_are_true_in_exact_arithmetic(
    far: float, shift: float
) -> None:
    """Also where the offset that they have there is rounded more than anything else."""
    random = np.random.default_rng(1)
    rows = random.normal(size=(30, 2))
    # Parts of <origin, x> cancel.
    rows[:, 1] = -rows[:, 0] * (1.0 + 1e-9 * random.normal(size=30))
    offset, origin = shift * (1.0 + random.random(30)), np.array([far, far])
    one, y = about_an_origin(origin, offset, rows)
    moved = [Fraction(o) - Fraction(t) for o, t in zip(offset, y, strict=True)]
    closest = -np.inf
    for size in (0.0, 1e-6, 1e-3, 1.0, 1e3):
        for _ in range(10):
            u = origin + size * random.normal(size=2)
            ledger, Z = one.tangent(u)
            lost = sum(
                (sum(Fraction(a) * Fraction(b) for a, b in zip(x, u, strict=True)) + shifted) ** 2
                for x, shifted in zip(rows, moved, strict=True)
            )
            line = Fraction(ledger[Entry.INTERCEPT]) + Fraction(ledger[Entry.INTERCEPT_LOW])
            line += sum(Fraction(a) * Fraction(b) for a, b in zip(Z, u, strict=True))
            slack = 32.0 * EPSILON * ledger[Entry.MAGNITUDE]
            slack += np.linalg.norm(u) * gradient_error(ledger[Entry.TRAVEL], 30, 2)
            closest = max(closest, float(line - lost) / slack)
    assert closest <= 1.0


def test_sums_that_overflowed_prove_nothing() -> None:
    one = entered(SQUARED, X * 1e160, TARGETS, POINTS, Reach(np.inf, False))
    assert not one.sound()
    certificate = certified(SQUARED, X, TARGETS, one)
    assert certificate.curves == () and list(certificate.floors(1.0)) == ["predictions"]


def test_weights_and_offsets() -> None:
    """A weight of 2 is the row twice; an offset moves the label of the square loss."""
    reach = Reach(np.inf, False)
    twice = entered(SQUARED, np.repeat(X, 2, 0), np.repeat(TARGETS, 2), np.zeros(12), reach)
    heavy = entered(SQUARED, X, TARGETS, POINTS, reach, weight=2.0 * np.ones(6))
    moved = entered(SQUARED, X, TARGETS + 3.0, POINTS, reach, weight=[2] * 6, offset=[3.0] * 6)
    floors = [curved(certified(SQUARED, X, TARGETS, one), 0.3) for one in (twice, heavy, moved)]
    np.testing.assert_allclose(floors, 2.0 * 1.35464462131, rtol=1e-10)


def test_ridge_floors_of_the_square_loss_are_its_ridge_optimum() -> None:
    one = entered(SQUARED, X, TARGETS, POINTS, Reach(np.inf, False))
    certificate = certified(SQUARED, X, TARGETS, one)
    best = nr.hindsight(X, TARGETS, SQUARED, l2=0.5, tol=1e-10)
    floor = certificate.regularized_floor(2.0)
    assert best.primal * (1.0 - 1e-8) <= floor <= best.primal
    limited = certified(LOGISTIC, X, Y, entered(LOGISTIC, X, Y, POINTS, Reach(1.0, True)))
    plain = certified(LOGISTIC, X, Y)
    assert limited.regularized_floor(2.0) == plain.regularized_floor(2.0)


def test_the_matrix_is_a_twofold_sum() -> None:
    rows = np.array([[1e8], *[[1.0]] * 6])
    one = entered(SQUARED, rows, np.zeros(7), np.zeros(7), Reach(np.inf, False))
    assert one.matrix[0, 0] == 2e16 + 12.0


def test_the_rounding_that_a_tangent_is_allowed() -> None:
    """As many roundings as terms have, of their sizes and those of products with v."""
    one = entered(LOGISTIC, X, Y, POINTS, Reach(9.0, False))
    certificate = certified(LOGISTIC, X, Y, one)
    for v in (np.zeros(3), np.array([1.0, -2.0, 2.0])):
        (lines,) = touching(certificate, v)
        length, errors = 1.0 * np.linalg.norm(v), (3.0 + 8.0) * EPSILON
        (flat,) = touching(certificate, np.zeros(3))
        assert flat.slack >= 32.0 * EPSILON * one.ledger[Entry.MAGNITUDE]
        bent = errors * length**2 * one.bends[Bend.SQUARES]
        assert lines.slack - flat.slack == pytest.approx(bent, rel=1e-6, abs=0.0)
        for place, bend in ((Entry.TRAVEL, Bend.TRAVEL), (Entry.SCALED_TRAVEL, Bend.SCALED_TRAVEL)):
            moved = 32.0 * EPSILON * one.ledger[place] + errors * length * one.bends[bend]
            assert moved <= lines.moved(place) <= 1.01 * moved + 1e-190
    c = [
        LOGISTIC.curvature_below(y, p, -9.0 * n, 9.0 * n)
        for y, p, n in zip(Y, POINTS, np.linalg.norm(X, axis=1), strict=True)
    ]
    norms, ones = np.linalg.norm(X, axis=1), np.abs(X).sum(axis=1)
    np.testing.assert_allclose(one.bends[Bend.SQUARES], np.sum(c * norms**2), rtol=1e-9)
    for bend in (Bend.TRAVEL, Bend.SCALED_TRAVEL):
        np.testing.assert_allclose(one.bends[bend], np.sum(c * norms * ones), rtol=1e-9)
    slopes = [abs(LOGISTIC.slope(y, p)) for y, p in zip(Y, POINTS, strict=True)]
    travel = np.sum((slopes + np.array(c) * np.abs(POINTS)) * ones)
    np.testing.assert_allclose(one.ledger[Entry.TRAVEL], travel, rtol=1e-9)

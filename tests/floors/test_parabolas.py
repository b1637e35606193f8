"""Parabolas under blocks of rows: oracles, true floors, blocks that calls do not move."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import noregret as nr
from noregret.floors import leader
from noregret.floors.parabolas import RADII, Parabolas
from noregret.floors.pending import Pending
from noregret.proof.curves import reach_of
from noregret.proof.evidence import FeatureSizes
from noregret.proof.ledger import Entry
from noregret.proof.other_lines import with_curves
from noregret.proof.quadratic import Bend
from noregret.rows.examples import as_rows
from tests.floors.curve_problems import X, Y, certified, curved
from tests.losses.test_minorants import CURVED
from tests.truth.hindsight_problems import LOSSES

LOGISTIC = nr.losses.Logistic()
#: -ln p is infinite at 0, so that nobody certifies it.
PROVABLE = [one for one in CURVED if not isinstance(one, nr.losses.NegativeLog)]
SCALE_FREE = FeatureSizes(None, None, math.inf, 0.0, 1.0)


def made(loss: Any, radius: float | None) -> Parabolas:
    """Return parabolas for a class that is known in advance, or for one that is not."""
    return Parabolas(loss) if radius is None else Parabolas(loss, (radius,), measured=False)


def fed(
    loss: Any, data: Any, most: int, radius: float | None = None, cuts: Any = ()
) -> tuple[Parabolas, Pending]:
    """Return the parabolas of rows that came in parts, blocks of `most` rows each."""
    rows, y, weight = data
    parabolas, pending = made(loss, radius), Pending(1 << 40, most)
    for begin, end in zip((0, *cuts), (*cuts, len(y)), strict=True):
        part = as_rows(np.ascontiguousarray(rows[begin:end]))
        parabolas.widen(part.width)
        for full in pending.take(part, y[begin:end], weight[begin:end], np.zeros(end - begin)):
            parabolas.enter(full)
    return parabolas, pending


def curves(parabolas: Parabolas, pending: Pending) -> Any:
    return parabolas.curves(pending.held(parabolas.width) if len(pending) else None)


def draw(loss: Any, seed: int = 0, count: int = 60, width: int = 4) -> tuple[Any, Any, Any]:
    """Return rows of very different sizes, one far larger late, labels, weights of which some 0."""
    random = np.random.default_rng(seed)
    rows = random.normal(size=(count, width)) * (random.random((count, width)) < 0.7)
    rows *= 10.0 ** random.integers(-2, 3, width)
    rows[2 * count // 3] *= 50.0
    y = np.sign(rows @ random.normal(size=width) + random.normal(size=count) + 1e-9)
    if loss.labels == "real":
        y = y * random.random(count) * 3.0
    return rows, y, random.choice([0.0, 0.5, 1.0, 2.0], count)


@pytest.mark.parametrize(
    ("radius", "leaders", "floor"),
    [
        (
            1.0,
            [
                (0.654423417521, -0.158533579475, 0.739322050787),
                (0.854217240386, -0.184787444486, 0.485969656035),
            ],
            2.92966580118,
        ),
        (
            2.0,
            [
                (1.31319689371, -0.234389391897, 1.49015956572),
                (1.71581931473, -0.382676632, 0.953688982073),
            ],
            2.15021161573,
        ),
    ],
)
def test_so14(radius: float, leaders: Any, floor: float, monkeypatch: pytest.MonkeyPatch) -> None:
    """With as many steps as it takes: those that gain little are left out otherwise."""
    monkeypatch.setattr(leader, "LITTLE", 1e-15)
    ones = np.ones(6)
    first, _ = fed(LOGISTIC, (X[:3], Y[:3], ones[:3]), 3, radius)
    both, pending = fed(LOGISTIC, (X, Y, ones), 3, radius)
    np.testing.assert_allclose(first.state["leader"][0], leaders[0], rtol=1e-7)
    np.testing.assert_allclose(both.state["leader"][0], leaders[1], rtol=1e-7)
    certificate = certified(LOGISTIC, X, Y, *curves(both, pending))
    assert curved(certificate, radius) == pytest.approx(floor, rel=1e-9)


@pytest.mark.parametrize("loss", PROVABLE, ids=str)
@pytest.mark.parametrize("radius", [0.3, 30.0, 500.0])
def test_no_predictor_of_the_class_is_below_the_floor(loss: Any, radius: float) -> None:
    """Judged by the best in hindsight, whose value is rounded up, in both kinds of units."""
    rows, y, weight = draw(loss, count=40)
    m = np.abs(rows[weight > 0.0]).max(axis=0)
    sized = replace(SCALE_FREE, sizes=m)
    given: Any = {"radius": radius, "weight": weight, "tol": 1e-6, "max_passes": 100}
    least = {
        own: nr.hindsight(scaled, y, loss, **given).primal
        for own, scaled in ((None, rows / m), (radius, rows))
    }
    plain = nr.certify(rows, y, np.zeros(len(y)), loss, weight)
    for own, best in least.items():
        certificate = plain if own is not None else replace(plain, evidence=sized)
        for most in (1, 16, 1000):
            parts = curves(*fed(loss, (rows, y, weight), most, own))
            assert len(parts) == len([one for one in parts if one.sound()])
            assert -math.inf < curved(with_curves(certificate, parts), radius) <= best


def test_every_loss_with_curvature_that_is_solved_in_hindsight_is_tried() -> None:
    kinds = {type(loss) for loss in LOSSES if isinstance(loss, nr.losses.Loss)}
    curved_kinds = {kind for kind in kinds if kind().has_curvature()}
    assert curved_kinds - {nr.losses.NegativeLog} <= {type(loss) for loss in PROVABLE}


def test_floors_are_close_to_the_optimum_and_above_the_lines() -> None:
    random = np.random.default_rng(3)
    rows = random.normal(size=(1000, 5))
    y = np.where(rows @ [1.0, -2.0, 0.5, 0.0, 1.0] + random.logistic(size=1000) > 0.0, 1.0, -1.0)
    best = nr.hindsight(rows, y, LOGISTIC, radius=2.0, tol=1e-7).primal
    data = rows, y, np.ones(1000)
    certificate = certified(LOGISTIC, rows, y, *curves(*fed(LOGISTIC, data, 250, 2.0)))
    assert 0.985 * best < curved(certificate, 2.0) <= best
    # With a radius that was not named the largest feature is the unit.
    unknown = with_curves(certificate, curves(*fed(LOGISTIC, data, 250)))
    assert 0.97 * best < curved(unknown, 2.0) <= best


def test_a_named_radius_is_a_limit_and_the_last_of_several_is_not() -> None:
    data = draw(LOGISTIC)
    named = certified(LOGISTIC, data[0], data[1], *curves(*fed(LOGISTIC, data, 16, 2.0)))
    assert curved(named, 2.0) > -math.inf == curved(named, 2.1)
    several = curves(*fed(LOGISTIC, data, 16))
    assert [one.radius for one in several] == list(RADII)
    assert [one.share(1e3) for one in several[:2]] == [0.0, 0.0]
    assert several[2].share(128.0) == pytest.approx(0.5)


@pytest.mark.parametrize("radius", [None, 2.0])
def test_no_bit_depends_on_where_calls_end(radius: float | None) -> None:
    data = draw(LOGISTIC)
    whole, held = fed(LOGISTIC, data, 16, radius)
    assert len(held) == 60 % 16
    for cuts in ((1,), (20, 21, 50), tuple(range(1, 60))):
        same_arrays(fed(LOGISTIC, data, 16, radius, cuts)[0].state, whole.state)


def same_arrays(one: Any, other: Any) -> None:
    assert one.keys() == other.keys()
    for name, array in one.items():
        np.testing.assert_array_equal(array, other[name], strict=True)


def test_a_look_changes_nothing_and_a_restored_state_goes_on_to_the_bit() -> None:
    rows, y, weight = draw(LOGISTIC)
    whole, _ = fed(LOGISTIC, (rows, y, weight), 16)
    first, held = fed(LOGISTIC, (rows[:32], y[:32], weight[:32]), 16)
    before = first.arrays()
    curves(first, fed(LOGISTIC, (rows[32:40], y[32:40], weight[32:40]), 16)[1])
    same_arrays(first.arrays(), before)
    second = Parabolas(LOGISTIC)
    second.restore(before)
    pending = Pending(1 << 40, 16)
    for full in pending.take(as_rows(rows[32:]), y[32:], weight[32:], np.zeros(28)):
        second.enter(full)
    same_arrays(second.state, whole.state)
    assert not len(held)


def test_arrays_of_other_radii_or_shapes_are_refused() -> None:
    parabolas, _ = fed(LOGISTIC, draw(LOGISTIC), 16)
    with pytest.raises(ValueError, match=r"are of the radii \[4.0, 16.0, 64.0\], not \[2.0\]"):
        made(LOGISTIC, 2.0).restore(parabolas.arrays())
    wider = parabolas.arrays() | {"leader": np.zeros((3, 99))}
    with pytest.raises(ValueError, match="leader of parabolas is"):
        parabolas.restore(wider)
    broken = parabolas.arrays() | {"bends": np.full((3, len(Bend)), np.nan)}
    with pytest.raises(ValueError, match="bends of parabolas must hold finite numbers"):
        parabolas.restore(broken)


def test_dense_and_sparse_blocks_enter_the_same_sums() -> None:
    """Where no feature is 0 a block is read as a matrix."""
    random = np.random.default_rng(4)
    rows, y = random.normal(size=(40, 3)), np.sign(random.normal(size=40))
    wide = np.column_stack([rows, np.zeros(40)])
    wide[0, 3] = 1e-300
    dense, _ = fed(LOGISTIC, (rows, y, np.ones(40)), 20)
    sparse, _ = fed(LOGISTIC, (wide, y, np.ones(40)), 20)
    np.testing.assert_allclose(
        sparse.state["matrix"][:, :3, :3], dense.state["matrix"], rtol=1e-9, atol=1e-12
    )


def test_the_sizes_that_errors_are_proportional_to() -> None:
    rows, y, weight = draw(LOGISTIC, count=20)
    parabolas, _ = fed(LOGISTIC, (rows, y, weight), 1, 1e3)
    one = parabolas.curves()[0]
    lines = np.abs(weight[:, None] * rows).sum()
    assert 0.0 < one.ledger[Entry.TRAVEL] <= lines * (1.0 + 1e3)
    assert one.ledger[Entry.ROUNDS] == 20.0
    assert one.bends[Bend.SQUARES] >= np.trace(one.matrix) * (1.0 - 1e-12) > 0.0
    assert one.bends[Bend.TRAVEL] >= one.bends[Bend.SQUARES]
    u = np.ones(4)
    assert one.bends[Bend.TRAVEL] * 2.0 >= np.abs(one.matrix @ u).sum()


def test_how_far_a_class_reaches_in_units_of_the_features() -> None:
    """At least the largest ||m u||_2 of many predictors, and attained for balls."""
    rows, y, weight = np.diag([10.0, 1.0, 0.2]), np.ones(3), np.ones(3)
    one = made(LOGISTIC, None)
    one.widen(3)
    for full in Pending(3).take(as_rows(rows), y, weight, np.zeros(3)):
        one.enter(full)
    first, m = one.curves()[0], np.array([10.0, 1.0, 0.2])
    np.testing.assert_array_equal(first.units, m)
    plain, random = nr.certify(rows, y, np.zeros(3), LOGISTIC), np.random.default_rng(5)
    for norm in (1.0, 1.5, 2.0, 3.0, np.inf):
        u = random.normal(size=(20000, 3)) * random.choice([0.01, 1.0], (20000, 3))
        u /= np.linalg.norm(u, norm, axis=1)[:, None]
        far = float(np.linalg.norm(m * u, axis=1).max())
        assert 2.0 * far <= reach_of(plain, first, 2.0, norm) <= 2.02 * far
    assert reach_of(plain, first, 2.0, None) == pytest.approx(20.0, rel=1e-12)
    box = replace(plain, domain=nr.domains.Box(-0.5, 2.0))
    assert reach_of(box, first, None, None) == pytest.approx(2.0 * np.linalg.norm(m), rel=1e-9)
    simplex = replace(plain, domain=nr.domains.Simplex(3.0))
    assert reach_of(simplex, first, None, None) == pytest.approx(30.0, rel=1e-12)
    for share, reach in ((1.0, 2.0), (2.0, 2.0), (0.25, 8.0), (0.0, np.inf)):
        sized = replace(plain, evidence=replace(SCALE_FREE, sizes=m * share))
        with np.errstate(invalid="ignore"):
            assert reach_of(sized, first, 2.0, None) == pytest.approx(reach, rel=1e-12)
    assert reach_of(replace(plain, evidence=SCALE_FREE), first, 2.0, None) == np.inf
    named = replace(first, measured=False)
    assert reach_of(sized, named, 2.0, None) == np.inf


def test_rows_of_weight_0_do_not_count_for_the_units() -> None:
    rows, y = np.array([[1.0], [100.0], [-2.0]]), np.ones(3)
    parabolas, _ = fed(LOGISTIC, (rows, y, np.array([1.0, 0.0, 2.0])), 3)
    np.testing.assert_array_equal(parabolas.state["sizes"], [2.0])

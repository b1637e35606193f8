"""Traps of rounds: which of them a floor of blocks speaks about, and for how large a class."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

import noregret as nr
from noregret.learners.foreign import Certifier
from noregret.passes.curved_rows import Reach
from noregret.proof.ledger import Entry
from noregret.proof.quadratic import Bend
from noregret.proof.statement import BLOCKS, PARABOLAS, PREDICTIONS
from tests.floors.curve_problems import curved, entered
from tests.truth.hindsight_problems import LOSSES

LOGISTIC, PLAIN = nr.losses.Logistic(), nr.mirrors.Euclidean()
#: Losses of one score with parabolas; -ln p is infinite at 0, so that nobody certifies it.
CURVED = [
    loss
    for loss in LOSSES
    if isinstance(loss, nr.losses.Loss)
    and loss.has_curvature()
    and not isinstance(loss, nr.losses.NegativeLog)
]


def draw(rows: int = 60, seed: int = 0) -> tuple[Any, Any]:
    random = np.random.default_rng(seed)
    X = random.normal(size=(rows, 3))
    return X, np.sign(X @ [1.0, -2.0, 0.5] + random.normal(size=rows))


@pytest.mark.parametrize("kept", [True, "parabolas"])
def test_rounds_that_a_conservative_learner_skips_are_held_back(kept: Any) -> None:
    """It updates on mistakes only; the class loses in every round."""
    X, y = draw()
    learner = nr.MirrorDescent(
        LOGISTIC, PLAIN, nr.rates.Constant(0.3), conservative=True, blocks=kept
    )
    made = learner.learn(X, y)
    certificate = learner.certificate()
    assert 0 < certificate.mistakes < 60 == learner._lines.rounds
    whole = nr.certify(X, y, made, LOGISTIC, blocks=kept)
    for radius in (0.3, 1.0):
        found, expected = certificate.floors(radius), whole.floors(radius)
        for origin in (BLOCKS, PARABOLAS) if kept == "parabolas" else (BLOCKS,):
            assert found[origin] == pytest.approx(expected[origin], rel=1e-12)
        best = nr.hindsight(X, y, LOGISTIC, radius=radius, tol=1e-6).primal
        assert 0.9 * best < max(found.values()) <= best


@pytest.mark.parametrize("loss", [LOGISTIC, nr.losses.Squared()], ids=str)
def test_a_floor_above_the_players_loss_is_printed_with_a_negative_regret(loss: Any) -> None:
    """The player tracks what turns; every fixed predictor is wrong half of the time."""
    rows = np.ones((400, 1))
    y = np.where(np.arange(400) // 100 % 2 == 0, 1.0, -1.0)
    learner = nr.MirrorDescent(loss, PLAIN, nr.rates.Constant(0.4), blocks=True)
    learner.learn(rows, y)
    certificate = learner.certificate()
    floor = certificate.floor(2.0)
    assert floor > certificate.loss + 10.0
    assert floor <= nr.hindsight(rows, y, loss, radius=2.0, tol=1e-9).primal
    assert certificate.regret_bound(2.0) == pytest.approx(certificate.loss - floor)
    assert "regret at most                  -" in certificate.text(2.0)


@pytest.mark.parametrize("loss", CURVED, ids=str)
def test_no_floor_of_a_loss_that_is_not_negative_is_below_0(loss: Any) -> None:
    X, y = draw()
    for kept, named in ((True, None), (True, 1e6), ("parabolas", None)):
        certificate = nr.certify(X, y, np.full(60, 0.1), loss, blocks=kept, radius=named)
        for radius in (0.0, 1e3, 1e6, 1e12):
            assert all(floor >= 0.0 for floor in certificate.floors(radius).values())


@pytest.mark.parametrize("loss", CURVED, ids=str)
@pytest.mark.parametrize("radius", [1.0, 1e3, 1e9])
def test_separable_rows_have_finite_leaders_and_true_floors(loss: Any, radius: float) -> None:
    """Newton's method alone would run away: in the ball, and after few steps, it cannot."""
    X = np.random.default_rng(1).normal(size=(80, 3))
    y = np.where(X[:, 0] > 0.0, 1.0, -1.0)
    certifier = Certifier(loss, blocks=True, radius=radius)
    certifier.add(X, y, np.zeros(80))
    certificate = certifier.certificate()
    certifier.close_block()
    assert np.all(np.isfinite(certifier.arrays()["blocks_curves_leader"]))
    best = nr.hindsight(X, y, loss, radius=radius, tol=1e-6, max_passes=200).primal
    for one in (certificate, certifier.certificate()):
        assert all(floor <= best for floor in one.floors(radius).values())


def test_a_state_of_another_radius_is_refused() -> None:
    """Its curvatures would be taken for those of a larger class."""
    X, y = draw()
    small, large = (Certifier(LOGISTIC, blocks=True, radius=radius) for radius in (1.0, 50.0))
    small.add(X, y, np.zeros(60))
    with pytest.raises(ValueError, match=r"are of the radii \[1.0\], not \[50.0\]"):
        large.restore(small.arrays())


@pytest.mark.parametrize("layout", [np.asarray, sp.csr_matrix])
def test_beyond_a_promised_radius_there_are_lines_only(layout: Any) -> None:
    """Also after a file and after the end of a block: a radius of the map is a promise."""
    X, y = draw()
    learner = nr.MirrorDescent(LOGISTIC, nr.mirrors.Ball(1.0), nr.rates.Adaptive(), blocks=True)
    learner.learn(layout(X[:30]), y[:30])
    learner.close_block()
    learner = nr.MirrorDescent._from_file(*learner._to_file())
    learner.learn(layout(X[30:]), y[30:])
    certificate = learner.certificate()
    assert curved(certificate, 1.0) > -math.inf == curved(certificate, math.nextafter(1.0, 2.0))
    for radius in (0.5, 1.0, 1.0001, 4.0):
        best = nr.hindsight(X, y, LOGISTIC, radius=radius, tol=1e-7).primal
        floors = certificate.floors(radius)
        assert (PARABOLAS in floors) == (radius <= 1.0)
        assert max(floors.values()) == certificate.floor(radius) <= best
        assert floors[PREDICTIONS] <= best


def test_rows_of_weight_0_are_rounds_without_a_loss_or_a_size() -> None:
    X, y = draw()
    outlier = np.full((5, 3), 1e9)
    plain, more = Certifier(LOGISTIC, blocks="parabolas"), Certifier(LOGISTIC, blocks="parabolas")
    plain.add(X, y, np.zeros(60))
    more.add(outlier, np.ones(5), np.zeros(5), np.zeros(5))
    more.add(X, y, np.zeros(60))
    more.add(outlier, np.ones(5), np.zeros(5), np.zeros(5))
    few, many = plain.certificate(), more.certificate()
    assert many.rounds == few.rounds + 10
    for radius in (0.5, 2.0):
        for origin, floor in few.floors(radius).items():
            assert many.floors(radius)[origin] == pytest.approx(floor, rel=1e-6)


@pytest.mark.parametrize("loss", [LOGISTIC, nr.losses.Squared(), nr.losses.SquaredHinge()], ids=str)
@pytest.mark.parametrize("kept", [True, "parabolas"])
def test_offsets_belong_to_the_predictions_of_the_class(loss: Any, kept: Any) -> None:
    """One feature: every u is tried. Ranges of curvature are those of <u, x> + offset."""
    random = np.random.default_rng(4)
    x, y = random.normal(size=(50, 1)), random.choice([-1.0, 1.0], 50)
    offset = 3.0 * random.normal(size=50)
    learner = nr.DualAscent(loss, PLAIN, 0.3, blocks=kept)
    for part in (slice(0, 20), slice(20, 50)):
        learner.learn(x[part], y[part], offset=offset[part])
        learner = nr.DualAscent._from_file(*learner._to_file())
    certificate = learner.certificate()
    for radius in (0.1, 1.0, 4.0, 10.0):
        grid = np.linspace(-radius, radius, 801)
        best = min(
            sum(loss.value(t, u * v + o) for t, v, o in zip(y, x[:, 0], offset, strict=True))
            for u in grid
        )
        floors = certificate.floors(radius)
        assert 0.9 * best < max(floors.values()) <= best
        assert (PARABOLAS in floors) == (kept == "parabolas" or isinstance(loss, nr.losses.Squared))


@pytest.mark.parametrize("loss", [LOGISTIC, nr.losses.SquaredHinge(), nr.losses.Huber()], ids=str)
@pytest.mark.parametrize("offset", [-6.0, 0.0, 6.0])
def test_the_range_of_a_row_lies_around_its_offset(loss: Any, offset: float) -> None:
    """One row, u from -2 to 2: the parabola is below the loss at <u, x> + offset."""
    row, offsets = np.array([[1.0]]), np.array([offset])
    for point in (-1.0, 0.0, offset, offset + 1.0):
        given = loss, row, np.ones(1), np.array([point]), Reach(2.0, False)
        one = entered(*given, offset=offsets)
        rise = one.ledger[Entry.INTERCEPT] + 0.5 * one.bends[Bend.RISE]
        for u in np.linspace(-2.0, 2.0, 81):
            height = rise + one.slopes(1.0)[0] * u + 0.5 * one.matrix[0, 0] * u * u
            assert height <= loss.value(1.0, u + offset) + 1e-12

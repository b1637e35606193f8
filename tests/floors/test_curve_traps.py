"""Traps of floors with curvature: what looks like a parabola below the loss and is none."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pytest

import noregret as nr
from noregret.floors import block_curves
from noregret.floors.parabolas import Parabolas
from noregret.floors.pending import Pending
from noregret.learners.foreign import Certifier
from noregret.passes.curved_rows import Reach
from noregret.proof.evidence import FeatureSizes
from noregret.proof.other_lines import with_curves
from noregret.rows.examples import as_rows
from tests.floors.curve_problems import X, Y, certified, curved, entered

LOGISTIC = nr.losses.Logistic()


@dataclass(frozen=True)
class Local(nr.losses.Logistic):
    """The curvature at the point of contact, which is not below the loss elsewhere."""

    def curvature_below(self, y: float, p: float, low: float, high: float) -> float:
        return nr.losses.Logistic().curvature_below(y, p, p, p)


def test_the_second_derivative_at_the_point_is_no_curvature_below() -> None:
    zeros, reach, optimum = np.zeros(6), Reach(4.0, False), 1.39376409399
    right = certified(LOGISTIC, X, Y, entered(LOGISTIC, X, Y, zeros, reach))
    assert curved(right, 4.0) == pytest.approx(1.05282824317, rel=1e-10)
    wrong = certified(LOGISTIC, X, Y, entered(Local(), X, Y, zeros, reach))
    assert curved(wrong, 4.0) == pytest.approx(2.06228436093, rel=1e-10)
    assert curved(wrong, 4.0) > optimum


def one_feature(seed: int) -> tuple[Any, Any, Any]:
    """Return rows of one feature whose size jumps up and down, labels and weights."""
    random = np.random.default_rng(seed)
    x = random.normal(size=(40, 1)) * 10.0 ** random.integers(-3, 3, (40, 1))
    return x, random.choice([-1.0, 1.0], 40), random.choice([0.0, 1.0, 3.0], 40)


def least(loss: Any, x: Any, y: Any, weight: Any, radius: float, offset: Any = 0.0) -> float:
    """Return the least loss of all |u| <= radius of one feature, tried at many points."""
    fine = np.concatenate([np.linspace(-1.0, 1.0, 1001), np.geomspace(1e-9, 1.0, 400)])
    grid = radius * np.concatenate([fine, -fine])
    p = y * (grid[:, None] * x[:, 0] + offset)
    lost = np.logaddexp(0.0, -p) if loss is LOGISTIC else 0.5 * np.maximum(1.0 - p, 0.0) ** 2
    return float((weight * lost).sum(axis=1).min())


@pytest.mark.parametrize("loss", [LOGISTIC, nr.losses.SquaredHinge()], ids=str)
def test_units_that_jump_late_make_no_false_floor(loss: Any) -> None:
    """With units that shrank, parabolas of early rows would bend too much for the class."""
    for seed in range(30):
        x, y, weight = one_feature(seed)
        sizes = np.abs(x[weight > 0.0]).max(axis=0)
        plain = nr.certify(x, y, np.zeros(40), loss, weight)
        plain = replace(plain, evidence=FeatureSizes(None, None, math.inf, 0.0, 1.0, sizes))
        parabolas, pending = Parabolas(loss), Pending(1 << 40, 7)
        parabolas.widen(1)
        before = 0.0
        for full in pending.take(as_rows(x), y, weight, np.zeros(40)):
            parabolas.enter(full)
            assert parabolas.state["sizes"][0] >= before
            before = parabolas.state["sizes"][0]
        certificate = with_curves(plain, parabolas.curves(pending.held(1)))
        for radius in (0.1, 4.0, 16.0, 50.0, 300.0):
            best = least(loss, x, y, weight, radius / sizes[0])
            assert curved(certificate, radius) <= best * (1.0 + 1e-9)
            for u in np.array([-1.0, 0.3, 1.0]) * radius / sizes[0]:
                lost = least(loss, u * x, y, weight, 0.0, u * x[:, 0])
                assert certificate.regret([u]) >= (certificate.loss - lost) * (1.0 - 1e-9) - 1e-9


def test_part_of_the_matrix_is_not_below_the_whole() -> None:
    """Features that are nearly equal: a diagonal learner's matrix would prove too much."""
    false = 0
    for seed in range(60):
        random = np.random.default_rng(seed)
        rows = random.normal(size=(6, 1)) + 0.05 * random.normal(size=(6, 3))
        y = random.choice([-1.0, 1.0], 6)
        one = entered(LOGISTIC, rows, y, np.zeros(6), Reach(3.0, False))
        best = nr.hindsight(rows, y, LOGISTIC, radius=3.0, tol=1e-7).primal
        assert curved(certified(LOGISTIC, rows, y, one), 3.0) <= best
        diagonal = replace(one, matrix=np.diag(np.diag(one.matrix)) * 3.0, lowest={})
        wrong = replace(one, matrix=np.diag(np.diag(one.matrix)), lowest={})
        # Three times the diagonal is above the matrix, and the diagonal itself is not below it.
        assert np.linalg.eigvalsh(diagonal.matrix - one.matrix)[0] > -1e-12
        assert np.linalg.eigvalsh(one.matrix - wrong.matrix)[0] < 0.0
        false += curved(certified(LOGISTIC, rows, y, wrong), 3.0) > best
    assert false > 0


@pytest.mark.parametrize("size", [1e-150, 1e-20, 1.0, 1e20, 1e60])
def test_tiny_and_huge_rows_duplicated_features_and_weights_of_0(size: float) -> None:
    random = np.random.default_rng(11)
    x = random.normal(size=(50, 1)) * size
    rows = np.hstack([x, x, np.zeros((50, 1))])
    y, weight = random.choice([-1.0, 1.0], 50), random.choice([0.0, 1.0, 1e-6, 1e6], 50)
    weight[:3] = 0.0
    for radius in (1e-3, 1.0, 30.0):
        blocks = Certifier(LOGISTIC, blocks=True, radius=radius / size)
        blocks.add(rows, y, np.zeros(50), weight)
        certificate = blocks.certificate()
        # <u, x> has the size sqrt(2) radius at most.
        best = least(LOGISTIC, x / size, y, weight, math.sqrt(2.0) * radius)
        assert certificate.floor(radius / size) <= best * (1.0 + 1e-9)
        if 1e-100 < size:
            assert curved(certificate, radius / size) > 0.5 * best


def test_a_loss_of_the_users_own_is_refused() -> None:
    with pytest.raises(ValueError, match="not Local"):
        nr.certify(X, Y, np.zeros(6), Local(), blocks=True)


def test_a_radius_needs_blocks() -> None:
    with pytest.raises(ValueError, match="give blocks=True"):
        nr.certify(X, Y, np.zeros(6), LOGISTIC, radius=1.0)
    with pytest.raises(ValueError, match="radius must be a finite number above 0"):
        nr.certify(X, Y, np.zeros(6), LOGISTIC, blocks=True, radius=-1.0)


@pytest.mark.parametrize(
    ("loss", "blocks", "radius", "sums", "widest"),
    [
        (LOGISTIC, "parabolas", None, 3, 512),
        (LOGISTIC, True, 2.0, 1, 128),
        (nr.losses.Squared(), True, None, 1, 128),
        (LOGISTIC, True, None, 0, 0),
        (nr.losses.Hinge(), True, 2.0, 0, 0),
    ],
)
def test_parabolas_are_made_where_they_are_asked_for_or_cheap(
    loss: Any, blocks: Any, radius: Any, sums: int, widest: int
) -> None:
    for width, expected in ((min(widest, 130), sums), (widest + 1, 0)):
        certifier = Certifier(loss, blocks=blocks, radius=radius)
        certifier.add(np.ones((2, max(width, 1))), np.ones(2), np.zeros(2))
        assert len(certifier.certificate().curves) == expected


def test_only_curved_losses_have_parabolas() -> None:
    with pytest.raises(ValueError, match="Hinge has no parabolas below it: give True"):
        Certifier(nr.losses.Hinge(), blocks="parabolas")
    with pytest.raises(ValueError, match="expected True, False or 'parabolas'"):
        Certifier(LOGISTIC, blocks="curves")


def test_too_many_features_have_lines_only(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(block_curves.BlockCurves.__init__, "__defaults__", (None, 1 << 18, 4))
    random = np.random.default_rng(12)
    rows, y = random.normal(size=(5, 5)), np.ones(5)
    certifier = Certifier(LOGISTIC, blocks="parabolas")
    certifier.add(rows[:, :4], y, np.zeros(5))
    assert len(certifier.certificate().curves) == 3
    certifier.add(rows, y, np.zeros(5))
    certificate = certifier.certificate()
    assert not certificate.curves and list(certificate.floors(1.0)) == [
        "predictions", "blocks of rows"
    ]  # fmt: skip
    again = Certifier(LOGISTIC, blocks="parabolas")
    again.restore(certifier.arrays())
    assert not again.certificate().curves


def test_the_print_names_the_parabolas_and_their_radius() -> None:
    both = nr.certify(X, Y, np.zeros(6), LOGISTIC, blocks=True, radius=2.0)
    floors = both.as_dict(2.0)["floors"]
    assert floors == both.floors(2.0) and max(floors, key=floors.get) == (
        "parabolas at blocks of rows"
    )
    assert "a round, by parabolas at blocks of rows of radius 2\n" in both.text(2.0)
    square = nr.certify(X, Y, np.zeros(6), nr.losses.Squared(), blocks=True)
    assert "a round, by parabolas at blocks of rows\n" in square.text(2.0)

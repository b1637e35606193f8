"""Constants of theorems that a safeguard would hide, and checks that must not go missing."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.sparse import csr_array

import noregret as nr
from noregret import losses, mirrors, rates
from noregret.experts import Shares
from noregret.mirrors import Mirror
from noregret.proof.ledger import Entry
from tests.truth.claims import bare_theorems


def test_an_eighth_of_the_squared_ranges_is_the_price_of_an_expert() -> None:
    eta, rng = 0.5, np.random.default_rng(1)
    share = Shares(3, eta, 1e-12, high=2.0)
    costs = 2.0 * rng.random((40, 3))
    share.learn(costs)
    widths = costs.max(axis=1) - costs.min(axis=1)
    with bare_theorems():
        bounds = {bound.name: bound.value for bound in share.certificate().bounds}
    hoeffding = math.log(3.0) / eta + eta * float(widths @ widths) / 8.0
    assert bounds["one expert, observed ranges"] == pytest.approx(hoeffding, rel=1e-9)


@pytest.mark.parametrize(
    ("mirror", "grid"),
    [
        (mirrors.Entropy(), 2.0**0.125),
        (mirrors.SignedEntropy(2.0), 2.0**0.125),
        (mirrors.Ball(2.0), 1.0),
    ],
)
def test_an_eighth_of_an_octave_is_added_to_the_complexity_of_doubling_entropies(
    mirror: Mirror, grid: float
) -> None:
    learner = nr.MirrorDescent(losses.Hinge(), mirror, rates.Doubling(0.5), dimension=3)
    rng = np.random.default_rng(2)
    learner.learn(rng.random((20, 3)), rng.choice([-1.0, 1.0], 20))
    proof = learner.certificate()
    with bare_theorems():
        bound = next(bound for bound in proof.bounds if bound.name.startswith("doubling"))
    scale = float(proof.radius or 1.0)
    # Epochs of 1, 2, 4, 8 and 5 of 16 rounds, each at its own rate.
    etas = [learner.rate.at(2.0**m - 1.0, 0.0, 0.0) for m in range(5)]
    largest = [mirror.complexity(scale, eta, 3) for eta in etas]
    stability = 0.5 * mirror.smoothness() * float(proof.ledger[Entry.RATED_SQUARES])
    assert bound.value == pytest.approx(grid * sum(largest) + stability, rel=1e-9)


MAPS = [
    mirrors.Euclidean(),
    mirrors.Ball(2.0),
    mirrors.PNorm(3.0),
    mirrors.SoftThreshold(0.1),
    mirrors.Box(-1.0, 2.0),
    mirrors.Box(0.5, 2.0),
    mirrors.Box(-2.0, -0.5),
]


@pytest.mark.parametrize("mirror", MAPS, ids=str)
def test_phi_is_zero_at_zero(mirror: Mirror) -> None:
    assert mirror.phi(0.0, 0.0) == 0.0


def test_the_sum_of_phi_of_a_box_is_its_conjugate() -> None:
    box = mirrors.Box(0.5, 2.0)
    for a in (-3.0, 0.0, 1.0, 7.0):
        best = max(a * w - 0.5 * w * w + 0.125 for w in np.linspace(0.5, 2.0, 1501))
        assert box.phi(a, 0.0) == pytest.approx(best, abs=1e-6)


def _fixed(dimension: int) -> nr.MirrorDescent:
    return nr.MirrorDescent(
        losses.Squared(), mirrors.Entropy(), rates.Constant(0.1), dimension=dimension
    )


def _free() -> nr.MirrorDescent:
    return nr.MirrorDescent(losses.Squared(), mirrors.Euclidean(), rates.Constant(0.1))


@pytest.mark.parametrize("order", [(0, 1), (1, 0)])
def test_rows_wider_than_one_member_leave_all_members_as_they_were(order: tuple[int, int]) -> None:
    members = [_free(), _fixed(3)]
    aggregate = nr.Aggregate([members[k] for k in order])
    aggregate.learn(csr_array(np.eye(3)), [1.0, 0.0, 1.0])
    before = [member.certificate().as_dict() for member in members]
    weights = [member.weights.copy() for member in members]
    with pytest.raises(ValueError, match="X has 5 columns, the learner knows 3"):
        aggregate.learn(csr_array(np.ones((2, 5))), [1.0, 0.0])
    assert [member.certificate().as_dict() for member in members] == before
    for member, kept in zip(members, weights, strict=True):
        assert np.array_equal(member.weights, kept)
    assert aggregate.certificate().rounds == 3


def test_a_wide_row_is_refused_before_any_member_is_asked() -> None:
    asked: list[int] = []

    class Asked(nr.MirrorDescent):
        def learn(self, X: object, y: object, weight: object = None) -> np.ndarray:
            asked.append(1)
            return super().learn(X, y, weight)

    watched = Asked(losses.Squared(), mirrors.Euclidean(), rates.Constant(0.1))
    aggregate = nr.Aggregate([watched, _fixed(2)])
    with pytest.raises(ValueError):
        aggregate.learn(csr_array(np.ones((1, 4))), [1.0])
    assert not asked and watched.rounds == 0

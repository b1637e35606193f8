"""The convex game: the numbers of the papers."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

from noregret import domains, losses, mirrors, oco, rates
from noregret.proof.ledger import Entry
from tests.sizes import sized

Z = [[0.5, 0, 1], [1, 0.25, 0], [0, 1, 0.5], [0.75, 0.5, 0]]
ZS = [[0.5, -0.25, 1], [-1, 0.25, 0], [0, 1, -0.5], [0.75, -0.5, 0]]
DATA_A = [
    ([1, 0, 0.5], 0.8),
    ([0.2, 1, 0], 0.1),
    ([0, 0.5, 1], 0.9),
    ([1, 1, 0], 0.3),
    ([0.5, 0, 1], 1.0),
]
half = rates.Constant(0.5)


def near(value: Any) -> Any:
    return pytest.approx(value, rel=1e-10, abs=1e-12)


def linear(game: Any, costs: Any) -> oco.GameCertificate:
    return oco.run(game, map(oco.Linear, costs))


def bound(bounds: list[Any], name: str) -> Any:
    return next(b for b in bounds if b.name == name)


@dataclass(frozen=True)
class Predict:
    """A loss of one real prediction as a loss of the weights."""

    loss: Any
    x: Any
    y: float

    def value(self, w: Any) -> float:
        return self.loss.value(self.y, float(w @ np.array(self.x)))

    def subgradient(self, w: Any) -> Any:
        return self.loss.slope(self.y, float(w @ np.array(self.x))) * np.array(self.x, float)


# ---- the numbers of the papers ----------------------------------------------------------


def test_the_model_of_the_convex_game() -> None:  # S-7
    game = oco.Game(1, mirrors.Euclidean(), rates.Constant(0.25))
    assert game.play() == 0.0
    game.suffer(1.0, [-2.0])  # (w - 1)^2 at 0
    assert game.play() == 0.5
    game.suffer(0.5, [1.0])  # |w| at 1/2
    assert game.loss - (0.75**2 + 0.25) == near(0.6875)


def test_linearisation_of_the_hinge() -> None:  # S-16
    hinge = Predict(losses.Hinge(), [1, 2], 1)
    w = np.array([0.1, 0.2])
    assert hinge.value(w) == near(0.5) and list(hinge.subgradient(w)) == [-1, -2]
    assert float(np.linalg.norm(hinge.subgradient(w))) == near(2.2360679775)


def test_online_gradient_descent_on_absolute_losses() -> None:  # S-17
    game = oco.Game(3, mirrors.Euclidean(), rates.Constant(0.1))
    absolute = [Predict(losses.Absolute(), x, y) for x, y in DATA_A]
    proof = oco.run(game, absolute)
    assert proof.loss == near(2.45) and game.play() == near([0.27, 0.25, 0.25])
    assert float(proof.ledger[Entry.SQUARES]) == near(6.79)
    u = np.array([0.5, 0, 0.5])
    assert sum(f.value(u) for f in absolute) == near(0.9)
    assert bound(proof.bounds_at(u), "mirror descent, observed gradients").value == near(2.8395)
    player = oco.FollowTheRegularizedLeader(3, mirrors.Euclidean(), 0.1)
    linear(player, [f.subgradient(w) for f, w in zip(absolute, _points(absolute), strict=True)])
    assert player.play() == near([0.27, 0.25, 0.25])
    assert bound(
        player.certificate().bounds_at(u), "FoReL, observed gradients, plain"
    ).value == near(3.179)


def _points(functions: list[Predict]) -> list[Any]:
    game = oco.Game(3, mirrors.Euclidean(), rates.Constant(0.1))
    points = []
    for function in functions:
        points.append(game.play())
        game.face(function)
    return points


def test_strong_convexity_of_the_entropy() -> None:  # S-18
    a, b = [0.5, 0.3, 0.2], [0.2, 0.2, 0.6]
    value = oco.divergence(mirrors.Entropy(), a, b)
    assert value == near(0.360062440636) and value >= 0.5 * np.abs(np.subtract(a, b)).sum() ** 2


TABLE = [  # S-23: map, domain, w_5, sum <w,z>, sum D, regret at w_5, bound on sum D
    (
        mirrors.Euclidean(), None, (-0.125, -0.25, -0.25), 0.96875, 1.109375, 1.25, 1.109375,
    ),
    (
        mirrors.Euclidean(), domains.Ball(0.3), (-0.1, -0.2, -0.2),
        0.495791507053, 0.630791507053, 0.720791507053, 1.109375,
    ),
    (
        mirrors.Euclidean(), domains.Simplex(), (0.416666666667, 0.291666666667, 0.291666666667),
        1.22916666667, 0.822916666667, 0.833333333333, 1.109375,
    ),
    (
        mirrors.Entropy(), None, (0.361664463092, 0.319167768454, 0.319167768454),
        0.708112167366, 0.294964379083, 0.298528283139, 0.890625,
    ),
    (
        mirrors.Entropy(2), None, (0.723328926185, 0.638335536908, 0.638335536908),
        1.41622433473, 0.589928758166, 0.597056566278, 1.78125,
    ),
    (
        mirrors.UnnormalizedEntropy(1 / 3), None,
        (0.294165634195, 0.259600261024, 0.259600261024),
        0.703658244333, 0.330390556818, 0.37051657476, math.nan,
    ),
    (
        mirrors.PNorm(3), None, (-0.0486138898416, -0.194455559366, -0.194455559366),
        0.686597557105, 0.789902073019, 0.893206588932, 1.92624941855,
    ),
]  # fmt: skip


@pytest.mark.parametrize(
    ("mirror", "domain", "last", "played", "divergence", "regret", "observed"), TABLE
)
def test_mirror_descent_table(
    mirror: Any,
    domain: Any,
    last: Any,
    played: float,
    divergence: float,
    regret: float,
    observed: float,
) -> None:  # S-23, S-25, S-26, S-29, S-30; fmt: skip
    game = oco.Game(3, mirror, half, domain)
    first = game.play()
    proof = linear(game, ZS)
    assert game.play() == near(last)
    assert proof.loss == near(played)
    assert proof.monitors.divergence == near(divergence)
    w = game.play()
    plain = mirror if domain is None else mirrors.Euclidean()
    parts = [plain.regularizer(v, 0.5) for v in (w, first)]
    assert parts[0] - parts[1] + divergence == near(regret)
    assert played - float(np.sum(ZS, axis=0) @ w) == near(regret)
    assert proof.regret(w) == near(regret)
    bounds = proof.bounds_at(w)
    assert bound(bounds, "mirror descent, after the fact").value == near(regret)
    if not math.isnan(observed):
        found = bound(bounds, "mirror descent, observed gradients").value
        assert found == near(parts[0] - parts[1] + observed)
    else:
        assert not any("observed" in b.name for b in bounds)


def test_the_mass_of_a_lazy_simplex_is_found_by_sorting() -> None:  # S-25
    game = oco.Game(3, mirrors.Euclidean(), rates.Constant(1.0), domains.Simplex())
    game.suffer(0.0, [-0.75, -0.5, 1.0])
    assert game.play() == near([0.625, 0.375, 0])


def test_stability_of_exponentiated_gradient_at_tiny_rates() -> None:  # S-24
    w, z, eta = np.array([0.25, 0.75]), np.array([1, 0.2]), 1e-8
    a = np.log(w)
    assert mirrors.Entropy().stability(a, w, eta * z) / eta == near(5.999999992e-10)
    assert mirrors.UnnormalizedEntropy(1.0).stability(a, w, eta * z) / eta == near(
        eta / 2 * float(w @ z**2) - eta**2 / 6 * float(w @ z**3)
    )


def test_weights_survive_underflow() -> None:  # T-6
    game = oco.Game(2, mirrors.Entropy(), rates.Constant(1.0))
    for z in ([1, 0], [0, 1]):
        # e^-746 underflows.
        for _ in range(sized(800, 2000)):
            game.suffer(0.0, z)
    assert list(game.play()) == [0.5, 0.5]


def test_conjugates() -> None:  # S-27
    theta = np.array([0.3, -0.2, 0.5])
    assert mirrors.Euclidean().potential(theta) == near(0.19)
    assert mirrors.PNorm(3).potential(theta) == near(0.147361259946)
    assert mirrors.PNorm(3).link(theta) == near([0.165781417439, -0.0736806299728, 0.46050393733])
    entropy = mirrors.Entropy()
    assert entropy.potential(theta) + math.log(3) == near(1.33954620386)
    assert entropy.link(theta) == near([0.353615114727, 0.214478408819, 0.431906476454])
    assert mirrors.UnnormalizedEntropy(1.0).potential(theta) + 3 == near(3.81731083135)
    assert (entropy.potential(0.5 * theta) + math.log(3)) / 0.5 == near(2.41833681402)
    shifted = theta - np.array([0.1, 0.1, -0.1])
    assert entropy.potential(shifted) + math.log(3) == near(1.33087144082)


def test_smoothness_of_the_conjugate() -> None:  # S-28
    z = np.array([0.5, -0.25, 1])
    value = mirrors.Entropy().stability(np.zeros(3), np.full(3, 1 / 3), 0.5 * z) / 0.5
    assert value == near(0.0667530964969)
    assert value <= 0.5 * 1.25**2 / 8 == 0.09765625


def test_local_norms_of_exponentiated_gradient() -> None:  # S-31
    proof = linear(oco.Game(3, mirrors.Entropy(), half), ZS)
    assert proof.loss - np.sum(ZS, axis=0)[0] == near(0.458112167366)
    assert proof.monitors.local / 0.5 == near(1.50064855083)
    found = proof.bounds_at([1, 0, 0])
    assert bound(found, "exponentiated gradient, local norms").value == near(2.94754885275)
    signed = bound(found, "exponentiated gradient, costs >= 0")
    assert not signed.applies and signed.reason == "z_i >= 0 does not hold since round 1"
    assert math.log(3) / 0.5 + 0.5 / 8 * (1.25**2 + 1.25**2 + 1.5**2 + 1.25**2) == near(
        bound(found, "exponentiated gradient, range of costs").value
    )
    steep = linear(oco.Game(3, mirrors.Entropy(), rates.Constant(1.5)), ZS)
    broken = bound(steep.bounds, "exponentiated gradient, local norms")
    assert not broken.applies and broken.reason == "eta z_i >= -1 does not hold since round 2"


def test_unnormalised_exponentiated_gradient() -> None:  # S-32
    proof = linear(oco.Game(3, mirrors.UnnormalizedEntropy(1 / 3), half), ZS)
    u = np.array([0, 1, 0.5])
    assert proof.loss - float(np.sum(ZS, axis=0) @ u) == near(-0.0463417556672)
    assert proof.monitors.local / 0.5 == near(1.39588406271)
    found = proof.bounds_at(u)
    assert bound(found, "exponentiated gradient, local norms").value == near(2.3006317168)
    assert bound(found, "mirror descent, after the fact").value == near(1.93308024226)


def test_weighted_majority() -> None:  # S-33
    game = oco.Game(3, mirrors.Entropy(), half, gradient_limit=1.0, nonnegative=True)
    game.face(oco.Linear(Z[0]))
    assert game.play() == near([0.3264958358, 0.41922895161, 0.25427521259])
    proof = linear(game, Z[1:])
    assert proof.loss == near(1.95606185566)
    assert game.play() == near([0.267449986218, 0.343412579996, 0.389137433786])
    assert min(np.sum(Z, axis=0)) == near(1.5)
    assert proof.floor() == near(1.5)
    assert proof.monitors.local / 0.5 == near(1.56655440531)
    assert proof.monitors.divergence == near(0.146482673402)
    assert 1.5 + bound(proof.bounds, "exponentiated gradient, local norms").value == near(
        4.48050177999
    )
    assert 1.5 + bound(proof.bounds, "mirror descent, after the fact").value == near(3.84370725074)
    advance = bound(proof.bounds, "mirror descent, in advance").value
    assert 1.5 + advance == near(5.69722457734 - 0.5 * 4 + 0.5 * 4 / 2)
    mix = -math.log(np.exp(-0.5 * np.sum(Z, axis=0)).mean()) / 0.5
    assert mix == near(1.80957918226) and mix == near(proof.loss - proof.monitors.divergence)


def test_divergences() -> None:  # T-2
    u, w = [0.7, 0.1, 0.2], [0.2, 0.3, 0.5]
    assert oco.divergence(mirrors.Euclidean(), u, w) == near(0.19)
    assert oco.divergence(mirrors.Entropy(), u, w) == near(0.583814702705)
    free = mirrors.UnnormalizedEntropy(1.0)
    assert oco.divergence(free, u, [0.5, 1.5, 0.25]) == near(1.17009683526)
    corner, middle = [1, 0, 0], [0.5, 0.25, 0.25]
    for mirror in (mirrors.Entropy(), free):
        assert oco.divergence(mirror, corner, middle) == near(0.69314718056)
    assert oco.divergence(free, middle, corner) == math.inf
    assert mirrors.Euclidean().regularizer(np.array(u), 1.0) == near(0.27)
    tiny = oco.divergence(free, [1 + 1e-9], [1.0])
    assert tiny == pytest.approx(5e-19, rel=1e-6)


def test_one_step_of_the_generic_update() -> None:  # T-3
    w, x = np.array([0.2, 0.3, 0.5]), [1, 0, 0.5]
    square = Predict(losses.Squared(), x, 0.8).subgradient(w)
    assert square == near([-0.7, 0, -0.35])
    assert Predict(losses.Absolute(), x, 0.8).subgradient(w) == near([-1, 0, -0.5])
    s = 1 / (1 + math.exp(-0.45))
    assert s == near(0.610639233949)
    assert (s - 0.8) * s * (1 - s) * np.array(x) == near([-0.0450222187842, 0, -0.0225111093921])
    assert oco.step(mirrors.Euclidean(), w, square, 0.1) == near([0.27, 0.3, 0.535])
    free = mirrors.UnnormalizedEntropy(1.0)
    assert oco.step(free, w, square, 0.1) == near([0.214501636251, 0.3, 0.5178098544])
    assert oco.step(mirrors.Entropy(), w, square, 0.1) == near(
        [0.20778770574, 0.290609959026, 0.501602335235]
    )


REGRESSIONS = [  # T-4, T-5, T-6
    (
        mirrors.Euclidean(), 1 / 8, (0, 0.04, 0.1075, 0.3170625, 0.3974921875), 1.63496304303,
        (0.274047851562, 0.109796875, 0.448751953125),
    ),
    (
        mirrors.UnnormalizedEntropy(), 1 / 3,
        (0.5, 0.414760183877, 0.503509281099, 0.698822432981, 0.629475454155), 0.642626635651,
        (0.338593924236, 0.236414074062, 0.614301899403),
    ),
    (
        mirrors.Entropy(), 2 / 3,
        (0.5, 0.349659414884, 0.473854755061, 0.521343162376, 0.685310966057), 0.481951576839,
        (0.243167070962, 0.13452492619, 0.622308002847),
    ),
]  # fmt: skip


@pytest.mark.parametrize("lazy", [True, False])
@pytest.mark.parametrize(("mirror", "eta", "predictions", "loss", "last"), REGRESSIONS)
def test_regression_with_three_potentials(
    mirror: Any, eta: float, predictions: Any, loss: float, last: Any, lazy: bool
) -> None:
    game = oco.Game(3, mirror, rates.Constant(eta), lazy=lazy)
    for (x, y), wanted in zip(DATA_A, predictions, strict=True):
        assert float(game.play() @ np.array(x)) == near(wanted)
        game.face(Predict(losses.Squared(), x, y))
    assert game.loss == near(loss) and game.play() == near(last)


@pytest.mark.parametrize("mirror", [mirrors.Entropy(), mirrors.UnnormalizedEntropy(1.0)])
@pytest.mark.parametrize("eta", [0.1, 3.0, 1e3])
def test_implicit_steps(mirror: Any, eta: float) -> None:  # T-7, CG-7
    w, x, y = np.array([0.2, 0.3, 0.5]), np.array([1, 0, 0.5]), 0.8
    assert oco.implicit_step(mirrors.Euclidean(), w, x, y, 0.1) == near([0.256, 0.3, 0.528])
    moved = oco.implicit_step(mirror, w, x, y, eta)
    # Optimality: it is the explicit step by the gradient at the new point.
    gradient = 2 * (float(moved @ x) - y) * x
    assert moved == pytest.approx(oco.step(mirror, w, gradient, eta), rel=1e-9)
    # And no point nearby is better.
    rng = np.random.default_rng(3)
    for _ in range(20):
        other = moved * np.exp(0.01 * rng.normal(size=3))
        if isinstance(mirror, mirrors.Entropy):
            other /= other.sum()
        values = [
            oco.divergence(mirror, v, w) + eta * (float(v @ x) - y) ** 2 for v in (moved, other)
        ]
        assert values[0] <= values[1] + 1e-12


def test_bregman_projections_obey_pythagoras() -> None:  # T-9
    cases = [
        (mirrors.Euclidean(), domains.Ball(2), [3, 4], [1, -1], (14.5, 3.4, 4.5)),
        (
            mirrors.UnnormalizedEntropy(1.0), domains.Box(0.1, 10), [0.05, 0.1, 3, 20],
            [0.2, 0.3, 0.4, 5], (10.119409545, 3.4965160117, 3.08784291246),
        ),
        (
            mirrors.Entropy(), domains.ClippedSimplex(0.4), [0.7, 0.2, 0.06, 0.04],
            [0.4, 0.3, 0.2, 0.1], (0.230216851311, 0.11887077833, 0.0484852070389),
        ),
    ]  # fmt: skip
    for mirror, domain, w, u, wanted in cases:
        p = mirror.project(domain, np.array(w, float))
        pairs = [(u, w), (u, p), (p, w)]
        assert [oco.divergence(mirror, *pair) for pair in pairs] == near(list(wanted))
        assert wanted[0] >= wanted[1] + wanted[2]

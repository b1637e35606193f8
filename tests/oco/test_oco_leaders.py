"""Leaders, the doubling trick, tuned rates and online-to-batch: the numbers of the papers."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from scipy import optimize

from noregret import domains, mirrors, oco, rates
from noregret.proof import closed_forms

half = rates.Constant(0.5)


def near(value: Any) -> Any:
    return pytest.approx(value, rel=1e-10, abs=1e-12)


def bound(bounds: list[Any], name: str) -> Any:
    return next(b for b in bounds if b.name == name)


def test_follow_the_leader_in_the_quadratic_game() -> None:  # S-10, S-11
    leader = oco.FollowTheLeader(2)
    proof = oco.run(leader, map(oco.Quadratic, [[1, 0], [0, 1], [1, 1]]))
    assert leader.play() == near([2 / 3, 2 / 3])
    assert proof.loss == near(1.75)
    # The parabolas are the losses themselves: the floor is the minimum.
    assert proof.floor() == near(2 / 3)
    assert proof.regret([2 / 3, 2 / 3]) == near(1.08333333333333)
    assert bound(proof.bounds, "follow the leader, after the fact").value == near(1.38888888888889)
    gaps = bound(proof.bounds, "quadratic game, observed").value
    assert bound(proof.bounds, "quadratic game").value == near(16.7888983093) and gaps < 16.7
    assert gaps == near(1 + 2 / 2 + (0.25 + 0.25) / 3)


def test_the_quadratic_game_asks_for_a_small_first_point() -> None:  # ES-23
    leader = oco.FollowTheLeader(1, start=[5.0])
    proof = oco.run(leader, [oco.Quadratic([0.0])])
    found = bound(proof.bounds, "quadratic game")
    assert not found.applies and "w_1" in found.reason
    leader.face(oco.Linear([1.0]))
    found = bound(leader.certificate().bounds, "quadratic game, observed")
    assert not found.applies and "round 2" in found.reason


@pytest.mark.parametrize(("first", "loss"), [(1.0, 7.5), (0.0, 8.0), (-1.0, 8.5)])
def test_follow_the_leader_fails_on_linear_losses(first: float, loss: float) -> None:  # S-12
    leader = oco.FollowTheLeader(1, domains.Box(-1, 1), start=[first])
    plays = []
    for t in range(1, 10):
        plays.append(float(leader.play()[0]))
        leader.face(oco.Linear([-0.5 if t == 1 else 1.0 if t % 2 == 0 else -1.0]))
    assert plays == [first, 1, -1, 1, -1, 1, -1, 1, -1]
    proof = leader.certificate()
    assert proof.loss == near(loss)
    assert proof.floor() == near(-0.5)
    assert bound(proof.bounds, "follow the leader, after the fact").value >= loss + 0.5


def distance(a: float) -> tuple[Callable[..., Any], Callable[..., Any]]:
    return (lambda w: abs(w[0] - a)), (lambda w: np.sign(w - a))


def test_regularised_leader_on_absolute_losses() -> None:  # S-13, S-19
    player = oco.FollowTheRegularizedLeader(1, mirrors.Euclidean(), 0.3, domains.Box(-1, 1))
    plays = []
    for a in (0.5, -0.2, 0.8):
        plays.append(float(player.play()[0]))
        player.face(distance(a))
    assert [*plays, float(player.play()[0])] == near([0, 0.3, 0, 0.3])
    proof = player.certificate()
    assert proof.loss == near(1.8)
    bounds = proof.bounds_at([0.5])
    assert bound(bounds, "FoReL, after the fact").value == near(1.31666666666667)
    assert bound(bounds, "FoReL, largest gradient").value == near(1.31666666666667)
    assert bound(bounds, "FoReL, observed gradients").value == near(0.866666666666667)
    sharp = bound(bounds, "FoReL, exact stability").value
    assert 0.8 <= sharp <= bound(bounds, "FoReL, observed gradients").value
    assert proof.regret([0.5]) >= 0.8 - 1e-12


def test_tuned_rates_and_their_bounds() -> None:  # S-14, S-20, S-21, S-22, S-26, S-30
    def best(mirror: Any, d: int, T: int, G: float, radius: float | None = None) -> oco.Tuned:
        return oco.tuned(mirror, d, T, G, radius)

    assert best(mirrors.Euclidean(), 1, 100, 1.0, 1.0).bound == near(10)
    assert math.sqrt(2) * best(mirrors.Ball(1), 1, 100, 1.0).bound == near(14.1421356237)
    assert best(mirrors.Ball(2), 1, 50, 0.5).bound == near(7.07106781187)
    assert math.sqrt(2) * best(mirrors.Ball(2), 1, 50, 0.5).bound == near(10)
    assert math.sqrt(2) * best(mirrors.Ball(1), 16, 100, 4.0).bound == near(56.5685424949)
    found = best(mirrors.Entropy(), 16, 100, 1.0)
    assert found.bound == near(23.5482004503) and found.rate.eta == near(0.235482004503)
    assert best(mirrors.Entropy(), 16, 100, 0.5).bound == near(11.7741002252)  # ES-4
    d = 10**4
    large = best(mirrors.PNorm(2 * math.log(d)), d, 1, math.sqrt(math.e), 1.0)
    assert large.bound == near(6.88144751529)
    assert best(mirrors.Entropy(), d, 1, 1.0).bound == near(4.29193205258)
    assert best(mirrors.PNorm(3), 4, 100, 1.0, 1.0).rate.eta == near(math.sqrt(0.5 / 100))


def test_the_doubling_trick() -> None:  # S-15, G-3
    assert closed_forms.doubling_regret(1.0, 5) == near(4.41421356237)
    assert closed_forms.doubling_regret(1.0, 100) == near(24.8994949366)
    assert (math.sqrt(10) - 1) / (math.sqrt(2) - 1) == near(5.22020005279)
    horizons = []

    def make(horizon: int) -> oco.Game:
        horizons.append(horizon)
        return oco.Game(3, mirrors.Ball(1), rates.Constant(1 / math.sqrt(horizon)))

    player = oco.doubling(make, alpha=1.0)
    ours = oco.Game(3, mirrors.Ball(1), rates.Doubling(1.0))
    rng = np.random.default_rng(1)
    for _ in range(11):
        assert player.play() == near(ours.play())
        z = rng.normal(size=3)
        z /= np.linalg.norm(z)
        value = float(player.play() @ z)
        player.suffer(value, z)
        ours.suffer(value, z)
    assert horizons == [1, 2, 4, 8] and player.rounds == 11
    assert player.average == near(ours.average)
    proof, other = player.certificate(), ours.certificate()
    assert (proof.loss, proof.floor(0.7)) == near((other.loss, other.floor(0.7)))
    after = bound(proof.bounds, "doubling trick: mirror descent, after the fact")
    assert after.value == near(bound(other.bounds, "doubling trick, after the fact").value)
    last = proof.bounds[-1]
    assert last.value == near(closed_forms.doubling_regret(1.0, 11)) and after.value <= last.value


def test_the_doubling_trick_around_leaders() -> None:
    player = oco.doubling(lambda n: oco.FollowTheRegularizedLeader(2, mirrors.Ball(1), n**-0.5))
    proof = oco.run(player, map(oco.Quadratic, np.random.default_rng(2).normal(size=(9, 2))))
    assert proof.rounds == 9 and proof.floor() <= proof.loss
    assert bound(proof.bounds, "doubling trick: FoReL, after the fact").applies
    with pytest.raises(ValueError, match="whole losses"):
        player.suffer(0.0, [0.0, 0.0])
    changing = oco.doubling(lambda n: oco.Game(n, mirrors.Euclidean(), half))
    with pytest.raises(ValueError, match="same dimension"):
        changing.face(oco.Linear([1.0]))


def test_online_to_batch_by_enumeration() -> None:  # S-50, S-51, S-52
    def risk(w: float) -> float:
        return 0.3 * abs(w - 1) + 0.7 * abs(w + 0.5)

    averaged = randomised = online = regret = bounds = 0.0
    for sample in itertools.product([1.0, -0.5], repeat=4):
        chance = math.prod(0.3 if psi == 1 else 0.7 for psi in sample)
        game, points = oco.Game(1, mirrors.Euclidean(), rates.Constant(0.3)), []
        for psi in sample:
            points.append(float(game.play()[0]))
            game.face(distance(psi))
        averaged += chance * risk(float(game.average[0]))
        randomised += chance * sum(map(risk, points)) / 4
        online += chance * game.certificate().average_loss
        regret += chance * (game.loss - sum(abs(-0.5 - psi) for psi in sample)) / 4
        found = bound(game.certificate().bounds_at([-0.5]), "mirror descent, observed gradients")
        bounds += chance * found.value / 4
    assert (averaged, randomised, online) == near((0.59858, 0.61573, 0.61573))
    assert risk(-0.5) == near(0.45) and regret == near(0.16573)
    assert bounds == near(0.254166666667) and averaged - 0.45 == near(0.14858)
    leader = oco.FollowTheLeader(1)
    oco.run(leader, map(distance, [1, -0.5, -0.5, 1, -0.5]))
    erm = float(leader.play()[0])
    assert erm == near(-0.5)
    assert np.mean([abs(erm - psi) for psi in (1, -0.5, -0.5, 1, -0.5)]) == near(0.6)


def square(w: Any) -> float:
    return 0.5 * float(w @ w)


@pytest.mark.parametrize("mirror", [mirrors.Entropy(2.0), mirrors.UnnormalizedEntropy(0.25)])
def test_entropic_leader_on_quadratics(mirror: Any) -> None:  # S-22 beyond linear losses
    player = oco.FollowTheRegularizedLeader(4, mirror, eta=0.7)
    rng = np.random.default_rng(5)
    for _ in range(6):
        player.face(oco.Quadratic(rng.normal(size=4), 0.8))
        player.face(oco.Linear(rng.normal(size=4)))
    w, past = player.play(), player._past
    for _ in range(50):
        other = w * np.exp(0.05 * rng.normal(size=4))
        if isinstance(mirror, mirrors.Entropy):
            other *= 2.0 / other.sum()
        assert past.value(w) <= past.value(other)
    slope = past.subgradient(w)
    spread = slope - slope.mean() if isinstance(mirror, mirrors.Entropy) else slope
    assert np.abs(spread).max() < 1e-11
    assert all(b.applies for b in player.certificate().bounds_at(w))


SEPARABLE = [
    mirrors.Power(1.5),
    mirrors.Power(3.0),
    mirrors.Hypentropy(0.3),
    mirrors.ElasticNet(0.2),
]


@pytest.mark.parametrize("mirror", SEPARABLE, ids=str)
def test_separable_leaders_on_quadratics(mirror: Any) -> None:
    player = oco.FollowTheRegularizedLeader(3, mirror, eta=0.7)
    rng = np.random.default_rng(5)
    functions: list[Any] = []
    for _ in range(6):
        functions += [oco.Quadratic(rng.normal(size=3), 0.8), oco.Linear(rng.normal(size=3))]
    oco.run(player, functions)
    w, past, proof = player.play(), player._past, player.certificate()
    for _ in range(50):
        assert past.value(w) <= past.value(w + 0.05 * rng.normal(size=3)) + 1e-13
    assert np.abs(past.subgradient(w))[w != 0.0].max() < 1e-11
    # The exact solver: the sum of the losses alone is (c/2)||u||^2 + <b, u>, least at -b/c.
    best = -past.b / past.c
    for u in (best, w, np.zeros(3)):
        suffered = past.losses(u)
        radius = proof.mirror.predictors().norm(u)
        assert proof.floor(radius) <= suffered
        assert proof.regularized_floor() <= suffered + mirror.regularizer(u, 0.7)
        for found in (proof.bounds_at(u), proof.bounds_for(radius)):
            assert [b.name for b in found][:2] == [
                "FoReL, exact stability",
                "FoReL, after the fact",
            ]
            assert all(b.applies and proof.loss - suffered <= b.value for b in found)
    # Of these maps the elastic net alone is strongly convex.
    assert (len(proof.bounds) == 5) == (mirror.smoothness() > 0.0)


@pytest.mark.parametrize("mirror", SEPARABLE, ids=str)
def test_separable_leaders_in_one_dimension(mirror: Any) -> None:
    player = oco.FollowTheRegularizedLeader(1, mirror, eta=0.7)
    functions = [distance(a) for a in (0.5, -0.2, 0.8, 1.5, 1.2)]
    proof = oco.run(player, functions)
    grid = np.linspace(-1.0, 2.0, 3001)
    values = [player._past.value(np.array([v])) for v in grid]
    assert player._past.value(player.play()) <= min(values) + 1e-13
    for v in grid[::100]:
        suffered = sum(value(np.array([v])) for value, _ in functions)
        assert proof.floor(abs(v)) <= suffered + 1e-13
        assert all(proof.loss - suffered <= b.value for b in proof.bounds_at([v]) if b.applies)


def test_leaders_agree_with_the_game_on_linear_losses() -> None:  # S-14, S-22
    rng = np.random.default_rng(6)
    cases = [
        (mirrors.Euclidean(), None),
        (mirrors.Euclidean(), domains.Simplex()),
        (mirrors.Ball(0.4), None),
        (mirrors.Entropy(2), None),
        (mirrors.PNorm(4), None),
        (mirrors.SignedEntropy(1), None),
        *((mirror, None) for mirror in SEPARABLE),
    ]
    for mirror, domain in cases:
        leader = oco.FollowTheRegularizedLeader(3, mirror, 0.5, domain)
        game = oco.Game(3, mirror, half, domain)
        for z in rng.normal(size=(8, 3)):
            assert leader.play() == near(game.play())
            leader.face(oco.Linear(z))
            game.face(oco.Linear(z))
        ours, theirs = leader.certificate(), game.certificate()
        radius = None if ours.setting.bounded else 1.0
        assert ours.floor(radius) == near(theirs.floor(radius))
        bounds = ours.bounds_at(leader.play())
        exact = bound(bounds, "FoReL, exact stability").value
        # On linear losses the sharper stability is the divergence of Lemma 2.20.
        assert exact == near(
            bound(theirs.bounds_at(game.play()), "mirror descent, after the fact").value
        )
        assert exact <= bound(bounds, "FoReL, after the fact").value + 1e-12


def test_a_minimizer_of_ones_own() -> None:
    def minimize(objective: Any, start: Any) -> Any:
        return optimize.minimize(
            objective.value, start, jac=objective.subgradient, options={"gtol": 1e-10}
        ).x

    def loss(a: Any) -> Any:
        return (
            lambda w: float(np.logaddexp(0, w @ a)),
            lambda w: a / (1 + np.exp(-float(w @ a))),
        )

    player = oco.FollowTheRegularizedLeader(2, mirrors.Euclidean(), 1.0, minimizer=minimize)
    rows = np.random.default_rng(7).normal(size=(10, 2))
    proof = oco.run(player, map(loss, rows))
    assert np.abs(player._past.subgradient(player.play())).max() < 1e-6
    assert proof.floor(1.0) <= proof.loss
    u = player.play()
    actual = proof.loss - sum(loss(a)[0](u) for a in rows)
    assert actual <= proof.regret(u)
    assert all(actual <= b.value for b in proof.bounds_at(u))
    with pytest.raises(ValueError, match="minimizer="):
        oco.FollowTheRegularizedLeader(2, mirrors.Euclidean(), 1.0).face(loss(rows[0]))
    wrong = oco.FollowTheRegularizedLeader(2, mirrors.Euclidean(), 1.0, minimizer=lambda f, w: [1])
    with pytest.raises(ValueError, match="minimizer has shape"):
        wrong.face(loss(rows[0]))
    assert wrong.rounds == 0 and not wrong._past.others
    outside = oco.FollowTheRegularizedLeader(
        2, mirrors.Entropy(), 1.0, minimizer=lambda f, w: [0.9, 0.9]
    )
    with pytest.raises(ValueError, match=r"minimizer returned .* not in the set of Entropy"):
        outside.face(loss(rows[0]))
    assert outside.rounds == 0 and not outside._past.others


def test_a_minimizer_of_ones_own_is_taken_on_trust_in_words() -> None:
    """Its bounds can be false: here the regret against (0.3, 0.7) is 1.4."""
    player = oco.FollowTheRegularizedLeader(
        2, mirrors.Entropy(), 0.5, minimizer=lambda f, w: [0.9, 0.1]
    )
    loss = (lambda w: abs(w[0] - 0.3), lambda w: np.array([np.sign(w[0] - 0.3), 0.0]))
    proof = oco.run(player, [loss] * 3)
    assert proof.loss == near(1.4) and bound(proof.bounds, "FoReL, after the fact").value < 1.0
    assert proof.assumption.endswith("convex, minimizer to return the least point")
    assert "minimizer" in proof.text()
    plain = oco.FollowTheLeader(2).certificate()
    assert "minimizer" not in plain.assumption


def test_leaders_refuse_what_has_no_minimiser() -> None:
    leader = oco.FollowTheLeader(1)
    with pytest.raises(ValueError, match="no leader"):
        leader.face(oco.Linear([1.0]))
    with pytest.raises(ValueError, match="no minimiser"):
        leader.face((lambda w: w[0], lambda w: [1.0]))
    with pytest.raises(ValueError, match=r"the loss has shape \(2,\), expected \(1,\)"):
        leader.face(oco.Linear([1.0, 2.0]))
    with pytest.raises(ValueError, match="start must lie in"):
        oco.FollowTheLeader(1, domains.Box(0, 1), start=[2.0])
    assert leader.rounds == 0
    ball = oco.FollowTheLeader(2, domains.Ball(2))
    ball.face(oco.Linear([3.0, 4.0]))
    assert ball.play() == near([-1.2, -1.6])
    simplex = oco.FollowTheLeader(3, domains.Simplex())
    simplex.face(oco.Linear([1.0, 0.0, 2.0]))
    assert list(simplex.play()) == [0, 1, 0]


def test_one_dimensional_leaders_find_kinks_and_open_ends() -> None:
    for domain in (None, domains.Box(-7, 7), domains.Ball(9), domains.Box(-math.inf, math.inf)):
        leader = oco.FollowTheLeader(1, domain)
        for a in (5.0, 5.5, -3.0):
            leader.face(distance(a))
        assert leader.play() == near([5.0])
    clipped = oco.FollowTheLeader(1, domains.Orthant())
    clipped.face(distance(-2.0))
    assert clipped.play() == [0.0]
    clipped.face(oco.Quadratic([4.0], 0.5))
    assert clipped.play() == near([2.0])  # |w + 2| + (w - 4)^2/4

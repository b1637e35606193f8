"""A theorem that a run contradicts is not printed as one that holds."""

from __future__ import annotations

import math
from dataclasses import dataclass
from unittest import mock

import numpy as np
import pytest

import noregret as nr
from noregret import bandits, domains, experts, losses, mirrors, oco, rates
from noregret.bandits.arms import ArmSum
from noregret.experts.hedge_rounds import ExpertSum
from noregret.learners import DualAscent
from noregret.learners import dual_certificate as dual
from noregret.proof.evidence import Coins
from noregret.proof.ledger import Entry
from noregret.proof.statement import RANGE, Measured, Statement, suspect_of
from noregret.tracking.lemmas import stated

CONTRADICTED = f"this run contradicts it (suspect: {RANGE})"


@dataclass(frozen=True)
class Kinked(mirrors.Mirror):
    """Smooth with 1 up to |a| = 20, where the grid ends long before, and with 51 beyond."""

    def phi(self, a, reference):  # type: ignore[no-untyped-def]
        rest = max(abs(a) - 20.0, 0.0)
        return 0.5 * a * a + 25.0 * rest * rest

    def phi_prime(self, a, reference):  # type: ignore[no-untyped-def]
        return a + math.copysign(50.0 * max(abs(a) - 20.0, 0.0), a)

    def psi(self, s, reference):  # type: ignore[no-untyped-def]
        return s

    def psi_prime(self, s, reference):  # type: ignore[no-untyped-def]
        return 1.0

    def smoothness(self) -> float:
        return 1.0

    def largest_regularizer(self, radius: float, dimension: int) -> float:
        return 0.5 * radius * radius


@dataclass(frozen=True)
class Steep(losses.Squared):
    """A hundred times the square loss: a subclass with another value."""

    def value(self, y, p):  # type: ignore[no-untyped-def]
        return 100.0 * (p - y) * (p - y)

    def slope(self, y, p):  # type: ignore[no-untyped-def]
        return 200.0 * (p - y)


@dataclass(frozen=True)
class Dented(losses.Regression):
    """|p - y| up to 15, beyond the grid, and falling from there: not convex."""

    def value(self, y, p):  # type: ignore[no-untyped-def]
        gap = abs(p - y)
        return gap if gap < 15.0 else max(30.0 - gap, 0.0)

    def slope(self, y, p):  # type: ignore[no-untyped-def]
        gap = abs(p - y)
        sign = math.copysign(1.0, p - y)
        return sign if gap < 15.0 else (-sign if gap < 30.0 else 0.0)


def test_a_map_whose_smoothness_fails_beyond_the_grid() -> None:
    learner = nr.MirrorDescent(losses.Absolute(), Kinked(), rates.Constant(1.0))
    learner.learn(np.ones((50, 1)), np.repeat([1e6, -1e6], 25))
    certificate = learner.certificate()
    bounds = {bound.name: bound for bound in certificate.bounds_for(1.0)}
    observed = bounds["mirror descent, observed gradients"]
    assert not observed.applies and observed.value == math.inf
    suspect = "smoothness() or largest_regularizer() of Kinked"
    assert observed.reason == f"this run contradicts it (suspect: {suspect})"
    assert f"not applicable: {observed.reason}" in certificate.text(1.0)
    after = bounds["mirror descent, after the fact"]
    assert after.reason == "Kinked has no conjugate rounded upwards"
    # The floor does not lean on the map, and names its norm.
    assert "every u with ||u||_2 <= 1 " in certificate.text(1.0)
    assert certificate.floor(1.0) <= 25.0 * (1e6 - 1.0) + 25.0 * (1e6 + 1.0)


def test_the_same_map_where_its_smoothness_holds() -> None:
    learner = nr.MirrorDescent(losses.Absolute(), Kinked(), rates.Constant(1.0))
    learner.learn(np.ones((30, 1)), np.repeat([1e6, -1e6], 15))
    observed = learner.certificate().bounds_for(1.0)[0]
    assert observed.applies and observed.value == pytest.approx(0.5 + 15.0)


def test_a_subclass_of_the_square_loss_is_not_exp_concave_by_its_name() -> None:
    assert experts.exp_concavity(Steep(), 0.0, 1.0) == 0.0
    with pytest.raises(ValueError, match="eta='concave' needs a loss that is exp-concave"):
        experts.Forecaster(2, Steep(), "concave", 0.0, 1.0)
    forecaster = experts.Forecaster(2, Steep(), 0.5, 0.0, 1.0)
    forecaster.learn([[0.0, 1.0]] * 20, [0.0, 1.0] * 10)
    assert "exp-concave" not in str(forecaster.certificate())


def test_a_loss_that_is_not_convex_beyond_the_grid() -> None:
    forecaster = experts.Forecaster(2, Dented())
    forecaster.learn([[0.0, 30.0]] * 40, [0.0] * 40)
    certificate = forecaster.certificate()
    assert certificate.regret() == pytest.approx(600.0)
    # The line at p = 15 passes above the loss elsewhere: that round ends all theorems.
    assert not certificate.bounds
    assert "no theorem: Dented broke its promise of convexity in round 1" in str(certificate)


def test_winnow_at_a_rate_of_one_half() -> None:
    learner = nr.MirrorDescent(
        losses.WinnowHinge(),
        mirrors.UnnormalizedEntropy(),
        rates.Constant(0.5),
        conservative=True,
        dimension=2,
    )
    learner.learn([[1.0, 0.0], [0.0, 1.0]], [1, -1])
    text = learner.certificate().text(1.5)
    assert "not applicable: eta must be constant and below 1/2" in text


def test_simplex_winnow_prints_the_smaller_value_of_its_theorem() -> None:
    # support/margin bounds mistakes - L(u)/margin, which is larger than what the theorem bounds.
    learner = nr.MirrorDescent(
        losses.Hinge(0.1), mirrors.Entropy(), rates.Constant(0.05), conservative=True, dimension=4
    )
    random = np.random.default_rng(0)
    learner.learn(random.choice([-1.0, 1.0], (400, 4)), random.choice([-1.0, 1.0], 400))
    certificate = learner.certificate()
    bound = next(b for b in certificate.bounds if b.name.startswith("Winnow on the simplex"))
    progress = 0.05 * (0.1 - 0.5 * 0.05)
    assert bound.applies and bound.value == pytest.approx(math.log(4.0) / progress, rel=1e-9)


def test_a_leader_whose_lines_prove_less() -> None:
    player = oco.FollowTheLeader(1, domains.Box(-1.0, 1.0))
    centers = [0.9, -0.8, 0.7, -0.9, 0.5, -0.4]
    points = [float(player.play()[0])]
    for c in centers:
        player.face((lambda w, c=c: float((w[0] - c) ** 4), lambda w, c=c: 4.0 * (w - c) ** 3))
        points.append(float(player.play()[0]))
    certificate = player.certificate()
    pairs = zip(centers, points[:-1], points[1:], strict=True)
    stability = sum((w - c) ** 4 - (after - c) ** 4 for c, w, after in pairs)
    bound = certificate.bounds[0]
    assert bound.name == "follow the leader, after the fact" and bound.applies
    assert bound.value == pytest.approx(stability, rel=1e-9)
    assert bound.value < 0.9 * certificate.regret_bound()


def test_a_minimizer_that_does_not_minimise() -> None:
    player = oco.FollowTheLeader(2, domains.Ball(1.0), minimizer=lambda f, start: start)
    for _ in range(5):
        player.face((lambda w: float(w[0]), lambda w: np.array([1.0, 0.0])))
    leader = player.certificate().bounds_at([-1.0, 0.0])[0]
    assert not leader.applies
    assert leader.reason.startswith("this run contradicts it (suspect: minimizer, which must")


def test_a_promised_alpha_that_the_run_does_not_confirm() -> None:
    make = lambda n: oco.Game(1, mirrors.Ball(1.0), rates.Constant(0.1))  # noqa: E731
    proof = oco.run(oco.doubling(make, 1e-3), [oco.Linear([1.0])] * 20)
    assert proof.bounds[-1].name == "doubling trick, in advance"
    assert proof.bounds[-1].reason == "the lines of this run do not confirm the promised alpha"
    held = oco.run(oco.doubling(make, 10.0), [oco.Linear([1.0])] * 20)
    assert held.bounds[-1].applies


def _hedge() -> list[Statement]:
    learner = experts.Hedge(2, 0.5)
    learner.learn([[0.0, 1.0], [1.0, 0.0]] * 10)
    learner._state.book[ExpertSum.GAP] = -100.0
    return [b for b in learner.certificate().bounds if b.name.startswith("after the fact")]


def _shares() -> list[Statement]:
    learner = experts.Shares(2, eta=0.5, alpha=0.1)
    learner.learn([[0.0, 1.0], [1.0, 0.0]] * 10)
    learner._state.book[ExpertSum.GAP] = -100.0
    return learner.certificate().bounds[:1]


def _classifier() -> list[Statement]:
    learner = experts.SurrogateClassifier(2)
    for y in (0, 1) * 10:
        learner.learn([1, 0], y)
    learner._gaps = -100.0
    return learner.certificate().bounds[:1]


def _coins() -> list[Statement]:
    learner = nr.MirrorDescent(losses.Absolute(), mirrors.Euclidean(), rates.CoinBetting())
    learner.learn([[1.0]] * 10, [5.0] * 10)
    with mock.patch.object(Coins, "regret", lambda *given: 0.0):
        return learner.certificate().bounds_for(10.0)


def _strongly_convex() -> list[Statement]:
    learner = nr.catalogue.strongly_convex_ogd(losses.Hinge(), 0.5)
    learner.learn([[1.0], [-1.0]] * 10, [1.0, 1.0] * 10)
    with mock.patch("noregret.proof.closed_forms.strongly_convex_regret", lambda *given: -1.0):
        return learner.certificate().bounds_for(1.0)[1:2]


def _dual() -> list[Statement]:
    learner = DualAscent(losses.Hinge(), mirrors.Euclidean(), C=0.5)
    learner.learn([[0.6, 0.8], [0.8, 0.6]] * 5, [1, -1] * 5)
    with mock.patch.object(dual._Facts, "step_square", lambda self: 0.0):
        found = learner.certificate().bounds_for(1.0)
    return [bound for bound in found if bound.name.endswith("aggressive steps")]


def _dual_mistakes() -> list[Statement]:
    learner = DualAscent(losses.Hinge(), mirrors.Euclidean(), C=0.5)
    learner.learn([[0.6, 0.8], [0.8, 0.6]] * 5, [1, -1] * 5)
    with mock.patch("noregret.proof.closed_forms.mitigated", lambda *given: 1e3):
        found = learner.certificate().bounds_for(1.0)
    return [bound for bound in found if bound.name.endswith("aggressive mistakes")]


def _perceptron() -> list[Statement]:
    learner = nr.catalogue.perceptron()
    learner.learn([[0.6, 0.8], [0.8, 0.6]] * 5, [1, -1] * 5)
    certificate = learner.certificate()
    certificate.ledger[Entry.LARGEST_COUNTED_ROW] = 1e-3
    return [bound for bound in certificate.bounds_for(1.0) if bound.name == "Perceptron"]


def _game() -> list[Statement]:
    game = oco.Game(1, mirrors.Ball(1.0), rates.Constant(0.1))
    proof = oco.run(game, [oco.Linear([1.0])] * 20)
    proof.monitors.divergence = -100.0
    return proof.bounds[:1]


def _schedule() -> list[Statement]:
    return [stated("a theorem", "Theorem 0", 1.0, 1.0, (5.0, 1.0))]


SITES = [
    _hedge, _shares, _classifier, _coins, _strongly_convex, _dual, _dual_mistakes, _perceptron,
    _game, _schedule,
]  # fmt: skip


@pytest.mark.parametrize("made", SITES)
def test_every_place_that_prints_a_theorem_asks_the_run(made) -> None:  # type: ignore[no-untyped-def]
    bounds = made()
    assert bounds
    for bound in bounds:
        assert (bound.applies, bound.reason, bound.value) == (False, CONTRADICTED, math.inf)
        assert str(bound).endswith(f"not applicable: {CONTRADICTED}")


@pytest.mark.parametrize("kind", [bandits.Exp3, bandits.TsallisINF])
def test_a_bandits_statement_about_its_path(kind) -> None:  # type: ignore[no-untyped-def]
    bandit = kind(arms=3, seed=1)
    bandit.play(np.tile([0.1, 0.5, 0.9], (50, 1)))
    theorem = [each for each in bandit.certificate().statements if "expectation" in each.holds]
    bandit._book[ArmSum.DIVERGENCE] = -1e4
    statements = bandit.certificate().statements
    assert statements[0].reason == CONTRADICTED and not statements[0].applies
    # One run cannot contradict what holds in expectation: it is printed as it is.
    assert [each for each in statements if "expectation" in each.holds] == theorem


def test_a_gradient_bandits_statement_about_its_path() -> None:
    bandit = bandits.GradientBandit(2, domains.Ball(1.0), eta=0.1, delta=0.1, seed=0)
    for _ in range(20):
        bandit.suffer(float(bandit.play()[0]))
    bandit._sums["divergence"] = bandit._sums["squares"] = -1e6
    path = bandit.certificate().statements[:2]
    assert [each.reason for each in path] == [CONTRADICTED, CONTRADICTED]


def test_specialists() -> None:
    learner = experts.Specialists(2, eta=0.5)
    learner.learn([[0.0, 1.0], [1.0, 0.0]] * 5, np.ones((10, 2), bool))
    learner._state[2] = -100.0
    certificate = learner.certificate()
    assert np.isinf(certificate.bound).all() and np.isfinite(certificate.in_advance).all()
    assert f"not applicable: {CONTRADICTED}" in str(certificate)


def test_within_rounding_the_value_is_raised_to_what_was_measured() -> None:
    run = Measured(2.0, 1e-12, "nothing")
    assert run.judge(2.0 - 1e-13) == (2.0, "")
    assert run.judge(2.5) == (2.5, "")
    assert run.judge(1.9, "a precondition fails") == (math.inf, "a precondition fails")
    assert run.judge(math.nan)[1] == run.judge(math.inf)[1] == "the sums overflow"
    assert Measured(math.inf, 0.0, "nothing").judge(1.0)[1] == "the sums overflow"


def test_what_is_suspected_is_what_is_not_ours() -> None:
    parts = ((mirrors.Ball(1.0), "smoothness()"), (Steep(), "convexity"), (None, "project()"))
    assert suspect_of(*parts) == "convexity of Steep"
    assert suspect_of(*parts[:1]) == RANGE

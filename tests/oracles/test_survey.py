"""Numbers of "Online Learning and Online Convex Optimization" (items S)."""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np
import pytest

from noregret import catalogue, losses, mirrors, rates
from noregret.learners import MirrorDescent
from noregret.proof import closed_forms
from noregret.proof.ledger import Entry
from tests.oracles import printed_forms
from tests.oracles.data import X_T, Y_T, ZS, Linear, Z, bound, near, played, total

THETA = np.array([0.3, -0.2, 0.5])


def test_s15_doubling() -> None:
    assert closed_forms.doubling_regret(1.0, 5) == near(4.41421356237)
    assert closed_forms.doubling_regret(1.0, 100) == near(24.8994949366)
    for rounds in range(1, 300):
        assert closed_forms.doubling_regret(1.0, rounds) <= 3.41421356238 * math.sqrt(rounds)


def test_s16_subgradients() -> None:
    w, x = np.array([0.1, 0.2]), np.array([1.0, 2.0])
    p = float(w @ x)
    hinge = losses.Hinge()
    z = hinge.slope(1.0, p) * x
    assert (hinge.value(1.0, p), float(np.linalg.norm(z))) == near((0.5, 2.2360679775))
    assert z == near([-1, -2])
    assert losses.Absolute().slope(0.5, 0.5) == 0.0 == hinge.slope(1.0, 1.0)


def test_s17_gradient_descent() -> None:
    learner = catalogue.ogd(losses.Absolute(), 0.1)
    learner.learn(X_T, Y_T)
    certificate = learner.certificate()
    assert certificate.loss == near(2.45)
    assert learner.weights == near([0.27, 0.25, 0.25])
    squares = float(certificate.ledger[Entry.SQUARES])
    assert squares == near(6.79)
    u = [0.5, 0.0, 0.5]
    own = total(losses.Absolute(), X_T, Y_T, u)
    assert own == near(0.9)
    assert printed_forms.mirror_descent_regret(0.25, 0.1, squares, 1.0) == near(3.179)
    theorem = bound(certificate, "mirror descent, observed gradients", math.sqrt(0.5))
    assert theorem.value == near(2.8395)
    assert printed_forms.mirror_descent_regret(0.25, 0.1, squares) == near(2.8395)
    assert certificate.loss - own <= certificate.regret(u) <= theorem.value


def test_s14_s20_to_s22_s30_constants() -> None:
    tuned = closed_forms.tuned_regret
    assert tuned(0.5, 100.0, 1.0) == near(14.1421356237)
    assert tuned(0.5, 100.0) == near(10.0)
    assert tuned(2.0, 50 * 0.25, 1.0) == near(10.0)
    assert tuned(2.0, 50 * 0.25) == near(7.07106781187)
    assert tuned(0.5, 100 * 16.0, 1.0) == near(56.5685424949)
    entropy = math.log(16)
    assert closed_forms.tuned_rate(entropy, 100.0) == near(0.235482004503)
    assert tuned(entropy, 100.0) == near(23.5482004503)
    printed = printed_forms.mirror_descent_regret(entropy, 0.117741002252, 100.0, 1.0)
    assert (printed, tuned(entropy, 100.0, 1.0)) == near((35.3223006755, 33.3021844463))
    learner = catalogue.ogd(losses.Hinge(), radius=2.0, row_limit=0.5, horizon=50)
    assert learner.rate.eta == near(closed_forms.tuned_rate(2.0, 50 * 0.25))  # type: ignore[attr-defined]


#: link, w_5, sum <w, z>, sum of stabilities, regret at u = w_5, bound on the stabilities.
GAME = {
    "OGD": (
        mirrors.Euclidean(),
        (-0.125, -0.25, -0.25),
        (0.96875, 1.109375, 1.25, 1.109375),
    ),
    "lazy ball": (
        mirrors.Ball(0.3),
        (-0.1, -0.2, -0.2),
        (0.495791507053, 0.630791507053, 0.720791507053, 1.109375),
    ),
    "EG": (
        mirrors.Entropy(),
        (0.361664463092, 0.319167768454, 0.319167768454),
        (0.708112167366, 0.294964379083, 0.298528283139, 0.890625),
    ),
    "EG of mass 2": (
        mirrors.Entropy(2),
        (0.723328926185, 0.638335536908, 0.638335536908),
        (1.41622433473, 0.589928758166, 0.597056566278, 1.78125),
    ),
    "unnormalised EG": (
        mirrors.UnnormalizedEntropy(),
        (0.294165634195, 0.259600261024, 0.259600261024),
        (0.703658244333, 0.330390556818, 0.37051657476, math.nan),
    ),
    "p = 3": (
        mirrors.PNorm(3),
        (-0.0486138898416, -0.194455559366, -0.194455559366),
        (0.686597557105, 0.789902073019, 0.893206588932, 1.92624941855),
    ),
}


@pytest.mark.parametrize("name", GAME)
def test_s23_s29_s30_mirror_descent_on_signed_gradients(name: str) -> None:
    mirror, weights, (linear, stability, regret, limit) = GAME[name]
    learner = MirrorDescent(Linear(), mirror, rates.Constant(0.5), dimension=3)
    learner.learn(ZS, np.zeros(4))
    certificate = learner.certificate()
    assert certificate.gradient == near([0.25, 0.5, 0.5])
    w = learner.weights
    assert w == near(weights)
    assert certificate.loss == near(linear)
    assert certificate.loss - float(w @ certificate.gradient) == near(regret)
    assert certificate.regret(w) == near(regret)
    conjugate = certificate.mirror.conjugate_upper(-certificate.gradient, 0.5, 0, 4)
    assert certificate.loss + conjugate == near(stability)
    own = certificate.mirror.regularizer(w, 0.5)
    assert own + certificate.loss + conjugate == near(regret)
    if math.isnan(limit):
        assert math.isnan(certificate.mirror.smoothness())
        return
    observed = 0.5 * mirror.smoothness() * float(certificate.ledger[Entry.RATED_SQUARES])
    assert observed == near(limit)
    radius = mirror.own_radius() or 0.25
    worst = mirror.complexity(radius, 0.5, 3)
    assert bound(certificate, "mirror descent, after the fact", radius).value == near(
        worst + stability
    )
    assert bound(certificate, "mirror descent, observed gradients", radius).value == near(
        worst + limit
    )


def test_s26_large_dimensions() -> None:
    d = 10_000
    p = 2 * math.log(d)
    # ||z||_p <= sqrt(e) ||z||_inf and 1/(q - 1) = p - 1.
    constant = closed_forms.tuned_regret(0.5, mirrors.PNorm(p).smoothness() * math.e)
    assert (constant, closed_forms.tuned_regret(math.log(d), 1.0)) == near(
        (6.88144751529, 4.29193205258)
    )
    B, L, T, q = 2.0, 0.5, 50, 1.5
    assert closed_forms.tuned_regret(B**2 / 2, T * L**2 / (q - 1)) == near(
        B * L * math.sqrt(T / (q - 1))
    )


def test_s27_conjugates() -> None:
    def conjugate(mirror: mirrors.Mirror, theta: Any, eta: float = 1.0) -> float:
        return mirror.conjugate_upper(np.asarray(theta), eta, 0.0, 0.0)

    # Ours have G(0) = 0, the table's entropies have not.
    shift = math.log(3)
    assert conjugate(mirrors.Euclidean(), THETA) == near(0.19)
    assert conjugate(mirrors.PNorm(3), THETA) == near(0.147361259946)
    assert conjugate(mirrors.Entropy(), THETA) + shift == near(1.33954620386)
    assert conjugate(mirrors.UnnormalizedEntropy(1.0), THETA) + 3 == near(3.81731083135)
    assert conjugate(mirrors.Entropy(), THETA, 0.5) + 2 * shift == near(2.41833681402)
    assert conjugate(mirrors.Entropy(), THETA - [0.1, 0.1, -0.1]) + shift == near(1.33087144082)


def test_s28_smoothness_of_eg() -> None:
    learner = MirrorDescent(Linear(), mirrors.Entropy(), rates.Constant(0.5), dimension=3)
    learner.learn(ZS[:1], [0.0])
    certificate = learner.certificate()
    conjugate = certificate.mirror.conjugate_upper(-certificate.gradient, 0.5, 0, 1)
    assert certificate.loss + conjugate == near(0.0667530964969)
    width = float(certificate.ledger[Entry.WIDEST_ROW])
    assert 0.5 * width**2 / 8 == near(0.09765625)
    assert 0.5 * float(certificate.ledger[Entry.RATED_SQUARES]) == near(0.25)


def test_s31_local_norms() -> None:
    learner = MirrorDescent(Linear(), mirrors.Entropy(), rates.Constant(0.5), dimension=3)
    learner.learn(ZS, np.zeros(4))
    certificate = learner.certificate()
    assert certificate.regret([1, 0, 0]) == near(0.458112167366)
    assert float(certificate.ledger[Entry.LOCAL_SQUARES]) == near(1.50064855083)
    theorem = bound(certificate, "exponentiated gradient, local norms", 1.0)
    assert theorem.applies and theorem.value == near(2.94754885275)


def test_s32_unnormalised_local_norms() -> None:
    learner = catalogue.unnormalized_eg(Linear(), 0.5, dimension=3)
    learner.learn(ZS, np.zeros(4))
    certificate = learner.certificate()
    u = np.array([0.0, 1.0, 0.5])
    assert certificate.regret(u) == near(-0.0463417556672)
    squares = float(certificate.ledger[Entry.LOCAL_SQUARES])
    assert squares == near(1.39588406271)
    own = certificate.mirror.regularizer(u, 0.5)
    assert own + 0.5 * squares == near(2.3006317168)
    conjugate = certificate.mirror.conjugate_upper(-certificate.gradient, 0.5, 0, 4)
    assert own + certificate.loss + conjugate == near(1.93308024226)
    # Over the whole class of that sum the theorem is larger still.
    assert bound(certificate, "exponentiated gradient, local norms", 1.5).value >= 2.3006317168


def test_s33_weighted_majority() -> None:
    learner = catalogue.eg(Linear(), 0.5, dimension=3)
    weights = played(learner, Z, np.zeros(4))
    assert weights[1] == near([0.3264958358, 0.41922895161, 0.25427521259])
    assert weights[4] == near([0.267449986218, 0.343412579996, 0.389137433786])
    certificate = learner.certificate()
    assert certificate.loss == near(1.95606185566)
    # On the simplex the floor of a linear game is the best expert's cost.
    assert certificate.floor() == near(1.5)
    squares = float(certificate.ledger[Entry.LOCAL_SQUARES])
    assert squares == near(1.56655440531)
    local = bound(certificate, "exponentiated gradient, local norms", 1.0)
    assert 1.5 + local.value == near(4.48050177999)
    after = bound(certificate, "mirror descent, after the fact", 1.0)
    assert 1.5 + after.value == near(3.84370725074)
    # The mix loss, -ln(mean exp(-eta cost)) / eta.
    assert certificate.regularized_floor() == near(1.80957918226)


def test_s42_perceptron() -> None:
    X = np.array([[2, 1], [1, 2], [3, 1], [1, 3], [1, 1.5], [1.5, 1]] * 2)
    y = np.array([1.0, -1, 1, -1, -1, 1] * 2)
    learner = catalogue.perceptron()
    predictions = learner.learn(X, y)
    assert (np.flatnonzero(y * predictions <= 0) + 1).tolist() == [1, 2]
    assert learner.weights == near([1, -1])
    certificate = learner.certificate()
    assert float(certificate.ledger[Entry.LARGEST_ROW]) ** 2 == near(10)
    hinge, mistakes = losses.Hinge(), slice(0, 2)
    for u, own, printed, exact in (
        ([2, -2], 0.0, 80.0, 80.0),
        ([0.5, -0.5], 1.0, 8.2360679775, 6.85410196625),
    ):
        assert total(hinge, X[mistakes], y[mistakes], u) == near(own)
        reach = math.sqrt(10) * float(np.linalg.norm(u))
        assert printed_forms.perceptron_mistakes_printed(own, reach) == near(printed)
        assert printed_forms.perceptron_mistakes(own, reach) == near(exact)
    after = bound(certificate, "Perceptron, after the fact", math.sqrt(8))
    assert after.value == near(4)


def test_s44_winnow() -> None:
    X = np.array(
        [[1, 1, 0, 0], [1, 0, 1, 1], [0, 1, 0, 1], [1, 0, 0, 1], [0, 1, 0, 0], [0, 0, 1, 1]] * 3
    )
    y = np.array([1.0, -1, 1, -1, 1, -1] * 3)
    learner = catalogue.winnow()
    predictions = learner.learn(X, y)
    assert (np.flatnonzero(y * (2 * predictions - 1) <= 0) + 1).tolist() == [1, 2, 5, 8]
    certificate = learner.certificate()
    counted = certificate.ledger[Entry.COUNTED_LOSS] + certificate.ledger[Entry.COUNTED_LOSS + 1]
    assert float(counted) == near(5.10653065971)
    assert learner.weights == near(
        [0.151632664928, 0.679570457115, 0.0919698602929, 0.0919698602929]
    )
    assert printed_forms.winnow_mistakes(0.0, 1, 4) == near(11.090354889)
    theorem = bound(certificate, "Winnow, u of 1 ones", 1)
    assert theorem.applies
    assert (
        theorem.value == near(closed_forms.winnow_mistakes_sharp(0.0, 1, 4)) == near(11.090354889)
    )
    u = np.array([0.0, 1.0, 0.0, 0.0])
    conjugate = certificate.mirror.conjugate_upper(-certificate.gradient, 0.25, 0, 18)
    linear = float(counted) - certificate.intercept
    after = certificate.mirror.regularizer(u, 0.25) + linear + conjugate
    assert after == near(6.71227947471)
    # k = 0: only the sharp form speaks about it.
    assert closed_forms.winnow_mistakes_sharp(0.0, 0, 4) == near(8.0)
    with pytest.raises(ValueError, match="ones must be at least 1"):
        printed_forms.winnow_mistakes(0.0, 0, 4)
    with pytest.raises(ValueError, match="eta must lie strictly between 0 and 1/2"):
        closed_forms.winnow_mistakes_sharp(0.0, 1, 4, eta=0.5)


def test_s45_disjunctions() -> None:
    d, k = 10, 3
    reach = math.sqrt((4 * d + 1) * (k + 1))
    assert printed_forms.perceptron_mistakes(0.0, reach) == near(164)
    assert printed_forms.winnow_mistakes(0.0, k, d) == near(55.2620422319)


def test_s50_s52_online_to_batch() -> None:
    """All sixteen sequences of four draws from {1 w.p. 0.3, -0.5 w.p. 0.7}."""

    def risk(w: float) -> float:
        return 0.3 * abs(w - 1) + 0.7 * abs(w + 0.5)

    X, loss = np.ones((4, 1)), losses.Absolute()
    averaged = randomised = online = regret = proved = 0.0
    drawn = set()
    for number, outcome in enumerate(itertools.product((1.0, -0.5), repeat=4)):
        chance = math.prod(0.3 if value > 0 else 0.7 for value in outcome)
        learner = catalogue.ogd(loss, 0.3, dimension=1)
        (w,) = catalogue.online_to_batch(learner, X, outcome)
        averaged += chance * risk(w)
        certificate = learner.certificate()
        online += chance * certificate.average_loss
        regret += chance * (certificate.average_loss - np.mean(np.abs(np.array(outcome) + 0.5)))
        proved += chance * bound(certificate, "mirror descent, observed gradients", 0.5).value / 4
        plays = played(catalogue.ogd(loss, 0.3, dimension=1), X, outcome)[:4, 0]
        randomised += chance * float(np.mean([risk(w) for w in plays]))
        again = catalogue.ogd(loss, 0.3, dimension=1)
        (one,) = catalogue.online_to_batch(again, X, outcome, method="random", seed=number)
        assert np.min(np.abs(plays - one)) < 1e-15
        drawn.add(int(np.argmin(np.abs(plays - one))))
    assert (averaged, randomised, online) == near((0.59858, 0.61573, 0.61573))
    assert (risk(-0.5), regret) == near((0.45, 0.16573))
    assert proved == near(0.254166666667)
    assert averaged - risk(-0.5) == near(0.14858)
    assert len(drawn) > 1

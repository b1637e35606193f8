"""Numbers of "A Primal-Dual Perspective of Online Learning Algorithms" (items H and PD)."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from noregret import catalogue, losses, mirrors, rates
from noregret.learners import MirrorDescent
from noregret.norms import norm_upper
from noregret.proof import closed_forms
from noregret.proof.ledger import Entry
from tests.oracles import printed_forms
from tests.oracles.data import ROW_A, S_A, S_N, S_W, U0, U_N, X_A, X_N, X_W, bound, near, total

HINGE = losses.Hinge()


def link(mirror: mirrors.Mirror, theta: Any) -> np.ndarray:
    """Return the gradient of G through the four scalar functions of the map."""
    theta = np.asarray(theta, float)
    reference = mirror.reference(float(theta.max()), float(np.abs(theta).max()))
    s = math.fsum(mirror.phi(float(a), reference) for a in theta)
    kappa = mirror.kappa(s, reference, 1.0)
    return np.array([kappa * mirror.phi_prime(float(a), reference) for a in theta])


def conjugate(mirror: mirrors.Mirror, theta: Any) -> float:
    return mirror.conjugate_upper(np.asarray(theta, float), 1.0, 0.0, 0.0)


def complexity(mirror: mirrors.Mirror, u: Any) -> float:
    return mirror.regularizer(np.asarray(u, float), 1.0)


def run(learner: MirrorDescent, X: np.ndarray, y: np.ndarray) -> tuple[Any, Any, Any]:
    """Return margins, weights and the dual D = gamma C M - G(C theta) after each trial."""
    margins, weights, duals = [], [], []
    C, margin = learner.rate.eta, learner.loss.margin  # type: ignore[attr-defined]
    for t in range(len(y)):
        margins.append(y[t] * learner.learn(X[t], y[t])[0])
        certificate = learner.certificate()
        assert certificate.intercept == near(margin * certificate.mistakes)
        theta = -C * certificate.gradient
        duals.append(margin * C * certificate.mistakes - conjugate(learner.mirror, theta))
        if duals[-1] > 0.0:
            assert C * certificate.regularized_floor() == near(duals[-1])
        weights.append(learner.weights)
    return margins, weights, duals


def test_h4_power_sums_do_not_overflow() -> None:
    theta = np.array([1e200, 1e200])
    assert norm_upper(theta, 4.0) == pytest.approx(1.189207115e200, rel=1e-9)
    assert link(mirrors.PNorm(4), theta) == near(theta / math.sqrt(2.0))
    direct = link(mirrors.PNorm(6), [1.0, -2.0, 0.5])
    for scale in (1e200, 1e-200):
        scaled = link(mirrors.PNorm(6), scale * np.array([1.0, -2.0, 0.5]))
        assert scaled / scale == near(direct)
    for size in (1e100, 1e-100):
        learner = MirrorDescent(losses.Absolute(), mirrors.PNorm(4), rates.Constant(1))
        learner.learn([[size, size]], [-1.0])
        assert learner.weights / size == near(np.full(2, -math.sqrt(0.5)))


def test_h5_log_sums_do_not_overflow() -> None:
    assert conjugate(mirrors.Entropy(), [1000.0, 0.0]) == near(999.306852819)
    assert conjugate(mirrors.SignedEntropy(1.0), [800.0]) == near(799.306852819)
    assert link(mirrors.Entropy(), [1000.0, 0.0]) == near([1.0, 0.0])
    assert link(mirrors.SignedEntropy(1.0), [800.0]) == near([1.0])
    assert link(mirrors.SignedEntropy(2.0), [-400.0, 400.0]) == near([-1.0, 1.0])


def test_pd1_a_zero_margin_is_a_mistake() -> None:
    learner = catalogue.perceptron()
    learner.learn([[1, 0], [0, 1]], [1, -1])
    assert learner.certificate().mistakes == 2


def test_pd2_hinge() -> None:
    margins = S_A * (X_A @ [0.5, -1.0, 0.25])
    assert margins == near([0.95, 1, -0.2, 0.3, -0.35, 0.525])
    for margin, expected in (
        (1.0, [0.05, 0, 1.2, 0.7, 1.35, 0.475]),
        (0.5, [0, 0, 0.7, 0.2, 0.85, 0]),
    ):
        loss = losses.Hinge(margin)
        assert [loss.value(1.0, m) for m in margins] == near(expected)
    assert S_A * (X_A @ U0) == near([1.4, 1.4, 0.2, 0.6, -0.2, 0.45])


def test_pd3_objective() -> None:
    assert total(HINGE, X_A, S_A, U0) == near(2.95)
    best = np.array([1.47058823529, 0, 0.441176470588])
    for u, expected in ((U0, 4.075), (best, 2.9874567474)):
        assert complexity(mirrors.Euclidean(), u) + total(HINGE, X_A, S_A, u) == near(expected)


PAIRS = {
    "euclid": (mirrors.Euclidean(), 2.625, (0.5, -1, 2), 2.625),
    "entropy": (
        mirrors.Entropy(),
        1.14269900799,
        (0.17529039214, 0.0391125732707, 0.785597034589),
        0.477027683989,
    ),
    "signed 1": (
        mirrors.SignedEntropy(1),
        0.762813514947,
        (0.0810046977107, -0.182686000885, 0.563798460434),
        0.587971755661,
    ),
    "signed 2": (
        mirrors.SignedEntropy(2),
        2.38611430534,
        (0.0720683682219, -0.222414606772, 1.67353455046),
        1.21940358647,
    ),
    "p=3": (
        mirrors.PNorm(3),
        2.1833595148,
        (0.119636137797, -0.478544551189, 1.91417820476),
        2.1833595148,
    ),
    "p=4": (
        mirrors.PNorm(4),
        2.06533895523,
        (0.0302613766334, -0.242091013068, 1.93672810454),
        2.06533895523,
    ),
}


@pytest.mark.parametrize("name", PAIRS)
def test_pd4_conjugate_pairs(name: str) -> None:
    mirror, value, weights, own = PAIRS[name]
    theta = np.array([0.5, -1.0, 2.0])
    assert conjugate(mirror, theta) == near(value)
    assert link(mirror, theta) == near(weights)
    assert complexity(mirror, link(mirror, theta)) == near(own)


def test_pd5_dual_and_gap() -> None:
    alpha = np.array([1, 0, 0.5, 0, 0, 0.25])
    theta = (alpha * S_A) @ X_A
    assert theta == near([0.75, -0.35, 1.025])
    dual = alpha.sum() - conjugate(mirrors.Euclidean(), theta)
    primal = complexity(mirrors.Euclidean(), theta) + total(HINGE, X_A, S_A, theta)
    assert (dual, primal, primal - dual) == near((0.8821875, 3.6853125, 2.803125))
    margins = S_A * (X_A @ theta)
    terms = [HINGE.value(1, m) - a * (1 - m) for m, a in zip(margins, alpha, strict=True)]
    assert terms == near([0.24, 0, 0.11, 0.81, 1.21, 0.433125])


def test_pd6_and_pd9_conservative_run() -> None:
    margins, weights, duals = run(catalogue.perceptron(), X_A, S_A)
    assert margins == near([0, 0.96, 0.36, 0.24, -0.19, -0.34])
    assert weights[-1] == near([0.7, -0.6, 0.7])
    assert duals == near([0.515, 0.515, 0.515, 0.515, 1.375, 2.33])
    increments = np.diff([0.0, *duals])
    assert increments[[0, 4, 5]] == near([0.515, 0.86, 0.955])
    assert increments.sum() / 3 == near(0.776666666667)
    assert duals[-1] <= 2.9874567474


def test_pd10_the_precondition_matters() -> None:
    assert closed_forms.progress(1.0, 1.0) == near(0.5)
    learner = catalogue.balanced_winnow(4.0, margin=0.5, eta=0.5)
    _, _, duals = run(learner, X_A, S_A)
    expected = [-0.293175046943] * 4 + [-0.295851276167, 0.0382842051676]
    assert duals == near(expected)
    (theorem,) = [b for b in learner.certificate().bounds_for(4.0) if b.measure == "mistakes"]
    assert not theorem.applies and "eta is too large" in theorem.reason
    # The best C for a radius R gives gamma^2 / (2 R^2).
    assert closed_forms.progress(0.5, 0.5 / 16, 16) == near(0.5**2 / 32)


@pytest.mark.parametrize(
    ("mirror", "expected"),
    [
        (mirrors.Entropy(), (0.621679587153, 0.970665570047, 1.0)),
        (mirrors.PNorm(4), (1.27785036568, 3.26822867641, 4.3084219849)),
    ],
    ids=["entropy", "p=4"],
)
def test_pd11_hessian_bounds(mirror: mirrors.Mirror, expected: tuple[float, ...]) -> None:
    """Second differences of the map's own functions, so the tolerance is theirs."""
    theta, x, h = np.array([0.5, -1.0, 2.0]), np.array([1.0, 0.5, -1.0]), 1e-4
    value = (link(mirror, theta + h * x) - link(mirror, theta - h * x)) @ x / (2 * h)
    reference = mirror.reference(2.0, 2.0)
    s = sum(mirror.phi(a, reference) for a in theta)
    second = [
        (mirror.phi_prime(a + h, reference) - mirror.phi_prime(a - h, reference)) / (2 * h)
        for a in theta
    ]
    lemma = mirror.psi_prime(s, reference) * float(np.array(second) @ x**2)
    norm = 0.0
    for feature in x:
        norm = mirror.norm_term(norm, feature)
    assert (value, lemma) == pytest.approx(expected[:2], rel=1e-6)
    assert mirror.smoothness() * mirror.norm(norm) ** 2 == near(expected[2])


def test_pd12_and_pd13_perceptron() -> None:
    loss, length = 2.95, 1.5
    for C in (0.25, 1.0, 3.0):
        learner = MirrorDescent(HINGE, mirrors.Euclidean(), rates.Constant(C), conservative=True)
        margins, _, _ = run(learner, X_A, S_A)
        assert np.array(margins) / C == near([0, 0.96, 0.36, 0.24, -0.19, -0.34])
        certificate = learner.certificate()
        assert float(certificate.gradient @ certificate.gradient) == near(1.34)
        after = bound(certificate, "Perceptron, after the fact", length)
        assert after.factor * loss + after.value == near(4.68637553542)
    assert printed_forms.perceptron_rate(loss, length) == near(0.571610075288)
    assert printed_forms.perceptron_mistakes(loss, length) == near(6.8862497221)
    assert printed_forms.perceptron_mistakes(loss, ROW_A * length) == near(6.80335093271)
    assert printed_forms.competitive_mistakes(loss, 1.125, 1.0) == near(8.15)
    best = printed_forms.competitive_mistakes(loss, 1.125, 0.571610075288)
    assert best == near(6.8862497221)
    assert printed_forms.perceptron_mistakes(6.0, 0.0) == 6.0
    assert printed_forms.competitive_mistakes(loss, 1.125, 2.0) == math.inf


def test_pd14_winnow_on_the_simplex() -> None:
    learner = catalogue.simplex_winnow(margin=0.5)
    margins, weights, duals = run(learner, X_W, S_W)
    assert margins == near(
        [0.125, -0.125, 0.106813501376, 0.440946340916, -0.339589138994, 0.0290325154496]
    )
    assert learner.certificate().mistakes == 2
    assert -0.5 * learner.certificate().gradient == near([0.25, -0.5, -0.25, 0])
    assert weights[-1] == near([0.349932008759, 0.165296176671, 0.212244492127, 0.272527322443])
    first, second = 0.241522854374, 0.586277957061
    assert duals == near([0, first, first, first, second, second])
    loss = total(losses.Hinge(0.5), X_W, S_W, [0.625, 0.25, 0, 0.125])
    assert loss == near(1.4375)
    assert printed_forms.competitive_mistakes(loss, math.log(4), 0.5, 0.5) == near(16.840354889)
    theorem = bound(learner.certificate(), "Winnow on the simplex or the 1-ball", 1.0)
    assert theorem.applies
    assert theorem.factor * loss + theorem.value == near(16.840354889)


def test_pd15_two_sided_weights() -> None:
    learner = catalogue.balanced_winnow(2.0, margin=0.5, row_limit=0.8)
    assert learner.rate.eta == near(0.1953125)  # type: ignore[attr-defined]
    margins, weights, duals = run(learner, X_A, S_A)
    assert margins == near(
        [0, 0.245981935414, 0.0925378351837, 0.0615490491995, -0.0485477794626, -0.0891958113952]
    )
    assert learner.certificate().mistakes == 3
    assert -0.1953125 * learner.certificate().gradient == near([0.13671875, -0.1171875, 0.13671875])
    assert weights[-1] == near([0.178455113328, -0.15245882471, 0.178455113328])
    first = 0.0731855302981
    assert duals == near([first, first, first, first, 0.16355607597, 0.259267451211])
    theorem = bound(learner.certificate(), "Winnow on the simplex or the 1-ball", 2.0)
    # The theorem is printed with the rows of the mistakes; here they reach 0.6, not 0.8.
    square, widest = 4 * 0.8**2, float(learner.certificate().ledger[Entry.LARGEST_COUNTED_ROW])
    assert printed_forms.competitive_mistakes(0.0, math.log(6), 0.1953125, 0.5, square) == near(
        36.6952339298
    )
    assert widest == near(0.6)
    assert theorem.applies and theorem.value == near(
        printed_forms.competitive_mistakes(0.0, math.log(6), 0.1953125, 0.5, 4 * widest**2)
    )
    assert complexity(mirrors.SignedEntropy(1), [0.6 / 2, -0.4 / 2, 0.2 / 2]) == near(
        complexity(mirrors.SignedEntropy(2), [0.6, -0.4, 0.2])
    )
    assert complexity(mirrors.SignedEntropy(2), [0.6, -0.4, 0.2]) == near(0.223057974417)
    assert complexity(mirrors.SignedEntropy(2), [1.2, -0.6, 0.2]) == near(0.893813744371)


def test_pd15_is_winnow_on_doubled_features() -> None:
    one = catalogue.balanced_winnow(2.0, margin=0.5, eta=0.2)
    two = catalogue.simplex_winnow(margin=0.5, eta=0.2)
    doubled = 2.0 * np.hstack([X_A, -X_A])
    assert one.learn(X_A, S_A) == near(two.learn(doubled, S_A))
    assert one.weights == near(2.0 * (two.weights[:3] - two.weights[3:]))


def test_pd16_p_norm() -> None:
    learner = catalogue.p_norm(4)
    margins, weights, duals = run(learner, X_A, S_A)
    assert margins == near(
        [0, 0.551141917966, 0.28667842566, 0.152330971568, -0.0721103789022, -0.436455795851]
    )
    assert weights[-1] == near([0.439238510386, -0.276605009456, 0.439238510386])
    first = 0.71640698175
    assert duals == near([first, first, first, first, 1.39466951175, 2.60955153989])
    row = float(learner.certificate().ledger[Entry.LARGEST_ROW])
    length = learner.mirror.predictors().norm(U0)
    assert (row, length**2) == near((0.812217273948, 3.71074708695))
    reach = math.sqrt(3) * row * length
    assert printed_forms.perceptron_mistakes(2.95, reach) == near(12.5505067548)
    p = 2 * math.log(1000)
    assert (p, (p - 1) * math.e) == near((13.815510558, 34.8361694721))
    assert printed_forms.competitive_mistakes(0.0, math.log(2000), 1.0) == near(15.2018049191)


@pytest.mark.parametrize(
    ("C", "images", "inverses"),
    [
        (0.5, (0.01, 0.25, 0.75, 1.75, 2.75), (0.316227766017, 0.5, 1.25, 2.25, 3.25)),
        (2.0, (0.0025, 0.0625, 0.25, 1.0, 2.0), (0.632455532034, 1.0, 2.0, 3.0, 4.0)),
    ],
)
def test_pd19_mitigating_function(C: float, images: Any, inverses: Any) -> None:
    assert [closed_forms.mitigated(x, C) for x in (0.1, 0.5, 1, 2, 3)] == near(images)
    assert [printed_forms.unmitigated(z, C) for z in (0.1, 0.25, 1, 2, 3)] == near(inverses)
    for z in (0.0, 0.01, 0.3, 1.0, 7.0):
        assert closed_forms.mitigated(printed_forms.unmitigated(z, C, 0.7), C, 0.7) == near(z)


def test_pd20_to_pd22_constants() -> None:
    for C, argument, value in (
        (1.0, 0.679166666667, 1.17916666667),
        (0.5, 0.866666666667, 1.11666666667),
    ):
        mean = (2.95 + 1.125 / C) / 6
        assert (mean, printed_forms.unmitigated(mean, C)) == near((argument, value))
    assert math.sqrt(2 * 1.125 / 6) == near(0.612372435696)
    assert closed_forms.tuned_regret(1.125, 6.0) / 6 == near(0.612372435696)
    for C, best, value in ((1.0, 2.9874567474, 5.97491349481), (0.5, 1.9556443299, 5.21505154639)):
        assert best / (C * closed_forms.mitigated(1.0, C)) == near(value)


def test_pd31_novikoff() -> None:
    learner = catalogue.perceptron()
    learner.learn(X_N, S_N)
    certificate, w = learner.certificate(), learner.weights
    assert certificate.mistakes == 2 and w == near([0.4, -0.8])
    margin = float(np.min(S_N * (X_N @ U_N)))
    assert (certificate.mistakes * margin, float(w @ U_N)) == near((0.56, 0.88))
    assert math.sqrt(certificate.mistakes) == near(1.41421356237)

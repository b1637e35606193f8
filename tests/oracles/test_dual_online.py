"""Numbers of "A Primal-Dual Perspective" for dual ascent online: one variable a round."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from noregret import losses, mirrors
from noregret.learners import DualAscent
from noregret.proof import closed_forms
from tests.oracles import printed_forms
from tests.oracles.data import S_A, S_B, S_W, U0, X_A, X_B, X_W, bound, near, total
from tests.oracles.dual_runs import BEST, FULLY, HINGE, ascent, numbers, run, theta


def test_pd9_conservative() -> None:
    learner = ascent("conservative")
    margins, _, duals = run(learner, X_A, S_A)
    assert margins == near(numbers("0 0.96 0.36 0.24 -0.19 -0.34"))
    assert theta(learner) == near([0.7, -0.6, 0.7])
    assert duals == near(numbers("0.515 0.515 0.515 0.515 1.375 2.33"))
    certificate = learner.certificate()
    assert certificate.mistakes == 3
    assert certificate.progress == near(0.776666666667)
    assert certificate.progress * certificate.mistakes <= BEST


def test_pd10_a_broken_precondition_lowers_the_dual() -> None:
    learner = DualAscent(losses.Hinge(0.5), mirrors.SignedEntropy(4), 0.5, "conservative")
    _, _, duals = run(learner, X_A, S_A)
    assert duals == near([-0.293175046943] * 4 + [-0.295851276167, 0.0382842051676])
    certificate = learner.certificate()
    assert certificate.fell == 1 and "fell in round 1" in str(certificate)
    theorem = bound(certificate, "dual ascent, gain guaranteed", 4.0)
    assert not theorem.applies and "C is too large" in theorem.reason


def test_pd14_simplex() -> None:
    aggressive = DualAscent(losses.Hinge(0.5), mirrors.Entropy(), 0.5, "aggressive")
    _, alphas, duals = run(aggressive, X_W, S_W)
    assert alphas == near(numbers("0.375 0.5 0.423637100867 0.110802686698 0.5 0.467791237926"))
    assert duals == near(
        numbers(
            "0.118902415642 0.368743519379 0.510952746478 0.521759398359 "
            "0.80183757299 0.993640168183"
        )
    )
    exact = DualAscent(losses.Hinge(0.5), mirrors.Entropy(), 0.5)
    _, alphas, duals = run(exact, X_W, S_W)
    assert alphas == near(numbers("0.5 0.5 0.5 0.426390681403 0.5 0.5"))
    assert duals == near(
        numbers(
            "0.148454289368 0.403528394882 0.570524807743 0.593080833743 "
            "0.802907155767 1.0168750264"
        )
    )


def test_pd18_aggressive() -> None:
    learner = ascent("aggressive")
    margins, alphas, duals = run(learner, X_A, S_A)
    assert margins == near(numbers("0 0.96 0.37 0.3472 0.359268 -0.5733684"))
    assert alphas == near(numbers("1 0.04 0.63 0.6528 0.640732 1"))
    assert theta(learner) == near([1.377606, -0.425634, 0.9845872])
    assert duals == near(numbers("0.515 0.515824 0.7202275 0.975916204 1.2509763262 2.4393447262"))
    assert learner.certificate().mistakes == 2
    learner = ascent("aggressive", 0.5)
    margins, alphas, duals = run(learner, X_A, S_A)
    assert margins == near(numbers("0 0.48 0.305 0.28 0.195 -0.33"))
    assert alphas == near([0.5] * 6)
    assert theta(learner) == near([1.25, -0.3, 0.75])
    assert duals == near(numbers("0.37875 0.5175 0.74375 1.00375 1.32375 1.8925"))


def test_pd18_radius_version() -> None:
    learner = ascent("aggressive", row_limit=2.0)
    margins, alphas, duals = run(learner, X_A, S_A)
    assert alphas == near([min(1.0, (1 - m) / 4) for m in margins])
    rises = np.diff([0.0, *duals])
    promised = [closed_forms.mitigated(1 - m, 1.0, 4.0) for m in margins]
    assert np.all(rises >= np.array(promised) - 1e-15)


@pytest.mark.parametrize(
    ("C", "mean", "argument", "value"),
    [
        (1.0, 0.756150066667, 0.679166666667, 1.17916666667),
        (0.5, 0.845, 0.866666666667, 1.11666666667),
    ],
)
def test_pd20_theorem_3(C: float, mean: float, argument: float, value: float) -> None:
    learner = ascent("aggressive", C)
    margins, _, duals = run(learner, X_A, S_A)
    certificate = learner.certificate()
    assert certificate.average_loss == near(mean)
    comparator = (total(HINGE, X_A, S_A, U0) + 0.5 * float(U0 @ U0) / C) / 6
    assert (comparator, printed_forms.unmitigated(comparator, C)) == near((argument, value))
    assert mean <= value
    rises = np.array([C * closed_forms.mitigated(1 - m, C) for m in margins])
    assert np.all(np.diff([0.0, *duals]) >= rises - 1e-15)
    if C == 0.5:
        assert rises == near(numbers("0.375 0.135 0.2225 0.235 0.2775 0.54"))
        assert rises.sum() == near(1.785)
    # Printed as regret over the ball of u0: F/C + m C/2, at R = 1 as the step takes it.
    theorem = bound(certificate, "dual ascent, aggressive steps", 1.5)
    assert theorem.applies and theorem.value == near(1.125 / C + 3 * C)
    assert (2.95 + theorem.value) / 6 == near(argument + C / 2)


def test_pd21_corollary_2() -> None:
    C = math.sqrt(2 * 1.125 / 6)
    assert near(0.612372435696) == C
    learner = ascent("aggressive", C)
    run(learner, X_A, S_A)
    certificate = learner.certificate()
    assert certificate.average_loss == near(0.829522042417)
    regret = certificate.average_loss - 2.95 / 6
    assert regret == near(0.337855375751)
    theorem = bound(certificate, "dual ascent, the best C", 1.5)
    assert theorem.applies and theorem.value / 6 == near(0.612372435696)
    assert regret <= theorem.value / 6
    other = bound(certificate, "dual ascent, the best C", 1.0)
    assert not other.applies and "C is not sqrt(2 F / (m R^2))" in other.reason


@pytest.mark.parametrize(
    ("C", "best", "value"), [(1.0, BEST, 5.97491349481), (0.5, 1.9556443299, 5.21505154639)]
)
def test_pd22_mistakes_of_the_aggressive_family(C: float, best: float, value: float) -> None:
    learner = ascent("aggressive", C)
    run(learner, X_A, S_A)
    certificate = learner.certificate()
    assert certificate.mistakes == 2
    gain = C * closed_forms.mitigated(1.0, C)
    assert best / gain == near(value)
    assert certificate.progress >= gain - 1e-15
    theorem = bound(certificate, "dual ascent, aggressive mistakes", 1.5)
    assert (theorem.factor, theorem.value) == near((C / gain, 1.125 / gain))
    leader = ascent("leader", C, **FULLY)
    leader.learn(X_A, S_A)
    assert leader.dual == near(best)


def test_pd23_passive_aggressive() -> None:
    learner = ascent()
    margins, alphas, duals = run(learner, X_A, S_A)
    assert margins == near(
        numbers("0 0.96 0.370309278351 0.350464448932 0.453957487512 -0.791148114152")
    )
    assert alphas == near(
        numbers("1 0.0412371134021 0.649165692422 0.811919438835 0.827337140133 1")
    )
    assert theta(learner) == near([1.60840552405, -0.321574282521, 0.858539051907])
    assert duals == near(
        numbers("0.515 0.515824742268 0.720211548934 0.983896818997 1.20977744433 2.61592555849")
    )
    learner = ascent(C=10.0)
    _, alphas, duals = run(learner, X_A, S_A)
    assert alphas == near(
        numbers(
            "1.03092783505 0.0106281220108 0.645576235957 0.809480777891 "
            "0.826546326178 2.32641467199"
        )
    )
    assert theta(learner) == near([1.07695079662, -1.11707068926, 1.52107581018])
    assert duals == near(
        numbers(
            "0.515463917526 0.51551870166 0.71765150973 0.97975516164 1.20520417531 3.28890318735"
        )
    )


def test_pd23_a_row_of_zeros() -> None:
    _, alphas, duals = run(ascent(C=0.5), np.array([[0.0, 0.0], [1.0, 0.0]]), np.ones(2))
    assert (alphas, duals) == (near([0.5, 0.5]), near([0.5, 0.875]))


GENERAL: dict[str, tuple[Any, ...]] = {
    "entropy": (
        (mirrors.Entropy(), 0.4, 0.8, X_A, S_A),
        numbers(
            "0.233333333333 0.340909090909 0.557285083975 0.16500735362 "
            "0.263383456455 -0.291284484368"
        ),
        numbers("0.737209287469 0.3367860309 0 0.758251446232 0.8 0.8"),
        numbers(
            "0.0573525551521 0.0668698227512 0.0668698227512 0.154460489757 "
            "0.219412927537 0.730203153981"
        ),
        {"weights": (0.641473057127, 0.0914480614034, 0.26707888147)},
    ),
    "signed": (
        (mirrors.SignedEntropy(2), 0.5, 0.5, X_A, S_A),
        numbers("0 0.494509688828 0.189443180611 0.168929089797 0.241786356477 -0.395701548684"),
        numbers("0.414436444711 0.00525709773557 0.26852658991 0.292378028337 0.339743751154 0.5"),
        numbers(
            "0.0999837055545 0.0999981245936 0.140341999693 0.188709134503 "
            "0.23092989429 0.573813729746"
        ),
        {
            "theta": (0.589328008896, -0.179384651474, 0.410083367617),
            "weights": (0.700630891025, -0.174551269888, 0.435888275551),
        },
    ),
    "p=4": (
        (mirrors.PNorm(4), 1.0, 1.0, X_A, S_A),
        numbers("0 0.551141917966 0.380476816551 0.207351082924 0.506929938186 -0.774538730231"),
        numbers("1 0.7915574621 0.57983661676 0.531329346519 0.861392951 1"),
        numbers(
            "0.71640698175 0.894087391907 1.0498892596 1.25454918811 1.44069352662 2.95590813201"
        ),
        {
            "theta": (1.74145699214, -0.796336031704, 1.36574752831),
            "weights": (1.46035963196, -0.139640263352, 0.704421866766),
        },
    ),
    "signed, 0/1": (
        (mirrors.SignedEntropy(2), 0.5, 1.0, X_B, S_B),
        numbers("0 -0.25 0.23791265187 0.236955309399 -0.147884302673 0.0972066689861"),
        numbers(
            "0.255412811883 0.387214424209 0.144847042915 0.138755419251 "
            "0.280024555119 0.264196438543"
        ),
        numbers(
            "0.0631678848039 0.207217776404 0.226051935417 0.244150935917 "
            "0.333879127757 0.386773305883"
        ),
        {"theta": (0.680284409917, -0.395998050869, -0.245945288342, -0.25810481488)},
    ),
}


@pytest.mark.parametrize("name", GENERAL)
def test_pd24_exact_steps_in_other_maps(name: str) -> None:
    (mirror, margin, C, X, y), margins, alphas, duals, ends = GENERAL[name]
    learner = DualAscent(losses.Hinge(margin), mirror, C)
    got = run(learner, X, y)
    assert got[0] == near(margins)
    assert got[1] == near(alphas)
    assert got[2] == near(duals)
    assert learner.weights == near(ends.get("weights", learner.weights))
    assert theta(learner) == near(ends.get("theta", theta(learner)))


@pytest.mark.parametrize(("margin", "C"), [(0.3, 5.0), (0.6, 0.4), (0.9, 4.0), (1.0, 3.0)])
def test_pd24_closed_form_on_the_simplex(margin: float, C: float) -> None:
    """0/1 features, a = <w,x>: ln(margin (1 - a) / (a (1 - margin))), clipped to [0, C]."""
    learner = DualAscent(losses.Hinge(margin), mirrors.Entropy(), C)
    for x, y in zip(X_B, S_B, strict=True):
        a = float(learner.predict(x)[0]) if learner.rounds else 0.5
        expected = C
        if y > 0 and margin < 1:
            expected = min(max(math.log(margin * (1 - a) / (a * (1 - margin))), 0.0), C)
        learner.learn(x, y)
        assert learner.alpha[-1] == near(expected)

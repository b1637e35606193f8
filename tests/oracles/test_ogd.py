"""Numbers of the lecture notes "Online Gradient Descent" (items OGD)."""

from __future__ import annotations

import math

import numpy as np

from noregret import catalogue, losses
from noregret.proof import closed_forms
from noregret.proof.ledger import Entry
from tests.oracles import printed_forms
from tests.oracles.data import ROW_A, S_A, U0, X_A, Y_A, bound, near, played, total

HINGE = losses.Hinge()


def test_ogd2_and_ogd3_perceptron() -> None:
    learner = catalogue.perceptron()
    margins = S_A * learner.learn(X_A, S_A)
    mistakes = np.flatnonzero(margins <= 0.0)
    assert (mistakes + 1).tolist() == [1, 5, 6]
    w = learner.weights
    assert w == near([0.7, -0.6, 0.7])
    hinges = [HINGE.value(S_A[t], X_A[t] @ U0) for t in mistakes]
    assert hinges == near([0, 1.2, 0.55])
    assert 3 - sum(hinges) == near(1.25)
    assert float(w @ U0) == near(1.65)
    certificate = learner.certificate()
    length = float(np.linalg.norm(U0))
    after = bound(certificate, "Perceptron, after the fact", length)
    before = bound(certificate, "Perceptron", length)
    assert after.value == near(1.73637553542)
    # The notes print the bound with the widest row of all; the run's mistakes are as wide.
    assert before.value == near(2.55880831638)
    assert before.factor * sum(hinges) + before.value == near(4.30880831638)
    b = ROW_A * length
    assert b == near(1.47732867027)
    assert printed_forms.perceptron_mistakes_printed(2.95, b) == near(7.66989531804)
    assert printed_forms.perceptron_mistakes(2.95, b) == near(6.80335093271)


def test_ogd4_hinge_is_above_the_error() -> None:
    points = (-0.5, 0.0, 1.0, 1.5)
    assert [HINGE.value(1.0, z) for z in points] == [1.5, 1.0, 0.0, 0.0]
    assert [HINGE.mistake(1.0, z) for z in points] == [True, True, False, False]
    assert HINGE.slope(1.0, 1.0) == 0.0


def test_ogd6_identity() -> None:
    w, moved, u = np.array([1.0, 2.0]), np.array([0.5, 1.0]), np.array([0.0, 1.0])
    left = -(moved - w) @ (w - u)
    squares = [float(v @ v) / 2 for v in (w - u, moved - u, moved - w)]
    assert (left, squares[0] - squares[1] + squares[2]) == near((1.5, 1.5))


def test_ogd5_ogd7_ogd8_ogd10_projected_run() -> None:
    learner = catalogue.projected_ogd(HINGE, radius=1.0, row_limit=ROW_A)
    assert learner.rate.eta == near(1.43591631724)  # type: ignore[attr-defined]
    assert played(learner, X_A, S_A) == near(
        np.array(
            [
                [0, 0, 0],
                [0.60920769908, -0.507673082567, 0.60920769908],
                [0.559885258415, -0.559885258415, 0.610783918271],
                [0.659724804804, -0.0422953371634, 0.750316124297],
                [0.935760594884, -0.0320708110075, 0.351174560786],
                [0.971970465946, 0.223503985617, 0.0729340917607],
                [0.737486313242, -0.128222243439, 0.366039282641],
            ]
        )
    )
    certificate = learner.certificate()
    assert certificate.average_loss == near(0.777030154412)
    # The floor is tight here, so the regret against the whole ball is known exactly.
    assert certificate.floor(1.0) / 6 == near(0.503904131128)
    assert certificate.regret_bound(1.0) / 6 == near(0.273126023283)
    u = U0 / 1.5
    mean = total(HINGE, X_A, S_A, u) / 6
    assert mean == near(0.572222222222)
    assert certificate.average_loss - mean == near(0.20480793219)
    observed = bound(certificate, "projected OGD, observed gradients", 1.0)
    assert observed.applies and observed.value / 6 == near(0.780473838364)
    # Printed with the widest gradient of the run, which is the widest row.
    worst = bound(certificate, "projected OGD", 1.0)
    assert worst.applies and worst.value / 6 == near(1.13724814062)
    assert closed_forms.projected_ogd_regret(1.0, ROW_A, 1.43591631724, 6) / 6 == near(
        1.13724814062
    )
    assert math.sqrt(8 / 6) * ROW_A == near(1.13724814062)


def test_ogd7_losses() -> None:
    learner = catalogue.projected_ogd(HINGE, radius=1.0, row_limit=ROW_A)
    margins = S_A * learner.learn(X_A, S_A)
    assert 1.0 - margins == near(
        [1, 0.0252676814717, 0.689518174879, 0.772346605876, 0.688624932376, 1.48642353187]
    )


def test_ogd9_square_loss() -> None:
    steepest = 4 * 1.5 * ROW_A**2
    assert steepest == near(5.82)
    eta = math.sqrt(2) * 1.5 / 5.82
    assert eta == near(0.364488031539)
    learner = catalogue.projected_ogd(losses.Squared(), radius=1.5, eta=eta)
    weights = played(learner, X_A, Y_A)
    assert weights[1:] == near(
        np.array(
            [
                [-0.218692818924, 0.18224401577, -0.218692818924],
                [-0.192943202873, 0.151344476509, -0.187793279662],
                [-0.378477134395, -0.071296241318, -0.410433997489],
                [-0.556753156015, -0.071296241318, -0.321295986679],
                [-0.445012884312, 0.0404440303844, -0.410688204041],
                [-0.451156053849, 0.0312292760785, -0.40300924212],
            ]
        )
    )
    suffered = (np.sum(weights[:-1] * X_A, axis=1) - Y_A) ** 2
    assert suffered == near(
        [
            0.25,
            0.00998171042595,
            0.77732279801,
            0.373800044967,
            0.469918892816,
            0.00266311385432,
        ]
    )
    certificate = learner.certificate()
    assert certificate.average_loss == near(0.313947760012)
    best = np.array([-0.574103910725, -0.196893987356, -0.587715303825])
    mean = total(losses.Squared(), X_A, Y_A, best) / 6
    assert (mean, float(np.linalg.norm(best))) == near((0.14075544576, 0.844850176609))
    assert certificate.average_loss - mean == near(0.173192314252)
    assert certificate.floor(1.5) / 6 <= mean
    assert closed_forms.projected_ogd_regret(1.5, 5.82, eta, 6) / 6 == near(10.0805357001)


def test_ogd11_ogd12_strongly_convex() -> None:
    learner = catalogue.strongly_convex_ogd(HINGE, 0.5)
    weights = played(learner, X_A, S_A)
    assert weights == near(
        np.array(
            [
                [0, 0, 0],
                [1.2, -1, 1.2],
                [0.6, -0.5, 0.6],
                [0.733333333333, 0.0666666666667, 0.8],
                [0.95, 0.05, 0.4],
                [0.96, 0.24, 0.16],
                [0.666666666667, 0, 0.3],
            ]
        )
    )
    margins = S_A * np.sum(weights[:-1] * X_A, axis=1)
    suffered = np.maximum(1 - margins, 0) + 0.25 * np.sum(weights[:-1] ** 2, axis=1)
    assert suffered == near([1, 0.97, 0.8825, 1.02888888889, 0.92625, 1.6992])
    certificate = learner.certificate()
    assert certificate.average_loss == near(1.08447314815)
    largest = math.sqrt(certificate.ledger[Entry.LARGEST_CURVED_SQUARE])
    assert (largest, 2 * ROW_A) == near((1.21210560596, 1.96977156036))
    best = np.array([0.833333333333, -0.2, 0.5])
    value = total(HINGE, X_A, S_A, best) / 6 + 0.25 * float(best @ best)
    assert value == near(0.753888888889)
    assert certificate.average_loss - value == near(0.330584259259)
    assert certificate.regularized_floor() / 6 == near(0.699722222222)
    observed = bound(certificate, "strongly convex OGD, observed gradients", 1.0)
    worst = bound(certificate, "strongly convex OGD", 1.0)
    # The run-time form of the bound is just what the ledger proves.
    assert certificate.average_loss - certificate.regularized_floor() / 6 == near(
        observed.value / 6
    )
    assert observed.value / 6 == near(0.384750925926)
    assert worst.value / 6 == near(0.683608835365)
    assert closed_forms.strongly_convex_regret(largest, 0.5, 6) / 6 == near(0.683608835365)
    assert closed_forms.strongly_convex_regret(2 * ROW_A, 0.5, 6) / 6 == near(1.8053377901)


def test_ogd12_weights_are_dual_averages() -> None:
    learner = catalogue.strongly_convex_ogd(HINGE, 0.5)
    learner.learn(X_A, S_A)
    certificate = learner.certificate()
    active = certificate.intercept
    w = learner.weights
    assert w == near(-certificate.gradient / (0.5 * 6))
    assert active / 6 - 0.25 * float(w @ w) == near(0.699722222222)

"""GD, EGU, EG and their constrained forms: the runs of the paper, clipping, signed features."""

from __future__ import annotations

import math
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pytest
import scipy.sparse

import noregret as nr
from noregret import catalogue, domains, losses, mirrors, rates
from noregret.catalogue.trackers import doubled_features, folded_weights
from noregret.losses import Loss
from noregret.proof import closed_forms
from tests.oracles.data import X_T, Y_T, near, played, total
from tests.tracking.dense import Tracker

SQUARED = losses.Squared()
ROOT_2 = math.sqrt(2)
UG = np.array([[0.2, 0.1, 0.1]] * 2 + [[0.1, 0.1, 0.25]] * 3)


def test_gd() -> None:
    learner = catalogue.gd(ROOT_2)
    assert learner.rate.at(0, 0, 0) == near(1 / 8)
    assert learner.learn(X_T, Y_T) == near([0, 0.04, 0.1075, 0.3170625, 0.3974921875])
    assert learner.weights == near([0.274047851562, 0.109796875, 0.448751953125])


def test_egu_and_eg() -> None:
    learner = catalogue.egu(1.0, 1.0)
    expected = [0.5, 0.414760183877, 0.503509281099, 0.698822432981, 0.629475454155]
    assert learner.learn(X_T, Y_T) == near(expected)
    assert learner.weights == near([0.338593924236, 0.236414074062, 0.614301899403])
    learner = catalogue.eg(SQUARED, width=1.0)
    expected = [0.5, 0.349659414884, 0.473854755061, 0.521343162376, 0.685310966057]
    assert learner.learn(X_T, Y_T) == near(expected)


def test_c_gd() -> None:
    learner = catalogue.c_gd(0.3, ROOT_2)
    weights = played(learner, X_T, Y_T)
    assert np.sum(weights[:-1] * X_T, axis=1) == near(
        [0, 0.04, 0.1075, 0.251448878044, 0.312090749629]
    )
    assert np.linalg.norm(weights, axis=1) == near(
        [0, 0.22360679775, 0.226790652365, 0.3, 0.3, 0.3]
    )
    assert weights[-1] == near([0.156967272391, 0.0614379483795, 0.248166584973])
    loss = learner.certificate().loss
    assert loss == near(1.74723259819)
    own = float(np.sum((np.sum(UG * X_T, axis=1) - Y_T) ** 2))
    size = float(np.linalg.norm(np.diff(UG, axis=0), axis=1).sum())
    assert (own, size) == near((1.1641, 0.180277563773))
    bound = 2 * own + 4 * 2 * (0.5 * float(UG[-1] @ UG[-1]) + 0.3 * size)
    assert bound == near(3.09086615306) and loss <= bound
    # A fixed comparator of the set has the static bound.
    fixed = np.array([0.1, 0.1, 0.25])
    assert total(SQUARED, X_T, Y_T, fixed) == near(1.191025)
    static = closed_forms.amortised_gd(ROOT_2).bound(1.191025, 0.5 * float(fixed @ fixed))
    assert static == near(2.71205) and loss <= static


def test_c_egu() -> None:
    learner = catalogue.c_egu(0.9, 3, 1.0, 1.0)
    weights = played(learner, X_T, Y_T)
    assert weights[1:] == near(
        np.array(
            [
                (0.40713425272, 0.333333333333, 0.368390306025),
                (0.390401214637, 0.3, 0.368390306025),
                (0.390401214637, 0.340694338061, 0.475111471319),
                (0.3, 0.3, 0.475111471319),
                (0.339931904799, 0.3, 0.610009870846),
            ]
        )
    )
    assert np.sum(weights[:-1] * X_T, axis=1) == near(
        [0.5, 0.414760183877, 0.518390306025, 0.731095552698, 0.625111471319]
    )
    assert learner.certificate().loss == near(0.661084716382)
    learner = catalogue.c_egu(0.8, 3, 1.0, 1.0)
    learner.learn(X_T, Y_T)
    assert learner.weights == near([0.338593924236, 0.266666666667, 0.614301899403])
    assert learner.certificate().loss == near(0.642626635651)


# Clipping


def test_clipping_enters_the_prediction_and_the_gradient() -> None:
    """Without it the bound is false: one feature, labels up to 1/100, the first weight 1."""
    learner = catalogue.c_egu(0.01, 1, 1.0, 0.01)
    assert learner.learn([[1.0]], [0.0]).tolist() == [0.01]
    assert learner.certificate().loss == near(0.0001)
    # eta = 1/(3 X Y), slope 2 (0.01 - 0).
    assert learner.weights == near([math.exp(-2 * 0.01 / 0.03)])
    assert learner.predict([[1.0]]).tolist() == [0.01]
    trial = catalogue.egu(1.0, 1.0, eta=0.1, dimension=1)
    assert trial.predict([[0.5], [3.0]]).tolist() == [0.5, 1.0]


@pytest.mark.parametrize("size", [None, 0.3])
def test_clipped_runs_equal_the_dense_algorithm(size: float | None) -> None:
    rng = np.random.default_rng(0)
    X, y = rng.random((200, 6)) * (rng.random((200, 6)) < 0.6), rng.random(200) * 0.4
    reference = Tracker(SQUARED, "box", 1 / 1.2, 6, size, clip=0.4)
    expected = reference.learn(X, y)
    for rows in (X, scipy.sparse.csr_matrix(X)):
        if size is None:
            learner = catalogue.egu(1.0, 0.4)
        else:
            learner = catalogue.c_egu(size, 6, 1.0, 0.4)
        assert learner.learn(rows, y) == pytest.approx(expected, abs=1e-12)
        assert learner.weights == pytest.approx(reference.w, rel=1e-11)
        assert learner.average == pytest.approx(reference.total / 200, rel=1e-11)
    assert np.sum(expected == 0.4) == 5


def test_lemma_12_with_clipping() -> None:
    """a L(w) - b L(u) <= D(u, w) - D(u, w'), also for weights whose prediction is clipped."""
    rng = np.random.default_rng(1)
    constants = closed_forms.amortised_egu(1.0, 1.0)
    for _ in range(200):
        w, u = rng.gamma(1.0, size=(2, 3)) * rng.choice([0.1, 1.0, 5.0])
        x, y = rng.random(3), float(rng.random())
        p = min(float(w @ x), 1.0)
        moved = w * np.exp(-constants.eta * 2 * (p - y) * x)
        gain = float(np.sum(u * np.log(moved / w) + w - moved))
        left = constants.a * (p - y) ** 2 - constants.b * (float(u @ x) - y) ** 2
        assert left <= gain + 1e-9


# Signed features, portfolios


def test_signed_features_of_the_paper() -> None:
    learner = catalogue.signed_c_eg(2.0, 0.5, 0.5, dimension=1)
    assert learner.rate.at(0, 0, 0) == near(1 / 6)
    rows = doubled_features([[-0.5]], 2.0)
    assert rows.tolist() == [[-1.0, 1.0]]
    assert learner.learn(rows, [0.3]) == near([0.0])
    assert learner.weights == near([0.450166002688, 0.549833997312])
    assert folded_weights(learner.weights, 2.0) == near([-0.19933598925])


def test_doubled_features_are_the_signed_map() -> None:
    """EG on them is EG with signed weights; C-EG keeps ||w||_1 <= (1 - alpha) U."""
    rng = np.random.default_rng(7)
    X, y = rng.normal(size=(100, 6)), rng.normal(size=100)
    signed = catalogue.signed_eg(SQUARED, 3.0, 0.01)
    doubled = catalogue.eg(SQUARED, 0.01)
    rows = doubled_features(X, 3.0)
    assert doubled.learn(rows, y) == pytest.approx(signed.learn(X, y), abs=1e-12)
    assert folded_weights(doubled.weights, 3.0) == pytest.approx(signed.weights, abs=1e-12)
    limit = float(np.abs(X).max())
    tracker = catalogue.signed_c_eg(3.0, 0.25, limit, dimension=6)
    sparse = doubled_features(scipy.sparse.csr_matrix(X), 3.0)
    predictions = tracker.learn(sparse, y)
    w = folded_weights(tracker.weights, 3.0)
    assert np.abs(w).sum() <= 0.75 * 3.0 * (1 + 1e-12)
    dense = catalogue.signed_c_eg(3.0, 0.25, limit, dimension=6)
    assert dense.learn(rows, y) == pytest.approx(predictions, abs=1e-12)
    # A floor for the doubled features is one for every w with ||w||_1 <= U.
    certificate = tracker.certificate()
    for _ in range(50):
        u = rng.normal(size=6)
        u *= 3.0 / np.abs(u).sum()
        assert certificate.floor(1.0) <= total(SQUARED, X, y, u)
    with pytest.raises(ValueError, match="one a doubled feature"):
        folded_weights([1.0, 2.0, 3.0])


@dataclass(frozen=True)
class LogWealth(Loss):
    """-ln p, the loss of a portfolio whose relatives are the row, a line below 1/2."""

    labels: ClassVar[str] = "real"
    nonnegative: ClassVar[bool] = False

    def value(self, y, p):  # type: ignore[no-untyped-def]
        return -math.log(max(p, 0.5)) + 2.0 * max(0.5 - p, 0.0)

    def slope(self, y, p):  # type: ignore[no-untyped-def]
        return -1.0 / max(p, 0.5)

    def mistake(self, y, p):  # type: ignore[no-untyped-def]
        return False


def test_a_portfolio() -> None:
    learner = catalogue.c_eg(0.1, loss=LogWealth(), eta=0.05, dimension=2)
    learner.learn([[1.1, 0.9]], [0.0])
    assert learner.weights == near([0.502499979167, 0.497500020833])
    assert learner.certificate().loss == near(0.0)


# What all of them must do


LEARNERS: dict[str, Any] = {
    "C-GD": lambda: catalogue.c_gd(0.4, 3.0),
    "C-EGU": lambda: catalogue.c_egu(0.5, 5, 2.0, 1.0),
    "C-EGU, implicit": lambda: catalogue.c_egu(0.5, 5, 2.0, 1.0, implicit=True),
    "C-EG": lambda: catalogue.c_eg(0.3, 2.0),
    "p-norm": lambda: catalogue.shifting_p_norm(3.0, 0.5, 3.0),
}


@pytest.mark.parametrize("name", LEARNERS)
def test_resumed_to_the_bit_and_true(name: str, tmp_path: Path) -> None:
    rng = np.random.default_rng(8)
    X = scipy.sparse.random(200, 5, 0.5, format="csr", random_state=rng)
    y = rng.random(200)
    whole = LEARNERS[name]()
    expected = whole.learn(X, y)
    cut = int(rng.integers(1, 199))
    learner = LEARNERS[name]()
    first = learner.learn(X[:cut], y[:cut])
    learner.save(tmp_path / "model")
    again = nr.load(tmp_path / "model")
    assert np.array_equal(np.concatenate([first, again.learn(X[cut:], y[cut:])]), expected)
    assert np.array_equal(again.weights, whole.weights)
    assert str(again.certificate()) == str(whole.certificate())
    assert np.array_equal(again.predict(X), whole.predict(X))
    certificate = whole.certificate()
    assert certificate.floor() <= certificate.loss
    for u in (whole.weights, whole.average):
        own = total(SQUARED, X.toarray(), y, u)
        assert certificate.floor() <= own
        assert certificate.loss - own <= certificate.regret(u)


def test_promises_and_refusals() -> None:
    assert catalogue.c_gd(1.0, eta=0.1, loss=losses.Hinge()).rate == rates.Constant(0.1)
    for make in (
        lambda: catalogue.c_gd(1.0),
        lambda: catalogue.egu(1.0),
        lambda: catalogue.c_eg(0.5),
        lambda: catalogue.shifting_p_norm(3.0, 1.0),
        lambda: catalogue.eg(SQUARED),
    ):
        with pytest.raises(ValueError, match="or a promise above 0 to derive it"):
            make()
    with pytest.raises(ValueError, match=r"c_gd has a rate of its own for Squared\(\) only"):
        catalogue.c_gd(1.0, 1.0, losses.Hinge())
    with pytest.raises(ValueError, match=r"alpha must be in \(0, 1\]"):
        catalogue.c_egu(0.0, 3, 1.0, 1.0)
    parts = SQUARED, mirrors.PNorm(3), rates.Constant(1.0)
    with pytest.raises(ValueError, match=r"PNormBall\(p=4\) goes with PNorm\(4\)"):
        nr.MirrorDescent(*parts, domains.PNormBall(4, 1), lazy=False)
    with pytest.raises(ValueError, match="lazy=False"):
        nr.MirrorDescent(*parts, domains.PNormBall(3, 1))
    with pytest.raises(ValueError, match="has a domain of its own"):
        nr.MirrorDescent(*parts, domains.Ball(1), lazy=False)
    with pytest.raises(ValueError, match="clip belongs to UnnormalizedEntropy"):
        nr.MirrorDescent(*parts, lazy=False, clip=1.0)
    entropy = SQUARED, mirrors.UnnormalizedEntropy(), rates.Constant(1.0)
    for clip in (0.0, -1.0, math.inf, math.nan):
        with pytest.raises(ValueError, match="clip must be a finite number above 0"):
            nr.MirrorDescent(*entropy, lazy=False, clip=clip)
    with pytest.raises(ValueError, match="clip belongs to"):
        nr.MirrorDescent(*entropy, clip=1.0)
    with pytest.raises(ValueError, match="implicit=True steps from the weights"):
        nr.MirrorDescent(*entropy, implicit=True)

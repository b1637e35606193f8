"""A loss of exactly 0, and rows that a measure leaves out, are printed as what they are."""

from __future__ import annotations

import numpy as np
import pytest

import noregret as nr
from noregret import losses, mirrors, rates
from noregret.evaluate import metrics_for
from noregret.proof.certificate import Certificate
from noregret.runs.facts import metrics_line


def certified(loss: losses.Loss, weight: float = 1.0) -> Certificate:
    rows = np.ones((5, 1))
    return nr.certify(rows, np.ones(5), np.full(5, 1.0), loss, np.full(5, weight))


@pytest.mark.parametrize("loss", [losses.Hinge(), losses.Absolute()], ids=str)
def test_nobody_is_better_than_a_loss_of_nothing(loss: losses.Loss) -> None:
    certificate = certified(loss)
    assert certificate.loss == 0.0
    assert certificate.regret_bound(1.0) == 0.0 and certificate.regret([0.5]) <= 0.0
    (line,) = [one for one in certificate.text(1.0).splitlines() if "regret at most" in one]
    assert line.split() == ["regret", "at", "most", "0", "0", "a", "round"]


def test_a_computed_zero_that_may_have_underflowed_is_none() -> None:
    # (1e-200)^2 is above 0, and so is 1e-320 times a loss.
    rows = np.ones((1, 1))
    tiny = nr.certify(rows, [0.0], [1e-200], losses.Squared())
    light = nr.certify(rows, [0.0], [1e-200], losses.Absolute(), [1e-200])
    for certificate in (tiny, light):
        assert certificate.loss == 0.0 and certificate.regret_bound(1.0) > 0.0


def test_a_learner_that_lost_something_keeps_its_bound() -> None:
    learner = nr.MirrorDescent(losses.Hinge(), mirrors.Ball(1.0), rates.Constant(0.5))
    learner.learn([[1.0]], [1.0])
    assert learner.certificate().regret_bound() >= learner.certificate().loss - 1e-9


def test_log_loss_says_which_rows_it_leaves_out() -> None:
    metrics = metrics_for(losses.Softmax())
    metrics.add(np.array([0.0, 1.0, 0.0]), np.zeros((3, 2)))
    assert "without" not in metrics_line(metrics.summary())
    # The third class has no score yet.
    metrics.add(np.array([2.0, 2.0]), np.zeros((2, 2)))
    assert metrics.summary()["log_loss_without"] == 2.0
    assert "log loss 0.6931 (without 2 rows whose class was new)" in metrics_line(metrics.summary())

"""Aggregates are linear, and have weights, where <weights, x> is the whole prediction."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

import noregret as nr
from noregret.experts import Aggregate
from tests.experts.test_mixtures import LOGISTIC, SQUARED, descent, mixed, stream

#: Rates, losses, options, and whether <weights, x> is the whole prediction.
KINDS: list[tuple[Any, Any, dict[str, Any], bool]] = [
    (nr.rates.Constant(0.1), LOGISTIC, {}, True),
    (nr.rates.Constant(0.01), SQUARED, {}, True),
    (nr.rates.Constant(0.01), SQUARED, {"clip": 0.5}, False),
    (nr.rates.Constant(0.01), SQUARED, {"clip": None}, True),
    (nr.rates.Adaptive(), LOGISTIC, {}, True),
    (nr.rates.PerCoordinate(1.0), LOGISTIC, {}, True),
    (nr.rates.ScaleFree(), LOGISTIC, {}, True),
    (nr.rates.ScaleFree(), SQUARED, {}, False),
    (nr.rates.CoinBetting(), LOGISTIC, {}, True),
    (nr.rates.Newton(), LOGISTIC, {}, True),
    (nr.rates.Newton(implicit=False), LOGISTIC, {}, True),
    (nr.rates.BlockLeader(), LOGISTIC, {}, True),
    (nr.rates.CertifiedNewton(), LOGISTIC, {}, True),
    (nr.rates.Arow(), nr.losses.Hinge(), {}, True),
    (nr.rates.Aioli(), LOGISTIC, {}, False),
    (nr.rates.Ridge(), SQUARED, {}, False),
    (nr.rates.Ridge(clipped=False), SQUARED, {}, True),
    (nr.rates.Ridge(clipped=False, anticipating=True), SQUARED, {}, False),
]


@pytest.mark.parametrize(("rate", "loss", "options", "linear"), KINDS)
def test_weights_are_given_where_they_are_the_whole_prediction(
    rate: Any, loss: Any, options: dict[str, Any], linear: bool
) -> None:
    X, y = stream(7)
    y = y + 20.0 if loss is SQUARED else y
    if options:
        X, mirror = np.abs(X), nr.mirrors.UnnormalizedEntropy()
        first = nr.MirrorDescent(loss, mirror, rate, lazy=False, **options)
    else:
        first = descent(rate, loss)
    learner = Aggregate([first, descent(0.01, loss)])
    outer = Aggregate([learner])
    outer.learn(X, y)
    proof = learner.certificate()
    assert (proof.reach is not None) is linear is learner._linear() is outer._linear()
    if linear:
        np.testing.assert_allclose(learner.predict(X), X @ learner.weights, rtol=1e-10, atol=1e-12)
        np.testing.assert_allclose(outer.predict(X), X @ outer.weights, rtol=1e-10, atol=1e-12)
        return
    # Why it is not: the member's weights alone are not what it predicts.
    member = learner.learners[0]
    assert np.abs(member.predict(X) - X @ member.weights).max() > 1e-6
    for one in (learner, outer):
        with pytest.raises(ValueError, match="a learner of the aggregate predicts by more than"):
            _ = one.weights


def test_every_rate_is_asked() -> None:
    named = {type(rate) for rate, *_ in KINDS}
    own = {
        kind
        for kind in vars(nr.rates).values()
        if isinstance(kind, type) and issubclass(kind, nr.rates.Rate) and "corrects" in vars(kind)
    }
    assert own - {nr.rates.Rate} <= named
    assert [nr.rates.ScaleFree().corrects(labels) for labels in ("sign", "real")] == [False, True]


@pytest.mark.parametrize(
    ("learner", "words"),
    [
        (lambda: Aggregate([descent(0.1)], mixing="probabilities"), "mixes probabilities is not"),
        (lambda: mixed(stacked=False), "mixes probabilities is not linear"),
        (lambda: mixed(), "mixes probabilities is not linear"),
        (lambda: Aggregate([descent(0.1)], stack=descent(0.1)), "has a stack is not linear"),
    ],
)
def test_mixtures_that_are_not_linear_have_no_weights(learner: Any, words: str) -> None:
    X, y = stream(8)
    one = learner()
    outer = Aggregate([one, descent(0.1)])
    outer.learn(X, y)
    with pytest.raises(ValueError, match=words):
        _ = one.weights
    with pytest.raises(ValueError, match="predicts by more than weights"):
        _ = outer.weights
    for each in (one, outer):
        proof = each.certificate()
        assert proof.reach is None and proof.radius is None and math.isfinite(proof.floor(1.0))

"""`online_to_batch` returns weights, which are the whole predictor or are refused."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import noregret as nr
from noregret.catalogue import online_to_batch

SQUARED, EUCLIDEAN = nr.losses.Squared(), nr.mirrors.Euclidean()
X = np.random.default_rng(0).normal(size=(40, 2))
#: Targets far from 0, which `ScaleFree` plays by their mean and not by weights.
Y = 100.0 + X @ [1.0, -2.0]


@pytest.mark.parametrize(
    ("mirror", "rate", "options", "words"),
    [
        (EUCLIDEAN, nr.rates.ScaleFree(), {}, "ScaleFree predicts more than <w, x>"),
        (EUCLIDEAN, nr.rates.Ridge(), {}, "Ridge predicts more than <w, x>"),
        (
            nr.mirrors.UnnormalizedEntropy(),
            nr.rates.Constant(1e-4),
            {"lazy": False, "clip": 1.0},
            "lowers predictions above 1",
        ),
    ],
)
@pytest.mark.parametrize("method", ["average", "random"])
def test_more_than_weights_is_refused(
    mirror: Any, rate: Any, options: dict[str, Any], words: str, method: str
) -> None:
    learner = nr.MirrorDescent(SQUARED, mirror, rate, **options)
    with pytest.raises(ValueError, match=words):
        online_to_batch(learner, X, Y, method)
    assert learner.rounds == 0


def test_drawn_weights_of_classes_are_those_played() -> None:
    signs = np.sign(Y - 100.0)
    learner = nr.MirrorDescent(nr.losses.Logistic(), EUCLIDEAN, nr.rates.ScaleFree())
    chosen = online_to_batch(learner, X, signs, "random", seed=3)
    draw = int(np.random.default_rng(3).integers(len(signs)))
    control = nr.MirrorDescent(nr.losses.Logistic(), EUCLIDEAN, nr.rates.ScaleFree())
    control.learn(X[:draw], signs[:draw])
    assert np.allclose(control.predict(X), X @ chosen, rtol=1e-12)

"""Streams and learners of the tests of `Standardized`."""

from __future__ import annotations

from typing import Any

import numpy as np

import noregret as nr

LOGISTIC, SQUARED = nr.losses.Logistic(), nr.losses.Squared()
EUCLIDEAN = nr.mirrors.Euclidean()
SCALE_FREE = nr.rates.ScaleFree()

_random = np.random.default_rng(20)
ROWS = 150
X = _random.normal(size=(ROWS, 4))
X[:, 3] = _random.random(ROWS) < 0.1
TRUTH = X @ [1.0, -2.0, 0.5, 3.0]
#: Signs, targets, classes.
Y = np.where(TRUTH + _random.normal(size=ROWS) > 0.0, 1.0, -1.0)
T = TRUTH + 7.0
CLASSES = (Y > 0.0).astype(float)
WEIGHT = np.round(_random.exponential(size=ROWS))


def made(loss: Any = LOGISTIC, rate: Any = None, **options: Any) -> nr.Standardized:
    rate = SCALE_FREE if rate is None else rate
    return nr.Standardized(nr.MirrorDescent(loss, EUCLIDEAN, rate), **options)


def matrix(**options: Any) -> nr.Standardized:
    return nr.Standardized(nr.MatrixDescent(nr.losses.Softmax()), **options)

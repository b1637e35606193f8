"""This package at its default settings: predictions made before each update."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

import noregret as nr
from bench.quality.data import Stream

Vector = npt.NDArray[np.float64]


def with_intercept(stream: Stream) -> sp.csr_matrix:
    """Return the rows behind a column of ones."""
    ones = sp.csr_matrix(np.ones((len(stream.y), 1)))
    return sp.csr_matrix(sp.hstack([ones, stream.rows], format="csr"))


def noregret(stream: Stream, limit: float) -> Vector:
    """Learn with one rate a feature, logistic loss for classes and squared loss for targets."""
    loss = nr.losses.Logistic() if stream.classes else nr.losses.Squared()
    rate = nr.rates.PerCoordinate(invariant=True)
    learner = nr.MirrorDescent(loss, nr.mirrors.Euclidean(), rate, averaging=False)
    return learner.learn(with_intercept(stream), stream.y)

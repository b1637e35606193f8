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
    """Learn as the command line does by default: nothing but the loss is chosen.

    Returns margins or targets, or the scores of all classes.
    """
    rows = with_intercept(stream)
    if stream.outputs > 1:
        return nr.MatrixDescent(nr.losses.Softmax(), outputs=stream.outputs).learn(rows, stream.y)
    loss = nr.losses.Logistic() if stream.classes else nr.losses.Squared()
    learner = nr.MirrorDescent(loss, nr.mirrors.Euclidean(), nr.rates.ScaleFree())
    return learner.learn(rows, stream.y)

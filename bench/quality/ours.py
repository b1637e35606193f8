"""This package at its default settings: predictions made before each update."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

import noregret as nr
from bench.quality.data import Stream

Vector = npt.NDArray[np.float64]
Tool = Callable[[Stream, float], Vector]


def with_intercept(stream: Stream) -> sp.csr_matrix:
    """Return the rows behind a column of ones."""
    ones = sp.csr_matrix(np.ones((len(stream.y), 1)))
    return sp.csr_matrix(sp.hstack([ones, stream.rows], format="csr"))


def noregret(stream: Stream, limit: float) -> Vector:
    """Learn by the mixture, which chooses everything itself.

    Returns margins or targets, or the scores of all classes.
    """
    rows = with_intercept(stream)
    if stream.outputs > 1:
        learner = nr.experts.ScoreAggregate()
        learner.grow(stream.outputs)
        return learner.learn(rows, stream.y)
    return nr.Mixture(_loss(stream)).learn(rows, stream.y)


def _loss(stream: Stream) -> nr.losses.Loss:
    return nr.losses.Logistic() if stream.classes else nr.losses.Squared()


def _named(rate: nr.rates.Rate) -> Tool:
    """Return the learner with a rate at its defaults; it stops where it diverges."""

    def learnt(stream: Stream, limit: float) -> Vector:
        learner = nr.MirrorDescent(_loss(stream), nr.mirrors.Euclidean(), rate, averaging=False)
        return _whole(learner, stream)

    return learnt


def _whole(learner: Any, stream: Stream) -> Vector:
    """Return its predictions; what comes after it diverged is lost."""
    try:
        return np.asarray(learner.learn(with_intercept(stream), stream.y))
    except OverflowError as error:
        made = getattr(error, "predictions", np.empty(0))
        return np.append(made, np.full(len(stream.y) - len(made), np.nan))


def _grid(stream: Stream, limit: float) -> Vector:
    return _whole(nr.experts.rate_grid(_loss(stream)), stream)


def _ascent(stream: Stream, limit: float) -> Vector:
    return _whole(nr.DualAscent(_loss(stream), nr.mirrors.Euclidean(), 1.0), stream)


#: Members of the mixture and others of ours by their names, at their defaults. Second-order ones
#: are for so many features.
FEW = 512
NAMED: dict[str, Tool] = {
    "ScaleFree": _named(nr.rates.ScaleFree()),
    "Adaptive": _named(nr.rates.Adaptive()),
    "PerCoordinate": _named(nr.rates.PerCoordinate()),
    "grid": _grid,
    "DualAscent": _ascent,
}
NAMED_OF_CLASSES: dict[str, Tool] = {
    "CoinBetting": _named(nr.rates.CoinBetting()),
    "Aioli": _named(nr.rates.Aioli()),
    "Newton": _named(nr.rates.Newton()),
}
NAMED_OF_TARGETS: dict[str, Tool] = {
    "Ridge": _named(nr.rates.Ridge()),
    "Vovk-Azoury-Warmuth": _named(nr.rates.Ridge(clipped=False, anticipating=True)),
}
_SECOND_ORDER = {"Aioli", "Newton", *NAMED_OF_TARGETS}


def named(stream: Stream) -> dict[str, Tool]:
    """Return our named learners that a stream is for."""
    more = NAMED_OF_CLASSES if stream.classes else NAMED_OF_TARGETS
    wide = stream.rows.shape[1] > FEW
    return {k: run for k, run in (NAMED | more).items() if not (wide and k in _SECOND_ORDER)}

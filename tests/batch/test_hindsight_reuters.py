"""The optimum on binary word features of news, against LIBLINEAR."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.sparse import csr_array

import noregret as nr
from tests.batch.test_hindsight import liblinear, needs_data, objective

pytestmark = pytest.mark.compiled

pytest.importorskip("snowballstemmer", reason="the stemmer of the Reuters features is absent")


@pytest.fixture(scope="module")
def interest() -> tuple[csr_array, np.ndarray]:
    from bench.reuters import experiment, text

    protocol = experiment.Protocol()
    documents = text.read(text.folder())
    words = experiment.words(documents, protocol)
    for problem in experiment.problems(documents, words, protocol, text.TRAINING):
        if problem.category == "interest":
            return problem.X[:4000].astype(np.float64), problem.y[:4000]
    raise AssertionError("no such category")


@needs_data
@pytest.mark.parametrize(
    ("loss", "factor"),
    [(nr.losses.Hinge(), 1.0), (nr.losses.SquaredHinge(), 2.0), (nr.losses.Logistic(), 1.0)],
    ids=["hinge", "squared hinge", "logistic"],
)
def test_the_optimum_is_that_of_liblinear(interest, loss, factor) -> None:
    """Four thousand documents, a thousand words; C = 0.1, as wide margins suit rare classes."""
    X, y = interest
    best = nr.hindsight(X, y, loss, l2=10.0 / factor, tol=1e-8)
    theirs = objective(loss, X, y, liblinear(loss, X, y, 0.1), 10.0 / factor)
    assert best.converged
    assert abs(theirs - best.primal) <= 1e-6 * theirs
    assert best.dual <= theirs

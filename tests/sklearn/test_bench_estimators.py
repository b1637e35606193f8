"""The benchmark compares like with like: both contestants end with the same weights."""

from __future__ import annotations

import pytest

from bench.estimators import contest, kinds

pytestmark = pytest.mark.compiled

KINDS = list(kinds(90))


@pytest.mark.parametrize(("name", "X", "classes"), KINDS, ids=[name for name, *_ in KINDS])
def test_the_estimator_learns_what_the_core_learns(name, X, classes) -> None:
    contestants, model, learner = contest(X, classes, rows=30)
    for run in contestants.values():
        for _ in range(4):
            run()
    assert model.coef_.tobytes() == learner.weights[:-1].tobytes()
    assert model.intercept_ == learner.weights[-1] + learner.offset
    assert model.certificate_.as_dict() == learner.certificate().as_dict()

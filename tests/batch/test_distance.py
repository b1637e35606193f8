"""A learner with more features than the cache holds learns what a narrow one does."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.sparse import csr_array

import noregret as nr
from noregret.passes.switches import FAR, Far, Near, distance
from tests.sizes import sized


def test_the_border() -> None:
    assert distance(FAR) == Near() and distance(FAR + 1) == Far()


@pytest.mark.parametrize("rate", [nr.rates.InverseSqrt(0.5), nr.rates.ScaleFree()], ids=str)
def test_far_records_change_no_bit(rate: nr.rates.Rate) -> None:
    random, rows = np.random.default_rng(3), sized(60, 200)
    X = random.normal(size=(rows, 90))
    X[random.random(X.shape) < 0.5] = 0.0
    y = np.where(X @ random.normal(size=90) > 0.0, 1.0, -1.0)
    near = csr_array(X)
    # The same features with others between them that no row has.
    columns = near.indices * np.int32(5000)
    far = csr_array((near.data, columns, near.indptr), shape=(rows, 450_000))
    learners = [
        nr.MirrorDescent(nr.losses.Logistic(), nr.mirrors.Euclidean(), rate, averaging=False)
        for _ in range(2)
    ]
    narrow, wide = learners[0].learn(near, y), learners[1].learn(far, y)
    assert wide.tobytes() == narrow.tobytes()
    assert learners[1].weights[::5000].tobytes() == learners[0].weights.tobytes()
    assert np.count_nonzero(learners[1].weights) == np.count_nonzero(learners[0].weights) == 90

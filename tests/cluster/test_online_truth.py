"""Certificates of shards that are mixed, every statement put before the exact referee."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest

from noregret.learners.mixing import unmixable
from tests.cluster.sharing import WAYS, begun, blocks_of, shares
from tests.truth.claims import Tally, judge
from tests.truth.learners import COMBOS, TRACKERS, Combo
from tests.truth.streams import KINDS, Played, play

COUNTS = (1, 2, 8, 32)


def _mixable(combo: Combo) -> bool:
    learner = combo.learner(np.random.default_rng(0), 1.0, 4)
    return not unmixable(learner)


MIXABLE = [combo for combo in COMBOS + TRACKERS if _mixable(combo)]


def judged(seed: int) -> Tally:
    """Play one stream over shards and judge the certificate; the seed chooses everything."""
    random = np.random.default_rng([20261118, seed])
    combo, kind = MIXABLE[seed % len(MIXABLE)], KINDS[int(random.integers(len(KINDS)))]
    count, way = COUNTS[seed // len(MIXABLE) % 4], WAYS[int(random.integers(len(WAYS)))]
    dimension = int(random.integers(1, 7))
    learner = combo.learner(random, kind.size, dimension)
    # A lone learner plays first: adversarial labels are chosen against it.
    stream = play(random, kind, learner, combo.layout, dimension)
    X, y, weight = stream.X, stream.y, stream.weight
    learner = combo.learner(np.random.default_rng(seed), kind.size, dimension)
    own = shares(random, y, count, way)
    blocks = [blocks_of(random, X, y, weight, rows, combo.layout) for rows in own]
    run, shards = begun(blocks, learner, int(random.integers(1, 12)), int(random.integers(1, 4)))
    try:
        run.finish()
    except OverflowError:
        # What was predicted before is certified none the less.
        pass
    learnt = [rows[: len(shard.predictions)] for rows, shard in zip(own, shards, strict=True)]
    places = np.concatenate(learnt).astype(int)
    predictions = np.array([p for shard in shards for p in shard.predictions])
    assert run.rows == len(places)
    found = run.weights
    mixed = SimpleNamespace(loss=learner.loss, rate=learner.rate, weights=found, average=found)
    certificates = {len(places): run.certificate()}
    played = Played(X[places], y[places], weight[places], predictions, mixed, certificates)
    return judge(random, played)


def test_the_usual_losses_are_among_the_streams() -> None:
    assert {combo.loss for combo in MIXABLE} >= {"hinge", "logistic", "squared", "absolute"}


#: Every kind of learner once, every number of shards in turn.
SHORT = [k + len(MIXABLE) * (k % 4) for k in range(len(MIXABLE))]


@pytest.mark.parametrize("seed", SHORT)
def test_no_statement_is_false(seed: int) -> None:
    assert judged(seed).false == []


@pytest.mark.soak
def test_no_statement_is_false_on_a_thousand_streams() -> None:
    total = Tally()
    for seed in range(1000):
        total.add(judged(seed))
    print(total.checked)
    assert total.false == []

"""Online learning over shards: mixing, workers, checkpoints, refusals, words."""

from __future__ import annotations

import copy
import json
from fractions import Fraction
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

import noregret as nr
from noregret import domains, losses, mirrors, rates
from noregret.cluster.online import OnlineRun, learn
from noregret.streams.block import Block
from tests.cluster.sharing import begun, blocks_of, shares
from tests.cluster.test_online_truth import MIXABLE
from tests.truth.learners import Combo

Vector = npt.NDArray[np.float64]
LOGISTIC = losses.Logistic()


def stream(seed: int, n: int = 120, d: int = 5, real: bool = False) -> tuple[Vector, Vector]:
    random = np.random.default_rng(seed)
    X = random.normal(size=(n, d)) / np.sqrt(d)
    X[random.random((n, d)) < 0.2] = 0.0
    margins = X @ random.normal(size=d) * 3.0 + 0.3 * random.normal(size=n)
    return X, margins if real else np.where(margins > 0.0, 1.0, -1.0)


def logistic(rate: Any = None) -> nr.MirrorDescent:
    rate = rates.Adaptive(1.0) if rate is None else rate
    return nr.MirrorDescent(LOGISTIC, mirrors.Euclidean(), rate)


def sharded(count: int, combo: Combo | None = None, seed: int = 0) -> tuple[list[Any], Any]:
    """Return blocks of shards and a learner for them."""
    random = np.random.default_rng(seed)
    learner = logistic() if combo is None else combo.learner(random, 1.0, 5)
    X, y = stream(seed, real=learner.loss.labels == "real")
    weight = random.uniform(0.0, 2.0, len(y))
    own = shares(random, y, count, "uneven")
    form = "dense64" if combo is None else combo.layout
    return [blocks_of(random, X, y, weight, rows, form) for rows in own], learner


def outcome(run: OnlineRun) -> tuple[Any, ...]:
    """Return all numbers that a run ends with, but for the seconds."""
    proof = run.certificate()
    table = [line[:3] for line in run.table]
    return proof.ledger.tolist(), proof.gradient.tolist(), proof.delta, run.weights.tolist(), table


@pytest.mark.parametrize("combo", MIXABLE, ids=lambda combo: combo.name)
def test_one_shard_predicts_as_one_learner_to_the_bit(combo: Combo) -> None:
    blocks, learner = sharded(1, combo)
    run, (shard,) = begun(blocks, learner, 9)
    run.finish()
    alone = copy.deepcopy(learner)
    made = np.concatenate([alone.learn(*block) for block in blocks[0]])
    np.testing.assert_array_equal(shard.predictions, made)
    np.testing.assert_array_equal(run.weights, alone.weights)


@pytest.mark.parametrize("combo", MIXABLE[::4], ids=lambda combo: combo.name)
def test_the_number_of_workers_changes_no_bit(combo: Combo) -> None:
    found = []
    for workers in (1, 2, 4):
        blocks, learner = sharded(7, combo)
        run, shards = begun(blocks, learner, 5, workers, radius=2.0)
        found.append((outcome(run.finish()), [shard.predictions for shard in shards]))
    assert found[0] == found[1] == found[2]


@pytest.mark.parametrize("combo", MIXABLE[1::4], ids=lambda combo: combo.name)
def test_a_restored_run_goes_on_to_the_bit(combo: Combo) -> None:
    blocks, learner = sharded(4, combo)
    run, _ = begun(blocks, learner, 6, radius=1.0)
    run.step()
    run.step()
    state = copy.deepcopy(run.state())
    again, _ = begun(blocks, learner, 6, workers=2, radius=1.0)
    again.step()
    again.restore(state)
    assert outcome(run.finish()) == outcome(again.finish())
    assert len(run.table) == len(again.table) > 2


def test_a_checkpoint_is_made_of_arrays_and_plain_values() -> None:
    blocks, learner = sharded(3)
    run, _ = begun(blocks, learner, 10, radius=1.0)
    run.step()

    def plain(value: Any) -> Any:
        if isinstance(value, dict):
            assert all(type(key) is str for key in value)
            return {key: plain(one) for key, one in value.items()}
        if isinstance(value, list):
            return [plain(one) for one in value]
        return value.tolist() if isinstance(value, np.ndarray) else value

    assert json.dumps(plain(run.state()))


def test_a_checkpoint_of_another_run_is_refused() -> None:
    blocks, learner = sharded(3)
    run, _ = begun(blocks, learner, 10)
    state = run.finish().state()
    with pytest.raises(ValueError, match="the checkpoint has every 10, and this run 11"):
        begun(blocks, learner, 11)[0].restore(state)
    with pytest.raises(ValueError, match="rate Adaptive"):
        begun(blocks, logistic(rates.Constant(0.5)), 10)[0].restore(state)
    fewer = [*blocks[:2], [(X[:0], y[:0], w[:0]) for X, y, w in blocks[2]]]
    with pytest.raises(ValueError, match="rows"):
        begun(fewer, learner, 10)[0].restore(state)


def test_weights_are_averaged_by_the_rows_learnt() -> None:
    learner = nr.MirrorDescent(losses.Absolute(), mirrors.Euclidean(), rates.Constant(1.0))
    # Steps of whole numbers: shard 0 learns 3 rows, shard 1 none, shard 2 one row.
    first = ([[1.0, 0.0], [0.0, 2.0], [4.0, 0.0]], [9.0, 9.0, 99.0])
    run = learn([[first], [], [([[0.0, 8.0]], [99.0])]], learner, every=3)
    mean = [Fraction(3, 4) * 5, Fraction(3, 4) * 2 + Fraction(1, 4) * 8]
    assert run.weights.tolist() == [float(one) for one in mean]


@pytest.mark.parametrize(
    "rate", [rates.Adaptive(0.7), rates.InverseSqrt(0.5), rates.PerCoordinate(1.0, True)], ids=repr
)
def test_all_shards_are_in_one_state_after_a_mixing(rate: rates.Rate) -> None:
    blocks, _ = sharded(5)
    run, shards = begun(blocks, logistic(rate), 8)
    while run.step():
        states = [shard._learner._arrays() for shard in shards]
        for other in states[1:]:
            assert all(np.array_equal(other[name], states[0][name]) for name in states[0])


def test_rates_by_coordinate_keep_the_largest_sizes_of_all_shards() -> None:
    blocks = [[([[4.0, 0.0]], [1.0])], [([[0.0, 0.5]], [1.0])]]
    run, shards = begun(blocks, logistic(rates.PerCoordinate()), 1)
    run.step()
    theta, squares, weighted, size = shards[1]._learner._engine.state.T
    assert theta.tolist() == [1.0, 0.125] and squares.tolist() == [2.0, 0.03125]
    assert weighted.tolist() == [4.0, 0.5] and size.tolist() == [4.0, 0.5]


def test_domains_are_not_left_by_mixing() -> None:
    X, y = stream(1)
    for domain in (domains.Ball(0.5), domains.Box(-0.3, 0.1), domains.Simplex(2.0)):
        learner = nr.MirrorDescent(
            LOGISTIC, mirrors.Euclidean(), rates.Constant(1.0), domain, lazy=False
        )
        w = learn([[(X[k::3], y[k::3])] for k in range(3)], learner, every=4).weights
        np.testing.assert_allclose(domain.project(w), w, atol=1e-12)


def test_mixing_helps_and_does_not_diverge() -> None:
    X, y = stream(2, n=4000)
    y = np.where(np.random.default_rng(0).random(len(y)) < 0.2, -y, y)
    blocks = [[(X[k::8], y[k::8])] for k in range(8)]
    alone, mixed, apart = (
        learn(blocks if count == 8 else [[(X, y)]], logistic(rates.Adaptive(2.0)), every).loss
        for count, every in ((1, 10), (8, 10), (8, 10**6))
    )
    assert alone < mixed < apart
    assert mixed < 1.05 * alone


REFUSED = [
    (logistic(rates.ScaleFree()), "ScaleFree has state of its own"),
    (logistic(rates.CoinBetting()), "CoinBetting has state of its own"),
    (logistic(rates.Doubling()), "Doubling restarts the learner"),
    (logistic(rates.StronglyConvex(1.0)), "StronglyConvex adds a penalty"),
    (
        nr.MirrorDescent(LOGISTIC, mirrors.Entropy(1.0), rates.Constant(0.1),
                         domains.ClippedSimplex(0.1, 1.0), lazy=False),
        "kept in groups",
    ),
    (nr.DualAscent(losses.Hinge(), mirrors.Euclidean(), C=1.0), "is not a MirrorDescent"),
]  # fmt: skip


@pytest.mark.parametrize(("learner", "words"), REFUSED, ids=[words for _, words in REFUSED])
def test_learners_that_cannot_be_mixed_are_refused_with_the_reason(
    learner: Any, words: str
) -> None:
    with pytest.raises(ValueError, match=f"cannot be mixed.*{words}"):
        learn([[([[1.0]], [1.0])]], learner, every=1)


def test_a_learner_that_has_learnt_is_refused() -> None:
    learner = logistic()
    learner.learn([[1.0]], [1.0])
    with pytest.raises(ValueError, match="it has learnt 1 rounds"):
        learn([[([[1.0]], [1.0])]], learner, every=1)


@pytest.mark.parametrize("workers", [1, 3])
def test_a_row_that_is_refused_ends_the_run_and_names_its_shard(workers: int) -> None:
    blocks = [[([[1.0], [2.0]], [1.0, 1.0])], [([[3.0], [np.nan]], [1.0, 1.0])], [([[1.0]], [1.0])]]
    run, _ = begun(blocks, logistic(), 1, workers)
    assert run.step()
    with pytest.raises(ValueError, match="shard 1, rows from 1: "):
        run.step()
    assert run.rows == run.certificate().rounds == 4
    for call in (run.step, run.state):
        with pytest.raises(RuntimeError, match="the run has ended"):
            call()


def test_a_shard_that_diverges_keeps_what_it_predicted() -> None:
    learner = nr.MirrorDescent(losses.Squared(), mirrors.Euclidean(), rates.Constant(1.0))
    blocks = [[([[1.0], [1e70], [1e90], [1.0]], [1.0, 1e70, 1.0, 1.0])], [([[1.0]], [1.0])]]
    run, _ = begun(blocks, learner, 4)
    with pytest.raises(OverflowError, match=r"shard 0, row 2: .*diverges"):
        run.finish()
    assert run.rows == run.certificate().rounds == 3
    assert run.loss == run.certificate().loss > 0.0


def test_the_text_says_whose_loss_it_is() -> None:
    blocks, learner = sharded(4)
    proof = begun(blocks, learner, 1000)[0].finish().certificate()
    text = proof.text(2.0)
    whose = "4 shards, each predicting with its own weights, mixed every 1,000 rows"
    assert whose in text and whose in repr(proof) and proof.as_dict(2.0)["whose_loss"] == whose
    assert "at least the sum of the floors of the\n  4 shards" in text
    assert "looser the more shards there are" in text
    assert "not applicable: proved of one learner" in text
    assert not any(bound.applies for bound in proof.bounds)
    alone = begun(sharded(1)[0], learner, 5)[0].finish().certificate()
    assert "1 shard, which" in alone.text() and "looser" not in alone.text()


def test_blocks_of_a_stream_are_taken() -> None:
    X, y = stream(4)
    starts = np.arange(0, len(y) * 5 + 1, 5, dtype=np.uint64)
    columns = np.tile(np.arange(5, dtype=np.uint32), len(y))
    block = Block(starts, columns, X.ravel(), y, 5)
    run = learn([[block.rows(0, 50)], [block.rows(50, 120)]], logistic(), every=7)
    other = learn([[(X[:50], y[:50])], [(X[50:], y[50:])]], logistic(), every=7)
    assert run.loss == pytest.approx(other.loss, rel=1e-12)


def test_shards_without_rows_have_weights_and_a_certificate() -> None:
    run = learn([[], []], logistic(), every=5)
    assert run.rows == 0 and run.loss == 0.0 and run.weights.tolist() == [0.0]
    assert run.certificate().floor(1.0) == 0.0
    with pytest.raises(ValueError, match="shards is empty"):
        learn([], logistic(), every=5)
    with pytest.raises(ValueError, match="every"):
        learn([[]], logistic(), every=0)

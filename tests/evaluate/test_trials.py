"""Many learners in one pass, and examples that are held out."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

import noregret as nr
from noregret.evaluate import Holdout, Point, Trial, metrics_for, watch
from noregret.evaluate.holdout import in_turn, select
from noregret.evaluate.trial import parts
from noregret.streams import Block


def _block(rows: int, seed: int = 3, weighted: bool = False) -> Block:
    rng = np.random.default_rng(seed)
    lengths = rng.integers(0, 4, rows)
    indptr = np.concatenate([[0], np.cumsum(lengths)]).astype(np.uint64)
    indices = np.concatenate([np.sort(rng.permutation(6)[:n]) for n in lengths])
    return Block(
        indptr,
        indices.astype(np.uint32),
        rng.standard_normal(int(indptr[-1])),
        np.where(rng.random(rows) < 0.5, -1.0, 1.0),
        6,
        rng.exponential(size=rows) if weighted else None,
    )


@pytest.mark.parametrize("weighted", [False, True])
def test_selected_rows_are_those_rows(weighted: bool) -> None:
    block = _block(40, weighted=weighted).rows(5, 35)
    rng = np.random.default_rng(4)
    for share in (0.0, 0.4, 1.0):
        chosen = rng.random(30) < share
        part = select(block, chosen)
        assert np.array_equal(part.dense(), block.dense()[chosen])
        assert np.array_equal(part.y, block.y[chosen])
        if block.weight is not None:
            assert part.weight is not None
            assert np.array_equal(part.weight, block.weight[chosen])


def test_held_out_examples_are_those_that_were_named() -> None:
    everything = Holdout(every=4, after=10).held(0, 14)
    assert np.flatnonzero(everything).tolist() == [3, 7, 10, 11, 12, 13]
    parts = [Holdout(every=4, after=10).held(a, b) for a, b in ((0, 5), (5, 9), (9, 14))]
    assert np.array_equal(np.concatenate(parts), everything)
    assert not Holdout() and not Holdout().held(0, 5).any()
    for wrong in ({"every": 1}, {"every": -2}, {"after": 0}):
        with pytest.raises(ValueError, match="leaves nothing to learn"):
            Holdout(**wrong)


def test_a_random_share_depends_on_number_and_seed_alone() -> None:
    whole = Holdout(share=0.2, seed=3).held(0, 100_000)
    assert abs(whole.mean() - 0.2) < 0.005
    parts = [Holdout(share=0.2, seed=3).held(a, b) for a, b in ((0, 17), (17, 40_001))]
    assert np.array_equal(np.concatenate(parts), whole[:40_001])
    other = Holdout(share=0.2, seed=4).held(0, 100_000)
    # Independent of another seed, at whatever distance, and of its own neighbours.
    for shift in range(4):
        assert abs((whole[shift:] & other[: 100_000 - shift]).mean() - 0.04) < 0.004
    assert abs((whole[1:] & whole[:-1]).mean() - 0.04) < 0.004
    for wrong in (-0.1, 1.0, float("nan")):
        with pytest.raises(ValueError, match="expected one between 0 and 1"):
            Holdout(share=wrong)


def test_held_rows_are_predicted_by_what_was_learnt_before_them() -> None:
    def learner() -> nr.MirrorDescent:
        return nr.MirrorDescent(nr.losses.Logistic(), nr.mirrors.Ball(2), nr.rates.Adaptive())

    block = _block(60, weighted=True)
    held = Holdout(share=0.3).held(0, 60)
    one, slow = learner(), learner()
    made = in_turn(block, held, lambda part: one.learn(part, part.y, part.weight), one.predict)
    expected = []
    for row in range(60):
        part = block.rows(row, row + 1)
        turn = slow.predict(part) if held[row] else slow.learn(part, part.y, part.weight)
        expected += turn.tolist()
    np.testing.assert_allclose(made, expected, rtol=1e-12, atol=1e-15)
    assert one.rounds == 60 - held.sum()


def test_learners_side_by_side_learn_as_if_alone() -> None:
    def learners() -> list[nr.MirrorDescent | nr.DualAscent]:
        return [
            nr.MirrorDescent(nr.losses.Logistic(), nr.mirrors.Ball(2), nr.rates.Adaptive()),
            nr.catalogue.passive_aggressive(),
        ]

    blocks = [_block(30, seed, weighted=True) for seed in range(3)]
    trials = [Trial(one, metrics=metrics_for(nr.losses.Logistic())) for one in learners()]
    assert list(watch(trials, blocks)) == [1, 2, 4, 8, 16, 32, 64, 90]
    for trial, alone in zip(trials, learners(), strict=True):
        for block in blocks:
            alone.learn(block, block.y, block.weight)
        assert np.array_equal(trial.learner.weights, alone.weights)  # type: ignore[attr-defined]
        assert trial.points[-1].loss == alone.certificate().loss
        assert trial.metrics is not None
        summary = trial.metrics.summary()
        assert summary["examples"] == 90
        assert summary["weight"] == pytest.approx(sum(b.weight.sum() for b in blocks))  # type: ignore[union-attr]


def test_one_learner_that_diverges_raises_and_one_of_many_is_left_behind() -> None:
    def wild() -> nr.MirrorDescent:
        return nr.MirrorDescent(nr.losses.Squared(), nr.mirrors.Euclidean(), nr.rates.Constant(9e9))

    calm = nr.MirrorDescent(nr.losses.Squared(), nr.mirrors.Ball(1), nr.rates.Adaptive())
    large = _block(50)
    rows = Block(large.indptr, large.indices, large.values * 1e40, large.y, 6)
    with pytest.raises(OverflowError):
        list(watch([Trial(wild())], [rows]))
    trials = [Trial(wild()), Trial(calm)]
    list(watch(trials, [rows]))
    assert "diverges" in trials[0].failure and not trials[1].failure
    assert trials[1].points[-1].rounds == 50


def test_averages_are_rounded_outwards() -> None:
    for k in range(1, 40):
        total = 0.1 * k
        point = Point(7, total, 0, 1.0, total, total)
        assert Fraction(point.average_floor) * 7 <= Fraction(total)
        assert Fraction(point.average_regret) * 7 >= Fraction(total)


def test_a_run_that_stopped_at_a_mark_goes_on_to_the_next() -> None:
    rows = Block(np.arange(5, dtype=np.uint64), np.zeros(4, np.uint32), np.ones(4), np.ones(4), 1)
    cut = list(parts([rows], iter([2, 4, 6, 8, 10]), seen=4))
    assert [one if isinstance(one, int) else len(one) for one in cut] == [2, 6, 2, 8]


def test_plain_points_are_about_the_loss_without_its_penalty() -> None:
    learner = nr.MirrorDescent(
        nr.losses.Hinge(), nr.mirrors.Euclidean(), nr.rates.StronglyConvex(0.5)
    )
    learner.learn([[1.0], [2.0], [-1.0]], [1.0, 1.0, 1.0])
    proof = learner.certificate()
    assert proof.plain_loss < proof.loss
    assert Trial(learner, plain=True).look().loss == proof.plain_loss
    assert Trial(learner).look().loss == proof.loss


@pytest.mark.parametrize("loss", [nr.losses.Hinge(), nr.losses.Squared(), nr.losses.Softmax()])
def test_restored_measures_remember_that_they_are_weighted(loss: nr.losses.Loss) -> None:
    y, made = np.array([1.0, 1.0]), np.array([0.5, -0.5])
    if loss.labels == "class":
        made = np.eye(2)
    measures = metrics_for(loss)
    measures.add(y, made, np.array([1.0, 2.0]))
    again = metrics_for(loss)
    again.restore(measures.arrays())
    assert again.summary() == measures.summary()
    assert again.summary()["weighted"]

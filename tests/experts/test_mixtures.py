"""Aggregates that mix probabilities, and those that have a stack."""

from __future__ import annotations

import copy
import itertools
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.sparse import csr_array

import noregret as nr
from noregret.experts import Aggregate, Forecaster, ProbabilityForecaster
from noregret.experts.stacking import LARGEST_MARGIN
from noregret.files import store
from noregret.runs.verdicts_members import member_verdicts

LOGISTIC, SQUARED, EUCLIDEAN = nr.losses.Logistic(), nr.losses.Squared(), nr.mirrors.Euclidean()


def descent(rate: Any, loss: Any = LOGISTIC, **settings: Any) -> nr.MirrorDescent:
    rate = nr.rates.Constant(rate) if isinstance(rate, float) else rate
    return nr.MirrorDescent(loss, EUCLIDEAN, rate, **settings)


def members(loss: Any = LOGISTIC) -> list[Any]:
    second = nr.rates.Aioli(radius=4.0) if loss.labels == "sign" else nr.rates.Ridge()
    return [
        descent(0.05, loss),
        descent(nr.rates.ScaleFree(), loss),
        descent(second, loss),
    ]


def mixed(stacked: bool = True, **settings: Any) -> Aggregate:
    stack = descent(nr.rates.Newton()) if stacked else None
    return Aggregate(members(), mixing="probabilities", stack=stack, **settings)


def state_of(learner: Aggregate) -> list[bytes]:
    return [array.tobytes() for array in learner._to_file()[1].values()]


def stream(seed: int, rounds: int = 120, d: int = 4) -> tuple[np.ndarray, np.ndarray]:
    random = np.random.default_rng(seed)
    X = random.normal(size=(rounds, d))
    return X, np.where(X @ random.normal(size=d) + random.normal(size=rounds) > 0, 1.0, -1.0)


def lost(y: np.ndarray, p: np.ndarray, weight: Any = 1.0) -> float:
    return float((weight * np.logaddexp(0.0, -y * p)).sum())


@pytest.mark.parametrize("weighted", [False, True])
def test_it_mixes_the_probabilities_of_its_members(weighted: bool) -> None:
    X, y = stream(0)
    weight = np.random.default_rng(1).choice([0.0, 0.5, 3.0], len(y)) if weighted else None
    learner = mixed(stacked=False)
    made = learner.learn(X, y, weight)
    apart = np.column_stack([one.learn(X, y, weight) for one in members()])
    forecaster = ProbabilityForecaster(3)
    assert np.array_equal(made, forecaster.learn(apart, y, weight))
    assert np.array_equal(learner.shares, forecaster.weights)
    ahead = np.column_stack([one.predict(X) for one in learner.members])
    assert np.array_equal(learner.predict(X), forecaster.forecast(ahead))
    proof, mass = learner.certificate(), 1.0 if weight is None else weight
    best = min(lost(y, column, mass) for column in apart.T)
    assert proof.loss == pytest.approx(lost(y, made, mass), rel=1e-12)
    assert proof.members.regret() == pytest.approx(lost(y, made, mass) - best, abs=1e-9)
    (bound,) = proof.bounds
    counted = len(y) if weight is None else np.count_nonzero(weight)
    price = float(np.max(mass)) * math.log(3 * counted)
    assert bound.applies and bound.value == pytest.approx(price, rel=1e-12)
    assert bound.left_side == "loss - loss of any member"
    assert proof.floor(1.0) == nr.certify(X, y, made, LOGISTIC, weight).floor(1.0)


def test_what_it_prints() -> None:
    X, y = stream(2)
    learner = mixed()
    learner.learn(X, y)
    text = str(learner.certificate())
    best = learner.certificate().members.best_expert + 1
    assert f"member {best} of 4" in text and "best of its members" in text
    assert "mixed probabilities, W (ln K + ln T)     loss - loss of any member <= " in text
    assert "AdaHedge" not in text
    assert "mixing='probabilities', stacked" in repr(learner)
    plain = Aggregate(members())
    plain.learn(X, y)
    assert "mixing" not in repr(plain) and "stacked" not in repr(plain)


def test_the_theorem_holds_for_members_that_fail_in_turn() -> None:
    """The best member changes, one diverges slowly, weights grow."""
    for seed in range(12):
        X, y = stream(seed, rounds=90)
        y[30:60] *= -1.0
        weight = np.linspace(0.1, 5.0, 90) if seed % 2 else None
        learner = Aggregate(
            [descent(eta) for eta in (1e-4, 0.1, 5.0, 60.0)],
            mixing="probabilities",
            stack=descent(0.3),
        )
        made = learner.learn(X, y, weight)
        proof, mass = learner.certificate(), 1.0 if weight is None else weight
        (bound,) = proof.bounds
        assert bound.applies and bound.value <= np.max(mass) * math.log(5 * 90) * (1 + 1e-12)
        assert lost(y, made, mass) - float(proof.members.totals.min()) <= bound.value


@pytest.mark.parametrize(
    ("loss", "mixing"),
    [(LOGISTIC, "losses"), (LOGISTIC, "probabilities"), (SQUARED, "losses")],
    ids=["classes", "probabilities", "numbers"],
)
def test_a_stack_learns_from_the_predictions_of_the_others(loss: Any, mixing: str) -> None:
    X, y = stream(3)
    y = 100.0 * y if loss is SQUARED else y
    wild = [*members(loss), descent(30.0 if loss is LOGISTIC else 1e-3, loss)]
    alone = copy.deepcopy(wild)
    last = descent(nr.rates.ScaleFree(), loss)
    learner = Aggregate(wild, mixing=mixing, stack=descent(nr.rates.ScaleFree(), loss))
    made = learner.learn(X, y)
    apart = np.column_stack([one.learn(X, y) for one in alone])
    rows = np.clip(apart, -30.0, 30.0) if loss is LOGISTIC else apart
    assert np.abs(apart).max() > LARGEST_MARGIN == 30.0
    stacked = last.learn(rows, y)
    mixer: Any = Forecaster(5, loss) if mixing == "losses" else ProbabilityForecaster(5)
    assert np.array_equal(made, mixer.learn(np.column_stack([apart, stacked]), y))
    np.testing.assert_allclose(
        learner.certificate().members.totals[-1],
        sum(loss.value(a, b) for a, b in zip(y.tolist(), stacked.tolist(), strict=True)),
        rtol=1e-12,
    )
    assert np.array_equal(learner.stack.weights, last.weights)
    assert learner.members == [*wild, learner.stack] and len(learner.shares) == 5
    ahead = np.column_stack([one.predict(X) for one in alone])
    limited = np.clip(ahead, -30.0, 30.0) if loss is LOGISTIC else ahead
    ahead = np.column_stack([ahead, last.predict(limited)])
    assert np.array_equal(learner.predict(X), learner._mixer.forecast(ahead))


@pytest.mark.parametrize("mixing", ["losses", "probabilities"])
def test_row_by_row_the_stack_predicts_before_it_learns(mixing: str) -> None:
    X, y = stream(3)
    # Rates whose weights do not depend on the size of the coming row.
    whole, single = (
        Aggregate([descent(0.05), descent(0.5)], mixing=mixing, stack=descent(0.2)) for _ in "12"
    )
    made = whole.learn(X, y)
    for t in range(len(y)):
        ahead = single.predict(X[t : t + 1])
        assert single.learn(X[t : t + 1], y[t : t + 1]) == pytest.approx(ahead, rel=1e-12)
        assert ahead == pytest.approx(made[t], rel=1e-9)
    assert np.array_equal(single.stack.weights, whole.stack.weights)


@pytest.mark.parametrize("form", [np.asarray, csr_array], ids=["dense", "sparse"])
@pytest.mark.parametrize("mixing", ["losses", "probabilities"])
def test_cuts_and_files_change_no_bit(form: Any, mixing: str, tmp_path: Path) -> None:
    X, y = stream(4)

    def fresh() -> Aggregate:
        stack = descent(nr.rates.Newton())
        return Aggregate(members(), mixing=mixing, stack=stack, blocks=True)

    unbroken = fresh()
    made = unbroken.learn(form(X), y)
    broken, pieces = fresh(), []
    for part in (slice(0, 1), slice(1, 50), slice(50, 51), slice(51, 120)):
        pieces.append(broken.learn(form(X[part]), y[part]))
        broken.save(tmp_path / "a.nr")
        loaded: Any = nr.load(tmp_path / "a.nr")
        assert isinstance(loaded, Aggregate) and loaded.mixing == mixing
        assert loaded.members[-1] is loaded.stack and len(loaded.learners) == 3
        broken = copy.deepcopy(loaded)
    assert np.array_equal(np.concatenate(pieces), made)
    assert np.array_equal(broken.predict(form(X)), unbroken.predict(form(X)))
    assert str(broken.certificate()) == str(unbroken.certificate())


def test_closing_blocks_closes_those_of_all_members() -> None:
    X, y = stream(4)
    stack = descent(0.1, blocks=True)
    learner = Aggregate([descent(0.1, blocks=True), descent(0.2)], stack=stack, blocks=True)
    learner.learn(X, y)
    held = [learner._book._lines, learner.learners[0]._lines, stack._lines]
    before = [sum(array.size for array in one.arrays().values()) for one in held]
    learner.close_block()
    after = [sum(array.size for array in one.arrays().values()) for one in held]
    assert all(now < then for now, then in zip(after, before, strict=True))
    learner.learn(X, y)
    assert learner.rounds == 240 == stack.rounds


def test_headers_of_files(tmp_path: Path) -> None:
    X, y = stream(5)
    plain = Aggregate(members())
    plain.learn(X, y)
    header, arrays = plain._to_file()
    assert (header["mixing"], header["stacked"]) == ("losses", False)
    store.write(tmp_path / "bad.nr", header | {"mixing": "margins"}, arrays)
    with pytest.raises(ValueError, match="mixing must be 'losses' or 'probabilities', got 'mar"):
        nr.load(tmp_path / "bad.nr")
    store.write(tmp_path / "bad.nr", header | {"learners": header["learners"][:2]}, arrays)
    with pytest.raises(ValueError, match="3 shares for 2 learners"):
        nr.load(tmp_path / "bad.nr")
    learner = mixed()
    learner.learn(X, y)
    header, arrays = learner._to_file()
    assert (header["mixing"], header["stacked"]) == ("probabilities", True)
    for change, message in [
        ({"stacked": 1}, "stacked is 1, expected true or false"),
        ({"stacked": False}, ""),
        ({"mixing": "margins"}, "holds no whole model"),
        ({"mixing": "losses"}, "holds no whole model"),
        ({"learners": header["learners"][:2]}, "the stack learns from rows of 1 predictions"),
        ({"learners": []}, "an aggregate needs a learner or more"),
    ]:
        store.write(tmp_path / "bad.nr", header | change, arrays)
        if change == {"stacked": False}:
            # The stack would be a learner of rows of its own width.
            other: Any = nr.load(tmp_path / "bad.nr")
            with pytest.raises(ValueError, match="columns"):
                other.learn(X, y)
            continue
        with pytest.raises(ValueError, match=message):
            nr.load(tmp_path / "bad.nr")


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (
            lambda: Aggregate(members(SQUARED), mixing="probabilities"),
            "mixing='probabilities' is for Logistic(), got Squared(): use mixing='losses'",
        ),
        (
            lambda: Aggregate([descent(0.1, nr.losses.Hinge())], mixing="probabilities"),
            "mixing='probabilities' is for Logistic(), got Hinge(margin=1.0): use mixing='losses'",
        ),
        (
            lambda: Aggregate(members(), mixing="margins"),
            "mixing must be 'losses' or 'probabilities', got 'margins'",
        ),
        (lambda: Aggregate(members(), stack=3), "the stack is int, expected a learner"),
        (
            lambda: Aggregate(members(), stack=descent(0.1, SQUARED)),
            "all losses must take the same labels, -1 and +1 or real ones",
        ),
        (
            lambda: Aggregate(members(), stack=descent(0.1, dimension=2)),
            "the stack learns from rows of 3 predictions, this one knows 2 features",
        ),
        (
            lambda: Aggregate(2 * [(one := descent(0.1))][:1], stack=one),
            "the same learner is given twice: each must be its own",
        ),
    ],
)
def test_what_is_no_mixture(make: Any, message: str) -> None:
    with pytest.raises(ValueError) as error:
        make()
    assert str(error.value) == message


def test_other_losses_may_be_judged_by_the_logistic_one() -> None:
    X, y = stream(6)
    parts = [descent(0.1, nr.losses.Hinge()), descent(0.1)]
    learner = Aggregate(parts, LOGISTIC, mixing="probabilities")
    assert learner.certificate().rounds == 0 and learner.certificate().bounds == []
    made = learner.learn(X, y)
    assert learner.certificate().loss == pytest.approx(lost(y, made))


@pytest.mark.parametrize("mixing", ["losses", "probabilities"])
def test_a_member_that_diverges_leaves_the_rounds_before(mixing: str) -> None:
    X = np.full((400, 1), 10.0)
    weight = np.full(400, 1e90)
    steep = nr.losses.Exponential()
    made = [descent(0.001), descent(1e60, steep)]
    learner = Aggregate(made, LOGISTIC, mixing=mixing, stack=descent(0.1))
    with pytest.raises(OverflowError, match="learner 1 cannot go on"):
        learner.learn(X, np.where(np.arange(400) % 7 < 4, 1.0, -1.0), weight)
    played = learner.rounds
    assert [one.rounds for one in learner.members] == 3 * [played]
    assert learner.certificate().rounds == played < 400


@pytest.mark.parametrize("mixing", ["losses", "probabilities"])
def test_a_stack_that_diverges_leaves_the_rounds_before(mixing: str) -> None:
    X, y = stream(9, rounds=60)
    steep = nr.losses.Exponential()
    learner = Aggregate(
        [descent(0.05), descent(0.5)], LOGISTIC, mixing=mixing, stack=descent(1e3, steep)
    )
    with pytest.raises(OverflowError, match="the stack cannot go on: the loss or gradient of"):
        learner.learn(X, y)
    played = learner.rounds
    assert 0 < played < 60 and [one.rounds for one in learner.members] == 3 * [played]
    again = Aggregate(
        [descent(0.05), descent(0.5)], LOGISTIC, mixing=mixing, stack=descent(1e3, steep)
    )
    again.learn(X[:played], y[:played])
    assert state_of(again) == state_of(learner)


def test_bad_rows_leave_all_members_as_they_were() -> None:
    X, y = stream(10, rounds=20)
    learner = mixed()
    learner.learn(X, y)
    before = state_of(learner)
    spoilt = X.copy()
    spoilt[7, 2] = math.nan
    for rows, labels, weight in [
        (spoilt, y, None),
        (X, np.where(np.arange(20) == 3, 0.0, y), None),
        (X, y[:-1], None),
        (np.ones((20, 5)), y, None),
        (X, y, np.full(20, -1.0)),
    ]:
        with pytest.raises(ValueError) as error:
            learner.learn(rows, labels, weight)
        assert "\n" not in str(error.value)
        assert state_of(learner) == before


def test_a_stack_without_weights_of_examples_is_named() -> None:
    class Constant:
        loss = LOGISTIC

        def learn(self, X: Any, y: Any) -> np.ndarray:
            return np.zeros(len(y))

        predict = save = learn

    X, y = stream(11, rounds=10)
    learner = Aggregate(members(), stack=Constant())
    learner.learn(X, y)
    with pytest.raises(ValueError, match="the stack, a Constant, takes no weights"):
        learner.learn(X, y, np.ones(10))
    with pytest.raises(ValueError, match="the stack, a Constant, could not be loaded"):
        learner.save("nowhere.nr")


def test_statements_about_a_mixture_are_judged() -> None:
    X, y = stream(12)
    learner = mixed()
    learner.learn(X, y)
    found = list(member_verdicts(learner.certificate(), learner))
    assert [one.holds for one in found] == [True, True, True]
    assert "member" in found[0].statement and "of 4" in found[0].statement


def test_mixed_probabilities_do_better_than_mixed_margins_here() -> None:
    """Members that are certain, and wrong in turn: a mean of margins pays for each."""
    X, y = stream(13, rounds=400)
    kinds = list(itertools.product([8.0, 4.0], [1.0]))
    losses = []
    for mixing in ("losses", "probabilities"):
        learner = Aggregate([descent(eta) for eta, _ in kinds], mixing=mixing)
        losses.append(lost(y, learner.learn(X, y)))
    assert losses[1] < losses[0]

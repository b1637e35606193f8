"""Mixed probabilities of several classes: experts, and learners in one pass."""

from __future__ import annotations

import copy
import math
import pickle
from pathlib import Path
from typing import Any

import mpmath
import numpy as np
import pytest
from scipy.sparse import csr_array

import noregret as nr
from noregret.arguments import ArgumentError
from noregret.experts import ProbabilityForecaster, ScoreAggregate, ScoreForecaster
from noregret.experts.aggregate_certificate import ScoreAggregateCertificate
from noregret.experts.probability_rounds import MixtureSum
from noregret.runs.verdicts_members import member_verdicts

SOFTMAX = nr.losses.Softmax()


def exact_probabilities(scores: Any) -> list[Any]:
    top = max(scores)
    terms = [mpmath.exp(mpmath.mpf(s) - mpmath.mpf(top)) for s in scores]
    return [term / sum(terms) for term in terms]


def exact_run(table: Any, y: Any, weight: Any) -> list[list[Any]]:
    """Return the logarithms of the mixed probabilities, by products of probabilities."""
    count = table.shape[1]
    shares, made, largest, rounds = [mpmath.mpf(1) / count] * count, [], mpmath.mpf(0), 0
    for row, label, w in zip(table.tolist(), y.astype(int), weight.tolist(), strict=True):
        each = [exact_probabilities(scores) for scores in row]
        made.append(
            [
                mpmath.log(sum(v * p[c] for v, p in zip(shares, each, strict=True)))
                for c in range(table.shape[2])
            ]
        )
        if w == 0.0:
            continue
        largest, rounds = max(largest, mpmath.mpf(w)), rounds + 1
        shares = [v * p[label] ** (w / largest) for v, p in zip(shares, each, strict=True)]
        given, total = mpmath.mpf(1) / (rounds + 1), sum(shares)
        shares = [(1 - given) * v / total + given / count for v in shares]
    return made


def game(seed: int, rounds: int = 25) -> tuple[Any, Any, Any]:
    random = np.random.default_rng(seed)
    experts, classes = int(random.integers(1, 5)), int(random.integers(1, 6))
    size = random.choice([0.1, 1.0, 10.0, 300.0])
    table = size * random.normal(size=(rounds, experts, classes))
    y = random.integers(0, classes, rounds).astype(float)
    return table, y, random.choice([0.0, 0.5, 1.0, 3.0], rounds)


@pytest.mark.parametrize("seed", range(12))
def test_it_makes_the_mean_probabilities_and_keeps_its_promise(seed: int) -> None:
    table, y, weight = game(seed)
    forecaster = ScoreForecaster(table.shape[1])
    made = forecaster.learn(table, y, weight)
    with mpmath.workdps(60):
        exact = exact_run(table, y, weight)
        assert all(
            abs(mpmath.mpf(s) - e) <= 1e-9 * (1 + abs(e))
            for mine, its in zip(made.tolist(), exact, strict=True)
            for s, e in zip(mine, its, strict=True)
        )
        own = sum(
            mpmath.mpf(w) * -e[int(c)] for w, e, c in zip(weight.tolist(), exact, y, strict=True)
        )
        totals = [
            sum(
                mpmath.mpf(w) * -mpmath.log(exact_probabilities(row[k])[int(c)])
                for w, row, c in zip(weight.tolist(), table.tolist(), y, strict=True)
            )
            for k in range(table.shape[1])
        ]
        proof = forecaster.certificate()
        # What is stated holds of the exact losses.
        assert own - min(totals) <= mpmath.mpf(proof.regret())
        assert abs(own - proof.loss) <= proof.slack
    (bound,) = proof.bounds
    weighed = max(int((weight > 0.0).sum()), 1)
    if table.shape[1] > 1:
        assert bound.value == weight.max() * math.log(table.shape[1] * weighed)
    assert proof.regret() <= bound.value + 2.0 * proof.slack


def test_two_classes_are_the_mixture_of_margins() -> None:
    random = np.random.default_rng(0)
    margins, y = random.normal(size=(50, 3)), random.integers(0, 2, 50).astype(float)
    both, one = ScoreForecaster(3), ProbabilityForecaster(3)
    made = both.learn(np.stack([np.zeros_like(margins), margins], axis=2), y)
    mixed = one.learn(margins, 2.0 * y - 1.0)
    assert made[:, 1] - made[:, 0] == pytest.approx(mixed, abs=1e-12)
    assert both.weights == pytest.approx(one.weights, rel=1e-10)


def test_an_expert_that_is_surely_wrong_is_not_forgotten() -> None:
    forecaster = ScoreForecaster(2)
    sure = [[[1e100, 0.0], [0.0, 0.0]]]
    made = forecaster.learn(sure * 3, [1.0, 0.0, 0.0])
    assert np.isfinite(made).all() and made[0, 1] == pytest.approx(math.log(0.25))
    assert forecaster.weights.sum() == pytest.approx(1.0)
    # The losses of the experts, not of the mixture alone, say how large rounding can be.
    assert forecaster._state.book[MixtureSum.SIZE] >= 1e100
    # Differences of scores are taken from the largest, where none is lost.
    far = ScoreForecaster(1).forecast([[[-1e17, 0.0, 1.0]]])[0]
    assert far[1:] == pytest.approx([-math.log1p(math.e), 1.0 - math.log1p(math.e)])
    with pytest.raises(ValueError, match="row 0, expert 1, class 0: nan"):
        forecaster.learn([[[0.0, 0.0], [np.nan, 0.0]]], [0])
    with pytest.raises(ValueError, match=r"shape \(1, 3, 2\), expected \(rounds, 2, classes\)"):
        forecaster.learn([[[0.0, 0.0]] * 3], [0])
    with pytest.raises(ValueError, match="class 2"):
        forecaster.learn(sure, [2.0])
    assert forecaster.rounds == 3


def stream(rounds: int = 60, seed: int = 0, classes: int = 3) -> tuple[Any, Any, Any]:
    random = np.random.default_rng(seed)
    X = random.normal(size=(rounds, 4)) * [1.0, 10.0, 0.1, 1.0] + [0.0, 50.0, 0.0, 3.0]
    scores = (X - [0.0, 50.0, 0.0, 3.0]) / [1.0, 10.0, 0.1, 1.0] @ random.normal(size=(4, classes))
    y = (scores + 0.3 * random.normal(size=scores.shape)).argmax(axis=1).astype(float)
    return X, y, random.choice([0.0, 0.5, 2.0], rounds)


def state_of(learner: ScoreAggregate) -> dict[str, bytes]:
    return {name: array.tobytes() for name, array in learner._to_file()[1].items()}


@pytest.mark.parametrize("blocks", [False, True])
def test_learners_are_mixed_and_what_is_stated_holds(blocks: bool) -> None:
    X, y, weight = stream()
    learner = ScoreAggregate(blocks=blocks)
    made = learner.learn(X, y, weight)
    assert learner.outputs == 3 and made.shape == (60, 3)
    assert np.exp(made).sum(axis=1) == pytest.approx(np.ones(60), abs=1e-9)
    proof = learner.certificate()
    assert isinstance(proof, ScoreAggregateCertificate)
    logs = -made[np.arange(60), y.astype(int)]
    assert proof.loss == pytest.approx(float(weight @ logs), rel=1e-9)
    (bound,) = proof.bounds
    assert proof.members.regret() <= bound.value
    assert all(one.holds for one in member_verdicts(proof, learner))
    random = np.random.default_rng(1)
    sizes = np.abs(X[weight > 0.0]).max(axis=0)
    for radius in (0.01, 0.1, 1.0):
        floor = proof.floor(radius)
        for _ in range(30):
            U = random.normal(size=(4, 3))
            # The class measures each feature by its size.
            scores = (X / sizes) @ (U * radius / np.linalg.norm(U))
            level = np.log(np.exp(scores).sum(axis=1))
            lost = weight @ (level - scores[np.arange(60), y.astype(int)])
            assert floor <= lost + 1e-9
    if blocks:
        assert proof.floor(0.01) > 0.5 * float(weight.sum()) * math.log(3)
    assert "every U with" in proof.text(0.1)


@pytest.mark.parametrize("blocks", [False, True])
def test_cuts_files_and_copies_change_no_bit(blocks: bool, tmp_path: Path) -> None:
    X, y, weight = stream()
    y[:3] = [0.0, 1.0, 2.0]
    whole, parts, made = ScoreAggregate(blocks=blocks), ScoreAggregate(blocks=blocks), []
    expected = whole.learn(X, y, weight)
    for start, stop in ((0, 5), (5, 6), (6, 41), (41, 60)):
        made.append(parts.learn(X[start:stop], y[start:stop], weight[start:stop]))
        parts.save(tmp_path / "model")
        parts = pickle.loads(pickle.dumps(copy.deepcopy(nr.load(tmp_path / "model"))))
        assert type(parts) is ScoreAggregate
    assert (np.concatenate(made) == expected).all() and state_of(parts) == state_of(whole)
    assert (ScoreAggregate(blocks=blocks).learn(csr_array(X), y, weight) == expected).all()
    assert (parts.predict(X) == whole.predict(X)).all()


def test_classes_are_added_and_refusals_change_nothing() -> None:
    X, y, _ = stream()
    learner = ScoreAggregate()
    with pytest.raises(ValueError):
        learner.learn(np.full((1, 4), np.nan), [2])
    assert learner.outputs == 0
    learner.learn(X[:20], np.minimum(y[:20], 1.0))
    assert learner.outputs == 2
    before = state_of(learner)
    for given in ((X, y), (X[:, :2], np.zeros(60)), (np.full((1, 4), np.inf), [0])):
        with pytest.raises(ValueError):
            learner.learn(*given)
        assert state_of(learner) == before
    learner.grow(3)
    made = learner.learn(X[20:], y[20:])
    assert made.shape == (40, 3) and learner.certificate().outputs == 3
    assert learner.predict(X[:2]).shape == (2, 3)
    with pytest.raises(ArgumentError, match="learner 0 must be a MatrixDescent with Softmax"):
        ScoreAggregate([nr.MatrixDescent(nr.losses.MulticlassHinge())])


def test_shifts_and_units_matter_little() -> None:
    X, y, _ = stream(400)
    plain = -ScoreAggregate().learn(X, y)[np.arange(400), y.astype(int)].sum()
    moved = (X + 100.0 * X.std(axis=0)) * [1e3, 1e-3, 1.0, 7.0]
    other = -ScoreAggregate().learn(moved, y)[np.arange(400), y.astype(int)].sum()
    assert other == pytest.approx(plain, rel=1e-6)
    X[200] *= 1e6
    wild = -ScoreAggregate().learn(X, y)[np.arange(400), y.astype(int)].sum()
    assert wild <= 1.05 * plain


def test_rows_that_grow_wide_are_taken_over_by_the_last_member(tmp_path: Path) -> None:
    X, y, weight = stream()
    far = np.zeros((60, 600))
    far[:, :4] = X
    far[40:, 590] = y[40:]
    whole, parts, made = ScoreAggregate(), ScoreAggregate(), []
    expected = whole.learn(far, y, weight)
    assert whole.outgrown and np.any(whole.learners[-1].weights)
    for start, stop in ((0, 30), (30, 45), (45, 60)):
        parts.grow(3)
        made.append(parts.learn(far[start:stop], y[start:stop], weight[start:stop]))
        parts.save(tmp_path / "model")
        parts = nr.load(tmp_path / "model")
        if stop == 30:
            assert not parts.outgrown and not np.any(parts.learners[-1].weights)
    assert (np.concatenate(made) == expected).all() and state_of(parts) == state_of(whole)
    header, arrays = whole._to_file()
    with pytest.raises(ValueError, match="waits is 3"):
        ScoreAggregate._from_file(header | {"waits": 3}, arrays)


@pytest.mark.compiled
def test_machine_code_makes_the_same() -> None:
    X, y, weight = stream(500)
    parts = ScoreAggregate()
    whole = ScoreAggregate()
    expected = whole.learn(X, y, weight)
    made = [
        parts.learn(X[t : t + 99], y[t : t + 99], weight[t : t + 99])
        for t in range(0, 500, 99)
        if t or parts.grow(3) is None
    ]
    assert (np.concatenate(made) == expected).all() and state_of(parts) == state_of(whole)

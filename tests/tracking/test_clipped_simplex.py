"""C-EG in O((nonzeros + 1) log n): equal to the dense algorithm, to the bit when resumed, true."""

from __future__ import annotations

import importlib
import math
import sys
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse

import noregret as nr
from noregret import catalogue, domains, losses, mirrors, rates
from noregret.passes.descent import clipped_simplex
from noregret.passes.descent.groups import Column, Mark, Memory
from noregret.passes.descent.implicit import SEARCH
from noregret.passes.rounds import Round
from noregret.passes.rows import Row
from tests.oracles.data import X_T, Y_T, near, played
from tests.sizes import sized
from tests.tracking.dense import Tracker

ENTROPY, SQUARED = mirrors.Entropy(), losses.Squared()


def make(alpha: float, eta: float, n: int, loss: losses.Loss = SQUARED, **more: Any) -> Any:
    domain = domains.ClippedSimplex(alpha)
    parts = (loss, ENTROPY, rates.Constant(eta), domain)
    return nr.MirrorDescent(*parts, lazy=False, dimension=n, **more)


def stream(seed: int, n: int, rounds: int, density: float, size: float = 1.0) -> Any:
    """Return sparse rows of normal numbers, and labels."""
    rng = np.random.default_rng(seed)
    X = scipy.sparse.random(rounds, n, density, format="csr", random_state=rng)
    X.data = size * rng.normal(size=X.nnz)
    return X, rng.normal(size=rounds)


def test_the_run_of_the_paper() -> None:
    expected = [
        (0.384883798119, 0.3, 0.315116201881),
        (0.372045195208, 0.3, 0.327954804792),
        (0.3, 0.3, 0.4),
        (0.3, 0.3, 0.4),
        (0.3, 0.3, 0.4),
    ]
    predictions = [0.5, 0.376976759624, 0.477954804792, 0.6, 0.55]
    learner = catalogue.c_eg(0.9, 1.0)
    weights = played(learner, X_T, Y_T)
    assert weights[1:] == near(np.array(expected))
    assert np.sum(weights[:-1] * X_T, axis=1) == near(predictions)
    assert learner.certificate().loss == near(0.63733827217)
    # Sparse rows of the same numbers, alpha = 0.5, and the theorem's rate for that width.
    learner = catalogue.c_eg(0.5, 1.0, dimension=3)
    got = learner.learn(scipy.sparse.csr_matrix(X_T), Y_T)
    assert got == near([0.5, 0.349659414884, 0.473854755061, 0.521343162376, 0.685310966057])
    assert learner.weights == near([0.234136408932, 0.166666666667, 0.599196924401])
    assert learner.certificate().loss == near(0.481951576839)


@pytest.mark.compiled
@pytest.mark.each_value
@pytest.mark.parametrize("alpha", [1e-6, 0.05, 0.5, 0.95, 1.0])
@pytest.mark.parametrize(("n", "density"), [(2, 0.5), (30, 0.1), (200, 0.02)])
def test_sparse_equals_the_dense_algorithm(alpha: float, n: int, density: float) -> None:
    """Weights, predictions and averages of T rounds, rows of few and of many features."""
    for seed, eta in ((1, 0.1), (2, 1.0), (3, 6.0)):
        X, y = stream(seed, n, 500, density, 2.0)
        learner, reference = make(alpha, eta, n), Tracker(SQUARED, "simplex", eta, n, alpha)
        predictions = reference.learn(X.toarray(), y)
        assert learner.learn(X, y) == pytest.approx(predictions, abs=1e-11)
        assert learner.weights == pytest.approx(reference.w, rel=1e-10)
        assert learner.average == pytest.approx(reference.total / 500, rel=1e-9)
        assert learner.certificate().loss == pytest.approx(reference.loss_sum, rel=1e-11)
        assert learner.weights.min() >= alpha / n
        assert math.fsum(learner.weights) == pytest.approx(1.0, abs=1e-13)
        # Dense rows take the other way through the pass.
        dense = make(alpha, eta, n)
        assert dense.learn(X.toarray(), y) == pytest.approx(predictions, abs=1e-11)
        assert dense.weights == pytest.approx(reference.w, rel=1e-10)


@pytest.mark.parametrize("n", [3, 7, 20])
def test_a_set_of_one_point_is_all_that_weights_and_their_average_can_be(n: int) -> None:
    """Alpha = 1 leaves 1/n alone; rounding may put even the largest weight below it."""
    rng = np.random.default_rng(n)
    places = np.arange(20), rng.integers(n, size=20)
    X = scipy.sparse.csr_matrix((rng.normal(size=20), places), shape=(20, n))
    learner = make(1.0, 0.3, n)
    predictions = learner.learn(X, rng.normal(size=20))
    assert predictions == pytest.approx(X.sum(axis=1).A1 / n, rel=1e-12)
    assert learner.weights == pytest.approx(np.full(n, 1 / n), rel=1e-12)
    assert learner.average == pytest.approx(np.full(n, 1 / n), rel=1e-12)


def test_a_simplex_of_another_mass() -> None:
    """Scale s is C-EG on the features s x, at the rate that its width asks for."""
    X, y = stream(4, 20, 300, 0.1)
    scaled = catalogue.c_eg(0.3, 4.0, scale=2.5, dimension=20)
    plain = catalogue.c_eg(0.3, 10.0, dimension=20)
    assert scaled.learn(X, y) == pytest.approx(plain.learn(2.5 * X, y), abs=1e-13)
    assert scaled.weights == pytest.approx(2.5 * plain.weights, rel=1e-12)
    assert scaled.average == pytest.approx(2.5 * plain.average, rel=1e-12)


def test_other_losses_rates_and_weights_of_examples() -> None:
    X, y = stream(5, 40, 400, 0.05, 3.0)
    mass = np.random.default_rng(6).random(400) + 0.1
    for loss in (losses.Absolute(), losses.Logistic()):
        labels = np.sign(y) if loss.labels == "sign" else y
        learner = make(0.2, 0.5, 40, loss)
        reference = Tracker(loss, "simplex", 0.5, 40, 0.2)
        predictions = reference.learn(X.toarray(), labels, mass)
        assert learner.learn(X, labels, mass) == pytest.approx(predictions, abs=1e-11)
        assert learner.weights == pytest.approx(reference.w, rel=1e-10)


def test_conservative() -> None:
    X, y = stream(7, 10, 200, 0.3)
    learner = make(0.2, 0.5, 10, losses.Hinge(), conservative=True)
    reference = Tracker(losses.Hinge(), "simplex", 0.5, 10, 0.2, conservative=True)
    predictions = reference.learn(X.toarray(), np.sign(y))
    assert learner.learn(X, np.sign(y)) == pytest.approx(predictions, abs=1e-12)


@pytest.mark.parametrize("rate", [rates.InverseSqrt(1.0), rates.Doubling(1.0), rates.Adaptive()])
def test_rates_that_change(rate: rates.Rate) -> None:
    X, y = stream(8, 12, 300, 0.2)
    learner = nr.MirrorDescent(SQUARED, ENTROPY, rate, domains.ClippedSimplex(0.3), lazy=False)
    learner.learn(X, y)
    certificate = learner.certificate()
    rows = X.toarray()
    for u in (*np.eye(12), np.full(12, 1 / 12)):
        inside = 0.3 / 12 + 0.7 * u
        own = float(np.sum((rows @ inside - y) ** 2))
        assert certificate.floor() <= own
        assert certificate.loss - own <= certificate.regret(inside)
    assert math.fsum(learner.average) == pytest.approx(1.0, abs=1e-9)


def test_the_certificate_is_true() -> None:
    """On streams with drift, heavy steps and all alphas, against every comparator tried."""
    rng = np.random.default_rng(9)
    for trial in range(sized(9, 40)):
        n, alpha = int(rng.integers(1, 30)), float(rng.choice([1e-3, 0.3, 1.0]))
        X, y = stream(100 + trial, n, 120, float(rng.choice([0.1, 0.9])), rng.choice([0.1, 30.0]))
        learner = make(alpha, float(rng.choice([0.01, 1.0])), n)
        learner.learn(X, y)
        certificate = learner.certificate()
        corners = alpha / n + (1 - alpha) * np.vstack([np.eye(n), rng.dirichlet(np.ones(n), 8)])
        totals = np.sum((X @ corners.T - y[:, None]) ** 2, axis=0)
        assert certificate.floor() <= totals.min()
        assert certificate.floor() <= certificate.loss
        for u, total in zip(corners, totals, strict=True):
            assert certificate.loss - total <= certificate.regret(u)
        # The whole simplex is a larger class than the learner's own.
        vertices = np.sum((X.toarray() - y[:, None]) ** 2, axis=0)
        assert certificate.floor(1.0) <= vertices.min()


def test_theorem_16_holds() -> None:
    """Loss <= 3/2 L(u) + 3/2 X^2 (ln n + ln(n/alpha)/2 size), on shifting problems."""
    rng = np.random.default_rng(10)
    n, alpha = 20, 0.2
    for _ in range(sized(6, 30)):
        schedule = alpha / n + (1 - alpha) * np.repeat(rng.dirichlet(np.ones(n) / 4, 4), 50, axis=0)
        X = rng.random((200, n))
        y = np.sum(X * schedule, axis=1) + 0.1 * rng.normal(size=200)
        learner = catalogue.c_eg(alpha, 1.0, dimension=n)
        learner.learn(X, y)
        own = float(np.sum((np.sum(X * schedule, axis=1) - y) ** 2))
        size = float(np.abs(np.diff(schedule, axis=0)).sum())
        bracket = math.log(n) + 0.5 * math.log(n / alpha) * size
        assert learner.certificate().loss <= 1.5 * own + 1.5 * bracket


def test_resumed_to_the_bit(tmp_path: Path) -> None:
    n = sized(250, 600)
    X, y = stream(11, 60, n, 0.05, 2.0)
    whole = make(0.3, 0.8, 60)
    expected = whole.learn(X, y)
    rng = np.random.default_rng(12)
    for trial in range(sized(2, 4)):
        cuts = [0, *sorted(rng.integers(1, n, 2)), n]
        learner, got = make(0.3, 0.8, 60), []
        for k, (a, b) in enumerate(pairwise(cuts)):
            got.append(learner.learn(X[a:b], y[a:b]))
            # Reading does not change what comes.
            _ = learner.weights, learner.average, learner.certificate().floor()
            learner.save(tmp_path / f"{trial}{k}")
            learner = nr.load(tmp_path / f"{trial}{k}")
        assert np.array_equal(np.concatenate(got), expected)
        assert np.array_equal(learner.weights, whole.weights)
        assert np.array_equal(learner.average, whole.average)
        assert str(learner.certificate()) == str(whole.certificate())


def test_a_refused_row_changes_no_bit() -> None:
    X, y = stream(13, 60, 150, 0.05, 2.0)
    learner, undisturbed = make(0.3, 0.8, 60), make(0.3, 0.8, 60)
    for t in range(len(y)):
        learner.learn(X[[t]], y[[t]])
        undisturbed.learn(X[[t]], y[[t]])
        with pytest.raises(OverflowError):
            learner.learn(np.ones((1, 60)), [1e100], weight=[1e100])
        for name, kept in undisturbed._engine.arrays().items():
            assert np.array_equal(learner._engine.arrays()[name], kept), name


def test_long_runs_are_repaired() -> None:
    """Factors that drift, nodes that run out and sums that grow old do not show."""
    n, parts = 8, sized(12, 30)
    rng = np.random.default_rng(13)
    learner, reference = make(0.1, 0.7, n), Tracker(SQUARED, "simplex", 0.7, n, 0.1)
    for _ in range(parts):
        X = scipy.sparse.random(200, n, 0.2, format="csr", random_state=rng)
        y = rng.normal(size=200) + rng.choice([-1.0, 1.0])
        assert learner.learn(X, y) == pytest.approx(reference.learn(X.toarray(), y), abs=1e-11)
        slots = learner._engine.slots
        assert 1 / 1024 <= slots[Mark.FACTOR] <= 1024 and slots[Mark.NODES] <= n
    assert learner.average == pytest.approx(reference.total / (200 * parts), rel=1e-9)


def test_steps_that_would_overflow() -> None:
    """Gradients of any size leave a vertex of the set, not a NaN."""
    learner = make(0.4, 1e6, 4)
    X = scipy.sparse.csr_matrix([[0.0, 1e3, 0, 0], [0, 0, -1e3, 0.0], [0, 0, 0, 1.0]])
    learner.learn(X[:1], [1e3])
    assert learner.weights == near([0.1, 0.7, 0.1, 0.1])
    learner.learn(X[1:2], [-1e3])
    assert learner.weights == near([0.1, 0.1, 0.7, 0.1])
    learner.learn(X[2:], [-1e9])
    assert learner.weights.min() >= 0.1 and learner.weights[3] == near(0.1)
    assert learner.certificate().floor() <= learner.certificate().loss


def test_a_denormal_weight_grows_to_the_largest() -> None:
    learner = make(1e-310, 1000.0, 3, losses.Absolute())
    learner.learn([[1.0, 0.0, 0.0]], [2.0])
    assert learner.weights.tolist() == [1.0, 1e-310 / 3.0, 1e-310 / 3.0]
    learner.learn([[0.0, 1.0, 0.0]], [2.0])
    expected = [math.exp(-1000.0 - math.log(1e-310 / 3.0)), 1.0, 1e-310 / 3.0]
    np.testing.assert_allclose(learner.weights, expected, rtol=1e-12)


def test_a_round_touches_few_weights() -> None:
    """What a round changes is its own features and groups, not all weights."""
    n = 5000
    X, y = stream(14, n, 200, 10 / n, 0.3)
    learner = make(0.5, 0.5, n)
    learner.learn(X, y)
    state = learner._engine.state
    touched = np.unique(X.indices)
    others = np.setdiff1d(np.arange(n), touched)
    assert len(others) > 1000
    assert not state[others, :3].any() and np.all(state[others, 3] == -1.0)


def test_a_sum_that_lost_the_rest_does_not_lose_its_weight() -> None:
    """Rounding left 0 of a weight of 1e-50: an implicit step of 200 brings the other one there."""
    state = np.zeros((2, 4))
    state[:, Column.VALUE], state[:, Column.PLACE] = (1.0, 1e-50), (0.0, 1.0)
    slots = np.zeros(len(Mark))
    slots[Mark.SUM] = slots[Mark.FACTOR] = 1.0
    memory = Memory(state, slots, np.zeros((2, 2)), np.zeros((3, 5)), np.zeros(SEARCH))
    parts = losses.Absolute(), ENTROPY, rates.Constant(200.0)
    rule = clipped_simplex.ImplicitClippedSimplexRule(*parts, conservative=False, alpha=2e-50)
    row = Row(np.array([0], np.uint64), np.array([1.0]), 0, 1, 0)
    played = Round(0.5, 1.0, 1.0, 1.0, 1.0, 1.0, 200.0)
    step = rule.exponent(row, memory, played, 1.0)
    # Half of the weight lies on either side where exp(step) = 1e-50.
    assert step == pytest.approx(-50.0 * math.log(10.0), rel=1e-6)


def test_dense_rows_go_through_all() -> None:
    assert 0.0 < clipped_simplex.DENSE <= 1.0
    for n in (1, 2, 3):
        learner = make(0.5, 0.3, n)
        learner.learn(np.ones((5, n)), np.arange(5.0))
        assert learner.weights == near(np.full(n, 1 / n))


def test_refused() -> None:
    parts = SQUARED, ENTROPY, rates.Constant(1.0)
    with pytest.raises(ValueError, match=r"goes with Entropy\(2\) and lazy=False"):
        nr.MirrorDescent(*parts, domains.ClippedSimplex(0.5, 2.0), lazy=False)
    with pytest.raises(ValueError, match=r"goes with Entropy\(1\) and lazy=False"):
        nr.MirrorDescent(*parts, domains.ClippedSimplex(0.5))
    with pytest.raises(ValueError, match="has a domain of its own"):
        nr.MirrorDescent(*parts, domains.Simplex(), lazy=False)
    with pytest.raises(ValueError, match="clip belongs to"):
        nr.MirrorDescent(*parts, domains.ClippedSimplex(0.5), lazy=False, clip=1.0)


@pytest.mark.compiled
def test_the_benchmark_runs(monkeypatch: pytest.MonkeyPatch, capsys: Any) -> None:
    monkeypatch.syspath_prepend(Path(__file__).parents[2])
    program = importlib.import_module("bench.tracking")
    options = ["--largest", "100000", "--rows", "20", "--turns", "1"]
    monkeypatch.setattr(sys, "argv", ["bench.tracking", *options])
    program.main()
    printed = capsys.readouterr().out
    assert printed.count("ns a weight") == 2 and printed.count("us a round") == 3
    assert program.slope({10: 2.0, 100: 20.0, 1000: 200.0}) == near(1.0)

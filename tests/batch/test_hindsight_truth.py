"""Is the duality gap true? Exact arithmetic judges every epoch of random problems."""

from __future__ import annotations

import dataclasses
import itertools
from fractions import Fraction

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

import noregret as nr
from noregret.batch import Problem, hindsight
from noregret.batch.ascent import SETTLED, Ascent, Guess
from noregret.batch.problem import evaluate
from noregret.batch.radius import RadiusSolver
from noregret.passes.dual import dual
from tests.sizes import sized
from tests.truth.referee import exact_loss

LOSSES = (
    nr.losses.Hinge(),
    nr.losses.Hinge(0.3),
    nr.losses.SquaredHinge(),
    nr.losses.Logistic(),
    nr.losses.WinnowHinge(),
    nr.losses.Squared(),
    nr.losses.Absolute(),
    nr.losses.EpsilonInsensitive(0.2),
    nr.losses.Huber(0.7),
    nr.losses.Quantile(0.9),
)

MAPS = (
    nr.mirrors.Euclidean(),
    nr.mirrors.Ball(0.7),
    nr.mirrors.PNorm(3.0),
    nr.mirrors.PNorm(7.0),
    nr.mirrors.Entropy(2.0),
    nr.mirrors.UnnormalizedEntropy(0.3),
    nr.mirrors.SignedEntropy(1.5),
    nr.mirrors.SoftThreshold(0.4),
    nr.mirrors.Box(-0.5, 1.0),
)

#: Problems of all kinds: seeds, and the powers of ten of features, labels and strength.
seeds = st.integers(0, 2**32 - 1)
powers = st.integers(-6, 6)


def draw(
    seed: int, loss: nr.losses.Loss, feature: int, label: int, strength: int, radius: float | None
) -> Problem:
    """Return a random problem with zero rows, twins, weights of 0 and offsets."""
    random = np.random.default_rng(seed)
    rows, width = int(random.integers(1, 12)), int(random.integers(1, 5))
    X = random.standard_normal((rows, width)) * random.choice([0.0, 1.0], (rows, width))
    X = np.round(X * 10.0**feature, 9)
    X[random.integers(rows)] = X[0]
    if loss.labels == "sign":
        y = random.choice([-1.0, 1.0], rows)
    else:
        y = random.standard_normal(rows) * 10.0**label
    weight = random.choice([0.0, 0.5, 1.0, 3.0], rows)
    offset = random.standard_normal(rows) * random.choice([0.0, 1.0])
    data = sp.csr_array(X) if seed % 2 else X
    force = 0.0 if radius is not None else 10.0**strength
    return Problem.of(data, y, loss, None, force, weight, offset, radius)


def exact_objective(problem: Problem, w: np.ndarray) -> tuple[Fraction, Fraction]:
    """Return bounds on P(w), equal but for the logistic loss."""
    rows = problem.rows
    weights = [Fraction(float(x)) for x in w]
    low = high = Fraction(0)
    for i in range(len(rows)):
        if rows.dense:
            features = list(enumerate(rows.values[i].tolist()))
        else:
            span = slice(int(rows.indptr[i]), int(rows.indptr[i + 1]))
            features = list(
                zip(rows.indices[span].tolist(), rows.values[span].tolist(), strict=True)
            )
        p = sum((weights[j] * Fraction(x) for j, x in features), Fraction(problem.offset[i]))
        below, above = exact_loss(problem.loss, Fraction(float(problem.y[i])), p)
        low += Fraction(float(problem.weight[i])) * below
        high += Fraction(float(problem.weight[i])) * above
    half = Fraction(problem.strength) / 2 * sum((x * x for x in weights), Fraction(0))
    return low + half, high + half


@pytest.mark.parametrize("loss", LOSSES, ids=str)
@given(seeds, powers, powers, powers)
@settings(max_examples=sized(5, 25))
def test_weak_duality_at_every_epoch(
    loss: nr.losses.Loss, seed: int, feature: int, label: int, strength: int
) -> None:
    weak_duality(loss, seed, feature, label, strength)


@pytest.mark.soak
@pytest.mark.parametrize("loss", LOSSES, ids=str)
@given(seeds, powers, powers, powers)
@settings(max_examples=400)
def test_weak_duality_at_every_epoch_of_many_problems(
    loss: nr.losses.Loss, seed: int, feature: int, label: int, strength: int
) -> None:
    weak_duality(loss, seed, feature, label, strength)


def weak_duality(loss: nr.losses.Loss, seed: int, feature: int, label: int, strength: int) -> None:
    problem = draw(seed, loss, feature, label, strength, None)
    ascent = Ascent(problem, problem.initial_slopes(), seed)
    duals, weights = [], []
    for epoch in range(6):
        w, primal, floor = evaluate(problem, ascent.slopes)
        below, _ = exact_objective(problem, w)
        assert primal >= below, "P(w) is rounded up"
        assert primal >= floor
        duals.append(floor)
        weights.append(w)
        ascent.epoch(Guess(1e-6))
        if epoch == 3:
            ascent.revive()
    for w in (*weights, np.zeros(problem.rows.width)):
        _, above = exact_objective(problem, w)
        assert max(duals) <= above, "no predictor beats the dual"
    # Exact steps in one variable never lower the dual, but for its rounding.
    size = max(abs(floor) for floor in duals) + float(exact_objective(problem, weights[0])[1])
    assert all(b >= a - 1e-9 * size for a, b in itertools.pairwise(duals))


@pytest.mark.parametrize("loss", LOSSES, ids=str)
@given(seeds, st.integers(-2, 2), st.integers(-2, 2), st.sampled_from([0.01, 1.0, 30.0]))
@settings(max_examples=sized(8, 40))
def test_weak_duality_in_a_ball(
    loss: nr.losses.Loss, seed: int, feature: int, label: int, radius: float
) -> None:
    problem = draw(seed, loss, feature, label, 0, radius)
    state = RadiusSolver(problem, warm_start=problem.initial_slopes(), seed=seed)
    proved, tried = [], [np.zeros(problem.rows.width)]
    for _ in range(6):
        state.ascent.epoch(Guess(1e-6))
        w = state.weights()
        assert sum((Fraction(x) ** 2 for x in w.tolist()), Fraction(0)) <= Fraction(radius) ** 2
        found = state.examine()
        assert found.primal >= exact_objective(problem, w)[0]
        proved.append(found.dual)
        tried.append(w)
        state.advance(w, state.slack(w))
    assert all(max(proved) <= exact_objective(problem, w)[1] for w in tried)


@pytest.mark.parametrize("mirror", MAPS, ids=str)
@given(seeds, st.sampled_from(LOSSES), st.floats(-3, 3))
@settings(max_examples=sized(12, 60))
def test_any_slopes_prove_a_floor_for_every_map(
    mirror: nr.mirrors.Mirror, seed: int, loss: nr.losses.Loss, power: float
) -> None:
    random = np.random.default_rng(seed)
    rows, width = int(random.integers(1, 20)), int(random.integers(1, 6))
    X = random.standard_normal((rows, width))
    y = random.choice([-1.0, 1.0], rows)
    problem = Problem.of(X, y, loss, mirror, 10.0**power, random.uniform(0, 2, rows))
    slopes = problem.clipped(random.standard_normal(rows))
    w, primal, floor = evaluate(problem, slopes)
    assert floor <= primal
    others = [w]
    for _ in range(3):
        # Weights of other slopes lie in the set of the map, wherever that is.
        others.append(evaluate(problem, problem.clipped(random.standard_normal(rows)))[0])
    for u in others:
        values = [loss.value(label, p) for label, p in zip(y, X @ u, strict=True)]
        losses = float(np.sum(problem.weight * values))
        penalty = mirror.regularizer(u, 1.0 / problem.strength, problem.strength)
        assert floor <= (losses + penalty) * (1.0 + 1e-12) + 1e-12


@given(seeds, st.sampled_from(LOSSES), st.integers(-2, 2))
@settings(max_examples=sized(15, 60))
def test_the_gap_bounds_the_true_distance(seed: int, loss: nr.losses.Loss, strength: int) -> None:
    problem = draw(seed, loss, 0, 0, strength, None)
    options = {"weight": problem.weight, "offset": problem.offset, "l2": problem.strength}
    X = (
        sp.csr_array(
            (problem.rows.values, problem.rows.indices.astype(np.int32), problem.rows.indptr),
            shape=(len(problem.rows), problem.rows.width),
        )
        if not problem.rows.dense
        else problem.rows.values
    )
    rough = hindsight(X, problem.y, loss, tol=1e-2, **options)
    fine = hindsight(X, problem.y, loss, tol=1e-11, max_passes=20_000, **options)
    least = exact_objective(problem, fine.weights)[1]
    assert rough.dual <= least
    assert rough.primal - float(least) <= rough.gap * (1.0 + 1e-9)
    assert fine.converged
    assert fine.gap <= 1e-11 * max(1.0, fine.primal)


@pytest.mark.parametrize("size", [1e-30, 1e-12, 1e12, 1e30])
def test_huge_and_tiny_features(size: float) -> None:
    X = np.array([[1.0, 2.0], [-1.0, 0.5], [0.3, -0.7]]) * size
    y = np.array([1.0, -1.0, 1.0])
    plain = hindsight(X / size, y, nr.losses.Hinge(), l2=0.5, tol=1e-9)
    scaled = hindsight(X, y, nr.losses.Hinge(), l2=0.5 * size**2, tol=1e-9)
    assert scaled.primal == pytest.approx(plain.primal, rel=1e-8)
    assert np.allclose(scaled.weights * size, plain.weights, atol=1e-6)


@pytest.mark.compiled
@pytest.mark.each_value
@pytest.mark.parametrize("loss", LOSSES, ids=str)
@pytest.mark.parametrize("mirror", [nr.mirrors.Euclidean(), nr.mirrors.Ball(0.2)], ids=str)
def test_compiled_epochs_do_what_is_written(
    loss: nr.losses.Loss, mirror: nr.mirrors.Mirror
) -> None:
    drawn = draw(12345, loss, 0, 0, 0, None)
    problem = dataclasses.replace(drawn, mirror=mirror)
    compiled, interpreted = (Ascent(problem, problem.initial_slopes(), 7) for _ in range(2))
    for _ in range(3):
        compiled.epoch(Guess(1e-6))
        interpreted.state = np.uint64(
            dual.shuffle(interpreted.order, interpreted.active, interpreted.state)
        )
        course = dual.Course(interpreted.active, interpreted.far, np.uint64(1))
        active, largest, *_ = dual.ascend.py_func(
            loss, mirror, problem.block, interpreted.memory, interpreted.square, course, None
        )
        interpreted.active, interpreted.far = np.uint64(active), SETTLED * largest
    assert compiled.active == interpreted.active
    assert np.allclose(compiled.slopes, interpreted.slopes, rtol=1e-9, atol=1e-12)
    assert np.allclose(compiled.theta, interpreted.theta, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("loss", LOSSES, ids=str)
def test_a_newton_step_never_lowers_the_dual(loss: nr.losses.Loss) -> None:
    taken = 0
    for seed in range(sized(10, 40)):
        problem = draw(seed, loss, 0, 0, -3, None)
        ascent = Ascent(problem, problem.initial_slopes(), seed)
        for _ in range(5):
            ascent.epoch(Guess(1e-6))
        before = evaluate(problem, ascent.slopes)[2]
        if ascent.leap(20):
            taken += 1
            after = evaluate(problem, ascent.slopes)[2]
            assert after >= before - 1e-11 * (1.0 + abs(before))
            afresh = Ascent(problem, ascent.slopes, seed).theta
            assert np.allclose(ascent.theta, afresh, rtol=1e-7, atol=1e-7)
    assert taken > 0

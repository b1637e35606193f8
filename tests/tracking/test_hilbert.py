"""C-GD in the Hilbert space of a kernel: numbers, equality with vectors, budget, statements."""

from __future__ import annotations

import math
from fractions import Fraction
from pathlib import Path
from typing import Any

import mpmath
import numpy as np
import pytest
from mpmath import mpf
from scipy.sparse import csr_array

import noregret as nr
from noregret import catalogue
from noregret.files import store
from noregret.proof.statement import Statement
from noregret.tracking.hilbert import KernelDescent
from noregret.tracking.kernels import Gaussian, Kernel, Linear, Polynomial, gram
from noregret.tracking.lemmas import ShiftingBounds
from noregret.tracking.schedules import KernelSchedule, Schedule
from noregret.tracking.shifting import shifting_bounds
from tests.oracles.data import X_T, Y_T, near
from tests.sizes import sized

KERNELS = [Linear(), Polynomial(2), Polynomial(3, 0.5), Gaussian(0.7)]


def stream(seed: int, rounds: int = 60, n: int = 3) -> tuple[np.ndarray, np.ndarray]:
    """Draw rows whose labels change their rule half way."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(rounds, n)) * (rng.random((rounds, n)) < 0.7)
    X /= np.maximum(np.linalg.norm(X, axis=1, keepdims=True), 1.0)
    rule = np.where(np.arange(rounds) < rounds // 2, 1.0, -1.0)
    return X, rule * np.sin(3 * X[:, 0]) + 0.1 * rng.normal(size=rounds)


def of(found: ShiftingBounds, name: str) -> Statement:
    (bound,) = [one for one in found.bounds if one.name == name]
    return bound


def test_t20_numbers() -> None:
    learner = KernelDescent(Gaussian(), 0.5, 0.25)
    predictions = learner.learn([[0.0], [1.0], [0.5], [2.0]], [1, -1, 0.5, 2])
    assert predictions == near([0, 0.183939720586, -0.0578946379798, -0.128052017974])
    assert learner.total_loss == near(7.24156508027)
    assert learner.coefficients == near(
        [0.176439376741, -0.208893586399, 0.121781485146, 0.505044029092]
    )
    assert learner.norm == near(0.5)
    assert (learner.drops, learner.dropped, learner.budget_cost()) == (0, 0.0, 0.0)


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_sparse_rows_are_dense_rows(kernel: Kernel, dtype: Any) -> None:
    X, y = stream(1, sized(30, 60))
    X = X.astype(dtype)
    for budget in (None, 7):
        learners = [KernelDescent(kernel, 1.0, 0.1, budget=budget) for _ in range(2)]
        dense, sparse = learners[0].learn(X, y), learners[1].learn(csr_array(X), y)
        assert dense == pytest.approx(sparse, rel=1e-9, abs=1e-11)
        assert learners[0].predict(X) == pytest.approx(learners[1].predict(csr_array(X)), abs=1e-9)
        parts = KernelDescent(kernel, 1.0, 0.1, budget=budget)
        cut = np.concatenate([parts.learn(X[:17], y[:17]), parts.learn(X[17:], y[17:])])
        assert np.array_equal(cut, dense)


def test_the_linear_kernel_is_c_gd() -> None:
    X, y = stream(2)
    learner = KernelDescent(Linear(), 0.4, 0.25)
    vectors = catalogue.c_gd(0.4, eta=0.25)
    assert learner.learn(X, y) == pytest.approx(vectors.learn(X, y), rel=1e-11, abs=1e-13)
    assert learner.coefficients @ learner.points == pytest.approx(vectors.weights, abs=1e-12)
    assert learner.floor(0.7) == pytest.approx(vectors.certificate().floor(0.7), rel=1e-9)
    # The bound is that of vectors, too.
    u, v = np.array([0.3, 0.0, 0.1]), np.array([-0.3, 0.1, 0.0])
    found = learner.shifting_bounds(KernelSchedule([(0, [u], [1.0]), (30, [v], [1.0])]), X, y)
    same = shifting_bounds(vectors, Schedule([(0, u), (30, v)]), X, y)
    assert found.schedule_loss == near(same.schedule_loss) and found.size == near(same.size)
    assert found.total(of(found, "C-GD in a Hilbert space")) == near(same.total(of(same, "C-GD")))


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("budget", [None, 1, 5])
def test_the_norm_is_that_of_the_expansion(kernel: Kernel, budget: int | None) -> None:
    X, y = stream(3, 90)
    learner = KernelDescent(kernel, 0.6, 0.05, budget=budget)
    learner.learn(X, y)
    points, c = learner.points, learner.coefficients
    assert learner.norm == pytest.approx(math.sqrt(c @ gram(kernel, points, points) @ c), rel=1e-9)
    assert learner.norm <= 0.6 * (1 + 1e-12)
    # A row of zeros has norm 0 under the linear kernel, and is not stored.
    stored = sum(kernel(x, x) > 0 for x in X)
    assert len(learner) == (stored if budget is None else budget)
    assert learner.predict(X[:5]) == pytest.approx(gram(kernel, X[:5], points) @ c, abs=1e-12)


def reference(kernel: Any, X: Any, y: Any, radius: float, eta: float, budget: int | None) -> Any:
    """Play from the definition in mpmath: predictions, sum of ||e|| and of the changes / 2."""
    points: list[Any] = []
    c: list[mpf] = []
    predictions, dropped, recoil = [], mpf(0), mpf(0)

    def square() -> mpf:
        pairs = [(i, j) for i in range(len(c)) for j in range(len(c))]
        return mpmath.fsum(c[i] * c[j] * kernel(points[i], points[j]) for i, j in pairs)

    for row, label in zip(X.tolist(), y.tolist(), strict=True):
        x = [mpf(e) for e in row]
        p = mpmath.fsum(a * kernel(v, x) for a, v in zip(c, points, strict=True))
        predictions.append(p)
        points.append(x)
        c.append(-2 * mpf(eta) * (p - mpf(label)))
        if budget is not None and len(c) > budget:
            sizes = [abs(a) * mpmath.sqrt(kernel(v, v)) for a, v in zip(c, points, strict=True)]
            least = sizes.index(min(sizes))
            before = square()
            dropped += sizes[least]
            del c[least], points[least]
            recoil += (square() - before) / 2
        length = mpmath.sqrt(square())
        if length > radius:
            c = [a * radius / length for a in c]
    return predictions, dropped, recoil, mpmath.sqrt(square())


@pytest.mark.parametrize("budget", [None, 3])
def test_every_step_is_that_of_the_definition(budget: int | None) -> None:
    X, y = stream(4, 14, 2)
    learner = KernelDescent(Gaussian(0.7), 0.5, 0.2, budget=budget)
    found = learner.learn(X, y)
    with mpmath.workdps(40):

        def kernel(a: Any, b: Any) -> mpf:
            gap = mpmath.fsum((s - t) ** 2 for s, t in zip(a, b, strict=True))
            return mpmath.exp(-mpf(0.7) * gap)

        predictions, dropped, recoil, norm = reference(kernel, X, y, 0.5, 0.2, budget)
        assert found == near([float(p) for p in predictions])
        assert (learner.dropped, learner.norm) == near((float(dropped), float(norm)))
        cost = (mpf(0.5) * dropped + recoil) / mpf(0.2)
        assert learner.budget_cost() >= cost
        assert learner.budget_cost() == near(float(cost))


def comparators(
    rng: np.random.Generator, kernel: Kernel, X: Any, radius: float, rounds: int
) -> Any:
    """Draw a schedule of expansions in the ball of the space."""
    starts = [0, *sorted(rng.choice(np.arange(1, rounds), 2, replace=False).tolist())]
    parts = []
    for start in starts:
        points = X[rng.choice(len(X), 4)] + 0.1 * rng.normal(size=(4, X.shape[1]))
        b = rng.normal(size=4)
        length = math.sqrt(b @ gram(kernel, points, points) @ b)
        parts.append((start, points, b * (radius * rng.random() ** 0.3 / length)))
    return KernelSchedule(parts)


def check(kernel: Kernel, seed: int, budget: int | None) -> tuple[bool, bool]:
    """Hold one run against a schedule: no statement may be false, nor say more than was proved."""
    rng = np.random.default_rng([seed, 3])
    rounds, n = int(rng.integers(4, 40)), int(rng.integers(1, 4))
    X, y = stream(seed, rounds, n)
    y *= rng.choice([0.3, 1.0, 3.0])
    largest = max(kernel(x, x) for x in X)
    eta, radius = 1.0 / (4.0 * largest), float(rng.choice([0.3, 1.0, 3.0]))
    learner = KernelDescent(kernel, radius, eta, budget=budget)
    predictions = learner.learn(X, y)
    schedule = comparators(rng, kernel, X, radius, rounds)
    found = learner.shifting_bounds(schedule, X, y)
    pairs = zip(predictions.tolist(), y.tolist(), strict=True)
    own = sum(((Fraction(p) - Fraction(t)) ** 2 for p, t in pairs), Fraction(0))
    stops = [*(start for start, _, _ in schedule.parts[1:]), rounds]
    made = np.empty(rounds)
    for (start, points, b), stop in zip(schedule.parts, stops, strict=True):
        made[start:stop] = gram(kernel, X[start:stop], points) @ b
    compared = float(np.sum((made - y) ** 2))
    assert found.schedule_loss == pytest.approx(compared, rel=1e-9)
    assert Fraction(found.loss) >= own
    theorem, additive = found.bounds
    for bound in (theorem, additive):
        assert bound.applies, bound.reason
        # What the theorem itself says, before it is held against the run.
        size, last, top = schedule.measured(kernel)
        value = (0.5 * last**2 + radius * size) / eta + learner.budget_cost(top)
        if bound is additive:
            slopes = 2 * (predictions - y)
            value += 0.5 * eta * sum(g * g * kernel(x, x) for g, x in zip(slopes, X, strict=True))
        assert bound.value == pytest.approx(value, rel=1e-9)
        assert float(own) <= bound.factor * compared + value
    # No member of the ball is below the floor.
    for start, points, b in schedule.parts:
        fixed = gram(kernel, X, points) @ b
        assert start >= 0 and learner.floor() <= np.sum((fixed - y) ** 2) * (1 + 1e-9)
    return theorem.factor == 2.0, learner.drops > 0


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("budget", [None, 6])
def test_theorem_14_holds(kernel: Kernel, budget: int | None) -> None:
    results = [check(kernel, seed, budget) for seed in range(sized(6, 25))]
    assert all(usual for usual, _ in results)
    assert any(dropped for _, dropped in results) == (budget is not None)


@pytest.mark.soak
@pytest.mark.parametrize("budget", [None, 3, 10])
def test_theorem_14_holds_a_thousand_times(budget: int | None) -> None:
    for seed in range(1000):
        check(KERNELS[seed % len(KERNELS)], seed, budget)


def test_without_its_cost_the_budget_breaks_the_bound() -> None:
    """A constant to learn, and two points to keep: dropping loses what was learnt."""
    rounds = 300
    X, y = np.linspace(-50.0, 50.0, rounds).reshape(-1, 1) % 7.0, np.full(rounds, 1.0)
    learner = KernelDescent(Gaussian(0.05), 4.0, 0.25, budget=1)
    learner.learn(X, y)
    points = np.linspace(0.0, 7.0, 8).reshape(-1, 1)
    b = np.linalg.solve(gram(Gaussian(0.05), points, points) + 1e-6 * np.eye(8), np.ones(8))
    found = learner.shifting_bounds(KernelSchedule([(0, points, b)]), X, y)
    bound = of(found, "C-GD in a Hilbert space")
    assert bound.applies and learner.drops > 200
    cost = learner.budget_cost(KernelSchedule([(0, points, b)]).measured(Gaussian(0.05))[2])
    assert found.loss <= found.total(bound)
    assert found.loss > found.total(bound) - cost


def test_the_floor_of_the_best_member() -> None:
    """The best u of the ball in the span of all points, by its own equations, is above."""
    for budget in (None, 12):
        X, y = stream(6, 80)
        kernel = Gaussian(0.7)
        learner = KernelDescent(kernel, 1.5, 0.05, budget=budget)
        learner.learn(X, y)
        K = gram(kernel, X, X)
        for ridge in np.geomspace(1e-3, 1e3, 25):
            b = np.linalg.solve(K + ridge * np.eye(len(y)), y)
            norm = math.sqrt(b @ K @ b)
            assert learner.floor(norm * (1 - 1e-9)) <= np.sum((K @ b - y) ** 2) * (1 + 1e-9)
        assert learner.floor(0.5) <= learner.total_loss
    assert "certified floor" in str(learner) and "68 points dropped" in str(learner)


def test_other_losses_have_the_additive_bound() -> None:
    X, y = stream(7)
    learner = KernelDescent(Gaussian(), 1.0, 0.1, nr.losses.Absolute())
    learner.learn(X, y)
    found = learner.shifting_bounds(KernelSchedule([(0, X[:1], [0.5])]), X, y)
    assert "not the square loss" in of(found, "C-GD in a Hilbert space").reason
    assert found.loss <= found.total(of(found, "additive"))


@pytest.mark.parametrize("budget", [None, 5])
def test_a_file_goes_on_to_the_bit(tmp_path: Path, budget: int | None) -> None:
    X, y = stream(8, 70)
    whole = KernelDescent(Polynomial(2), 0.7, 0.05, nr.losses.Huber(0.5), budget)
    predictions = whole.learn(X, y)
    part = KernelDescent(Polynomial(2), 0.7, 0.05, nr.losses.Huber(0.5), budget)
    part.learn(X[:41], y[:41])
    part.save(tmp_path / "model.nr")
    header, arrays = store.read(tmp_path / "model.nr")
    resumed = KernelDescent._from_file(header, arrays)
    assert np.array_equal(resumed.learn(X[41:], y[41:]), predictions[41:])
    assert np.array_equal(resumed.coefficients, whole.coefficients)
    assert (resumed.floor(), resumed.budget_cost()) == (whole.floor(), whole.budget_cost())
    for name in ("columns", "places", "grams", "ledger"):
        with pytest.raises(ValueError, match=f"{name} has shape"):
            KernelDescent._from_file(header, arrays | {name: np.zeros((2, 2))})
    with pytest.raises(ValueError, match="points are stored"):
        wrong = arrays["places"].copy()
        wrong[0] += 1
        KernelDescent._from_file(header, arrays | {"places": wrong})


def test_rounds_without_a_slope_store_nothing() -> None:
    learner = KernelDescent(Linear(), 1.0, 0.1)
    learner.learn([[0.0], [1.0], [0.0]], [3.0, 0.0, 0.0])
    assert len(learner) == 0 and learner.rounds == 3
    assert learner.predict([[2.0]]) == near([0.0])


def test_refusals() -> None:
    learner = KernelDescent(Linear(), 1.0, 0.1)
    for words, make in (
        ("kernel must be a kernel", lambda: KernelDescent(Linear, 1.0, 0.1)),  # type: ignore[arg-type]
        ("radius", lambda: KernelDescent(Linear(), 0.0, 0.1)),
        ("eta", lambda: KernelDescent(Linear(), 1.0, math.inf)),
        ("budget must be a whole number", lambda: KernelDescent(Linear(), 1.0, 0.1, budget=0)),
        (r"Polynomial\(degree\) must be at least 1", lambda: Polynomial(0)),
        (r"Polynomial\(offset\) must be", lambda: Polynomial(2, -1.0)),
        (r"Polynomial\(degree\) must be a whole number, got 2.5", lambda: Polynomial(2.5)),  # type: ignore[arg-type]
        ("gamma", lambda: Gaussian(0.0)),
        ("need as many finite coefficients", lambda: KernelSchedule([(0, [[1.0]], [1.0, 2.0])])),
        ("first round must be 0", lambda: KernelSchedule([(1, [[1.0]], [1.0])])),
        ("1 finite points", lambda: KernelSchedule([(0, [[math.nan]], [1.0])])),
    ):
        with pytest.raises(ValueError, match=words):
            make()
    learner.learn(X_T, Y_T)
    with pytest.raises(ValueError, match="X has 2 columns, the learner knows 3"):
        learner.learn(X_T[:, :2], Y_T)
    still = KernelSchedule([(0, X_T[:1], [1.0])])
    for rows, labels in ((X_T[:4], Y_T[:4]), (X_T[::-1], Y_T[::-1]), (X_T, Y_T + 1.0)):
        with pytest.raises(ValueError, match="has not learnt exactly these"):
            learner.shifting_bounds(still, rows, labels)
    with pytest.raises(ValueError, match="the points of the schedule have 1 features, X 3"):
        learner.shifting_bounds(KernelSchedule([(0, [[1.0]], [1.0])]), X_T, Y_T)
    large = learner.shifting_bounds(KernelSchedule([(0, X_T[:1], [9.0])]), X_T, Y_T)
    assert "the ball has 1" in of(large, "additive").reason
    with pytest.raises(OverflowError, match="round 6"):
        learner.learn(np.full((1, 3), 1e99), [1e99])


def test_a_step_that_underflows_still_counts() -> None:
    """Its gradient is part of the proof: u = 0.2 predicts these labels without a loss."""
    learner = KernelDescent(Linear(), 1.0, 5e-324)
    learner.learn(np.ones((100, 1)), np.full(100, 0.2))
    assert learner.total_loss == near(4.0) and learner.floor() == 0.0


def test_a_step_out_of_range_is_refused() -> None:
    learner = KernelDescent(Gaussian(), 1.0, 1e200, budget=2)
    with pytest.raises(OverflowError, match="round 1"):
        learner.learn([[0.0], [1.0]], [1.0, -1.0])
    assert learner.rounds == 0


def test_rows_of_none_do_not_set_the_width() -> None:
    learner = KernelDescent(Gaussian(), 1.0, 1e100)
    assert learner.learn(np.zeros((0, 3)), np.zeros(0)).size == 0
    with pytest.raises(OverflowError, match="round 1"):
        learner.learn(np.zeros((1, 4)), [1e100])
    assert learner.learn([[1.0, 2.0]], [1.0]) == near([0.0])
    assert learner.points.shape == (1, 2)


def test_first_rounds_of_a_kernel_schedule_are_whole() -> None:
    with pytest.raises(TypeError, match="integer"):
        KernelSchedule([(0, [[1.0]], [1.0]), (2.7, [[1.0]], [2.0])])  # type: ignore[list-item]

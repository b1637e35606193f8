"""Batch solutions for every mirror map: true bounds, the same optimum as scipy, hard scales."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.sparse import csr_array

import noregret as nr
from noregret import losses, mirrors
from noregret.batch.bias import Balancer, BiasSolver
from noregret.batch.mapped import MapAscent, MappedSolver, first_slopes
from noregret.batch.problem import Problem, Solution, evaluate, link
from noregret.batch.solver import Progress
from noregret.losses import Loss
from noregret.mirrors import Mirror
from noregret.passes.dual import dual_maps
from tests.oracles.duals import interpreted
from tests.sizes import sized, some

LOSSES: list[Loss] = [
    losses.Hinge(),
    losses.SquaredHinge(),
    losses.OneSidedHuber(),
    losses.Logistic(),
    losses.PowerHinge(3.0),
    losses.Exponential(),
    losses.Squared(),
    losses.Absolute(),
    losses.EpsilonInsensitive(0.1),
    losses.Huber(0.5),
    losses.Quantile(0.3),
]
MAPS: list[Mirror] = [
    mirrors.Euclidean(),
    mirrors.Ball(0.7),
    mirrors.Box(-0.5, 0.5),
    mirrors.PNorm(3.0),
    mirrors.PNorm(10.0),
    mirrors.Power(1.5),
    mirrors.Entropy(2.0),
    mirrors.UnnormalizedEntropy(),
    mirrors.SignedEntropy(1.5),
    mirrors.Hypentropy(0.2),
    mirrors.ElasticNet(0.3),
]


def name(component: Any) -> str:
    return type(component).__name__


def random_problem(
    seed: int, loss: Loss, mirror: Mirror, rows: int = 8, width: int = 4, scale: float = 1.0
) -> Problem:
    random = np.random.default_rng(seed)
    X = random.standard_normal((rows, width)) * (random.random((rows, width)) < 0.7) * scale
    truth = X @ random.standard_normal(width) / scale + 0.5 * random.standard_normal(rows)
    return Problem.of(
        X,
        np.where(truth > 0.0, 1.0, -1.0) if loss.labels == "sign" else truth,
        loss,
        mirror,
        strength=float(np.exp(random.uniform(-2.0, 1.0))) * scale,
        weight=random.integers(0, 3, rows) * 0.7,
        offset=0.1 * random.standard_normal(rows),
    )


@pytest.mark.parametrize("mirror", MAPS, ids=name)
@pytest.mark.parametrize("loss", LOSSES, ids=name)
def test_bounds_hold_at_every_epoch(loss: Loss, mirror: Mirror) -> None:
    for seed in range(sized(1, 3)):
        problem = random_problem(seed, loss, mirror)
        random = np.random.default_rng(seed)
        with interpreted():
            best = MappedSolver(problem, 1e-9, 400).run()
            ascent = MapAscent(problem, problem.initial_slopes())
            last = evaluate(problem, ascent.slopes)[2]
            for _ in range(5):
                ascent.visit(random.permutation(len(problem.y)))
                _, primal, dual = evaluate(problem, ascent.slopes)
                assert dual >= last - 1e-11 * max(1.0, abs(last))
                assert dual <= best.primal
                # The gap is never negative and bounds what is missing.
                assert primal >= dual
                assert primal - best.primal <= primal - dual
                last = dual
        assert best.gap <= 1e-4 * max(1.0, abs(best.primal))
        for _ in range(5):
            u = link(problem.mirror, random.standard_normal(problem.rows.width))
            assert problem.primal_upper(u) >= best.dual


@pytest.mark.parametrize("mirror", MAPS, ids=name)
def test_a_step_never_lowers_the_dual(mirror: Mirror) -> None:
    for seed, loss in enumerate(LOSSES):
        problem = random_problem(seed, loss, mirror)
        with interpreted():
            ascent = MapAscent(problem, problem.initial_slopes())
            last = evaluate(problem, ascent.slopes)[2]
            for row in np.random.default_rng(seed).permutation(np.arange(sized(8, 24)) % 8):
                ascent.visit(np.array([row]))
                dual = evaluate(problem, ascent.slopes)[2]
                assert dual >= last - 1e-12 * max(1.0, abs(last))
                last = dual


PAIRS = [(LOSSES[k % len(LOSSES)], mirror) for k, mirror in enumerate(MAPS)]


def as_sparse(problem: Problem, strength: float | None = None) -> Problem:
    return Problem.of(
        csr_array(problem.rows.values),
        problem.y,
        problem.loss,
        problem.mirror,
        problem.strength if strength is None else strength,
        problem.weight,
        problem.offset,
    )


@pytest.mark.compiled
@pytest.mark.parametrize(("loss", "mirror"), some(PAIRS, 5), ids=name)
def test_compiled_sparse_is_interpreted_dense(loss: Loss, mirror: Mirror) -> None:
    problem = random_problem(1, loss, mirror, 12, 5)
    compiled = MapAscent(as_sparse(problem), problem.initial_slopes())
    plain = MapAscent(problem, problem.initial_slopes())
    for _ in range(3):
        compiled.visit(np.arange(12))
        with interpreted():
            plain.visit(np.arange(12))
    assert compiled.slopes == pytest.approx(plain.slopes, rel=1e-9, abs=1e-12)
    assert compiled.memory.state[:, 0] == pytest.approx(
        plain.memory.state[:, 0], rel=1e-9, abs=1e-12
    )


def referee(problem: Problem, weights_of: Any, start: np.ndarray, bounds: Any = None) -> float:
    """Return the smallest objective that scipy finds over a parametrisation of the weights."""

    def objective(u: np.ndarray) -> float:
        value = problem.primal_upper(np.ascontiguousarray(weights_of(u)))
        return value if np.isfinite(value) else 1e300

    options = {"maxiter": 20000, "maxfun": 10**6, "ftol": 1e-15, "gtol": 1e-10}
    found = minimize(objective, start, method="L-BFGS-B", bounds=bounds, options=options)
    return float(objective(found.x))


def split(u: np.ndarray) -> np.ndarray:
    half = len(u) // 2
    return np.asarray(u[:half] - u[half:])


def simplex(scale: float) -> Any:
    def weights(u: np.ndarray) -> np.ndarray:
        powers = np.exp(u - u.max())
        return np.asarray(scale * powers / powers.sum())

    return weights


@pytest.mark.each_value
@pytest.mark.parametrize("loss", [losses.Logistic(), losses.Squared()], ids=name)
@pytest.mark.parametrize(
    ("mirror", "weights_of", "start", "bounds"),
    [
        (mirrors.Entropy(3.0), simplex(3.0), np.zeros(6), None),
        (mirrors.PNorm(3.0), np.asarray, np.full(6, 0.1), None),
        (mirrors.PNorm(8.0), np.asarray, np.full(6, 0.1), None),
        (mirrors.UnnormalizedEntropy(0.1), np.exp, np.zeros(6), None),
        (mirrors.ElasticNet(0.8), split, np.full(12, 0.1), [(0.0, None)] * 12),
        (mirrors.Box(-0.3, 0.3), np.asarray, np.zeros(6), [(-0.3, 0.3)] * 6),
        (mirrors.Power(1.5), np.asarray, np.full(6, 0.1), None),
        (mirrors.Hypentropy(0.3), np.asarray, np.full(6, 0.1), None),
    ],
    ids=lambda value: name(value) if isinstance(value, Mirror) else "",
)
def test_the_optimum_is_that_of_scipy(
    loss: Loss, mirror: Mirror, weights_of: Any, start: np.ndarray, bounds: Any
) -> None:
    problem = random_problem(7, loss, mirror, sized(24, 40), 6)
    with interpreted():
        found = MappedSolver(problem, 1e-9, 2000).run()
    assert found.converged
    other = referee(problem, weights_of, start, bounds)
    assert other >= found.dual
    assert found.primal <= other + 1e-9 * max(1.0, abs(other))
    assert found.primal == pytest.approx(other, rel=1e-6)


def test_rows_in_single_precision() -> None:
    problem = random_problem(3, losses.Logistic(), mirrors.Entropy(2.0), 30, 5)
    narrow = problem.rows.values.astype(np.float32)
    same = [problem.y, problem.loss, problem.mirror, problem.strength]
    one = MappedSolver(Problem.of(narrow, *same), 1e-10).run()
    two = MappedSolver(Problem.of(narrow.astype(np.float64), *same), 1e-10).run()
    assert one.alpha == pytest.approx(two.alpha, rel=1e-12)


def test_a_weight_counts_a_row_so_often() -> None:
    problem = random_problem(4, losses.Logistic(), mirrors.PNorm(3.0), 10, 3)
    X, y, times = problem.rows.values, problem.y, np.arange(10) % 3
    one = MappedSolver(Problem.of(X, y, problem.loss, problem.mirror, 1.0, times), 1e-10).run()
    rows = np.repeat(np.arange(10), times)
    two = MappedSolver(Problem.of(X[rows], y[rows], problem.loss, problem.mirror, 1.0), 1e-10).run()
    assert one.primal == pytest.approx(two.primal, rel=1e-9)
    assert one.weights == pytest.approx(two.weights, rel=1e-3)
    nothing = MappedSolver(Problem.of(X, y, problem.loss, problem.mirror, 1.0, np.zeros(10))).run()
    assert nothing.converged
    assert np.all(nothing.weights == 0.0)


@pytest.mark.parametrize("scale", [1e-150, 1e-30, 1e6, 1e30])
@pytest.mark.parametrize(("loss", "mirror"), PAIRS, ids=name)
def test_hard_scales_make_no_false_statement(loss: Loss, mirror: Mirror, scale: float) -> None:
    for seed in range(sized(1, 3)):
        problem = random_problem(seed, loss, mirror, scale=scale)
        for strength in (1e-3, 1.0, scale * scale):
            if not 1e-200 < strength < 1e200:
                continue
            posed = as_sparse(problem, strength)
            found = MappedSolver(posed, 1e-6, sized(10, 30)).run()
            assert not np.isnan(found.primal)
            assert not np.isnan(found.dual)
            assert found.primal >= found.dual
            assert np.all(np.isfinite(found.alpha))
            u = link(posed.mirror, np.zeros(problem.rows.width))
            assert posed.primal_upper(u) >= found.dual


def test_an_entropy_beyond_the_range_of_exponentials() -> None:
    X = np.array([[4000.0, 0.0, 1.0], [0.0, -3000.0, 1.0]])
    problem = Problem.of(X, [1.0, 1.0], losses.Hinge(5000.0), mirrors.Entropy(), 1e-3)
    found = MappedSolver(problem, 1e-9, 100).run()
    assert found.converged
    assert found.weights.tolist() == [1.0, 0.0, 0.0]
    assert found.dual == pytest.approx(6000.0, rel=1e-6)


def test_warm_start_progress_and_interruption() -> None:
    problem = random_problem(5, losses.Logistic(), mirrors.Entropy(2.0), 60, 8)
    seen: list[Progress] = []
    cold = MappedSolver(problem, 1e-10, progress=seen.append).run()
    assert [one.passes for one in seen] == sorted(one.passes for one in seen)
    assert seen[-1].passes == cold.passes > 1
    warm = MappedSolver(problem, 1e-10, warm_start=cold.alpha).run()
    assert warm.passes == 1
    with pytest.raises(ValueError, match="warm_start must hold finite slopes of shape"):
        MappedSolver(problem, warm_start=cold.alpha[1:]).run()

    def stop(progress: Progress) -> None:
        raise KeyboardInterrupt

    kept = MappedSolver(problem, 1e-10, progress=stop).run()
    assert (kept.passes, kept.converged) == (1, False)
    assert kept.dual <= cold.primal
    assert MappedSolver(problem, 1e-10, 0).run().passes == 0


@pytest.mark.compiled
@pytest.mark.parametrize("mirror", [mirrors.UnnormalizedEntropy(), mirrors.Hypentropy(0.1)])
def test_many_rows_do_not_drown_the_start(mirror: Mirror) -> None:
    # Every row starts from a slope of 1/2: together they would be an exponent of 2000.
    random = np.random.default_rng(0)
    X = csr_array((random.random((4000, 12)) < 0.3).astype(float))
    y = np.where(random.random(4000) < 0.1 + 0.8 * X.toarray()[:, 0], 1.0, -1.0)
    found = MappedSolver(Problem.of(X, y, losses.Logistic(), mirror, 1.0), 1e-6, 200).run()
    assert found.converged
    again = MappedSolver(
        Problem.of(X, y, losses.Logistic(), mirror, 1.0), 1e-6, 200, warm_start=found.alpha
    ).run()
    assert again.passes == 1


BIASED = [losses.Hinge(), losses.Logistic(), losses.SquaredHinge(), losses.Squared()]


def unbalanced(loss: Loss, mirror: Mirror, rows: int = 30) -> Problem:
    random = np.random.default_rng(8)
    X = random.standard_normal((rows, 3))
    truth = X @ [1.0, -1.0, 0.5] + 1.5 + 0.5 * random.standard_normal(rows)
    y = np.where(truth > 0.0, 1.0, -1.0) if loss.labels == "sign" else truth
    return Problem.of(X, y, loss, mirror, 0.8, random.random(rows), 0.1 * X[:, 0])


@pytest.mark.parametrize("loss", BIASED, ids=name)
@pytest.mark.parametrize("mirror", [mirrors.Euclidean(), mirrors.Entropy(2.0)], ids=name)
def test_a_bias_costs_nothing(loss: Loss, mirror: Mirror) -> None:
    problem = unbalanced(loss, mirror, sized(12, 30))
    with interpreted():
        found = BiasSolver(problem, 1e-8, 4000).run()
    assert found.converged
    assert found.primal < solve_by_hand(problem).primal
    random = np.random.default_rng(0)
    for _ in range(sized(40, 200)):
        theta = np.log(found.weights) if mirror.multiplicative() else found.weights
        u = link(mirror, theta + 0.03 * random.standard_normal(3))
        value = problem.primal_upper(u, found.bias + 0.03 * random.standard_normal())
        assert value >= found.dual
        assert value >= found.primal - found.gap


def solve_by_hand(problem: Problem) -> Solution:
    with interpreted():
        return MappedSolver(problem, 1e-8, 4000).run()


@pytest.mark.parametrize("loss", [*BIASED, losses.Absolute()], ids=name)
def test_balanced_slopes_prove_what_they_say(loss: Loss) -> None:
    problem = unbalanced(loss, mirrors.Euclidean())
    balancer = Balancer(problem)
    low, high = np.empty(len(problem.y)), np.empty(len(problem.y))
    dual_maps.slope_ends(loss, problem.y, low, high)
    random = np.random.default_rng(2)
    for _ in range(sized(10, 50)):
        slopes = problem.clipped(random.uniform(-1.5, 1.5, len(problem.y)))
        balanced = balancer.balance(slopes)
        assert float(problem.weight @ balanced) == pytest.approx(0.0, abs=1e-12)
        assert np.all((balanced >= low) & (balanced <= high))
        dual = balancer.dual_lower(balanced)
        assert dual >= problem.dual_lower(balanced) - 1e-9
        assert dual <= problem.dual_lower(balanced)
        for bias in (-1e3, 0.0, 1.0, 1e3):
            assert problem.primal_upper(random.standard_normal(3), bias) >= dual


def test_one_class_and_no_best_bias() -> None:
    X = np.ones((4, 2))
    with interpreted():
        found = BiasSolver(Problem.of(X, np.ones(4), losses.Hinge(), strength=1.0), 1e-9).run()
        assert found.primal == pytest.approx(0.0, abs=1e-9)
    problem = Problem.of(X, np.ones(4), losses.NegativeLog(), mirrors.Entropy(), 1.0)
    with pytest.raises(ValueError, match="none is best"):
        BiasSolver(problem).run()


@pytest.mark.parametrize("mirror", [mirrors.UnnormalizedEntropy(start=1.0), mirrors.Hypentropy()])
def test_the_dual_does_not_fall_where_exponentials_explode(mirror) -> None:
    """A step too long has predictions of 1e150: it must be seen to lie beyond the maximum."""
    rng = np.random.default_rng(1)
    for _ in range(40):
        n, d = rng.integers(2, 12), rng.integers(1, 6)
        X = rng.normal(size=(n, d)) * 10.0 ** rng.uniform(-2.0, 2.5)
        y = rng.normal(size=n) * 10.0 ** rng.uniform(-1.0, 2.0)
        strength = 10.0 ** rng.uniform(-3.0, 2.0)
        problem = Problem.of(X, y, losses.Squared(), mirror, strength=strength)
        ascent = MapAscent(problem, first_slopes(problem))
        before = problem.dual_lower(ascent.slopes)
        for _ in range(6):
            ascent.visit(rng.permutation(n))
            after = problem.dual_lower(ascent.slopes)
            assert after >= before - 1e-6 * max(1.0, abs(before))
            before = after


def test_a_bias_of_rows_with_weight_0_is_found_without_a_warning() -> None:
    X, y = [[-1.0], [0.0], [1.0], [9.0]], [3.0, 5.0, 7.0, -99.0]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        best = nr.hindsight(
            X, y, nr.losses.Squared(), l2=1.0, bias=True, weight=[1.0, 1.0, 1.0, 0.0], tol=1e-9
        )
    assert (best.weights[0], best.bias) == pytest.approx((1.6, 5.0), abs=1e-4)

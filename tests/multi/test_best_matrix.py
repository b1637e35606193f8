"""The best matrix in hindsight: exact dual steps, true gaps, and two other solvers as referees."""

from __future__ import annotations

import math

import mpmath
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from scipy.optimize import minimize
from scipy.special import wrightomega
from sklearn.linear_model import LogisticRegression

import noregret as nr
from noregret.batch.best_matrix import MatrixProblem
from noregret.losses import Hinge, Logistic, MulticlassHinge, OneAgainstRest, Softmax
from noregret.losses.score_duals import _probability, allowed
from tests.sizes import sized

LOSSES = [MulticlassHinge(), MulticlassHinge(0.25), Softmax()]


def gain(loss, y, z, q, g):
    return -loss.conjugate(y, g) + z @ g - 0.5 * q * g @ g


@pytest.mark.parametrize("loss", LOSSES, ids=repr)
@settings(max_examples=sized(60, 300))
@given(
    scores=st.lists(st.floats(-60.0, 60.0), min_size=1, max_size=9),
    rounded=st.booleans(),
    power=st.floats(-12.0, 8.0),
    data=st.data(),
)
def test_the_proximal_slopes_are_subgradients_where_they_lead(loss, scores, rounded, power, data):
    z = np.round(scores) if rounded else np.array(scores)
    y = float(data.draw(st.integers(0, len(z) - 1)))
    q = 10.0**power
    g = np.empty(len(z))
    loss.proximal_slopes(y, z, q, g)
    # Slopes of these losses: none of a rival is negative, and all together are 0.
    assert np.all(np.delete(g, int(y)) >= 0.0) and -1.0 <= g[int(y)] <= 0.0
    assert abs(g.sum()) <= len(z) * 2e-16
    there = z - q * g
    value = loss.value_and_slopes(y, there, np.empty(len(z)))
    # Fenchel and Young: f(s) + f*(g) >= <g, s>, with equality at a subgradient.
    apart = value + loss.conjugate(y, g) - g @ there
    sizes = 1.0 + np.abs(z).max() + q * np.abs(g).max()
    assert -1e-14 * len(z) * sizes <= apart <= 1e-12 * sizes


@settings(max_examples=300)
@given(
    x=st.floats(-600.0, 600.0),
    log_q=st.floats(-690.0, 690.0),
)
def test_probabilities_are_of_the_wright_omega_function(x, log_q):
    """Far off, too: steps of 1 in ln p would need hundreds where q is large."""
    q = math.exp(log_q)
    expected = x - wrightomega(x + math.log(q))
    found = _probability(x, q, math.log(q))
    if expected < -700.0:
        assert 0.0 <= found < 1e-300
        return
    # The logarithm is compared: the rounding of x is a relative error of p.
    room = 4e-16 * (4.0 + abs(x) + abs(math.log(q)))
    assert math.log(found) == pytest.approx(expected, abs=room, rel=0.0)


@pytest.mark.parametrize("loss", LOSSES, ids=repr)
def test_no_slopes_gain_more(loss):
    """A quadratic program solved by brute force, and random slopes, never beat the exact step."""
    rng = np.random.default_rng(1)
    for _ in range(sized(15, 60)):
        outputs = int(rng.integers(2, 9))
        y = int(rng.integers(outputs))
        z = rng.normal(size=outputs) * 3.0
        q = 10.0 ** rng.uniform(-2.0, 2.0)
        g = np.empty(outputs)
        loss.proximal_slopes(float(y), z, q, g)
        best = gain(loss, float(y), z, q, g)
        for _ in range(50):
            other = rng.dirichlet(np.full(outputs, 10.0 ** rng.uniform(-1.5, 1.0)))
            if isinstance(loss, MulticlassHinge):
                other[y] = 0.0
            other[y] = -(other.sum() - other[y])
            mixed = g + 10.0 ** rng.uniform(-6.0, 0.0) * (other - g)
            assert gain(loss, float(y), z, q, mixed) <= best + 1e-13 * (1.0 + abs(best))
        if isinstance(loss, MulticlassHinge):
            rivals = [k for k in range(outputs) if k != y]

            def negative(b, y=y, z=z, q=q, rivals=rivals):
                full = np.zeros(len(z))
                full[rivals] = b
                full[y] = -b.sum()
                return -gain(loss, float(y), z, q, full)

            found = minimize(
                negative,
                np.full(outputs - 1, 0.5 / outputs),
                bounds=[(0.0, 1.0)] * (outputs - 1),
                constraints={"type": "ineq", "fun": lambda b: 1.0 - b.sum()},
                options={"ftol": 1e-12, "maxiter": 500},
            )
            assert -found.fun <= best + 1e-7 * (1.0 + abs(best))


def problem(seed, rows=60, features=5, outputs=4, density=None):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(rows, features))
    if density is not None:
        X *= rng.random(X.shape) < density
    y = np.argmax(X @ rng.normal(size=(features, outputs)) + rng.normal(size=(rows, outputs)), 1)
    return X, y


def exact(loss, X, y, weight, l2, W):
    """Return the objective in 40 digits."""
    with mpmath.workdps(40):
        total = mpmath.mpf(0)
        for x, target, c in zip(X, y, weight, strict=True):
            s = [
                mpmath.fsum(mpmath.mpf(v) * mpmath.mpf(w) for v, w in zip(x, column, strict=True))
                for column in W.T
            ]
            if isinstance(loss, Softmax):
                value = mpmath.log(mpmath.fsum(mpmath.exp(v) for v in s)) - s[target]
            else:
                rivals = [v for k, v in enumerate(s) if k != target]
                value = max(mpmath.mpf(loss.margin) + max(rivals) - s[target], mpmath.mpf(0))
            total += mpmath.mpf(float(c)) * value
        norm = mpmath.fsum(mpmath.mpf(w) ** 2 for w in W.ravel())
        return total + mpmath.mpf(l2) / 2 * norm


@pytest.mark.parametrize("loss", LOSSES, ids=repr)
@pytest.mark.parametrize("seed", range(4))
def test_the_minimum_lies_between_dual_and_primal(loss, seed):
    X, y = problem(seed, rows=sized(15, 60))
    rng = np.random.default_rng(seed + 100)
    weight = rng.integers(0, 3, len(y)).astype(float)
    l2 = 10.0**seed
    best = nr.hindsight(X, y, loss, l2=l2, weight=weight)
    assert best.converged and best.dual <= best.primal
    assert best.weights.shape == (5, 4)
    value = exact(loss, X, y, weight, l2, best.weights)
    assert best.dual <= value <= best.primal
    for _ in range(sized(5, 20)):
        near = best.weights + rng.normal(size=best.weights.shape) * 10.0 ** rng.uniform(-6, 0)
        assert exact(loss, X, y, weight, l2, near) >= best.dual


@pytest.mark.parametrize("scale", [1e-120, 1e-8, 1e8, 1e60])
@pytest.mark.parametrize("loss", [MulticlassHinge(), Softmax()], ids=repr)
def test_true_at_every_scale(loss, scale):
    X, y = problem(7, rows=12, features=3, outputs=3)
    best = nr.hindsight(X * scale, y, loss, l2=1.0, max_passes=50)
    ones = np.ones(len(y))
    assert best.dual <= exact(loss, X * scale, y, ones, 1.0, best.weights) <= best.primal
    zero = exact(loss, X, y, ones, 1.0, np.zeros((3, 3)))
    assert best.dual <= zero


@pytest.mark.parametrize("loss", [MulticlassHinge(), Softmax()], ids=repr)
def test_any_slopes_give_a_bound(loss):
    """Weak duality, whatever the slopes are, judged against the converged minimum."""
    X, y = problem(3, rows=sized(20, 60))
    best = nr.hindsight(X, y, loss, l2=0.5, tol=1e-9)
    task = MatrixProblem.of(X, y, loss, 0.5, None)
    rng = np.random.default_rng(0)
    for _ in range(50):
        slopes = rng.random((len(y), 4)) * 10.0 ** rng.uniform(-3, 0)
        slopes = task.start(slopes)
        assert task.evaluate(slopes)[2] <= best.primal


def test_softmax_against_scikit_learn():
    X, y = problem(5, rows=sized(40, 300), features=8, outputs=5)
    best = nr.hindsight(X, y, Softmax(), l2=2.0, tol=1e-10)
    other = LogisticRegression(C=0.5, fit_intercept=False, tol=1e-12, max_iter=10_000).fit(X, y)
    # Columns may be shifted together by anything in the loss, the norm settles it.
    np.testing.assert_allclose(best.weights, other.coef_.T, atol=1e-4)


def test_hinge_against_liblinear():
    linear = pytest.importorskip(
        "liblinear.liblinearutil", reason="liblinear-official is not installed"
    )
    X, y = problem(6, rows=200, features=6, outputs=4)
    best = nr.hindsight(X, y, MulticlassHinge(), l2=1.0, tol=1e-8)
    model = linear.train(linear.problem(y, X), linear.parameter("-s 4 -c 1 -e 1e-8 -q"))
    columns = np.array([model.get_decfun(k)[0] for k in range(4)]).T
    W = np.zeros_like(columns)
    W[:, model.get_labels()] = columns
    value = exact(MulticlassHinge(), X, y, np.ones(len(y)), 1.0, W)
    assert best.dual <= value and best.primal <= float(value) * (1.0 + 1e-6)


@pytest.mark.parametrize("loss", [MulticlassHinge(), Softmax(), OneAgainstRest()], ids=repr)
def test_sparse_equals_dense_and_a_warm_start_is_at_the_goal(loss):
    X, y = problem(8, rows=sized(15, 60), density=0.4)
    dense = nr.hindsight(X, y, loss, l2=1.0, tol=1e-9)
    other = nr.hindsight(sparse.csr_array(X), y, loss, l2=1.0, tol=1e-9)
    np.testing.assert_allclose(other.weights, dense.weights, atol=1e-3)
    assert abs(other.primal - dense.primal) <= 2e-9 * max(1.0, dense.primal)
    again = nr.hindsight(X, y, loss, l2=1.0, tol=1e-9, warm_start=dense)
    assert again.passes == 0 and again.converged


def test_one_against_rest_is_a_problem_a_class():
    X, y = problem(9, rows=sized(20, 60))
    together = nr.hindsight(X, y, OneAgainstRest(Hinge()), radius=2.0, tol=4e-6)
    alone = [
        nr.hindsight(X, np.where(y == k, 1, -1), Hinge(), radius=2.0, tol=1e-6) for k in range(4)
    ]
    for k, part in enumerate(alone):
        np.testing.assert_array_equal(together.weights[:, k], part.weights)
    assert together.primal >= math.fsum(part.primal for part in alone)
    assert together.dual <= math.fsum(part.dual for part in alone)
    assert "one class against the rest" in str(together)


def test_converged_speaks_of_the_sum_over_the_classes():
    """Parts that each are within the tolerance may be far from it together."""
    rng, outputs, tol, rows = np.random.default_rng(0), sized(5, 10), 1e-2, sized(30, 60)
    X, y = rng.normal(size=(rows, 20)), np.arange(rows) % outputs
    weight = np.full(rows, 0.5 / rows / outputs)
    for loss in (Hinge(), Logistic()):
        best = nr.hindsight(X, y, OneAgainstRest(loss), l2=1e-4, weight=weight, tol=tol)
        assert best.converged and best.gap <= tol * max(1.0, best.primal)


@pytest.mark.parametrize(
    ("z", "margin", "q"),
    [
        ([-1.0, 5.0 / 3.0, 1.0 / 3.0, 0.0], 1.0, 3.6),
        ([0.6000000000000001, 0.7000000000000001, 0.6000000000000001, 0.1], 0.1, 1.0 / 3.0),
        ([-2.6666666666666665, -1.0, 1.3333333333333333, -1.0, 1.0], 1.0, 1.0 / 3.0),
    ],
)
def test_classes_at_the_level_do_not_keep_the_exact_step_going(z, margin, q):
    """Dropping one of them moves the level by a rounding, which would count it in again."""
    loss, scores, slopes = MulticlassHinge(margin), np.array(z), np.empty(len(z))
    loss.proximal_slopes(0.0, scores, q, slopes)
    there = scores - q * slopes
    apart = loss.value_and_slopes(0.0, there, np.empty(len(z)))
    apart += loss.conjugate(0.0, slopes) - slopes @ there
    assert abs(apart) <= 1e-14


@pytest.mark.parametrize("loss", [MulticlassHinge(1e6), Softmax()], ids=repr)
def test_a_warm_start_beyond_all_bounds_proves_nothing_false(loss):
    X, y = problem(3)
    # Slopes that sum up to infinity, and to 0 once they are divided by that.
    start = MatrixProblem.of(X, y, loss, 0.5, None).start(np.full((len(y), 4), 1e308))
    np.testing.assert_allclose(start.sum(axis=1), 0.0, atol=1e-15)
    best = nr.hindsight(X, y, loss, l2=0.5, warm_start=np.full((len(y), 4), 1e308), max_passes=1)
    assert best.dual <= exact(loss, X, y, np.ones(len(y)), 0.5, best.weights)


@pytest.mark.parametrize("units", [1, 3, 5])
def test_the_smallest_strengths_are_not_rounded(units):
    """Half of 5 smallest numbers is 2 of them, and the regulariser would be a fifth too small."""
    l2 = units * 5e-324
    task = MatrixProblem.of([[1.0]], [0], MulticlassHinge(), l2, [0.0])
    W = np.full((1, 2), 1e120)
    assert task.primal_upper(W) >= exact(task.loss, [[1.0]], [0], [0.0], l2, W)


@pytest.mark.compiled
@pytest.mark.filterwarnings("error")
def test_what_overflows_is_refused_or_infinite():
    X, y = problem(0)
    with pytest.raises(ValueError, match="overflows: scale the rows"):
        nr.hindsight(X, y, Softmax(), l2=1e-320)
    best = nr.hindsight(X, y, Softmax(), l2=1e-200, max_passes=20)
    assert best.dual <= 60.0 * math.log(4.0) and not best.converged


def test_refused_in_one_line():
    X, y = problem(0)
    for wrong, message in (
        ({"radius": 1.0}, "l2= alone"),
        ({"l2": 1.0, "bias": True}, "column of 1"),
        ({"l2": -1.0}, "above 0"),
    ):
        with pytest.raises(ValueError, match=message):
            nr.hindsight(X, y, Softmax(), **wrong)
    with pytest.raises(ValueError, match=r"y row 0: 0\.5 is not a class index"):
        nr.hindsight(X, y + 0.5, Softmax(), l2=1.0)
    with pytest.raises(ValueError, match="no dual here"):
        nr.hindsight(X, y, nr.losses.PairwiseHinge(), l2=1.0)
    with pytest.raises(ValueError, match="shape"):
        nr.hindsight(X, y, Softmax(), l2=1.0, warm_start=np.zeros(3))
    for loss in (Softmax(), OneAgainstRest()):
        with pytest.raises(ValueError, match=r"warm_start must hold finite slopes of shape"):
            nr.hindsight(X, y, loss, l2=1.0, warm_start=3.0)
        with pytest.raises(ValueError, match="warm_start must hold numbers"):
            nr.hindsight(X, y, loss, l2=1.0, warm_start="x")
        with pytest.raises(ValueError, match="y must hold numbers"):
            nr.hindsight(X, [*y[1:], "a"], loss, l2=1.0)
    assert nr.hindsight(X, y, OneAgainstRest(Logistic()), l2=1.0).converged


def test_slopes_are_brought_to_where_the_dual_is_finite():
    slopes = np.array([0.25, 0.5, -3.0])
    allowed(2.0, slopes)
    assert slopes.tolist() == [0.25, 0.5, -0.75]

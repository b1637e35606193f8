"""The leader of blocks: it minimises what its definition says, and rows held back are kept well."""

from __future__ import annotations

import copy
import math
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from scipy.optimize import minimize
from scipy.sparse import csr_array

import noregret as nr
from noregret import losses, mirrors, rates
from noregret.learners.block_leader_engine import LARGEST_WIDTH
from noregret.passes.leading import LITTLE
from noregret.proof.ledger import Entry
from noregret.rates.block_leader import FIRST, GROWTH

Vector = npt.NDArray[np.float64]

LOGISTIC = losses.Logistic()
LOSSES = [LOGISTIC, losses.SquaredHinge(), losses.Huber(0.5), losses.Squared()]
each = pytest.mark.parametrize("loss", LOSSES, ids=lambda loss: type(loss).__name__)


def fresh(loss: Any = LOGISTIC, rate: Any = None, **options: Any) -> nr.MirrorDescent:
    rate = rates.BlockLeader(0.5, 32) if rate is None else rate
    return nr.MirrorDescent(loss, mirrors.Euclidean(), rate, averaging=False, **options)


def stream(loss: Any = LOGISTIC, n: int = 120, seed: int = 0) -> tuple[Vector, Vector, Vector]:
    """Return rows with zeros, growing sizes and a late feature; labels; weights, some 0."""
    random = np.random.default_rng(seed)
    X = random.normal(size=(n, 4)) * [1e-3, 1.0, 1.0, 1e3] * np.linspace(0.5, 2.0, n)[:, None]
    X[random.random(X.shape) < 0.3] = 0.0
    X[: n // 3, 2] = 0.0
    y = X @ [500.0, -1.0, 1.0, 1e-3] + random.normal(size=n)
    if loss.labels == "sign":
        y = np.where(y > 0.0, 1.0, -1.0)
    return X, y, np.where(random.random(n) < 0.1, 0.0, random.exponential(size=n))


def bits(learner: nr.MirrorDescent) -> dict[str, bytes]:
    return {name: array.tobytes() for name, array in learner._arrays().items()}


def total(loss: Any, X: Vector, y: Vector, weight: Vector, w: Vector) -> float:
    return float(
        sum(c * loss.value(one, p) for one, p, c in zip(y, X @ w, weight, strict=True) if c > 0.0)
    )


def expansion(loss: Any, X: Vector, y: Vector, weight: Vector, w: Vector) -> tuple[Vector, Vector]:
    """Return slope at 0 and matrix of the second-order expansion of the loss about w."""
    p = X @ w
    slopes = np.array([loss.slope(one, at) for one, at in zip(y, p, strict=True)])
    bends = np.array([loss.curvature_below(one, at, at, at) for one, at in zip(y, p, strict=True)])
    matrix = (X.T * (weight * bends)) @ X
    return X.T @ (weight * slopes) - matrix @ w, matrix


@each
def test_each_leader_minimises_the_block_and_the_expansions_before(loss: Any) -> None:
    rate = rates.BlockLeader(0.5, 32)
    learner, (X, y, weight) = fresh(loss, rate), stream(loss)
    slope, matrix = np.zeros(4), np.zeros((4, 4))
    begin, seen, due, before, leaders = 0, 0, FIRST, np.zeros(4), 0
    for t in range(len(y)):
        w = learner.weights if t else np.zeros(4)
        assert np.array_equal(w, before)
        assert learner.learn(X[t : t + 1], y[t : t + 1], weight[t : t + 1])[0] == pytest.approx(
            float(X[t] @ before), rel=1e-12, abs=1e-12
        )
        before = learner.weights
        seen += weight[t] > 0.0
        held = int((weight[begin : t + 1] > 0.0).sum())
        if weight[t] == 0.0 or (held < rate.block and seen < due):
            continue
        leaders += 1
        part, m = slice(begin, t + 1), np.abs(X[: t + 1][weight[: t + 1] > 0.0]).max(axis=0)
        m = np.where(m > 0.0, m, 1.0)
        rows = X[part] / m, y[part], weight[part]
        past = slope / m, matrix / m / m[:, None] + rate.prior * np.eye(4)

        def objective(v: Vector, rows: Any = rows, past: Any = past) -> float:
            return float(total(loss, *rows, v) + past[0] @ v + 0.5 * v @ past[1] @ v)

        found = minimize(objective, before * m, method="BFGS", options={"gtol": 1e-9})
        own = total(loss, *rows, before * m)
        assert objective(before * m) <= found.fun + 3.0 * LITTLE * own + 1e-9 * abs(found.fun)
        if held == rate.block:
            more = expansion(loss, X[part], y[part], weight[part], before)
            slope, matrix = slope + more[0], matrix + more[1]
            begin = t + 1
        if seen >= due:
            due = int(GROWTH * seen)
    assert leaders > 6 and begin > 0


def test_rows_that_fit_into_a_block_have_the_batch_optimum() -> None:
    X, y, _ = stream(n=400)
    learner = fresh(rate=rates.BlockLeader(1e-6))
    learner.learn(X, y)
    learner.close_block()
    best = minimize(lambda w: np.logaddexp(0.0, -y * (X @ w)).sum(), learner.weights, method="BFGS")
    own = float(np.logaddexp(0.0, -y * (X @ learner.weights)).sum())
    assert own <= best.fun * (1.0 + 2.0 * LITTLE)


def test_many_blocks_are_nearly_the_batch_optimum() -> None:
    random = np.random.default_rng(5)
    X = random.normal(size=(4000, 5))
    y = np.where(
        random.random(4000) < 1.0 / (1.0 + np.exp(-X @ [1.0, -2.0, 0.5, 0.0, 1.5])), 1.0, -1.0
    )
    learner = fresh(rate=rates.BlockLeader(0.1, 256))
    learner.learn(X, y)

    def lost(w: Vector) -> float:
        return float(np.logaddexp(0.0, -y * (X @ w)).sum())

    assert lost(learner.weights) <= 1.001 * minimize(lost, np.zeros(5), method="BFGS").fun


@each
def test_rows_may_come_sparse_in_parts_or_one_by_one(loss: Any) -> None:
    X, y, weight = stream(loss)
    whole = fresh(loss)
    made = whole.learn(X, y, weight)
    sparse, parts, single = fresh(loss), fresh(loss), fresh(loss)
    assert np.array_equal(sparse.learn(csr_array(X), y, weight), made)
    for start in range(0, len(y), 7):
        part = slice(start, start + 7)
        assert np.array_equal(parts.learn(X[part], y[part], weight[part]), made[part])
    for t in range(len(y)):
        places = np.flatnonzero(X[t]).astype(np.uint32)
        assert single.learn_one(places, X[t, places], float(y[t]), float(weight[t])) == made[t]
    assert bits(sparse) == bits(whole) == bits(parts)
    # Only the number of features that are known may differ.
    assert np.array_equal(single.weights, whole.weights[: single.dimension])


@pytest.mark.parametrize("cut", [0, 5, 16, 31, 32, 33, 50, 119])
def test_a_run_that_was_saved_goes_on_to_the_bit(cut: int, tmp_path: Path) -> None:
    X, y, weight = stream()
    whole, first = fresh(), fresh()
    whole.learn(X, y, weight)
    first.learn(X[:cut], y[:cut], weight[:cut])
    first.save(tmp_path / "model")
    for again in (nr.load(tmp_path / "model"), copy.deepcopy(first)):
        again.learn(X[cut:], y[cut:], weight[cut:])
        assert bits(again) == bits(whole)


def test_units_that_are_powers_of_two_change_no_bit() -> None:
    X, y, weight = stream()
    units = 2.0 ** np.array([40.0, -300.0, 7.0, 0.0])
    one, other = fresh(), fresh()
    assert np.array_equal(one.learn(X, y, weight), other.learn(X * units, y, weight))
    assert np.array_equal(other.weights, one.weights / units)


def test_a_closed_block_leaves_no_row_behind(tmp_path: Path) -> None:
    X, y, weight = stream()
    learner = fresh()
    learner.learn(X[:50], y[:50], weight[:50])
    assert len(learner._arrays()["held_rows"])
    learner.close_block()
    assert learner._arrays()["held_rows"].shape == (0, 4)
    learner.save(tmp_path / "model")
    again = nr.load(tmp_path / "model")
    assert np.array_equal(
        again.learn(X[50:], y[50:], weight[50:]), learner.learn(X[50:], y[50:], weight[50:])
    )
    wrapped = nr.Standardized(fresh(), certified=False)
    wrapped.learn(X[:50], y[:50])
    wrapped.close_block()
    assert not len(wrapped.learner._arrays()["held_rows"])


@each
def test_the_ledger_has_the_lines_at_the_predictions(loss: Any) -> None:
    X, y, weight = stream(loss)
    learner = fresh(loss)
    made = learner.learn(X, y, weight)
    slopes = np.array([loss.slope(one, p) for one, p in zip(y, made, strict=True)])
    gradient = learner._engine.gradient()  # type: ignore[union-attr]
    np.testing.assert_allclose(gradient, X.T @ (weight * slopes), rtol=1e-9)
    m, travel = np.zeros(4), 0.0
    for x, slope, c in zip(X, slopes, weight, strict=True):
        m = np.maximum(m, np.abs(x)) if c > 0.0 else m
        travel += c * abs(slope) * float((np.abs(x) / np.where(m > 0.0, m, 1.0)).sum())
    assert learner._ledger[Entry.SCALED_TRAVEL] == pytest.approx(travel, rel=1e-9)
    proof = learner.certificate()
    assert proof.loss == pytest.approx(total(loss, np.eye(len(y)), y, weight, made), rel=1e-9)
    best = nr.hindsight(X / m, y, loss, radius=2.0, weight=weight, tol=1e-6)
    assert proof.floor(2.0) <= best.primal


def test_features_that_are_almost_one_are_told_apart() -> None:
    random = np.random.default_rng(3)
    common = random.normal(size=(300, 1))
    X = common + 1e-4 * random.normal(size=(300, 8))
    y = np.where(common[:, 0] + 0.5 * random.normal(size=300) > 0.0, 1.0, -1.0)
    learner = fresh(rate=rates.BlockLeader(1e-9))
    learner.learn(X, y)
    learner.close_block()
    best = minimize(
        lambda w: np.logaddexp(0.0, -y * (X @ w)).sum(),
        learner.weights,
        jac=lambda w: X.T @ (-y / (1.0 + np.exp(y * (X @ w)))),
        method="BFGS",
    )
    own = float(np.logaddexp(0.0, -y * (X @ learner.weights)).sum())
    # What a step still promises is judged by a second derivative of steps before.
    assert own <= best.fun * (1.0 + 10.0 * LITTLE)


def test_rows_of_weight_0_are_not_held_back() -> None:
    X, y, weight = stream()
    weighed, kept = fresh(), fresh()
    weighed.learn(X, y, weight)
    kept.learn(X[weight > 0.0], y[weight > 0.0], weight[weight > 0.0])
    assert np.array_equal(weighed.weights, kept.weights)


@pytest.mark.parametrize("scale", [1e-140, 1e95])
def test_extreme_rows_leave_finite_weights(scale: float) -> None:
    X, y, weight = stream()
    learner = fresh()
    learner.learn(X * scale, y, 1e6 * weight)
    assert np.all(np.isfinite(learner.weights)) and learner.weights.any()


def test_what_separates_rows_stays_finite_for_want_of_a_prior() -> None:
    learner = fresh(rate=rates.BlockLeader(1e-60, 16))
    learner.learn(np.ones((400, 1)), np.ones(400))
    assert 5.0 < learner.weights[0] < 1e6


class Broken(losses.Logistic):
    """A loss whose curvature is no number once predictions are positive."""

    def value(self, y: float, p: float) -> float:
        """Return the logistic loss."""
        return math.log1p(math.exp(-y * p))

    def slope(self, y: float, p: float) -> float:
        """Return its slope."""
        return -y / (1.0 + math.exp(y * p))

    def curvature_below(self, y: float, p: float, low: float, high: float) -> float:
        """Return NaN beyond 0."""
        return math.nan if p > 0.0 else 0.2

    def bend_of_slope(self, y: float, p: float, slope: float) -> float:
        """Return the same."""
        return self.curvature_below(y, p, p, p)


def test_a_curvature_that_is_no_number_ends_the_search() -> None:
    learner = fresh(Broken())
    learner.learn(np.ones((40, 1)), np.ones(40))
    assert np.all(np.isfinite(learner.weights)) and learner.rounds == 40


def test_what_has_no_second_derivative_or_is_too_wide_is_refused() -> None:
    with pytest.raises(ValueError, match="BlockLeader needs a loss with a second derivative"):
        fresh(losses.Hinge())
    with pytest.raises(ValueError, match=rf"at most {LARGEST_WIDTH} of them, and there are 2049"):
        fresh(dimension=LARGEST_WIDTH + 1)
    for options in ({"block": 0}, {"block": 1 << 21}, {"prior": 0.0}):
        with pytest.raises(ValueError, match=f"BlockLeader\\({next(iter(options))}\\) must"):
            rates.BlockLeader(**options)
    learner = fresh()
    learner.learn(np.ones((1, 3)), [1])
    with pytest.raises(ValueError, match="BlockLeader keeps a matrix of all pairs of features"):
        learner.learn(csr_array(([1.0], ([0], [5000])), shape=(1, 5001)), [1])
    assert learner.rounds == 1 and learner.dimension == 3


@pytest.mark.parametrize(
    ("name", "place", "value", "message"),
    [
        ("slots", 0, 32.0, "slots do not count rows"),
        ("slots", 0, 0.5, "slots do not count rows"),
        ("slots", 1, 2.0, "slots do not count rows"),
        ("slots", 2, 1.0, "slots do not count rows"),
        ("held_rows", (0, 0), np.inf, "held_rows holds"),
        ("held_weight", 0, 0.0, "held_weight must be above 0"),
        ("units", 0, 0.0, "units and held_weight must be above 0"),
        ("matrix", (0, 0), np.nan, "matrix holds"),
    ],
)
def test_a_file_that_no_leader_wrote_is_refused(
    name: str, place: Any, value: float, message: str
) -> None:
    X, y, weight = stream()
    learner = fresh()
    learner.learn(X[:50], y[:50], weight[:50])
    header, arrays = learner._to_file()
    arrays = {key: array.copy() for key, array in arrays.items()}
    arrays[name][place] = value
    with pytest.raises(ValueError, match=message):
        nr.MirrorDescent._from_file(header, arrays)
    header, arrays = learner._to_file()
    with pytest.raises(ValueError, match="held_y has shape"):
        nr.MirrorDescent._from_file(header, arrays | {"held_y": arrays["held_y"][1:]})

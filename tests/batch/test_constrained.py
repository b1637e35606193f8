"""Linear constraints by multipliers: closed forms, scipy as referee, floors wherever it stops."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.sparse import csr_array

import noregret as nr
from noregret.batch.constrained import Limits
from tests.oracles.data import S_A, X_A

LOSSES = [nr.losses.Squared(), nr.losses.SquaredHinge(), nr.losses.Logistic(), nr.losses.Huber(0.5)]


def referee(
    loss: Any, X: np.ndarray, y: np.ndarray, A: Any, r: Any, l2: float, radius: float | None = None
) -> tuple[float, np.ndarray]:
    """Return the minimum and its w as SLSQP finds them; the hinge as a programme with slacks."""
    A, r = np.atleast_2d(np.asarray(A, float)), np.atleast_1d(np.asarray(r, float))
    n, d = X.shape
    hinge = isinstance(loss, nr.losses.Hinge)

    def value(v: np.ndarray) -> float:
        w = v[:d]
        if hinge:
            return 0.5 * l2 * float(w @ w) + float(v[d:].sum())
        lost = sum(loss.value(t, p) for t, p in zip(y, X @ w, strict=True))
        return 0.5 * l2 * float(w @ w) + lost

    def gradient(v: np.ndarray) -> np.ndarray:
        w = v[:d]
        if hinge:
            return np.concatenate([l2 * w, np.ones(n)])
        return l2 * w + np.array([loss.slope(t, p) for t, p in zip(y, X @ w, strict=True)]) @ X

    pad = np.zeros((len(A), n)) if hinge else np.zeros((len(A), 0))
    limits = [{"type": "ineq", "fun": lambda v: r - np.hstack([A, pad]) @ v}]
    if radius is not None:
        limits.append({"type": "ineq", "fun": lambda v: radius**2 - v[:d] @ v[:d]})
    bounds = None
    if hinge:
        limits.append({"type": "ineq", "fun": lambda v: y * (X @ v[:d]) - 1.0 + v[d:]})
        bounds = [(None, None)] * d + [(0.0, None)] * n
    start = np.concatenate([np.zeros(d), np.ones(n if hinge else 0)])
    found = minimize(
        value, start, jac=gradient, method="SLSQP", constraints=limits, bounds=bounds,
        options={"maxiter": 1000, "ftol": 1e-14},
    )  # fmt: skip
    assert found.status in (0, 8), found.message
    return float(found.fun), found.x[:d]


def surely_meets(A: Any, r: Any, w: np.ndarray) -> bool:
    """Tell whether A w <= r in rational arithmetic."""
    exact = [Fraction(float(e)) for e in w]
    for row, limit in zip(np.atleast_2d(A).tolist(), np.atleast_1d(r).tolist(), strict=True):
        if sum(Fraction(a) * e for a, e in zip(row, exact, strict=True)) > Fraction(limit):
            return False
    return True


def drawn(seed: int, n: int = 40, d: int = 5) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    X, rule = rng.normal(size=(n, d)), rng.normal(size=d)
    return X, np.sign(X @ rule + 0.7 * rng.normal(size=n)), rng.normal(size=(4, d))


def test_a_closed_form() -> None:
    """Two coordinates, hinge: (1, -3/4), multiplier 3/4, minimum 57/32, by hand from KKT."""
    X, y = [[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]], [1, -1, 1]
    best = nr.hindsight_constrained(X, y, nr.losses.Hinge(), [[1.0, 1.0]], [0.25], 1.0, tol=1e-12)
    assert best.converged and best.violation == 0.0
    assert best.weights == pytest.approx([1.0, -0.75], abs=1e-6)
    assert best.multipliers == pytest.approx([0.75], abs=1e-6)
    assert best.dual <= 57 / 32 <= best.primal
    assert best.primal == pytest.approx(57 / 32, rel=1e-11)


@pytest.mark.compiled
def test_the_ridge_under_one_constraint() -> None:
    """min |w - t|^2 + (l2/2)|w|^2 with <a, w> <= r: a projection along a, in closed form."""
    target, a, l2, r = np.array([2.0, -1.0, 0.5]), np.array([1.0, 2.0, -1.0]), 2.0, -2.0
    best = nr.hindsight_constrained(np.eye(3), target, nr.losses.Squared(), a, r, l2, tol=1e-13)
    free = 2.0 * target / (2.0 + l2)
    multiplier = (2.0 + l2) * (a @ free - r) / (a @ a)
    assert best.multipliers == pytest.approx([multiplier], rel=1e-6)
    assert best.weights == pytest.approx(free - multiplier * a / (2.0 + l2), abs=1e-6)


@pytest.mark.compiled
@pytest.mark.each_value
@pytest.mark.parametrize("loss", [*LOSSES, nr.losses.Hinge()], ids=lambda loss: str(loss))
@pytest.mark.parametrize("seed", range(3))
def test_scipy_is_the_referee(loss: Any, seed: int) -> None:
    X, y, A = drawn(seed)
    # Two constraints cut the free solution off, one all but touches it, one is far away. Rounded
    # because the last bits decide: through the solution itself some runs end at a gap of 1.2e-8.
    free = np.round(nr.hindsight(X, y, loss, l2=2.0).weights, 3)
    r = A @ free + np.array([-0.5, -0.2, 0.0, 5.0])
    best = nr.hindsight_constrained(X, y, loss, A, r, 2.0, tol=1e-8)
    assert best.converged, best
    value, weights = referee(loss, X, y, A, r, 2.0)
    assert best.violation == 0.0 and surely_meets(A, r, best.weights)
    assert best.dual <= value * (1 + 1e-9)
    assert best.primal == pytest.approx(value, rel=1e-6)
    assert best.weights == pytest.approx(weights, abs=1e-3)
    assert np.all(best.multipliers >= 0.0) and best.multipliers[3] == pytest.approx(0.0, abs=1e-9)
    # Complementary slackness.
    assert best.multipliers * (r - A @ best.weights) == pytest.approx(np.zeros(4), abs=1e-3)


def test_weights_that_must_not_be_negative_and_a_ball() -> None:
    X, y, _ = drawn(7)
    for radius in (None, 0.6):
        A, r = -np.eye(5), np.zeros(5)
        best = nr.hindsight_constrained(
            X, y, nr.losses.Logistic(), csr_array(A), r, 0.5, radius, tol=1e-8
        )
        value, _ = referee(nr.losses.Logistic(), X, y, A, r, 0.5, radius)
        assert best.converged and np.all(best.weights >= 0.0)
        assert best.dual <= value * (1 + 1e-9)
        assert best.primal == pytest.approx(value, rel=1e-6)
        if radius is not None:
            assert np.linalg.norm(best.weights) <= radius * (1 + 1e-12)


def test_an_equality_is_two_rows_and_no_w_is_called_feasible() -> None:
    X, y, _ = drawn(8)
    A, r = np.array([np.ones(5), -np.ones(5)]), np.array([1.0, -1.0])
    best = nr.hindsight_constrained(X, y, nr.losses.Squared(), A, r, 1.0, tol=1e-9)
    value, _ = referee(nr.losses.Squared(), X, y, A, r, 1.0)
    assert best.converged and 0.0 < best.violation < 1e-8
    assert best.weights.sum() == pytest.approx(1.0, abs=1e-8)
    assert best.dual <= value * (1 + 1e-9)
    assert best.primal == pytest.approx(value, rel=1e-6)
    assert "violated by" in str(best)


@pytest.mark.parametrize("loss", [nr.losses.Hinge(), nr.losses.Logistic()], ids=str)
def test_the_floor_is_true_wherever_it_stops(loss: Any) -> None:
    X, y, A = drawn(11)
    r = np.full(4, -0.3)
    value, _ = referee(loss, X, y, A, r, 1.0)
    floors = []
    for passes in (1, 2, 5, 20, 100):
        stopped = nr.hindsight_constrained(X, y, loss, A, r, 1.0, max_passes=passes, tol=1e-12)
        assert stopped.passes <= passes
        assert stopped.dual <= value * (1 + 1e-9)
        if stopped.violation == 0.0:
            assert surely_meets(A, r, stopped.weights) and stopped.primal >= value * (1 - 1e-9)
        floors.append(stopped.dual)
    assert floors[-1] > floors[0]
    assert "stopped after 1 passes" in str(
        nr.hindsight_constrained(X, y, loss, A, r, 1.0, max_passes=1, tol=1e-12)
    )


def test_limits_that_do_not_bind_change_nothing() -> None:
    free = nr.hindsight(X_A, S_A, nr.losses.Hinge(), l2=1.0, tol=1e-10)
    best = nr.hindsight_constrained(
        X_A, S_A, nr.losses.Hinge(), np.eye(3), np.full(3, 50.0), 1.0, tol=1e-10
    )
    assert best.primal == pytest.approx(free.primal, rel=1e-9)
    assert best.multipliers.tolist() == [0.0, 0.0, 0.0]


@pytest.mark.compiled
def test_a_multiplier_is_the_price_of_its_limit() -> None:
    X, y, A = drawn(12)
    r = A @ nr.hindsight(X, y, nr.losses.Logistic(), l2=1.0).weights - 0.3
    best = nr.hindsight_constrained(X, y, nr.losses.Logistic(), A, r, 1.0, tol=1e-10)
    for j in range(4):
        moved = [
            nr.hindsight_constrained(
                X, y, nr.losses.Logistic(), A, r + h * np.eye(4)[j], 1.0, tol=1e-11
            ).dual
            for h in (-1e-3, 1e-3)
        ]
        assert best.multipliers[j] == pytest.approx((moved[0] - moved[1]) / 2e-3, abs=2e-2)


@pytest.mark.compiled
def test_weights_and_offsets_of_examples_count() -> None:
    X, y, A = drawn(13, 20)
    r = np.full(4, 0.1)
    whole = nr.hindsight_constrained(
        np.vstack([X, X[:5]]), np.append(y, y[:5]), nr.losses.Logistic(), A, r, 1.0, tol=1e-9
    )
    weight = np.ones(20)
    weight[:5] = 2.0
    folded = nr.hindsight_constrained(
        X, y, nr.losses.Logistic(), A, r, 1.0, weight=weight, tol=1e-9
    )
    assert folded.primal == pytest.approx(whole.primal, rel=1e-8)
    shifted = nr.hindsight_constrained(
        X, y, nr.losses.Logistic(), A, r, 1.0, offset=np.full(20, 0.5), tol=1e-9
    )
    assert abs(shifted.primal - nr.hindsight_constrained(
        X, y, nr.losses.Logistic(), A, r, 1.0, tol=1e-9
    ).primal) > 1e-3  # fmt: skip


def test_a_repair_moves_no_more_than_it_must() -> None:
    limits = Limits.of([[1.0, 0.0]], [1.0], 2, None)
    assert limits.inside is not None
    repaired = limits.repaired(np.array([1.0 + 1e-9, 3.0]))
    assert surely_meets([[1.0, 0.0]], [1.0], repaired)
    assert repaired == pytest.approx([1.0, 3.0], abs=1e-6)
    kept = np.array([0.5, 3.0])
    assert limits.repaired(kept) is kept


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"A": [[1.0, 1.0]]}, r"A has shape \(1, 2\), expected rows of 3 columns, as X has"),
        ({"limits": [1.0, 2.0]}, r"limits has shape \(2,\), expected \(1,\)"),
        ({"limits": [np.inf]}, "must hold finite numbers; leave out"),
        ({"A": [[0.0, 0.0, 0.0]], "limits": [-1.0]}, "row 0 of A is 0 and its limit -1: no w"),
        ({"A": [[1.0, 0, 0], [-1.0, 0, 0]], "limits": [-1.0, -1.0]}, "no w meets all constraints"),
        ({"l2": 0.0}, "l2 must be a finite number above 0"),
        ({"radius": -1.0}, "radius must be a finite number above 0"),
        ({"tol": -1.0}, "tol must be a finite number >= 0"),
        ({"max_passes": 0}, "max_passes must be at least 1"),
    ],
)
def test_what_is_refused(change: dict[str, Any], words: str) -> None:
    settings = {"A": [[1.0, 1.0, 1.0]], "limits": [1.0], "l2": 1.0}
    with pytest.raises(ValueError, match=words):
        nr.hindsight_constrained(X_A, S_A, nr.losses.Hinge(), **(settings | change))


def test_what_is_printed() -> None:
    best = nr.hindsight_constrained(X_A, S_A, nr.losses.Hinge(), np.eye(3), [0.1, 0.1, 0.1], 1.0)
    text = str(best)
    for line in (
        "subject to A w <= limits",
        "no feasible w has less than",
        "all hold",
        "of 3 pull",
    ):
        assert line in text, text


def test_progress_is_reported() -> None:
    heard: list[Any] = []
    nr.hindsight_constrained(
        X_A, S_A, nr.losses.Hinge(), np.eye(3), [0.1, 0.1, 0.1], 1.0, progress=heard.append
    )
    assert heard and heard[-1].passes >= 1


@dataclass(frozen=True)
class Own(nr.losses.Regression):
    """The square loss, with a conjugate that is too low by `lift`."""

    lift: float = 0.0

    def value(self, y: float, p: float) -> float:
        return (p - y) * (p - y)

    def slope(self, y: float, p: float) -> float:
        return 2.0 * (p - y)

    def conjugate(self, y: float, s: float) -> float:
        return s * y + 0.25 * s * s - self.lift


def test_the_conjugate_of_an_own_loss_is_an_assumption() -> None:
    X, y = [[1.0], [2.0]], [1.0, 2.0]
    best = nr.hindsight_constrained(X, y, Own(), [[1.0]], [0.5], l2=1.0)
    assert best.assumption is not None and "to have the conjugate it gives" in best.assumption
    assert f"assumption: {best.assumption}" in str(best)
    with pytest.raises(ValueError, match=r"Own\.conjugate is not that of a convex value"):
        nr.hindsight_constrained(X, y, Own(5.0), [[1.0]], [0.5], l2=1.0)

"""The best predictor in hindsight: against LIBLINEAR, closed forms and general minimisers."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.optimize import linprog, minimize

import noregret as nr
from noregret.batch import Progress, Solution, hindsight, regularization_path
from tests.real_data.test_real_data import FILES, matrix
from tests.sizes import sized

ROOT = Path(__file__).parents[2]

needs_data = pytest.mark.skipif(
    "NOREGRET_DATA" not in os.environ, reason="NOREGRET_DATA does not name a folder of real data"
)

#: Rows of each set, all but for splice: there LIBLINEAR takes long, and gives up on the hinge.
ROWS = {"a9a": None, "mushrooms": None, "splice": 1000, "rcv1_small": None}


def random_rows(seed: int, rows: int = 60, width: int = 8) -> tuple[np.ndarray, np.ndarray]:
    random = np.random.default_rng(seed)
    X = random.standard_normal((rows, width)) * random.choice([0.0, 1.0], (rows, width))
    return X, np.where(X @ random.standard_normal(width) + random.normal(0, 1, rows) > 0, 1.0, -1.0)


def objective(
    loss: nr.losses.Loss, X: np.ndarray, y: np.ndarray, w: np.ndarray, l2: float = 0.0
) -> float:
    values = [loss.value(label, p) for label, p in zip(y, X @ w, strict=True)]
    return float(np.sum(values) + 0.5 * l2 * (w @ w))


def liblinear(loss: nr.losses.Loss, X: sp.csr_array, y: np.ndarray, C: float) -> np.ndarray:
    from sklearn.linear_model import LogisticRegression
    from sklearn.svm import LinearSVC

    if isinstance(loss, nr.losses.Logistic):
        model = LogisticRegression(
            C=C, solver="liblinear", dual=True, fit_intercept=False, tol=1e-9, max_iter=10**5
        )
    else:
        kind = "hinge" if isinstance(loss, nr.losses.Hinge) else "squared_hinge"
        model = LinearSVC(
            C=C, loss=kind, dual=True, fit_intercept=False, tol=1e-7, max_iter=10**6, random_state=0
        )
    narrow = sp.csr_matrix((X.data, X.indices.astype(np.int32), X.indptr.astype(np.int32)), X.shape)
    return model.fit(narrow, y).coef_[0].astype(np.float64)


@pytest.mark.compiled
@needs_data
@pytest.mark.each_value
@pytest.mark.parametrize("name", sorted(ROWS))
@pytest.mark.parametrize(
    ("loss", "factor"),
    [(nr.losses.Hinge(), 1.0), (nr.losses.SquaredHinge(), 2.0), (nr.losses.Logistic(), 1.0)],
    ids=["hinge", "squared hinge", "logistic"],
)
def test_the_optimum_is_that_of_liblinear(name: str, loss: nr.losses.Loss, factor: float) -> None:
    """LIBLINEAR's squared hinge is without the half of ours: twice the loss, half the strength."""
    assert name in FILES
    X, y = matrix(name)
    X, y = X[: ROWS[name]], y[: ROWS[name]]
    best = hindsight(X, y, loss, l2=1.0 / factor, tol=1e-8)
    theirs = objective(loss, X, y, liblinear(loss, X, y, 1.0), 1.0 / factor)
    assert best.converged
    assert best.gap <= 1e-8 * best.primal
    assert abs(theirs - best.primal) <= 1e-6 * theirs
    assert best.dual <= theirs


def test_ridge_regression_has_a_closed_form() -> None:
    X, _ = random_rows(1)
    y = np.random.default_rng(2).normal(0, 3, len(X))
    weight = np.random.default_rng(3).uniform(0, 2, len(X))
    offset = np.random.default_rng(4).normal(0, 1, len(X))
    best = hindsight(X, y, nr.losses.Squared(), l2=0.7, weight=weight, offset=offset, tol=1e-12)
    gram = 2.0 * X.T @ (weight[:, None] * X) + 0.7 * np.eye(X.shape[1])
    exact = np.linalg.solve(gram, 2.0 * X.T @ (weight * (y - offset)))
    assert np.allclose(best.weights, exact, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize(
    "loss",
    [nr.losses.Huber(0.5), nr.losses.Logistic(), nr.losses.SquaredHinge(0.5)],
    ids=lambda loss: type(loss).__name__,
)
def test_smooth_losses_against_a_quasi_newton_method(loss: nr.losses.Loss) -> None:
    X, y = random_rows(5)
    best = hindsight(X, y, loss, l2=0.3, tol=1e-11)

    def both(w: np.ndarray) -> tuple[float, np.ndarray]:
        slopes = np.array([loss.slope(label, p) for label, p in zip(y, X @ w, strict=True)])
        return objective(loss, X, y, w, 0.3), X.T @ slopes + 0.3 * w

    found = minimize(both, np.zeros(X.shape[1]), jac=True, method="BFGS", options={"gtol": 1e-8})
    assert best.dual <= found.fun + 1e-12 * found.fun
    assert best.primal <= found.fun * (1.0 + 1e-9)


@pytest.mark.parametrize(
    "loss",
    [nr.losses.Absolute(), nr.losses.EpsilonInsensitive(0.3), nr.losses.Quantile(0.8)],
    ids=lambda loss: type(loss).__name__,
)
def test_losses_with_kinks_against_smoothed_quadratic_programs(loss: nr.losses.Loss) -> None:
    """The quadratic program is solved by a general method with slack variables."""
    X, _ = random_rows(6, rows=sized(10, 25), width=4)
    y = np.random.default_rng(7).normal(0, 2, len(X))
    best = hindsight(X, y, loss, l2=0.5, tol=1e-10)
    epsilon = getattr(loss, "epsilon", 0.0)
    level = getattr(loss, "level", None)
    above, below = (1.0, 1.0) if level is None else (1.0 - level, level)
    n, d = X.shape
    constraints = [
        {"type": "ineq", "fun": lambda v: v[d : d + n] - (X @ v[:d] - y - epsilon)},
        {"type": "ineq", "fun": lambda v: v[d + n :] - (y - X @ v[:d] - epsilon)},
    ]
    found = minimize(
        lambda v: 0.25 * v[:d] @ v[:d] + above * v[d : d + n].sum() + below * v[d + n :].sum(),
        np.concatenate([np.zeros(d), np.full(2 * n, 5.0)]),
        bounds=[(None, None)] * d + [(0.0, None)] * (2 * n),
        constraints=constraints,
        method="SLSQP",
        options={"maxiter": 1000, "ftol": 1e-12},
    )
    assert abs(found.fun - best.primal) <= 1e-5 * best.primal
    assert best.dual <= found.fun * (1.0 + 1e-9)


def test_sparse_dense_float32_and_the_seed_agree() -> None:
    X, y = random_rows(8)
    loss = nr.losses.Hinge()
    dense = hindsight(X, y, loss, l2=0.5, tol=1e-10)
    for other in (sp.csr_array(X), X.astype(np.float32)):
        again = hindsight(other, y, loss, l2=0.5, tol=1e-10)
        size = 1e-6 if other.dtype == np.float32 else 1e-9
        assert abs(again.primal - dense.primal) <= size * dense.primal
    one, two = (hindsight(X, y, loss, l2=0.5, seed=3) for _ in range(2))
    assert np.array_equal(one.alpha, two.alpha)
    other_seed = hindsight(X, y, loss, l2=0.5, seed=4)
    assert abs(other_seed.primal - dense.primal) <= 1e-5 * dense.primal


def test_an_exact_fit_by_linear_programming() -> None:
    """The best absolute loss in a large ball is a linear program."""
    X, _ = random_rows(9, rows=30, width=3)
    y = np.random.default_rng(10).normal(0, 1, 30)
    best = hindsight(X, y, nr.losses.Absolute(), radius=50.0, tol=1e-7)
    n, d = X.shape
    eye = np.eye(n)
    found = linprog(
        np.concatenate([np.zeros(d), np.ones(n)]),
        np.block([[X, -eye], [-X, -eye]]),
        np.concatenate([y, -y]),
        bounds=[(None, None)] * d + [(0, None)] * n,
    )
    assert best.converged
    assert best.dual <= found.fun * (1.0 + 1e-9)
    assert best.primal >= found.fun * (1.0 - 1e-9)


def test_warm_start_and_path() -> None:
    X, y = random_rows(11, rows=sized(50, 200))
    loss = nr.losses.SquaredHinge()
    cold = hindsight(X, y, loss, l2=0.01, tol=1e-9)
    warm = hindsight(X, y, loss, l2=0.01, tol=1e-9, warm_start=cold)
    assert warm.passes == 0 < cold.passes
    strengths = [10.0, 1.0, 0.1, 0.01]
    path = list(regularization_path(X, y, loss, strengths, tol=1e-9))
    for strength, found in zip(strengths, path, strict=True):
        alone = hindsight(X, y, loss, l2=strength, tol=1e-9)
        assert abs(found.primal - alone.primal) <= 2e-9 * max(1.0, alone.primal)
    # Slopes of another problem are brought into the intervals of this one.
    far = hindsight(X, y, nr.losses.Hinge(), l2=1.0, warm_start=np.full(len(y), 7.0))
    assert far.converged


@pytest.mark.compiled
def test_an_interrupted_run_keeps_its_state() -> None:
    X, y = random_rows(12, rows=300, width=20)
    loss = nr.losses.Hinge()

    def interrupt(progress: Progress) -> None:
        if progress.passes == 3:
            raise KeyboardInterrupt

    stopped = hindsight(X, y, loss, l2=1e-4, tol=1e-9, progress=interrupt)
    assert stopped.passes == 3
    assert not stopped.converged
    assert "stopped" in str(stopped)
    assert stopped.dual <= stopped.primal
    resumed = hindsight(X, y, loss, l2=1e-4, tol=1e-5, warm_start=stopped)
    assert resumed.converged
    assert resumed.dual >= stopped.dual
    ball = hindsight(X, y, loss, radius=3.0, tol=1e-9, progress=interrupt)
    assert ball.passes == 3
    assert not ball.converged


#: A run without an end, which says when it is under way.
ENDLESS = """
import signal
# A shell's background job, which these tests may be part of, ignores the signal from birth.
signal.signal(signal.SIGINT, signal.default_int_handler)
import numpy as np
import noregret as nr
random = np.random.default_rng(13)
X, y = random.standard_normal((40, 20)), random.choice([-1.0, 1.0], 40)
def tell(progress):
    if progress.passes == 3:
        print("running", flush=True)
stopped = nr.hindsight(
    X, y, nr.losses.Hinge(), l2=1e-9, tol=0.0, max_passes=10**9, progress=tell
)
print("stopped", stopped.converged, stopped.passes >= 3, stopped.dual <= stopped.primal)
"""


def test_ctrl_c_is_heard_during_a_long_run() -> None:
    # In a process of its own: within this one the signal could strike a callback of the
    # interpreter, which reports the exception and forgets it.
    run = subprocess.Popen(
        [sys.executable, "-c", ENDLESS],
        cwd=ROOT,
        env=os.environ | {"PYTHONPATH": os.pathsep.join([str(ROOT / "src"), str(ROOT)])},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert run.stdout is not None and run.stdout.readline() == "running\n"
    run.send_signal(signal.SIGINT)
    out, err = run.communicate(timeout=300.0)
    assert (run.returncode, out, err) == (0, "stopped False True True\n", "")


def test_progress_is_shown_after_two_seconds(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("noregret.status.PATIENCE", 0.0)
    monkeypatch.setattr("sys.stderr.isatty", lambda: True)
    X, y = random_rows(14, rows=sized(20, 60))
    hindsight(X, y, nr.losses.Hinge(), l2=1e-3, tol=1e-9, progress=True)
    assert "Ctrl-C" in capsys.readouterr().err
    hindsight(X, y, nr.losses.Hinge(), l2=1e-3, tol=1e-9)
    assert capsys.readouterr().err == ""


def test_a_solution_reads_well() -> None:
    best = hindsight([[1.0], [2.0]], [1, -1], nr.losses.Hinge(), l2=1.0)
    text = str(best)
    assert isinstance(best, Solution)
    assert text.startswith("Best in hindsight, sum of Hinge + 1 x Euclidean: converged")
    assert "no predictor has less than" in text


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({}, "give radius=, l2= or strength="),
        ({"l2": 1.0, "strength": 1.0}, "l2 is the strength"),
        ({"l2": 1.0, "mirror": nr.mirrors.Entropy()}, "l2 is the strength"),
        ({"radius": 1.0, "mirror": nr.mirrors.Entropy()}, "radius is of the 2-norm ball"),
        ({"radius": 1.0, "bias": True}, "bias is for"),
        ({"l2": 0.0}, "l2 must be a finite number above 0"),
        ({"l2": float("nan")}, "l2 must be"),
        ({"radius": -1.0}, "radius must be a finite number above 0"),
        ({"l2": 1.0, "radius": -1.0}, "radius must be a finite number above 0"),
        ({"l2": 1.0, "tol": -1.0}, "tol must be"),
        ({"l2": 1.0, "max_passes": 0}, "max_passes must be"),
        ({"l2": 1.0, "max_passes": np.inf}, "max_passes must be at least 1, got inf"),
        ({"l2": 1.0, "weight": [1.0]}, "weight has shape"),
        ({"l2": 1.0, "weight": [1.0, -1.0]}, "weight row 1"),
        ({"l2": 1.0, "offset": [1.0]}, "offset has shape"),
        ({"l2": 1.0, "offset": [1.0, float("inf")]}, "offset row 1"),
        ({"l2": 1.0, "warm_start": [1.0]}, "warm_start must hold finite slopes of shape"),
        ({"l2": 1.0, "warm_start": [float("nan"), 0.0]}, "warm_start must hold"),
        ({"l2": 1e-320}, "overflows"),
    ],
)
def test_bad_combinations_are_refused_in_one_line(options: dict[str, object], message: str) -> None:
    with pytest.raises(ValueError, match=message) as caught:
        hindsight([[1.0], [2.0]], [1, -1], nr.losses.Hinge(), **options)  # type: ignore[arg-type]
    assert "\n" not in str(caught.value)


def test_bad_rows_and_labels_are_refused() -> None:
    loss = nr.losses.Hinge()
    with pytest.raises(ValueError, match="y row 1"):
        hindsight([[1.0], [2.0]], [1, 2], loss, l2=1.0)
    with pytest.raises(ValueError, match="X row 1"):
        hindsight([[1.0], [np.nan]], [1, -1], loss, l2=1.0)
    with pytest.raises(ValueError, match="0 rows"):
        hindsight(np.zeros((0, 3)), [], loss, l2=1.0)
    with pytest.raises(ValueError, match="no conjugate"):
        hindsight([[1.0]], [1], Bare(), l2=1.0)


class Bare(nr.losses.Loss):
    """A loss of one's own that cannot have a dual."""

    def value(self, y: float, p: float) -> float:
        return abs(p)

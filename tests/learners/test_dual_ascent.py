"""Dual ascent online: D never falls, never lies above a comparator, and resumes to the bit."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.sparse import csr_array

import noregret as nr
from noregret import catalogue, losses, mirrors
from noregret.learners import DualAscent, load
from tests.learners.dual_product import (
    FEATURES,
    PAIRS,
    ROUNDS,
    UPDATES,
    everything,
    learners,
    outcomes,
    stream,
)
from tests.sizes import sized

ROOT = Path(__file__).parents[2]
#: Random comparators.
COMPARATORS = sized(5, 30)
each_pair = pytest.mark.parametrize("pair", PAIRS)
each_update = pytest.mark.parametrize("update", UPDATES)


def conjugate(learner: DualAscent) -> float:
    """Return G(theta), rounded up."""
    certificate = learner.certificate()
    theta = -learner.C * certificate.gradient
    return certificate.mirror.conjugate_upper(theta, 1.0, 0.0, 0.0)


def slopes(learner: DualAscent, X: Any, y: Any, weight: Any, offset: Any) -> tuple[float, Any]:
    """Return D and theta from the slopes themselves; all rows must have been kept."""
    store = learner._engine
    assert store is not None and store.count == len(y)
    s = store.column("SLOPE")
    values = [
        c * (slope * o - learner.loss.conjugate(label, slope))  # type: ignore[attr-defined]
        for c, slope, o, label in zip(weight, s, offset, y, strict=True)
    ]
    theta = -learner.C * ((weight * s) @ X)
    mirror = learner.certificate().mirror
    height = mirror.conjugate_upper(theta, 1.0, 0.0, 0.0)
    return learner.C * float(np.sum(values)) - height, theta


def comparators(mirror: mirrors.Mirror, learner: DualAscent, seed: int) -> list[Any]:
    """Return predictors of the map's set, the learner's own among them."""
    random = np.random.default_rng(seed)
    chosen = [learner.weights]
    for _ in range(COMPARATORS):
        u = random.normal(size=FEATURES) * 10 ** random.uniform(-2, 0.5)
        if isinstance(mirror, mirrors.Entropy):
            u = np.abs(u) / np.abs(u).sum() * mirror.scale
        elif isinstance(mirror, mirrors.UnnormalizedEntropy):
            u = np.abs(u)
        elif isinstance(mirror, mirrors.SignedEntropy):
            u *= min(1.0, mirror.radius / np.abs(u).sum()) * random.uniform()
        elif isinstance(mirror, mirrors.Ball):
            u *= min(1.0, mirror.radius / float(np.linalg.norm(u))) * random.uniform()
        chosen.append(u)
    return chosen


def total(loss: losses.Loss, X: Any, y: Any, weight: Any, offset: Any, u: Any) -> float:
    pairs = zip(weight, y, X @ u + offset, strict=True)
    return float(sum(c * loss.value(float(label), float(p)) for c, label, p in pairs))


@pytest.mark.each_value
@each_pair
@each_update
def test_the_dual_rises_and_no_comparator_lies_below(pair: str, update: str) -> None:
    for seed in range(3):
        X, y, weight, offset = stream(pair, seed)
        C = (0.1, 0.7, 5.0)[seed]
        if pair == "absolute, orthant" and update == "aggressive":
            C /= 10.0  # no bound on the Hessian: R^2 = 1 must do
        keep = {} if update == "leader" else {"memory": ROUNDS}
        learner = learners(pair, update, C, **keep)
        before, mirror = 0.0, learner.certificate().mirror
        for t in range(ROUNDS):
            row = slice(t, t + 1)
            learner.learn(X[row], y[row], weight[row], offset[row])
            assert learner.dual >= before
            before = learner.dual
            if t % 13 == 12 or t == ROUNDS - 1:
                seen = X[: t + 1], y[: t + 1], weight[: t + 1], offset[: t + 1]
                value, theta = slopes(learner, *seen)
                size = max(1.0, abs(value))
                assert learner.dual == pytest.approx(value, abs=1e-11 * size)
                certificate = learner.certificate()
                assert -C * certificate.gradient == pytest.approx(theta, abs=1e-12 * size)
                assert value - 1e-9 * size <= certificate.dual <= value + 1e-14 * size
                assert certificate.dual <= C * certificate.intercept - conjugate(learner) + 1e-15
                for u in comparators(mirror, learner, seed):
                    loss = total(learner.loss, *seen, u)
                    whole = mirror.regularizer(u, 1.0) + C * loss
                    assert certificate.dual <= whole + 1e-12 * whole
                    radius = mirror.predictors().norm(u)
                    radius = float(u.sum()) if mirror.geometry == "simplex" else radius
                    assert certificate.floor(radius) <= loss * (1 + 1e-12)
                    assert certificate.regret(u) >= certificate.loss - loss - 1e-12 * size


@each_pair
def test_the_first_step_gains_at_least_what_an_exact_one_would(pair: str) -> None:
    X, y, _, _ = stream(pair, 5)
    for update in ("last", "random", "leader", "window 4"):
        learner, one = learners(pair, update), learners(pair, "exact")
        assert learner.learn(X[:1], y[:1]) == one.learn(X[:1], y[:1])
        assert learner.dual >= one.dual * (1 - 1e-12)


@pytest.mark.parametrize(
    "update", ["exact", "last", "window 2", pytest.param("leader", marks=pytest.mark.compiled)]
)
def test_the_dual_is_not_above_its_value_in_exact_arithmetic(update: str) -> None:
    for seed in range(20):
        X, y, weight, offset = stream("hinge, Euclidean", seed, 60)
        C = float(np.random.default_rng(seed).uniform(0.01, 30.0))
        keep = {} if update == "leader" else {"memory": 60}
        learner = learners("hinge, Euclidean", update, C, **keep)
        learner.learn(X, y, weight, offset)
        assert learner._engine is not None
        intercept, gradient = Fraction(0), [Fraction(0)] * FEATURES
        for s, label, c, o, x in zip(
            learner._engine.column("SLOPE"), y, weight, offset, X, strict=True
        ):
            assert -1.0 <= label * s <= 0.0
            steepness = Fraction(c) * Fraction(s)
            intercept += steepness * Fraction(o) - steepness * Fraction(label) * Fraction(0.8)
            gradient = [g + steepness * Fraction(v) for g, v in zip(gradient, x, strict=True)]
        square = sum((g * g for g in gradient), Fraction(0))
        value = Fraction(C) * intercept - Fraction(C) ** 2 * square / 2
        certificate = learner.certificate()
        assert Fraction(certificate.dual) <= value <= Fraction(certificate.dual * (1 + 1e-9))
        for radius in (0.5, 2.0):
            least = intercept - Fraction(certificate.floor(radius))
            assert least >= 0 and least * least >= Fraction(radius) ** 2 * square


def dual_optimum(X: Any, y: Any, C: float) -> float:
    """Return the optimum of the hinge dual on the box, by a general solver."""
    K = (y[:, None] * X) @ (y[:, None] * X).T
    result = minimize(
        lambda a: 0.5 * a @ K @ a - a.sum(),
        np.full(len(y), 0.5 * C),
        jac=lambda a: K @ a - 1.0,
        bounds=[(0.0, C)] * len(y),
        method="L-BFGS-B",
        options={"maxiter": 10_000, "ftol": 1e-16, "gtol": 1e-12},
    )
    return -float(result.fun)


def test_the_leader_is_the_optimum() -> None:
    for seed in sized((0, 3), tuple(range(5))):
        X, y, _, _ = stream("hinge, Euclidean", seed)
        C = 10.0 ** (seed - 2)
        best = dual_optimum(X, y, C)
        for settings in ({"update": "leader"}, {"update": "exact"}, {"update": "mini", "k": 9}):
            learner = DualAscent(losses.Hinge(), mirrors.Euclidean(), C, sweeps=5000, **settings)
            learner.learn(X, y)
            assert learner.certificate().dual <= best * (1 + 1e-9)
            if settings["update"] == "leader":
                assert learner.dual == pytest.approx(best, rel=1e-6)


def test_the_leader_of_a_smooth_problem() -> None:
    X, y, weight, offset = stream("logistic, Euclidean", 1)
    learner = DualAscent(losses.Logistic(), mirrors.Euclidean(), 2.0, "leader")
    learner.learn(X, y, weight, offset)

    def objective(w: Any) -> float:
        return 0.5 * float(w @ w) + 2.0 * total(learner.loss, X, y, weight, offset, w)

    best = minimize(objective, np.zeros(FEATURES), options={"gtol": 1e-9})
    assert learner.dual == pytest.approx(best.fun, rel=1e-7)
    assert learner.weights == pytest.approx(best.x, abs=1e-4)


@pytest.mark.parametrize("seed", range(4))
def test_theorems_hold_where_they_apply(seed: int) -> None:
    every = ("aggressive", "exact", "last", "leader")
    for number, (pair, (loss, mirror)) in enumerate(PAIRS.items()):
        X, y, _, offset = stream(pair, seed)
        weight = np.ones(ROUNDS)
        # Over the four seeds every pair meets every update.
        for update in sized((every[(number + seed) % 4],), every):
            learner = learners(pair, update, (0.1, 0.5, 2.0, 10.0)[seed])
            learner.learn(X, y, weight, offset)
            certificate = learner.certificate()
            for u in comparators(mirror, learner, seed):
                radius = mirror.predictors().norm(u)
                radius = float(u.sum()) if mirror.geometry == "simplex" else radius
                lost = total(loss, X, y, weight, offset, u)
                for bound in certificate.bounds_for(radius * (1 + 1e-12)):
                    if bound.applies:
                        measured = certificate.loss
                        if bound.measure == "mistakes":
                            measured = float(certificate.mistakes)
                        assert measured <= bound.factor * lost + bound.value + 1e-9, bound
                assert certificate.progress * certificate.mistakes <= certificate.dual


def test_perceptron_bound_of_the_conservative_update() -> None:
    X, y, _, _ = stream("hinge, Euclidean", 9)
    learner = DualAscent(losses.Hinge(), mirrors.Euclidean(), 0.2, "conservative")
    plain = catalogue.perceptron()
    predictions = learner.learn(X, y)
    assert predictions == pytest.approx(0.2 * plain.learn(X, y))
    names = {bound.name: bound for bound in learner.certificate().bounds_for(1.0)}
    assert set(names) == {
        "dual ascent, after the fact",
        "dual ascent, gain as measured",
        "dual ascent, gain guaranteed",
    }
    assert names["dual ascent, gain guaranteed"].applies
    assert "dual ascent, gain guaranteed" in str(learner.certificate())
    assert learner.certificate().as_dict(1.0)["update"] == "conservative"


@pytest.mark.each_value
@each_pair
@each_update
def test_sparse_equals_dense_and_chunks_do_not_matter(pair: str, update: str) -> None:
    X, y, weight, offset = stream(pair, 6)
    dense, sparse, single = (learners(pair, update) for _ in range(3))
    expected = dense.learn(X, y, weight, offset)
    kept = csr_array(X)
    got = [
        sparse.learn(kept[k : k + 7], y[k : k + 7], weight[k : k + 7], offset[k : k + 7])
        for k in range(0, ROUNDS, 7)
    ]
    assert np.concatenate(got).tobytes() == expected.tobytes()
    assert single.learn(X.astype(np.float32), y, weight, offset).tobytes() == expected.tobytes()
    for other in (sparse, single):
        assert everything(other) == everything(dense)


@pytest.mark.each_value
@each_pair
@each_update
def test_cut_anywhere_resumes_to_the_bit(pair: str, update: str, tmp_path: Path) -> None:
    X, y, weight, offset = stream(pair, 7)
    whole, broken = learners(pair, update), learners(pair, update)
    expected = whole.learn(X, y, weight, offset)
    cuts = np.sort(np.random.default_rng(8).integers(0, ROUNDS + 1, 5)).tolist()
    got, begin = [], 0
    for cut in [*cuts, ROUNDS]:
        part = slice(begin, cut)
        got.append(broken.learn(X[part], y[part], weight[part], offset[part]))
        broken.save(tmp_path / "model.nr")
        loaded = load(tmp_path / "model.nr")
        assert isinstance(loaded, DualAscent) and everything(loaded) == everything(broken)
        broken, begin = loaded, cut
    assert np.concatenate(got).tobytes() == expected.tobytes()
    assert everything(broken) == everything(whole)


def _compiled_equals_interpreted(pair: str) -> None:
    environment = os.environ | {"NUMBA_DISABLE_JIT": "1"}
    environment["PYTHONPATH"] = os.pathsep.join([str(Path(nr.__file__).parents[1]), str(ROOT)])
    run = subprocess.run(
        [sys.executable, "-W", "error::RuntimeWarning", "-m", "tests.learners.dual_product", pair],
        capture_output=True,
        text=True,
        env=environment,
    )
    assert run.returncode == 0, run.stderr
    interpreted = json.loads(run.stdout)
    compiled = outcomes(pair)
    assert set(compiled) == set(interpreted) == set(UPDATES)
    # A search may stop one step earlier: it is as exact as the maximum it looks for.
    tolerance = 1e-12 if "Euclidean" in pair else 1e-9
    for update, parts in compiled.items():
        for name, numbers in parts.items():
            wanted = interpreted[update][name]
            assert numbers == pytest.approx(wanted, rel=tolerance, abs=tolerance), (update, name)


@pytest.mark.compiled
@pytest.mark.parametrize("pair", ["hinge, Euclidean", "hinge, simplex"])
def test_compiled_equals_interpreted(pair: str) -> None:
    _compiled_equals_interpreted(pair)


@pytest.mark.soak
@each_pair
def test_every_pair_compiled_equals_it_interpreted(pair: str) -> None:
    _compiled_equals_interpreted(pair)

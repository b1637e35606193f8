"""A fraction of the exact dual step (step control): the spec's sweeps and the gain it promises."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import noregret as nr
from noregret import losses, mirrors
from noregret.batch.mapped import MapAscent
from noregret.batch.problem import evaluate
from noregret.learners import DualAscent
from noregret.proof.ledger import Entry
from noregret.proof.statement import RANGE, contradicted
from tests.oracles.data import S_A, X_A, Y_A, near
from tests.oracles.duals import FORMS, MAPS, problem
from tests.sizes import sized


@pytest.mark.parametrize(("fraction", "count"), [(1.0, 17), (0.5, 62), (0.1, 368)])
def test_z23_sweeps_of_set_a(fraction: float, count: int) -> None:
    """The hinge on set A, lambda = 0.1, rows in order: sweeps until the gap is below 1e-14."""
    posed = problem(FORMS["hinge"], MAPS["square"])
    least = 6 * 0.419333910035
    ascent = MapAscent(posed, posed.initial_slopes())
    ascent.fraction = fraction
    value, sweeps, changed = -np.inf, 0, np.inf
    while changed > 1e-14 and sweeps < 1000:
        before = ascent.slopes.copy()
        ascent.visit(np.arange(6), 1e-16)
        sweeps += 1
        changed = float(np.abs(ascent.slopes - before).max())
        risen = evaluate(posed, ascent.slopes)[2]
        # The evaluation is rounded down, by a few units of the last place.
        assert risen >= value - 1e-14 * abs(risen)
        value = risen
    assert value == near(least)
    # Another stopping rule of the same size: within a tenth of the sweeps of the source.
    assert abs(sweeps - count) <= max(2, 0.1 * count)


PAIRS = [
    (losses.Hinge(), mirrors.Euclidean()),
    (losses.SquaredHinge(), mirrors.PNorm(3)),
    (losses.Logistic(), mirrors.Entropy(2.0)),
    (losses.Squared(), mirrors.Ball(0.7)),
]


@pytest.mark.parametrize(("loss", "mirror"), PAIRS, ids=str)
def test_a_visit_gains_at_least_its_fraction_of_the_exact_gain(loss: Any, mirror: Any) -> None:
    """From one state: D(part) - D >= fraction (D(exact) - D), for a batch and any map."""
    rng = np.random.default_rng(5)
    X, y = rng.normal(size=(12, 4)), np.sign(rng.normal(size=12))
    posed = nr.batch.Problem.of(X, y, loss, mirror, strength=0.7)
    start = MapAscent(posed, posed.initial_slopes())
    start.visit(np.arange(12))
    tried = 0
    for row in range(12):
        for fraction in (0.1, 0.5, 0.9):
            gains = []
            before = evaluate(posed, start.slopes)[2]
            for part in (fraction, 1.0):
                ascent = MapAscent(posed, start.slopes.copy())
                ascent.fraction = part
                ascent.visit(np.array([row]), 1e-16)
                gains.append(evaluate(posed, ascent.slopes)[2] - before)
            assert gains[0] >= fraction * gains[1] - 1e-12
            assert gains[0] >= -1e-12
            tried += gains[1] > 1e-6
    assert tried > 6


@pytest.mark.parametrize("fraction", [0.5, 0.2])
@pytest.mark.parametrize(
    ("loss", "options"),
    [
        (losses.Hinge(), {"l2": 0.5}),
        (losses.Logistic(), {"l2": 0.5, "radius": 0.5}),
        (losses.SquaredHinge(), {"mirror": mirrors.PNorm(3), "strength": 0.5}),
        (losses.Hinge(0.3), {"mirror": mirrors.Entropy(), "strength": 0.5}),
    ],
    ids=["euclid", "ball", "p=3", "entropy"],
)
def test_hindsight_comes_to_the_same_minimum(loss: Any, options: Any, fraction: float) -> None:
    whole = nr.hindsight(X_A, S_A, loss, tol=1e-9, **options)
    part = nr.hindsight(X_A, S_A, loss, tol=1e-9, fraction=fraction, **options)
    assert whole.converged and part.converged
    assert part.primal == pytest.approx(whole.primal, rel=1e-8)
    assert part.dual <= whole.primal and whole.dual <= part.primal
    again = nr.hindsight(X_A, S_A, loss, tol=1e-9, fraction=fraction, warm_start=part, **options)
    assert again.passes <= part.passes


@pytest.mark.parametrize("update", ["exact", "window", "mini", "leader"])
@pytest.mark.parametrize("mirror", [mirrors.Euclidean(), mirrors.PNorm(4)], ids=str)
def test_a_round_gains_at_least_its_fraction_of_an_exact_step(update: str, mirror: Any) -> None:
    """Against the exact step on the new row alone, taken from the same state."""
    rng = np.random.default_rng(3)
    n = sized(10, 40)
    X, y = rng.normal(size=(n, 3)), np.sign(rng.normal(size=n))
    k = 1 if update == "exact" else 3
    damped = DualAscent(losses.Hinge(), mirror, 0.5, update, k, fraction=0.3)
    # Keeping as much and stepping exactly once: the state is that of the damped learner.
    for t in range(n):
        exact = DualAscent(losses.Hinge(), mirror, 0.5, dimension=3)
        theta = np.zeros(3) if damped.rounds == 0 else damped._engine.theta.copy()
        exact._engine.place(theta)
        before, start = damped.dual, exact.dual
        damped.learn(X[t], y[t])
        exact.learn(X[t], y[t])
        assert damped.dual - before >= 0.3 * (exact.dual - start) - 1e-12
    assert damped.certificate().dual <= damped.dual


def test_a_pair_moves_by_its_fraction() -> None:
    """k = 2 for the hinge is solved in closed form; the part goes towards that solution."""
    whole = DualAscent(losses.Hinge(), mirrors.Euclidean(), 1.0, "window", 2)
    part = DualAscent(losses.Hinge(), mirrors.Euclidean(), 1.0, "window", 2, fraction=0.25)
    for learner in (whole, part):
        learner.learn(X_A[:1], S_A[:1])
    assert part.alpha[-1] == near(0.25 * whole.alpha[-1])
    before, alpha = part.dual, np.append(part.alpha, 0.0)
    part.learn(X_A[1], S_A[1])
    moved = part.alpha
    # The maximiser over both alphas, by the formula of the source on the part's own state.
    Z = X_A[:2] * S_A[:2, None]
    best = np.linalg.solve(Z @ Z.T, np.ones(2))
    assert np.all((best >= 0.0) & (best <= 1.0))
    assert moved == near(alpha + 0.25 * (best - alpha))
    assert part.dual - before >= 0.25 * (float(best.sum() / 2) - before) - 1e-12


@pytest.mark.parametrize("fraction", [0.9, 0.5, 0.1])
def test_what_is_left_of_theorem_3(fraction: float) -> None:
    """sum l <= (L(u) + F(u)/C) / f + m C R^2/2, on random and on hard streams."""
    for seed in range(sized(2, 10)):
        rng = np.random.default_rng(seed)
        X = rng.normal(size=(50, 4))
        X /= np.linalg.norm(X, axis=1, keepdims=True)
        y = np.sign(X @ rng.normal(size=4)) * np.where(rng.random(50) < 0.1 * (seed % 4), -1, 1)
        learner = DualAscent(losses.Hinge(), mirrors.Euclidean(), 0.4, fraction=fraction)
        learner.learn(X, y)
        proof = learner.certificate()
        named = {bound.name: bound for bound in proof.bounds_for(2.0)}
        bound = named["dual ascent, a part of each step"]
        assert bound.applies and bound.factor == pytest.approx(1.0 / fraction)
        R = float(np.linalg.norm(X, axis=1).max())
        closed = 2.0 / (fraction * 0.4) + 0.5 * 50 * 0.4 * R * R
        assert bound.value == pytest.approx(closed, rel=1e-9)
        best = nr.hindsight(X, y, losses.Hinge(), radius=2.0)
        for u in (best.weights, *(2.0 * v / np.linalg.norm(v) for v in rng.normal(size=(5, 4)))):
            lost = float(np.maximum(1.0 - y * (X @ u), 0.0).sum())
            assert proof.loss <= bound.factor * lost + bound.value
            mistakes = named["dual ascent, aggressive mistakes"]
            assert proof.mistakes <= mistakes.factor * lost + mistakes.value
        assert not named["dual ascent, the best C"].applies
        assert f"{fraction!r} of each step" in proof.text(2.0)


def test_a_dual_that_rose_too_little_contradicts_what_is_left() -> None:
    """Steps of a loss whose conjugate is not its own: judged as every other theorem is."""
    learner = DualAscent(losses.Hinge(), mirrors.Euclidean(), 0.4, fraction=0.5)
    learner.learn(X_A, S_A)
    proof = learner.certificate()
    ledger = proof.ledger.copy()
    ledger[Entry.LOSS] += 100.0
    found = [
        bound
        for bound in replace(proof, ledger=ledger).bounds_for(2.0)
        if bound.name == "dual ascent, a part of each step"
    ]
    assert [bound.applies for bound in found] == [False]
    assert found[0].reason == contradicted(RANGE)


def test_targets_and_files(tmp_path: Any) -> None:
    learner = DualAscent(losses.Squared(), mirrors.Euclidean(), 0.5, fraction=0.5)
    learner.learn(X_A[:3], Y_A[:3])
    learner.save(tmp_path / "d.nr")
    again = nr.load(tmp_path / "d.nr")
    assert again.fraction == 0.5
    for each in (learner, again):
        each.learn(X_A[3:], Y_A[3:])
    assert np.array_equal(learner.weights, again.weights)
    assert learner.certificate().as_dict()["fraction"] == 0.5


@pytest.mark.parametrize("fraction", [0.0, -0.5, 1.5, float("nan")])
def test_fractions_that_mean_nothing(fraction: float) -> None:
    with pytest.raises(ValueError, match="fraction must be above 0 and at most 1"):
        DualAscent(losses.Hinge(), mirrors.Euclidean(), fraction=fraction)
    with pytest.raises(ValueError, match="fraction must be above 0 and at most 1"):
        nr.hindsight(X_A, S_A, losses.Hinge(), l2=1.0, fraction=fraction)


def test_where_there_is_no_exact_step_to_take_a_part_of() -> None:
    for update in ("conservative", "aggressive"):
        with pytest.raises(ValueError, match="fraction is of an exact step"):
            DualAscent(losses.Hinge(), mirrors.Euclidean(), update=update, fraction=0.5)
    for options in ({"radius": 1.0}, {"l2": 1.0, "bias": True}):
        with pytest.raises(ValueError, match="fraction is for l2= or strength="):
            nr.hindsight(X_A, S_A, losses.Hinge(), fraction=0.5, **options)

"""Portfolios: the published figures to the last digit, and each method against its definition."""

from __future__ import annotations

import lzma
import math
import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from noregret import experts
from noregret.experts import portfolio_eg, universal_pair
from noregret.experts.oracles import simplex_minimum
from noregret.tracking import potentials, projections
from tests.sizes import sized

FOLDER = Path(os.environ.get("NOREGRET_DATA", "")) / "portfolios"
needs_data = pytest.mark.skipif(
    "NOREGRET_DATA" not in os.environ or not FOLDER.is_dir(),
    reason="NOREGRET_DATA does not name a folder of real data",
)


def market(name: str) -> np.ndarray:
    """Price relatives of a market, whose prices start from 1 before the first row."""
    with lzma.open(FOLDER / f"{name}.csv.xz", "rt") as stream:
        prices = np.loadtxt(stream, delimiter=",", skiprows=1, ndmin=2)
    return prices / np.vstack([np.ones(prices.shape[1]), prices[:-1]])


@needs_data
@pytest.mark.parametrize(
    ("name", "hold", "stock", "uniform", "best", "eg", "newton"),
    [
        ("nyse_o", "14.50", "54.14", "27.08", "250.60", "27.09", "109.19"),
        ("sp500", "1.34", "3.78", "1.65", "4.07", "1.63", "3.34"),
        ("djia", "0.76", "1.19", "0.81", "1.24", "0.81", "1.53"),
    ],
)
def test_published_figures(
    name: str, hold: str, stock: str, uniform: str, best: str, eg: str, newton: str
) -> None:
    x = market(name)
    assert f"{experts.buy_and_hold(x)[-1]:.2f}" == hold
    assert f"{experts.best_stock(x)[1]:.2f}" == stock
    assert f"{experts.rebalanced(x)[-1]:.2f}" == uniform
    found = experts.best_rebalanced(x)
    assert f"{math.exp(-found.loss):.2f}" == f"{math.exp(-found.floor):.2f}" == best
    assert experts.rebalanced(x, found.weights)[-1] == pytest.approx(math.exp(-found.loss))
    assert f"{portfolio_eg(x, 0.05)[-1]:.2f}" == eg
    assert f"{experts.online_newton(x, beta=1.0, delta=0.125)[-1]:.2f}" == newton


@needs_data
def test_covers_pair() -> None:
    pair = market("nyse_o")[:, [19, 22]]
    assert f"{universal_pair(pair, points=21)[-1]:.4f}" == "38.6727"
    found = experts.best_rebalanced(pair)
    assert f"{math.exp(-found.loss):.2f}" == f"{math.exp(-found.floor):.2f}" == "73.70"
    assert [f"{wealth:.2f}" for wealth in np.prod(pair, axis=0)] == ["8.92", "4.13"]
    exact = universal_pair(pair)
    fine = universal_pair(pair, points=sized(2001, 4001))
    assert exact[-1] == pytest.approx(fine[-1], rel=1e-3)
    # Cover: at least the best over T + 1.
    assert exact[-1] >= math.exp(-found.floor) / (len(pair) + 1)


def test_the_exact_universal_portfolio_is_the_integral() -> None:
    x = np.random.default_rng(0).uniform(0.3, 3.0, (25, 2))
    nodes, weights = np.polynomial.legendre.leggauss(20)
    b = 0.5 + 0.5 * nodes
    wealth = np.cumprod(x[:, :1] * b + x[:, 1:] * (1.0 - b), axis=0) @ (0.5 * weights)
    np.testing.assert_allclose(universal_pair(x), wealth, rtol=1e-12)


def test_one_step_of_eg() -> None:
    seen: list[np.ndarray] = []

    def keep(weights: np.ndarray) -> np.ndarray:
        seen.append(weights)
        return weights

    wealth = portfolio_eg([[1.1, 0.9]], 0.05, project=keep)
    assert seen[0] == pytest.approx([0.502499979167, 0.497500020833], rel=1e-11)
    assert -math.log(wealth[0]) == pytest.approx(0.0, abs=1e-15)
    # What both gain alike changes the wealth, not the weights.
    assert portfolio_eg([[2.2, 1.8]], 0.05, project=keep)[0] == pytest.approx(2.0)
    assert seen[1] == pytest.approx(seen[0], rel=1e-14)


def test_constraints_by_projection() -> None:
    random = np.random.default_rng(1)
    x = random.uniform(0.9, 1.15, (80, 3))
    x[:, 0] += 0.1
    played: list[np.ndarray] = []

    def at_most_half(weights: np.ndarray) -> np.ndarray:
        point = projections.project_halfspace(
            potentials.SimplexEntropic(), weights, [1.0, 0.0, 0.0], 0.5
        )
        played.append(point)
        return point

    bound = portfolio_eg(x, 0.5, project=at_most_half)
    assert max(p[0] for p in played) == pytest.approx(0.5)
    assert bound[-1] < portfolio_eg(x, 0.5)[-1]
    with pytest.raises(ValueError, match="project's weights must sum to 1"):
        portfolio_eg(x, 0.5, project=lambda w: 2.0 * w)


def test_eg_keeps_its_regret() -> None:
    """Helmbold et al., Theorem 4.1: with x_i >= r max x, at most sqrt(2 T ln d) / (2 r)."""
    random = np.random.default_rng(2)
    for _ in range(20):
        T, d = int(random.integers(5, 200)), int(random.integers(2, 8))
        x = random.uniform(0.5, 1.0, (T, d))
        ratio = float((x.min(axis=1) / x.max(axis=1)).min())
        eta = 2.0 * ratio * math.sqrt(2.0 * math.log(d) / T)
        lost = -math.log(portfolio_eg(x, eta)[-1])
        best = experts.best_rebalanced(x)
        assert lost - best.floor <= math.sqrt(2.0 * T * math.log(d)) / (2.0 * ratio) + best.gap


@pytest.mark.parametrize("seed", range(30))
def test_the_quadratic_program_is_solved(seed: int) -> None:
    random = np.random.default_rng(seed)
    d = int(random.integers(1, 9))
    root = random.normal(size=(d, d))
    A = root @ root.T + 10.0 ** float(random.uniform(-6, 1)) * np.eye(d)
    b = random.normal(size=d) * 10.0 ** float(random.uniform(-2, 2))
    start = random.dirichlet(np.full(d, 0.3))
    p = simplex_minimum(A, b, start)
    assert p.min() >= 0.0 and p.sum() == pytest.approx(1.0, abs=1e-9)
    gradient = A @ p - b
    size = 1e-9 * (np.abs(A).max() + np.abs(b).max())
    # No point of the simplex is below: the gradient at p is least where p is not 0.
    assert float(gradient @ p) - gradient.min() <= size


def test_newton_steps_are_projections_in_the_norm_of_a() -> None:
    random = np.random.default_rng(3)
    step = experts.NewtonStep(4)
    A, b = np.eye(4), np.zeros(4)
    for x in random.uniform(0.8, 1.3, (30, 4)):
        g = x / (step.weights @ x)
        step.learn(x)
        A, b = A + np.outer(g, g), b + 2.0 * g
        centre = 0.125 * np.linalg.solve(A, b)

        def far(p: Any, A: Any = A, centre: Any = centre) -> float:
            return float((p - centre) @ A @ (p - centre))

        own = far(step.weights)
        assert all(own <= far(u) + 1e-12 for u in random.dirichlet(np.ones(4), 50))


def test_wealth_of_simple_portfolios() -> None:
    x = np.array([[2.0, 1.0], [2.0, 0.5]])
    assert experts.buy_and_hold(x, [1.0, 0.0]).tolist() == [2.0, 4.0]
    assert experts.rebalanced(x, [0.0, 1.0]).tolist() == [1.0, 0.5]
    mixed = experts.online_newton(x, mixing=1.0)
    np.testing.assert_allclose(mixed, experts.rebalanced(x))


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"assets": 0}, "assets must be a whole number >= 1"),
        ({"beta": 0.0}, "beta must be a finite number above 0"),
        ({"delta": -1.0}, "delta must be a finite number above 0"),
        ({"mixing": 3.0}, r"mixing must be in \[0, 1\]"),
        ({"mixing": math.nan}, r"mixing must be in \[0, 1\]"),
    ],
)
def test_a_newton_step_checks_its_parameters(options: dict[str, Any], words: str) -> None:
    with pytest.raises(ValueError, match=words):
        experts.NewtonStep(**{"assets": 2, **options})

"""The benchmarks of the bandits run, on tiny data."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp

from bench import bandits as program
from tests.sizes import sized


@pytest.fixture
def classes() -> tuple[sp.csr_matrix, np.ndarray]:
    rng = np.random.default_rng(1)
    labels = rng.integers(0, 3, 600)
    return sp.csr_matrix(np.eye(3)[labels] + 0.1 * rng.random((600, 3))), labels


def test_policies_beat_chance_and_more_is_known_with_all_costs(
    classes: tuple[sp.csr_matrix, np.ndarray],
) -> None:
    X, labels = classes
    told = program.full_information_errors(3, X, labels)
    errors = {
        name: program.bandit_errors(policy, X, labels).mean()
        for name, policy in program.policies(3).items()
    }
    assert told.mean() < min(errors.values())
    assert errors.pop("any arm") == pytest.approx(2 / 3, abs=0.1)
    assert max(errors.values()) < 0.45


def test_vowpal_wabbit_is_asked_the_same(classes: tuple[sp.csr_matrix, np.ndarray]) -> None:
    X, labels = classes
    pytest.importorskip("vowpalwabbit", reason="vowpalwabbit is not installed")
    assert program.vowpal_errors("--epsilon 0.05", X, labels)[300:].mean() < 0.4


def test_compiled_rounds_play() -> None:
    run = program.compiled_rounds(8, 50)
    run()
    program.dense_rounds(8, 5)()


def test_river_takes_turns_with_us() -> None:
    lines = list(program.river(1, arms=100))
    assert len(lines) == 3 and "rounds a second over River" in lines[-1]


def test_clicks_are_estimated() -> None:
    if not (Path(os.environ.get("NOREGRET_DATA", "")) / "open_bandit").is_dir():
        pytest.skip("open_bandit is not at NOREGRET_DATA")
    rows = sized(120, 600)
    lines = list(program.clicks(rows))
    assert sum("its own log" in line for line in lines) == 6
    assert sum("doubly robust" in line for line in lines) == 3
    assert sum(f"replay of {rows} rows" in line for line in lines) == 6
    assert sum("finite-sample" in line for line in lines) == 15


@pytest.mark.compiled
def test_digits_as_arms() -> None:
    """3,000 digits: with one cost a round not far from what all costs give, and far from chance."""
    if not (Path(os.environ.get("NOREGRET_DATA", "")) / "mnist_t10k").is_dir():
        pytest.skip("mnist_t10k is not at NOREGRET_DATA")
    X, labels = program.mnist()
    X, labels = X[:3000], labels[:3000]
    assert X.shape == (3000, 784) and np.bincount(labels).min() > 250
    told = program.full_information_errors(10, X, labels).mean()
    policy = program.policies(10)["InverseGap(scale=100.0, exponent=0.5)"]
    errors = program.bandit_errors(policy, X, labels)
    assert told < 0.25 and told < errors.mean() < 0.4 and errors[-500:].mean() < 0.3

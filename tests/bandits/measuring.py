"""How bounds in expectation are measured: one-sided tests that hardly ever err."""

from __future__ import annotations

import math

import numpy as np
from scipy.stats import binom

#: The probability with which a true bound may be called violated.
ERROR = 1e-6


def violates(samples: np.ndarray, bound: float, spread: float) -> bool:
    """Tell whether independent samples of that range prove that their mean exceeds the bound.

    Maurer and Pontil's empirical Bernstein bound: wrong with probability below ERROR.
    """
    n, odds = len(samples), math.log(2.0 / ERROR)
    room = math.sqrt(2.0 * samples.var(ddof=1) * odds / n) + 7.0 * spread * odds / (3.0 * (n - 1))
    return bool(samples.mean() - room > bound)


def too_many(failures: int, trials: int, delta: float) -> bool:
    """Tell whether so many failures prove that each has a probability above delta."""
    return bool(binom.sf(failures - 1, trials, delta) < ERROR)


def cost_streams(rng: np.random.Generator, rounds: int, arms: int) -> dict[str, np.ndarray]:
    """Return costs of several kinds, fixed before any draw: by chance and by malice."""
    means = rng.random(arms)
    late = np.zeros((rounds, arms))
    # The arm that is best in the first half is worst in the second.
    late[: rounds // 2, 1:] = 1.0
    late[rounds // 2 :, 0] = 1.0
    gap = np.full((rounds, arms), 0.6)
    gap[:, -1] = 0.4
    return {
        "uniform": rng.random((rounds, arms)),
        "biased coins": (rng.random((rounds, arms)) < means).astype(float),
        "turning": late,
        "small gap": (rng.random((rounds, arms)) < gap).astype(float),
        "all high": np.ones((rounds, arms)),
        "rotating": np.eye(arms)[np.arange(rounds) % arms],
    }


class Scripted:
    """A generator that gives the numbers it was told."""

    def __init__(self, numbers: list[float]) -> None:
        self.numbers = list(numbers)

    def random(self, size: int | None = None) -> float | np.ndarray:
        if size is None:
            return self.numbers.pop(0)
        taken, self.numbers = self.numbers[:size], self.numbers[size:]
        return np.array(taken)

"""Guesses of the gap while shards visit rows side by side."""

from __future__ import annotations

import math

from noregret.batch.ascent import LEAST_TRUST, SLOW, Guess
from noregret.batch.problem import Solution

#: Least trust in guesses of the gap.
LOWEST_TRUST = 1e-4


class SharedGuess(Guess):
    """The guess of a gap from visits that see the steps of their own shard only: often too small.

    `trust` is the part of the guesses so far that was true; the goal is lowered by it. Where an
    epoch takes several turns, whether passes are slow is judged by the means of epochs: a turn
    sees other rows than the one before.
    """

    def __init__(self, tol: float) -> None:
        super().__init__(tol)
        self.trust = 1.0
        #: Number of turns that visit all active rows once.
        self.turns = 1
        #: The gaps sampled in the turns of this epoch, summed; their number; the mean before.
        self.summed, self.seen, self.mean = 0.0, 0, math.nan
        self.slow_epochs = 0

    def see(self, apart: float, primal: float | None) -> None:
        """Guess the gap after a turn from `apart`, the gap sampled during it."""
        super().see(apart, primal)
        if primal is not None:
            self.goal *= self.trust
        self.summed, self.seen = self.summed + apart, self.seen + 1
        if self.seen >= self.turns:
            mean, before = self.summed / self.seen, self.mean
            self.slow_epochs = self.slow_epochs + 1 if mean > SLOW * before else 0
            self.summed, self.seen, self.mean = 0.0, 0, mean
        if self.turns > 1:
            self.crawled = self.slow_epochs

    def slow(self) -> int:
        """Return the number of slow epochs in a row if it calls for a Newton step, else 0."""
        found = super().slow()
        if found:
            self.slow_epochs, self.mean = 0, math.nan
        return found

    def left(self) -> float:
        """Return infinity: turns say little, and steps send less than epochs."""
        return math.inf

    def correct(self, solution: Solution, guessed: float) -> None:
        """Lower the goal after an exact evaluation with a larger gap than was guessed."""
        before = self.trust
        super().correct(solution, guessed)
        true = min(max(guessed / solution.gap, LEAST_TRUST), 1.0)
        self.trust = max(before * true, LOWEST_TRUST)
        self.goal = self.trust * self.tol * max(1.0, self.primal)

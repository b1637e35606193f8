"""Online ranking: lists that put what will be clicked near the top, by a sum over all lists.

The k! lists are experts, the cost of a list (position of the click - 1) / (k - 1). Weighted
Majority gives list pi the weight exp(-eta sum_j n_j (pi_j - 1) / (k - 1)), n_j the clicks on item
j, so the state is the k counts. With F(S) the weight of all ways to fill the first |S| places
with the items S, F(S + j) collects F(S) exp(-a_j |S|), a_j = eta n_j / (k - 1): all lists are
summed in 2^k k steps.
"""

from __future__ import annotations

import math
import sys
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from noregret.arrays import Vector, as_whole, first_true, refuse_masked
from noregret.classes.tables import MOST_RATE, SURVEY, RateField, RegretCertificate, between
from noregret.elementary import log_sum_exp
from noregret.files.fields import Array, Arrays, Header, Number, Saved, Setting
from noregret.proof.statement import Statement
from noregret.turns import one_at_a_time
from noregret.visible import shown

#: 2^16 subsets take some milliseconds a round.
_MOST_ITEMS = 16


@dataclass(frozen=True, kw_only=True)
class RankingCertificate(RegretCertificate):
    """The expected positions of the clicks, summed, beside those of the best fixed list."""

    best_list: tuple[int, ...]

    def describe(self) -> str:
        """Return the competitors in words."""
        return "any fixed list"

    def _lines(self) -> list[str]:
        lines = self._regret_lines("expected positions, summed", "positions in the best list")
        return [f"Ranking after {self.rounds:,} clicks", *lines]


class ItemsRate(RateField):
    """The rate of a ranking; 0, that of a single item, is the default at any horizon."""

    def arguments(self, header: Header, arrays: Arrays) -> Header:
        """Return the rate, or a horizon."""
        given = super().arguments(header, arrays)
        return given | {"horizon": 1 if given["eta"] is None else None}


class Ranking(Saved):
    """Rank k items anew each round; the loss is the position, from 1, of the item clicked.

    With `horizon` T and eta = sqrt(8 ln(k!) / T) the expected loss exceeds that of the best
    fixed list, which sorts by clicks, by at most (k - 1) sqrt(T ln(k!) / 2) positions.
    Reference: Shalev-Shwartz, Online Learning and Online Convex Optimization, section 1.1,
    Theorems 1.3 and 3.1.

    >>> learner = Ranking(3, horizon=5)
    >>> learner.learn([1, 1, 2, 0, 1]).round(4).tolist()
    [2.0, 1.494, 2.3967, 2.6422, 1.494]
    >>> learner.certificate().best_list, learner.certificate().best
    ((1, 0, 2), 8)
    """

    _KIND = "learner"
    _FIELDS = (
        Setting("items"),
        ItemsRate("eta"),
        Number("loss"),
        Array("counts", words="its counts are not those of {0.items} items"),
    )

    def __init__(self, items: int, horizon: int | None = None, eta: float | None = None) -> None:
        self.items = as_whole("items", items)
        if self.items > _MOST_ITEMS:
            raise ValueError(f"{items} items are too many lists, expected at most {_MOST_ITEMS}")
        if (horizon is None) == (eta is None):
            raise ValueError("Ranking needs either the horizon or eta")
        self._log_lists = math.lgamma(self.items + 1.0)
        if horizon is not None:
            self.eta = math.sqrt(8.0 * self._log_lists / as_whole("horizon", horizon))
        else:
            self.eta = between("eta", eta, MOST_RATE)
        self._counts = np.zeros(self.items, dtype=np.int64)
        subsets = np.arange(1 << self.items)
        self._inside = (subsets[:, None] >> np.arange(self.items) & 1).astype(bool)
        sizes = self._inside.sum(axis=1)
        self._layers = [np.flatnonzero(sizes == size) for size in range(self.items + 1)]
        self._loss = 0.0

    @property
    def rounds(self) -> int:
        """The number of clicks seen."""
        return int(self._counts.sum())

    @property
    def counts(self) -> npt.NDArray[np.int64]:
        """The clicks on each item, a copy."""
        return self._counts.copy()

    def positions(self) -> Vector:
        """Return the probability of each position, columns, for each item, rows."""
        costs = self._costs()
        endings = self._endings(costs)
        beginnings = np.zeros(1 << self.items)
        result = np.empty((self.items, self.items))
        bits = 1 << np.arange(self.items)
        for size in range(self.items):
            sets = self._layers[size]
            joint = beginnings[sets][:, None] - costs * size
            mass = np.where(self._inside[sets], -np.inf, joint + endings[sets[:, None] | bits])
            result[:, size] = np.exp(mass - endings[0]).sum(axis=0)
            later = self._layers[size + 1]
            terms = beginnings[later[:, None] & ~bits] - costs * size
            beginnings[later] = log_sum_exp(np.where(self._inside[later], terms, -np.inf))
        return np.asarray(result / result.sum(axis=1, keepdims=True))

    def _costs(self) -> Vector:
        return self._counts.astype(np.float64) * (self.eta / max(self.items - 1, 1))

    def _endings(self, costs: Vector) -> Vector:
        """Return the log weight of all ways to go on once the items of a set have been placed."""
        table = np.zeros(1 << self.items)
        for size in range(self.items - 1, -1, -1):
            sets = self._layers[size]
            terms = table[sets[:, None] | 1 << np.arange(self.items)] - costs * size
            table[sets] = log_sum_exp(np.where(self._inside[sets], -np.inf, terms))
        return table

    def draw(self, seed: int | np.random.Generator) -> tuple[int, ...]:
        """Return a list, drawn as the weights say, the top item first."""
        random = np.random.default_rng(seed)
        costs = self._costs()
        endings = self._endings(costs)
        placed, result = 0, []
        for size in range(self.items):
            free = [j for j in range(self.items) if not placed >> j & 1]
            logs = np.array([endings[placed | 1 << j] - costs[j] * size for j in free])
            chances = np.exp(logs - logs.max())
            chosen = free[int(random.choice(len(free), p=chances / chances.sum()))]
            result.append(chosen)
            placed |= 1 << chosen
        return tuple(result)

    @one_at_a_time
    def learn(self, clicks: Any) -> Vector:
        """Return the expected position of each item clicked, in turn, before the click."""
        refuse_masked("clicks", clicks)
        given = np.atleast_1d(np.asarray(clicks))
        if given.ndim != 1 or (given.dtype.kind not in "biu" and given.size):
            raise ValueError(f"clicks must be items in one line, got {shown(clicks)}")
        wrong = first_true((given < 0) | (given >= self.items))
        if wrong:
            must = f"must be an item from 0 to {self.items - 1}"
            raise ValueError(f"clicks[{wrong[0]}] {must}, got {given[wrong]}")
        return np.array([self._click(int(item)) for item in given], dtype=np.float64)

    def _click(self, item: int) -> float:
        position = 1.0 + float(self.positions()[item] @ np.arange(self.items))
        self._loss += position
        self._counts[item] += 1
        return position

    def certificate(self) -> RankingCertificate:
        """Return the positions so far beside the best list and the bounds."""
        order = np.argsort(-self._counts, kind="stable")
        return RankingCertificate(
            rounds=self.rounds,
            loss=self._loss,
            best=int(self._counts[order] @ np.arange(1, self.items + 1)),
            best_list=tuple(order.tolist()),
            bounds=tuple(self._bounds()) if self.rounds else (),
        )

    def _check_loaded(self) -> None:
        """Refuse counts and a loss that no learner has."""
        if self._counts.min() < 0 or self._counts.max() > 1 << 48:
            raise ValueError(f"its counts are not those of {self.items} items")
        if not self.rounds <= self._loss <= self.rounds * self.items * (1.0 + 1e-9):
            raise ValueError(f"the loss {self._loss} of {self.rounds} clicks is not one")

    def _bounds(self) -> list[Statement]:
        """Return the bounds in positions, with room for the rounding of sums over all lists.

        ln(k!) / eta + stability is the loss + ln(sum of the weights) / eta. The weights come anew
        from whole counts each round: nothing accumulates but the loss.
        """
        rounds, eta, values = self.rounds, self.eta, (0.0, 0.0)
        if self.items > 1:
            lost = (self._loss - rounds) / (self.items - 1)
            prior = self._log_lists / eta
            now = lost + float(self._endings(self._costs())[0]) / eta
            largest = (50.0 + self._log_lists) / eta + (rounds + 1.0) * self.items
            slack = 8.0 * sys.float_info.epsilon * self.items * rounds * (1.0 + eta) * largest
            values = prior + eta * rounds / 8.0 + slack, now + slack
        names = ("lists as experts, in advance", "lists as experts, now")
        return [
            Statement(name, f"{SURVEY}, Theorems 1.3 and 3.1", (self.items - 1) * value)
            for name, value in zip(names, values, strict=True)
        ]

"""Online ranking: lists that put what will be clicked near the top, by a sum over all lists.

The k! lists are experts, the cost of a list (position of the click - 1) / (k - 1). Weighted
Majority gives list pi the weight exp(-eta sum_j n_j (pi_j - 1) / (k - 1)), n_j the clicks on item
j, so the state is the k counts. With F(S) the weight of all ways to fill the first |S| places
with the items S, F(S + j) collects F(S) exp(-a_j |S|), a_j = eta n_j / (k - 1): all lists are
summed in 2^k k steps.
"""

from __future__ import annotations

import math
import os
import sys
from dataclasses import asdict, dataclass
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from noregret import store
from noregret.bounds import Bound
from noregret.classes.tables import whole
from noregret.classes.version_space import SURVEY
from noregret.rounding import up

Vector = npt.NDArray[np.float64]

#: 2^16 subsets take some milliseconds a round.
_MOST_ITEMS = 16


@dataclass(frozen=True)
class RankingCertificate:
    """The expected positions of the clicks, summed, beside those of the best fixed list."""

    rounds: int
    loss: float
    best: int
    best_list: tuple[int, ...]
    bounds: tuple[Bound, ...]

    @property
    def regret(self) -> float:
        """The positions lost beside the best list."""
        return self.loss - self.best

    def as_dict(self) -> dict[str, Any]:
        """Return the certificate as plain values, ready for JSON."""
        own = asdict(self) | {"bounds": [bound.as_dict() for bound in self.bounds]}
        return own | {"regret": self.regret}

    def __str__(self) -> str:
        lines = [
            f"Ranking after {self.rounds:,} clicks",
            f"  {'expected positions, summed':<41}{self.loss:.6g}",
            f"  {'positions in the best list':<41}{self.best:,}",
            f"  {'regret':<41}{self.regret:.6g}",
        ]
        lines += [f"  {bound.name:<41}regret <= {up(bound.value)}" for bound in self.bounds]
        return "\n".join(lines)


class Ranking:
    """Rank k items anew each round; the loss is the position, from 1, of the item clicked.

    With `horizon` T and eta = sqrt(8 ln(k!) / T) the expected loss exceeds that of the best
    fixed list, which sorts by clicks, by at most (k - 1) sqrt(T ln(k!) / 2) positions.
    Reference: Shalev-Shwartz, Online Learning and Online Convex Optimization, sections 1.1, 3.1.

    >>> learner = Ranking(3, horizon=5)
    >>> learner.learn([1, 1, 2, 0, 1]).round(4).tolist()
    [2.0, 1.494, 2.3967, 2.6422, 1.494]
    >>> learner.certificate().best_list, learner.certificate().best
    ((1, 0, 2), 8)
    """

    def __init__(self, items: int, horizon: int | None = None, eta: float | None = None) -> None:
        self.items = whole("items", items)
        if self.items > _MOST_ITEMS:
            raise ValueError(f"{items} items are too many lists, expected at most {_MOST_ITEMS}")
        if (horizon is None) == (eta is None):
            raise ValueError("Ranking needs either the horizon or eta")
        self._log_lists = math.lgamma(self.items + 1.0)
        if horizon is not None:
            eta = math.sqrt(8.0 * self._log_lists / whole("horizon", horizon))
        elif not (isinstance(eta, int | float) and 0.0 < eta < math.inf):
            raise ValueError(f"eta must be a number above 0, got {eta!r}")
        assert eta is not None
        self.eta = float(eta)
        self.counts = np.zeros(self.items, dtype=np.int64)
        subsets = np.arange(1 << self.items)
        self._inside = (subsets[:, None] >> np.arange(self.items) & 1).astype(bool)
        sizes = self._inside.sum(axis=1)
        self._layers = [np.flatnonzero(sizes == size) for size in range(self.items + 1)]
        self._loss = 0.0

    @property
    def rounds(self) -> int:
        """The number of clicks seen."""
        return int(self.counts.sum())

    def positions(self) -> Vector:
        """Return the probability of each position, columns, for each item, rows."""
        return self._positions(self.counts)

    def _costs(self, counts: npt.NDArray[np.int64]) -> Vector:
        return counts.astype(np.float64) * (self.eta / max(self.items - 1, 1))

    def _endings(self, costs: Vector) -> Vector:
        """Return the log weight of all ways to go on once the items of a set have been placed."""
        table = np.zeros(1 << self.items)
        for size in range(self.items - 1, -1, -1):
            sets = self._layers[size]
            terms = table[sets[:, None] | 1 << np.arange(self.items)] - costs * size
            table[sets] = _log_sum(np.where(self._inside[sets], -np.inf, terms))
        return table

    def _positions(self, counts: npt.NDArray[np.int64]) -> Vector:
        costs = self._costs(counts)
        endings = self._endings(costs)
        beginnings = np.zeros(1 << self.items)
        result: Vector = np.empty((self.items, self.items))
        bits = 1 << np.arange(self.items)
        for size in range(self.items):
            sets = self._layers[size]
            joint = beginnings[sets][:, None] - costs * size
            mass = np.where(self._inside[sets], -np.inf, joint + endings[sets[:, None] | bits])
            result[:, size] = np.exp(mass - endings[0]).sum(axis=0)
            later = self._layers[size + 1]
            terms = beginnings[later[:, None] & ~bits] - costs * size
            beginnings[later] = _log_sum(np.where(self._inside[later], terms, -np.inf))
        normed: Vector = result / result.sum(axis=1, keepdims=True)
        return normed

    def draw(self, seed: int | np.random.Generator) -> tuple[int, ...]:
        """Return a list, drawn as the weights say, the top item first."""
        random = np.random.default_rng(seed)
        costs = self._costs(self.counts)
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

    def learn(self, clicks: Any) -> Vector:
        """Return the expected position of each item clicked, in turn, before the click."""
        given = np.atleast_1d(np.asarray(clicks))
        whole_numbers = given.dtype.kind in "biu" or given.size == 0
        if given.ndim != 1 or not whole_numbers or np.any((given < 0) | (given >= self.items)):
            raise ValueError(f"a click must be an item from 0 to {self.items - 1}, got {clicks!r}")
        return np.array([self._click(int(item)) for item in given])

    def _click(self, item: int) -> float:
        chances = self._positions(self.counts)[item]
        position = 1.0 + float(chances @ np.arange(self.items))
        self._loss += position
        self.counts[item] += 1
        return position

    def certificate(self) -> RankingCertificate:
        """Return the positions so far beside the best list and the bounds."""
        order = np.argsort(-self.counts, kind="stable")
        best = int(self.counts[order] @ np.arange(1, self.items + 1))
        bounds: tuple[Bound, ...] = ()
        if self.rounds:
            bounds = tuple(self._bounds())
        return RankingCertificate(
            self.rounds, self._loss, best, tuple(int(j) for j in order), bounds
        )

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the learner to a file, atomically; loading resumes it to the bit."""
        header = {"learner": "Ranking", "items": self.items, "eta": self.eta, "loss": self._loss}
        store.write(path, header, {"counts": self.counts})

    @classmethod
    def _from_file(cls, header: dict[str, Any], arrays: dict[str, npt.NDArray[Any]]) -> Self:
        # The rate 0 of a single item is that of any horizon, and no rate to ask for.
        eta = header["eta"] or None
        learner = cls(header["items"], 1 if eta is None else None, eta)
        counts, loss = arrays["counts"], float(header["loss"])
        if counts.shape != (learner.items,) or counts.dtype != np.int64 or counts.min() < 0:
            raise ValueError(f"its counts are not those of {learner.items} items")
        learner.counts = counts
        if not learner.rounds <= loss <= learner.rounds * learner.items * (1.0 + 1e-9):
            raise ValueError(f"the loss {loss} of {learner.rounds} clicks is not one")
        learner._loss = loss
        return learner

    def _bounds(self) -> list[Bound]:
        """Return the bounds in positions, with room for the rounding of sums over all lists.

        ln(k!) / eta + stability is the loss + ln(sum of the weights) / eta. The weights come anew
        from whole counts each round: nothing accumulates but the loss.
        """
        rounds, prior, now = self.rounds, 0.0, 0.0
        if self.eta > 0.0:
            lost = (self._loss - rounds) / (self.items - 1)
            prior = self._log_lists / self.eta
            now = lost + float(self._endings(self._costs(self.counts))[0]) / self.eta
        largest = (50.0 + self._log_lists) / (self.eta or 1.0) + (rounds + 1.0) * self.items
        slack = 8.0 * sys.float_info.epsilon * self.items * rounds * (1.0 + self.eta) * largest
        values = (prior + self.eta * rounds / 8.0, now)
        names = ("lists as experts, in advance", "lists as experts, now")
        return [
            Bound(name, f"{SURVEY}, Theorem 3.1", (self.items - 1) * (value + slack))
            for name, value in zip(names, values, strict=True)
        ]


def _log_sum(terms: Vector) -> Vector:
    largest = terms.max(axis=1)
    result: Vector = largest + np.log(np.exp(terms - largest[:, None]).sum(axis=1))
    return result

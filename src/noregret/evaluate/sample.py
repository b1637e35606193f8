"""Some of the predictions of a long stream, for pictures, in memory that does not grow."""

from __future__ import annotations

from typing import Self

import numpy as np

from noregret.arrays import Vector
from noregret.evaluate.holdout import mixed
from noregret.evaluate.weighing import Arrays

#: Largest number of examples that are kept, a power of two.
MOST = 2048


class Sample:
    """One example of each stretch of equal length, chosen at random within it.

    Stretches are twice as long whenever `MOST` examples are kept: of two neighbours one stays.
    Which one is chosen follows from its number alone, so that cutting a stream, or another run,
    changes nothing; being random it shows no false pattern where a stream is periodic.

    >>> sample = Sample()
    >>> for start in range(0, 100_000, 1000):
    ...     numbers = np.arange(start, start + 1000.0)
    ...     sample.add(numbers, -numbers)
    >>> rounds, y, predictions = sample.table()
    >>> len(rounds), sample.stretch, bool((np.diff(rounds) > 0).all())
    (1563, 64, True)
    >>> bool((y == rounds - 1).all()), bool((predictions == -y).all())
    (True, True)
    """

    def __init__(self) -> None:
        self.stretch = 1
        self._seen = 0
        #: By row: the round counted from 1, the label, the prediction.
        self._kept: Vector = np.zeros((3, MOST))
        self._count = 0

    def add(self, y: Vector, predictions: Vector) -> None:
        """Look at the next examples."""
        stop = self._seen + len(y)
        while True:
            # Every stretch gives one example, in turn: the next is number `_count`.
            stretches = np.arange(self._count, min(MOST, -(-stop // self.stretch)))
            within = mixed(stretches, self.stretch) % np.uint64(self.stretch)
            chosen = stretches * self.stretch + within.astype(np.int64)
            chosen = chosen[chosen < stop]
            room = slice(self._count, self._count + len(chosen))
            places = chosen - self._seen
            self._kept[:, room] = chosen + 1, y[places], predictions[places]
            self._count = room.stop
            if self._count < MOST:
                break
            self._halve()
        self._seen = stop

    def _halve(self) -> None:
        """Keep one of two neighbours and go on with stretches twice as long."""
        pairs = np.arange(MOST // 2)
        second = (mixed(pairs, -self.stretch) & np.uint64(1)).astype(np.intp)
        self._kept[:, : MOST // 2] = self._kept[:, 2 * pairs + second]
        self._count = MOST // 2
        self.stretch *= 2

    def table(self) -> tuple[Vector, Vector, Vector]:
        """Return rounds counted from 1, labels and predictions, in the order of the stream."""
        rounds, y, predictions = self._kept[:, : self._count].copy()
        return rounds, y, predictions

    def arrays(self) -> Arrays:
        """Return all that is needed to go on later."""
        state = np.array([self.stretch, self._seen], np.int64)
        return {"sample": self._kept[:, : self._count].copy(), "sample_state": state}

    @classmethod
    def restored(cls, arrays: Arrays) -> Self:
        """Return the sample that `arrays` described, or refuse what no sample has written."""
        kept, state, result = arrays["sample"], arrays["sample_state"], cls()
        if kept.ndim != 2 or len(kept) != 3 or kept.shape[1] >= MOST:
            raise ValueError(f"a sample has shape {kept.shape}, expected 3 x less than {MOST}")
        stretch, seen = map(int, state)
        count = kept.shape[1]
        # One example of every stretch that has ended, and perhaps one of the last.
        if stretch < 1 or stretch & (stretch - 1) or not 0 <= count - seen // stretch <= 1:
            raise ValueError(f"a sample of {count} is not one of {seen} in stretches of {stretch}")
        result._kept[:, :count] = kept
        result.stretch, result._seen, result._count = stretch, seen, count
        return result

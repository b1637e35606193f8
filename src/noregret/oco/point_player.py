"""What all players of the convex game have in common: a point, a book, and how to read them."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from noregret.oco.book import Book
from noregret.oco.setting import Setting

Vector = npt.NDArray[np.float64]


class PointPlayer:
    """A player that stands at a point w of its domain and records its rounds in a `Book`."""

    _setting: Setting
    _book: Book
    _w: Vector

    @property
    def dimension(self) -> int:
        """The number of coordinates."""
        return self._setting.dimension

    @property
    def rounds(self) -> int:
        """How many rounds were played."""
        return self._book.rounds

    @property
    def loss(self) -> float:
        """The loss suffered, summed over the rounds."""
        return self._book.loss

    @property
    def average(self) -> Vector:
        """The average of the points played so far; the first point before any round."""
        return self._book.total / self.rounds if self.rounds else self.play()

    def play(self) -> Vector:
        """Return the point of the coming round."""
        return self._w.copy()

"""What all players of the convex game share: a point, a book, and how both are read."""

from __future__ import annotations

from typing import Any

from noregret.arrays import Vector, as_number, as_vector
from noregret.oco.game_book import Book, check_sizes
from noregret.oco.game_certificate import ConvexLoss, GameCertificate, NonnegativeLoss
from noregret.oco.setting import Setting
from noregret.proof.ledger import require_room


class PointPlayer:
    """A player that stands at a point w of its domain and records its rounds in a `Book`."""

    def __init__(
        self, setting: Setting, nonnegative: bool, gradient_limit: float | None = None
    ) -> None:
        self._setting = setting
        self._book = Book(setting.dimension, gradient_limit)
        self._w = setting.first.copy()
        self.nonnegative = bool(nonnegative)

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

    def _examined(
        self, value: Any, subgradient: Any, curvature: Any
    ) -> tuple[float, Vector, float, float]:
        """Return the value, the subgradient z, ||z||_* rounded up and the curvature of a round.

        Raise ValueError if the book cannot keep them. Changes nothing.
        """
        require_room(self.rounds, 1)
        value = as_number("value", value)
        if self.nonnegative and value < 0.0:
            raise ValueError(f"value must be >= 0 in a game with nonnegative=True, got {value}")
        z = as_vector("subgradient", subgradient, self.dimension)
        curvature = as_number("curvature", curvature)
        if curvature < 0.0:
            raise ValueError(f"curvature must be >= 0, got {curvature}")
        norm = self._setting.mirror.predictors().dual_norm(z)
        check_sizes(value, z, self._w, norm)
        return value, z, norm, curvature

    def certificate(self) -> GameCertificate:
        """Return what the rounds so far prove, as a value that later rounds do not change."""
        book, setting = self._book, self._setting
        return GameCertificate(
            loss_function=NonnegativeLoss() if self.nonnegative else ConvexLoss(),
            mirror=setting.shown,
            rate=setting.rate,
            ledger=book.ledger.copy(),
            gradient=book.gradient.copy(),
            domain=setting.domain,
            setting=setting,
            bend=book.bend,
            pull=book.pull.copy(),
            **self._own_fields(),
        )

    def _own_fields(self) -> dict[str, Any]:
        """Return the fields of the certificate that only this kind of player has."""
        raise NotImplementedError

"""Some rows of a run, to measure afterwards what the weights at its end say about them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from noregret.arrays import Vector
from noregret.evaluate.holdout import mixed, select
from noregret.evaluate.metrics import metrics_for
from noregret.streams import Block

#: Largest number of rows that are kept.
MOST = 4096
_SEED = 1
#: Factor by which an error must grow to be called much worse; noise alone stays below it.
_MUCH = 1.5


#: Random numbers of the rows, the rows, and the predictions made for them.
_Part: TypeAlias = tuple[npt.NDArray[np.uint64], Block, Vector]


class RowSample:
    """A random sample of the rows of a run, with the predictions made before each was learnt.

    Whether a row is kept follows from its number alone, so that cutting a stream changes nothing.
    The share of rows that are kept is halved whenever there are more than `MOST` of them.

    >>> import noregret as nr
    >>> learner = nr.MirrorDescent(nr.losses.Hinge(), nr.mirrors.Ball(1), nr.rates.Constant(1))
    >>> sample = RowSample()
    >>> for block in nr.read([({"a": 1.0}, 1)] * 9, labels="binary"):
    ...     sample.add(block, learner.learn(block, block.y))
    >>> [sample.measured(learner.loss, how)["accuracy"] for how in (None, learner.predict)]
    [0.8888888888888888, 1.0]
    """

    def __init__(self) -> None:
        self._seen = self._count = 0
        self._limit = np.uint64((1 << 64) - 1)
        self._parts: list[_Part] = []

    def __len__(self) -> int:
        return self._count

    def add(self, block: Block, made: Vector) -> None:
        """Look at the next rows and the predictions made for them."""
        keys = mixed(np.arange(self._seen, self._seen + len(block)), _SEED)
        self._seen += len(block)
        # The old parts are not looked at: a stream may come row by row.
        self._parts += self._thinned([(keys, block, made)])
        self._count += int((keys <= self._limit).sum())
        while self._count > MOST:
            self._limit //= np.uint64(2)
            self._parts = self._thinned(self._parts)
            self._count = sum(len(keys) for keys, _, _ in self._parts)

    def _thinned(self, parts: list[_Part]) -> list[_Part]:
        """Return the parts without the rows whose key is above the limit."""
        chosen = [keys <= self._limit for keys, _, _ in parts]
        return [
            (keys[kept], select(block, kept), made[kept])
            for kept, (keys, block, made) in zip(chosen, parts, strict=True)
            if kept.any()
        ]

    def measured(
        self, loss: Any, predict: Callable[[Block], Vector] | None = None
    ) -> dict[str, float]:
        """Return the metrics of the rows by `predict` [default: by the predictions made then]."""
        metrics = metrics_for(loss)
        for _, block, made in self._parts:
            metrics.add(block.y, made if predict is None else predict(block), block.weight)
        summary = metrics.summary()
        # The rows are not neighbours: what repeating a label would do is not seen here.
        summary.pop("repeat_error", None)
        return summary


def is_much_worse(before: dict[str, float], after: dict[str, float]) -> bool:
    """Return whether predictions of the same rows became much worse.

    By accuracy, F1 or root mean squared error; a wrong label more or less is no difference.

    >>> is_much_worse({"examples": 900, "accuracy": 0.99}, {"examples": 900, "accuracy": 0.8})
    True
    >>> is_much_worse({"examples": 900, "accuracy": 0.9}, {"examples": 900, "accuracy": 0.88})
    False
    """
    # Twice the deviation of a difference of two counts, as a share of the rows.
    errors = 2.0 - before.get("accuracy", 1.0) - after.get("accuracy", 1.0)
    noise = 2.0 * (errors / max(before["examples"], 1.0)) ** 0.5
    wrong, then = (1.0 - one.get("accuracy", 1.0) for one in (after, before))
    return (
        wrong > _MUCH * then + noise
        or after.get("f1", 1.0) * _MUCH + noise < before.get("f1", 0.0)
        or after.get("rmse", 0.0) > _MUCH * before.get("rmse", np.inf)
    )

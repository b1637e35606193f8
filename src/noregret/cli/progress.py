"""Learning a stream while looking at its certificate at chosen rounds."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from typing import Any

    from noregret.streams import Block


class Certified(Protocol):
    """What is needed of a certificate here."""

    @property
    def rounds(self) -> int:
        """The number of examples learned."""
        ...

    @property
    def loss(self) -> float:
        """The sum of their losses."""
        ...

    @property
    def mistakes(self) -> int:
        """How many were predicted with the wrong sign."""
        ...

    def floor(self, radius: float) -> float:
        """Return what no predictor of this size could have beaten."""
        ...

    def regret_bound(self, radius: float) -> float:
        """Return an upper bound on the regret against every predictor of this size."""
        ...


class Learner(Protocol):
    """What is needed of a learner here."""

    def learn(self, X: Any, y: Any, weight: Any = None) -> Any:
        """Learn the rows of a block."""
        ...

    def certificate(self) -> Certified:
        """Return what is proved so far."""
        ...


@dataclass(frozen=True)
class Point:
    """The state of affairs after some rounds; loss, floor and regret are sums over them."""

    rounds: int
    loss: float
    mistakes: int
    radius: float
    floor: float
    regret: float

    @property
    def average_loss(self) -> float:
        """The loss a round."""
        return self.loss / self.rounds

    @property
    def average_floor(self) -> float:
        """The certified floor a round."""
        return self.floor / self.rounds

    @property
    def average_regret(self) -> float:
        """The proved regret a round: no predictor of the class did better by more."""
        return self.regret / self.rounds

    def as_dict(self) -> dict[str, float]:
        """Return the numbers, averages included."""
        averages = ("average_loss", "average_floor", "average_regret")
        return asdict(self) | {name: getattr(self, name) for name in averages}


def marks(per_doubling: int = 1) -> Iterator[int]:
    """Yield the rounds to look at: powers of two, and as many as asked for between them.

    >>> from itertools import islice
    >>> list(islice(marks(), 5)), list(islice(marks(2), 7))
    ([1, 2, 4, 8, 16], [1, 2, 3, 4, 6, 8, 11])
    """
    last = 0
    step = 0
    while True:
        # ldexp keeps the powers of two exact however far the stream runs
        doublings, part = divmod(step, per_doubling)
        mark = round(math.ldexp(2.0 ** (part / per_doubling), doublings))
        step += 1
        if mark > last:
            last = mark
            yield mark


def follow(
    learner: Learner,
    blocks: Iterable[Block],
    radius: Callable[[], float],
    at: Iterator[int] | None = None,
) -> Iterator[Point]:
    """Learn the blocks in order; yield a point at each mark and one at the end.

    Blocks are cut at the marks, which changes nothing for the learner.
    """
    at = marks() if at is None else at
    rounds, mark, seen = 0, next(at), 0
    for block in blocks:
        start = 0
        while start < len(block):
            stop = min(len(block), start + mark - rounds)
            part = block.rows(start, stop)
            learner.learn(part, part.y, part.weight)
            rounds += stop - start
            start = stop
            if rounds == mark:
                yield _look(learner, radius())
                seen, mark = rounds, next(at)
    if rounds > seen:
        yield _look(learner, radius())


def _look(learner: Learner, radius: float) -> Point:
    certificate = learner.certificate()
    return Point(
        rounds=int(certificate.rounds),
        loss=float(certificate.loss),
        mistakes=int(certificate.mistakes),
        radius=radius,
        floor=float(certificate.floor(radius)),
        regret=float(certificate.regret_bound(radius)),
    )

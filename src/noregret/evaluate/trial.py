"""Learners on a stream, examined at chosen rounds; many of them in one pass."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass
from itertools import count
from typing import TYPE_CHECKING, Any, Protocol

from noregret.rounding import down_each, up_each
from noregret.scoring.growing import learn_block
from noregret.shards import Shards

if TYPE_CHECKING:
    from noregret.arrays import Vector
    from noregret.evaluate.metrics import Metrics
    from noregret.proof.certificate import Certificate
    from noregret.streams import Block


class Learner(Protocol):
    """A learner, as far as trials use it."""

    @property
    def loss(self) -> Any:
        """The loss."""

    def learn(self, X: Any, y: Any, weight: Any = None) -> Any:
        """Learn the rows of a block; return the predictions made before."""

    def certificate(self) -> Certificate:
        """Return the certificate of the rounds so far."""


@dataclass(frozen=True)
class Point:
    """The loss, floor and regret after a number of rounds, summed over them."""

    rounds: int
    loss: float
    mistakes: int
    radius: float
    floor: float
    regret: float
    #: The rate eta in force; the median over the features where each has its own.
    rate: float | None = None

    @property
    def average_loss(self) -> float:
        """The loss a round."""
        return self.loss / self.rounds

    @property
    def average_floor(self) -> float:
        """The certified floor a round, rounded down."""
        return down_each(self.floor, self.rounds)

    @property
    def average_regret(self) -> float:
        """An upper bound on the regret a round: no predictor of the class did better by more."""
        return up_each(self.regret, self.rounds)

    def as_dict(self) -> dict[str, float | None]:
        """Return the numbers, averages included; None for infinity and NaN."""
        averages = ("average_loss", "average_floor", "average_regret")
        numbers = asdict(self) | {name: getattr(self, name) for name in averages}
        return {
            name: value if value is not None and math.isfinite(value) else None
            for name, value in numbers.items()
        }


class Trial:
    """A learner, the points at which it was looked at, and what its predictions were worth.

    >>> import noregret as nr
    >>> learner = nr.MirrorDescent(nr.losses.Hinge(), nr.mirrors.Ball(1), nr.rates.Constant(1))
    >>> trial = Trial(learner)
    >>> _ = learner.learn([[1.0, 0.0]], [1])
    >>> trial.look().rounds, len(trial.points)
    (1, 1)
    """

    def __init__(
        self,
        learner: Learner,
        radius: Callable[[], float] | None = None,
        metrics: Metrics | None = None,
        name: str = "",
        plain: bool = False,
    ) -> None:
        """Make a trial; without a radius, floors are over the learner's own set or size.

        With `plain`, points are about the loss without the penalty that strongly convex rounds
        carry, so that learners with and without one can be compared [default: False].
        """
        self.learner = learner
        self.radius = radius
        self.metrics = metrics
        self.name = name
        self.plain = plain
        self.points: list[Point] = []
        #: Called with the scores made at each row whose class is new, see `learn_block`.
        self.on_new: Callable[[Vector], object] | None = None
        #: The error that stopped the learner, if one did.
        self.failure = ""

    def __repr__(self) -> str:
        return f"<Trial of {self.learner!r}, {len(self.points)} points>"

    def _repr_html_(self) -> str:
        """Return the numbers of the last point for a notebook."""
        from noregret.evaluate.comparing import Comparison

        return Comparison((self,))._repr_html_()

    def learn(self, block: Block) -> Vector:
        """Let the learner predict and learn the rows; return the predictions."""
        predictions = learn_block(self.learner, block, self.on_new)
        if self.metrics is not None:
            self.metrics.add(block.y, predictions, block.weight)
        return predictions

    def look(self) -> Point:
        """Note where the learner stands."""
        # A run looks often: it takes the lines of blocks that are found soonest.
        quickly = {"thorough": False} if getattr(self.learner, "blocks", False) else {}
        certificate = self.learner.certificate(**quickly)
        if self.plain:
            certificate = certificate.plain()
        radius = (certificate.radius or 0.0) if self.radius is None else self.radius()
        point = Point(
            rounds=int(certificate.rounds),
            loss=float(certificate.loss),
            mistakes=int(certificate.mistakes),
            radius=radius,
            floor=float(certificate.floor(radius)),
            regret=float(certificate.regret_bound(radius)),
            rate=_rate(certificate),
        )
        self.points.append(point)
        return point


def _rate(certificate: Certificate) -> float | None:
    """Return the rate in force, where the certificate keeps one that means something."""
    evidence = getattr(certificate, "evidence", None)
    return None if evidence is None else evidence.rate(certificate.ledger)


def marks(per_doubling: int = 1) -> Iterator[int]:
    """Yield the rounds to look at: powers of two, and as many as asked for between them.

    >>> from itertools import islice
    >>> list(islice(marks(), 5)), list(islice(marks(2), 7))
    ([1, 2, 4, 8, 16], [1, 2, 3, 4, 6, 8, 11])
    """
    last = 0
    for step in count():
        # ldexp keeps the powers of two exact however far the stream runs
        doublings, part = divmod(step, per_doubling)
        mark = round(math.ldexp(2.0 ** (part / per_doubling), doublings))
        if mark > last:
            last = mark
            yield mark


def parts(blocks: Iterable[Block], at: Iterator[int], seen: int = 0) -> Iterator[Block | int]:
    """Yield the blocks cut at the marks, and after the last part before a mark its number.

    `seen` is how many examples came before; cutting changes nothing for a learner.
    """
    mark = next(mark for mark in at if mark > seen)
    for block in blocks:
        start = 0
        while start < len(block):
            stop = min(len(block), start + mark - seen)
            yield block.rows(start, stop)
            seen += stop - start
            start = stop
            if seen == mark:
                yield mark
                mark = next(at)


def watch(
    trials: Sequence[Trial], blocks: Iterable[Block], at: Iterator[int] | None = None
) -> Iterator[int]:
    """Let all learners learn the blocks; look at them at each mark and at the end.

    Yields the number of examples seen at each look. The blocks are read once, whatever the
    number of learners. A learner that diverges is left behind and says so in `failure`.
    """
    seen = looked = 0
    for part in parts(blocks, marks() if at is None else at):
        if isinstance(part, int):
            looked = seen
            _look(trials)
            yield seen
            continue
        _learn(trials, part)
        seen += len(part)
    if seen > looked:
        _look(trials)
        yield seen


def _learn(trials: Sequence[Trial], part: Block) -> None:
    """Let all learners learn a block, several at a time if it is large."""

    def learn_one(k: int, _: int) -> None:
        try:
            if not trials[k].failure:
                trials[k].learn(part)
        except OverflowError as error:
            if len(trials) == 1:
                raise
            trials[k].failure = str(error)

    # A learner that is compared with itself learns twice, one time after the other.
    learners = len({id(trial.learner) for trial in trials})
    numbers = len(part.indices) * learners if learners == len(trials) else 0
    Shards.of_tasks(len(trials), numbers).each(len(trials), learn_one)


def _look(trials: Sequence[Trial]) -> None:
    for trial in trials:
        if not trial.failure:
            trial.look()


def follow(
    learner: Learner,
    blocks: Iterable[Block],
    radius: Callable[[], float] | None = None,
    at: Iterator[int] | None = None,
) -> Iterator[Point]:
    """Learn the blocks in order; yield a point at each mark and one at the end."""
    trial = Trial(learner, radius)
    for _ in watch([trial], blocks, at):
        yield trial.points[-1]

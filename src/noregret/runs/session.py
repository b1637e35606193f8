"""One run of a learner over its input: passes, held-out examples, saves, and where it stands."""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterator
from functools import partial
from itertools import count, groupby
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from noregret.evaluate import Holdout, Metrics, Point, Trial, marks, metrics_for
from noregret.evaluate.holdout import in_turn
from noregret.evaluate.row_sample import RowSample, is_much_worse
from noregret.evaluate.trial import parts
from noregret.runs.interrupt import Interruption
from noregret.runs.opening import margins
from noregret.runs.record import Record, class_names
from noregret.scoring.growing import learn_block, predicted
from noregret.streams import Block, Stream
from noregret.streams.fingerprint import fingerprint
from noregret.vocabulary.learners import Learner

#: Number of features up to which every progress point is shown, and up to which every power of
#: two is: computing a certificate costs time in proportion to the features.
_SMALL, _LARGE = 1 << 12, 1 << 20
#: Beyond that a progress point needs at least one example for this many features.
_WORTH = 64


class PredictionWriter(Protocol):
    """Takes the predictions of a run, in the order of the examples."""

    def numbers(self, values: npt.NDArray[np.float64]) -> None:
        """Take margins or values."""

    def classes(self, numbers: npt.NDArray[np.intp], names: list[str]) -> None:
        """Take classes by number, with the names known so far."""


class Session:
    """A learner, its stream and the record of both; `run` yields the points looked at."""

    def __init__(
        self,
        learner: Learner,
        stream: Stream,
        record: Record,
        *,
        save: Path | None = None,
        save_every: int = 0,
        checked: bool = False,
        on_made: Callable[[Block, npt.NDArray[np.float64]], None] | None = None,
        on_new: Callable[[npt.NDArray[np.float64]], object] | None = None,
    ) -> None:
        """Take up a run where its record stands.

        Args:
            learner: what learns.
            stream: the current input of the record.
            record: the run so far.
            save: where to write the model, None for nowhere.
            save_every: write it after every N examples, 0 for never.
            checked: keep a fingerprint of the examples, for a model that is saved later on.
            on_made: called with the examples and predictions of every pass, held-out ones too.
            on_new: called before with the scores made at each row whose class is new.
        """
        self.learner = learner
        self.stream = stream
        self.record = record
        self.save_to = save
        #: Rows of the first pass, to measure the weights that are saved.
        self.sample = None if save is None else RowSample()
        self._save_every = save_every
        self._on_made, self._on_new = on_made, on_new
        # Only a model file or a replay has a use for fingerprints.
        self._checked = checked or save is not None or on_made is not None
        #: Takes the predictions of the first pass.
        self.predictions: PredictionWriter | None = None
        if record.ended:
            # Where an earlier run ended is no mark: an unbroken one would not have looked there.
            record.points.pop()
            record.ended = False
        self._holdout = Holdout(**record.current.holdout)
        self.metrics = metrics_for(learner.loss, record.metrics)
        self.trial = Trial(learner, metrics=self.metrics)
        self.trial.points, self.trial.on_new = record.points, on_new
        self.held: Metrics = metrics_for(learner.loss, record.held_metrics)
        self._several = learner.loss.labels == "class"
        self.on_part: Callable[[], None] = lambda: None
        #: Whether blocks are to be ended before the next example.
        self._closing = False

    def run(self, interruption: Interruption, passes: int = 1, skip: int = 0) -> Iterator[Point]:
        """Learn what is left of the input, `skip` of its examples already seen."""
        position = self.record.position
        saves = count(self._save_every, self._save_every) if self._save_every else iter(())
        # A replay ends blocks where the run did, which looked at its end before it saved.
        closed = frozenset(self.record.closed)
        cuts = (cut for cut, _ in groupby(heapq.merge(marks(4), saves, sorted(closed))))
        blocks = self._blocks(interruption, passes, skip)
        for part in parts(blocks, cuts, position.total):
            if not isinstance(part, int):
                self._learn(part)
                self.on_part()
                interruption.act()
                continue
            if self._is_mark(part) and self._moved():
                yield self._look()
            self._closing = part in closed
            if self._save_every and part % self._save_every == 0:
                self.save()

    def _is_mark(self, total: int) -> bool:
        """Whether a progress point is due after `total` examples."""
        if next(mark for mark in marks(4) if mark >= total) > total:
            return False
        dimension = self.learner.dimension * max(getattr(self.learner, "outputs", 1), 1)
        if dimension <= _SMALL:
            return True
        power = total & (total - 1) == 0
        return power and (dimension <= _LARGE or dimension <= _WORTH * total)

    def _look(self) -> Point:
        total = self.record.position.total
        fixed = self.record.radius_at(total, self._is_mark(total))
        self.trial.radius = None if fixed is None else lambda: fixed
        return self.trial.look()

    def _moved(self) -> bool:
        points = self.trial.points
        return self.learner.rounds > (points[-1].rounds if points else 0)

    def _blocks(self, interruption: Interruption, passes: int, skip: int) -> Iterator[Block]:
        position = self.record.position
        seen = check = 0
        while True:
            for block in interruption.awaited(self.stream):
                start = min(skip - seen, len(block)) if seen < skip else 0
                if start:
                    check = fingerprint(block.rows(0, start), seen, check)
                seen += start
                if start < len(block):
                    self._require_same(skip, check)
                    check = skip = 0
                    yield block.rows(start, len(block))
            if seen < skip:
                raise ValueError(
                    f"{self.stream.name}: holds {seen:,} examples, and the model has seen "
                    f"{skip:,}: not the same input"
                )
            self._require_same(skip, check)
            skip = 0
            if position.passes >= passes:
                return
            position.turn()

    def _require_same(self, skip: int, check: int) -> None:
        if skip and check != self.record.position.check:
            raise ValueError(
                f"{self.stream.name}: its first {skip:,} examples are not those that the model "
                "has seen: not the same input"
            )

    def end_blocks(self) -> None:
        """End the blocks of rows held back, if a run that is replayed did so here."""
        if self._closing:
            self.learner.close_block()
            self._closing = False

    def _learn(self, block: Block) -> None:
        self.end_blocks()
        position = self.record.position
        first_pass = position.passes == 1
        if not first_pass and position.examples == 0:
            # The same examples are measured again, by a learner that knows more.
            self.held = metrics_for(self.learner.loss)
        held = self._holdout.held(position.examples, position.examples + len(block))
        learn = (
            self.trial.learn
            if first_pass
            else partial(learn_block, self.learner, on_new=self._on_new)
        )
        made = in_turn(block, held, learn, self._measure) if held.any() else learn(block)
        if self._on_made is not None:
            self._on_made(block, made)
        if self.sample is not None and first_pass:
            self.sample.add(block, made)
        if self._checked:
            position.check = fingerprint(block, position.examples, position.check)
        position.examples += len(block)
        position.total += len(block)
        if self._several:
            position.classes = max(position.classes, int(block.y.max()) + 1)
        # Last: an output that cannot be written leaves a learner and a record that agree.
        if self.predictions is not None and first_pass:
            if self._several:
                self.predictions.classes(predicted(made), class_names(self.stream.label_map))
            else:
                self.predictions.numbers(made)

    def _measure(self, block: Block) -> npt.NDArray[np.float64]:
        predictions: npt.NDArray[np.float64] = self.learner.predict(block)
        self.held.add(block.y, predictions, block.weight)
        return predictions

    def finish(self) -> Point:
        """Return the point at which the run stands at its end."""
        if self._moved():
            # A run that was interrupted at a mark, before the look there, has ended at a mark.
            self.record.ended = not self._is_mark(self.record.position.total)
            self._look()
        self.end_blocks()
        return self.trial.points[-1]

    def save(self) -> None:
        """Write the model, if a place was given."""
        if self.save_to is not None:
            self.note()
            self.record.save(self.learner, self.save_to)

    def saved_scores(self) -> dict[str, Any] | None:
        """Return what the weights at the end say of a sample of the examples; None if not saved.

        `progressive` are the metrics of the predictions made before each of them was learnt,
        `last` those by the weights at the end, `average` those by the average of all weights.
        """
        if self.sample is None or not self.sample:
            return None
        ways: dict[str, Any] = {"progressive": None, "last": self.learner.predict}
        if self.record.spec.average:
            kept = self.learner.average  # type: ignore[union-attr]
            ways["average"] = lambda block: margins(block, kept)
        found = {how: self.sample.measured(self.learner.loss, way) for how, way in ways.items()}
        worse = is_much_worse(found["progressive"], found["last"])
        return {"average": None, **found, "much_worse": worse}

    def note(self) -> None:
        """Put into the record what the stream has found out, and the measures."""
        record = self.record
        record.note(self.stream)
        record.metrics = self.metrics.arrays()
        record.held_metrics = self.held.arrays() if self._holdout else {}

"""All inputs of a model once more, in order, through a fresh learner."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from noregret.arguments import refuse
from noregret.evaluate import Holdout
from noregret.evaluate.holdout import select
from noregret.runs.interrupt import Interruption
from noregret.runs.opening import joined
from noregret.runs.progress import Clock
from noregret.runs.record import MEMORY, STANDARD_INPUT, Input, Position, Record
from noregret.runs.session import Session
from noregret.streams import Block, Stream
from noregret.streams.errors import StreamError


class NotChecked(Exception):
    """Why the statements of a model cannot be checked: an input is gone, or is another one."""


def places(record: Record, given: list[str], model: Path) -> dict[str, str]:
    """Return where each file that was learnt is now: as given, else as recorded or by the model.

    Raises `NotChecked` for one that cannot be read again.
    """
    names = record.sources
    if given and set(given) != set(names):
        if len(given) != len(names):
            raise ValueError(
                f"{model}: was learnt from {', '.join(names)}, and {len(given)} files are given: "
                "name as many, in this order, or none to read these"
            )
        return dict(zip(names, given, strict=True))
    found = {}
    for name in names:
        near = model.parent / name
        tried = [Path(name), near, near.with_name(Path(name).name)]
        there = name if name == STANDARD_INPUT else next((p for p in tried if p.exists()), None)
        refuse(
            {
                "it was learnt from standard input, which cannot be read again: name a file with "
                "the same examples": name == STANDARD_INPUT and name not in given,
                "it was learnt from objects in memory: give the same ones again": name == MEMORY,
                f"{name}: it was learnt and is gone; name the file where it is now": there is None,
            },
            NotChecked,
        )
        found[name] = str(there)
    return found


@dataclass
class Part:
    """The rows that were learnt from one input, and how many of them in each pass."""

    rows: Block
    lengths: list[int] = field(default_factory=list)

    @property
    def multiplicity(self) -> npt.NDArray[np.float64]:
        """How often each row was learnt."""
        often = np.zeros(len(self.rows))
        for length in self.lengths:
            often[:length] += 1.0
        return often


@dataclass
class Replay:
    """A fresh learner that learns every input of a record as the record says.

    Attributes:
        record: what is replayed.
        open_input: opens the stream of an input.
        on_learnt: called with rows as they are learnt, and the predictions made before.
        on_new: called before with the scores made at each row whose class is new.
        session: the last session, at the end of all inputs.
        parts: what was learnt from each input.
    """

    record: Record
    open_input: Callable[[Input], Stream]
    on_learnt: Callable[[Block, npt.NDArray[np.float64]], None]
    on_new: Callable[[npt.NDArray[np.float64]], object]
    session: Session = field(init=False)
    parts: list[Part] = field(default_factory=list)

    def run(self) -> None:
        """Learn all inputs; raise `NotChecked` where one is not what was learnt."""
        record = self.record
        learner = record.spec.make()
        again = Record(record.spec, [], record.floor_radii, closed=record.closed)
        reached = Position()
        for one in record.inputs:
            if self.parts:
                self.session.end_blocks()
            reached = Position(total=reached.total, classes=reached.classes)
            again.inputs.append(one.following(position=reached))
            self._learn(learner, one, again)
        self.session.finish()

    def _learn(self, learner: Any, one: Input, again: Record) -> None:
        stream = self.open_input(one)
        rows = _Rows(stream, one, self.on_learnt)
        self.session = session = Session(
            learner,
            rows,  # type: ignore[arg-type]
            again,
            on_made=rows.take,
            on_new=self.on_new,
        )
        begun, passes = again.position.total, one.position.passes
        clock = Clock(stream, passes)
        session.on_part = lambda: clock.reached(again.position.total - begun, len(rows.lengths) - 1)
        try:
            for _ in session.run(Interruption(), passes):
                pass
        except StreamError as error:
            raise NotChecked(f"{error}; {stream.name} changed since it was learnt") from error
        finally:
            clock.clear()
        for number, (found, known) in enumerate(
            zip(again.position.course, one.position.course, strict=True), 1
        ):
            if found != known:
                where = f", pass {number}" if passes > 1 else ""
                raise NotChecked(
                    f"{stream.name}{where}: its first {known[0]:,} examples are not those that "
                    "were learnt: it changed since"
                )
        session.note()
        self.parts.append(Part(joined(rows.blocks), rows.lengths))


class _Rows:
    """A stream of which every pass ends where it ended when it was learnt."""

    def __init__(self, stream: Stream, one: Input, on_learnt: Any) -> None:
        self._stream = stream
        self._course = one.position.course
        self._holdout = Holdout(**one.holdout)
        self._on_learnt = on_learnt
        #: The rows that were learnt, each once.
        self.blocks: list[Block] = []
        #: Rows learnt in each pass that was begun.
        self.lengths: list[int] = []
        #: Rows of the pass so far, and the most of any pass: a file may have grown in between.
        self._seen = self._most = 0

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)

    def __iter__(self) -> Iterator[Block]:
        wanted, _ = self._course[len(self.lengths)]
        self.lengths.append(0)
        self._seen = 0
        left = wanted
        if left == 0:
            return
        for block in self._stream:
            block = block.rows(0, min(left, len(block)))
            left -= len(block)
            yield block
            if left == 0:
                return
        raise NotChecked(
            f"{self._stream.name}: holds {wanted - left:,} examples, and {wanted:,} of it were "
            "learnt: it changed since"
        )

    def take(self, block: Block, made: npt.NDArray[np.float64]) -> None:
        """Keep the rows that were learnt, each once, and pass them on with the predictions."""
        begin, end = self._seen, self._seen + len(block)
        learnt = ~self._holdout.held(begin, end)
        self._seen = end
        if learnt.any():
            rows = select(block, learnt)
            self.lengths[-1] += len(rows)
            self._on_learnt(rows, made[learnt])
        if end > self._most:
            new = max(self._most - begin, 0)
            self.blocks.append(select(block.rows(new, len(block)), learnt[new:]))
            self._most = end

"""Marks: put learners back to an earlier moment, at less cost than copies of them where possible.

A learner with a method `_mark(rows)` returns what puts it back to this moment, after it has learnt
some of these rows or refused them, or None if only a copy can.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from noregret.arrays import Vector
from noregret.rows.examples import Rows

Undo: TypeAlias = Callable[[], None]

#: Records are saved one by one if the rows have at most this part of them.
_FEW = 0.25


def marked(learner: Any, rows: Rows | None) -> Undo:
    """Return what puts a learner back to this moment: a copy of it, or less if it knows the rows.

    >>> import noregret as nr
    >>> learner = nr.catalogue.ogd(nr.losses.Squared(), 0.1)
    >>> undo = marked(learner, None)
    >>> _ = learner.learn([[1.0]], [1.0])
    >>> undo()
    >>> learner.rounds
    0
    """
    own = getattr(learner, "_mark", None)
    undo: Undo | None = None if own is None or rows is None else own(rows)
    if undo is not None:
        return undo
    # Copy the learner, not its attributes: arrays may be views of one another.
    kept = copy.deepcopy(learner)

    def back() -> None:
        vars(learner).clear()
        vars(learner).update(vars(kept))

    return back


def together(undos: Sequence[Undo]) -> Undo:
    """Return what does all of these."""

    def back() -> None:
        for undo in undos:
            undo()

    return back


def with_attributes(owners: Sequence[Any], undo: Undo) -> Undo:
    """Return what puts the attributes of objects back, too, as they are now."""
    kept = [(owner, dict(vars(owner))) for owner in owners]

    def back() -> None:
        undo()
        for owner, attributes in kept:
            vars(owner).update(attributes)

    return back


def saved(arrays: Sequence[Vector]) -> Undo:
    """Return what writes these arrays as they are now.

    >>> array = np.zeros(2)
    >>> undo = saved([array])
    >>> array[0] = 1.0
    >>> undo()
    >>> array
    array([0., 0.])
    """
    kept = [(array, array.copy()) for array in arrays]

    def back() -> None:
        for array, before in kept:
            array[...] = before

    return back


def saved_records(state: Vector, places: npt.NDArray[np.uint32]) -> Undo:
    """Return what writes these records as they are now."""
    before = state[places]

    def back() -> None:
        state[places] = before

    return back


def features_of(rows: Rows, dimension: int) -> npt.NDArray[np.uint32] | None:
    """Return the features of rows, None if these are so many that all may be saved at once.

    >>> from noregret.rows.examples import as_rows
    >>> from scipy.sparse import csr_array
    >>> features_of(as_rows(csr_array([[0.0] * 7 + [1.0]])), 8)
    array([7], dtype=uint32)
    """
    if rows.dense or rows.stored > _FEW * dimension:
        return None
    return rows.indices[int(rows.indptr[0]) : int(rows.indptr[-1])]


def learn_or_undo(
    mark: Callable[[int, int], Undo], start: int, stop: int, play: Callable[[int, int], None]
) -> None:
    """Call play(start, stop), by which learners learn these rows, or undo it on an error.

    `mark(start, stop)` returns what puts them back. After ValueError no row was learnt. After
    OverflowError all have learnt the rows before the first row that one of them refuses, which is
    found by bisection.
    """
    undo = mark(start, stop)
    try:
        play(start, stop)
    except (OverflowError, ValueError) as refusal:
        undo()
        if isinstance(refusal, ValueError) or stop - start <= 1:
            raise
        middle = (start + stop) // 2
        learn_or_undo(mark, start, middle, play)
        learn_or_undo(mark, middle, stop, play)

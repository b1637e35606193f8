"""Several classes: learners that grow where one appears, and the classes that scores stand for.

A class is the number of a column of the scores. Where a class was not known when a prediction
was made, its score is -inf. Labels have the codes of classes in the order in which they become
known.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Sequence
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt

from noregret.arrays import Vector
from noregret.streams import Block

Codes = npt.NDArray[np.intp]

#: Kinds of labels that may be compared with one another.
_NUMBERS, _TEXT, _BYTES = "biuf", "UTO", "S"


def codes_of(y: npt.NDArray[Any], classes: npt.NDArray[Any]) -> tuple[Codes, bool]:
    """Return the place of each label among the classes, and whether all have one; -1 is none.

    >>> codes, known = codes_of(np.array(["b", "c", "a"]), np.array(["b", "a"]))
    >>> codes.tolist(), known
    ([0, -1, 1], False)
    """
    if y.dtype != classes.dtype and len(classes):
        kinds = {y.dtype.kind, classes.dtype.kind}
        if not any(kinds <= set(group) for group in (_NUMBERS, _TEXT, _BYTES)):
            raise ValueError(
                f"y holds labels of type {y.dtype}, expected what the classes are: {classes.dtype}"
            )
    if len(classes) == 2:
        # The case of most streams, in which nothing need be sorted.
        first, second = y == classes[0], y == classes[1]
        codes: Codes = second.astype(np.intp)
        if np.count_nonzero(first) + np.count_nonzero(second) == len(y):
            return codes, True
        known = first | second
    elif len(classes):
        order = np.argsort(classes)
        places = np.minimum(np.searchsorted(classes, y, sorter=order), len(classes) - 1)
        codes = order[places]
        known = classes[codes] == y
    else:
        codes, known = np.zeros(len(y), np.intp), np.zeros(len(y), bool)
    codes[~known] = -1
    return codes, bool(known.all())


def new_classes(y: npt.NDArray[Any], codes: Codes) -> npt.NDArray[Any]:
    """Return the labels that have no code, in the order of their rows.

    >>> new_classes(np.array([5, 9, 2, 9]), np.array([0, -1, -1, -1])).tolist()
    [9, 2]
    """
    try:
        labels, first = np.unique(y[codes < 0], return_index=True)
    except TypeError as error:
        raise ValueError(f"y holds labels of several types, expected one: {error}") from None
    return labels[np.argsort(first)]


def with_more(known: npt.NDArray[Any], more: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Return the classes known and more of them, in a type that holds all as they are.

    >>> with_more(np.array(["a"]), np.array(["bc"])).tolist()
    ['a', 'bc']
    """
    if not len(known) or not len(more):
        return known if len(known) else more
    both = np.concatenate([known, more])
    for part, kept in ((known, both[: len(known)]), (more, both[len(known) :])):
        if part.dtype != both.dtype and not (kept.astype(part.dtype) == part).all():
            raise ValueError(
                f"y holds labels of type {more.dtype}, which with classes of type {known.dtype} "
                "could not be told apart"
            )
    return both


def require_classes(labels: npt.NDArray[Any]) -> None:
    """Refuse labels that are measurements: one class a row would be learnt."""
    if labels.dtype.kind == "f" and (labels != np.floor(labels)).any():
        first = labels[labels != np.floor(labels)][0]
        raise ValueError(
            f"Unknown label type: continuous; y holds {first:g}, expected whole numbers or names"
        )


def with_labels(known: Iterable[Any], labels: Iterable[Any]) -> dict[Any, int]:
    """Return the codes of labels of any hashable kind, those that are new in their order.

    Of booleans both are known as soon as one is, False first.

    >>> with_labels(["b"], ["b", "c", True])
    {'b': 0, 'c': 1, False: 2, True: 3}
    """
    found = dict.fromkeys(known)
    for label in labels:
        if label is None or not isinstance(label, Hashable) or label != label:
            raise ValueError(
                f"y is {label!r}, expected a label that can be the key of a dictionary"
            )
        found |= dict.fromkeys((False, True) if isinstance(label, bool | np.bool_) else (label,))
    return {label: code for code, label in enumerate(found)}


def learn_block(
    learner: Any, block: Block, on_new: Callable[[Vector], object] | None = None
) -> Vector:
    """Let a learner learn the rows; return the predictions made before each.

    One that can grow does so at the row where a class first appears, however the stream is cut.
    Nobody can have predicted that class there, whatever score it then began with: that of the
    row's loss, with which `on_new` is called.

    >>> import noregret as nr
    >>> from noregret.streams import Block
    >>> learner = nr.MatrixDescent(nr.losses.MulticlassHinge(), rate=nr.rates.Constant(1))
    >>> block = Block(np.arange(4, dtype=np.uint64), np.zeros(3, np.uint32), np.ones(3),
    ...     np.array([0.0, 1.0, 0.0]), width=1)
    >>> learn_block(learner, block)
    array([[-inf, -inf],
           [  0., -inf],
           [ -1.,   1.]])
    """
    if not hasattr(learner, "grow") or not len(block):
        made: Vector = learner.learn(block, block.y, block.weight)
        return made
    codes = block.y.astype(np.intp)
    width = max(int(codes.max()) + 1, learner.outputs)
    scores = np.full((len(block), width), -np.inf)
    for start, stop in segments(codes, learner.outputs):
        known = learner.outputs
        if codes[start] >= known:
            learner.grow(int(codes[start]) + 1)
        part = block.rows(start, stop)
        made = learner.learn(part, part.y, part.weight)
        scores[start:stop, : made.shape[1]] = made
        if codes[start] >= known:
            scores[start, known:] = -np.inf
            if on_new is not None:
                on_new(made[0])
    return scores


def segments(codes: Codes, known: int) -> Iterable[tuple[int, int]]:
    """Return (start, stop) of parts in which only the first row may bring a class that is new.

    codes: the class of each row; known: how many classes were known before.

    >>> list(segments(np.array([0, 1, 0, 2, 3]), 2))
    [(0, 3), (3, 4), (4, 5)]
    """
    highest = np.maximum.accumulate(np.maximum(codes, known - 1))
    starts = (np.flatnonzero(np.diff(highest)) + 1).tolist()
    return pairwise([0, *starts, len(codes)]) if len(codes) else ()


def stacked(parts: Sequence[Vector]) -> Vector:
    """Return predictions one after the other, unknown classes with a score of -inf.

    >>> stacked([np.zeros((1, 1)), np.ones((1, 2))])
    array([[  0., -inf],
           [  1.,   1.]])
    """
    if parts[0].ndim == 1:
        return np.concatenate(parts)
    width = max(part.shape[1] for part in parts)
    return np.concatenate([widened(part, width) for part in parts])


def widened(scores: Vector, width: int) -> Vector:
    """Return scores of `width` classes, those that are not known -inf."""
    unknown = ((0, 0), (0, width - scores.shape[1]))
    return np.pad(scores, unknown, constant_values=-np.inf)


def predicted(scores: Vector) -> npt.NDArray[np.intp]:
    """Return the class of the largest score of each row, the first of equals; -1 for none.

    >>> predicted(np.array([[0.0, 1.0, 1.0], [-np.inf, -np.inf, -np.inf]])).tolist()
    [1, -1]
    """
    if not scores.shape[1]:
        return np.full(len(scores), -1, np.intp)
    best: npt.NDArray[np.intp] = scores.argmax(axis=1)
    best[np.isneginf(scores[np.arange(len(scores)), best])] = -1
    return best

"""Labels in the order in which they become known, and their places: the codes of classes."""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from typing import Any

import numpy as np
import numpy.typing as npt

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
    if known.all():
        return codes, True
    codes[~known] = -1
    return codes, False


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

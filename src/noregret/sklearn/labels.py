"""Classes in the order in which they become known, and the weights of their rows."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from noregret.jit import kernel

Codes = npt.NDArray[np.intp]
Vector = npt.NDArray[np.float64]

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


@kernel
def _balance(codes, weight, counts, totals, result):  # type: ignore[no-untyped-def]
    for t in range(codes.shape[0]):
        k = codes[t]
        if counts[k] == 0.0:
            totals[1] += 1.0
        counts[k] += weight[t]
        totals[0] += weight[t]
        result[t] = weight[t] * (totals[0] / (totals[1] * counts[k]))


class Balance:
    """Balanced weights on the run: n / (K n_k) for a row of class k, itself counted.

    n is the weight of all rows so far, n_k that of its class, K the number of classes among
    them, as in scikit-learn's rule for all rows at once.

    >>> Balance().learn(np.array([0, 0, 1, 0]), np.ones(4), 2).tolist()
    [1.0, 1.0, 1.5, 0.6666666666666666]
    """

    def __init__(self) -> None:
        self.counts = np.zeros(0)
        self.totals = np.zeros(2)

    def learn(self, codes: Codes, weight: Vector, classes: int) -> Vector:
        """Count the rows; return the weight of each."""
        self.counts = np.concatenate([self.counts, np.zeros(classes - len(self.counts))])
        result = np.empty(len(codes))
        _balance(codes, weight, self.counts, self.totals, result)
        return result

    def copy(self) -> Balance:
        """Return one that counts on from here."""
        other = Balance()
        other.counts, other.totals = self.counts.copy(), self.totals.copy()
        return other


class Weighed(NamedTuple):
    """Rows with the weights of their classes, and all rows counted by class, these included."""

    #: The weights that were given, None for 1 each.
    given: Vector | None
    #: Those multiplied by the weights of the classes, None for 1 each.
    weight: Vector | None
    balance: Balance

    def place(self, learnt: int) -> int:
        """Return the place of the row after `learnt` learnt ones, rows of weight 0 left out.

        >>> Weighed(None, np.array([1.0, 0.0, 1.0]), Balance()).place(1)
        2
        """
        return learnt if self.weight is None else int(np.flatnonzero(self.weight)[learnt])

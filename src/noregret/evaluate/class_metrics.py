"""What scores of several classes are worth, in memory that does not grow with the stream."""

from __future__ import annotations

import numpy as np

from noregret.arrays import Vector
from noregret.evaluate.weighing import Arrays, Reliability, Repeats, Weighed
from noregret.losses.links import Link
from noregret.scoring.growing import widened

#: Largest number of classes for which a confusion matrix is kept.
CONFUSED = 64


class Multiclass(Weighed):
    """Accuracy, macro F1 and log loss of scores, a column a class.

    A class is right where its score is above all others: a tie is wrong, as in the mistakes of a
    certificate, and so is the first row of a class, which the scores did not know. Macro F1 is
    the mean of 2 right / (rows of the class + rows taken for it) over the classes that occur. The
    log loss is over rows whose class was known, where the scores mean probabilities.

    >>> metrics = Multiclass()
    >>> scores = np.array([[2.0, 1.0, 0.0], [0.0, 1.0, 1.0], [0.0, 3.0, 1.0]])
    >>> metrics.add(np.array([0.0, 1.0, 1.0]), scores)
    >>> {name: round(value, 3) for name, value in metrics.summary().items()}
    {'examples': 3.0, 'weight': 3.0, 'accuracy': 0.667, 'macro_f1': 0.833, 'repeat_error': 0.667}
    >>> metrics.confusion.tolist()
    [[1.0, 0.0, 0.0], [0.0, 1.0, 1.0], [0.0, 0.0, 0.0]]
    """

    def __init__(self, link: Link | None = None) -> None:
        self._link = link
        self._examples = 0
        #: Weight by class: of its rows, of those that were right, of rows taken for it.
        self._counts: Vector = np.zeros((3, 0))
        #: Weight by class, and by the class it was taken for; None for too many of them.
        self.confusion: Vector | None = np.zeros((0, 0))
        #: Log loss, and the weight of the rows that it is of.
        self._log: Vector = np.zeros(2)
        #: How often the class with the highest score was right at each probability of it; None
        #: where scores mean none, and for a run whose first part did not count it.
        self.reliability = None if link is None else Reliability()
        self._repeats = Repeats()

    def add(self, y: Vector, predictions: Vector, weight: Vector | None = None) -> None:
        """Count examples, each as often as its weight says."""
        if not len(y):
            return
        ones = self._weigh(len(y), weight)
        rows, classes = np.arange(len(y)), y.astype(np.intp)
        width = max(predictions.shape[1], int(classes.max()) + 1)
        scores = widened(predictions, width)
        self._enlarge(width)
        own = scores[rows, classes]
        others = scores.copy()
        others[rows, classes] = -np.inf
        rival = others.argmax(axis=1)
        highest = others[rows, rival]
        right = own > highest
        taken = np.where(right, classes, rival)
        # Where no score was known, the row was taken for nothing.
        made = right | ~np.isneginf(highest)
        # One after the other, so that cutting a stream changes no bit.
        np.add.at(self._counts[0], classes, ones)
        np.add.at(self._counts[1], classes[right], ones[right])
        np.add.at(self._counts[2], taken[made], ones[made])
        if self.confusion is not None:
            np.add.at(self.confusion, (classes[made], taken[made]), ones[made])
        if self._link is not None:
            every = self._link.logs(scores)
            logs = every[rows, classes]
            known = ~np.isneginf(own)
            for k, terms in enumerate((-logs[known] * ones[known], ones[known])):
                self._log[k] = np.add.accumulate(np.append(self._log[k], terms))[-1]
            if self.reliability is not None:
                # The likeliest class is the one that the row was taken for.
                likeliest = np.exp(every[rows, taken][made])
                self.reliability.add(likeliest, right[made].astype(np.float64), ones[made])
        if self._repeats is not None:
            self._repeats.add(y, ones)
        self._examples += len(y)

    def _enlarge(self, classes: int) -> None:
        more = classes - self._counts.shape[1]
        if more > 0:
            self._counts = np.pad(self._counts, ((0, 0), (0, more)))
            if self.confusion is not None:
                self.confusion = np.pad(self.confusion, (0, more))
        if classes > CONFUSED:
            self.confusion = None

    def summary(self) -> dict[str, float]:
        """Return the metrics by name; those that are not defined yet are left out."""
        rows, right, taken = self._counts
        result = {"examples": float(self._examples), "weight": float(rows.sum())}
        if result["weight"] > 0.0:
            occurs = rows > 0.0
            result["accuracy"] = float(right.sum()) / result["weight"]
            scores = 2.0 * right[occurs] / (rows[occurs] + taken[occurs])
            result["macro_f1"] = float(scores.mean())
        if self._log[1] > 0.0:
            result["log_loss"] = float(self._log[0] / self._log[1])
            # A row whose class was new had no score of its own, and its log loss no value.
            left = result["weight"] - float(self._log[1])
            if left > 1e-9 * result["weight"]:
                result["log_loss_without"] = left
        return self._named(result)

    def arrays(self) -> Arrays:
        """Return all that is needed to go on later."""
        arrays: Arrays = {
            "examples": np.array([self._examples], np.int64),
            "counts": self._counts.copy(),
            "log": self._log.copy(),
            **self._shared(),
        }
        if self.reliability is not None:
            arrays["reliability"] = self.reliability.sums.copy()
        return arrays if self.confusion is None else arrays | {"confusion": self.confusion.copy()}

    def restore(self, arrays: Arrays) -> None:
        """Take up what `arrays` returned."""
        self._restore_shared(arrays)
        confusion = arrays.get("confusion")
        classes = arrays["counts"].shape[1]
        for array, shape in ((arrays["counts"], (3, classes)), (confusion, (classes, classes))):
            if array is not None and array.shape != shape:
                raise ValueError(f"metrics have shape {array.shape}, expected {shape}")
        self._examples = int(arrays["examples"][0])
        self._counts = arrays["counts"].copy()
        self._log = arrays["log"].reshape(2).copy()
        told = arrays.get("reliability")
        # Model files of earlier versions do not hold it.
        self.reliability = None if told is None else Reliability.restored(told)
        self.confusion = None if confusion is None else confusion.copy()

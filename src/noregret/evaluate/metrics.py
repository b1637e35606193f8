"""What predictions are worth, in memory that does not grow with the stream."""

from __future__ import annotations

import math
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from noregret.arrays import Vector
from noregret.evaluate.classes import Link, link_of, widened

Arrays = dict[str, npt.NDArray[Any]]

#: Bits of a single-precision number that name its bin: the sign, 8 of exponent, 9 of mantissa.
_BITS = 18
#: Largest number of classes for which a confusion matrix is kept.
CONFUSED = 64


class Metrics(Protocol):
    """Running sums over labels and the predictions made for them."""

    def add(self, y: Vector, predictions: Vector, weight: Vector | None = None) -> None:
        """Count examples, each as often as its weight says."""

    def summary(self) -> dict[str, float]:
        """Return the metrics by name; those that are not defined yet are left out.

        `examples` counts them; all else is by weight, and `weighted` says so if any is not 1.
        """

    def arrays(self) -> Arrays:
        """Return all that is needed to go on later."""

    def restore(self, arrays: Arrays) -> None:
        """Take up what `arrays` returned."""


def metrics_for(loss: Any) -> Metrics:
    """Return the metrics for the `labels` of a loss: "sign", "class" or "real"."""
    if loss.labels == "class":
        return Multiclass(link_of(loss))
    return Classification() if loss.labels == "sign" else Regression()


def score_bins(scores: Vector) -> npt.NDArray[np.int64]:
    """Return the bin of each score; a larger score never has a smaller bin.

    Scores of one sign share a bin if they agree in the exponent and nine bits of the
    mantissa in single precision, hence are at most a factor 1 + 2^-9 apart.

    >>> bins = score_bins(np.array([-1.0, -0.0, 0.0, 1.0, 1.001, 1.01]))
    >>> bool(bins[0] < bins[1] == bins[2] < bins[3] == bins[4] < bins[5])
    True
    """
    with np.errstate(over="ignore"):
        # Adding zero makes one zero of the two.
        single = (scores + 0.0).astype(np.float32)
    bits = single.view(np.int32)
    # The bits of negative numbers count downwards; this makes them count upwards.
    ordered = bits ^ ((bits >> 31) & np.int32(0x7FFFFFFF))
    return (ordered >> (32 - _BITS)).astype(np.int64) + (1 << (_BITS - 1))


class _Weighed:
    """Whether any example had a weight other than 1: measures are then sums over weights."""

    _is_weighted = False

    def _weigh(self, count: int, weight: Vector | None) -> Vector:
        """Return the weights of `count` examples, 1 by default, and note any other than 1."""
        if weight is None:
            return np.ones(count)
        self._is_weighted = self._is_weighted or bool((weight != 1.0).any())
        return weight

    def _named(self, summary: dict[str, float]) -> dict[str, float]:
        """Return the measures, and beside them `weighted` where they are."""
        return summary | {"weighted": True} if self._is_weighted else summary

    def _flag(self) -> Arrays:
        return {"weighted": np.array([self._is_weighted], np.uint8)}

    def _restore_flag(self, arrays: Arrays) -> None:
        self._is_weighted = bool(arrays["weighted"][0])


class Classification(_Weighed):
    """Accuracy, F1 and the area under the ROC curve of margins for labels -1 and +1.

    A margin of zero is wrong whatever the label, as in the mistakes of a certificate. The area
    is a rank statistic: pairs whose scores share one of 2^18 bins count one half, so that it is
    known up to `auc_error` = (share of such pairs) / 2 and no further assumption.

    >>> metrics = Classification()
    >>> metrics.add(np.array([1.0, -1.0, 1.0, -1.0]), np.array([2.0, 0.5, 0.25, -1.0]))
    >>> summary = metrics.summary()
    >>> summary["accuracy"], round(summary["f1"], 3), summary["auc"], summary["auc_error"]
    (0.75, 0.8, 0.75, 0.0)
    """

    def __init__(self) -> None:
        #: Weight of the examples: rows by label, columns by whether the margin was right.
        self._counts: Vector = np.zeros((2, 2))
        self._examples = 0
        self._scores: Vector = np.zeros((2, 1 << _BITS))

    def add(self, y: Vector, predictions: Vector, weight: Vector | None = None) -> None:
        """Count examples, each as often as its weight says."""
        ones = self._weigh(len(y), weight)
        positive = (y > 0.0).astype(np.int64)
        right = (y * predictions > 0.0).astype(np.int64)
        self._counts += np.bincount(2 * positive + right, ones, 4).reshape(2, 2)
        np.add.at(self._scores.reshape(-1), (positive << _BITS) + score_bins(predictions), ones)
        self._examples += len(y)

    def summary(self) -> dict[str, float]:
        """Return the metrics by name; those that are not defined yet are left out."""
        (false_positive, true_negative), (false_negative, true_positive) = self._counts.tolist()
        negative, positive = false_positive + true_negative, false_negative + true_positive
        result = {"examples": float(self._examples), "weight": negative + positive}
        if result["weight"] > 0.0:
            result["accuracy"] = (true_negative + true_positive) / result["weight"]
        marked = 2.0 * true_positive + false_positive + false_negative
        if marked > 0.0:
            result["f1"] = 2.0 * true_positive / marked
        if negative > 0.0 and positive > 0.0:
            below = np.cumsum(self._scores[0]) - self._scores[0]
            won = float(self._scores[1] @ below)
            tied = float(self._scores[1] @ self._scores[0])
            pairs = float(self._scores[0].sum()) * float(self._scores[1].sum())
            result["auc"] = (won + 0.5 * tied) / pairs
            result["auc_error"] = 0.5 * tied / pairs
        return self._named(result)

    def arrays(self) -> Arrays:
        """Return all that is needed to go on later."""
        used = np.flatnonzero(self._scores.any(axis=0))
        return {
            "examples": np.array([self._examples], np.int64),
            "counts": self._counts.copy(),
            "bins": used.astype(np.uint32),
            "scores": self._scores[:, used].copy(),
            **self._flag(),
        }

    def restore(self, arrays: Arrays) -> None:
        """Take up what `arrays` returned."""
        self._restore_flag(arrays)
        self._examples = int(arrays["examples"][0])
        self._counts = arrays["counts"].reshape(2, 2).copy()
        self._scores = np.zeros((2, 1 << _BITS))
        self._scores[:, arrays["bins"].astype(np.int64)] = arrays["scores"]


class Multiclass(_Weighed):
    """Accuracy, macro F1 and log loss of scores, a column a class.

    A class is right where its score is above all others: a tie is wrong, as in the mistakes of a
    certificate, and so is the first row of a class, which the scores did not know. Macro F1 is
    the mean of 2 right / (rows of the class + rows taken for it) over the classes that occur. The
    log loss is over rows whose class was known, where the scores mean probabilities.

    >>> metrics = Multiclass()
    >>> scores = np.array([[2.0, 1.0, 0.0], [0.0, 1.0, 1.0], [0.0, 3.0, 1.0]])
    >>> metrics.add(np.array([0.0, 1.0, 1.0]), scores)
    >>> {name: round(value, 3) for name, value in metrics.summary().items()}
    {'examples': 3.0, 'weight': 3.0, 'accuracy': 0.667, 'macro_f1': 0.833}
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
            logs = self._link(scores)[rows, classes]
            known = ~np.isneginf(own)
            for k, terms in enumerate((-logs[known] * ones[known], ones[known])):
                self._log[k] = np.add.accumulate(np.append(self._log[k], terms))[-1]
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
            **self._flag(),
        }
        return arrays if self.confusion is None else arrays | {"confusion": self.confusion.copy()}

    def restore(self, arrays: Arrays) -> None:
        """Take up what `arrays` returned."""
        self._restore_flag(arrays)
        confusion = arrays.get("confusion")
        classes = arrays["counts"].shape[1]
        for array, shape in ((arrays["counts"], (3, classes)), (confusion, (classes, classes))):
            if array is not None and array.shape != shape:
                raise ValueError(f"metrics have shape {array.shape}, expected {shape}")
        self._examples = int(arrays["examples"][0])
        self._counts = arrays["counts"].copy()
        self._log = arrays["log"].reshape(2).copy()
        self.confusion = None if confusion is None else confusion.copy()


class Regression(_Weighed):
    """Root mean squared and mean absolute error, and the share of the variance explained.

    >>> metrics = Regression()
    >>> metrics.add(np.array([1.0, 2.0, 4.0]), np.array([1.0, 3.0, 2.0]))
    >>> {name: round(value, 3) for name, value in metrics.summary().items()}
    {'examples': 3.0, 'weight': 3.0, 'rmse': 1.291, 'mae': 1.0, 'r2': -0.071}
    """

    def __init__(self) -> None:
        # Examples, weight, |error|, error^2, mean label, sum of squares about that mean.
        self._sums: Vector = np.zeros(6)

    def add(self, y: Vector, predictions: Vector, weight: Vector | None = None) -> None:
        """Count examples, each as often as its weight says."""
        ones = self._weigh(len(y), weight)
        heavy = float(ones.sum())
        self._sums[0] += len(y)
        if heavy == 0.0:
            return
        with np.errstate(over="ignore"):
            error = np.abs(y - predictions)
            self._sums[2] += float(ones @ error)
            self._sums[3] += float(ones @ (error * error))
            # Means of parts are merged, so that a large common offset of the labels cancels.
            mean = float(ones @ y) / heavy
            apart, before = mean - self._sums[4], self._sums[1]
            total = before + heavy
            self._sums[5] += float(ones @ (y - mean) ** 2) + apart * apart * before * heavy / total
            self._sums[4] += apart * heavy / total
        self._sums[1] = total

    def summary(self) -> dict[str, float]:
        """Return the metrics by name; those that are not defined yet are left out."""
        examples, weight, absolute, square, _, spread = self._sums.tolist()
        result = {"examples": examples, "weight": weight}
        if weight > 0.0:
            result["rmse"] = math.sqrt(square / weight)
            result["mae"] = absolute / weight
        if spread > 0.0:
            result["r2"] = 1.0 - square / spread
        return self._named(result)

    def arrays(self) -> Arrays:
        """Return all that is needed to go on later."""
        return {"sums": self._sums.copy(), **self._flag()}

    def restore(self, arrays: Arrays) -> None:
        """Take up what `arrays` returned."""
        self._restore_flag(arrays)
        self._sums = arrays["sums"].copy()

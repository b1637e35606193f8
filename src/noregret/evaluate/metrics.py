"""What predictions are worth, in memory that does not grow with the stream."""

from __future__ import annotations

import math
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from noregret.arrays import Vector
from noregret.evaluate.class_metrics import Multiclass
from noregret.evaluate.sample import Sample
from noregret.evaluate.weighing import Arrays, Reliability, Repeats, Weighed
from noregret.losses import Logistic
from noregret.losses.links import link_of, logistic

#: Bits of a single-precision number that name its bin: the sign, 8 of exponent, 9 of mantissa.
_BITS = 18
#: The bits of the largest number in single precision.
_LARGEST = 0x7F7FFFFF


class Metrics(Protocol):
    """Running sums over labels and the predictions made for them."""

    def add(self, y: Vector, predictions: Vector, weight: Vector | None = None) -> None:
        """Count examples, each as often as its weight says."""

    def summary(self) -> dict[str, float]:
        """Return the metrics by name; those that are not defined yet are left out.

        `examples` counts them; all else is by weight, and `weighted` says so if any is not 1.
        `repeat_error` is the share of mistakes of a predictor that repeats the label before.
        """

    def arrays(self) -> Arrays:
        """Return all that is needed to go on later."""

    def restore(self, arrays: Arrays) -> None:
        """Take up what `arrays` returned."""


def metrics_for(loss: Any, kept: Arrays | None = None) -> Metrics:
    """Return the metrics for the `labels` of a loss: "sign", "class" or "real".

    Args:
        loss: the loss of the learner.
        kept: what `arrays` of earlier metrics returned, to go on with [default: nothing].
    """
    metrics: Metrics = Regression()
    if loss.labels == "class":
        metrics = Multiclass(link_of(loss))
    elif loss.labels == "sign":
        metrics = Classification(probabilities=type(loss) is Logistic)
    if kept:
        metrics.restore(kept)
    return metrics


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


def bin_scores(bins: npt.NDArray[np.int64]) -> Vector:
    """Return the score in the middle of each bin of `score_bins`.

    >>> scores = np.array([-7.5, -1e-9, 0.3, 12.0])
    >>> bool((np.abs(bin_scores(score_bins(scores)) / scores - 1.0) < 2.0**-9).all())
    True
    """
    ordered = (bins - (1 << (_BITS - 1))) << (32 - _BITS) | (1 << (31 - _BITS))
    # Zero has a bin of its own, but for numbers that single precision can hardly tell from it.
    ordered[bins == 1 << (_BITS - 1)] = 0
    # The last bins hold infinity, of which the middle is no number.
    bits = np.clip(ordered, ~_LARGEST, _LARGEST).astype(np.int32)
    single = (bits ^ ((bits >> 31) & np.int32(0x7FFFFFFF))).view(np.float32)
    return np.asarray(single, np.float64)


class Classification(Weighed):
    """Accuracy, F1 and the area under the ROC curve of margins for labels -1 and +1.

    A margin of zero is wrong whatever the label, as in the mistakes of a certificate. The area
    is a rank statistic: pairs whose scores share one of 2^18 bins count one half, so that it is
    known up to `auc_error` = (share of such pairs) / 2 and no further assumption.

    >>> metrics = Classification()
    >>> metrics.add(np.array([1.0, -1.0, 1.0, -1.0]), np.array([2.0, 0.5, 0.25, -1.0]))
    >>> summary = metrics.summary()
    >>> summary["accuracy"], round(summary["f1"], 3), summary["auc"], summary["auc_error"]
    (0.75, 0.8, 0.75, 0.0)
    >>> metrics.confusion.tolist()
    [[1.0, 1.0], [0.0, 2.0]]
    """

    def __init__(self, probabilities: bool = False) -> None:
        """Start with no examples.

        Args:
            probabilities: whether 1 / (1 + exp(-margin)) is meant as the probability of +1, as
                with the logistic loss [default: False].
        """
        self._probabilities = probabilities
        #: Weight of the examples: rows by label, columns by whether the margin was right.
        self._counts: Vector = np.zeros((2, 2))
        self._examples = 0
        self._scores: Vector = np.zeros((2, 1 << _BITS))
        self._repeats = Repeats()

    def add(self, y: Vector, predictions: Vector, weight: Vector | None = None) -> None:
        """Count examples, each as often as its weight says."""
        ones = self._weigh(len(y), weight)
        positive = (y > 0.0).astype(np.int64)
        right = (y * predictions > 0.0).astype(np.int64)
        self._counts += np.bincount(2 * positive + right, ones, 4).reshape(2, 2)
        np.add.at(self._scores.reshape(-1), (positive << _BITS) + score_bins(predictions), ones)
        if self._repeats is not None:
            self._repeats.add(y, ones)
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

    @property
    def confusion(self) -> Vector:
        """Weight by label, -1 and +1, and by what it was taken for; a margin of 0 is wrong."""
        (false_positive, true_negative), (false_negative, true_positive) = self._counts
        return np.array([[true_negative, false_positive], [false_negative, true_positive]])

    def scores(self) -> tuple[Vector, Vector, Vector]:
        """Return margins that occurred, ascending, and the weight of -1 and of +1 at each.

        Margins that share a bin of `score_bins` are one; it is in the middle of the bin.
        """
        used = np.flatnonzero(self._scores.any(axis=0))
        return bin_scores(used), self._scores[0, used], self._scores[1, used]

    @property
    def reliability(self) -> Reliability | None:
        """How often +1 came at each predicted probability of it, None if margins mean none.

        Probabilities are those of the middle of a margin's bin: right to 0.001.
        """
        if not self._probabilities:
            return None
        margins, negative, positive = self.scores()
        weight, result = negative + positive, Reliability()
        result.add(logistic(margins)[:, 1], positive / weight, weight)
        return result

    def arrays(self) -> Arrays:
        """Return all that is needed to go on later."""
        used = np.flatnonzero(self._scores.any(axis=0))
        return {
            "examples": np.array([self._examples], np.int64),
            "counts": self._counts.copy(),
            "bins": used.astype(np.uint32),
            "scores": self._scores[:, used].copy(),
            **self._shared(),
        }

    def restore(self, arrays: Arrays) -> None:
        """Take up what `arrays` returned."""
        self._restore_shared(arrays)
        self._examples = int(arrays["examples"][0])
        self._counts = arrays["counts"].reshape(2, 2).copy()
        self._scores = np.zeros((2, 1 << _BITS))
        self._scores[:, arrays["bins"].astype(np.int64)] = arrays["scores"]


class Regression(Weighed):
    """Root mean squared and mean absolute error, and the share of the variance explained.

    >>> metrics = Regression()
    >>> metrics.add(np.array([1.0, 2.0, 4.0]), np.array([1.0, 3.0, 2.0]))
    >>> {name: round(value, 3) for name, value in metrics.summary().items()}
    {'examples': 3.0, 'weight': 3.0, 'rmse': 1.291, 'mae': 1.0, 'r2': -0.071}
    """

    def __init__(self) -> None:
        # Examples, weight, |error|, error^2, mean label, sum of squares about that mean.
        self._sums: Vector = np.zeros(6)
        #: Some of the examples, for pictures; None for a run whose first part kept none.
        self.sample: Sample | None = Sample()

    def add(self, y: Vector, predictions: Vector, weight: Vector | None = None) -> None:
        """Count examples, each as often as its weight says."""
        ones = self._weigh(len(y), weight)
        heavy = float(ones.sum())
        if self.sample is not None:
            self.sample.add(y, predictions)
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
        kept = {} if self.sample is None else self.sample.arrays()
        return {"sums": self._sums.copy(), **kept, **self._shared()}

    def restore(self, arrays: Arrays) -> None:
        """Take up what `arrays` returned."""
        self._restore_shared(arrays)
        self._sums = arrays["sums"].copy()
        # Model files of earlier versions hold no sample.
        self.sample = Sample.restored(arrays) if "sample" in arrays else None

"""Pictures of progressive predictions: ROC, precision and recall, reliability."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from noregret.arrays import Vector
from noregret.evaluate.class_metrics import Multiclass
from noregret.evaluate.metrics import Classification
from noregret.evaluate.trial import Trial
from noregret.plot.canvas import FLOOR_COLOR, INK, LINE, LOSS_COLOR, SOFT, canvas, percent

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def metrics_of(run: Any, *kinds: type[Any]) -> Any:
    """Return the metrics of a trial, or those given, if they are of one of these kinds."""
    metrics = run.metrics if isinstance(run, Trial) else run
    if not isinstance(metrics, kinds):
        expected = " or ".join(kind.__name__ for kind in kinds)
        raise ValueError(
            f"found {type(metrics).__name__}, expected the metrics {expected} of "
            "noregret.evaluate, or a trial that has them"
        )
    return metrics


def _counts(run: Trial | Classification) -> tuple[Vector, Vector, int]:
    """Return the weight of -1 and of +1 above each threshold, falling, and where 0 is."""
    margins, negative, positive = metrics_of(run, Classification).scores()
    if not (negative.sum() > 0.0 and positive.sum() > 0.0):
        raise ValueError("these curves need examples of both labels, found one at most")
    false, true = (np.cumsum(np.append(0.0, part[::-1])) for part in (negative, positive))
    return false, true, int((margins > 0.0).sum())


def roc(run: Trial | Classification, *, ax: Axes | None = None, title: str = "") -> Axes:
    """Draw the ROC curve of the predictions made before each update.

    A stair is a bin of margins that differ by a factor of at most 1 + 2^-9; the dot is where
    labels are predicted by the sign of the margin.

    Args:
        run: a trial with metrics, or `Classification`.
        ax: axes to draw on [default: those of a new figure].
        title: the title [default: names the area].
    """
    false, true, zero = _counts(run)
    area = metrics_of(run, Classification).summary()["auc"]
    with canvas(ax, title or f"ROC, area {area:.4f}") as axes:
        axes.plot([0, 1], [0, 1], color=SOFT, linewidth=1.2, linestyle=(0, (4, 3)))
        x, y = false / false[-1], true / true[-1]
        axes.plot(x, y, color=LOSS_COLOR, linewidth=2, clip_on=False)
        axes.plot(x[zero], y[zero], "o", color=FLOOR_COLOR, clip_on=False, label="margin 0")
        _unit(axes)
        axes.set_xlabel("false positives, of all negatives")
        axes.set_ylabel("true positives, of all positives")
        axes.legend(frameon=False, labelcolor=INK, loc="lower right")
        return axes


def precision_recall(
    run: Trial | Classification, *, ax: Axes | None = None, title: str = ""
) -> Axes:
    """Draw precision against recall of the predictions made before each update.

    The dashed line is the share of positives: the precision of guessing.

    Args:
        run: a trial with metrics, or `Classification`.
        ax: axes to draw on [default: those of a new figure].
        title: the title [default: names the average precision].
    """
    false, true, zero = _counts(run)
    precision, recall = true[1:] / (true[1:] + false[1:]), true / true[-1]
    average = float(np.diff(recall) @ precision)
    with canvas(ax, title or f"Precision and recall, average {average:.4f}") as axes:
        base = true[-1] / (true[-1] + false[-1])
        axes.axhline(base, color=SOFT, linewidth=1.2, linestyle=(0, (4, 3)))
        axes.step(recall[1:], precision, color=LOSS_COLOR, linewidth=2, where="pre", clip_on=False)
        if zero:
            at = recall[zero], precision[zero - 1]
            axes.plot(*at, "o", color=FLOOR_COLOR, clip_on=False, label="margin 0")
            axes.legend(frameon=False, labelcolor=INK, loc="lower left")
        _unit(axes)
        axes.set_xlabel("recall")
        axes.set_ylabel("precision")
        return axes


def reliability(
    run: Trial | Classification | Multiclass,
    classes: Sequence[str] = ("−1", "+1"),
    *,
    ax: Axes | None = None,
    title: str = "Reliability",
) -> Axes:
    """Draw how often what was predicted with a probability happened, in tenths.

    Of two classes it is the probability of +1, of several that of the likeliest class. A dot is
    as large as its share of the examples; on the dashed line probabilities mean what they say.

    Args:
        run: a trial with metrics, `Classification` or `Multiclass`, of a logistic loss.
        classes: names of two classes, the negative one first [default: -1 and +1].
        ax: axes to draw on [default: those of a new figure].
        title: the title.
    """
    metrics = metrics_of(run, Classification, Multiclass)
    if metrics.reliability is None:
        raise ValueError(
            "these predictions mean no probabilities: Logistic, Softmax and "
            "OneAgainstRest(Logistic()) give some"
        )
    probability, share, weight = metrics.reliability.table()
    if not len(weight):
        raise ValueError("there are no predictions to compare with what happened")
    of = "the likeliest class" if isinstance(metrics, Multiclass) else classes[1]
    with canvas(ax, title) as axes:
        axes.plot([0, 1], [0, 1], color=SOFT, linewidth=1.2, linestyle=(0, (4, 3)))
        axes.plot(probability, share, color=LOSS_COLOR, linewidth=1.2, clip_on=False)
        sizes = 12.0 + 300.0 * weight / weight.sum()
        axes.scatter(
            probability, share, s=sizes, color=LOSS_COLOR, alpha=0.75, linewidth=0, zorder=3,
            clip_on=False,
        )  # fmt: skip
        _unit(axes)
        axes.set_xlabel(f"predicted probability of {of}", parse_math=False)
        axes.set_ylabel("share that came true")
        return axes


def _unit(axes: Axes) -> None:
    axes.set_xlim(0.0, 1.0)
    axes.set_ylim(0.0, 1.0)
    axes.grid(axis="x", color=LINE, linewidth=0.7)
    percent(axes.xaxis)
    percent(axes.yaxis)

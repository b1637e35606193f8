"""Pictures of predicted numbers: against the true ones, and what is left between them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from noregret import evaluate
from noregret.arrays import Vector
from noregret.evaluate.metrics import Regression
from noregret.evaluate.trial import Trial
from noregret.plot.canvas import FLOOR_COLOR, INK, LOSS_COLOR, canvas, plain
from noregret.plot.margins import metrics_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes

#: The share of the values, at each end, that may lie outside of a picture.
_OUTSIDE = 0.005


def _sample(run: Trial | evaluate.Regression) -> tuple[Vector, Vector, Vector, str]:
    metrics = metrics_of(run, Regression)
    if metrics.sample is None:
        raise ValueError("this run began before predictions were sampled: learn it anew")
    rounds, y, predictions = metrics.sample.table()
    if not len(rounds):
        raise ValueError("there are no predictions to draw")
    seen = int(metrics.summary()["examples"])
    some = f"{len(rounds):,} of {seen:,} rounds" if len(rounds) < seen else f"{seen:,} rounds"
    return rounds, y, predictions, some


def _span(values: Vector) -> tuple[float, float]:
    """Return the range of the values without the outermost, with a little room."""
    low, high = np.quantile(values, [_OUTSIDE, 1.0 - _OUTSIDE])
    room = 0.04 * (high - low) or 0.5 * abs(low) or 1.0
    return low - room, high + room


def _dots(axes: Axes, x: Vector, y: Vector) -> int:
    """Draw dots; return how many of them lie outside of the picture."""
    axes.scatter(x, y, s=7.0, color=LOSS_COLOR, alpha=min(1.0, 0.25 + 100.0 / len(x)), linewidth=0)
    (left, right), (low, high) = axes.get_xlim(), axes.get_ylim()
    return int(((x < left) | (x > right) | (y < low) | (y > high)).sum())


def _left_out(axes: Axes, some: str, outside: int) -> None:
    text = some + (f", {outside:,} outside" if outside else "")
    axes.text(
        1.0, 1.01, text, transform=axes.transAxes, ha="right", va="bottom", fontsize=8, color=INK
    )


def predictions(
    run: Trial | evaluate.Regression, *, ax: Axes | None = None, title: str = "Predicted and true"
) -> Axes:
    """Draw predictions made before each update against the true values.

    Of a long stream it is a random sample of 1,024 rounds or more, even over the stream; half a
    percent of the values at each end may lie outside, and are counted in the corner.

    Args:
        run: a trial with metrics, or `Regression`.
        ax: axes to draw on [default: those of a new figure].
        title: the title.
    """
    _, y, made, some = _sample(run)
    with canvas(ax, title) as axes:
        low, high = _span(np.concatenate([y, made]))
        axes.set_xlim(low, high)
        axes.set_ylim(low, high)
        axes.plot([low, high], [low, high], color=FLOOR_COLOR, linewidth=1.2)
        _left_out(axes, some, _dots(axes, y, made))
        plain(axes.xaxis)
        plain(axes.yaxis)
        axes.locator_params(axis="x", nbins=5)
        axes.set_xlabel("true")
        axes.set_ylabel("predicted")
        return axes


def residuals(
    run: Trial | evaluate.Regression, *, ax: Axes | None = None, title: str = "True minus predicted"
) -> Axes:
    """Draw what predictions made before each update missed, in the order of the stream.

    The rounds drawn are those of `predictions`.

    Args:
        run: a trial with metrics, or `Regression`.
        ax: axes to draw on [default: those of a new figure].
        title: the title.
    """
    rounds, y, made, some = _sample(run)
    with canvas(ax, title) as axes:
        axes.set_xlim(0.0, float(rounds[-1]) + 1.0)
        axes.set_ylim(*_span(y - made))
        axes.axhline(0.0, color=FLOOR_COLOR, linewidth=1.2)
        _left_out(axes, some, _dots(axes, rounds, y - made))
        plain(axes.xaxis)
        plain(axes.yaxis)
        axes.locator_params(axis="x", nbins=5)
        axes.set_xlabel("round")
        axes.set_ylabel("true minus predicted")
        return axes

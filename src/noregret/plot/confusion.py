"""A picture of which classes were taken for which."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from noregret.evaluate.class_metrics import CONFUSED, Multiclass
from noregret.evaluate.metrics import Classification
from noregret.evaluate.trial import Trial
from noregret.plot.canvas import INK, LOSS_COLOR, canvas, cut
from noregret.plot.margins import metrics_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes

#: Up to this many classes numbers are written into the picture.
WRITTEN = 10


def confusion(
    run: Trial | Classification | Multiclass,
    classes: Sequence[str] | None = None,
    *,
    ax: Axes | None = None,
    title: str = "Which class was taken for which",
) -> Axes:
    """Draw a square a pair of classes: the share of a row's class taken for the column's.

    Args:
        run: a trial with metrics, `Classification` or `Multiclass`.
        classes: the names of the classes; of two the negative one first [default: -1 and +1, or
            numbers].
        ax: axes to draw on [default: those of a new figure].
        title: the title.
    """
    metrics = metrics_of(run, Classification, Multiclass)
    if metrics.confusion is None:
        raise ValueError(f"a confusion matrix is kept of at most {CONFUSED} classes, met more")
    several = isinstance(metrics, Multiclass)
    count = len(metrics.confusion)
    usual = list(map(str, range(count))) if several else ["−1", "+1"]
    names = usual if classes is None else [str(name) for name in classes]
    # Of classes that were named but not met nothing is known, nor of a class without a name.
    count = min(count, len(names))
    counts, shown = metrics.confusion[:count, :count], cut(names[:count])
    if not count:
        raise ValueError("there are no predictions to draw")
    totals = counts.sum(axis=1, keepdims=True)
    shares = np.divide(counts, totals, out=np.zeros_like(counts), where=totals > 0.0)
    with canvas(ax, title, height=1.9 + 0.29 * min(count, 20)) as axes:
        from matplotlib.colors import LinearSegmentedColormap

        colors = LinearSegmentedColormap.from_list("shares", ["#ffffff", LOSS_COLOR])
        axes.imshow(shares, cmap=colors, vmin=0.0, vmax=1.0, aspect="auto")
        axes.grid(visible=False)
        places = list(range(count))
        turned = max(map(len, shown)) * count > 40
        axes.set_xticks(places, shown, rotation=90 if turned else 0, parse_math=False)
        axes.set_yticks(places, shown, parse_math=False)
        if count > WRITTEN:
            axes.tick_params(labelsize=8 if count <= 30 else 5)
        axes.set_xlabel("predicted")
        axes.set_ylabel("class")
        axes.tick_params(length=0)
        for row, column in np.argwhere(counts > 0.0).tolist() if count <= WRITTEN else ():
            share = shares[row, column]
            text = f"{share:.0%}" if count > 6 else f"{share:.1%}"
            few = "<1%" if count > 6 else "<0.1%"
            axes.text(
                column, row, few if share < (0.005 if count > 6 else 0.0005) else text,
                ha="center", va="center", fontsize=10 if count <= 4 else 8,
                color="#ffffff" if share > 0.5 else INK,
            )  # fmt: skip
        return axes

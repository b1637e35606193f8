"""A picture of which classes were taken for which."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from noregret.report.figures import LOSS_COLOR, new_figure

if TYPE_CHECKING:
    from matplotlib.figure import Figure

#: Up to this many classes numbers are written into the picture.
_WRITTEN = 12
#: Names are cut to this many letters.
_LETTERS = 16


def confusion_figure(names: Sequence[str], counts: npt.NDArray[np.float64]) -> Figure:
    """Return a square a pair of classes: the share of a row's class taken for the column's."""
    from matplotlib.colors import LinearSegmentedColormap

    totals = counts.sum(axis=1, keepdims=True)
    shares = np.divide(counts, totals, out=np.zeros_like(counts), where=totals > 0.0)
    shown = [name if len(name) <= _LETTERS else f"{name[: _LETTERS - 1]}…" for name in names]
    # A dollar sign in a name is no mathematics.
    shown = [name.replace("$", r"\$") for name in shown]
    places = list(range(len(names)))
    height = 2.2 + 4.0 * min(1.0, (len(names) + 3) / 15)
    title = "Which class was taken for which"
    with new_figure(title, "share of the examples of a row's class", height) as (figure, axes):
        colors = LinearSegmentedColormap.from_list("shares", ["#ffffff", LOSS_COLOR])
        axes.imshow(shares, cmap=colors, vmin=0.0, vmax=1.0, aspect="auto")
        axes.grid(visible=False)
        turned = max(map(len, shown)) * len(shown) > 60
        axes.set_xticks(places, shown, rotation=90 if turned else 0)
        axes.set_yticks(places, shown)
        axes.set_xlabel("predicted")
        axes.set_ylabel("class")
        axes.tick_params(length=0)
        if len(names) <= _WRITTEN:
            for row, column in np.argwhere(counts > 0.0).tolist():
                share = shares[row, column]
                ink = "#ffffff" if share > 0.5 else "#334155"
                text = f"{share:.1%}" if share >= 0.001 else "<0.1%"
                axes.text(column, row, text, ha="center", va="center", color=ink, fontsize=8)
        return figure

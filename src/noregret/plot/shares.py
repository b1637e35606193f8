"""Pictures of expert advice: who is believed, round by round."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from noregret.plot.canvas import canvas

if TYPE_CHECKING:
    from matplotlib.axes import Axes

#: At most this many experts get a colour and a name; the others are drawn as one.
MOST = 8
_COLOURS = (
    "#1b4965", "#ca6702", "#2f855a", "#9b2226", "#5fa8d3", "#bb9457", "#6d597a", "#588157"
)  # fmt: skip


def shares(
    weights: Any,
    names: Sequence[str] | None = None,
    *,
    ax: Axes | None = None,
    title: str = "Who is believed",
    subtitle: str = "",
) -> Axes:
    """Draw the weights of experts over time, stacked to 1.

    The experts with the largest mean weight come first, and those beyond the eighth together.

    Args:
        weights: a row a round, numbers >= 0 that sum to 1.
        names: of the experts [default: "expert 0", ...].
        ax: axes to draw on [default: those of a new figure].
        title: the title.
        subtitle: what the picture says, in a sentence [default: nothing].
    """
    table = np.asarray(weights, np.float64)
    if table.ndim != 2 or not table.size or np.any(~(table >= 0.0)):
        raise ValueError(f"weights must be rows of numbers >= 0, got the shape {table.shape}")
    count = table.shape[1]
    labels = [f"expert {i}" for i in range(count)] if names is None else list(names)
    if len(labels) != count:
        raise ValueError(f"names has {len(labels)} entries, expected {count}")
    order = np.argsort(-table.mean(axis=0), kind="stable")
    shown = order[: MOST if count <= MOST else MOST - 1]
    layers = [table[:, i] for i in shown]
    words = [labels[i] for i in shown]
    if len(shown) < count:
        layers.append(table[:, order[len(shown) :]].sum(axis=1))
        words.append(f"{count - len(shown)} others")
    with canvas(ax, title, subtitle) as axes:
        rounds = np.arange(1, len(table) + 1)
        axes.stackplot(rounds, layers, labels=words, colors=_COLOURS[: len(layers)])
        axes.set_xlim(1, max(len(table), 2))
        axes.set_ylim(0.0, 1.0)
        axes.set_xlabel("round")
        axes.set_ylabel("weight")
        axes.legend(loc="center left", bbox_to_anchor=(1.0, 0.5), frameon=False)
    return axes

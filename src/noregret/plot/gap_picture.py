"""The picture of a solver's gap."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from noregret.plot.canvas import INK, LOSS_COLOR, SOFT, canvas, logarithmic

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def gap(
    rounds: Sequence[Any], *, ax: Axes | None = None, title: str = "Gap to the best in hindsight"
) -> Axes:
    """Draw the relative duality gap of a run on shards beside the vectors added over them.

    Gaps that were examined are dots; between them visits only estimate the gap.

    Args:
        rounds: the `rounds` of a solution of `noregret.cluster`, at least one.
        ax: axes to draw on [default: those of a new figure].
        title: the title.
    """
    points = [(one.vectors, one.gap / max(1.0, abs(one.primal)), one.estimated) for one in rounds]
    seen = [(sums, value) for sums, value, _ in points if value > 0.0]
    exact = [(sums, value) for sums, value, estimated in points if value > 0.0 and not estimated]
    with canvas(ax, title) as axes:
        axes.set_xlabel("sums of vectors over all shards")
        axes.set_ylabel("gap, relative to the objective")
        if not seen:
            axes.text(0.5, 0.5, "closed from the start", transform=axes.transAxes, ha="center")
            return axes
        estimated = "estimated" if len(exact) < len(seen) else None
        axes.plot(*zip(*seen, strict=True), color=SOFT, linewidth=1.4, label=estimated)
        if exact:
            axes.plot(
                *zip(*exact, strict=True), color=LOSS_COLOR, linewidth=0, marker="o", markersize=4,
                label="examined",
            )  # fmt: skip
        low, high = min(value for _, value in seen), max(value for _, value in seen)
        logarithmic(axes.yaxis, low / 2.0, 2.0 * high)
        axes.set_ylim(low / 2.0, 2.0 * high)
        axes.legend(frameon=False, labelcolor=INK, loc="best")
        return axes

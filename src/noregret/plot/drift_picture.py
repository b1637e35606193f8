"""The picture of a drift proof: where in time it holds, and by how much."""

from __future__ import annotations

from typing import TYPE_CHECKING

from noregret.plot.canvas import (
    FLOOR_COLOR,
    LOSS_COLOR,
    PROVED_COLOR,
    canvas,
    name_ends,
    plain,
)
from noregret.rounding import down, up

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from noregret.tracking.drift import DriftProof


def drift(
    proof: DriftProof,
    *,
    ax: Axes | None = None,
    title: str = "Where no fixed predictor will do",
) -> Axes:
    """Draw the tracker's loss and the bound of all fixed predictors a round, window by window.

    Where the bound is above the loss, no fixed predictor of the ball does what the tracker did
    on that window: the height of the filled part is by how much a round, at least.

    Args:
        proof: what `nr.drift_proof(..., window=)` returned, with at least two windows.
        ax: axes to draw on [default: those of a new figure].
        title: the title.
    """
    windows = proof.windows
    if len(windows) < 2:
        raise ValueError(f"a picture needs at least two windows, got {len(windows)}: shorten them")
    proved = sum(span.proved for span in windows)
    subtitle = (
        f"{proved:,} of {len(windows):,} windows of {windows[0].rounds:,} rounds prove that no "
        "fixed predictor will do"
    )
    with canvas(ax, title, subtitle) as axes:
        places = [(span.first + span.last) / 2 for span in windows]
        losses = [span.average_loss for span in windows]
        bounds = [span.average_bound for span in windows]
        higher = [bound > loss for bound, loss in zip(bounds, losses, strict=True)]
        axes.fill_between(
            places, losses, bounds, where=higher, interpolate=True, color=PROVED_COLOR, alpha=0.3,
            linewidth=0,
        )  # fmt: skip
        width = 2.0 if len(windows) <= 200 else 1.2
        axes.plot(places, losses, color=LOSS_COLOR, linewidth=width)
        axes.plot(places, bounds, color=FLOOR_COLOR, linewidth=width)
        axes.set_xlim(proof.first, proof.last)
        axes.set_ylim(bottom=min(0.0, *bounds))
        axes.locator_params(axis="x", nbins=5)
        plain(axes.xaxis)
        axes.set_xlabel("round in the middle of the window")
        axes.set_ylabel("loss a round")
        fixed = "no fixed one\nless than,\nover all"
        tracker = "the tracker\nat most,\nover all"
        name_ends(
            axes,
            [
                (proof.average_bound, fixed, down(proof.average_bound, 4), FLOOR_COLOR),
                (proof.average_loss, tracker, up(proof.average_loss, 4), LOSS_COLOR),
            ],
        )
        return axes

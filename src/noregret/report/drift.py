"""The picture of a drift proof: where in time it holds, and by how much."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Protocol

from noregret.report.figures import FLOOR_COLOR, LOSS_COLOR, PROVED_COLOR, new_figure
from noregret.rounding import down, up

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


class Span(Protocol):
    """Rounds and what is proved about them, as `noregret.tracking.drift` returns it."""

    @property
    def first(self) -> int:
        """The first round, counted from 1."""

    @property
    def last(self) -> int:
        """The last round."""

    @property
    def rounds(self) -> int:
        """How many these are."""

    @property
    def average_loss(self) -> float:
        """The tracker's loss on them a round, rounded up."""

    @property
    def average_bound(self) -> float:
        """What every fixed predictor loses a round at least, rounded down."""

    @property
    def proved(self) -> bool:
        """Whether the first is below the second."""


def drift_figure(whole: Span, windows: Sequence[Span], title: str = "") -> Figure:
    """Return tracker's loss and static bound a round, window by window.

    Where the bound is above the loss, no fixed predictor of the ball does what the tracker did
    on that window: the height of the filled part is by how much a round, at least.
    """
    if len(windows) < 2:
        raise ValueError(f"a picture needs at least two windows, got {len(windows)}: shorten them")
    proved = sum(span.proved for span in windows)
    subtitle = (
        f"{proved:,} of {len(windows):,} windows of {windows[0].rounds:,} rounds prove that no "
        "fixed predictor will do"
    )
    with new_figure(title, subtitle) as (figure, axes):
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
        axes.set_xlim(whole.first, whole.last)
        axes.set_ylim(bottom=min(0.0, *bounds))
        axes.xaxis.set_major_formatter(lambda value, _: f"{value:,.0f}")
        axes.set_xlabel("round in the middle of the window")
        axes.set_ylabel("loss a round")
        _name_curves(axes, whole, losses[-1], bounds[-1])
        return figure


def _name_curves(axes: Axes, whole: Span, loss: float, bound: float) -> None:
    """Name both curves at the right, with their value over all rounds."""
    names = [
        (
            bound,
            "no fixed predictor\nless than, over all",
            down(whole.average_bound, 4),
            FLOOR_COLOR,
        ),
        (loss, "the tracker\nat most, over all", up(whole.average_loss, 4), LOSS_COLOR),
    ]
    # The label of the higher end hangs above it and the other below: they never meet.
    names.sort(key=lambda name: name[0])
    for (height, text, value, color), side in zip(names, ("top", "bottom"), strict=True):
        axes.annotate(
            f"{text}\n$\\mathbf{{{value}}}$",
            (whole.last, height),
            xytext=(7, 3 if side == "top" else -3),
            textcoords="offset points",
            va=side,
            color=color,
            annotation_clip=False,
        )

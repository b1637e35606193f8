"""Pictures of what a run lost and of what is proved about it."""

from __future__ import annotations

import math
import os
from collections.abc import Sequence
from decimal import ROUND_FLOOR, Decimal
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_LOSS = "#1b4965"
_FLOOR = "#ca6702"
_GAP = "#94a3b8"


def rounded_down(value: float, decimals: int) -> str:
    """Return a number cut to so many decimals towards minus infinity, as a floor must be.

    >>> rounded_down(0.29996, 3), rounded_down(-0.0001, 3), f"{0.29996:.3f}"
    ('0.299', '-0.001', '0.300')
    """
    return str(Decimal(value).quantize(Decimal(1).scaleb(-decimals), rounding=ROUND_FLOOR))


def draw(
    rounds: Sequence[int],
    losses: Sequence[float],
    floors: Sequence[float],
    path: str | os.PathLike[str],
    *,
    title: str = "",
    subtitle: str = "",
    ylabel: str = "loss a round",
) -> None:
    """Draw average loss and certified floor against the rounds; the gap is the proved regret.

    The format follows from the path (.png, .svg, .pdf). Needs matplotlib, which the extra
    `plot` installs.

    Args:
        rounds: rounds at which the two were read, ascending.
        losses: the learner's average loss up to each.
        floors: the certified floor up to each, a round.
        path: where to write.
        title: what the stream is.
        subtitle: what the picture says, in a sentence.
        ylabel: name and unit of the vertical axis.
    """
    import matplotlib
    from matplotlib.figure import Figure

    if not len(rounds) == len(losses) == len(floors) >= 2:
        raise ValueError(
            f"draw needs at least two rounds with a loss and a floor each, got {len(rounds)} "
            f"rounds, {len(losses)} losses, {len(floors)} floors"
        )
    style: Any = {
        "font.family": "sans-serif",
        "font.size": 10,
        "axes.spines.top": False,
        "axes.spines.right": False,
        "axes.edgecolor": "#64748b",
        "xtick.color": "#334155",
        "ytick.color": "#334155",
        "axes.labelcolor": "#334155",
        "svg.fonttype": "none",
    }
    with matplotlib.rc_context(style):
        figure = Figure(figsize=(7.2, 4.2), dpi=200, layout="constrained")
        axes = figure.add_subplot()
        axes.fill_between(rounds, floors, losses, color=_GAP, alpha=0.28, linewidth=0)
        axes.plot(rounds, losses, color=_LOSS, linewidth=2)
        axes.plot(rounds, floors, color=_FLOOR, linewidth=2)
        axes.set_xscale("log")
        axes.xaxis.set_major_formatter(lambda value, _: f"{value:,.0f}")
        axes.set_xlim(rounds[0], rounds[-1])
        if min(floors) >= 0.0:
            axes.set_ylim(bottom=0.0)
        axes.set_xlabel("examples seen")
        axes.set_ylabel(ylabel)
        axes.set_title(
            title,
            loc="left",
            fontsize=12,
            fontweight="bold",
            color="#0f172a",
            pad=26 if subtitle else 10,
        )
        axes.annotate(
            subtitle,
            (0, 1),
            xycoords="axes fraction",
            xytext=(0, 11),
            textcoords="offset points",
            color="#475569",
        )
        axes.grid(axis="y", color="#e2e8f0", linewidth=0.7)
        axes.set_axisbelow(True)
        _annotate(axes, rounds, losses, floors)
        figure.savefig(path)


def _annotate(
    axes: Axes,
    rounds: Sequence[int],
    losses: Sequence[float],
    floors: Sequence[float],
) -> None:
    """Name the curves where they end and the gap where it is wide enough to hold a word."""
    for text, values, shown, color, side in (
        ("average loss", losses, f"{losses[-1]:.3f}", _LOSS, "bottom"),
        ("certified floor", floors, rounded_down(floors[-1], 3), _FLOOR, "top"),
    ):
        # One label hangs above its curve's end and the other below: they never meet.
        axes.annotate(
            f"{text}\n$\\mathbf{{{shown}}}$",
            (rounds[-1], values[-1]),
            xytext=(7, -3 if side == "bottom" else 3),
            textcoords="offset points",
            va=side,
            color=color,
            annotation_clip=False,
        )
    # The words span about a fifth of the logarithmic axis; the middle of it is the place
    # where the narrowest gap under them is widest.
    logs = [math.log(t / rounds[0]) / math.log(rounds[-1] / rounds[0]) for t in rounds]
    gaps = [loss - floor for loss, floor in zip(losses, floors, strict=True)]

    def room(place: int) -> float:
        return min(gap for log, gap in zip(logs, gaps, strict=True) if abs(log - logs[place]) < 0.1)

    inside = [place for place, log in enumerate(logs) if 0.15 <= log <= 0.7]
    best = max(inside, key=room, default=len(rounds) // 2)
    axes.annotate(
        "proved regret",
        (rounds[best], (losses[best] + floors[best]) / 2),
        ha="center",
        va="center",
        color="#475569",
        style="italic",
    )

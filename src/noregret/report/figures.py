"""Pictures of a run: loss and floor, regret, mistakes, rates, and the largest weights."""

from __future__ import annotations

import math
import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from noregret.rounding import down

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.axis import Axis
    from matplotlib.figure import Figure

LOSS_COLOR = "#1b4965"
FLOOR_COLOR = "#ca6702"
_GAP = "#94a3b8"
_INK = "#334155"
PROVED_COLOR = "#2f855a"
_STYLE: Any = {
    "font.family": "sans-serif",
    "font.size": 10,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.edgecolor": "#64748b",
    "xtick.color": _INK,
    "ytick.color": _INK,
    "axes.labelcolor": _INK,
    "svg.fonttype": "none",
    # The same run gives the same file.
    "svg.hashsalt": "noregret",
}


def require_matplotlib() -> None:
    """Say in one line what is missing, before anything else is done."""
    try:
        import matplotlib  # noqa: F401
    except ImportError as error:
        raise ValueError("pictures need matplotlib: pip install 'noregret[plot]'") from error


@contextmanager
def style() -> Iterator[None]:
    """Apply the style of all pictures, while they are drawn and while they are written."""
    import matplotlib

    with matplotlib.rc_context(_STYLE):
        yield


@contextmanager
def new_figure(title: str, subtitle: str, height: float = 4.2) -> Iterator[tuple[Figure, Axes]]:
    """Yield a figure of our style with its axes, to be drawn on within the context."""
    from matplotlib.figure import Figure

    with style():
        figure = Figure(figsize=(7.2, height), dpi=200, layout="constrained")
        axes = figure.add_subplot()
        axes.set_title(
            title,
            loc="left",
            fontsize=12,
            fontweight="bold",
            color="#0f172a",
            pad=26 if subtitle else 10,
            # The title can be the name of a file: a dollar sign in it is no mathematics.
            parse_math=False,
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
        yield figure, axes


def _rounds_axis(axes: Axes, rounds: Sequence[int]) -> None:
    axes.set_xscale("log")
    axes.xaxis.set_major_formatter(lambda value, _: f"{value:,.0f}")
    if rounds[0] < rounds[-1]:
        axes.set_xlim(rounds[0], rounds[-1])
    axes.set_xlabel("examples seen")


def _plain(axis: Axis) -> None:
    """Write every tick in full: a common factor beside the axis would be overlooked."""
    axis.set_major_formatter(lambda value, _: f"{value:,g}")


def _logarithmic(axes: Axes) -> None:
    """Make the vertical axis logarithmic, with numbers as people write them."""
    axes.set_yscale("log")
    _plain(axes.yaxis)
    low, high = axes.get_ylim()
    few = high < 30.0 * low
    axes.yaxis.set_minor_formatter(
        lambda value, _: f"{value:g}" if few and f"{value:e}"[0] in "25" else ""
    )


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
    if not len(rounds) == len(losses) == len(floors) >= 2:
        raise ValueError(
            f"draw needs at least two rounds with a loss and a floor each, got {len(rounds)} "
            f"rounds, {len(losses)} losses, {len(floors)} floors"
        )
    figure = loss_figure(rounds, losses, floors, title, subtitle, ylabel)
    with style():
        figure.savefig(path)


def loss_figure(
    rounds: Sequence[int],
    losses: Sequence[float],
    floors: Sequence[float],
    title: str = "",
    subtitle: str = "",
    ylabel: str = "loss a round",
) -> Figure:
    """Return the picture that `draw` writes."""
    with new_figure(title, subtitle) as (figure, axes):
        axes.fill_between(rounds, floors, losses, color=_GAP, alpha=0.28, linewidth=0)
        axes.plot(rounds, losses, color=LOSS_COLOR, linewidth=2)
        axes.plot(rounds, floors, color=FLOOR_COLOR, linewidth=2)
        _rounds_axis(axes, rounds)
        if min(floors) >= 0.0:
            axes.set_ylim(bottom=0.0)
        axes.set_ylabel(ylabel)
        _plain(axes.yaxis)
        _annotate(axes, rounds, losses, floors)
        return figure


def _annotate(
    axes: Axes,
    rounds: Sequence[int],
    losses: Sequence[float],
    floors: Sequence[float],
) -> None:
    """Name the curves where they end and the gap where it is wide enough to hold a word."""
    for text, values, shown, color, side in (
        ("average loss", losses, f"{losses[-1]:.4g}", LOSS_COLOR, "bottom"),
        ("certified floor", floors, down(floors[-1], 4), FLOOR_COLOR, "top"),
    ):
        # Inside mathematics the sign of an exponent would stand apart.
        shown = shown.replace("e+0", "e").replace("e+", "e")
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
    low, high = axes.get_ylim()
    if room(best) < 0.07 * (high - low):
        return
    axes.annotate(
        "proved regret",
        (rounds[best], (losses[best] + floors[best]) / 2),
        ha="center",
        va="center",
        color="#475569",
        style="italic",
    )


def regret_figure(rounds: Sequence[int], regrets: Sequence[float]) -> Figure:
    """Return the proved regret a round beside the course of 1/sqrt(t)."""
    subtitle = "no predictor of the class did better by more; both axes are logarithmic"
    with new_figure("Proved regret a round", subtitle, 3.2) as (figure, axes):
        shown = [(t, value) for t, value in zip(rounds, regrets, strict=True) if value > 0.0]
        if shown:
            # Through the middle of the curve, so that neither end is far from it.
            level = math.exp(sum(math.log(v * math.sqrt(t)) for t, v in shown) / len(shown))
            axes.plot(
                *zip(*shown, strict=True), color=PROVED_COLOR, linewidth=2, label="proved regret"
            )
            axes.plot(
                [t for t, _ in shown],
                [level / math.sqrt(t) for t, _ in shown],
                color=_GAP,
                linewidth=1.2,
                linestyle=(0, (4, 3)),
                label="the slope of 1/√t",
            )
            _logarithmic(axes)
            axes.legend(frameon=False, labelcolor=_INK)
        _rounds_axis(axes, rounds)
        axes.set_ylabel("regret a round ≤")
        return figure


def mistakes_figure(rounds: Sequence[int], shares: Sequence[float]) -> Figure:
    """Return the share of mistakes up to each round."""
    with new_figure("Mistakes", "share of the rounds predicted wrongly, not weighted", 3.2) as (
        figure,
        axes,
    ):
        axes.plot(rounds, shares, color=LOSS_COLOR, linewidth=2)
        axes.set_ylim(bottom=0.0)
        axes.yaxis.set_major_formatter(lambda value, _: f"{value:.0%}")
        _rounds_axis(axes, rounds)
        return figure


def rate_figure(rounds: Sequence[int], rates: Sequence[float], name: str) -> Figure:
    """Return the learning rate in force at each round."""
    with new_figure("Learning rate", name, 3.2) as (figure, axes):
        axes.plot(rounds, rates, color=FLOOR_COLOR, linewidth=2)
        if min(rates) > 0.0 and max(rates) > min(rates):
            _logarithmic(axes)
        axes.set_ylabel("η")
        _rounds_axis(axes, rounds)
        return figure


def features_figure(names: Sequence[str], weights: Sequence[float]) -> Figure:
    """Return the largest weights as bars, the largest on top."""
    height = 1.3 + 0.24 * max(len(names), 3)
    with new_figure("Largest weights", "", height) as (figure, axes):
        colors = [LOSS_COLOR if weight > 0.0 else FLOOR_COLOR for weight in weights]
        places = range(len(names), 0, -1)
        axes.barh(list(places), list(weights), color=colors, height=0.68)
        shown = [name if len(name) <= 32 else name[:31] + "…" for name in names]
        # A dollar sign in a name is no mathematics.
        axes.set_yticks(list(places), [name.replace("$", r"\$") for name in shown])
        axes.set_ylim(0.4, len(names) + 0.6)
        axes.set_xlabel("weight")
        _plain(axes.xaxis)
        axes.axvline(0.0, color="#64748b", linewidth=0.8)
        axes.grid(axis="y", visible=False)
        axes.grid(axis="x", color="#e2e8f0", linewidth=0.7)
        axes.tick_params(axis="y", length=0)
        axes.spines["left"].set_visible(False)
        return figure

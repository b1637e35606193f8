"""Pictures of a run over its rounds: loss and floor, regret, mistakes, rate."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

from noregret.evaluate.trial import Point, Trial
from noregret.plot.canvas import (
    FLOOR_COLOR,
    INK,
    LOSS_COLOR,
    PROVED_COLOR,
    SOFT,
    canvas,
    logarithmic,
    name_ends,
    percent,
    plain,
    rounds_axis,
)
from noregret.rounding import down

if TYPE_CHECKING:
    from matplotlib.axes import Axes

#: The first rounds are all noise; a picture begins where there is something to learn from.
_FIRST = 10
#: Regrets below this part of the largest one leave the picture: rounding alone proves 1e-200.
_SMALLEST = 1e-4


def points_of(run: Trial | Sequence[Point]) -> list[Point]:
    """Return the points of a run without the first rounds, or refuse fewer than two."""
    given = list(run.points if isinstance(run, Trial) else run)
    later = [point for point in given if point.rounds >= _FIRST]
    points = later if len(later) >= 2 else given
    if len(points) < 2:
        raise ValueError(
            f"a picture over rounds needs at least two points, got {len(points)}: use "
            "nr.evaluate.progressive, or look more often"
        )
    return points


def loss(
    run: Trial | Sequence[Point],
    *,
    ax: Axes | None = None,
    title: str = "Loss and certified floor",
    subtitle: str = "",
    ylabel: str = "loss a round",
) -> Axes:
    """Draw average loss and certified floor over the rounds; the gap bounds the regret.

    Args:
        run: a trial, or the points of one, at least two.
        ax: axes to draw on [default: those of a new figure].
        title: what the stream is [default: what the picture shows].
        subtitle: what the picture says, in a sentence [default: nothing].
        ylabel: name and unit of the vertical axis [default: "loss a round"].
    """
    points = points_of(run)
    rounds = [point.rounds for point in points]
    losses = [point.average_loss for point in points]
    floors = [point.average_floor for point in points]
    with canvas(ax, title, subtitle) as axes:
        axes.fill_between(rounds, floors, losses, color=SOFT, alpha=0.28, linewidth=0)
        axes.plot(rounds, losses, color=LOSS_COLOR, linewidth=2)
        axes.plot(rounds, floors, color=FLOOR_COLOR, linewidth=2)
        rounds_axis(axes, rounds)
        if min(floors) >= 0.0:
            axes.set_ylim(bottom=0.0)
        axes.set_ylabel(ylabel)
        plain(axes.yaxis)
        name_ends(
            axes,
            [
                (floors[-1], "certified\nfloor", down(floors[-1], 4), FLOOR_COLOR),
                (losses[-1], "average\nloss", f"{losses[-1]:.4g}", LOSS_COLOR),
            ],
        )
        _name_gap(axes, rounds, losses, floors)
        return axes


def _name_gap(
    axes: Axes, rounds: Sequence[int], losses: Sequence[float], floors: Sequence[float]
) -> None:
    """Name the gap where it is wide enough to hold the words."""
    # The words span about a third of the logarithmic axis: what is above all floors and below
    # all losses under them is free.
    logs = [math.log(t / rounds[0]) / math.log(rounds[-1] / rounds[0]) for t in rounds]

    def free(place: int) -> tuple[float, float]:
        under = [k for k, log in enumerate(logs) if abs(log - logs[place]) < 0.22]
        return max(floors[k] for k in under), min(losses[k] for k in under)

    inside = [place for place, log in enumerate(logs) if 0.2 <= log <= 0.8]
    if not inside:
        return
    best = max(inside, key=lambda place: free(place)[1] - free(place)[0])
    bottom, top = free(best)
    low, high = axes.get_ylim()
    if top - bottom >= 0.1 * (high - low):
        axes.text(
            rounds[best], (bottom + top) / 2, "regret at most", ha="center", va="center",
            color="#475569", style="italic",
        )  # fmt: skip


def regret(
    run: Trial | Sequence[Point], *, ax: Axes | None = None, title: str = "Regret a round, at most"
) -> Axes:
    """Draw the upper bound on the regret a round beside the course of 1/sqrt(t).

    Both axes are logarithmic; what is below 1/10,000 of the largest regret leaves the picture.

    Args:
        run: a trial, or the points of one, at least two.
        ax: axes to draw on [default: those of a new figure].
        title: the title.
    """
    points = points_of(run)
    rounds = [point.rounds for point in points]
    largest = max(point.average_regret for point in points)
    with canvas(ax, title) as axes:
        rounds_axis(axes, rounds)
        axes.set_ylabel("regret a round ≤")
        if not 0.0 < largest < math.inf:
            axes.text(0.5, 0.5, f"{largest:g} at the most", transform=axes.transAxes, ha="center")
            return axes
        least = _SMALLEST * largest
        drawn = [max(point.average_regret, 1e-3 * least) for point in points]
        axes.plot(rounds, drawn, color=PROVED_COLOR, linewidth=2, label="regret at most")
        inside = [(t, v) for t, v in zip(rounds, drawn, strict=True) if v >= least]
        # Through the middle of the curve, so that neither end is far from it.
        level = math.exp(sum(math.log(v * math.sqrt(t)) for t, v in inside) / len(inside))
        axes.plot(
            rounds, [level / math.sqrt(t) for t in rounds], color=SOFT, linewidth=1.2,
            linestyle=(0, (4, 3)), label="the slope of 1/√t",
        )  # fmt: skip
        low, high = min(v for _, v in inside) / 1.6, largest * 1.6
        logarithmic(axes.yaxis, low, high)
        axes.set_ylim(low, high)
        axes.legend(frameon=False, labelcolor=INK, loc="best")
        return axes


def mistakes(
    run: Trial | Sequence[Point], *, ax: Axes | None = None, title: str = "Mistakes"
) -> Axes:
    """Draw the share of the rounds up to each that were predicted wrongly, not weighted.

    Args:
        run: a trial, or the points of one, at least two.
        ax: axes to draw on [default: those of a new figure].
        title: the title.
    """
    points = points_of(run)
    rounds = [point.rounds for point in points]
    shares = [point.mistakes / point.rounds for point in points]
    with canvas(ax, title) as axes:
        axes.plot(rounds, shares, color=LOSS_COLOR, linewidth=2)
        axes.set_ylim(0.0, 1.08 * max(*shares, 0.001))
        percent(axes.yaxis)
        rounds_axis(axes, rounds)
        axes.set_ylabel("share of the rounds so far")
        return axes


def rate(
    run: Trial | Sequence[Point], *, ax: Axes | None = None, title: str = "Learning rate"
) -> Axes:
    """Draw the learning rate in force at each round, the median where every feature has its own.

    Args:
        run: a trial, or the points of one, at least two of them with a rate.
        ax: axes to draw on [default: those of a new figure].
        title: the title.
    """
    points = [point for point in points_of(run) if point.rate is not None]
    rates = [point.rate or 0.0 for point in points]
    if len(points) < 2:
        raise ValueError("this run has no single learning rate to draw")
    with canvas(ax, title) as axes:
        axes.plot([p.rounds for p in points], rates, color=FLOOR_COLOR, linewidth=2)
        if min(rates) > 0.0 and max(rates) > min(rates):
            logarithmic(axes.yaxis, min(rates), max(rates))
        else:
            plain(axes.yaxis)
        axes.set_ylabel("η")
        rounds_axis(axes, [point.rounds for point in points])
        return axes

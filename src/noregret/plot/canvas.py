"""What all pictures share: the style, a place to draw on, ticks that people can read."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.axis import Axis
    from matplotlib.figure import Figure

LOSS_COLOR, FLOOR_COLOR, PROVED_COLOR = "#1b4965", "#ca6702", "#2f855a"
SOFT, INK, LINE = "#94a3b8", "#334155", "#e2e8f0"
#: Width and height of a picture in inches: also on a phone its text stays legible.
WIDTH, HEIGHT = 4.8, 3.3
#: Names are cut to this many letters.
_LETTERS = 28
_STYLE: Any = {
    "font.family": "sans-serif",
    "font.size": 10,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.edgecolor": "#64748b",
    "xtick.color": INK,
    "ytick.color": INK,
    "axes.labelcolor": INK,
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


def sheet(width: float = WIDTH, height: float = HEIGHT) -> Axes:
    """Return axes on a figure of their own, which no window and no notebook shows by itself.

    Args:
        width: in inches, above 0 [default: 4.8].
        height: in inches, above 0 [default: 3.3].
    """
    require_matplotlib()
    from matplotlib.figure import Figure

    with style():
        return Figure(figsize=(width, height), dpi=200, layout="constrained").add_subplot()


def figure_of(axes: Axes) -> Figure:
    """Return the figure that axes are on."""
    figure = axes.get_figure(root=True)
    assert figure is not None
    return figure


def save(axes: Axes, target: Any, **options: Any) -> None:
    """Write the figure of axes to a file, in our style.

    Args:
        axes: what a function of this package returned.
        target: a path that ends in .png, .svg or .pdf, or an open file.
        options: those of matplotlib's `savefig`, such as `format` where the target has no name.
    """
    with style():
        figure_of(axes).savefig(target, **options)


@contextmanager
def canvas(
    ax: Axes | None, title: str, subtitle: str = "", height: float = HEIGHT
) -> Iterator[Axes]:
    """Yield axes of our style, to be drawn on within the context: `ax`, or those of a new figure.

    A new figure is pyplot's, so that a notebook shows it.
    """
    require_matplotlib()
    with style():
        if ax is None:
            from matplotlib import pyplot

            ax = pyplot.figure(
                figsize=(6.4, height * 6.4 / WIDTH), layout="constrained"
            ).add_subplot()
        # A size in inches and about 13 letters an inch: longer lines would be cut.
        lines = textwrap.wrap(subtitle, max(20, int(13 * figure_of(ax).get_size_inches()[0])))
        ax.set_title(
            title, loc="left", fontsize=12, fontweight="bold", color="#0f172a",
            pad=10 + 14 * len(lines),
            # The title can be the name of a file: a dollar sign in it is no mathematics.
            parse_math=False,
        )  # fmt: skip
        if lines:
            ax.annotate(
                "\n".join(lines), (0, 1), xycoords="axes fraction", xytext=(0, 9),
                textcoords="offset points", color="#475569", parse_math=False,
            )  # fmt: skip
        ax.grid(axis="y", color=LINE, linewidth=0.7)
        ax.set_axisbelow(True)
        yield ax


def plain(axis: Axis) -> None:
    """Write every tick in full: a common factor beside the axis would be overlooked."""
    axis.set_major_formatter(lambda value, _: f"{value:,g}")


def logarithmic(axis: Axis, low: float, high: float) -> None:
    """Make an axis logarithmic, with numbers as people write them and at least two of them."""
    from matplotlib.ticker import LogLocator, NullFormatter

    set_scale = axis.axes.set_xscale if axis.axis_name == "x" else axis.axes.set_yscale  # type: ignore[attr-defined]
    set_scale("log")
    few = high < 100.0 * low
    axis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0) if few else (1.0,), numticks=8))
    axis.set_minor_formatter(NullFormatter())
    plain(axis)


def rounds_axis(axes: Axes, rounds: Sequence[int]) -> None:
    """Make the horizontal axis that of the examples seen."""
    first, last = rounds[0], rounds[-1]
    logarithmic(axes.xaxis, first, last)
    if first < last:
        axes.set_xlim(first, last)
    axes.set_xlabel("examples seen")


def percent(axis: Axis) -> None:
    """Write shares in percent, with as many decimals as tell the ticks apart."""
    axis.set_major_formatter(lambda value, _: f"{100.0 * value:.6g}%")


def cut(names: Sequence[str]) -> list[str]:
    """Return names of at most 28 letters, cut in the middle: names often differ at their ends.

    >>> cut(["short", "Horizontal_Distance_To_Hydrology → 5"])
    ['short', 'Horizontal_Dista…drology → 5']
    """
    return [name if len(name) <= _LETTERS else f"{name[:16]}…{name[-11:]}" for name in names]


def name_ends(axes: Axes, ends: Sequence[tuple[float, str, str, str]]) -> None:
    """Name two curves at the right edge, each near its end, neither over the other.

    `ends` has for each the height where it ends, its name, the number in bold and its colour.
    """
    low, high = axes.get_ylim()
    ranked = sorted(ends, key=lambda end: end[0])
    # In shares of the height of the axes, a line takes 14 points.
    points = 72.0 * axes.get_position().height * figure_of(axes).get_size_inches()[1]
    room = 14.0 * (1 + max(end[1].count("\n") + 1 for end in ends)) / points
    lower, upper = ((end[0] - low) / (high - low) for end in ranked)
    lower = min(max(lower, 0.3 * room), 1.0 - 1.4 * room)
    upper = min(max(upper, lower + room), 1.0 - 0.3 * room)
    for (_, text, number, color), place in zip(ranked, (lower, upper), strict=True):
        axes.annotate(
            f"{text}\n$\\mathbf{{{number.replace('e+0', 'e').replace('e+', 'e')}}}$",
            (1.0, place), xycoords="axes fraction", xytext=(7, 0), textcoords="offset points",
            va="center", color=color, annotation_clip=False,
        )  # fmt: skip

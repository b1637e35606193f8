"""A picture of the features that move predictions most."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from noregret.evaluate.effects import effects, top_effects
from noregret.plot.canvas import FLOOR_COLOR, LINE, LOSS_COLOR, canvas, cut, plain

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def weights(
    learner: Any,
    names: Sequence[str] | Callable[[int], str] | None = None,
    *,
    classes: Sequence[str] | None = None,
    sizes: Any = None,
    top: int = 20,
    ax: Axes | None = None,
    title: str = "Largest weights",
) -> Axes:
    """Draw the largest weights, each times the size of its feature, the largest on top.

    A weight says nothing without the unit of its feature; weight times size is how far the
    feature moves the prediction at its largest. `ScaleFree`, `CoinBetting` and second-order rates
    know the largest |x_i| seen; with another rate give `sizes`, or the axis says that the weights
    are as they are.

    Args:
        learner: a learner with `weights`.
        names: of the features, or a function of a column [default: "feature 0", ...].
        classes: names of the classes, where the learner has several scores [default: numbers].
        sizes: the size of each feature, such as abs(X).max(axis=0) [default: the learner's own].
        top: how many, at least 1 [default: 20].
        ax: axes to draw on [default: those of a new figure].
        title: the title.
    """
    values, unit = effects(learner, sizes)
    shown = top_effects(values, top, names, classes)
    if not shown:
        raise ValueError("all weights are 0: there is nothing to draw")
    with canvas(ax, title, height=1.0 + 0.22 * max(len(shown), 3)) as axes:
        places = list(range(len(shown), 0, -1))
        colors = [LOSS_COLOR if value > 0.0 else FLOOR_COLOR for _, value in shown]
        axes.barh(places, [value for _, value in shown], color=colors, height=0.68)
        # A dollar sign in a name is no mathematics.
        axes.set_yticks(places, cut([name for name, _ in shown]), parse_math=False)
        axes.set_ylim(0.4, len(shown) + 0.6)
        axes.set_xlabel(unit)
        plain(axes.xaxis)
        axes.locator_params(axis="x", nbins=5)
        axes.axvline(0.0, color="#64748b", linewidth=0.8)
        axes.grid(axis="y", visible=False)
        axes.grid(axis="x", color=LINE, linewidth=0.7)
        axes.tick_params(axis="y", length=0)
        axes.spines["left"].set_visible(False)
        return axes

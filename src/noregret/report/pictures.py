"""The pictures of a run, as far as each means something for its labels."""

from __future__ import annotations

import io
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from noregret import plot
from noregret.evaluate import Classification, Multiclass, Point, Regression
from noregret.experts.representative import linear_part, words_of
from noregret.plot.canvas import HEIGHT, WIDTH, figure_of
from noregret.plot.confusion import WRITTEN
from noregret.rounding import down

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_PROLOGUE = re.compile(r"^.*?(?=<svg)", re.DOTALL)
_METADATA = re.compile(r"<metadata>.*?</metadata>", re.DOTALL)
#: How many weights are drawn.
_TOP = 20


@dataclass(frozen=True)
class Picture:
    """Axes on a figure of their own by their short name, which is also that of the file."""

    name: str
    axes: Axes
    #: What it shows, in a sentence.
    note: str = ""

    @property
    def title(self) -> str:
        """The title of the axes."""
        return self.axes.get_title(loc="left")

    @property
    def wide(self) -> bool:
        """Whether it needs the whole width of a page."""
        return bool(figure_of(self.axes).get_size_inches()[0] > WIDTH)

    def svg(self) -> str:
        """Return the figure without its title, which the page has, as an element of HTML."""
        from matplotlib.text import Text

        text = io.StringIO()
        # Hidden, not replaced: `set_title` would forget the style of the title.
        parts = [part for part in self.axes.get_children() if isinstance(part, Text)]
        heading = next(part for part in parts if part.get_text() == self.title)
        heading.set_visible(False)
        # The ground is the page's own, light or dark.
        plot.save(self.axes, text, format="svg", metadata={"Date": None}, transparent=True)
        heading.set_visible(True)
        inner = _METADATA.sub("", _PROLOGUE.sub("", text.getvalue()))
        # Several figures share a page: the names inside must not meet.
        inner = re.sub(r'id="([^"]+)"', rf'id="{self.name}-\1"', inner)
        inner = re.sub(r'href="#([^"]+)"', rf'href="#{self.name}-\1"', inner)
        return re.sub(r"url\(#([^)]+)\)", rf"url(#{self.name}-\1)", inner)

    def png(self) -> bytes:
        """Return the figure as a PNG file."""
        data = io.BytesIO()
        plot.save(self.axes, data, format="png", metadata={"Software": None})
        return data.getvalue()


def pictures(
    learner: Any,
    points: Sequence[Point],
    metrics: Any = None,
    *,
    names: Sequence[str] | Callable[[int], str] | None = None,
    classes: Sequence[str] | None = None,
    objective: str = "loss",
    rate: str = "",
) -> Iterator[Picture]:
    """Yield every picture that means something for a run.

    Args:
        learner: the learner, with `weights` where these are to be drawn.
        points: the points at which it was looked at.
        metrics: what its predictions were worth, those of `metrics_for` [default: nothing].
        names: of the features, or a function of a column [default: numbers].
        classes: names of the classes; of two the negative one first [default: numbers].
        objective: what a round adds to the loss, in words [default: "loss"].
        rate: the rate in words; '' where there is none to draw [default: ''].

    >>> import noregret as nr
    >>> learner = nr.MirrorDescent(nr.losses.Hinge(), nr.mirrors.Ball(1), nr.rates.Constant(1))
    >>> trial = nr.evaluate.progressive(learner, [[1.0, 0.0], [0.0, 1.0]] * 9, [1, -1] * 9)
    >>> [picture.name for picture in pictures(learner, trial.points, trial.metrics)]
    ['loss', 'regret', 'mistakes', 'confusion', 'roc', 'precision-recall', 'weights']
    """
    if len(points) >= 2:
        yield from _course(learner, points, objective, rate)
    summary = {} if metrics is None else metrics.summary()
    if not summary.get("weight"):
        metrics = None
    if isinstance(metrics, Classification | Multiclass):
        yield from _classes(metrics, classes, "auc" in summary)
    elif isinstance(metrics, Regression) and metrics.sample is not None:
        note = "each prediction was made before its label was seen"
        yield Picture("predictions", plot.predictions(metrics, ax=plot.sheet()), note)
        note = "what is left over, in the order of the stream"
        yield Picture("residuals", plot.residuals(metrics, ax=plot.sheet()), note)
    part = linear_part(learner)
    weights = part.weights
    if weights.any():
        shown = min(_TOP, int((weights != 0.0).sum()))
        axes = plot.sheet(height=1.0 + 0.21 * max(shown, 5))
        plot.weights(part, names, classes=classes, top=_TOP, ax=axes)
        note = "how far each feature moves the prediction at its largest"
        note = note if "×" in axes.get_xlabel() else "no sizes of features are known"
        whose = words_of(learner)
        yield Picture("weights", axes, f"of {whose}; {note}" if whose else note)


def _course(learner: Any, points: Sequence[Point], objective: str, rate: str) -> Iterator[Picture]:
    last = points[-1]
    note = (
        f"no predictor of the class lost less than {down(last.average_floor, 4)} a round on these "
        f"{last.rounds:,} rounds, by {objective}"
    )
    yield Picture("loss", plot.loss(points, ax=plot.sheet()), note)
    note = "no predictor of the class did better by more; both axes are logarithmic"
    yield Picture("regret", plot.regret(points, ax=plot.sheet()), note)
    if learner.loss.labels in ("sign", "class"):
        note = "share of the rounds predicted wrongly, not weighted"
        yield Picture("mistakes", plot.mistakes(points, ax=plot.sheet()), note)
    if rate and sum(point.rate is not None for point in points) >= 2:
        yield Picture("rate", plot.rate(points, ax=plot.sheet()), rate)


def _classes(
    metrics: Classification | Multiclass, classes: Sequence[str] | None, curves: bool
) -> Iterator[Picture]:
    weighted = ", by weight" if metrics.summary().get("weighted") else ""
    if metrics.confusion is not None:
        met = len(metrics.confusion)
        size = (WIDTH, HEIGHT) if met <= WRITTEN else (1.6 * WIDTH, min(7.5, 2.0 + 0.22 * met))
        axes = plot.confusion(metrics, classes, ax=plot.sheet(*size))
        yield Picture("confusion", axes, f"share of the examples of a row's class{weighted}")
    if isinstance(metrics, Classification) and curves:
        note = f"every prediction was made before its label was seen{weighted}"
        yield Picture("roc", plot.roc(metrics, ax=plot.sheet()), note)
        note = f"the dashed line is the share of positives{weighted}"
        axes = plot.precision_recall(metrics, ax=plot.sheet())
        yield Picture("precision-recall", axes, note)
    if metrics.reliability is not None:
        note = "on the dashed line probabilities mean what they say; dots by share of examples"
        axes = plot.reliability(metrics, classes or ("−1", "+1"), ax=plot.sheet())
        yield Picture("reliability", axes, note + weighted)

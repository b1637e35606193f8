"""Zhang's Tables 1 and 2, ours beside the published figures.

Reference: Zhang, On the Dual Formulation of Regularized Linear Systems with Convex Risks,
Machine Learning 46 (2002), section 5. The row of earn could not be read; what the published
micro-average implies for it, with the usual numbers of test documents, is printed in brackets.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean

from rich import box
from rich.table import Table
from rich.text import Text

from bench.reuters import text
from bench.reuters.experiment import Score, micro_average

Scores = Mapping[str, Sequence[Score]]
"""The scores of every learner by name, in the order of text.CATEGORIES."""


@dataclass(frozen=True)
class Published:
    """One column of the paper; no break-even points where only the micro-average is known."""

    micro: float
    seconds: float
    passes: int | None
    points: tuple[float, ...] = ()
    #: Whether the micro-average is said to be about this much.
    about: bool = False


PUBLISHED = {
    "winnow": Published(
        83.0, 23, 100, (96.0, 82.8, 58.7, 78.4, 78.1, 65.3, 61.7, 63.7, 76.4, 65.5)
    ),
    "regularised winnow": Published(
        86.3, 26, 100, (97.0, 85.4, 62.8, 84.7, 78.7, 71.1, 72.5, 75.0, 83.1, 80.4)
    ),
    "winnow 0.3": Published(81.6, 23, 100),
    "regularised winnow 0.3": Published(85.0, 26, 100),
    "perceptron": Published(
        88.5, 13, 100, (97.5, 92.4, 68.7, 87.9, 81.0, 68.6, 63.4, 82.0, 77.8, 77.2)
    ),
    "svm": Published(91.2, 33, 200, (98.1, 95.0, 75.4, 88.6, 84.1, 73.5, 77.1, 80.9, 84.7, 83.9)),
    "squared hinge": Published(91.0, 19, 100, about=True),
    "smo": Published(91.0, 191, None, (98.4, 95.5, 69.8, 91.3, 81.5, 73.5, 74.8, 82.0, 83.1, 87.5)),
}

NAMES = {
    "winnow": "Winnow",
    "regularised winnow": "regularised Winnow",
    "winnow 0.3": "Winnow at θ = 0.3",
    "regularised winnow 0.3": "regularised Winnow at θ = 0.3",
    "perceptron": "Perceptron",
    "svm": "SVM",
    "squared hinge": "squared hinge",
}

#: Where the name is too wide for the head of a column.
HEADS = {"regularised winnow": "regularised", "squared hinge": "sq. hinge", "smo": "SMO"}


def first(scores: Scores) -> Table:
    """Return Table 1: Winnow against regularised Winnow."""
    names = ("winnow", "regularised winnow")
    table = _frame("Table 1. Winnow against regularised Winnow, θ = 0.1", names)
    _body(table, scores, names)
    _micro(table, scores, ("winnow 0.3", "regularised winnow 0.3"), "at θ = 0.3")
    _cost(table, scores, names)
    return table


def second(scores: Scores) -> Table:
    """Return Table 2: Perceptron against support vector machines; SMO was the paper's only."""
    names = ("perceptron", "svm", "squared hinge", "smo")
    table = _frame("Table 2. Perceptron against support vector machines", names)
    _body(table, scores, names)
    _cost(table, scores, names)
    return table


def verdicts(scores: Scores) -> list[tuple[bool, str]]:
    """Return what the paper found, and whether it is found again."""
    found = []
    for better, worse in (
        ("regularised winnow", "winnow"),
        ("regularised winnow 0.3", "winnow 0.3"),
        ("svm", "perceptron"),
    ):
        ahead = micro_average(scores[better]) - micro_average(scores[worse])
        paper = PUBLISHED[better].micro - PUBLISHED[worse].micro
        line = f"{NAMES[better]} {ahead:+.1f} on {NAMES[worse]} (published {paper:+.1f})"
        found.append((ahead > 0.0, line))
    return found


def _frame(title: str, names: Sequence[str]) -> Table:
    table = Table(
        title=title, title_style="bold", title_justify="left", box=box.SIMPLE_HEAD,
        header_style="bold", pad_edge=False, collapse_padding=True,
        show_edge=False,
    )  # fmt: skip
    table.add_column("\ncategory", no_wrap=True)
    table.add_column("\ntest", justify="right", style="dim")
    for name in names:
        head = HEADS.get(name) or NAMES[name]
        if _learned(name):
            table.add_column(f"{head}\nours", justify="right", style="cyan", no_wrap=True)
            table.add_column("\npaper", justify="right", no_wrap=True)
        else:
            table.add_column(f"{head}\npaper", justify="right", no_wrap=True)
    return table


def _learned(name: str) -> bool:
    return name != "smo"


def _body(table: Table, scores: Scores, names: Sequence[str]) -> None:
    for place, (category, positives) in enumerate(text.CATEGORIES.items()):
        cells: list[str | Text] = [category, str(positives)]
        for name in names:
            if _learned(name):
                cells.append(f"{scores[name][place].break_even:.1f}")
            points = PUBLISHED[name].points
            cells.append(_point(points[place], category == "earn") if points else "")
        table.add_row(*cells, end_section=place + 1 == len(text.CATEGORIES))
    _micro(table, scores, names, "micro-average")


def _point(value: float, implied: bool) -> str | Text:
    return Text(f"({value:.1f})", style="dim") if implied else f"{value:.1f}"


def _micro(table: Table, scores: Scores, names: Sequence[str], title: str) -> None:
    cells = [title, str(sum(text.CATEGORIES.values()))]
    for name in names:
        if _learned(name):
            cells.append(f"{micro_average(scores[name]):.1f}")
        published = PUBLISHED[name]
        cells.append(f"≈ {published.micro:.0f}" if published.about else f"{published.micro:.1f}")
    table.add_row(*cells, style="bold")


def _cost(table: Table, scores: Scores, names: Sequence[str]) -> None:
    passes, seconds = ["passes", ""], ["seconds", ""]
    for name in names:
        if _learned(name):
            passes.append(f"{fmean(score.passes for score in scores[name]):.0f}")
            seconds.append(f"{sum(score.seconds for score in scores[name]):.1f}")
        published = PUBLISHED[name]
        passes.append("" if published.passes is None else str(published.passes))
        seconds.append(f"{published.seconds:.0f}")
    table.add_row(*passes, style="dim")
    table.add_row(*seconds, style="dim")

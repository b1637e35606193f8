"""Progressive validation of one learner or several, with a table of what came of it."""

from __future__ import annotations

import html
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from noregret.evaluate.metrics import metrics_for
from noregret.evaluate.trial import Learner, Trial, marks, watch
from noregret.rounding import down, up
from noregret.rows.examples import as_column, as_rows, as_weights
from noregret.status import StatusLine
from noregret.streams import Block

#: Looks at the learners whenever the number of examples has grown by a factor 2^(1/4).
_LOOKS = 4
_HEAD = ("learner", "rounds", "average loss", "floor", "regret at most", "mistakes")
#: Metrics in the table, and how each is written.
_METRICS = {
    "auc": ("AUC", "{:.4f}"),
    "f1": ("F1", "{:.4f}"),
    "macro_f1": ("macro F1", "{:.4f}"),
    "log_loss": ("log loss", "{:.4g}"),
    "rmse": ("RMSE", "{:.4g}"),
    "mae": ("MAE", "{:.4g}"),
    "r2": ("R²", "{:.4f}"),
}


@dataclass(frozen=True)
class Comparison:
    """Learners that met the same examples, each predicted before it was learnt.

    Losses, floors and regrets are averages a round, floors rounded down and regrets up. Each floor
    is about the learner's own class of predictors.
    """

    trials: tuple[Trial, ...]

    def rows(self) -> list[list[str]]:
        """Return the table: its head, then a row a learner."""
        met = [trial.metrics.summary() if trial.metrics else {} for trial in self.trials]
        names = [name for name in _METRICS if any(name in summary for summary in met)]
        table = [[*_HEAD, *(_METRICS[name][0] for name in names)]]
        for trial, summary in zip(self.trials, met, strict=True):
            if not trial.points:
                table.append([trial.name, "0", *("" for _ in table[0][2:])])
                continue
            point = trial.points[-1]
            real = "rmse" in summary
            values = (_METRICS[k][1].format(summary[k]) if k in summary else "" for k in names)
            table.append(
                [
                    trial.name + (f" (stopped: {trial.failure})" if trial.failure else ""),
                    f"{point.rounds:,}",
                    f"{point.average_loss:.4g}",
                    down(point.average_floor, 4),
                    up(point.average_regret, 4),
                    "" if real else f"{point.mistakes / point.rounds:.2%}",
                    *values,
                ]
            )
        used = [k for k in range(len(table[0])) if any(row[k] for row in table[1:])]
        return [[row[k] for k in used] for row in table]

    def __str__(self) -> str:
        table = self.rows()
        widths = [max(map(len, column)) for column in zip(*table, strict=True)]
        return "\n".join(
            "  ".join(
                cell.ljust(width) if place == 0 else cell.rjust(width)
                for place, (cell, width) in enumerate(zip(row, widths, strict=True))
            ).rstrip()
            for row in table
        )

    def __repr__(self) -> str:
        return f"<Comparison of {', '.join(trial.name for trial in self.trials)}>"

    def _repr_html_(self) -> str:
        """Return the table for a notebook."""
        head, *body = self.rows()
        cells = "".join(f"<th>{html.escape(cell)}</th>" for cell in head)
        lines = "".join(
            f"<tr>{''.join(f'<td>{html.escape(cell)}</td>' for cell in row)}</tr>" for row in body
        )
        return f"<table><thead><tr>{cells}</tr></thead><tbody>{lines}</tbody></table>"


def compare(
    learners: Mapping[str, Learner],
    X: Any,
    y: Any = None,
    weight: Any = None,
    *,
    progress: bool | Callable[[int], None] = False,
) -> Comparison:
    """Let learners learn the same examples in one pass; each is predicted before it is learnt.

    Args:
        learners: the learners by name.
        X: rows as every learner takes them; or a stream of blocks, such as `nr.read` returns,
            with y left out.
        y: labels: -1 and +1, classes from 0, or numbers, as the losses take them.
        weight: example weights, >= 0 [default: 1].
        progress: True shows a status line, a function is called with the number of examples
            learnt so far, block by block [default: False].

    >>> import noregret as nr
    >>> parts = nr.losses.Hinge(), nr.mirrors.Ball(1.0)
    >>> two = {f"eta {eta:g}": nr.MirrorDescent(*parts, nr.rates.Constant(eta)) for eta in (0.1, 1)}
    >>> X, y = [[1.0, 0.0], [0.0, 1.0], [1.0, 0.1]], [1, -1, 1]
    >>> print(compare(two, X, y))
    learner  rounds  average loss   floor  regret at most  mistakes     AUC      F1
    eta 0.1       3          0.97  0.2689          0.7011    66.67%  0.7500  0.5000
    eta 1         3        0.7879  0.2689           0.519    66.67%  0.7500  0.5000
    """
    trials = tuple(
        # Without penalties, so that all losses are the same function.
        Trial(learner, metrics=metrics_for(learner.loss), name=str(name), plain=True)
        for name, learner in learners.items()
    )
    if not trials:
        raise ValueError("compare needs a learner or more, got none")
    for _ in watch(trials, _told(_blocks(X, y, weight), progress), marks(_LOOKS)):
        pass
    return Comparison(trials)


def progressive(
    learner: Learner,
    X: Any,
    y: Any = None,
    weight: Any = None,
    *,
    progress: bool | Callable[[int], None] = False,
) -> Trial:
    """Let a learner learn examples; return its course and what its predictions were worth.

    The arguments are those of `compare`. `nr.plot` draws the trial.

    >>> import noregret as nr
    >>> learner = nr.MirrorDescent(nr.losses.Hinge(), nr.mirrors.Ball(1), nr.rates.Constant(1))
    >>> trial = progressive(learner, [[1.0, 0.0], [0.0, 1.0]], [1, -1])
    >>> trial.points[-1].rounds, trial.metrics.summary()["accuracy"]
    (2, 0.0)
    """
    trial = Trial(learner, metrics=metrics_for(learner.loss), name=type(learner).__name__)
    for _ in watch([trial], _told(_blocks(X, y, weight), progress), marks(_LOOKS)):
        pass
    return trial


def _blocks(X: Any, y: Any, weight: Any) -> Iterable[Block]:
    """Return a stream of blocks as it is, arrays as one block."""
    if y is None:
        if weight is not None:
            raise ValueError("weight belongs to arrays: the blocks of a stream have their own")
        if not isinstance(X, Iterable) or isinstance(X, np.ndarray):
            raise ValueError("X without y must be a stream of blocks; give y for arrays")
        return X
    from scipy.sparse import csr_array

    rows = as_rows(X)
    if rows.dense:
        sparse = csr_array(rows.values)
        rows = as_rows(sparse)
    labels = as_column("y", y, len(rows))
    given = None if weight is None else as_weights(weight, len(rows))
    return [Block(rows.indptr, rows.indices, rows.values, labels, rows.width, given)]


def _told(blocks: Iterable[Block], progress: bool | Callable[[int], None]) -> Iterator[Block]:
    """Yield the blocks; tell after each how many examples were learnt."""
    line = StatusLine() if progress is True else None
    seen = 0
    try:
        for block in blocks:
            yield block
            seen += len(block)
            if callable(progress):
                progress(seen)
            if line is not None:
                line.tell(_words(blocks, seen, line.seconds))
    finally:
        if line is not None:
            line.clear()


def _words(stream: Any, seen: int, seconds: float) -> str:
    text = f"{seen:,} examples, {seen / seconds:,.0f} a second"
    size = getattr(stream, "size", None)
    if not size:
        return text
    share = min(stream.bytes_read / size, 1.0)
    return f"{share:4.0%}, {text}, {seconds * (1.0 - share) / max(share, 1e-9):,.0f} s left"

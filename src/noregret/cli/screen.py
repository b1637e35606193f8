"""What the commands print: the progress table on stdout, the passing of time on stderr."""

from __future__ import annotations

import math
import shutil
import signal
import sys
import threading
import time
from collections.abc import Callable, Mapping
from decimal import ROUND_CEILING, ROUND_FLOOR, ROUND_HALF_EVEN, Context, Decimal
from typing import TYPE_CHECKING, Self

from noregret.cli.interrupt import unwinding
from noregret.visible import visible

if TYPE_CHECKING:
    from rich.console import Console

    from noregret.batch import Progress
    from noregret.evaluate import Point
    from noregret.streams import Stream

_PATIENCE = 2.0
"""Seconds after which a user would like to know that something is happening."""
_FIRST_RUN = "; a first run compiles for this machine"


class Table:
    """The progress table, one line at a time: 70 characters wide, 58 in a narrower terminal."""

    def __init__(self, console: Console, classification: bool, last: Point | None = None):
        self._console = console
        self._classification = classification
        self._last = last
        #: Whether there is room for the loss since the line before.
        self._wide = console.width >= 70
        self._headed = False

    def head(self, title: str, *remarks: str) -> None:
        """Print the title, remarks and the names of the columns."""
        self._console.print(title, style="bold")
        for remark in remarks:
            self._console.print(remark, style="dim")
        self._headed = True
        since = f"{'since last':>12}" if self._wide else ""
        mistakes = f"{'mistakes':>10}" if self._classification else ""
        columns = f"{'examples':>12}{'loss':>12}{since}{mistakes}{'floor':>12}{'regret ≤':>12}"
        self._console.print()
        self._console.print(columns, style="bold")
        self._console.print("─" * len(columns), style="dim")

    def row(self, point: Point) -> None:
        """Print one line; losses, floor and regret are averages a round."""
        from rich.text import Text

        last = self._last
        rounds = point.rounds - (last.rounds if last else 0)
        since = ""
        if self._wide:
            since = number((point.loss - (last.loss if last else 0.0)) / rounds)
        mistakes = f"{point.mistakes / point.rounds:>10.2%}" if self._classification else ""
        self._console.print(
            Text.assemble(
                f"{point.rounds:>12,}{number(point.average_loss)}{since}{mistakes}",
                # Rounded so that what is printed is still true: the floor down, the regret up.
                (number(point.average_floor, ROUND_FLOOR), "cyan"),
                (number(point.average_regret, ROUND_CEILING), "green"),
            )
        )
        self._last = point

    def foot(self, certificate: str) -> None:
        """Print the certificate under the table, if there is one."""
        if self._headed:
            self._console.print()
        self._console.print(certificate, soft_wrap=True)


def number(value: float, rounding: str = ROUND_HALF_EVEN) -> str:
    """Return a number in twelve columns: four decimals, two of thousands, or four digits.

    >>> number(0.25), number(51968.2526), number(123456.0), number(0.29999, ROUND_FLOOR)
    ('      0.2500', '    51968.25', '    1.235e+5', '      0.2999')
    """
    if not math.isfinite(value):
        return f"{value:>12}"
    exact = Decimal(value)
    if value == 0.0 or 5e-4 <= abs(value) < 1e5:
        unit = Decimal("0.0001" if abs(value) < 1e3 else "0.01")
        return f"{exact.quantize(unit, rounding=rounding):>12}"
    return f"{Context(prec=4, rounding=rounding).create_decimal(exact):>12.3e}"


def short(value: float, rounding: str = ROUND_HALF_EVEN) -> str:
    """Return a number as `number` does, without the room around it.

    >>> short(0.25), short(123456.0)
    ('0.2500', '1.235e+5')
    """
    return number(value, rounding).strip()


METRICS = {
    "accuracy": "accuracy",
    "auc": "AUC",
    "f1": "F1",
    "macro_f1": "macro F1",
    "log_loss": "log loss",
    "rmse": "RMSE",
    "mae": "MAE",
    "r2": "R²",
}


def metrics_line(summary: Mapping[str, float]) -> str:
    """Return the metrics of a summary in one line, the area with what is not known about it.

    >>> metrics_line({"accuracy": 0.9, "auc": 0.95, "auc_error": 0.0002, "f1": 0.8})
    'accuracy 90.00%   AUC 0.9500 ± 0.0003   F1 0.8000'
    >>> metrics_line({"accuracy": 0.9, "weighted": True})
    'accuracy 90.00%   (examples by weight)'
    """
    words = []
    for name, title in METRICS.items():
        if name not in summary:
            continue
        text = metric(name, summary[name])
        if name == "auc" and summary["auc_error"] >= 0.00005:
            # The half unit of the last digit shown belongs to what is not known.
            text += f" ± {math.ceil(summary['auc_error'] * 1e4 + 0.5) / 1e4:.4f}"
        if name == "log_loss" and left_out(summary):
            text += f" ({left_out(summary)})"
        words.append(f"{title} {text}")
    if words and summary.get("weighted"):
        words.append("(examples by weight)")
    return "   ".join(words)


def left_out(summary: Mapping[str, float]) -> str:
    """Return which rows the log loss of a summary is without, '' if without none.

    >>> left_out({"log_loss_without": 3.0, "weight": 9.0, "examples": 9})
    'without 3 rows whose class was new'
    """
    if "log_loss_without" not in summary:
        return ""
    plain = summary.get("weight") == summary.get("examples")
    unit = "rows" if plain else "of the weight, rows"
    return f"without {summary['log_loss_without']:,.6g} {unit} whose class was new"


def metric(name: str, value: float) -> str:
    """Return the value of a metric as people write it."""
    return f"{value:.2%}" if name == "accuracy" else short(value)


class PassingLine:
    """A status line on a terminal that is erased before anything else is printed."""

    def __init__(self, first: str, silent: bool = False) -> None:
        """Show `first` if there is no update within `_PATIENCE` seconds."""
        self.terminal = sys.stderr.isatty() and not silent
        self._begin = self._told = time.monotonic()
        self._shown = False
        self._waiting = threading.Timer(_PATIENCE, self.show, (first,))
        self._waiting.daemon = True
        if self.terminal:
            self._waiting.start()

    @property
    def seconds(self) -> float:
        """Seconds since the line was made."""
        return time.monotonic() - self._begin

    @property
    def long(self) -> bool:
        """Whether a terminal is attached and `_PATIENCE` seconds have passed."""
        return self.terminal and self.seconds > _PATIENCE

    def tell(self, text: Callable[[], str]) -> None:
        """Show a text once the run has become long, twice a second at most."""
        self._waiting.cancel()
        if self.long and time.monotonic() - self._told >= 0.5:
            self.show(text())

    def show(self, text: str) -> None:
        """Put a text in the place of the last, cut to the width of the terminal."""
        self._shown, self._told = True, time.monotonic()
        width = shutil.get_terminal_size().columns
        sys.stderr.write(f"\r\x1b[2K{text[: width - 1]}")
        sys.stderr.flush()

    def clear(self) -> None:
        """Remove the line before something else is printed."""
        self._waiting.cancel()
        if self._shown:
            sys.stderr.write("\r\x1b[2K")
            sys.stderr.flush()
            self._shown = False


class Clock:
    """Tells a person at a terminal how far a long run has come; silent otherwise."""

    def __init__(self, stream: Stream | None = None, passes: int = 1, silent: bool = False) -> None:
        self._stream = stream
        self._passes = passes
        self._line = PassingLine(f"waiting for the first examples{_FIRST_RUN}", silent)
        #: When the first examples were done, and how many and which share of all they were.
        self._first: tuple[float, int, float] | None = None

    def tell(self, examples: int, passed: int = 0) -> None:
        """Show a passing line once the run has become long."""
        if self._first is None:
            self._first = time.monotonic(), examples, self._share(passed) or 0.0
        first = self._first
        self._line.tell(lambda: self._text(examples, passed, first))

    def _text(self, examples: int, passed: int, first: tuple[float, int, float]) -> str:
        # What came before the first examples, the compiler above all, says nothing about the
        # pace of the rest.
        begin, before, share_before = first
        elapsed = max(time.monotonic() - begin, 1e-9)
        text = f"{examples:,} examples, {(examples - before) / elapsed:,.0f} a second"
        name = "" if self._stream is None else f" of {visible(self._stream.name)}"
        share = self._share(passed)
        if share is None:
            return f"{text}, {self._line.seconds:.0f} s{name}"
        gained = share - share_before
        left = f", {elapsed * (1.0 - share) / gained:,.0f} s left" if gained > 0.01 else ""
        return f"{share:4.0%}, {text}{left}{name}"

    def _share(self, passed: int) -> float | None:
        """Return which share of all passes is done, None where nobody knows."""
        if self._stream is None or not self._stream.size:
            return None
        return min(1.0, (passed + self._stream.bytes_read / self._stream.size) / self._passes)

    def clear(self) -> None:
        """Remove the passing line before something else is printed."""
        self._line.clear()

    def close(self, examples: int) -> None:
        """Say how long a long run took."""
        self.clear()
        if self._line.long:
            seconds = self._line.seconds
            sys.stderr.write(
                f"{examples:,} examples in {seconds:.1f} s, {examples / seconds:,.0f} a second\n"
            )


class Telling:
    """Tells a person how far a long piece of work has come, in the words it is given."""

    def __init__(self, silent: bool = False) -> None:
        self._line = PassingLine(f"at work{_FIRST_RUN}", silent)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *failure: object) -> None:
        self._line.clear()

    def __call__(self, text: str) -> None:
        """Show the text in the place of the last one, once the run has become long."""
        self._line.tell(lambda: text)


class Solver:
    """Tells a person how far a solver has come; what `nr.hindsight` takes as `progress`.

    Within its context Ctrl-C is an exception, upon which the solver returns what it has.
    """

    def __init__(self, tol: float, silent: bool = False) -> None:
        self._tol = tol
        self._line = PassingLine(f"solving{_FIRST_RUN}", silent)
        self._interruptible = unwinding(signal.SIGINT)

    def __enter__(self) -> Self:
        self._interruptible.__enter__()
        return self

    def __exit__(self, *failure: object) -> None:
        self._interruptible.__exit__(None, None, None)
        self._line.clear()

    def __call__(self, now: Progress) -> None:
        """Show where the solver stands after a pass."""
        gap = now.gap / max(1.0, abs(now.primal))
        self._line.tell(
            lambda: (
                f"solving, pass {now.passes:,}: relative gap {gap:.1e}, aim {self._tol:.1e}; "
                "Ctrl-C keeps what there is"
            )
        )

"""Commands at the workers of a cluster: their options, and the table of their rounds."""

from __future__ import annotations

import signal
from dataclasses import asdict
from typing import Any

from noregret.cli.console import plain_console
from noregret.cli.given import Given
from noregret.cli.hindsight import Found
from noregret.extras import require_extra
from noregret.rounding import down, up
from noregret.runs.interrupt import unwinding
from noregret.runs.progress import PassingLine

#: A line of the table after each pass up to this one, then whenever there are a quarter more.
_EACH, _MORE = 12, 1.25
_HEADINGS = ("pass", "objective", "none has less", "relative gap", "MB sent", "work s", "wait s")
_WIDTHS = (6, 15, 15, 14, 10, 9, 9)


def solved(
    given: Given,
    rule: Any,
    loss: Any,
    form: dict[str, Any],
    options: dict[str, Any],
    table: bool,
) -> Found:
    """Solve on a cluster, with a line a round if `table`."""
    require_extra("--cluster", "ray", "cluster")
    from noregret.cluster.batch import Round, hindsight

    console = plain_console()
    shown = 0.0

    def tell(now: Round) -> None:
        nonlocal shown
        if not table or now.passes < shown:
            return
        if shown == 0.0:
            console.print(_line(_HEADINGS), style="dim")
        shown = now.passes + 1 if now.passes < _EACH else now.passes * _MORE
        line.clear()
        console.print(_line(_cells(now)))

    line = PassingLine("starting workers, which read the files")
    try:
        # Ctrl-C is an exception within, upon which the solver returns what it has.
        with unwinding(signal.SIGINT):
            solution = hindsight(
                given.files, loss, **form, **options, reading=given.how(rule), progress=tell
            )
    finally:
        line.clear()
    gathered = solution.gathered
    assert gathered is not None
    rounds = [asdict(one) for one in solution.rounds]
    more = {
        "shards": solution.shards, "workers": options["workers"], "lost": solution.lost,
        "rounds": rounds,
    }  # fmt: skip
    name = gathered.files[0].name
    others = len(gathered.files) - 1
    return Found(
        solution, name + (f" and {others} more" if others else ""), sum(gathered.rows),
        gathered.width, gathered.names, solution.sizes, {"cluster": more},
    )  # fmt: skip


def _cells(now: Any) -> tuple[str, ...]:
    relative = now.gap / max(1.0, abs(now.primal))
    return (
        f"{now.passes:,}", up(now.primal, 8), down(now.dual, 8),
        f"{'about ' * now.estimated}{relative:.1e}",
        f"{now.sent / 1e6:,.1f}", f"{now.work:,.1f}", f"{now.wait:,.1f}",
    )  # fmt: skip


def _line(cells: tuple[str, ...]) -> str:
    return "".join(f"{cell:>{width}}" for cell, width in zip(cells, _WIDTHS, strict=True))

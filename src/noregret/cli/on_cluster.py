"""Commands at the workers of a cluster: their options, and the table of their rounds."""

from __future__ import annotations

import math
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import Any

from noregret.arguments import ArgumentError
from noregret.cli.console import plain_console
from noregret.cli.given import Given
from noregret.cli.hindsight import Found
from noregret.cli.writing import Output, fitted, to_json
from noregret.extras import require_extra
from noregret.rounding import down, down_each, up, up_each
from noregret.runs.facts import describe_learner
from noregret.runs.interrupt import ENDING, Interrupted, Terminated, unwinding
from noregret.runs.progress import PassingLine
from noregret.vocabulary.learners import Spec, make_loss

#: A line of the table after each pass up to this one, then whenever there are a quarter more.
_EACH, _MORE = 12, 1.25
_HEADINGS = ("pass", "objective", "none has less", "relative gap", "MB sent", "work s", "wait s")
_WIDTHS = (6, 15, 15, 14, 10, 9, 9)


def solved(
    given: Given,
    how: Any,
    loss: Any,
    form: dict[str, Any],
    options: dict[str, Any],
    table: bool,
) -> Found:
    """Solve on a cluster, with a line a round if `table`; `how` the files are read."""
    require_cluster()
    from noregret.cluster.batch import hindsight
    from noregret.cluster.solution import Round

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
    kept = options["checkpoint"]
    remedy = f"--resume goes on from the last state in {kept}" if kept else "nothing was kept"
    # Upon Ctrl-C the solver returns what it has.
    with ended(line, remedy):
        solution = hindsight(given.files, loss, **form, **options, reading=how, progress=tell)
    gathered = solution.gathered
    assert gathered is not None
    rounds = [asdict(one) for one in solution.rounds]
    more = {
        "shards": solution.shards, "workers": options["workers"], "lost": solution.lost,
        "rounds": rounds,
    }  # fmt: skip
    name = gathered.files[0].name
    others = sum(one.groups is None or one.groups[0] == 0 for one in gathered.files) - 1
    return Found(
        solution, name + (f" and {others} more" if others else ""), sum(gathered.rows),
        gathered.width, gathered.names, solution.sizes, {"cluster": more},
    )  # fmt: skip


def learnt(
    given: Given,
    spec: Spec,
    radius: float | None,
    weights: Path | None,
    options: dict[str, Any],
    as_json: bool,
    quiet: bool,
) -> None:
    """Learn online over shards, with a line a mixing unless `as_json` or `quiet`."""
    require_cluster()
    from noregret.cluster.learning import learn
    from noregret.cluster.online import Line

    console, table = plain_console(), not (as_json or quiet)
    headings, widths = ("examples", "loss a round", "floor a round", "seconds"), (12, 16, 16, 10)
    due = 0

    def tell(now: Line) -> None:
        nonlocal due
        if not table or now.rows < due:
            return
        line.clear()
        if not due:
            console.print(_line(headings, widths), style="dim")
        due = 2 * now.rows
        floor = "" if math.isnan(now.floor) else down(down_each(now.floor, now.rows))
        cells = f"{now.rows:,}", up(up_each(now.loss, now.rows)), floor, f"{now.seconds:.1f}"
        console.print(_line(cells, widths))

    if table:
        console.print(fitted(f"each shard: {describe_learner(spec.make())}"), style="dim")
    line = PassingLine("starting workers, which read the files")
    rule = given.label_rule(make_loss(spec.loss).labels)
    with ended(line, "nothing was written"):
        found = learn(
            given.files, spec, radius=radius, reading=given.how(rule), progress=tell, **options
        )
    if weights is not None:
        with Output(weights) as output:
            output.numbers(found.weights)
    certificate = found.certificate
    if as_json:
        rows = [line._asdict() for line in found.table]
        told = {
            "input": found.gathered.files[0].name, "learner": describe_learner(spec.make()),
            "lost": found.lost, "table": rows,
            "certificate": certificate.as_dict(radius),
        }  # fmt: skip
        print(to_json(told))
    else:
        print(("\n" if due else "") + fitted(certificate.text(radius)))


@contextmanager
def ended(line: PassingLine, remedy: str) -> Iterator[None]:
    """Within, signals end the workers, and then the program with one line.

    Args:
        line: of progress, cleared at the end.
        remedy: what the line ends with.
    """
    others = set(ENDING) - {signal.SIGINT}
    with unwinding(signal.SIGINT) as keys, unwinding(*others, error=Terminated) as ends:
        try:
            yield
        except (KeyboardInterrupt, SystemExit):
            # Ray raises its own of either kind in the middle of a call.
            if not keys + ends:
                raise
            line.clear()
            number = (ends or keys)[-1]
            name = signal.Signals(number).name
            print(f"noregret: ended by {name}; workers are stopped, {remedy}", file=sys.stderr)
            raise (Terminated if ends else Interrupted)(number) from None
        finally:
            line.clear()


def _cells(now: Any) -> tuple[str, ...]:
    relative = now.gap / max(1.0, abs(now.primal))
    return (
        f"{now.passes:,}", up(now.primal, 8), down(now.dual, 8),
        f"{'about ' * now.estimated}{relative:.1e}",
        f"{now.sent / 1e6:,.1f}", f"{now.work:,.1f}", f"{now.wait:,.1f}",
    )  # fmt: skip


def _line(cells: tuple[str, ...], widths: tuple[int, ...] = _WIDTHS) -> str:
    return "".join(f"{cell:>{width}}" for cell, width in zip(cells, widths, strict=True))


def require_cluster() -> None:
    """Refuse --cluster where Ray is not installed."""
    try:
        require_extra("--cluster", "ray", "cluster")
    except ImportError as error:
        raise ArgumentError("cluster", str(error)) from None

"""`noregret audit`: every statement of a saved certificate, checked against its stream."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from noregret.cli.options import Given, reads_examples
from noregret.cli.writing import to_json

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    from noregret.cli.record import Record
    from noregret.cli.verdicts import Verdict
    from noregret.streams import Block, Stream


@reads_examples
def audit(
    model: Annotated[Path, typer.Argument(help="A model that `learn --save` wrote.")],
    given: Given,
    tol: Annotated[
        float, typer.Option(min=0.0, help="Relative duality gap that the solver aims at.")
    ] = 1e-6,
    max_passes: Annotated[int, typer.Option(min=1, help="Passes after which it stops.")] = 1000,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
) -> None:
    """Replay a stream, solve for the best in hindsight, and check what a model states.

    Every statement of the certificate is put against the examples: PASS, FAIL, or not checked
    with the reason. The exit code is 1 if any fails. The file is held in memory.
    """
    from noregret.cli import record as records
    from noregret.cli.naming import require_same_columns
    from noregret.cli.verdicts import Statements

    learner, record = records.load(model)
    if learner.loss.labels == "class":
        raise ValueError(f"{model}: has several classes, expected a model of two or of numbers")
    if learner.rounds == 0:
        raise ValueError(f"{model}: has learnt nothing that could be audited")
    width = learner.dimension if record.spec.needs_width else 0
    stream = given.open(record.rule(), record.reading, width, **record.known())
    require_same_columns(learner, record, stream)
    replayed = _Replay(stream, record)
    again = replayed.run()
    rows, predictions, multiplicity = replayed.outcome()
    statements = Statements(
        learner, record, again, rows, predictions, multiplicity, tol=tol, max_passes=max_passes
    )
    verdicts = list(statements.check())
    if as_json:
        typer.echo(to_json({"model": str(model), "statements": [asdict(v) for v in verdicts]}))
    else:
        _show(model, stream, len(rows), verdicts)
    if any(verdict.holds is False for verdict in verdicts):
        raise typer.Exit(1)


class _Replay:
    """The stream once more, as far as the model had come, through a fresh learner."""

    def __init__(self, stream: Stream, record: Record) -> None:
        self._stream = stream
        self._record = record
        self._blocks: list[Block] = []
        self._made: list[npt.NDArray[np.float64]] = []
        self._pass = 0

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)

    def __iter__(self) -> Iterator[Block]:
        position = self._record.position
        self._pass += 1
        left = position.examples if self._pass == position.passes else None
        for block in self._stream:
            if left is not None:
                block = block.rows(0, min(left, len(block)))
                left -= len(block)
            if self._pass == 1:
                self._blocks.append(block)
            yield block
            if left == 0:
                return
        if left:
            raise ValueError(
                f"{self._stream.name}: holds {position.examples - left:,} examples, and the model "
                f"has seen {position.examples:,}: not the same input"
            )

    def numbers(self, values: npt.NDArray[np.float64]) -> None:
        """Take the predictions that the session would write."""
        self._made.append(values)

    def run(self) -> Any:
        from noregret.cli.interrupt import Interruption
        from noregret.cli.record import Record
        from noregret.cli.screen import Clock
        from noregret.cli.session import Session

        record = self._record
        fresh = Record(
            record.spec,
            record.reading,
            holdout=record.holdout,
            floor_radius=record.floor_radius,
        )
        session = Session(
            record.spec.make(),
            self,  # type: ignore[arg-type]
            fresh,
            predictions=self,  # type: ignore[arg-type]
        )
        clock = Clock(self._stream, record.position.passes)
        session.on_part = lambda: clock.tell(fresh.position.total, self._pass - 1)
        for _ in session.run(Interruption(), record.position.passes):
            pass
        clock.clear()
        if not session.learner.rounds:
            raise ValueError(f"{self._stream.name}: the file has no examples")
        session.finish()
        return session

    def outcome(self) -> tuple[Block, npt.NDArray[np.float64], npt.NDArray[np.float64]]:
        """Return the rows learnt, the first predictions for them, and how often each was learnt."""
        import numpy as np

        from noregret.cli.whole import joined
        from noregret.evaluate import Holdout
        from noregret.evaluate.holdout import select

        block = joined(self._blocks)
        position = self._record.position
        often = np.full(len(block), float(position.passes))
        often[position.examples :] -= 1.0
        learnt = ~Holdout(**self._record.holdout).held(0, len(block))
        made = np.concatenate(self._made)
        return select(block, learnt), made[learnt], often[learnt]


def _show(model: Path, stream: Stream, count: int, verdicts: list[Verdict]) -> None:
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    console = Console()
    console.print(
        f"[bold]noregret audit[/bold] {model} on {stream.name}, {count:,} examples\n",
        highlight=False,
    )
    table = Table(box=None, pad_edge=False, show_header=False, padding=(0, 2, 0, 0))
    table.add_column(no_wrap=True)
    table.add_column(overflow="fold")
    words = {True: ("PASS", "green"), False: ("FAIL", "bold red"), None: ("  – ", "dim")}
    for verdict in verdicts:
        word, style = words[verdict.holds]
        text = Text(verdict.statement)
        text.append(f"\n{verdict.detail}", style="dim")
        table.add_row(Text(word, style=style), text)
    console.print(table)
    failed = sum(verdict.holds is False for verdict in verdicts)
    passed = sum(verdict.holds is True for verdict in verdicts)
    console.print()
    if failed:
        console.print(f"[bold red]{failed} of {failed + passed} statements are false[/bold red]")
    else:
        console.print(f"[green]all {passed} statements that could be checked hold[/green]")

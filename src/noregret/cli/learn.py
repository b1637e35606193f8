"""`noregret learn`: a stream learnt, with the certificate beside the loss."""

from __future__ import annotations

from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from noregret.cli import choices
from noregret.cli.options import INTERCEPT, Given, reads_examples
from noregret.cli.telling import conclude, heading, mention
from noregret.cli.writing import Output, require_place

if TYPE_CHECKING:
    from noregret.cli.record import Record
    from noregret.cli.screen import Clock, Table
    from noregret.cli.session import Session
    from noregret.learners import DualAscent, MirrorDescent
    from noregret.streams import Stream

_RUN = "Running"


@reads_examples
def learn(
    given: Given,
    loss: Annotated[str | None, typer.Option(help=choices.names("loss"))] = None,
    mirror: Annotated[str | None, typer.Option(help=choices.names("mirror"))] = None,
    radius: Annotated[
        float | None, typer.Option(help="Size of the set that a map with one stays in.")
    ] = None,
    rate: Annotated[str | None, typer.Option(help=choices.names("rate"))] = None,
    eta: Annotated[
        float | None, typer.Option("--eta", "--scale", help="The rate's eta or scale.")
    ] = None,
    update: Annotated[
        str | None,
        typer.Option(
            help=f"Mirror descent: {', '.join(choices.DESCENTS)}. "
            f"Dual ascent: {', '.join(choices.ASCENTS)} (exact is Passive-Aggressive)."
        ),
    ] = None,
    C: Annotated[float | None, typer.Option("-C", help="Dual ascent: weight of the loss.")] = None,
    k: Annotated[int | None, typer.Option("-k", help="Dual ascent: rows looked back at.")] = None,
    average: Annotated[
        bool,
        typer.Option("--average", help="Keep the average of all weights, for predict --average."),
    ] = False,
    floor_radius: Annotated[
        float | None,
        typer.Option(
            help="Size of the predictors the floor speaks of. Without it: --radius if the map "
            "has one, else the size of the current weights."
        ),
    ] = None,
    passes: Annotated[int, typer.Option(help="Passes over the input.", rich_help_panel=_RUN)] = 1,
    holdout: Annotated[
        int, typer.Option(help="Keep every K-th example out, and measure.", rich_help_panel=_RUN)
    ] = 0,
    holdout_after: Annotated[
        int | None,
        typer.Option(help="Keep all examples after the N-th out.", rich_help_panel=_RUN),
    ] = None,
    save: Annotated[
        Path | None, typer.Option(help="Write the model here.", rich_help_panel=_RUN)
    ] = None,
    save_every: Annotated[
        int, typer.Option(help="And after every N examples on the way.", rich_help_panel=_RUN)
    ] = 0,
    resume: Annotated[
        Path | None, typer.Option(help="Go on with this model.", rich_help_panel=_RUN)
    ] = None,
    same_input: Annotated[
        bool,
        typer.Option(
            "--same-input", help="Skip what the model has seen already.", rich_help_panel=_RUN
        ),
    ] = False,
    predictions: Annotated[
        Path | None,
        typer.Option(
            "--predictions",
            "-p",
            help="Write each prediction, made before its example was learnt; - for stdout.",
            rich_help_panel=_RUN,
        ),
    ] = None,
    report: Annotated[
        Path | None, typer.Option(help="Write an HTML page about the run.", rich_help_panel=_RUN)
    ] = None,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print one JSON object.", rich_help_panel=_RUN)
    ] = False,
    quiet: Annotated[
        bool, typer.Option("--quiet", help="Print the certificate only.", rich_help_panel=_RUN)
    ] = False,
) -> None:
    """Learn a stream and print what is proved about it.

    The table shows averages a round: the learner's loss, the loss since the line above, the
    certified floor that no fixed predictor of the class could have beaten on these very
    examples, and their difference, the proved regret.
    """
    said = {
        "loss": loss,
        "mirror": mirror,
        "radius": radius,
        "rate": rate,
        "eta": eta,
        "update": update,
        "C": C,
        "k": k,
        "features": given.features,
        "average": average or None,
    }
    said = {name: value for name, value in said.items() if value is not None}
    _check_plan(resume, same_input, save, save_every, passes, said, given)
    for option, path in (("--save", save), ("--predictions", predictions), ("--report", report)):
        if path is not None and str(path) != "-":
            require_place(option, path)
    if report is not None:
        from noregret.report import require_matplotlib

        require_matplotlib()
    learner, record = _begin(said, given, resume, holdout, holdout_after, floor_radius)
    stream = _open(given, learner, record, resume is not None)
    skip = _place(record, resume, same_input, given)

    from rich.console import Console

    from noregret.cli.interrupt import Interrupted, Interruption
    from noregret.cli.screen import Clock, Table
    from noregret.cli.session import Session

    classification = learner.loss.labels == "sign"
    plain = as_json or quiet or str(predictions) == "-"
    clock = Clock(stream, passes, silent=plain)
    last = record.points[-1] if record.points else None
    table = None if plain else Table(Console(), classification, last)
    code = 0
    with (
        Interruption() as interruption,
        nullcontext() if predictions is None else Output(predictions) as output,
    ):
        session = Session(
            learner, stream, record, save=save, save_every=save_every, predictions=output
        )
        try:
            _follow(session, interruption, passes, skip, clock, table)
        except Interrupted as interrupted:
            code = interrupted.code
        if learner.rounds == 0 and not code:
            raise ValueError(f"{stream.name}: the file has no examples")
        if learner.rounds:
            with interruption.busy():
                session.finish()
                session.save()
    clock.close(record.position.total)
    conclude(session, table, as_json, str(predictions) == "-")
    if report is not None and learner.rounds:
        from noregret.cli.report import write_report

        write_report(learner, record, report)
    mention(stream, save if learner.rounds else None, code, report)
    if code:
        raise typer.Exit(code)


def _check_plan(
    resume: Path | None,
    same_input: bool,
    save: Path | None,
    save_every: int,
    passes: int,
    said: dict[str, Any],
    given: Given,
) -> None:
    if passes < 1:
        raise ValueError(f"--passes {passes}: expected at least 1")
    if passes > 1 and "-" in given.files:
        raise ValueError("--passes needs files: standard input can be read once only")
    if save_every < 0 or (save_every and save is None):
        raise ValueError("--save-every needs --save and a number of examples above 0")
    if same_input and resume is None:
        raise ValueError("--same-input belongs to --resume")
    said = {name: value for name, value in said.items() if name != "features"}
    if resume is not None and said:
        raise ValueError(f"--resume keeps the learner as it is: drop --{next(iter(said))}")


def _begin(
    said: dict[str, Any],
    given: Given,
    resume: Path | None,
    holdout: int,
    holdout_after: int | None,
    floor_radius: float | None,
) -> tuple[MirrorDescent | DualAscent, Record]:
    """Return a fresh learner, or one that goes on, with its record."""
    if floor_radius is not None and not floor_radius >= 0.0:
        raise ValueError(f"--floor-radius must be a number >= 0, got {floor_radius}")
    from noregret.cli import record as records

    if resume is not None:
        learner, record = records.load(resume)
        if floor_radius is not None:
            record.floor_radius = floor_radius
    else:
        spec = choices.Spec(**said)
        learner = spec.make()
        rule = given.label_rule(learner.loss.labels == "sign")
        record = records.Record(
            spec,
            {"constant": INTERCEPT} | given.reading(),
            label_rule=rule,
            floor_radius=floor_radius,
        )
    if resume is None or holdout or holdout_after is not None:
        record.holdout = {"every": holdout, "after": holdout_after}
        from noregret.evaluate import Holdout

        Holdout(**record.holdout)
    return learner, record


def _open(
    given: Given, learner: MirrorDescent | DualAscent, record: Record, resumed: bool
) -> Stream:
    if given.labels is not None:
        rule = given.label_rule(learner.loss.labels == "sign")
    else:
        rule = record.rule()
    stream = given.open(rule, record.reading, **record.known())
    if resumed:
        record.reading |= given.reading()
    return stream


def _place(record: Record, resume: Path | None, same_input: bool, given: Given) -> int:
    """Return how many examples to skip, and put the record at the beginning of new data."""
    if same_input:
        return record.position.examples
    position = record.position
    if resume is not None and position.total:
        # What came before is not part of this input: nobody can replay the whole from it.
        record.replayable = False
    position.passes, position.examples, position.check = 1, 0, 0
    record.sources += [name for name in given.files if name not in record.sources]
    return 0


def _follow(
    session: Session,
    interruption: Any,
    passes: int,
    skip: int,
    clock: Clock,
    table: Table | None,
) -> None:
    """Run the session; print a line at every power of two and at the end."""
    begun = session.record.position.total
    session.on_part = lambda: clock.tell(
        session.record.position.total - begun, session.record.position.passes - 1
    )
    printed = session.learner.rounds
    headed = False

    def show(point: Any) -> None:
        nonlocal printed, headed
        if table is None or point.rounds <= printed:
            return
        clock.clear()
        if not headed:
            table.head(*heading(session))
            headed = True
        printed = point.rounds
        table.row(point)

    for point in session.run(interruption, passes, skip):
        total = session.record.position.total
        if total & (total - 1) == 0:
            show(point)
    if session.learner.rounds:
        show(session.finish())

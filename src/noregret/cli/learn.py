"""`noregret learn`: a stream learnt, with the certificate beside the loss."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from noregret.cli.console import plain_console
from noregret.cli.given import Given, require_outputs
from noregret.cli.output import OutputLost
from noregret.cli.telling import Ending, conclude, heading, mention
from noregret.cli.writing import require_file
from noregret.vocabulary import learners as choices

if TYPE_CHECKING:
    from noregret.cli.screen import Table
    from noregret.runs.interrupt import Interruption
    from noregret.runs.progress import Clock
    from noregret.runs.record import Record
    from noregret.runs.session import Session
    from noregret.streams import Stream
    from noregret.vocabulary.learners import Learner


def learn(
    given: Given,
    *,
    loss: str | None,
    multiclass: bool,
    classes: int | None,
    mirror: str | None,
    radius: float | None,
    rate: str | None,
    eta: float | None,
    update: str | None,
    C: float | None,
    k: int | None,
    average: bool,
    class_radius: float | None,
    passes: int,
    holdout: float | None,
    holdout_seed: int,
    holdout_after: int | None,
    save: Path | None,
    save_every: int | None,
    resume: Path | None,
    same_input: bool,
    predictions: Path | None,
    report: Path | None,
    as_json: bool,
    quiet: bool,
) -> int | None:
    """Run `noregret learn`."""
    said = {
        "multiclass": multiclass or None,
        "loss": loss,
        "mirror": mirror,
        "radius": radius,
        "rate": rate,
        "eta": eta,
        "update": update,
        "C": C,
        "k": k,
        "average": average or None,
        "classes": classes,
    }
    said = {name: value for name, value in said.items() if value is not None}
    kept_out = _holdout(holdout, holdout_seed, holdout_after)
    _check_plan(resume, same_input, save, save_every, passes, said, given)
    if said.pop("multiclass", False) or classes is not None:
        said["loss"] = choices.of_several(loss)
    if same_input and kept_out:
        raise ValueError("--same-input keeps what is held out as it was: drop --holdout")
    require_outputs(
        given.files, ("--save", save), ("--predictions", predictions), ("--report", report)
    )
    if report is not None:
        from noregret.plot import require_matplotlib

        require_matplotlib()
    choices.check_class_radius(class_radius)
    if resume is None:
        learner, record, stream = _fresh(said, given)
    else:
        learner, record, stream = _resumed(resume, given, same_input)
    if class_radius is not None:
        record.floor_radii.append([record.position.total, class_radius])
    if kept_out or resume is None:
        record.current.holdout = kept_out
    skip = record.position.examples

    from noregret.cli.running import run_and_save
    from noregret.cli.screen import Table
    from noregret.runs.progress import Clock
    from noregret.runs.session import Session

    classification = learner.loss.labels in ("sign", "class")
    plain = as_json or quiet or str(predictions) == "-"
    clock = Clock(stream, passes, silent=plain)
    last = record.points[-1] if record.points else None
    table = None
    if not plain:
        table = Table(plain_console(), classification, last)
    if save is not None:
        require_file("--save", save)
    session = Session(learner, stream, record, save=save, save_every=save_every or 0)
    ending = run_and_save(
        session,
        predictions,
        lambda interruption: _follow(session, interruption, passes, skip, clock, table),
    )
    clock.close(record.position.total)
    if ending is None or not ending.output_lost:
        try:
            if table is not None and table.headed:
                print()
            conclude(session, as_json, str(predictions) == "-")
        except OutputLost as lost:
            ending = ending or Ending.of_output(lost)
    if report is not None and learner.rounds:
        from noregret.cli.report import write_report
        from noregret.runs.naming import names_of

        session.note()
        write_report(learner, record, report, names_of(learner, record))
    mention(stream, save, ending, report)
    return None if ending is None else ending.code


def _check_plan(
    resume: Path | None,
    same_input: bool,
    save: Path | None,
    save_every: int | None,
    passes: int,
    said: dict[str, Any],
    given: Given,
) -> None:
    if passes < 1:
        raise ValueError(f"--passes {passes}: expected at least 1")
    if passes > 1 and "-" in given.files:
        raise ValueError("--passes needs files: standard input can be read once only")
    if save_every is not None and (save is None or save_every < 1):
        raise ValueError("--save-every needs --save and a number of examples above 0")
    if same_input and resume is None:
        raise ValueError("--same-input belongs to --resume")
    if resume is not None and said:
        raise ValueError(f"--resume keeps the learner as it is: drop --{next(iter(said))}")


def _holdout(every: float | None, seed: int, after: int | None) -> dict[str, Any]:
    """Return the arguments of `Holdout`, empty where nothing is held out."""
    told: dict[str, Any] = {}
    if every is not None:
        if not (0.0 < every < 1.0 or (every > 1.0 and every.is_integer())):
            raise ValueError(
                f"--holdout {every:g}: expected a whole number above 1, or a share below 1"
            )
        told = {"every": int(every)} if every > 1.0 else {"share": every, "seed": seed}
    elif seed:
        raise ValueError("--holdout-seed belongs to --holdout with a share below 1")
    if after is not None:
        if after < 1:
            raise ValueError(f"--holdout-after {after}: leaves nothing to learn")
        told["after"] = after
    return told


def _fresh(said: dict[str, Any], given: Given) -> tuple[Learner, Record, Stream]:
    """Return a learner that has seen nothing, its record and its stream."""
    from noregret.runs import record as records
    from noregret.runs.history import Input
    from noregret.runs.opening import DEFAULTS

    spec = choices.Spec(**said)
    rule = given.label_rule(choices.any_loss(spec.loss).labels)
    reading = DEFAULTS | given.reading()
    if spec.needs_width:
        stream = given.open(rule, width=given.columns())
        spec = replace(spec, features=stream.width or given.columns())
        learner = spec.fresh()
    else:
        # Before the input is opened: report wrong options first.
        learner = spec.fresh()
        stream = given.open(rule)
    first = Input(given.found(), reading, rule, on_error=given.errors())
    return learner, records.Record(spec, [first]), stream


def _resumed(resume: Path, given: Given, same_input: bool) -> tuple[Learner, Record, Stream]:
    """Return a learner that goes on, its record, and a stream with the same columns."""
    from noregret.runs import record as records
    from noregret.runs.naming import require_same_columns

    learner, record = records.load(resume)
    if same_input:
        given = given.saying(on_error=given.said.get("on_error", record.current.on_error))
    named = "labels" in given.said
    rule = given.label_rule(learner.loss.labels) if named else record.rule()
    width = learner.dimension if record.spec.needs_width else 0
    stream = given.open(rule, record.reading, width, **record.known())
    require_same_columns(learner, record, stream)
    told = {"files": given.found(), "on_error": given.errors()}
    if named:
        told["label_rule"] = list(rule)
    if same_input:
        vars(record.current).update(told)
    else:
        record.begin(**told)
    record.current.reading |= given.reading()
    return learner, record, stream


def _follow(
    session: Session,
    interruption: Interruption,
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

"""`noregret learn`: a stream learnt, with the certificate beside the loss."""

from __future__ import annotations

import sys
from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from noregret.arguments import refuse
from noregret.cli.given import Given, require_outputs
from noregret.cli.options import flag_of
from noregret.cli.output import OutputLost
from noregret.cli.telling import Ending, conclusion, heading, mention
from noregret.cli.writing import Output, fitted, require_file
from noregret.runs.facts import describe_learner
from noregret.runs.interrupt import Interrupted, Interruption
from noregret.runs.opening import DEFAULTS, found
from noregret.runs.predicting import names_of
from noregret.runs.progress import Clock
from noregret.runs.record import Input, Record, load
from noregret.runs.session import Session
from noregret.streams import Stream
from noregret.streams.errors import CutShort
from noregret.vocabulary import learners as choices

if TYPE_CHECKING:
    from noregret.cli.console import Table


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
    blocks: bool,
    rowless: bool,
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
    cluster: str | None,
    workers: int | None,
    shards: int | None,
    mix_every: int | None,
    weights: Path | None,
    timeout: float | None,
    as_json: bool,
    quiet: bool,
) -> int | None:
    """Run `noregret learn`."""
    chosen = {
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
        "blocks": blocks or None,
        "rowless": rowless or None,
        "classes": classes,
    }
    said = {name: value for name, value in chosen.items() if value is not None}
    kept_out = _holdout(holdout, holdout_seed, holdout_after)
    refuse(
        {
            f"--passes {passes}: expected at least 1": passes < 1,
            "--passes needs files: standard input can be read once only": (
                passes > 1 and "-" in given.files
            ),
            "--save-every needs --save and a number of examples above 0": (
                save_every is not None and (save is None or save_every < 1)
            ),
            "--same-input belongs to --resume": same_input and resume is None,
            f"--resume keeps the learner as it is: drop {flag_of('learn', next(iter(said), ''))}": (
                resume and said
            ),
            "--same-input keeps what is held out as it was: drop --holdout": (
                same_input and kept_out
            ),
        }
    )
    spread = {
        "workers": workers, "shards": shards, "every": mix_every, "timeout": timeout,
    }  # fmt: skip
    alone = {
        "multiclass": multiclass, "passes": passes != 1, "save": save, "resume": resume,
        "holdout": kept_out, "predictions": predictions, "report": report, "average": average,
        "blocks": blocks,
    }  # fmt: skip
    if cluster is not None:
        from noregret.cli.on_cluster import learnt

        first = next((flag_of("learn", name) for name, one in alone.items() if one), "")
        refuse({f"--cluster learns one pass with one score: drop {first}": bool(first)})
        require_outputs(given.files, ("--weights", weights))
        words: dict[str, Any] = {"rate": "per-coordinate", **said}
        learnt(
            given, choices.Spec(**words), class_radius, weights,
            {"address": cluster} | {name: one for name, one in spread.items() if one is not None},
            as_json, quiet,
        )  # fmt: skip
        return None
    refuse(
        {
            "--workers, --shards, --mix-every, --timeout and --weights belong to --cluster": any(
                one is not None for one in (*spread.values(), weights)
            )
        }
    )
    if said.pop("multiclass", False) or classes is not None:
        said["loss"] = choices.of_several(loss)
    require_outputs(
        given.files, ("--save", save), ("--predictions", predictions), ("--report", report)
    )
    if report is not None:
        from noregret.plot import require_matplotlib

        require_matplotlib()
    choices.check_class_radius(class_radius)
    learner, record, stream = _resumed(resume, given, same_input) if resume else _fresh(said, given)
    if class_radius is not None:
        record.floor_radii.append([record.position.total, class_radius])
    if kept_out or resume is None:
        record.current.holdout = kept_out
    skip = record.position.examples
    clock = Clock(stream, passes, f" of {describe_learner(learner)}")
    table = None
    if not (as_json or quiet or str(predictions) == "-"):
        from noregret.cli.console import Table, plain_console

        last = record.points[-1] if record.points else None
        table = Table(plain_console(), learner.loss.labels in ("sign", "class"), last)
    if save is not None:
        require_file("--save", save)
    session = Session(learner, stream, record, save=save, save_every=save_every or 0)
    ending = _run_and_save(
        session,
        predictions,
        lambda interruption: _follow(session, interruption, passes, skip, clock, table),
    )
    clock.close(record.position.total)
    if learner.rounds and (ending is None or not ending.output_lost):
        text = conclusion(session, as_json)
        place = sys.stderr if str(predictions) == "-" else sys.stdout
        try:
            gap = "\n" if table is not None and table.headed else ""
            print(gap + (text if as_json else fitted(text, place)), file=place, flush=True)
        except OutputLost as lost:
            ending = ending or Ending.by(lost)
    if report is not None and learner.rounds:
        # Not for every run: pages need modules that take a tenth of a second to load.
        from noregret.cli.report import write_report

        session.note()
        write_report(learner, record, report, names_of(learner, record))
    mention(stream, save, ending, report)
    return None if ending is None else ending.code


def _holdout(every: float | None, seed: int, after: int | None) -> dict[str, Any]:
    """Return the arguments of `Holdout`, empty where nothing is held out."""
    known = every is None or 0.0 < every < 1.0 or (every > 1.0 and every.is_integer())
    none = after is not None and after < 1
    refuse(
        {
            f"--holdout {every or 0.0:g}: expected a whole number above 1, or a share below 1": (
                not known
            ),
            "--holdout-seed belongs to --holdout with a share below 1": seed and every is None,
            f"--holdout-after {after}: leaves nothing to learn": none,
        }
    )
    told: dict[str, Any] = {} if every is None else {"every": int(every)}
    if every is not None and every < 1.0:
        told = {"share": every, "seed": seed}
    return told if after is None else {**told, "after": after}


def _fresh(said: dict[str, Any], given: Given) -> tuple[choices.Learner, Record, Stream]:
    """Return a learner that has seen nothing, its record and its stream."""
    spec = choices.Spec(**said)
    rule = given.label_rule(choices.any_loss(spec.loss).labels)
    reading = DEFAULTS | given.reading()
    # Before the input is opened: report wrong options first.
    learner = None if spec.needs_width else spec.fresh()
    stream = given.open(rule, width=given.columns() if spec.needs_width else 0)
    if learner is None:
        spec = replace(spec, features=stream.width or given.columns())
        learner = spec.fresh()
    first = Input(found(given.files), reading, rule, on_error=given.errors())
    return learner, Record(spec.settled(), [first]), stream


def _resumed(
    resume: Path, given: Given, same_input: bool
) -> tuple[choices.Learner, Record, Stream]:
    """Return a learner that goes on, its record, and a stream with the same columns."""
    learner, record = load(resume)
    if same_input:
        given = given.saying(on_error=given.said.get("on_error", record.current.on_error))
    named = "labels" in given.said
    rule = given.label_rule(learner.loss.labels) if named else record.rule()
    stream = given.again(learner, record, grow=True, rule=rule)
    told = {"files": found(given.files), "on_error": given.errors()}
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
    session.on_part = lambda: clock.reached(
        session.record.position.total - begun, session.record.position.passes - 1
    )
    printed = session.learner.rounds

    def show(point: Any) -> None:
        nonlocal printed
        if table is not None and point.rounds > printed:
            clock.clear()
            if not table.headed:
                table.head(*heading(session))
            printed = point.rounds
            table.row(point)

    for point in session.run(interruption, passes, skip):
        total = session.record.position.total
        if total & (total - 1) == 0:
            show(point)
    if session.learner.rounds:
        show(session.finish())


def _run_and_save(
    session: Session, predictions: Path | None, follow: Callable[[Interruption], None]
) -> Ending | None:
    """Learn, and save what was learnt; return why that was less than everything, None if not.

    A signal, an output that cannot be written, and an input that ends inside a line stop the run
    at the examples learnt so far. Such a run writes the model if it has learnt anything, and
    leaves the old file as it was otherwise.

    Args:
        session: What is run.
        predictions: Where to write the predictions, None for nowhere.
        follow: Runs the session and shows its progress.
    """
    position = session.record.position
    begun = position.total
    with Interruption() as interruption:
        ending = None
        try:
            with nullcontext() if predictions is None else Output(predictions) as output:
                session.predictions = output
                try:
                    follow(interruption)
                except (Interrupted, CutShort) as cut:
                    # Without a new example, predictions are no reason to replace a file either.
                    if position.total == begun:
                        raise
                    ending = Ending.by(cut)
                if session.learner.rounds == 0 and ending is None:
                    raise ValueError(f"{session.stream.name}: the file has no examples")
        except Interrupted as interrupted:
            ending = Ending.by(interrupted)
        except OutputLost as lost:
            ending = ending or Ending.by(lost)
        if interruption.kept:
            # First, since a closed terminal sends a signal and fails every write as well.
            ending = Ending.by(Interrupted(interruption.kept))
            interruption.settle()
        if session.learner.rounds:
            session.finish()
            if ending is None or position.total > begun:
                session.save()
                ending = ending and replace(ending, saved=session.save_to is not None)
    return ending

"""A run of `learn` from its first example to the saved model, whatever ends it."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from noregret.cli.output import MENDABLE, OutputLost
from noregret.cli.telling import Ending
from noregret.cli.writing import Output
from noregret.runs.interrupt import Interrupted, Interruption
from noregret.streams.errors import CutShort

if TYPE_CHECKING:
    from noregret.runs.session import Session


def run_and_save(
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
                    ending = _ending(cut)
                if session.learner.rounds == 0 and ending is None:
                    raise ValueError(f"{session.stream.name}: the file has no examples")
        except Interrupted as interrupted:
            ending = _ending(interrupted)
        except OutputLost as lost:
            ending = ending or Ending.of_output(lost)
        if interruption.kept:
            # First, since a closed terminal sends a signal and fails every write as well.
            ending = Ending.of_signal(128 + interruption.kept)
            interruption.settle()
        if session.learner.rounds:
            session.finish()
            if ending is None:
                session.save()
            elif position.total > begun:
                session.save()
                ending = replace(ending, saved=session.saves)
    return ending


def _ending(cut: Interrupted | CutShort) -> Ending:
    if isinstance(cut, Interrupted):
        return Ending.of_signal(cut.code)
    return Ending(MENDABLE, str(cut))

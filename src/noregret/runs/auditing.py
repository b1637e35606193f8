"""An audit: all that a model has learnt is replayed, and every statement is judged."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Any

from noregret.runs.record import Input, Record
from noregret.runs.replay import NotChecked, Replay
from noregret.runs.verdicts import LinearStatements
from noregret.runs.verdicts_matrix import MatrixStatements
from noregret.runs.verdicts_members import Verdict
from noregret.streams import Stream
from noregret.vocabulary.learners import Learner

_WORDS = {True: "PASS", False: "FAIL", None: "  – "}


@dataclass(frozen=True)
class Audit:
    """The verdicts on the statements of a model.

    Attributes:
        verdicts: one a statement: its text, whether it holds (None: not checked), the numbers.
    """

    verdicts: tuple[Verdict, ...]

    @property
    def passed(self) -> int:
        """How many statements hold."""
        return sum(verdict.holds is True for verdict in self.verdicts)

    @property
    def failed(self) -> int:
        """How many statements are false."""
        return sum(verdict.holds is False for verdict in self.verdicts)

    @property
    def unchecked(self) -> int:
        """How many statements could not be checked."""
        return sum(verdict.unchecked for verdict in self.verdicts)

    @property
    def holds(self) -> bool | None:
        """False if a statement is false, None if one could not be checked, else True."""
        if self.failed:
            return False
        return None if self.unchecked or not self.passed else True

    @property
    def conclusion(self) -> str:
        """The result in one line."""
        if self.failed:
            return f"{self.failed} of {self.failed + self.passed} statements are false"
        if not self.passed:
            return "nothing could be checked"
        rest = f", {self.unchecked} could not be checked" if self.unchecked else ""
        return f"all {self.passed} statements that could be checked hold{rest}"

    def as_dict(self) -> dict[str, Any]:
        """Return the verdicts, ready for JSON."""
        counts = {name: getattr(self, name) for name in ("holds", "passed", "failed", "unchecked")}
        return counts | {"statements": [asdict(verdict) for verdict in self.verdicts]}

    def text(self) -> str:
        """Return a line a statement, its numbers below it, and the result."""
        lines = [
            f"{_WORDS[one.holds]}  {one.statement}\n      {one.detail}" for one in self.verdicts
        ]
        return "\n".join([*lines, "", self.conclusion])

    def __str__(self) -> str:
        return self.text()


def audit_model(
    learner: Learner,
    record: Record,
    open_input: Callable[[Input], Stream],
    *,
    tol: float = 1e-6,
    max_passes: int = 1000,
) -> Audit:
    """Replay every input of a model and judge all that it states.

    Args:
        learner: what is audited.
        record: its record.
        open_input: opens the stream of an input; `NotChecked` where it cannot be read again.
        tol: the relative duality gap that the solver aims at.
        max_passes: passes after which the solver stops.
    """
    several = learner.loss.labels == "class"
    statements = (MatrixStatements if several else LinearStatements)(
        learner, record, tol=tol, max_passes=max_passes
    )
    replayed = Replay(record, open_input, statements.add, statements.met.append)
    try:
        replayed.run()
    except NotChecked as reason:
        whole = Verdict("all that the model states", None, f"not checked: {reason}")
        return Audit((whole,))
    return Audit(tuple(statements.check(replayed)))

"""The judge of `noregret audit`: of an honest model and its own examples nothing is false."""

from __future__ import annotations

from tests.printed.grammar import parse
from tests.printed.verdicts import Verdicts


def audit(text: str, rounds: int, code: int | None = None) -> Verdicts:
    """Judge the verdicts on a model that this very program has learnt, unchanged, from the rows."""
    verdicts = Verdicts()
    passed = 0
    for line in parse(text, "audit"):
        if line.kind == "verdict":
            passed += line.words("word") == "PASS"
            verdicts.enter("verdict", line.words("word") != "FAIL", line.raw)
        elif line.kind == "heading" and line.has("rounds"):
            verdicts.enter("rounds", line.figure("rounds").value == rounds, line.raw)
        elif line.kind == "false":
            verdicts.enter("conclusion", False, line.raw)
        elif line.kind == "true":
            same = line.figure("count").value == passed
            verdicts.enter("count of statements", same, (line.raw, passed))
    if code is not None:
        verdicts.enter("exit code", code == 0, code)
    return verdicts

"""The judge of certificates of several classes, each against the rest, and of their sums."""

from __future__ import annotations

import re
from fractions import Fraction
from typing import Any

import numpy as np

from tests.printed.data import Member, compare
from tests.printed.figures import at_least, nearest
from tests.printed.grammar import Line, Unparsed, parse
from tests.printed.hindsight import Hindsight
from tests.printed.linear import ROOM, Linear
from tests.printed.losses import number
from tests.printed.verdicts import Verdicts

_PART = re.compile(r"  class (?P<label>\S+): (?P<first>.+)")


def parted(text: str, labels: list[Any]) -> tuple[list[Line], list[str]]:
    """Return the lines about the sums, and the text of every class by itself."""
    sums: list[str] = []
    parts: list[list[str]] = []
    for raw in text.splitlines():
        found = _PART.fullmatch(raw)
        if found:
            if found["label"] != str(labels[len(parts)]):
                raise Unparsed(f"whose certificate is it: {raw!r}")
            parts.append([found["first"]])
        elif parts:
            parts[-1].append(raw.removeprefix("  "))
        else:
            sums.append(raw)
    if len(parts) != len(labels):
        raise Unparsed(f"{len(parts)} classes: {text!r}")
    return parse("\n".join(sums), "per class"), ["\n".join(part) for part in parts]


def sums(lines: list[Line], judges: list[Linear], told: dict[str, Any]) -> Verdicts:
    """Judge the sums over the classes: the best members found, one a class, are one choice."""
    verdicts = Verdicts()
    own = sum((_exact(judge.data.own_loss()) for judge in judges), Fraction(0))
    least = sum((_least(judge) for judge in judges), Fraction(0))
    rounds = len(judges[0].data.y)
    for line in lines:
        if line.kind == "heading":
            verdicts.enter("rounds", line.figure("rounds").value == rounds, line.raw)
            _named(verdicts, line, [judge.objective for judge in judges])
        elif line.kind == "loss":
            room = ROOM * (1 + own)
            verdicts.enter("loss", nearest(line.figure("loss"), own, 6, room), line.raw)
            each = nearest(line.figure("each"), own / rounds, 6, room)
            verdicts.enter("loss a round", each, line.raw)
        elif line.kind == "floor":
            verdicts.enter("floor", compare(least, line.figure("floor").value), line.raw)
            each = line.figure("each").value * rounds <= Fraction(told["floor"])
            verdicts.enter("floor a round", each, line.raw)
        elif line.kind == "regret":
            claim = line.figure("regret").value
            verdicts.enter("regret", compare(claim, own - least), line.raw)
            each = line.figure("each").value * rounds >= Fraction(told["regret_bound"])
            verdicts.enter("regret a round", each, line.raw)
        elif line.kind != "meaning":
            raise Unparsed(line.raw)
    return verdicts


def solved(lines: list[Line], judges: list[Hindsight], weights: list[Any]) -> Verdicts:
    """Judge the sums of optima, one a class."""
    verdicts = Verdicts()
    found = [[Fraction(float(v)) for v in one] for one in weights]
    own = Fraction(0)
    for judge, u in zip(judges, found, strict=True):
        own += _exact(judge.data.exact(u))
    shown: dict[str, Any] = {}
    for line in lines:
        if line.kind == "best heading":
            together = all(judge.converged for judge in judges)
            verdicts.enter("state", (line.words("state") == "converged") == together, line.raw)
        elif line.kind in ("objective", "dual", "gap"):
            shown[line.kind] = line.figure(line.kind)
        else:
            raise Unparsed(line.raw)
    verdicts.enter("objective", compare(shown["objective"].value, own), float(own))
    verdicts.enter("dual", compare(own, shown["dual"].value), float(own))
    between = shown["objective"].value - shown["dual"].value
    room = shown["objective"].unit(10) + shown["dual"].unit(10)
    verdicts.enter("gap", at_least(shown["gap"], between, room), float(between))
    return verdicts


def _named(verdicts: Verdicts, line: Line, objectives: list[str]) -> None:
    same = line.figure("count").value == len(objectives)
    same = same and line.words("objective") == "; or ".join(dict.fromkeys(objectives))
    verdicts.enter("objective", same, (line.raw, objectives))


def _least(judge: Linear) -> Fraction:
    """Return the least loss of a member of the class of one score, exactly."""
    values = [(judge.data.fast(_doubles(u))[0], u) for u in judge.members()]
    _, best = min(values, key=lambda pair: float(pair[0]))
    return _exact(judge.data.exact(best))


def _doubles(u: Member) -> Any:
    return np.array([float(v) for v in u])


def _exact(value: Any) -> Fraction:
    return value if isinstance(value, Fraction) else Fraction(str(number(value)))

"""The rules by which labels are read, in the words of a user."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

from noregret.arguments import ArgumentError


@dataclass(frozen=True)
class Classes:
    """Labels are names of classes, numbered from 0 as they appear, after those `known` before."""

    known: tuple[str, ...] = ()


Labels: TypeAlias = (
    Literal["real", "binary", "classes"] | Classes | tuple[float, float] | tuple[str, str]
)
"""How labels are read: as written, mapped to -1/+1, numbered, or mapped from a given pair."""


def check(labels: Labels) -> None:
    """Refuse what is no rule for labels.

    >>> check(("ham", "spam"))
    """
    if labels in ("real", "binary", "classes"):
        return
    if isinstance(labels, Classes):
        if len({*labels.known}) < len(labels.known):
            raise ArgumentError("labels", "expected names of classes, each of them once", labels)
        return
    pair = labels
    if not (
        isinstance(pair, tuple)
        and len(pair) == 2
        and pair[0] != pair[1]
        and (
            all(isinstance(one, str) for one in pair)
            or all(isinstance(one, int | float) and one - one == 0 for one in pair)
        )
    ):
        raise ArgumentError(
            "labels", 'expected "real", "binary", "classes" or a pair (negative, positive)', pair
        )


def are_classes(labels: Labels) -> bool:
    """Return whether labels are names of classes, as many as there may be."""
    return labels == "classes" or isinstance(labels, Classes)
